"""Files of records: txt, csv, jsonl and parquet, read and written as streams, and outputs that appear only when complete.

A record is one line or row, as a dict of columns. Files are handled a record at a time, so their size does not matter, and
nothing that is read is kept anywhere: no cache of a private file is left on the disk. No message repeats what a record says.
"""

import csv
import gzip
import io
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any

from adept.errors import DataError

FORMATS = ("txt", "csv", "jsonl", "parquet")
STANDARD_STREAM = "-"
PARQUET_ROWS = 1024

Record = dict[str, Any]


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


def _open(location: str, mode: str, *, binary: bool) -> IO[Any]:
    """Open a path or standard stream; text is strict UTF-8 in which only \\n ends a line."""
    raw: IO[bytes]
    if location == STANDARD_STREAM:
        standard = sys.stdin if mode == "r" else sys.stdout
        raw = os.fdopen(os.dup(standard.fileno()), mode + "b")
    elif location.removesuffix(".partial").endswith(".gz"):
        raw = gzip.open(location, mode + "b")  # type: ignore[assignment]  # noqa: SIM115
    else:
        raw = Path(location).open(mode + "b")  # noqa: SIM115
    return raw if binary else io.TextIOWrapper(raw, encoding="utf-8-sig" if mode == "r" else "utf-8", newline="\n")


def read_records(location: str, *, format: str | None = None) -> Iterator[Record]:
    """Yield the records of a file (``-`` is standard input) one by one.

    Every line of a txt file is a record ``{"text": line}``, empty ones too; blank lines of a jsonl file are none.

    Raises:
        DataError: the file is missing, empty, not UTF-8, of an unknown format or damaged. The record is named by number only.
    """
    kind = file_format(location, format)
    number = 0
    try:
        with _open(location, "r", binary=kind == "parquet") as stream:
            for record in READERS[kind](stream):
                number += 1
                yield record
    except UnicodeDecodeError:
        raise DataError(f"{location} is not UTF-8 after record {number}: convert it to UTF-8") from None
    except (csv.Error, _DamagedRecord) as error:
        raise DataError(
            f"{location} is damaged after record {number} ({error}): repair or remove that record"
        ) from None
    except (OSError, EOFError) as error:
        reason = getattr(error, "strerror", None) or "damaged"
        raise DataError(f"cannot read {location}: {reason}") from None
    if number == 0:
        raise DataError(f"{location} has no records: give a file with at least one")


class _DamagedRecord(Exception):
    """A row that does not fit its file; the message says why without repeating the row."""


def _read_txt(stream: IO[str]) -> Iterator[Record]:
    for line in stream:
        yield {"text": line.removesuffix("\n").removesuffix("\r")}


def _read_jsonl(stream: IO[str]) -> Iterator[Record]:
    for line in stream:
        if line.strip():
            try:
                record = json.loads(line)
            except (ValueError, RecursionError):
                raise _DamagedRecord("no valid JSON") from None
            if not isinstance(record, dict):
                raise _DamagedRecord("not a JSON object")
            yield record


def _read_csv(stream: IO[str]) -> Iterator[Record]:
    csv.field_size_limit(2**31 - 1)
    rows = csv.DictReader(stream, strict=True)
    for row in rows:
        if None in row or None in row.values():
            raise _DamagedRecord("wrong number of fields")
        yield row


def _read_parquet(stream: IO[bytes]) -> Iterator[Record]:
    import pyarrow
    from pyarrow import parquet

    try:
        # A pipe cannot be searched for the footer, so what is not seekable is read whole.
        table = parquet.ParquetFile(stream if stream.seekable() else io.BytesIO(stream.read()))
        for batch in table.iter_batches(batch_size=PARQUET_ROWS):
            yield from batch.to_pylist()
    except pyarrow.ArrowInvalid:
        raise _DamagedRecord("no valid parquet") from None


READERS: dict[str, Callable[[Any], Iterator[Record]]] = {
    "txt": _read_txt,
    "jsonl": _read_jsonl,
    "csv": _read_csv,
    "parquet": _read_parquet,
}


@contextmanager
def record_writer(
    location: str, *, format: str, columns: Sequence[str]
) -> Iterator[Callable[[Sequence[Record]], None]]:
    """Open ``location`` and give a function that appends records with exactly ``columns``.

    txt holds the first column alone. The file at ``location`` is written directly: the caller chooses a temporary name.
    """
    with ExitStack() as stack:
        stream = stack.enter_context(_open(location, "w", binary=format == "parquet"))
        if format == "parquet":
            yield stack.enter_context(_parquet_writer(stream, columns))
        elif format == "csv":
            table = csv.DictWriter(stream, fieldnames=columns, lineterminator="\n")
            table.writeheader()
            yield table.writerows
        elif format == "jsonl":
            yield lambda records: stream.writelines(json.dumps(record, ensure_ascii=False) + "\n" for record in records)
        else:
            yield lambda records: stream.writelines(str(record[columns[0]]) + "\n" for record in records)


@contextmanager
def _parquet_writer(stream: IO[bytes], columns: Sequence[str]) -> Iterator[Callable[[Sequence[Record]], None]]:
    """Write batches of records as row groups; the first batch fixes the column types."""
    import pyarrow
    from pyarrow import parquet

    with ExitStack() as stack:
        writer: Any = None

        def write(records: Sequence[Record]) -> None:
            nonlocal writer
            schema = writer.schema if writer else None
            try:
                table = pyarrow.Table.from_pylist([{c: r[c] for c in columns} for r in records], schema=schema)
            except (pyarrow.ArrowInvalid, pyarrow.ArrowTypeError, OverflowError):
                raise DataError(
                    "a kept column changes its type, which parquet cannot hold: write jsonl instead"
                ) from None
            if writer is None:
                writer = stack.enter_context(parquet.ParquetWriter(stream, table.schema))
            writer.write_table(table)

        yield write


@contextmanager
def new_file(path: str) -> Iterator[str]:
    """Give a temporary name that becomes ``path`` when all went well and vanishes otherwise; refuse to overwrite.

    Standard output has no name to hold back: what is meant for it is spooled to a temporary file and copied at the end, so
    that there, too, nothing appears before everything is written.
    """
    if path == STANDARD_STREAM:
        with tempfile.NamedTemporaryFile() as spool:
            yield spool.name
            with Path(spool.name).open("rb") as complete, _open(path, "w", binary=True) as stream:
                shutil.copyfileobj(complete, stream)
        return
    final, partial = Path(path), Path(path + ".partial")
    if final.exists():
        raise DataError(f"{path} exists and is not overwritten: remove it or choose another name")
    try:
        final.parent.mkdir(parents=True, exist_ok=True)
        partial.touch(exist_ok=False)
    except FileExistsError:
        raise DataError(
            f"{partial} exists: another run writes it, or left it behind; remove it once none does"
        ) from None
    except OSError as error:
        raise DataError(f"cannot write {path}: {error.strerror}") from None
    try:
        yield str(partial)
        partial.replace(final)
    finally:
        partial.unlink(missing_ok=True)


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
