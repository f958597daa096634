"""An encoder of texts into topics, which is linear in a text's words and fitted to public text.

The topics of a text are the components of its TF-IDF vector along the first singular directions of the
TF-IDF vectors of public texts, each divided by the square root of its standard deviation. Features are a
word itself, parts of its spelling, its neighbours (co-occurrence) and its meaning
(``adept.models.word_vectors``).
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array, csr_matrix, diags, hstack, identity
from torch import Tensor, nn

from adept.errors import DataError, ModelError
from adept.mechanisms.policy import COOCCURRENCE, SPELLING
from adept.models.sentences.meanings import MAX_WORDS
from adept.models.tokenizer import FIRST_LABEL
from adept.models.word_vectors import Lexicon

TEXTS_PER_TOPIC, MIN_TEXTS_WITH_WORD = 8, 2  # public texts for each topic; least number of texts with a word
PART_LETTERS, MIN_WORDS = (3, 5), 3  # letters of a part of a word; least number of words with a part
COOCCURRENCE_WINDOW, VECTOR_DIMS = 8, 150  # for co-occurrence: places on each side; dimensions of a vector
NEIGHBOUR_POWER = 0.75  # power of the frequency of a neighbour
MAX_WHOLE_TOPICS = 128  # number of first topics that are computed in whole numbers
TOPIC_LENGTH, TOPIC_UNIT = 127, 1000  # length of a text's topics in whole numbers; parts of one in sums of words
# In parts of one: 32-bit floats hold sums of MAX_WORDS summands exactly. 64-bit floats hold sums of MAX_WORDS squares of
# rarities, and of MAX_WHOLE_TOPICS squares of topics.
MAX_SUMMAND, MAX_RARITY, MAX_TOPIC = (1 << 24) // MAX_WORDS, 1 << 20, 1 << 22
BATCH_TEXTS = 1 << 11  # texts whose sums are computed together, near the processor


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
        would have to add more than half of what ``WordTopics`` accepts.

        Raises:
            DataError: fewer than two words occur in at least MIN_TEXTS_WITH_WORD texts.
        """
        from sklearn.decomposition import TruncatedSVD  # fitting alone needs scikit-learn, slow to import
        from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer

        counting = CountVectorizer(analyzer=list, vocabulary=range(len(self.rarity)), dtype=np.float64)
        counts = counting.transform(rows)
        known = np.asarray(counts.getnnz(axis=0) >= MIN_TEXTS_WITH_WORD) & (np.arange(len(self.rarity)) >= FIRST_LABEL)
        counts = counts @ diags(known.astype(np.float64), format="csr")
        counts.eliminate_zeros()
        found = min(self.directions.shape[1], int(known.sum()) - 1, len(rows) - 1)
        if found < 1:
            raise DataError("topics need texts that share words, got none: set training.content.kind=none")
        weigh = TfidfTransformer(sublinear_tf=True).fit(counts)
        kinds = [identity(len(known)), SPELLING * _spelling(words or [""] * len(known))]
        if words and meaning:
            kinds.append(meaning * csr_matrix(Lexicon.load().of(words)))
        if cooccurrence:
            places = [[word if known[word] else -1 for word in row] for row in rows]
            kinds.append(cooccurrence * csr_matrix(cooccurrence_vectors(places, words=len(known), seed=seed)))
        parts = hstack(kinds, format="csr")
        matrix = weigh.transform(counts) @ parts
        decomposition = TruncatedSVD(found, random_state=seed).fit(matrix)
        scores = decomposition.transform(matrix)
        half = np.maximum(scores.std(axis=0), 1e-9) ** -0.5
        rarity = np.where(known, weigh.idf_, 0.0)
        directions = np.asarray(parts @ (decomposition.components_.T * half))
        offset = scores.mean(axis=0) * half
        wide = np.abs(np.vstack([rarity[:, None] * directions, offset])).max(axis=0) <= MAX_SUMMAND / TOPIC_UNIT / 2
        self.rarity.copy_(torch.from_numpy(rarity))
        self.directions[:, :found] = torch.from_numpy(directions * wide)
        self.offset[:found] = torch.from_numpy(offset * wide)


class WordTopics:
    """A calculator of the topics of texts in whole numbers, which floats hold exactly.

    The vector of a text's first MAX_WHOLE_TOPICS topics is scaled to the norm TOPIC_LENGTH and rounded.

    *Claim*: the topics of a text of at most MAX_WORDS words depend on its set of words and on the encoder
    alone: not on the order of the words, nor on other texts. *Reason*: the program checks the encoder's
    numbers, so that every sum is a whole number that floats hold exactly, in any order
    (``docs/proofs.md``, "Topics in whole numbers").

    Raises:
        ModelError: a number of the encoder, which comes from the model's file, is too large.
    """

    def __init__(self, encoder: TopicEncoder, vocabulary: Mapping[str, int]) -> None:
        self._ids = {word: number for word, number in vocabulary.items() if number >= FIRST_LABEL}
        self._rarity = _in_units(encoder.rarity).astype(np.int64)
        self._directions = encoder.directions[:, :MAX_WHOLE_TOPICS].cpu().numpy()
        self._offset = _in_units(encoder.offset[:MAX_WHOLE_TOPICS])
        added = np.abs(self._added(np.arange(len(self._rarity)))).max(axis=1)
        ratio = float((added / np.maximum(self._rarity, 1)).max())
        largest = TOPIC_UNIT * ratio * math.sqrt(MAX_WORDS) + float(np.abs(self._offset).max()) + 1
        if not (
            0 <= self._rarity.min() <= self._rarity.max() <= MAX_RARITY
            and added.max() <= MAX_SUMMAND
            and largest <= MAX_TOPIC
        ):
            raise ModelError("the model's topics are too large for exact sums: train the model again or restore it")

    def _added(self, ids: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return what each word adds to a text's topics (V, n), in parts of one."""
        return np.asarray(np.rint(self._rarity[ids, None] * self._directions[ids]))

    def of_table(self, words: Iterable[str], table: csr_array) -> NDArray[np.int8]:
        """Return the topics (N, n) of texts (rows) that contain the words (columns) of a 0/1 table; zeros without any."""
        ids = np.array([self._ids.get(word, 0) for word in words] or [0])
        known = ids > 0
        rarity, directions = self._rarity[ids] * known, (self._added(ids) * known[:, None]).astype(np.float32)
        lengths = np.sqrt((table @ rarity**2).astype(np.float64))
        found = np.zeros((table.shape[0], directions.shape[1]), dtype=np.int8)
        for begin in range(0, len(found), BATCH_TEXTS):
            rows = slice(begin, begin + BATCH_TEXTS)
            found[rows] = self._at_length(table[rows] @ directions, lengths[rows, None])
        return found

    def _at_length(self, sums: NDArray[np.float32], lengths: NDArray[np.float64]) -> NDArray[np.float64]:
        topics = np.rint(sums * (TOPIC_UNIT / np.maximum(lengths, 1)) - self._offset) * (lengths > 0)
        norms = np.sqrt(np.einsum("nd,nd->n", topics, topics))
        return np.asarray(np.rint(topics * (TOPIC_LENGTH / np.maximum(norms, 1))[:, None]))


def _in_units(values: Tensor) -> NDArray[np.float64]:
    return np.rint(TOPIC_UNIT * values.cpu().numpy().astype(np.float64))


def supported_topics(texts: int, *, most: int) -> int:
    """Return the number of topics: one for TEXTS_PER_TOPIC texts, at least 2, at most ``most``."""
    return max(2, min(most, texts // TEXTS_PER_TOPIC))


def _spelling(words: Sequence[str]) -> csr_matrix:
    from sklearn.feature_extraction.text import TfidfVectorizer

    parts = TfidfVectorizer(analyzer="char_wb", ngram_range=PART_LETTERS, min_df=MIN_WORDS)
    try:
        return csr_matrix(parts.fit_transform(["" if n < FIRST_LABEL else word for n, word in enumerate(words)]))
    except ValueError:  # no part is shared
        return csr_matrix((len(words), 0))


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


def _information(rows: Sequence[Sequence[int]], words: int) -> csr_matrix:
    """Return the positive pointwise mutual information (V, V) of each word with each neighbour."""
    near: defaultdict[tuple[int, int], float] = defaultdict(float)
    for row in rows:
        for place, word in enumerate(row):
            for distance, other in enumerate(row[place + 1 : place + 1 + COOCCURRENCE_WINDOW], start=1):
                if word >= 0 and other >= 0:
                    near[word, other] += 1 / distance
    pairs = np.array(list(near), dtype=np.int64).reshape(-1, 2)
    one_way = csr_matrix((list(near.values()), pairs.T), shape=(words, words))
    together = (one_way + one_way.T).tocoo()
    of_word = np.asarray(together.sum(axis=1)).ravel()
    of_neighbour = of_word**NEIGHBOUR_POWER / max((of_word**NEIGHBOUR_POWER).sum(), 1e-12)
    found = np.log(together.data / (of_word[together.row] * of_neighbour[together.col]))
    positive = found > 0
    return csr_matrix((found[positive], (together.row[positive], together.col[positive])), shape=(words, words))
