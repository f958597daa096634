"""Texts as numbers of words, weights of words, and vectors of texts from the vectors of their words.

The *meaning* of a text is its vector from the static sentence encoder (``adept.models.sentence_encoder``): whole
numbers of the Euclidean norm LENGTH. The inner product of two meanings is about ``LENGTH^2`` times
their cosine, and 32-bit floats hold it exactly.

The meaning of a public sentence adds up its different words. *Claim*: the sum is exact. *Proof*: a sentence has at
most MAX_WORDS words. A word whose vector holds a number above MAX_WORD_SUM is refused, and
``MAX_WORDS * MAX_WORD_SUM <= 2^24``, which 32-bit floats hold exactly in any order. QED.
"""

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn.functional import embedding_bag

from adept.data.texts import separate_characters
from adept.errors import ModelError
from adept.models.sentence_encoder import Codes, SentenceEncoder, at_length
from adept.models.tokenizer import PUNCTUATION

MAX_WORDS = 40  # words of a text that are read or written
MAX_LISTED_WORDS = 1 << 15  # words of a vocabulary whose texts can be stored as 16-bit numbers
WEIGHT_UNIT = 1000  # a word's weight is a whole number of thousandths
AUXILIARIES = {"do", "does", "did", "is", "are", "was", "were", "has", "have", "had"}
MODALS = {"could", "would", "should", "must", "need"}
NEGATIONS = {"not", "no", "never", "without", "nothing", "nobody", "none", "neither", "nor", "cannot"} | {
    *("can't", "cant", "won't", "wont"),
    *(verb + end for verb in AUXILIARIES | MODALS for end in ("n't", "nt")),
}
MAX_WORD_SUM = (1 << 24) // MAX_WORDS
MAX_RECORD_LETTERS = 100 * MAX_WORDS  # letters of a record that are split into words
BATCH_TEXTS = 1 << 10  # words, or texts, whose sums are computed together, near the processor
BATCH_PRODUCTS = 1 << 12  # texts whose products are computed, or whose words are sorted, together

PUNCTUATION_MARKS = re.compile(f"({PUNCTUATION})")

Words = tuple[str, ...]
Counts = NDArray[np.int64]


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


class WordTable:
    """The different words of N texts: ``columns[starts[n] : starts[n + 1]]`` (SciPy's arrays would take 20 MB more)."""

    def __init__(self, columns: NDArray[np.int32], starts: NDArray[np.int32]) -> None:
        self.columns, self.starts = columns, starts

    def take(self, numbers: NDArray[np.int64]) -> "WordTable":
        """Return the table of the texts with these numbers, which may repeat."""
        first, counts = self.starts[numbers], self.starts[numbers + 1] - self.starts[numbers]
        starts = np.append(0, counts.cumsum()).astype(np.int32)
        return WordTable(self.columns[np.arange(starts[-1]) + np.repeat(first - starts[:-1], counts)], starts)

    def sum(self, values: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the sums (N, d) of the values (V, d) of each text's words: exact for whole numbers up to 2^24."""
        columns, rows, starts = map(torch.from_numpy, (self.columns, values, self.starts))
        return np.asarray(embedding_bag(columns, rows, starts, mode="sum", include_last_offset=True).numpy())


def tabulate(texts: Sequence[Collection[str]], more: ListedTexts | None = None) -> tuple[dict[str, int], WordTable]:
    """Return each word's column, from 1 on, and the table of the columns of texts and then of those of ``more``."""
    more = more or ListedTexts([""])
    words = {word: column for column, word in enumerate(dict.fromkeys(chain([""], *texts, more.words)))}
    own = np.array([words[word] for text in texts for word in (*text, "")], dtype=np.int32)
    listed = np.array([words[word] for word in more.words], dtype=np.int32)
    parts = [*_different(own, np.arange(len(words), dtype=np.int32)), *_different(more.flat, listed)]
    columns, counts = (np.concatenate(each) for each in zip(*parts, strict=True))
    return words, WordTable(columns, np.append(0, counts.cumsum()).astype(np.int32))


def _different(
    flat: NDArray[np.integer[Any]], columns: NDArray[np.int32]
) -> Iterator[tuple[NDArray[np.int32], Counts]]:
    """Yield the columns of the different words of texts, each of which ends with a 0, and how many each text has."""
    for part in np.split(flat, np.flatnonzero(flat == 0)[BATCH_PRODUCTS - 1 :: BATCH_PRODUCTS] + 1):
        is_end = part == 0
        keys = np.sort((is_end.cumsum() << 32 | columns[part])[~is_end])  # of a text and a word
        keys = keys[np.diff(keys, prepend=-1) != 0]  # np.unique takes 20 times as long
        yield keys.astype(np.int32), np.bincount(keys >> 32, minlength=int(is_end.sum()))


def meanings_of(texts: Sequence[str]) -> Codes:
    """Return the meanings (N, d) of texts, read to their ends; zero for a text without a known token."""
    return SentenceEncoder.load().encode(texts)


def mean_meaning(texts: Sequence[str]) -> Codes:
    """Return the average (d,) of texts' meanings, scaled (unless zero) to LENGTH."""
    return np.asarray(at_length(meanings_of(texts).sum(axis=0, dtype=np.int64, keepdims=True))[0])


def meanings_of_table(words: Sequence[str], table: WordTable) -> Codes:
    """Return the meanings (N, d) of the texts of a table with these words, at most MAX_WORDS words each.

    Raises:
        ModelError: a word is too long for exact sums.
    """
    encoder = SentenceEncoder.load()
    vectors = np.empty((len(words), encoder.dim), dtype=np.float32)
    for begin in range(0, len(vectors), BATCH_TEXTS):
        vectors[begin : begin + BATCH_TEXTS] = encoder.sums(words[begin : begin + BATCH_TEXTS])
    if max(vectors.max(), -vectors.min()) > MAX_WORD_SUM:
        raise ModelError("the model lists a word that is too long for exact sums: train the model again or restore it")
    found = np.empty((len(table.starts) - 1, encoder.dim), dtype=np.int8)
    for rows in np.array_split(np.arange(len(found)), len(found) // BATCH_TEXTS + 1):
        found[rows] = at_length(table.take(rows).sum(vectors))
    return found


def multiply_all(asked: Codes, meanings: Codes, *, dtype: type[np.number[Any]] = np.float32) -> NDArray[Any]:
    """Return the inner products (L, N) of meanings (L, d) and (N, d), whole numbers of the type ``dtype``."""
    rows, found = asked.astype(np.float32), np.empty((len(asked), len(meanings)), dtype=dtype)
    for begin in range(0, len(meanings), BATCH_PRODUCTS):
        found[:, begin : begin + BATCH_PRODUCTS] = rows @ meanings[begin : begin + BATCH_PRODUCTS].astype(np.float32).T
    return found


def words_of(text: str) -> Words:
    """Return the first MAX_WORDS words and punctuation marks of a text, in lower case."""
    clean = text[:MAX_RECORD_LETTERS]
    if not (clean.isascii() and clean.isprintable()):  # of most texts nothing has to be taken out
        clean = unicodedata.normalize("NFC", clean.encode("utf-8", "replace").decode("utf-8"))
        clean = separate_characters("".join(" " if unicodedata.category(c)[0] == "C" else c for c in clean))
    words = (PUNCTUATION_MARKS.sub(r" \1 ", word).split() for word in clean.lower().split())
    return tuple(part for parts in words for part in parts)[:MAX_WORDS]
