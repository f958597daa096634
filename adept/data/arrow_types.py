"""Arrow types for values without types, such as those of jsonl, found before writing.

Whole numbers become fractions beside fractions, null fits any type, and an object becomes a struct
with the keys of all objects. `fits` says whether a value comes back unchanged.
"""

import json
from collections.abc import Collection
from pathlib import Path
from typing import Any

import pyarrow

from adept.data.reading import parquet_types
from adept.errors import ConfigurationError, DataError

MAX_TYPES = 1000  # of one column; objects of more kinds have data for their keys


class UnfitValues(Exception):
    """Values of a column without a common type."""


def infer_type(value: Any) -> pyarrow.DataType:
    """Return the type of one value."""
    try:
        return pyarrow.array([value]).type
    except (pyarrow.ArrowException, ValueError, TypeError, OverflowError):
        raise UnfitValues("a value without a type") from None


def widen_types(kinds: Collection[pyarrow.DataType]) -> pyarrow.DataType:
    """Return the narrowest type of values of all these types; text if all of them are null."""
    if len(kinds) > MAX_TYPES:
        raise UnfitValues(f"values of more than {MAX_TYPES:,} different types")
    schemas = [pyarrow.schema([("value", kind)]) for kind in kinds]
    try:
        kind = pyarrow.unify_schemas(schemas, promote_options="permissive").field("value").type
    except pyarrow.ArrowException:
        names = {"lists or objects" if pyarrow.types.is_nested(kind) else str(kind) for kind in kinds}
        raise UnfitValues(f"values of different types ({', '.join(sorted(names))})") from None
    return pyarrow.string() if pyarrow.types.is_null(kind) else kind


def is_same(value: Any, back: Any) -> bool:
    """Return True if Arrow gave a value back unchanged; absent keys may come back as null."""
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
    """Return True if a Python value comes back unchanged from an array of this type."""
    try:
        return is_same(value, pyarrow.array([value], kind)[0].as_py())
    except (pyarrow.ArrowException, ValueError, TypeError, OverflowError, RecursionError):
        return False


def read_schema(location: str) -> dict[str, pyarrow.DataType]:
    """Return the types of a parquet file, or of a JSON object {column: name of its type}."""
    if location.endswith(".parquet"):
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
