"""Copy rows of Arrow columns, so that the copy holds nothing of any other row.

An Arrow array may hold more than its rows: a slice shares the buffers of its parent, a dictionary
lists values that no row has, and values may stand behind a null.

*Claim*: each buffer of ``copy_rows(array, places)`` is a function of the values at these places, of
the array's type, and of the order in which a dictionary lists these values. *Proof*, by induction
over the type. A null is copied as NOWHERE, under which no place is read. Arrow's ``take`` makes new
buffers for the values of an array that holds no other arrays, and writes zeros for NOWHERE. For all
other types, ``copy_rows`` computes new offsets, indices and null bits from the given places, and
copies the inner arrays at the places that belong to the given rows. Of a dictionary, these are the
places that an index of a given row names. The new types hold no metadata of fields. QED.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyarrow import types

Places = NDArray[np.int64]

NOWHERE = -1  # the place of a null
VIEWS = {types.is_string_view: pa.large_string(), types.is_binary_view: pa.large_binary()}
LISTS: dict[Callable[[Any], bool], Callable[[Any, Any], Any]] = {
    types.is_list: lambda field, kind: pa.list_(field),
    types.is_large_list: lambda field, kind: pa.large_list(field),
    types.is_fixed_size_list: lambda field, kind: pa.list_(field, kind.list_size),
    types.is_map: lambda field, kind: pa.map_(field.type.field(0), field.type.field(1), kind.keys_sorted),
}


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
    copied = pa.chunked_array(parts)
    try:
        return copied.unify_dictionaries()  # so that the column can be written to a file of Arrow
    except pa.ArrowException:  # each part keeps a dictionary of its own
        return copied


def copy_rows(array: Any, places: Places) -> Any:
    """Return a new array of the values of an array at the given places, or null for NOWHERE."""
    kind = array.type
    if isinstance(kind, pa.BaseExtensionType):
        return pa.ExtensionArray.from_storage(kind, copy_rows(array.storage, places))
    if types.is_run_end_encoded(kind):
        return pc.run_end_encode(copy_rows(pc.run_end_decode(array), places), run_end_type=kind.run_end_type)
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
        copied = pa.struct([_retyped(field, child) for field, child in zip(fields, children, strict=True)])
        return pa.Array.from_buffers(copied, len(rows), [_null_bits(rows)], children=children)
    for is_kind, make in LISTS.items():
        if is_kind(kind):
            return _copy_lists(array, rows, make)
    if types.is_nested(kind):
        raise pa.ArrowNotImplementedError(f"no rows of {kind} are copied")
    return array.take(pa.array(rows, mask=~present))


def _copy_dictionary(array: Any, rows: Places) -> Any:
    kind, present = array.type, rows != NOWHERE
    used, codes = np.unique(array.indices.fill_null(0).to_numpy()[rows[present]], return_inverse=True)
    indices = np.zeros(len(rows), kind.index_type.to_pandas_dtype())
    indices[present] = codes
    dictionary = copy_rows(array.dictionary, used.astype(np.int64))
    return pa.DictionaryArray.from_arrays(pa.array(indices, mask=~present), dictionary, ordered=kind.ordered)


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
    buffers = [] if fixed else [pa.py_buffer(np.concatenate([[0], ends]).astype(width).tobytes())]
    copied = make(_retyped(field, child), kind)
    return pa.Array.from_buffers(copied, len(rows), [_null_bits(rows), *buffers], children=[child])


def _fill(field: Any, rows: Places) -> Places:
    """Return ``rows``; for a field without nulls, NOWHERE becomes the place of another given row."""
    return rows if field.nullable or not len(rows) else np.where(rows == NOWHERE, rows.max(), rows)


def _retyped(field: Any, child: Any) -> Any:
    return field.with_type(child.type).remove_metadata()


def _null_bits(rows: Places) -> Any:
    return pa.py_buffer(np.packbits(rows != NOWHERE, bitorder="little").tobytes())
