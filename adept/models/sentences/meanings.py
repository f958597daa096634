"""Texts as numbers of words, weights of words, and meanings of texts as vectors of whole numbers.

The *meaning* of a text is the sum of its words' vectors (``adept.models.word_vectors``), weighted
by the words' rarity in public text. The sum is scaled to the Euclidean norm MEANING_LENGTH and
rounded to whole numbers. The inner product of two meanings is about ``MEANING_LENGTH^2`` times
their cosine. Inner products are whole numbers below ``2^24``, so 32-bit floats hold them exactly,
in whatever order the terms of a product are added.

*Claim*: the same holds for the sums of up to 40 words of which meanings are made. *Proof*: the
vectors are those of the packaged lexicon and hold numbers of at most 128; a codec that names
another lexicon is not loaded. A loaded codec was learned from at most 2^30 texts, so the rarity of
a word is at most ``(1 + ln(2^31 + 2)) * WEIGHT_UNIT / RARITY_DIVISOR < 2,260``, and ``40 * 128 *
2,260 < 2^24``. QED.
"""

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np
import scipy.sparse as sparse
from numpy.typing import NDArray

from adept.models.word_vectors import Lexicon

MAX_WORDS = 40  # words of a text that are read or written
MAX_LISTED_WORDS = 1 << 15  # words of a vocabulary whose texts can be stored as 16-bit numbers
WEIGHT_UNIT = 1000  # a word's weight is a whole number of thousandths
AUXILIARIES = {"do", "does", "did", "is", "are", "was", "were", "has", "have", "had"}
MODALS = {"could", "would", "should", "must", "need"}
NEGATIONS = {"not", "no", "never", "without", "nothing", "nobody", "none", "neither", "nor", "cannot"} | {
    *("can't", "cant", "won't", "wont"),
    *(verb + end for verb in AUXILIARIES | MODALS for end in ("n't", "nt")),
}
MEANING_LENGTH = 127  # of a meaning and of a centre
RARITY_DIVISOR = 10  # thousandths of rarity
BATCH_TEXTS = 1 << 11  # texts whose sums are computed together, near the processor
BATCH_PRODUCTS = 1 << 14  # texts whose products are computed together

Codes = NDArray[np.int8]
Words = tuple[str, ...]


class ListedTexts:
    """Texts that are stored as the numbers of their words, and the group of each text.

    The array ``flat`` holds all texts, each followed by a 0; ``words`` holds the word for each
    number. Texts in the same group have similar meanings.
    """

    def __init__(
        self, words: Sequence[str] = (), flat: NDArray[np.int16] | None = None, groups: NDArray[np.int16] | None = None
    ) -> None:
        self.words = words
        self.flat = np.zeros(0, dtype=np.int16) if flat is None else flat
        self.ends = np.flatnonzero(self.flat == 0)
        self.groups = np.zeros(len(self.ends), dtype=np.int16) if groups is None else groups

    @classmethod
    def of(cls, texts: Sequence[Words]) -> "ListedTexts":
        """Store texts, which may have at most MAX_LISTED_WORDS different words."""
        words = ["", *dict.fromkeys(word for text in texts for word in text)]
        numbers = {word: number for number, word in enumerate(words)}
        return cls(words, np.array([numbers[word] for text in texts for word in (*text, "")], dtype=np.int16))

    def __len__(self) -> int:
        return len(self.ends)

    def __getitem__(self, place: int) -> Words:
        start = self.ends[place - 1] + 1 if place else 0
        return tuple(self.words[number] for number in self.flat[start : self.ends[place]].tolist())

    def first(self, count: int) -> "ListedTexts":
        return ListedTexts(self.words, self.flat[: self.ends[count - 1] + 1 if count else 0], self.groups[:count])


class Learned:
    """A base class for dataclasses whose copies and pickles hold the fields and no cached table."""

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), tuple(getattr(self, field.name) for field in fields(self))  # type: ignore[arg-type]


@dataclass(frozen=True, eq=False)
class WordWeights(Learned):
    """Weights of words: the square roots of their logarithmic inverse document frequencies."""

    holders: Counter[str]  # how many texts hold each word
    texts: int
    times: Mapping[str, int] = field(default_factory=dict)  # words that weigh so many times as much

    @classmethod
    def of(cls, texts: Sequence[Sequence[str]]) -> "WordWeights":
        holders = Counter(word for text in texts for word in dict.fromkeys(text))
        return cls(Counter({word: count for word, count in holders.items() if count > 1}), len(texts))

    def __call__(self, word: str) -> int:
        known, unknown = self._table
        return known.get(word, unknown)

    @cached_property
    def _table(self) -> tuple[dict[str, int], int]:
        known, unknown = {word: self._weigh(count) for word, count in self.holders.items()}, self._weigh(0)
        return known | {word: factor * known.get(word, unknown) for word, factor in self.times.items()}, unknown

    def _weigh(self, holders: int) -> int:
        return round(WEIGHT_UNIT * math.sqrt(math.log((self.texts + 1) / (holders + 0.5))))


def tabulate(
    texts: Sequence[Collection[str]], more: ListedTexts | None = None
) -> tuple[dict[str, int], sparse.csr_array]:
    """Return each word's column, and a table with a 1 where a text (row), or then one of ``more``, contains the word."""
    more = more or ListedTexts()
    words: dict[str, int] = {}
    for word in chain(*texts, more.words):
        words.setdefault(word, len(words))
    columns = [np.array([words[word] for text in texts for word in text], dtype=np.int32)]
    lengths = [np.array([*map(len, texts)], dtype=np.int32)]
    if len(more):
        of_word = np.array([words[word] for word in more.words], dtype=np.int32)
        columns.append(of_word[more.flat[more.flat != 0]])
        lengths.append(np.diff(more.ends, prepend=-1).astype(np.int32) - 1)
    flat, starts = np.concatenate(columns), np.cumsum(np.concatenate([[0], *lengths]), dtype=np.int32)
    shape = len(starts) - 1, max(1, len(words))
    table = sparse.csr_array((np.ones(len(flat), dtype=np.int8), flat, starts), shape=shape)
    table.sum_duplicates()
    table.data[:] = 1
    return words, table


class Meanings:
    """A calculator of texts' meanings, from a lexicon's vectors (W, d) and weights of words."""

    def __init__(self, lexicon: Lexicon, weigh: WordWeights) -> None:
        self.lexicon, self.weigh = lexicon, weigh
        weights = np.fromiter(map(weigh, lexicon.words), dtype=np.int64, count=len(lexicon.words))
        rarity = (WEIGHT_UNIT + weights**2 // WEIGHT_UNIT) // RARITY_DIVISOR  # 1 + ln(texts / holders)
        self._rarity = rarity.astype(np.float32)

    def of(self, texts: Iterable[Collection[str]], more: ListedTexts | None = None) -> Codes:
        """Return the meanings (N, d) of texts and then of ``more``; zero for a text without a word of the lexicon."""
        return self.of_table(*tabulate(list(texts), more))

    def mean_of(self, texts: Iterable[Collection[str]]) -> Codes:
        """Return the average (d,) of texts' meanings, scaled (unless zero) to MEANING_LENGTH."""
        sums = self.of(texts).sum(axis=0, dtype=np.int64, keepdims=True)
        return np.asarray(_at_length(sums.astype(np.float32))[0].astype(np.int8))

    def of_table(self, words: Iterable[str], table: sparse.csr_array) -> Codes:
        places = np.array([self.lexicon.places.get(word, -1) for word in words] or [-1], dtype=np.int64)
        vectors = np.where(
            places[:, None] < 0, np.float32(0), self._rarity[places, None] * self.lexicon.vectors[places]
        )
        found = np.empty((table.shape[0], vectors.shape[1]), dtype=np.int8)
        for begin in range(0, len(found), BATCH_TEXTS):
            found[begin : begin + BATCH_TEXTS] = _at_length(table[begin : begin + BATCH_TEXTS] @ vectors)
        return found


def _at_length(sums: NDArray[np.float32]) -> NDArray[np.float32]:
    wide = sums.astype(np.float64)
    lengths = np.sqrt(np.einsum("nd,nd->n", wide, wide))
    factors = (MEANING_LENGTH / np.maximum(lengths, 1)).astype(np.float32)
    return np.asarray(np.rint(sums * factors[:, None]))


def multiply_all(asked: Codes, meanings: Codes) -> NDArray[np.float32]:
    parts = np.array_split(meanings, max(1, len(meanings) // BATCH_PRODUCTS))
    return np.concatenate([asked.astype(np.float32) @ part.astype(np.float32).T for part in parts], axis=1)
