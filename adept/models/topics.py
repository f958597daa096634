"""An encoder of texts into topics, which is linear in a text's words and fitted to public text.

The topics of a text are the components of its TF-IDF vector along the first singular directions of the TF-IDF vectors
of public texts, each divided by the square root of its standard deviation. Features are a word itself, parts of its
spelling, its neighbours (co-occurrence) and its meaning (the sentence encoder's).
"""

from collections import defaultdict
from collections.abc import Sequence

import numpy as np
import scipy
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from adept.errors import DataError
from adept.mechanisms.policy import COOCCURRENCE, SPELLING
from adept.models.config import FIRST_LABEL
from adept.models.sentence_encoder import english_vectors

TEXTS_PER_TOPIC, MIN_TEXTS_WITH_WORD = 8, 2  # public texts for each topic; least number of texts with a word
PART_LETTERS, MIN_WORDS = (3, 5), 3  # letters of a part of a word; least number of words with a part
COOCCURRENCE_WINDOW, VECTOR_DIMS = 8, 150  # for co-occurrence: places on each side; dimensions of a vector
NEIGHBOUR_POWER = 0.75  # power of the frequency of a neighbour
WIDEST = 200.0  # largest number that a word may add to a topic: topics in which texts hardly differ need more


class TopicEncoder(nn.Module):
    """An encoder of token ids (B, T) into topics (B, n). Its tables come from ``fit`` alone."""

    rarity: Tensor
    directions: Tensor
    offset: Tensor

    def __init__(self, vocabulary_size: int, dim: int) -> None:
        super().__init__()
        self.register_buffer("rarity", torch.zeros(vocabulary_size))
        self.register_buffer("directions", torch.zeros(vocabulary_size, dim))
        self.register_buffer("offset", torch.zeros(dim))

    def forward(self, tokens: Tensor) -> Tensor:
        """Return topics (B, n) of texts. A text whose words have no topics gets (1, 0, ..., 0)."""
        times = (tokens[:, :, None] == tokens[:, None, :]).sum(dim=2).to(self.rarity.dtype)  # (B, T)
        share = (1 + times.log()) * self.rarity[tokens] / times
        length = (share.square() * times).sum(dim=1, keepdim=True).sqrt()
        sums = nn.functional.embedding_bag(tokens, self.directions, per_sample_weights=share, mode="sum")
        topics = sums / length.clamp(min=1e-9) - self.offset
        first = nn.functional.one_hot(torch.zeros_like(tokens[:, 0]), topics.shape[1]).to(topics)
        return torch.where(length > 0, topics, first)

    def fit(
        self,
        rows: Sequence[Sequence[int]],
        *,
        seed: int,
        words: Sequence[str] = (),
        cooccurrence: float = COOCCURRENCE,
        meaning: float = 0.0,
    ) -> None:
        """Fit the topics to public texts, given as rows of token ids.

        ``words`` holds the vocabulary in the order of ids; if empty, neither spelling nor meaning is used.
        ``cooccurrence`` and ``meaning`` are the weights of a word's neighbours and meaning, relative to the word.
        Topics in which the public texts hardly differ are left out: to make them as wide as the others, a word
        would have to add more than WIDEST.

        Raises:
            DataError: fewer than two words occur in at least MIN_TEXTS_WITH_WORD texts.
        """
        from sklearn.decomposition import TruncatedSVD  # fitting alone needs scikit-learn, slow to import
        from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer

        counting = CountVectorizer(analyzer=list, vocabulary=range(len(self.rarity)), dtype=np.float64)
        counts = counting.transform(rows)
        known = np.asarray(counts.getnnz(axis=0) >= MIN_TEXTS_WITH_WORD) & (np.arange(len(self.rarity)) >= FIRST_LABEL)
        counts = counts @ scipy.sparse.diags(known.astype(np.float64), format="csr")
        counts.eliminate_zeros()
        found = min(self.directions.shape[1], int(known.sum()) - 1, len(rows) - 1)
        if found < 1:
            raise DataError("topics need texts that share words, got none: set training.content.kind=none")
        weigh = TfidfTransformer(sublinear_tf=True).fit(counts)
        kinds = [scipy.sparse.identity(len(known)), SPELLING * _spelling(words or [""] * len(known))]
        if words and meaning:
            kinds.append(meaning * scipy.sparse.csr_matrix(english_vectors(words)))
        if cooccurrence:
            places = [[word if known[word] else -1 for word in row] for row in rows]
            kinds.append(
                cooccurrence * scipy.sparse.csr_matrix(cooccurrence_vectors(places, words=len(known), seed=seed))
            )
        parts = scipy.sparse.hstack(kinds, format="csr")
        matrix = weigh.transform(counts) @ parts
        decomposition = TruncatedSVD(found, random_state=seed).fit(matrix)
        scores = decomposition.transform(matrix)
        half = np.maximum(scores.std(axis=0), 1e-9) ** -0.5
        rarity = np.where(known, weigh.idf_, 0.0)
        directions = np.asarray(parts @ (decomposition.components_.T * half))
        offset = scores.mean(axis=0) * half
        wide = np.abs(np.vstack([rarity[:, None] * directions, offset])).max(axis=0) <= WIDEST
        self.rarity.copy_(torch.from_numpy(rarity))
        self.directions[:, :found] = torch.from_numpy(directions * wide)
        self.offset[:found] = torch.from_numpy(offset * wide)


def supported_topics(texts: int, *, most: int) -> int:
    """Return the number of topics: one for TEXTS_PER_TOPIC texts, at least 2, at most ``most``."""
    return max(2, min(most, texts // TEXTS_PER_TOPIC))


def _spelling(words: Sequence[str]) -> "scipy.sparse.csr_matrix":
    from sklearn.feature_extraction.text import TfidfVectorizer

    parts = TfidfVectorizer(analyzer="char_wb", ngram_range=PART_LETTERS, min_df=MIN_WORDS)
    try:
        return scipy.sparse.csr_matrix(
            parts.fit_transform(["" if n < FIRST_LABEL else word for n, word in enumerate(words)])
        )
    except ValueError:  # no part is shared
        return scipy.sparse.csr_matrix((len(words), 0))


def cooccurrence_vectors(rows: Sequence[Sequence[int]], *, words: int, seed: int) -> NDArray[np.float64]:
    """Return a unit vector of at most 150 numbers per word; words without neighbours get zeros.

    The vectors factorise the positive pointwise mutual information of words and their neighbours (Levy and
    Goldberg 2014, Sections 3 and 4; Levy, Goldberg and Dagan 2015, Section 3.1). A neighbour d places away
    counts 1/d times. A negative id in ``rows`` has no vector, and is no neighbour.
    """
    from sklearn.decomposition import TruncatedSVD  # fitting alone needs scikit-learn, slow to import
    from sklearn.preprocessing import normalize

    information = _information(rows, words)
    kept = np.flatnonzero(information.getnnz(axis=1))
    if len(kept) < 2:
        return np.zeros((words, 1))
    factors = TruncatedSVD(min(VECTOR_DIMS, len(kept) - 1), random_state=seed).fit(information)
    halved = factors.transform(information) / np.sqrt(np.maximum(factors.singular_values_, 1e-12))
    return np.asarray(normalize(halved), dtype=np.float64)


def _information(rows: Sequence[Sequence[int]], words: int) -> "scipy.sparse.csr_matrix":
    """Return the positive pointwise mutual information (V, V) of each word with each neighbour."""
    near: defaultdict[tuple[int, int], float] = defaultdict(float)
    for row in rows:
        for place, word in enumerate(row):
            for distance, other in enumerate(row[place + 1 : place + 1 + COOCCURRENCE_WINDOW], start=1):
                if word >= 0 and other >= 0:
                    near[word, other] += 1 / distance
    pairs = np.array(list(near), dtype=np.int64).reshape(-1, 2)
    one_way = scipy.sparse.csr_matrix((list(near.values()), pairs.T), shape=(words, words))
    together = (one_way + one_way.T).tocoo()
    of_word = np.asarray(together.sum(axis=1)).ravel()
    of_neighbour = of_word**NEIGHBOUR_POWER / max((of_word**NEIGHBOUR_POWER).sum(), 1e-12)
    found = np.log(together.data / (of_word[together.row] * of_neighbour[together.col]))
    positive = found > 0
    return scipy.sparse.csr_matrix(
        (found[positive], (together.row[positive], together.col[positive])), shape=(words, words)
    )
