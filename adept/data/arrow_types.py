"""Choose Arrow types for columns without declared types, such as the columns of a jsonl file.

The type of a column depends on all values of the column, so that every value can be read back
unchanged. JSON objects become structs that have the keys of all objects in the column. In a struct,
a missing key looks like a key with null. So a column is refused if one object has a key with null,
and another object lacks this key.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow

from adept.data.formats import ENDINGS, ending_of
from adept.data.reading import parquet_types
from adept.errors import ConfigurationError, DataError

MAX_KEYS = 1000  # of a column's objects; more are data, and no names of fields
LARGEST_EXACT = 2**53


class UnfitValues(Exception):
    """An error: the values of a column have no common type; the message gives the reason."""


class SeenValues:
    """The kinds of the values in a column, in a column's lists, or under a key of its objects."""

    def __init__(self) -> None:
        self.count, self.nulls = 0, 0
        self.kinds: set[str] = set()
        self.low, self.high, self.exact = 0, 0, True
        self.items: SeenValues | None = None
        self.keys: dict[str, SeenValues] = {}
        self.objects = 0

    def add(self, value: Any) -> None:
        """Add the kind of a value, and the kinds of the values inside it."""
        self.count += 1
        match value:
            case None:
                self.nulls += 1
            case bool():
                self.kinds.add("booleans")
            case int():
                self.kinds.add("whole numbers")
                self.low, self.high = min(self.low, value), max(self.high, value)
                self.exact = self.exact and -LARGEST_EXACT <= value <= LARGEST_EXACT
            case float():
                self.kinds.add("fractions")
            case str():
                self.kinds.add("text")
            case list():
                self.kinds.add("lists")
                self.items = self.items or SeenValues()
                for item in value:
                    self.items.add(item)
            case dict():
                self._add_object(value)
            case _:
                raise UnfitValues(f"values of type {type(value).__name__}")

    def _add_object(self, value: dict[str, Any]) -> None:
        self.kinds.add("objects")
        self.objects += 1
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
            case ["fractions"]:
                return pyarrow.float64()
            case ["fractions", "whole numbers"] if self.exact:
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
            if shape.nulls and shape.count < self.objects:
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


def read_schema(location: str) -> dict[str, pyarrow.DataType]:
    """Read the Arrow type of each column from a parquet or Arrow file, or a JSON file of type names."""
    if ENDINGS.get(ending_of(location)) == "parquet":
        return parquet_types(location)
    try:
        content = json.loads(Path(location).read_text("utf-8-sig"))
    except (OSError, ValueError, RecursionError):
        raise DataError(
            f'cannot read schema {location}: give a parquet file, or JSON such as {{"score": "float64"}}'
        ) from None
    try:
        return {str(column): pyarrow.type_for_alias(name) for column, name in content.items()}
    except (AttributeError, TypeError, ValueError):
        raise ConfigurationError(
            f"schema {location} must be a JSON object of columns and Arrow types (int64, float64, bool, string): for lists and "
            "objects give a parquet file with such columns"
        ) from None
