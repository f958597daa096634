"""Tables in memory: data frames and data sets, read as records and built from rows.

Neither library is imported here: a caller who has such a table has imported it.
"""

import sys
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from adept.data.formats import PlacedRecord, Record
from adept.data.text_arguments import instance_of, value_list
from adept.errors import DataError

TEXT_TYPES = ("string", "large_string")  # Arrow's types that a text column may keep


class Table:
    """A pandas data frame, which is not changed; the subclass is for data sets."""

    def __init__(self, frame: Any) -> None:
        self.frame = frame

    @property
    def names(self) -> list[Any]:
        """Names of the columns; pandas allows any values, also the same one several times."""
        return list(self.frame.columns)

    def values(self, name: str) -> list[Any]:
        """Return a column's values, with None for missing ones."""
        return value_list(self.frame[name], len(self.frame), name)

    def records(self, names: Sequence[str]) -> list[PlacedRecord]:
        """Return some columns as records."""
        columns = [self.values(name) for name in names]
        rows = enumerate(zip(*columns, strict=True))
        return [PlacedRecord(dict(zip(names, row, strict=True)), names, None, place) for place, row in rows]

    def integer_types(self, names: Sequence[str]) -> dict[str, Any]:
        """Return the Arrow types of those columns that are declared as whole numbers."""
        types = {name: self._integer_type(name) for name in names}
        return {name: kind for name, kind in types.items() if kind is not None}

    def build(
        self,
        rows: Sequence[Record],
        columns: Sequence[str],
        types: Mapping[str, Any],
        *,
        text: str,
        keep: Sequence[str],
        places: Sequence[int],
    ) -> Any:
        """Return a new table of the same kind.

        Args:
            types: the Arrow types of the columns that are no text.
            keep: the columns that are copied from this table, with their types.
            places: for each row, its record's place in this table; used where columns are kept.
        """
        made = {
            name: self._take(name, places)
            if name in keep
            else self._make(name, [row[name] for row in rows], types.get(name), text=text)
            for name in columns
        }
        return self._table(made)

    def _take(self, name: str, places: Any) -> Any:
        column = self.frame[name].iloc[places].reset_index(drop=True)
        if hasattr(column, "cat"):
            return column.cat.remove_unused_categories()
        if str(column.dtype).startswith("dictionary<"):  # of Arrow, whose values that no row has stay behind
            kind = column.dtype.pyarrow_dtype
            plain = column.array.__arrow_array__().combine_chunks().cast(kind.value_type)
            return type(column)(type(column.array)(plain.dictionary_encode().cast(kind)))
        return column

    def _integer_type(self, name: str) -> Any:
        import pyarrow

        kind = self.frame[name].dtype
        kind = getattr(getattr(kind, "categories", None), "dtype", kind)
        return pyarrow.from_numpy_dtype(getattr(kind, "numpy_dtype", kind)) if kind.kind in "iu" else None

    def _make(self, name: str, values: list[Any], kind: Any, *, text: str) -> Any:
        return values if kind is None else np.array(values, kind.to_pandas_dtype())

    def _table(self, columns: dict[str, Any]) -> Any:
        return sys.modules["pandas"].DataFrame(columns)


class _DataSet(Table):
    @property
    def names(self) -> list[Any]:
        return list(self.frame.column_names)

    def values(self, name: str) -> list[Any]:
        found = value_list(self._arrow(name), len(self.frame), name)
        names = getattr(self.frame.features[name], "names", None)  # of a ClassLabel, whose values are places in it
        return [value if value is None or not names else (names[value] if value >= 0 else None) for value in found]

    def _arrow(self, name: str) -> Any:
        return self.frame.select_columns([name]).with_format("arrow")[:].column(name)

    def _take(self, name: str, places: Any) -> Any:
        """Return values and their feature, without class labels that do not occur."""
        import pyarrow as pa

        library, feature = sys.modules["datasets"], self.frame.features[name]
        if getattr(feature, "names", None):
            return pa.array(self.values(name), "string").take(places), library.Value("string")
        values = self._arrow(name).take(places)
        if _holds_names(feature):
            feature = library.Features.from_arrow_schema(pa.schema([(name, values.type)]))[name]
        return values, feature

    def _integer_type(self, name: str) -> Any:
        import pyarrow as pa

        kind = self.frame.features.arrow_schema.field(name).type
        return kind if pa.types.is_integer(kind) and not _holds_names(self.frame.features[name]) else None

    def _make(self, name: str, values: list[Any], kind: Any, *, text: str) -> Any:
        import pyarrow as pa

        given = getattr(self.frame.features[name], "dtype", None) if name == text else None
        kind = str(kind or (given if given in TEXT_TYPES else "string"))
        return pa.array(values, kind), sys.modules["datasets"].Value(kind)

    def _table(self, columns: dict[str, Any]) -> Any:
        import pyarrow as pa

        library = sys.modules["datasets"]
        features = library.Features({name: feature for name, (_, feature) in columns.items()})
        arrow = pa.table({name: values for name, (values, _) in columns.items()})
        return library.Dataset(library.table.InMemoryTable(arrow), info=library.DatasetInfo(features=features))


def _holds_names(feature: Any) -> bool:
    if isinstance(feature, Mapping | list):
        return any(map(_holds_names, feature.values() if isinstance(feature, Mapping) else feature))
    return instance_of(feature, [("datasets", "ClassLabel")]) is not None or (
        hasattr(feature, "feature") and _holds_names(feature.feature)
    )


def table_of(frame: Any) -> Table:
    """Return a data frame or a data set as a table; raise DataError for anything else."""
    kinds = {("pandas", "DataFrame"): Table, ("datasets", "Dataset"): _DataSet}
    kind = instance_of(frame, kinds)
    if kind is None:
        raise DataError(
            f"frame must be a pandas.DataFrame or a datasets.Dataset, got a {type(frame).__name__}: convert it to one"
        )
    return kinds[kind](frame)
