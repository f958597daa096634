"""The classifier "text": word n-grams beside the sentence encoder's vector, in one linear model.

The weights of a text's words and word pairs (TF-IDF) form a vector of length 1. The vector of the
sentence encoder (``adept.models.sentence_encoder``) stands beside it; the fewer rows, the longer it is.
The encoder was learned from English: if it knows too few words of the training texts, n-grams are
read alone.
Names of labels are training texts, too, and so are public examples if there are some. How much they
count, and the strength of the regression, depend on public numbers alone: epsilon, and the numbers
of rows and of examples for each label. Nothing is searched for, and the same rules hold for
rewrites and for original text. All numbers were chosen on validation splits
(``docs/decisions.md``, "One classifier for every row").
"""

import math
import re
from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from torch import Tensor

from adept.data.corpus import Corpus
from adept.data.texts import separate_characters, text_list
from adept.evaluation.label_names import spell_names
from adept.evaluation.ngrams import count_ngrams
from adept.evaluation.softmax_regression import Features, best_labels, commonness, softmax_regression
from adept.models.sentence_encoder import LENGTH, SentenceEncoder

ENCODER_LENGTHS = 1.0, 2.0  # least and largest length of the encoder's vector; the TF-IDF vector has length 1
FEW_ROWS, CLEAR_NATS = 15.0, 8.0  # rows for each label up to which it is the largest; times CLEAR_NATS / epsilon below
STRENGTH, MAX_STRENGTH = 4.0, 0.3  # the strength is STRENGTH / sqrt(rows for each label), at most MAX_STRENGTH, times
STRENGTH_NATS, FACTORS = 4.0, (1 / 3, 3.0)  # epsilon / STRENGTH_NATS, within FACTORS: clear texts allow more
NGRAM_FACTOR, NOISY_FACTOR = 5.0, 1 / 3  # times as strong: if n-grams are read alone, and if labels are randomised
KNOWN_TEXTS, MIN_KNOWN_SHARE = 1000, 0.75  # texts whose words are looked up; share of words that the encoder must know
MANY_TEXTS, MIN_HOLDERS = 2000, 2  # among MANY_TEXTS or more texts, MIN_HOLDERS texts must hold an n-gram
NAME_NATS, NAME_WEIGHTS = 40.0, (3.0, 20.0)  # a name counts as NAME_NATS / epsilon records, within NAME_WEIGHTS

REWRITE_NATS = 48.0  # beside examples, a rewrite counts as epsilon / REWRITE_NATS examples, at most 1
REWRITES_PER_EXAMPLE = 0.25  # beside an example, rewrites count together as this times epsilon^2 examples at most


def weigh_rewrite(epsilon: float, *, rows: float, examples: float) -> float:
    """Return the number of public examples as which a rewrite counts beside them; 1 for original text.

    Args:
        epsilon: budget of the rewrite; infinite for original text.
        rows: number of rewrites for each label, on average.
        examples: number of public examples for each label, on average.
    """
    return min(1.0, epsilon / REWRITE_NATS, REWRITES_PER_EXAMPLE * epsilon**2 * examples / rows)


def weigh_name(epsilon: float) -> float:
    """Return the number of records as which a label's name counts, if texts have this epsilon (infinite: original)."""
    least, most = NAME_WEIGHTS
    return min(most, max(least, NAME_NATS / epsilon if epsilon else most))


def choose_strength(rows: float, epsilon: float) -> float:
    """Return the strength of the regression (scikit-learn's C) for a mean number of records for each label."""
    least, most = FACTORS
    return min(MAX_STRENGTH, STRENGTH / math.sqrt(rows)) * min(most, max(least, epsilon / STRENGTH_NATS))


def choose_length(rows: float, epsilon: float) -> float:
    """Return the length of the encoder's vector: with more and clearer texts, n-grams say more beside it."""
    least, most = ENCODER_LENGTHS
    few = FEW_ROWS * (max(1.0, CLEAR_NATS / epsilon) if epsilon else rows)
    return max(least, most * min(1.0, math.sqrt(few / rows)))


class EncoderClassifier:
    """The classifier "text", for two or more labels; ``evaluate`` explains its arguments."""

    def __init__(
        self,
        train: Corpus,
        *,
        samples: int = 1,
        noisy_labels: bool = False,
        epsilon: float = math.inf,
        examples: Corpus | None = None,
    ) -> None:
        public = examples or Corpus([], [])
        self.names, self._noisy_labels = sorted({*(train.labels or []), *(public.labels or [])}), noisy_labels
        rows, known = len(train) / samples / len(self.names), len(public) / len(self.names)
        weight = weigh_rewrite(epsilon, rows=rows, examples=known) if known else 1.0
        clear = math.inf if known else epsilon  # examples are original text
        parts = [
            (train, weight / samples),
            (public, 1.0),
            (_list_names(self.names), weigh_name(clear)),
        ]
        rows = weight * rows + known
        if noisy_labels:  # which call for the simplest classifier
            self._length, strength = ENCODER_LENGTHS[1], NOISY_FACTOR * choose_strength(rows, STRENGTH_NATS)
        else:
            self._length, strength = choose_length(rows, clear), choose_strength(rows, clear)
        self._fit(parts, strength=strength)

    def _fit(self, parts: Sequence[tuple[Corpus, float]], *, strength: float) -> None:
        texts = [separate_characters(text) for part, _ in parts for text in part.texts]
        place = {text: index for index, text in enumerate(dict.fromkeys(texts))}
        self._tfidf, counted = count_ngrams([*place], holders=MIN_HOLDERS if len(place) >= MANY_TEXTS else 1)
        self._encoder = encoder_for([*place])
        self._features = read_meanings(counted, [*place], self._encoder, self._length)
        labels = [label for part, _ in parts for label in part.labels or []]
        weights = np.repeat([weight for _, weight in parts], [len(part) for part, _ in parts])
        self._counts = self._count([place[text] for text in texts], labels, weights)
        strength *= 1 if self._encoder else NGRAM_FACTOR
        self._weights = softmax_regression(self._features, self._counts, strength=strength)

    def predict(self, texts: Sequence[str]) -> list[str]:
        """Return the likeliest label of each text."""
        texts = [*map(separate_characters, text_list(texts))]
        features = read_meanings(self._tfidf.transform(texts).tocsr(), texts, self._encoder, self._length)
        common = commonness(self._features, self._weights, self._counts, noisy_labels=self._noisy_labels)
        found = best_labels(features, self._weights, common)
        return [self.names[place] for place in found.tolist()]

    def _count(self, rows: list[int], labels: list[str], weights: NDArray[np.float64]) -> Tensor:
        """Return the sums (m, L) of the weights of equal texts with equal labels."""
        number = {label: index for index, label in enumerate(self.names)}
        counts = np.zeros((max(rows) + 1, len(number)))
        np.add.at(counts, (rows, [number[label] for label in labels]), weights)
        return torch.from_numpy(counts.astype(np.float32))


def encoder_for(texts: Sequence[str]) -> SentenceEncoder | None:
    """Return the sentence encoder, or None if it knows too few words of the first texts."""
    return SentenceEncoder.load() if reads_as_english(texts[:KNOWN_TEXTS]) else None


def read_meanings(
    counted: csr_matrix, texts: Sequence[str], encoder: SentenceEncoder | None, length: float = 1.0
) -> Features:
    """Return TF-IDF weights (N, V) of texts and, beside them, the encoder's vectors, scaled to a length."""
    if encoder is None:
        return Features.of(counted)
    return Features.of(
        counted, torch.from_numpy(encoder.encode(texts).astype(np.float32) * np.float32(length / LENGTH))
    )


def _list_names(labels: Sequence[str]) -> Corpus:
    """Return the names of labels that have a word, as texts with their labels."""
    named = {label: name for label, name in zip(labels, spell_names(labels), strict=True) if name}
    return Corpus([*named.values()], [*named])


def reads_as_english(texts: Sequence[str]) -> bool:
    """Return True if the sentence encoder knows most words of the texts."""
    encoder, words = SentenceEncoder.load(), re.findall(r"[^\W\d_]+", " ".join(texts))
    known = sum(map(encoder.knows, words))
    return bool(known >= MIN_KNOWN_SHARE * len(words))
