"""Claims about the K-norm mechanism: radius, direction, closed form.

Statistical: 2 sum||z|| / b ~ chi^2 with 2 n N degrees of freedom, and KS tests; exact p-values, limit 1e-10, 25 tests.
"""

import pytest
import torch
from scipy import stats

from adept.mechanisms import L2Norm

P_LIMIT = 1e-10


class TooQuiet(L2Norm):
    """The planted defect: the radius has distribution Gamma(n - 1, b), one exponential short."""

    def privatize(self, latents: torch.Tensor) -> torch.Tensor:
        projected = self.project(latents)
        noise = super().privatize(latents) - projected
        radius = noise.norm(dim=1, keepdim=True)
        shape = torch.full_like(radius, latents.shape[1] - 1.0)
        return projected + noise / radius * torch._standard_gamma(shape) * self._scale()


def noise_of(mechanism: L2Norm, latents: torch.Tensor) -> torch.Tensor:
    projected = mechanism.project(latents)
    return mechanism.privatize(projected) - projected


def radius_p_value(noise: torch.Tensor, scale: float) -> float:
    statistic, freedom = float(2 * noise.norm(dim=1).sum() / scale), 2 * noise.numel()
    return 2 * min(stats.chi2.cdf(statistic, freedom), stats.chi2.sf(statistic, freedom))


@pytest.mark.parametrize("dim", [16, 32, 64, 128, 256])
@pytest.mark.parametrize("epsilon", [1.0, 8.0, 128.0])
def test_radii_sum_to_the_exact_chi_square_distribution_and_the_closed_form(
    dim: int, epsilon: float, unit_rows, score
) -> None:
    mechanism = L2Norm(epsilon=epsilon, clip_norm=0.7)
    noise = noise_of(mechanism, unit_rows(4000, dim))
    assert mechanism.expected_squared_error(dim) == pytest.approx(4 * dim * (dim + 1) * 0.7**2 / epsilon**2)
    assert radius_p_value(noise, 1.4 / epsilon) > P_LIMIT
    assert abs(score(noise.pow(2).sum(dim=1), mechanism.expected_squared_error(dim))) < 8


@pytest.mark.parametrize("dim", [1, 2, 16])
def test_the_radius_is_gamma_and_the_direction_uniform(dim: int, unit_rows) -> None:
    noise = noise_of(L2Norm(epsilon=8.0), unit_rows(5000, dim))
    radius = noise.norm(dim=1)
    assert stats.kstest(radius.numpy(), stats.gamma(dim, scale=0.25).cdf).pvalue > P_LIMIT
    if dim > 1:
        cosines = (1 + (noise[:, 0] / radius).numpy()) / 2
        assert stats.kstest(cosines, stats.beta((dim - 1) / 2, (dim - 1) / 2).cdf).pvalue > P_LIMIT


def test_noise_does_not_depend_on_the_input(unit_rows, score) -> None:
    latents = unit_rows(5000, 16)
    noise = noise_of(L2Norm(epsilon=8.0), latents)
    assert abs(score((noise * latents).sum(dim=1), 0.0)) < 8


@pytest.mark.parametrize(("defect", "dim"), [(lambda: L2Norm(epsilon=8.8), 64), (lambda: TooQuiet(epsilon=8.0), 16)])
def test_noise_that_is_too_small_is_detected(defect, dim: int, unit_rows) -> None:
    """A tenth too little, or a gamma of the wrong shape, is rejected."""
    assert radius_p_value(noise_of(defect(), unit_rows(4000, dim)), 0.25) < P_LIMIT


def test_the_density_ratio_of_the_worst_pair_is_exp_epsilon() -> None:
    """At any output z, (||z - x'|| - ||z - x||) / b <= ||x - x'|| / b = eps, attained behind x on the line through both."""
    guarantee = L2Norm(epsilon=8.0, clip_norm=0.7).guarantee(16)
    assert guarantee.sensitivity / guarantee.scale == pytest.approx(8.0, rel=1e-15)
    assert not guarantee.exact
    assert "floating point" in guarantee.text


def test_a_simulation_has_the_same_distribution(unit_rows) -> None:
    latents = unit_rows(4000, 16)
    noise = L2Norm(epsilon=8.0).simulate(latents, torch.Generator().manual_seed(0)) - latents
    assert radius_p_value(noise, 0.25) > P_LIMIT
