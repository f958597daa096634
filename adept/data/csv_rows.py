"""Rows of a csv file: first the end of a row is found, then the row is checked.

A row is read leniently, one character after the other. At the beginning of a cell a quote opens a quoted cell; in any
other place of a bare cell a quote is an ordinary character. In a quoted cell two quotes are one character, and a single
quote closes the quotes: the characters after it, up to the delimiter, are bare. *A row ends at the first CR or LF
outside quotes, or where the file ends.* An empty line is not a row, so CRLF ends one row and not two.

*Claim*: where row n ends depends on where it begins and on its own characters. *Proof*: the rule reads them in order
with a state (cell begins, bare, quoted, quote within quotes) that is the same at the beginning of every row, keeps
nothing of earlier rows, and stops at the row's own last character. QED. So adding or removing the characters of a row
whose quotes close changes no other row: the row after it begins where it ends, in the same state. The one exception is
a quote that is never closed, which takes what follows.

For valid rows these are the rows of RFC 4180. Only after its end is known is a row checked: is it valid, is it too long,
does it hold NUL, does it have the right number of cells. At most ``LONGEST`` characters of a row are kept.
"""

import re
from collections.abc import Iterator
from functools import cache
from typing import IO

LONGEST = 2**24  # most characters of a row
PIECE = 2**20  # most characters that are read at once
MARK = "\ufeff"  # byte order mark; dropped at the beginning of every row, so that the rule reads one row alone

# A state is spelled as the beginning of a row that leads to it.
CELL_BEGINS, BARE, QUOTED, QUOTE_IN_QUOTED = "", "x", '"', '""'


ENDS = ("\n", "\r")


class TooLong(Exception):
    """A row of more than LONGEST characters."""


@cache
def _patterns(delimiter: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return two patterns: a quoted cell up to its closing quote, and any number of whole cells with their delimiters."""
    d = re.escape(delimiter)
    quoted = '"[^"]*+(?:""[^"]*+)*+"'
    return re.compile(quoted), re.compile(f'(?:[^"{d}][^{d}]*+{d}|{d}|{quoted}[^{d}]*+{d})*+')


def state_after(text: str, delimiter: str) -> str:
    """Return the state after ``text``, which begins a row or is preceded by a state."""
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
    """Iterator over the rows of a stream that keeps line ends.

    Args:
        stream: text, opened with ``newline=""``.
        delimiter: the character between cells.
        raises: raise ``TooLong`` for a row of more than LONGEST characters; otherwise skip it and yield None.
    """

    def __init__(self, stream: IO[str], delimiter: str, *, raises: bool = False) -> None:
        self._stream, self.delimiter, self._raises = stream, delimiter, raises

    def __iter__(self) -> Iterator[str | None]:
        """Yield each row with its line end."""
        readline = self._stream.readline
        while line := readline(PIECE):
            if line[0] == MARK:
                line = line[1:]
            row: str | None = line
            if '"' in line or line[-1:] not in ENDS:
                state = state_after(line, self.delimiter)
                if state == QUOTED or line[-1:] not in ENDS:
                    row = self._finished(line, state)
            if row is None or len(row) > 2 or row.strip("\r\n"):
                yield row

    def _finished(self, line: str, state: str) -> str | None:
        """Read a row to its end; ``line`` is its first piece, and ``state`` the state after that piece."""
        parts, length = [line], len(line)
        while state == QUOTED or line[-1:] not in ENDS:
            line = self._stream.readline(PIECE)
            if not line:
                break
            length += len(line)
            if length <= LONGEST:
                parts.append(line)
            elif self._raises:
                raise TooLong
            else:
                parts.clear()
            if state != QUOTED or '"' in line:
                state = state_after(state + line, self.delimiter)
        return "".join(parts) if length <= LONGEST else None
