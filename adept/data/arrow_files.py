"""Arrow columns: read from Parquet and Arrow files, written to Parquet files, copied, and their types.

Each row is read as a ``PlacedRecord``, which remembers the Arrow batch that holds the row. A value that is written to
another Parquet file is copied from this batch, so nanoseconds, decimals, maps and dates beyond Python's calendar stay
unchanged. A dictionary (the list of a categorical column's values) may hold values that occur in no row. So
dictionaries are not copied, but built again from the written values.

*Claim*: each value of a ``PlacedRecord`` depends only on the value at its place in the file, and not on other rows of
the batch. *Proof*: if a whole column of a batch can be converted to Python, the same function converts every value.
If the column cannot be converted, each value is converted separately. A value that Python cannot hold becomes an
``UnreadableValue``, or None for a tolerant reader. The number of a class becomes its name (``name_classes``) element
by element, by a list in the schema. QED.

An Arrow array may hold more than its rows: a slice shares the buffers of its parent, a dictionary
lists values that no row has, and values may stand behind a null.

*Claim*: each buffer of ``copy_rows(array, places)`` is a function of the values at these places, of the array's type,
and of the order in which a dictionary lists these values. *Proof*, by induction over the type. A null is copied as
NOWHERE, under which no place is read. Arrow's ``take`` makes new buffers for the values of an array that holds no
other arrays, and writes zeros for NOWHERE. For all other types, ``copy_rows`` computes new offsets, indices and null
bits from the given places, and copies the inner arrays at the places that belong to the given rows. Of a dictionary,
these are the places that an index of a given row names. The new types hold no metadata of fields. QED.

A column without a declared type, such as one of a jsonl file, gets a type that depends on all its
values, so that every value can be read back unchanged. JSON objects become structs that have the
keys of all objects in the column. In a struct, a missing key looks like a key with null. So a
column is refused if one object has a key with null, and another object lacks this key.
"""

import io
import json
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import IO, Any

import numpy as np
import pyarrow
import pyarrow.compute as compute
from numpy.typing import NDArray
from pyarrow import ipc, parquet, types

from adept.data.formats import ArrowValue, PlacedRecord, Record, Types, UnfitFile, UnreadableValue, Write, check_columns
from adept.data.texts import folded
from adept.errors import DataError

MEMORY_BYTES = 2**29  # most bytes of a file that must be held in memory: a compressed one, or one from a pipe
READ_ROWS = 1024
ARROW_FILE, ARROW_STREAM = b"ARROW1", b"\xff\xff\xff\xff"  # the first bytes, which no record can change
NO_PARQUET = "no valid parquet or Arrow"
FAILURES = (pyarrow.ArrowException, ValueError, TypeError, LookupError, OverflowError, RecursionError)
Places = NDArray[np.int64]

NOWHERE = -1  # the place of a null
VIEWS = {types.is_string_view: pyarrow.large_string(), types.is_binary_view: pyarrow.large_binary()}
LISTS: dict[Callable[[Any], bool], Callable[[Any, Any], Any]] = {
    types.is_list: lambda field, kind: pyarrow.list_(field),
    types.is_large_list: lambda field, kind: pyarrow.large_list(field),
    types.is_fixed_size_list: lambda field, kind: pyarrow.list_(field, kind.list_size),
    types.is_map: lambda field, kind: pyarrow.map_(field.type.field(0), field.type.field(1), kind.keys_sorted),
}
MAX_KEYS = 1000  # of a column's objects; more are data, and no names of fields
LARGEST_EXACT = 2**53
KINDS = {bool: "booleans", int: "whole numbers", float: "fractions", str: "text", list: "lists", dict: "objects"}


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
    with _refused(UnfitFile(f"is damaged ({NO_PARQUET}, or a column of a type that has no plain value): repair it")):
        schema, batches, _ = _open(_searchable(stream), tolerant=tolerant)
        names, classes = schema.names, class_names(schema)
        check_columns(names)
        on_header(names)
        wanted = set(map(folded, names if columns is None else columns))
        used = [name for name in names if folded(name) in wanted]
        # Arrow takes a dot for the path to a field inside a column.
        asked = None if any("." in name for name in names) else used
        parts = ((read, start) for read in batches(asked) for start in range(0, read.num_rows, READ_ROWS))
        for read, start in parts:
            read.validate()
            batch = name_classes(read.select(used).slice(start, READ_ROWS), classes)
            values = [plain_values(column, tolerant=tolerant) for column in batch.columns]
            for index in range(batch.num_rows):
                yield PlacedRecord({name: row[index] for name, row in zip(used, values, strict=True)}, batch, index)


@contextmanager
def _refused(error: Exception) -> Iterator[None]:
    """Raise an error in place of those of Arrow and of conversions, except for lack of memory."""
    try:
        yield
    except pyarrow.ArrowMemoryError:
        raise
    except FAILURES:
        raise error from None


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


def class_names(schema: Any) -> dict[str, Any]:
    """Return the names of the classes of each ``ClassLabel`` column, as ``datasets`` notes them in a schema."""
    try:
        features = json.loads(schema.metadata[b"huggingface"])["info"]["features"]
        found = {name: feature["names"] for name, feature in features.items() if feature.get("_type") == "ClassLabel"}
        wanted = [field.name for field in schema if field.name in found and types.is_integer(field.type)]
        return {name: pyarrow.array(found[name], pyarrow.string()) for name in wanted}
    except (*FAILURES, AttributeError):  # no data set of the Hub
        return {}


def name_classes(table: Any, classes: dict[str, Any] | None = None) -> Any:
    """Return a table or batch with the names of ``classes`` for their numbers, and null for all other numbers.

    If ``classes`` is None, the metadata of the table's schema give them.
    """
    classes = class_names(table.schema) if classes is None else classes
    for name in classes.keys() & set(table.schema.names):
        place, names = table.schema.get_field_index(name), classes[name]
        column = table.column(place).cast(pyarrow.int64(), safe=False)
        known = compute.and_(compute.greater_equal(column, 0), compute.less(column, len(names)))
        table = table.set_column(place, name, compute.take(names, compute.if_else(known, column, None)))
    return table


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
    source.seek(max(0, size - min(int.from_bytes(source.read(4), "little") + 8, MEMORY_BYTES)))
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
        if len(column) == 1:
            return [None if tolerant else UnreadableValue(column)]
    single = (column.slice(index, 1) for index in range(len(column)))
    return [value for one in single for value in plain_values(one, tolerant=tolerant)]


def _microseconds(column: Any) -> Any:
    """Convert times in nanoseconds to microseconds; if there is one alone and it is finer, it becomes text."""
    kind = column.type
    if not (types.is_temporal(kind) and getattr(kind, "unit", "") == "ns"):
        return column
    short = pyarrow.time64("us") if types.is_time(kind) else pyarrow.duration("us")
    try:
        return column.cast(pyarrow.timestamp("us", kind.tz) if types.is_timestamp(kind) else short)
    except pyarrow.ArrowInvalid:
        if len(column) > 1:
            raise
        text = column.cast(pyarrow.string())  # of a duration, the number alone
        return compute.binary_join_element_wise(text, "ns", " ") if types.is_duration(kind) else text


def file_types(stream: IO[bytes]) -> dict[str, Any]:
    """Return the Arrow type of each column of a Parquet or Arrow file."""
    with _refused(UnfitFile(f"is damaged ({NO_PARQUET}): repair it")):
        schema, _, has_one_part = _open(_searchable(stream))
    check_columns(schema.names)
    named = dict.fromkeys(class_names(schema), pyarrow.string())
    found = {field.name: bare_type(field.type) for field in schema} | named
    return found if has_one_part else {name: long_indices(kind) for name, kind in found.items()}


@contextmanager
def write_parquet(stream: IO[bytes], columns: Sequence[str], of_columns: Types | None = None) -> Iterator[Write]:
    """Yield a function that writes records as one row group; columns without a type become text."""
    schema = pyarrow.schema([(column, (of_columns or {}).get(column, pyarrow.string())) for column in columns])
    with parquet.ParquetWriter(stream, schema) as writer:
        unfit = "a kept column holds a value that parquet cannot hold in this column: leave it out, or write jsonl"

        def write(records: Sequence[Record]) -> None:
            with _refused(DataError(unfit)):
                arrays = [_array([record[field.name] for record in records], field.type) for field in schema]
                writer.write_table(pyarrow.table(arrays, schema=schema))

        yield write


def _array(values: Sequence[Any], kind: Any) -> Any:
    if values and isinstance(values[0], ArrowValue):
        whole = pyarrow.concat_arrays([_retype(part, plain_type(kind)) for part in _slices(values)])
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


# --- Rows


def copy_column(column: Any, places: Sequence[int]) -> Any:
    """Return the rows of a ChunkedArray at the given places, which must not decrease.

    Raises:
        pyarrow.ArrowNotImplementedError: the column's type, such as a union, cannot be copied.
    """
    rows, parts, begin = np.asarray(places, np.int64), [], 0
    for chunk in column.chunks:
        inside = slice(*np.searchsorted(rows, [begin, begin + len(chunk)]))
        if len(rows[inside]):
            parts.append(copy_rows(chunk, rows[inside] - begin))
        begin += len(chunk)
    copied = pyarrow.chunked_array(parts)
    try:
        return copied.unify_dictionaries()  # so that the column can be written to a file of Arrow
    except pyarrow.ArrowException:  # each part keeps a dictionary of its own
        return copied


def copy_rows(array: Any, places: Places) -> Any:
    """Return a new array of the values of an array at the given places, or null for NOWHERE."""
    kind = array.type
    if isinstance(kind, pyarrow.BaseExtensionType):
        return pyarrow.ExtensionArray.from_storage(kind, copy_rows(array.storage, places))
    if types.is_run_end_encoded(kind):
        return compute.run_end_encode(copy_rows(compute.run_end_decode(array), places), run_end_type=kind.run_end_type)
    for is_view, plain in VIEWS.items():
        if is_view(kind):
            return copy_rows(array.cast(plain), places).cast(kind)
    present = places != NOWHERE
    present[present] = array.is_valid().to_numpy(zero_copy_only=False)[places[present]]
    rows = np.where(present, places, NOWHERE)
    if types.is_dictionary(kind):
        return _copy_dictionary(array, rows)
    if types.is_struct(kind):
        fields = [kind.field(number) for number in range(kind.num_fields)]
        children = [copy_rows(array.field(number), _fill(field, rows)) for number, field in enumerate(fields)]
        copied = pyarrow.struct([_retyped(field, child) for field, child in zip(fields, children, strict=True)])
        return pyarrow.Array.from_buffers(copied, len(rows), [_null_bits(rows)], children=children)
    if make := next((make for is_kind, make in LISTS.items() if is_kind(kind)), None):
        return _copy_lists(array, rows, make)
    if types.is_nested(kind):
        raise pyarrow.ArrowNotImplementedError(f"no rows of {kind} are copied")
    return array.take(pyarrow.array(rows, mask=~present))


def _copy_dictionary(array: Any, rows: Places) -> Any:
    kind, present = array.type, rows != NOWHERE
    used, codes = np.unique(array.indices.fill_null(0).to_numpy()[rows[present]], return_inverse=True)
    indices = np.zeros(len(rows), kind.index_type.to_pandas_dtype())
    indices[present] = codes
    dictionary = copy_rows(array.dictionary, used.astype(np.int64))
    return pyarrow.DictionaryArray.from_arrays(pyarrow.array(indices, mask=~present), dictionary, ordered=kind.ordered)


def _copy_lists(array: Any, rows: Places, make: Callable[[Any, Any], Any]) -> Any:
    kind, present = array.type, rows != NOWHERE
    fixed = types.is_fixed_size_list(kind)
    if fixed:
        begins = (array.offset + rows) * kind.list_size
        lengths = np.full(len(rows), kind.list_size)
    else:
        offsets = array.offsets.to_numpy()
        begins, lengths = offsets[rows], np.where(present, np.diff(offsets)[rows], 0)
    ends = np.cumsum(lengths)
    inner = np.repeat(begins - ends + lengths, lengths) + np.arange(lengths.sum())
    inner = np.where(np.repeat(present, lengths), inner, NOWHERE)
    field = kind.field(0)
    child = copy_rows(array.values, _fill(field, inner))
    width = np.int64 if types.is_large_list(kind) else np.int32
    buffers = [] if fixed else [pyarrow.py_buffer(np.concatenate([[0], ends]).astype(width).tobytes())]
    copied = make(_retyped(field, child), kind)
    return pyarrow.Array.from_buffers(copied, len(rows), [_null_bits(rows), *buffers], children=[child])


def _fill(field: Any, rows: Places) -> Places:
    """Return ``rows``; for a field without nulls, NOWHERE becomes the place of another given row."""
    return rows if field.nullable or not len(rows) else np.where(rows == NOWHERE, rows.max(), rows)


def _retyped(field: Any, child: Any) -> Any:
    return field.with_type(child.type).remove_metadata()


def _null_bits(rows: Places) -> Any:
    return pyarrow.py_buffer(np.packbits(rows != NOWHERE, bitorder="little").tobytes())


# --- Types


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
    return next((make(bare(kind.field(0)), kind) for is_kind, make in LISTS.items() if is_kind(kind)), kind)


def name_type(kind: Any) -> str:
    return "a nested type" if types.is_nested(kind) else f"type {kind}"  # the keys of objects may be data


def is_readable_as(found: Any, kind: Any) -> bool:
    """Return True if values of one Arrow type can be written as values of another."""
    return types.is_null(found) or bool(plain_type(bare_type(found)).equals(plain_type(kind)))


def unite_types(kinds: Sequence[Any]) -> Any:
    """Return the type of a column that has these types in several files; None if they differ other than by nulls."""
    found = [kind for kind in kinds if not types.is_null(kind)] or [pyarrow.null()]
    if not all(is_readable_as(kind, found[0]) for kind in found):
        return None
    return long_indices(found[0]) if len(kinds) > 1 else found[0]  # several files may have more values together


def widest_integer(kinds: Iterable[Any]) -> Any:
    """Return an integer type that holds all values of these types, except nulls; None if there is none."""
    found = {kind for kind in map(plain_type, kinds) if not types.is_null(kind)}
    if not found or not all(map(types.is_integer, found)):
        return None
    if len(found) == 1:
        return next(iter(found))
    if all(map(types.is_unsigned_integer, found)):
        return pyarrow.uint64()
    return None if pyarrow.uint64() in found else pyarrow.int64()


def plain_type(kind: Any) -> Any:
    """Return an Arrow type or, of a dictionary type, the type of its values."""
    return kind.value_type if types.is_dictionary(kind) else kind


def can_hold(kind: Any) -> bool:
    """Return True if values of an Arrow type can be copied into a Parquet file."""
    try:
        with write_parquet(io.BytesIO(), ["value"], {"value": kind}) as write:
            write([{"value": ArrowValue(pyarrow.nulls(1, kind), 0)}])
    except (DataError, pyarrow.ArrowException, ValueError, TypeError):
        return False
    return True


class UnfitValues(Exception):
    """An error: the values of a column have no common type; the message gives the reason."""


class SeenValues:
    """The kinds of the values in a column, in a column's lists, or under a key of its objects."""

    def __init__(self) -> None:
        self.count, self.nulls, self.low, self.high = 0, 0, 0, 0
        self.kinds: set[str] = set()
        self.items: SeenValues | None = None
        self.keys: dict[str, SeenValues] = {}

    def add(self, value: Any) -> None:
        """Add the kind of a value, and the kinds of the values inside it."""
        self.count += 1
        if value is None:
            self.nulls += 1
            return
        if type(value) not in KINDS:
            raise UnfitValues(f"values of type {type(value).__name__}")
        self.kinds.add(KINDS[type(value)])
        if type(value) is int:
            self.low, self.high = min(self.low, value), max(self.high, value)
        elif type(value) is list:
            self.items = self.items or SeenValues()
            for item in value:
                self.items.add(item)
        elif type(value) is dict:
            for key, part in value.items():
                self.keys.setdefault(key, SeenValues()).add(part)
            if len(self.keys) > MAX_KEYS:
                raise UnfitValues(f"objects with more than {MAX_KEYS:,} different keys")

    def arrow_type(self) -> pyarrow.DataType:
        """Return an Arrow type that fits all added values; raise UnfitValues if there is none."""
        match sorted(self.kinds):
            case [] | ["text"]:
                return pyarrow.string()
            case ["booleans"]:
                return pyarrow.bool_()
            case ["whole numbers"]:
                return self._whole_type()
            case ["fractions"] | ["fractions", "whole numbers"] if (
                self.low >= -LARGEST_EXACT and self.high <= LARGEST_EXACT
            ):
                return pyarrow.float64()
            case ["fractions", "whole numbers"]:
                raise UnfitValues("fractions beside whole numbers beyond 2^53, which no column holds exactly")
            case ["lists"] if self.items:
                return pyarrow.list_(self.items.arrow_type())
            case ["objects"]:
                return pyarrow.struct(list(self._fields()))
            case kinds:
                raise UnfitValues(" and ".join(kinds))

    def _whole_type(self) -> pyarrow.DataType:
        if self.low >= -(2**63) and self.high < 2**63:
            return pyarrow.int64()
        if self.low >= 0 and self.high < 2**64:
            return pyarrow.uint64()
        raise UnfitValues("whole numbers of more than 64 bits")

    def _fields(self) -> Iterator[Any]:
        if not self.keys:
            raise UnfitValues("objects without keys")
        for key, shape in self.keys.items():
            if shape.nulls and shape.count < self.count - self.nulls:
                raise UnfitValues("objects of which one has a key with null and another lacks that key")
            yield pyarrow.field(key, shape.arrow_type())


def is_same(value: Any, back: Any) -> bool:
    """Return True if ``back``, which is ``value`` read back from Arrow, equals ``value``.

    Arrow adds missing keys with the value None, so dictionaries in ``back`` may have such keys.
    """
    match value:
        case dict():
            held = isinstance(back, dict) and value.keys() <= back.keys()
            return held and all(is_same(value.get(key), back[key]) for key in back)
        case list():
            return isinstance(back, list) and len(value) == len(back) and all(map(is_same, value, back))
        case bool() | str() | None:
            return type(value) is type(back) and bool(value == back)
        case _:
            return not isinstance(back, bool) and (value == back or (value != value and back != back))


def fits(value: Any, kind: pyarrow.DataType) -> bool:
    """Return True if a Python value can be read back unchanged from an Arrow array of this type."""
    try:
        return is_same(value, pyarrow.array([value], kind)[0].as_py())
    except (pyarrow.ArrowException, ValueError, TypeError, OverflowError, RecursionError):
        return False
