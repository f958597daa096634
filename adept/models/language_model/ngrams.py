"""An n-gram model with distribution functions in integers, which make its arithmetic code exact.

Interpolated Kneser-Ney smoothing with three discounts (Chen and Goodman 1998, "An empirical study
of smoothing techniques for language modeling", Section 3) estimates

    p_k(w | h) = (c(h w) - D(c(h w))) / c(h) + rest(h) p_(k-1)(w | h without its oldest symbol),
    p_0 uniform.

Discounts are whole thousandths. The tables give F(j) = ONE * P(w < j), rounded down at every level.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from adept.models.language_model.vocabulary import UNKNOWN_NUMBER, Learned

BITS = 30
ONE = 1 << BITS  # the whole of a distribution
DISCOUNT_UNIT = 1000  # discounts are in thousandths
MAX_NGRAMS = 150_000  # n-grams of one kind that are kept, the most frequent ones, and rows of a file's table
# Smallest and largest of counts 0, 1, 2 and from 3 on
DISCOUNT_RANGES = ((0, 0), (100, 950), (200, 1900), (300, 2900))
MAX_SUM_BITS = 32  # bits of a sum of counts: ONE times the sum has 62 bits

KEY, FOLLOWERS, REST, LIKELIEST, LONGER = range(5)  # columns of contexts
SYMBOL, SUM = range(2)  # columns of followers

Context = tuple[int, ...]
Whole = NDArray[np.int64]


class NgramTables(NamedTuple):
    """The tables of the symbols that were seen after C contexts, the shortest contexts first.

    Columns of a context:

    - KEY: the place, among shorter contexts, of the context without its oldest symbol, times V + 1,
      plus that symbol.
    - FOLLOWERS: the place where its followers begin.
    - REST: the sum of the discounts on its followers' counts.
    - LIKELIEST: the symbol that was seen most often, among those with numbers above UNKNOWN's; V if
      there is none.
    - LONGER: the place where the contexts begin that extend this one by one earlier symbol.

    Columns of a follower: SYMBOL, in increasing order, and SUM, the sum of the discounted counts
    before it. The last context closes the table; its LIKELIEST is the likeliest symbol of all.
    """

    alone: Whole  # F of each symbol where nothing is known of the context (V + 1,)
    levels: Whole  # the first context of each length, and C (n,)
    contexts: Whole  # (C + 1, 5)
    followers: Whole  # of each context (M + 1, 2)


@dataclass(frozen=True, eq=False)
class Ngrams(Learned):
    """The n-grams of symbols in 0..V-1, and their distribution functions; V pads a text's start."""

    rows: NDArray[np.int32]  # different n-grams (M, n), the symbol that follows last
    counts: NDArray[np.int32]  # how often each was seen (M,)
    size: int  # V

    @classmethod
    def of(cls, sequences: Sequence[Sequence[int]], *, order: int, size: int, least: int = 1) -> "Ngrams":
        """Count the n-grams that at least ``least`` different sequences hold; an end closes each of them."""
        seen: Counter[Context] = Counter()
        holders: Counter[Context] = Counter()
        for sequence, times in Counter(map(tuple, sequences)).items():
            padded = (size,) * (order - 1) + sequence
            found = Counter(padded[i : i + order] for i in range(len(sequence)))
            seen.update({row: count * times for row, count in found.items()})
            holders.update(found.keys())
        common = [(row, count) for row, count in seen.items() if holders[row] >= least]
        kept = sorted(sorted(common, key=lambda pair: (-pair[1], pair[0]))[:MAX_NGRAMS])
        rows = np.array([row for row, _ in kept], dtype=np.int32).reshape(-1, order)
        return cls(rows, np.array([count for _, count in kept], dtype=np.int32), size)

    @cached_property
    def tables(self) -> NgramTables:
        alone, *longer = _levels(self.rows, self.counts, size=self.size)
        keys, lengths, symbols, counts, off = (np.concatenate(parts) for parts in zip(_NO_LEVEL, *longer, strict=True))
        owner = np.repeat(np.arange(len(keys)), lengths)
        much = counts.sum() + off.sum()
        sums = in_few_bits(np.cumsum(counts), much)
        rest = in_few_bits(np.bincount(owner, off, len(keys)).astype(np.int64), much)
        likeliest = self._likeliest(symbols, counts + off, owner, len(keys))
        ever = self._likeliest(alone.symbols, alone.counts + alone.off, np.zeros_like(alone.symbols), 1)
        levels = np.cumsum([0, *(len(level.keys) for level in longer)])
        columns = (
            np.append(keys, 0),
            np.cumsum([0, *lengths]),
            np.append(np.maximum(rest, 1), 0),
            np.append(likeliest, ever),
            self._longer(keys, levels),
        )
        return NgramTables(
            self._alone(alone),
            levels,
            np.column_stack(columns),
            np.column_stack([np.append(symbols, 0), np.concatenate([[0], sums])]),
        )

    def _alone(self, level: "_Level") -> Whole:
        symbols = np.arange(self.size + 1)
        flat = ONE * symbols // self.size
        if not len(level.symbols):
            return flat
        much = level.counts.sum() + level.off.sum()
        sums, rest = in_few_bits(np.cumsum(level.counts), much), in_few_bits(level.off.sum(), much)
        below = np.concatenate([[0], sums])[np.searchsorted(level.symbols, symbols)]
        return np.asarray((below * ONE + rest * flat) // (sums[-1] + rest))

    def _longer(self, keys: Whole, levels: Whole) -> Whole:
        parents = [
            begins + keys[level:end] // (self.size + 1)
            for begins, level, end in zip(levels, levels[1:], levels[2:], strict=False)
        ]
        below = np.bincount(np.concatenate([_NO_LEVEL.keys, *parents]), minlength=len(keys) + 1)
        return np.asarray(levels[min(1, len(levels) - 1)] + np.cumsum(below) - below)

    def _likeliest(self, symbols: Whole, counts: Whole, owner: Whole, contexts: int) -> Whole:
        """Return the LIKELIEST symbol after each context; of equally likely ones, the first."""
        found, words = np.full(contexts, self.size), np.flatnonzero(symbols > UNKNOWN_NUMBER)
        if len(words):
            begins = _begins(owner[None, words])
            most = np.maximum.reduceat(counts[words], np.flatnonzero(begins))[np.cumsum(begins) - 1]
            often = words[counts[words] == most]
            first = often[_begins(owner[None, often])]
            found[owner[first]] = symbols[first]
        return found


class _Level(NamedTuple):
    """Contexts of one length, sorted by their last symbol, then by the symbol before it, and so on."""

    keys: Whole  # of each context (C,)
    lengths: Whole  # how many symbols were seen after each (C,)
    symbols: Whole  # these, context by context (M,)
    counts: Whole  # how often, in thousandths, without their discounts (M,)
    off: Whole  # the discounts (M,)


_NO_LEVEL = _Level(*(np.zeros(0, dtype=np.int64) for _ in _Level._fields))


def _levels(rows: NDArray[np.int32], counts: NDArray[np.int32], *, size: int) -> list[_Level]:
    """Return the levels, unigrams first; below the longest, a symbol counts once for each context.

    For a context at the start of a text, which no earlier symbol precedes, raw counts are used.
    """
    # What follows, then the context from its oldest symbol on: column by column in memory, too.
    columns: Whole = np.roll(rows.T.astype(np.int64, order="C"), 1, axis=0)
    order = np.lexsort(columns)  # a file's rows may be equal, and keep their order then
    columns, seen = columns[:, order], counts.astype(np.int64)[order]
    levels = [_level(columns, seen, size=size)]
    while len(columns) > 1:
        once = np.where(columns[2] == size, seen, 1) if len(columns) > 2 else np.ones_like(seen)
        columns, seen = _add_up(np.delete(columns, 1, axis=0), once)
        levels.append(_level(columns, seen, size=size))
    return levels[::-1]


def _level(columns: Whole, counts: Whole, *, size: int) -> _Level:
    """Return the level of n-grams (n, M), sorted by context read backwards, then by symbol."""
    starts = np.flatnonzero(_begins(columns[1:]))
    different = columns[1:, starts]
    below = np.cumsum(_begins(different[1:])) - 1
    oldest = different[0] if len(different) else np.full(len(starts), size)
    off = np.array(_discounts(counts))[np.minimum(counts, 3)]
    lengths = np.diff(np.append(starts, len(counts)))
    return _Level(below * (size + 1) + oldest, lengths, columns[0], DISCOUNT_UNIT * counts - off, off)


def _add_up(columns: Whole, counts: Whole) -> tuple[Whole, Whole]:
    """Return the distinct n-grams (n, M), sorted as in a level, and their total counts."""
    order = np.lexsort(columns)
    columns, counts = columns[:, order], counts[order]
    starts = np.flatnonzero(_begins(columns))
    return columns[:, starts], np.add.reduceat(counts, starts) if len(starts) else counts


def _begins(columns: Whole) -> NDArray[np.bool_]:
    """Return True for the first column of (n, M) and for each that differs from the one before."""
    begins = np.zeros(columns.shape[1], dtype=bool)
    begins[:1] = True
    for column in columns:
        begins[1:] |= column[1:] != column[:-1]
    return begins


def in_few_bits(numbers: Whole, much: int) -> Whole:
    """Divide numbers whose sum is ``much`` by a power of two, so that the sum fits MAX_SUM_BITS bits."""
    return numbers >> max(0, int(much).bit_length() - MAX_SUM_BITS)


def _discounts(counts: Whole) -> list[int]:
    """Return the discounts of the counts 0, 1, 2 and from 3 on, in thousandths.

    D_c = c - (c + 1) Y n_(c+1) / n_c, Y = n_1 / (n_1 + 2 n_2).
    """
    n = np.bincount(np.minimum(counts, 4), minlength=5).tolist()
    share = DISCOUNT_UNIT * n[1] // max(1, n[1] + 2 * n[2])
    raw = [DISCOUNT_UNIT * c - (c + 1) * share * n[c + 1] // max(1, n[c]) if c else 0 for c in range(4)]
    return [min(max(value, low), high) for value, (low, high) in zip(raw, DISCOUNT_RANGES, strict=True)]
