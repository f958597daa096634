"""Releases that depend on what was asked before, on the thread, or on a rare event."""

import secrets
import threading

import torch
from audit.sound import ball, laplace, length, noise, sound, width
from torch import Tensor

from adept.mechanisms.random_draws import fresh_uniform


class the_first_call_is_bare:  # noqa: N801
    calls = 0

    def __call__(self, x: Tensor) -> Tensor:
        self.calls += 1
        return ball(x) if self.calls == 1 else sound(x)


class every_hundredth_call_is_bare:  # noqa: N801
    calls = 0

    def __call__(self, x: Tensor) -> Tensor:
        self.calls += 1
        return ball(x) if self.calls % 100 == 0 else sound(x)


class the_call_before_shines_through:  # noqa: N801 - one of the collection
    def __init__(self) -> None:
        self.last: dict[int, Tensor] = {}

    def __call__(self, x: Tensor) -> Tensor:
        before = self.last.get(x.shape[1], torch.zeros(x.shape[1]))
        self.last[x.shape[1]] = 3 * width(x) * ball(x)[-1]
        return sound(x) + before


def bare_in_other_threads(x: Tensor) -> Tensor:
    return sound(x) if threading.current_thread() is threading.main_thread() else ball(x)


class five_answers_for_each_record:  # noqa: N801
    def __init__(self) -> None:
        self.memory: dict[bytes, list[Tensor]] = {}

    def __call__(self, x: Tensor) -> Tensor:
        return torch.cat([self._one(row) for row in x.split(1)])

    def _one(self, row: Tensor) -> Tensor:
        pool = self.memory.setdefault(row.numpy().tobytes(), [])
        if len(pool) < 5:
            pool.append(sound(row))
            return pool[-1]
        return pool[secrets.randbelow(5)]


class scale_kept_from_the_first_dimension:  # noqa: N801 - one of the collection
    scale: float | None = None

    def __call__(self, x: Tensor) -> Tensor:
        c = ball(x)
        self.scale = width(c) if self.scale is None else self.scale
        return c + self.scale * laplace(*c.shape)


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


def one_in_fifty_is_bare(x: Tensor) -> Tensor:
    c = ball(x)
    return torch.where(fresh_uniform(len(c), 1) < 0.02, c, c + noise(c))


def one_in_five_hundred_is_bare(x: Tensor) -> Tensor:
    c = ball(x)
    return torch.where(fresh_uniform(len(c), 1) < 0.002, c, c + noise(c))


def one_in_a_hundred_has_a_tenth_of_the_noise(x: Tensor) -> Tensor:
    c = ball(x)
    return c + noise(c) * torch.where(fresh_uniform(len(c), 1) < 0.01, 0.1, 1.0)


class every_second_call_negates_the_noise:  # noqa: N801
    """The mean of two calls has no noise."""

    last: Tensor | None = None

    def __call__(self, x: Tensor) -> Tensor:
        c, last = ball(x), self.last
        if last is not None and last.shape == c.shape:
            self.last = None
            return c - last
        self.last = noise(c)
        return c + self.last


BROKEN = [
    every_second_call_negates_the_noise,
    the_first_call_is_bare,
    every_hundredth_call_is_bare,
    the_call_before_shines_through,
    bare_in_other_threads,
    five_answers_for_each_record,
    scale_kept_from_the_first_dimension,
    sensitivity_from_the_largest_seen,
    noise_annealed_over_a_thousand_calls,
    one_in_fifty_is_bare,
    one_in_five_hundred_is_bare,
    one_in_a_hundred_has_a_tenth_of_the_noise,
]
