"""Sound mechanisms of anyone's, and what the broken ones beside them are made of.

Each is a function of latents (B, n) that claims epsilon 4. Noise is of the operating system's entropy.
"""

import math
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from adept.mechanisms import SqrtNLaplace
from adept.mechanisms.clip_to_grid import clip_latents
from adept.mechanisms.random_draws import fresh_uniform

EPSILON = 4.0


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
    sound,
    l1_ball,
    sign_of_a_projection,
    projected_and_rounded,
    sketch,
    in_numpy,
    in_float32,
    ignores_the_record,
    constant,
]


class Foreign:
    """An object with ``epsilon`` and ``privatize``, and whatever else it declares."""

    def __init__(self, release: Any, **declared: Any) -> None:
        made = release() if isinstance(release, type) else release
        self.epsilon, self.privatize, self.name = EPSILON, made, release.__name__
        vars(self).update(declared)


def declares(scale: Callable[[int], float], *, exact: bool = False, noise: str = "laplace") -> dict[str, Any]:
    def guarantee(dim: int) -> Any:
        return SimpleNamespace(scale=scale(dim), exact=exact)

    return {"noise": noise, "guarantee": guarantee, "project": SqrtNLaplace(epsilon=EPSILON).project}


def right_scale(dim: int) -> float:
    return 2 * math.sqrt(dim) / EPSILON


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
