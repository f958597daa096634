"""Read and write csv files. The reader first finds the end of a row, and then checks the row.

To find the end, the reader goes through the row character by character, and accepts any text. A quote at the beginning
of a cell opens a quoted cell. In a cell that is not quoted, a quote is an ordinary character. In a quoted cell, two
quotes together stand for one quote character, and a quote that stands alone ends the quoted part. The characters
between this last quote and the next delimiter are not quoted. *A row ends at the first CR or LF outside quotes, or
where the file ends*. An empty line is not a row. In a valid csv file, this rule gives the same rows as RFC 4180.

*Claim*: the end of a row depends only on the place where the row begins and on the characters of the row. *Proof*:
the reader goes through the row in order and remembers only in which of four states it is: at the beginning of a cell,
in a cell that is not quoted, inside quotes, or after a quote inside quotes. The state is the same at the beginning of
every row, so the reader remembers nothing of earlier rows. The reader stops at the last character of the row. QED.

So adding or removing a row that closes its quotes changes no other row: the reader is in the same state at the
beginning of the next one. Else the next quote in a later row, or the end of the file, closes the quote.

Spreadsheets write empty cells to the right of a table, and rows of empty cells below it. So spaces around the names
in the header are removed, columns without a name are left out, and so are empty cells to the right of the header's
cells. A row of several cells that are all empty is not a record, nor is a row of several cells that repeats the
header, as where files were joined. Each of these rules reads only the header and one row.
"""

import csv
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from itertools import chain
from typing import IO, Any

from adept.data.formats import (
    BYTE_ORDER_MARK,
    END_MARK,
    MAX_CHARACTERS,
    TOO_LONG,
    DamagedRecord,
    Record,
    UnfitFile,
    UnreadableValue,
    Write,
    check_columns,
    check_text,
    say_unread,
)
from adept.data.json_files import to_json
from adept.data.texts import ALL_USUAL_NAMES, COLUMN_NAME, USUAL_NAMES, folded, say_once, trimmed
from adept.errors import DataError

DELIMITERS = {"comma": ",", "semicolon": ";", "tab": "\t", "pipe": "|"}
PIECE_CHARACTERS = 2**20  # most that are read at once
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
SPACED_QUOTE, SPACED_QUOTED = re.compile(r' +"'), re.compile(r' +"[^"]*" *\Z')
SURVEY_HEADER = re.compile(r'\{"ImportId":|Open-Ended Response\Z')  # of cells in the second or third row of names
SEPARATOR = re.compile(r"sep=(.)\1*\s*", re.DOTALL | re.IGNORECASE)  # a first line of some spreadsheets

# A state is spelled as the beginning of a row that leads to it.
CELL_BEGINS, BARE, QUOTED, QUOTE_IN_QUOTED = "", "x", '"', '""'
ENDS = ("\n", "\r")


@cache
def _patterns(delimiter: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return two patterns: one for a quoted cell up to its closing quote, one for whole cells."""
    d = re.escape(delimiter)
    quoted = '"[^"]*+(?:""[^"]*+)*+"'
    return re.compile(quoted), re.compile(f'(?:[^"{d}][^{d}]*+{d}|{d}|{quoted}[^{d}]*+{d})*+')


def state_after(text: str, delimiter: str) -> str:
    """Return the state in which the reader of a row is after ``text``, the beginning of a row.

    The result is a short text: a beginning of a row that leads to the same state. So
    ``text`` may also be the result for an earlier part of the row, followed by the rest.
    """
    if '"' not in text:
        return CELL_BEGINS if not text or text.endswith(delimiter) else BARE
    quoted, cells = _patterns(delimiter)
    begin = cells.match(text).end()  # type: ignore[union-attr]  # it also matches the empty text
    if begin == len(text):
        return CELL_BEGINS
    if text[begin] != '"':
        return BARE
    closed = quoted.match(text, begin)
    if closed is None:
        return QUOTED
    return QUOTE_IN_QUOTED if closed.end() == len(text) else BARE


class Rows:
    """The rows of a csv stream as texts.

    If ``raises`` is False, None stands for a row that is too long.
    """

    def __init__(self, stream: IO[str], delimiter: str, *, raises: bool = False) -> None:
        self._stream, self.delimiter, self._raises = stream, delimiter, raises
        self.row: str | None = None  # the newest one

    def __iter__(self) -> Iterator[str | None]:
        readline = self._stream.readline
        while (line := readline(PIECE_CHARACTERS)) not in ("", END_MARK):
            if line[0] == BYTE_ORDER_MARK:
                line = line[1:]
            row: str | None = line
            if '"' in line or line[-1:] not in ENDS:
                state = state_after(line, self.delimiter)
                if state == QUOTED or line[-1:] not in ENDS:
                    row = self._finish(line, state)
            if row is None or len(row) > 2 or row.strip("\r\n"):
                self.row = row
                yield row

    def _finish(self, line: str, state: str) -> str | None:
        parts, length = [line], len(line)
        while state == QUOTED or line[-1:] not in ENDS:
            line = self._stream.readline(PIECE_CHARACTERS)
            if not line:
                break
            length += len(line)
            if length <= MAX_CHARACTERS:
                parts.append(line)
            elif self._raises:
                raise DamagedRecord(f"a row of {TOO_LONG}, or a quote that is never closed")
            else:
                parts.clear()
            if state != QUOTED or '"' in line:
                state = state_after(state + line, self.delimiter)
        return "".join(parts) if length <= MAX_CHARACTERS else None


def read_csv(
    stream: IO[str],
    *,
    tolerant: bool = False,
    delimiter: str = ",",
    sure: bool = False,
    named: Sequence[str] | None = None,
    on_header: Callable[[Sequence[str]], None] = lambda names: None,
) -> Iterator[Record]:
    """Yield a record for each row below the header, without the apostrophes of ``write_csv``.

    Args:
        stream: text, opened with ``newline=""``.
        tolerant: True if no single row may raise an error, as in ``adept.data.reading``.
        sure: True if the user chose the delimiter. Otherwise, a header of one cell that contains
            another usual delimiter raises UnfitFile.
        named: the columns of a file without a header. Unless ``tolerant`` is True, a first row that
            holds only such names is nevertheless read as a header.
        on_header: function that is called with the names of the columns before any record is read,
            and that may raise an error.
    """
    rows = Rows(stream, delimiter, raises=not tolerant)
    parsed = _cells(rows, tolerant=tolerant)
    try:
        names, parsed = _header(rows, parsed, named, tolerant=tolerant, sure=sure)
    except DamagedRecord as error:
        _refuse_delimiter(rows, sure=sure)
        raise UnfitFile(f"is damaged (header: {error}): repair it") from None
    if not names and not tolerant:
        return  # there is nothing in the file
    named_columns = [name for name in names if name]
    check_columns(named_columns)
    on_header(named_columns)
    width, least = len(names), max((place for place, name in enumerate(names, start=1) if name), default=0)
    for number, cells in enumerate(parsed):
        if not tolerant and number < 2 and any(map(SURVEY_HEADER.match, cells)):
            raise UnfitFile("has more rows of names below its header, as Qualtrics and SurveyMonkey write: remove them")
        meant = SPACED_QUOTED if len(cells) == width else SPACED_QUOTE  # by whoever put spaces before the quote
        if not tolerant and any(cell[:1] == " " and meant.match(cell) for cell in cells):
            raise DamagedRecord("spaces before a quote, which must follow its delimiter")
        if least <= len(cells) and not any(cells[width:]):
            if least < width and not tolerant and any(cells[least:]):
                say_unread("a csv", ["cells of columns without a name"])
            lines = (line for cell in cells if "\n" in cell for line in cell.split("\n")[1:])
            if not tolerant and width > 1 and any(line.count(rows.delimiter) == width - 1 for line in lines):
                say_once("a quoted cell of a csv holds lines that look like rows: check that no quote is missing")
            record = dict(zip(names, cells, strict=False))
            record.pop("", None)
            if len(record) < 2 or any(cell.strip() != name for name, cell in record.items()):
                yield record
            elif not tolerant:
                say_unread("a csv", ["rows that repeat its header"])
        elif tolerant:
            yield {}
        else:
            where = "columns=" if named is not None else "the header"
            more = f"; a cell that holds {rows.delimiter!r} must stand in quotes" if len(cells) > width else ""
            raise DamagedRecord(f"wrong number of fields, {len(cells)} for {width} in {where}{more}")


def delimiter_of(head: str) -> str | None:
    """Return the name of the delimiter if a text begins like a csv with a column of texts, else None."""
    first, *rows = [line for line in re.split(r"[\r\n]", head) if line] or [""]
    for name, delimiter in DELIMITERS.items():
        cells = [folded(cell.strip('"')) for cell in first.split(delimiter)]
        usual = set(cells) & set(USUAL_NAMES["text_column"])
        is_header = len(cells) > 1 and usual and all(map(COLUMN_NAME.fullmatch, cells))
        if is_header and 2 * sum(row.count(delimiter) >= len(cells) - 1 for row in rows) > len(rows):
            return name
    return None


def _header(
    rows: Rows, parsed: Iterator[list[str]], named: Sequence[str] | None, *, tolerant: bool, sure: bool
) -> tuple[Sequence[str], Iterator[list[str]]]:
    if named is not None and tolerant:
        return named, parsed
    first = next(parsed, None)
    if first is None:
        return named or [], parsed
    if named is not None:
        spelled = {folded(name): name for name in named}
        header = [spelled.get(folded(cell), cell) for cell in first]
        is_header = any(header) and set(header) <= {*named, ""}
        names = {*map(folded, named), *ALL_USUAL_NAMES}
        if not is_header and sum(name in names for name in set(map(folded, first))) > 1:
            raise UnfitFile(
                "begins like a header of other names than columns=: leave columns= out, or move a record down"
            )
        return (header, parsed) if is_header else (named, chain([first], parsed))
    if found := SEPARATOR.fullmatch(rows.delimiter.join(first)):
        if found[1] != rows.delimiter and (sure or tolerant or found[1] not in DELIMITERS.values()):
            raise UnfitFile(
                "says in its first line that another character separates cells: set delimiter= to it, "
                f"one of {', '.join(DELIMITERS)}"
            )
        rows.delimiter = found[1]
        parsed = _cells(rows, tolerant=tolerant)
        first = next(parsed, [])
    if not any(map(trimmed, first)):
        raise DamagedRecord("no names of columns")
    if any(name != name.lstrip() and name.lstrip()[:1] == '"' for name in first):
        raise UnfitFile("has spaces before the quotes of its first line: remove spaces after the delimiters")
    if len(first) == 1:
        _refuse_delimiter(rows, sure=sure)
    return list(map(trimmed, first)), parsed


def _refuse_delimiter(rows: Rows, *, sure: bool) -> None:
    row = rows.row or ""
    for name, other in DELIMITERS.items():
        separates = f'"{other}' in row or f'{other}"' in row or ('"' not in row and other in row)
        named = all(map(COLUMN_NAME.fullmatch, row.strip().split(other)))  # a name with a comma has a space behind it
        if separates and other != rows.delimiter and (named or not sure):
            raise UnfitFile(
                f"has a first cell that holds {other!r}: add delimiter={name} for all csv files, or save it with {rows.delimiter!r}"
            )


def _cells(rows: Rows, *, tolerant: bool) -> Iterator[list[str]]:
    """Yield the cells of each row but empty ones; with ``tolerant``, a damaged row has no cells."""
    csv.field_size_limit(MAX_CHARACTERS)
    damaged_as_empty = ("" if text is None or "\0" in text else text for text in rows)
    texts = damaged_as_empty if tolerant else map(check_text, filter(None, rows))
    # This reader gets one row at a time, reads quotes as ``Rows`` does, and goes on after an error.
    reader = csv.reader(texts, delimiter=rows.delimiter, strict=True)
    while True:
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error:
            if not tolerant:
                raise DamagedRecord("a quote opens a cell and is not closed, or not doubled inside it") from None
            cells = []
        if len(cells) < 2 or any(cells):
            yield [cell[1:] if cell[:1] == "'" and is_formula(cell[1:]) else cell for cell in cells]


def is_formula(cell: str) -> bool:
    """Return True if a spreadsheet would run a cell as a formula.

    A number with a sign, such as "-1.5", is not a formula.
    """
    start = cell.lstrip("'")
    if not start.startswith(("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")):
        return False
    return start != cell or NUMBER.fullmatch(cell) is None


@contextmanager
def write_csv(stream: IO[str], columns: Sequence[str], types: Any = None, delimiter: str = ",") -> Iterator[Write]:
    """Write the header; yield a function that writes records as rows below the header.

    An apostrophe is put before each cell that a spreadsheet would run as a formula. Lines end with LF.
    """
    rows = csv.writer(_LineFeeds(stream), delimiter=delimiter)
    rows.writerow(map(to_cell, columns))
    yield lambda records: rows.writerows([to_cell(record[column]) for column in columns] for record in records)


class _LineFeeds:  # Python's csv writer must end lines with CRLF: else it leaves cells with CR unquoted
    def __init__(self, stream: IO[str]) -> None:
        self.stream = stream

    def write(self, row: str) -> int:
        return self.stream.write(row.removesuffix("\r\n") + "\n")


def to_cell(value: Any) -> Any:
    if isinstance(value, list | tuple | dict | bytes | UnreadableValue):
        value = to_json(value)
    if isinstance(value, str) and "\0" in value:  # where readers in C end the cell
        raise DataError("a kept column holds NUL: leave it out, or write jsonl")
    return f"'{value}" if isinstance(value, str) and is_formula(value) else value
