"""Public words with vectors from public text alone, for mechanisms that replace words.

The vectors are singular vectors of positive pointwise mutual information within two words (Levy and Goldberg 2014). What a
mechanism guarantees does not depend on which public vectors it is given.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

WINDOW = 2


@dataclass(frozen=True)
class Words:
    """Public words.

    Attributes:
        names: (V,) words, the commonest first.
        vectors: (V, n), of mean length 1.
    """

    names: tuple[str, ...]
    vectors: Floats

    @cached_property
    def places(self) -> dict[str, int]:
        """The place of each word."""
        return {name: place for place, name in enumerate(self.names)}

    def indices(self, text: str, *, unknown: int = 0) -> Indices:
        """Return the places of a text's words; a word that is not public has place ``unknown``, the commonest one's by default."""
        return np.array([self.places.get(word, unknown) for word in text.lower().split()], dtype=np.int64)

    def text(self, indices: Indices) -> str:
        return " ".join(self.names[i] for i in indices)

    def encode(self, text: str) -> Floats:
        """Return a sentence's latent (n,), on the unit sphere: the direction of the sum of its words' vectors."""
        total = self.vectors[self.indices(text)].sum(axis=0)
        result: Floats = total / max(float(np.linalg.norm(total)), 1e-12)
        return result

    def distances(self) -> Floats:
        """Return Euclidean distances (V, V) between all words."""
        squares = np.square(self.vectors).sum(axis=1)
        result: Floats = np.sqrt(np.maximum(squares[:, None] + squares - 2 * self.vectors @ self.vectors.T, 0.0))
        return result


def word_vectors(texts: Iterable[str], *, size: int, dim: int) -> Words:
    """Return the ``size`` commonest words of public texts, with vectors of ``dim`` numbers or as many as there are words."""
    split = [text.lower().split() for text in texts]
    names = tuple(word for word, _ in Counter(word for words in split for word in words).most_common(size))
    places = {name: place for place, name in enumerate(names)}
    together = np.zeros((len(names), len(names)))
    for words in split:
        known = [places[word] for word in words if word in places]
        for lag in range(1, WINDOW + 1):
            np.add.at(together, (known[lag:], known[:-lag]), 1.0)
    together += together.T + 1e-3
    total = together.sum()
    ppmi = np.maximum(np.log(together * total / np.outer(together.sum(axis=0), together.sum(axis=1))), 0.0)
    left, values, _ = np.linalg.svd(ppmi)
    vectors = left[:, :dim] * np.sqrt(values[:dim])
    return Words(names, vectors / np.linalg.norm(vectors, axis=1).mean())
