"""Each column says what it is called, beside what another record's rewrite would say; every decoder's text has them."""

from dataclasses import fields, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from made_rows import BASE

from adept.comparison import quality, seed_run
from adept.comparison.cells import Cell
from adept.comparison.families import Family
from adept.comparison.results import DESCRIBED, LSTM, NEAREST, Row
from adept.comparison.store import Store, Written
from adept.data.corpus import Corpus
from adept.evaluation.metrics import BigramModel, TrigramModel

PRIVATE = Corpus(["fly to oslo", "fly to new york", "hello"], ["x", "x", "y"], [["oslo"], ["new york"], []])
OTHER = TrigramModel(["fly to rome", "good day"])


def measured(rewrites: list[str], private: Corpus = PRIVATE) -> dict[str, float | None]:
    language = BigramModel(private.texts)
    return quality.measure(private, rewrites, public=["fly home"], language=language, other=OTHER)


def test_every_column_of_quality_is_one_of_the_table() -> None:
    names = [field.name for field in fields(Row)]
    assert set(measured(PRIVATE.texts)) == set(quality.COLUMNS) <= set(names)
    added = ["slots", "slots_other", "words", "words_other", "exact", "exact_other", "fluency", "holds"]
    assert names[-len(added) :] == added


def test_a_copy_keeps_all_of_its_own_record_and_little_of_another() -> None:
    found = measured(PRIVATE.texts)
    assert (found["slots"], found["words"], found["exact"], found["fluency"]) == (1, 1, 1, 1)
    assert (found["slots_other"], found["exact_other"]) == (0, 0)
    shared = 2 * 2 / (3 + 4)  # "fly to", of three and four words; in a circle of three one of both follows the other
    assert found["words_other"] == pytest.approx(shared / 3)


def test_text_that_says_the_same_of_every_record_keeps_no_more_of_its_own_than_of_another() -> None:
    found = measured(["Fly to OSLO"] * 3)
    assert (found["slots"], found["slots_other"]) == (0.5, 0.5)
    assert (found["exact"], found["exact_other"]) == (pytest.approx(1 / 3), pytest.approx(1 / 3))
    assert found["words"] == found["words_other"] == pytest.approx((1 + 4 / 7) / 3)


def test_fluency_is_relative_to_the_records_under_a_model_of_other_text() -> None:
    found = measured(["fly to rome"] * 3)
    assert found["fluency"] == pytest.approx(OTHER.perplexity(["fly to rome"]) / OTHER.perplexity(PRIVATE.texts))
    assert (found["fluency"] or 9) < 1 < (measured(["rome to fly"] * 3)["fluency"] or 0)


def test_what_does_not_apply_is_none() -> None:
    unknown = measured(PRIVATE.texts, Corpus(PRIVATE.texts))
    assert (unknown["slots"], unknown["slots_other"], unknown["words"]) == (None, None, 1)
    alone = measured(["fly to oslo"], PRIVATE.take([0]))
    assert [alone[f"{name}_other"] for name in quality.KEPT] == [None] * 3
    assert alone["slots"] == 1


def trial(directory: Path) -> Any:
    """What a row's quality is measured with."""
    texts = PRIVATE.texts
    return SimpleNamespace(
        store=Store(directory),
        config=SimpleNamespace(baselines=True, samples=2),
        private=PRIVATE,
        public=Corpus(["fly home"]),
        language=BigramModel(texts),
        other=OTHER,
    )


@pytest.mark.parametrize("decoder", [LSTM, DESCRIBED, NEAREST])
def test_every_decoder_that_writes_has_the_columns_and_so_have_rows_that_were_kept_before_them(
    tmp_path: Path, decoder: str
) -> None:
    cell = Cell("l1", 8.0, decoder, "tfidf", Family("l2", "none"))
    texts = [text for own in PRIVATE.texts for text in (own, "another sample")]
    store = Store(tmp_path)
    store.written(cell, lambda: Written(texts, ["x"] * 6, 1.0))
    store.row(cell, lambda: replace(BASE, decoder=decoder))
    store.quality(cell, ["bleu"], lambda: {"bleu": 1.0})
    row = seed_run.row_of(trial(tmp_path), cell)
    assert (row.slots, row.words, row.exact, row.fluency, row.slots_other) == (1, 1, 1, 1, 0)
    assert row == seed_run.row_of(trial(tmp_path), cell)
