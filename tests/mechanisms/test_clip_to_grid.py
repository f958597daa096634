"""Claims about the public grid: exact norms, whatever floats come in. No test here is statistical."""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from adept.errors import CLIP_NORMS, ConfigurationError
from adept.mechanisms import Codebook, L1Laplace, Random
from adept.mechanisms.clip_to_grid import (
    NORM_ORDER,
    clip_latents,
    from_grid,
    grid_radius,
    grid_step,
    round_to_grid,
    to_grid,
)

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


@pytest.mark.mutants("mechanisms.clip_to_grid")
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
    projected = to_grid(rows, clip=clip, clip_norm=radius)
    assert (projected.pow(NORM_ORDER[clip]).sum(dim=1) <= limit).all()
    assert torch.equal(to_grid(-rows, clip=clip, clip_norm=radius), -projected)
    # Rows that are inside lose nothing beside one that is not.
    some = torch.cat([rows[:50], rows[(clipped.pow(NORM_ORDER[clip]).sum(dim=1) > limit)][:1]])
    alone = [to_grid(row, clip=clip, clip_norm=radius) for row in some.split(1)]
    assert torch.equal(to_grid(some, clip=clip, clip_norm=radius), torch.cat(alone))


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


@pytest.mark.mutants("mechanisms.clip_to_grid")
@pytest.mark.parametrize("clip", ["l1", "l2", "sphere"])
@pytest.mark.parametrize("length", [1e-300, 0.1, 3.0, 1e300])
def test_a_clipped_row_has_its_direction_and_at_most_the_norm_of_the_clip(clip: str, length: float) -> None:
    row = length * torch.tensor([[0.5, 1.0, 0.25], [0.5, -1.0, 0.25]], dtype=torch.float64)
    clipped = clip_latents(row, clip=clip, clip_norm=1.0)
    assert torch.equal(clip_latents(-row, clip=clip, clip_norm=1.0), -clipped)
    assert torch.allclose(clipped / clipped[:, 1:2], row / row[:, 1:2])
    norm = torch.linalg.vector_norm(clipped, ord=NORM_ORDER[clip], dim=1)
    outside = clip == "sphere" or length > 1
    assert torch.allclose(norm, torch.ones_like(norm)) if outside else torch.equal(clipped, row)


@pytest.mark.mutants("mechanisms.clip_to_grid")
@pytest.mark.parametrize("clip", ["l1", "l2", "sphere"])
def test_rows_are_clipped_alike_in_a_tensor_of_any_shape(clip: str) -> None:
    rows = torch.randn(2, 3, 4, generator=torch.Generator().manual_seed(0))
    flat = clip_latents(rows.reshape(6, 4), clip=clip, clip_norm=0.7)
    assert torch.equal(clip_latents(rows, clip=clip, clip_norm=0.7), flat.reshape(2, 3, 4))


@pytest.mark.mutants("mechanisms.clip_to_grid")
def test_the_zero_row_stands_for_the_first_axis_of_a_sphere_and_has_a_gradient() -> None:
    row = torch.zeros(1, 3, requires_grad=True)
    clipped = clip_latents(row, clip="sphere", clip_norm=0.5)
    assert clipped.tolist() == [[0.5, 0.0, 0.0]]
    clipped.sum().backward()
    assert row.grad is not None
    assert row.grad.isfinite().all()


@pytest.mark.mutants("mechanisms.clip_to_grid")
def test_the_largest_norm_is_rounded_down_where_a_float_would_round_it_up() -> None:
    """Floats r whose square is below an integer, and as a float equal to it."""
    squares = range(2**41 + 1, 2**41 + 100)
    above = [square for square in squares if Fraction(math.sqrt(square)) ** 2 < square == math.sqrt(square) ** 2]
    assert above
    assert all(grid_radius(math.sqrt(square) * 2.0**-20, clip="l2") == square - 1 for square in above)


@pytest.mark.mutants("mechanisms.clip_to_grid")
@pytest.mark.parametrize("clip", ["l1", "l2", "sphere"])
def test_a_row_is_projected_without_a_look_at_the_others(clip: str, adversarial: Adversarial) -> None:
    latents = adversarial(torch.float64, 0.7)[:80]
    together = to_grid(latents, clip=clip, clip_norm=0.7)
    assert torch.equal(together, torch.cat([to_grid(row, clip=clip, clip_norm=0.7) for row in latents.split(1)]))


@pytest.mark.mutants("mechanisms.clip_to_grid")
@pytest.mark.parametrize("clip", ["l1", "l2", "sphere"])
def test_a_row_on_the_border_stays_there(clip: str) -> None:
    row = torch.tensor([[-1.0, 0.0]], dtype=torch.float64)
    assert to_grid(row, clip=clip, clip_norm=1.0).tolist() == [[-(2**20), 0]]


@pytest.mark.mutants("mechanisms.clip_to_grid")
def test_what_lies_between_two_points_of_the_grid_goes_toward_zero() -> None:
    inside = torch.tensor([[0.9, -0.9, 0.1, 7.5]], dtype=torch.float64) * grid_step(1.0)
    assert to_grid(inside, clip="l2", clip_norm=1.0).tolist() == [[0, 0, 0, 7]]


@pytest.mark.mutants("mechanisms.clip_to_grid")
@pytest.mark.parametrize("radius", RADII)
def test_the_grid_step_is_a_power_of_two_that_resolves_a_millionth_of_the_radius(radius: float) -> None:
    assert math.frexp(grid_step(radius))[0] == 0.5
    assert 2**20 <= radius / grid_step(radius) < 2**21


@pytest.mark.mutants("mechanisms.clip_to_grid")
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


@pytest.mark.parametrize(
    "latents",
    [
        [[0.0] * 4],
        np.zeros((2, 4)),
        torch.eye(4).to_sparse(),
        torch.zeros(2, 4, device="meta"),
        torch.zeros(2, 4, dtype=torch.complex64),
        torch.zeros(2, 4, dtype=torch.float16),
        torch.zeros(1, 1 << 19),
    ],
    ids=["list", "array", "sparse", "meta", "complex", "half", "long"],
)
def test_what_is_no_dense_tensor_of_floats_is_refused_in_one_line(latents: Any) -> None:
    for kind in (L1Laplace, Codebook, Random):
        mechanism = kind(epsilon=4.0)
        for answer in (
            mechanism.privatize,
            mechanism.project,
            lambda x, mechanism=mechanism: mechanism.simulate(x, None),
        ):
            with pytest.raises(ConfigurationError, match=r"latents must (be|have shape)"):
                answer(latents)
