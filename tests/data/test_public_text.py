"""Broad public text is thinned: no text twice, few of each template, subject and source."""

import json
from collections import Counter
from pathlib import Path

import pytest

from adept.data import corpus
from adept.data.corpus import HELD_OUT, DataConfig, PublicText, load, read_public_texts, thin_texts
from adept.errors import DataError


def text(words: str, source: str = "shop", subject: str = "orders") -> PublicText:
    return PublicText(words, source, subject)


def test_a_text_is_kept_once_whatever_its_case_and_signs() -> None:
    assert len(thin_texts([text("Where is it?"), text("where is it"), text("WHERE, is it!")])) == 1


def test_texts_without_words_and_long_ones_are_left_out() -> None:
    kept = thin_texts([text("?!"), text(" "), text("a " * (corpus.MAX_WORDS + 1)), text("b " * corpus.MAX_WORDS)])
    assert [len(one.text.split()) for one in kept] == [corpus.MAX_WORDS]


def test_of_one_template_few_texts_are_kept() -> None:
    """Templates are filled with numbers and words that few texts hold."""
    filled = [text(f"turn on light {number}") for number in range(2 * corpus.COMMON_IN)]
    named = [text(f"turn on name{number}x") for number in range(corpus.COMMON_IN)]
    whole = text("turn on light")
    assert len(thin_texts(filled)) == corpus.MAX_OF_TEMPLATE
    assert len(thin_texts([*filled, *named, whole])) == 2 * corpus.MAX_OF_TEMPLATE + 1
    assert whole in thin_texts([*filled, *named, whole])


def test_no_source_and_no_subject_drowns_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(corpus, "MAX_OF_SUBJECT", 5)
    monkeypatch.setattr(corpus, "MAX_OF_SOURCE", 8)
    monkeypatch.setattr(corpus, "COMMON_IN", 1)  # so that every word is common, and no two texts have one template
    many = [text(f"word{number} x", "shop", subject) for number in range(30) for subject in ("orders", "refunds")]
    kept = thin_texts(
        [*(one._replace(text=f"{one.text} {one.subject}") for one in many), text("hello there", "desk", "desk")]
    )
    assert Counter(one.source for one in kept) == {"shop": 8, "desk": 1}
    assert max(Counter(one.subject for one in kept).values()) <= 5


def test_the_same_seed_keeps_the_same_texts_in_the_same_order() -> None:
    some = [text(f"number{number} of many") for number in range(100)]
    assert thin_texts(some, seed=1) == thin_texts(some, seed=1)
    assert thin_texts(some, seed=1) != thin_texts(some, seed=2)


def test_broad_text_is_read_from_two_directories_and_held_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(corpus, "COMMON_IN", 1)
    for directory, name, source in (("one", "train.jsonl", "a"), ("two", "part-00.jsonl", "b")):
        (tmp_path / directory).mkdir()
        rows = ({"text": f"w{number} {source}", "source": source, "domain": f"d{number % 3}"} for number in range(1500))
        (tmp_path / directory / name).write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
        (tmp_path / directory / "test.jsonl").write_text('{"text": "never read", "source": "c"}\n', "utf-8")
    splits = load(DataConfig(name="broad", path=str(tmp_path / "one"), broad=str(tmp_path / "two")))
    texts = splits["train"].texts + splits["validation"].texts
    assert len(splits["validation"]) == HELD_OUT
    assert len(set(texts)) == len(texts) == 3000
    assert "never read" not in texts


@pytest.mark.parametrize("row", [{"text": "hello"}, {"source": "a"}, {"text": 3, "source": "a"}])
def test_records_without_text_or_source_are_refused(tmp_path: Path, row: dict[str, object]) -> None:
    (tmp_path / "part-00.jsonl").write_text(json.dumps(row) + "\n", "utf-8")
    with pytest.raises(DataError, match="text and source"):
        read_public_texts([tmp_path])


def test_a_directory_without_public_text_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no train"):
        read_public_texts([tmp_path])
