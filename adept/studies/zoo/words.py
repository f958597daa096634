"""What every exhibit needs: public words with public vectors, and a public encoder of sentences.

All of it is computed from the bundled corpus, which is generated and public. Word vectors are the singular vectors of positive
pointwise mutual information within two words (Levy and Goldberg 2014); nothing is pretrained. A mechanism's guarantee does not
depend on which public vectors it is given, so what an audit says of a claim here it says of the claim.
"""

from collections import Counter
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from adept.data.air_travel import generate

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

SIZE, DIM, WINDOW = 160, 16, 2


@dataclass(frozen=True)
class Words:
    """Public words.

    Attributes:
        names: (V,) words, the commonest first.
        vectors: (V, n), of mean length 1.
    """

    names: tuple[str, ...]
    vectors: Floats

    def indices(self, text: str) -> Indices:
        """Return the places of a text's words; a word that is not public stands for the commonest one."""
        places = {name: place for place, name in enumerate(self.names)}
        return np.array([places.get(word, 0) for word in text.split()], dtype=np.int64)

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


@cache
def public_words(size: int = SIZE, dim: int = DIM) -> Words:
    """Return the commonest words of the bundled corpus with their vectors."""
    texts = [utterance.text.split() for utterance in generate(seed=0)["train"]]
    names = tuple(word for word, _ in Counter(word for text in texts for word in text).most_common(size))
    places = {name: place for place, name in enumerate(names)}
    together = np.zeros((len(names), len(names)))
    for text in texts:
        known = [places[word] for word in text if word in places]
        for lag in range(1, WINDOW + 1):
            np.add.at(together, (known[lag:], known[:-lag]), 1.0)
    together += together.T + 1e-3
    total = together.sum()
    ppmi = np.maximum(np.log(together * total / np.outer(together.sum(axis=0), together.sum(axis=1))), 0.0)
    left, values, _ = np.linalg.svd(ppmi)
    vectors = left[:, :dim] * np.sqrt(values[:dim])
    return Words(names, vectors / np.linalg.norm(vectors, axis=1).mean())


@cache
def public_bigrams() -> Floats:
    """Return log frequencies (V + 1, V + 1) of the next word after each word; the last place is the end, and the start."""
    words = public_words()
    counts = np.full((len(words.names) + 1, len(words.names) + 1), 0.05)
    for utterance in generate(seed=0)["train"]:
        places = [len(words.names), *words.indices(utterance.text), len(words.names)]
        np.add.at(counts, (places[:-1], places[1:]), 1.0)
    result: Floats = np.log(counts / counts.sum(axis=1, keepdims=True))
    return result
