"""Inputs farther apart than the noise covers: clips, lengths and supports that come through."""

import torch
from audit.sound import EPSILON, ball, laplace, length, noise, sound
from torch import Tensor

from adept.mechanisms.clip_to_grid import clip_latents


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


def clip_forgets_negative_records(x: Tensor) -> Tensor:
    finite = torch.where(x.isfinite().all(dim=1, keepdim=True), x, 0.0).double()
    c = torch.where(finite.sum(dim=1, keepdim=True) < 0, finite.clamp(-1e6, 1e6), ball(x))
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


def unit_norm_in_half_precision(x: Tensor) -> Tensor:
    """Squares of numbers below .0002 are zero in float16, so short records are not normalised but blown up."""
    finite = torch.where(x.isfinite().all(dim=1, keepdim=True), x, 0.0).double().clamp(-1, 1)
    c = finite / (torch.linalg.vector_norm(finite.half(), dim=1, keepdim=True).double() + 1e-8)
    return c + noise(c)


def keeps_the_support(x: Tensor) -> Tensor:
    return sound(x) * (ball(x) != 0)


def nonzeros_only(x: Tensor) -> Tensor:
    return sound(x)[:, : max(1, int((ball(x) != 0).any(dim=0).sum()))]


def keeps_the_largest_place(x: Tensor) -> Tensor:
    z, rows = sound(x), torch.arange(len(x))
    true, noisy = ball(x).argmax(dim=1), z.argmax(dim=1)
    z[rows, true], z[rows, noisy] = z[rows, noisy].clone(), z[rows, true].clone()
    return z


def keeps_the_larger_half(x: Tensor) -> Tensor:
    c = ball(x)
    top = torch.zeros_like(c).scatter_(1, c.abs().topk(max(1, c.shape[1] // 2), dim=1).indices, 1.0)
    return (c + noise(c)) * top


BROKEN = [
    clip_tolerates_half,
    clip_tolerates_a_tenth,
    clip_tolerates_tenfold,
    clip_by_coordinate,
    clip_forgets_negative_records,
    magnitude_in_a_coordinate,
    magnitude_with_little_noise,
    magnitude_beside,
    direction_private_length_public,
    rescaled_by_the_own_norm,
    unit_norm_in_half_precision,
    keeps_the_support,
    nonzeros_only,
    keeps_the_largest_place,
    keeps_the_larger_half,
]
