r"""Random draws from the operating system's bits: integers, orders, noise, ranks and indices; and seeded simulations.

Every exact sampler reads its bits from `source`, which has no seed. Tests replace `source` by a finite tape of bits.

*Counting lemma.* Each word consists of b random bits, so all 2^b words are equally likely.

1. `below` draws words of b bits, with the smallest b for which m <= 2^b, and returns the first that is less than m. So
   each number below m has probability 1/m. More than d words are drawn with probability (1 - m/2^b)^d < 2^-d.
2. `below_each` draws words until one is at least r = 2^b mod m, and returns it modulo m. The accepted words are
   consecutive, and their number is a multiple of m, so all remainders are equally likely.
3. *Weights*: {0, .., W-1} with W = t A + (k - t) B is divided into t intervals of length A and k - t of length B. A
   uniform number below W lies in each with a probability proportional to its length (`exact_ranks`).
4. `shuffle` gives the last place to each of the n items with probability 1/n, the last place but one to each remaining
   item with probability 1/(n-1), and so on: n! equally likely orders.

Checked proof of 1 to 3: ``proofs/Sampler.v``, ``ranks_have_their_weights``, ``remainders_are_uniform``.

*Other draws*: the first word of a function's name says which of three kinds of random numbers it returns.

- ``exact_``: integers without any rounding error, computed from random bits that have no seed. An exact release may use
  only these functions, and the four above.
- ``fresh_``: floating-point numbers computed from random bytes of the operating system, with rounding errors that no
  proof covers.
- ``simulated_``: ordinary floating-point numbers from a seeded generator, which give no privacy (Mironov 2012, "On
  significance of the least significant bits for differential privacy").
"""

import math
import os
import secrets
from collections.abc import Callable
from fractions import Fraction
from functools import cache, lru_cache
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

ODDS_BITS = 64


class OperatingSystem:
    """A source of random bits from the operating system, which no seed, fork or generator state repeats."""

    width = 64  # bits of a word

    def bits(self, count: int) -> int:
        """Return an integer that consists of ``count`` fresh random bits."""
        return secrets.randbits(count)

    def words(self, count: int) -> NDArray[np.uint64]:
        """Return ``count`` words of 64 fresh random bits each."""
        return np.frombuffer(bytearray(os.urandom(8 * count)), dtype=np.uint64)


source = OperatingSystem()


def below(bound: int) -> int:
    """Draw one integer uniformly from {0, .., bound-1}."""
    bits = (bound - 1).bit_length()
    while (draw := source.bits(bits)) >= bound:
        pass
    return draw


def below_each(bound: int, count: int) -> NDArray[np.int64]:
    """Draw ``count`` integers uniformly and independently from {0, .., bound-1}, bound <= 2^63."""
    if bound == 1:
        return np.zeros(count, dtype=np.int64)
    words, least = source.words(count), np.uint64((1 << source.width) % bound)
    while len(again := np.flatnonzero(words < least)):
        words[again] = source.words(len(again))
    return (words % np.uint64(bound)).astype(np.int64)


def shuffle(items: list[Any]) -> None:
    """Put a list into a uniformly random order, in place (Fisher and Yates 1938)."""
    for last in range(len(items) - 1, 0, -1):
        place = below(last + 1)
        items[last], items[place] = items[place], items[last]


@cache
def _gaussian_measurement(scale: float) -> Callable[[list[int]], list[int]]:
    # Slow to import, and for this noise alone; not OpenDP's prelude, which imports scikit-learn and pandas
    from opendp import measurements, mod
    from opendp.domains import atom_domain, vector_domain
    from opendp.metrics import l2_distance

    mod.enable_features("contrib")
    return measurements.make_gaussian(vector_domain(atom_domain(T="i64")), l2_distance(T="i64"), scale=scale)


def exact_gaussian(values: Tensor, *, scale: float) -> Tensor:
    """Add an independent integer z to each entry; P(z) is proportional to exp(-z^2 / (2 scale^2)).

    OpenDP samples this discrete Gaussian noise in integer arithmetic alone (Canonne, Kamath, Steinke 2020, Algorithm
    3). A sum outside the range of int64 is set to the nearer end. ``values`` is an int64 tensor on the CPU.
    """
    noisy = _gaussian_measurement(scale)(values.flatten().tolist())
    return torch.tensor(noisy, dtype=torch.int64).reshape(values.shape)


@lru_cache(maxsize=256)
def exact_odds(epsilon: Fraction) -> tuple[int, int]:
    """Return integers A >= B = 2^64 with (1 - 2^-60) exp(epsilon) <= A / B <= exp(epsilon)."""
    total, _ = exponential_series(epsilon)
    return total >> ODDS_BITS, 1 << ODDS_BITS


def exponential_series(epsilon: Fraction) -> tuple[int, int]:
    """Return a lower bound on 2^128 exp(epsilon), an integer, and the number of terms summed.

    Proof: it is a partial sum of the series of exp(epsilon) with positive terms, each rounded down in integers.

    Checked proof: ``proofs/Exponential.v``, ``series_is_a_lower_bound``, ``exact_odds_are_right``.
    """
    term = total = 1 << 2 * ODDS_BITS
    count = 0
    while term:
        count += 1
        term = term * epsilon.numerator // (epsilon.denominator * count)
        total += term
    return total, count


def exact_ranks(records: int, *, near: int, far: int, odds: tuple[int, int]) -> list[int]:
    """Draw a rank in {0, .., near+far-1} for each record, in an order of the outputs that depends on the record.

    Each of the first ``near`` ranks has the weight A, and each other rank the weight B, where (A, B) =
    ``odds``. So an output's probabilities under two records differ by a factor of at most A/B, exactly (the
    counting lemma of the module).
    """
    heavy, light = odds
    border = near * heavy
    draws = (below(border + far * light) for _ in range(records))
    return [draw // heavy if draw < border else near + (draw - border) // light for draw in draws]


def exact_bernoulli(records: int, *, probability: float) -> Tensor:
    """Return booleans (records,), each of which is True with exactly the given probability."""
    ratio = Fraction(probability)
    draws = (below(ratio.denominator) < ratio.numerator for _ in range(records))
    return torch.tensor(list(draws), dtype=torch.bool)


def fresh_uniform(*shape: int) -> Tensor:
    """Return float64 numbers, uniform in (0, 1), with the full precision of floats down to 2^-961.

    The exponent is the number of leading zeros in an endless stream of fair bits; the mantissa has 52 bits.
    """
    size = math.prod(shape)
    exponents, open_ends = np.zeros(size, dtype=np.int64), np.arange(size)
    while len(open_ends):
        words = source.words(len(open_ends))
        # frexp(w) = (m, e) with 2^(e-1) <= w < 2^e for w > 0: a word of 32 random bits has 32 - e
        # leading zeros.
        zeros = np.where(words > 0, 32 - np.frexp((words >> np.uint64(32)).astype(np.float64))[1], 32)
        exponents[open_ends] += zeros
        open_ends = open_ends[(zeros == 32) & (exponents[open_ends] < 960)]
    mantissas = (source.words(size) >> np.uint64(12)).astype(np.float64) * 2.0**-53 + 0.5  # [1/2, 1)
    return torch.from_numpy(np.ldexp(mantissas, -exponents)).reshape(shape)


def fresh_gaussian(*shape: int) -> Tensor:
    """Return float64 standard normal numbers, computed from uniform numbers by inversion."""
    tail: Tensor = torch.special.ndtri(0.5 * fresh_uniform(*shape))
    bits = (source.words(math.prod(shape)) & np.uint64(1)).astype(np.float64)
    return tail * (2 * torch.from_numpy(bits).reshape(shape) - 1)


def fresh_directions(records: int, dim: int) -> Tensor:
    """Return float64 unit vectors (records, dim), uniformly distributed on the sphere."""
    gaussian = fresh_gaussian(records, dim)
    norm: Tensor = torch.linalg.vector_norm(gaussian, dim=-1, keepdim=True)
    return gaussian / norm


def fresh_index(weights: Tensor) -> Tensor:
    """Draw an index (B,) for each row of weights (B, K), which are relative probabilities."""
    cumulated = weights.cumsum(dim=1)
    total = cumulated[:, -1:]
    uniform = fresh_uniform(len(total)).to(weights)[:, None]
    level = torch.minimum(uniform * total, torch.nextafter(total, torch.zeros_like(total)))
    return torch.searchsorted(cumulated, level, right=True)[:, 0].clamp(max=weights.shape[1] - 1)


def simulated_laplace(like: Tensor, *, scale: float, generator: torch.Generator | None) -> Tensor:
    """Return seeded Laplace noise with the shape, dtype and device of ``like``. Not private."""
    first, second = (torch.empty_like(like).exponential_(generator=generator) for _ in range(2))
    return scale * (first - second)


def simulated_directions(like: Tensor, *, generator: torch.Generator | None) -> Tensor:
    """Return seeded, uniformly random unit vectors with the shape and dtype of ``like``."""
    gaussian = torch.empty_like(like).normal_(generator=generator)
    norm: Tensor = torch.linalg.vector_norm(gaussian, dim=-1, keepdim=True)
    return gaussian / norm.clamp(min=torch.finfo(like.dtype).tiny)
