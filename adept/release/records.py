"""Records of a release: their files, the columns that are read and written, their types and checks.

The column that names persons is read only to count each person's records, and is never written.
*Kept* columns are those that the user asks for with ``keep_columns``: they are copied unchanged, so
they are not private. Apart from kept columns, only the text and the label are written.

*Claim*: every kept value is unchanged in the output, except that some values become text, as ``docs/operation.md``
says. If a value cannot be kept, the release is refused before anything is drawn at random for the record's batch and,
if the input can be read twice, before anything is drawn for any record.

*Proof*. If input and output are Parquet, Arrow copies each value with the type of its column. A file is refused if
its schema gives the column a different type than the other files do. If the input or the output is not Parquet, each
value is converted to its written form as soon as it is read. For a Parquet output, the written form is also converted
back to a value, which must be equal to the original value. A batch is read completely before anything is drawn for
its records. An input that can be read twice is read and checked once before the first draw. QED.
"""

import hashlib
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from adept.data.corpus import Corpus
from adept.data.csv_files import to_cell
from adept.data.formats import STANDARD_STREAM, PlacedRecord, Record, compression_of, file_format
from adept.data.json_files import NOT_JSON, to_json
from adept.data.reading import (
    ReadingOptions,
    declared_columns,
    mismatch,
    number_records,
    parquet_types,
    read_records,
    read_schema,
)
from adept.data.texts import (
    INTEGER,
    MANY_LABELS,
    ODD_LABEL,
    USUAL_LABEL_COLUMN,
    RequiredColumns,
    find_label_column,
    is_missing,
    label_of,
    label_set_of,
    missing_column,
    refuse_late_label,
    text_of,
)
from adept.errors import ConfigurationError, DataError, refuse
from adept.mechanisms import JointResponse, RandomizedResponse
from adept.release.options import FileOptions
from adept.rewriting.expectation import FIRST_TEXTS
from adept.synthesis.votes import person_name

UNFIT_ADVICE = "leave it out of keep_columns, or write jsonl"
RANDOMISED_TREATMENTS = ("randomized_response", "joint_response")  # treatments that randomise labels


@dataclass(kw_only=True)
class ReleaseOptions(FileOptions):
    """Options of a local release; ``ReleaseRequest`` explains the options about labels.

    ``public_texts`` are public texts, some of which are shown with rewrites on the page for approval.
    """

    label_response: RandomizedResponse | JointResponse | None = None
    label_codewords: str = "off"
    label_set: tuple[str, ...] = ()
    label_descriptions: dict[str, tuple[str, ...]] = field(default_factory=dict)
    public_texts: Corpus | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        response = self.label_response
        refuse(
            (
                self.labels == "randomized_response" and response is None,
                "label_response must be given for labels=randomized_response, got none",
            ),
            (
                response and label_set_of(response.labels) != response.labels,
                "label_response must have labels as they are written (NFC, no space around): pass them through label_set_of",
            ),
        )

    @property
    def by_label(self) -> bool:
        """True if labels are copied and each label may have its own codewords."""
        return self.labels == "copy" and self.label_codewords == "auto"

    @property
    def used_columns(self) -> list[str]:
        """Names of the input columns that a release may read."""
        return [self.label_column or USUAL_LABEL_COLUMN, *(column for _, column in self.required.columns)]

    @property
    def required(self) -> RequiredColumns:
        """Columns that the options name; each input file must have all of them."""
        label = self.label_column if self.labels != "drop" else None
        named = [("text_column", self.text_column), ("label_column", label), ("person_column", self.person_column)]
        kept = [("keep_columns", column) for column in self.keep_columns]
        return RequiredColumns(tuple((name, column) for name, column in [*named, *kept] if column))

    @property
    def is_joint(self) -> bool:
        """True if text and label are written from one release."""
        return self.labels in ("joint", "joint_response")

    @property
    def drops_persons(self) -> bool:
        """True if records are left out whose persons have no budget left in the ledger."""
        return self.over_limit == "drop"

    @property
    def shuffled(self) -> bool:
        """True if the records are shuffled, either by this run or by somebody else."""
        return self.shuffle or self.shuffled_records is not None

    @property
    def response(self) -> RandomizedResponse | JointResponse | None:
        """The mechanism that randomises the labels; None if the labels are not randomised."""
        return self.label_response if self.labels in RANDOMISED_TREATMENTS else None


def split_response(
    response: RandomizedResponse | JointResponse | None,
) -> tuple[JointResponse | None, RandomizedResponse | None]:
    """Return the mechanism of text and label together, and the one of labels alone; nobody else asks which it is."""
    return (response, None) if isinstance(response, JointResponse) else (None, response)


# --- Input


@dataclass(frozen=True)
class Inputs:
    """The sources of records, in order: files, or standard input alone.

    Attributes:
        sizes: sizes of the files in bytes when the run began; None if a file can be read only once.
        also: columns that are read only because the ledger identifies records by them.
    """

    locations: tuple[str, ...]
    options: ReadingOptions = field(default_factory=ReadingOptions)
    sizes: list[int] | None = None
    also: tuple[str, ...] = ()

    @classmethod
    def of(cls, source: str, options: ReadingOptions) -> "Inputs":
        """Find the files that a source (a file, directory or pattern) names; sort them by name."""
        found, reading = options.find_files(source)
        reading.check_used(found)
        return cls(tuple(found), reading, _sizes(found))

    @property
    def repeatable(self) -> bool:
        """True if the records can be read twice; False for standard input and for a pipe."""
        return self.sizes is not None

    def records(
        self, *, tolerant: bool = False, columns: Collection[str] | None = None, required: RequiredColumns | None = None
    ) -> Iterator[Record]:
        """Return the records of all files; refuse a file that got shorter since the run began."""
        options: dict[str, Any] = {"options": self.options, "sizes": self.sizes, "tolerant": tolerant}
        wanted = None if columns is None else (*columns, *self.also)
        return read_records(self.locations, columns=wanted, required=required, **options)

    def first_records(self, most: int) -> list[Record]:
        """Return the first ``most`` records, or [] if the input can be read only once."""
        found: list[Record] = []
        with suppress(DataError):  # the release itself reports errors
            found.extend(islice(self.records(), most if self.repeatable else 0))
        return found

    @property
    def formats(self) -> set[str]:
        return {file_format(name, self.options.format) for name in self.locations}

    def schemas(self, first: Record) -> list[dict[str, Any]]:
        """Return the column types of each parquet input, or [] if an input has another format."""
        if self.formats != {"parquet"}:
            return []
        if self.repeatable:
            return [parquet_types(location) for location in self.locations]
        if not isinstance(first, PlacedRecord):
            return []
        from adept.data.arrow_files import bare_type, long_indices  # slow to import

        schema = first.batch.schema
        return [{name: long_indices(bare_type(kind)) for name, kind in zip(schema.names, schema.types, strict=True)}]

    def check_columns(self, required: RequiredColumns) -> None:
        """Raise DataError if a file lacks a required column; standard input is not checked."""
        for location in self.locations if self.repeatable else ():
            if (names := declared_columns(location, self.options)) is not None:
                header = self.options.columns is None and file_format(location, self.options.format) == "csv"
                required.check(location, names, header=header)

    @property
    def mismatches(self) -> list[str]:
        """Warnings about files whose first bytes do not match their format."""
        return [*filter(None, (mismatch(place, self.options) for place in self.locations if self.repeatable))]

    def estimate(self) -> int | None:
        """Return the number of lines as an estimate of the records, or None.

        None stands for input that has no lines (parquet or a compressed file) or can be read only once.
        """
        if not self.repeatable or "parquet" in self.formats or any(map(compression_of, self.locations)):
            return None
        return sum(map(_count_lines, self.locations))


def _sizes(locations: Sequence[str]) -> list[int] | None:
    try:
        files = [Path(name) for name in locations]
        known = STANDARD_STREAM not in locations and all(map(Path.is_file, files))  # a file may be called -
        return [file.stat().st_size for file in files] if known else None
    except OSError:
        return None  # reading says why


def _count_lines(location: str) -> int:
    with Path(location).open("rb") as stream:
        return sum(chunk.count(b"\n") for chunk in iter(lambda: stream.read(2**20), b"")) or 1


# --- Columns


def find_label(first: Record, options: ReleaseOptions) -> str | None:
    """Return the name of the output's label column, or None if no labels are written."""
    if options.labels == "drop":
        kept = dict.fromkeys(options.keep_columns)  # whatever columns the first record has
        refuse(
            (
                (options.label_column or find_label_column(kept, None) or "") in kept,
                "keep_columns must not hold the label column with labels=drop: use labels=copy, or drop it there too",
            )
        )
        return None
    return find_label_column(first, options.label_column) or (USUAL_LABEL_COLUMN if options.labels == "joint" else None)


def output_columns(label_column: str | None, options: ReleaseOptions) -> list[str]:
    """Return the names of the output's columns; raise ConfigurationError if two are equal."""
    labels = [label_column] if label_column else []
    columns = [options.text_column, *labels, *options.keep_columns, *(["sample"] if options.samples > 1 else [])]
    most_used, count = Counter(columns).most_common(1)[0]
    refuse(
        (
            options.person_column in options.keep_columns,
            "keep_columns must not hold the person column, which is never written: drop it there",
        ),
        (
            options.person_column in columns,
            "person_column must be a column of its own, which is never written: name another one",
        ),
        (count > 1, f"output columns must all be different, got {most_used!r} twice: correct keep_columns="),
    )
    return columns


class CheckedRecords:
    """An iterable that checks each record when the record is read, and counts the yielded records.

    If a person contributed more than ``max_records_per_person`` records, excess=drop leaves the
    later records out, and excess=refuse raises DataError.

    *Claim*: with excess=drop, only the number of earlier records of the same person decides whether a record is left
    out. *Proof*: ``_Persons`` counts the records of each person separately. To decide if a record is left out,
    ``_Persons`` reads only the name of the record's person. QED. So if the content of one person's records changes,
    the records of all other persons keep their places in the output. A resumed run, which reads the same input again,
    leaves out the same records as the first run.

    Args:
        label_column: name of the output's label column.
        inputs: the files of the records, which errors name if there are several.
        labels: public labels that a record may have; None for any label.
        kept: the kept columns, whose values are checked in the records that are not left out.
        written: format of the output; labels that txt cannot hold may be left out.

    The list ``notes`` takes further lines for the holder of the input alone.
    """

    def __init__(
        self,
        records: Iterable[Record],
        label_column: str | None,
        options: ReleaseOptions,
        *,
        inputs: Inputs | None = None,
        labels: Collection[str] | None = None,
        kept: "KeptColumns | None" = None,
        written: str = "jsonl",
    ) -> None:
        self.count, self._unlisted, self._odd, self._wordless = 0, 0, 0, 0
        self.first_texts, self.notes = list[str](), list[str]()
        self._records = number_records(records, inputs.locations if inputs else (), inputs.options if inputs else None)
        self._options, self._label_column = options, label_column
        self._kept = kept or KeptColumns()
        self._drops_labels = written == "txt" or options.labels == "drop"
        self._allowed = None if labels is None else frozenset(labels)
        # A model that writes labels needs none in a record, unless their column was named.
        self._optional = options.labels == "joint" and options.label_column is None
        self._public = frozenset(options.label_set)
        self._persons = _Persons(options, options.person_column) if options.person_column else None
        self._grouped = label_column if options.labels == "copy" else None
        self._groups: Counter[object] = Counter()

    def __iter__(self) -> Iterator[Record]:
        for number, record in self._records:
            if not self._persons or self._persons.admits(record, number):
                checked = self._check(record, number)
                self.count += 1
                self._groups[checked[self._grouped] if self._grouped else None] += 1
                yield checked

    def _check(self, record: Record, number: int) -> Record:
        text = text_of(record, self._options.text_column, number=number)
        self._wordless += not any(map(str.isalpha, text))
        if len(self.first_texts) < FIRST_TEXTS:
            self.first_texts.append(text)
        if missing := [column for column in self._options.keep_columns if column not in record]:
            raise missing_column(list(record), missing[0], "keep_columns", place=f"record {number}")
        self._kept.check(record, number)
        if self._label_column is None:
            if not self._drops_labels:
                refuse_late_label(record, number=number)
            return record | {self._options.text_column: text}
        label = self._label(record, self._label_column, number)
        return record | {self._options.text_column: text, self._label_column: label}

    def _label(self, record: Record, column: str, number: int) -> str | None:
        if self._optional and is_missing(record.get(column)):
            refuse_late_label(record, number=number)
            return None
        label = label_of(record, column, number=number)
        if self._allowed is not None and label not in self._allowed:
            raise ConfigurationError(
                f"labels must be in the public label set, got another one in record {number}: add it to label_set=, if it is public"
            )
        self._unlisted += bool(self._public) and label not in self._public
        self._odd += not self._public and ODD_LABEL.fullmatch(label) is not None
        return label

    def discount(self, kept: list[Record], left_out: list[Record]) -> list[Record]:
        """Return the kept records; no longer count those that the ledger leaves out."""
        self.count -= len(left_out)
        self._groups.subtract(record[self._grouped] if self._grouped else None for record in left_out)
        return kept

    @property
    def smallest_group(self) -> int:
        """Number of records with the rarest label, or of all records if labels are not copied."""
        return min((+self._groups).values(), default=0)

    @property
    def lines(self) -> list[str]:
        """Lines of text, for the holder of the input alone, about labels, and records that were left out."""
        alone = sum(number == 1 for number in self._groups.values()) if self._grouped else 0
        left_out = self._persons.left_out if self._persons else Counter[bytes]()
        counts = {
            f"records of {len(left_out)} persons were left out, as they are beyond max_records_per_person": left_out.total(),
            "records have a label that label_set lacks, which is copied as it is": self._unlisted,
            "records have a label as programs write a missing value or a list, which is copied as it is": self._odd,
            "records have a text without a letter, such as a number or an empty line, and count like any other": self._wordless,
            "records have a label of their own, copied as it is, which names them (label_column= names labels)": alone
            * (2 * alone > max(self.count, MANY_LABELS)),
        }
        return [*(f"{count} {what}" for what, count in counts.items() if count), *self.notes]


class _Persons:
    def __init__(self, options: ReleaseOptions, column: str) -> None:
        self._column, self._most, self._drops = column, options.max_records_per_person or 0, options.excess == "drop"
        self._counts, self.left_out = Counter[bytes](), Counter[bytes]()

    def admits(self, record: Record, number: int) -> bool:
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


# --- Types


@dataclass(frozen=True)
class KeptColumns:
    """The kept columns and their Parquet types; ``copied`` is True if Arrow copies their values."""

    columns: tuple[str, ...] = ()
    format: str = "jsonl"
    types: dict[str, Any] = field(default_factory=dict)
    copied: bool = False

    def check(self, record: Record, number: int) -> None:
        """Raise DataError if the output cannot hold a record's kept values; show no value."""
        for column in self.columns:
            (self._check_type if self.format == "parquet" else self._check_value)(record, column, number)

    def _check_value(self, record: Record, column: str, number: int) -> None:
        try:
            (to_cell if self.format.startswith("csv") else to_json)(record[column])
        except DataError:
            raise DataError(
                f"column {column!r} holds {NOT_JSON} in record {number}, which {self.format} cannot hold: "
                "leave it out of keep_columns, or write parquet"
            ) from None

    def _check_type(self, record: Record, column: str, number: int) -> None:
        from adept.data.arrow_files import fits, is_readable_as, name_type  # slow to import

        if self.copied:
            found = record.batch.schema.field(column).type if isinstance(record, PlacedRecord) else None
            if found is None or not is_readable_as(found, self.types[column]):
                raise DataError(f"column {column!r} has another type from record {number} on: give files of one schema")
        elif not fits(record[column], self.types[column]):
            raise DataError(
                f"column {column!r} has {name_type(self.types[column])}, which does not hold the value of record {number}: "
                "correct the record, or the type in schema="
            )


def decide_kept(inputs: Inputs, options: ReleaseOptions, output_format: str, first: Record) -> KeptColumns:
    """Return the kept columns with their types; this may read the whole input."""
    columns = tuple(options.keep_columns)
    # Elsewhere no types are needed
    formats = inputs.formats if columns and output_format == "parquet" else set()
    refuse(
        (
            options.schema and (not formats or "parquet" in formats),
            "schema= is for kept columns of text files in a parquet output, and here types are known or not needed: leave it out",
        ),
        (
            "parquet" in formats and len(formats) > 1,
            "input must not mix parquet with other formats if a parquet output has keep_columns: release the files one by one",
        ),
    )
    if not formats:
        return KeptColumns(columns, output_format)
    from adept.data.arrow_files import can_hold, name_type  # slow to import

    copied = "parquet" in formats
    if copied:
        schemas = inputs.schemas(first)  # those of standard input are known from its first row
        types = {column: _unite(column, schemas) for column in columns}
    else:
        types = _read_types(options.schema, columns) if options.schema else _find_types(inputs, options)
    for column, kind in types.items():
        if not can_hold(kind):
            raise DataError(f"column {column!r} has {name_type(kind)}, which parquet cannot hold: {UNFIT_ADVICE}")
    return KeptColumns(columns, output_format, types, copied=copied)


def _read_types(location: str, columns: tuple[str, ...]) -> dict[str, Any]:
    schema = read_schema(location)
    if missing := [column for column in columns if column not in schema]:
        raise ConfigurationError(
            f"schema {location} has no column {missing[0]!r}, which is in keep_columns: add its type"
        )
    return {column: schema[column] for column in columns}


def _find_types(inputs: Inputs, options: ReleaseOptions) -> dict[str, Any]:
    """Return types that fit the kept values of all records, except those that are left out."""
    from adept.data.arrow_files import SeenValues, UnfitValues  # slow to import

    columns = options.keep_columns
    if not inputs.repeatable or (options.drops_persons and inputs.formats != {"csv"}):  # whose cells are text
        raise ConfigurationError(
            "keep_columns from standard input or a pipe, or with over_limit=drop, into parquet need types before the first "
            'record: add schema=FILE, a parquet file or JSON such as {"score": "float64"}, or write jsonl'
        )
    shapes = {column: SeenValues() for column in columns}
    column, persons = columns[0], _Persons(options, options.person_column) if options.person_column else None
    try:
        for number, record in enumerate(inputs.records(columns=options.used_columns), start=1):
            if persons and not persons.admits(record, number):
                continue
            for column, shape in shapes.items():
                shape.add(record.get(column))
        types = {}
        for column, shape in shapes.items():
            types[column] = shape.arrow_type()
    except UnfitValues as error:
        raise DataError(
            f"column {column!r} holds {error}, and parquet needs one type: convert the values, or {UNFIT_ADVICE}"
        ) from None
    return types


def find_label_type(inputs: Inputs, column: str | None, drawn: Iterable[str], first: Record) -> Any:
    """Return the integer type of the output's labels; None if the labels are written as text.

    *Claim*: the type chosen for the label column reveals nothing about a record, and every written label has this type.
    *Proof*. The choice depends only on the schemas and on ``drawn``, the public labels that may be written instead of a
    record's own label. A copied label comes from a column whose values all fit the chosen type. Any other label is one
    of ``drawn``, and this function checks that all labels of ``drawn`` fit the type. QED.
    """
    if column is None or not all(INTEGER.fullmatch(label) for label in drawn):
        return None
    found = [schema[column] for schema in inputs.schemas(first) if column in schema]
    if not found:
        return None
    from adept.data.arrow_files import fits, widest_integer  # slow to import

    kind = widest_integer(found)
    return kind if kind and all(fits(int(label), kind) for label in drawn) else None


def _unite(column: str, schemas: list[dict[str, Any]]) -> Any:
    """Return the type that a column has in all files, except files where it holds only nulls."""
    if any(column not in schema for schema in schemas):
        raise DataError(f"column {column!r} is missing in a file of the input: correct keep_columns=")
    from adept.data.arrow_files import unite_types  # slow to import

    if (kind := unite_types([schema[column] for schema in schemas])) is None:
        raise DataError(
            f"column {column!r} has different types in the files of the input: convert the files to one type, or {UNFIT_ADVICE}"
        )
    return kind
