"""Intervals of an arithmetic code in whole numbers: how a line is divided among words and letters.

An interval is (low, width, depth): of the line [0, 1) it begins at low 2^-(WIDTH + depth) and is width 2^-(WIDTH + depth) wide,
where 2^(WIDTH - 1) < width <= 2^WIDTH. So a share of it is found by products of machine words, however narrow it is.
"""

from typing import NamedTuple

BITS = 30
ONE = 1 << BITS
WIDTH = 32  # bits of an interval's width: more than BITS, so that no share of it is empty

Span = tuple[int, int]  # a share of an interval, from the first to the second number out of ONE


class Interval(NamedTuple):
    """A part of the line."""

    low: int
    width: int
    depth: int


WHOLE = Interval(0, 1 << WIDTH, 0)


def narrowed(interval: Interval, span: Span) -> Interval:
    """The interval that a share of an interval is; the share is not empty."""
    low, width, depth = interval
    begin, end = width * span[0] >> BITS, width * span[1] >> BITS
    more = WIDTH - (end - begin - 1).bit_length()
    return Interval(low + begin << more, end - begin << more, depth + more)
