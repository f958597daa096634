"""A classifier learns from labelled text what that text says about its labels, and nothing else."""

import random

import pytest

from adept.data import Corpus, DataConfig, load
from adept.downstream import evaluate
from adept.errors import ConfigurationError, DataError


def test_a_classifier_beats_the_majority_on_real_text_and_not_on_shuffled_labels() -> None:
    splits = load(DataConfig(sizes=[1500, 10, 400]))
    train = splits["train"]
    honest = evaluate(train, splits["test"])
    assert honest.accuracy.value > honest.majority_accuracy + 0.1
    shuffled = random.Random(0).sample(train.labels or [], k=len(train))
    chance = evaluate(Corpus(train.texts, shuffled), splits["test"])
    assert chance.accuracy.value <= chance.majority_accuracy + 0.02
    assert honest.accuracy.low <= honest.accuracy.value <= honest.accuracy.high


def test_the_lstm_learns_the_labels_too_and_is_repeatable() -> None:
    splits = load(DataConfig(sizes=[600, 10, 200], balanced=True))
    first = evaluate(splits["train"], splits["test"], classifier="lstm", seed=3)
    assert first.accuracy.value > 5 * first.majority_accuracy
    assert evaluate(splits["train"], splits["test"], classifier="lstm", seed=3) == first
    odd = evaluate(Corpus(["a b", "", "c"], ["x", "y", "x"]), Corpus(["", "zebra"], ["x", "y"]), classifier="lstm")
    assert odd.test_records == 2


def test_empty_texts_and_a_single_label_are_handled() -> None:
    test = Corpus(["a", ""], ["x", "y"])
    assert evaluate(Corpus(["a", ""], ["x", "x"]), test).accuracy.value == 0.5
    assert evaluate(Corpus(["a b", ""], ["x", "y"]), test).test_records == 2
    with pytest.raises(DataError, match="empty"):
        evaluate(Corpus(["", ""], ["x", "y"]), test)


def test_missing_labels_and_unknown_classifiers_are_refused() -> None:
    labelled, unlabelled = Corpus(["a", "b"], ["x", "y"]), Corpus(["a"])
    for train, test, name in ((unlabelled, labelled, "train"), (labelled, unlabelled, "test")):
        with pytest.raises(DataError, match=f"{name} must have labels"):
            evaluate(train, test)
    with pytest.raises(ConfigurationError, match="classifier must be"):
        evaluate(labelled, labelled, classifier="bert")
