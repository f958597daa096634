"""Randomness that repeats: seeds, generators, pools and caches of noise."""

import random
import secrets
import threading
import time
from typing import Any

import numpy as np
import torch
from audit.sound import ball, laplace, noise, width
from scipy.stats import qmc
from torch import Tensor

from adept.mechanisms.random_draws import fresh_uniform


def eight_bits_of_seed(x: Tensor) -> Tensor:
    return _seeded(x, bits=8)


def sixteen_bits_of_seed(x: Tensor) -> Tensor:
    return _seeded(x, bits=16)


def sixteen_bits_of_seed_for_each_row(x: Tensor) -> Tensor:
    return torch.cat([_seeded(row, bits=16) for row in x.split(1)])


def seeded_by_the_clock(x: Tensor) -> Tensor:
    return _seeded(x, seed=int(time.time()))


def seeded_by_milliseconds(x: Tensor) -> Tensor:
    c, seed = ball(x), time.time_ns() // 1_000_000 % 1000
    return c + torch.from_numpy(np.random.default_rng(seed).laplace(0, width(c), tuple(c.shape)))


def seeded_by_the_record(x: Tensor) -> Tensor:
    return torch.cat([_seeded(row, seed=hash(row.numpy().tobytes()) % 2**32) for row in x.split(1)])


class seeded_by_a_counter:  # noqa: N801
    calls = 0

    def __call__(self, x: Tensor) -> Tensor:
        c, self.calls = ball(x), self.calls + 1
        return c + torch.from_numpy(np.random.default_rng(self.calls).laplace(0, width(c), tuple(c.shape)))


def seeded_by_python(x: Tensor) -> Tensor:
    return _seeded(x, seed=random.getrandbits(32))


def numpys_global_noise(x: Tensor) -> Tensor:
    return (c := ball(x)) + torch.from_numpy(np.random.laplace(0, width(c), tuple(c.shape)))


class a_generator_of_its_own:  # noqa: N801
    def __init__(self) -> None:
        self.generator = np.random.default_rng(0)

    def __call__(self, x: Tensor) -> Tensor:
        return (c := ball(x)) + torch.from_numpy(self.generator.laplace(0, width(c), tuple(c.shape)))


class a_generator_for_each_thread:  # noqa: N801
    """Each worker thread seeds its own generator, with its name."""

    def __init__(self) -> None:
        self.generators: dict[int, np.random.Generator] = {}

    def __call__(self, x: Tensor) -> Tensor:
        c, own = ball(x), threading.get_ident()
        generator = self.generators.setdefault(own, np.random.default_rng(own))
        return c + torch.from_numpy(generator.laplace(0, width(c), tuple(c.shape)))


class a_pool_of_noise:  # noqa: N801 - one of the collection
    """Draws its noise once, and then picks from it."""

    def __init__(self) -> None:
        self.pool: dict[int, Tensor] = {}

    def __call__(self, x: Tensor) -> Tensor:
        pool = self.pool.setdefault(x.shape[1], laplace(1000, x.shape[1]))
        chosen = pool[(fresh_uniform(len(x)) * 1000).long()]
        return (c := ball(x)) + width(c) * chosen


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


class noise_cached_by_shape:  # noqa: N801
    def __init__(self) -> None:
        self.cache: dict[Any, Tensor] = {}

    def __call__(self, x: Tensor) -> Tensor:
        c = ball(x)
        return c + self.cache.setdefault(tuple(c.shape), noise(c))


class noise_kept_for_ten_calls:  # noqa: N801 - one of the collection
    def __init__(self) -> None:
        self.calls, self.kept = 0, dict[int, Tensor]()

    def __call__(self, x: Tensor) -> Tensor:
        c = ball(x)
        self.kept = {} if self.calls % 10 == 0 else self.kept
        self.calls += 1
        y = self.kept.setdefault(c.shape[1], noise(torch.zeros(4096, c.shape[1])))
        return c + y.repeat(-(-len(c) // len(y)), 1)[: len(c)]


def _seeded(x: Tensor, *, bits: int = 0, seed: int | None = None) -> Tensor:
    c = ball(x)
    generator = np.random.default_rng(secrets.randbelow(2**bits) if seed is None else seed)
    return c + torch.from_numpy(generator.laplace(0, width(c), tuple(c.shape)))


class low_discrepancy_noise:  # noqa: N801
    """Laplace noise from a scrambled Sobol sequence, each of whose rows says much about the next ones."""

    def __init__(self) -> None:
        self.sequences: dict[int, qmc.Sobol] = {}

    def __call__(self, x: Tensor) -> Tensor:
        c, dim = ball(x), x.shape[1]
        drawn = self.sequences.setdefault(dim, qmc.Sobol(dim, scramble=True)).random(len(x))
        v = torch.from_numpy(drawn).clamp(1e-12, 1 - 1e-12) - 0.5
        return c - width(c) * v.sign() * torch.log1p(-2 * v.abs())


BROKEN = [
    low_discrepancy_noise,
    eight_bits_of_seed,
    sixteen_bits_of_seed,
    sixteen_bits_of_seed_for_each_row,
    seeded_by_the_clock,
    seeded_by_milliseconds,
    seeded_by_the_record,
    seeded_by_a_counter,
    seeded_by_python,
    numpys_global_noise,
    a_generator_of_its_own,
    a_generator_for_each_thread,
    a_pool_of_noise,
    a_ring_of_noise,
    noise_cached_by_shape,
    noise_kept_for_ten_calls,
]
