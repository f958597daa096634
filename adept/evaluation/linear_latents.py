"""The baseline that an encoder has to beat: TF-IDF of words and word pairs, 16 singular directions, whitened, on the sphere."""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from adept.data.corpus import Corpus
from adept.errors import DataError

LINEAR_DIM = 16
MANY_TEXTS, MIN_HOLDERS = 500, 3  # of so many texts or more, as many must hold a word

Encoder = Callable[[Sequence[str]], NDArray[np.float64]]


def linear_latents(public: Corpus, *, dim: int = LINEAR_DIM, seed: int) -> Encoder:
    """Return the linear encoder fitted on public text: N texts to unit vectors (N, dim).

    The directions are the first singular ones after the mean one, whitened; those that the text does not support are zero, and a
    text without a known word becomes the first axis.

    Raises:
        DataError: the text has no words, or no two different texts.
    """
    from sklearn.decomposition import TruncatedSVD  # takes seconds to import
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.preprocessing import normalize

    texts = public.texts
    features = TfidfVectorizer(
        ngram_range=(1, 2),
        sublinear_tf=True,
        token_pattern=r"(?u)\S+",
        min_df=MIN_HOLDERS if len(texts) >= MANY_TEXTS else 1,
    )
    try:
        matrix = features.fit_transform(texts)
    except ValueError:
        raise DataError("public text must have words, got texts without any: set baselines=false") from None
    found = min(dim + 1, *(size - 1 for size in matrix.shape))
    if found < 2:
        raise DataError(f"public text must have different texts, got {len(texts)}: set baselines=false")
    decomposition = TruncatedSVD(found, random_state=seed).fit(matrix)
    scores = decomposition.transform(matrix)
    mean, scale = scores.mean(axis=0), np.maximum(scores.std(axis=0), 1e-9)

    def encode(others: Sequence[str]) -> NDArray[np.float64]:
        whitened = ((decomposition.transform(features.transform(others)) - mean) / scale)[:, 1:]
        vectors = np.pad(whitened, ((0, 0), (0, dim - whitened.shape[1])))
        vectors[~vectors.any(axis=1), 0] = 1.0
        return np.asarray(normalize(vectors), dtype=np.float64)

    return encode
