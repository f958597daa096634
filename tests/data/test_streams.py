"""Standard streams that another program made non-blocking: what comes late is read, and what is full is waited for."""

import io
import os
import sys
import threading
import time
from collections.abc import Iterator

import pytest

from adept.cli import process
from adept.data.formats import STANDARD_STREAM
from adept.data.reading import ReadingOptions, read_records
from adept.data.writing import WrittenFile, record_writer

PAUSE_SECONDS = 0.1  # in which a reader that does not wait comes to an end
FULL = 1 << 17  # bytes that no pipe holds at once


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    """Two ends of a pipe, which never wait."""
    ends = os.pipe()
    for end in ends:
        os.set_blocking(end, False)
    yield ends
    for end in ends:
        try:
            os.close(end)
        except OSError:
            continue


def written_late(end: int, *parts: bytes) -> threading.Thread:
    def write() -> None:
        for part in parts:
            time.sleep(PAUSE_SECONDS)
            os.write(end, part)
        os.close(end)

    thread = threading.Thread(target=write)
    thread.start()
    return thread


def read_late(end: int, found: bytearray) -> threading.Thread:
    def read() -> None:
        time.sleep(PAUSE_SECONDS)
        os.set_blocking(end, True)
        while part := os.read(end, 1 << 16):
            found.extend(part)

    thread = threading.Thread(target=read)
    thread.start()
    return thread


@pytest.mark.parametrize("format", ["txt", "jsonl", "csv"])
def test_records_that_come_late_are_read_from_a_stream_that_never_waits(
    pipe: tuple[int, int], format: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = {"txt": b"a\nb\n", "jsonl": b'{"text": "a"}\n{"text": "b"}\n', "csv": b"text\na\nb\n"}[format]
    monkeypatch.setattr(os, "dup", lambda handle: pipe[0] if handle == 0 else handle)
    writer = written_late(pipe[1], rows[:1], rows[1:5], rows[5:])
    found = list(read_records(STANDARD_STREAM, options=ReadingOptions(format=format)))
    writer.join()
    assert [record["text"] for record in found] == ["a", "b"]


def test_an_output_into_a_full_stream_that_never_waits_is_written_whole(pipe: tuple[int, int]) -> None:
    found = bytearray()
    reader = read_late(pipe[0], found)
    with record_writer(WrittenFile(pipe[1]), format="txt", columns=["text"]) as write:
        write([{"text": "x" * FULL}])
    os.close(pipe[1])
    reader.join()
    assert found == b"x" * FULL + b"\n"


def test_lines_on_a_full_stream_that_never_waits_are_printed(
    pipe: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = bytearray()
    reader = read_late(pipe[0], found)
    raw = process._Lossy(pipe[1], "w", closefd=False)
    monkeypatch.setattr(sys, "stderr", io.TextIOWrapper(io.BufferedWriter(raw), line_buffering=True))
    process.show_lines(["y" * FULL], to_stderr=True)
    os.close(pipe[1])
    reader.join()
    assert found == b"y" * FULL + b"\n"
