"""Figures of merit agree with scikit-learn and their intervals cover."""

import math
from dataclasses import fields

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, f1_score

from adept.comparison.results import PACKED, ResultRow
from adept.data.corpus import Corpus
from adept.evaluation import metrics
from adept.evaluation.metrics import (
    NgramModel,
    accuracy,
    bleu,
    bootstrap,
    codes,
    deal_to_others,
    exact,
    macro_f1,
    slot_share,
)
from adept.report.table import MEASURES

RNG = np.random.default_rng(0)
TRUTH = RNG.choice(["a", "b", "c", "d"], size=400, p=[0.7, 0.2, 0.08, 0.02]).tolist()
GUESS = [t if RNG.random() < 0.8 else str(RNG.choice(["a", "b", "e"])) for t in TRUTH]


def test_accuracy_and_macro_f1_agree_with_scikit_learn() -> None:
    truth, guess = codes(TRUTH, GUESS)
    assert accuracy(truth, guess) == pytest.approx(accuracy_score(TRUTH, GUESS))
    present = sorted(set(TRUTH))
    assert macro_f1(truth, guess) == pytest.approx(
        f1_score(TRUTH, GUESS, labels=present, average="macro", zero_division=0)
    )


def test_macro_f1_counts_only_labels_of_the_test_split() -> None:
    truth, guess = codes(["a", "a", "b"], ["a", "z", "b"])
    assert macro_f1(truth, guess) == pytest.approx((2 / 3 + 1) / 2)


def test_bootstrap_intervals_cover_as_often_as_they_say() -> None:
    # 300 data sets with a true accuracy of .8; coverage .95 +- 6.5 standard errors (.0126), less the bootstrap's own bias of .02.
    rng = np.random.default_rng(1)
    covered = 0
    for i in range(300):
        truth = np.zeros(200, dtype=np.int64)
        guess = (rng.random(200) > 0.8).astype(np.int64)
        interval = bootstrap(accuracy, truth, guess, resamples=300, seed=i)
        covered += interval.low <= 0.8 <= interval.high
    assert 0.95 - 0.02 - 6.5 * 0.0126 < covered / 300 <= 1.0
    assert interval.low < interval.value < interval.high


@pytest.mark.parametrize(
    ("records", "hits", "free", "gained"),
    [(1, (0.025, 1.0), (0.0, 0.975), (-0.95, 1.0)), (60, (0.9404, 1.0), (0.0, 0.0596), (0.8808, 1.0))],
)
def test_records_that_are_all_alike_do_not_make_an_interval_a_point(
    records: int, hits: tuple[float, float], free: tuple[float, float], gained: tuple[float, float]
) -> None:
    """The ends are those of Clopper and Pearson; a gain, from -1 to 1, may be lost on each record that is missing."""
    right, wrong = np.ones(records, dtype=np.int64), np.zeros(records, dtype=np.int64)
    for found, ends in (
        (bootstrap(accuracy, right, right), hits),
        (bootstrap(accuracy, right, wrong), free),
        (metrics.gain_in_hits(right > 0, wrong > 0), gained),
    ):
        assert (found.low, found.high) == pytest.approx(ends, abs=1e-4)
    same = metrics.gain_in_hits(right > 0, right > 0)
    assert (same.value, same.low) == (0.0, pytest.approx(-same.high))


def test_an_interval_of_equal_ends_is_no_point_where_few_resamples_differ() -> None:
    """One label is never found and the others always are, so only resamples without a label have another macro-F1."""
    truth, guess = np.repeat([0, 1, 2], 5), np.repeat([0, 1, 0], 5)
    guess[10:] = 3
    found = bootstrap(macro_f1, truth, guess)
    assert (found.value, found.high - found.low > 0.1) == (pytest.approx(2 / 3), True)


def test_bleu_is_100_for_a_copy_and_falls_with_every_change() -> None:
    records = ["show me flights from boston to denver", "what is the fare on monday"]
    changed = ["show me flights from boston to dallas", "what is the fare on monday"]
    assert bleu(records, records) == pytest.approx(100)
    assert 0 < bleu(records, ["x y z w v u", *changed[1:]]) < bleu(records, changed) < 100


def test_bigram_probabilities_sum_to_one_and_unknown_words_have_their_share() -> None:
    model = NgramModel(["show me flights", "show fares", "flights please"], order=2)
    vocabulary = ["show", "me", "flights", "fares", "please", ""]
    for before in (*vocabulary, "never-seen"):
        total = sum(model.probability(before, word) for word in vocabulary) + model.probability(before, "unknown")
        assert total == pytest.approx(1.0)


def test_perplexity_is_lower_for_text_like_the_original() -> None:
    model = NgramModel(["show me flights", "show me fares"] * 20, order=2)
    assert model.perplexity(["show me flights"]) < 3 < model.perplexity(["flights me show"])
    one = math.exp(-(math.log(model.probability("", "x")) + math.log(model.probability("x", ""))) / 2)
    assert model.perplexity(["x"]) == pytest.approx(one)


def test_slots_are_kept_where_they_stand_word_beside_word() -> None:
    values = [["New York", "may"], [], ["9 pm", "oslo", "oslo"]]
    rewrites = ["to new  york  maybe", "anything", "9 in oslo pm"]
    assert slot_share(values, rewrites) == pytest.approx(3 / 5)
    assert slot_share([[], []], ["a", "b"]) is None


def test_exact_is_word_for_word_whatever_the_case_and_the_white_space() -> None:
    assert exact(["Show  me", "a b", "a b", ""], ["show me ", "b a", "a b c", "\t"]) == 0.5


def test_every_rewrite_is_dealt_to_one_other_record_and_not_to_the_next_in_the_file() -> None:
    for count in (2, 3, 10, 101):
        given = [int(text) for text in deal_to_others([str(i) for i in range(count)]) or []]
        assert sorted(given) == list(range(count))
        assert all(given[i] != i for i in range(count))
    assert sum(abs(given[i] - i) == 1 for i in range(count)) < 10
    assert deal_to_others(["a", "b", "c", "d"]) == deal_to_others(["a", "b", "c", "d"])
    assert deal_to_others(["alone"]) is None


def test_trigram_probabilities_are_a_distribution_that_looks_two_words_back() -> None:
    texts = ["show me  flights", "show fares", "flights please"]
    model, less = (NgramModel(texts, order=order) for order in (3, 2))
    vocabulary = ["show", "me", "flights", "fares", "please", ""]
    for before in (("", ""), ("", "show"), ("show", "me"), ("me", "show"), ("never", "seen")):
        total = sum(model.probability(*before, word) for word in vocabulary) + model.probability(*before, "unknown")
        assert total == pytest.approx(1.0)
    # after "show" at a text's start came two words once each: (1 + 2 p(me | show)) / (2 + 2)
    assert model.probability("", "show", "me") == pytest.approx((1 + 2 * less.probability("show", "me")) / 4)
    assert model.probability("me", "show", "me") == less.probability("show", "me")


def test_perplexity_of_trigrams_is_the_geometric_mean_with_the_end() -> None:
    model = NgramModel(["a b c", "d b e"] * 20, order=3)
    assert model.perplexity(["a b c"]) < model.perplexity(["a b e"])
    steps = [("", "", "a"), ("", "a", "b"), ("a", "b", "")]
    product = math.prod(model.probability(*step) for step in steps)
    assert model.perplexity(["a  b"]) == pytest.approx(product ** (-1 / 3))


PRIVATE = Corpus(
    ["fly to oslo", "fly to new york", "hello"], ["x", "x", "y"], [[("city", "oslo")], [("city", "new york")], []]
)
OTHER_TEXTS = ["fly to rome", "good day"]
OTHER = NgramModel(OTHER_TEXTS, order=3)


def measured(rewrites: list[str], private: Corpus = PRIVATE) -> dict[str, float | None]:
    return metrics.measure(private, rewrites, trained_on=["fly home"], other=OTHER_TEXTS)


def test_every_column_of_measures_is_one_of_the_table() -> None:
    names = [field.name for field in fields(ResultRow) if field.name not in PACKED]
    assert set(measured(PRIVATE.texts)) == set(MEASURES) <= set(names)
    added = [
        "slots",
        "slots_other",
        "words",
        "words_other",
        "exact",
        "exact_other",
        "fluency",
        "holds",
        "enough",
    ]
    assert names[-len(added) :] == added


def test_a_copy_keeps_all_of_its_own_record_and_little_of_another() -> None:
    found = measured(PRIVATE.texts)
    assert (found["slots"], found["words"], found["exact"], found["fluency"]) == (1, 1, 1, 1)
    assert (found["slots_other"], found["exact_other"]) == (0, 0)
    shared = 2 * 2 / (3 + 4)  # "fly to", of three and four words; in a circle of three one of both follows the other
    assert found["words_other"] == pytest.approx(shared / 3)


def test_text_that_says_the_same_of_every_record_keeps_nothing_of_its_own() -> None:
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
    assert [alone[f"{name}_other"] for name in metrics.PAIRED] == [None] * 3
    assert alone["slots"] == 1
