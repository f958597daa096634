"""What an utterance is about, as a vector made from public text: the target that a content-first encoder learns.

A latent that is trained only to spell its sentence back spends its directions on form, and the first noise destroys what the
sentence was about. A topic vector has the most frequent *topics* of the public text as its directions, each with the same
variance (whitened), so that equal noise on all directions costs each topic the same. Kinds:

- ``topics``: the encoder itself is the topics, as many as the text supports (``adept.models.topics.encoder``). No labels.
- ``words``: TF-IDF of words and word pairs, its first singular directions, whitened. No labels.
- ``classes``: the same over word classes instead of words (``adept.models.language_model.word_classes``), without the names,
  dates and polite words that fill a question but are not what is asked. No labels.
- ``labels``: square roots of the probabilities of the labels of *public* records, and word directions in what room is left.
- ``air_travel``: the same with the labels of the bundled grammar, for text about travel: no label of the data itself is read.

Everything here is fitted on the rewriter's training text and, for the unsupervised kinds, on as many unlabelled utterances of the
bundled grammar as are asked for (``grammar_texts``): real traffic hardly ever asks some of its questions, the grammar asks
all of its own equally often, and a topic that is frequent has a direction. Private records never come near it.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import normalize

from adept.data import air_travel
from adept.data.corpus import Corpus
from adept.errors import ConfigurationError, DataError
from adept.models.language_model.word_classes import class_spelling
from adept.models.training.config import KINDS

TEACHER_SIZE, WORDS_BESIDE_LABELS = 8000, 0.6

Vectors = NDArray[np.float64]
Encoder = Callable[[Sequence[str]], Vectors]


def fit_content(corpus: Corpus, *, kind: str, dim: int, seed: int = 0, grammar_texts: int = 0) -> Encoder:
    """Fit topic vectors on public text; the result maps N texts to unit vectors (N, dim).

    Args:
        grammar_texts: unlabelled utterances of the bundled grammar beside the corpus, for the unsupervised kinds.

    Raises:
        DataError: there are no labels for kind "labels", or not two of them, or no word at all.
        ConfigurationError: the kind is unknown.
    """
    texts = [*corpus.texts, *_grammar(grammar_texts, balanced=True).texts]
    match kind:
        case "words":
            return _unit(_directions(texts, dim=dim, seed=seed))
        case "classes":
            spell = class_spelling(texts, seed=seed)
            encode = _directions(spell(texts), dim=dim, seed=seed)
            return _unit(lambda texts: encode(spell(texts)))
        case "labels" | "air_travel":
            teacher = corpus if kind == "labels" else _grammar(TEACHER_SIZE)
            return _unit(_label_directions(teacher, corpus.texts, dim=dim, seed=seed))
        case _:
            raise ConfigurationError(f"training.content.kind must be one of {', '.join(KINDS[2:])}, got {kind}")


def _unit(encode: Encoder) -> Encoder:
    """Put vectors on the unit sphere; the zero vector, of a text without a known word, becomes the first axis."""

    def encoded(texts: Sequence[str]) -> Vectors:
        vectors = encode(texts)
        vectors[~vectors.any(axis=1), 0] = 1.0
        return np.asarray(normalize(vectors), dtype=np.float64)

    return encoded


def _directions(texts: Sequence[str], *, dim: int, seed: int) -> Encoder:
    """Return the first ``dim`` singular directions of the texts' TF-IDF after the mean one, whitened; missing ones are 0."""
    features = _tfidf(min_df=3 if len(texts) >= 500 else 1)
    try:
        matrix = features.fit_transform(texts)
    except ValueError:
        raise DataError("topics need words, got texts without any: set training.content.kind=none") from None
    found = min(dim + 1, *(size - 1 for size in matrix.shape))
    if found < 2:
        raise DataError(f"topics need more than {len(texts)} different texts: set training.content.kind=none")
    decomposition = TruncatedSVD(found, random_state=seed).fit(matrix)
    scores = decomposition.transform(matrix)
    mean, scale = scores.mean(axis=0), np.maximum(scores.std(axis=0), 1e-9)

    def encode(others: Sequence[str]) -> Vectors:
        whitened = ((decomposition.transform(features.transform(others)) - mean) / scale)[:, 1:]
        return np.pad(whitened, ((0, 0), (0, dim - whitened.shape[1])))

    return encode


def _tfidf(*, min_df: int = 1) -> Any:
    return TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, token_pattern=r"(?u)\S+", min_df=min_df)


def _label_directions(teacher: Corpus, texts: Sequence[str], *, dim: int, seed: int) -> Encoder:
    """Return square roots of label probabilities and, in the dimensions left, word directions of length .6.

    Square roots of probabilities are a unit vector, and distances between them are Hellinger distances: texts of one label lie
    together, whatever else they say, and words tell them apart in what room is left. Where there are more labels than
    dimensions, the most probable ones are kept.
    """
    if teacher.labels is None or len(set(teacher.labels)) < 2:
        raise DataError("training.content.kind=labels needs at least two labels in the training split: add a column")
    features = _tfidf()
    classifier = LogisticRegression(C=10.0, max_iter=300, class_weight="balanced")
    classifier.fit(features.fit_transform(teacher.texts), teacher.labels)
    room = min(len(classifier.classes_), max(1, dim - 1))
    words = _unit(_directions(texts, dim=dim - room, seed=seed)) if dim > room else None
    common = classifier.predict_proba(features.transform(texts)).mean(axis=0)
    kept = np.argsort(-common, kind="stable")[:room]

    def encode(others: Sequence[str]) -> Vectors:
        labels = np.sqrt(classifier.predict_proba(features.transform(others))[:, kept])
        return labels if words is None else np.hstack([labels, WORDS_BESIDE_LABELS * words(others)])

    return encode


def _grammar(size: int, *, balanced: bool = False) -> Corpus:
    """Return labelled utterances of the bundled grammar: always the same ones."""
    rows = air_travel.generate(seed=0, train=size, validation=1, test=1, balanced=balanced)["train"] if size else []
    return Corpus([row.text for row in rows], [row.intent for row in rows])
