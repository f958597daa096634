"""The columns of a release: which of a file's are read, which reach the output, and what every record is checked for.

Text and label are what a record is about; a person's column is counted and never written; kept columns are copied as they are,
and so not private. Everything else is dropped.
"""

import hashlib
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

from adept.data.corpus import Columns, find_label_column, text_of
from adept.data.files import Record, check_format
from adept.errors import ConfigurationError, DataError
from adept.mechanisms import JointResponse, RandomizedResponse
from adept.mechanisms.base import check_between
from adept.synthesis.tally import person_name

LABEL_TREATMENTS = ("copy", "joint", "joint_response", "randomized_response", "drop")
RELEASED = ("randomized_response", "joint_response")  # treatments that randomise labels
ENGINES = ("local", "ray")
MOST_SAMPLES = 1000  # rewrites of one record: more tell nothing, and would fill the memory


@dataclass(kw_only=True)
class FileOptions(Columns):
    """Columns of the files that are read."""

    # --- Files
    format: str | None = None
    """Format of standard input and output: jsonl | csv | txt."""
    card: bool = False
    """Also write a data set card, OUTPUT.card.md."""
    keep_columns: list[str] = field(default_factory=list)
    """Further columns that are copied as they are, and so not private; all others are dropped."""

    # --- Labels
    labels: str = "copy"
    """What becomes of labels: copy (not private) | joint (the model writes them) | joint_response (one symbol with the text) |
    randomized_response (a budget of their own) | drop."""

    # --- Texts
    samples: int = 1
    """Rewrites of each record, all from its one release: they cost no further budget."""

    # --- Persons
    person_column: str | None = None
    """The column that says who contributed a record; it is not written."""
    max_records_per_person: int | None = None
    """At most so many records of one person are accepted; a person's total is this many times epsilon."""

    # --- Shuffling, which hides who said what and gives a stronger guarantee for the whole file
    shuffle: bool = False
    """Write the records in an order that nobody knows, when all are released; all releases are kept in memory until then."""
    shuffled_records: int | None = None
    """You declare that a party you trust shuffles so many records before anyone reads the file."""
    central_delta: float | None = None
    """Delta of the guarantee for shuffled records; null: 1e-6, or a tenth of one over their number if that is less."""

    # --- Where it runs
    engine: str = "local"
    """Where records are released: local | ray (a cluster, or processes on this machine)."""
    workers: int | None = None
    """Processes of engine=ray; null: one for each CPU of the cluster."""
    flush_every: int | None = None
    """Records after which standard output is flushed; null: after each batch."""

    def __post_init__(self) -> None:
        if self.labels not in LABEL_TREATMENTS:
            raise ConfigurationError(f"labels must be one of {', '.join(LABEL_TREATMENTS)}, got {self.labels}")
        check_format(self.format)
        if self.engine not in ENGINES:
            raise ConfigurationError(f"engine must be one of {', '.join(ENGINES)}, got {self.engine}")
        for name in ("samples", "flush_every", "max_records_per_person", "shuffled_records", "workers"):
            if getattr(self, name) is not None and getattr(self, name) < 1:
                raise ConfigurationError(f"{name} must be at least 1, got {getattr(self, name)}")
        if self.samples > MOST_SAMPLES:
            raise ConfigurationError(f"samples must be at most {MOST_SAMPLES:,}, got {self.samples}")
        if self.central_delta is not None:
            check_between(1e-100, 0.5, central_delta=self.central_delta)
        if (self.person_column is None) != (self.max_records_per_person is None):
            raise ConfigurationError(
                "person_column and max_records_per_person must be given together: add the other one"
            )


@dataclass(kw_only=True)
class ReleaseOptions(FileOptions):
    """What of a file is rewritten, and what else may reach the output.

    Attributes:
        label_response: the mechanism for labels=randomized_response; that of labels=joint_response comes with the rewriter.
    """

    label_response: RandomizedResponse | JointResponse | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.labels == "randomized_response" and self.label_response is None:
            raise ConfigurationError("label_response must be given for labels=randomized_response, got none")

    @property
    def shuffled(self) -> bool:
        """Are records shuffled, here or elsewhere."""
        return self.shuffle or self.shuffled_records is not None

    @property
    def response(self) -> RandomizedResponse | JointResponse | None:
        """What randomises the labels; None where they are treated otherwise."""
        return self.label_response if self.labels in RELEASED else None


def find_label(first: Record, options: ReleaseOptions) -> str | None:
    """The label column of the output; a model that writes labels needs none in the input.

    Raises:
        ConfigurationError: labels are to be dropped, and kept as a column.
    """
    found = find_label_column(first, options.label_column)
    if options.labels == "drop":
        if found in options.keep_columns:
            raise ConfigurationError(
                "keep_columns must not hold the label column with labels=drop: use labels=copy, or drop it there too"
            )
        return None
    return found or ("intent" if options.labels == "joint" else None)


def output_columns(label_column: str | None, options: ReleaseOptions) -> list[str]:
    """The columns of the output.

    Raises:
        ConfigurationError: two of them have the same name, so that one would overwrite the other: a kept column could put
            the raw text where the rewrite belongs.
    """
    if options.person_column in options.keep_columns:
        raise ConfigurationError("keep_columns must not hold the person column, which is never written: drop it there")
    labels = [label_column] if label_column else []
    samples = ["sample"] if options.samples > 1 else []
    columns = [options.text_column, *labels, *options.keep_columns, *samples]
    if options.person_column in columns:
        raise ConfigurationError("person_column must be a column of its own, which is never written: name another one")
    if repeated := [column for column, count in Counter(columns).items() if count > 1]:
        raise ConfigurationError(
            f"output columns must all be different, got {repeated[0]!r} twice: correct keep_columns="
        )
    return columns


def checked_records(
    records: Iterator[Record],
    label_column: str | None,
    options: ReleaseOptions,
    *,
    labels: Collection[str] | None = None,
) -> Iterator[Record]:
    """Pass records on, after a look at every column that will be used and at how many records a person has.

    Args:
        records: as they are read.
        label_column: of the output.
        options: of the release.
        labels: the public labels that a record may have; None: any.

    Raises:
        ConfigurationError: a label is not public; it is not repeated.
        DataError: a column is missing, or a person has too many records.
    """
    persons = _Persons(options.person_column, options.max_records_per_person or 0) if options.person_column else None
    # A model that writes labels does with or without them, record by record, unless their column was named.
    optional_label = options.labels == "joint" and options.label_column is None
    needed = [options.text_column, *([label_column] if label_column and not optional_label else [])]
    allowed = None if labels is None else {*labels, *([None] if optional_label else [])}
    for number, record in enumerate(records, start=1):
        for column in needed:
            text_of(record, column, number=number)
        if optional_label and record.get(label_column or "") is not None:
            text_of(record, label_column or "", number=number)
        if label_column and allowed is not None and record.get(label_column) not in allowed:
            raise ConfigurationError(
                f"labels must be in the public label set, got another one in record {number}: add it to label_set=, if it is public"
            )
        if missing := [column for column in options.keep_columns if column not in record]:
            raise DataError(f"column {missing[0]!r} is missing in record {number}: correct keep_columns=")
        if persons:
            persons.count(record.get(persons.column), number)
        yield record


class _Persons:
    """How many records each person has, by a digest, which is small whatever a name is."""

    def __init__(self, column: str, most: int) -> None:
        self.column, self.most = column, most
        self.kind: type[object] | None = None
        self.seen: Counter[bytes] = Counter()

    def count(self, person: object, number: int) -> None:
        """Count one record of a person.

        A column holds strings or whole numbers, one of the two throughout: otherwise 1, "1", 1.0 and true might be one person who
        counts as four. They are compared as ``person_name`` writes them.

        Raises:
            DataError: nobody is named, by another type than before, or by a person who has too many records.
        """
        name, written = person_name(person), type(person) in (str, int)
        if person is None or person != person or (written and name is None):  # NaN differs from itself
            raise DataError(f"column {self.column!r} must name a person, got nothing in record {number}")
        if name is None or self.kind not in (None, type(person)):
            raise DataError(
                f"column {self.column!r} must hold strings or whole numbers, one of the two throughout, "
                f"got {type(person).__name__} in record {number}: write all persons in one way"
            )
        self.kind = type(person)
        digest = hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=16).digest()
        self.seen[digest] += 1
        if self.seen[digest] > self.most:
            raise DataError(
                f"record {number} is one more than max_records_per_person={self.most} of its person: "
                "raise the bound, which costs budget, or leave records out"
            )
