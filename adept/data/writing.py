"""Records into an open file, one writer a format: each gives a function that appends records with exactly the columns named."""

import csv
import datetime
import decimal
import json
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import IO, Any

from adept.data.formats import DELIMITERS
from adept.data.parquet import Types, UnreadableValue, write_parquet
from adept.data.reading import runs
from adept.data.records import Record, Write
from adept.errors import DataError

NOT_JSON = "bytes, infinity, a date beyond the calendar or too deep a list"


def check_value(value: Any, format: str) -> None:
    """Raise DataError for a value that a jsonl or csv file cannot hold."""
    if format.startswith("csv"):
        _cell(value)
    else:
        _json(value)


@contextmanager
def write_txt(stream: IO[str], columns: Sequence[str], types: Types | None = None) -> Iterator[Write]:
    """Yield a function that writes the first column, one line for each record."""
    yield lambda records: stream.writelines(f"{record[columns[0]]}\n" for record in records)


@contextmanager
def write_jsonl(stream: IO[str], columns: Sequence[str], types: Types | None = None) -> Iterator[Write]:
    """Yield a function that writes an object on each line; NaN, which JSON does not have, becomes null."""
    yield lambda records: stream.writelines(
        _json({column: record[column] for column in columns}) + "\n" for record in records
    )


def _null(value: Any) -> Any:
    """Replace NaN by None, at any depth."""
    if isinstance(value, dict):
        return {name: _null(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_null(part) for part in value]
    return None if isinstance(value, float) and math.isnan(value) else value


def _json(value: Any) -> str:
    try:
        return json.dumps(_null(value), ensure_ascii=False, allow_nan=False, default=_spelled)
    except (TypeError, ValueError, RecursionError):
        raise DataError(f"a kept column holds {NOT_JSON}: leave it out, or write parquet") from None


def _spelled(value: Any) -> str:
    """Text for what a parquet file holds and JSON has no type for."""
    match value:
        case datetime.date() | datetime.time():
            return value.isoformat()
        case decimal.Decimal() | datetime.timedelta():
            return str(value)
    raise TypeError


@contextmanager
def write_csv(
    stream: IO[str], columns: Sequence[str], types: Types | None = None, delimiter: str = ","
) -> Iterator[Write]:
    """Yield a function that writes rows below a header, with an apostrophe before cells that a spreadsheet would run.

    Its own line end is CRLF, so that both characters are quoted in a cell; what is written ends lines with LF.
    """
    rows = csv.writer(_LineFeeds(stream), delimiter=delimiter)
    rows.writerow(map(_cell, columns))
    yield lambda records: rows.writerows([_cell(record[column]) for column in columns] for record in records)


class _LineFeeds:
    def __init__(self, stream: IO[str]) -> None:
        self.stream = stream

    def write(self, row: str) -> int:
        return self.stream.write(row.removesuffix("\r\n") + "\n")


def _cell(value: Any) -> Any:
    if isinstance(value, list | tuple | dict | bytes | UnreadableValue):
        value = _json(value)
    return f"'{value}" if isinstance(value, str) and runs(value) else value


@contextmanager
def write_json(stream: IO[str], columns: Sequence[str], types: Types | None = None) -> Iterator[Write]:
    """Yield a function that writes an array, one object on each line."""
    begins = "[\n"

    def write(records: Sequence[Record]) -> None:
        nonlocal begins
        for record in records:
            stream.write(begins + _json({column: record[column] for column in columns}))
            begins = ",\n"

    yield write
    stream.write("[]\n" if begins == "[\n" else "\n]\n")


WRITERS: dict[str, Callable[[Any, Sequence[str], Types | None], AbstractContextManager[Write]]] = {
    "txt": write_txt,
    "jsonl": write_jsonl,
    "json": write_json,
    "csv": write_csv,
    **{f"csv:{name}": partial(write_csv, delimiter=character) for name, character in DELIMITERS.items()},
    "parquet": write_parquet,
}
