"""Options that only the commands `rewrite`, `synthesize`, `verify` and `ledger` have."""

from dataclasses import dataclass

from adept.cli.help import REQUIRED
from adept.errors import ConfigurationError
from adept.ranges import check_choice
from adept.release.rewrite_options import CentralOptions, LedgerOptions, ReleaseRequest

NEIGHBOURS = ("add_or_remove", "replace")


@dataclass
class FileNames:
    """Files of a release."""

    # --- Files
    input: str = REQUIRED
    """File to read: txt, csv, tsv, jsonl, json or parquet, also gzipped; or a directory of
    parts, a pattern such as 'logs/*.jsonl', or - for standard input."""
    output: str = ""
    """New file to write; - is standard output. Its format follows from the file's name, or else
    from the input. You may leave output out only for dry_run=true without epsilon."""

    # --- Interrupted runs, and records that were released before
    resume: bool = False
    """Continue an interrupted release; if there is none, begin a new one."""

    def __post_init__(self) -> None:
        super().__post_init__()  # type: ignore[misc]  # of the options beside these
        if not (self.output or self.shows_budgets):
            raise ConfigurationError("output must be given, got nothing: add output=...")

    @property
    def shows_budgets(self) -> bool:
        """True for a dry run without a budget, which compares several budgets."""
        own = getattr(getattr(self, "mechanism", None), "epsilon", None)
        return getattr(self, "dry_run", False) and getattr(self, "epsilon", None) is None and own is None


@dataclass
class RewriteConfig(FileNames, ReleaseRequest):
    """Configuration of ``adept rewrite``."""

    # --- A look before the release
    expect: str | None = None
    """File of public texts that are rewritten to estimate how much of a text is kept; needs
    public=true."""
    public: bool = False
    """Declare that the texts of expect are public."""
    dry_run: bool = False
    """Check everything, count the records and describe the release, but release nothing. Without
    epsilon: show for several budgets how well a record is hidden and how much of public texts is
    kept."""


@dataclass
class SynthesizeConfig(FileNames, LedgerOptions, CentralOptions):
    """Configuration of ``adept synthesize``."""

    # --- Budget
    epsilon: float | None = None
    """Privacy budget of each person or, without person_column, of each record. You must choose
    it."""
    neighbours: str = NEIGHBOURS[0]
    """Change of the file that the guarantee hides: add_or_remove (a person takes part or not) |
    replace (a person says something else; needs twice the noise)."""
    model_dir: str | None = None
    """The model's directory; null: the model that comes with the package."""
    cells: int | None = None
    """Number of codewords; null: a rule computes it from the budget and the public texts."""
    dry_run: bool = False
    """Check everything, tell the curator how many rows would count, and release nothing. Without
    epsilon: show for several budgets how well a person is hidden and how frequent a topic must be
    to stand out from the noise."""
    expected_rows: int | None = None
    """Number of input rows that you expect, for dry_run=true without epsilon; null: show results
    for 1,000 to 100,000 rows."""
    accept_private_model: bool = False
    """Accept a model that was trained on private text; no epsilon protects that text."""

    # --- Labels
    label_set: list[str] | None = None
    """Public labels: [A,B], or @FILE with one label on each line. Rows with other labels do not
    count."""

    # --- Interrupted runs, and records that were released before
    ledger: str | None = None
    """File that lists releases; if it already lists one, add again=true; null: the default ledger;
    none: no ledger."""

    def __post_init__(self) -> None:
        check_choice(NEIGHBOURS, neighbours=self.neighbours)
        self.check_counts("expected_rows")
        super().__post_init__()


@dataclass
class VerifyConfig:
    """Configuration of ``adept verify``."""

    statement: str = REQUIRED
    """Statement OUTPUT.privacy.json of a release (statement= may be left out)."""

    output: str | None = None
    """The released file that the statement describes; null: the file beside the statement."""

    model_dir: str | None = None
    """The model to compare with the statement: its directory, or utterances for the packaged model;
    null: no model is compared."""


@dataclass
class LedgerConfig:
    """Configuration of ``adept ledger``."""

    ledger: str | None = None
    """The ledger's file (ledger= may be left out); null: the default ledger."""
    limit: float | None = None
    """Store this limit: no later release may bring a record or person above this epsilon."""
    approve: str | None = None
    """Note that somebody approved the newest release of this output, named as in the ledger's list;
    needs approved_by."""
    approved_by: str | None = None
    """The person who approved the release; the ledger stores and lists the name and the time."""

    def __post_init__(self) -> None:
        if (self.approve is None) != (self.approved_by is None):
            raise ConfigurationError("approve and approved_by must be given together: add the other one")
