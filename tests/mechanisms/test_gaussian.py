"""Claims about Gaussian noise: both calibrations against 60-digit arithmetic, and the discrete bound against brute force.

Statistical: sum z^2 / s^2 ~ chi^2 with n N degrees of freedom, and a KS test; p-values with the limit 1e-10, 34 tests.
"""

import math

import mpmath
import numpy as np
import pytest
import torch
from scipy import stats

from adept.errors import ConfigurationError
from adept.mechanisms import Gaussian
from adept.mechanisms.gaussian import analytic_scale, discrete_log_delta, discrete_scale, log_delta

P_LIMIT = 1e-10
EPSILONS = [1e-3, 0.1, 1.0, 8.0, 64.0, 600.0]
DELTAS = [0.5, 0.1, 1e-6, 1e-30, 1e-100]


def precise_delta(scale: float, epsilon: float) -> mpmath.mpf:
    """The smallest delta of the continuous Gaussian at l2 distance 1 (Balle and Wang 2018, Theorem 8), as they state it."""
    scale, epsilon = mpmath.mpf(scale), mpmath.mpf(epsilon)
    half = 1 / (2 * scale)
    return mpmath.ncdf(half - epsilon * scale) - mpmath.exp(epsilon) * mpmath.ncdf(-half - epsilon * scale)


@pytest.mark.mutants("mechanisms.gaussian")
@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("delta", DELTAS)
def test_the_analytic_scale_is_private_and_tight_in_sixty_digits(epsilon: float, delta: float) -> None:
    scale = analytic_scale(epsilon, delta=delta)
    with mpmath.workdps(60):
        assert precise_delta(scale, epsilon) <= delta
        assert precise_delta(scale * (1 - 1e-5), epsilon) > delta
        error = mpmath.exp(log_delta(scale, epsilon=epsilon)) / precise_delta(scale, epsilon) - 1
    assert abs(error) < 1e-9


def test_the_textbook_scale_fails_at_epsilon_ten() -> None:
    """sqrt(2 ln(1.25 / delta)) / eps is proved for eps < 1: where it is wrong, ours is not."""
    with mpmath.workdps(60):
        assert precise_delta(math.sqrt(2 * math.log(1.25e6)) / 10, 10.0) > 1e-6
        assert precise_delta(math.sqrt(2 * math.log(1.25e6)) / 0.9, 0.9) < 1e-6


@pytest.mark.parametrize("dim", [1, 16, 64, 256, 10_000])
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_the_exact_calibration_costs_less_than_a_millionth(dim: int, epsilon: float) -> None:
    exact = Gaussian(epsilon=epsilon, clip_norm=0.7).guarantee(dim).scale
    analytic = Gaussian(epsilon=epsilon, clip_norm=0.7, calibration="analytic").guarantee(dim).scale
    assert 1 - 1e-12 <= exact / analytic < 1 + 1e-6


@pytest.mark.mutants("mechanisms.gaussian")
@pytest.mark.parametrize("dim", [1, 32, 10_000])
@pytest.mark.parametrize("epsilon", [1e-3, 1.0, 8.0, 600.0])
@pytest.mark.parametrize("delta", [0.5, 1e-6, 1e-100])
def test_the_scale_that_is_released_meets_the_whole_bound_in_sixty_digits(
    dim: int, epsilon: float, delta: float
) -> None:
    """Inequality (**) of the docstring, slack and tail included, at the very scale and diameter of a release."""
    diameter = 2.0**21
    with mpmath.workdps(60):
        s, n = mpmath.mpf(discrete_scale(diameter, dim=dim, epsilon=epsilon, delta=delta)), mpmath.mpf(dim)
        a, tail = n / (8 * s**2), mpmath.mpf(delta) / 2**21
        radius = diameter + 2 * s * mpmath.sqrt(n * mpmath.log(1.5) - mpmath.log(tail))
        spent = epsilon - 2 * a - radius**2 / (8 * s**4)
        half, ratio = diameter / (2 * s), s / diameter
        continuous = mpmath.ncdf(half - spent * ratio) - mpmath.exp(spent) * mpmath.ncdf(-half - spent * ratio)
        bound = mpmath.exp(a) * continuous + tail
        assert delta * (1 - mpmath.mpf(2) ** -19) < bound <= delta


def true_discrete_delta(scale: float, shift: tuple[int, int], epsilon: float) -> float:
    """sum over z of max(0, P[z|0] - e^eps P[z|shift]) for the two-dimensional discrete Gaussian, by brute force."""
    reach = int(12 * scale) + 10
    grid = np.arange(-reach, reach + 1)
    mass = np.exp(-(grid**2) / (2 * scale**2))
    total = mass.sum()
    first = np.outer(mass, mass) / total**2
    moved = [np.exp(-((grid - step) ** 2) / (2 * scale**2)) / total for step in shift]
    return float(np.maximum(first - math.exp(epsilon) * np.outer(*moved), 0).sum())


TAIL = 1e-9
COARSE = [(s, d, e) for s in (2.0, 5.0, 20.0) for d in ((1, 0), (2, 1), (5, 5), (7, 0)) for e in (0.25, 1.0, 4.0)]


def slack(scale: float, distance: float) -> float:
    reach = distance + 2 * scale * math.sqrt(2 * math.log(1.5) - math.log(TAIL))
    return 4 / (8 * scale**2) + reach**2 / (8 * scale**4)


@pytest.mark.mutants("mechanisms.gaussian")
@pytest.mark.parametrize(
    ("scale", "shift", "epsilon"), [case for case in COARSE if slack(case[0], math.hypot(*case[1])) < case[2]]
)
def test_the_discrete_bound_lies_above_the_truth(scale: float, shift: tuple[int, int], epsilon: float) -> None:
    """The lemma in the module's docstring, on grids so coarse that its slack matters."""
    bound = discrete_log_delta(scale, distance=math.hypot(*shift), dim=2, epsilon=epsilon, tail=TAIL)
    assert true_discrete_delta(scale, shift, epsilon) <= math.exp(bound) + TAIL


@pytest.mark.mutants("mechanisms.gaussian")
@pytest.mark.parametrize(
    ("scale", "distance", "dim", "epsilon"), [(2.0, 1.0, 1, 9.0), (5.0, 7.0, 3, 4.0), (20.0, 3.0, 2, 1.0)]
)
def test_the_discrete_bound_is_that_of_the_docstring_where_its_slack_matters(
    scale: float, distance: float, dim: int, epsilon: float
) -> None:
    with mpmath.workdps(30):
        s, far, tail = mpmath.mpf(scale), mpmath.mpf(distance), mpmath.mpf("1e-3")
        a, reach = dim / (8 * s**2), far + 2 * s * mpmath.sqrt(mpmath.log(mpmath.mpf(3) / 2) * dim - mpmath.log(tail))
        spent = epsilon - 2 * a - reach**2 / (8 * s**4)
        bound = a + mpmath.log(precise_delta(s / far, spent))
    assert float(bound) == pytest.approx(
        discrete_log_delta(scale, distance=distance, dim=dim, epsilon=epsilon, tail=1e-3), rel=1e-9
    )


@pytest.mark.parametrize("scale", [1.0, 1.7, 5.0, 100.0])
def test_the_discrete_distribution_is_close_to_the_rounded_continuous_one(scale: float) -> None:
    """Inequality (*) in one dimension: exp(-a) d <= r <= exp(a + y^2 / (8 s^4)) d with a = 1 / (8 s^2)."""
    near = 1 / (8 * scale**2)
    with mpmath.workdps(60):
        total = mpmath.nsum(lambda z: mpmath.exp(-(z**2) / (2 * mpmath.mpf(scale) ** 2)), [-mpmath.inf, mpmath.inf])
        for y in (0, 1, 2, 5, 13, 40):
            discrete = mpmath.exp(-(mpmath.mpf(y) ** 2) / (2 * mpmath.mpf(scale) ** 2)) / total
            rounded = mpmath.ncdf((0.5 - y) / mpmath.mpf(scale)) - mpmath.ncdf((-0.5 - y) / mpmath.mpf(scale))
            assert -near <= mpmath.log(rounded / discrete) <= near + y**2 / (8 * scale**4)


def test_the_discrete_gaussian_can_exceed_the_continuous_delta() -> None:
    """The slack is needed: on a coarse grid the continuous formula alone would be a false claim."""
    cases = [(2.0, (1, 0), e) for e in (0.25, 0.5, 1.0)] + [(2.0, (5, 5), e) for e in (1.0, 2.0, 4.0)]
    excess = [true_discrete_delta(s, d, e) / math.exp(log_delta(s / math.hypot(*d), epsilon=e)) for s, d, e in cases]
    assert max(excess) > 1.01


@pytest.mark.mutants("mechanisms.gaussian")
def test_the_comparison_of_the_mean_squared_errors_at_epsilon_eight() -> None:
    """1.306 for both calibrations where OpenDP's conversion from zCDP certifies epsilon 8 at 1.38 at best."""
    assert Gaussian(epsilon=8.0).guarantee(64).scale == pytest.approx(1.30587, abs=1e-5)
    assert Gaussian(epsilon=8.0, calibration="analytic").guarantee(64).scale == pytest.approx(1.30587, abs=1e-5)


def scale_p_value(noise: torch.Tensor, scale: float) -> float:
    statistic, freedom = float((noise / scale).pow(2).sum()), noise.numel()
    return 2 * min(stats.chi2.cdf(statistic, freedom), stats.chi2.sf(statistic, freedom))


@pytest.mark.parametrize("calibration", ["exact", "analytic"])
@pytest.mark.parametrize("dim", [16, 32, 64, 128, 256])
@pytest.mark.parametrize("epsilon", [1.0, 8.0, 128.0])
def test_released_noise_has_the_stated_scale(calibration: str, dim: int, epsilon: float, unit_rows) -> None:
    mechanism = Gaussian(epsilon=epsilon, clip_norm=0.7, calibration=calibration)
    latents = mechanism.project(unit_rows(8192 // dim, dim))
    noise = mechanism.privatize(latents) - latents
    scale = 1.4 * analytic_scale(epsilon, delta=1e-6)
    assert mechanism.expected_squared_error(dim) == pytest.approx(dim * scale**2, rel=1e-6)
    assert scale_p_value(noise, scale) > P_LIMIT
    assert stats.kstest(noise.flatten().numpy(), stats.norm(scale=scale).cdf).pvalue > P_LIMIT


@pytest.mark.parametrize("calibration", ["exact", "analytic"])
def test_noise_for_an_epsilon_one_larger_is_detected(calibration: str, unit_rows) -> None:
    """The planted defect: the scale of epsilon 9 sold as 8."""
    mechanism = Gaussian(epsilon=9.0, calibration=calibration)
    latents = mechanism.project(unit_rows(300, 64))
    assert scale_p_value(mechanism.privatize(latents) - latents, Gaussian(epsilon=8.0).guarantee(64).scale) < P_LIMIT


@pytest.mark.parametrize("delta", [0.0, -1e-6, 1.0, math.nan, 1e-200])
def test_an_impossible_delta_is_refused_by_name(delta: float) -> None:
    with pytest.raises(ConfigurationError, match="delta must be"):
        Gaussian(epsilon=8.0, delta=delta)


def test_an_unknown_calibration_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="calibration must be one of exact, analytic, got classical"):
        Gaussian(epsilon=8.0, calibration="classical")


def test_the_guarantee_states_delta_and_whether_it_is_exact() -> None:
    guarantee = Gaussian(epsilon=8.0, delta=1e-7).guarantee(64)
    assert (guarantee.delta, guarantee.exact, guarantee.sensitivity) == (1e-7, True, 2.0)
    assert "(8, 1e-7)-LDP" in guarantee.text
    assert not Gaussian(epsilon=8.0, calibration="analytic").guarantee(64).exact
