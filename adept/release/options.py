"""Options of `adept rewrite`, `adept synthesize` and `rewrite_frame`; imports no PyTorch."""

import os
from dataclasses import dataclass, field, fields
from typing import Any

from adept.data.corpus import Columns
from adept.data.texts import RequiredColumns
from adept.errors import ConfigurationError, check_between, check_choice, check_integer, refuse
from adept.models.config import BATCH_SIZE, DecodingConfig

TEXT = str | os.PathLike | None, "text"
KINDS: dict[Any, tuple[Any, str]] = {
    **dict.fromkeys((str, str | None), TEXT),
    bool: (bool, "True or False"),
    list[str]: (list, "a list of names"),
    DecodingConfig: (DecodingConfig, "a DecodingConfig"),
}
MAX_SAMPLES = 1000  # rewrites of one record: more of them tell nothing new, and would fill the memory


@dataclass(kw_only=True)
class PersonOptions(Columns):
    """Options that local and central releases of a file share.

    Files:
        statement: Name of the file for the privacy statement. With null, the name is OUTPUT.privacy.json.
        report: Also write OUTPUT.report.html, a page for the person who must approve the release.
        purpose: For report=true: the purpose of the release, which stands on the page.
        recipient: For report=true: the person or firm that gets the output. The name stands on the page.
        owner: For report=true: the person who answers for the release. The name stands on the page.

    Persons:
        person_column: Name of the column that names the person who contributed each record. The column of the persons
            is not written to the output.
        max_records_per_person: Largest number of records that one person may contribute. In adept rewrite, the total
            epsilon of a person is max_records_per_person times the epsilon of a record.

    Where it runs:
        engine: Place where the records are processed: local (in this process) | ray (on a Ray cluster, or in several
            processes on this machine).
        workers: Number of worker processes for engine=ray. With null, there is one worker for each CPU of the cluster.
    """

    statement: str | None = None
    report: bool = False
    purpose: str | None = None
    recipient: str | None = None
    owner: str | None = None
    person_column: str | None = None
    max_records_per_person: int | None = None
    engine: str = "local"
    workers: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice(("local", "ray"), engine=self.engine)
        self.check_counts("max_records_per_person", "workers")
        for one in fields(self):  # in Python, "false" would count as true, and a column 0 as not given
            value, (kind, rule) = getattr(self, one.name), KINDS.get(one.type, (object, ""))
            refuse((not isinstance(value, kind), f"{one.name} must be {rule}, got {type(value).__name__}"))
        if self.about and not self.report:
            raise ConfigurationError(f"{self.about[0][0]} must be left out without report=true: add report=true")
        refuse(
            (
                self.person_column == "" or (self.person_column is None) != (self.max_records_per_person is None),
                "person_column and max_records_per_person must be given together: add the other one",
            )
        )

    @property
    def about(self) -> list[tuple[str, str]]:
        """Names and values of the options that say what the release is for."""
        return [(name, said) for name in ("purpose", "recipient", "owner") if (said := getattr(self, name)) is not None]

    def check_counts(self, *names: str) -> None:
        """Raise ConfigurationError unless each of the named options is null or at least 1."""
        for name in names:
            value = getattr(self, name)
            if value is not None and (type(value) is not int or value < 1):
                rule = "at least 1" if isinstance(value, int) else "a whole number"
                raise ConfigurationError(f"{name} must be {rule}, got {value}")


@dataclass(kw_only=True)
class FileOptions(PersonOptions):
    """Options of a local release for its input, its output and its records.

    Files:
        card: Also write a data set card, OUTPUT.card.md, which describes the released file.
        keep_columns: Columns, besides text and label, that are copied to the output unchanged, without any privacy.
            Columns that no option names are left out of the output.
        schema: Types of the columns in keep_columns: give a parquet file that has these columns, or JSON such as
            {"score": "float64"}. You need schema only if the columns are written into a parquet file, and are read from
            standard input, or from JSON with over_limit=drop.

    Labels:
        labels: Treatment of labels: copy (labels are copied and not private) | joint (the model writes a label with
            each text) | joint_response (text and label are randomised together, with one budget) | randomized_response
            (labels are randomised with the separate budget label_epsilon) | drop (no labels are written).

    Texts:
        samples: Number of rewrites of each record. All rewrites of a record are written from the same randomised value,
            so more rewrites cost no further budget.

    Persons:
        excess: Treatment of persons with more than max_records_per_person records: refuse (the command stops and
            releases nothing) | drop (only the first max_records_per_person records of each person are released).
        over_limit: Treatment of persons whom the release would bring above the ledger's limit: refuse (the command
            stops and releases nothing) | drop (each person's first records are released, as long as the person has
            budget left).

    Shuffling, which hides who said what and gives a stronger guarantee for the whole file:
        shuffle: Write the records in a secret random order. The randomised values of all records stay in memory until
            the last record has been randomised.
        shuffled_records: Declare that a trusted party shuffles the output, in groups of at least this number of
            records, before anyone else reads it. A record counts once, however many rewrites it has: all its rewrites
            belong to the same group.
        central_delta: Delta of the guarantee for all shuffled records together. With null, delta is the smaller of 1e-6
            and 0.1 / N, where N is the number of shuffled records among which each record is hidden.

    Where it runs:
        flush_every: Number of records after which standard output is flushed. With null, standard output is flushed
            after each batch.
    """

    card: bool = False
    keep_columns: list[str] = field(default_factory=list)
    schema: str | None = None
    labels: str = "copy"
    samples: int = 1
    excess: str = "refuse"
    over_limit: str = "refuse"
    shuffle: bool = False
    shuffled_records: int | None = None
    central_delta: float | None = None
    flush_every: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice(("copy", "joint", "joint_response", "randomized_response", "drop"), labels=self.labels)
        check_choice(("refuse", "drop"), excess=self.excess, over_limit=self.over_limit)
        self.check_counts("flush_every", "shuffled_records")
        check_integer(1, MAX_SAMPLES, samples=self.samples)
        if self.central_delta is not None:
            check_between(1e-100, 0.5, central_delta=self.central_delta)
        for name in ("excess", "over_limit"):
            if getattr(self, name) == "drop" and self.person_column is None:
                raise ConfigurationError(f"person_column must be given for {name}=drop, got none: name it")


@dataclass(kw_only=True)
class CentralOptions(PersonOptions):
    """Options of a central release for its input, its output and its rows.

    Labels:
        labels: Treatment of labels: vote (the label of each record is counted together with its text, so text and label
            are private) | drop (no labels are written).

    Persons:
        person_column: Column that names the person who contributed each record. With person_column, the guarantee
            protects all records of a person together, and not only single records. The column of the persons is not
            written to the output.
        max_records_per_person: Largest number of records that are counted for one person. Further records of a person
            are left out without an error.

    Texts:
        rows: Number of synthetic records to write. With null, the noisy number of records decides: records with labels
            give four rows each, until the file has 16,000 rows.
    """

    labels: str = "vote"
    person_column: str | None = None
    max_records_per_person: int | None = None
    rows: int | None = None

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
    """Options of the ledger, the list of released records.

    Interrupted runs, and records that were released before:
        ledger: File of the ledger, which lists released records. If the ledger that you name already lists one of the
            records, the release is refused. With null, the default ledger is used: it adds up the budgets of each
            record, and a release is refused only above a limit that you set. With ledger=none, no ledger is kept.
        record_columns: Columns that identify a record in the ledger. The first release in a ledger decides these
            columns for all later releases. With null, a record is identified by its text, and also by its person if
            person_column is given.
        ledger_limit: Refuse a release that would raise the total epsilon of a record or person above this limit, even
            with again=true.
        again: Release records even if the ledger already lists a release of them. The budgets of all releases of a
            record add up.
        key: File with a secret key. In place of a record, the journal and the ledger store a digest, which is computed
            with this key. With null, the file is ~/.config/adept/key.
    """

    ledger: str | None = None
    record_columns: list[str] | None = None
    ledger_limit: float | None = None
    again: bool = False
    key: str | None = None


@dataclass
class ReleaseRequest(LedgerOptions, FileOptions):
    """A request to release records: budget, mechanism, treatment of labels, and other options.

    Budget and mechanism:
        epsilon: Privacy budget of each record. With labels=joint_response, epsilon is the budget of text and label
            together. Epsilon has no default, so you must choose its value.
        mechanism: Mechanism that randomises each record. With null, the command chooses among the mechanisms that
            compute in exact arithmetic, and takes the one that suits the model best. Otherwise, give a mechanism of
            your own as MODULE:ATTRIBUTE, or the name of one of adept's mechanisms.
        model_dir: Directory of the model. With null, the command uses the model that comes with the package.
        accept_broken_claim: Accept a mechanism whose claimed epsilon is false.
        accept_inexact: Accept a mechanism that computes its noise in floating point. No proof covers such noise.
        accept_private_model: Accept a model that was trained on private text. No epsilon protects the training text.
        accept_unproved: Accept a mechanism of your own. Its claim is its author's, and adept does not check it.

    Labels:
        label_epsilon: For labels=randomized_response: privacy budget of each record's label, which is spent in addition
            to epsilon.
        label_set: Public list of the labels among which random labels are drawn: either [A,B] or @FILE, a file with one
            label on each line. With null, the labels of the model are used. With labels=copy, no label is drawn. The
            command then uses the list to choose public sentences for each label (see label_codewords) before it
            releases the first record.
        label_descriptions: File with public sentences about the labels. Give this file if labels are copied, and their
            names alone do not show what they mean. Each line holds a label, a tab, and sentences about the label,
            separated by tabs.
        label_codewords: For labels=copy: the public sentences among which each rewrite is chosen: auto (for each label,
            the sentences near its name, so a rewrite can reveal its label; works only with mechanism=null and a model
            of text of many domains) | off (the same sentences for all labels).

    Texts:
        batch_size: Number of records that are rewritten at the same time.

    Persons:
        epsilon_per: Unit that may spend epsilon: record (each record spends the whole epsilon) | person (the records of
            a person get equal shares of epsilon).
    """

    epsilon: float | None = None
    mechanism: Any = None
    model_dir: str | None = None
    accept_broken_claim: bool = False
    accept_inexact: bool = False
    accept_private_model: bool = False
    accept_unproved: bool = False
    label_epsilon: float | None = None
    label_set: list[str] | None = None
    label_descriptions: str | None = None
    label_codewords: str = "auto"
    batch_size: int = BATCH_SIZE
    epsilon_per: str = "record"
    decoding: DecodingConfig = field(default_factory=DecodingConfig)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice(("auto", "off"), label_codewords=self.label_codewords)
        refuse(
            (
                self.over_limit == "drop" and self.ledger == "none",
                "ledger must be a ledger with a limit for over_limit=drop, got none: leave the option out, or give ledger=FILE",
            ),
            (
                self.epsilon_per not in ("record", "person"),
                f"epsilon_per must be record or person, got {self.epsilon_per}",
            ),
            (
                self.epsilon_per == "person" and self.max_records_per_person is None,
                "max_records_per_person must be given for epsilon_per=person, got none",
            ),
        )
