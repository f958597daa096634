"""Opening of files: compressed ones, directories of parts, and files whose content does not fit their name."""

import errno
import gzip
import io
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any

from adept.data.formats import (
    SPREADSHEET_ADVICE,
    STANDARD_STREAM,
    ReadingOptions,
    file_format,
    format_of_name,
    is_gzip_name,
)
from adept.data.records import UnfitFile
from adept.errors import DataError

GZIP = b"\x1f\x8b"
SPREADSHEET_BYTES = (
    b"PK\x03\x04",
    b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",
)  # new and old; a zip archive begins like the new one
UTF_16 = (b"\xff\xfe", b"\xfe\xff")
PARQUET = b"PAR1"
HEAD = 8  # first bytes of a file, which show its kind


class _File(io.FileIO):
    """A file that must not become shorter while it is read; otherwise records would be missing without an error."""

    def __init__(self, location: str, at_least: int) -> None:
        super().__init__(location)
        self._least = max(at_least, os.fstat(self.fileno()).st_size)

    def readinto(self, buffer: Any) -> int | None:
        count = super().readinto(buffer)
        if not count and os.fstat(self.fileno()).st_size < self._least:
            raise OSError(errno.ESTALE, "it became shorter while it was read, so let nobody write to it meanwhile")
        return count


class _Joined(io.RawIOBase):
    """A stream made of bytes that were already read, and of the rest, which cannot be rewound."""

    def __init__(self, head: bytes, rest: io.RawIOBase) -> None:
        self._head, self._rest = head, rest

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        if not self._head:
            return self._rest.readinto(buffer)
        part = self._head[: len(buffer)]
        buffer[: len(part)], self._head = part, self._head[len(part) :]
        return len(part)

    def close(self) -> None:
        self._rest.close()
        super().close()


@contextmanager
def open_input(location: str, *, kind: str, at_least: int = 0, tolerant: bool = False) -> Iterator[IO[Any]]:
    """Open a path or standard input: bytes for parquet, otherwise text, whose lines end with LF, CRLF or CR.

    A tolerant reader opens gzip where the name ends with .gz. Any other looks at the first bytes.

    Raises:
        UnfitFile: it is a spreadsheet, or UTF-16; never for a tolerant reader.
        OSError: the file cannot be opened.
    """
    with ExitStack() as stack:
        raw: io.RawIOBase = io.FileIO(os.dup(0)) if location == STANDARD_STREAM else _File(location, at_least)
        stack.callback(raw.close)
        compressed = is_gzip_name(location)
        if not tolerant:
            head, raw = _looked_at(raw)
            if not compressed and kind != "parquet":
                _check_head(head)
            compressed = compressed or head.startswith(GZIP)
        stream: Any = stack.enter_context(io.BufferedReader(raw))
        if compressed:
            stream = stack.enter_context(gzip.GzipFile(fileobj=stream, mode="rb"))
        if kind != "parquet":
            newline = "" if kind == "csv" else None  # a quoted cell of a csv may hold line ends
            errors = "replace" if tolerant else "surrogateescape"
            buffered = io.BufferedReader(stream) if compressed else stream
            stream = stack.enter_context(io.TextIOWrapper(buffered, "utf-8", errors=errors, newline=newline))
        yield stream


def _looked_at(raw: io.RawIOBase) -> tuple[bytes, io.RawIOBase]:
    """Return the first bytes of a stream, and a stream that still begins with them."""
    head = b""
    while len(head) < HEAD and (part := raw.read(HEAD - len(head))):
        head += part
    if raw.seekable():
        raw.seek(0)
        return head, raw
    return head, _Joined(head, raw)


def _check_head(head: bytes) -> None:
    if head.startswith(SPREADSHEET_BYTES):
        raise UnfitFile(f"is {SPREADSHEET_ADVICE}")
    if head.startswith(UTF_16):
        raise UnfitFile("is UTF-16: save it as UTF-8")
    if head.startswith(PARQUET):
        raise UnfitFile("is a parquet file: add format=parquet")


def begins_array(stream: Any) -> bool:
    """Return True if an unread text stream begins with a bracket."""
    return _opens_array(stream.buffer.peek(64))


def _opens_array(head: bytes) -> bool:
    return head.removeprefix(b"\xef\xbb\xbf").lstrip(b" \t\r\n").startswith(b"[")


def mismatch(location: str, options: ReadingOptions) -> str | None:
    """Return a sentence for the curator if a file's first bytes do not fit its name and the options."""
    kind = file_format(location, options.format)
    with open_input(location, kind="parquet", tolerant=True) as stream:
        head = stream.read(HEAD)
    try:
        if kind != "parquet":
            _check_head(head)
    except UnfitFile as error:
        return f"{location} {error}"
    if head.startswith(GZIP):
        return f"{location} begins like a compressed file: give it a name that ends with .gz"
    if kind == "jsonl" and _opens_array(head):
        return f"{location} begins like a JSON array: add format=json"
    return None


def is_directory(location: str) -> bool:
    """Return True for a directory; ``-`` is standard input."""
    return location != STANDARD_STREAM and os.path.isdir(location)  # noqa: PTH112 - Path.is_dir raises for a long name


def part_files(directory: str) -> list[str]:
    """Return the parts of a data set that programs such as Spark leave as a directory, in the order of their names.

    Files whose names begin with a dot or an underscore are no parts.

    Raises:
        DataError: it has no parts, or holds directories, whose names might stand for a column.
    """
    try:
        found = sorted(path for path in Path(directory).iterdir() if not path.name.startswith((".", "_")))
    except OSError as error:
        raise DataError(f"cannot read {directory}: {error.strerror}") from None
    if not found:
        raise DataError(f"{directory} is a directory without data files: name another one")
    if any(path.is_dir() for path in found):
        raise DataError(f"{directory} holds directories, which are not read: name the files by a pattern such as '*/*'")
    return [str(path) for path in found]


def directory_format(directory: str, given: str | None) -> str | None:
    """Return the format of all parts: ``given``, or that of the directory's name; None if each part's own name decides."""
    return given or format_of_name(directory.rstrip("/"))
