"""Sound mechanisms in the shapes that real code has; each is eps-LDP by its paper, and claims no less than it spends.

Arguments of `adept.audit.run` stand beside each. Noise is the operating system's, or of a generator that the caller seeds.
"""

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

from adept.audit import Claim

EPSILON = 2.0
ODDS = math.exp(EPSILON)
WORDS = ["bank", "money", "cash", "river", "boat", "lake"]
SYSTEM = random.SystemRandom()
Array = np.ndarray[Any, Any]


def fresh() -> np.random.Generator:
    return np.random.default_rng()


@dataclass
class CallableDataclass:
    """Laplace noise on clamped numbers, as ``mechanism(values)``."""

    lower: float = 0.0
    upper: float = 1.0

    def __call__(self, values: Sequence[float]) -> list[float]:
        scale = (self.upper - self.lower) / EPSILON
        return [min(max(v, self.lower), self.upper) + float(fresh().laplace(0, scale)) for v in values]


@dataclass
class GeneratorInTensorOut:
    """A generator of the caller; takes NumPy, gives a tensor."""

    rng: np.random.Generator = field(default_factory=fresh)

    def privatize(self, x: Array) -> Tensor:
        clipped = np.nan_to_num(x, posinf=0, neginf=0).clip(-1, 1) / x.shape[1]
        return torch.from_numpy(clipped + self.rng.laplace(0, 2 / EPSILON, x.shape))


def token_lists(records: list[tuple[str, ...]]) -> list[list[str]]:
    """Two tokens with half of the budget each, by k-ary response."""
    keep = math.exp(EPSILON / 2) / (math.exp(EPSILON / 2) + len(WORDS) - 1)
    return [[w if SYSTEM.random() < keep else SYSTEM.choice([o for o in WORDS if o != w]) for w in r] for r in records]


def dictionaries(values: list[int]) -> list[dict[str, int]]:
    """A public random place of a Hadamard row, and its sign by response of one bit."""
    reports = []
    for value in values:
        place = SYSTEM.randrange(8)
        sign = 1 - 2 * (bin(place & value).count("1") % 2)
        reports.append({"place": place, "sign": sign if SYSTEM.random() < ODDS / (1 + ODDS) else -sign})
    return reports


def batches_only(x: Tensor) -> Tensor:
    """Refuse a record that is alone."""
    if len(x) < 2:
        raise ValueError("a batch of at least two is needed")
    return torch.from_numpy(GeneratorInTensorOut().privatize(x.numpy()).numpy())


def in_place(x: Array) -> Array:
    """Clamp and add noise inside the array that the caller passed."""
    np.nan_to_num(x, copy=False, posinf=0, neginf=0)
    x.clip(-1, 1, out=x)
    x += fresh().laplace(0, 2 * x.shape[1] / EPSILON, x.shape)
    return x


def single_precision(x: Array) -> Array:
    """One bit for each record, in float32."""
    if x.dtype != np.float32:
        raise TypeError("float32 only")
    keep = fresh().random(len(x)) < ODDS / (1 + ODDS)
    return np.where((x[:, :1] > 0) == keep[:, None], np.float32(1), np.float32(-1))


def integers(values: list[int]) -> Array:
    """Two-sided geometric noise."""
    stop = 1 - math.exp(-EPSILON / 3)
    return np.array(values, np.int64) + np.subtract(*fresh().geometric(stop, (2, len(values))))


def exponential(values: list[str]) -> list[str]:
    """The exponential mechanism over a vocabulary, with Gumbel noise; the utility is a shared first letter."""
    chosen = []
    for value in values:
        utility = np.array([float(word == value) + float(word[0] == value[0]) for word in WORDS]) / 2
        chosen.append(WORDS[int(np.argmax(EPSILON * utility / 2 + fresh().gumbel(size=len(WORDS))))])
    return chosen


def labels(values: list[str]) -> list[str]:
    keep = ODDS / (ODDS + len(WORDS) - 1)
    return [v if SYSTEM.random() < keep else SYSTEM.choice([w for w in WORDS if w != v]) for v in values]


def unary(values: list[int]) -> Array:
    """Optimised unary encoding: rows of bits."""
    chance = np.full((len(values), 8), 1 / (ODDS + 1))
    chance[np.arange(len(values)), values] = 0.5
    return (fresh().random(chance.shape) < chance).astype(np.uint8)


def hashing(values: list[int]) -> list[tuple[int, int]]:
    """Local hashing: the seed of a public hash, and the hash by k-ary response."""
    reports, size = [], 4
    for value in values:
        seed = SYSTEM.randrange(2**16)
        own = hashed(seed, value, size)
        reports.append(
            (seed, own if SYSTEM.random() < ODDS / (ODDS + size - 1) else (own + SYSTEM.randrange(1, size)) % size)
        )
    return reports


def hashed(seed: int, value: int, size: int = 4) -> int:
    return random.Random(seed * 64 + value).randrange(size)


def subsets(values: list[int]) -> list[frozenset[int]]:
    """Subset selection: sets of two of eight."""
    own = 2 * ODDS / (2 * ODDS + 6)
    return [
        frozenset([v, *SYSTEM.sample(rest, 1)] if SYSTEM.random() < own else SYSTEM.sample(rest, 2))
        for v, rest in ((v, [w for w in range(8) if w != v]) for v in values)
    ]


def piecewise(values: list[float]) -> list[float]:
    """The piecewise mechanism for numbers from -1 to 1 (Wang et al. 2019)."""
    root = math.exp(EPSILON / 2)
    end, released = (root + 1) / (root - 1), []
    for value in values:
        left = (end + 1) / 2 * value - (end - 1) / 2
        right, draw = left + end - 1, fresh().random()
        if draw < root / (root + 1):
            released.append(float(fresh().uniform(left, right)))
        else:
            place = fresh().uniform(0, left + end + end - right)
            released.append(float(place - end if place < left + end else place - left - end + right))
    return released


class Rappor:
    """A permanent response kept for each value, and a fresh response of it in each report."""

    def __init__(self) -> None:
        self.kept: dict[int, Array] = {}

    def privatize(self, values: list[int]) -> list[list[int]]:
        return [self._report(value) for value in values]

    def _report(self, value: int) -> list[int]:
        flip = 1 / (1 + math.exp(EPSILON / 2))
        bits = np.arange(4) == value
        permanent = self.kept.setdefault(value, bits ^ (fresh().random(4) < flip))
        return (permanent ^ (fresh().random(4) < 0.25)).astype(int).tolist()


def claim(mechanism: Any, **declared: Any) -> Claim:
    return Claim(mechanism, epsilon=EPSILON, **declared)


SHAPES: dict[str, tuple[Any, dict[str, Any]]] = {
    "dataclass with __call__": (lambda: claim(CallableDataclass(), alphabet=[0.0, 0.25, 1.0]), {}),
    "generator in, tensor out": (lambda: claim(GeneratorInTensorOut(), randomness="caller"), {"dim": 4}),
    "lists of strings": (lambda: claim(token_lists), {"pairs": [(("bank", "boat"), ("lake", "cash"))]}),
    "dictionaries": (lambda: claim(dictionaries, alphabet=8), {}),
    "batches only": (lambda: claim(batches_only), {"dim": 4}),
    "in place": (lambda: claim(in_place), {"dim": 4}),
    "float32 only": (lambda: claim(single_precision), {"dim": 4}),
    "integers": (lambda: claim(integers, alphabet=[0, 1, 2, 3]), {}),
    "exponential mechanism": (lambda: claim(exponential, alphabet=WORDS), {}),
    "labels": (lambda: claim(labels, alphabet=WORDS), {}),
    "unary encoding": (lambda: claim(unary, alphabet=8), {}),
    "hashing": (
        lambda: claim(hashing, alphabet=8, supports=lambda report, value: float(hashed(report[0], value) == report[1])),
        {},
    ),
    "sets": (lambda: claim(subsets, alphabet=8), {}),
    "piecewise": (lambda: claim(piecewise, alphabet=[-1.0, 0.0, 0.5, 1.0]), {}),
    "memory": (lambda: claim(Rappor(), alphabet=4, memoised=True), {}),
}
