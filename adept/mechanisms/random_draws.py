"""Random draws: noise, ranks and indices, for releases and for seeded simulations.

The first word of a function's name says which of three kinds of random numbers the function
returns.

- ``exact_``: integers without any rounding error, computed from random bits that have no seed. An
  exact release may use only functions whose names begin with ``exact_``.
- ``fresh_``: floating-point numbers computed from random bytes of the operating system, with
  rounding errors that no proof covers.
- ``simulated_``: ordinary floating-point numbers from a seeded generator, which give no privacy
  (Mironov 2012, "On significance of the least significant bits for differential privacy").
"""

import math
from fractions import Fraction
from functools import cache, lru_cache

import numpy as np
import torch
from opendp.domains import atom_domain, vector_domain
from opendp.measurements import make_gaussian
from opendp.metrics import l2_distance
from opendp.mod import Measurement, enable_features
from torch import Tensor

from adept.mechanisms import random_bits

enable_features("contrib")  # these modules and not OpenDP's prelude, which imports scikit-learn and pandas

ODDS_BITS = 64


@cache
def _gaussian_measurement(scale: float) -> Measurement:
    space = vector_domain(atom_domain(T="i64")), l2_distance(T="i64")
    return make_gaussian(*space, scale=scale)


def exact_gaussian(values: Tensor, *, scale: float) -> Tensor:
    """Add an independent integer z to each entry; P(z) is proportional to exp(-z^2 / (2 scale^2)).

    OpenDP samples this discrete Gaussian noise in integer arithmetic alone (Canonne, Kamath, Steinke 2020,
    Algorithm 3). A sum outside the range of int64 is set to the nearer end. ``values`` is an int64 tensor on
    the CPU.
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

    Proof: it is a partial sum of the series of exp(epsilon) with positive terms, each rounded down in
    integers.

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
    counting lemma of `adept.mechanisms.random_bits`).
    """
    heavy, light = odds
    border = near * heavy
    total = border + far * light
    draws = (random_bits.below(total) for _ in range(records))
    return [draw // heavy if draw < border else near + (draw - border) // light for draw in draws]


def exact_bernoulli(records: int, *, probability: float) -> Tensor:
    """Return booleans (records,), each of which is True with exactly the given probability."""
    ratio = Fraction(probability)
    draws = (random_bits.below(ratio.denominator) < ratio.numerator for _ in range(records))
    return torch.tensor(list(draws), dtype=torch.bool)


def fresh_uniform(*shape: int) -> Tensor:
    """Return float64 numbers, uniform in (0, 1), with the full precision of floats down to 2^-961.

    The exponent is the number of leading zeros in an endless stream of fair bits; the mantissa has 52
    bits.
    """
    size = math.prod(shape)
    exponents, open_ends = np.zeros(size, dtype=np.int64), np.arange(size)
    while len(open_ends):
        words = random_bits.source.words(len(open_ends))
        # frexp(w) = (m, e) with 2^(e-1) <= w < 2^e for w > 0: a word of 32 random bits has 32 - e
        # leading zeros.
        zeros = np.where(words > 0, 32 - np.frexp((words >> np.uint64(32)).astype(np.float64))[1], 32)
        exponents[open_ends] += zeros
        open_ends = open_ends[(zeros == 32) & (exponents[open_ends] < 960)]
    mantissas = (random_bits.source.words(size) >> np.uint64(12)).astype(np.float64) * 2.0**-53 + 0.5  # [1/2, 1)
    return torch.from_numpy(np.ldexp(mantissas, -exponents)).reshape(shape)


def fresh_gaussian(*shape: int) -> Tensor:
    """Return float64 standard normal numbers, computed from uniform numbers by inversion."""
    tail: Tensor = torch.special.ndtri(0.5 * fresh_uniform(*shape))
    bits = (random_bits.source.words(math.prod(shape)) & np.uint64(1)).astype(np.float64)
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
