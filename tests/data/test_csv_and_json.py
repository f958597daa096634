"""One row of a file changes its own record alone, whatever it holds."""

import gzip
import json
import random
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from adept.data import csv_files, formats, json_files
from adept.data.csv_files import BARE, CELL_BEGINS, QUOTE_IN_QUOTED, QUOTED, state_after
from adept.data.reading import ReadingOptions, read_records

MARK = "\ufeff".encode()
PIECES = [
    b'"', b'""', b",", b"\n", b"\r", b"\r\n", b"a", b"play", b"C1,play,x\n", b'"C1",play,x\r', b"\0", MARK, b"\xff",
    b"\xe3\x80", b"\xf0\x9f", b"'", b"'=1", b";", b"\\", b" ", "é".encode(), b'"C"z,"', b"{", b"}", b"[", b"]",
    b'{"text": "a"}', b'{"text": "', b'"}', b"\xc2\x85",
]  # fmt: skip
PLAIN = {"csv": b"C%d,play,x\n", "txt": b"text %d\n", "jsonl": b'{"text": "%d"}\n'}
HEADER = {"csv": b"who,text,intent\n", "txt": b"", "jsonl": b""}


def slow_state(text: str, delimiter: str = ",") -> str:
    """Return the state after a text by the rule of ``csv_files``, one character after the other."""
    state = CELL_BEGINS
    for sign in text:
        if state == QUOTED:
            state = QUOTE_IN_QUOTED if sign == '"' else QUOTED
        elif sign == '"' and state in (CELL_BEGINS, QUOTE_IN_QUOTED):
            state = QUOTED
        else:
            state = CELL_BEGINS if sign == delimiter else BARE
    return state


def read(directory: Path, name: str, content: bytes, **options: object) -> Counter[str]:
    """Return the multiset of the records that a tolerant reader finds."""
    (directory / name).write_bytes(gzip.compress(content, 1) if name.endswith(".gz") else content)
    records = read_records(str(directory / name), tolerant=True, options=ReadingOptions(**options))
    return Counter(repr(sorted(record.items())) for record in records)


def whole_row(kind: str, content: bytes) -> bytes:
    """Return the first row of some bytes, with a line end; nothing if its quotes do not close."""
    text = content.decode("utf-8", "surrogateescape")
    begin = 1 if text.startswith("\ufeff") else 0
    for place, sign in enumerate(text):
        if place >= begin and sign in "\r\n" and (kind != "csv" or slow_state(text[begin:place]) != QUOTED):
            return text[: place + 1].encode("utf-8", "surrogateescape")
    text = text if kind != "csv" or slow_state(text[begin:]) != QUOTED else ""
    return text.encode("utf-8", "surrogateescape") + b"\n"


@pytest.fixture(params=[(2**20, 2**24), (3, 20)], ids=["usual limits", "limits of a few characters"])
def limits(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Set how many characters are read together, and how many a row may have."""
    piece, longest = request.param
    monkeypatch.setattr(csv_files, "PIECE_CHARACTERS", piece)
    for module in (csv_files, formats):
        monkeypatch.setattr(module, "MAX_CHARACTERS", longest)


def rows(kind: str) -> st.SearchStrategy[bytes]:
    """Draw rows of any kind, many of them damaged."""
    return st.lists(st.sampled_from(PIECES), max_size=12).map(lambda parts: whole_row(kind, b"".join(parts)))


@pytest.mark.usefixtures("limits")
@pytest.mark.parametrize("name", ["a.csv", "a.txt", "a.jsonl", "a.csv.gz", "without header.csv"])
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_row_changes_its_own_record_alone(tmp_path: Path, name: str, data: st.DataObject) -> None:
    kind = name.removesuffix(".gz").rpartition(".")[2]
    options = {"columns": ["who", "text", "intent"]} if name.startswith("without") else {}
    header = b"" if options else HEADER[kind]
    before, after = (data.draw(st.lists(rows(kind), max_size=4)) for _ in "ab")
    row = data.draw(rows(kind))
    content = [b"".join(part) for part in (before, after)]
    alone = read(tmp_path, name, header + row, **options)
    less = read(tmp_path, name, header + content[0] + content[1], **options)
    assert read(tmp_path, name, header + content[0] + row + content[1], **options) == less + alone
    assert alone.total() <= 1


@settings(max_examples=500, deadline=None)
@given(
    parts=st.lists(st.sampled_from(['"', '""', ",", "a", "\n", "\r", ";", "bc", '"a"', '"a",']), max_size=20),
    cut=st.integers(0, 30),
)
def test_the_state_of_a_row_is_that_of_the_rule_wherever_the_row_is_cut(parts: list[str], cut: int) -> None:
    text = "".join(parts)
    assert state_after(text, ",") == slow_state(text)
    assert state_after(state_after(text[:cut], ",") + text[cut:], ",") == slow_state(text)
    assert state_after(text, ";") == slow_state(text, ";")


BIG = {
    "quoted line ends": lambda size: b'"' + b"C1,play,x\n" * (size // 10) + b'",play,x\n',
    "text after a closing quote": lambda size: b'"C"z,"' + b"\nC1,play,x" * (size // 10) + b'"\n',
    "quotes alone": lambda size: b'"' * (size // 2 * 2) + b"\n",
    "quoted cells": lambda size: b'"a",' * (size // 4) + b"\n",
    "no line end": lambda size: b"a" * size,
    "NUL": lambda size: b"\0" * size + b"\n",
    "a quote in a bare cell": lambda size: b'5" pipe,' + b"a" * size + b",x\n",
}  # fmt: skip


@pytest.mark.parametrize("size", [2**12, pytest.param(2**25, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", list(BIG))
def test_a_row_of_any_length_changes_its_own_record_alone(tmp_path: Path, name: str, size: int) -> None:
    row = BIG[name](size)
    more = read(
        tmp_path, "a.csv", HEADER["csv"] + b"A,play,x\n" + row + (b"" if name == "no line end" else b"B,play,x\n")
    )
    less = read(tmp_path, "a.csv", HEADER["csv"] + b"A,play,x\n" + (b"" if name == "no line end" else b"B,play,x\n"))
    assert (more - less).total() == 1
    assert not less - more


def test_a_quote_that_is_never_closed_takes_what_follows_and_nothing_before(tmp_path: Path) -> None:
    found = read(tmp_path, "a.csv", HEADER["csv"] + b'A,play,x\n"C,play,x\n' + b"B,play,x\n" * 10)
    assert found == read(tmp_path, "a.csv", HEADER["csv"] + b"A,play,x\n") + Counter(["[]"])


def test_a_quote_in_a_bare_cell_is_a_character(tmp_path: Path) -> None:
    found = read(tmp_path, "a.csv", HEADER["csv"] + b'C,5" pipe,x\nD,play,x\n')
    assert found == Counter(
        [repr(sorted({"who": w, "text": t, "intent": "x"}.items())) for w, t in [("C", '5" pipe'), ("D", "play")]]
    )


@pytest.mark.parametrize("name", ["a.csv", "a.txt", "a.jsonl", "a.txt.gz"])
@pytest.mark.parametrize("tolerant", [False, True])
def test_a_byte_order_mark_is_dropped_where_any_row_begins(tmp_path: Path, name: str, tolerant: bool) -> None:
    kind = name.removesuffix(".gz").rpartition(".")[2]
    lines = [line for line in (HEADER[kind], PLAIN[kind] % 1, PLAIN[kind] % 2) if line]
    for marked, content in ((True, MARK + MARK.join(lines)), (False, b"".join(lines))):
        path = tmp_path / f"{marked}{name}"
        path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    plain, marked = ([*read_records(str(tmp_path / f"{way}{name}"), tolerant=tolerant)] for way in (False, True))
    assert marked == plain
    assert len(plain) == 2


def test_bytes_that_are_no_utf_8_never_merge_with_the_next_row(tmp_path: Path) -> None:
    row = b"a\xf0\x9f\x98\n"
    for name in ("a.txt", "a.csv"):
        header = b"text\n" if name == "a.csv" else b""
        for shift in range(8):
            padding = b"x" * (8192 - len(header) - 4 + shift)
            found = read(tmp_path, name, header + padding + b"\n" + row + b"b\n")
            assert found == read(tmp_path, name, header + padding + b"\nb\n") + read(tmp_path, name, header + row)


def elements() -> st.SearchStrategy[bytes]:
    """Elements of an array: valid JSON of any kind, and what is none although its strings and brackets close."""
    values = st.recursive(
        st.none() | st.integers() | st.text('a"\\,[]{}\n', max_size=5),
        lambda inner: st.lists(inner, max_size=2),
        max_leaves=4,
    )
    return st.one_of(
        values.map(lambda value: json.dumps({"text": value}).encode()),
        values.map(lambda value: json.dumps(value).encode()),
        st.sampled_from([b"a b", b"{}", b"{1}", b'{"a": 1, "a": 2}', b'{"text": 1e9}', b"NaN", b'{"a"}']),
    )


@pytest.mark.parametrize("part", [2**16, 2])
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(before=st.lists(elements(), max_size=3), element=elements(), after=st.lists(elements(), max_size=3))
def test_an_element_of_an_array_changes_its_own_record_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, part: int, before: list[bytes], element: bytes, after: list[bytes]
) -> None:
    monkeypatch.setattr(json_files, "PART_CHARACTERS", part)
    array: Callable[[list[bytes]], bytes] = lambda found: b" [" + b",\n".join(found) + b"]\n"  # noqa: E731
    more, less = (read(tmp_path, "a.json", array(found)) for found in ([*before, element, *after], [*before, *after]))
    assert more == less + read(tmp_path, "a.json", array([element]))


def test_an_element_that_is_too_long_is_skipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_files, "MAX_CHARACTERS", 30)
    monkeypatch.setattr(json_files, "PART_CHARACTERS", 4)
    long = b'{"text": "' + b'\\"],[{\\\\' * 30 + b'"}'
    found = read(tmp_path, "a.json", b'[{"text": "a"},' + long + b',{"text": "b"}]')
    assert found == Counter(["[('text', 'a')]", "[]", "[('text', 'b')]"])


def endings(seed: int) -> Iterator[bytes]:
    """Draw mixed line ends of all kinds."""
    rng = random.Random(seed)
    while True:
        yield rng.choice([b"\n", b"\r", b"\r\n"])


@pytest.mark.parametrize("kind", list(PLAIN))
def test_mixed_line_ends_end_rows_in_every_format(tmp_path: Path, kind: str) -> None:
    lines = [PLAIN[kind] % number for number in range(50)]
    content = HEADER[kind] + b"".join(line.strip() + end for line, end in zip(lines, endings(1), strict=False))
    assert read(tmp_path, f"a.{kind}", content) == read(tmp_path, f"a.{kind}", HEADER[kind] + b"".join(lines))


A, B = "[('text', 'a')]", "[('text', 'b')]"


@pytest.mark.parametrize("damage", [b'{"text": "x"}]', b'{"text": "x"}}', b"]", b"]]}", b'{"text": ]}'])
@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_bracket_that_closes_too_much_damages_its_own_element_alone(
    tmp_path: Path, damage: bytes, place: int
) -> None:
    elements = [b'{"text": "a"}', b'{"text": "b"}']
    elements.insert(place, damage)
    assert read(tmp_path, "a.json", b"[" + b",\n".join(elements) + b"]\n") == Counter([A, "[]", B])


def test_an_array_that_does_not_end_keeps_its_elements(tmp_path: Path) -> None:
    assert read(tmp_path, "a.json", b'[{"text": "a"},\n{"text": "b"}') == Counter([A, B])
