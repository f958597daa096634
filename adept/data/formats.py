"""Formats of data files: their names, the rules that they have in common, and the format txt.

A central release computes one result from all records. In a central release, only a file's name and
``ReadingOptions`` determine compression, format, delimiter and header. If the content of a file
determined the format, one record (the first row) could change how all other rows are read.
"""

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import IO, Any

from adept.errors import DataError

Record = dict[str, Any]
Write = Callable[[Sequence[Record]], None]
Types = Mapping[str, Any]  # Arrow types of columns

FORMATS = ("txt", "jsonl", "json", "csv", "parquet")
STANDARD_STREAM = "-"
ARROW = ("arrow", "feather", "ipc")  # read as parquet files are, and never written
ENDINGS = {**{name: name for name in FORMATS}, "ndjson": "jsonl", "tsv": "csv", **dict.fromkeys(ARROW, "parquet")}
COMPRESSIONS = ("gz", "bz2", "xz", "zst")  # endings of compressed files that are read; outputs are only gz
COMPRESSED_ADVICE = "compressed in a way that is not read or written: unpack it, or compress it with gzip"
SPREADSHEET_ADVICE = "a spreadsheet, which cannot be read or written: save it as csv (UTF-8)"
DOCUMENT_ADVICE = "a document, which cannot be read or written: save its text as txt (UTF-8), one record on each line"
REFUSED = {  # by the ending of a name, which nobody gives to data by mistake
    **dict.fromkeys(("xls", "xlsx", "xlsm", "xlsb", "ods", "numbers"), SPREADSHEET_ADVICE),
    **dict.fromkeys(("zip", "7z", "rar", "lz4", "br", "lzma", "tar", "tgz"), COMPRESSED_ADVICE),
    **dict.fromkeys(("doc", "docx", "odt", "pdf", "rtf", "html", "htm", "xml", "pptx"), DOCUMENT_ADVICE),
}
MAX_UNREAD = 10  # names that a line lists
MAX_CHARACTERS = 2**24  # of a row
TOO_LONG = f"more than {MAX_CHARACTERS:,} characters"
BYTE_ORDER_MARK = "\ufeff"  # dropped at the beginning of every row, so that the rule reads one row alone


@cache
def say_unread(place: str, names: tuple[str, ...]) -> None:
    """Log one line, once in a run, with the names of what is not read in a directory or file."""
    more = " and others" if len(names) > MAX_UNREAD else ""
    if names:
        logging.getLogger("adept").warning(
            "adept: in %s, these are not read: %s%s", place, ", ".join(names[:MAX_UNREAD]), more
        )


class UnfitFile(Exception):
    """An error: a file needs repair or other options; the message shows nothing of the file."""


class DamagedRecord(Exception):
    """An error: a record is damaged; the message shows none of the record's content."""


class PlacedRecord(Record):
    """A record with its place: an Arrow batch (None for a data frame's record) and a row number."""

    def __init__(self, values: Mapping[str, Any], batch: Any, index: int) -> None:
        super().__init__(values)
        self.batch, self.index = batch, index

    def __or__(self, other: Any) -> "PlacedRecord":  # type: ignore[override]
        return PlacedRecord({**self, **other}, self.batch, self.index)

    def __reduce__(self) -> tuple[Any, ...]:
        return dict, (dict(self),)

    def cell(self, column: str) -> "ArrowValue":
        """Return the value in a column as an ArrowValue, without a conversion to Python."""
        return ArrowValue(self.batch.column(column), self.index)


class ArrowValue:
    """One value of an Arrow array: the array, and the index of the value in it."""

    def __init__(self, array: Any, index: int) -> None:
        self.array, self.index = array, index


class UnreadableValue:
    """A value that Python cannot hold: invalid UTF-8, or a date outside the years 1 to 9999."""

    def __init__(self, value: Any) -> None:
        self._value = value

    def __repr__(self) -> str:
        """Return the text that Arrow writes for the value; a record's digest depends on it."""
        import pyarrow

        try:
            return str(self._value.to_string())
        except UnicodeDecodeError:
            try:
                return str(self._value.cast(pyarrow.binary()).to_string())
            except pyarrow.ArrowException:
                return "unreadable"


def check_columns(names: Sequence[str]) -> None:
    """Raise UnfitFile if two columns have the same name."""
    places: dict[str, int] = {}
    for number, name in enumerate(names, start=1):
        if places.setdefault(name, number) != number:
            raise UnfitFile(f"is unclear (columns {places[name]} and {number} have the same name): rename one")


def compression_of(location: str) -> str | None:
    """Return the ending of a compressed file's name, such as ``gz``; None for other names."""
    ending = Path(location).suffix.removeprefix(".").lower()
    return ending if ending in COMPRESSIONS else None


def ending_of(location: str) -> str:
    """Return the ending of a file's name in lower case, without a dot and without ``.gz``."""
    path = Path(location)
    return Path(path.stem if compression_of(location) else path.name).suffix.removeprefix(".").lower()


def tells_format(location: str) -> bool:
    """Return True if the ending of a file's name shows the format of its data."""
    return ending_of(location) in ENDINGS


def format_of_name(location: str) -> str | None:
    """Return the format that a file's name shows, or None; raise DataError for names like a.pdf."""
    ending = ending_of(location)
    if ending in REFUSED:
        raise DataError(f"{location} is {REFUSED[ending]}")
    return ENDINGS.get(ending)


def file_format(location: str, given: str | None = None) -> str:
    """Return ``given`` or, if it is None, the format that the name of an input file shows."""
    if found := given or format_of_name(location):
        return found
    if location == STANDARD_STREAM:
        raise DataError(f"format of standard input or output is unknown: give format= as one of {', '.join(ENDINGS)}")
    raise DataError(
        f"unknown file format {ending_of(location)!r} of {location}: use one of {', '.join(ENDINGS)}, or give format="
    )


def read_lines(stream: IO[str], *, tolerant: bool) -> Iterator[str]:
    """Yield the lines of a text, each with its line end.

    If ``tolerant`` is True, a line is cut after MAX_CHARACTERS characters, and an empty line is
    skipped. Otherwise, a line that is too long raises DamagedRecord.
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
    """Return the text of a row unchanged; raise DamagedRecord if it is not UTF-8 or holds NUL."""
    if "\0" in text:
        raise DamagedRecord("NUL in the text, as UTF-16 has it, which can be converted to UTF-8")
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            raise DamagedRecord("not UTF-8, to which it can be converted") from None
    return text


def read_txt(stream: IO[str], *, tolerant: bool = False) -> Iterator[Record]:
    """Yield a record for each line of a txt file; with ``tolerant``, empty lines are skipped."""
    for line in read_lines(stream, tolerant=tolerant):
        yield {"text": line.removesuffix("\n")}


@contextmanager
def write_txt(stream: IO[str], columns: Sequence[str], types: Any = None) -> Iterator[Write]:
    """Yield a function that writes the first column of each record on a line of its own."""
    yield lambda records: stream.writelines(f"{record[columns[0]]}\n" for record in records)
