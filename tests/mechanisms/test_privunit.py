"""Claims about PrivUnit: the optimum and the budget against high-precision arithmetic, the sampler against its distribution.

Statistical: KS tests with p-value limit 1e-10 and standard scores with limit 8 (see conftest.py); 50 of them.
"""

import math

import mpmath
import numpy as np
import pytest
import torch
from scipy import stats
from scipy.special import betainc, betaln

from adept.errors import ConfigurationError
from adept.mechanisms import PrivUnit
from adept.mechanisms import privunit as module
from adept.mechanisms.privunit import Cap, at_angles, cap_angles, cap_probability, optimal_cap

P_LIMIT = 1e-10
TABLE = {
    16: (0.198, 0.371, 0.619, 0.857, 0.979),
    32: (0.139, 0.265, 0.461, 0.695, 0.892),
    64: (0.098, 0.188, 0.334, 0.528, 0.739),
}


@pytest.mark.parametrize("dim", TABLE)
def test_mean_cosines_are_those_of_the_published_table(dim: int) -> None:
    cosines = [PrivUnit(epsilon=epsilon).mean_cosine(dim) for epsilon in (2.0, 4.0, 8.0, 16.0, 32.0)]
    assert cosines == pytest.approx(TABLE[dim], abs=5.1e-4)


def test_squared_error_and_cosine_at_64_dimensions_and_epsilon_8() -> None:
    assert PrivUnit(epsilon=8.0).expected_squared_error(64) == pytest.approx(7.95, abs=5e-3)
    assert PrivUnit(epsilon=8.0).mean_cosine(64) == pytest.approx(0.334, abs=5e-4)


def precise_optimum(dim: int, epsilon: float, near: Cap) -> tuple[mpmath.mpf, mpmath.mpf]:
    """Logit of s and cap probability of the root of m(g) = g, from the definitions alone."""
    a, gain = mpmath.mpf(dim - 1) / 2, mpmath.expm1(mpmath.mpf(epsilon))
    beta = mpmath.beta(mpmath.mpf(1) / 2, a)

    def probability(logit: mpmath.mpf) -> mpmath.mpf:
        return mpmath.betainc(a, mpmath.mpf(1) / 2, 0, 1 / (1 + mpmath.exp(-logit)), regularized=True) / 2

    def excess(logit: mpmath.mpf) -> mpmath.mpf:
        first_moment = (1 / (1 + mpmath.exp(-logit))) ** a / ((dim - 1) * beta)
        return mpmath.log(first_moment * gain / (1 + gain * probability(logit))) + mpmath.log1p(mpmath.exp(logit)) / 2

    start = mpmath.log(near.squared_sine) - 2 * mpmath.log(near.cosine)
    root = mpmath.findroot(
        excess, (start - mpmath.mpf(10) ** -4, start + mpmath.mpf(10) ** -4), solver="anderson", tol=1e-300
    )
    return root, probability(root)


@pytest.mark.parametrize("dim", [2, 3, 16, 64, 256, 1024, 4096])
@pytest.mark.parametrize("epsilon", [1e-3, 0.1, 1.0, 8.0, 64.0, 300.0, 600.0])
def test_the_optimum_agrees_with_high_precision_arithmetic_at_the_extremes(dim: int, epsilon: float) -> None:
    """At n = 2, eps = 600 the optimum has 1 - g = 1e-175: the definitions need 450 digits, the series of ours 16."""
    cap = optimal_cap(dim, epsilon=epsilon)
    with mpmath.workdps(450 if dim < 64 else 160):
        logit, probability = precise_optimum(dim, epsilon, cap)
        cosine = mpmath.sqrt(1 / (1 + mpmath.exp(logit)))
        assert abs(cap.cosine / cosine - 1) < 1e-10
        assert abs(cap.squared_sine * (1 + mpmath.exp(-logit)) - 1) < 1e-10
        assert abs(cap.probability / probability - 1) < 1e-8


@pytest.mark.parametrize("dim", [2, 16, 64, 256, 10_000])
@pytest.mark.parametrize("epsilon", [1e-3, 1.0, 8.0, 128.0, 600.0])
def test_the_density_ratio_is_exp_epsilon(dim: int, epsilon: float) -> None:
    """p (1 - q) / (q (1 - p)) = e^eps with the numbers that the sampler uses, and q far from underflow."""
    cap = optimal_cap(dim, epsilon=epsilon)
    with mpmath.workdps(400):
        q, escape = mpmath.mpf(cap.probability), mpmath.mpf(cap.escape)
        assert abs(mpmath.log((1 - escape) * (1 - q) / (q * escape)) - epsilon) < 1e-9
    assert cap.probability > 1e-270


@pytest.mark.parametrize(("dim", "epsilon"), [(2, 1.0), (16, 8.0), (64, 8.0), (64, 0.1), (256, 64.0)])
def test_no_other_threshold_has_a_larger_mean_cosine(dim: int, epsilon: float) -> None:
    best = optimal_cap(dim, epsilon=epsilon).cosine

    def mean(cosine: float) -> float:
        sine = 1 - cosine**2
        first_moment = sine ** ((dim - 1) / 2) / ((dim - 1) * math.exp(betaln(0.5, (dim - 1) / 2)))
        return first_moment * math.expm1(epsilon) / (1 + math.expm1(epsilon) * cap_probability(sine, dim=dim))

    assert mean(best) == pytest.approx(best, rel=1e-9)
    assert all(mean(best * factor) < best for factor in (0.5, 0.9, 0.99, 1.0 + 0.01 * (1 - best)))


def cosine_distribution(cap: Cap, dim: int):
    """The distribution function of T = <x, V>: the uniform distribution, tilted at g."""

    def uniform(t: np.ndarray) -> np.ndarray:
        tail = betainc((dim - 1) / 2, 0.5, 1 - t**2) / 2
        return np.where(t >= 0, 1 - tail, tail)

    def distribution(t: np.ndarray) -> np.ndarray:
        q, t = cap.probability, np.clip(t, -1, 1)  # rounding to the grid reaches past the ends
        below = uniform(np.minimum(t, cap.cosine)) / (1 - q) * cap.escape
        return below + np.where(t > cap.cosine, (uniform(t) - (1 - q)) / q * (1 - cap.escape), 0)

    return distribution


def released_cosines(mechanism: PrivUnit, latents: torch.Tensor) -> torch.Tensor:
    cap = optimal_cap(latents.shape[1], epsilon=mechanism.epsilon)
    return (mechanism.privatize(latents) * latents).sum(dim=1) * cap.cosine / mechanism.clip_norm


class Hesitant(PrivUnit):
    """The planted defect: V leaves the cap half as often as it has to, which spends ln 2 more than claimed."""

    def privatize(self, latents: torch.Tensor) -> torch.Tensor:
        true = module.optimal_cap
        module.optimal_cap = lambda dim, *, epsilon: Cap(
            **(vars(true(dim, epsilon=epsilon)) | {"escape": self._half(dim)})
        )
        try:
            return super().privatize(latents)
        finally:
            module.optimal_cap = true

    def _half(self, dim: int) -> float:
        return optimal_cap(dim, epsilon=self.epsilon).escape / 2


@pytest.mark.parametrize(
    ("dim", "epsilon"), [(2, 1.0), (16, 8.0), (64, 0.5), (64, 8.0), pytest.param(256, 8.0, marks=pytest.mark.slow)]
)
def test_the_cosine_with_the_record_has_the_exact_distribution(dim: int, epsilon: float, unit_rows) -> None:
    mechanism = PrivUnit(epsilon=epsilon, clip_norm=0.7)
    distribution = cosine_distribution(optimal_cap(dim, epsilon=epsilon), dim)
    assert stats.kstest(released_cosines(mechanism, unit_rows(20_000, dim)).numpy(), distribution).pvalue > P_LIMIT


def test_a_sampler_that_hardly_ever_leaves_the_cap_is_detected(unit_rows) -> None:
    distribution = cosine_distribution(optimal_cap(64, epsilon=8.0), 64)
    assert (
        stats.kstest(released_cosines(Hesitant(epsilon=8.0), unit_rows(20_000, 64)).numpy(), distribution).pvalue
        < P_LIMIT
    )


def bernstein(cap: Cap, dim: int, count: int) -> float:
    """Return the distance from 1 that the mean of ``count`` copies of T / g exceeds with probability 1e-12 (Bernstein).

    E[T^2; T >= g] = I_s(a, 3/2) / (2 n) gives the variance exactly; it is mostly due to rare escapes at large budgets.
    """
    above = float(betainc((dim - 1) / 2, 1.5, cap.squared_sine)) / (2 * dim)
    second = (1 - cap.escape) / cap.probability * above + cap.escape / (1 - cap.probability) * (1 / dim - above)
    variance, deviations = second / cap.cosine**2 - 1, math.log(2e12)
    return math.sqrt(2 * max(variance, 0.0) * deviations / count) + 4 / cap.cosine * deviations / (3 * count)


@pytest.mark.parametrize("dim", [16, 64, *(pytest.param(dim, marks=pytest.mark.slow) for dim in (32, 128, 256))])
@pytest.mark.parametrize("epsilon", [1.0, 8.0, 128.0])
def test_the_release_is_unbiased_with_the_closed_form_of_the_squared_error(dim: int, epsilon: float, unit_rows) -> None:
    """||V / g - x||^2 = 1 / g^2 + 1 - 2 T / g, so both follow from the mean of T / g; the grid adds 1e-6 at most."""
    mechanism = PrivUnit(epsilon=epsilon, clip_norm=0.7)
    latents = 0.7 * unit_rows(20_000, dim)
    error = mechanism.privatize(latents) - latents
    limit = bernstein(optimal_cap(dim, epsilon=epsilon), dim, 20_000)
    assert limit < 0.25
    assert abs(float((error * latents).sum(dim=1).mean())) < 0.49 * limit + 1e-6
    expected = mechanism.expected_squared_error(dim)
    assert expected == pytest.approx(0.49 * (1 / mechanism.mean_cosine(dim) ** 2 - 1), rel=1e-6)
    assert abs(float(error.pow(2).sum(dim=1).mean()) - expected) < 0.98 * limit + 1e-6


def test_the_direction_around_the_record_is_uniform(unit_rows, score) -> None:
    """W = V - T x has no preferred direction: fixed orthogonal axes see mean 0 and equal variances."""
    latents = torch.zeros(20_000, 8, dtype=torch.float64)
    latents[:, 0] = 1.0
    sideways = PrivUnit(epsilon=8.0).privatize(latents)[:, 1:]
    sideways = sideways / sideways.norm(dim=1, keepdim=True)
    assert all(abs(score(sideways[:, axis], 0.0)) < 8 for axis in range(7))
    assert all(abs(score(sideways[:, axis] ** 2, 1 / 7)) < 8 for axis in range(7))
    assert stats.kstest((1 + sideways[:, 0].numpy()) / 2, stats.beta(3, 3).cdf).pvalue > P_LIMIT


def test_at_huge_budgets_the_release_still_differs_from_the_record() -> None:
    """The sine comes from the sampler, not from a cosine that has rounded to 1: V would be x itself."""
    cap = optimal_cap(2, epsilon=600.0)
    cosine, sine = cap_angles(cap, torch.tensor([True, True]), torch.tensor([0.3, 0.9], dtype=torch.float64), dim=2)
    assert (cosine == 1.0).all()
    assert (sine > 0).all()
    assert (sine < 1e-80).all()
    aside = at_angles(torch.tensor([[1.0, 0.0]]).double().expand(2, 2), cosine, sine, torch.ones(2, 2).double())
    assert torch.equal(aside[:, 1:], sine)


def test_angles_invert_the_distribution_function() -> None:
    """Inside and outside the cap, up to both ends of the uniform number."""
    cap, distribution = optimal_cap(16, epsilon=8.0), cosine_distribution(optimal_cap(16, epsilon=8.0), 16)
    uniform = torch.tensor([1e-12, 0.25, 0.5, 0.999], dtype=torch.float64)
    inside, _ = cap_angles(cap, torch.ones(4, dtype=torch.bool), uniform, dim=16)
    outside, _ = cap_angles(cap, torch.zeros(4, dtype=torch.bool), uniform, dim=16)
    assert 1 - distribution(inside[:, 0].numpy()) == pytest.approx(
        (1 - cap.escape) * uniform.numpy(), rel=1e-6, abs=1e-11
    )
    assert distribution(outside[:, 0].numpy()) == pytest.approx(cap.escape * (1 - uniform.numpy()), rel=1e-6, abs=1e-11)


def test_only_the_direction_of_a_latent_is_released(unit_rows) -> None:
    """Latents in the ball are projected onto the sphere, the zero latent onto the first axis."""
    mechanism, rows = PrivUnit(epsilon=600.0), unit_rows(20, 16)
    assert torch.allclose(mechanism.privatize(0.01 * rows), rows, atol=1e-4)
    released = mechanism.privatize(torch.zeros(1, 16))
    assert float(released[0, 0]) == pytest.approx(1.0, abs=1e-4)


def test_a_simulation_has_the_distribution_of_a_release(unit_rows, score) -> None:
    latents = unit_rows(20_000, 16)
    simulated = PrivUnit(epsilon=8.0).simulate(latents, torch.Generator().manual_seed(0))
    cap = optimal_cap(16, epsilon=8.0)
    cosines = (simulated * latents).sum(dim=1) * cap.cosine
    assert stats.kstest(cosines.numpy(), cosine_distribution(cap, 16)).pvalue > P_LIMIT


@pytest.mark.parametrize("dim", [-1, 0, 1, 10_001])
def test_a_dimension_without_a_sphere_is_refused_everywhere(dim: int) -> None:
    mechanism = PrivUnit(epsilon=8.0)
    for call in (mechanism.guarantee, mechanism.expected_squared_error, mechanism.mean_cosine):
        with pytest.raises(ConfigurationError, match="dim must be an integer between 2 and 10000"):
            call(dim)


def test_a_latent_with_one_coordinate_is_refused() -> None:
    for call in (PrivUnit(epsilon=8.0).privatize, lambda latents: PrivUnit(epsilon=8.0).simulate(latents, None)):
        with pytest.raises(ConfigurationError, match="dim must be an integer between 2"):
            call(torch.ones(3, 1))


def test_the_guarantee_calls_itself_research_grade() -> None:
    guarantee = PrivUnit(epsilon=8.0).guarantee(16)
    assert not guarantee.exact
    assert "no proof covers" in guarantee.text
