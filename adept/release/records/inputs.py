"""The input of a release: one file, several files that match a pattern, or standard input."""

from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from adept.data.arrow_files import bare_type, long_indices
from adept.data.formats import PlacedRecord, Record, compression_of, data_files, file_format
from adept.data.reading import ReadingOptions, declared_columns, mismatch, parquet_types, read_records
from adept.data.texts import RequiredColumns
from adept.errors import DataError


@dataclass(frozen=True)
class Inputs:
    """The sources of records, in order: files, or standard input alone.

    Attributes:
        sizes: sizes of the files in bytes when the run began; None if a file can be read only once.
        also: columns that are read only because the ledger identifies records by them.
    """

    locations: tuple[str, ...]
    options: ReadingOptions = field(default_factory=ReadingOptions)
    sizes: list[int] | None = None
    also: tuple[str, ...] = ()

    @classmethod
    def of(cls, source: str, options: ReadingOptions) -> "Inputs":
        """Find the files that a source (a file, directory or pattern) names; sort them by name."""
        found, given = data_files(source, options.format)
        reading = ReadingOptions(format=given, delimiter=options.delimiter, columns=options.columns)
        reading.check_used(found)
        return cls(tuple(found), reading, _sizes(found))

    @property
    def repeatable(self) -> bool:
        """True if the records can be read twice; False for standard input and for a pipe."""
        return self.sizes is not None

    def records(
        self,
        *,
        tolerant: bool = False,
        columns: Collection[str] | None = None,
        required: RequiredColumns | None = None,
    ) -> Iterator[Record]:
        """Return the records of all files; refuse a file that got shorter since the run began."""
        options: dict[str, Any] = {"options": self.options, "sizes": self.sizes, "tolerant": tolerant}
        wanted = None if columns is None else (*columns, *self.also)
        return read_records(self.locations, columns=wanted, required=required, **options)

    def first_records(self, most: int) -> list[Record]:
        """Return the first ``most`` records, or [] if the input can be read only once."""
        found: list[Record] = []
        with suppress(DataError):  # the release itself reports errors
            found.extend(islice(self.records(), most if self.repeatable else 0))
        return found

    @property
    def formats(self) -> set[str]:
        return {file_format(name, self.options.format) for name in self.locations}

    def schemas(self, first: Record) -> list[dict[str, Any]]:
        """Return the column types of each parquet input, or [] if an input has another format."""
        if self.formats != {"parquet"}:
            return []
        if self.repeatable:
            return [parquet_types(location) for location in self.locations]
        if not isinstance(first, PlacedRecord):
            return []
        schema = first.batch.schema
        return [{name: long_indices(bare_type(kind)) for name, kind in zip(schema.names, schema.types, strict=True)}]

    def check_columns(self, required: RequiredColumns) -> None:
        """Raise DataError if a file lacks a required column; standard input is not checked."""
        for location in self.locations if self.repeatable else ():
            if (names := declared_columns(location, self.options)) is not None:
                header = self.options.columns is None and file_format(location, self.options.format) == "csv"
                required.check(location, names, header=header)

    @property
    def mismatches(self) -> list[str]:
        """Warnings about files whose first bytes do not match their format."""
        found = [mismatch(location, self.options) for location in self.locations if self.repeatable]
        return [sentence for sentence in found if sentence]

    def estimate(self) -> int | None:
        """Return the number of lines as an estimate of the records, or None.

        None stands for input that has no lines (parquet or a compressed file) or can be read only once.
        """
        if not self.repeatable or "parquet" in self.formats or any(map(compression_of, self.locations)):
            return None
        return sum(map(_count_lines, self.locations))


def _sizes(locations: Sequence[str]) -> list[int] | None:
    try:
        files = [Path(name) for name in locations]
        return [file.stat().st_size for file in files] if all(map(Path.is_file, files)) else None
    except OSError:
        return None  # reading says why


def _count_lines(location: str) -> int:
    with Path(location).open("rb") as stream:
        return sum(chunk.count(b"\n") for chunk in iter(lambda: stream.read(2**20), b"")) or 1
