"""What a text is about, whichever words say it: the mean of its words' vectors, rare words counting more than common ones.

Rewrites have fewer words than people, for public text writes them. From words and word pairs a classifier learns nothing of a word
that no rewrite holds, and little of one that few hold; the vectors of a lexicon of English (``adept.models.lexicon``)
say what each is like. A text's vector is a function of that text, the training texts' words and public vectors: which other texts
are read beside it changes nothing.
"""

import string
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from adept.data.texts import text_list
from adept.models.lexicon import Lexicon


class Meaning:
    """Vectors of texts.

    Args:
        rarity: the inverse document frequency of each word of the training texts, in lower case; other words count as much as
            the rarest of them.

    Attributes:
        known: does the lexicon know the words' language? Where it does not, all vectors are zero.
    """

    def __init__(self, rarity: Mapping[str, float]) -> None:
        self._lexicon, self._rarity = Lexicon.load(), rarity
        self._rarest = max(rarity.values(), default=0.0)
        self.known = bool(self._lexicon.of(_bare(rarity)).any())

    def of(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the vectors (N, n) of texts: of length 1 where a word of the lexicon is in the text, of length 0 elsewhere."""
        places: dict[str, int] = {}
        rows = [[places.setdefault(word, len(places)) for word in text.lower().split()] for text in text_list(texts)]
        ends = np.cumsum([0, *map(len, rows)])
        columns = np.fromiter((place for row in rows for place in row), dtype=np.int64, count=ends[-1])
        counts = csr_matrix((np.ones(ends[-1]), columns, ends), shape=(len(rows), len(places)))
        weights = np.array([self._rarity.get(word, self._rarest) for word in places]) * self.known
        sums = counts @ (self._lexicon.look_up(_bare(places)) * weights[:, None])
        return np.asarray(sums / np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), 1e-9), dtype=np.float32)


def _bare(words: Iterable[str]) -> list[str]:
    """Words without the signs around them: "paris?" means what "paris" means."""
    return [word.strip(string.punctuation) for word in words]
