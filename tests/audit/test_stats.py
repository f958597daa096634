"""Bounds and distributions of noise against other computations of the same numbers; nothing here is random but where it says so."""

import math

import mpmath
import numpy as np
import pytest
import torch
from scipy.stats import binom, binomtest, chi2

from adept.audit import GameCounts, clopper_pearson, epsilon_lower_bound
from adept.audit.stats import NOISES, cap_p_value, game_lower_bound, gaussian_delta
from adept.mechanisms import PrivUnit
from adept.mechanisms.gaussian import analytic_scale


@pytest.mark.parametrize(("successes", "trials"), [(0, 10), (3, 10), (10, 10), (1, 100_000)])
def test_clopper_pearson_agrees_with_scipys_exact_interval(successes: int, trials: int) -> None:
    lower, upper = clopper_pearson(successes, trials, alpha=0.025)
    interval = binomtest(successes, trials).proportion_ci(0.95, method="exact")
    assert (float(lower), float(upper)) == pytest.approx((interval.low, interval.high), rel=1e-9)


def test_clopper_pearson_keeps_its_digits_at_a_tiny_alpha() -> None:
    _, upper = clopper_pearson(0, 1000, alpha=1e-30)
    assert float(upper) == pytest.approx(-math.expm1(math.log(1e-30) / 1000), rel=1e-9)


@pytest.mark.parametrize("trials", [1, 2, 100, 10**6])
@pytest.mark.parametrize("alpha", [0.05, 1e-10, 1e-50, 1e-300])
def test_clopper_pearson_errs_no_more_often_than_alpha_at_its_ends(trials: int, alpha: float) -> None:
    """In sixty digits. Near one a float's spacing counts: 999,999 of 10^6 at 1e-10 erred a tenth more often."""
    with mpmath.workdps(60):
        for count in {0, 1, min(2, trials), max(0, trials - 2), trials - 1, trials}:
            lower, upper = (mpmath.mpf(float(end)) for end in clopper_pearson(count, trials, alpha=alpha))
            assert at_least(count, trials, lower) <= alpha * (1 + 1e-9)
            assert at_least(trials - count, trials, 1 - upper) <= alpha * (1 + 1e-9)


def at_least(count: int, trials: int, chance: mpmath.mpf) -> mpmath.mpf:
    """P[K >= count]; zero where the bound is trivial."""
    if chance in (0, 1) or not count:
        return mpmath.mpf(0)
    return mpmath.betainc(count, trials - count + 1, 0, chance, regularized=True)


@pytest.mark.parametrize("epsilon", [0.0, 1e-9, 1e-3, 1.0, 40.0, 600.0])
@pytest.mark.parametrize("ratio", [1e-6, 1e-3, 0.3, 1.0, 30.0, 1e3])
def test_gaussian_delta_at_its_ends_is_that_of_sixty_digits(epsilon: float, ratio: float) -> None:
    with mpmath.workdps(120):
        half, moved = mpmath.mpf(ratio) / 2, mpmath.mpf(epsilon) / mpmath.mpf(ratio)
        exact = mpmath.ncdf(half - moved) - mpmath.exp(mpmath.mpf(epsilon)) * mpmath.ncdf(-half - moved)
    assert gaussian_delta(ratio, sigma=1.0, epsilon=epsilon) == pytest.approx(float(exact), rel=1e-8, abs=1e-300)


def test_an_event_never_seen_certifies_about_ln_of_the_trials_over_3_7() -> None:
    bound = float(epsilon_lower_bound(500_000, 0, 500_000, 500_000, delta=0.0, alpha=0.05))
    assert bound == pytest.approx(math.log(500_000 / 3.69), abs=1e-3)


def test_a_delta_lowers_the_bound_and_swallows_small_events() -> None:
    with_delta = float(epsilon_lower_bound(500, 10, 1000, 1000, delta=0.1, alpha=0.05))
    assert with_delta < float(epsilon_lower_bound(500, 10, 1000, 1000, delta=0.0, alpha=0.05))
    assert float(epsilon_lower_bound(50, 0, 1000, 1000, delta=0.1, alpha=0.05)) == -math.inf


def test_the_bound_errs_no_more_often_than_alpha() -> None:
    """At the true epsilon, over 20,000 experiments: the count exceeds its mean by 5 standard deviations with probability 3e-7."""
    generator = np.random.default_rng(1)
    first, second = generator.binomial(200, 0.6, 20_000), generator.binomial(200, 0.2, 20_000)
    wrong = int((epsilon_lower_bound(first, second, 200, 200, delta=0.0, alpha=0.1) > math.log(3)).sum())
    assert wrong <= 2000 + 5 * math.sqrt(1800)
    assert wrong > 0  # a bound that is never wrong would say nothing


@pytest.mark.parametrize("delta", [0.0, 0.005, 0.05])
def test_the_bound_of_a_game_errs_no_more_often_than_alpha(delta: float) -> None:
    """At the true epsilon, over 20,000 games of 400 rounds; 5 standard deviations as above, and the errors fill the share."""
    generator = np.random.default_rng(2)
    wrong = 0.1
    right = 4 * wrong + delta  # p = exp(epsilon) q + delta: the claim of ln 4 is just true
    scores = generator.multinomial(400, [right, wrong, 1 - right - wrong], 20_000).T
    errors = int((game_lower_bound(*scores[:2], 400, delta=delta, alpha=0.1) > math.log(4)).sum())
    assert errors <= 2000 + 5 * math.sqrt(1800)
    assert errors > (1000 if delta == 0 else 200)


@pytest.mark.parametrize("delta", [0.0, 1e-6, 1e-3, 1e-2])
def test_one_bound_on_the_answered_rounds_certifies_more_than_two_on_all(delta: float) -> None:
    right, wrong = np.array([400, 1500, 5000]), np.array([0, 40, 3000])
    apart = epsilon_lower_bound(right, wrong, 10_000, 10_000, delta=delta, alpha=1e-5)
    assert (game_lower_bound(right, wrong, 10_000, delta=delta, alpha=1e-5) > apart).all()


def test_a_game_in_which_nothing_was_answered_certifies_nothing() -> None:
    assert GameCounts(right=0, wrong=0, rounds=100).certified_epsilon(delta=0.0, alpha=0.05) == 0.0


def test_the_p_value_is_the_alpha_at_which_the_bound_meets_the_claim() -> None:
    counts = GameCounts(right=800, wrong=100, rounds=1000)
    p = counts.p_value(epsilon=1.5, delta=0.0)
    assert counts.certified_epsilon(delta=0.0, alpha=p) == pytest.approx(1.5, abs=1e-6)
    assert p == pytest.approx(binom.cdf(100, 900, 1 / (1 + math.exp(1.5))), rel=1e-6)
    assert GameCounts(right=0, wrong=5, rounds=10).p_value(epsilon=1.0, delta=0.0) == 1.0


@pytest.mark.parametrize(("epsilon", "delta"), [(0.5, 1e-5), (10.0, 1e-6), (100.0, 1e-9)])
def test_gaussian_delta_inverts_the_mechanisms_analytic_scale(epsilon: float, delta: float) -> None:
    needed = gaussian_delta(2.0, sigma=2 * analytic_scale(epsilon, delta=delta), epsilon=epsilon)
    assert needed == pytest.approx(delta, rel=1e-4)


@pytest.mark.parametrize("name", ["laplace", "gaussian"])
def test_a_claim_of_what_the_noise_is_said_to_need_is_enough(name: str) -> None:
    for distance in (0.7, 1.0, 1.2345678, 3.0):
        _, needed = NOISES[name].holds(distance, scale=1.3, epsilon=0.1, delta=0.0)
        kind, value = needed.split()
        assert NOISES[name].holds(distance, scale=1.3, **{"epsilon": 0.1, "delta": 0.0} | {kind: float(value)})[0]


def test_the_classical_gaussian_formula_fails_at_epsilon_10() -> None:
    sigma = math.sqrt(2 * math.log(1.25 / 1e-6)) / 10
    assert gaussian_delta(1.0, sigma=sigma, epsilon=10.0) > 1.5e-6


def test_the_scale_test_sees_the_originals_error_in_one_vector() -> None:
    """The original's noise is 8 times too small at n = 64; its median is tested here, so nothing is random."""
    noise = np.full((1, 64), math.log(2))
    size, freedom = NOISES["laplace"].size(noise, 8.0)
    assert chi2.cdf(size, freedom) < 1e-12


def test_the_distribution_of_the_cap_is_seen_at_another_epsilon() -> None:
    """PrivUnit's own releases have its budget's distribution and no other's; the first line fails with probability 1e-9."""
    mechanism, x = PrivUnit(epsilon=4.0), np.eye(8)[0]
    releases = mechanism.privatize(torch.from_numpy(x).expand(5000, -1)).numpy()
    assert cap_p_value(releases, x, epsilon=4.0, clip_norm=1.0) > 1e-9
    assert cap_p_value(releases, x, epsilon=5.0, clip_norm=1.0) < 1e-9
