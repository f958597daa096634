"""A collection of broken mechanisms, by kind, and of sound ones beside them: what the auditor was developed on.

Each is a function of latents (B, n) that claims epsilon 4. Unless the defect is the noise itself, the noise is that of a sound
mechanism and comes from the operating system. What an object declares is in `DECLARED`; all others declare nothing but epsilon.
"""

import math
import os
import random
import secrets
import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from adept.mechanisms import SqrtNLaplace
from adept.mechanisms.grid import clip_latents
from adept.mechanisms.noise import fresh_gaussian, fresh_uniform

EPSILON = 4.0
Release = Callable[[Tensor], Any]


def ball(x: Tensor, *, radius: float = 1.0) -> Tensor:
    x = torch.where(x.isfinite().all(dim=1, keepdim=True), x, 0.0)
    return clip_latents(x.to(torch.float64), clip="l2", clip_norm=radius)


def laplace(*shape: int) -> Tensor:
    """Standard Laplace noise."""
    v = fresh_uniform(*shape) - 0.5
    return -v.sign() * torch.log1p(-2 * v.abs())


def width(x: Tensor) -> float:
    """The scale that the l2 ball needs."""
    return 2 * math.sqrt(x.shape[1]) / EPSILON


def noise(x: Tensor) -> Tensor:
    return width(x) * laplace(*x.shape)


def length(x: Tensor) -> Tensor:
    return torch.linalg.vector_norm(x, dim=1, keepdim=True)


def sound(x: Tensor) -> Tensor:
    return (c := ball(x)) + noise(c)


# --- leaks in the norm


def scale_follows_the_norm(x: Tensor) -> Tensor:
    return (c := ball(x)) + noise(c) * length(c)


def scale_follows_the_norm_with_a_floor(x: Tensor) -> Tensor:
    return (c := ball(x)) + noise(c) * length(c).clamp(min=0.1)


def more_noise_for_short_records(x: Tensor) -> Tensor:
    return (c := ball(x)) + noise(c) * (3 - 2 * length(c))


def zero_is_left_without_noise(x: Tensor) -> Tensor:
    c = ball(x)
    return torch.where(length(c) == 0, c, c + noise(c))


def zero_coordinates_are_left_without_noise(x: Tensor) -> Tensor:
    c = ball(x)
    return torch.where(c == 0, c, c + noise(c))


def clip_tolerates_half(x: Tensor) -> Tensor:
    c = torch.where(length(ball(x, radius=1e6)) <= 1.5, ball(x, radius=1e6), ball(x))
    return c + noise(c)


def clip_tolerates_a_tenth(x: Tensor) -> Tensor:
    c = torch.where(length(ball(x, radius=1e6)) <= 1.1, ball(x, radius=1e6), ball(x))
    return c + noise(c)


def clip_tolerates_tenfold(x: Tensor) -> Tensor:
    return (c := ball(x, radius=10.0)) + noise(c)


def clip_by_coordinate(x: Tensor) -> Tensor:
    c = ball(x, radius=1e6).clamp(-1, 1)
    return c + noise(c)


def magnitude_in_a_coordinate(x: Tensor) -> Tensor:
    z = sound(x)
    z[:, -1] = length(ball(x, radius=1e6))[:, 0]
    return z


def magnitude_with_little_noise(x: Tensor) -> Tensor:
    z = sound(x)
    z[:, 0] = length(ball(x))[:, 0] + 0.1 * laplace(len(x))
    return z


def magnitude_beside(x: Tensor) -> Tensor:
    return torch.cat([sound(x), length(ball(x))], dim=1)


def direction_private_length_public(x: Tensor) -> Tensor:
    z = sound(x / length(x).clamp(min=1e-12))
    return z / length(z) * length(ball(x))


def rescaled_by_the_own_norm(x: Tensor) -> Tensor:
    c = clip_latents(ball(x, radius=1e6), clip="l1", clip_norm=1.0)
    return (c + 2 / EPSILON * laplace(*c.shape)) * length(ball(x, radius=1e6))


def noise_by_coordinate_size(x: Tensor) -> Tensor:
    return (c := ball(x)) + noise(c) * (0.05 + c.abs() * math.sqrt(c.shape[1]))


def local_sensitivity(x: Tensor) -> Tensor:
    c = ball(x)
    return c + laplace(*c.shape) * 2 * c.abs().sum(dim=1, keepdim=True) / EPSILON


def keeps_the_support(x: Tensor) -> Tensor:
    return sound(x) * (ball(x) != 0)


def half_of_the_noise(x: Tensor) -> Tensor:
    return (c := ball(x)) + 0.5 * noise(c)


def l1_noise_for_the_l2_ball(x: Tensor) -> Tensor:
    return (c := ball(x)) + 2 / EPSILON * laplace(*c.shape)


def noise_of_one_half_missing(x: Tensor) -> Tensor:
    c = ball(x)
    y = noise(c)
    y[:, : c.shape[1] // 8] = 0
    return c + y


def gaussian_claims_pure(x: Tensor) -> Tensor:
    return (c := ball(x)) + 0.4 * fresh_gaussian(*c.shape)


def rounded_noise_of_few_values(x: Tensor) -> Tensor:
    return (c := ball(x)) + width(c) * laplace(*c.shape).round()


# --- noise and batches


def scale_of_the_batch_mean(x: Tensor) -> Tensor:
    return (c := ball(x)) + noise(c) * length(c).mean()


def scale_of_the_largest_norm(x: Tensor) -> Tensor:
    return (c := ball(x)) + noise(c) * length(c).max()


def sensitivity_from_the_batch(x: Tensor) -> Tensor:
    c = ball(x)
    spread = (c.max(dim=0).values - c.min(dim=0).values).sum()
    return c + laplace(*c.shape) * spread / EPSILON


def scale_of_the_batch_deviation(x: Tensor) -> Tensor:
    c = ball(x)
    return c + noise(c) * c.std(unbiased=False) * 4


def clip_to_the_batch_median(x: Tensor) -> Tensor:
    c = ball(x)
    c = c / (length(c) / length(c).median().clamp(min=1e-9)).clamp(min=1)
    return c + noise(c) * length(c).median()


def centred_in_its_batch(x: Tensor) -> Tensor:
    c = ball(x)
    return c - c.mean(dim=0) + noise(c)


def normalised_in_its_batch(x: Tensor) -> Tensor:
    c = ball(x)
    c = ball((c - c.mean(dim=0)) / (c.std(dim=0, unbiased=False) + 1e-3))
    return c + noise(c)


def leaks_into_the_next_row(x: Tensor) -> Tensor:
    return sound(x) + 0.25 * ball(x).roll(1, dims=0)


def leaks_the_first_row_everywhere(x: Tensor) -> Tensor:
    return sound(x) + 0.2 * ball(x)[:1]


def attends_to_its_neighbours(x: Tensor) -> Tensor:
    c = ball(x)
    return sound(0.9 * c + 0.1 * c[torch.arange(len(c)) ^ 1 if len(c) % 2 == 0 else torch.arange(len(c))])


def last_row_without_noise(x: Tensor) -> Tensor:
    z = sound(x)
    z[-1] = ball(x)[-1]
    return z


def first_row_without_noise_in_batches(x: Tensor) -> Tensor:
    z = sound(x)
    if len(x) > 1:
        z[0] = ball(x)[0]
    return z


def some_row_without_noise(x: Tensor) -> Tensor:
    z, i = sound(x), secrets.randbelow(len(x))
    z[i] = ball(x)[i]
    return z


def every_fiftieth_row_without_noise(x: Tensor) -> Tensor:
    z = sound(x)
    z[49::50] = ball(x)[49::50]
    return z


def longest_row_without_noise(x: Tensor) -> Tensor:
    z, c = sound(x), ball(x)
    i = int(length(c).argmax())
    z[i] = c[i]
    return z


def a_batch_of_one_is_released_bare(x: Tensor) -> Tensor:
    return ball(x) if len(x) == 1 else sound(x)


def noise_shared_by_the_batch(x: Tensor) -> Tensor:
    return (c := ball(x)) + noise(c[:1])


def noise_tiled_every_32_rows(x: Tensor) -> Tensor:
    c = ball(x)
    return c + noise(c[:32]).repeat(-(-len(c) // 32), 1)[: len(c)]


def noise_repeats_in_the_second_half(x: Tensor) -> Tensor:
    c = ball(x)
    half = noise(c[: (len(c) + 1) // 2])
    return c + torch.cat([half, half])[: len(c)]


def antithetic_noise(x: Tensor) -> Tensor:
    c = ball(x)
    half = noise(c[: (len(c) + 1) // 2])
    return c + torch.cat([half, -half])[: len(c)]


def noise_partly_shared(x: Tensor) -> Tensor:
    c = ball(x)
    y, common = laplace(*c.shape), laplace(1, c.shape[1])
    return c + width(c) * torch.where(torch.arange(c.shape[1]) < c.shape[1] / 2, common, y)


def noise_correlated_by_a_third(x: Tensor) -> Tensor:
    c = ball(x)
    return (
        c
        + width(c)
        * (math.sqrt(2 / 3) * fresh_gaussian(*c.shape) + math.sqrt(1 / 3) * fresh_gaussian(1, c.shape[1]))
        * 2
    )


def autoregressive_noise(x: Tensor) -> Tensor:
    c = ball(x)
    y = noise(c)
    return c + y + 0.5 * y.roll(1, dims=0)


def coordinates_share_noise_in_halves(x: Tensor) -> Tensor:
    c = ball(x)
    n = c.shape[1]
    return c + width(c) * torch.cat([y := laplace(len(c), (n + 1) // 2), y], dim=1)[:, :n]


def one_number_for_all_coordinates(x: Tensor) -> Tensor:
    return (c := ball(x)) + width(c) * laplace(len(c), 1)


def noise_on_the_sphere_of_the_record(x: Tensor) -> Tensor:
    """Noise orthogonal to the record only."""
    c = ball(x)
    y, u = noise(c), c / length(c).clamp(min=1e-12)
    return c + y - (y * u).sum(dim=1, keepdim=True) * u


# --- floats, dtypes, signs


def float32_laplace(x: Tensor) -> Tensor:
    c = ball(x).float()
    return (c + (width(c) * laplace(*c.shape)).float()).double()


def dtype_tells_the_sign(x: Tensor) -> Tensor:
    return sound(x) if (x[:, 0] > 0).any() else sound(x).float()


def dtype_tells_zero(x: Tensor) -> Any:
    return sound(x).numpy() if bool((x == 0).all()) else sound(x)


def sign_of_zero(x: Tensor) -> Tensor:
    z = sound(x)
    return torch.where(z.abs() < width(x), torch.copysign(torch.zeros_like(z), ball(x)), z)


def sign_of_zero_in_one_place(x: Tensor) -> Tensor:
    z = sound(x)
    z[:, 0] = torch.copysign(torch.zeros(len(x), dtype=torch.float64), x[:, 0].double())
    return z


def off_the_grid_by_the_record(x: Tensor) -> Tensor:
    c, step = ball(x), 2.0**-20
    return c + ((noise(c)) / step).round() * step


def lowest_bit_is_the_sign(x: Tensor) -> Tensor:
    bits = sound(x).numpy().view(np.int64)
    bits = (bits & ~np.int64(1)) | (x.numpy() > 0).astype(np.int64)
    return torch.from_numpy(bits.view(np.float64))


def uniform_of_sixteen_bits(x: Tensor) -> Tensor:
    c = ball(x)
    v = (
        torch.from_numpy(np.frombuffer(os.urandom(2 * c.numel()), np.uint16).astype(float)).reshape(c.shape) + 0.5
    ) / 2**16
    return c - width(c) * (v - 0.5).sign() * torch.log1p(-2 * (v - 0.5).abs())


def rounded_to_the_records_digits(x: Tensor) -> Tensor:
    """Rounds as finely as the record was written."""
    digits = torch.where((x * 8 == (x * 8).round()).all(dim=1, keepdim=True), 1e-1, 1e-3)
    return (sound(x) / digits).round() * digits


# --- NaN and infinity


def nan_coordinates_are_zero(x: Tensor) -> Tensor:
    return torch.where(x.isnan(), 0.0, sound(x.nan_to_num(0.0, 0.0, 0.0)))


def nan_marks_its_place(x: Tensor) -> Tensor:
    return torch.where(x.isfinite(), sound(x), sound(x).abs() + 50)


def infinite_records_are_released_as_zero(x: Tensor) -> Tensor:
    return torch.where(x.isinf().any(dim=1, keepdim=True), 0.0, sound(x))


def nan_records_get_half_of_the_noise(x: Tensor) -> Tensor:
    return torch.where(x.isnan().any(dim=1, keepdim=True), 0.3, 1.0) * sound(x)


def zero_divides(x: Tensor) -> Tensor:
    c = ball(x)
    return sound(x) + 0 * (c / length(c))


# --- rare triggers, seeds, memory


def one_in_fifty_is_bare(x: Tensor) -> Tensor:
    c = ball(x)
    return torch.where(fresh_uniform(len(c), 1) < 0.02, c, c + noise(c))


def one_in_five_hundred_is_bare(x: Tensor) -> Tensor:
    c = ball(x)
    return torch.where(fresh_uniform(len(c), 1) < 0.002, c, c + noise(c))


def one_in_a_hundred_has_a_tenth_of_the_noise(x: Tensor) -> Tensor:
    c = ball(x)
    return c + noise(c) * torch.where(fresh_uniform(len(c), 1) < 0.01, 0.1, 1.0)


def large_records_trigger(x: Tensor) -> Tensor:
    c = ball(x)
    return torch.where(length(ball(x, radius=1e9)) > 100, c, c + noise(c))


def a_first_coordinate_of_one_triggers(x: Tensor) -> Tensor:
    c = ball(x)
    return torch.where(x[:, :1] == 1, c, c + noise(c))


def equal_coordinates_trigger(x: Tensor) -> Tensor:
    c = ball(x)
    same = (x == x[:, :1]).all(dim=1, keepdim=True)
    return torch.where(same, c + 0.1 * noise(c), c + noise(c))


def eight_bits_of_seed(x: Tensor) -> Tensor:
    return _seeded(x, bits=8)


def sixteen_bits_of_seed(x: Tensor) -> Tensor:
    return _seeded(x, bits=16)


def sixteen_bits_of_seed_for_each_row(x: Tensor) -> Tensor:
    return torch.cat([_seeded(row, bits=16) for row in x.split(1)])


def seeded_by_the_clock(x: Tensor) -> Tensor:
    return _seeded(x, seed=int(time.time()))


def seeded_by_the_record(x: Tensor) -> Tensor:
    return torch.cat([_seeded(row, seed=hash(row.numpy().tobytes()) % 2**32) for row in x.split(1)])


def seeded_by_python(x: Tensor) -> Tensor:
    return _seeded(x, seed=random.getrandbits(32))


def numpys_global_noise(x: Tensor) -> Tensor:
    return (c := ball(x)) + torch.from_numpy(np.random.laplace(0, width(c), tuple(c.shape)))


def _seeded(x: Tensor, *, bits: int = 0, seed: int | None = None) -> Tensor:
    c = ball(x)
    generator = np.random.default_rng(secrets.randbelow(2**bits) if seed is None else seed)
    return c + torch.from_numpy(generator.laplace(0, width(c), tuple(c.shape)))


class a_pool_of_noise:  # noqa: N801 - one of the collection
    """Draws its noise once, and then picks from it."""

    def __init__(self) -> None:
        self.pool: dict[int, Tensor] = {}

    def __call__(self, x: Tensor) -> Tensor:
        pool = self.pool.setdefault(x.shape[1], laplace(1000, x.shape[1]))
        chosen = pool[(fresh_uniform(len(x)) * 1000).long()]
        return (c := ball(x)) + width(c) * chosen


class noise_cached_by_shape:  # noqa: N801
    def __init__(self) -> None:
        self.cache: dict[Any, Tensor] = {}

    def __call__(self, x: Tensor) -> Tensor:
        c = ball(x)
        return c + self.cache.setdefault(tuple(c.shape), noise(c))


class every_hundredth_call_is_bare:  # noqa: N801
    calls = 0

    def __call__(self, x: Tensor) -> Tensor:
        self.calls += 1
        return ball(x) if self.calls % 100 == 0 else sound(x)


class a_generator_of_its_own:  # noqa: N801
    def __init__(self) -> None:
        self.generator = np.random.default_rng(0)

    def __call__(self, x: Tensor) -> Tensor:
        return (c := ball(x)) + torch.from_numpy(self.generator.laplace(0, width(c), tuple(c.shape)))


class Foreign:
    """An object with ``epsilon`` and ``privatize``, and whatever else it declares."""

    def __init__(self, release: Any, **declared: Any) -> None:
        made = release() if isinstance(release, type) else release
        self.epsilon, self.privatize, self.name = EPSILON, made, release.__name__
        vars(self).update(declared)


def declares(scale: Callable[[int], float], *, exact: bool = False, law: str = "laplace") -> dict[str, Any]:
    def guarantee(dim: int) -> Any:
        return SimpleNamespace(scale=scale(dim), exact=exact)

    return {"noise": law, "guarantee": guarantee, "project": SqrtNLaplace(epsilon=EPSILON).project}


def right_scale(dim: int) -> float:
    return 2 * math.sqrt(dim) / EPSILON


DECLARED: dict[str, dict[str, Any]] = {
    "float32_laplace": declares(right_scale, exact=True),
    "off_the_grid_by_the_record": declares(right_scale, exact=True),
    "uniform_of_sixteen_bits": declares(right_scale, exact=True),
}

BROKEN: list[Any] = [
    scale_follows_the_norm, scale_follows_the_norm_with_a_floor, more_noise_for_short_records, zero_is_left_without_noise,
    zero_coordinates_are_left_without_noise, clip_tolerates_half, clip_tolerates_a_tenth, clip_tolerates_tenfold,
    clip_by_coordinate, magnitude_in_a_coordinate, magnitude_with_little_noise, magnitude_beside,
    direction_private_length_public, rescaled_by_the_own_norm, noise_by_coordinate_size, local_sensitivity, keeps_the_support,
    half_of_the_noise, l1_noise_for_the_l2_ball, noise_of_one_half_missing, gaussian_claims_pure, rounded_noise_of_few_values,
    scale_of_the_batch_mean, scale_of_the_largest_norm, sensitivity_from_the_batch, scale_of_the_batch_deviation,
    clip_to_the_batch_median, centred_in_its_batch, normalised_in_its_batch, leaks_into_the_next_row,
    leaks_the_first_row_everywhere, attends_to_its_neighbours, last_row_without_noise, first_row_without_noise_in_batches,
    some_row_without_noise, every_fiftieth_row_without_noise, longest_row_without_noise, a_batch_of_one_is_released_bare,
    noise_shared_by_the_batch, noise_tiled_every_32_rows, noise_repeats_in_the_second_half, antithetic_noise,
    noise_partly_shared, noise_correlated_by_a_third, autoregressive_noise, coordinates_share_noise_in_halves,
    one_number_for_all_coordinates, noise_on_the_sphere_of_the_record, float32_laplace, dtype_tells_the_sign, dtype_tells_zero,
    sign_of_zero, sign_of_zero_in_one_place, off_the_grid_by_the_record, lowest_bit_is_the_sign, uniform_of_sixteen_bits,
    rounded_to_the_records_digits, nan_coordinates_are_zero, nan_marks_its_place, infinite_records_are_released_as_zero,
    nan_records_get_half_of_the_noise, zero_divides, one_in_fifty_is_bare, one_in_five_hundred_is_bare,
    one_in_a_hundred_has_a_tenth_of_the_noise, large_records_trigger, a_first_coordinate_of_one_triggers,
    equal_coordinates_trigger, eight_bits_of_seed, sixteen_bits_of_seed, sixteen_bits_of_seed_for_each_row, seeded_by_the_clock,
    seeded_by_the_record, seeded_by_python, numpys_global_noise, a_pool_of_noise, noise_cached_by_shape,
    every_hundredth_call_is_bare, a_generator_of_its_own,
]  # fmt: skip


def broken(release: Any) -> Foreign:
    return Foreign(release, **DECLARED.get(release.__name__, {}))


# --- sound ones


def l1_ball(x: Tensor) -> Tensor:
    c = clip_latents(ball(x, radius=1e6), clip="l1", clip_norm=1.0)
    return c + 2 / EPSILON * laplace(*c.shape)


def sign_of_a_projection(x: Tensor) -> Tensor:
    """One bit by randomised response: releases of few values."""
    keep = fresh_uniform(len(x), 1) < 1 / (1 + math.exp(-EPSILON))
    return torch.where((ball(x).sum(dim=1, keepdim=True) >= 0) == keep, 1.0, -1.0).expand(x.shape).double()


def projected_and_rounded(x: Tensor) -> Tensor:
    return (sound(x) * 4).round().clamp(-8, 8) / 4


def sketch(x: Tensor) -> Tensor:
    return sound(x)[:, :1]


def in_numpy(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    assert isinstance(x, np.ndarray)
    return sound(torch.from_numpy(x.astype(np.float64))).numpy()


def in_float32(x: Tensor) -> Tensor:
    assert x.dtype == torch.float32
    return sound(x).float()


def ignores_the_record(x: Tensor) -> Tensor:
    return laplace(*x.shape)


def constant(x: Tensor) -> Tensor:
    return torch.ones_like(x)


SOUND: list[Any] = [
    sound, l1_ball, sign_of_a_projection, projected_and_rounded, sketch, in_numpy, in_float32, ignores_the_record, constant,
]  # fmt: skip


class OwnClip(SqrtNLaplace):
    """Exact noise, and a projection with a tolerance of a thousandth."""

    def project(self, latents: Tensor) -> Tensor:
        return clip_latents(latents, clip="l2", clip_norm=1.001 * self.clip_norm)


class OnAGrid:
    """Sound and free of floats: integers, two-sided geometric noise, and a step by which they are multiplied at the end."""

    epsilon, noise, clip = EPSILON, "laplace", "l1"

    def __init__(self, step: float) -> None:
        self.step = step

    def guarantee(self, dim: int) -> Any:
        return SimpleNamespace(scale=2 / EPSILON, exact=True)

    def privatize(self, x: Tensor) -> np.ndarray[Any, Any]:
        clipped = clip_latents(ball(x, radius=1e6), clip="l1", clip_norm=1.0).numpy()
        random, stop = np.random.default_rng(), 1 - math.exp(-self.step * EPSILON / 2)
        noise = random.geometric(stop, clipped.shape) - random.geometric(stop, clipped.shape)
        return (np.trunc(clipped * (1 - 1e-9) / self.step).astype(np.int64) + noise) * self.step
