"""Copied rows of Arrow columns: equal values, the same type, and no byte of any other row."""

import io
import pickle
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from adept.data.arrow_files import copy_column

SECRET = "xylophone-xyloph"  # 16 characters
WORDS = [SECRET, "a", None, "b"]
ROWS = [1, 2, 3, 3]
CATEGORIES = pa.DictionaryArray.from_arrays(pa.array([0, 1, None, 2], "int8"), [SECRET, "a", "b"])
STRUCTS = pa.StructArray.from_arrays([CATEGORIES, pa.array(WORDS)], ["category", "word"])
OFFSETS = [0, 1, 2, 3, 4]
COLUMNS = {
    "text": pa.array(WORDS),
    "large text": pa.array(WORDS, "large_string"),
    "view": pa.array([f"{word}{SECRET[:3]}" if word else None for word in WORDS], pa.string_view()),
    "bytes of one length": pa.array([word and word.ljust(16).encode() for word in WORDS], pa.binary(16)),
    "numbers": pa.array([int.from_bytes(SECRET[:8].encode(), "little"), 1, None, 2]),
    "booleans": pa.array([True, None, False, True]),
    "nulls": pa.nulls(4),
    "categories": CATEGORIES,
    "ordered categories": pa.DictionaryArray.from_arrays([2, 1, 1, 0], ["low", "mid", SECRET], ordered=True),
    "structs": STRUCTS,
    "empty structs": pa.array([{}, {}, None, {}], pa.struct([])),
    "lists": pa.ListArray.from_arrays(OFFSETS, CATEGORIES),
    "large lists": pa.LargeListArray.from_arrays(OFFSETS, STRUCTS),
    "lists of one length": pa.FixedSizeListArray.from_arrays(CATEGORIES, 1),
    "lists of lists": pa.ListArray.from_arrays(OFFSETS, pa.ListArray.from_arrays(OFFSETS, CATEGORIES)),
    "maps": pa.MapArray.from_arrays(OFFSETS, pa.array([SECRET, "a", "b", "c"]), CATEGORIES),
    "categories of structs": pa.DictionaryArray.from_arrays(pa.array([0, 1, None, 3], "int8"), STRUCTS),
    "runs": pa.RunEndEncodedArray.from_arrays([1, 3, 4], [SECRET, "a", "b"]),
    "extension": pa.ExtensionArray.from_storage(
        pa.uuid(), pa.array([word and word.ljust(16).encode() for word in WORDS], pa.binary(16))
    ),
}


def everything(column: pa.ChunkedArray) -> bytes:
    """Return all bytes that a column holds in memory and would hold in a pickle or a file of Arrow."""
    stream = io.BytesIO()
    with pa.ipc.new_file(stream, pa.schema([("c", column.type)])) as file:
        file.write(pa.table({"c": column}))
    return stream.getvalue() + pickle.dumps(column) + b"".join(held(column.chunks))


def held(arrays: list[pa.Array]) -> Iterator[bytes]:
    for array in arrays:
        yield from (buffer.to_pybytes() for buffer in array.buffers() if buffer is not None)
        if isinstance(array, pa.DictionaryArray):
            yield from held([array.dictionary])


@pytest.mark.parametrize("kind", COLUMNS)
def test_copied_rows_are_equal_and_hold_no_byte_of_others(kind: str) -> None:
    given = COLUMNS[kind]
    wanted = [given.to_pylist()[row] for row in ROWS]
    for first, parts in [(0, [given]), (1, [given[1:]]), (0, [given[:2], given[2:]])]:
        found = copy_column(pa.chunked_array(parts), [row - first for row in ROWS])
        found.validate(full=True)
        assert (found.to_pylist(), found.type) == (wanted, given.type)
        if kind != "categories of structs" or len(parts) == 1:  # Arrow writes no file of several such parts
            assert SECRET[:8].encode() not in everything(found)


def test_what_stands_behind_a_null_is_not_copied() -> None:
    hidden = pa.py_buffer(bytes([0b10]))  # only the second value is valid
    number = int.from_bytes(SECRET[:8].encode(), "little")
    numbers = pa.Array.from_buffers(pa.int64(), 2, [hidden, pa.array([number, 5]).buffers()[1]])
    words = pa.array([SECRET, "a"])
    required = pa.struct([pa.field("word", pa.string(), nullable=False)])
    for given in (
        numbers,
        pa.StructArray.from_arrays([words], ["word"], mask=pa.array([True, False])),
        pa.Array.from_buffers(required, 2, [hidden], children=[words]),
        pa.Array.from_buffers(pa.list_(pa.string()), 2, [hidden, pa.array([0, 1, 2], "int32").buffers()[1]], children=[words]),
        pa.Array.from_buffers(pa.list_(pa.string(), 1), 2, [hidden], children=[words]),
    ):  # fmt: skip
        found = copy_column(pa.chunked_array([given]), [0, 1])
        assert found.to_pylist() == given.to_pylist()
        assert found.type == given.type
        assert SECRET[:8].encode() not in everything(found)
        parquet.write_table(pa.table({"c": found}), io.BytesIO())


def test_metadata_of_inner_fields_is_not_copied() -> None:
    inner = pa.field("word", pa.string(), metadata={"first": SECRET})
    for kind in (pa.struct([inner]), pa.list_(inner), pa.map_(pa.string(), pa.struct([inner]))):
        found = copy_column(pa.chunked_array([pa.nulls(2, kind)]), [1])
        assert found.type == kind
        assert SECRET.encode() not in everything(found)


def test_categories_keep_their_order_and_parts_share_them() -> None:
    parts = [
        pa.DictionaryArray.from_arrays(indices, ["low", "mid", "high"], ordered=True) for indices in ([2, 1], [0, 1])
    ]
    found = copy_column(pa.chunked_array(parts), [0, 2])
    assert found.to_pylist() == ["high", "low"]
    whole = copy_column(pa.chunked_array([pa.concat_arrays(parts)]), [0, 2])
    assert whole.chunk(0).dictionary.to_pylist() == ["low", "high"]
    assert len({str(part.dictionary) for part in found.chunks}) == 1


@pytest.mark.parametrize("kind", [pa.list_view(pa.int8()), pa.dense_union([pa.field("a", pa.int8())])])
def test_a_type_that_is_not_known_here_is_refused(kind: Any) -> None:
    with pytest.raises(pa.ArrowNotImplementedError):
        copy_column(pa.chunked_array([pa.nulls(2, kind)]), [0])


def test_random_lists_are_copied_as_python_copies_them() -> None:
    random = np.random.default_rng(0)
    lists = [
        None if random.random() < 0.2 else random.integers(9, size=random.integers(5)).tolist() for _ in range(200)
    ]
    given = pa.chunked_array([pa.array(part, pa.list_(pa.int16())) for part in (lists[:70], [], lists[70:])])
    rows = sorted(random.integers(200, size=300).tolist())
    assert copy_column(given, rows).to_pylist() == [lists[row] for row in rows]
