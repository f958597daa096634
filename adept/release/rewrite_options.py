"""Options of `adept rewrite`, `adept synthesize` and `rewrite_frame`; imports no PyTorch."""

from dataclasses import dataclass, field
from typing import Any

from adept.data.column_names import RequiredColumns
from adept.data.corpus import Columns
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
    """Name of the file for the privacy statement; null: OUTPUT.privacy.json."""
    report: bool = False
    """Also write OUTPUT.report.html, a page for the person who must approve the release."""

    # --- Persons
    person_column: str | None = None
    """Name of the column that names the person who contributed each record. This column is not
    written to the output."""
    max_records_per_person: int | None = None
    """Largest number of records that one person may contribute. In adept rewrite, the total epsilon
    of a person is this number times the epsilon of a record."""

    # --- Where it runs
    engine: str = "local"
    """Place of the computation: local (this process) | ray (a Ray cluster, or several processes on
    this machine)."""
    workers: int | None = None
    """Number of worker processes for engine=ray; null: one for each CPU of the cluster."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice(("local", "ray"), engine=self.engine)
        self.check_counts("max_records_per_person", "workers")
        if (self.person_column is None) != (self.max_records_per_person is None):
            raise ConfigurationError(
                "person_column and max_records_per_person must be given together: add the other one"
            )

    def check_counts(self, *names: str) -> None:
        """Raise ConfigurationError unless each of the named options is null or at least 1."""
        for name in names:
            if getattr(self, name) is not None and getattr(self, name) < 1:
                raise ConfigurationError(f"{name} must be at least 1, got {getattr(self, name)}")


@dataclass(kw_only=True)
class FileOptions(PersonOptions):
    """Options of a local release that are about its input, its output and its records."""

    # --- Files
    card: bool = False
    """Also write a data set card, OUTPUT.card.md."""
    keep_columns: list[str] = field(default_factory=list)
    """Further columns that are copied to the output unchanged, without any privacy. All columns
    that no option names are left out."""
    schema: str | None = None
    """Types of the kept columns: a parquet file that has these columns, or JSON such as {"score":
    "float64"}. This option is needed if keep_columns are read from standard input and written into
    a parquet file."""

    # --- Labels
    labels: str = "copy"
    """Treatment of labels: copy (labels are copied and not private) | joint (the model writes a
    label with each text) | joint_response (text and label are randomised together, with one budget)
    | randomized_response (labels are randomised with a budget of their own) | drop (no labels are
    written)."""

    # --- Texts
    samples: int = 1
    """Number of rewrites of each record. All rewrites of a record are written from one randomised
    value, so more rewrites cost no further budget."""

    # --- Persons
    excess: str = "refuse"
    """Treatment of records beyond max_records_per_person: refuse (nothing is released) | drop (only
    each person's first records are released)."""

    # --- Shuffling, which hides who said what and gives a stronger guarantee for the whole file
    shuffle: bool = False
    """Write the records in a secret random order. The randomised values of all records stay in
    memory until the last record has been randomised."""
    shuffled_records: int | None = None
    """Declare that a trusted party shuffles this number of output records together before anyone
    else reads them."""
    central_delta: float | None = None
    """Delta of the guarantee that N shuffled records have together; null: the smaller of 1e-6 and
    0.1 / N."""

    # --- Where it runs
    flush_every: int | None = None
    """Number of records after which standard output is flushed; null: after each batch."""

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
    """Options of a central release that are about its input, its output and its rows."""

    # --- Labels
    labels: str = "vote"
    """Treatment of labels: vote (each record's label is counted together with its text, so both are
    private) | drop (no labels are written)."""

    # --- Persons
    person_column: str | None = None
    """Column that names the person who contributed each record. The guarantee then protects all
    records of a person together, and not only single records. The column is not written to the
    output."""
    max_records_per_person: int | None = None
    """Largest number of records that are counted for one person. Further records of the person are
    left out, and no error is raised."""

    # --- Texts
    rows: int | None = None
    """Number of synthetic records to write; null: as many as the noisy counts say."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice(("vote", "drop"), labels=self.labels)
        if len(set(self.used_columns)) < len(self.used_columns):
            raise ConfigurationError("text_column, label_column and person_column must be different columns")

    @property
    def used_columns(self) -> list[str]:
        return [column for _, column in self.required.columns]

    @property
    def label(self) -> str | None:
        """Name of the label column, chosen before the file is read; None with labels=drop."""
        return (self.label_column or "intent") if self.labels == "vote" else None

    @property
    def required(self) -> RequiredColumns:
        """Columns that each input file must have."""
        named = {"text_column": self.text_column, "person_column": self.person_column, "label_column": self.label}
        return RequiredColumns(tuple((option, name) for option, name in named.items() if name), central=True)


@dataclass
class LedgerOptions:
    """Options of the ledger, the list of released records."""

    # --- Interrupted runs, and records that were released before
    ledger: str | None = None
    """File that lists released records (a ledger). A release is refused if the file lists one of
    its records. null: the default ledger, which adds up the budgets of each record, and refuses a
    release only above a limit that you set. none: no ledger."""
    record_columns: list[str] | None = None
    """Columns that identify a record in the ledger. The first release in a ledger decides these
    columns for all later releases. null: the text, and also person_column if that option is
    given."""
    ledger_limit: float | None = None
    """Refuse a release that would raise the total epsilon of a record or person above this limit,
    even with again=true."""
    again: bool = False
    """Release records even if the ledger lists earlier releases. The budgets of all releases of a
    record add up."""
    key: str | None = None
    """File with the secret key for the digests of records in journal and ledger; null:
    ~/.config/adept/key."""


@dataclass
class ReleaseRequest(LedgerOptions, FileOptions):
    """A request to release records: budget, mechanism, treatment of labels, other options."""

    # --- Budget and mechanism
    epsilon: float | None = None
    """Privacy budget of each record. With labels=joint_response, epsilon is the budget of text and
    label together. There is no default, so you must choose it."""
    mechanism: Any = None
    """Mechanism that randomises a record; null: the best one for the model among those that compute
    in exact arithmetic."""
    model_dir: str | None = None
    """The model's directory; null: the model that comes with the package."""
    accept_broken_claim: bool = False
    """Accept a mechanism whose claimed guarantee is false."""
    accept_inexact: bool = False
    """Accept a mechanism that computes its noise in floating point; no proof covers such noise."""
    accept_private_model: bool = False
    """Accept a model that was trained on private text. No epsilon protects the training text."""

    # --- Labels
    label_epsilon: float | None = None
    """Privacy budget of each record's label with labels=randomized_response. The label's budget is
    spent in addition to epsilon."""
    label_set: list[str] | None = None
    """Public labels among which random labels are drawn: [A,B], or @FILE with one label on each
    line; null: the model's labels. With labels=copy, no label is drawn, and the codewords of these
    labels are computed before the first record is released."""
    label_descriptions: str | None = None
    """File with public sentences that explain the copied labels, for labels whose names say too
    little. Each line holds a label, a tab, and sentences about the label, separated by tabs."""
    label_codewords: str = "auto"
    """Public sentences among which a rewrite is chosen, if labels are copied: auto (each label has
    sentences near its name, if the model was trained on text of many domains and no mechanism is
    chosen; a rewrite can then reveal its label) | off (all labels have the same sentences)."""

    # --- Texts
    batch_size: int = BATCH_SIZE
    """Number of records that are rewritten together."""

    # --- Persons
    epsilon_per: str = "record"
    """Unit of epsilon: record (each record has the whole epsilon) | person (the records of a person
    get equal shares of epsilon)."""

    decoding: DecodingConfig = field(default_factory=DecodingConfig)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice(LABEL_CODEWORDS, label_codewords=self.label_codewords)
        if self.epsilon_per not in ("record", "person"):
            raise ConfigurationError(f"epsilon_per must be record or person, got {self.epsilon_per}")
        if self.epsilon_per == "person" and self.max_records_per_person is None:
            raise ConfigurationError("max_records_per_person must be given for epsilon_per=person, got none")
