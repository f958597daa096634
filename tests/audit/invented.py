"""More broken mechanisms, by an adversary who had seen the auditor and wrote them before any was audited; all claim epsilon 4.

`truncated_at_ten_scales` is not convicted, and cannot be by counting: its events come once in five thousand releases.
"""

import math
import secrets
import time
from typing import Any

import numpy as np
import torch
from audit.collection import EPSILON, ball, fresh_uniform, laplace, length, noise, sound, width
from audit.protocols import KRR, SubsetSelection, UnaryEncoding
from torch import Tensor

Array = np.ndarray[Any, Any]


def one_index_has_little_noise(x: Tensor) -> Tensor:
    """A tenth of the noise for records whose largest number is the 38th."""
    c = ball(x)
    return c + noise(c) * torch.where(c.abs().argmax(dim=1, keepdim=True) == 37, 0.1, 1.0)


def odd_rows_have_a_quarter_of_the_noise(x: Tensor) -> Tensor:
    c = ball(x)
    return c + noise(c) * torch.where(torch.arange(len(c)) % 2 == 1, 0.25, 1.0)[:, None]


def scale_counts_nonzeros(x: Tensor) -> Tensor:
    c = ball(x)
    return c + 2 * (c != 0).sum(dim=1, keepdim=True).clamp(min=1).sqrt() / EPSILON * laplace(*c.shape)


def scale_by_positive_share(x: Tensor) -> Tensor:
    c = ball(x)
    return c + noise(c) * (0.5 + (c > 0).double().mean(dim=1, keepdim=True))


def scale_by_the_largest_number(x: Tensor) -> Tensor:
    c = ball(x)
    return c + noise(c) * (0.2 + c.abs().max(dim=1, keepdim=True).values)


def clip_forgets_negative_records(x: Tensor) -> Tensor:
    finite = torch.where(x.isfinite().all(dim=1, keepdim=True), x, 0.0).double()
    c = torch.where(finite.sum(dim=1, keepdim=True) < 0, finite.clamp(-1e6, 1e6), ball(x))
    return c + noise(c)


class noise_kept_for_ten_calls:  # noqa: N801 - one of the collection
    def __init__(self) -> None:
        self.calls, self.kept = 0, dict[int, Tensor]()

    def __call__(self, x: Tensor) -> Tensor:
        c = ball(x)
        self.kept = {} if self.calls % 10 == 0 else self.kept
        self.calls += 1
        y = self.kept.setdefault(c.shape[1], noise(torch.zeros(4096, c.shape[1])))
        return c + y.repeat(-(-len(c) // len(y)), 1)[: len(c)]


def halves_mirrored(x: Tensor) -> Tensor:
    c = ball(x)
    y = noise(c)
    if half := c.shape[1] // 2:
        y[:, -half:] = -y[:, :half].flip(1)
    return c + y


def averages_two_releases(x: Tensor) -> Tensor:
    return (sound(x) + sound(x)) / 2


def returns_two_releases(x: Tensor) -> Tensor:
    return torch.cat([sound(x), sound(x)], dim=1)


def truncated_at_four_scales(x: Tensor) -> Tensor:
    return (c := ball(x)) + width(c) * laplace(*c.shape).clamp(-4, 4)


def redrawn_beyond_four_scales(x: Tensor) -> Tensor:
    c = ball(x)
    y = laplace(*c.shape)
    while (beyond := y.abs() > 4).any():
        y = torch.where(beyond, laplace(*c.shape), y)
    return c + width(c) * y


def truncated_at_ten_scales(x: Tensor) -> Tensor:
    return (c := ball(x)) + width(c) * laplace(*c.shape).clamp(-10, 10)


def grid_step_by_the_record(x: Tensor) -> Tensor:
    step = torch.where(ball(x).sum(dim=1, keepdim=True) > 0, 0.01, 0.013)
    return (sound(x) / step).round() * step


class seeded_by_a_counter:  # noqa: N801
    calls = 0

    def __call__(self, x: Tensor) -> Tensor:
        c, self.calls = ball(x), self.calls + 1
        return c + torch.from_numpy(np.random.default_rng(self.calls).laplace(0, width(c), tuple(c.shape)))


def seeded_by_milliseconds(x: Tensor) -> Tensor:
    c, seed = ball(x), time.time_ns() // 1_000_000 % 1000
    return c + torch.from_numpy(np.random.default_rng(seed).laplace(0, width(c), tuple(c.shape)))


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


def bare_at_middle_norms(x: Tensor) -> Tensor:
    c = ball(x)
    return torch.where((length(c) > 0.4) & (length(c) < 0.6), c, c + noise(c))


def one_coordinate_of_each_row_is_bare(x: Tensor) -> Tensor:
    c = ball(x)
    y, bare = noise(c), (fresh_uniform(len(c)) * c.shape[1]).long().clamp(max=c.shape[1] - 1)
    y[torch.arange(len(c)), bare] = 0
    return c + y


def one_coordinate_in_fifty_is_bare(x: Tensor) -> Tensor:
    return (c := ball(x)) + noise(c) * (fresh_uniform(*c.shape) >= 0.02)


def exponential_without_the_two(x: Tensor) -> Tensor:
    c = ball(x)
    words = torch.randn(256, c.shape[1], generator=torch.Generator().manual_seed(5), dtype=torch.float64)
    chances = torch.softmax(-EPSILON * torch.cdist(c, ball(100 * words)), dim=1).cumsum(dim=1)
    return ball(100 * words)[(chances < fresh_uniform(len(c), 1) * chances[:, -1:]).sum(dim=1).clamp(max=255)]


def nonzeros_only(x: Tensor) -> Tensor:
    return sound(x)[:, : max(1, int((ball(x) != 0).any(dim=0).sum()))]


def batch_sorted_by_norm(x: Tensor) -> Tensor:
    return sound(x)[length(ball(x, radius=1e9))[:, 0].argsort()]


def clip_around_the_batch_mean(x: Tensor) -> Tensor:
    c = ball(x, radius=1e3)
    return c.mean(dim=0) + sound(c - c.mean(dim=0))


def a_bit_for_each_number(x: Tensor) -> Tensor:
    """Randomised response at epsilon / 8 for each sign, 64 times."""
    keep = fresh_uniform(*x.shape) < 1 / (1 + math.exp(-EPSILON / 8))
    return torch.where((ball(x) > 0) == keep, 1.0, -1.0).double()


def noise_sums_to_zero(x: Tensor) -> Tensor:
    c = ball(x)
    y = noise(c)
    return c + (y - y.mean(dim=1, keepdim=True) if c.shape[1] > 1 else y)


def noise_lacks_a_frequency(x: Tensor) -> Tensor:
    c = ball(x)
    y, wave = noise(c), torch.where(torch.arange(c.shape[1]) % 2 == 0, 1.0, -1.0).double() / math.sqrt(c.shape[1])
    return c + (y - (y @ wave)[:, None] * wave if c.shape[1] > 1 else y)


def keeps_the_largest_place(x: Tensor) -> Tensor:
    z, rows = sound(x), torch.arange(len(x))
    true, noisy = ball(x).argmax(dim=1), z.argmax(dim=1)
    z[rows, true], z[rows, noisy] = z[rows, noisy].clone(), z[rows, true].clone()
    return z


class the_first_call_is_bare:  # noqa: N801
    calls = 0

    def __call__(self, x: Tensor) -> Tensor:
        self.calls += 1
        return ball(x) if self.calls == 1 else sound(x)


def wide_uniform_noise(x: Tensor) -> Tensor:
    return (c := ball(x)) + 8 * width(c) * (2 * fresh_uniform(*c.shape) - 1)


def parity_of_cents(x: Tensor) -> Tensor:
    z, bit = sound(x), (ball(x)[:, 0] > 0).double()
    z[:, 0] = (((z[:, 0] * 100 - bit) / 2).round() * 2 + bit) / 100
    return z


def nan_takes_the_row_before(x: Tensor) -> Tensor:
    y = x.clone()
    for i in (~x.isfinite().all(dim=1)).nonzero()[:, 0].tolist():
        y[i] = y[i - 1].nan_to_num(0.0, 0.0, 0.0)
    return sound(y)


class FallbackFromAll(KRR):
    """Falls back to any value, the own one too: ln(63) instead of 4 among eight values."""

    def respond(self, values: Array, size: int) -> Array:
        keep = self.random.random(len(values)) < self.odds / (self.odds + size - 1)
        return np.where(keep, values, self.random.integers(0, size, len(values)))


class KeepsAsIfTwo(KRR):
    """Keeps the value as often as two values would permit."""

    def respond(self, values: Array, size: int) -> Array:
        keep = self.random.random(len(values)) < self.odds / (self.odds + 1)
        return np.where(keep, values, (values + self.random.integers(1, size, len(values))) % size)


class UnhalvedUnary(UnaryEncoding):
    """Spends the whole budget on each of the two bits in which values differ."""

    def privatize(self, values: list[int]) -> Array:
        chances = np.full((len(values), self.alphabet), 1 / (self.odds + 1))
        chances[np.arange(len(values)), values] = self.odds / (self.odds + 1)
        return (self.random.random(chances.shape) < chances).astype(np.uint8)


class AlwaysIncludes(SubsetSelection):
    """A set of three that always holds the value."""

    def privatize(self, values: list[int]) -> list[frozenset[int]]:
        order = self.random.random((len(values), self.alphabet))
        order[np.arange(len(values)), values] = -1.0
        return [frozenset(row) for row in np.argpartition(order, 2, axis=1)[:, :3].tolist()]


INVENTED: list[Any] = [
    one_index_has_little_noise, odd_rows_have_a_quarter_of_the_noise, scale_counts_nonzeros, scale_by_positive_share,
    scale_by_the_largest_number, clip_forgets_negative_records, noise_kept_for_ten_calls, halves_mirrored,
    averages_two_releases, returns_two_releases, truncated_at_four_scales, redrawn_beyond_four_scales,
    truncated_at_ten_scales, grid_step_by_the_record, seeded_by_a_counter, seeded_by_milliseconds,
    five_answers_for_each_record, bare_at_middle_norms, one_coordinate_of_each_row_is_bare, one_coordinate_in_fifty_is_bare,
    exponential_without_the_two, nonzeros_only, batch_sorted_by_norm, clip_around_the_batch_mean, a_bit_for_each_number,
    noise_sums_to_zero, noise_lacks_a_frequency, keeps_the_largest_place, the_first_call_is_bare, wide_uniform_noise,
    parity_of_cents, nan_takes_the_row_before,
]  # fmt: skip
ON_VALUES: list[Any] = [FallbackFromAll(4.0, 8), KeepsAsIfTwo(4.0, 8), UnhalvedUnary(4.0, 8), AlwaysIncludes(4.0, 8)]
