"""Columns of a local release: which are read, which reach the output, and the checks of every record.

Text and label are what a record is about; a person's column is counted and never written; kept columns are copied as they are,
and so not private. Everything else is dropped.
"""

import hashlib
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from adept.data.column_names import RequiredColumns, missing_column
from adept.data.corpus import find_label_column, text_of
from adept.data.formats import Record
from adept.data.labels import is_missing, label_of, label_set_of
from adept.errors import ConfigurationError, DataError
from adept.mechanisms import JointResponse, RandomizedResponse
from adept.release.config import FileOptions
from adept.rewriting.foreign_text import FIRST_TEXTS
from adept.synthesis.tally import person_name

RANDOMISED_TREATMENTS = ("randomized_response", "joint_response")  # treatments that randomise labels


@dataclass(kw_only=True)
class ReleaseOptions(FileOptions):
    """Options of a local release, with the mechanism of its labels."""

    label_response: RandomizedResponse | JointResponse | None = None

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
    def required(self) -> RequiredColumns:
        """Columns that options name; a file whose format declares columns must have them."""
        label = self.label_column if self.labels != "drop" else None
        named = [("text_column", self.text_column), ("label_column", label), ("person_column", self.person_column)]
        kept = [("keep_columns", column) for column in self.keep_columns]
        return RequiredColumns(tuple((name, column) for name, column in [*named, *kept] if column))

    @property
    def shuffled(self) -> bool:
        """True if records are shuffled, here or elsewhere."""
        return self.shuffle or self.shuffled_records is not None

    @property
    def response(self) -> RandomizedResponse | JointResponse | None:
        """Mechanism that randomises the labels; None if they are treated otherwise."""
        return self.label_response if self.labels in RANDOMISED_TREATMENTS else None


def find_label(first: Record, options: ReleaseOptions) -> str | None:
    """Return the label column of the output; a model that writes labels needs none in the input.

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
    """Return the columns of the output.

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


class CheckedRecords:
    """Records whose used columns are checked one by one, and notes on those that were read so far.

    Labels become text (``adept.data.labels``), so that rows, digests, groups and mechanisms all use the label that is written.

    *Claim*: with excess=drop, it depends only on the number of earlier records of the same person if a record is passed on.
    *Proof*: ``_Persons`` counts each name by itself, and looks at nothing else of a record before. QED. So if the content of a
    person's records changes, but not their person, every other record keeps its place in the output; and a resumed run with the
    same records passes on the same ones.

    Args:
        label_column: the label's column in the output.
        labels: the public labels that a record may have; None: any.

    Attributes:
        count: number of records that were passed on.
        first_texts: their first texts.

    Raises:
        ConfigurationError: a label is not public; it is not repeated.
        DataError: a column is missing, a label has no text, or a person has too many records.
    """

    def __init__(
        self,
        records: Iterable[Record],
        label_column: str | None,
        options: ReleaseOptions,
        *,
        labels: Collection[str] | None = None,
    ) -> None:
        self.count, self.first_texts = 0, list[str]()
        self._records, self._text_column, self._label_column = records, options.text_column, label_column
        self._keep, self._allowed = options.keep_columns, None if labels is None else frozenset(labels)
        # A model that writes labels does with or without them, record by record, unless their column was named.
        self._optional = options.labels == "joint" and options.label_column is None
        most, drops = options.max_records_per_person or 0, options.excess == "drop"
        self._persons = _Persons(options.person_column, most, drops=drops) if options.person_column else None
        self._grouped = label_column if options.labels == "copy" else None
        self._groups: Counter[object] = Counter()

    def __iter__(self) -> Iterator[Record]:
        for number, record in enumerate(self._records, start=1):
            if not self._persons or self._persons.admits(record, number):
                checked = self._check(record, number)
                self.count += 1
                self._groups[checked[self._grouped] if self._grouped else None] += 1
                yield checked

    def _check(self, record: Record, number: int) -> Record:
        text = text_of(record, self._text_column, number=number)
        if len(self.first_texts) < FIRST_TEXTS:
            self.first_texts.append(text)
        if missing := [column for column in self._keep if column not in record]:
            raise missing_column(list(record), missing[0], "keep_columns", number=number)
        if self._label_column is None:
            return record
        return record | {self._label_column: self._label(record, self._label_column, number)}

    def _label(self, record: Record, column: str, number: int) -> str | None:
        if self._optional and is_missing(record.get(column)):
            return None
        label = label_of(record, column, number=number)
        if self._allowed is not None and label not in self._allowed:
            raise ConfigurationError(
                f"labels must be in the public label set, got another one in record {number}: add it to label_set=, if it is public"
            )
        return label

    @property
    def smallest_group(self) -> int:
        """Number of records with the rarest copied label, or of all if none is copied; 0 for no records."""
        return min(self._groups.values(), default=0)

    @property
    def lines(self) -> list[str]:
        """Lines for the curator alone: a number of records that were left out."""
        if not self._persons or not (left_out := self._persons.left_out):
            return []
        exceed = "were left out, as they are beyond max_records_per_person"
        return [f"{left_out.total()} records of {len(left_out)} persons {exceed}"]


class _Persons:
    """Counts of each person's records by a digest of the name."""

    def __init__(self, column: str, most: int, *, drops: bool) -> None:
        self._column, self._most, self._drops = column, most, drops
        self._counts, self.left_out = Counter[bytes](), Counter[bytes]()

    def admits(self, record: Record, number: int) -> bool:
        """Count a record of its person, named by ``person_name``; return False if it is left out.

        Raises:
            DataError: the record names no person, or the person has too many records.
        """
        value = record.get(self._column)
        name = person_name(value)
        if name is None:
            kind = "nothing" if is_missing(value) else type(value).__name__
            raise DataError(
                f"column {self._column!r} must name a person, got {kind} in record {number}: write each person's name as text or "
                "as a whole number"
            )
        digest = hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=16).digest()
        if self._counts[digest] < self._most:
            self._counts[digest] += 1
            return True
        if not self._drops:
            raise DataError(
                f"record {number} exceeds max_records_per_person={self._most} of its person: add excess=drop, which keeps each "
                "person's first records, or raise the bound, which costs budget"
            )
        self.left_out[digest] += 1
        return False
