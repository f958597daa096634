"""Options that only the commands `rewrite`, `synthesize`, `verify` and `ledger` have."""

from dataclasses import dataclass

from adept.cli.help import REQUIRED
from adept.errors import ConfigurationError
from adept.ranges import check_choice
from adept.release.options import CentralOptions, LedgerOptions, ReleaseRequest

NEIGHBOURS = ("add_or_remove", "replace")


@dataclass
class FileNames:
    """Names of the files that a release reads and writes."""

    # --- Files
    input: str = REQUIRED
    """File of private records: txt, csv, tsv, jsonl, json or parquet, which may also be gzipped. To
    read several files, give their directory or a pattern such as 'logs/*.jsonl'. To read standard
    input, give -."""
    output: str = ""
    """New file for the released records, or - for standard output. The ending of the file's name
    determines its format. If the ending is unknown, the output has the format of the input. You
    must give output, unless you give dry_run=true and no epsilon."""

    # --- Interrupted runs, and records that were released before
    resume: bool = False
    """Continue an interrupted release. If there is no interrupted release, begin a new one."""

    def __post_init__(self) -> None:
        super().__post_init__()  # type: ignore[misc]  # of the options beside these
        if not (self.output or self.shows_budgets):
            raise ConfigurationError("output must be given, got nothing: add output=...")

    @property
    def shows_budgets(self) -> bool:
        """True if this is a dry run without an epsilon, so that it compares several epsilons."""
        own = getattr(getattr(self, "mechanism", None), "epsilon", None)
        return getattr(self, "dry_run", False) and getattr(self, "epsilon", None) is None and own is None


@dataclass
class RewriteConfig(FileNames, ReleaseRequest):
    """Configuration of ``adept rewrite``."""

    # --- A look before the release
    expect: str | None = None
    """File of public texts. The command rewrites these texts to estimate how much of a text
    survives in a rewrite. With expect, you must also set public=true."""
    public: bool = False
    """Set public to true to declare that anyone may read the texts that you give with expect."""
    dry_run: bool = False
    """Check all options and the file, count the records and describe the release, but release
    nothing. Without epsilon, show for several values of epsilon how well a record is hidden, and
    how much of a public text survives in its rewrite."""


@dataclass
class SynthesizeConfig(FileNames, LedgerOptions, CentralOptions):
    """Configuration of ``adept synthesize``."""

    # --- Budget
    epsilon: float | None = None
    """Privacy budget of each person or, without person_column, of each record. Epsilon has no
    default, so you must choose its value."""
    neighbours: str = NEIGHBOURS[0]
    """Difference between two input files that the guarantee hides: add_or_remove (one file has a
    person's records and the other does not) | replace (one person has different records in the two
    files; to hide this needs twice the noise)."""
    model_dir: str | None = None
    """Directory of the model. With null, the command uses the model that comes with the package."""
    cells: int | None = None
    """Number of topics (codewords). The command counts the records of each topic, separately for
    each label. With null, 1/32 of epsilon is spent on a noisy number of records, which decides the
    number of topics."""
    dry_run: bool = False
    """Check all options and the file, and print how many rows would be counted, but release
    nothing. Without epsilon, show for several values of epsilon how well a person is hidden, and
    how frequent a topic must be to stand out from the noise."""
    expected_rows: int | None = None
    """For dry_run=true without epsilon: the number of rows that you expect in the input. With null,
    the dry run shows its results for 1,000, 10,000 and 100,000 rows."""
    accept_private_model: bool = False
    """Accept a model that was trained on private text. No epsilon protects the training text."""

    # --- Labels
    label_set: list[str] | None = None
    """Public list of the labels: either [A,B] or @FILE, a file with one label on each line. Rows
    with a label that is not in this list are not counted."""

    # --- Interrupted runs, and records that were released before
    ledger: str | None = None
    """File of the ledger, which lists earlier releases. If the ledger that you name already lists
    any release, you must also set again=true. With null, the default ledger is used, and you need
    not set again. With none, no ledger is kept."""

    def __post_init__(self) -> None:
        check_choice(NEIGHBOURS, neighbours=self.neighbours)
        self.check_counts("expected_rows")
        super().__post_init__()


@dataclass
class VerifyConfig:
    """Configuration of ``adept verify``."""

    statement: str = REQUIRED
    """The privacy statement to check, which is a file OUTPUT.privacy.json. You may write the file's
    name alone, without statement=."""

    output: str | None = None
    """The released file that the statement describes. With null, the command checks the file beside
    the statement with the statement's name, but without the ending .privacy.json."""

    model_dir: str | None = None
    """Directory of the model that the statement describes, or utterances for the model that comes
    with the package. With null, the command checks the statement without the model."""


@dataclass
class LedgerConfig:
    """Configuration of ``adept ledger``."""

    ledger: str | None = None
    """File of the ledger, which lists earlier releases. You may write the file's name alone,
    without ledger=. With null, the default ledger is used."""
    limit: float | None = None
    """Limit to store in the ledger. Later releases are refused if the epsilons of a record or of a
    person would add up to more than this limit."""
    approve: str | None = None
    """File that was released. The command reads the file, and marks the newest release with this
    content as approved. With approve, you must also set approved_by."""
    approved_by: str | None = None
    """Name of the person who approved the release. The ledger stores and lists this name, and the
    time of the approval."""

    def __post_init__(self) -> None:
        if (self.approve is None) != (self.approved_by is None):
            raise ConfigurationError("approve and approved_by must be given together: add the other one")
