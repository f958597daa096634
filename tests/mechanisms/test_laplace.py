"""Claims about the three variants of ADePT: scales, budgets in exact rationals, and the false claim.

Statistical: 2 S / b ~ chi^2 with 2 n N degrees of freedom, exact p-values with the limit 1e-10 (see conftest.py); 39 tests.
"""

import itertools
import math
from fractions import Fraction

import pytest
import torch
from scipy import stats

from adept.mechanisms import L1Laplace, OriginalLaplace, SqrtNLaplace
from adept.mechanisms.clip_to_grid import grid_radius, grid_step

P_LIMIT = 1e-10
VARIANTS = [OriginalLaplace, L1Laplace, SqrtNLaplace]


def scale_p_value(noise: torch.Tensor, scale: float) -> float:
    """Two-sided exact p-value of the sum of |noise| under independent Laplace noise of that scale."""
    statistic, freedom = float(2 * noise.abs().sum() / scale), 2 * noise.numel()
    return 2 * min(stats.chi2.cdf(statistic, freedom), stats.chi2.sf(statistic, freedom))


@pytest.mark.mutants("mechanisms.clip_to_grid", "mechanisms.laplace")
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("dim", [16, 32, 64, 128, 256])
@pytest.mark.parametrize("epsilon", [1.0, 128.0])
def test_released_noise_has_the_scale_of_the_closed_form(variant, dim: int, epsilon: float, unit_rows) -> None:
    mechanism = variant(epsilon=epsilon, clip_norm=0.7)
    latents = mechanism.project(unit_rows(8192 // dim, dim))
    expected = 8 * dim * 0.7**2 / epsilon**2 * (dim if variant is SqrtNLaplace else 1)
    assert mechanism.expected_squared_error(dim) == pytest.approx(expected, rel=1e-5)
    noise = mechanism.privatize(latents) - latents
    assert scale_p_value(noise, math.sqrt(expected / (2 * dim))) > P_LIMIT


@pytest.mark.parametrize("factor", [0.5, 0.9])
def test_noise_of_a_smaller_scale_is_detected(factor: float, unit_rows) -> None:
    """The planted defect: a mechanism that claims epsilon and spends epsilon / factor."""
    mechanism = SqrtNLaplace(epsilon=8.0 / factor)
    latents = mechanism.project(unit_rows(512, 64))
    assert (
        scale_p_value(mechanism.privatize(latents) - latents, SqrtNLaplace(epsilon=8.0).guarantee(64).scale) < P_LIMIT
    )


def test_noise_is_laplace_and_independent_of_coordinates_and_input(unit_rows) -> None:
    mechanism = L1Laplace(epsilon=8.0)
    latents = mechanism.project(unit_rows(4000, 8))
    noise = mechanism.privatize(latents) - latents
    assert stats.kstest(noise.flatten().numpy(), stats.laplace(scale=0.25).cdf).pvalue > P_LIMIT
    pairs = torch.cat([noise, latents], dim=1).T.corrcoef()[:8]
    pairs = pairs[~torch.eye(8, 16, dtype=torch.bool)]
    assert float(pairs.abs().max()) * 4000**0.5 < 8


@pytest.mark.mutants("mechanisms.clip_to_grid", "mechanisms.laplace")
@pytest.mark.parametrize("variant", [L1Laplace, SqrtNLaplace])
@pytest.mark.parametrize("radius", [1e-6, 0.1, 0.7, 1.0, math.pi, 1e6])
@pytest.mark.parametrize("epsilon", [1e-3, 1 / 3, 8.0, 600.0])
def test_the_budget_holds_in_exact_rationals(variant, radius: float, epsilon: float) -> None:
    """The largest l1 distance of two grid points of the set, divided by the scale, is at most epsilon: no float decides."""
    for dim in (1, 2, 7, 16, 64, 256, 1000):
        mechanism = variant(epsilon=epsilon, clip_norm=radius)
        scale = Fraction(mechanism._scale(dim))
        norm = grid_radius(radius, clip=variant.clip)
        # l2: the l1 norm of an integer vector is an integer of square at most n Q (Cauchy-Schwarz).
        largest = norm if variant is L1Laplace else math.isqrt(dim * norm)
        assert 2 * largest / scale <= Fraction(epsilon)
        assert float(2 * largest / scale) > 0.999 * epsilon


@pytest.mark.mutants("mechanisms.clip_to_grid", "mechanisms.laplace")
@pytest.mark.parametrize("dim", [2, 16, 64, 256])
def test_originals_claim_is_false_and_the_diagonal_pair_shows_it(dim: int) -> None:
    guarantee = OriginalLaplace(epsilon=4.0, clip_norm=0.7).guarantee(dim)
    assert not guarantee.holds
    assert guarantee.epsilon == pytest.approx(4.0 * math.sqrt(dim), rel=1e-5)
    assert guarantee.epsilon >= 4.0 * math.sqrt(dim)
    diagonal = torch.full((1, dim), 0.7 / math.sqrt(dim), dtype=torch.float64)
    pair = OriginalLaplace(epsilon=4.0, clip_norm=0.7).project(torch.cat([diagonal, -diagonal]))
    attained = float((pair[0] - pair[1]).abs().sum()) / guarantee.scale
    assert attained == pytest.approx(guarantee.epsilon, rel=1e-4)
    assert attained <= guarantee.epsilon
    assert "false" in guarantee.text
    rounded = OriginalLaplace(epsilon=3.0)  # its scale is rounded up to 24 bits, so that D / b is below the closed form
    assert rounded.guarantee(dim).epsilon >= 3.0 * math.sqrt(dim)


@pytest.mark.mutants("mechanisms.clip_to_grid", "mechanisms.laplace")
def test_originals_claim_holds_in_one_dimension() -> None:
    assert OriginalLaplace(epsilon=4.0).guarantee(1).holds
    assert OriginalLaplace(epsilon=4.0).guarantee(1).epsilon == 4.0


@pytest.mark.parametrize(
    ("dim", "epsilon", "expected"), [(256, 100.0, (2.21, 0.138, 0.173)), (64, 100.0, (4.42, 0.552, 0.690))]
)
def test_signal_to_noise_ratios_of_the_papers_setting(
    dim: int, epsilon: float, expected: tuple[float, ...], unit_rows
) -> None:
    """||signal|| / ||noise|| where the clip binds; l1's signal is the l1-clipped latent of a Gaussian direction."""
    for variant, ratio in zip((OriginalLaplace, SqrtNLaplace, L1Laplace), expected, strict=True):
        mechanism = variant(epsilon=epsilon)
        signal = mechanism.project(10 * unit_rows(200, dim)).norm(dim=1).mean()
        assert float(signal) / math.sqrt(mechanism.expected_squared_error(dim)) == pytest.approx(ratio, rel=0.02)


def test_simulated_noise_matches_the_released_scale(unit_rows) -> None:
    mechanism = SqrtNLaplace(epsilon=8.0)
    latents = unit_rows(500, 32)
    noise = mechanism.simulate(latents, torch.Generator().manual_seed(0)) - latents
    assert scale_p_value(noise, mechanism.guarantee(32).scale) > P_LIMIT


def test_the_scale_is_stated_in_latent_units() -> None:
    assert L1Laplace(epsilon=8.0, clip_norm=0.5).guarantee(32).scale == pytest.approx(0.125, rel=1e-5)
    assert L1Laplace(epsilon=8.0, clip_norm=0.5).guarantee(32).sensitivity == pytest.approx(1.0, rel=1e-5)
    assert grid_step(0.5) == 2.0**-21


@pytest.mark.parametrize(("dim", "norm"), [(1, 30), (2, 50), (2, 7), (3, 11), (3, 26)])
def test_the_integer_diameter_of_the_l2_ball_bounds_every_pair(dim: int, norm: int) -> None:
    """Brute force over all integer vectors with sum z^2 <= Q: no two are farther apart in l1 than 2 isqrt(n Q)."""
    axis = range(-math.isqrt(norm), math.isqrt(norm) + 1)
    ball = [z for z in itertools.product(axis, repeat=dim) if sum(x * x for x in z) <= norm]
    largest = max(sum(map(abs, z)) for z in ball)
    assert 2 * largest <= 2 * math.isqrt(dim * norm)
    # The ball is symmetric, so its diameter is twice its largest norm; the bound is met wherever (x, ..., x) fits.
    assert largest == math.isqrt(dim * norm) or math.isqrt(norm // dim) ** 2 * dim != norm


@pytest.mark.mutants("mechanisms.clip_to_grid", "mechanisms.laplace")
def test_the_originals_true_epsilon_is_never_below_the_exact_ratio() -> None:
    for clip_norm in (1.0, 0.7, 3.3, 123.456, 1e-6):
        for dim in (2, 3, 32, 10_000):
            mechanism = OriginalLaplace(epsilon=8.0, clip_norm=clip_norm)
            exact = Fraction(mechanism._true_diameter(dim)) / Fraction(mechanism._scale(dim))
            assert Fraction(mechanism.guarantee(dim).epsilon) >= exact
            assert mechanism.guarantee(dim).epsilon == pytest.approx(8 * math.sqrt(dim), rel=1e-5)
