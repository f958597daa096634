"""Texts and tables in memory: read their columns, copy their rows, and build the result of a release.

The module imports neither pandas nor datasets.
"""

import sys
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from typing import Any

import numpy as np
import pyarrow as pa

from adept.data.arrow_rows import copy_column
from adept.data.column_names import list_names
from adept.data.formats import PlacedRecord, Record
from adept.data.parquet_files import plain_values
from adept.data.text_arguments import instance_of, text_list, value_list
from adept.errors import ConfigurationError, DataError

TEXT_TYPES = ("string", "large_string")  # Arrow's types that a text column may keep
# By the kind of texts without columns: how rewrites become an object of this kind
TEXTS_RETURNED: dict[tuple[str, str], Callable[[Any, list[str]], Any]] = {
    ("pandas", "Series"): lambda given, texts: type(given)(texts, name=given.name),
    ("polars", "Series"): lambda given, texts: type(given)(given.name, texts),
    ("polars", "DataFrame"): lambda given, texts: type(given)({given.columns[0]: texts}),
    ("numpy", "ndarray"): lambda given, texts: np.array(texts, given.dtype if given.dtype == object else str).reshape(
        -1, *given.shape[1:]
    ),
    ("pyarrow", "Array"): lambda given, texts: pa.array(texts),
    ("pyarrow", "ChunkedArray"): lambda given, texts: pa.chunked_array([texts]),
}


class Table:
    """A pandas data frame, which is never changed; subclasses handle tables of other kinds."""

    def __init__(self, frame: Any) -> None:
        self.frame = frame

    @property
    def names(self) -> list[Any]:
        """Names of the columns; in pandas, a name may have any type and occur several times."""
        return list(self.frame.columns)

    def text_column(self, named: str | None) -> str:
        """Return the name of the column with the texts: the named one, or the only one."""
        if named is None and len(self.names) != 1:
            raise DataError(
                f"text must name the column with the texts, got none; the columns are {list_names(self.names)}: add text=NAME"
            )
        return self.names[0] if named is None else named

    def check_labels(self, treatment: str) -> None:
        """Raise ConfigurationError if the result has no place for labels that are written."""

    def values(self, name: str) -> list[Any]:
        """Return the values of a column, with None for missing values."""
        return value_list(self.frame[name], len(self.frame), name)

    def records(self, names: Sequence[str]) -> list[PlacedRecord]:
        """Return the rows as records that contain only the given columns."""
        columns = [self.values(name) for name in names]
        rows = enumerate(zip(*columns, strict=True))
        return [PlacedRecord(dict(zip(names, row, strict=True)), None, place) for place, row in rows]

    def integer_types(self, names: Sequence[str]) -> dict[str, Any]:
        """Return the Arrow types of the columns that are declared as whole numbers."""
        types = {name: self._integer_type(name) for name in names}
        return {name: kind for name, kind in types.items() if kind is not None}

    def build(
        self,
        rows: Sequence[Record],
        columns: Sequence[str],
        types: Mapping[str, Any],
        kept: Mapping[str, Any],
        *,
        text: str,
    ) -> Any:
        """Return a new table of the given rows and of the ``kept`` columns that were copied."""
        made = {
            name: kept[name]
            if name in kept
            else self._make(name, [row[name] for row in rows], types.get(name), text=text)
            for name in columns
        }
        return self._table(made)

    def copy_rows(self, name: str, places: Sequence[int]) -> Any:
        """Return a column's values at the given places, without anything of other rows."""
        column = self.frame[name]
        if hasattr(column.dtype, "pyarrow_dtype"):
            return type(column)(type(column.array)(_copy_arrow(name, column.array.__arrow_array__(), places)))
        column = column.iloc[places].reset_index(drop=True)
        if hasattr(column, "cat"):
            return column.cat.remove_unused_categories()
        if hasattr(column.dtype, "numpy_dtype"):  # an array with a mask, under which a value may be hidden
            return type(column)(column.tolist(), dtype=column.dtype)
        # An array in a cell may be a part of a larger array
        return type(column)([deepcopy(cell) for cell in column], dtype=object) if column.dtype == object else column

    def _integer_type(self, name: str) -> Any:
        kind = self.frame[name].dtype
        kind = getattr(getattr(kind, "categories", None), "dtype", kind)
        return pa.from_numpy_dtype(getattr(kind, "numpy_dtype", kind)) if kind.kind in "iu" else None

    def _make(self, name: str, values: list[Any], kind: Any, *, text: str) -> Any:
        return values if kind is None else np.array(values, kind.to_pandas_dtype())

    def _table(self, columns: dict[str, Any]) -> Any:
        return sys.modules["pandas"].DataFrame(columns)


class _Texts(Table):
    """Texts without columns: a table of one column, of which only the rewrites are returned."""

    def __init__(self, frame: Any) -> None:
        super().__init__(text_list(frame, "frame"))
        self._given = frame

    @property
    def names(self) -> list[Any]:
        return ["text"]

    def text_column(self, named: str | None) -> str:
        if named is not None:
            raise ConfigurationError(f"text must be left out for texts without columns, got {named!r}: leave it out")
        return "text"

    def check_labels(self, treatment: str) -> None:
        if treatment == "joint":
            raise ConfigurationError("labels must not be joint for texts without columns: give a table of one column")

    def values(self, name: str) -> list[Any]:
        return list(self.frame)

    def _integer_type(self, name: str) -> Any:
        return None

    def _table(self, columns: dict[str, Any]) -> Any:
        kind = instance_of(self._given, TEXTS_RETURNED)
        return TEXTS_RETURNED[kind](self._given, columns["text"]) if kind else columns["text"]


class _Arrow(Table):
    """A table or a batch of Arrow."""

    @property
    def names(self) -> list[Any]:
        return list(self.frame.schema.names)

    def values(self, name: str) -> list[Any]:
        found = [value for chunk in self._column(name).chunks for value in plain_values(chunk)]
        return value_list(found, len(found), name)

    def _column(self, name: str) -> Any:
        column = self.frame.column(name)
        return column if isinstance(column, pa.ChunkedArray) else pa.chunked_array([column])

    def copy_rows(self, name: str, places: Sequence[int]) -> Any:
        return _copy_arrow(name, self._column(name), places)

    def _integer_type(self, name: str) -> Any:
        kind = self._column(name).type
        kind = kind.value_type if pa.types.is_dictionary(kind) else kind
        return kind if pa.types.is_integer(kind) else None

    def _make(self, name: str, values: list[Any], kind: Any, *, text: str) -> Any:
        given = str(self._column(name).type) if name == text else None
        return pa.array(values, kind or (given if given in TEXT_TYPES else "string"))

    def _table(self, columns: dict[str, Any]) -> Any:
        table = pa.table(columns)
        return table.to_batches()[0] if isinstance(self.frame, pa.RecordBatch) else table


class _DataSet(_Arrow):
    @property
    def names(self) -> list[Any]:
        return list(self.frame.column_names)

    def values(self, name: str) -> list[Any]:
        found = super().values(name)
        # Of a ClassLabel, whose values are places in it
        names = getattr(self.frame.features[name], "names", None)
        return [value if value is None or not names else (names[value] if value >= 0 else None) for value in found]

    def _column(self, name: str) -> Any:
        return self.frame.select_columns([name]).with_format("arrow")[:].column(name)

    def copy_rows(self, name: str, places: Sequence[int]) -> Any:
        """Return a column's values at the given places, and their type.

        For a ``ClassLabel`` column, the values are the names of the classes.
        """
        library, feature = sys.modules["datasets"], self.frame.features[name]
        if getattr(feature, "names", None):
            return pa.array(self.values(name), "string").take(places), library.Value("string")
        values = super().copy_rows(name, places)
        if _holds_names(feature):
            feature = library.Features.from_arrow_schema(pa.schema([(name, values.type)]))[name]
        return values, feature

    def _integer_type(self, name: str) -> Any:
        return None if _holds_names(self.frame.features[name]) else super()._integer_type(name)

    def _make(self, name: str, values: list[Any], kind: Any, *, text: str) -> Any:
        made = super()._make(name, values, kind, text=text)
        return made, sys.modules["datasets"].Value(str(made.type))

    def _table(self, columns: dict[str, Any]) -> Any:
        library = sys.modules["datasets"]
        features = library.Features({name: feature for name, (_, feature) in columns.items()})
        arrow = pa.table({name: values for name, (values, _) in columns.items()})
        return library.Dataset(library.table.InMemoryTable(arrow), info=library.DatasetInfo(features=features))


def _copy_arrow(name: str, column: Any, places: Sequence[int]) -> Any:
    try:
        return copy_column(column, places)
    except pa.ArrowNotImplementedError:
        raise DataError(
            f"column {name!r} has an Arrow type that cannot be copied row by row: convert it, or leave it out of keep_columns"
        ) from None


def _holds_names(feature: Any) -> bool:
    if isinstance(feature, Mapping | list):
        return any(map(_holds_names, feature.values() if isinstance(feature, Mapping) else feature))
    return instance_of(feature, [("datasets", "ClassLabel")]) is not None or (
        hasattr(feature, "feature") and _holds_names(feature.feature)
    )


TABLES: dict[tuple[str, str], type[Table]] = {
    ("pandas", "DataFrame"): Table,
    ("pyarrow", "Table"): _Arrow,
    ("pyarrow", "RecordBatch"): _Arrow,
    ("datasets", "Dataset"): _DataSet,
}


def table_of(frame: Any) -> Table:
    """Return a table, or texts, as a ``Table``; raise DataError for any other object."""
    kind = instance_of(frame, TABLES)
    return TABLES[kind](frame) if kind else _Texts(frame)
