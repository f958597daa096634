"""Files as people have them: any name, any delimiter, arrays, compressed files, directories of parts, and messages that help."""

import bz2
import datetime
import gzip
import json
import lzma
import os
import re
import threading
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import datasets
import pyarrow
import pytest
from pyarrow import feather, ipc, parquet

from adept.data.corpus import read_corpus
from adept.data.csv_files import DELIMITERS
from adept.data.formats import COMPRESSIONS, ENDINGS, FORMATS, data_files, file_format
from adept.data.reading import READING_EXCEPTIONS, ReadingOptions, declared_columns, mismatch, read_records
from adept.data.texts import RequiredColumns, say_once, text_list
from adept.data.writing import record_writer, written_format
from adept.errors import ConfigurationError, DataError

RECORDS = [{"text": "play a song", "intent": "music"}, {"text": "set; an, alarm", "intent": "alarm"}]
CSV = b'text,intent\nplay a song,music\n"set; an, alarm",alarm\n'
LINES = b'{"text": "play a song", "intent": "music"}\n{"text": "set; an, alarm", "intent": "alarm"}\n'
ARRAY = (
    b'\xef\xbb\xbf \n[{"text": "play a song", "intent": "music"},\n {"text": "set; an, alarm", "intent": "alarm"}]\n'
)


PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "gz": lambda content: gzip.compress(content, mtime=0),
    "bz2": bz2.compress,
    "xz": lzma.compress,
    "zst": lambda content: pyarrow.compress(content, codec="zstd", asbytes=True),
}
PACKERS |= {"gzip": PACKERS["gz"], "bzip2": PACKERS["bz2"], "zstd": PACKERS["zst"]}


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
        ("a.csv", b"\xef\xbb\xbfSep=,\r\n" + CSV, {}),
        ("a.csv", CSV.partition(b"\n")[2], {"columns": ["text", "intent"]}),
        ("a.csv", b'"intent","text"\nmusic,play a song\nalarm,"set; an, alarm"\n', {"columns": ["text", "intent"]}),
        ("a.json", ARRAY, {}),
        ("a.jsonl", ARRAY, {}),
        ("a.json", LINES, {}),
        ("a.json.gz", gzip.compress(ARRAY, mtime=0), {}),
        ("a.jsonl", gzip.compress(ARRAY, mtime=0), {}),
        *((name, pack(CSV[:20]) + pack(CSV[20:]), {}) for ending, pack in PACKERS.items() for name in ("a.csv", f"a.CSV.{ending}")),
        ("a", CSV.replace(b"text,", b"text\t").replace(b"song,", b"song\t").replace(b'alarm",', b'alarm"\t'), {"format": "tsv"}),
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


def test_folders_that_hold_a_column_are_answered_with_a_line(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """As Spark and others write partitions: their files lack the column, and its labels would be lost in silence."""
    for label in ("music", "alarm"):
        placed(tmp_path, f"intent={label}/part-0.csv", b"text\nplay a song\n")
    say_once.cache_clear()
    assert len(list(read_records(f"{tmp_path}/*/*.csv"))) == 2
    assert "folders such as intent=alarm hold a column's value, which is not read" in caplog.text


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
        (
            "a.csv",
            b"text;intent\nsecret, secret;x\n",
            "holds ';': add delimiter=semicolon for all csv files, or save it with ','",
        ),
        ("a.tsv", b'text\tintent\n"secret" song\tx\n', "quote opens a cell and is not closed, or not doubled"),
        ("a.csv", b'text,intent\n"secret,x\n', "quote opens a cell and is not closed, or not doubled"),
        ("a.csv", b'"text";"intent"\n"secret, secret";"x"\n', "holds ';': add delimiter=semicolon"),
        ("a.csv", b'text;"intent"\nsecret;"x"\n', "holds ';': add delimiter=semicolon"),
        ("a.csv", b'"text"\t"intent"\n"secret"\t"x"\n', "add delimiter=tab"),
        ("a.txt", b"version https://git-lfs.github.com/spec/v1\noid sha256:secret\n", "run git lfs pull"),
        ("a.csv", b"<!DOCTYPE html>\n<p>secret</p>\n", "is a document"),
        ("a.csv", b"text\tintent\nsecret\tx\n", "add delimiter=tab"),
        ("a.csv.gz", gzip.compress(b"text|intent\nsecret|x\n", mtime=0), "add delimiter=pipe"),
        ("a.tsv", b"text,intent\nsecret,x\n", "add delimiter=comma"),
        ("a.csv", b"PK\x03\x04secret", "is a spreadsheet, .*save it as csv"),
        ("a.jsonl", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1secret", "is a spreadsheet, .*save it as csv"),
        ("a.xlsx", b"PK\x03\x04secret", "is a spreadsheet, .*save it as csv"),
        ("a.XLS", b"secret", "is a spreadsheet, .*save it as csv"),
        ("a.csv", "text,intent\nsecret,x\n".encode("utf-16"), "is UTF-16: save it as UTF-8"),
        ("a.csv", b"PK\x03\x04secret", "zip archive: unpack it"),
        ("a.csv", b"7z\xbc\xafsecret", "compressed .*: unpack it, or compress it with gzip"),
        ("a.txt", b"\x04\x22\x4d\x18secret", "compressed .*: unpack it, or compress it with gzip"),
        ("a.zip", b"secret", "compressed .*: unpack it, or compress it with gzip"),
        *(
            (f"a.csv.{ending}", b"secret", "cannot read .*: damaged, or not compressed as")
            for ending in ("gz", "bz2", "xz", "zst")
        ),
        *((f"a.csv.{ending}", pack(CSV)[:-9], "cannot read .*: damaged") for ending, pack in PACKERS.items()),
        *((f"a.csv.{ending}", pack(CSV) + b"secret", "cannot read .*: damaged") for ending, pack in PACKERS.items()),
        *((f"a.csv.{ending}", pack(CSV) + pack(CSV)[:-9], "damaged") for ending, pack in PACKERS.items()),
        ("a.csv.xz", lzma.compress(b"PK\x03\x04secret"), "is a spreadsheet, .*save it as csv"),
        ("a.csv", b"%PDF-secret", "is a document, .*save its text as txt"),
        ("a.txt", b"ARROW1secret", "add format=arrow"),
        ("a.arrow", b"ARROW1secret", "no valid parquet or Arrow"),
        ("a.csv", b'text, "intent"\nsecret, "x"\n', "spaces before the quotes"),
        ("a.csv", b"", "has no records"),
        ("a.csv", b"\xef\xbb\xbf", "has no records"),
        ("a.json", b'{\n"text": "secret"\n}', "over several lines, which must stand on one line, or in an array"),
        ("a.txt", b"PAR1secret", "add format=parquet"),
        ("a.log", b"secret", "or give format="),
        ("a.json", b'[{"text": "secret"}', "ends inside its array"),
        ("a.json", b'[{"text": "secret"}] secret', "goes on after its array"),
        ("a.json", b'[{"text": "secret"}, secret]', "in record 2 .*no valid JSON"),
        ("a.txt", b'{"text": "secret"}\n', "is JSON: add format=jsonl, or format=txt if each line is a text"),
        ("a.txt", b'\xef\xbb\xbf[\n{"text": "secret"}\n]', "is JSON: add format=jsonl, or format=txt"),
        ("a.txt", CSV, "is a csv: add format=csv delimiter=comma, or format=txt if each line is a text"),
        ("a.txt", b"text\tintent\nsecret\tx\n", "is a csv: add format=csv delimiter=tab"),
        (
            "a.txt.gz",
            gzip.compress(CSV.replace(b"text", b"Utterance"), mtime=0),
            "is a csv: add format=csv delimiter=comma",
        ),
        ("a.csv", LINES, "is JSON: add format=jsonl"),
        ("a.csv", b'[{"text": "secret"}]', "is JSON: add format=jsonl"),
        *((f"a.{ending}", CSV, "is no JSON: add format=csv, tsv or txt") for ending in ("json", "jsonl", "ndjson")),
        ("a.jsonl", b'["secret"]', "in record 1 .not a JSON object such as"),
        *(
            (f"a.{ending}", CSV, "is no valid parquet or Arrow file")
            for ending in ("parquet", "arrow", "feather", "ipc")
        ),
        *((f"a.{ending}", b"secret", "save it as parquet, or as csv") for ending in ("orc", "avro", "PKL", "csv.db")),
        *(
            ("a.csv", head + b"secret", "save it as parquet")
            for head in (b"ORC", b"Obj\x01", b"SQLite format 3\0", b"FEA1")
        ),
        ("a.csv.Z", b"secret", "compressed .*: unpack it, or compress it with gzip"),
        (
            "a.csv",
            b'When,Q1\nStart,What?\n"{""ImportId"":""s""}","{""ImportId"":""Q""}"\nx,secret\n',
            "more rows of names below",
        ),
        (
            "a.csv",
            b"id,What?\n,Open-Ended Response\n1,secret\n",
            "more rows of names below its header, .*: remove them",
        ),
        ("a.txt", b'<?xml version="1.0"?>\n<a>secret</a>\n', "is a document, .*save its text as txt"),
        ("a.vtt", b"secret", "is a document, .*save its text as txt"),
        ("a.csv", b'text,intent\n"secret", "secret"\n', "in record 1 .spaces before a quote"),
        ("a.csv", b'intent,text\nx, "secret, secret"\n', "in record 1 .spaces before a quote"),
        (
            "a.csv",
            b"text,intent\nsecret, secret,x\n",
            "3 for 2 in the header; a cell that holds ',' must stand in quotes",
        ),
    ],
)
def test_a_file_that_its_options_do_not_fit_is_refused_with_advice(
    tmp_path: Path, name: str, content: bytes, message: str
) -> None:
    with pytest.raises(DataError, match=message) as caught:
        list(read_records(placed(tmp_path, name, content)))
    assert "secret" not in str(caught.value)


MARKED = {  # beginnings of files that tools of annotation, chats and mail write
    "training data of Rasa": ["version: \"3.1\"\nnlu:\n", "nlu:\n- intent: secret\n", "## intent:secret\n- hey\n"],
    "training data of fastText": ["__label__secret hello there\n", "__label__a __label__b secret\n"],
    "words with tags": ["-DOCSTART- -X- O O\n\n", "EU NNP B-NP B-ORG\nrejects VBZ B-VP O\n", "secret\tO\nsong\tB-song\n"],
    "subtitles": ["WEBVTT\n\n00:00.000 --> 00:01.000\nsecret\n", "1\r\n00:00:00,000 --> 00:00:02,000\r\nsecret\r\n"],
    "mail": ["From a@b.c Mon Jan  1 00:00:00 2026\nFrom: secret\n", "From: a@b.c\r\nTo: secret\r\n\r\nhello\r\n"],
    "a chat or log": [
        "[22.01.20, 10:00:00] Bob: secret\n", "06/10/18, 10:56 - Bob Ray: secret\n", "2026-01-01 10:00:00 [main] INFO a: secret\n",
        "\u200e[7/11/2017, 8:20:41\u202fPM] Bob: \u200esecret\n", "20/6/2017 8:28 p.\u00a0m. - Bob: secret\n",
    ],
    "cells with tabs between, which format=tsv columns=.* reads": [
        "secret\ta song\nx\tan alarm\n", "1\tThe\tDET\r\n2\tsong\tNOUN\r\n",
    ],
}  # fmt: skip
UNMARKED = [
    "from boston to denver\n", "From: boston\nto denver\n", "version 3 is out\n", "1\n2\n", "06/10/18 at 10:56 please\n",
    "[7 pm] is it late: or not\n", "O\nO\n", "play\ta song\nset an alarm\n", "## notes\n",
    "take the S-Bahn\nread my E-mail\n", "a B-12 vitamin\nan O\n", "\ta\n\tb\n",
]  # fmt: skip


@pytest.mark.parametrize(("name", "head"), [("a.txt", ""), ("a.csv", "text\r\n"), ("a.jsonl", "")])
@pytest.mark.parametrize("tolerant", [False, True])
def test_the_mark_at_the_end_of_a_file_of_dos_is_no_record(
    tmp_path: Path, name: str, head: str, tolerant: bool
) -> None:
    row = '{"text": "play a song"}' if name == "a.jsonl" else "play a song"
    content = f"{head}{row}\r\n{row}\r\n"
    plain, marked = (placed(tmp_path, f"{end}{name}", f"{content}{end}".encode()) for end in ("", "\x1a"))
    assert len(list(read_records(plain, tolerant=tolerant))) == 2
    assert list(read_records(marked, tolerant=tolerant)) == list(read_records(plain, tolerant=tolerant))


@pytest.mark.parametrize(("what", "content"), [(what, text) for what, texts in MARKED.items() for text in texts])
def test_a_txt_whose_lines_are_no_texts_is_refused_unless_an_option_says_so(
    tmp_path: Path, what: str, content: str
) -> None:
    location = placed(tmp_path, "a.txt", f"\ufeff\n{content * 3}".encode())
    with pytest.raises(DataError, match=f"no list of texts but {what}: write its texts into a csv") as caught:
        list(read_records(location))
    assert "secret" not in str(caught.value)
    assert what.partition(",")[0] in (mismatch(location, ReadingOptions()) or "")
    for given in ({"options": ReadingOptions(format="txt")}, {"tolerant": True}):
        assert len(list(read_records(location, **given))) > 2  # type: ignore[arg-type]


@pytest.mark.parametrize("content", UNMARKED)
def test_a_txt_of_texts_that_are_a_little_like_other_formats_is_read(tmp_path: Path, content: str) -> None:
    assert len(list(read_records(placed(tmp_path, "a.txt", content.encode())))) == content.count("\n")


def test_a_word_of_a_megabyte_costs_no_minute(tmp_path: Path) -> None:
    started = time.monotonic()
    assert len(list(read_records(placed(tmp_path, "a.txt", b"x" * 2**20 + b"\n" + b"x " * 2**19)))) == 2
    assert time.monotonic() - started < 20


@pytest.mark.parametrize("header", ["TEXT,Label", "Utterance,Intent", "id,text", "Intent,\ufeffQuery,"])
def test_a_header_of_other_names_than_columns_is_refused_and_no_record(tmp_path: Path, header: str) -> None:
    location, options = placed(tmp_path, "a.csv", f"{header}\nsecret,x\n".encode()), {"columns": ["text", "intent"]}
    with pytest.raises(DataError, match="begins like a header of other names than columns=: leave columns= out"):
        list(read_records(location, options=ReadingOptions(**options)))  # type: ignore[arg-type]
    assert len(list(read_records(location, options=ReadingOptions(**options), tolerant=True))) == 2  # type: ignore[arg-type]


def test_a_delimiter_that_the_header_contradicts_is_answered_with_the_right_one(tmp_path: Path) -> None:
    for name, character in (("comma", ","), ("tab", "\t"), ("semicolon", ";")):
        location = placed(tmp_path, "a.csv", f"text{character}intent\nsecret{character}x\n".encode())
        with pytest.raises(DataError, match=f"add delimiter={name} for all csv files"):
            list(read_records(location, options=ReadingOptions(delimiter="pipe")))
    location = placed(tmp_path, "a.csv", b'"text, of a call"\n"play, please"\n')
    assert [*read_records(location, options=ReadingOptions(delimiter="pipe"))] == [{"text, of a call": "play, please"}]


@pytest.mark.parametrize("ending", PACKERS)
def test_streams_of_a_packed_file_follow_each_other(tmp_path: Path, ending: str) -> None:
    lines = b"".join(b"text %d\n" % number for number in range(30_000))
    half = len(lines) // 2
    packed = PACKERS[ending](lines[:half]) + PACKERS[ending](lines[half:])
    found = [record["text"] for record in read_records(placed(tmp_path, f"a.txt.{ending}", packed))]
    assert found == lines.decode().splitlines()


def test_texts_that_look_like_another_format_are_texts_if_an_option_says_so(tmp_path: Path) -> None:
    for content in (LINES, CSV):
        location = placed(tmp_path, "a.txt", content)
        assert read_corpus(location, options=ReadingOptions(format="txt")).texts == content.decode().splitlines()
        assert mismatch(location, ReadingOptions())
        assert mismatch(location, ReadingOptions(format="txt")) is None
    for content in (b"message, mom\nplay a song\n", b"text, please\n", b"[a] text\n", b"{text}\n", b"text,intent"):
        assert read_corpus(placed(tmp_path, "a.txt", content)).texts == content.decode().splitlines()
    quoted = b'text,intent\n "play" it, say "x"\n'
    assert read_corpus(placed(tmp_path, "a.csv", quoted)).texts == [' "play" it']


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
def test_what_an_element_does_not_close_costs_later_elements_and_no_line_of_jsonl(
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
        ("o.log", {"format": "feather"}, "parquet"),
    ],
)
def test_an_output_is_written_as_its_name_says_or_else_like_the_input(
    target: str, options: dict[str, str], expected: str
) -> None:
    assert written_format(target, ReadingOptions(**options), ["in.tsv"]) == expected  # type: ignore[arg-type]


@pytest.mark.parametrize("ending", ["gz", "GZ", "gzip"])
def test_an_output_is_compressed_as_its_name_says(tmp_path: Path, ending: str) -> None:
    with record_writer(f"{tmp_path}/a.txt.{ending}", format="txt", columns=["text"]) as write:
        write([{"text": "a"}])
    assert gzip.decompress((tmp_path / f"a.txt.{ending}").read_bytes()) == b"a\n"
    for other in ("bz2", "bzip2", "zstd"):
        with pytest.raises(DataError, match="is read and not written"):
            written_format(f"a.txt.{other}", ReadingOptions(), [])


def test_an_output_is_never_a_spreadsheet_or_a_document() -> None:
    for name in ("o.arrow", "o.feather.gz", "o.csv.zst", "o.txt.bz2"):
        with pytest.raises(DataError, match="read and not written: write"):
            written_format(name, ReadingOptions(), ["in.csv"])
    with pytest.raises(DataError, match="is a document"):
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
    with pytest.raises(DataError, match=message) as caught:
        read_corpus(placed(tmp_path, name, content), text_column=column)
    assert "secret" not in str(caught.value)
    assert str(caught.value).startswith(f"no column named {column!r} in ")


def test_all_names_of_a_parquet_schema_are_listed(tmp_path: Path) -> None:
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


@pytest.mark.parametrize(
    ("there", "typed"), [("cafe\u0301.csv", "caf\xe9.csv"), ("Train.csv", "train.csv"), ("a.csv", " a.csv")]
)
def test_a_name_that_differs_in_what_is_not_seen_is_answered_with_the_one_there(
    tmp_path: Path, there: str, typed: str
) -> None:
    (tmp_path / there).write_bytes(CSV)
    with pytest.raises(DataError, match=re.escape(f"from {there!a}")):
        list(read_records(str(tmp_path / typed)))


SHEETS: dict[str, tuple[bytes, dict[str, object]]] = {
    "empty header cells at the end": (b"text,intent,,\nplay a song,music,,\nstop,alarm,,\n", {}),
    "an index without a name": (b",text,intent\n0,play a song,music\n1,stop,alarm\n", {}),
    "a header over two cells": (b"text,,intent\nplay a song,,music\nstop,,alarm\n", {}),
    "delimiters at the end of rows": (b"text,intent\nplay a song,music,\nstop,alarm,,,\n", {}),
    "rows without the last empty cells": (b"text,intent,,\nplay a song,music\nstop,alarm,\n", {}),
    "empty rows": (b",,\r\ntext,intent,\r\nplay a song,music,\r\n,,\r\n\r\nstop,alarm,\r\n,,\r\n,,\r\n", {}),
    "spaces around the names": (b"text , intent\nplay a song, music\nstop, alarm\n", {}),
    "invisible characters around the names": (
        "\ufeff\ufefftext\u00a0,\u200bintent\u200b\nplay a song,music\nstop,alarm\n".encode(),
        {},
    ),
    "a name in another case": (b"text,Intent\nplay a song,music\nstop,alarm\n", {}),
    "quotes and a byte order mark": (b'\xef\xbb\xbf"text","intent"\n"play a song","music"\n"stop","alarm"\n', {}),
    "a separator line with empty cells": (b"sep=,,\ntext,intent\nplay a song,music\nstop,alarm\n", {}),
    "line ends of an old Mac": (b"text,intent\rplay a song,music\rstop,alarm\r", {}),
    "no header, delimiters at the end": (b"play a song,music,\nstop,alarm,\n", {"columns": ["text", "intent"]}),
    "a header in another case beside columns=": (
        b"text,INTENT\nplay a song,music\nstop,alarm\n",
        {"columns": ["text", "intent"]},
    ),
    "a header again, where files were joined": (b"text,intent\nplay a song,music\ntext, intent\nstop,alarm\n", {}),
    "a record that holds one usual name": (b"play a song,music\nstop,alarm\n", {"columns": ["text", "intent"]}),
    "a header beside columns=": (b"text, intent,\nplay a song,music,\nstop,alarm,\n", {"columns": ["text", "intent"]}),
}


@pytest.mark.parametrize("name", SHEETS)
def test_a_csv_is_read_as_spreadsheets_write_it(tmp_path: Path, name: str) -> None:
    content, options = SHEETS[name]
    location = placed(tmp_path, "a.csv", content)
    corpus = read_corpus(location, options=ReadingOptions(**options))  # type: ignore[arg-type]
    assert (corpus.texts, corpus.labels) == (["play a song", "stop"], ["music", "alarm"])
    tolerant = list(read_records(location, tolerant=True, options=ReadingOptions(**options)))  # type: ignore[arg-type]
    assert [record["text"] for record in tolerant if record.get("text") not in (None, "text")] == corpus.texts


def test_cells_that_only_look_like_numbers_or_formulas_stay_as_they_are(tmp_path: Path) -> None:
    cells = ["1,234", "1.0", "12%", "2024-01-05", "#N/A", "'hello", " 7 "]
    content = "".join(f'"{cell}",x\n' for cell in cells)
    assert read_corpus(placed(tmp_path, "a.csv", f"text,intent\n{content}".encode())).texts == cells


def test_cells_of_columns_without_a_name_are_left_out_with_a_line(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    say_once.cache_clear()
    records = list(read_records(placed(tmp_path, "a.csv", b"text,,\nplay,secret,\nstop,,\n")))
    assert records == [{"text": "play"}, {"text": "stop"}]
    assert "columns without a name" in caplog.text
    assert "secret" not in caplog.text


@pytest.mark.parametrize(
    ("content", "said"), [(b'text\tn\n"play\t1\nstop\t2\nhold"\t3\n', True), (b'text\tn\n"play\na song"\t1\n', False)]
)
def test_a_cell_that_took_in_whole_rows_is_answered_with_a_line(
    content: bytes, said: bool, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    say_once.cache_clear()
    assert len(list(read_records(placed(tmp_path, "a.tsv", content)))) == 1
    assert ("lines that look like rows" in caplog.text) is said


def test_what_a_release_wrote_is_no_input_beside_other_files(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    say_once.cache_clear()
    for name in ("a.csv", "o.csv"):
        placed(tmp_path, name, CSV)
    placed(tmp_path, "o.csv.privacy.json", b"{}")
    for location in (str(tmp_path), f"{tmp_path}/*.csv"):
        assert list(read_records(location)) == RECORDS
    assert "o.csv (the output of a release)" in caplog.text
    (tmp_path / "a.csv").unlink()
    assert list(read_records(str(tmp_path))) == RECORDS


@pytest.mark.parametrize("renamed", ["o.csv.gz", "january.csv"])
def test_a_statement_whose_output_has_another_name_now_is_told(
    renamed: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    say_once.cache_clear()
    for name in ("a.csv", "o.csv", "o.csv.privacy.json"):
        placed(tmp_path, name, CSV)
    for location in (str(tmp_path), f"{tmp_path}/*.csv"):
        ReadingOptions().find_files(location)
        assert "is of a file that is not there" not in caplog.text
    (tmp_path / "o.csv").rename(tmp_path / renamed)
    ReadingOptions().find_files(str(tmp_path))
    assert f"{tmp_path}/o.csv.privacy.json is of a file that is not there: if {tmp_path} holds it" in caplog.text


def test_what_an_interrupted_release_keeps_is_no_input(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    say_once.cache_clear()
    for name in ("a", "o.csv.journal", "o.csv.journal-wal", "o.csv.partial", "o.csv.privacy.json.partial"):
        placed(tmp_path, name, CSV)
    for location in (str(tmp_path), f"{tmp_path}/*"):
        assert list(read_records(location, options=ReadingOptions(format="csv"))) == RECORDS
    assert "o.csv.journal-wal (the output of a release)" in caplog.text


def test_standard_input_begins_where_a_shell_has_left_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    handle = os.open(placed(tmp_path, "in", b"a note\n" + CSV), os.O_RDONLY)
    os.lseek(handle, len("a note\n"), os.SEEK_SET)
    monkeypatch.setattr(os, "dup", lambda _: handle)
    assert list(read_records("-", options=ReadingOptions(format="csv"))) == RECORDS


def test_a_directory_holds_no_file_twice(tmp_path: Path) -> None:
    placed(tmp_path, "a.csv", CSV)
    placed(tmp_path, "a.CSV.gz", gzip.compress(CSV, mtime=0))
    with pytest.raises(DataError, match=r"a\.CSV\.gz and a\.csv, which may be the same records: name one of them"):
        list(read_records(str(tmp_path)))
    assert list(read_records(f"{tmp_path}/a*")) == RECORDS * 2
    (tmp_path / "a.CSV.gz").unlink()
    (tmp_path / "b.csv").symlink_to("a.csv")
    with pytest.raises(DataError, match=r"a\.csv and .*b\.csv are one file"):
        list(read_records(str(tmp_path)))


@pytest.mark.parametrize("mark", ["d/_delta_log/0.json", "d/.hoodie/x", "metadata/v1.metadata.json", "d/_temporary/0"])
@pytest.mark.parametrize("name", ["d/a.csv", "d/day=1/hour=2/a.csv"])
def test_files_of_a_table_with_versions_are_refused_in_a_pattern_too(tmp_path: Path, mark: str, name: str) -> None:
    """Such files also have rows that somebody has removed from the table."""
    pattern = placed(tmp_path, name, CSV).replace("a.csv", "*.csv")
    assert list(read_records(pattern)) == RECORDS
    placed(tmp_path, mark, b"{}")
    with pytest.raises(DataError, match=f"{tmp_path}/d holds .*, whose files may have rows that are not in it"):
        list(read_records(pattern))
    assert list(read_records(f"{tmp_path}/{name}")) == RECORDS


@pytest.mark.parametrize("location", ["d", "d/*.csv"])
def test_what_is_no_file_or_not_there_is_named_and_never_left_out(tmp_path: Path, location: str) -> None:
    """A link without its file is what git-annex leaves of a file that was not fetched."""
    placed(tmp_path, "d/a.csv", CSV)
    (tmp_path / "d" / "b.csv").symlink_to("elsewhere.csv")
    with pytest.raises(
        DataError, match=r"cannot read .*b\.csv, for it does not exist: correct .*, or what it links to"
    ):
        list(read_records(f"{tmp_path}/{location}"))
    (tmp_path / "d" / "b.csv").unlink()
    os.mkfifo(tmp_path / "d" / "b.csv")
    with pytest.raises(DataError, match=r"b\.csv is a device, a pipe or a socket"):
        list(read_records(f"{tmp_path}/{location}"))


def test_many_files_of_a_directory_are_found_in_one_pass(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compared, equal = [0], Path.__eq__

    def counted(path: Path, other: object) -> bool:
        compared[0] += 1
        return equal(path, other)

    for number in range(100):
        placed(tmp_path, f"{number}.csv", CSV)
    monkeypatch.setattr(Path, "__eq__", counted)
    assert len(data_files(str(tmp_path), None)[0]) == 100
    assert compared[0] < 1000


COPIES = [
    "a (1)", "a (12)", "a - Copy", "a - Copy (2)", "a copy", "a copy 2", "Copy of a", "Kopie von a", "a - Kopie", "a (copy)",
    "a (another copy)", "a (3rd copy)", "a.bak", "a_backup", "a.orig", "a_copy", "a - Copie", "a - copia (2)", "a (copie)",
    "a (Ann's conflicted copy 2026-01-02)", "a (conflicted copy 2026-01-02 120000)", "a.sync-conflict-20260102-120000-ABCDEFG",
]  # fmt: skip


@pytest.mark.parametrize("copy", COPIES)
def test_a_file_called_like_the_copy_of_another_is_refused_in_a_directory(tmp_path: Path, copy: str) -> None:
    for name in ("a.csv", f"{copy}.csv"):
        placed(tmp_path, name, CSV)
    with pytest.raises(DataError, match="which may be the same records: name one of them, or both by a pattern"):
        list(read_records(str(tmp_path)))
    assert list(read_records(f"{tmp_path}/*.csv")) == RECORDS * 2
    (tmp_path / "a.csv").rename(tmp_path / "b.csv")
    assert list(read_records(str(tmp_path))) == RECORDS * 2


TABLE = Path(__file__).parents[2] / "docs" / "operation.md"
ROWS = re.findall(r"^\| (.+?) \| (read|refused) \|", TABLE.read_text("utf-8"), re.MULTILINE)
TEXTS = ["play a song", "set an alarm"]
LABELLED = {"text": TEXTS, "intent": ["a", "b"]}


def file_content(ending: str, columns: dict[str, list[object]] | None = None) -> bytes:
    table = pyarrow.table(columns or LABELLED)
    if ending in ("jsonl", "ndjson", "json", "csv", "tsv", "txt", "parquet"):
        kind = {"ndjson": "jsonl", "tsv": "csv:tab"}.get(ending, ending)
        with TemporaryDirectory() as place:
            with record_writer(f"{place}/a", format=kind, columns=table.column_names) as write:
                write(table.to_pylist())
            return Path(place, "a").read_bytes()
    stream = pyarrow.BufferOutputStream()
    if ending == "feather":
        feather.write_feather(table, stream)
    else:
        with (ipc.new_file if ending == "ipc" else ipc.new_stream)(stream, table.schema) as writer:
            writer.write_table(table)
    return stream.getvalue().to_pybytes()


def save_to_disk(place: Path) -> str:
    datasets.disable_progress_bars()
    datasets.Dataset.from_dict(LABELLED).save_to_disk(str(place / "saved"))
    return str(place / "saved")


def class_label(place: Path) -> str:
    described = {"info": {"features": {"intent": {"_type": "ClassLabel", "names": ["a", "b"]}}}}
    table = pyarrow.table({"text": TEXTS, "intent": [0, 1]})
    parquet.write_table(table.replace_schema_metadata({"huggingface": json.dumps(described)}), place / "a.parquet")
    return str(place / "a.parquet")


Case = tuple[str, dict[str, str]]
CASES: dict[str, Callable[[Path], str | Case]] = {
    "a directory": lambda place: placed(place, "d/b.csv", CSV).removesuffix("/b.csv"),
    "a directory that `save_to_disk` wrote": save_to_disk,
    "`.parquet` or Arrow with a `ClassLabel` of `datasets`": class_label,
    "a pattern such as `'logs/*.jsonl'`": lambda place: placed(place, "logs/a.jsonl", LINES).replace("a.jsonl", "*.jsonl"),
    "`-`": lambda place: ("-", {"format": "csv"}),
    "a file without extension, with `format=`": lambda place: (placed(place, "a", CSV), {"format": "csv"}),
    "a csv with empty cells to the right": lambda place: placed(place, "a.csv", b"text,,\nplay a song,,\nset an alarm,,\n"),
    "a csv with rows of empty cells": lambda place: placed(place, "a.csv", b"text,n\nplay a song,1\n,\nset an alarm,2\n,\n"),
    "a csv with its header twice, as joined files have it": lambda place: placed(place, "a.csv", b"text,n\na,1\ntext,n\nb,2\n"),
    "a csv with spaces around its names": lambda place: placed(place, "a.csv", b"n , text\n1,play a song\n2,set an alarm\n"),
    "a number in the text column": lambda place: placed(place, "a.jsonl", b'{"text": 7}\n{"text": "x"}\n'),
    "10,000 columns": lambda place: placed(
        place, "a.csv", f"text,{','.join(map(str, range(10_000)))}\nplay{',1' * 10_000}\n".encode()
    ),
    "100,000 labels": lambda place: placed(
        place, "a.csv", ("text,intent\n" + "".join(f"play,{i}\n" for i in range(100_000))).encode()
    ),
    "a label of 10,000 letters": lambda place: placed(place, "a.csv", f"text,intent\nplay,{'x' * 10_000}\n".encode()),
    "JSON, or a csv with a header, in a `.txt` file": lambda place: placed(place, "a.txt", CSV),
    "a chat, subtitles, mail or data of Rasa in a `.txt` file": lambda place: placed(place, "a.txt", b"WEBVTT\n"),
    "an address such as `https://`": lambda place: "https://example.org/a.csv",
    "a file without extension": lambda place: placed(place, "a", CSV),
    "a file in UTF-16": lambda place: placed(place, "a.csv", CSV.decode().encode("utf-16")),
    "an empty file": lambda place: placed(place, "a.csv", b""),
    "a csv with one name for two columns": lambda place: placed(place, "a.csv", b"text,n,n\na,b,c\n"),
    "a pointer of Git LFS": lambda place: placed(place, "a.csv", b"version https://git-lfs.github.com/spec/v1\noid sha256:4d\n"),
    "a directory with `a.csv` and `a.csv.gz`": lambda place: placed(
        place, "d/a.csv.gz", (placed(place, "d/a.csv", CSV) and gzip.compress(CSV))
    ).removesuffix("/a.csv.gz"),
    "a directory with `a.csv` and `a (1).csv`, or `a - Copy.csv`": lambda place: placed(
        place, "d/a (1).csv", (placed(place, "d/a.csv", CSV) and CSV)
    ).rpartition("/")[0],
    "a directory of directories": lambda place: placed(place, "d/e/a.csv", CSV).removesuffix("/e/a.csv"),
    "a directory of Delta Lake, Hudi or Iceberg": lambda place: placed(
        place, "d/a.csv", placed(place, "d/_delta_log/0.json", b"{}") and CSV
    ).removesuffix("/a.csv"),
    "a directory into which a job of Spark still writes": lambda place: placed(
        place, "d/a.csv", placed(place, "d/_temporary/0/b.csv", CSV) and CSV
    ).removesuffix("/a.csv"),
    "a pipe, a device or a socket in a directory": lambda place: placed(
        place, "d/a.csv", os.mkfifo(Path(placed(place, "d/b", b"")).with_suffix(".csv")) or CSV
    ).removesuffix("/a.csv"),
    "parts `-of-00002` of which one is missing": lambda place: placed(place, "d/train-00000-of-00002.csv", CSV).rpartition("/")[0],
}  # fmt: skip


@pytest.mark.parametrize(("row", "result"), ROWS)
def test_the_table_of_files_is_true_row_by_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, row: str, result: str
) -> None:
    endings = re.findall(r"`\.(\w+)`", row)
    made: list[str | Case] = [CASES[row](tmp_path)] if row in CASES else []
    for ending in [] if made else endings:
        content = b"x" if result == "refused" else PACKERS[ending](CSV) if ending in PACKERS else file_content(ending)
        made.append(placed(tmp_path, f"a.csv.{ending}" if ending in PACKERS else f"a.{ending}", content))
    assert made
    for case in made:
        location, options = (case, {}) if isinstance(case, str) else case
        if location == "-":
            handle = os.open(placed(tmp_path, "stdin", CSV), os.O_RDONLY)
            monkeypatch.setattr(os, "dup", lambda _, handle=handle: handle)
        if result == "refused":
            with pytest.raises(DataError, match=r": \w"):
                read_corpus(location, options=ReadingOptions(**options))
        else:
            assert len(read_corpus(location, options=ReadingOptions(**options))) >= 1
            if location != "-":
                assert list(read_records(location, tolerant=True, options=ReadingOptions(**options)))


def test_the_table_of_files_lists_every_ending_and_every_case() -> None:
    read = {ending for row, result in ROWS if result == "read" for ending in re.findall(r"`\.(\w+)`", row)}
    assert read == {*ENDINGS, *COMPRESSIONS}
    assert {row for row, _ in ROWS} >= set(CASES)


NUMBERS = [7, 1.0, 12.5, True, datetime.date(2024, 1, 5)]
SPELLED = ["7", "1", "12.5", "true", "2024-01-05"]


@pytest.mark.parametrize("value", range(len(NUMBERS)))
def test_a_number_in_a_text_column_is_its_digits_in_every_format(tmp_path: Path, value: int) -> None:
    for ending in ("jsonl", "json", "parquet", "arrow", "ipc", "feather"):
        if ending in ("jsonl", "json") and value == 4:
            continue
        if ending == "parquet":
            parquet.write_table(pyarrow.table({"text": [NUMBERS[value]]}), tmp_path / "a.parquet")
        else:
            placed(tmp_path, f"a.{ending}", file_content(ending, {"text": [NUMBERS[value]]}))
        assert read_corpus(str(tmp_path / f"a.{ending}")).texts == [SPELLED[value]]
    with pytest.raises(DataError, match="must be strings"):  # a list of a program is no file
        text_list(["play", NUMBERS[value]])


def test_files_without_data_in_a_directory_are_named_in_one_line(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    for name in ("a.csv", "notes.docx", "b.csv.bak", "README.md", "state.json", "_SUCCESS"):
        placed(tmp_path, f"d/{name}", CSV)
    assert len(list(read_records(str(tmp_path / "d")))) == 2
    assert [record.getMessage() for record in caplog.records] == [
        f"adept: in {tmp_path / 'd'}, these are not read: b.csv.bak, notes.docx"
    ]


@pytest.mark.parametrize(
    ("names", "missing"),
    [
        (("a-00000-of-00002.csv",), "without a-00001-of-00002.csv: add what is missing, or read file by file"),
        (
            ("c4.00002-of-00003.csv.gz", "c4.00000-of-00003.csv.gz"),
            "2 of the 3 parts of c4.csv.gz, without c4.00001-of",
        ),
        (("a-00002-of-00002.csv",), "without a-00001-of-00002.csv"),
        (("b/a-0-of-2.csv", "a-0-of-2.csv", "a-1-of-2.csv"), "b gives 1 of the 2 parts"),
        (tuple(f"a-0{i}-of-02-{i}123456789abcdef.csv" for i in range(2)), None),
        (("a-1-of-2.csv", "a-2-of-2.csv", "b/x.csv"), None),
        (("a-0-of-1.csv", "a-0-of-1-0123456789abcdef.csv"), "2 of the 1 parts of a.csv: remove the surplus"),
        (("a-0-of-1.csv", "a-0-of-2.csv", "a-1-of-2.csv"), "3 of the 2 parts of a.csv: remove the surplus, such as"),
        (
            ("a-2-of-2.csv", "a-1-of-2.csv", "a-1-of-10.csv"),
            "3 of the 10 parts of a.csv, without a-0-of-10.csv, a-2-of",
        ),
    ],
)
def test_a_pattern_with_missing_parts_is_refused_and_names_them(
    tmp_path: Path, names: tuple[str, ...], missing: str | None
) -> None:
    for name in names:
        placed(tmp_path, name, gzip.compress(CSV) if name.endswith("gz") else CSV)
    if missing is None:
        assert len(read_corpus(str(tmp_path / "**" / "*.csv"))) == 2 * len(names)
    else:
        with pytest.raises(DataError, match=missing):
            read_corpus(str(tmp_path / "**" / "*.csv*"))
        assert read_corpus(str(tmp_path / names[0]))  # one file that is named is read


@pytest.mark.parametrize("names", ["[a.csv,b.csv]", "{a,b}.csv", "a.csv,b.csv", "a.csv b.csv", "['a.csv', 'b.csv']"])
def test_a_list_of_files_is_answered_with_what_works(tmp_path: Path, names: str) -> None:
    for name in ("a.csv", "b.csv"):
        placed(tmp_path, name, CSV)
    with pytest.raises(
        DataError, match=r"; to read several files, give their directory or a pattern such as '\*\.csv'$"
    ):
        read_corpus(str(tmp_path / names))
    placed(tmp_path, names, CSV)
    assert len(read_corpus(str(tmp_path / names), options=ReadingOptions(format="csv"))) == 2
    with pytest.raises(DataError, match=r"correct its name$"):
        read_corpus(str(tmp_path / "my file.csv"))


@pytest.mark.parametrize(
    ("own", "typed"), [("cafe\u0301", "caf\u00e9"), ("caf\u00e9", "cafe\u0301"), ("Größe", "größe")]
)
@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_a_column_whose_accents_are_written_in_another_way_is_named(
    tmp_path: Path, own: str, typed: str, ending: str
) -> None:
    place = tmp_path / f"a.{ending}"
    if ending == "parquet":
        parquet.write_table(pyarrow.table({own: ["play"], "intent": ["x"]}), place)
    else:
        content = {"csv": f"{own},intent\nplay,x\n", "jsonl": json.dumps({own: "play", "intent": "x"}) + "\n"}[ending]
        placed(tmp_path, place.name, content.encode())
    with pytest.raises(DataError, match=f"add text_column={own}, whose case, spaces or accents"):
        read_corpus(str(place), text_column=typed)
    assert read_corpus(str(place), text_column=own).texts == ["play"]


@pytest.mark.parametrize("encoding", ["utf-32", "utf-16"])
def test_a_file_in_another_unicode_encoding_is_refused_by_its_name(tmp_path: Path, encoding: str) -> None:
    with pytest.raises(DataError, match=f"is {encoding.upper()}: save it as UTF-8$"):
        read_corpus(placed(tmp_path, "a.csv", CSV.decode().encode(encoding)))


def test_a_link_that_leads_nowhere_is_no_other_spelling_of_its_own_name(tmp_path: Path) -> None:
    (tmp_path / "a.csv").symlink_to("nowhere.csv")
    with pytest.raises(DataError, match=r"does not exist: correct its name, or what it links to$"):
        read_corpus(str(tmp_path / "a.csv"))
