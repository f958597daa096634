"""Figures of merit agree with scikit-learn and their intervals cover."""

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, f1_score

from adept.metrics import accuracy, bootstrap, codes, macro_f1

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
