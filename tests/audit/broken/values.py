"""Mechanisms on a finite alphabet that break their claim."""

import math
from typing import Any

import numpy as np
from audit.protocols import KRR, SubsetSelection, UnaryEncoding
from audit.sound import EPSILON
from numpy.typing import NDArray

Array = NDArray[Any]


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


class OneUniformForAllBits(UnaryEncoding):
    def privatize(self, values: list[int]) -> Array:
        root = math.exp(self.epsilon / 2)
        chances = np.full((len(values), self.alphabet), 1 / (root + 1))
        chances[np.arange(len(values)), values] = root / (root + 1)
        return (self.random.random((len(values), 1)) < chances).astype(np.uint8)


class SetSizeDepends(SubsetSelection):
    """One set in five of value 0 has a member more."""

    def privatize(self, values: list[int]) -> list[frozenset[int]]:
        sets = super().privatize(values)
        more = (self.random.random(len(values)) < 0.2) & (np.array(values) == 0)
        return [s | {(min(s) + 1) % self.alphabet} if m else s for s, m in zip(sets, more, strict=True)]


class StaysInItsHalf(KRR):
    """Half of the answers stay in the value's half of the alphabet: ln(70), 4.25, instead of 4."""

    def respond(self, values: Array, size: int) -> Array:
        half = size // 2
        near = values // half * half + self.random.integers(0, half, len(values))
        return np.where(self.random.random(len(values)) < 0.5, super().respond(values, size), near)


class RemembersItsAnswer(UnaryEncoding):
    """A value is always answered with one outcome."""

    memory: dict[tuple[float, int], Array] = {}  # noqa: RUF012 - of all of them

    def privatize(self, values: list[int]) -> Array:
        for value in values:
            self.memory.setdefault((self.epsilon, value), super().privatize([value])[0])
        return np.stack([self.memory[self.epsilon, value] for value in values])


class TypeDepends(KRR):
    def privatize(self, values: list[int]) -> list[Any]:
        return [float(o) if value > 3 else o for o, value in zip(super().privatize(values), values, strict=True)]


class RefusesOne(KRR):
    def privatize(self, values: list[int]) -> list[int]:
        if 5 in values:
            raise ValueError("no")
        return super().privatize(values)


class OneOfAThousandIsBare(KRR):
    def __init__(self, epsilon: float, _: int) -> None:
        super().__init__(epsilon, 1_000)

    def privatize(self, values: list[int]) -> list[int]:
        return [value if value == 777 else o for o, value in zip(super().privatize(values), values, strict=True)]


BROKEN: list[Any] = [
    kind(EPSILON, 8)
    for kind in (
        FallbackFromAll,
        KeepsAsIfTwo,
        UnhalvedUnary,
        AlwaysIncludes,
        OneUniformForAllBits,
        SetSizeDepends,
        StaysInItsHalf,
        RemembersItsAnswer,
        TypeDepends,
        RefusesOne,
        OneOfAThousandIsBare,
    )
]
