"""Readers of open files, one for each format; damaged or hostile content is read or refused, never trusted.

No message repeats the content of a record or the name of a column: in a file without a header, the names would be the first
record.

A *tolerant* reader refuses no file because of one record: a damaged one is a record without columns.

*Claim*: adding or removing one row of txt, jsonl or csv changes what a tolerant reader yields by that row's record
alone. *Proof*. (1) Bytes become characters one by one: no byte of a line end belongs to a longer UTF-8 sequence, and a
sequence that is cut short becomes U+FFFD before the next row begins. (2) Where a row ends depends on where it begins
and on its own characters: in txt and jsonl at the first CR or LF, in csv as ``adept.data.csv_rows`` proves. An
empty line is not a row, so CRLF ends one row, even if a row was removed between CR and LF. (3) A record is a
function of its row alone, and of names that stand in a csv's header or in options. A byte order mark is dropped at
the beginning of every row, not only of the first. QED. ``adept.data.json_rows`` proves (2) for the elements of a JSON array. The
exceptions are a csv quote, and a JSON string or bracket in an array, that are never closed.
"""

import csv
import json
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import chain
from typing import IO, Any

from adept.data.csv_rows import LONGEST, MARK, Rows, TooLong
from adept.data.formats import DELIMITERS
from adept.data.json_rows import NoArray, array_elements
from adept.data.parquet import read_parquet
from adept.data.records import DamagedFile, DamagedRecord, Record, UnfitFile, check_columns

DEEPEST = 100  # lists and objects inside each other: what is deeper could not be written again
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
SEPARATOR = re.compile(r"sep=(.)\s*", re.DOTALL)  # a first line that some spreadsheets write into a csv
TOO_LONG = f"more than {LONGEST:,} characters"

Header = Callable[[Sequence[str]], None]


def _lines(stream: IO[str], *, tolerant: bool) -> Iterator[str]:
    """Yield lines with their ends. Bytes that are not UTF-8 have become surrogates, which show the damaged record.

    The stream of a tolerant reader has U+FFFD in their place; a line that is too long is cut off, and an empty one is skipped.
    """
    while line := stream.readline(LONGEST + 1):
        if len(line) > LONGEST:
            if not tolerant:
                raise DamagedRecord(f"a line of {TOO_LONG}")
            rest = line
            while rest and not rest.endswith("\n"):
                rest = stream.readline(LONGEST)
            line = line[:LONGEST].rstrip("\n") + "\n"
        line = line.removeprefix(MARK)
        if not tolerant:
            yield _checked(line)
        elif line.strip("\n"):
            yield line.replace("\0", "\ufffd")


def _checked(text: str) -> str:
    """Return a row's text unchanged.

    Raises:
        DamagedRecord: it was not UTF-8.
    """
    if "\0" in text:
        raise DamagedRecord("NUL in the text, as UTF-16 has it, which can be converted to UTF-8")
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            raise DamagedRecord("not UTF-8, to which it can be converted") from None
    return text


def read_txt(stream: IO[str], *, tolerant: bool = False, columns: Collection[str] | None = None) -> Iterator[Record]:
    """Yield a record for each line; a tolerant reader skips empty lines."""
    for line in _lines(stream, tolerant=tolerant):
        yield {"text": line.removesuffix("\n")}


def read_jsonl(stream: IO[str], *, tolerant: bool = False, columns: Collection[str] | None = None) -> Iterator[Record]:
    """Yield the object of each line; blank lines are skipped. A lone surrogate, which no file can hold, becomes U+FFFD."""
    lines = (line for line in _lines(stream, tolerant=tolerant) if line.strip())
    yield from (_object_of(line, tolerant=tolerant) for line in lines)


def read_json(stream: IO[str], *, tolerant: bool = False, columns: Collection[str] | None = None) -> Iterator[Record]:
    """Yield the objects of an array."""
    try:
        for text in array_elements(stream, tolerant=tolerant):
            if tolerant or text is None:
                yield _object_of(text and text.replace("\0", "\ufffd"), tolerant=tolerant)
            else:
                yield _object_of(_checked(text), tolerant=False)
    except (
        NoArray
    ) as error:  # to a tolerant reader the opening bracket alone, which stands before all elements, as a header does
        raise UnfitFile(str(error)) from None


def _object_of(text: str | None, *, tolerant: bool) -> Record:
    """Parse one object; for a tolerant reader a damaged one has no columns."""
    try:
        if text is None:
            raise DamagedRecord(TOO_LONG)
        return _parsed(text)
    except DamagedRecord:
        if not tolerant:
            raise
        return {}


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


def read_csv(
    stream: IO[str],
    *,
    tolerant: bool = False,
    columns: Collection[str] | None = None,
    delimiter: str = ",",
    sure: bool = False,
    named: Sequence[str] | None = None,
    on_header: Header = lambda names: None,
) -> Iterator[Record]:
    """Yield the rows below a header, without the apostrophe that our writer puts before formulas.

    Args:
        stream: text, opened with ``newline=""``.
        tolerant: as in this module's docstring.
        delimiter: the character between cells.
        sure: True if the user chose the delimiter; then a header of one cell is accepted.
        columns: unused; all columns are read.
        named: the columns of a file without a header. Our own outputs have one, so a reader that is not tolerant takes a first
            row that holds some of these names and nothing else for a header.
        on_header: called with the names of the columns before any record is read; it may raise.
    """
    rows = Rows(stream, delimiter, raises=not tolerant)
    parsed = _cells(rows, tolerant=tolerant)
    try:
        names, parsed = _header(rows, parsed, named, tolerant=tolerant, sure=sure)
    except DamagedRecord as error:
        raise DamagedFile(f"header: {error}") from None
    check_columns(names)
    on_header(names)
    for cells in parsed:
        if len(cells) == len(names):
            yield dict(zip(names, cells, strict=True))
        elif tolerant:
            yield {}
        else:
            expected = f"{len(names)} in columns=" if named is not None else f"{len(names)} in the header"
            raise DamagedRecord(f"wrong number of fields, {len(cells)} for {expected}")


def _header(
    rows: Rows, parsed: Iterator[list[str]], named: Sequence[str] | None, *, tolerant: bool, sure: bool
) -> tuple[Sequence[str], Iterator[list[str]]]:
    """Return the columns and the rows below the header."""
    if named is not None and tolerant:
        return named, parsed
    first = next(parsed, None)
    if first is None:
        return named or [], parsed
    if named is not None:
        return (first, parsed) if set(first) <= set(named) else (named, chain([first], parsed))
    if found := SEPARATOR.fullmatch(rows.delimiter.join(first)):
        if found[1] != rows.delimiter and (sure or tolerant or found[1] not in DELIMITERS.values()):
            raise UnfitFile(f"says in its first line that another character separates cells: {_advice(found[1])}")
        rows.delimiter = found[1]
        first = next(parsed, [])
    if not first:
        raise DamagedRecord("no names of columns")
    others = [other for other in DELIMITERS.values() if other in first[0] and other != rows.delimiter]
    if len(first) == 1 and others and not sure:
        raise UnfitFile(f"begins with one cell that holds {others[0]!r}: {_advice(others[0])}")
    return first, parsed


def _advice(character: str) -> str:
    names = [name for name, other in DELIMITERS.items() if other == character]
    return f"add delimiter={names[0]}" if names else f"separate cells by one of {', '.join(DELIMITERS)}"


def _cells(rows: Rows, *, tolerant: bool) -> Iterator[list[str]]:
    """Yield the cells of each row; for a tolerant reader a damaged row has none.

    ``csv.reader`` gets one text for each row. It reads quotes as ``adept.data.csv_rows`` does, and begins anew after an error.
    """
    csv.field_size_limit(LONGEST)
    texts = _tolerated(rows) if tolerant else map(_checked, filter(None, rows))
    delimiter, reader = rows.delimiter, csv.reader(texts, delimiter=rows.delimiter, strict=True)
    while True:
        if rows.delimiter != delimiter:
            delimiter, reader = rows.delimiter, csv.reader(texts, delimiter=rows.delimiter, strict=True)
        try:
            cells = next(reader)
        except StopIteration:
            return
        except TooLong:
            raise DamagedRecord(f"a row of {TOO_LONG}, or a quote that is never closed") from None
        except csv.Error as error:
            if not tolerant:
                raise DamagedRecord(str(error)) from None
            cells = []
        yield [_bare(cell) if cell[:1] == "'" else cell for cell in cells]


def _tolerated(rows: Rows) -> Iterator[str]:
    """Yield each row; a row that is too long or holds NUL is replaced by one without cells."""
    for text in rows:
        yield "" if text is None or "\0" in text else text


def _bare(cell: str) -> str:
    return cell[1:] if runs(cell[1:]) else cell


def runs(cell: str) -> bool:
    """Whether a spreadsheet would run a cell as a formula, apostrophes aside; a number is none, whatever its sign."""
    start = cell.lstrip("'")
    if not start.startswith(("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")):
        return False
    return start != cell or NUMBER.fullmatch(cell) is None


READERS: dict[str, Callable[..., Iterator[Record]]] = {
    "txt": read_txt,
    "jsonl": read_jsonl,
    "json": read_json,
    "csv": read_csv,
    "parquet": read_parquet,
}
