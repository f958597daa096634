"""Claims about the mean of a count: it is that of the sum over all counts, for any noise, mean and released number."""

import itertools
from types import SimpleNamespace

import numpy as np
import pytest

from adept.mechanisms.policy import STRENGTH
from adept.synthesis import labels
from adept.synthesis.labels import _strength, _weights, estimate, expected_counts
from adept.synthesis.votes import GRID, WeightedTexts

COUNTS = np.arange(20_000.0)


def summed(released: float, mean: float, decay: float) -> float:
    """The definition: all counts, weighted by prior and noise."""
    logs = COUNTS * np.log(mean / (1 + mean)) + np.abs(released - COUNTS) * np.log(decay)
    weights = np.exp(logs - logs.max())
    return float((weights * COUNTS).sum() / weights.sum())


@pytest.mark.parametrize("decay", [0.018, 0.37, 0.6, 0.97])
def test_the_mean_is_that_of_the_sum_over_all_counts(decay: float) -> None:
    means = [1e-9, 0.01, decay / (1 - decay), 1.0, 30.0, 500.0]  # the third: both pieces rise and fall alike
    cases = np.array(list(itertools.product([-30.0, -1.0, 0.0, 1.0, 7.0, 60.0, 900.0], means)))
    found = expected_counts(cases[:, 0], cases[:, 1], decay=decay)
    assert found == pytest.approx([summed(*case, decay) for case in cases], rel=1e-6, abs=1e-12)


def test_little_noise_is_believed_and_much_is_not() -> None:
    released, means = np.array([40.0, 40.0]), np.array([2.0, 2.0])
    assert expected_counts(released, means, decay=1e-6) == pytest.approx([40.0, 40.0], abs=1e-3)
    assert (expected_counts(released, means, decay=0.999) < 3).all()


def test_huge_counts_stay_finite() -> None:
    found = expected_counts(np.array([1e7, -1e7, 1e7]), np.array([1e7, 1e-9, 1e-9]), decay=0.5)
    assert np.isfinite(found).all()
    assert found[0] == pytest.approx(1e7, rel=1e-6)


def test_few_records_of_a_label_and_much_noise_make_the_regression_simpler() -> None:
    many, few, none = (np.full((8, 4), count) for count in (1000.0, 2.0, -3.0))
    assert _strength(many, np.exp(-1.0)) == STRENGTH
    assert _strength(few, np.exp(-1.0)) == pytest.approx(STRENGTH * 16 / 64)
    assert _strength(few, np.exp(-0.5)) == pytest.approx(STRENGTH * 16 / 128)
    assert 0 < _strength(none, np.exp(-1.0)) < 0.1


def test_a_text_is_written_as_often_as_it_got_votes_for_its_own_label() -> None:
    """Two texts share a codeword, and names say which label each has: the counts say how often it is written."""
    scores = np.array([[9.0, -9.0], [-9.0, 9.0]], dtype=np.float32)
    public = WeightedTexts.alike(["a", "b"])
    cells = SimpleNamespace(features=GRID * np.eye(2), places=np.zeros(2, np.int64), public=public)
    found = estimate(np.array([[30, 10]]), cells, scores, decay=1e-6)  # type: ignore[arg-type]
    assert found.labels.tolist() == [0, 1]
    assert found.weights == pytest.approx([30.0, 10.0], rel=0.01)
    assert found.total == 40.0


def test_the_weight_of_a_text_is_its_part_of_the_weight_of_its_codeword() -> None:
    """By hand. Two codewords expect 30 and 10 of 40 records and got 36 and 4; the noise of a count has a variance of 4.

    The squared gaps less the expected counts are 6 and 26, on average 16, and 12 without the noise. So the weights are
    (12 x 36 + 4 x 30) / 16 and (12 x 4 + 4 x 10) / 16. Two texts share the first codeword; one is twice as common as the other.
    """
    public = WeightedTexts(["a", "b", "c"], np.array([2.0, 0.5, 1.0]), np.array([1.0, 0.5, 1.0]))
    cells = SimpleNamespace(features=np.eye(3), places=np.array([0, 0, 1]), public=public)
    found = estimate(np.array([[36], [4]]), cells, np.zeros((1, 1), np.float32), decay=0.5)  # type: ignore[arg-type]
    first, second = (12 * 36 + 4 * 30) / 16, (12 * 4 + 4 * 10) / 16
    assert found.weights == pytest.approx([first * 2 / 3, first / 3, second], rel=1e-12)
    assert (found.labels.tolist(), found.total) == ([0, 0, 0], 40.0)


def test_a_codeword_has_the_noise_of_all_its_labels() -> None:
    counts, shares = np.array([[30.0, 6.0], [5.0, -1.0]]), np.array([0.75, 0.25])
    found = _weights(counts, shares, total=40.0, variance=2.0)
    assert found == pytest.approx([(12 * 36 + 4 * 30) / 16, (12 * 4 + 4 * 10) / 16], rel=1e-12)
    assert _weights(counts, shares, total=40.0, variance=1e9) == pytest.approx([30.0, 10.0], rel=1e-12)


def test_with_too_many_pairs_a_text_gets_the_commonest_label_of_its_codeword(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(labels, "MAX_SCORES", 1)
    cells = SimpleNamespace(places=np.array([1, 0, 1]), public=WeightedTexts.alike(["a", "b", "c"]))
    found = estimate(np.array([[1, 9], [8, 2]]), cells, np.zeros((1, 2), np.float32), decay=0.5)  # type: ignore[arg-type]
    assert found.labels.tolist() == [0, 1, 0]


def test_a_common_label_needs_more_than_the_larger_probability(monkeypatch: pytest.MonkeyPatch) -> None:
    """By hand, with a regression that learns nothing: the odds of a text are those of its scores times 90.5 to 10.5.

    So the labels have the probabilities .563 and .437 for the first text, and .78 and .22 on average. The logarithm of
    .563 / .437 is .25, which is less than a quarter of the logarithm of .78 / .22.
    """
    monkeypatch.setattr(labels, "softmax_regression", lambda features, votes, *, start, **options: start)
    scores = np.array([[0.0, 1.9], [0.0, -5.0]], dtype=np.float32)
    cells = SimpleNamespace(
        features=GRID * np.eye(2), places=np.zeros(2, np.int64), public=WeightedTexts.alike(["a", "b"])
    )
    found = estimate(np.array([[90, 10]]), cells, scores, decay=1e-6)  # type: ignore[arg-type]
    assert found.labels.tolist() == [1, 0]
