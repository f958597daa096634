"""What is asked of a release of records: the options that the command and Python share, and what they open."""

from dataclasses import dataclass, field, fields
from typing import Any

from adept.models.network.decoding import DecodingConfig
from adept.release.columns import FileOptions, ReleaseOptions
from adept.release.service import Budget, label_response, open_rewriter
from adept.rewriting.rewriter import BATCH_SIZE, Rewriter


@dataclass
class ReleaseRequest(FileOptions):
    """A release of records."""

    # --- Budget and mechanism
    epsilon: float | None = None
    """The privacy budget of each record, with labels=joint_response of text and label; whoever releases the data must give it."""
    mechanism: Any = None
    """What randomises a record; null: the best exact one for the model."""
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
    """The public labels that randomised ones are drawn from, [A,B] or @FILE with one on each line; null: those of the model."""

    # --- Texts
    batch_size: int = BATCH_SIZE
    """Records that are rewritten at a time."""

    # --- Persons
    epsilon_per: str = "record"
    """Whose budget epsilon is: record | person (each of a person's records gets an equal share)."""

    # --- Interrupted runs, and records that were released before
    ledger: str | None = None
    """A file that remembers released records and refuses them; null: one in your state directory, which only counts; none: none."""
    record_columns: list[str] | None = None
    """The columns that identify a record in the ledger, fixed by its first release; null: text, and person where one is named."""
    ledger_limit: float | None = None
    """Epsilon that no record or person of the ledger may pass, whatever again says; the ledger's own limit holds too."""
    again: bool = False
    """Release records of the ledger again; their budgets add up."""
    key: str | None = None
    """File of the secret key of the digests in journal and ledger; null: ~/.config/adept/key."""

    decoding: DecodingConfig = field(default_factory=DecodingConfig)


def open_release(request: ReleaseRequest) -> tuple[Rewriter, ReleaseOptions]:
    """Load the model, give it the budget, and return what rewrites and what of each record reaches the output.

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
