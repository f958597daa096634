"""The vocabulary of a language model, in which words with similar neighbours share a class.

The words are numbered class by class. K-means forms the classes from vectors of the words. The
vector of a word holds the positive pointwise mutual information of this word with each common word
just before it, and with each common word just after it. The vectors are reduced to CONTEXT_DIMS
dimensions.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

END_WORD, UNKNOWN_WORD = "", "\x00"  # no word is empty, and no text holds a zero byte: normalising takes it out
END_NUMBER, UNKNOWN_NUMBER = 0, 1
MAX_WORDS = 40  # words of a text that are read or written
WORDS_PER_CLASS, MAX_CLASSES = 5, 200
LEAST_SEEN = 2  # times that a word must occur to be in the vocabulary
NEIGHBOUR_COLUMNS, CONTEXT_DIMS = 300, 40  # words counted as neighbours; dimensions of a vector


class Learned:
    """A base class for dataclasses whose copies and pickles hold the fields and no cached table."""

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), tuple(getattr(self, field.name) for field in fields(self))  # type: ignore[arg-type]


@dataclass(frozen=True)
class Vocabulary(Learned):
    """Words, numbered class by class; END_WORD and UNKNOWN_WORD each have a class of their own."""

    words: list[str]  # by number
    classes: list[int]  # of each word, non-decreasing
    counts: list[int]  # how often each was seen

    @classmethod
    def of(cls, texts: Sequence[Sequence[str]], *, seed: int, least: int = 1) -> "Vocabulary":
        """Learn the words that occur twice or more, and in ``least`` or more distinct texts."""
        seen = Counter(word for text in texts for word in text)
        common = [word for word in in_texts(texts, least) if seen[word] >= LEAST_SEEN]
        known = sorted(common, key=lambda word: (-seen[word], word))
        rare = seen.total() - sum(seen[word] for word in known)
        count = min(MAX_CLASSES, len(known) // WORDS_PER_CLASS)
        found = dict.fromkeys(known, 0)
        if count > 1:
            rows = [[word if word in found else UNKNOWN_WORD for word in text] for text in texts]
            weights = np.sqrt([*(seen[word] for word in known), 1])
            found = word_classes(rows, [*known, UNKNOWN_WORD], weights=weights, count=count, seed=seed)
        order = [END_WORD, UNKNOWN_WORD, *sorted(known, key=lambda word: (found[word], word))]
        numbers = {label: place for place, label in enumerate(sorted({found[word] for word in known}), start=2)}
        classes = [0, 1, *(numbers[found[word]] for word in order[2:])]
        return cls(order, classes, [len(texts), max(1, rare), *(seen[word] for word in order[2:])])

    @cached_property
    def numbers(self) -> dict[str, int]:
        return {word: number for number, word in enumerate(self.words)}

    @cached_property
    def first(self) -> list[int]:
        starts = [i for i, (a, b) in enumerate(pairwise([-1, *self.classes])) if a != b]
        return [*starts, len(self.words)]

    def encode(self, text: Iterable[str]) -> list[int]:
        unknown = self.numbers[UNKNOWN_WORD]
        return [*(self.numbers.get(word, unknown) for word in text), self.numbers[END_WORD]]


def in_texts(texts: Sequence[Sequence[str]], least: int) -> list[str]:
    holders = Counter(word for text in dict.fromkeys(map(tuple, texts)) for word in set(text))
    return [word for word, count in holders.items() if count >= least]


def word_classes(
    rows: Sequence[list[str]], vocabulary: list[str], *, weights: NDArray[np.float64], count: int, seed: int
) -> dict[str, int]:
    """Divide a vocabulary, sorted from common to rare words, into at most ``count`` classes."""
    from sklearn.cluster import KMeans  # slow to import

    vectors = _context_vectors(rows, vocabulary)
    distinct = len(np.unique(vectors.round(6), axis=0))
    classes = KMeans(min(count, distinct), n_init=1, random_state=seed).fit(vectors, sample_weight=weights)
    return dict(zip(vocabulary, classes.labels_.tolist(), strict=True))


def _context_vectors(rows: Sequence[list[str]], vocabulary: list[str]) -> NDArray[np.float64]:
    from scipy.sparse import csr_matrix  # slow to import
    from sklearn.decomposition import TruncatedSVD
    from sklearn.preprocessing import normalize

    row_of = {word: row for row, word in enumerate(vocabulary)}
    contexts = {word: column for column, word in enumerate(["", *vocabulary[:NEIGHBOUR_COLUMNS]])}  # "" ends a text
    cells: Counter[tuple[int, int]] = Counter()
    for row in rows:
        words = ["", *row, ""]
        for left, word, right in zip(words, words[1:], words[2:], strict=False):
            cells[row_of[word], contexts.get(left, -1)] += 1
            cells[row_of[word], len(contexts) + contexts.get(right, -1 - len(contexts))] += 1
    known = [(row, column, n) for (row, column), n in cells.items() if column >= 0]
    places, columns, numbers = (np.array(part) for part in zip(*known, strict=True))
    matrix = csr_matrix((numbers.astype(float), (places, columns)), shape=(len(vocabulary), 2 * len(contexts)))
    of_row = np.asarray(matrix.sum(axis=1)).ravel()
    # Levy and Goldberg 2015: context distribution smoothing
    of_column = np.asarray(matrix.sum(axis=0)).ravel() ** 0.75
    information = np.log(numbers / (of_row[places] * of_column[columns] / of_column.sum()))
    positive = csr_matrix((np.maximum(information, 0), (places, columns)), shape=matrix.shape)
    reduced = TruncatedSVD(min(CONTEXT_DIMS, *(size - 1 for size in matrix.shape)), random_state=0)
    return np.asarray(normalize(reduced.fit_transform(positive)), dtype=np.float64)
