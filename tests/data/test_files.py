"""Files hold what was put in, a record at a time, and say what is wrong without quoting a record."""

import gzip
import json
from pathlib import Path

import pytest

from adept.data.files import file_format, new_directory, new_file, read_records, record_writer
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
    path = tmp_path / "a.txt.gz"
    with new_file(str(path)) as temporary, record_writer(temporary, format="txt", columns=["text"]) as write:
        write([{"text": "hello"}])
    assert gzip.decompress(path.read_bytes()) == b"hello\n"


def test_columns_and_types_of_parquet_survive(tmp_path: Path) -> None:
    path = str(tmp_path / "a.parquet")
    with record_writer(path, format="parquet", columns=["text", "n"]) as write:
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
        ("a.jsonl", b'{"text": "secret"}\n{secret\n', "after record 1 .*no valid JSON"),
        ("a.jsonl", b'["secret"]\n', "not a JSON object"),
        ("a.jsonl", b'{"secret": ' + b"1" * 5000 + b"}\n", "no valid JSON"),
        ("a.jsonl", b"[" * 100_000 + b"\n", "no valid JSON"),
        ("a.csv", b"text,intent\nsecret\n", "wrong number of fields"),
        ("a.csv", b'text\n"secret"x\n', "damaged"),
        ("a.parquet", b"secret", "no valid parquet"),
        ("a.txt.gz", b"secret", "cannot read"),
        ("a.docx", b"secret", "unknown file format"),
    ],
)
def test_what_cannot_be_read_is_named_without_quoting_it(
    tmp_path: Path, name: str, content: bytes, message: str
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(DataError, match=message) as caught:
        list(read_records(str(path)))
    assert "secret" not in str(caught.value).replace(str(path), "")


def test_a_missing_file_and_a_directory_are_user_errors(tmp_path: Path) -> None:
    for path in (tmp_path / "none.txt", tmp_path):
        with pytest.raises(DataError):
            list(read_records(str(path), format="txt"))


def test_standard_input_needs_a_format() -> None:
    with pytest.raises(DataError, match="format="):
        file_format("-")
    assert file_format("-", "csv") == "csv"


def test_a_new_file_appears_only_when_all_went_well(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "a.txt"

    def fail() -> None:
        with new_file(str(path)) as temporary:
            Path(temporary).write_text("half")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert list(path.parent.iterdir()) == []
    with new_file(str(path)) as temporary:
        Path(temporary).write_text("whole")
        assert not path.exists()
    assert [p.name for p in path.parent.iterdir()] == ["a.txt"]


def test_an_existing_file_is_not_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("mine")
    with pytest.raises(DataError, match="not overwritten"), new_file(str(path)):
        pass
    assert path.read_text() == "mine"


def test_a_run_directory_must_be_new_or_empty(tmp_path: Path) -> None:
    assert new_directory(str(tmp_path / "run")).is_dir()
    (tmp_path / "run" / "result.json").write_text(json.dumps({}))
    with pytest.raises(DataError, match="not empty"):
        new_directory(str(tmp_path / "run"))


def test_what_another_run_is_writing_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "a.txt.partial").write_text("theirs")
    with pytest.raises(DataError, match="another run"), new_file(str(tmp_path / "a.txt")):
        pass
    assert (tmp_path / "a.txt.partial").read_text() == "theirs"
