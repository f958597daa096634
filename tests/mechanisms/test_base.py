"""Claims that hold for every mechanism: constants for broken rows, entropy, shapes, and honest refusals.

No test here is statistical; two releases that should differ coincide with probability below 1e-30.
"""

import contextlib
import itertools
import math
import random
import sys
from collections.abc import Callable

import numpy as np
import pytest
import torch

from adept.errors import CLIP_NORMS, ConfigurationError
from adept.mechanisms import BY_NAME, Description, L1Laplace, Mechanism
from adept.mechanisms.clip_to_grid import NORM_ORDER, grid_step

ON_LATENTS = {name: kind for name, kind in BY_NAME.items() if not issubclass(kind, Description)}
PRIVATE = [name for name in ON_LATENTS if name not in ("identity", "random")]


def make(name: str, **options: float) -> Mechanism:
    return ON_LATENTS[name](epsilon=8.0, **options)


@pytest.mark.parametrize("name", ON_LATENTS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_shape_and_dtype_survive_and_broken_rows_become_finite(
    name: str, dtype: torch.dtype, adversarial: Callable[..., torch.Tensor]
) -> None:
    released = make(name).privatize(adversarial(dtype, 1.0))
    assert released.dtype == dtype
    assert released.shape == (611, 7)
    assert released.isfinite().all()


@pytest.mark.parametrize("name", ON_LATENTS)
def test_rows_with_nan_or_infinity_project_to_the_constant_of_the_zero_row(name: str) -> None:
    broken = torch.tensor([[math.nan, 1.0], [5.0, math.inf], [-math.inf, math.nan], [0.0, 0.0]])
    projected = make(name).project(broken)
    assert (projected == projected[3]).all()


@pytest.mark.parametrize("name", ON_LATENTS)
def test_an_empty_batch_is_an_empty_release(name: str) -> None:
    assert make(name).privatize(torch.empty(0, 5)).shape == (0, 5)


@pytest.mark.parametrize("name", [name for name in ON_LATENTS if name != "identity"])
def test_no_seed_repeats_a_release(name: str) -> None:
    latents = torch.full((40, 8), 0.1)

    def seeded_release() -> torch.Tensor:
        torch.manual_seed(0)
        np.random.seed(0)
        random.seed(0)
        return make(name).privatize(latents)

    assert not torch.equal(seeded_release(), seeded_release())


@pytest.mark.parametrize("name", [name for name in ON_LATENTS if name != "identity"])
def test_a_release_leaves_the_global_generators_alone_and_the_input_unchanged(name: str) -> None:
    latents = torch.full((4, 8), 0.1)
    torch.manual_seed(0)
    before = torch.get_rng_state()
    make(name).privatize(latents)
    assert torch.equal(torch.get_rng_state(), before)
    assert torch.equal(latents, torch.full((4, 8), 0.1))


@pytest.mark.parametrize("name", ON_LATENTS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_simulation_repeats_under_its_seed_and_keeps_dtype_and_shape(
    name: str, dtype: torch.dtype, unit_rows
) -> None:
    latents = unit_rows(6, 8, dtype)
    first, second = (make(name).simulate(latents, torch.Generator().manual_seed(3)) for _ in range(2))
    assert torch.equal(first, second)
    assert first.dtype == dtype
    assert first.shape == (6, 8)


@pytest.mark.parametrize("name", [name for name in ON_LATENTS if name != "random"])
def test_gradients_reach_latents_through_a_simulation_and_never_through_a_release(name: str, unit_rows) -> None:
    latents = unit_rows(6, 8).requires_grad_()
    weights = torch.randn(6, 8, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    (gradient,) = torch.autograd.grad(
        (make(name).simulate(latents, torch.Generator().manual_seed(3)) * weights).sum(), latents
    )
    assert gradient.isfinite().all()
    assert (gradient.abs().sum(dim=1) > 0).all()
    assert not make(name).privatize(latents).requires_grad


@pytest.mark.mutants("mechanisms.clip_to_grid", "mechanisms.laplace")
@pytest.mark.parametrize("name", PRIVATE)
def test_the_guarantee_repeats_the_claim_and_only_false_claims_fail_to_hold(name: str) -> None:
    guarantee = make(name, clip_norm=0.7).guarantee(16)
    assert guarantee.claimed_epsilon == 8.0
    assert guarantee.holds == (name not in ("original", "dptext"))
    assert guarantee.holds == (guarantee.epsilon <= 8.0)
    gaussian = name in ("gaussian", "clamped_gaussian")
    assert guarantee.exact == (gaussian or name in ("original", "l1", "sqrt_n", "codebook", "learned_codebook"))
    assert guarantee.delta == make(name).delta == (1e-6 if gaussian else 0.0)
    assert str(16 if name == "original" else 8) in guarantee.text or name == "dptext"


@pytest.mark.parametrize("name", ON_LATENTS)
def test_a_mechanism_serves_models_trained_for_its_own_clip_only_if_it_can(name: str) -> None:
    mechanism = ON_LATENTS[name]
    assert mechanism.name == name
    assert mechanism.clip in NORM_ORDER
    assert mechanism.clip in mechanism.serves
    if name not in ("identity", "random"):
        assert mechanism.serves == (frozenset({"l1"}) if name == "l1" else frozenset({"l2", "sphere"}))


@pytest.mark.parametrize("name", ["l2_norm", "privunit", "gaussian", "l1", "sqrt_n", "original"])
def test_releases_lie_on_the_public_grid(name: str, unit_rows) -> None:
    released = make(name, clip_norm=0.7).privatize(unit_rows(50, 16)) / grid_step(0.7)
    assert torch.equal(released, released.round())


@pytest.mark.parametrize("name", PRIVATE)
@pytest.mark.parametrize("epsilon", [0.0, -1.0, math.nan, math.inf, 10**400, True, "8", None])
def test_an_impossible_epsilon_is_refused_by_name(name: str, epsilon: object) -> None:
    with pytest.raises(ConfigurationError, match="epsilon must be positive and finite, got"):
        ON_LATENTS[name](epsilon=epsilon)


@pytest.mark.parametrize("name", ["gaussian", "privunit", "codebook"])
@pytest.mark.parametrize("epsilon", [9e-4, 601.0])
def test_an_epsilon_outside_the_verified_range_is_refused(name: str, epsilon: float) -> None:
    with pytest.raises(ConfigurationError, match=r"epsilon must be between 0.001 and 600, got"):
        ON_LATENTS[name](epsilon=epsilon)


@pytest.mark.parametrize("epsilon", [5e-324, 1e-310, 1e-300, 1e-30, 1.0, 1e3, 1e300, sys.float_info.max])
@pytest.mark.parametrize("name", ON_LATENTS)
def test_each_end_of_the_ranges_gives_finite_numbers_or_is_refused(name: str, epsilon: float) -> None:
    for clip_norm, dim in itertools.product(CLIP_NORMS, (1, 1000)):
        calls = {
            "privatize": lambda one, n=dim: one.privatize(torch.ones(2, n)),
            "simulate": lambda one, n=dim: one.simulate(torch.ones(2, n), None),
            "error": lambda one, n=dim: torch.tensor(one.expected_squared_error(n)),
            "scale": lambda one, n=dim: torch.tensor(one.guarantee(n).scale or 0.0),
            "certificate": lambda one, n=dim: torch.tensor(len(one.certificate(n) or [])),
        }
        for call, made in calls.items():
            with contextlib.suppress(ConfigurationError):  # in one line, by the name of what is out of range
                assert made(ON_LATENTS[name](epsilon=epsilon, clip_norm=clip_norm)).isfinite().all(), (
                    call,
                    clip_norm,
                    dim,
                )


@pytest.mark.parametrize("clip_norm", [0.0, -1.0, 1e-7, 1e7, math.nan, math.inf])
def test_an_impossible_radius_is_refused_by_name(clip_norm: float) -> None:
    with pytest.raises(ConfigurationError, match="clip_norm must be"):
        L1Laplace(epsilon=1.0, clip_norm=clip_norm)


@pytest.mark.parametrize("name", ON_LATENTS)
@pytest.mark.parametrize(
    "latents",
    [
        torch.zeros(3),
        torch.zeros(2, 0),
        torch.zeros(2, 2, 2),
        torch.zeros(2, 2, dtype=torch.int64),
        torch.zeros(2, 2).half(),
    ],
)
def test_latents_of_another_shape_or_dtype_are_refused(name: str, latents: torch.Tensor) -> None:
    with pytest.raises(ConfigurationError, match="latents must"):
        make(name).privatize(latents)
    with pytest.raises(ConfigurationError, match="latents must"):
        make(name).simulate(latents, None)
