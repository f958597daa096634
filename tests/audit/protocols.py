"""The frequency oracles that LDP-Auditor audits (Arcolezi and Gambs, PoPETs 2024), each in a few lines, from their papers.

All are eps-LDP and tight. Randomness is NumPy's, seeded from the operating system: what is looked at here is how much of epsilon
an audit certifies, not the generators.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass
class Oracle:
    """A mechanism on {0..K-1}."""

    epsilon: float
    alphabet: int

    @property
    def random(self) -> np.random.Generator:
        return np.random.default_rng()

    @property
    def odds(self) -> float:
        return math.exp(self.epsilon)

    def respond(self, values: np.ndarray[Any, Any], size: int) -> np.ndarray[Any, Any]:
        """k-ary randomised response (Kairouz, Oh and Viswanath 2014)."""
        keep = self.random.random(len(values)) < self.odds / (self.odds + size - 1)
        other = (values + self.random.integers(1, size, len(values))) % size
        return np.where(keep, values, other)


class KRR(Oracle):
    def privatize(self, values: list[int]) -> list[int]:
        return self.respond(np.array(values), self.alphabet).tolist()


class SubsetSelection(Oracle):
    """A random set of t values that holds the true one with probability t e^eps / (t e^eps + k - t) (Ye and Barg 2018)."""

    def privatize(self, values: list[int]) -> list[frozenset[int]]:
        k, t = self.alphabet, max(1, round(self.alphabet / (self.odds + 1)))
        true = self.random.random(len(values)) < t * self.odds / (t * self.odds + k - t)
        order = self.random.random((len(values), k))
        order[np.arange(len(values)), values] = np.where(true, -1.0, 2.0)  # surely in, or surely out
        return [frozenset(row) for row in np.argpartition(order, t - 1, axis=1)[:, :t].tolist()]


@dataclass
class UnaryEncoding(Oracle):
    """A bit for each value: symmetric (SUE, RAPPOR's, Erlingsson et al. 2014) or optimised (OUE, Wang et al. 2017)."""

    optimised: bool = False

    def privatize(self, values: list[int]) -> np.ndarray[Any, Any]:
        root = math.exp(self.epsilon / 2)
        p, q = (0.5, 1 / (self.odds + 1)) if self.optimised else (root / (root + 1), 1 / (root + 1))
        chances = np.full((len(values), self.alphabet), q)
        chances[np.arange(len(values)), values] = p
        return (self.random.random(chances.shape) < chances).astype(np.uint8)


@dataclass
class LocalHashing(Oracle):
    """A hash function from a public family, and the response to the value's hash: binary (BLH), or of e^eps + 1 values (OLH)."""

    optimised: bool = False

    @property
    def size(self) -> int:
        return round(self.odds) + 1 if self.optimised else 2

    def hash(self, seed: Any, value: Any) -> Any:
        mixed = (seed * 0x9E3779B97F4A7C15 + (value + 1) * 0xBF58476D1CE4E5B9) & (2**53 - 1)
        return ((mixed ^ (mixed >> 29)) * 0x94D049BB133111EB >> 17) % self.size

    def privatize(self, values: list[int]) -> list[tuple[int, int]]:
        seeds = self.random.integers(2**50, size=len(values)).tolist()
        hashed = np.array([self.hash(seed, value) for seed, value in zip(seeds, values, strict=True)])
        return list(zip(seeds, self.respond(hashed, self.size).tolist(), strict=True))

    def supports(self, outcome: tuple[int, int], value: int) -> float:
        seed, reported = outcome
        return float(self.hash(seed, value) == reported)


def protocols(epsilon: float, size: int) -> dict[str, Oracle]:
    return {
        "k-RR": KRR(epsilon, size),
        "subset selection": SubsetSelection(epsilon, size),
        "SUE": UnaryEncoding(epsilon, size),
        "OUE": UnaryEncoding(epsilon, size, optimised=True),
        "BLH": LocalHashing(epsilon, size),
        "OLH": LocalHashing(epsilon, size, optimised=True),
    }
