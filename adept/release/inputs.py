"""The records of a release: one file, several by a pattern, or standard input."""

import glob
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from adept.data.files import STANDARD_STREAM, Record, file_format, read_records
from adept.errors import DataError

CHUNK = 2**20


@dataclass(frozen=True)
class Inputs:
    """Where records come from, in order.

    Attributes:
        locations: files, or standard input alone.
        format: of standard input.
        sizes: of the files in bytes, when they were named; None where something is no file, and can be read once.
        also: columns that identify a record in the ledger, which are read beside those that are used.
    """

    locations: tuple[str, ...]
    format: str | None = None
    sizes: list[int] | None = None
    also: tuple[str, ...] = ()

    @classmethod
    def of(cls, source: str, format: str | None) -> "Inputs":
        """Resolve a name: a file that exists wins over a pattern; what a pattern finds is read in the order of the names.

        Raises:
            DataError: a pattern finds nothing.
        """
        if source == STANDARD_STREAM or Path(source).exists() or not glob.has_magic(source):
            return cls((source,), format, _sizes([source]))
        found = tuple(sorted(name for name in glob.glob(source, recursive=True) if Path(name).is_file()))  # noqa: PTH207
        if not found:
            raise DataError(f"cannot read {source}: no file has such a name")
        _check_different(found)
        return cls(found, format, _sizes(found))

    @property
    def files(self) -> tuple[str, ...]:
        """The locations but standard input."""
        return tuple(name for name in self.locations if name != STANDARD_STREAM)

    @property
    def repeatable(self) -> bool:
        """Can the records be read more than once: not from standard input, nor from a pipe with a name."""
        return self.sizes is not None

    def records(self, *, tolerant: bool = False, columns: Collection[str] | None = None) -> Iterator[Record]:
        """Yield the records of all files, one after the other.

        Args:
            tolerant: as in ``read_records``.
            columns: likewise.

        Raises:
            DataError: one cannot be read, or is shorter than it was; it may grow.
        """
        wanted = None if columns is None else (*columns, *self.also)
        for location, size in zip(self.locations, self.sizes or [0] * len(self.locations), strict=True):
            given = self.format if location == STANDARD_STREAM else None
            yield from read_records(location, format=given, at_least=size, tolerant=tolerant, columns=wanted)

    def estimate(self) -> int | None:
        """Return about how many records there are, by counting lines; None for a stream, parquet and compressed files."""
        return sum(counts) if None not in (counts := [_count(name) for name in self.locations]) else None  # type: ignore[arg-type]


def _sizes(locations: Sequence[str]) -> list[int] | None:
    try:
        files = [Path(name) for name in locations]
        return [file.stat().st_size for file in files] if all(map(Path.is_file, files)) else None
    except OSError:
        return None  # reading says why


def _check_different(locations: tuple[str, ...]) -> None:
    """Refuse one file under two names: each of its records would be released twice."""
    names: dict[tuple[int, int], str] = {}
    for location in locations:
        found = Path(location).stat()
        first = names.setdefault((found.st_dev, found.st_ino), location)
        if first != location:
            raise DataError(f"{first} and {location} are one file, which would be released twice: leave one out")


def _count(location: str) -> int | None:
    if location == STANDARD_STREAM or location.endswith(".gz") or not Path(location).is_file():
        return None
    if file_format(location) == "parquet":
        return None
    with Path(location).open("rb") as stream:
        return sum(chunk.count(b"\n") for chunk in iter(lambda: stream.read(CHUNK), b"")) or 1
