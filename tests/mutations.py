"""Damaged and hostile files of records: small valid ones, mutated at random but from a fixed seed.

Run as a program, `mutations.py NAME FIRST COUNT MODEL_DIR`, it reads COUNT of them, and uses them in a release by a model that
writes labels, with limits of memory and time, as a guard of its own process; a crash of a reader's C code is then an exit status.
"""

import datetime
import decimal
import gzip
import io
import json
import os
import random
import re
import resource
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow
from pyarrow import parquet

from adept.data.arrow_files import SeenValues, UnfitValues
from adept.data.formats import FORMATS, Record, file_format
from adept.data.reading import read_records
from adept.data.writing import record_writer
from adept.errors import DataError

NAMES = [f"a.{ending}" for ending in FORMATS] + [f"a.{ending}.gz" for ending in FORMATS] + ["pages.parquet"]
MEMORY, STOP_SECONDS = 2 * 2**30, 300  # of computing: dozens of times what the slowest file takes
WORDS = ["flights to boston", "secret é 😀", "", 'say "yes", or not', "=1+1", "a\tb", "x" * 300, "0012", "-3.5"]
TOKENS = [
    b"\x00", b"\xff\xfe", b"\xef\xbb\xbf", b"\xed\xa0\x80", b"\r", b"\n", b"\r\n", b'"', b'""', b"'", b",", b"\\", b"{", b"}",
    b"[" * 2000, b'{"a":' * 500, b"NaN", b"-Infinity", b"1e999", b"9" * 5000, b'"\\ud800"', b'"\\udc00\\ud800"', b"null", b"true",
    b'"text":"secret",', b"\xe2\x80\xa8", b"\x1a", b"\x7f\xff\xff\xff", b"\xff" * 8, b"\x00" * 8, b"\x80" * 9, b"PAR1",
    b"\xff\xff\xff\x7f", b"\x1f\x8b\x08\x00", b"secret," * 300,
]  # fmt: skip


def _lines(rng: random.Random) -> bytes:
    return "\n".join(rng.choices(WORDS, k=6)).encode() + b"\n"


def _value(rng: random.Random) -> object:
    """Anything that a column of a jsonl file can hold."""
    deep: object = rng.choice(WORDS)
    for _ in range(rng.choice([1, 2, 50, 98, 99, 100, 300, 900])):
        deep = [deep] if rng.random() < 0.5 else {"x": deep}
    plain = [1, -2.5, None, True, 10**30, float("nan"), float("inf"), "", "a", [], {}, ["a"], {"a": ["secret"]}]
    return rng.choice([*plain, deep, [None] * 50, {"text": "secret", "intent": {}}])


def _objects(rng: random.Random) -> bytes:
    """Objects with a value of any kind in some columns, or in one column of the last of them."""
    rows = [
        {
            "text": rng.choice(WORDS),
            "intent": rng.choice("ab"),
            "who": f"p{i}",
            "slots": "O O",
            "n": i,
            "deep": [[{"x": i}]],
        }
        for i in range(5)
    ]
    odd = rng.choice([[], [rows[-1]], rows])
    for column in rng.sample(sorted(rows[0]), rng.choice([1, 1, 2, 6])):
        for row in odd:
            row[column] = _value(rng)
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def _array(rng: random.Random) -> bytes:
    return b"[" + _objects(rng).strip().replace(b"\n", b",\n") + b"]"


def _rows(rng: random.Random) -> bytes:
    cell = [word.replace('"', '""') for word in WORDS]
    odd = ["b", "a", "", '"[1]"', "{}", "null", "p1", '"{""a"": [""secret""]}"']
    return (
        "text,intent,who,n\n"
        + "".join(f'"{rng.choice(cell)}",{rng.choice(odd)},{rng.choice(odd)},{i}\n' for i in range(5))
    ).encode()


def _table(rng: random.Random) -> bytes:
    size, now = rng.choice([1, 5, 5, 5, 5, 5, 1100]), datetime.datetime(2026, 1, 2, 3, 4, 5, 678)
    columns = {
        "text": pyarrow.array([rng.choice(WORDS) for _ in range(size)]),
        "time": pyarrow.array([now] * size, pyarrow.timestamp(rng.choice(["s", "ms", "us", "ns"]), rng.choice([None, "UTC"]))),
        "nanoseconds": pyarrow.array([rng.randrange(-(2**63), 2**63) for _ in range(size)]).cast(pyarrow.timestamp("ns")),
        "price": pyarrow.array([decimal.Decimal("1.50")] * size),
        "bytes": pyarrow.array([b"\xff\x00"] * size),
        "words": pyarrow.array([["a", None], []] * size)[:size],
        "group": pyarrow.array([rng.choice("ab") for _ in range(size)]).dictionary_encode(),
        "pair": pyarrow.array([{"x": 1, "y": [float("nan")]}] * size),
        "day": pyarrow.array([None if rng.random() < 0.3 else now.date() for _ in range(size)], pyarrow.date32()),
        "none": pyarrow.array([None] * size),
        "span": pyarrow.array([rng.randrange(10**12) for _ in range(size)], pyarrow.duration("ns")),
        "clock": pyarrow.array([rng.randrange(10**12) for _ in range(size)], pyarrow.time64("ns")),
    }  # fmt: skip
    names = ["text", *rng.sample(sorted(columns.keys() - {"text"}), rng.randrange(len(columns)))]
    for name in ("intent", "who", "slots", *(["text"] if rng.random() < 0.2 else [])):  # a value of any type in each
        if rng.random() < 0.5:
            columns[name] = columns[rng.choice(sorted(columns))]
            names.append(name) if name not in names else None
    file = io.BytesIO()
    table = pyarrow.table({name: columns[name] for name in names})
    parquet.write_table(table, file, compression=rng.choice(["none", "snappy", "gzip", "zstd", "lz4", "brotli"]))
    return file.getvalue()


SEEDS: dict[str, Callable[[random.Random], bytes]] = {
    "txt": _lines,
    "jsonl": _objects,
    "json": _array,
    "csv": _rows,
    "parquet": _table,
}


def _mutated(content: bytes, rng: random.Random) -> bytes:
    """Apply a few edits; half of them near the end, where a parquet file says what is in it."""
    data = bytearray(content)
    for _ in range(rng.choice([0, 1, 1, 1, 2, 3, 8])):
        at = rng.randrange(len(data) + 1)
        if rng.random() < 0.5:
            at = max(0, len(data) - rng.randrange(1, 600))
        match rng.randrange(6):
            case 0 if data:
                data[min(at, len(data) - 1)] ^= 1 << rng.randrange(8)
            case 1:
                data[at : at + 1] = rng.randbytes(1)
            case 2:
                data[at:at] = rng.choice(TOKENS)
            case 3:
                data[at : at + rng.randrange(1, 40)] = b""
            case 4:
                data[at:at] = data[max(0, at - rng.randrange(1, 200)) : at]
            case 5 if rng.random() < 0.3:
                del data[at:]
            case _:
                data[at : at + 4] = rng.choice([b"\xff\xff\xff\x7f", b"\xff\xff\xff\xff", b"\0\0\0\0", b"\0\0\0\x80"])
    return bytes(data)


def _pages(rng: random.Random) -> bytes:
    """A parquet file of small pages in one of its encodings."""
    size = rng.choice([3, 40, 300])
    table = pyarrow.table({
        "text": pyarrow.array([rng.choice([*WORDS, None]) if rng.random() < 0.3 else f"secret {i}" for i in range(size)]),
        "intent": pyarrow.array([rng.choice("ab") for _ in range(size)]),
        "n": pyarrow.array([rng.choice([i, None, 2**62]) for i in range(size)], pyarrow.int64()),
        "words": pyarrow.array([["a", None], [], None] * size)[:size],
        "pair": pyarrow.array([{"x": float(i), "y": [i]} for i in range(size)]),
    })  # fmt: skip
    texts = ["PLAIN", "DELTA_LENGTH_BYTE_ARRAY", "DELTA_BYTE_ARRAY"]
    encodings = {"text": rng.choice(texts), "n": rng.choice(["PLAIN", "DELTA_BINARY_PACKED", "BYTE_STREAM_SPLIT"])}
    coded = {"use_dictionary": True} if rng.random() < 0.4 else {"use_dictionary": False, "column_encoding": encodings}
    pages = {"data_page_version": rng.choice(["1.0", "2.0"]), "data_page_size": rng.choice([64, 2**20])}
    file = io.BytesIO()
    compression = rng.choice(["none", "none", "snappy", "zstd"])
    parquet.write_table(table, file, compression=compression, write_statistics=rng.random() < 0.5, **coded, **pages)
    return file.getvalue()


def _damaged_pages(content: bytes, rng: random.Random) -> bytes:
    """Change pages and their headers in place; the footer, which says where they are, stays true."""
    data = bytearray(content)
    end = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    for _ in range(rng.choice([1, 1, 2, 4])):
        at = rng.randrange(4, end)
        new = rng.choice(
            [
                rng.randbytes(1),
                bytes([data[at] ^ 1 << rng.randrange(8)]),
                *(token for token in TOKENS if len(token) < 9),
            ]
        )[: end - at]
        data[at : at + len(new)] = new
    return bytes(data)


def guided(first: int, count: int) -> Iterator[tuple[int, bytes]]:
    """Parquet files with damaged pages; one with which Arrow finds something wrong for the first time is damaged further."""
    corpus: list[bytes] = []
    seen: set[str] = set()
    for number in range(first, first + count):
        rng = random.Random(f"pages {number}")
        content = _damaged_pages(rng.choice(corpus) if corpus and rng.random() < 0.6 else _pages(rng), rng)
        yield number, content
        if (found := _outcome(content)) not in seen:
            seen.add(found)
            corpus.append(content)
    sys.stdout.write(f"{len(seen)} different outcomes\n")


def _outcome(content: bytes) -> str:
    """Return Arrow's message about a file, without numbers and names: it stands for the lines of C++ that were reached."""
    try:
        return f"{parquet.read_table(io.BytesIO(content)).num_rows} rows"
    except Exception as error:  # noqa: BLE001 - of any kind
        return re.sub(r"[0-9]+|'[^']*'", "", f"{type(error).__name__} {error}")[:200]


def mutations(name: str, first: int, count: int) -> Iterator[tuple[int, bytes]]:
    """Numbered mutations of a file with a name."""
    if name.startswith("pages"):
        yield from guided(first, count)
    else:
        yield from ((number, mutation(name, number)) for number in range(first, first + count))


def mutation(name: str, number: int) -> bytes:
    """The content of a file of the format of ``name``: a valid one, with damage; a compressed one before or after."""
    rng = random.Random(f"{name} {number}")
    content = SEEDS[file_format(name)](rng)
    if not name.endswith(".gz"):
        return _mutated(content, rng)
    if rng.random() < 0.5:
        return gzip.compress(_mutated(content, rng), mtime=0)
    return _mutated(gzip.compress(content, mtime=0), rng)


def attempt(path: Path, output: Path) -> str:
    """Read a file and write its records in each format; "" or the one line with which it is refused. Raises what is a bug."""
    try:
        records = list(read_records(str(path)))
        shared = [column for column in records[0] if all(column in record for record in records)] or ["nothing"]
        rows = [{column: record.get(column) for column in shared} for record in records]
    except DataError as error:
        return _one_line(error, path)
    lines = []
    for ending in FORMATS:
        try:
            types = _types(rows, shared) if ending == "parquet" else None
            with record_writer(str(output), format=ending, columns=shared, types=types) as write:
                write(rows)
        except (DataError, UnfitValues) as error:
            lines.append(_one_line(error, path))
    return "".join(lines)


def _types(rows: list[Record], columns: list[str]) -> dict[str, object]:
    """The types under which a release writes such columns."""
    shapes = {column: SeenValues() for column in columns}
    for row in rows:
        for column, shape in shapes.items():
            shape.add(row[column])
    return {column: shape.arrow_type() for column, shape in shapes.items()}


def _one_line(error: DataError | UnfitValues, path: Path) -> str:
    line = str(error)
    if "\n" in line or "secret" in line.replace(str(path), ""):
        raise AssertionError(f"not one line without what the file says: {line!r}")
    return line


def main(name: str, first: int, count: int, model_dir: str) -> None:
    """Read, write and use ``count`` mutations, each within the limits; the last line says how many were refused."""
    from records_used import Uses

    os.fsync = lambda handle: None  # thousands of journals wait for the disk otherwise
    uses = Uses(Path(model_dir))
    used_now = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY + used_now, MEMORY + used_now))
    refused, refused_uses, slowest = 0, 0, 0.0
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / name
        for number, content in mutations(name, first, count):
            sys.stderr.write(f"{name} {number}\n")  # the last one made it crash
            path.write_bytes(content)
            signal.setitimer(signal.ITIMER_PROF, STOP_SECONDS)  # of the processor, whatever else the machine does
            begin = time.process_time()
            refused += bool(attempt(path, Path(directory) / "out"))
            refused_uses += uses.attempt(path, Path(directory), number)
            slowest = max(slowest, time.process_time() - begin)
            signal.setitimer(signal.ITIMER_PROF, 0)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    sys.stdout.write(
        f"{name}: {count} read, {refused} of them refused, {refused_uses} of {3 * count} uses refused, slowest {slowest:.2f} s, "
        f"at most {memory:.0f} MiB\n"
    )


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4])
