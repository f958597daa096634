"""The columns of a release: which of a file's are read, which reach the output, and what every record is checked for.

Text and label are what a record is about; a person's column is counted and never written; kept columns are copied as they are,
and so not private. Everything else is dropped.
"""

import hashlib
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

from adept.data.column_names import RequiredColumns, missing_column
from adept.data.corpus import find_label_column, text_of
from adept.data.files import Record
from adept.data.labels import is_missing, label_of, label_set_of
from adept.errors import ConfigurationError, DataError
from adept.mechanisms import JointResponse, RandomizedResponse
from adept.release.config import FileOptions
from adept.synthesis.tally import person_name

RELEASED = ("randomized_response", "joint_response")  # treatments that randomise labels
NAMES = "write each person's name as text or as a whole number"


@dataclass
class Seen:
    """Notes for the curator alone on the records that a run read.

    Attributes:
        texts: the first texts, at most ``limit``.
        limit: number of texts to keep.
        left_out: number of records left out because they exceed their person's bound.
        persons: number of persons with such records.
    """

    texts: list[str] = field(default_factory=list)
    limit: int = 0
    left_out: int = 0
    persons: int = 0

    @property
    def lines(self) -> list[str]:
        """Return a line about records that were left out, if there are any."""
        if not self.left_out:
            return []
        return [
            f"{self.left_out} records of {self.persons} persons were left out, as they are beyond max_records_per_person"
        ]


def required_columns(options: FileOptions) -> RequiredColumns:
    """Return the columns that options name; a file whose format declares columns must have them."""
    named = [(name, getattr(options, name)) for name in ("text_column", "label_column", "person_column")]
    if options.labels == "drop":
        named.pop(1)
    kept = [("keep_columns", column) for column in options.keep_columns]
    return RequiredColumns(tuple((name, column) for name, column in [*named, *kept] if column))


@dataclass(kw_only=True)
class ReleaseOptions(FileOptions):
    """Options of a release: the columns that are rewritten, and those that reach the output otherwise.

    Attributes:
        label_response: the mechanism for labels=randomized_response; that of labels=joint_response comes with the rewriter.
        seen: receives notes for the curator; it is no part of the release.
    """

    label_response: RandomizedResponse | JointResponse | None = None
    seen: Seen = field(default_factory=Seen)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.labels == "randomized_response" and self.label_response is None:
            raise ConfigurationError("label_response must be given for labels=randomized_response, got none")
        if self.label_response and label_set_of(self.label_response.labels) != self.label_response.labels:
            raise ConfigurationError(
                "label_response must have labels as they are written (NFC, no space around): pass them through label_set_of"
            )

    @property
    def used_columns(self) -> list[str]:
        """Columns of the input that a release may read; a column ``intent`` holds labels."""
        named = [self.text_column, self.label_column or "intent", self.person_column, *self.keep_columns]
        return [column for column in named if column is not None]

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
    seen: Seen | None = None,
) -> Iterator[Record]:
    """Yield records after checking every used column and counting each person's records.

    Labels become text (``adept.data.labels``), so that rows, digests, groups and mechanisms all use the label that is written.

    *Claim*: with excess=drop, it depends only on the number of earlier records of the same person if a record is passed on.
    *Proof*: ``_Persons`` counts each name by itself, and looks at nothing else of a record before. QED. So if the content of a
    person's records changes, but not their person, every other record keeps its place in the output; and a resumed run with the
    same records passes on the same ones.

    Args:
        records: the records as they are read.
        label_column: the label's column in the output.
        options: the options of the release.
        labels: the public labels that a record may have; None: any.
        seen: receives notes for the curator.

    Raises:
        ConfigurationError: a label is not public; it is not repeated.
        DataError: a column is missing, a label has no text, or a person has too many records.
    """
    persons = _Persons(options) if options.person_column else None
    seen = seen or Seen()
    seen.texts, seen.left_out, seen.persons = [], 0, 0
    # A model that writes labels does with or without them, record by record, unless their column was named.
    optional_label = options.labels == "joint" and options.label_column is None
    allowed = None if labels is None else frozenset(labels)
    for number, record in enumerate(records, start=1):
        if persons and not persons.admits(record, number):
            seen.left_out, seen.persons = persons.left_out, len(persons.exceeded)
            continue
        text = text_of(record, options.text_column, number=number)
        if len(seen.texts) < seen.limit:
            seen.texts.append(text)
        if missing := [column for column in options.keep_columns if column not in record]:
            raise missing_column(list(record), missing[0], "keep_columns", number=number)
        if label_column is None:
            yield record
            continue
        unlabelled = optional_label and is_missing(record.get(label_column))
        label = None if unlabelled else label_of(record, label_column, number=number)
        if label is not None and allowed is not None and label not in allowed:
            raise ConfigurationError(
                f"labels must be in the public label set, got another one in record {number}: add it to label_set=, if it is public"
            )
        yield record | {label_column: label}


class _Persons:
    """Counts of each person's records by a digest of the name, which is short for any name."""

    def __init__(self, options: ReleaseOptions) -> None:
        self.column, self.most = options.person_column or "", options.max_records_per_person or 0
        self.drops = options.excess == "drop"
        self.counts: Counter[bytes] = Counter()
        self.left_out, self.exceeded = 0, set[bytes]()

    def admits(self, record: Record, number: int) -> bool:
        """Count a record of its person, named by ``person_name``; return False if it is left out.

        Raises:
            DataError: the record names no person, or the person has too many records.
        """
        name = person_name(record.get(self.column))
        if name is None:
            raise DataError(
                f"column {self.column!r} must name a person, got {_kind(record, self.column)} in record {number}: {NAMES}"
            )
        digest = hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=16).digest()
        if self.counts[digest] < self.most:
            self.counts[digest] += 1
            return True
        if not self.drops:
            raise DataError(
                f"record {number} exceeds max_records_per_person={self.most} of its person: add excess=drop, which keeps each "
                "person's first records, or raise the bound, which costs budget"
            )
        self.left_out += 1
        self.exceeded.add(digest)
        return False


def _kind(record: Record, column: str) -> str:
    value = record.get(column)
    return "nothing" if is_missing(value) else type(value).__name__
