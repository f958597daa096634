"""Topics that are read off a record's words, without a network: the encoder where content comes first.

An LSTM that learns to point along the topics of a few thousand public texts knows them for those texts and guesses for others; the
topics themselves are a linear map, and a map needs no guessing. What public text supports is one topic for every eight texts,
and at most 400: of HWU64's 64 intents a classifier read .65 from text at eps = 8 with 64 topics, .69 with 128 and .73 with 400
(validation split, one seed, public texts in the decoder's place; on ATIS 128 to 400 are the same).

A text is the unit vector of its words, each weighted by the logarithm of how often it stands there and by how rare it is
in public text (TF-IDF). Topics are the first singular directions of the public ones, half whitened: divided by the square root of
their standard deviation, so that what few texts talk about counts for more than in the text and for less than what many do.

Words are also known by their *spelling*: "cancelled" shares most of its letters with "cancel" and most of its meaning. So each word
counts as itself and, with a weight of .8, as the unit vector of its parts of three to five letters, and topics are those of texts
so described. What a word adds to a topic is then a sum over its parts, which is worked out once: a table of words it remains.
(Ridge regression on released codewords, validation splits, without and with spelling: HWU64 .553 and .597 at eps = 4, .713 and .731
at 8; ATIS .737 and .740, .832 and .838; SNIPS, at a weight of 1.2, .935 and .943, .972 and .975. Word classes in their place gave
nothing; pairs of word classes gave ATIS .01 and took .01 to .04 from HWU64.)

And by their *company*: "raise" and "increase" share no letter, but stand beside the same words. So each word counts, with a weight
of 1.5, as the unit vector of its company as well (``adept.models.topics.cooccurrence``). (Ridge regression again, eps = 2, 4 and
8, two seeds, without and with company: HWU64 .242, .588, .730 and .292, .633, .744; ATIS .714, .739, .837 and .714, .741, .844;
SNIPS, one seed, .923, .941, .975 and .960, .969, .976. Vectors of 150 or 300 dimensions, windows of 3, 8 or 40 words, company
from 116,000 more public utterances, and weights of 1 to 2.5 differ by .01 to .02 in both directions.)

A model that is to serve domains which its public text lacks knows words by their *meaning* too, with a weight of 3: the vector
that a lexicon of English has for each (``adept.models.tokenizer.lexicon``), also where examples adapt it. (Packaged model with a
lexicon distilled nearly like the one that it has, validation splits, three seeds, with weights of 1.5 and 3: HWU64 .393 and .423
at eps = 4, .619 and .621 at 8, SNIPS .900 and .899, .945 and .942. With 500 examples and weights of 0, 1.5 and 3 in their topics:
HWU64 .533, .550, .556 and .712, .737, .753, SNIPS .957, .953, .946 and .968, .968, .965.) Where half of a corpus is public, HWU64
gains .02 at eps = 4 and nothing at 8, ATIS and SNIPS lose up to .01 (two seeds, public texts in the decoder's place): there
meaning is left out.

Everything is fitted on public text, before any training; a record's latent depends on its own tokens alone.
"""

from collections import Counter
from collections.abc import Sequence

import numpy as np
import torch
from scipy.sparse import csr_matrix, hstack, identity
from torch import Tensor, nn

from adept.errors import DataError
from adept.models.tokenizer.lexicon import Lexicon
from adept.models.tokenizer.pipeline import FIRST_LABEL
from adept.models.topics.cooccurrence import company_vectors

TOPICS = "topics"  # the kind of content, and the encoder
TEXTS_PER_TOPIC, FEWEST = 8, 2  # public texts for each topic; texts that a word must stand in
LETTERS, WORDS_WITH = (3, 5), 3  # of a part of a word; words that it must stand in
SPELLED, COMPANY, MEANT = 0.8, 1.5, 3.0  # what spelling, company and meaning weigh beside the word itself


class TopicEncoder(nn.Module):
    """Maps token ids (B, T) to topics (B, n), by buffers that are saved with the model and that no training changes.

    Args:
        vocabulary_size: V.
        dim: topics n.
    """

    rarity: Tensor
    directions: Tensor
    offset: Tensor

    def __init__(self, vocabulary_size: int, dim: int) -> None:
        super().__init__()
        self.register_buffer("rarity", torch.zeros(vocabulary_size))
        self.register_buffer("directions", torch.zeros(vocabulary_size, dim))
        self.register_buffer("offset", torch.zeros(dim))

    def forward(self, tokens: Tensor) -> Tensor:
        """Return topics (B, n), of any length; a text without a known word gets the first axis.

        A word that stands c times in its text has c shares of (1 + log c) times its rarity: sums over places, so that each row
        goes through the same arithmetic whatever the other rows hold.
        """
        times = (tokens[:, :, None] == tokens[:, None, :]).sum(dim=2)  # (B, T)
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
        company: float = COMPANY,
        meaning: float = 0.0,
    ) -> None:
        """Fit topics on the token ids of public texts; what the texts do not support stays zero.

        Args:
            rows: token ids of each text.
            seed: of the decomposition.
            words: the V words in the order of their ids; without them words have neither spelling nor meaning.
            company: what company weighs; 0 suits texts that are too few to tell it.
            meaning: what meaning weighs: MEANT for a model that is to serve domains which these texts lack.

        Raises:
            DataError: there are no two words that two texts share.
        """
        from sklearn.decomposition import TruncatedSVD  # fitting alone needs scikit-learn, slow to import
        from sklearn.feature_extraction.text import TfidfTransformer

        counts = _counts(rows, vocabulary_size=len(self.rarity))
        known = np.asarray(counts.getnnz(axis=0) > 0)
        found = min(self.directions.shape[1], int(known.sum()) - 1, len(rows) - 1)
        if found < 1:
            raise DataError("topics need texts that share words, got none: set training.content.kind=none")
        weigh = TfidfTransformer(sublinear_tf=True).fit(counts)
        kinds = [identity(len(known)), SPELLED * _spelling(words or [""] * len(known))]
        if words and meaning:
            kinds.append(meaning * csr_matrix(Lexicon.load().of(words)))
        if company:
            places = [[word if known[word] else -1 for word in row] for row in rows]
            kinds.append(company * csr_matrix(company_vectors(places, words=len(known), seed=seed)))
        parts = hstack(kinds, format="csr")
        matrix = weigh.transform(counts) @ parts
        decomposition = TruncatedSVD(found, random_state=seed).fit(matrix)
        scores = decomposition.transform(matrix)
        half = np.maximum(scores.std(axis=0), 1e-9) ** -0.5
        self.rarity.copy_(torch.from_numpy(np.where(known, weigh.idf_, 0.0)))
        self.directions[:, :found] = torch.from_numpy(parts @ (decomposition.components_.T * half))
        self.offset[:found] = torch.from_numpy(scores.mean(axis=0) * half)


def supported_topics(texts: int, *, most: int) -> int:
    """Return how many topics a number of public texts supports, at most ``most`` and at least 2."""
    return max(2, min(most, texts // TEXTS_PER_TOPIC))


def _spelling(words: Sequence[str]) -> csr_matrix:
    """Return the parts of each word as unit rows (V, parts); special tokens have none."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    parts = TfidfVectorizer(analyzer="char_wb", ngram_range=LETTERS, min_df=WORDS_WITH)
    try:
        return csr_matrix(parts.fit_transform(["" if n < FIRST_LABEL else word for n, word in enumerate(words)]))
    except ValueError:  # no part is shared
        return csr_matrix((len(words), 0))


def _counts(rows: Sequence[Sequence[int]], *, vocabulary_size: int) -> csr_matrix:
    """Return how often each word stands in each text (N, V), without special tokens and words of a single text."""
    texts_with = Counter(word for row in rows for word in set(row))
    entries = Counter(
        (place, word)
        for place, row in enumerate(rows)
        for word in row
        if word >= FIRST_LABEL and texts_with[word] >= FEWEST
    )
    places, words = np.array(list(entries), dtype=np.int64).reshape(-1, 2).T
    times = np.array(list(entries.values()), dtype=np.float64)
    return csr_matrix((times, (places, words)), shape=(len(rows), vocabulary_size))
