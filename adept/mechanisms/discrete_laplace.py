r"""Exact sampler of discrete Laplace noise, which draws many integers at once.

Source: Canonne, Kamath, Steinke 2020, Algorithms 1 and 2. *Claim*: the sampler draws integers z with
P(z) proportional to exp(-|z| / b), for the scale b = t / 2^k with integers t >= 1 and k >= 0.

*Steps*; each decision only compares an integer with a uniformly random integer.

1. ``below_each(m)`` draws integers uniformly from {0, .., m-1}.
2. ``_decays(u, t)`` is true with probability exp(-u / t): it counts trials until the first failure.
3. ``_magnitudes`` draws U below t, accepts it with probability exp(-U / t), adds t times a number V of
   successes of probability exp(-1) (``_wholes``), and divides by 2^k: P(y) is proportional to exp(-y / b).
4. ``laplace_noise`` adds a sign, and draws again where the result is minus zero.

``docs/proofs.md``, "The sampler of discrete Laplace noise", has the proof. No number is rounded. With
L = 2^62 / 2^k, noise is limited to [-L, L], values and sums to [-L/2, L/2], which is post-processing.

``proofs/Draws.v`` has the same program; ``tests/proofs/test_draws_agree.py`` compares the two. Checked proof
of the formulas: ``proofs/DiscreteLaplace.v``, ``signs_have_the_weights_of_the_noise``; ``proofs/Noise.v``,
``geometric_is_private``; ``proofs/DrawProofs.v``, ``noise_reaches_every_number``.
"""

import math
from fractions import Fraction

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from adept.errors import ConfigurationError
from adept.mechanisms.random_draws import below_each

SCALE_BITS = 24  # significant bits of a scale, which is less than 2^-22 above the exact quotient
MAX_MAGNITUDE, MAX_SCALE = 1 << 62, 1 << 58
MAX_EPSILON = 1 << 30  # a larger epsilon is treated as this one

Integers = NDArray[np.int64]


def smallest_scale(sensitivity: int, *, epsilon: float | Fraction) -> float:
    """Return a scale b >= ``sensitivity / epsilon``, rounded up to at most 24 significant bits.

    ``sensitivity``, at least 1, is the largest distance between the inputs of two neighbours, in grid steps.
    The float ``epsilon`` counts with its exact rational value, or 2^30 if that is smaller.
    """
    exact = sensitivity / Fraction(min(epsilon, MAX_EPSILON))
    size = exact.numerator.bit_length() - exact.denominator.bit_length()  # 2^(size - 1) < exact < 2^(size + 1)
    unit = Fraction(2) ** (size - SCALE_BITS + 1)
    scale = math.ceil(exact / unit) * unit
    if scale > MAX_SCALE:
        raise ConfigurationError(
            f"epsilon must be large enough for a noise scale of 2^58 grid units, got {float(epsilon)}"
        )
    return float(scale)


def exact_laplace(values: Tensor, *, scale: float) -> Tensor:
    """Add an independent integer z to each entry, with P(z) proportional to exp(-|z| / scale).

    Claim: for integer tensors x and x' at l1 distance d, the probabilities of any output differ by a factor
    of at most exp(d / scale), exactly. Proof: by the triangle inequality, P(z - x) / P(z - x') <=
    exp(|x - x'| / scale) for each entry, and the noise of the entries is independent.

    ``values`` is an int64 tensor on the CPU. An entry whose absolute value exceeds 2^36 times the scale, or
    2^61, may be limited. ``scale`` is in grid steps, as ``smallest_scale`` returns it.
    """
    t, shift = _fraction(scale)
    limit = MAX_MAGNITUDE >> shift + 1
    noise = torch.from_numpy(laplace_noise(values.numel(), t=t, shift=shift)).reshape(values.shape)
    return (values.clamp(-limit, limit) + noise).clamp(-limit, limit)


def laplace_noise(count: int, *, t: int, shift: int) -> Integers:
    """Draw integers z with P(z) proportional to exp(-2^shift |z| / t), by step 4 of the proof."""
    noise = np.zeros(count, dtype=np.int64)
    open_places = np.arange(count)
    while len(open_places):
        size = _magnitudes(len(open_places), t=t, shift=shift)
        minus = below_each(2, len(size)) == 1
        noise[open_places] = np.where(minus, -size, size)
        open_places = open_places[minus & (size == 0)]
    return noise


def _magnitudes(count: int, *, t: int, shift: int) -> Integers:
    """Draw integers y >= 0 with P(y) proportional to exp(-2^shift y / t), by step 3 of the proof."""
    parts = np.empty(0, dtype=np.int64)
    while len(parts) < count:  # until ``count`` numbers were accepted
        drawn = below_each(t, _plenty(count - len(parts)))
        parts = np.concatenate([parts, drawn[_decays(drawn, t)]])
    parts, wholes = parts[:count], _wholes(count)
    fits = wholes < -(-MAX_MAGNITUDE // t)  # otherwise parts + t * wholes >= MAX_MAGNITUDE
    return np.where(fits, parts + t * np.where(fits, wholes, 0), MAX_MAGNITUDE) >> shift


def _wholes(count: int) -> Integers:
    """Draw ``count`` integers v >= 0 with P(v) proportional to exp(-v), by step 3 of the proof."""
    failures = np.empty(0, dtype=np.int64)
    drawn = 0
    while len(failures) < count:
        coins = _decays(np.ones(_plenty(count - len(failures)), dtype=np.int64), 1)
        failures = np.concatenate([failures, drawn + np.flatnonzero(~coins)])
        drawn += len(coins)
    wholes: Integers = np.diff(failures[:count], prepend=-1) - 1
    return wholes


def _plenty(count: int) -> int:
    """Return a number of draws that usually suffices for ``count`` successes.

    Each draw is a success with probability 1 - 1/e or more.
    """
    return count + 3 * count // 4 + 8


def _decays(numerators: Integers, t: int) -> NDArray[np.bool_]:
    """Return True with probability exp(-u / t) for each numerator u <= t, by step 2 of the proof."""
    odd = np.ones(len(numerators), dtype=bool)
    going, trial = np.arange(len(numerators)), 1
    while len(going):
        going = going[below_each(t, len(going)) < numerators[going]]
        going = going[below_each(trial, len(going)) == 0]
        odd[going] ^= True
        trial += 1
    return odd


def _fraction(scale: float) -> tuple[int, int]:
    """Return integers t and k with scale = t / 2^k."""
    exact = Fraction(scale)
    t, shift = exact.numerator, exact.denominator.bit_length() - 1
    if not 0 < scale <= MAX_SCALE or (t >> SCALE_BITS and shift):
        raise ConfigurationError(f"scale must have {SCALE_BITS} significant bits and be at most 2^58, got {scale}")
    return t, shift
