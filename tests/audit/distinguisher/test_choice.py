"""Rules and their thresholds. Seeds are fixed, so nothing here is random; where a rate is tested, its chance is stated."""

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from adept.audit import GameCounts
from adept.audit.distinguisher.guessing_game import THRESHOLD_ALPHA, best_rule, chance_of_first
from adept.audit.distinguisher.statistics import Rule

Floats = NDArray[np.float64]

GAMES = 200


def chosen(
    first: Floats, second: Floats, *, rounds: int | None = None, alpha: float = THRESHOLD_ALPHA
) -> tuple[Rule, Rule]:
    values, own = pooled(first, second)
    options = {"gap": 1e-9, "delta": 0.0, "alpha": alpha}
    counted = best_rule(values, own, rounds=len(values), **options)
    return counted, best_rule(values, chance_of_first(values, own), rounds=rounds or len(values), **options)


def pooled(first: Floats, second: Floats) -> tuple[Floats, Floats]:
    return np.concatenate([first, second]), np.repeat([1.0, 0.0], [len(first), len(second)])


def bound(rule: Rule, first: Floats, second: Floats, *, alpha: float = 0.05) -> float:
    """The certified epsilon of a rule: each value is a round."""
    counts = GameCounts(
        right=rule.says(first, 0) + rule.says(second, 1),
        wrong=rule.says(first, 1) + rule.says(second, 0),
        rounds=len(first) + len(second),
        answers=rule.answers,
    )
    return counts.certified_epsilon(delta=0.0, alpha=alpha)


def test_the_fitted_chance_is_the_true_one_where_the_value_is_a_privacy_loss() -> None:
    """Normal values of means 1 and -1 have log odds 2 v: the values are those of a privacy loss, up to a factor."""
    generator = np.random.default_rng(1)
    first, second = generator.normal(1, 1, 20_000), generator.normal(-1, 1, 20_000)
    true = 1 / (1 + np.exp(-2 * np.concatenate([first, second])))
    assert np.abs(chance_of_first(*pooled(first, second)) - true).max() < 0.02


def test_curves_that_are_fitted_together_are_those_of_each_row_alone() -> None:
    generator = np.random.default_rng(5)
    own = np.repeat([1.0, 0.0], [60, 60])
    rows = generator.normal(size=(40, 120)) * 10.0 ** generator.integers(-5, 5, (40, 1))
    rows += own * np.linspace(-9, 9, 40)[:, None] * rows.std(axis=1, keepdims=True)  # some are apart
    alone = np.stack([chance_of_first(row, own) for row in rows])
    np.testing.assert_allclose(chance_of_first(rows, own), alone, rtol=0, atol=1e-12)


def test_few_values_find_by_the_curve_what_counts_alone_do_not() -> None:
    """A normal tail: the rule chosen on 2,000 values certifies more by its curve, on average over 20 choices."""
    generator = np.random.default_rng(2)
    fresh = generator.normal(0.5, 1, 500_000), generator.normal(-0.5, 1, 500_000)
    gains = []
    for _ in range(20):
        first, second = generator.normal(0.5, 1, 1_000), generator.normal(-0.5, 1, 1_000)
        counted, fitted = chosen(first, second, rounds=1_000_000)
        gains.append(bound(fitted, *fresh) - bound(counted, *fresh))
    assert float(np.mean(gains)) > 0.5


def test_what_contradicts_the_curve_is_found_by_the_counts() -> None:
    """High values speak for the first input, but the highest come from the second alone."""
    generator = np.random.default_rng(3)
    first, second = (generator.normal(mean, 1, 20_000) for mean in (0.5, -0.5))
    second[:600] = 10.0
    counted, fitted = chosen(first[::2], second[::2])
    assert bound(counted, first[1::2], second[1::2]) > 4
    assert bound(fitted, first[1::2], second[1::2]) < 2


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (np.full(100, 2.0), np.full(100, -2.0)),
        (np.zeros(100), np.zeros(100)),
        (np.array([1e6, *np.zeros(99)]), np.array([-1e6, *np.zeros(99)])),
        (np.linspace(0, 1e-300, 25), np.linspace(5, 6, 25)),
    ],
    ids=["apart", "equal", "outliers", "tiny"],
)
def test_values_to_which_no_curve_fits_give_a_rule_all_the_same(first: Floats, second: Floats) -> None:
    assert np.isfinite(chance_of_first(*pooled(first, second))).all()
    for rule in chosen(first, second):
        assert bound(rule, first, second) >= 0


def errors(*, reuse: bool, games: int = GAMES, alpha: float = 0.2) -> int:
    """Return how many games certify more than the true epsilon, which is 0: both inputs have one distribution."""
    generator, wrong = np.random.default_rng(4), 0
    for _ in range(games):
        first, second = generator.normal(0, 1, (2, 200))
        rules = chosen(first, second, alpha=0.1)  # greedy, so that fresh values matter
        # Each value's input is a coin's choice: the counts of the two inputs are binomial.
        heads = int(generator.binomial(400, 0.5))
        counted = (first, second) if reuse else (generator.normal(0, 1, heads), generator.normal(0, 1, 400 - heads))
        wrong += max(bound(rule, *counted, alpha=alpha / len(rules)) for rule in rules) > 0
    return wrong


def test_two_rules_err_no_more_often_than_alpha_but_would_on_their_own_values() -> None:
    """The proof's premise is that the counted values are fresh; without it the claim is false, and this test sees that."""
    most = GAMES * 0.2 + 5 * math.sqrt(GAMES * 0.2 * 0.8)
    assert 0 < errors(reuse=False) <= most < errors(reuse=True)
