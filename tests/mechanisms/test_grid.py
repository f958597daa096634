"""Claims about the public grid: exact norms, whatever floats come in. No test here is statistical."""

import math
from collections.abc import Callable
from fractions import Fraction

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from adept.mechanisms.base import CLIP_NORMS
from adept.mechanisms.grid import NORM_ORDER, clip_latents, from_grid, grid_radius, grid_step, round_to_grid, to_grid

RADII = [1e-6, 0.1, 0.7, 1.0, 1.5, math.pi, 10.0, 1e6]
Adversarial = Callable[[torch.dtype, float], torch.Tensor]


def exact_norm_to_the_p(row: torch.Tensor, order: int) -> Fraction:
    return sum((abs(Fraction(value)) ** order for value in row.tolist()), Fraction(0))


@pytest.mark.parametrize("clip", ["l1", "l2", "sphere"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("radius", RADII)
def test_a_projected_row_meets_its_norm_bound_in_exact_fractions(
    clip: str, dtype: torch.dtype, radius: float, adversarial: Adversarial
) -> None:
    latents = adversarial(dtype, radius)
    projected = from_grid(to_grid(latents, clip=clip, clip_norm=radius), clip_norm=radius, like=latents)
    assert projected.dtype == dtype
    bound = Fraction(radius) ** NORM_ORDER[clip]
    assert all(exact_norm_to_the_p(row, NORM_ORDER[clip]) <= bound for row in projected)


@pytest.mark.parametrize(("clip", "direction"), [("l1", (1.0, 1.0, 1.0)), ("l2", (1.0, 2.0, 2.0))])
def test_rows_that_rounding_lifts_over_the_bound_lose_a_step(clip: str, direction: tuple[float, ...]) -> None:
    """The radius is one spacing below a norm that grid points attain, and float clipping rounds some rows up to it.

    Cutting off toward zero does not help there: only the check in integers does.
    """
    radius = math.nextafter(1.5, 0.0)
    rows = torch.linspace(0.3, 3.0, 20_001, dtype=torch.float64)[:, None] * torch.tensor(direction, dtype=torch.float64)
    clipped = (clip_latents(rows, clip=clip, clip_norm=radius) / grid_step(radius)).trunc().to(torch.int64)
    limit = grid_radius(radius, clip=clip)
    assert (clipped.pow(NORM_ORDER[clip]).sum(dim=1) > limit).any()
    assert (to_grid(rows, clip=clip, clip_norm=radius).pow(NORM_ORDER[clip]).sum(dim=1) <= limit).all()


def test_float_clipping_alone_would_break_the_bound(adversarial: Adversarial) -> None:
    """The planted defect: without the grid, rows exceed their norm bound by rounding."""
    clipped = clip_latents(adversarial(torch.float64, 1.0)[11:], clip="l2", clip_norm=1.0)
    assert any(exact_norm_to_the_p(row, 2) > 1 for row in clipped)


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.floats(width=64), min_size=1, max_size=6),
    st.floats(*CLIP_NORMS),
    st.sampled_from(["l1", "l2", "sphere"]),
)
def test_any_floats_whatsoever_land_on_the_grid_inside_the_set(values: list[float], radius: float, clip: str) -> None:
    units = to_grid(torch.tensor([values], dtype=torch.float64), clip=clip, clip_norm=radius)
    assert int(units.abs().pow(NORM_ORDER[clip]).sum()) <= grid_radius(radius, clip=clip)
    assert (
        grid_radius(radius, clip=clip) * Fraction(grid_step(radius)) ** NORM_ORDER[clip]
        <= Fraction(radius) ** NORM_ORDER[clip]
    )


@pytest.mark.parametrize("radius", RADII)
def test_the_grid_step_is_a_power_of_two_that_resolves_a_millionth_of_the_radius(radius: float) -> None:
    assert math.frexp(grid_step(radius))[0] == 0.5
    assert 2**20 <= radius / grid_step(radius) < 2**21


@pytest.mark.parametrize("clip", ["l1", "l2", "sphere"])
def test_projection_moves_a_point_of_the_set_by_at_most_a_few_steps(clip: str, unit_rows) -> None:
    rows = clip_latents(unit_rows(50, 16), clip=clip, clip_norm=0.7)
    moved = from_grid(to_grid(rows, clip=clip, clip_norm=0.7), clip_norm=0.7, like=rows) - rows
    assert float(moved.abs().max()) <= 3 * grid_step(0.7)


def test_rounding_to_the_grid_goes_to_the_nearest_point() -> None:
    step = grid_step(1.0)
    values = torch.tensor([[0.4 * step, 0.6 * step, -1.6 * step, 3.0]], dtype=torch.float64)
    assert torch.equal(
        round_to_grid(values, clip_norm=1.0, like=values), torch.tensor([[0, step, -2 * step, 3.0]]).double()
    )
