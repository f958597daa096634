"""Names, examples and the commonest label are measured on public texts that no classifier has learned from."""

import pytest

from adept.data.corpus import Corpus
from adept.evaluation.record_free import (
    COMMONEST_LABEL,
    EXAMPLES,
    FOLDS,
    MAX_JUDGED,
    MAX_RELEASED,
    MAX_TESTED,
    NEAREST_NAME,
    PublicTexts,
    deal,
    draw_rows,
    find_hits,
    measure_free_rows,
)

LABELS = ["refund", "opening_hours"]
TEXTS = [
    "i want my money back", "when do you open", "please pay me back", "until when are you open today",
    "return the money to my card", "are you open on sunday",
]  # fmt: skip
CORPUS = Corpus(TEXTS, LABELS * 3)


def test_free_rows_are_measured_on_the_test_or_by_folds_of_the_examples() -> None:
    alone = PublicTexts.of(CORPUS, None, labels=2)
    assert alone is not None
    found = {row.name: row for row in measure_free_rows(LABELS, alone, {}, has_examples=True)}
    assert list(found) == [NEAREST_NAME, EXAMPLES, COMMONEST_LABEL]
    assert {row.texts for row in found.values()} == {6}
    assert found[NEAREST_NAME].accuracy > 0.8
    assert found[COMMONEST_LABEL].accuracy == 0.5
    test = Corpus(["a refund"], ["refund"])
    tested = PublicTexts.of(CORPUS, test, labels=2)
    assert tested is not None
    assert {row.texts for row in measure_free_rows(LABELS, tested, {}, has_examples=True)} == {1}
    only_test = PublicTexts.of(None, CORPUS, labels=2)
    assert only_test is not None
    assert EXAMPLES not in {row.name for row in measure_free_rows(LABELS, only_test, {}, has_examples=False)}
    assert PublicTexts.of(None, None, labels=2) is None


def test_no_example_is_judged_by_a_classifier_that_learned_it() -> None:
    """Labels drawn by chance can be learned by heart only: a leak of the judged text gives nearly all of them."""
    texts = [f"word{number} thing{number * 7}" for number in range(60)]
    labels = [LABELS[number * number * 13 % 7 % 2] for number in range(60)]
    hits = find_hits(Corpus(texts, labels), Corpus(texts, labels), range(60))
    assert hits is not None
    assert sum(hits) < 48
    single = Corpus(["a", "b", "c"], ["x", "x", "y"])
    assert find_hits(single, single, range(3)) is None


def test_of_many_examples_only_some_folds_are_judged() -> None:
    many = Corpus([f"x{row}" for row in range(4 * MAX_JUDGED)], ["a", "b"] * (2 * MAX_JUDGED))
    found = PublicTexts.of(many, None, labels=2)
    assert found is not None
    assert 0.8 * MAX_JUDGED <= len(found.judged) <= 1.4 * MAX_JUDGED
    assert found.judged.texts == [many.texts[row] for row in found.places]


def test_a_rehearsal_releases_test_and_examples_once_and_judges_the_test() -> None:
    test = Corpus([*TEXTS, "open now"], [*LABELS * 3, LABELS[1]])
    found = PublicTexts.of(Corpus(["late refund", TEXTS[0]], LABELS[:1] * 2), test, labels=2)
    assert found is not None
    assert found.pool == Corpus([*test.texts, "late refund"], [*(test.labels or []), LABELS[0]])
    assert found.rehearsed == range(7)
    many = Corpus([f"x{row}" for row in range(9000)], ["a", "b"] * 4500)
    found = PublicTexts.of(many, many.take(range(7000, 9000)), labels=2)
    assert found is not None
    assert len(found.pool) == MAX_RELEASED
    assert len(found.rehearsed) == MAX_JUDGED


def test_rows_are_drawn_in_the_proportions_of_their_labels() -> None:
    labels = ["a"] * 60 + ["b"] * 20 + ["c"] * 20
    one, other = (draw_rows(range(100), labels, 50) for _ in range(2))
    assert len({*one}) == len(one) == 50
    assert {*one} != {*other}
    for label, share in (("a", 30), ("b", 10), ("c", 10)):
        assert sum(labels[row] == label for row in one) == pytest.approx(share, abs=1)
    assert draw_rows(range(10), labels, None) == draw_rows(range(10), labels, 10) == [*range(10)]
    assert {labels[row] for row in draw_rows(range(100), labels, 2)} == {"a", "c"}


def test_each_labels_examples_are_dealt_to_all_folds() -> None:
    folds = deal(Corpus([f"x{row}" for row in range(14)], ["a"] * 12 + ["b"] * 2))
    assert folds[:12] == [number % FOLDS for number in range(12)]
    assert folds[12:] == [0, 1]


def test_copies_of_a_public_text_are_judged_by_no_classifier_that_learned_it() -> None:
    assert deal(Corpus(["x", "y", " X ", "z"], ["a", "a", "a", "b"])) == [0, 1, 0, 0]
    labels = [LABELS[number * number * 13 % 7 % 2] for number in range(60)]
    texts = [f"word{number} thing{number * 7}" for number in range(60)]
    hits = find_hits(twice := Corpus(texts * 2, labels * 2), twice, range(120))
    assert hits is not None
    assert sum(hits) < 96
    two = Corpus([*TEXTS[:2]] * 30, LABELS * 30)
    assert find_hits(two, two, range(60)) is None
    public = PublicTexts.of(two, None, labels=2)
    assert public is not None
    assert EXAMPLES not in {row.name for row in measure_free_rows(LABELS, public, {}, has_examples=True)}


def test_many_public_texts_are_thinned() -> None:
    many = Corpus(["x"] * (MAX_TESTED + 10), ["a", "b"] * ((MAX_TESTED + 10) // 2))
    found = PublicTexts.of(many, many, labels=200)
    assert found is not None
    assert found.test is not None
    assert len(found.test) == MAX_TESTED
    assert set(found.test.labels or []) == {"a", "b"}
    skewed = PublicTexts.of(Corpus(["x"] * 9000, ["a"] * 8996 + ["b"] * 4), None, labels=200)
    assert skewed is not None
    assert (skewed.read.labels or []).count("b") == 4
    assert len(found.read) < len(many)


def test_sentences_about_labels_count_as_their_names_do() -> None:
    public = PublicTexts.of(None, Corpus(["i want my money back", "when do you open"], ["17", "18"]), labels=2)
    assert public is not None
    assert NEAREST_NAME not in {row.name for row in measure_free_rows(["17", "18"], public, {}, has_examples=False)}
    about = {"17": ("give the money back",), "18": ("opening hours",)}
    [named, _] = measure_free_rows(["17", "18"], public, about, has_examples=False)
    assert (named.name, named.accuracy) == (NEAREST_NAME, 1.0)
    assert named.texts == pytest.approx(2)
