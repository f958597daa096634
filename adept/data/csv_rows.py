"""Rows of a csv file: where each one ends is decided before anybody asks whether it is valid.

A row is read leniently, one character after the other. At the beginning of a cell a quote opens a quoted cell; in any
other place of a bare cell a quote is an ordinary character. In a quoted cell two quotes are one character, and a single
quote closes the quotes: what follows up to the delimiter is bare. *A row ends at the first CR or LF outside quotes, or
where the file ends.* A row without a character is none, so that CRLF ends one row and not two.

*Claim*: where row n ends depends on where it begins and on its own characters. *Proof*: the rule reads them in order
with a state (cell begins, bare, quoted, quote within quotes) that is the same at the beginning of every row, keeps
nothing of earlier rows, and stops at the row's own last character. QED. So adding or removing the characters of a row
whose quotes close changes no other row: the row after it begins where it ends, in the same state. The one exception is
a quote that is never closed, which takes what follows.

For valid rows these are the rows of RFC 4180. Whether a row is valid, too long, has NUL or a wrong number of cells is
decided once its end is known; of a row that is too long no more than ``LONGEST`` characters are kept.
"""

import re
from collections.abc import Iterator
from functools import cache
from typing import IO

LONGEST = 2**24  # characters of a row
PIECE = 2**20  # characters that are read together, unless a line ends before
MARK = "\ufeff"  # the byte order mark, which is dropped at the beginning of any row: a rule that looks at one row

# A state is spelled as the beginning of a row that leads to it.
CELL_BEGINS, BARE, QUOTED, QUOTE_IN_QUOTED = "", "x", '"', '""'


ENDS = ("\n", "\r")


class TooLong(Exception):
    """A row that is longer than a reader wants to know of."""


@cache
def _patterns(delimiter: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return patterns of the quotes of a quoted cell up to where they close, and of all whole cells, each with its delimiter."""
    d = re.escape(delimiter)
    quoted = '"[^"]*+(?:""[^"]*+)*+"'
    return re.compile(quoted), re.compile(f'(?:[^"{d}][^{d}]*+{d}|{d}|{quoted}[^{d}]*+{d})*+')


def state_after(text: str, delimiter: str) -> str:
    """Return the state after the characters of a row, from its beginning or from a state that stands before them."""
    if '"' not in text:
        return CELL_BEGINS if not text or text.endswith(delimiter) else BARE
    quoted, cells = _patterns(delimiter)
    begin = cells.match(text).end()  # type: ignore[union-attr]  # it matches nothing, too
    if begin == len(text):
        return CELL_BEGINS
    if text[begin] != '"':
        return BARE
    closed = quoted.match(text, begin)
    if closed is None:
        return QUOTED
    return QUOTE_IN_QUOTED if closed.end() == len(text) else BARE


class Rows:
    """The rows of a stream that leaves line ends as they are.

    Args:
        stream: text, opened with ``newline=""``.
        delimiter: between cells.
        raises: raise ``TooLong`` at once for a row of more than LONGEST characters, which is skipped and None otherwise.
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
        """Read a row to its end from its first piece, and the state after that."""
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
