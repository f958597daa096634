"""Lines of text: the txt format, and the rules for bytes and lines that other text formats share."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import IO, Any

from adept.data.formats import DamagedRecord, Record, Write

MAX_CHARACTERS = 2**24  # of a row
TOO_LONG = f"more than {MAX_CHARACTERS:,} characters"
BYTE_ORDER_MARK = "\ufeff"  # dropped at the beginning of every row, so that the rule reads one row alone


def read_lines(stream: IO[str], *, tolerant: bool) -> Iterator[str]:
    """Yield lines with their ends. Bytes that are not UTF-8 have become surrogates, which show the damaged record.

    The stream of a tolerant reader has U+FFFD in their place; a line that is too long is cut off, and an empty one is skipped.
    """
    while line := stream.readline(MAX_CHARACTERS + 1):
        if len(line) > MAX_CHARACTERS:
            if not tolerant:
                raise DamagedRecord(f"a line of {TOO_LONG}")
            rest = line
            while rest and not rest.endswith("\n"):
                rest = stream.readline(MAX_CHARACTERS)
            line = line[:MAX_CHARACTERS].rstrip("\n") + "\n"
        line = line.removeprefix(BYTE_ORDER_MARK)
        if not tolerant:
            yield check_text(line)
        elif line.strip("\n"):
            yield line.replace("\0", "\ufffd")


def check_text(text: str) -> str:
    """Return a row's text unchanged; raise DamagedRecord if it was not UTF-8 or holds NUL."""
    if "\0" in text:
        raise DamagedRecord("NUL in the text, as UTF-16 has it, which can be converted to UTF-8")
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            raise DamagedRecord("not UTF-8, to which it can be converted") from None
    return text


def read_txt(stream: IO[str], *, tolerant: bool = False) -> Iterator[Record]:
    """Yield a record for each line; a tolerant reader skips empty lines."""
    for line in read_lines(stream, tolerant=tolerant):
        yield {"text": line.removesuffix("\n")}


@contextmanager
def write_txt(stream: IO[str], columns: Sequence[str], types: Any = None) -> Iterator[Write]:
    """Yield a function that writes the first column, one line for each record."""
    yield lambda records: stream.writelines(f"{record[columns[0]]}\n" for record in records)
