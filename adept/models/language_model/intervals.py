"""Intervals of an arithmetic code, and how they are divided among the texts of a band, in machine code.

An interval is (low, width, depth): of the line [0, 1) it begins at low 2^-(WIDTH + depth) and is width 2^-(WIDTH + depth) wide,
where 2^(WIDTH - 1) < width <= 2^WIDTH. So a share of it is found by products of machine words, however narrow it is.

A *band* holds the texts whose probability lies between two limits and that end as sentences do. Where the line is divided as the
model divides it, few points write a text of a given band: most texts end too early or too late. So in a band it is divided in two
steps: first whether the text ends, then by which other word it goes on, each word by its probability among the others. An end has
no share where the text would not be of the band. Where it would, its share is the model's among all ways to a text of the band: if
the text may grow by b more bits, other ways have a probability of about b / GROWTH together. So texts of a band are about as
likely as the model says, and from K = 2^20 on a fifth to a quarter of all points write one, fewer below.

Both directions of the code find these shares in the same numbers, so that they agree.
"""

import numpy as np
from numpy.typing import NDArray

from adept.models.language_model.compiled import compiled, without_reference_counts
from adept.models.language_model.ngrams import BITS, ONE

WIDTH = 32  # bits of an interval's width: more than BITS, so that no share of it is empty
GROWTH = 64  # a text of 20 to 40 bits costs between b and b + 1 bits with a probability of about 1 / GROWTH, whatever b

WidthAndDepth = NDArray[np.int64]
# of a band: the width and depth of its narrowest interval and of the narrowest one too wide, and an end's least share
Limits = NDArray[np.int64]


@compiled
def whole_line() -> WidthAndDepth:
    """Return the width and the depth of the line."""
    return np.array([1 << WIDTH, 0])


@without_reference_counts
def narrow(interval: WidthAndDepth, low: int, high: int) -> tuple[int, int]:
    """Go on to a share of an interval; return where it begins there, and by how many bits that is refined then."""
    begins, width, more = _share(interval[0], low, high)
    interval[0], interval[1] = width, interval[1] + more
    return begins, more


@without_reference_counts
def _share(width: int, low: int, high: int) -> tuple[int, int, int]:
    """Return where a share of an interval begins, its width, and its bits of depth beyond the interval's."""
    begins, ends, more = width * low >> BITS, width * high >> BITS, 0
    while ends - begins << more <= 1 << (WIDTH - 1):
        more += 1
    return begins, ends - begins << more, more


@without_reference_counts
def is_inside(band: Limits, width: int, depth: int) -> bool:
    """Return True if a text of this probability is of a band."""
    return narrower(width, depth, band[2], band[3]) and not is_too_narrow(band, width, depth)


@without_reference_counts
def is_too_narrow(band: Limits, width: int, depth: int) -> bool:
    """Return True if no text that begins so is of a band, or of a likelier one."""
    return narrower(width, depth, band[0], band[1])


@without_reference_counts
def narrower(width: int, depth: int, other_width: int, other_depth: int) -> bool:
    """Return True if an interval is narrower than another one."""
    return depth > other_depth or (depth == other_depth and width < other_width)


@without_reference_counts
def end_share(band: Limits, text: WidthAndDepth, own: int) -> int:
    """Return the share of an end in a band, out of ONE, after words of this probability; by the model it is ``own``."""
    _, width, more = _share(text[0], 0, own)
    if own < band[4] or not is_inside(band, width, text[1] + more):
        return 0
    growth = (1 + band[1] - text[1]) * ONE // GROWTH
    return int(max(own, own * ONE // (own + growth)))


@without_reference_counts
def edge_among_others(own: int, edge: int) -> int:
    """Return F(word) among the words but the end, out of ONE: strictly increasing, as F(word), an ``edge`` from ``own`` on, is."""
    return (edge - own << BITS) // (ONE - own)


@without_reference_counts
def edge_below(own: int, place: int) -> int:
    """Return the largest number out of ONE that ``edge_among_others`` does not take beyond a place: the inverse."""
    return own + (((place + 1) * (ONE - own) - 1) >> BITS)
