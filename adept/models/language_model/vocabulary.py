"""The vocabulary of a language model, numbered class by class: words with the same neighbours share a class."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

END, UNKNOWN = "", "\x00"  # no word is empty, and no text holds a zero byte: normalising takes it out
END_NUMBER, UNKNOWN_NUMBER = 0, 1
MAX_WORDS = 40  # of a text that is read or written
WORDS_PER_CLASS, LARGEST_CLASSES = 5, 200
LEAST_SEEN = 2  # times that a word must occur to be in the vocabulary


@dataclass(frozen=True)
class Vocabulary:
    """The words with a number of their own, class by class; END and UNKNOWN are among them, each a class of its own.

    Attributes:
        words: by number.
        classes: the class of each word, non-decreasing.
        counts: how often each was seen.
    """

    words: list[str]
    classes: list[int]
    counts: list[int]

    @classmethod
    def of(cls, texts: Sequence[Sequence[str]], *, seed: int, least: int = 1) -> "Vocabulary":
        """Number the words of texts that occur at least twice, and in ``least`` different texts, and find their classes."""
        seen = Counter(word for text in texts for word in text)
        common = [word for word in in_texts(texts, least) if seen[word] >= LEAST_SEEN]
        known = sorted(common, key=lambda word: (-seen[word], word))
        rare = seen.total() - sum(seen[word] for word in known)
        found = _classes(texts, known, [seen[word] for word in known], seed=seed)
        order = [END, UNKNOWN, *sorted(known, key=lambda word: (found[word], word))]
        numbers = {label: place for place, label in enumerate(sorted(set(found.values())), start=2)}
        classes = [0, 1, *(numbers[found[word]] for word in order[2:])]
        return cls(order, classes, [len(texts), max(1, rare), *(seen[word] for word in order[2:])])

    def __reduce__(self) -> tuple[Any, ...]:
        return Vocabulary, (self.words, self.classes, self.counts)

    @cached_property
    def numbers(self) -> dict[str, int]:
        """Word to number."""
        return {word: number for number, word in enumerate(self.words)}

    @cached_property
    def first(self) -> list[int]:
        """The first word of each class, and the number of words."""
        starts = [i for i, (a, b) in enumerate(pairwise([-1, *self.classes])) if a != b]
        return [*starts, len(self.words)]

    def encode(self, text: Iterable[str]) -> list[int]:
        """The numbers of a text's words, closed by END."""
        unknown = self.numbers[UNKNOWN]
        return [*(self.numbers.get(word, unknown) for word in text), self.numbers[END]]


def in_texts(texts: Sequence[Sequence[str]], least: int) -> list[str]:
    """The words in at least so many different texts; a text that occurs often counts once."""
    holders = Counter(word for text in dict.fromkeys(map(tuple, texts)) for word in set(text))
    return [word for word, count in holders.items() if count >= least]


def _classes(texts: Sequence[Sequence[str]], known: list[str], counts: list[int], *, seed: int) -> dict[str, int]:
    """The class of each known word: one of a class for every few words, by its neighbours in the texts."""
    from adept.models.language_model.word_classes import (
        word_classes,  # learning alone needs scikit-learn, slow to import
    )

    count = min(LARGEST_CLASSES, len(known) // WORDS_PER_CLASS)
    if count < 2:
        return dict.fromkeys(known, 0)
    kept = set(known)
    rows = [[word if word in kept else UNKNOWN for word in text] for text in texts]
    weights = np.sqrt([*counts, 1])
    found = word_classes(rows, [*known, UNKNOWN], weights=weights, count=count, seed=seed)
    return {word: found[word] for word in known}
