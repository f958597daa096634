"""What every exhibit needs: public words with public vectors, and a public language model of the bundled corpus.

The corpus is public. A mechanism's guarantee does not depend on which public vectors it is given, so what an audit
says of a claim here it says of the claim.
"""

from functools import cache

import numpy as np

from adept.data.corpus import DataConfig, load
from adept.models.word_vectors import Floats, Indices, Words, word_vectors

__all__ = ["Floats", "Indices", "Words", "public_bigrams", "public_words"]

SIZE, DIM = 160, 16


@cache
def public_words(size: int = SIZE, dim: int = DIM) -> Words:
    """Return the commonest words of the bundled corpus with their vectors."""
    return word_vectors(load(DataConfig())["train"].texts, size=size, dim=dim)


@cache
def public_bigrams() -> Floats:
    """Return log frequencies (V + 1, V + 1) of the next word after each word; the last place is the end, and the start."""
    words = public_words()
    counts = np.full((len(words.names) + 1, len(words.names) + 1), 0.05)
    for text in load(DataConfig())["train"].texts:
        places = [len(words.names), *words.indices(text), len(words.names)]
        np.add.at(counts, (places[:-1], places[1:]), 1.0)
    result: Floats = np.log(counts / counts.sum(axis=1, keepdims=True))
    return result
