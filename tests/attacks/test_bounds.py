"""No attack exceeds its bound, and some mechanism attains each of them."""

import math

import numpy as np
import pytest

from adept.attacks.bounds import Rate, best_guess, good_enough, membership_auc, membership_power, several_guesses
from adept.errors import ConfigurationError


@pytest.mark.parametrize("epsilon", [0.0, 0.5, 2.0, 8.0])
def test_good_enough_is_attained_by_randomised_response_over_groups(epsilon: float) -> None:
    """k equally common groups: the group's own symbol with weight e^eps, so a guess is right with e^eps / (e^eps + k - 1)."""
    for groups in (2, 7, 1000):
        attained = math.exp(epsilon) / (math.exp(epsilon) + groups - 1)
        assert good_enough(1 / groups, epsilon=epsilon) == pytest.approx(attained)
        assert best_guess([1.0] * groups, epsilon=epsilon) == pytest.approx(attained)


def test_good_enough_covers_every_prior_and_every_mechanism_of_two_symbols() -> None:
    """All binary eps-LDP mechanisms on three records, overlapping success sets: the best guess never exceeds the bound."""
    rng, epsilon = np.random.default_rng(0), 1.0
    wins = np.array([[1, 1, 0], [0, 1, 1], [1, 0, 0]])  # which records each guess wins
    tight = 0.0
    for _ in range(2000):
        prior = rng.dirichlet(np.ones(3))
        low = rng.uniform(0.05, 0.95)
        says = np.clip(rng.choice([low, low * math.exp(epsilon)], size=3), 0, 1)  # P[symbol 1 | record]
        if (1 - says).max() > math.exp(epsilon) * (1 - says).min():
            continue
        best = sum(max(wins @ (prior * law)) for law in (says, 1 - says))
        bound = good_enough(float((wins @ prior).max()), epsilon=epsilon)
        assert best <= bound + 1e-12
        tight = max(tight, best / bound)
    assert tight > 0.9


def test_several_guesses_and_delta_are_the_known_formulas() -> None:
    assert several_guesses(3, 10, epsilon=2.0) == pytest.approx(3 * math.exp(2) / (3 * math.exp(2) + 7))
    assert good_enough(0.1, epsilon=2.0, delta=0.01) >= (math.exp(2) + 9 * 0.01) / (math.exp(2) + 9)
    assert good_enough(0.1, epsilon=2.0, delta=0.01) > good_enough(0.1, epsilon=2.0)
    assert good_enough(1.0, epsilon=0.0) == 1.0
    assert good_enough(1e-9, epsilon=math.inf) == 1.0
    with pytest.raises(ConfigurationError, match="guesses must be from 1 to the 5 candidates"):
        several_guesses(6, 5, epsilon=1.0)


@pytest.mark.parametrize(("epsilon", "delta"), [(0.0, 0.0), (1.0, 0.0), (1.0, 0.1), (4.0, 1e-3)])
def test_the_area_is_the_integral_of_the_power(epsilon: float, delta: float) -> None:
    rates = np.linspace(0, 1, 200_001)
    power = np.array([membership_power(float(rate), epsilon=epsilon, delta=delta) for rate in rates[::20]])
    assert np.trapezoid(power, rates[::20]) == pytest.approx(membership_auc(epsilon=epsilon, delta=delta), abs=1e-4)


def test_a_rate_refutes_a_bound_with_its_whole_interval_alone() -> None:
    rate = Rate.of(900, 1000, confidence=0.999)
    assert rate.low < 0.9 < rate.high
    assert (rate.exceeds(0.85), rate.exceeds(0.89)) == (True, False)
    assert Rate.of(0, 10, confidence=0.9).low == 0.0
    with pytest.raises(ConfigurationError, match="confidence must be between 0 and 1"):
        Rate.of(1, 2, confidence=1.0)
