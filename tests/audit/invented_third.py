"""Twelve more defects, as programs have them: a wrong axis, a cache, a precision, a buffer; written before any was audited."""

import threading
from typing import Any

import numpy as np
import torch
from audit.collection import EPSILON, ball, laplace, length, noise, width
from torch import Tensor


def scale_of_the_wrong_axis(x: Tensor) -> Tensor:
    """The root of the batch's size instead of the record's."""
    return (c := ball(x)) + 2 * len(c) ** 0.5 / EPSILON * laplace(*c.shape)


class scale_kept_from_the_first_dimension:  # noqa: N801 - one of the collection
    scale: float | None = None

    def __call__(self, x: Tensor) -> Tensor:
        c = ball(x)
        self.scale = width(c) if self.scale is None else self.scale
        return c + self.scale * laplace(*c.shape)


def unit_norm_in_half_precision(x: Tensor) -> Tensor:
    """Squares of numbers below .0002 are zero in float16, so short records are not normalised but blown up."""
    finite = torch.where(x.isfinite().all(dim=1, keepdim=True), x, 0.0).double().clamp(-1, 1)
    c = finite / (torch.linalg.vector_norm(finite.half(), dim=1, keepdim=True).double() + 1e-8)
    return c + noise(c)


def noise_tiled_every_24_rows(x: Tensor) -> Tensor:
    c = ball(x)
    return c + noise(torch.zeros(24, c.shape[1])).repeat(-(-len(c) // 24), 1)[: len(c)]


class a_ring_of_noise:  # noqa: N801
    """A buffer of 100,003 numbers, read on and on."""

    place = 0

    def __init__(self) -> None:
        self.ring = laplace(100_003)

    def __call__(self, x: Tensor) -> Tensor:
        c = ball(x)
        taken = (self.place + torch.arange(c.numel())) % len(self.ring)
        self.place = int(taken[-1]) + 1
        return c + width(c) * self.ring[taken].reshape(c.shape)


def laplace_of_ten_bits(x: Tensor) -> Tensor:
    c = ball(x)
    v = (torch.randint(1024, c.shape, generator=_fresh()) + 0.5) / 1024 - 0.5
    return c - width(c) * v.sign() * torch.log1p(-2 * v.abs())


def sum_in_half_precision(x: Tensor) -> Tensor:
    c = ball(x)
    return (c.half() + noise(c).half()).double()


class a_generator_for_each_thread:  # noqa: N801
    """Each worker thread seeds its own generator, with its name."""

    def __init__(self) -> None:
        self.generators: dict[int, np.random.Generator] = {}

    def __call__(self, x: Tensor) -> Tensor:
        c, own = ball(x), threading.get_ident()
        generator = self.generators.setdefault(own, np.random.default_rng(own))
        return c + torch.from_numpy(generator.laplace(0, width(c), tuple(c.shape)))


class sensitivity_from_the_largest_seen:  # noqa: N801
    def __init__(self) -> None:
        self.largest = 0.05

    def __call__(self, x: Tensor) -> Tensor:
        c = ball(x)
        self.largest = max(self.largest, float(length(c).max()))
        return c + self.largest * noise(c)


class noise_annealed_over_a_thousand_calls:  # noqa: N801
    calls = 0

    def __call__(self, x: Tensor) -> Tensor:
        self.calls += 1
        return (c := ball(x)) + max(0.1, 1 - self.calls / 1000) * noise(c)


def clip_of_the_whole_batch(x: Tensor) -> Tensor:
    """The norm of all rows together: each is released, small, by how large the others are."""
    c = torch.where(x.isfinite().all(dim=1, keepdim=True), x, 0.0).double().clamp(-1e6, 1e6)
    c = c / max(1.0, float(torch.linalg.vector_norm(c)))
    return c + noise(c)


def noise_of_one_l1_norm(x: Tensor) -> Tensor:
    """Each row's noise is scaled to the size that it should have on average."""
    c = ball(x)
    y = laplace(*c.shape)
    return c + width(c) * y * (c.shape[1] / y.abs().sum(dim=1, keepdim=True))


def _fresh() -> torch.Generator:
    generator = torch.Generator()
    generator.seed()
    return generator


INVENTED_THIRD: list[Any] = [
    scale_of_the_wrong_axis, scale_kept_from_the_first_dimension, unit_norm_in_half_precision, noise_tiled_every_24_rows,
    a_ring_of_noise, laplace_of_ten_bits, sum_in_half_precision, a_generator_for_each_thread,
    sensitivity_from_the_largest_seen, noise_annealed_over_a_thousand_calls, clip_of_the_whole_batch, noise_of_one_l1_norm,
]  # fmt: skip
