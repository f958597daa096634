"""Word classes: words with the same neighbours share one, so that a city which was never seen after "to" is likely there.

Each word is the unit vector of its positive pointwise mutual information with its left and right neighbours, reduced to a few
dimensions; classes are found by k-means.
"""

from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from sklearn.cluster import KMeans
from sklearn.decomposition import TruncatedSVD
from sklearn.preprocessing import normalize

CONTEXT_WORDS, CONTEXT_DIMS = 300, 40  # neighbours that have a column each; dimensions of a word's vector


def word_classes(
    rows: Sequence[list[str]], vocabulary: list[str], *, weights: NDArray[np.float64], count: int, seed: int
) -> dict[str, int]:
    """Return each word's class, one of at most ``count``.

    Args:
        rows: texts as words, all of them in the vocabulary.
        vocabulary: the words, the commonest first.
        weights: how much each word counts.
        count: the number of classes.
        seed: of k-means.
    """
    vectors = _context_vectors(rows, vocabulary)
    distinct = len(np.unique(vectors.round(6), axis=0))
    classes = KMeans(min(count, distinct), n_init=1, random_state=seed).fit(vectors, sample_weight=weights)
    return dict(zip(vocabulary, classes.labels_.tolist(), strict=True))


def _context_vectors(rows: Sequence[list[str]], vocabulary: list[str]) -> NDArray[np.float64]:
    """Return a unit vector for each word: positive pointwise mutual information with its left and right neighbours, reduced."""
    row_of = {word: row for row, word in enumerate(vocabulary)}
    contexts = {word: column for column, word in enumerate(["", *vocabulary[:CONTEXT_WORDS]])}  # "" ends a text
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
    of_column = np.asarray(matrix.sum(axis=0)).ravel() ** 0.75  # Levy and Goldberg 2015: context distribution smoothing
    information = np.log(numbers / (of_row[places] * of_column[columns] / of_column.sum()))
    positive = csr_matrix((np.maximum(information, 0), (places, columns)), shape=matrix.shape)
    reduced = TruncatedSVD(min(CONTEXT_DIMS, *(size - 1 for size in matrix.shape)), random_state=0)
    return np.asarray(normalize(reduced.fit_transform(positive)), dtype=np.float64)
