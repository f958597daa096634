"""Where rows go: a file under a temporary name, or standard output, where they are visible as soon as they are flushed."""

import hashlib
import io
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from adept.data.files import WRITERS, Record, record_writer
from adept.data.parquet import Types
from adept.errors import DataError
from adept.release.publication import PARTIAL, Publication, digest

STDOUT = 1


@dataclass(frozen=True)
class Output:
    """An open output.

    Attributes:
        write: appends rows.
        flush: makes them visible, on standard output; a file becomes visible when it is published.
        sha256: the digest of everything that was written, once the output is closed.
    """

    write: Callable[[Sequence[Record]], None]
    flush: Callable[[], None]
    sha256: Callable[[], str]


@contextmanager
def open_output(
    publication: Publication, *, format: str, columns: Sequence[str], types: Types | None = None
) -> Iterator[Output]:
    """Open the output of a release.

    Raises:
        DataError: nobody reads standard output any longer.
    """
    if not publication.streaming:
        partial = publication.target + PARTIAL
        with record_writer(partial, format=format, columns=columns, types=types) as write:
            yield Output(write, lambda: None, lambda: digest(partial))
        return
    raw = _StandardOutput()
    stream: Any = io.BufferedWriter(raw)
    if format != "parquet":
        stream = io.TextIOWrapper(stream, "utf-8", errors="replace", newline="\n")
    try:
        with stream, WRITERS[format](stream, columns, types) as write:
            yield Output(write, stream.flush, raw.digest.hexdigest)
    except BrokenPipeError:
        raise DataError(
            "standard output was closed before everything was written: what was read of it is a release, "
            "which resume=true writes again and continues"
        ) from None


class _StandardOutput(io.RawIOBase):
    """Standard output by its number, digested as it is written."""

    def __init__(self) -> None:
        self.digest = hashlib.sha256()
        self._position, self._broken = 0, False

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        if self._broken:
            return len(data)  # only the first failure is told; closing writes what is left to nobody
        try:
            count = os.write(STDOUT, data)
        except OSError:
            self._broken = True
            raise
        self.digest.update(memoryview(data)[:count])
        self._position += count
        return count

    def tell(self) -> int:
        return self._position
