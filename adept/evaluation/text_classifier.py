"""The classifiers "text" and "tfidf": word n-grams beside the sentence encoder's vector, in one linear model.

The weights of a text's words and word pairs (TF-IDF, which counts rare ones more) form a vector of length 1. The
vector of the sentence encoder (``adept.models.sentence_encoder``) stands beside it. The encoder was
learned from English: if it knows too few words of the training texts, n-grams are read alone.

*text*: the fewer rows, the longer is the encoder's vector. Names of labels are training texts, too, and so are public
examples if there are some. How much they count, and the strength of the regression, depend on public
numbers alone: epsilon, and the numbers of rows and of examples for each label. Nothing is searched for, and
the same rules hold for rewrites and for original text. All numbers were chosen on validation splits
(``docs/decisions.md``, "One classifier for every row").

*tfidf*: cross-validation chooses the strength of the regression.
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from torch import Tensor

from adept.data.corpus import Corpus
from adept.data.texts import separate_characters, text_list
from adept.errors import DataError
from adept.evaluation.softmax_regression import Features, best_labels, commonness, softmax_regression
from adept.mechanisms import policy
from adept.models.label_names import spell_name
from adept.models.sentence_encoder import LENGTH, SentenceEncoder, reads_as_english

TEMPERATURES = 2.0 ** torch.arange(-2.0, 2.75, 0.25, dtype=torch.float32)  # factors by which scores are multiplied
FOLDS = 3

Fold = tuple[Tensor, Tensor]  # counts of the training texts, and of the held-out texts


def weigh_rewrite(epsilon: float, *, rows: float, examples: float) -> float:
    """Return the number of public examples as which a rewrite counts beside them; 1 for original text.

    Args:
        epsilon: budget of the rewrite; infinite for original text.
        rows: number of rewrites for each label, on average.
        examples: number of public examples for each label, on average.
    """
    return min(1.0, epsilon / policy.REWRITE_NATS, policy.REWRITES_PER_EXAMPLE * epsilon**2 * examples / rows)


def weigh_name(epsilon: float, rows: float) -> float:
    """Return the number of records as which a label's name counts.

    Args:
        epsilon: budget of the texts; infinite for original text.
        rows: number of records for each label, on average.
    """
    least, few, most = policy.NAME_WEIGHTS
    least = max(least, min(few, policy.NAMED_ROWS / rows))
    return min(most, max(least, policy.NAME_NATS / epsilon if epsilon else most))


def choose_strength(rows: float, epsilon: float, *, records: float = math.inf) -> float:
    """Return the strength (scikit-learn's C) for so many records of each label, halved for few rewrites in all."""
    (least, most), clear = policy.STRENGTH_FACTORS, epsilon / policy.STRENGTH_NATS
    trust = 1.0 if epsilon == math.inf else min(1.0, max(0.5, records / policy.MANY_RECORDS))
    return trust * min(policy.MAX_TEXT_STRENGTH, policy.TEXT_STRENGTH / math.sqrt(rows)) * min(most, max(least, clear))


def choose_length(rows: float, epsilon: float) -> float:
    """Return the length of the encoder's vector: with more and clearer texts, n-grams say more beside it."""
    least, most = policy.ENCODER_LENGTHS
    few = policy.FEW_ROWS * (max(1.0, policy.CLEAR_NATS / epsilon) if epsilon else rows)
    return max(least, most * min(1.0, math.sqrt(few / rows)))


class LinearClassifier:
    """A linear classifier of two or more labels, which reads n-grams and meanings.

    Args:
        parts: texts with labels, and how much each text of a part weighs.
        noisy_labels: if True, labels were randomised.
        length: length of the encoder's vector.
        drops_rare: if True, and there are many texts, an n-gram counts only if several texts hold it.

    Raises:
        DataError: all texts are empty.
    """

    def __init__(
        self,
        parts: Sequence[tuple[Corpus, float]],
        *,
        noisy_labels: bool,
        length: float = 1.0,
        drops_rare: bool = False,
    ) -> None:
        texts = [separate_characters(text) for part, _ in parts for text in part.texts]
        labels = [label for part, _ in parts for label in part.labels or []]
        place = {text: index for index, text in enumerate(dict.fromkeys(texts))}
        self.names, self._noisy_labels, self._length = sorted(set(labels)), noisy_labels, length
        number = {label: index for index, label in enumerate(self.names)}
        # (N,): the index of each text among the distinct texts and of its label among the names, and its weight
        self.rows = np.array([place[text] for text in texts], dtype=np.int64)
        self.columns = np.array([number[label] for label in labels], dtype=np.int64)
        self._times = np.repeat([weight for _, weight in parts], [len(part) for part, _ in parts])
        self._distinct = len(place)
        holders = policy.MIN_NGRAM_HOLDERS if drops_rare and len(place) >= policy.MANY_NGRAM_TEXTS else 1
        self._tfidf, counted = count_ngrams([*place], holders=holders)
        self._encoder = SentenceEncoder.load() if reads_as_english([*place][: policy.KNOWN_TEXTS]) else None
        self._features = self._read(counted, [*place])
        self._counts, self._weights = self.count(), torch.empty(0)

    def _read(self, counted: csr_matrix, texts: Sequence[str]) -> Features:
        """Return TF-IDF weights (N, V) of texts and, beside them, the encoder's vectors, scaled to a length."""
        if self._encoder is None:
            return Features.of(counted)
        meanings = self._encoder.encode(texts).astype(np.float32) * np.float32(self._length / LENGTH)
        return Features.of(counted, torch.from_numpy(meanings))

    def count(self, chosen: NDArray[np.bool_] | slice = slice(None)) -> Tensor:
        """Return the weights (m, L) of all chosen texts: how often each distinct text has each label."""
        size, times = len(self.names), self._times[chosen]
        cells = np.bincount(self.rows[chosen] * size + self.columns[chosen], times, minlength=self._distinct * size)
        return torch.from_numpy(cells.astype(np.float32)).reshape(self._distinct, size)

    def predict(self, texts: Sequence[str], weights: Tensor | None = None) -> list[str]:
        """Return the likeliest label of each text, given other weights than the fitted ones if there are some."""
        texts, used = [*map(separate_characters, text_list(texts))], self._weights if weights is None else weights
        common = commonness(self._features, used, self._counts, noisy_labels=self._noisy_labels)
        found = best_labels(self._read(self._tfidf.transform(texts).tocsr(), texts), used, common)
        return [self.names[place] for place in found.tolist()]


class EncoderClassifier(LinearClassifier):
    """The classifier "text", for two or more labels; ``classifiers.predict`` explains its arguments."""

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
        names = sorted({*(train.labels or []), *(public.labels or [])})
        rows, known = len(train) / samples / len(names), len(public) / len(names)
        weight = weigh_rewrite(epsilon, rows=rows, examples=known) if known else 1.0
        clear = math.inf if known else epsilon  # examples are original text
        rows = weight * rows + known
        length, named_rows = choose_length(rows, clear), rows
        strength = choose_strength(rows, clear, records=rows * len(names))
        if noisy_labels:  # which call for the simplest classifier; few rows were measured with copied labels alone
            length, named_rows = policy.ENCODER_LENGTHS[1], math.inf
            strength = policy.NOISY_FACTOR * choose_strength(rows, policy.STRENGTH_NATS)
        spelled = {label: name for label in names if (name := spell_name(label))}
        named = Corpus([*spelled.values()], [*spelled])
        parts = [(train, weight / samples), (public, 1.0), (named, weigh_name(clear, named_rows))]
        super().__init__(parts, noisy_labels=noisy_labels, length=length, drops_rare=True)
        strength *= 1 if self._encoder else policy.NGRAM_FACTOR
        self._weights = softmax_regression(self._features, self._counts, strength=strength)


class HeldOut(NamedTuple):
    """The measures of a classifier on texts that were held out from its training."""

    likelihood: float  # mean log likelihood of a text's label, in nats, at the best of TEMPERATURES
    hits: float  # share of texts with a correct label
    error: float  # standard error of ``hits``
    weights: list[Tensor]  # the weights fitted for each fold


class TfidfClassifier(LinearClassifier):
    """The classifier "tfidf", for two or more labels; ``classifiers.predict`` explains its arguments."""

    def __init__(self, train: Corpus, *, samples: int = 1, noisy_labels: bool = False) -> None:
        super().__init__([(train, 1.0)], noisy_labels=noisy_labels)
        self.samples = samples
        self._start: Tensor | None = None

    def fit(self, *, strength: float) -> Tensor:
        """Return weights (d + 1, L) fitted to all texts.

        The texts of one record together weigh as much as one text.
        """
        return softmax_regression(self._features, self._counts, strength=strength / self.samples, start=self._start)

    def tune(self) -> float:
        """Choose the strength (the inverse penalty) of the regression by cross-validation.

        The strengths are tried in increasing order, until one is no better than the strength before it. A strength up
        to STANDARD_STRENGTH is better than the strength before it if the labels of held-out texts get a larger
        likelihood, at the best of TEMPERATURES. A strength above STANDARD_STRENGTH is better if the share of held-out
        texts with a correct label grows by more than a standard error (``docs/decisions.md``, "Strength").
        """
        parts = self._folds()
        if not parts:
            return policy.STRENGTHS[-1]
        best, found = policy.STRENGTHS[0], self._read_held_out(parts, policy.STRENGTHS[0], [None] * len(parts))
        for strength in policy.STRENGTHS[1:]:
            tried = self._read_held_out(parts, strength, found.weights)
            likelier, hits_more = tried.likelihood > found.likelihood, tried.hits > found.hits + found.error
            if not (likelier if strength <= policy.STANDARD_STRENGTH else hits_more):
                break
            best, found = strength, tried
        self._start = torch.stack(found.weights).mean(dim=0)
        return best

    def _read_held_out(self, parts: list[Fold], strength: float, starts: Sequence[Tensor | None]) -> HeldOut:
        scaled, weights, hits, likelihood = strength / self.samples, [], 0.0, torch.zeros(len(TEMPERATURES))
        for (inside, outside), start in zip(parts, starts, strict=True):
            fitted = softmax_regression(self._features, inside, strength=scaled, start=start, steps=20)
            judged = outside.any(dim=1)
            scores, counts = self._features.scores(fitted)[judged], outside[judged]
            likelihood += torch.stack([(counts * (scores * by).log_softmax(dim=1)).sum() for by in TEMPERATURES])
            hits += float(counts.gather(1, scores.argmax(dim=1)[:, None]).sum())
            weights.append(fitted)
        texts = sum(float(outside.sum()) for _, outside in parts)
        share = hits / texts
        error = (share * (1 - share) * self.samples / texts) ** 0.5
        return HeldOut(float(likelihood.max()) / texts, share, error, weights)

    def _folds(self) -> list[Fold]:
        # All copies of a text and all texts of a record are in one fold: if they were on both sides, a
        # large strength would memorise their labels.
        records = len(self.rows) // self.samples
        _, firsts = np.unique(self.rows, return_index=True)
        fold = (np.random.default_rng(0).permutation(records) % FOLDS)[firsts // self.samples][self.rows]
        # With few distinct texts, a fold may be empty; with many records, one fold is enough
        folds = np.unique(fold)[: 1 if records > 1500 else FOLDS]
        parts = [(self.count(fold != i), self.count(fold == i)) for i in folds]
        judged = all(int((inside.sum(dim=0) > 0).sum()) > 1 for inside, _ in parts)
        return parts if records >= 100 and judged else []  # with fewer, nothing is tuned


def count_ngrams(texts: Sequence[str], *, holders: int = 1) -> tuple[Any, csr_matrix]:
    """Return scikit-learn's TfidfVectorizer of the n-grams that so many texts hold, and the weights (N, V).

    Raises:
        DataError: all texts are empty.
    """
    from sklearn.feature_extraction.text import TfidfVectorizer  # slow to import

    read: dict[str, Any] = {"ngram_range": (1, 2), "token_pattern": r"(?u)\S+"}
    try:
        vectorizer = TfidfVectorizer(**read, sublinear_tf=True, dtype=np.float32, min_df=holders)
        return vectorizer, vectorizer.fit_transform(texts).tocsr()
    except ValueError as error:
        if "empty vocabulary" in str(error):
            raise DataError("train must hold at least one word: all its texts are empty") from None
        if holders > 1:  # no two texts share a word
            return count_ngrams(texts)
        raise
