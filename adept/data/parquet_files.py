"""Read Parquet and Arrow files, write Parquet files, and keep the types of their columns.

Each row is read as a ``PlacedRecord``, which remembers the Arrow batch that holds the row. A value
that is written to another Parquet file is copied from this batch, so nanoseconds, decimals, maps
and dates beyond Python's calendar stay unchanged. A dictionary (the list of a categorical column's
values) may hold values that occur in no row. So dictionaries are not copied, but built again from
the written values.

*Claim*: each value of a ``PlacedRecord`` depends only on the value at its place in the file, and
not on other rows of the batch. *Proof*: if a whole column of a batch can be converted to Python,
the same function converts every value. If the column cannot be converted, each value is converted
separately. A value that Python cannot hold becomes an ``UnreadableValue``, or None for a tolerant
reader. QED.
"""

import io
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import IO, Any

import pyarrow
from pyarrow import ipc, parquet, types

from adept.data.column_names import folded
from adept.data.formats import ArrowValue, PlacedRecord, Record, Types, UnfitFile, UnreadableValue, Write, check_columns
from adept.errors import DataError

MEMORY_BYTES = 2**29  # most bytes of a file that must be held in memory: a compressed one, or one from a pipe
READ_ROWS = 1024
ARROW_FILE, ARROW_STREAM = b"ARROW1", b"\xff\xff\xff\xff"  # the first bytes, which no record can change
NO_PARQUET = "no valid parquet or Arrow"
FAILURES = (pyarrow.ArrowException, ValueError, TypeError, LookupError, OverflowError, RecursionError)


def read_parquet(
    stream: IO[bytes],
    *,
    tolerant: bool = False,
    columns: Collection[str] | None = None,
    on_header: Callable[[Sequence[str]], None] = lambda names: None,
) -> Iterator[Record]:
    """Call ``on_header`` with the names of all columns; then yield the rows of a file.

    Of ``columns``, those are read whose names differ only in case or in spaces around them, too.
    """
    try:
        source = _searchable(stream)
        schema, batches, _ = _open(source, tolerant=tolerant)
        names = schema.names
        check_columns(names)
        on_header(names)
        wanted = set(map(folded, names if columns is None else columns))
        used = [name for name in names if folded(name) in wanted]
        # Arrow takes a dot for the path to a field inside a column.
        asked = None if any("." in name for name in names) else used
        parts = ((read, start) for read in batches(asked) for start in range(0, read.num_rows, READ_ROWS))
        for read, start in parts:
            read.validate()
            batch = read.select(used).slice(start, READ_ROWS)
            values = [plain_values(column, tolerant=tolerant) for column in batch.columns]
            for index in range(batch.num_rows):
                yield PlacedRecord({name: row[index] for name, row in zip(used, values, strict=True)}, batch, index)
    except pyarrow.ArrowMemoryError:
        raise
    except FAILURES:
        raise UnfitFile(
            f"is damaged ({NO_PARQUET}, or a column of a type that has no plain value): repair it"
        ) from None


def _open(source: Any, *, tolerant: bool = False) -> tuple[Any, Callable[[list[str] | None], Iterable[Any]], bool]:
    """Return the schema, a function that reads batches of at least some columns, and True for one part."""
    head = source.read(len(ARROW_FILE))
    source.seek(0)
    if head == ARROW_FILE:
        parts = ipc.open_file(source)
        return parts.schema, lambda _: map(parts.get_batch, range(parts.num_record_batches)), False
    if head.startswith(ARROW_STREAM):
        stream = ipc.open_stream(source)
        return stream.schema, lambda _: stream, False
    file = parquet.ParquetFile(source)
    if tolerant and any(types.is_dictionary(field.type) for field in file.schema_arrow):
        file = parquet.ParquetFile(source, metadata=_without_dictionaries(source))
    read = partial(file.iter_batches, READ_ROWS, use_threads=False)
    return file.schema_arrow, lambda columns: read(columns=columns), file.num_row_groups <= 1


def _searchable(stream: Any) -> Any:
    if isinstance(stream, io.BufferedReader) and isinstance(stream.raw, io.FileIO) and stream.seekable():
        return stream
    whole = stream.read(MEMORY_BYTES + 1)
    if len(whole) > MEMORY_BYTES:
        raise UnfitFile(
            f"is damaged (parquet of more than {MEMORY_BYTES:,} bytes must be a plain file, not compressed or in a pipe): repair it"
        )
    return io.BytesIO(whole)


def _without_dictionaries(source: Any) -> Any:
    """Return the metadata of a file, changed so that categorical columns are read as plain columns.

    Without this change, Arrow refuses all categories of a column if one category is damaged text.
    """
    size = source.seek(0, io.SEEK_END)
    source.seek(max(0, size - 8))
    length = int.from_bytes(source.read(4), "little") + 8
    source.seek(max(0, size - min(length, MEMORY_BYTES)))
    footer = source.read().replace(b"\x18\x0cARROW:schema\x18", b"\x18\x0cARROW-schema\x18")
    source.seek(0)
    return parquet.read_metadata(io.BytesIO(b"PAR1" + footer))


def plain_values(column: Any, *, tolerant: bool = False) -> list[Any]:
    """Return the values of an Arrow array; UnreadableValue or None stands for unreadable ones."""
    try:
        return list(_microseconds(column).to_pylist())
    except pyarrow.ArrowMemoryError:
        raise
    except FAILURES:
        pass
    values: list[Any] = []
    for index in range(len(column)):
        one = column.slice(index, 1)
        try:
            values += _one_value(one)
        except pyarrow.ArrowMemoryError:
            raise
        except FAILURES:
            values.append(None if tolerant else UnreadableValue(one))
    return values


def _one_value(one: Any) -> list[Any]:
    """Convert an array of one value to a list; a time finer than microseconds becomes text."""
    try:
        short = _microseconds(one)
    except pyarrow.ArrowInvalid:
        short = one.cast(pyarrow.string())
    return list(short.to_pylist())


def _microseconds(column: Any) -> Any:
    kind = column.type
    if not (types.is_temporal(kind) and getattr(kind, "unit", "") == "ns"):
        return column
    if types.is_timestamp(kind):
        return column.cast(pyarrow.timestamp("us", kind.tz))
    return column.cast(pyarrow.time64("us") if types.is_time(kind) else pyarrow.duration("us"))


def file_types(stream: IO[bytes]) -> dict[str, Any]:
    """Return the Arrow type of each column of a Parquet or Arrow file."""
    try:
        schema, _, has_one_part = _open(_searchable(stream))
    except (pyarrow.ArrowException, ValueError, OSError):
        raise UnfitFile(f"is damaged ({NO_PARQUET}): repair it") from None
    check_columns(schema.names)
    found = {field.name: bare_type(field.type) for field in schema}
    return found if has_one_part else {name: long_indices(kind) for name, kind in found.items()}


def long_indices(kind: Any) -> Any:
    """Return an Arrow type, with indices of at least 32 bits if it is a dictionary type."""
    if not types.is_dictionary(kind) or kind.index_type.bit_width > 16:
        return kind
    return pyarrow.dictionary(pyarrow.int32(), kind.value_type, kind.ordered)


def bare_type(kind: Any, *, inside: bool = False) -> Any:
    """Return an Arrow type whose inner fields have no metadata and no dictionary types.

    Inner fields are the items of lists, the fields of structs, and the keys and values of maps.
    """

    def bare(field: Any) -> Any:
        return pyarrow.field(field.name, bare_type(field.type, inside=True), field.nullable)

    if types.is_dictionary(kind) and inside:
        return kind.value_type
    if types.is_struct(kind):
        return pyarrow.struct([bare(kind.field(number)) for number in range(kind.num_fields)])
    if types.is_map(kind):
        return pyarrow.map_(bare(kind.key_field), bare(kind.item_field), kind.keys_sorted)
    if types.is_fixed_size_list(kind):
        return pyarrow.list_(bare(kind.value_field), kind.list_size)
    if types.is_large_list(kind):
        return pyarrow.large_list(bare(kind.value_field))
    if types.is_list(kind):
        return pyarrow.list_(bare(kind.value_field))
    return kind


def can_hold(kind: Any) -> bool:
    """Return True if values of an Arrow type can be copied into a Parquet file."""
    try:
        with write_parquet(io.BytesIO(), ["value"], {"value": kind}) as write:
            write([{"value": ArrowValue(pyarrow.nulls(1, kind), 0)}])
    except (DataError, pyarrow.ArrowException, ValueError, TypeError):
        return False
    return True


@contextmanager
def write_parquet(stream: IO[bytes], columns: Sequence[str], of_columns: Types | None = None) -> Iterator[Write]:
    """Yield a function that writes records as one row group; columns without a type become text."""
    schema = pyarrow.schema([(column, (of_columns or {}).get(column, pyarrow.string())) for column in columns])
    with parquet.ParquetWriter(stream, schema) as writer:

        def write(records: Sequence[Record]) -> None:
            try:
                arrays = [_array([record[field.name] for record in records], field.type) for field in schema]
                writer.write_table(pyarrow.table(arrays, schema=schema))
            except pyarrow.ArrowMemoryError:
                raise
            except (pyarrow.ArrowException, ValueError, TypeError, OverflowError):
                raise DataError(
                    "a kept column holds a value that parquet cannot hold in this column: leave it out, or write jsonl"
                ) from None

        yield write


def _array(values: Sequence[Any], kind: Any) -> Any:
    if values and isinstance(values[0], ArrowValue):
        plain = kind.value_type if types.is_dictionary(kind) else kind
        whole = pyarrow.concat_arrays([_retype(part, plain) for part in _slices(values)])
        # The new dictionary holds only the values of these rows.
        return whole.dictionary_encode().cast(kind) if types.is_dictionary(kind) else whole
    return pyarrow.array(values, kind)


def _slices(cells: Sequence[ArrowValue]) -> Iterator[Any]:
    start = 0
    for end in range(1, len(cells) + 1):
        before = cells[end - 1]
        if end == len(cells) or cells[end].array is not before.array or cells[end].index != before.index + 1:
            yield before.array.slice(cells[start].index, end - start)
            start = end


def _retype(array: Any, kind: Any) -> Any:
    plain = array.dictionary_decode() if hasattr(array, "dictionary_decode") else array
    return plain if plain.type.equals(kind, check_metadata=True) else plain.cast(kind)
