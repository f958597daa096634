"""Kept columns: their types in the output, which are decided before anything is drawn, and the check of every value.

*Claim*: every kept value is unchanged in the output (or becomes text, if ``docs/operation.md`` says so), or the release is refused
before the record's batch is drawn; if the input can be read twice, before the first draw. *Proof*. From Parquet to
Parquet a value is copied within Arrow, under the type of its column, and a file with another type is refused by its schema. Any
other value is converted to its written form when it is read, and for Parquet also back; batches are read before they are drawn.
An input that can be read twice is read and checked once before the first draw. QED.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from adept.data.files import Record, file_format, parquet_types
from adept.data.inference import Shape, UnfitValues, fits, read_schema
from adept.data.parquet import Row, bare_type, can_hold, long_indices
from adept.data.writing import NOT_JSON, check_value
from adept.errors import ConfigurationError, DataError
from adept.release.columns import ReleaseOptions
from adept.release.inputs import Inputs

ADVICE = "leave it out of keep_columns, or write jsonl"


@dataclass(frozen=True)
class Kept:
    """Kept columns and their types.

    Attributes:
        columns: the names.
        format: the output's format.
        types: the types of the columns in a parquet output.
        copied: True if values are copied within Arrow.
    """

    columns: tuple[str, ...] = ()
    format: str = "jsonl"
    types: dict[str, Any] = field(default_factory=dict)
    copied: bool = False

    def checked(self, records: Iterator[Record]) -> Iterator[Record]:
        """Yield records after checking every kept value.

        Raises:
            DataError: a value cannot be written unchanged; only column and record are named.
        """
        for number, record in enumerate(records, start=1):
            for column in record.keys() & self.columns:
                self._check(record, column, number)
            yield record

    def _check(self, record: Record, column: str, number: int) -> None:
        if self.format != "parquet":
            try:
                check_value(record[column], self.format)
            except DataError:
                raise DataError(
                    f"column {column!r} holds {NOT_JSON} in record {number}, which {self.format} cannot hold: "
                    "leave it out of keep_columns, or write parquet"
                ) from None
        elif self.copied:
            _check_type(record, column, self.types[column], number)
        elif not fits(record[column], self.types[column]):
            raise DataError(
                f"column {column!r} has type {self.types[column]}, which does not hold the value of record {number}: "
                "correct the record, or the type in schema="
            )


def _check_type(record: Record, column: str, kind: Any, number: int) -> None:
    found = record.batch.schema.field(column).type if isinstance(record, Row) else None
    if found is None or not _is_readable_as(found, kind):
        raise DataError(f"column {column!r} has another type from record {number} on: give files of one schema")


def _is_readable_as(found: Any, kind: Any) -> bool:
    """Return True if a file's column can be written in the decided type."""
    from pyarrow import types

    def plain(one: Any) -> Any:
        return one.value_type if types.is_dictionary(one) else one

    return types.is_null(found) or bool(plain(bare_type(found)).equals(plain(kind)))


def decide_kept(inputs: Inputs, options: ReleaseOptions, output_format: str, first: Record) -> Kept:
    """Decide the types of the kept columns.

    Args:
        inputs: the sources of records; read once more if types must be found.
        options: the options of the release.
        output_format: the output's format.
        first: the first record.

    Raises:
        ConfigurationError: types are needed and not given, or given and not needed.
        DataError: a column has no type that holds its values.
    """
    columns = tuple(options.keep_columns)
    if options.schema and (output_format != "parquet" or not columns or "parquet" in _formats(inputs)):
        raise ConfigurationError(
            "schema= is for kept columns from text files in a parquet output, and here types are known or not written: leave it out"
        )
    if not columns or output_format != "parquet":
        return Kept(columns, output_format)
    formats = _formats(inputs)
    if formats == {"parquet"}:
        return Kept(columns, output_format, _copied_types(inputs, columns, first), copied=True)
    if "parquet" in formats:
        raise ConfigurationError(
            "input must not mix parquet with other formats if a parquet output has keep_columns: release the files one by one"
        )
    return Kept(
        columns, output_format, _declared(options.schema, columns) if options.schema else _found(inputs, columns)
    )


def _declared(location: str, columns: tuple[str, ...]) -> dict[str, Any]:
    schema = read_schema(location)
    if missing := [column for column in columns if column not in schema]:
        raise ConfigurationError(
            f"schema {location} has no column {missing[0]!r}, which is in keep_columns: add its type"
        )
    chosen = {column: schema[column] for column in columns}
    _check_writable(chosen)
    return chosen


def _found(inputs: Inputs, columns: tuple[str, ...]) -> dict[str, Any]:
    """Find the types by reading all records."""
    if not inputs.repeatable:
        raise ConfigurationError(
            "keep_columns from standard input or a pipe into parquet need types before the first record: add schema=FILE, a "
            'parquet file or JSON such as {"score": "float64"}, or write jsonl'
        )
    shapes = {column: Shape() for column in columns}
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
    _check_writable(types)
    return types


def _copied_types(inputs: Inputs, columns: tuple[str, ...], first: Record) -> dict[str, Any]:
    """Unite the types of parquet files; standard input shows them in its first row."""
    schemas = _schemas(inputs, first)
    types = {column: _united(column, schemas) for column in columns}
    _check_writable(types)
    return types


def _schemas(inputs: Inputs, first: Record) -> list[dict[str, Any]]:
    """Return the types of all columns of each parquet file."""
    if inputs.repeatable:
        return [parquet_types(location) for location in inputs.locations]
    if not isinstance(first, Row):
        return []
    schema = first.batch.schema
    return [{name: long_indices(bare_type(kind)) for name, kind in zip(schema.names, schema.types, strict=True)}]


def find_label_type(inputs: Inputs, options: ReleaseOptions, label_column: str | None, first: Record) -> Any:
    """Return the type of the label's column in a parquet output.

    Labels are text. They are written as whole numbers only if the column has that type in the schema of every input file, and if
    only such labels can be drawn.
    """
    import pyarrow
    from pyarrow import types

    response = options.response
    public = response.labels if response else ()
    if _formats(inputs) != {"parquet"} or options.labels == "joint" or not all(map(_is_whole, public)):
        return pyarrow.string()
    found = {schema.get(label_column or "", pyarrow.string()) for schema in _schemas(inputs, first)}
    if not found or not all(map(types.is_integer, found)):
        return pyarrow.string()
    return found.pop() if len(found) == 1 else pyarrow.int64()


def _is_whole(label: str) -> bool:
    digits = label.removeprefix("-")
    return digits.isascii() and digits.isdigit()


def _formats(inputs: Inputs) -> set[str]:
    return {file_format(name, inputs.options.format) for name in inputs.locations}


def _united(column: str, schemas: list[dict[str, Any]]) -> Any:
    """Return the one type that a column has in all files, apart from null.

    Short indices of a dictionary become longer, because several files or parts may have more values together.
    """
    import pyarrow
    from pyarrow import types

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


def _check_writable(types: dict[str, Any]) -> None:
    for column, kind in types.items():
        if not can_hold(kind):
            raise DataError(f"column {column!r} has type {kind}, which parquet cannot hold: {ADVICE}")
