"""A release and all numbers that follow from it, which a statement (``adept.release.statement``) consists of."""

from dataclasses import dataclass, field
from typing import Any

from adept.mechanisms import JointResponse, RandomizedResponse
from adept.mechanisms.certificate import Part
from adept.mechanisms.guarantee import Guarantee, total
from adept.release.shuffling import Shuffled

NOT_HIDDEN = (
    "that someone took part",
    "how many records there are",
    "which record is damaged, lacks a column, its text, label or person, has an unknown label or exceeds its person's bound, "
    "if a run ends with that error",
    "whether the first record has a label, which decides whether labels are written, if no option names their column",
    "that a record was released before, if a ledger refuses the run",
    "what the model learned from its training text",
)
EXCESS = ("which records exceed their person's bound and were left out", "how many records, up to {most}, a person has")
ORDER = "their order"
TIME = (
    "how long a batch of records takes, if somebody sees when rows are written: the time depends on the records' lengths and "
    "words and on which of them are equal or similar"
)


@dataclass(frozen=True, kw_only=True)
class Released:
    """A release: its mechanism, its guarantee and its records.

    ``epsilon`` is the true total per record, over what is private under ``neighbours``: with copied labels the neighbours are
    records with the same label, because two records with different labels can be told apart for certain.
    """

    mechanism: str
    mechanism_options: dict[str, Any]  # every field of the mechanism, which tells its distribution
    guarantee: Guarantee  # of the released latent, and so of the text; of text and label where they are one symbol
    dim: int | None
    clip: str | None
    clip_norm: float | None
    records: int
    samples: int
    labels: str | None  # how labels were treated; None where the input has none
    label_response: RandomizedResponse | JointResponse | None  # what randomised labels, beside the text or with it
    kept_columns: list[str]
    training_data: dict[str, Any]
    versions: dict[str, str]
    codebook: dict[str, Any] = field(default_factory=dict)  # size, top and codebook_sha256, as realised
    model_sha256: str | None = None
    model_files: dict[str, str] | None = None  # digests of the model's files; None for a model without files
    output_sha256: str | None = None
    date: str | None = None  # when the release was finished, UTC
    max_records_per_person: int | None = None  # what a person column was checked against; None without one
    excess: str = "refuse"  # what became of a person's further records
    text_column: str | None = None  # of the output
    label_column: str | None = None
    certificate: list[Part] | None = None  # public numbers that imply the guarantee; None where no proof covers it
    shuffled: Shuffled | None = None  # what is hidden further by a new order; None where records keep theirs
    simulated: bool = False

    @property
    def label_epsilon(self) -> float | None:
        """The true epsilon of the written label alone, where labels are released."""
        response = self.label_response
        return response.label_epsilon if isinstance(response, JointResponse) else self.label_budget or None

    @property
    def label_budget(self) -> float:
        """What labels spend beside the guarantee: nothing where it is that of the pair, or where they are not released."""
        response = self.label_response
        return response.guarantee().epsilon if response and not isinstance(response, JointResponse) else 0.0

    @property
    def epsilon(self) -> float:
        """The true total per record."""
        return total(self.guarantee.epsilon, self.label_budget)

    @property
    def delta(self) -> float:
        """The delta that goes with it."""
        return self.guarantee.delta

    @property
    def counted(self) -> int:
        """How many times epsilon is spent where one record is replaced by another."""
        return 1

    @property
    def claimed_epsilon(self) -> float:
        """What the mechanisms' authors say the total is."""
        return total(self.guarantee.claimed_epsilon, self.label_budget)

    @property
    def text_epsilon(self) -> float:
        """The true total of the text alone, for any two records."""
        response = self.label_response
        return response.text_epsilon if isinstance(response, JointResponse) else self.guarantee.epsilon

    @property
    def person_epsilon(self) -> float | None:
        """The true total per person, where a person column was checked (basic composition); summed exactly, rounded up once."""
        people = self.max_records_per_person
        return total(self.guarantee.epsilon, self.label_budget, times=people) if people else None

    @property
    def person_delta(self) -> float | None:
        """The delta that goes with it."""
        people = self.max_records_per_person
        return total(self.guarantee.delta, times=people) if people else None

    @property
    def neighbours(self) -> str:
        """The pairs of records that the guarantee compares: those that agree in everything that is copied.

        If a person's further records are left out, it depends on the person's other records if a record is in the output. So
        only records of one person are compared.
        """
        copied = [*(["label"] if self.labels == "copy" else []), *self.kept_columns]
        whose = "any two records of the same person" if self.excess == "drop" else "any two records"
        return f"{whose} with the same {' and '.join(copied)}" if copied else whose

    @property
    def trust(self) -> str:
        """Whom the stated guarantee asks to trust: nobody but this machine, or those who shuffled too."""
        return "shuffled" if self.shuffled else "local"

    @property
    def not_hidden(self) -> list[str]:
        """What nobody promises to hide."""
        labels = ["each record's label"] if self.labels == "copy" else []
        order = [] if self.shuffled and self.shuffled.here else [ORDER]
        rows = [fact.format(most=self.max_records_per_person) for fact in EXCESS] if self.excess == "drop" else []
        return [*NOT_HIDDEN, *rows, *order, *labels, *(f"each record's {column}" for column in self.kept_columns), TIME]
