"""Files hold what was put in, a record at a time, and say what is wrong without quoting a record."""

import csv
import datetime
import decimal
import errno
import gzip
import io
import json
import os
import stat
import subprocess
import sys
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from pyarrow import parquet

from adept.data import writing
from adept.data.formats import file_format
from adept.data.reading import ReadingOptions, read_records
from adept.data.writing import (
    make_directory,
    new_directory,
    new_private_file,
    record_writer,
    sync_directory,
    write_table,
    write_whole,
)
from adept.errors import DataError

ODD_TEXTS = [
    "plain",
    "",
    'quote " comma , done',
    "NA",
    "2020-01-01",
    "tab\tbell\x07 vertical\x0b file\x1c",
    "😀 \u2028 \x85",
    "x " * 9000,
]
MEBIBYTE_OF_ZEROS = gzip.compress(bytes(2**20), mtime=0)  # a part of a compressed file, which may have many


@pytest.mark.parametrize(
    "name", ["a.txt", "a.csv", "a.jsonl", "a.parquet", "a.txt.gz", "a.csv.gz", "a.jsonl.gz", "a.parquet.gz"]
)
def test_every_format_returns_each_text_as_it_was_written(tmp_path: Path, name: str) -> None:
    path = str(tmp_path / name)
    records = [{"text": text} for text in ODD_TEXTS]
    with record_writer(path, format=file_format(path), columns=["text"]) as write:
        write(records[:3])
        write(records[3:])
    assert list(read_records(path)) == records


def test_gz_names_are_really_compressed_even_under_their_temporary_name(tmp_path: Path) -> None:
    path = tmp_path / "a.txt.gz.partial"
    with record_writer(str(path), format="txt", columns=["text"]) as write:
        write([{"text": "hello"}])
    assert gzip.decompress(path.read_bytes()) == b"hello\n"


def test_columns_and_types_of_parquet_survive(tmp_path: Path) -> None:
    path = str(tmp_path / "a.parquet")
    with record_writer(path, format="parquet", columns=["text", "n"], types={"n": pyarrow.int64()}) as write:
        write([{"text": "a", "n": 1}])
        write([{"text": "b", "n": 2}])
    assert [record["n"] for record in read_records(path)] == [1, 2]


def test_windows_line_ends_and_a_byte_order_mark_do_not_become_text(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"\xef\xbb\xbfone\r\n\r\ntwo")
    assert [record["text"] for record in read_records(str(path))] == ["one", "", "two"]


def test_blank_lines_of_jsonl_are_no_records(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"text": "one"}\n\n{"text": "two"}\n')
    assert len(list(read_records(str(path)))) == 2


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.txt", b"", "has no records"),
        ("a.csv", b"text\n", "has no records"),
        ("a.txt", b"secret\n\xff\xfe\n", "not UTF-8"),
        ("a.jsonl", b'{"text": "secret"}\n{secret\n', "in record 2 .*no valid JSON"),
        ("a.jsonl", b'"secret"\n', "not a JSON object"),
        ("a.jsonl", b'["secret"]\n', "not a JSON object"),
        ("a.jsonl", b'{"secret": ' + b"1" * 5000 + b"}\n", "no valid JSON"),
        ("a.jsonl", b"[" * 100_000 + b"\n", "ends inside its array"),
        ("a.csv", b"text,intent\nsecret\n", "wrong number of fields"),
        ("a.csv", b'text\n"secret"x\n', "damaged"),
        ("a.csv", b"text\nfine\n\nfine\nsecret,secret\n", "in record 3 .*wrong number of fields"),
        ("a.csv", b"secret,b,secret\n1,2,3\n", "columns 1 and 3 have the same name"),
        ("a.csv", b"\xffsecret\n1\n", "header: not UTF-8"),
        ("a.jsonl", b'{"text": "secret", "text": "secret"}\n', "in record 1 .*same name twice"),
        ("a.txt", b"fine\n" * 5000 + b"secret\xff\n", "in record 5001 .*not UTF-8"),
        ("a.txt", b"secret" * 2**22, "a line of more than"),
        ("a.csv", b'text\n"' + b"secret\n" * 2**22, "a quote that is never closed"),
        ("a.jsonl", b'{"secret": "secret' + b"x" * 2**24, "a line of more than"),
        ("a.parquet", b"secret", "no valid parquet"),
        ("a.txt.gz", b"secret", "cannot read"),
        ("a.txt.gz", gzip.compress(b"secret" * 99, mtime=0)[:-30], "cannot read"),
        ("a.txt.gz", gzip.compress(b"secret\n" * 99, mtime=0)[:20] + b"\xff" * 40, "cannot read"),
        ("a.parquet.gz", gzip.compress(b"secret", mtime=0), "no valid parquet"),
        ("a.parquet.gz", gzip.compress(b"PAR1", mtime=0) + 512 * MEBIBYTE_OF_ZEROS, "must be a plain file"),
        (f"{'a' * 300}.txt", None, "File name too long"),
        ("a.docx", b"secret", "is a document"),
        ("a.txt", "fine\nsecret\n".encode("utf-16-le"), "in record 1 .*NUL in the text, as UTF-16"),
        ("a.csv", "text\nsecret\n".encode("utf-16-be"), "header: NUL in the text, as UTF-16"),
        ("a.jsonl", '{"text": "secret"}\n'.encode("utf-16-le"), "in record 1 .*NUL in the text, as UTF-16"),
        ("a.jsonl", b'{"secret": ' + b"[" * 100 + b"]" * 100 + b"}\n", "in record 1 .*more than 100 deep"),
    ],
)
def test_what_cannot_be_read_is_named_without_quoting_it(
    tmp_path: Path, name: str, content: bytes | None, message: str
) -> None:
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(DataError, match=message) as caught:
        list(read_records(str(path)))
    assert "secret" not in str(caught.value).replace(str(path), "")
    assert "\n" not in str(caught.value)


def test_lists_and_objects_up_to_a_hundred_deep_are_read(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"text": "a", "x": ' + "[" * 99 + "]" * 99 + ', "y": [' + "{}, " * 200 + "1]}\n")
    assert len(next(read_records(str(tmp_path / "a.jsonl")))["y"]) == 201


def test_a_missing_file_and_a_directory_are_user_errors(tmp_path: Path) -> None:
    for path in (tmp_path / "none.txt", tmp_path):
        with pytest.raises(DataError):
            list(read_records(str(path), options=ReadingOptions(format="txt")))


def test_standard_input_needs_a_format() -> None:
    with pytest.raises(DataError, match="format="):
        file_format("-")
    assert file_format("-", "csv") == "csv"


def test_a_new_file_appears_only_when_all_went_well(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.txt"

    def fail(number: int) -> None:
        assert not path.exists()
        raise RuntimeError

    (tmp_path / "a.txt.partial").write_text("of a run that crashed")
    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", fail)
        with pytest.raises(RuntimeError):
            write_whole(path, "half")
    assert list(tmp_path.iterdir()) == []
    write_whole(path, "whole")
    assert [(p.name, p.read_text()) for p in tmp_path.iterdir()] == [("a.txt", "whole")]


def test_an_existing_file_is_not_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("mine")
    with pytest.raises(DataError, match="not overwritten"):
        write_whole(path, "ours")
    assert path.read_text() == "mine"


def test_a_file_stays_as_it_was_if_its_new_content_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(number: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    path = tmp_path / "a.csv"
    write_table([{"a": "old"}], path)
    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        for replace_it in (lambda: write_whole(path, "new", replace=True), lambda: write_table([{"a": "new"}], path)):
            with pytest.raises(DataError, match=r"cannot write .*a\.csv: No space left on device"):
                replace_it()
    assert [(p.name, p.read_text()) for p in tmp_path.iterdir()] == [("a.csv", "a\nold\n")]
    write_whole(path, "new", replace=True)
    assert path.read_text() == "new"


def test_a_run_directory_must_be_new_or_empty(tmp_path: Path) -> None:
    assert new_directory(str(tmp_path / "run")).is_dir()
    (tmp_path / "run" / "result.json.partial").touch()  # as a run that was killed leaves it
    assert new_directory(str(tmp_path / "run"))
    (tmp_path / "run" / "result.json").write_text(json.dumps({}))
    with pytest.raises(DataError, match="run is not empty: remove"):
        new_directory(str(tmp_path / "run"))
    with pytest.raises(DataError, match=r"run is not empty and holds no sweep\.json: remove"):
        new_directory(str(tmp_path / "run"), marker="sweep.json")


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("name", ["a.txt", "a.csv", "a.jsonl"])
def test_lines_end_as_on_any_system(tmp_path: Path, name: str, end: str) -> None:
    lines = {
        "a.txt": ["one", "two"],
        "a.csv": ["text", "one", "two"],
        "a.jsonl": ['{"text": "one"}', '{"text": "two"}'],
    }
    (tmp_path / name).write_bytes((end.join(lines[name]) + end).encode())
    assert [record["text"] for record in read_records(str(tmp_path / name))] == ["one", "two"]


RUN_BY_SPREADSHEETS = ["=1+1", "+1+1", "-1+1", "@sum(a1)", "\t=1", "\r=1", "'=1", "''@x", "＝1", "-cmd|' /c calc'!a0"]
LEFT_ALONE = ["'tis", "1-1", "-1.5", "+49", "-1e9", "", "'", "a=b", "-1", "two\r\nlines", "a\rb"]


def test_cells_that_a_spreadsheet_would_run_are_written_so_that_it_does_not(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    records = [{"text": text, "=n": number} for number, text in enumerate(RUN_BY_SPREADSHEETS + LEFT_ALONE, start=-3)]
    with record_writer(str(path), format="csv", columns=["text", "=n"]) as write:
        write(records)
    rows = list(csv.reader(io.StringIO(path.read_bytes().decode(), newline="")))
    assert rows[0] == ["text", "'=n"]
    assert [row[0] for row in rows[1:]] == [f"'{text}" for text in RUN_BY_SPREADSHEETS] + LEFT_ALONE
    assert rows[1][1] == "-3"
    assert list(read_records(str(path))) == [{**record, "=n": str(record["=n"])} for record in records]


def test_a_lone_surrogate_becomes_the_replacement_character_and_can_be_written(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"text": "a \\ud83d b", "\\udc00": ["\\uD83D\\uDE00", "\\\\ud83d"]}\n')
    record = next(read_records(str(path)))
    assert record == {"text": "a \ufffd b", "\ufffd": ["😀", "\\ud83d"]}
    for ending in ("txt", "jsonl", "csv", "parquet"):
        with record_writer(str(tmp_path / f"out.{ending}"), format=ending, columns=["text"]) as write:
            write([record])
        assert next(read_records(str(tmp_path / f"out.{ending}"))) == {"text": "a \ufffd b"}


def write_columns(path: Path, columns: dict[str, Any], names: list[str] | None = None) -> None:
    parquet.write_table(pyarrow.table(list(columns.values()), names=names or list(columns)), path)


def test_what_parquet_holds_and_json_has_no_type_for_is_spelled(tmp_path: Path) -> None:
    now = datetime.datetime(2026, 1, 2, 3, 4, 5)
    columns = {
        "second": pyarrow.array([now], pyarrow.timestamp("s")),
        "zone": pyarrow.array([now], pyarrow.timestamp("us", "UTC")),
        "round": pyarrow.array([1_000_000_000_000_001_000], pyarrow.timestamp("ns")),
        "fine": pyarrow.array([1_000_000_000_000_000_001], pyarrow.timestamp("ns")),
        "clock": pyarrow.array([1_000], pyarrow.time64("ns")),
        "span": pyarrow.array([1_000_000], pyarrow.duration("ns")),
        "fine span": pyarrow.array([86_400_000_000_001], pyarrow.duration("ns")),
        "finest span": pyarrow.array([-1], pyarrow.duration("ns")),
        "key": pyarrow.array([bytes(16)], pyarrow.uuid()),
        "day": pyarrow.array([now.date()]),
        "price": pyarrow.array([decimal.Decimal("1.50")]),
        "nan": pyarrow.array([float("nan")]),
    }
    write_columns(tmp_path / "a.parquet", columns)
    records = list(read_records(str(tmp_path / "a.parquet")))
    with record_writer(str(tmp_path / "a.jsonl"), format="jsonl", columns=list(columns)) as write:
        write(records)
    assert json.loads((tmp_path / "a.jsonl").read_text()) == {
        "second": "2026-01-02T03:04:05",
        "zone": "2026-01-02T03:04:05+00:00",
        "round": "2001-09-09T01:46:40.000001",
        "fine": "2001-09-09 01:46:40.000000001",
        "clock": "00:00:00.000001",
        "span": "0:00:00.001000",
        "fine span": "86400000000001 ns",
        "finest span": "-1 ns",
        "key": "00000000-0000-0000-0000-000000000000",
        "day": "2026-01-02",
        "price": "1.50",
        "nan": None,
    }
    types = {"second": pyarrow.timestamp("s"), "price": pyarrow.decimal128(3, 2)}
    with record_writer(str(tmp_path / "b.parquet"), format="parquet", columns=list(types), types=types) as write:
        write(records)
    assert next(read_records(str(tmp_path / "b.parquet"))) == {"second": now, "price": decimal.Decimal("1.50")}


@pytest.mark.parametrize(
    ("format", "values"),
    [
        ("jsonl", [b"secret"]),
        ("jsonl", [float("inf")]),
        ("csv", [b"secret"]),
        ("csv", ["sec\0ret"]),
        ("parquet", ["secret", 1]),
        ("parquet", [{}]),
    ],
)
def test_values_that_a_format_cannot_hold_are_refused(tmp_path: Path, format: str, values: list[Any]) -> None:
    def write_all() -> None:
        with record_writer(str(tmp_path / "a"), format=format, columns=["n"]) as write:
            for value in values:
                write([{"n": value}])

    with pytest.raises(DataError, match="a kept column") as caught:
        write_all()
    assert "secret" not in str(caught.value)


def test_nan_in_json_is_null_when_it_is_written(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"text": "a", "n": NaN}\n')
    with record_writer(str(tmp_path / "b.jsonl"), format="jsonl", columns=["n"]) as write:
        write(list(read_records(str(tmp_path / "a.jsonl"))))
    assert (tmp_path / "b.jsonl").read_text() == '{"n": null}\n'


def test_columns_of_a_parquet_file_with_one_name_are_refused(tmp_path: Path) -> None:
    write_columns(tmp_path / "a.parquet", {"a": [1], "b": [2]}, ["secret", "secret"])
    with pytest.raises(DataError, match="columns 1 and 2 have the same name"):
        next(read_records(str(tmp_path / "a.parquet")))


UNREADABLE = {
    "text that is not UTF-8": [b"\xff", b"fine"],
    "large text": pyarrow.array([b"\xff", b"fine"], pyarrow.large_binary()).view(pyarrow.large_string()),
    "view": pyarrow.array([b"\xff" * 20, b"fine"], pyarrow.binary_view()).view(pyarrow.string_view()),
    "date": pyarrow.array([2**31 - 1, 1], pyarrow.int32()).cast(pyarrow.date32()),
    "milliseconds": pyarrow.array([2**62, 1], pyarrow.timestamp("ms")),
    "zone": pyarrow.array([2**62, 1], pyarrow.timestamp("us", "Europe/Berlin")),
    "span": pyarrow.array([2**62, 1], pyarrow.duration("s")),
    "list": pyarrow.array([[2**62], [1]], pyarrow.list_(pyarrow.timestamp("ms"))),
    "struct": pyarrow.array([{"a": 2**62}, {"a": 1}], pyarrow.struct([("a", pyarrow.timestamp("ms"))])),
}
UNREADABLE["text that is not UTF-8"] = pyarrow.array(UNREADABLE["text that is not UTF-8"]).view(pyarrow.string())
UNREADABLE["dictionary"] = pyarrow.DictionaryArray.from_arrays([0, 1], UNREADABLE["text that is not UTF-8"])


@pytest.mark.parametrize("name", UNREADABLE)
def test_a_parquet_value_without_a_python_form_is_missing_from_its_own_row_alone(tmp_path: Path, name: str) -> None:
    write_columns(tmp_path / "a.parquet", {"text": ["one", "two"], "c": UNREADABLE[name]})
    path = str(tmp_path / "a.parquet")
    first, second = read_records(path, tolerant=True)
    assert first == {"text": "one", "c": None}
    write_columns(tmp_path / "b.parquet", {"text": ["two"], "c": UNREADABLE[name].slice(1)})
    assert [second] == list(read_records(str(tmp_path / "b.parquet"), tolerant=True))
    assert list(read_records(path, tolerant=True, columns=["text"])) == [{"text": "one"}, {"text": "two"}]
    if name == "dictionary":  # Arrow reads it whole or not at all
        return
    strict, _ = read_records(path)
    assert type(strict["c"]).__name__ == "UnreadableValue"
    assert repr(strict["c"])
    assert list(read_records(path, columns=["text"])) == [{"text": "one"}, {"text": "two"}]


def test_nanoseconds_of_one_row_do_not_change_how_another_is_read(tmp_path: Path) -> None:
    write_columns(tmp_path / "a.parquet", {"t": pyarrow.array([1_000, 1], pyarrow.timestamp("ns"))})
    first, second = read_records(str(tmp_path / "a.parquet"))
    assert first["t"] == datetime.datetime(1970, 1, 1, microsecond=1)
    assert second["t"] == "1970-01-01 00:00:00.000000001"


def test_a_column_with_a_dot_is_no_path_into_another_one(tmp_path: Path) -> None:
    write_columns(tmp_path / "a.parquet", {"a": [{"b": 1}], "a.b": [2]})
    assert list(read_records(str(tmp_path / "a.parquet"), columns=["a.b"])) == [{"a.b": 2}]
    write_columns(tmp_path / "b.parquet", {"a": [{"b": 1}]})
    assert list(read_records(str(tmp_path / "b.parquet"), columns=["a.b"])) == [{}]


def test_a_name_that_is_taken_during_the_run_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.txt"
    monkeypatch.setattr(os, "fsync", lambda number: path.write_text("theirs"))
    with pytest.raises(DataError, match="not overwritten"):
        write_whole(path, "ours")
    assert path.read_text() == "theirs"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("appears", [False, True])
def test_a_file_system_without_links_does_not_overwrite_either(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, appears: bool
) -> None:
    def no_links(*_: object) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", no_links)
    path = tmp_path / "a.txt"
    if appears:
        path.write_text("theirs")
        with pytest.raises(DataError, match="not overwritten"):
            write_whole(path, "ours")
    else:
        write_whole(path, "ours")
    assert path.read_text() == ("theirs" if appears else "ours")
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_and_its_name_are_on_the_disk_before_it_is_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[tuple[bool, bool]] = []  # is it a directory, and was the name there already

    def fsync(number: int) -> None:
        synced.append((stat.S_ISDIR(os.fstat(number).st_mode), (tmp_path / "a.txt").exists()))

    monkeypatch.setattr(os, "fsync", fsync)
    write_whole(tmp_path / "a.txt", "ours")
    assert synced == [(False, False), (True, True)]
    (tmp_path / "a.txt").unlink()
    with new_private_file(tmp_path / "a.txt") as partial:  # as of a key, without which a ledger is worth nothing
        partial.write_bytes(b"ours")
    assert synced[2:] == [(False, False), (True, True)]


def test_the_name_of_each_new_directory_is_on_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[Path] = []
    monkeypatch.setattr(os, "fsync", lambda number: synced.append(Path(f"/proc/self/fd/{number}").readlink()))
    make_directory(tmp_path / "a" / "b", mode=0o700)
    assert sorted(synced) == [tmp_path, tmp_path / "a"]
    assert stat.S_IMODE((tmp_path / "a" / "b").stat().st_mode) == 0o700
    synced.clear()
    make_directory(tmp_path / "a" / "b")
    assert not synced


def test_all_directories_with_parents_are_made_by_one_function() -> None:
    package = Path(writing.__file__).parents[1]
    assert [path.name for path in package.rglob("*.py") if "parents=True" in path.read_text()] == ["writing.py"]
    assert not [path for path in package.rglob("*.py") if "makedirs" in path.read_text()]


@pytest.mark.parametrize(("number", "fails"), [(errno.EIO, True), (errno.ENOSPC, True), (errno.EINVAL, False)])
def test_a_disk_that_fails_is_no_file_system_that_cannot_synchronise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, fails: bool
) -> None:
    def fail(handle: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match=str(tmp_path)) if fails else nullcontext():
        sync_directory(tmp_path)


def test_names_that_cannot_be_made_are_user_errors(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    for name, message in [("a" * 300, "too long"), ("file/a", "file exists"), ("dangling", "exists")]:
        with pytest.raises(DataError, match=message):
            write_whole(tmp_path / name, "ours")


FULL_DISK = """
import os, random, resource
from pathlib import Path
from adept.data.writing import record_writer, write_whole
from adept.errors import DataError
resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))
"""


def run_on_full_disk(directory: Path, program: str) -> str:
    code = f"{FULL_DISK}{program}"
    done = subprocess.run([sys.executable, "-c", code], cwd=directory, capture_output=True, text=True, check=False)
    assert not done.stderr
    return done.stdout


@pytest.mark.parametrize("format", ["txt", "csv", "jsonl", "parquet"])
@pytest.mark.parametrize("ending", ["", ".gz"])
def test_a_full_disk_is_noticed_in_every_format(tmp_path: Path, format: str, ending: str) -> None:
    program = f"""
try:
    with record_writer("a.{format}{ending}", format="{format}", columns=["text"]) as write:
        for _ in range(20):
            write([{{"text": random.randbytes(1000).hex()}}])
except OSError as error:
    print(error.strerror)
"""
    assert run_on_full_disk(tmp_path, program) == "File too large\n"


def test_a_full_disk_is_one_line_and_leaves_nothing(tmp_path: Path) -> None:
    program = """
try:
    write_whole(Path("a.txt"), "ours" * 10_000)
except DataError as error:
    print(error, os.listdir())
"""
    assert run_on_full_disk(tmp_path, program) == "cannot write a.txt: File too large []\n"


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("a.jsonl", b'{"text": "a"}\nno json\n[1]\n{"a": 1, "a": 2}\n{"text": "\xff"}\n\n{"text": "b"}',
         [{"text": "a"}, {}, {}, {}, {"text": "\ufffd"}, {"text": "b"}]),
        ("a.txt", b"a\n\xe3\x80\nb\n", [{"text": "a"}, {"text": "\ufffd"}, {"text": "b"}]),
        ("a.csv", b'text,n\na,1\nb\n"c"d,2\n\xff,3\n"e,4\n5,6',
         [{"text": "a", "n": "1"}, {}, {}, {"text": "\ufffd", "n": "3"}, {}]),
        ("a.csv", b"", []),
        ("a.jsonl", b"", []),
    ],
)  # fmt: skip
def test_a_tolerant_reader_refuses_no_file_because_of_a_record(
    tmp_path: Path, name: str, content: bytes, expected: list[dict[str, str]]
) -> None:
    (tmp_path / name).write_bytes(content)
    assert list(read_records(str(tmp_path / name), tolerant=True)) == expected


def test_a_tolerant_reader_cuts_a_line_that_is_too_long_and_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("adept.data.formats.MAX_CHARACTERS", 10)
    (tmp_path / "a.txt").write_text("a" * 35 + "\nb\n" + "c" * 10 + "\nd\n" + "e" * 20)
    texts = [record["text"] for record in read_records(str(tmp_path / "a.txt"), tolerant=True)]
    assert texts == ["a" * 10, "b", "c" * 10, "d", "e" * 10]


@dataclass(frozen=True)
class Line:
    name: str
    epsilon: float
    delta: float | None = None


def test_fields_are_columns_and_what_does_not_apply_is_empty(tmp_path: Path) -> None:
    write_table([Line('a "b", c', 0.1), Line("d", float("inf"), float("nan"))], tmp_path / "x.csv")
    assert (tmp_path / "x.csv").read_text() == 'name,epsilon,delta\n"a ""b"", c",0.1,\nd,inf,nan\n'


def test_a_table_replaces_the_one_before_it_and_leaves_nothing_beside_it(tmp_path: Path) -> None:
    for epsilon in (1.0, 2.0):
        write_table([Line("a", epsilon)], tmp_path / "x.csv")
    assert [path.name for path in tmp_path.iterdir()] == ["x.csv"]
    assert "a,2.0," in (tmp_path / "x.csv").read_text()
