"""Texts that are stored as numbers of words, so that hundreds of thousands take little memory."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

MAX_WORDS = 40  # words of a text that are read or written
MAX_LISTED_WORDS = 1 << 15  # words of a vocabulary whose texts can be stored as 16-bit numbers

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
