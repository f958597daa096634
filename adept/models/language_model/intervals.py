"""Intervals of an arithmetic code in whole numbers: how a line is divided among words and letters.

An interval is (low, width, depth): of the line [0, 1) it begins at low 2^-(WIDTH + depth) and is width 2^-(WIDTH + depth) wide,
where 2^(WIDTH - 1) < width <= 2^WIDTH. So a share of it is found by products of machine words, however narrow it is.
"""

BITS = 30
ONE = 1 << BITS
WIDTH = 32  # bits of an interval's width: more than BITS, so that no share of it is empty

Span = tuple[int, int]  # a share of an interval, from the first to the second number out of ONE
