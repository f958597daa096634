"""Figures of merit agree with scikit-learn and their intervals cover."""

import math

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, f1_score

from adept.evaluation.metrics import (
    BigramModel,
    TrigramModel,
    accuracy,
    bleu,
    bootstrap,
    codes,
    content_f1,
    dealt_to_others,
    distinct_ratio,
    exact,
    macro_f1,
    slots_kept,
    token_overlap,
    verbatim,
    word_f1,
)

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


def test_overlap_and_variety_count_words_and_texts() -> None:
    assert token_overlap(["a b c", "x", ""], ["a b d", "y", ""]) == pytest.approx((2 / 4 + 0 + 1) / 3)
    assert distinct_ratio(["a", "a", "b", "a"]) == 0.5


def test_bleu_is_100_for_a_copy_and_falls_with_every_change() -> None:
    records = ["show me flights from boston to denver", "what is the fare on monday"]
    changed = ["show me flights from boston to dallas", "what is the fare on monday"]
    assert bleu(records, records) == pytest.approx(100)
    assert 0 < bleu(records, ["x y z w v u", *changed[1:]]) < bleu(records, changed) < 100


def test_verbatim_chance_is_what_shuffled_rewrites_reach() -> None:
    records, rewrites = ["a", "a", "b", "c"], ["a", "b", "b", "z"]
    counted = verbatim(records, rewrites, {"z", "y"})
    assert (counted.own, counted.public) == (0.5, 0.25)
    pairs = [r == w for r in records for w in rewrites]
    assert counted.chance == pytest.approx(sum(pairs) / len(pairs))


def test_bigram_probabilities_sum_to_one_and_unknown_words_have_their_share() -> None:
    model = BigramModel(["show me flights", "show fares", "flights please"])
    vocabulary = ["show", "me", "flights", "fares", "please", ""]
    for before in (*vocabulary, "never-seen"):
        total = sum(model.probability(before, word) for word in vocabulary) + model.probability(before, "unknown")
        assert total == pytest.approx(1.0)


def test_perplexity_is_lower_for_text_like_the_original() -> None:
    model = BigramModel(["show me flights", "show me fares"] * 20)
    assert model.perplexity(["show me flights"]) < 3 < model.perplexity(["flights me show"])
    one = math.exp(-(math.log(model.probability("", "x")) + math.log(model.probability("x", ""))) / 2)
    assert model.perplexity(["x"]) == pytest.approx(one)


def test_slots_are_kept_where_they_stand_word_beside_word() -> None:
    values = [["New York", "may"], [], ["9 pm", "oslo", "oslo"]]
    rewrites = ["to new  york  maybe", "anything", "9 in oslo pm"]
    assert slots_kept(values, rewrites) == pytest.approx(3 / 5)
    assert slots_kept([[], []], ["a", "b"]) is None


def test_content_f1_weighs_words_by_how_few_records_hold_them() -> None:
    """Of three records all hold "a" and one holds each of the others: these weigh ln(4 / 1.5) and "a" ln(4 / 3.5)."""
    records, common, rare = ["a b", "a c", "a d"], math.log(4 / 3.5), math.log(4 / 1.5)
    assert content_f1(records, records) == pytest.approx(1.0)
    assert content_f1(records, ["b", "c", "d"]) == pytest.approx(2 * rare / (common + 2 * rare))
    assert content_f1(records, ["A a", "a", "a"]) == pytest.approx(2 * common / (2 * common + rare))
    unseen = math.log(4 / 0.5)
    assert content_f1(records, ["b x", "", "a d"]) == pytest.approx(
        (2 * rare / (common + 2 * rare + unseen) + 0 + 1) / 3
    )
    assert content_f1([""], [""]) == 1.0


def test_word_f1_counts_repeated_words_as_often_as_they_stand() -> None:
    assert word_f1(["a a b"], ["a B c d d"]) == pytest.approx(2 * 2 / (3 + 5))
    assert word_f1(["a  b", "x", "", "y"], ["b A", "z", " ", ""]) == pytest.approx((1 + 0 + 1 + 0) / 4)


def test_exact_is_word_for_word_whatever_the_case_and_the_white_space() -> None:
    assert exact(["Show  me", "a b", "a b", ""], ["show me ", "b a", "a b c", "\t"]) == 0.5


def test_every_rewrite_is_dealt_to_one_other_record_and_not_to_the_next_in_the_file() -> None:
    for count in (2, 3, 10, 101):
        given = [int(text) for text in dealt_to_others([str(i) for i in range(count)]) or []]
        assert sorted(given) == list(range(count))
        assert all(given[i] != i for i in range(count))
    assert sum(abs(given[i] - i) == 1 for i in range(count)) < 10
    assert dealt_to_others(["a", "b", "c", "d"]) == dealt_to_others(["a", "b", "c", "d"])
    assert dealt_to_others(["alone"]) is None


def test_trigram_probabilities_are_a_distribution_that_looks_two_words_back() -> None:
    texts = ["Show me  flights", "show fares", "flights please"]
    model, less = TrigramModel(texts), BigramModel([text.lower() for text in texts])
    vocabulary = ["show", "me", "flights", "fares", "please", ""]
    for before in (("", ""), ("", "show"), ("show", "me"), ("me", "show"), ("never", "seen")):
        total = sum(model.probability(before, word) for word in vocabulary) + model.probability(before, "unknown")
        assert total == pytest.approx(1.0)
    # after "show" at a text's start came two words once each: (1 + 2 p(me | show)) / (2 + 2)
    assert model.probability(("", "show"), "me") == pytest.approx((1 + 2 * less.probability("show", "me")) / 4)
    assert model.probability(("me", "show"), "me") == less.probability("show", "me")


def test_perplexity_of_trigrams_is_the_geometric_mean_with_the_end() -> None:
    model = TrigramModel(["a b c", "d b e"] * 20)
    assert model.perplexity(["a b c"]) < model.perplexity(["a b e"])
    steps = [(("", ""), "a"), (("", "a"), "b"), (("a", "b"), "")]
    product = math.prod(model.probability(before, word) for before, word in steps)
    assert model.perplexity(["A  b"]) == pytest.approx(product ** (-1 / 3))
