"""A label is its text, whatever spells it; label sets hold each label once, on the command line and in files."""

import unicodedata
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adept.data.corpus import read_corpus, read_label_descriptions, read_label_set
from adept.data.texts import label_of, label_set_of, plain_text, say_once
from adept.errors import AdeptError, ConfigurationError, DataError

VALUES = st.one_of(
    st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=4),
    st.integers(-3, 3),
    st.floats(),
    st.booleans(),
    st.none(),
    st.just("1.0"),
    st.binary(max_size=2),
)


def spelled(value: Any) -> str | None:
    try:
        return label_of({"intent": value}, "intent", number=1)
    except DataError:
        return None


@given(VALUES, st.lists(VALUES, max_size=5))
def test_the_label_of_a_record_is_a_function_of_its_own_value(value: Any, others: list[Any]) -> None:
    """Among any other records, with any other columns and at any place, a value becomes the same text."""
    among = [spelled(other) for other in [*others, value, *others]]
    assert among[len(others)] == spelled(value) == plain_text(value)
    for number in (1, 7):
        if (text := plain_text(value)) is not None:
            assert label_of({"intent": value, "other": others}, "intent", number=number) == text


@pytest.mark.parametrize(
    "spellings",
    [
        (1, 1.0, "1", "1.0", " 1\t", np.int32(1), np.float64(1)),
        (True, "true", np.bool_(True)),
        ("Müsik", unicodedata.normalize("NFD", "Müsik"), "Müsik ", "\u00a0Müsik"),
        (0, -0.0, "0.0", "-0.0"),
    ],
)
def test_spellings_of_one_label_are_one_text(spellings: tuple[Any, ...]) -> None:
    assert len({label_of({"intent": value}, "intent", number=1) for value in spellings}) == 1


@pytest.mark.parametrize("text", ["1.5", "01.0", "1.00.0", "1.", "v1.0", "1,0", "+1.0", "1e0", "٣.0"])
def test_other_text_of_digits_stays_as_it_is(text: str) -> None:
    assert plain_text(text) == text


@pytest.mark.parametrize("missing", [None, "", "  ", float("nan")])
def test_a_record_without_a_label_is_named_by_its_number(missing: Any) -> None:
    with pytest.raises(DataError, match="record 7 has no label in column 'intent': give such records one"):
        label_of({"intent": missing}, "intent", number=7)


@pytest.mark.parametrize("value", [0.5, float("inf"), ["SECRET"], {"SECRET": 1}, b"SECRET"])
def test_a_label_without_a_text_is_named_by_its_type_and_not_repeated(value: Any) -> None:
    with pytest.raises(DataError, match=f"must hold labels .*, got {type(value).__name__} in record 7") as caught:
        label_of({"intent": value}, "intent", number=7)
    assert "SECRET" not in str(caught.value)


@pytest.mark.parametrize("labels", [["1", 1.0], ["a", " a"], ["é", "e\u0301"], [True, "true"]])
def test_two_entries_that_become_one_label_are_refused(labels: list[Any]) -> None:
    with pytest.raises(ConfigurationError, match="entries 1 and 2 are both"):
        label_set_of(labels)


@pytest.mark.parametrize("labels", [["a", ""], ["a", None], ["a", 0.5], ["a", "b\ud800"], "ab", b"ab", 3])
def test_an_option_that_is_no_list_of_labels_is_refused(labels: Any) -> None:
    with pytest.raises(ConfigurationError, match="label_set must"):
        label_set_of(labels)


def test_a_file_holds_a_label_on_each_line_of_any_kind(tmp_path: Path) -> None:
    file = tmp_path / "my labels.txt"
    file.write_bytes(b"\xef\xbb\xbffare\r\n\r\n  flight time \r\nre\xcc\x81servation\r\n1.0")
    assert read_label_set([f"@{file}"]) == ("fare", "flight time", "réservation", "1")


def test_twenty_thousand_labels_fit_into_a_file(tmp_path: Path) -> None:
    file = tmp_path / "labels.txt"
    file.write_text("".join(f"label {i}\n" for i in range(20_000)))
    assert len(read_label_set([f"@{file}"])) == 20_000


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"fare\n\nflight\n fare\n", "lines 1 and 4 of .* are both 'fare'"),
        (b"\n \n", "got none in"),
        (b"", "has no records"),
        (b"fare\n\xff\n", "record 2"),
        (b"fare\n# old ones\nflight\n", "a comment, a tab or a list in line 2"),
        (b"fare,flight\n", "a comment, a tab or a list in line 1 .*: write one label on each line"),
        (b'["fare", "flight"]\n', "a comment, a tab or a list in line 1"),
        (b"fare\n0\tflight\n", "a comment, a tab or a list in line 2"),
        (
            b"fare\t1\nfare\t1\n",
            "a comment, a tab or a list in line 1",
        ),  # before a line is quoted as a label that stands twice
        (b'"fare"\n"flight"\n', "list in line 1 .*: write one label on each line, without quotes"),
        (b'"fare",\n"flight"\n', "list in line 1"),
        (b"'fare'\n'flight'\n", "list in line 1"),
        (b"fare,\n\nflight\n", "list in line 1"),
        (b"- fare\n- flight\n", "list in line 1"),
        (b"1. fare\n2. flight\n", "list in line 1"),
        (b"     12 fare\n      7 flight\n", "list in line 1"),  # as uniq -c counts them
    ],
)
def test_a_file_that_is_no_label_set_is_refused(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "labels.txt").write_bytes(content)
    with pytest.raises(AdeptError, match=message):
        read_label_set([f"@{tmp_path}/labels.txt"])


@pytest.mark.parametrize("name", ["labels.csv", "labels.json", "labels.tsv.gz", "labels.parquet"])
def test_a_file_of_another_kind_is_no_label_set_and_its_header_no_label(name: str) -> None:
    with pytest.raises(AdeptError, match=r"a label on each line, got .*: save it as txt"):
        read_label_set([f"@{name}"])


def test_descriptions_have_blank_lines_and_labels_that_are_not_known_are_named(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    say_once.cache_clear()
    (tmp_path / "d.txt").write_text("fare\twhat does it cost\n\nfaer\tone way\n\n")
    found = {"fare": ("what does it cost",), "faer": ("one way",)}
    assert read_label_descriptions(str(tmp_path / "d.txt"), []) == found
    assert not caplog.text
    assert read_label_descriptions(str(tmp_path / "d.txt"), ["fare"]) == found
    assert "'faer', which label_set lacks" in caplog.text


def test_labels_that_begin_with_an_at_sign_are_labels_where_there_are_several() -> None:
    assert read_label_set(["@home", "@work"]) == ("@home", "@work")
    assert read_label_set(None) == read_label_set([]) == ()


def test_a_corpus_holds_labels_as_text_and_needs_none_where_they_are_not_read(tmp_path: Path) -> None:
    file = tmp_path / "in.jsonl"
    file.write_text('{"text": "a", "intent": 1}\n{"text": "b", "intent": 1.0}\n{"text": "c", "intent": true}\n')
    assert read_corpus(str(file)).labels == ["1", "1", "true"]
    file.write_text('{"text": "a", "intent": 1}\n{"text": "b", "intent": null}\n')
    assert read_corpus(str(file), labelled=False).labels is None
    with pytest.raises(DataError, match="record 2 has no label"):
        read_corpus(str(file))


@pytest.mark.parametrize(("label", "kind"), [("", "an empty one"), (" ", "an empty one"), (1.5, "type float")])
def test_an_entry_without_a_text_is_named_for_what_it_is(label: object, kind: str) -> None:
    with pytest.raises(ConfigurationError, match=f"got .*{kind} in entry 2"):
        label_set_of(["play", label])


def test_labels_that_resemble_a_line_of_a_list_are_read(tmp_path: Path) -> None:
    file, labels = tmp_path / "labels.txt", ["- none", "Dallas, TX", "2 tickets", "1. FC", '"quoted"', "don't know"]
    file.write_text("\n".join(labels))
    assert read_label_set([f"@{file}"]) == tuple(labels)
    file.write_text(" 1\n 2\n 3\n")
    assert read_label_set([f"@{file}"]) == ("1", "2", "3")


@pytest.mark.parametrize("labels", [["music", "Music"], ["music", "music\u200b"], ["music", "ｍusic"], ["a b", "a  b"]])
def test_labels_of_a_set_that_differ_in_what_nobody_sees_are_named_once(
    labels: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    say_once.cache_clear()
    assert (
        label_set_of([*labels, "rain"]) == label_set_of([*labels, "rain"]) == (*labels, "rain")
    )  # as a command reads it
    [line] = caplog.messages
    assert "differ in case, spaces or unseen letters alone count as different" in line
    assert repr(labels[0]) in line
    assert "rain" not in line


def test_labels_of_a_set_that_look_missing_are_named_and_others_are_not(caplog: pytest.LogCaptureFixture) -> None:
    say_once.cache_clear()
    label_set_of(["yes", "no", "none"])
    assert caplog.messages == []
    label_set_of(["yes", "null"])
    assert "missing value or a list count like any other: 'null'" in caplog.text
