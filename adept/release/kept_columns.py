"""Kept columns and labels: the types they have in the output, decided before anything is drawn, and the check of kept values.

*Claim*: every kept value is unchanged in the output (or becomes text, if ``docs/operation.md`` says so), or the release is refused
before the record's batch is drawn; if the input can be read twice, before the first draw. *Proof*. From Parquet to
Parquet a value is copied within Arrow, under the type of its column, and a file with another type is refused by its schema. Any
other value is converted to its written form when it is read, and for Parquet also back; batches are read before they are drawn.
An input that can be read twice is read and checked once before the first draw. QED.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pyarrow
from pyarrow import types

from adept.data.arrow_types import SeenValues, UnfitValues, fits, read_schema
from adept.data.files import check_value
from adept.data.formats import PlacedRecord, Record
from adept.data.json_files import NOT_JSON
from adept.data.labels import INTEGER
from adept.data.parquet import bare_type, can_hold, long_indices
from adept.errors import ConfigurationError, DataError
from adept.release.columns import ReleaseOptions
from adept.release.inputs import Inputs

ADVICE = "leave it out of keep_columns, or write jsonl"


@dataclass(frozen=True)
class KeptColumns:
    """Kept columns, with their types in a parquet output; ``copied`` is True if values are copied within Arrow."""

    columns: tuple[str, ...] = ()
    format: str = "jsonl"
    types: dict[str, Any] = field(default_factory=dict)
    copied: bool = False

    def check(self, records: Iterator[Record]) -> Iterator[Record]:
        """Yield records after checking every kept value.

        Raises:
            DataError: a value cannot be written unchanged; only column and record are named.
        """
        for number, record in enumerate(records, start=1):
            for column in record.keys() & self.columns:
                self._check_value(record, column, number)
            yield record

    def _check_value(self, record: Record, column: str, number: int) -> None:
        if self.format != "parquet":
            try:
                check_value(record[column], self.format)
            except DataError:
                raise DataError(
                    f"column {column!r} holds {NOT_JSON} in record {number}, which {self.format} cannot hold: "
                    "leave it out of keep_columns, or write parquet"
                ) from None
        elif self.copied:
            found = record.batch.schema.field(column).type if isinstance(record, PlacedRecord) else None
            if found is None or not _is_readable_as(found, self.types[column]):
                raise DataError(f"column {column!r} has another type from record {number} on: give files of one schema")
        elif not fits(record[column], self.types[column]):
            raise DataError(
                f"column {column!r} has type {self.types[column]}, which does not hold the value of record {number}: "
                "correct the record, or the type in schema="
            )


def _is_readable_as(found: Any, kind: Any) -> bool:
    """Return True if a file's column can be written in the decided type."""
    return types.is_null(found) or bool(_plain(bare_type(found)).equals(_plain(kind)))


def decide_kept(inputs: Inputs, options: ReleaseOptions, output_format: str, first: Record) -> KeptColumns:
    """Decide the types of the kept columns.

    The input is read once more if types must be found.

    Raises:
        ConfigurationError: types are needed and not given, or given and not needed.
        DataError: a column has no type that holds its values.
    """
    columns = tuple(options.keep_columns)
    formats = inputs.formats if columns and output_format == "parquet" else set()  # elsewhere no types are needed
    if options.schema and (not formats or "parquet" in formats):
        raise ConfigurationError(
            "schema= is for kept columns from text files in a parquet output, and here types are known or not written: leave it out"
        )
    if not formats:
        return KeptColumns(columns, output_format)
    if "parquet" in formats and len(formats) > 1:
        raise ConfigurationError(
            "input must not mix parquet with other formats if a parquet output has keep_columns: release the files one by one"
        )
    copied = "parquet" in formats
    if copied:
        schemas = inputs.schemas(first)  # those of standard input are known from its first row
        types = {column: _unite(column, schemas) for column in columns}
    else:
        types = _read_types(options.schema, columns) if options.schema else _find_types(inputs, columns)
    for column, kind in types.items():
        if not can_hold(kind):
            raise DataError(f"column {column!r} has type {kind}, which parquet cannot hold: {ADVICE}")
    return KeptColumns(columns, output_format, types, copied=copied)


def _read_types(location: str, columns: tuple[str, ...]) -> dict[str, Any]:
    schema = read_schema(location)
    if missing := [column for column in columns if column not in schema]:
        raise ConfigurationError(
            f"schema {location} has no column {missing[0]!r}, which is in keep_columns: add its type"
        )
    return {column: schema[column] for column in columns}


def _find_types(inputs: Inputs, columns: tuple[str, ...]) -> dict[str, Any]:
    """Find the types by reading all records."""
    if not inputs.repeatable:
        raise ConfigurationError(
            "keep_columns from standard input or a pipe into parquet need types before the first record: add schema=FILE, a "
            'parquet file or JSON such as {"score": "float64"}, or write jsonl'
        )
    shapes = {column: SeenValues() for column in columns}
    column = columns[0]
    try:
        for record in inputs.records(columns=columns):
            for column, shape in shapes.items():
                shape.add(record.get(column))
        types = {}
        for column, shape in shapes.items():
            types[column] = shape.arrow_type()
    except UnfitValues as error:
        raise DataError(
            f"column {column!r} holds {error}, and parquet needs one type: convert the values, or {ADVICE}"
        ) from None
    return types


def find_label_type(inputs: Inputs, column: str | None, drawn: Iterable[str], first: Record) -> Any:
    """Return the type of whole numbers that labels are written as, in every format of the output; None if they are text.

    *Claim*: the choice tells nothing of a record, and every label that is written has the type. *Proof*. It is a function of the
    schemas and of ``drawn``, which are public. A label that is copied comes from a column whose type the chosen one includes;
    any other is in ``drawn``, and is checked here. QED.

    Args:
        inputs: where records come from.
        column: the labels' column.
        drawn: the public labels that may be written in place of a record's own.
        first: the first record.
    """
    if column is None or not all(INTEGER.fullmatch(label) for label in drawn):
        return None
    found = {_plain(schema[column]) for schema in inputs.schemas(first) if column in schema}
    kind = _widest({one for one in found if not types.is_null(one)})
    return kind if kind and all(fits(int(label), kind) for label in drawn) else None


def _widest(kinds: set[Any]) -> Any:
    """Return a type that holds all values of some types of whole numbers; None if there is none, or one is another type."""
    if not kinds or not all(map(types.is_integer, kinds)):
        return None
    if len(kinds) == 1:
        return next(iter(kinds))
    if all(map(types.is_unsigned_integer, kinds)):
        return pyarrow.uint64()
    return None if pyarrow.uint64() in kinds else pyarrow.int64()


def _plain(kind: Any) -> Any:
    """Return the type of a dictionary's values, or else the type itself."""
    return kind.value_type if types.is_dictionary(kind) else kind


def _unite(column: str, schemas: list[dict[str, Any]]) -> Any:
    """Return the one type that a column has in all files, apart from null.

    Short indices of a dictionary become longer, because several files or parts may have more values together.
    """
    if any(column not in schema for schema in schemas):
        raise DataError(f"column {column!r} is missing in a file of the input: correct keep_columns=")
    found = [kind for schema in schemas if not types.is_null(kind := schema[column])]
    if not found:
        return pyarrow.null()
    if not all(_is_readable_as(kind, found[0]) for kind in found):
        raise DataError(
            f"column {column!r} has different types in the files of the input: convert the files to one type, or {ADVICE}"
        )
    kind = found[0]
    return long_indices(kind) if len(schemas) > 1 else kind
