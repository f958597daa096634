"""Records of a data file, whatever its format and container, and the columns that it declares before any record is read."""

import zlib
from collections.abc import Callable, Collection, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from adept.data.column_names import RequiredColumns
from adept.data.formats import STANDARD_STREAM, ReadingOptions, delimiter_of, file_format
from adept.data.opening import begins_array, directory_format, is_directory, open_input, part_files
from adept.data.parquet import file_types
from adept.data.reading import READERS, read_csv
from adept.data.records import DamagedFile, DamagedRecord, Record, UnfitFile
from adept.errors import DataError


def read_records(
    location: str,
    *,
    format: str | None = None,
    options: ReadingOptions | None = None,
    at_least: int = 0,
    tolerant: bool = False,
    columns: Collection[str] | None = None,
    required: RequiredColumns | None = None,
    may_be_empty: bool = False,
) -> Generator[Record, None, int]:
    """Yield the records of a file (``-`` is standard input), or of a directory's parts, one by one; return their number.

    Every line of a txt file, even an empty one, is a record ``{"text": line}``; blank lines of jsonl and csv are skipped.

    Args:
        location: the file.
        format: replaces the format of the options.
        options: None decides by the file's name.
        at_least: smallest size in bytes of a plain file; it must also keep the size it had when it was opened.
        tolerant: never raise because of one record: a damaged one has no columns, and a file may be empty.
        columns: those that are used; other columns of a parquet file are not read.
        required: columns that a csv's header or a Parquet file's schema must name.
        may_be_empty: accept a file without records, as one of several; a csv file without a line then lacks no column.

    Raises:
        DataError: the file is missing, empty, not UTF-8, of an unknown format or damaged, or becomes shorter. The record is named
            by its number alone, the first one being 1.
    """
    options = options or ReadingOptions(format=format)
    number, parts, sizes = 0, [location], [at_least]
    if is_directory(location):
        options = replace(options, format=directory_format(location, options.format))
        parts = part_files(location)
        sizes = [0] * len(parts)
    for part, size in zip(parts, sizes, strict=True):
        may_lack = may_be_empty or len(parts) > 1
        number += yield from _file_records(part, options, size, tolerant, columns, required, may_lack)
    if number == 0 and not (tolerant or may_be_empty):
        raise DataError(f"{location} has no records: give a file with at least one")
    return number


def _file_records(
    location: str,
    options: ReadingOptions,
    at_least: int,
    tolerant: bool,
    columns: Collection[str] | None,
    required: RequiredColumns | None,
    may_be_empty: bool,
) -> Generator[Record, None, int]:
    """Yield the records of one file, which may be empty, and return their number."""
    kind = file_format(location, options.format)
    number = 0

    def check(names: Sequence[str]) -> None:
        if required and (names or not may_be_empty):
            required.check(location, names, header=kind == "csv" and options.columns is None)

    with (
        _data_errors(location, lambda: number),
        open_input(location, kind=kind, at_least=at_least, tolerant=tolerant) as stream,
    ):
        if kind in ("json", "jsonl") and not tolerant:
            kind = "json" if begins_array(stream) else "jsonl"
        more: dict[str, Any] = {"on_header": check} if kind in ("csv", "parquet") else {}
        more |= _csv_options(location, options) if kind == "csv" else {}
        for record in READERS[kind](stream, tolerant=tolerant, columns=columns, **more):
            number += 1
            yield record
    return number


def _csv_options(location: str, options: ReadingOptions) -> dict[str, Any]:
    sure, delimiter = options.delimiter is not None, delimiter_of(location, options.delimiter)
    return {"delimiter": delimiter, "sure": sure, "named": options.columns}


def parquet_types(location: str) -> dict[str, Any]:
    """Return the types of a parquet file's columns.

    Raises:
        DataError: it cannot be read, or is no parquet file.
    """
    with _data_errors(location, lambda: 0), open_input(location, kind="parquet") as stream:
        return file_types(stream)


def declared_columns(location: str, options: ReadingOptions) -> list[str] | None:
    """Return the columns that a csv's header, a Parquet file's schema, the format or options declare; None where nothing does.

    JSON declares none, nor does a csv file without a line. No record is read, so the answer depends on no record.

    Raises:
        DataError: the file cannot be read, or its header is damaged.
    """
    kind = file_format(location, options.format)
    if kind in ("jsonl", "json") or location == STANDARD_STREAM:
        return None
    if kind == "txt":
        return ["text"]
    if kind == "csv" and options.columns is not None:
        return list(options.columns)
    with _data_errors(location, lambda: 0), open_input(location, kind=kind, tolerant=True) as stream:
        if kind == "parquet":
            return list(file_types(stream))
        names: list[str] = []
        next(read_csv(stream, tolerant=True, on_header=names.extend, **_csv_options(location, options)), None)
        return names or None


@contextmanager
def _data_errors(location: str, records: Callable[[], int]) -> Iterator[None]:
    """Turn any error of reading a file into a DataError that names the record that could not be read."""
    try:
        yield
    except DamagedRecord as error:
        raise DataError(
            f"{location} is damaged in record {records() + 1} ({error}): repair or remove that record"
        ) from None
    except DamagedFile as error:
        raise DataError(f"{location} is damaged ({error}): repair it") from None
    except UnfitFile as error:
        raise DataError(f"{location} {error}") from None
    except MemoryError:
        raise DataError(f"{location} needs more memory than there is, after record {records()}: split it") from None
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"cannot read {location}: {getattr(error, 'strerror', None) or 'damaged'}") from None
