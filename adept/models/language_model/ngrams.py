"""An n-gram model whose distribution functions are integers, so that an arithmetic code made of it is exact everywhere.

Interpolated Kneser-Ney smoothing with three discounts (Chen and Goodman 1998, "An empirical study of smoothing techniques for
language modeling", Section 3) estimates

    p_k(w | h) = (c(h w) - D(c(h w))) / c(h) + rest(h) p_(k-1)(w | h without its oldest symbol),    p_0 uniform.

The discounts are whole thousandths, and what is kept is not p but its distribution function F(j) = ONE * P(w < j), rounded down
at every level of the recursion. That makes F(0) = 0, F(V) = ONE, and F non-decreasing: rounding down a non-decreasing function
leaves it non-decreasing, and the weights of one level sum to one exactly.
"""

from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from functools import cached_property, partial
from heapq import nsmallest
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from adept.models.language_model.intervals import ONE

THOUSAND = 1000  # discounts are in thousandths
RANKED = 64  # of the symbols that are likely after anything
MOST_NGRAMS = 150_000  # that are kept of one kind, the most frequent ones: what a table of a file may hold
DISCOUNTS = ((0, 0), (100, 950), (200, 1900), (300, 2900))  # smallest and largest of counts 0, 1, 2 and from 3 on

Context = tuple[int, ...]
Whole = NDArray[np.integer[Any]]


class Branch(NamedTuple):
    """What followed one context: a part of its level's tables, the sum before it, the total of counts, and what was taken off."""

    symbols: "array[int]"
    sums: "array[int]"
    begin: int
    end: int
    before: int
    total: int
    rest: int

    def following(self) -> list[tuple[int, int]]:
        """The symbols in order, and their discounted counts."""
        sums = self.sums[self.begin : self.end + 1]
        return list(zip(self.symbols[self.begin : self.end], (b - a for a, b in pairwise(sums)), strict=True))


class Ngrams:
    """Distribution functions of the next symbol out of 0..V-1, given the symbols before it.

    Args:
        rows: different n-grams (M, n), the last column being the symbol that follows. The symbol V stands for "before the start"
            and occurs in contexts only.
        counts: how often each was seen (M).
        size: the number of symbols V.
    """

    def __init__(self, rows: NDArray[np.int32], counts: NDArray[np.int32], *, size: int) -> None:
        self.rows, self.counts, self.size = rows, counts, size

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(Ngrams, size=self.size), (self.rows, self.counts)

    @classmethod
    def of(cls, sequences: Sequence[Sequence[int]], *, order: int, size: int, least: int = 1) -> "Ngrams":
        """Count the n-grams of sequences, each closed by its end; what fewer than ``least`` different ones hold is left out."""
        seen: Counter[Context] = Counter()
        holders: Counter[Context] = Counter()
        for sequence, times in Counter(map(tuple, sequences)).items():
            padded = (size,) * (order - 1) + sequence
            found = Counter(padded[i : i + order] for i in range(len(sequence)))
            seen.update({row: count * times for row, count in found.items()})
            holders.update(found.keys())
        common = [(row, count) for row, count in seen.items() if holders[row] >= least]
        kept = sorted(sorted(common, key=lambda pair: (-pair[1], pair[0]))[:MOST_NGRAMS])
        rows = np.array([row for row, _ in kept], dtype=np.int32).reshape(-1, order)
        return cls(rows, np.array([count for _, count in kept], dtype=np.int32), size=size)

    @cached_property
    def _levels(self) -> list["_Level"]:
        """What followed which context, by the context's length; made when it is first asked for."""
        return _levels(self.rows, self.counts, start=self.size)

    def branches(self, context: Context) -> list[Branch]:
        """What is known of a context of n - 1 symbols, from its shortest to its longest known end."""
        found, place = [], 0
        for level, oldest in zip(self._levels, (self.size, *reversed(context)), strict=False):
            known = level.places.get(place * (self.size + 1) + oldest)
            if known is None:
                break
            found.append(level.branch(known))
            place = known
        return found

    @cached_property
    def alone(self) -> list[int]:
        """F of each symbol where nothing is known of the context."""
        flat = [ONE * symbol // self.size for symbol in range(self.size + 1)]
        known = self.branches(())
        return [_below(known, symbol, value) for symbol, value in enumerate(flat)]

    @cached_property
    def _common(self) -> list[int]:
        """The RANKED symbols most often seen after anything."""
        return [symbol for branch in self.branches(()) for symbol in _most(branch, RANKED)]

    def below(self, branches: list[Branch], symbol: int) -> int:
        """F(symbol): the share, out of ONE, of all symbols before ``symbol``; not strictly increasing."""
        return _below(branches[1:], symbol, self.alone[symbol])

    def likely(self, context: Context, count: int) -> list[int]:
        """The symbols most often seen after a context, in its longest end after which there were any; at most RANKED."""
        branches = self.branches(context)
        return _most(branches[-1], count) if len(branches) > 1 else self._common[:count]


class _Level:
    """What followed the contexts of one length, which are ordered by their last symbol, then by the one before it, and so on.

    Args:
        parents: for each context the place, one level below, of what is left of it without its oldest symbol, times V + 1, and that
            symbol.
        starts: where each context's part of the tables begins, and the tables' length.
        symbols: what followed, context by context.
        counts: how often.

    Attributes:
        sums: the discounted counts, summed up before each place.
    """

    def __init__(self, parents: Whole, starts: Whole, symbols: Whole, counts: Whole) -> None:
        taken = np.array(_discounts(counts))[np.minimum(counts, 3)]
        self.symbols, self.sums = _array(symbols), _array(np.concatenate([[0], np.cumsum(THOUSAND * counts - taken)]))
        self.starts, self._off = _array(starts), _array(np.concatenate([[0], np.cumsum(taken)]))
        self.places = dict(zip(parents.tolist(), range(len(parents)), strict=True))

    def branch(self, place: int) -> Branch:
        """What followed the context at a place."""
        begin, end = self.starts[place : place + 2]
        before, rest = self.sums[begin], self._off[end] - self._off[begin]
        return Branch(self.symbols, self.sums, begin, end, before, self.sums[end] - before + rest, rest)


def _levels(rows: NDArray[np.int32], counts: NDArray[np.int32], *, start: int) -> list[_Level]:
    """The levels from the unigrams up; below the longest one it counts in how many contexts a symbol was seen.

    A context that begins with the start has nothing before it to be different in: its raw counts go down with it.
    """
    levels = []
    columns: Whole = rows.astype(np.int64)
    seen: Whole = counts.astype(np.int64)
    while columns.shape[1]:
        order = np.lexsort([columns[:, -1], *columns[:, :-1].T])
        columns, seen = columns[order], seen[order]
        levels.append(_level(columns, seen, size=start))
        inner = columns[:, 1:]
        once = np.where(columns[:, 1] == start, seen, 1) if inner.shape[1] > 1 else np.ones_like(seen)
        columns, seen = _summed(inner, once)
    return levels[::-1]


def _level(columns: Whole, counts: Whole, *, size: int) -> _Level:
    """The level of different n-grams (M, n), ordered by their contexts read backwards, then by what follows."""
    contexts = columns[:, :-1]
    starts = np.flatnonzero(_begins(contexts))
    different = contexts[starts]
    below = np.cumsum(_begins(different[:, 1:])) - 1
    oldest = different[:, 0] if different.shape[1] else np.full(len(different), size)
    return _Level(below * (size + 1) + oldest, np.append(starts, len(columns)), columns[:, -1], counts)


def _summed(columns: Whole, counts: Whole) -> tuple[Whole, Whole]:
    """The different rows, and the sums of their counts."""
    if not columns.shape[1]:
        return columns, counts
    order = np.lexsort(columns.T)
    starts = np.flatnonzero(_begins(columns[order]))
    return columns[order][starts], np.add.reduceat(counts[order], starts) if len(starts) else counts


def _begins(rows: Whole) -> NDArray[np.bool_]:
    """Which rows are different from the one before them; the first is."""
    begins = np.ones(len(rows), dtype=bool)
    begins[1:] = (rows[1:] != rows[:-1]).any(axis=1)
    return begins


def _below(branches: list[Branch], symbol: int, value: int) -> int:
    """F(symbol) after a context, where F is ``value`` after what is left of it without these branches."""
    for symbols, sums, begin, end, before, total, rest in branches:
        value = ((sums[bisect_left(symbols, symbol, begin, end)] - before) * ONE + rest * value) // total
    return value


def _most(branch: Branch, count: int) -> list[int]:
    """The symbols with the largest counts, the first of equals first."""
    return [symbol for symbol, _ in nsmallest(count, branch.following(), key=lambda pair: (-pair[1], pair[0]))]


def _array(numbers: Whole) -> "array[int]":
    """Numbers in the form that is quickest to look one up in."""
    return array("q", numbers.astype(np.int64).tobytes())


def _discounts(counts: Whole) -> list[int]:
    """Discounts of counts 0, 1, 2 and 3 or more, in thousandths: D_c = c - (c + 1) Y n_(c+1) / n_c, Y = n_1 / (n_1 + 2 n_2)."""
    n = np.bincount(np.minimum(counts, 4), minlength=5).tolist()
    share = THOUSAND * n[1] // max(1, n[1] + 2 * n[2])
    raw = [THOUSAND * c - (c + 1) * share * n[c + 1] // max(1, n[c]) if c else 0 for c in range(4)]
    return [min(max(value, low), high) for value, (low, high) in zip(raw, DISCOUNTS, strict=True)]
