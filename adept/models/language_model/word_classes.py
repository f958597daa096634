"""Text spelled in word classes: what is asked, without the names, dates and polite words around it.

Learned from public text alone, without labels, in four steps:

1. *Phrases*: neighbours that nearly always stand together become one word, "salt lake city" (normalised pointwise mutual
   information, Bouma 2009, in two passes as Mikolov et al. 2013), so that names of several words are names like others.
2. *Classes*: words with the same left and right neighbours share one, by k-means over positive pointwise mutual information.
3. *Open classes* are left out: those with many equally likely members, such as cities, fill slots.
4. *Function words* are left out, but for question words, which say what kind of answer is wanted.
"""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from sklearn.cluster import KMeans
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS
from sklearn.preprocessing import normalize

WORD_CLASSES, CONTEXT_WORDS, CONTEXT_DIMS, OPEN_CLASS = 150, 300, 40, 12.0
PASSES, TOGETHER, FEWEST = 2, 0.7, 4
JOINT = "_"
FUNCTION_WORDS = ENGLISH_STOP_WORDS - {"how", "many", "much", "what"}

Speller = Callable[[Sequence[str]], list[str]]


def class_spelling(texts: Sequence[str], *, seed: int) -> Speller:
    """Return a function that spells texts in word classes, open classes and function words left out."""
    join = _phrases(texts)
    joined = [text.split() for text in join(texts)]
    counts = Counter(word for words in joined for word in words)
    vocabulary = sorted(counts, key=lambda word: (-counts[word], word))
    class_of = company_classes(joined, vocabulary, weights=np.sqrt([counts[word] for word in vocabulary]), seed=seed)
    members: dict[int, list[int]] = {}
    for word, label in class_of.items():
        members.setdefault(label, []).append(counts[word])
    spelling = {
        word: f"c{label}"
        for word, label in class_of.items()
        if _effective_number(members[label]) <= OPEN_CLASS and not FUNCTION_WORDS.issuperset(word.split(JOINT))
    }

    def spell(others: Sequence[str]) -> list[str]:
        return [" ".join(spelling[word] for word in text.split() if word in spelling) for text in join(others)]

    return spell


def _phrases(texts: Sequence[str]) -> Speller:
    """Return a function that writes the phrases of public texts as one word each."""
    found: list[set[tuple[str, str]]] = []

    def join(others: Sequence[str]) -> list[str]:
        rows = [text.split() for text in others]
        for pairs in found:
            rows = [_joined(words, pairs) for words in rows]
        return [" ".join(words) for words in rows]

    for _ in range(PASSES):
        found.append(_pairs([text.split() for text in join(texts)]))
    return join


def _pairs(rows: Sequence[Sequence[str]]) -> set[tuple[str, str]]:
    """Return the neighbours that stand together at least four times and hardly ever apart; not two function words."""
    words = Counter(word for row in rows for word in row)
    total = sum(words.values())

    def together(pair: tuple[str, str], times: int) -> bool:
        information = math.log(times * total / (words[pair[0]] * words[pair[1]]))
        return information > TOGETHER * math.log(total / times)

    neighbours = Counter(pair for row in rows for pair in pairwise(row))
    return {
        pair
        for pair, times in neighbours.items()
        if times >= FEWEST and together(pair, times) and not FUNCTION_WORDS.issuperset(pair)
    }


def _joined(words: list[str], pairs: set[tuple[str, str]]) -> list[str]:
    """Join pairs from left to right, each word once."""
    written: list[str] = []
    rest = zip(words, [*words[1:], ""], strict=False)
    for pair in rest:
        if pair in pairs:
            next(rest)
            written.append(JOINT.join(pair))
        else:
            written.append(pair[0])
    return written


def company_classes(
    rows: Sequence[list[str]],
    vocabulary: list[str],
    *,
    weights: NDArray[np.float64],
    seed: int,
    count: int = WORD_CLASSES,
    starts: int = 3,
) -> dict[str, int]:
    """Return each word's class, one of at most ``count``, by the best of ``starts`` k-means over the vectors of its contexts.

    Args:
        rows: texts as words, all of them in the vocabulary.
        vocabulary: the words, the commonest first.
        weights: how much each word counts.
    """
    vectors = _context_vectors(rows, vocabulary)
    distinct = len(np.unique(vectors.round(6), axis=0))
    classes = KMeans(min(count, distinct), n_init=starts, random_state=seed).fit(vectors, sample_weight=weights)
    return dict(zip(vocabulary, classes.labels_.tolist(), strict=True))


def _effective_number(counts: Sequence[int]) -> float:
    """Return the exponential of the entropy: the number of equally likely members that would have it."""
    shares = np.array(counts) / sum(counts)
    return float(np.exp(-(shares * np.log(shares)).sum()))


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
