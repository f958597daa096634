"""Clamped latents lie in the cube whose corners are 2C apart, exactly, and noise for less than that is a violation."""

from fractions import Fraction

import pytest
import torch
from audit.asking import failed_of

from adept.mechanisms import ClampedGaussian, Gaussian
from adept.mechanisms.clip_to_grid import grid_radius, grid_step


@pytest.mark.mutants("mechanisms.gaussian")
@pytest.mark.parametrize("dim", [1, 3, 64, 1000])
@pytest.mark.parametrize("clip_norm", [0.37, 1.0, 5.0])
def test_projected_numbers_lie_in_the_cube_and_its_corners_in_the_ball(dim: int, clip_norm: float) -> None:
    mechanism = ClampedGaussian(epsilon=4.0, clip_norm=clip_norm)
    far = 1e300 * (1 - 2 * (torch.arange(dim, dtype=torch.float64)[None] % 2))
    corner = mechanism.project(far)
    assert corner.abs().unique().numel() == 1
    assert torch.equal(corner.sign(), far.sign())
    units = [Fraction(x) / Fraction(grid_step(clip_norm)) for x in corner[0].tolist()]
    assert all(unit.denominator == 1 for unit in units)
    assert sum(unit**2 for unit in units) <= grid_radius(clip_norm, clip="l2")
    assert float(corner.norm()) == pytest.approx(clip_norm, rel=1e-4)
    inside = corner * 0.25
    assert (mechanism.project(inside) - inside).abs().max() <= grid_step(clip_norm)


@pytest.mark.mutants("mechanisms.gaussian")
def test_a_row_is_clamped_without_a_look_at_the_others_and_toward_zero() -> None:
    mechanism = ClampedGaussian(epsilon=4.0)
    rows = torch.tensor([[1.0, float("nan"), 0.0], [0.9 * grid_step(1.0), 0.25, -9.0], [0.0, 0.5, 1e-9]]).double()
    together = mechanism.project(rows)
    assert torch.equal(together, torch.cat([mechanism.project(row) for row in rows.split(1)]))
    assert together[:, 0].tolist() == [0.0, 0.0, 0.0]
    assert together[:, 1].tolist() == [0.0, 0.25, 0.5]


def test_the_noise_is_that_of_the_ball_which_holds_the_cube() -> None:
    clamped, gaussian = (kind(epsilon=4.0, delta=1e-5).guarantee(32) for kind in (ClampedGaussian, Gaussian))
    assert clamped == gaussian


def test_noise_for_one_number_instead_of_the_cube_is_a_violation() -> None:
    """The l2 diameter is 2 c sqrt(n), not 2 c: the mistake that clamping invites."""

    class ForOneNumber(ClampedGaussian):
        def _scale(self, dim: int) -> float:
            return super()._scale(dim) / dim**0.5

    checks = {"event", "sensitivity", "norm"}
    assert failed_of(checks, ForOneNumber(epsilon=4.0, delta=1e-5), dim=8, trials=100) == {"sensitivity"}
    assert failed_of(checks, ClampedGaussian(epsilon=4.0, delta=1e-5), dim=8, trials=100, confidence=1 - 1e-9) == set()
