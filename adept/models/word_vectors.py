"""Vectors of words: those of the sentence encoder, or vectors learned from any public text."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from adept.models.sentence_encoder import SentenceEncoder

MIN_COSINE = 0.5  # least cosine at which a word is read as another word
MIN_ENGLISH_SHARE = 0.5  # share of a vocabulary that the encoder must know, or it is another language
BATCH_WORDS = 1024
WINDOW_WORDS = 2  # words on either side of a word that count for its vector

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]


def english_vectors(words: Sequence[str]) -> Floats:
    """Return unit vectors (V, d) of a vocabulary; all are zero if most words are not English."""
    encoder = SentenceEncoder.load()
    sums = encoder.sums(words).astype(np.float64)
    known = sum(map(encoder.knows, words)) >= MIN_ENGLISH_SHARE * len(words)
    return np.asarray(known * sums / np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), 1.0))


def synonyms_of(words: Sequence[str]) -> dict[str, str]:
    """Map English words that a vocabulary lacks to its nearest word, if their cosine is at least MIN_COSINE.

    Only words count that the sentence encoder knows as a whole: parts of a word say little of its meaning.
    """
    encoder, taken = SentenceEncoder.load(), {word.lower() for word in words}
    vectors, whole = english_vectors(words), np.array([encoder.knows(word) for word in words], dtype=np.float64)
    asked = [word for word in encoder.words if word not in taken] if vectors.any() else []
    found: dict[str, str] = {}
    for start in range(0, len(asked), BATCH_WORDS):
        part = asked[start : start + BATCH_WORDS]
        like = english_vectors(part) @ (vectors * whole[:, None]).T
        near = like.max(axis=1) >= MIN_COSINE
        found |= {part[row]: words[like[row].argmax()] for row in np.flatnonzero(near).tolist()}
    return found


@dataclass(frozen=True)
class WordVectors:
    """The words of public text and their vectors, for mechanisms that replace words."""

    names: tuple[str, ...]  # the commonest first
    vectors: Floats  # (V, n), of mean length 1

    @cached_property
    def places(self) -> dict[str, int]:
        return {name: place for place, name in enumerate(self.names)}

    def indices(self, text: str, *, unknown: int = 0) -> Indices:
        """Return the index of each word of a text; the index of an unknown word is ``unknown``."""
        return np.array([self.places.get(word, unknown) for word in text.lower().split()], dtype=np.int64)

    def text(self, indices: Indices) -> str:
        return " ".join(self.names[i] for i in indices)

    def encode(self, text: str) -> Floats:
        """Return the latent (n,) of a text: the sum of its words' vectors, scaled to norm 1."""
        total = self.vectors[self.indices(text)].sum(axis=0)
        return np.asarray(total / max(float(np.linalg.norm(total)), 1e-12))

    def distances(self) -> Floats:
        squares = np.square(self.vectors).sum(axis=1)
        return np.asarray(np.sqrt(np.maximum(squares[:, None] + squares - 2 * self.vectors @ self.vectors.T, 0.0)))


def learn_word_vectors(texts: Iterable[str], *, size: int, dim: int) -> WordVectors:
    """Return the ``size`` commonest words of texts, with vectors of at most ``dim`` numbers.

    The vectors come from the singular vectors of the matrix of positive pointwise mutual
    information between words that stand at most WINDOW_WORDS places apart in a text (Levy and
    Goldberg 2014).
    """
    split = [text.lower().split() for text in texts]
    names = tuple(word for word, _ in Counter(word for words in split for word in words).most_common(size))
    places = {name: place for place, name in enumerate(names)}
    together = np.zeros((len(names), len(names)))
    for words in split:
        known = [places[word] for word in words if word in places]
        for lag in range(1, WINDOW_WORDS + 1):
            np.add.at(together, (known[lag:], known[:-lag]), 1.0)
    together += together.T + 1e-3
    total = together.sum()
    ppmi = np.maximum(np.log(together * total / np.outer(together.sum(axis=0), together.sum(axis=1))), 0.0)
    left, values, _ = np.linalg.svd(ppmi)
    vectors = left[:, :dim] * np.sqrt(values[:dim])
    return WordVectors(names, vectors / np.linalg.norm(vectors, axis=1).mean())
