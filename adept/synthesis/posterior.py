r"""The mean of a count, given what was released of it.

A priori the count h of a cell is geometric with mean g, P(h) = (1 - r) r^h with r = g / (1 + g): the widest choice for a mean (it
has the largest entropy), so that a cell that stands out is believed although its mean said otherwise. Released is y = h + X with
P(X = x) proportional to a^|x|. Then P(h | y) is proportional to r^h a^|y - h|, two pieces of geometric series, and the mean is
a quotient of their sums. With u = r / a, x = r a and y >= 0,

    sum_{h <= y} r^h a^(y-h) = a^y sum_{h <= y} u^h,        sum_{h > y} r^h a^(h-y) = r^y x / (1 - x),

and the same with h beside each term; for y < 0 it is the series of x from h = 0 alone. The larger of a^y and r^y is divided out.
"""

import numpy as np
from numpy.typing import NDArray

FLAT = 1e-6  # a ratio so near to one is one

Numbers = NDArray[np.float64]


def expected_counts(released: Numbers, means: Numbers, *, decay: float) -> Numbers:
    """Return E[h | y] for released counts y, geometric counts of the given means, and noise of the given decay.

    Args:
        released: y, whole numbers of any shape.
        means: g > 0, of the same shape.
        decay: a in (0, 1).
    """
    ratio = means / (1 + means)  # r
    step = ratio * decay  # x
    tail = step / (1 - step)  # sum of x^j from j = 1 on
    place = np.maximum(released, 0.0)
    quotient = ratio / decay  # u
    rising = quotient > 1  # the largest term of the left piece is its last one
    mass, moment = _series(np.where(rising, 1 / quotient, quotient), place)
    left = np.where(rising, place * mass - moment, moment)
    right = np.exp(np.minimum(place * np.log(quotient), 0.0)) * tail  # both pieces divided by the larger of a^y and r^y
    mean = (left + right * (place + 1 / (1 - step))) / (mass + right)
    return np.where(released < 0, tail, mean)


def _series(ratio: Numbers, last: Numbers) -> tuple[Numbers, Numbers]:
    """Return sum s^j and sum j s^j for j from 0 to ``last``, 0 < s <= 1."""
    gap = np.maximum(1 - ratio, FLAT)
    whole = -np.expm1((last + 1) * np.log1p(-gap)) / gap
    moment = (whole - 1 - last * (1 - gap) ** (last + 1)) / gap
    flat = 1 - ratio < FLAT
    return np.where(flat, last + 1, whole), np.where(flat, last * (last + 1) / 2, moment)
