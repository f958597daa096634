"""Records out of an open file, one reader a format; what a damaged or hostile file holds is read or refused, never trusted.

No message repeats what a record says, and no name of a column either: in a file without a header it is the first record.

A *tolerant* reader refuses no file because of one record: a damaged one is a record without columns. Lines end where they end
whatever stands in them; only in csv does a cell that is never closed take later lines with it.
"""

import csv
import json
import re
from collections.abc import Callable, Collection, Iterator
from typing import IO, Any

from adept.data.parquet import read_parquet
from adept.data.records import DamagedFile, DamagedRecord, Record, check_columns

LONGEST = 2**24  # characters of a line or a field: what is longer is no utterance, and would fill the memory
DEEPEST = 100  # lists and objects inside each other: what is deeper could not be written again
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)


def _lines(stream: IO[str], *, tolerant: bool) -> Iterator[str]:
    """Yield lines with their ends; bytes that are no UTF-8 have become surrogates, so that the record with them is known.

    A tolerant reader's stream has put U+FFFD in their place, and a line that is too long is cut off.
    """
    while line := stream.readline(LONGEST + 1):
        if len(line) > LONGEST:
            if not tolerant:
                raise DamagedRecord(f"a line of more than {LONGEST:,} characters")
            rest = line
            while rest and not rest.endswith("\n"):
                rest = stream.readline(LONGEST)
            line = line[:LONGEST].rstrip("\n") + "\n"
        if tolerant:
            yield line.replace("\0", "\ufffd")
            continue
        if "\0" in line:
            raise DamagedRecord("NUL in the text, as UTF-16 has it, which can be converted to UTF-8")
        if not line.isascii():
            try:
                line.encode()
            except UnicodeEncodeError:
                raise DamagedRecord("not UTF-8, to which it can be converted") from None
        yield line


def read_txt(stream: IO[str], *, tolerant: bool = False, columns: Collection[str] | None = None) -> Iterator[Record]:
    """Every line is a record, empty ones too."""
    for line in _lines(stream, tolerant=tolerant):
        yield {"text": line.removesuffix("\n")}


def read_jsonl(stream: IO[str], *, tolerant: bool = False, columns: Collection[str] | None = None) -> Iterator[Record]:
    """Every line is an object; blank lines are none. A lone surrogate, which no file can hold, becomes U+FFFD."""
    for line in _lines(stream, tolerant=tolerant):
        if line.strip():
            try:
                yield _parsed(line)
            except DamagedRecord:
                if not tolerant:
                    raise
                yield {}


def _parsed(line: str) -> Record:
    try:
        record = json.loads(line, object_pairs_hook=_object)
        if "\\ud" in line.lower():
            record = json.loads(_without_surrogates(record), object_pairs_hook=_object)
    except (ValueError, RecursionError):
        raise DamagedRecord("no valid JSON") from None
    if not isinstance(record, dict):
        raise DamagedRecord("not a JSON object")
    if line.count("[") + line.count("{") > DEEPEST and _is_deep(record):
        raise DamagedRecord(f"lists or objects more than {DEEPEST} deep")
    return record


def _object(pairs: list[tuple[str, Any]]) -> Record:
    record = dict(pairs)
    if len(record) < len(pairs):
        raise DamagedRecord("an object with the same name twice")
    return record


def _is_deep(record: Record) -> bool:
    """Are more than ``DEEPEST`` lists or objects inside each other, the record itself being the first."""
    level: list[Any] = [record]
    for _ in range(DEEPEST):
        inside = [part.values() if isinstance(part, dict) else part for part in level]
        level = [value for values in inside for value in values if isinstance(value, dict | list)]
    return bool(level)


def _without_surrogates(record: Any) -> str:
    return json.dumps(record, ensure_ascii=False).encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def read_csv(stream: IO[str], *, tolerant: bool = False, columns: Collection[str] | None = None) -> Iterator[Record]:
    """Rows under a header; the apostrophe before what a spreadsheet would run, which our writer puts there, is taken off."""
    csv.field_size_limit(LONGEST)
    rows = csv.reader(_lines(stream, tolerant=tolerant), strict=True)
    try:
        columns = [_bare(name) for name in next(filter(None, rows), [])]
    except (csv.Error, DamagedRecord) as error:
        raise DamagedFile(f"header: {error}") from None
    check_columns(columns)
    while True:
        try:
            row = next(rows)
            if row and len(row) != len(columns):
                raise csv.Error("wrong number of fields")
        except StopIteration:
            return
        except csv.Error as error:
            if not tolerant:
                raise DamagedRecord(str(error)) from None
            yield {}
            continue
        if row:
            yield dict(zip(columns, map(_bare, row), strict=True))


def _bare(cell: str) -> str:
    return cell[1:] if cell.startswith("'") and runs(cell[1:]) else cell


def runs(cell: str) -> bool:
    """Whether a spreadsheet would run a cell as a formula, apostrophes aside; a number is none, whatever its sign."""
    start = cell.lstrip("'")
    if not start.startswith(("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")):
        return False
    return start != cell or NUMBER.fullmatch(cell) is None


READERS: dict[str, Callable[..., Iterator[Record]]] = {
    "txt": read_txt,
    "jsonl": read_jsonl,
    "csv": read_csv,
    "parquet": read_parquet,
}
