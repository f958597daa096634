"""An n-gram model whose distribution functions are integers, so that an arithmetic code made of it is exact everywhere.

Interpolated Kneser-Ney smoothing with three discounts (Chen and Goodman 1998, "An empirical study of smoothing techniques for
language modeling", Section 3) estimates

    p_k(w | h) = (c(h w) - D(c(h w))) / c(h) + rest(h) p_(k-1)(w | h without its oldest symbol),    p_0 uniform.

The discounts are whole thousandths, and what is kept is not p but its distribution function F(j) = ONE * P(w < j), rounded down
at every level of the recursion. That makes F(0) = 0, F(V) = ONE, and F non-decreasing: rounding down a non-decreasing function
leaves it non-decreasing, and the weights of one level sum to one exactly.
"""

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Sequence
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from adept.models.language_model.intervals import ONE

THOUSAND = 1000  # discounts are in thousandths
MOST_NGRAMS = 150_000  # that are kept of one kind, the most frequent ones: what a table of a file may hold
DISCOUNTS = ((0, 0), (100, 950), (200, 1900), (300, 2900))  # smallest and largest of counts 0, 1, 2 and from 3 on

Context = tuple[int, ...]
Counts = dict[Context, Counter[int]]


class Branch(NamedTuple):
    """What followed one context: symbols in order, their discounted counts summed up to each, the total, and what was taken off."""

    symbols: list[int]
    sums: list[int]
    total: int
    rest: int


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
    def _levels(self) -> list[dict[Context, Branch]]:
        """What followed which context, by the context's length; made when it is first asked for."""
        return [_branches(level) for level in _levels(self.rows, self.counts, start=self.size)]

    def branches(self, context: Context) -> list[Branch]:
        """What is known of a context of n - 1 symbols, from its shortest to its longest known end."""
        found = []
        for length, level in enumerate(self._levels):
            branch = level.get(context[len(context) - length :])
            if branch is None:
                break
            found.append(branch)
        return found

    @cached_property
    def alone(self) -> list[int]:
        """F of each symbol where nothing is known of the context."""
        flat = [ONE * symbol // self.size for symbol in range(self.size + 1)]
        if not self._levels[0]:
            return flat
        symbols, sums, total, rest = self._levels[0][()]
        return [(sums[bisect_left(symbols, symbol)] * ONE + rest * value) // total for symbol, value in enumerate(flat)]

    def below(self, branches: list[Branch], symbol: int) -> int:
        """F(symbol): the share, out of ONE, of all symbols before ``symbol``; not strictly increasing."""
        value = self.alone[symbol]
        for symbols, sums, total, rest in branches[1:]:
            value = (sums[bisect_left(symbols, symbol)] * ONE + rest * value) // total
        return value

    def likely(self, context: Context, count: int) -> list[int]:
        """The symbols most often seen after a context, in its longest end after which there were any."""
        branches = self.branches(context)
        if not branches:
            return []
        symbols, sums, _, _ = branches[-1]
        ranked = sorted(range(len(symbols)), key=lambda i: (sums[i] - sums[i + 1], symbols[i]))
        return [symbols[i] for i in ranked[:count]]


def _levels(rows: NDArray[np.int32], counts: NDArray[np.int32], *, start: int) -> list[Counts]:
    """Counts of each level from the unigrams up; below the longest, in how many contexts a symbol was seen.

    A context that begins with the start has nothing before it to be different in: its raw counts go down with it.
    """
    top: Counts = defaultdict(Counter)
    for row, count in zip(rows.tolist(), counts.tolist(), strict=True):
        top[tuple(row[:-1])][row[-1]] += count
    levels = [top]
    for _ in range(rows.shape[1] - 1):
        lower: Counts = defaultdict(Counter)
        for context, following in levels[-1].items():
            first = len(context) > 1 and context[1] == start
            for symbol, count in following.items():
                lower[context[1:]][symbol] += count if first else 1
        levels.append(lower)
    return levels[::-1]


def _branches(level: Counts) -> dict[Context, Branch]:
    discounts = _discounts(level)
    branches = {}
    for context, following in level.items():
        symbols = sorted(following)
        taken = [discounts[min(following[symbol], 3)] for symbol in symbols]
        sums = [0]
        for symbol, discount in zip(symbols, taken, strict=True):
            sums.append(sums[-1] + THOUSAND * following[symbol] - discount)
        branches[context] = Branch(symbols, sums, sums[-1] + sum(taken), sum(taken))
    return branches


def _discounts(level: Counts) -> list[int]:
    """Discounts of counts 0, 1, 2 and 3 or more, in thousandths: D_c = c - (c + 1) Y n_(c+1) / n_c, Y = n_1 / (n_1 + 2 n_2)."""
    n = Counter(min(count, 4) for following in level.values() for count in following.values())
    share = THOUSAND * n[1] // max(1, n[1] + 2 * n[2])
    raw = [THOUSAND * c - (c + 1) * share * n[c + 1] // max(1, n[c]) if c else 0 for c in range(4)]
    return [min(max(value, low), high) for value, (low, high) in zip(raw, DISCOUNTS, strict=True)]
