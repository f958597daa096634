"""The curator is told of text that a model was not made for, and of no other."""

import time

import pytest

from adept.models.config import TokenizerConfig
from adept.models.tokenizer import Tokenizer
from adept.rewriting.expectation import FIRST_TEXTS, first_texts, foreign_warnings
from adept.rewriting.loading import load_model

GERMAN = ["kannst du meinen zahnarzttermin auf freitag verschieben", "Stell den Wecker auf sieben Uhr"]
CHINESE = ["我的包裹在哪里", "把闹钟调到七点", "今天天气怎么样"]
ENGLISH = ["where is my parcel", "Set an alarm for 07:30, please!", "my order 4711-A is late", "refund?", ""]
CODE = ["SELECT user_id FROM orders GROUP BY name", "for x in range(10): print(x)"]
LONG = "my parcel has not arrived and nobody calls me back although i asked twice " * 9


@pytest.fixture(scope="module")
def packaged() -> Tokenizer:
    return load_model(None)[1]


def lines(tokenizer: Tokenizer, texts: list[str]) -> list[str]:
    return foreign_warnings(tokenizer, texts, max_length=40)


@pytest.mark.parametrize("texts", [GERMAN, CHINESE, GERMAN + ENGLISH])
def test_text_in_another_language_is_told_with_what_to_do(packaged: Tokenizer, texts: list[str]) -> None:
    (line,) = lines(packaged, texts)
    assert "does not know" in line
    assert "adept adapt" in line
    assert f"of the first {len(texts)} records; this line depends on them, so do not pass it on" in line
    assert not any(word in line for text in texts for word in text.split() if len(word) > 4)


def test_long_texts_are_told_with_what_to_do(packaged: Tokenizer) -> None:
    (line,) = lines(packaged, [*[LONG] * 2, *ENGLISH])
    assert "29 % of the texts are longer than the model can write" in line
    assert "make each sentence a record" in line


@pytest.mark.parametrize("texts", [ENGLISH, CODE, [], [""], ["4711", "0815", "12", "13"], [*ENGLISH * 20, LONG]])
def test_nothing_is_said_of_other_files(packaged: Tokenizer, texts: list[str]) -> None:
    assert lines(packaged, texts) == []


def test_a_text_of_exactly_the_longest_length_is_not_too_long(packaged: Tokenizer) -> None:
    (line,) = lines(packaged, ["play " * 40, "play " * 41])
    assert "50 % of the texts are longer" in line


def test_subwords_know_every_word_and_a_label_is_no_word() -> None:
    subwords = Tokenizer.train(["play a song"], TokenizerConfig(kind="bpe", vocabulary_size=300), labels=["a", "b"])
    assert foreign_warnings(subwords, GERMAN, max_length=400) == []
    words = Tokenizer.train(["play a song"], TokenizerConfig(min_frequency=1), labels=["a", "b"])
    assert foreign_warnings(words, ["play a song"] * 3, max_length=3) == []


def test_a_word_of_a_megabyte_costs_no_time(packaged: Tokenizer) -> None:
    """As base64 in a record, or a line of a language that does not space its words."""
    started = time.monotonic()
    assert lines(packaged, ["x" * 2**20, "1x" * 2**19, *ENGLISH * 20]) == []
    assert time.monotonic() - started < 10


def test_only_the_first_records_are_read() -> None:
    read = iter([{"text": "a"}, {"text": 1}, {}, *[{"text": "b"}] * FIRST_TEXTS])
    assert first_texts(read, "text") == ["a", *["b"] * (FIRST_TEXTS - 3)]
    assert len(list(read)) == 3
