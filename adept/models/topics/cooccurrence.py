"""Co-occurrence vectors: words that occur near the same words in public text have nearby vectors.

How much more often two words occur near each other than chance would have it is their pointwise mutual information. The matrix of
it, where it is positive, factorised and halved (each word gets the left singular vectors times the square roots of the singular
values), is what skip-gram embeddings approximate: Levy and Goldberg 2014, "Neural word embedding as implicit matrix
factorization", Sections 3 and 4. How common a neighbour is counts with a power of .75 (Levy, Goldberg and Dagan 2015, Section 3.1),
and a neighbour d places away counts 1/d.
"""

from collections import defaultdict
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

WINDOW, DIMS, SMOOTHED = 8, 150, 0.75  # places on each side; of a vector; power of how common a neighbour is


def cooccurrence_vectors(rows: Sequence[Sequence[int]], *, words: int, seed: int) -> NDArray[np.float64]:
    """Return a unit vector (words, n), n <= 150, for each word; zero for words without neighbours.

    Args:
        rows: words of each text by their numbers below ``words``; a negative number stands for one without a vector, and
            keeps its place.
        words: how many words there are.
        seed: of the factorisation.
    """
    from sklearn.decomposition import TruncatedSVD  # fitting alone needs scikit-learn, slow to import
    from sklearn.preprocessing import normalize

    information = _information(rows, words)
    kept = np.flatnonzero(information.getnnz(axis=1))
    if len(kept) < 2:
        return np.zeros((words, 1))
    factors = TruncatedSVD(min(DIMS, len(kept) - 1), random_state=seed).fit(information)
    halved = factors.transform(information) / np.sqrt(np.maximum(factors.singular_values_, 1e-12))
    return np.asarray(normalize(halved), dtype=np.float64)


def _information(rows: Sequence[Sequence[int]], words: int) -> csr_matrix:
    """Return the positive pointwise mutual information of words and their neighbours (words, words)."""
    near: defaultdict[tuple[int, int], float] = defaultdict(float)
    for row in rows:
        for place, word in enumerate(row):
            for distance, other in enumerate(row[place + 1 : place + 1 + WINDOW], start=1):
                if word >= 0 and other >= 0:
                    near[word, other] += 1 / distance
    pairs = np.array(list(near), dtype=np.int64).reshape(-1, 2)
    one_way = csr_matrix((list(near.values()), pairs.T), shape=(words, words))
    together = (one_way + one_way.T).tocoo()
    of_word = np.asarray(together.sum(axis=1)).ravel()
    of_neighbour = of_word**SMOOTHED / max((of_word**SMOOTHED).sum(), 1e-12)
    found = np.log(together.data / (of_word[together.row] * of_neighbour[together.col]))
    positive = found > 0
    return csr_matrix((found[positive], (together.row[positive], together.col[positive])), shape=(words, words))
