"""Read records from data files of each format in ``FORMATS``, compressed or not.

Files of any size are read record by record. No error message shows content of a record. A *tolerant* reader refuses
no file because of one record. Instead of a damaged record, it yields a record without columns.

*Claim*: adding or removing one row of a txt, jsonl or csv file adds or removes at most the record of this row, and
changes no other record that a tolerant reader yields. *Proof*. (1) The bytes of one row do not change the characters
of another row: no byte of a line end belongs to a longer UTF-8 sequence, and a sequence that is cut short becomes
U+FFFD before the next row begins. (2) The end of a row depends only on the place where the row begins and on the
characters of the row. In txt and jsonl, a row ends at the first CR or LF. For csv, ``adept.data.csv_files`` proves
(2). An empty line is not a row, so removing a row between CR and LF, which leaves CRLF, changes no other row. (3) A
record is a function of its row, and of the column names in the header of a csv file or in the options. A byte order
mark is dropped at the beginning of every row, not only of the first row. QED.

``adept.data.json_files`` proves (2) for the elements of a JSON array. ``READING_EXCEPTIONS`` lists
the exceptions to the claim. Statements, pages and docs take them from this list.
"""

import bz2
import errno
import gzip
import io
import json
import lzma
import os
import re
import zlib
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from adept.data.csv_files import DELIMITERS, delimiter_of, read_csv
from adept.data.formats import (
    COMPRESSED_ADVICE,
    DOCUMENT_ADVICE,
    ENDINGS,
    SPREADSHEET_ADVICE,
    STANDARD_STREAM,
    TABLE_ADVICE,
    DamagedRecord,
    Record,
    UnfitFile,
    WaitingFile,
    advise_pattern,
    compression_of,
    data_files,
    ending_of,
    file_format,
    read_txt,
)
from adept.data.json_files import read_json, read_jsonl
from adept.data.texts import RequiredColumns, folded, say_once
from adept.errors import ConfigurationError, DataError, check_choice

# The first bytes of compressed files that are read: the groups have the names of their endings
COMPRESSED_HEAD = re.compile(rb"(?P<gz>\x1f\x8b)|(?P<bz2>BZh[1-9]1AY&SY)|(?P<xz>\xfd7zXZ\0)|(?P<zst>\x28\xb5\x2f\xfd)")
UNFIT_HEADS = {  # by the first bytes of a file
    b"PK\x03\x04": f"{SPREADSHEET_ADVICE}, or a zip archive: unpack it",
    b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1": SPREADSHEET_ADVICE,
    **dict.fromkeys((b"%PDF-", b"{\\rtf", b"<!DOCTYPE", b"<!doctype", b"<html", b"<?xml"), DOCUMENT_ADVICE),
    **dict.fromkeys((b"7z\xbc\xaf", b"\x04\x22\x4d\x18"), COMPRESSED_ADVICE),
    **dict.fromkeys(
        (b"\xff\xfe\0\0", b"\0\0\xfe\xff"), "UTF-32: save it as UTF-8"
    ),  # before UTF-16, which begins as it does
    **dict.fromkeys((b"\xff\xfe", b"\xfe\xff"), "UTF-16: save it as UTF-8"),
    b"version https://git-lfs": "a pointer of Git LFS to a file that is not here: run git lfs pull",
    b"PAR1": "a parquet file: add format=parquet",
    **dict.fromkeys((b"ARROW1", b"\xff\xff\xff\xff"), "an Arrow file: add format=arrow"),
    **dict.fromkeys(
        (b"ORC", b"FEA1", b"Obj\x01", b"SQLite format 3\0", b"\x80\x04\x95", b"\x80\x05\x95"), TABLE_ADVICE
    ),
}
MAIL_FIELD = rb"(?:From|To|Cc|Subject|Date|Received|Delivered-To|Return-Path|Message-ID|MIME-Version|X-[\w-]+): .*\n"
TEXT_HEADS = {  # of txt files whose lines are not texts
    "training data of Rasa": rb"version: *[\"']\d|nlu: *\r?\n|## (intent|synonym|regex|lookup):",
    "training data of fastText": rb"__label__\S",
    "words with tags": rb"-DOCSTART-|(\S+[ \t](\S+[ \t])*(O|[BI]-[A-Za-z][\w.-]*)\r?\n){2}",
    "subtitles": rb"WEBVTT\b|\d+\s+(\d\d:){2}\d\d[.,]\d{3} -->",
    "mail": rb"From \S+ +\w{3} \w{3} +\d|(%b){2}" % MAIL_FIELD,
    "a chat or log": rb"(\xe2\x80\x8e)?\[?\d+([./-])\d+\2\d+,? \d+[:.]\d\d[^]\n-]{0,20}(\]| -) [^:\n]+: ",
    "cells with tabs between, which format=tsv columns=[...] reads": rb"([ \r]*+\S[^\t\n]*(\t[^\t\n]+)+\n){2}",
}
JSON_HEAD = re.compile(rb'(\[\s*)?\{\s*"|\[\s*\Z')
CARDS = {"README.md": r"\bclass_label:", "dataset_infos.json": r'"ClassLabel"'}  # what says that files have classes
HEAD_BYTES = 24  # enough to tell what a file is
READING_EXCEPTIONS = (
    "in a csv file, a quote that its row does not close takes in the rows after it, up to the next quote or the end of the file",
    "in a JSON array, a string or bracket that its element does not close takes in the elements after it, often all of them: "
    "convert to jsonl, where the end of a line ends a record",
    "a damaged page of a parquet file, or a damaged compressed file, ends the run",
    "a value or a pipe too large for the memory ends the run",
)
"""The cases in which one value of a file changes how other records are read, even by a tolerant reader."""


@dataclass(kw_only=True)
class ReadingOptions:
    """Options for reading data files.

    Files:
        format: Format of the input: txt | jsonl | json | csv | tsv | parquet | arrow. An output gets the same format if
            its name does not show another one (parquet for arrow). With null, the names of the files decide.
        delimiter: Separator of the cells in csv files: comma | semicolon | tab | pipe. With null, tabs separate the
            cells of .tsv files, and commas the cells of all other files.
        columns: Names of the columns of csv files without a header, such as [text,intent].
    """

    format: str | None = None
    delimiter: str | None = None
    columns: list[str] | None = None

    def __post_init__(self) -> None:
        if self.format is not None:
            check_choice(tuple(ENDINGS), format=self.format)
            self.delimiter = self.delimiter or ("tab" if self.format == "tsv" else None)
            self.format = ENDINGS[self.format]
        if self.delimiter is not None:
            check_choice(DELIMITERS, delimiter=self.delimiter)
        if self.columns is not None and (
            not all(self.columns) or len(set(self.columns)) < len(self.columns) or not self.columns
        ):
            raise ConfigurationError(
                "columns must be different names, one for each cell of a csv's row: correct columns="
            )

    def find_files(self, location: str | Sequence[str]) -> tuple[Sequence[str], "ReadingOptions"]:
        """Return the files at a location (or the given files), and the options with their format, if it is known."""
        if not isinstance(location, str):
            return location, self
        parts, kind = data_files(location, self.format)
        return parts, ReadingOptions(format=kind, delimiter=self.delimiter, columns=self.columns)

    def check_used(self, locations: Iterable[str]) -> None:
        """Raise ConfigurationError if options for csv files are given and no csv file is read."""
        given = [name for name in ("delimiter", "columns") if getattr(self, name) is not None]
        places = [self.find_files(location) for location in locations if given]
        kinds = {file_format(part, options.format) for parts, options in places for part in parts}
        if given and "csv" not in kinds:
            raise ConfigurationError(
                f"{given[0]} must be left out for {' and '.join(sorted(kinds))}: it is for csv files"
            )


def _read_parquet(stream: Any, **options: Any) -> Iterator[Record]:
    from adept.data.arrow_files import read_parquet  # slow to import

    return read_parquet(stream, **options)


READERS: dict[str, Callable[..., Iterator[Record]]] = {
    "txt": read_txt, "jsonl": read_jsonl, "json": read_json, "csv": read_csv, "parquet": _read_parquet,
}  # fmt: skip


def read_records(
    location: str | Sequence[str],
    *,
    options: ReadingOptions | None = None,
    sizes: Sequence[int] | None = None,
    tolerant: bool = False,
    columns: Collection[str] | None = None,
    required: RequiredColumns | None = None,
) -> Iterator[Record]:
    """Yield the records of a location or, if several files are given, of these files.

    A location is a file, ``-`` (standard input), a directory or a pattern such as ``*.csv``.

    Every line of a txt file, even an empty one, is a record ``{"text": line}``. Blank lines of jsonl and csv files
    are skipped. If there are several files, a csv file among them may be empty and have no header.

    Args:
        options: how to read the file; None to choose the format by the file's name alone.
        sizes: the least size of each file in bytes; reading fails if a file is smaller.
        tolerant: if True, damaged records and an empty file raise no error.
        columns: the columns to read from a Parquet file; None for all columns.
        required: columns that the header of a csv file or the schema of a Parquet file must name.

    Raises:
        DataError: the file is missing, empty, not UTF-8, of an unknown format or damaged, or it
            becomes shorter while it is read.
    """
    options, number = options or ReadingOptions(), 0
    parts, options = options.find_files(location)
    for part, least in zip(parts, sizes or [0] * len(parts), strict=True):
        number += yield from _file_records(part, options, least, tolerant, columns, required, len(parts) > 1)
    if number == 0 and not tolerant:
        few = f"{parts[0]} has" if len(parts) == 1 else f"{', '.join(parts[:3])} and others have"
        raise DataError(f"{few} no records: give a file with at least one")


def _file_records(
    location: str,
    options: ReadingOptions,
    at_least: int,
    tolerant: bool,
    columns: Collection[str] | None,
    required: RequiredColumns | None,
    may_be_empty: bool,
) -> Generator[Record, None, int]:
    kind = file_format(location, options.format)
    number = 0
    if kind in ("csv", "json", "jsonl") and location != STANDARD_STREAM:
        _say_classes(location)

    def check(names: Sequence[str]) -> None:
        if required and (names or not may_be_empty):
            required.check(location, names, header=kind == "csv" and options.columns is None)

    with (
        _data_errors(location, lambda: number),
        open_input(
            location, kind=kind, at_least=at_least, tolerant=tolerant, given=options.format is not None
        ) as stream,
    ):
        if kind in ("json", "jsonl") and not tolerant:
            kind = "json" if _begin(stream.buffer.peek(64))[:1] == b"[" else "jsonl"
        more: dict[str, Any] = {"on_header": check} if kind in ("csv", "parquet") else {}
        more |= _csv_options(location, options) if kind == "csv" else {}
        more |= {"columns": columns} if kind == "parquet" else {}
        for record in READERS[kind](stream, tolerant=tolerant, **more):
            number += 1
            yield record
    return number


def _say_classes(location: str) -> None:
    for card in (place / name for place in Path(location).absolute().parents[:2] for name in CARDS):
        with suppress(OSError):
            if card.is_file() and re.search(CARDS[card.name], card.read_text("utf-8", errors="replace")):
                say_once(
                    f"{card} names classes, which is not read: if files near it hold their numbers, these stay numbers"
                )


class RecordNumber(int):
    """The number of a record in several files; as part of a message, its number in its own file, with this file."""

    place: tuple[Sequence[str], ReadingOptions]

    def __format__(self, spec: str) -> str:
        """Return a text such as "3 of b.csv"; this reads the files again, but no pipe."""
        number, ((*locations, last), options) = int(self), self.place
        if last == STANDARD_STREAM or not all(Path(location).is_file() for location in locations):
            return format(number, spec)
        for location in locations:
            count = sum(1 for _ in _file_records(location, options, 0, False, None, None, True))
            if number <= count:
                return f"{number} of {location}"
            number -= count
        return f"{number} of {last}"


def number_records(
    records: Iterable[Record], locations: Sequence[str], options: ReadingOptions | None, *, named: bool = False
) -> Iterator[tuple[int, Record]]:
    """Yield records with their numbers, which are RecordNumbers if there are several files or if ``named`` is True."""
    for number, record in enumerate(records, start=1):
        if named or len(locations) > 1:
            number = RecordNumber(number)
            number.place = locations, options or ReadingOptions()
        yield number, record


def _csv_options(location: str, options: ReadingOptions) -> dict[str, Any]:
    name = options.delimiter or ("tab" if ending_of(location) == "tsv" else "comma")
    return {"delimiter": DELIMITERS[name], "sure": options.delimiter is not None, "named": options.columns}


def parquet_types(location: str) -> dict[str, Any]:
    """Return the Arrow types of a parquet file's columns; raise DataError for any other file."""
    from adept.data.arrow_files import file_types

    with _data_errors(location, lambda: 0), open_input(location, kind="parquet") as stream:
        return file_types(stream)


def read_schema(location: str) -> dict[str, Any]:
    """Read the Arrow type of each column from a parquet or Arrow file, or a JSON file of type names."""
    import pyarrow  # slow to import

    if ENDINGS.get(ending_of(location)) == "parquet":
        return parquet_types(location)
    try:
        content = json.loads(Path(location).read_text("utf-8-sig"))
    except (OSError, ValueError, RecursionError):
        raise DataError(
            f'cannot read schema {location}: give a parquet file, or JSON such as {{"score": "float64"}}'
        ) from None
    try:
        return {str(column): pyarrow.type_for_alias(name) for column, name in content.items()}
    except (AttributeError, TypeError, ValueError):
        raise ConfigurationError(
            f"schema {location} must be a JSON object of columns and Arrow types (int64, float64, bool, string): for lists and "
            "objects give a parquet file with such columns"
        ) from None


def declared_columns(location: str, options: ReadingOptions) -> list[str] | None:
    """Return the column names that a file declares; None if only its records show them."""
    kind = file_format(location, options.format)
    if kind in ("jsonl", "json") or location == STANDARD_STREAM:
        return None
    if kind == "txt":
        return ["text"]
    names: list[str] = []
    more = _csv_options(location, options) if kind == "csv" else {}
    with _data_errors(location, lambda: 0), open_input(location, kind=kind, tolerant=True) as stream:
        next(READERS[kind](stream, tolerant=True, on_header=names.extend, **more), None)
    return names or None


def mismatch(location: str, options: ReadingOptions) -> str | None:
    """Return a warning if the first bytes of a file contradict its name and the options, else None.

    Only the curator, who may see the records, may read the warning.
    """
    kind = file_format(location, options.format)
    with open_input(location, kind="parquet", tolerant=True) as stream:
        head = stream.peek(HEAD_BYTES)
    if found := COMPRESSED_HEAD.match(head):
        return f"{location} begins like a compressed file: give it a name that ends with .{found.lastgroup}"
    if unfit := _unfit(head, kind, given=options.format is not None):
        return f"{location} is {unfit}"
    if kind == "jsonl" and _begin(head)[:1] == b"[":
        return f"{location} begins like a JSON array: add format=json"
    return None


@contextmanager
def _data_errors(location: str, records: Callable[[], int]) -> Iterator[None]:
    try:
        yield
    except DamagedRecord as error:
        raise DataError(
            f"{location} is damaged in record {records() + 1} ({error}): repair or remove that record"
        ) from None
    except UnfitFile as error:
        raise DataError(f"{location} {error}") from None
    except MemoryError:
        raise DataError(f"{location} needs more memory than there is, after record {records()}: split it") from None
    except FileNotFoundError:
        raise DataError(
            f"cannot read {location}, for it does not exist: correct its name{_near_name(location)}{advise_pattern(location)}"
        ) from None
    except (OSError, EOFError, zlib.error, lzma.LZMAError) as error:
        reason = getattr(error, "strerror", None) or "damaged, or not compressed as its name says: repair or rename it"
        raise DataError(f"cannot read {location}: {reason}") from None


def _near_name(location: str) -> str:
    with suppress(OSError):
        if Path(location).is_symlink():
            return ", or what it links to"
        for path in Path(location).parent.iterdir():
            if folded(path.name) == folded(Path(location).name):
                return f", which differs in case, spaces or accents from {path.name!a}"
    return ""


@contextmanager
def open_input(
    location: str, *, kind: str, at_least: int = 0, tolerant: bool = False, given: bool = True
) -> Iterator[Any]:
    """Yield an open file or standard input: bytes for parquet, text for all other formats.

    If ``tolerant`` is True, only the name of the file decides how the file is opened. Otherwise,
    the first bytes of the file decide, too. ``given`` is True if an option names the format.

    Raises:
        UnfitFile: the first bytes show another format, UTF-16, or a compression that is not read.
    """
    with ExitStack() as stack:
        raw = _Source(os.dup(0)) if location == STANDARD_STREAM else _Source(location, at_least)
        stack.callback(raw.close)
        compression, head = compression_of(location), b"" if tolerant else raw.look()
        if not compression and (found := COMPRESSED_HEAD.match(head)):
            compression = found.lastgroup
        stream: Any = stack.enter_context(io.BufferedReader(raw))
        if compression:
            stream = io.BufferedReader(stack.enter_context(DECOMPRESSORS[compression](stream)))
        if unfit := None if tolerant else _unfit(stream.peek(HEAD_BYTES), kind, given=given):
            raise UnfitFile(f"is {unfit}")
        if kind != "parquet":
            newline = "" if kind == "csv" else None  # a quoted cell of a csv may hold line ends
            errors = "replace" if tolerant else "surrogateescape"
            stream = stack.enter_context(io.TextIOWrapper(stream, "utf-8", errors=errors, newline=newline))
        yield stream


class _Source(WaitingFile):
    """A file or pipe whose first bytes can be read in advance; if a file shrinks, reading fails."""

    def __init__(self, file: str | int, at_least: int = 0) -> None:
        super().__init__(file)
        self._head = b""
        self._least = max(at_least, os.fstat(self.fileno()).st_size)

    def look(self) -> bytes:
        head = b""
        while len(head) < HEAD_BYTES and b"\n" not in head and (part := super().read(HEAD_BYTES - len(head))):
            head += part
        if self.seekable():
            self.seek(-len(head), os.SEEK_CUR)  # what a shell has read of standard input before is not read again
        else:
            self._head = head
        return head

    def readinto(self, buffer: Any) -> int:
        if self._head:
            part = self._head[: len(buffer)]
            buffer[: len(part)], self._head = part, self._head[len(part) :]
            return len(part)
        count = super().readinto(buffer)
        if not count and os.fstat(self.fileno()).st_size < self._least:
            raise OSError(errno.ESTALE, "it became shorter while it was read, so let nobody write to it meanwhile")
        return count


def _open_zstd(stream: Any) -> Any:
    import pyarrow  # slow to import

    return pyarrow.CompressedInputStream(pyarrow.PythonFile(stream, "r"), "zstd")


def _strict(file: Any) -> Any:
    file._buffer.raw._trailing_error = ()  # else damaged data behind a whole stream would be left out in silence
    return file


DECOMPRESSORS: dict[str, Callable[[Any], Any]] = {
    "gz": lambda stream: gzip.GzipFile(fileobj=stream, mode="rb"),
    "bz2": lambda stream: _strict(bz2.BZ2File(stream)),
    "xz": lambda stream: _strict(lzma.LZMAFile(stream)),  # noqa: SIM115 - ``open_input`` closes it
    "zst": _open_zstd,
}


def _unfit(head: bytes, kind: str, *, given: bool) -> str | None:
    """Return what a file is, and advice, if its first bytes do not fit its format, else None."""
    if kind == "parquet":
        known = not head or head.startswith((b"PAR1", b"ARROW1", b"\xff\xff\xff\xff"))
        return None if known else "no valid parquet or Arrow file: correct its name, or add format="
    if found := next((advice for begin, advice in UNFIT_HEADS.items() if head.startswith(begin)), None):
        return found
    begin = _begin(head)
    if kind in ("json", "jsonl"):
        known = not begin or begin[:1] in b'{["'
        return None if known else "no JSON: add format=csv, tsv or txt, or repair its first line"
    as_text = ", or format=txt if each line is a text" if kind == "txt" else ""
    if JSON_HEAD.match(begin) and (kind == "csv" or not given):
        return f"JSON: add format=jsonl{as_text}"
    if kind == "csv" or given:
        return None
    if name := delimiter_of(begin.decode("utf-8", "replace")):
        return f"a csv: add format=csv delimiter={name}{as_text}"
    marked = next((name for name, pattern in TEXT_HEADS.items() if re.match(pattern, begin)), None)
    return marked and f"no list of texts but {marked}: write its texts into a csv{as_text}"


def _begin(head: bytes) -> bytes:
    return head.removeprefix(b"\xef\xbb\xbf").lstrip(b" \t\r\n")
