"""Figures of merit of predictions and of rewritten text, and how sure of them one can be."""

import itertools
import math
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Labels = NDArray[np.int64]


@dataclass(frozen=True)
class Interval:
    """A figure and the ends of its confidence interval."""

    value: float
    low: float
    high: float


def accuracy(truth: Labels, predicted: Labels) -> float:
    """Return the share of records whose predicted label is the true one."""
    return float((truth == predicted).mean())


def macro_f1(truth: Labels, predicted: Labels) -> float:
    """Return F1 averaged over the labels that occur in ``truth``; a label never predicted counts as 0."""
    size = int(max(truth.max(), predicted.max())) + 1
    hits = np.bincount(truth[truth == predicted], minlength=size)
    occurrences, predictions = np.bincount(truth, minlength=size), np.bincount(predicted, minlength=size)
    present = occurrences > 0
    return float((2 * hits[present] / (occurrences[present] + predictions[present])).mean())


def codes(*columns: Sequence[str]) -> tuple[Labels, ...]:
    """Return label columns as integers under one common numbering."""
    numbering = {label: code for code, label in enumerate(sorted(set().union(*columns)))}
    return tuple(np.array([numbering[label] for label in column], dtype=np.int64) for column in columns)


def bootstrap(
    metric: Callable[[Labels, Labels], float],
    truth: Labels,
    predicted: Labels,
    *,
    resamples: int = 1000,
    confidence: float = 0.95,
    seed: int = 0,
) -> Interval:
    """Return a metric with its percentile bootstrap interval over the test records (Efron 1979)."""
    rng = np.random.default_rng(seed)
    draws = (rng.integers(len(truth), size=len(truth)) for _ in range(resamples))
    values = [metric(truth[draw], predicted[draw]) for draw in draws]
    low, high = np.quantile(values, [(1 - confidence) / 2, (1 + confidence) / 2])
    return Interval(metric(truth, predicted), float(low), float(high))


def token_overlap(records: Sequence[str], rewrites: Sequence[str]) -> float:
    """Return the mean Jaccard index of the words of each record and of its rewrite; two empty texts overlap wholly."""
    pairs = [(set(record.split()), set(rewrite.split())) for record, rewrite in zip(records, rewrites, strict=True)]
    return float(np.mean([len(a & b) / len(a | b) if a | b else 1.0 for a, b in pairs]))


def bleu(records: Sequence[str], rewrites: Sequence[str]) -> float:
    """Return corpus BLEU of rewrites against their records, 0 to 100, words as they stand (sacrebleu; Papineni et al. 2002)."""
    import sacrebleu

    return float(sacrebleu.corpus_bleu(list(rewrites), [list(records)], tokenize="none", force=True).score)


def distinct_ratio(texts: Sequence[str]) -> float:
    """Return the share of texts that are different from all before them."""
    return len(set(texts)) / len(texts)


@dataclass(frozen=True)
class Verbatim:
    """How often rewrites repeat, word for word: their own record, any private record of equal odds, a public text."""

    own: float  # share of rewrites that are their own record
    chance: float  # the same share in expectation, if rewrites were dealt to records at random
    public: float  # share of rewrites that are a text of the rewriter's training data


def verbatim(records: Sequence[str], rewrites: Sequence[str], public: Collection[str]) -> Verbatim:
    """Count verbatim repetitions; ``records`` and ``rewrites`` are aligned."""
    written, total = Counter(rewrites), len(rewrites)
    return Verbatim(
        own=sum(a == b for a, b in zip(records, rewrites, strict=True)) / total,
        chance=sum(count * written[text] for text, count in Counter(records).items()) / total**2,
        public=sum(text in public for text in rewrites) / total,
    )


class BigramModel:
    """A bigram language model with Witten-Bell smoothing (Witten and Bell 1991, method C) over the words of ``texts``.

    p(w | v) = (c(v, w) + T(v) p(w)) / (c(v) + T(v)), where T(v) is the number of different words seen after v, and p(w) mixes
    with the uniform distribution over the vocabulary and one unknown word in the same way.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        pairs = [pair for text in texts for pair in self._pairs(text)]
        self._seen = Counter(pairs)
        self._before, self._words = Counter(v for v, _ in pairs), Counter(w for _, w in pairs)
        self._followers = Counter(v for v, _ in self._seen)
        self._total, self._types = len(pairs), len(self._words)

    @staticmethod
    def _pairs(text: str) -> list[tuple[str, str]]:
        words = ["", *text.split(), ""]  # no word is empty, so that "" can stand for both ends
        return list(itertools.pairwise(words))

    def probability(self, before: str, word: str) -> float:
        """Return p(word | before)."""
        single = (self._words[word] + self._types / (self._types + 1)) / (self._total + self._types)
        followers = self._followers[before]
        if not followers:
            return single
        return (self._seen[before, word] + followers * single) / (self._before[before] + followers)

    def perplexity(self, texts: Sequence[str]) -> float:
        """Return the perplexity per word, ends of texts included."""
        logarithms = [math.log(self.probability(v, w)) for text in texts for v, w in self._pairs(text)]
        return math.exp(-float(np.mean(logarithms)))
