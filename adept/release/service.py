"""One way to release a file, for the command line, a page and a cluster alike: open a release, then make it.

``open_release`` decides everything about who may be released and with what: model, mechanism, the budget and its shares, refusals.
``release_file`` (``adept.release.local``) decides what of a file reaches the output. Neither can be had without the other's checks.
"""

import math
from dataclasses import fields, replace

from adept.data.labels import label_set_of
from adept.errors import ConfigurationError
from adept.mechanisms import JointResponse, LocalRandomizer, RandomizedResponse
from adept.mechanisms.base import MechanismChoice
from adept.mechanisms.guarantee import share
from adept.models.tokenizer import Tokenizer
from adept.release.columns import RANDOMISED_TREATMENTS, ReleaseOptions
from adept.release.config import FileOptions, ReleaseRequest
from adept.release.local import preview_file, release_file
from adept.rewriting.loading import best_exact, load_model
from adept.rewriting.rewriter import Rewriter

__all__ = ["open_release", "preview_file", "release_file"]


def open_release(request: ReleaseRequest) -> tuple[Rewriter, ReleaseOptions]:
    """Load the model, give it the budget, and return the rewriter and the options of the output.

    Raises:
        ModelError: the directory holds no model, or the mechanism cannot use it.
        ConfigurationError: there is no budget or two of them, a value is out of range, or options contradict each other.
        ReleaseRefused: the release would promise what it cannot keep.
    """
    model, tokenizer = load_model(request.model_dir)
    choice = request.mechanism or MechanismChoice(best_exact(model, epsilon=_share(request, request.epsilon)))
    choice = replace(choice, epsilon=_share(request, choice.budget(request.epsilon)))
    text = choice.build(clip_norm=model.config.clip_norm)
    response = _label_response(request, text, tokenizer)
    rewriter = Rewriter(
        model,
        tokenizer,
        mechanism=response if isinstance(response, JointResponse) else text,
        decoding=request.decoding,
        batch_size=request.batch_size,
        accept_broken_claim=request.accept_broken_claim,
        accept_inexact=request.accept_inexact,
        accept_private_model=request.accept_private_model,
    )
    given = {option.name: getattr(request, option.name) for option in fields(FileOptions)}
    return rewriter, ReleaseOptions(**given, label_response=response)


def _share(request: ReleaseRequest, epsilon: float | None) -> float | None:
    """Return one record's share of a budget; what is out of range is left to the mechanism to refuse."""
    if epsilon is None or request.epsilon_per == "record" or not (epsilon > 0 and math.isfinite(epsilon)):
        return epsilon
    return share(epsilon, request.max_records_per_person or 1)


def _label_response(
    request: ReleaseRequest, text: LocalRandomizer, tokenizer: Tokenizer
) -> RandomizedResponse | JointResponse | None:
    """Return the mechanism that randomises labels over a public label set, with the text or by a budget of their own."""
    if request.labels not in RANDOMISED_TREATMENTS:
        return None
    labels, epsilon = request.label_set or tokenizer.labels, _share(request, request.label_epsilon)
    if request.labels == "joint_response" and epsilon is not None:
        raise ConfigurationError(
            "label_epsilon must be left out for labels=joint_response, whose epsilon is that of text and label together, "
            f"got {request.label_epsilon}"
        )
    if request.labels == "randomized_response" and epsilon is None:
        raise ConfigurationError(
            "label_epsilon must be chosen for labels=randomized_response, got none: add label_epsilon=2"
        )
    if not labels:
        raise ConfigurationError(
            "label_set must name the public labels, got none: a set read off private data would leak"
        )
    public = label_set_of(labels)
    return JointResponse.of(text, public) if epsilon is None else RandomizedResponse(epsilon=epsilon, labels=public)
