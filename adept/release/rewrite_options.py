"""Options of `adept rewrite`, `adept synthesize` and `rewrite_frame`: all but input and output.

Nothing here imports PyTorch.
"""

from dataclasses import dataclass, field
from typing import Any

from adept.data.column_names import RequiredColumns
from adept.data.corpus import Columns, find_label_column
from adept.errors import ConfigurationError
from adept.models.config import BATCH_SIZE, DecodingConfig
from adept.ranges import check_between, check_choice

LABEL_CODEWORDS = ("auto", "off")
MAX_SAMPLES = 1000  # rewrites of one record: more tell nothing, and would fill the memory


@dataclass(kw_only=True)
class PersonOptions(Columns):
    """Options of every release of a file."""

    # --- Files
    statement: str | None = None
    """File of the privacy statement; null: OUTPUT.privacy.json."""
    report: bool = False
    """Also write OUTPUT.report.html, a page for the person who must approve the release."""

    # --- Persons
    person_column: str | None = None
    """Column that names the person of a record; it is not written."""
    max_records_per_person: int | None = None
    """Largest number of records of a person; their total is so many times epsilon."""

    # --- Where it runs
    engine: str = "local"
    """Place of the computation: local | ray (a cluster, or processes on this machine)."""
    workers: int | None = None
    """Processes of engine=ray; null: one for each CPU of the cluster."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice(("local", "ray"), engine=self.engine)
        self.check_counts("max_records_per_person", "workers")
        if (self.person_column is None) != (self.max_records_per_person is None):
            raise ConfigurationError(
                "person_column and max_records_per_person must be given together: add the other one"
            )

    def check_counts(self, *names: str) -> None:
        """Raise ConfigurationError unless each of these options is null or at least 1."""
        for name in names:
            if getattr(self, name) is not None and getattr(self, name) < 1:
                raise ConfigurationError(f"{name} must be at least 1, got {getattr(self, name)}")


@dataclass(kw_only=True)
class FileOptions(PersonOptions):
    """Columns of the files that are read."""

    # --- Files
    card: bool = False
    """Also write a data set card, OUTPUT.card.md."""
    keep_columns: list[str] = field(default_factory=list)
    """Further columns to copy, which are then not private; all other columns are dropped."""
    schema: str | None = None
    """Types of kept columns: a parquet file, or JSON such as {"score": "float64"}; needed if they
    go from standard input to parquet.
    """

    # --- Labels
    labels: str = "copy"
    """Treatment of labels: copy (not private) | joint (the model writes them) | joint_response
    (one symbol with the text) | randomized_response (a budget of their own) | drop."""

    # --- Texts
    samples: int = 1
    """Number of rewrites of each record; all come from one release and cost no further budget."""

    # --- Persons
    excess: str = "refuse"
    """Treatment of records beyond max_records_per_person: refuse (the whole file) | drop (all
    but each person's first)."""

    # --- Shuffling, which hides who said what and gives a stronger guarantee for the whole file
    shuffle: bool = False
    """Write the records in a secret random order; all releases stay in memory until then."""
    shuffled_records: int | None = None
    """Declare that a trusted party shuffles so many records before anyone reads the file."""
    central_delta: float | None = None
    """Delta for N shuffled records; null: 1e-6, or a tenth of 1 / N if that is less."""

    # --- Where it runs
    flush_every: int | None = None
    """Records after which standard output is flushed; null: after each batch."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice(("copy", "joint", "joint_response", "randomized_response", "drop"), labels=self.labels)
        check_choice(("refuse", "drop"), excess=self.excess)
        self.check_counts("samples", "flush_every", "shuffled_records")
        if self.samples > MAX_SAMPLES:
            raise ConfigurationError(f"samples must be at most {MAX_SAMPLES:,}, got {self.samples}")
        if self.central_delta is not None:
            check_between(1e-100, 0.5, central_delta=self.central_delta)
        if self.excess == "drop" and self.person_column is None:
            raise ConfigurationError("person_column must be given for excess=drop, got none: name it")


@dataclass(kw_only=True)
class CentralOptions(PersonOptions):
    """Columns of the files that are read."""

    # --- Labels
    labels: str = "vote"
    """Treatment of labels: vote (counted with the text, so that both are private) | drop."""

    # --- Persons
    person_column: str | None = None
    """Column that names each record's person; the guarantee is then for persons, and the column is
    not written.
    """
    max_records_per_person: int | None = None
    """Number of a person's records that count; further ones are left out silently."""

    # --- Texts
    rows: int | None = None
    """Number of synthetic records to write; null: the noisy counts decide."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice(("vote", "drop"), labels=self.labels)
        if len(set(self.used_columns)) < len(self.used_columns):
            raise ConfigurationError("text_column, label_column and person_column must be different columns")

    @property
    def used_columns(self) -> list[str]:
        """Columns that are read."""
        label = self.label if self.labels == "vote" else None
        return [column for column in (self.text_column, self.person_column, label) if column is not None]

    @property
    def label(self) -> str:
        """The label's column: fixed before the file is read."""
        return find_label_column({"intent": None}, self.label_column) or ""

    @property
    def required(self) -> RequiredColumns:
        """Columns that a file must declare, because without them no row could count."""
        named = [("text_column", self.text_column), ("person_column", self.person_column)]
        labels = [("label_column", self.label)] if self.labels == "vote" else []
        return RequiredColumns(tuple((option, name) for option, name in [*named, *labels] if name), central=True)


@dataclass
class LedgerOptions:
    """Records that were released before."""

    # --- Interrupted runs, and records that were released before
    ledger: str | None = None
    """File that lists released records and refuses them; null: the default ledger, which only
    counts; none: no ledger."""
    record_columns: list[str] | None = None
    """Columns that identify a record in the ledger, fixed by its first release; null: text, and
    person_column if given."""
    ledger_limit: float | None = None
    """Refuse a release that brings a record or person above this epsilon, even with again=true."""
    again: bool = False
    """Release although the ledger holds earlier releases; their budgets add up."""
    key: str | None = None
    """File of the secret key for journal and ledger; null: ~/.config/adept/key."""


@dataclass
class ReleaseRequest(LedgerOptions, FileOptions):
    """A release of records."""

    # --- Budget and mechanism
    epsilon: float | None = None
    """Privacy budget of each record (with labels=joint_response, of text and label together);
    you must choose it."""
    mechanism: Any = None
    """The mechanism that randomises a record; null: the best exact one for the model."""
    model_dir: str | None = None
    """The model's directory; null: the model that comes with the package."""
    accept_broken_claim: bool = False
    """Release with a mechanism whose claim is false."""
    accept_inexact: bool = False
    """Release with a mechanism whose noise is floating point, which no proof covers."""
    accept_private_model: bool = False
    """Release with a model that was trained on private text, which no epsilon covers."""

    # --- Labels
    label_epsilon: float | None = None
    """Budget of labels=randomized_response, spent beside epsilon."""
    label_set: list[str] | None = None
    """Public labels for random draws, [A,B] or @FILE with one on each line; null: the model's. With
    labels=copy their codewords are made before the first record."""
    label_descriptions: str | None = None
    """File that says what copied labels mean, beside their names: in each line a label, a tab
    and public sentences, with tabs between them."""
    label_codewords: str = "auto"
    """Codewords where labels are copied: auto (near the name of a record's label, if the model
    is broad and no mechanism is chosen; a text can then tell its label) | off (the same for all
    labels)."""

    # --- Texts
    batch_size: int = BATCH_SIZE
    """Number of records that are rewritten together."""

    # --- Persons
    epsilon_per: str = "record"
    """Unit of epsilon: record | person (a person's records get equal shares)."""

    decoding: DecodingConfig = field(default_factory=DecodingConfig)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice(LABEL_CODEWORDS, label_codewords=self.label_codewords)
        if self.epsilon_per not in ("record", "person"):
            raise ConfigurationError(f"epsilon_per must be record or person, got {self.epsilon_per}")
        if self.epsilon_per == "person" and self.max_records_per_person is None:
            raise ConfigurationError("max_records_per_person must be given for epsilon_per=person, got none")
