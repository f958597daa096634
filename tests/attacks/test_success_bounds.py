"""No attack exceeds its bound, and some mechanism attains each of them."""

import math

import mpmath
import numpy as np
import pytest

from adept.attacks.attack_game import Rate
from adept.errors import ConfigurationError
from adept.mechanisms.guarantee import good_enough
from adept.studies.limits import best_guess, membership_auc, membership_power


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
        best = sum(max(wins @ (prior * distribution)) for distribution in (says, 1 - says))
        bound = good_enough(float((wins @ prior).max()), epsilon=epsilon)
        assert best <= bound + 1e-12
        tight = max(tight, best / bound)
    assert tight > 0.9


def test_delta_and_the_ends_are_the_known_formulas() -> None:
    assert good_enough(0.3, epsilon=2.0) == pytest.approx(3 * math.exp(2) / (3 * math.exp(2) + 7))
    assert good_enough(0.1, epsilon=2.0, delta=0.01) >= (math.exp(2) + 9 * 0.01) / (math.exp(2) + 9)
    assert good_enough(0.1, epsilon=2.0, delta=0.01) > good_enough(0.1, epsilon=2.0)
    assert good_enough(1.0, epsilon=0.0) == 1.0
    assert good_enough(1e-9, epsilon=math.inf) == 1.0


@pytest.mark.parametrize(("epsilon", "delta"), [(0.0, 0.0), (1.0, 0.0), (1.0, 0.1), (4.0, 1e-3)])
def test_the_area_is_the_integral_of_the_power(epsilon: float, delta: float) -> None:
    rates = np.linspace(0, 1, 200_001)
    power = np.array([membership_power(float(rate), epsilon=epsilon, delta=delta) for rate in rates[::20]])
    assert np.trapezoid(power, rates[::20]) == pytest.approx(membership_auc(epsilon=epsilon, delta=delta), abs=1e-4)


def test_a_rate_has_an_interval_around_it() -> None:
    rate = Rate.of(900, 1000, confidence=0.999)
    assert 0.85 < rate.low < 0.89 < rate.value < rate.high
    assert Rate.of(0, 10, confidence=0.9).low == 0.0


ENDS = (0.0, 1e-300, 1e-3, 1.0, 40.0, 600.0, 745.0, 1e6, 1e308)
SHARES = (0.0, 5e-324, 1e-300, 1e-17, 1e-6, 0.3, 1 - 2.0**-53, 1.0)


@pytest.mark.parametrize("epsilon", ENDS)
@pytest.mark.parametrize("delta", [0.0, 1e-300, 1e-6, 0.5, 1.0])
def test_bounds_at_their_ends_are_those_of_seven_hundred_digits(epsilon: float, delta: float) -> None:
    """e^eps overflows, its inverse underflows, and either may meet a share that is as far from one."""
    with mpmath.workdps(700):
        odds, forgiven = mpmath.exp(mpmath.mpf(epsilon)), mpmath.mpf(delta)
        for share in map(mpmath.mpf, SHARES):
            enough = 1 if share == 1 else min(1, (share * odds + forgiven) / (share * odds + 1 - share))
            power = min(1, odds * share + forgiven, 1 - (1 - forgiven - share) / odds)
            given = {"epsilon": epsilon, "delta": delta}
            assert good_enough(float(share), **given) == pytest.approx(float(enough), rel=1e-12, abs=1e-307)
            assert membership_power(float(share), **given) == pytest.approx(float(power), rel=1e-12, abs=1e-307)
        area = 1 - (1 - forgiven) ** 2 / (1 + odds)
        assert membership_auc(epsilon=epsilon, delta=delta) == pytest.approx(float(area), rel=1e-12)


def test_a_large_epsilon_does_not_bound_a_tiny_rate_of_false_alarms() -> None:
    """e^700 stood for every larger epsilon: a bound of .1 where the truth is 1."""
    assert membership_power(1e-305, epsilon=800.0) == membership_power(1e-305, epsilon=math.inf) == 1.0
    assert good_enough(0.0, epsilon=800.0, delta=0.1) == good_enough(0.0, epsilon=math.inf, delta=0.1) == 0.1


def test_a_prior_over_a_million_records_is_summed_as_one_over_three() -> None:
    assert best_guess([1.0] * 10**6, epsilon=2.0) == pytest.approx(math.exp(2) / (math.exp(2) + 10**6 - 1))


@pytest.mark.parametrize("call", [good_enough, membership_power])
def test_a_budget_or_a_share_out_of_range_is_refused(call) -> None:
    for given in ({"epsilon": -1.0}, {"epsilon": math.nan}, {"epsilon": 1.0, "delta": 1.5}):
        with pytest.raises(ConfigurationError, match=r"must be"):
            call(0.5, **given)
    for successes, trials in ((1, 0), (3, 2), (-1, 2)):
        with pytest.raises(ConfigurationError, match="successes must be from 0 to the trials"):
            Rate.of(successes, trials, confidence=0.9)
    with pytest.raises(ConfigurationError, match="confidence must be between 0 and 1"):
        Rate.of(1, 2, confidence=1.0)
