"""Tables in memory: a pandas data frame or a data set is read as records, and one of the same kind is built from rows.

Neither library is imported here: a caller who has such a table has imported it.
"""

import sys
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, cast

import numpy as np

from adept.data.files import Record
from adept.data.texts import instance_of, value_list
from adept.errors import DataError

Frame = TypeVar("Frame")
STRINGS = ("string", "large_string")  # Arrow's types that a text column may keep


class Placed(Record):
    """A record that knows its place in the table, also with other values."""

    def __init__(self, values: Record, place: int) -> None:
        super().__init__(values)
        self.place = place

    def __or__(self, other: Any) -> "Placed":  # type: ignore[override]
        return Placed({**self, **other}, self.place)


@dataclass(frozen=True)
class Table(ABC, Generic[Frame]):
    """Columns of equal length.

    Attributes:
        frame: the library's object; it is not changed.
    """

    frame: Any

    @property
    @abstractmethod
    def names(self) -> list[Any]:
        """Names of the columns; pandas allows any values, also the same one several times."""

    @abstractmethod
    def values(self, name: str) -> list[Any]:
        """Return a column's values, with None for missing ones."""

    def __len__(self) -> int:
        return len(self.frame)

    def records(self, names: Sequence[str]) -> list[Record]:
        """Return some columns as records, which are ``Placed``."""
        columns = [self.values(name) for name in names]
        rows = zip(*columns, strict=True)
        return [Placed(dict(zip(names, row, strict=True)), place) for place, row in enumerate(rows)]

    def built(
        self,
        rows: Sequence[Record],
        columns: Sequence[str],
        *,
        text: str,
        keep: Sequence[str],
        records: Sequence[Record],
        samples: int,
    ) -> Frame:
        """Return a new table of the same kind.

        Args:
            rows: the released rows, ``samples`` for each record; with kept columns in the order of the records.
            columns: the names of the columns.
            text: the name of the text's column.
            keep: the columns that are copied from this table, with their types.
            records: the released records, in their order, without those beyond their person's bound.
            samples: number of rows for each record.
        """
        released = [record.place for record in records if isinstance(record, Placed)]
        places = np.repeat(np.array(released, np.int64), samples)
        made = {
            name: self._kept(name, places) if name in keep else self._made(name, [row[name] for row in rows], text=text)
            for name in columns
        }
        return cast(Frame, self._table(made))

    @abstractmethod
    def _kept(self, name: str, places: Any) -> Any:
        """Return a column's values at some places, with their type."""

    @abstractmethod
    def _made(self, name: str, values: list[Any], *, text: str) -> Any:
        """Return a new column."""

    @abstractmethod
    def _table(self, columns: dict[str, Any]) -> Any:
        """Return a table of columns."""


class _Pandas(Table[Any]):
    @property
    def names(self) -> list[Any]:
        return list(self.frame.columns)

    def values(self, name: str) -> list[Any]:
        return value_list(self.frame[name], len(self), name)

    def _kept(self, name: str, places: Any) -> Any:
        column = self.frame[name].iloc[places].reset_index(drop=True)
        return column.cat.remove_unused_categories() if hasattr(column, "cat") else column

    def _made(self, name: str, values: list[Any], *, text: str) -> Any:
        return values

    def _table(self, columns: dict[str, Any]) -> Any:
        return sys.modules["pandas"].DataFrame(columns)


class _DataSet(Table[Any]):
    @property
    def names(self) -> list[Any]:
        return list(self.frame.column_names)

    def values(self, name: str) -> list[Any]:
        found = value_list(self._arrow(name), len(self), name)
        names = getattr(
            self.frame.features[name], "names", None
        )  # names of a ClassLabel, whose values are places in this list
        return [value if value is None or not names else (names[value] if value >= 0 else None) for value in found]

    def _arrow(self, name: str) -> Any:
        return self.frame.select_columns([name]).with_format("arrow")[:].column(name)

    def _kept(self, name: str, places: Any) -> Any:
        return self._arrow(name).take(places), self.frame.features[name]

    def _made(self, name: str, values: list[Any], *, text: str) -> Any:
        import pyarrow as pa

        given = getattr(self.frame.features[name], "dtype", None) if name == text else None
        kind = given if given in STRINGS else "int64" if set(map(type, values)) == {int} else "string"
        return pa.array(values, kind), sys.modules["datasets"].Value(kind)

    def _table(self, columns: dict[str, Any]) -> Any:
        import pyarrow as pa

        library = sys.modules["datasets"]
        features = library.Features({name: feature for name, (_, feature) in columns.items()})
        arrow = pa.table({name: values for name, (values, _) in columns.items()})
        return library.Dataset(library.table.InMemoryTable(arrow), info=library.DatasetInfo(features=features))


def table_of(frame: Any) -> Table[Any]:
    """Return a data frame or a data set as a table.

    Raises:
        DataError: ``frame`` is something else.
    """
    kinds = {("pandas", "DataFrame"): _Pandas, ("datasets", "Dataset"): _DataSet}
    kind = instance_of(frame, kinds)
    if kind is None:
        raise DataError(
            f"frame must be a pandas.DataFrame or a datasets.Dataset, got a {type(frame).__name__}: convert it to one"
        )
    return kinds[kind](frame)
