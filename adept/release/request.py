"""From a request for a release of records to the rewriter and the options of its output."""

from dataclasses import fields

from adept.release.columns import ReleaseOptions
from adept.release.config import FileOptions, ReleaseRequest
from adept.release.service import Budget, label_response, open_rewriter
from adept.rewriting.rewriter import Rewriter


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
