"""One way to release a file, for the command line, a page and a cluster alike: open a rewriter, then release through it.

``open_rewriter`` decides everything about who may be released and with what: model, mechanism, the budget and its shares, refusals.
``release_file`` (``adept.release.local``) decides what of a file reaches the output. Neither can be had without the other's checks.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path

from adept.data.labels import label_set_of
from adept.errors import ConfigurationError
from adept.mechanisms import JointResponse, LocalRandomizer, RandomizedResponse
from adept.mechanisms.choice import MechanismChoice
from adept.mechanisms.guarantee import share
from adept.models.config import BATCH_SIZE, DecodingConfig
from adept.release.columns import ReleaseOptions
from adept.release.config import FileOptions, ReleaseRequest
from adept.release.local import preview_file, release_file
from adept.rewriting.loading import best_exact, load_model
from adept.rewriting.rewriter import Rewriter

__all__ = ["Budget", "label_response", "open_release", "open_rewriter", "preview_file", "release_file"]


@dataclass(frozen=True, kw_only=True)
class Budget:
    """What a run may spend, and on whom. This is the one place where a budget is shared.

    Attributes:
        epsilon: of the text, or of text and label as one symbol, in nats; None where the mechanism brings its own, or needs none.
        label_epsilon: of labels=randomized_response, spent beside it; labels=joint_response has none, as epsilon is of both.
        per: "record", or "person": each of a person's records then gets an equal share.
        max_records_per_person: m, the number of shares.
    """

    epsilon: float | None = None
    label_epsilon: float | None = None
    per: str = "record"
    max_records_per_person: int | None = None

    def __post_init__(self) -> None:
        if self.per not in ("record", "person"):
            raise ConfigurationError(f"epsilon_per must be record or person, got {self.per}")
        if self.per == "person" and self.max_records_per_person is None:
            raise ConfigurationError("max_records_per_person must be given for epsilon_per=person, got none")

    def of_record(self, epsilon: float | None) -> float | None:
        """Return one record's share of a budget; what is out of range is left to the mechanism to refuse."""
        if epsilon is None or self.per == "record" or not (epsilon > 0 and math.isfinite(epsilon)):
            return epsilon
        return share(epsilon, self.max_records_per_person or 1)


def open_rewriter(
    model_dir: str | Path | None,
    *,
    budget: Budget,
    mechanism: MechanismChoice | None = None,
    decoding: DecodingConfig | None = None,
    batch_size: int = BATCH_SIZE,
    joint_labels: Sequence[str] | None = None,
    accept_broken_claim: bool = False,
    accept_inexact: bool = False,
    accept_private_model: bool = False,
) -> Rewriter:
    """Load a model and give it a mechanism with a record's share of the budget.

    Args:
        model_dir: a model directory, or the run directory around it; None for the model that comes with the package.
        budget: what may be spent; a mechanism that brings its own epsilon must bring the same.
        mechanism: None stands for the best exact one that the model serves.
        decoding: how texts are written from releases.
        batch_size: records that go through the model at once.
        joint_labels: the public labels that are one symbol with the text (labels=joint_response); an empty list stands for those
            that the model writes, None for texts alone.
        accept_broken_claim: as in :class:`Rewriter`, as are the other two.

    Raises:
        ModelError: the directory holds no model, or the mechanism cannot use it.
        ConfigurationError: there is no budget or two of them, or a value is out of range.
        ReleaseRefused: the release would promise what it cannot keep.
    """
    model, tokenizer = load_model(model_dir)
    choice = mechanism or MechanismChoice(best_exact(model, epsilon=budget.of_record(budget.epsilon)))
    choice = replace(choice, epsilon=budget.of_record(choice.budget(budget.epsilon)))
    text = choice.build(clip_norm=model.config.clip_norm)
    return Rewriter(
        model,
        tokenizer,
        mechanism=text if joint_labels is None else _joint(budget, text, joint_labels or tokenizer.labels),
        decoding=decoding,
        batch_size=batch_size,
        accept_broken_claim=accept_broken_claim,
        accept_inexact=accept_inexact,
        accept_private_model=accept_private_model,
    )


def _joint(budget: Budget, text: LocalRandomizer, labels: Sequence[str]) -> JointResponse:
    """What releases text and label as one symbol."""
    if budget.label_epsilon is not None:
        raise ConfigurationError(
            "label_epsilon must be left out for labels=joint_response, whose epsilon is that of text and label together, "
            f"got {budget.label_epsilon}"
        )
    return JointResponse.of(text, _public(labels))


def _public(labels: Sequence[str]) -> tuple[str, ...]:
    """Return a public label set as texts."""
    if not labels:
        raise ConfigurationError(
            "label_set must name the public labels, got none: a set read off private data would leak"
        )
    return label_set_of(labels)


def label_response(budget: Budget, labels: Sequence[str]) -> RandomizedResponse:
    """Return what randomises labels over a public label set, with a record's share of the budget."""
    epsilon = budget.of_record(budget.label_epsilon)
    if epsilon is None:
        raise ConfigurationError(
            "label_epsilon must be chosen for labels=randomized_response, got none: add label_epsilon=2"
        )
    return RandomizedResponse(epsilon=epsilon, labels=_public(labels))


def open_release(request: ReleaseRequest) -> tuple[Rewriter, ReleaseOptions]:
    """Load the model, give it the budget, and return the rewriter and the options of the output.

    Raises:
        AdeptError: as ``open_rewriter``, or options contradict each other.
    """
    budget = Budget(
        epsilon=request.epsilon,
        label_epsilon=request.label_epsilon,
        per=request.epsilon_per,
        max_records_per_person=request.max_records_per_person,
    )
    rewriter = open_rewriter(
        request.model_dir,
        budget=budget,
        mechanism=request.mechanism,
        decoding=request.decoding,
        batch_size=request.batch_size,
        joint_labels=(request.label_set or []) if request.labels == "joint_response" else None,
        accept_broken_claim=request.accept_broken_claim,
        accept_inexact=request.accept_inexact,
        accept_private_model=request.accept_private_model,
    )
    given = {option.name: getattr(request, option.name) for option in fields(FileOptions)}
    randomised = request.labels == "randomized_response"
    response = label_response(budget, request.label_set or rewriter.tokenizer.labels) if randomised else None
    return rewriter, ReleaseOptions(**given, label_response=response)
