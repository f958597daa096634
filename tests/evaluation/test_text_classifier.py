"""The classifier "text" reads words, meanings and names of labels by public rules, and searches for nothing."""

import math
import random
import time

import numpy as np
import pytest
import torch
import travel

from adept.data.corpus import Corpus
from adept.evaluation.classifiers import evaluate
from adept.evaluation.text_classifier import (
    EncoderClassifier,
    choose_length,
    choose_strength,
    weigh_name,
    weigh_rewrite,
)
from adept.mechanisms import policy

LETTERS = str.maketrans("aeioubcdfghjklmnpqrstvwxyz", "eiouadgkplzcbfmxwhnjrtvqsy")


def test_what_training_text_never_said_is_read_by_what_its_sentences_mean() -> None:
    train = Corpus(["stocks and bank loans", "guitar and piano songs", "rain and snow", "soup and bread"], [*"mpwf"])
    assert EncoderClassifier(train).predict(["payroll", "dancer", "thaw", "lunch"]) == [*"mpwf"]


def test_the_name_of_a_label_is_an_example_of_it() -> None:
    """Training texts say nothing about their labels; without a word in the names, all tests get the same label."""
    texts = ["this and that", "here and there"] * 4
    tests = ["sing me some songs", "will there be rain tomorrow"]
    assert EncoderClassifier(Corpus(texts, ["PlayMusic", "get_weather"] * 4)).predict(tests) == [
        "PlayMusic",
        "get_weather",
    ]
    coded = EncoderClassifier(Corpus(texts, ["17", "a_2"] * 4))
    assert len(coded._counts) == 2
    assert float(coded._counts.sum()) == len(texts)


def test_names_count_less_the_more_each_text_tells() -> None:
    weights = [weigh_name(epsilon, 40) for epsilon in (0.0, 1.0, 2.0, 4.0, 8.0, 12.0, 24.0, math.inf)]
    assert weights == [20.0, 20.0, 20.0, 10.0, 5.0, pytest.approx(10 / 3), 3.0, 3.0]
    assert [weigh_name(16.0, rows) for rows in (1, 12, 20, 60, 1600)] == [10.0, 10.0, 6.0, 3.0, 3.0]
    texts, labels = ["a b", "c d"] * 3, ["play_music", "weather"] * 3
    for epsilon in (2.0, math.inf):
        counts = EncoderClassifier(Corpus(texts, labels), epsilon=epsilon)._counts
        assert counts.sum(dim=0).tolist() == [3 + weigh_name(epsilon, 3)] * 2


def test_many_rows_for_each_label_call_for_a_simpler_classifier() -> None:
    assert [choose_strength(rows, 4.0) for rows in (1, 20, 160, 1600)] == [0.3, 0.3, 0.3, 0.1]
    assert [choose_length(rows, math.inf) for rows in (1, 15, 60, 1600)] == [2.0, 2.0, 1.0, 1.0]
    assert [choose_length(60, epsilon) for epsilon in (0, 2, 4, 8)] == [2.0, 2.0, pytest.approx(2**0.5), 1.0]


def test_texts_that_say_more_allow_a_less_simple_classifier() -> None:
    assert [choose_strength(20, epsilon) for epsilon in (0, 2, 4, 8, 12, math.inf)] == pytest.approx(
        [0.1, 0.15, 0.3, 0.6, 0.9, 0.9]
    )


def test_few_rewrites_call_for_a_simpler_classifier_and_few_originals_do_not() -> None:
    trusted = [choose_strength(20, 8.0, records=records) for records in (2, 500, 800, 1200)]
    assert [one / choose_strength(20, 8.0) for one in trusted] == pytest.approx([0.5, 0.5, 0.8, 1.0])
    assert choose_strength(20, math.inf, records=2) == choose_strength(20, math.inf)
    texts, labels = ["a b", "c d"] * 6, ["play_music", "weather"] * 6
    for noisy, counted in ((False, 10.0), (True, 5.0)):  # few rows say nothing of names beside randomised labels
        counts = EncoderClassifier(Corpus(texts, labels), epsilon=8.0, noisy_labels=noisy)._counts
        assert counts.sum(dim=0).tolist() == [6 + counted] * 2


def test_randomised_labels_call_for_a_simpler_classifier(monkeypatch: pytest.MonkeyPatch) -> None:
    splits = travel.balanced(1500, 10, 400)
    train, test = splits["train"], splits["test"]
    rng, names = random.Random(0), sorted(set(train.labels or []))
    noisy = Corpus(train.texts, [label if rng.random() < 0.2 else rng.choice(names) for label in train.labels or []])
    simple = evaluate(noisy, test, noisy_labels=True).accuracy.value
    monkeypatch.setattr(policy, "NOISY_FACTOR", 3.0)
    assert simple > evaluate(noisy, test, noisy_labels=True).accuracy.value + 0.03


def test_the_texts_of_a_record_weigh_as_much_as_one() -> None:
    texts, labels = ["rent a car", "play a song", "rent cars", "songs"], ["car", "music"] * 2
    once, thrice = (
        Corpus(texts, labels),
        Corpus([t for t in texts for _ in range(3)], [c for c in labels for _ in range(3)]),
    )
    torch.testing.assert_close(EncoderClassifier(thrice, samples=3)._weights, EncoderClassifier(once)._weights)


def test_text_that_the_encoder_cannot_read_is_read_by_n_grams_alone() -> None:
    """Words with exchanged letters stand for another language: pieces of them would only mislead."""
    splits = travel.balanced(600, 10, 300)
    english = EncoderClassifier(splits["train"])
    train, test = (
        Corpus([t.translate(LETTERS) for t in splits[name].texts], splits[name].labels) for name in ("train", "test")
    )
    foreign = EncoderClassifier(train)
    assert [len(english._features.blocks), len(foreign._features.blocks)] == [2, 1]
    accuracy = evaluate(train, test).accuracy.value
    assert accuracy >= evaluate(train, test, classifier="tfidf").accuracy.value - 0.02
    german = ["ich möchte früh aufstehen", "spiele bitte etwas musik", "wie wird das wetter morgen", "stell es ab"]
    assert len(EncoderClassifier(Corpus(german, [*"abca"]))._features.blocks) == 1


def test_predictions_are_the_same_in_any_order_of_the_records() -> None:
    train, test = (travel.balanced(400, 10, 100)[name] for name in ("train", "test"))
    order = random.Random(0).sample(range(len(train)), k=len(train))
    assert EncoderClassifier(train).predict(test.texts) == EncoderClassifier(train.take(order)).predict(test.texts)


def test_n_grams_of_one_text_are_left_out_of_large_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(policy, "MANY_NGRAM_TEXTS", 4)
    train = Corpus(["play songs", "play music", "rain today", "rain tomorrow"], ["m", "m", "w", "w"])
    words = EncoderClassifier(train)._tfidf.get_feature_names_out().tolist()
    assert words == ["play", "rain"]
    nothing_twice = Corpus(["play songs", "some music", "rain today", "snow tomorrow"], ["m", "m", "w", "w"])
    assert EncoderClassifier(nothing_twice).predict(["songs", "snow"]) == ["m", "w"]


@pytest.mark.slow
def test_ten_thousand_records_of_150_labels_take_thirty_seconds_of_one_processor() -> None:
    rng = np.random.default_rng(0)
    words = np.array([f"word{place}" for place in range(8000)])
    rows = [" ".join(words[np.minimum(rng.zipf(1.2, size=9), 8000) - 1]) for _ in range(10_000)]
    train = Corpus(rows, [f"label_{place % 150}" for place in range(10_000)])
    start = time.process_time()
    EncoderClassifier(train, epsilon=4.0).predict(rows[:2000])
    assert time.process_time() - start < 30


def test_rewrites_count_little_beside_public_examples_at_a_small_epsilon() -> None:
    weights = [weigh_rewrite(epsilon, rows=20, examples=8) for epsilon in (0.0, 1.5, 3.0, 12.0, 48.0, math.inf)]
    assert weights == [0.0, 1 / 32, 1 / 16, 1 / 4, 1.0, 1.0]
    assert weigh_rewrite(2.0, rows=800, examples=8) == 0.01, "together, as many as the examples"
    train, examples = (
        Corpus(["a b"] * 40, ["play_music", "weather"] * 20),
        Corpus(["c d"] * 16, ["play_music", "news"] * 8),
    )
    counts = EncoderClassifier(train, epsilon=2.0, examples=examples)._counts
    assert counts.sum(dim=0).tolist() == pytest.approx([10 + 8, 10 + 20 / 24 + 8, 10 + 20 / 24], rel=0.1)
