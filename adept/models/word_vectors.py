"""Vectors of words, from a lexicon of English or learned from any public text.

The lexicon holds a vector for each of the 60,000 commonest words of English. The vectors were
distilled from a network that encodes sentences (``pretrained/lexicon/README.md``).
"""

import hashlib
import string
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load_file

from adept.data.text_arguments import text_list

PACKAGED_LEXICON = Path(__file__).parents[1] / "pretrained" / "lexicon"
WORDS, VECTORS = "words.txt", "vectors.safetensors"
MIN_COSINE = 0.5  # least cosine at which a word is read as another word
MIN_ENGLISH_SHARE = 0.5  # share of a vocabulary that the lexicon must know, or it is another language
BATCH_WORDS = 1024
WINDOW_WORDS = 2  # words on either side of a word that count for its vector

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]


@dataclass(frozen=True)
class Lexicon:
    words: tuple[str, ...]  # in lower case, the commonest first
    vectors: NDArray[np.int8]  # (W, n) of whole numbers, 127 times a unit vector

    @classmethod
    @cache
    def load(cls, directory: Path = PACKAGED_LEXICON) -> "Lexicon":
        """Load the lexicon in a directory; by default, the lexicon that this package contains."""
        words = (directory / WORDS).read_text("utf-8").splitlines()
        return cls(tuple(words), load_file(directory / VECTORS)["vectors"])

    @cached_property
    def sha256(self) -> str:
        digest = hashlib.sha256("\n".join(self.words).encode())
        digest.update(np.ascontiguousarray(self.vectors).data)
        return digest.hexdigest()

    @cached_property
    def places(self) -> dict[str, int]:
        return {word: place for place, word in enumerate(self.words)}

    def look_up(self, words: Sequence[str]) -> NDArray[np.float64]:
        """Return unit vectors (V, n) of V words; a word that is not in the lexicon gets zeros."""
        found = [self.places.get(word.lower(), self.places.get(word.lower().split("'")[0], -1)) for word in words]
        places = np.array(found, dtype=np.int64)
        vectors = self.vectors[places].astype(np.float64) * (places >= 0)[:, None]
        return np.asarray(vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9))

    def of(self, words: Sequence[str]) -> NDArray[np.float64]:
        """Return the vectors (V, n) of a vocabulary; all are zero if most words are not English."""
        vectors = self.look_up(words)
        return vectors * bool(vectors.any(axis=1).sum() >= MIN_ENGLISH_SHARE * len(words))

    def nearest(self, known: Sequence[str], others: Iterable[str] | None = None) -> dict[str, str]:
        """Map words of ``others`` (by default, of the lexicon) that are not in ``known`` to the nearest known word.

        A word is left out if the lexicon lacks it, or if its largest cosine is below MIN_COSINE.
        """
        vectors, taken = self.of(known), {word.lower() for word in known}
        candidates = self.words if others is None else others
        asked = [word for word in candidates if word in self.places and word not in taken]
        found: dict[str, str] = {}
        for start in range(0, len(asked) if vectors.any() else 0, BATCH_WORDS):
            part = asked[start : start + BATCH_WORDS]
            like = self.vectors[[self.places[word] for word in part]] / 127.0 @ vectors.T
            near = like.max(axis=1) >= MIN_COSINE
            found |= {part[row]: known[like[row].argmax()] for row in np.flatnonzero(near).tolist()}
        return found


class TextVectors:
    """A calculator of vectors of texts: sums of the words' vectors, weighted by ``rarity``, scaled to norm 1.

    A word that is not in ``rarity`` has the weight of the rarest word. If most words in ``rarity`` are not
    English, the attribute ``known`` is False and all vectors are zero.
    """

    def __init__(self, rarity: Mapping[str, float]) -> None:
        self._lexicon, self._rarity = Lexicon.load(), rarity
        self._rarest = max(rarity.values(), default=0.0)
        self.known = bool(self._lexicon.of(_bare(rarity)).any())

    def of(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return unit vectors (N, n) of texts; a text without words of the lexicon gets zeros."""
        from scipy.sparse import csr_matrix

        places: dict[str, int] = {}
        rows = [[places.setdefault(word, len(places)) for word in text.lower().split()] for text in text_list(texts)]
        ends = np.cumsum([0, *map(len, rows)])
        columns = np.fromiter((place for row in rows for place in row), dtype=np.int64, count=ends[-1])
        counts = csr_matrix((np.ones(ends[-1]), columns, ends), shape=(len(rows), len(places)))
        weights = np.array([self._rarity.get(word, self._rarest) for word in places]) * self.known
        sums = counts @ (self._lexicon.look_up(_bare(places)) * weights[:, None])
        return np.asarray(sums / np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), 1e-9), dtype=np.float32)


def _bare(words: Iterable[str]) -> list[str]:
    return [word.strip(string.punctuation) for word in words]


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
