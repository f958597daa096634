"""A request for a release of records: the options that the command and Python share, and how they are opened."""

from dataclasses import dataclass, field, fields
from typing import Any

from adept.models.config import BATCH_SIZE, DecodingConfig
from adept.release.columns import FileOptions, ReleaseOptions
from adept.release.service import Budget, label_response, open_rewriter
from adept.rewriting.rewriter import Rewriter


@dataclass
class ReleaseRequest(FileOptions):
    """A release of records."""

    # --- Budget and mechanism
    epsilon: float | None = None
    """The privacy budget of each record (with labels=joint_response: of text and label together); you must choose it."""
    mechanism: Any = None
    """The mechanism that randomises a record; null: the best exact one for the model."""
    model_dir: str | None = None
    """The model's directory; null: the model that comes with the package."""
    accept_broken_claim: bool = False
    """Release by a mechanism whose claim is false."""
    accept_inexact: bool = False
    """Release by a mechanism whose noise is floating point, which no proof covers."""
    accept_private_model: bool = False
    """Release by a model that was trained on private text, which no epsilon covers."""

    # --- Labels
    label_epsilon: float | None = None
    """Budget of labels=randomized_response, spent beside epsilon."""
    label_set: list[str] | None = None
    """The public labels from which random ones are drawn, [A,B] or @FILE with one on each line; null: those of the model."""

    # --- Texts
    batch_size: int = BATCH_SIZE
    """Number of records that are rewritten together."""

    # --- Persons
    epsilon_per: str = "record"
    """Who has the budget epsilon: record | person (each of a person's records gets an equal share)."""

    # --- Interrupted runs, and records that were released before
    ledger: str | None = None
    """A file that remembers released records and refuses them; null: the default ledger, which only counts; none: no ledger."""
    record_columns: list[str] | None = None
    """The columns that identify a record in the ledger, fixed by its first release; null: text, and person_column if given."""
    ledger_limit: float | None = None
    """Refuse a release that would bring a record or person of the ledger above this epsilon, also with again=true."""
    again: bool = False
    """Release records of the ledger again; their budgets add up."""
    key: str | None = None
    """File of the secret key of the digests in journal and ledger; null: ~/.config/adept/key."""

    decoding: DecodingConfig = field(default_factory=DecodingConfig)


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
