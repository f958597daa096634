"""An n-gram model that computes with integers, because an arithmetic code needs exact results.

The probability of the symbol w after the context h, that is, after the k - 1 symbols before w, is
estimated by interpolated Kneser-Ney smoothing with three discounts (Chen and Goodman 1998, "An
empirical study of smoothing techniques for language modeling", Section 3):

    p_k(w | h) = (c(h w) - D(c(h w))) / c(h) + rest(h) * p_(k-1)(w | h without its oldest symbol),
    p_0 uniform.

Here c is the count of a sequence of symbols, D is the discount on a count, and ``rest(h)`` is the
probability that the discounts leave to shorter contexts. The tables serve to compute
``F(j) = ONE * P(w < j)``, where ``P(w < j)`` is the probability that a symbol with a number below j
follows a context. F is computed first for the shortest context, and then for each longer one from
the result for the context before. Each result is rounded down.
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
    """Tables of C contexts, and of the symbols that followed each context in the training texts.

    A *context* is a sequence of symbols before another symbol, which is a *follower* of the
    context. Shorter contexts come first. There are V distinct symbols. The columns of a context
    are:

    - KEY: ``p * (V + 1) + s``, where s is the context's oldest symbol, and p is the place of the
      context without s among the contexts of its length.
    - FOLLOWERS: the row where the context's followers begin.
    - REST: the sum of the discounts on the counts of the context's followers.
    - LIKELIEST: the commonest follower with a number above UNKNOWN_NUMBER; V if there is none.
    - LONGER: the row where the contexts begin that extend this context by one earlier symbol.

    The columns of a follower are SYMBOL and SUM. The followers of a context are sorted by SYMBOL.
    SUM is the sum of the discounted counts of all followers in earlier rows. An additional last row
    of contexts marks the end of the table; its LIKELIEST is the commonest symbol of all.
    """

    alone: Whole  # F of each symbol without any context (V + 1,)
    levels: Whole  # the first context of each length, and C (n,)
    contexts: Whole  # (C + 1, 5)
    followers: Whole  # of each context (M + 1, 2)


@dataclass(frozen=True, eq=False)
class Ngrams(Learned):
    """The n-grams (sequences of n symbols) that were seen in the training texts, and their counts.

    The number V fills the places before the start of a text; symbols are numbers below V.
    """

    rows: NDArray[np.int32]  # different n-grams (M, n): the context, then the symbol that follows
    counts: NDArray[np.int32]  # how often each was seen (M,)
    size: int  # V

    @classmethod
    def of(cls, sequences: Sequence[Sequence[int]], *, order: int, size: int, least: int = 1) -> "Ngrams":
        """Count the n-grams in sequences of symbols, where n is ``order``.

        Of the n-grams that occur in at least ``least`` distinct sequences, the MAX_NGRAMS most
        frequent are kept. The last symbol of each sequence must stand for its end.
        """
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
        """Return LIKELIEST of each context; of equally common followers, the first one counts."""
        found, words = np.full(contexts, self.size), np.flatnonzero(symbols > UNKNOWN_NUMBER)
        if len(words):
            begins = _begins(owner[None, words])
            most = np.maximum.reduceat(counts[words], np.flatnonzero(begins))[np.cumsum(begins) - 1]
            often = words[counts[words] == most]
            first = often[_begins(owner[None, often])]
            found[owner[first]] = symbols[first]
        return found


class _Level(NamedTuple):
    """All contexts of one length, sorted by their reversed symbols, and their followers."""

    keys: Whole  # of each context (C,)
    lengths: Whole  # number of different symbols seen after each context (C,)
    symbols: Whole  # these symbols, context by context (M,)
    counts: Whole  # discounted counts of these symbols, in thousandths (M,)
    off: Whole  # discounts on these counts, in thousandths (M,)


_NO_LEVEL = _Level(*(np.zeros(0, dtype=np.int64) for _ in _Level._fields))


def _levels(rows: NDArray[np.int32], counts: NDArray[np.int32], *, size: int) -> list[_Level]:
    """Return a ``_Level`` for each length of contexts, beginning with the empty context.

    After a context of the greatest length, or one that includes the start of a text, a symbol
    counts as often as it was seen. After any other context, the count of a symbol is the number of
    distinct symbols that were seen directly before "context, symbol" (Kneser and Ney 1995).
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
    """Return a ``_Level`` for n-grams (n, M) that are sorted by reversed context, then follower."""
    starts = np.flatnonzero(_begins(columns[1:]))
    different = columns[1:, starts]
    below = np.cumsum(_begins(different[1:])) - 1
    oldest = different[0] if len(different) else np.full(len(starts), size)
    off = np.array(_discounts(counts))[np.minimum(counts, 3)]
    lengths = np.diff(np.append(starts, len(counts)))
    return _Level(below * (size + 1) + oldest, lengths, columns[0], DISCOUNT_UNIT * counts - off, off)


def _add_up(columns: Whole, counts: Whole) -> tuple[Whole, Whole]:
    """Return the distinct n-grams (n, M), sorted as for ``_level``, and each one's total count."""
    order = np.lexsort(columns)
    columns, counts = columns[:, order], counts[order]
    starts = np.flatnonzero(_begins(columns))
    return columns[:, starts], np.add.reduceat(counts, starts) if len(starts) else counts


def _begins(columns: Whole) -> NDArray[np.bool_]:
    """Return True for each column of a table (n, M) that differs from the column before it."""
    begins = np.zeros(columns.shape[1], dtype=bool)
    begins[:1] = True
    for column in columns:
        begins[1:] |= column[1:] != column[:-1]
    return begins


def in_few_bits(numbers: Whole, much: int) -> Whole:
    """Divide numbers by a power of two, so that their sum ``much`` fits into MAX_SUM_BITS bits."""
    return numbers >> max(0, int(much).bit_length() - MAX_SUM_BITS)


def _discounts(counts: Whole) -> list[int]:
    """Return the discounts, in thousandths, for the counts 0, 1, 2 and for all larger counts.

    The discount for the count c is ``D_c = c - (c + 1) * Y * n_(c+1) / n_c``, where
    ``Y = n_1 / (n_1 + 2 * n_2)`` and n_c is the number of n-grams with the count c. Each discount
    is then limited to its range in DISCOUNT_RANGES.
    """
    n = np.bincount(np.minimum(counts, 4), minlength=5).tolist()
    share = DISCOUNT_UNIT * n[1] // max(1, n[1] + 2 * n[2])
    raw = [DISCOUNT_UNIT * c - (c + 1) * share * n[c + 1] // max(1, n[c]) if c else 0 for c in range(4)]
    return [min(max(value, low), high) for value, (low, high) in zip(raw, DISCOUNT_RANGES, strict=True)]
