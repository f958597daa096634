"""Files as people have them: any name, any delimiter, arrays, compressed files, directories of parts, and messages that help."""

import bz2
import gzip
import lzma
import os
import threading
from pathlib import Path

import pyarrow
import pytest
from pyarrow import parquet

from adept.data.column_names import RequiredColumns
from adept.data.csv_files import DELIMITERS
from adept.data.formats import FORMATS, file_format
from adept.data.reading import READING_EXCEPTIONS, ReadingOptions, declared_columns, mismatch, read_records
from adept.data.writing import record_writer, written_format
from adept.errors import ConfigurationError, DataError

RECORDS = [{"text": "play a song", "intent": "music"}, {"text": "set; an, alarm", "intent": "alarm"}]
CSV = b'text,intent\nplay a song,music\n"set; an, alarm",alarm\n'
LINES = b'{"text": "play a song", "intent": "music"}\n{"text": "set; an, alarm", "intent": "alarm"}\n'
ARRAY = (
    b'\xef\xbb\xbf \n[{"text": "play a song", "intent": "music"},\n {"text": "set; an, alarm", "intent": "alarm"}]\n'
)


def placed(directory: Path, name: str, content: bytes) -> str:
    (directory / name).parent.mkdir(parents=True, exist_ok=True)
    (directory / name).write_bytes(content)
    return str(directory / name)


@pytest.mark.parametrize(
    ("name", "content", "options"),
    [
        ("day.log", LINES, {"format": "jsonl"}),
        ("utterances", CSV, {"format": "csv"}),
        ("a.txt", LINES, {"format": "jsonl"}),
        ("A.CSV", CSV, {}),
        ("a.CSV.GZ", gzip.compress(CSV, mtime=0), {}),
        ("a.ndjson", LINES, {}),
        ("a.tsv", CSV.replace(b'"set; an, alarm"', b"set; an, alarm").replace(b"text,", b"text\t").replace(b"song,", b"song\t")
         .replace(b"alarm,", b"alarm\t"), {}),
        ("a.tsv", CSV, {"delimiter": "comma"}),
        ("a.csv", b'text;intent\nplay a song;music\n"set; an, alarm";alarm\n', {"delimiter": "semicolon"}),
        ("a.csv", b"text|intent\nplay a song|music\nset; an, alarm|alarm\n", {"delimiter": "pipe"}),
        ("a.csv", b'sep=;\r\ntext;intent\r\nplay a song;music\r\n"set; an, alarm";alarm\r\n', {}),
        ("a.csv", b"\xef\xbb\xbfsep=,\r\n" + CSV, {}),
        ("a.csv", CSV.partition(b"\n")[2], {"columns": ["text", "intent"]}),
        ("a.csv", b'"intent","text"\nmusic,play a song\nalarm,"set; an, alarm"\n', {"columns": ["text", "intent"]}),
        ("a.json", ARRAY, {}),
        ("a.jsonl", ARRAY, {}),
        ("a.json", LINES, {}),
        ("a.json.gz", gzip.compress(ARRAY, mtime=0), {}),
        ("a.jsonl", gzip.compress(ARRAY, mtime=0), {}),
        ("a.csv", gzip.compress(CSV[:20], mtime=0) + gzip.compress(CSV[20:], mtime=0), {}),
    ],
)  # fmt: skip
def test_files_are_read_as_people_have_them(
    tmp_path: Path, name: str, content: bytes, options: dict[str, object]
) -> None:
    records = list(read_records(placed(tmp_path, name, content), options=ReadingOptions(**options)))  # type: ignore[arg-type]
    assert records == RECORDS


@pytest.mark.parametrize("content", [CSV, gzip.compress(CSV, mtime=0), b"t"])
def test_a_pipe_with_a_name_is_read_from_its_first_byte(tmp_path: Path, content: bytes) -> None:
    os.mkfifo(tmp_path / "a.csv")
    writer = threading.Thread(target=(tmp_path / "a.csv").write_bytes, args=[content])
    writer.start()
    if content == b"t":
        with pytest.raises(DataError, match="no records"):
            list(read_records(str(tmp_path / "a.csv")))
    else:
        assert list(read_records(str(tmp_path / "a.csv"))) == RECORDS
    writer.join()


@pytest.mark.parametrize("ending", ["parquet", "csv", "jsonl", "json", "txt"])
def test_a_directory_of_parts_is_read_in_the_order_of_their_names(tmp_path: Path, ending: str) -> None:
    for number, text in enumerate(["one", "two", "three"]):
        with record_writer(str(tmp_path / f"part-{number}"), format=ending, columns=["text"]) as write:
            write([{"text": text}])
    with record_writer(str(tmp_path / "part-3"), format=ending, columns=["text"]):
        pass  # programs leave parts without rows
    for other in ("_SUCCESS", ".part-0.crc"):
        placed(tmp_path, other, b"\0")
    tmp_path = tmp_path.rename(tmp_path.with_suffix(f".{ending.upper()}"))
    assert [record["text"] for record in read_records(str(tmp_path))] == ["one", "two", "three"]


def test_a_directory_of_directories_is_refused(tmp_path: Path) -> None:
    placed(tmp_path, "intent=music/part-0.csv", CSV)
    with pytest.raises(DataError, match="pattern"):
        list(read_records(str(tmp_path)))
    (tmp_path / "empty.csv").mkdir()
    with pytest.raises(DataError, match="without data files"):
        list(read_records(str(tmp_path / "empty.csv")))


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", b"text;intent\nsecret, secret;x\n", "holds ';': add delimiter=semicolon"),
        ("a.csv", b"text\tintent\nsecret\tx\n", "add delimiter=tab"),
        ("a.csv.gz", gzip.compress(b"text|intent\nsecret|x\n", mtime=0), "add delimiter=pipe"),
        ("a.tsv", b"text,intent\nsecret,x\n", "add delimiter=comma"),
        ("a.csv", b"PK\x03\x04secret", "is a spreadsheet, .*save it as csv"),
        ("a.jsonl", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1secret", "is a spreadsheet, .*save it as csv"),
        ("a.xlsx", b"PK\x03\x04secret", "is a spreadsheet, .*save it as csv"),
        ("a.XLS", b"secret", "is a spreadsheet, .*save it as csv"),
        ("a.csv", "text,intent\nsecret,x\n".encode("utf-16"), "is UTF-16: save it as UTF-8"),
        ("a.csv", b"PK\x03\x04secret", "zip archive: unpack it"),
        ("a.csv", bz2.compress(b"secret"), "compressed .*: unpack it, or compress it with gzip"),
        ("a.jsonl", lzma.compress(b"secret"), "compressed .*: unpack it, or compress it with gzip"),
        ("a.txt", b"\x28\xb5\x2f\xfdsecret", "compressed .*: unpack it, or compress it with gzip"),
        ("a.csv.bz2", b"secret", "compressed .*: unpack it, or compress it with gzip"),
        ("a.zip", b"secret", "compressed .*: unpack it, or compress it with gzip"),
        ("a.csv", b"", "has no records"),
        ("a.csv", b"\xef\xbb\xbf", "has no records"),
        ("a.json", b'{\n"text": "secret"\n}', "over several lines, which must stand on one line, or in an array"),
        ("a.txt", b"PAR1secret", "add format=parquet"),
        ("a.log", b"secret", "or give format="),
        ("a.json", b'[{"text": "secret"}', "ends inside its array"),
        ("a.json", b'[{"text": "secret"}] secret', "goes on after its array"),
        ("a.json", b'[{"text": "secret"}, secret]', "in record 2 .*no valid JSON"),
    ],
)
def test_a_file_that_its_options_do_not_fit_is_refused_with_advice(
    tmp_path: Path, name: str, content: bytes, message: str
) -> None:
    with pytest.raises(DataError, match=message) as caught:
        list(read_records(placed(tmp_path, name, content)))
    assert "secret" not in str(caught.value)


def test_a_tolerant_reader_takes_the_container_from_the_name_alone(tmp_path: Path) -> None:
    for name, content in (("a.jsonl", gzip.compress(LINES, mtime=0)), ("b.jsonl", ARRAY), ("c.txt", b"PK\x03\x04 d")):
        location = placed(tmp_path, name, content)
        assert not any("intent" in record for record in read_records(location, tolerant=True))
        assert mismatch(location, ReadingOptions())
    for name, content in (("a.csv", CSV), ("a.json", ARRAY), ("a.jsonl.gz", gzip.compress(LINES, mtime=0))):
        assert mismatch(placed(tmp_path, name, content), ReadingOptions()) is None


def read_texts(directory: Path, name: str, content: str) -> list[object]:
    return [record.get("text") for record in read_records(placed(directory, name, content.encode()), tolerant=True)]


OBJECTS = [f'{{"text": "row {place}"}}' for place in range(6)]
CELLS = [f'"row {place}"' for place in range(6)]


@pytest.mark.parametrize("open_one", ['{"text": "row 2}', '{"text": ["row 2"', '"', "[", "{"])
def test_what_an_element_does_not_close_costs_later_elements_of_an_array_and_no_line_of_jsonl(
    open_one: str, tmp_path: Path
) -> None:
    rows = [*OBJECTS[:2], open_one, *OBJECTS[3:]]
    assert read_texts(tmp_path, "a.json", f"[{', '.join(rows)}]") == ["row 0", "row 1", None]
    assert read_texts(tmp_path, "a.jsonl", "\n".join(rows)) == ["row 0", "row 1", None, "row 3", "row 4", "row 5"]


def test_an_element_that_closes_no_string_may_end_inside_a_later_text(tmp_path: Path) -> None:
    """The end of such an element depends on later ones, which is why the statement names the case."""
    rows = ['{"text": "row 0}', '{"text": "a}, b"}', *OBJECTS]
    assert read_texts(tmp_path, "a.json", f"[{', '.join(rows)}]") == [None, None]


def test_a_row_of_a_csv_that_closes_no_quote_takes_in_rows_up_to_the_next_quote(tmp_path: Path) -> None:
    rows = ["text", CELLS[0], '"row 1', "row 2", CELLS[3], "row 4"]
    assert read_texts(tmp_path, "a.csv", "\n".join(rows)) == ["row 0", None, "row 4"]
    assert read_texts(tmp_path, "b.csv", "\n".join([*rows[:4], "row 3", "row 4"])) == ["row 0", None]


def test_the_docs_list_the_readers_exceptions_as_statements_do() -> None:
    page = " ".join((Path(__file__).parents[2] / "docs" / "operation.md").read_text("utf-8").split())
    assert all(exception in page for exception in READING_EXCEPTIONS)


def test_a_tolerant_reader_of_a_json_file_without_an_array_says_what_to_add(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="add format=jsonl"):
        list(read_records(placed(tmp_path, "a.json", LINES), tolerant=True))


@pytest.mark.parametrize(
    ("target", "options", "expected"),
    [
        ("o.csv", {}, "csv"),
        ("o.tsv.gz", {"delimiter": "semicolon"}, "csv:tab"),
        ("O.CSV", {"delimiter": "semicolon"}, "csv:semicolon"),
        ("o.jsonl", {"format": "csv"}, "jsonl"),
        ("o", {}, "csv:tab"),
        ("-", {"delimiter": "pipe"}, "csv:pipe"),
        ("o.log", {"format": "txt"}, "txt"),
    ],
)
def test_an_output_is_written_as_its_name_says_or_else_like_the_input(
    target: str, options: dict[str, str], expected: str
) -> None:
    assert written_format(target, ReadingOptions(**options), ["in.tsv"]) == expected  # type: ignore[arg-type]


def test_an_output_is_never_a_spreadsheet_or_a_document() -> None:
    with pytest.raises(DataError, match="unknown file format 'docx'"):
        written_format("o.docx", ReadingOptions(), ["in.csv"])
    with pytest.raises(DataError, match="spreadsheet"):
        written_format("o.xlsx", ReadingOptions(), ["in.csv"])


@pytest.mark.parametrize("delimiter", DELIMITERS)
def test_a_csv_output_has_a_header_and_is_read_again_with_its_delimiter(tmp_path: Path, delimiter: str) -> None:
    options = ReadingOptions(delimiter=delimiter, columns=["intent", "text"])
    location = str(tmp_path / "a.csv")
    with record_writer(location, format=written_format(location, options, []), columns=["text", "intent"]) as write:
        write(RECORDS)
    assert list(read_records(location, options=ReadingOptions(delimiter=delimiter))) == RECORDS
    assert list(read_records(location, options=options)) == RECORDS


@pytest.mark.parametrize("options", [{"delimiter": "tab"}, {"columns": ["text"]}])
@pytest.mark.parametrize("ending", sorted({*FORMATS} - {"csv"}))
def test_options_of_csv_are_refused_where_no_file_is_csv(options: dict[str, object], ending: str) -> None:
    chosen = ReadingOptions(**options)  # type: ignore[arg-type]
    chosen.check_used(["a.csv", f"a.{ending}"])
    with pytest.raises(ConfigurationError, match=f"must be left out for {ending}"):
        chosen.check_used([f"a.{ending}"])


@pytest.mark.parametrize("options", [{"delimiter": ";"}, {"columns": []}, {"columns": ["a", "a"]}, {"format": "xml"}])
def test_values_that_no_option_has_are_refused(options: dict[str, object]) -> None:
    with pytest.raises(ConfigurationError):
        ReadingOptions(**options)  # type: ignore[arg-type]


def test_standard_input_is_of_the_format_that_is_given() -> None:
    assert file_format("-", "csv") == "csv"


def test_declared_columns_are_public_facts_of_a_file(tmp_path: Path) -> None:
    parquet.write_table(pyarrow.table({"my text": ["a"], "n": [1]}), tmp_path / "a.parquet")
    placed(tmp_path, "b.parquet.gz", gzip.compress((tmp_path / "a.parquet").read_bytes()))
    for name in ("a.parquet", "b.parquet.gz"):
        assert declared_columns(str(tmp_path / name), ReadingOptions()) == ["my text", "n"]
    assert declared_columns(placed(tmp_path, "a.csv", CSV), ReadingOptions()) == ["text", "intent"]
    assert declared_columns(
        placed(tmp_path, "a.csv", b'\n"a;b";c\n"never closed'), ReadingOptions(delimiter="semicolon")
    ) == ["a;b", "c"]
    assert declared_columns(str(tmp_path / "a.csv"), ReadingOptions(columns=["x"])) == ["x"]
    assert declared_columns(placed(tmp_path, "a.jsonl", LINES), ReadingOptions()) is None
    assert declared_columns("none.txt", ReadingOptions()) == ["text"]


@pytest.mark.parametrize(
    ("name", "content", "column", "message"),
    [
        ("a.csv", b"utterance,category\nsecret,x\n", "text", "the columns are 'utterance', 'category': add text_column=utterance"),
        ("a.csv", b"utterance,texts\nsecret,x\n", "text", "add text_column=texts"),
        ("a.csv", b"music,a secret song\nalarm,secret\n", "text",
         r"the columns are 'music' and 1 more: correct text_column=, or add columns=\[...\] if the first line is a record"),
        ("a.csv", b"a secret song\nsecret\n", "text", r"none of its 1 columns looks like a name: .*columns=\[...\]"),
        ("a.jsonl", b'{"utterance": "secret", "secret key": 1}\n', "text",
         "in record 1; the columns are 'utterance' and 1 more: add text_column=utterance"),
        ("a.csv", b"intent,topic\nsecret,x\n", "text", "'intent', 'topic': correct text_column="),
    ],
)  # fmt: skip
def test_a_column_that_is_missing_is_answered_with_names_and_no_record(
    tmp_path: Path, name: str, content: bytes, column: str, message: str
) -> None:
    from adept.data.corpus import read_corpus

    with pytest.raises(DataError, match=message) as caught:
        read_corpus(placed(tmp_path, name, content), text_column=column)
    assert "secret" not in str(caught.value)
    assert str(caught.value).startswith(f"no column named {column!r} in ")


def test_all_names_of_a_parquet_schema_are_listed(tmp_path: Path) -> None:
    from adept.data.corpus import read_corpus

    parquet.write_table(pyarrow.table({"my words": ["a"], "n": [1]}), tmp_path / "a.parquet")
    with pytest.raises(DataError, match=r"the columns are 'my words', 'n': correct text_column=$"):
        read_corpus(str(tmp_path / "a.parquet"))


def test_a_central_release_is_told_usual_names_alone() -> None:
    required = RequiredColumns((("text_column", "text"),), central=True)
    with pytest.raises(
        DataError, match="usual names among its columns are 'utterance': add text_column=utterance"
    ) as caught:
        required.check("a.csv", ["secret", "utterance", "texts"], header=True)
    assert "secret" not in str(caught.value)
    assert "texts" not in str(caught.value)


def test_a_csv_without_a_byte_has_no_records_rather_than_no_columns(tmp_path: Path) -> None:
    required = RequiredColumns((("text_column", "text"),))
    with pytest.raises(DataError, match="has no records"):
        list(read_records(placed(tmp_path, "a.csv", b""), required=required))


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    path = tmp_path / "none.csv"
    with pytest.raises(DataError, match=r"none\.csv, for it does not exist: correct its name"):
        list(read_records(str(path)))
