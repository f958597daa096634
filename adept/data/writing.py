"""Records into an open file, one writer a format: each gives a function that appends records with exactly the columns named."""

import csv
import datetime
import decimal
import json
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import IO, Any

from adept.data.reading import Record, runs
from adept.errors import DataError

Write = Callable[[Sequence[Record]], None]


@contextmanager
def write_txt(stream: IO[str], columns: Sequence[str]) -> Iterator[Write]:
    """The first column alone, a line each."""
    yield lambda records: stream.writelines(f"{record[columns[0]]}\n" for record in records)


@contextmanager
def write_jsonl(stream: IO[str], columns: Sequence[str]) -> Iterator[Write]:
    """An object a line; NaN, which JSON does not have, is null."""
    yield lambda records: stream.writelines(
        _json({column: _null(record[column]) for column in columns}) + "\n" for record in records
    )


def _null(value: Any) -> Any:
    return None if isinstance(value, float) and math.isnan(value) else value


def _json(value: Any) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False, default=_spelled)
    except (TypeError, ValueError, RecursionError):
        raise DataError(
            "a kept column holds bytes, infinity or too deep a list: leave it out, or write parquet"
        ) from None


def _spelled(value: Any) -> str:
    """Text for what a parquet file holds and JSON has no type for."""
    match value:
        case datetime.date() | datetime.time():
            return value.isoformat()
        case decimal.Decimal() | datetime.timedelta():
            return str(value)
    raise TypeError


@contextmanager
def write_csv(stream: IO[str], columns: Sequence[str]) -> Iterator[Write]:
    """Rows under a header, in which no cell is run by a spreadsheet: an apostrophe stands before what would be.

    Its own line end is CRLF, so that both characters are quoted in a cell; what is written ends lines with LF.
    """
    rows = csv.writer(_LineFeeds(stream))
    rows.writerow(map(_cell, columns))
    yield lambda records: rows.writerows([_cell(record[column]) for column in columns] for record in records)


class _LineFeeds:
    def __init__(self, stream: IO[str]) -> None:
        self.stream = stream

    def write(self, row: str) -> int:
        return self.stream.write(row.removesuffix("\r\n") + "\n")


def _cell(value: Any) -> Any:
    if isinstance(value, list | tuple | dict | bytes):
        value = _json(value)
    return f"'{value}" if isinstance(value, str) and runs(value) else value


@contextmanager
def write_parquet(stream: IO[bytes], columns: Sequence[str]) -> Iterator[Write]:
    """Batches of records as row groups; the first batch fixes the types of the columns, which are text where there is none."""
    import pyarrow
    from pyarrow import parquet

    with ExitStack() as stack:
        writer: Any = None

        def write(records: Sequence[Record]) -> None:
            nonlocal writer
            rows = [{column: record[column] for column in columns} for record in records]
            try:
                table = pyarrow.Table.from_pylist(rows, schema=writer.schema if writer else None)
                if writer is None:
                    writer = stack.enter_context(parquet.ParquetWriter(stream, table.schema))
                writer.write_table(table)
            except pyarrow.ArrowMemoryError:
                raise
            except (pyarrow.ArrowException, ValueError, TypeError, OverflowError):
                raise DataError(
                    "a kept column changes its type or has one that parquet cannot hold: leave it out, or write jsonl"
                ) from None

        yield write
        if writer is None:
            empty = pyarrow.schema([(column, pyarrow.string()) for column in columns])
            stack.enter_context(parquet.ParquetWriter(stream, empty))


WRITERS: dict[str, Callable[[Any, Sequence[str]], AbstractContextManager[Write]]] = {
    "txt": write_txt,
    "jsonl": write_jsonl,
    "csv": write_csv,
    "parquet": write_parquet,
}
