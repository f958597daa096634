"""Each column says what it is called, beside what another record's rewrite would say."""

from dataclasses import fields

import pytest

from adept.comparison.results import ResultRow
from adept.data.corpus import Corpus
from adept.evaluation import quality
from adept.evaluation.metrics import TrigramModel

PRIVATE = Corpus(["fly to oslo", "fly to new york", "hello"], ["x", "x", "y"], [["oslo"], ["new york"], []])
OTHER_TEXTS = ["fly to rome", "good day"]
OTHER = TrigramModel(OTHER_TEXTS)


def measured(rewrites: list[str], private: Corpus = PRIVATE) -> dict[str, float | None]:
    return quality.measure(private, rewrites, trained_on=["fly home"], other=OTHER_TEXTS)


def test_every_column_of_quality_is_one_of_the_table() -> None:
    names = [field.name for field in fields(ResultRow)]
    assert set(measured(PRIVATE.texts)) == set(quality.COLUMNS) <= set(names)
    added = [
        "slots",
        "slots_other",
        "words",
        "words_other",
        "content_words",
        "content_words_other",
        "exact",
        "exact_other",
        "fluency",
        "holds",
    ]
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
    assert [alone[f"{name}_other"] for name in quality.KEPT] == [None] * 4
    assert alone["slots"] == 1
