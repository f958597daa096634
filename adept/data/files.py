"""Files of records: txt, csv, jsonl and parquet, read and written as streams, and outputs that appear only when complete.

A record is one line or row, as a dict of columns. Files are handled a record at a time, so their size does not matter, and
nothing that is read is kept anywhere: no cache of a private file is left on the disk. No message repeats what a record says.
"""

import errno
import gzip
import io
import os
import shutil
import tempfile
import zlib
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from adept.data.parquet import Types, file_types
from adept.data.reading import READERS
from adept.data.records import DamagedFile, DamagedRecord, Record, Write
from adept.data.writing import WRITERS
from adept.errors import ConfigurationError, DataError

__all__ = [
    "FORMATS",
    "STANDARD_STREAM",
    "Record",
    "check_format",
    "file_format",
    "give_name",
    "new_directory",
    "new_file",
    "publish",
    "read_records",
    "record_writer",
    "sync_directory",
]

FORMATS = tuple(READERS)
STANDARD_STREAM = "-"
DISK = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
NO_LINKS = (errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EXDEV, errno.EMLINK)  # as FAT and some network disks say


def check_format(name: str | None) -> None:
    """Raise ConfigurationError for a format that nothing is read or written in."""
    if name is not None and name not in FORMATS:
        raise ConfigurationError(f"format must be one of {', '.join(FORMATS)}, got {name}")


def file_format(location: str, given: str | None = None) -> str:
    """Return the format of a file from ``given`` or its extension (a trailing ``.gz`` is looked through).

    Raises:
        DataError: the format is unknown, or ``location`` is ``-`` and no format was given.
    """
    if given is None and location == STANDARD_STREAM:
        raise DataError(f"format of standard input or output is unknown: give format= as one of {', '.join(FORMATS)}")
    name = given or Path(location.removesuffix(".gz")).suffix.removeprefix(".")
    if name not in FORMATS:
        raise DataError(f"unknown file format {name!r} of {location}: use one of {', '.join(FORMATS)}")
    return name


class _File(io.FileIO):
    """A file that is read to its end, which must not come before it was: what was cut off would be missing in silence."""

    def __init__(self, location: str, at_least: int) -> None:
        super().__init__(location)
        self._least = max(at_least, os.fstat(self.fileno()).st_size)

    def readinto(self, buffer: Any) -> int | None:
        count = super().readinto(buffer)
        if not count and os.fstat(self.fileno()).st_size < self._least:
            raise OSError(errno.ESTALE, "it became shorter while it was read, so let nobody write to it meanwhile")
        return count


def _open_input(location: str, *, kind: str, at_least: int, errors: str) -> IO[Any]:
    """Open a path or standard input: bytes for parquet, otherwise text, whose lines end with LF, CRLF or CR."""
    raw: IO[bytes]
    if location == STANDARD_STREAM:
        raw = os.fdopen(os.dup(0), "rb")
    elif location.endswith(".gz"):
        raw = gzip.open(location, "rb")  # type: ignore[assignment]  # noqa: SIM115
    else:
        raw = io.BufferedReader(_File(location, at_least))
    newline = "" if kind == "csv" else None  # csv finds the ends of its rows itself: a quoted cell may hold line ends
    return raw if kind == "parquet" else io.TextIOWrapper(raw, "utf-8-sig", errors=errors, newline=newline)


def read_records(
    location: str,
    *,
    format: str | None = None,
    at_least: int = 0,
    tolerant: bool = False,
    columns: Collection[str] | None = None,
) -> Iterator[Record]:
    """Yield the records of a file (``-`` is standard input) one by one.

    Every line of a txt file is a record ``{"text": line}``, empty ones too; blank lines of a jsonl or csv file are none.

    Args:
        location: the file.
        format: None: as its name says.
        at_least: bytes that a plain file must have, or as many as it has when it is opened.
        tolerant: raise nothing because of one record: a damaged one has no columns, and a file may have none.
        columns: that are used; a parquet file is read without the others.

    Raises:
        DataError: the file is missing, empty, not UTF-8, of an unknown format or damaged, or becomes shorter. The record is named
            by its number alone, the first one being 1.
    """
    kind = file_format(location, format)
    number = 0
    try:
        errors = "replace" if tolerant else "surrogateescape"
        with _open_input(location, kind=kind, at_least=at_least, errors=errors) as stream:
            for record in READERS[kind](stream, tolerant=tolerant, columns=columns):
                number += 1
                yield record
    except DamagedRecord as error:
        raise DataError(
            f"{location} is damaged in record {number + 1} ({error}): repair or remove that record"
        ) from None
    except DamagedFile as error:
        raise DataError(f"{location} is damaged ({error}): repair it") from None
    except MemoryError:
        raise DataError(f"{location} needs more memory than there is, after record {number}: split it") from None
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"cannot read {location}: {getattr(error, 'strerror', None) or 'damaged'}") from None
    if number == 0 and not tolerant:
        raise DataError(f"{location} has no records: give a file with at least one")


def parquet_types(location: str) -> dict[str, Any]:
    """Return the types of a parquet file's columns.

    Raises:
        DataError: it cannot be read, or is no parquet file.
    """
    try:
        with _open_input(location, kind="parquet", at_least=0, errors="strict") as stream:
            return file_types(stream)
    except DamagedFile as error:
        raise DataError(f"{location} is damaged ({error}): repair it") from None
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"cannot read {location}: {getattr(error, 'strerror', None) or 'damaged'}") from None


@contextmanager
def record_writer(location: str, *, format: str, columns: Sequence[str], types: Types | None = None) -> Iterator[Write]:
    """Open ``location`` and give a function that appends records with exactly ``columns``.

    txt holds the first column alone; parquet gives columns their ``types``, or text. The file at ``location`` is written directly:
    the caller chooses a temporary name.
    """
    compressed = location.removesuffix(".partial").endswith(".gz")
    raw: Any = gzip.open(location, "wb") if compressed else Path(location).open("wb")  # noqa: SIM115
    binary = format == "parquet"
    with (
        raw if binary else io.TextIOWrapper(raw, "utf-8", errors="replace", newline="\n") as stream,
        WRITERS[format](stream, columns, types) as write,
    ):
        yield write


@contextmanager
def new_file(path: str) -> Iterator[str]:
    """Give a temporary name that becomes ``path`` when all went well and vanishes otherwise; refuse to overwrite.

    The name appears at once, with everything on the disk. Standard output has no name to hold back: what is meant for it is
    spooled to a temporary file and copied at the end, so that there, too, nothing appears before everything is written.

    Raises:
        DataError: the name is taken, at the beginning or meanwhile, or the disk is full or cannot be written.
    """
    if path == STANDARD_STREAM:
        with tempfile.NamedTemporaryFile() as spool:
            yield spool.name
            _copy_to_standard_output(spool.name)
        return
    partial = _claim(path)
    try:
        yield str(partial)
        publish(partial, Path(path))
    except FileExistsError:
        raise DataError(f"{path} appeared during the run and is not overwritten: run again with another name") from None
    except OSError as error:
        if error.errno not in DISK:
            raise
        raise DataError(f"cannot write {path}: {error.strerror}") from None
    finally:
        partial.unlink(missing_ok=True)


def _copy_to_standard_output(name: str) -> None:
    try:
        with Path(name).open("rb") as complete, os.fdopen(os.dup(1), "wb") as stream:
            shutil.copyfileobj(complete, stream)
    except OSError as error:
        raise DataError(
            f"cannot write standard output: {error.strerror}: what was read of it is a release, and so is another run"
        ) from None


def _claim(path: str) -> Path:
    """Make the temporary file of ``path``, whose name keeps another run away."""
    if os.path.lexists(path):
        raise DataError(f"{path} exists and is not overwritten: remove it or choose another name")
    partial = Path(path + ".partial")
    try:
        partial.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(f"cannot make the directory of {path}: {error.strerror}") from None
    try:
        partial.touch(0o600, exist_ok=False)  # its owner's alone until it has its name
    except FileExistsError:
        raise DataError(
            f"{partial} exists: another run writes it, or left it behind; remove it once none does"
        ) from None
    except OSError as error:
        raise DataError(f"cannot write {path}: {error.strerror}") from None
    return partial


def cache_directory() -> Path | None:
    """Return where things lie that a model's directory cannot take: ``~/.cache/adept``, or under ``$XDG_CACHE_HOME``.

    None where the user has no home directory, as a number without a name in a container.
    """
    if given := os.environ.get("XDG_CACHE_HOME"):
        return Path(given) / "adept"
    try:
        return Path("~").expanduser() / ".cache" / "adept"
    except RuntimeError:
        return None


def publish(partial: Path, final: Path) -> None:
    """Give a complete file its name, and the mode that the user's files have, on the disk before this returns.

    Raises:
        FileExistsError: the name was taken meanwhile; it is left alone.
    """
    os.umask(mask := os.umask(0o077))  # there is no other way to read it
    with suppress(PermissionError):  # of file systems that have no modes
        partial.chmod(0o666 & ~mask)
    with partial.open("rb") as complete:
        os.fsync(complete.fileno())
    give_name(partial, final)
    sync_directory(final.parent)


def sync_directory(directory: Path) -> None:
    """Put the names in a directory on the disk, on file systems that can."""
    with suppress(OSError):
        handle = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def give_name(partial: Path, final: Path) -> None:
    """Give a file a name that is free; FileExistsError where it is not, on file systems without links too."""
    try:
        os.link(partial, final)
    except OSError as error:
        if error.errno not in NO_LINKS:
            raise
        final.touch(exist_ok=False)  # the name is ours from here on
        partial.replace(final)


def write_once(path: Path, content: str | bytes) -> None:
    """Write a small file whole or not at all; what a crash left under its temporary name is cleared, as it has one writer."""
    Path(f"{path}.partial").unlink(missing_ok=True)
    with new_file(str(path)) as temporary:
        Path(temporary).write_bytes(content.encode() if isinstance(content, str) else content)


def new_directory(path: str) -> Path:
    """Make the directory of a run; one that already holds something is refused, so that no result is mixed or lost."""
    directory = Path(path)
    try:
        directory.mkdir(parents=True, exist_ok=True)
        if any(directory.iterdir()):
            raise DataError(f"output_dir {path} is not empty: remove it or choose another name")
    except OSError as error:
        raise DataError(f"cannot make output_dir {path}: {error.strerror}") from None
    return directory
