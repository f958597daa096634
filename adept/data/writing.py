"""Write data files, tables and small files, and give finished files their final names."""

import csv
import errno
import fcntl
import gzip
import hashlib
import io
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from adept.data.csv_files import DELIMITERS, write_csv
from adept.data.formats import (
    ARROW,
    STANDARD_STREAM,
    Record,
    Types,
    WaitingFile,
    Write,
    compression_of,
    ending_of,
    file_format,
    format_of_name,
    write_txt,
)
from adept.data.json_files import write_json, write_jsonl
from adept.data.reading import ReadingOptions
from adept.errors import DataError, printable, refuse

# As FAT and some network disks say
NO_LINKS = (errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EXDEV, errno.EMLINK)
DISK_ERRORS = (errno.EIO, errno.ENOSPC, errno.EDQUOT)
_held: dict[str, int] = {}  # handles of the directories that this process has locked, by their options


def _write_parquet(*arguments: Any) -> AbstractContextManager[Write]:
    from adept.data.arrow_files import write_parquet  # slow to import

    return write_parquet(*arguments)


WRITERS: dict[str, Callable[[Any, Sequence[str], Types | None], AbstractContextManager[Write]]] = {
    "txt": write_txt, "jsonl": write_jsonl, "json": write_json, "csv": write_csv, "parquet": _write_parquet,
    **{f"csv:{name}": partial(write_csv, delimiter=character) for name, character in DELIMITERS.items()},
}  # fmt: skip


def written_format(target: str, options: ReadingOptions, sources: Iterable[str]) -> str:
    """Return the format of an output, such as ``jsonl`` or ``csv:tab``.

    The function takes the first of three formats that exists: the format in the output's name, the
    option ``format``, and the format in the first input's name.
    """
    named = target != STANDARD_STREAM and format_of_name(target)
    if compression_of(target) not in (None, "gz") or ending_of(target) in ARROW:
        raise DataError(
            f"{target} has an ending that is read and not written: write .parquet for Arrow, .gz for others"
        )
    model = target if named else next(iter(sources), target)
    kind = named or file_format(model, options.format)
    if kind != "csv":
        return kind
    by_name = ending_of(model) == "tsv" and (bool(named) or options.delimiter is None)
    delimiter = "tab" if by_name else options.delimiter or "comma"
    return kind if delimiter == "comma" else f"{kind}:{delimiter}"


class WrittenFile(WaitingFile):
    """A new file, or an open one by its number; ``digest`` is the SHA-256 of what was written, whatever it holds."""

    def __init__(self, place: str | int) -> None:
        super().__init__(place, "w", closefd=isinstance(place, str))
        self.digest, self._position = hashlib.sha256(), 0

    def write(self, data: Any) -> int:
        count = super().write(data)
        self.digest.update(memoryview(data)[:count])
        self._position += count
        return count

    def tell(self) -> int:
        return self._position  # a pipe has none


@contextmanager
def record_writer(
    place: str | WrittenFile, *, format: str, columns: Sequence[str], types: Types | None = None
) -> Iterator[Write]:
    """Yield a function that writes the ``columns`` of records to a file; standard output gets each call's rows at once.

    A txt file gets only the first column. In a parquet file, a column that is not in ``types`` holds text.
    """
    file = WrittenFile(place) if isinstance(place, str) else place
    name, at_once = str(file.name).removesuffix(".partial"), isinstance(file.name, int)
    with (
        io.BufferedWriter(file) as plain,
        gzip.GzipFile(name, "wb", fileobj=plain) if compression_of(name) == "gz" else nullcontext(plain) as packed,
        nullcontext(packed)
        if format == "parquet"
        else io.TextIOWrapper(packed, "utf-8", errors="replace", newline="\n") as stream,
        WRITERS[format](stream, columns, types) as write,
    ):

        def write_now(rows: Sequence[Record]) -> None:
            write(rows)
            stream.flush()

        yield write_now if at_once else write


def write_table(rows: Sequence[Any], path: Path) -> None:
    """Write rows (dataclasses or dictionaries) into a csv file, also in a new directory; replace an existing file."""
    lines, content = [row if isinstance(row, dict) else asdict(row) for row in rows], io.StringIO()
    table = csv.DictWriter(content, list(dict.fromkeys(name for line in lines for name in line)), lineterminator="\n")
    table.writeheader()
    table.writerows(lines)
    write_whole(path, content.getvalue(), replace=True)


def read_table(path: Path) -> list[dict[str, str]]:
    """Return the rows of a table that ``write_table`` wrote; none if there is no such file."""
    if not path.is_file():
        return []
    with path.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def user_directory(variable: str, usual: str) -> Path:
    """Return the path of the directory "adept" in a user's directory, such as the user's cache.

    The environment variable ``variable`` names the user's directory. If the variable is not set,
    the user's directory is the directory ``usual`` in the home directory. A path that is not absolute
    counts as not set, as freedesktop.org's base directories demand: it would be another directory
    wherever a command starts. Raise RuntimeError if there is no home directory.
    """
    given = Path(os.environ.get(variable, ""))
    directory = given if given.is_absolute() else Path("~").expanduser() / usual
    if not directory.is_absolute():
        raise RuntimeError(f"HOME must be an absolute path, got {directory}")
    return directory / "adept"


def publish(partial: Path, final: Path, *, replace: bool = False) -> None:
    """Give a finished file its final name and the usual permissions, and wait until it is on disk.

    Raises:
        FileExistsError: another file has this name, and ``replace`` is False; it is left unchanged.
    """
    os.umask(mask := os.umask(0o077))  # there is no other way to read it
    with suppress(PermissionError):  # of file systems that have no modes
        partial.chmod(0o666 & ~mask)
    _settle(partial, final, replace=replace)


def _settle(partial: Path, final: Path, *, replace: bool = False) -> None:
    """Put first the content of a finished file on the disk, and then its final name."""
    with partial.open("rb") as complete:
        os.fsync(complete.fileno())
    (Path.replace if replace else give_name)(partial, final)
    sync_directory(final.parent)


def check_path(**paths: Any) -> None:
    """Raise ConfigurationError unless every value can be the name of a file or directory: text, or a path."""
    for field, path in paths.items():
        try:
            parts = os.fsencode(path).split(b"/")  # Linux has no longer names
            possible = isinstance(os.fspath(path), str) and parts != [b""] and max(map(len, parts)) < 256
            possible = possible and b"\0" not in b"".join(parts)
        except (TypeError, UnicodeEncodeError):
            possible = False
        refuse((not possible, f"{field} must be the name of a file, got {printable(path) or 'nothing'}"))


def make_directory(directory: Path, *, mode: int = 0o777) -> None:
    """Make a directory and its parents if they are missing, and wait until the name of each new one is on disk."""
    new = [one for one in (directory, *directory.parents) if not one.exists()]
    directory.mkdir(mode, parents=True, exist_ok=True)
    for one in new:
        sync_directory(one.parent)


def sync_directory(directory: Path) -> None:
    """Wait until a directory's list of files is on disk, if the file system allows this; raise OSError if the disk fails."""
    try:
        handle = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
    except OSError as error:
        if error.errno in DISK_ERRORS:
            raise OSError(error.errno, error.strerror, str(directory)) from None


def describe_failure(error: OSError, place: object) -> str:
    """Return what could not be done, and why; ``place`` is the file if the error names none."""
    if error.filename2:
        return f"cannot give {error.filename} the name {error.filename2}: {error.strerror}"
    return f"cannot write {error.filename or place}: {error.strerror}"


def give_name(partial: Path, final: Path) -> None:
    """Give a file its final name; raise FileExistsError if another file has this name."""
    try:
        os.link(partial, final)
    except OSError as error:
        if error.errno not in NO_LINKS:
            raise
        final.touch(exist_ok=False)  # the name is ours from here on
        partial.replace(final)


@contextmanager
def new_private_file(path: Path) -> Iterator[Path]:
    """Yield a temporary file that only its owner may read; rename it to ``path`` afterwards, and wait for the disk.

    If another process has made the file ``path`` meanwhile, the file of that process is kept.
    """
    handle, name = tempfile.mkstemp(dir=path.parent)
    os.close(handle)
    partial = Path(name)
    try:
        yield partial
        _settle(partial, path)
    except FileExistsError:
        pass  # the file of the other run counts
    finally:
        partial.unlink(missing_ok=True)


def write_whole(path: Path, content: str, *, replace: bool = False) -> None:
    """Write a small file completely or not at all; raise DataError if it exists and ``replace`` is False."""
    partial = Path(f"{path}.partial")
    try:
        make_directory(path.parent)
        partial.unlink(missing_ok=True)
        partial.touch(0o600)  # its owner's alone until it has its name
        partial.write_text(content, "utf-8")
        publish(partial, path, replace=replace)
    except FileExistsError as error:
        raise DataError(
            f"{error.filename2 or error.filename} exists and is not overwritten: remove it or choose another name"
        ) from None
    except OSError as error:
        raise DataError(describe_failure(error, path)) from None
    finally:
        with suppress(OSError):  # one that cannot be made cannot be removed
            partial.unlink(missing_ok=True)


def new_directory(path: str, option: str = "output_dir", *, marker: str = "") -> Path:
    """Make and lock the directory of a run; raise DataError if it holds anything, but not the file ``marker``."""
    directory = Path(path)
    try:
        make_directory(directory)
        hold_directory(directory, option)
        files = [one for one in directory.iterdir() if one.suffix != ".partial"]  # which a killed run began
        if files and not (marker and (directory / marker).is_file()):
            raise DataError(
                f"{option} {path} is not empty{marker and f' and holds no {marker}'}: remove it or choose another name"
            )
    except OSError as error:
        raise DataError(f"cannot make {option} {path}: {error.strerror}") from None
    return directory


def hold_directory(directory: Path, option: str = "output_dir") -> None:
    """Lock a directory until this process ends or locks another one for the option; raise DataError if another has."""
    handle = os.open(directory, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:  # another kind is that of a file system without locks
        own = any(os.path.samestat(os.fstat(handle), os.fstat(held)) for held in _held.values())
        os.close(handle)
        if isinstance(error, BlockingIOError) and not own:
            advice = "wait for its end, or choose another name"
            raise DataError(f"{option} must be a directory that no other run uses, got {directory}: {advice}") from None
        return
    if option in _held:
        os.close(_held[option])
    _held[option] = handle
