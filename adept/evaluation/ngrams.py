"""TF-IDF: weights of the words and word pairs of a text, of which rare ones count more."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from adept.errors import DataError


def count_ngrams(texts: Sequence[str], *, holders: int = 1) -> tuple[Any, csr_matrix]:
    """Return scikit-learn's TfidfVectorizer of the n-grams that so many texts hold, and the weights (N, V).

    Raises:
        DataError: all texts are empty.
    """
    from sklearn.feature_extraction.text import TfidfVectorizer  # slow to import

    options: dict[str, Any] = {
        "ngram_range": (1, 2),
        "sublinear_tf": True,
        "token_pattern": r"(?u)\S+",
        "dtype": np.float32,
    }
    try:
        vectorizer = TfidfVectorizer(**options, min_df=holders)
        return vectorizer, vectorizer.fit_transform(texts).tocsr()
    except ValueError as error:
        if "empty vocabulary" in str(error):
            raise DataError("train must hold at least one word: all its texts are empty") from None
        if holders > 1:  # no two texts share a word
            return count_ngrams(texts)
        raise
