"""Measures of predicted labels and of rewritten texts, and their confidence intervals.

To add a measure of rewritten text, add it to the result of ``measure`` and to the fields of
``comparison.results.ResultRow``. A measure that compares a record with its rewrite needs a second measure, whose name
ends in ``_other`` and which compares the record with the rewrite of another record.
"""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from adept.data.corpus import Corpus
from adept.data.texts import text_list
from adept.models.saved_model import mean_word_f1

Labels = NDArray[np.int64]
Metric = Callable[[Labels, Labels], float]
Hits = NDArray[np.bool_]  # (N,): True for each record whose label a classifier predicts

OTHER = "_other"  # ends the names of measures that compare a record with another record's rewrite
PAIRED = ("slots", "words", "exact")  # measures that also exist with the ending OTHER


@dataclass(frozen=True)
class ConfidenceInterval:
    """A measured value with the two ends of its confidence interval."""

    value: float
    low: float
    high: float


def accuracy(truth: Labels, predicted: Labels) -> float:
    """Return the share of records whose predicted label is the true one."""
    return float((truth == predicted).mean())


def macro_f1(truth: Labels, predicted: Labels) -> float:
    """Return the mean F1 score of the labels in ``truth``; a label never predicted has score 0."""
    size = int(max(truth.max(), predicted.max())) + 1
    hits = np.bincount(truth[truth == predicted], minlength=size)
    occurrences, predictions = np.bincount(truth, minlength=size), np.bincount(predicted, minlength=size)
    present = occurrences > 0
    return float((2 * hits[present] / (occurrences[present] + predictions[present])).mean())


def codes(*columns: Sequence[str]) -> tuple[Labels, ...]:
    """Return lists of labels as arrays of integers; equal labels have equal integers."""
    numbering = {label: code for code, label in enumerate(sorted(set().union(*columns)))}
    return tuple(np.array([numbering[label] for label in column], dtype=np.int64) for column in columns)


def bootstrap(
    metric: Metric, truth: Labels, predicted: Labels, *, least: float = 0.0, resamples: int = 1000, seed: int = 0
) -> ConfidenceInterval:
    """Return a metric's value and its 95 % interval, by the percentile bootstrap (Efron 1979).

    The metric, from ``least`` to 1, may be any function of two arrays with an entry for each record; the two entries
    of a record stay together. If the interval is one value, as if each record is right, other records may be
    missing by chance: up to the share that Clopper and Pearson (1934) give for none seen.
    """
    rng = np.random.default_rng(seed)
    draws = (rng.integers(len(truth), size=len(truth)) for _ in range(resamples))
    values = [metric(truth[draw], predicted[draw]) for draw in draws]
    low, high = np.quantile(values, [0.025, 0.975])
    unseen = 1 - 0.025 ** (1 / len(truth)) if low == high else 0.0
    return ConfidenceInterval(
        metric(truth, predicted), float(low - unseen * (low - least)), float(high + unseen * (1 - high))
    )


def gain_in_hits(hits: Hits, other: Hits) -> ConfidenceInterval:
    """Return how much more often the first of two classifiers is right on the same records, with its 95 % interval."""
    return bootstrap(
        lambda own, without: float((own - without).mean()), hits.astype(np.int64), other.astype(np.int64), least=-1.0
    )


def bleu(records: Sequence[str], rewrites: Sequence[str]) -> float:
    """Return the corpus BLEU of rewrites, split at spaces, from 0 to 100 (Papineni et al. 2002)."""
    import sacrebleu

    return float(sacrebleu.corpus_bleu(list(rewrites), [list(records)], tokenize="none", force=True).score)


def plain(text: str) -> str:
    """Return a text in lower case, with one space between neighbouring words."""
    return " ".join(text.lower().split())


def slot_share(values: Sequence[Sequence[str]], rewrites: Sequence[str]) -> float | None:
    """Return the share of slot values (tagged words, such as a city) that the rewrites keep.

    A value is kept if the rewrite of its record contains it. The result is None if there are no values.
    """
    kept = [
        f" {plain(value)} " in f" {plain(rewrite)} "
        for own, rewrite in zip(values, rewrites, strict=True)
        for value in own
    ]
    return float(np.mean(kept)) if kept else None


def exact(records: Sequence[str], rewrites: Sequence[str]) -> float:
    """Return the share of rewrites that equal their record, apart from case and white space."""
    return float(np.mean([plain(a) == plain(b) for a, b in zip(records, rewrites, strict=True)]))


def deal_to_others(rewrites: Sequence[str]) -> list[str] | None:
    """Return, for each record, the rewrite of another record; None if there is only one record."""
    if len(rewrites) < 2:
        return None
    circle = np.random.default_rng(0).permutation(len(rewrites))
    origin = np.empty_like(circle)
    origin[circle] = np.roll(circle, 1)
    return [rewrites[place] for place in origin]


class NgramModel:
    """An n-gram model of words with Witten-Bell smoothing (Witten and Bell 1991, method C).

    The probability of a word w after the words v is p(w | v) = (c(v, w) + T(v) * p(w | v')) / (c(v) + T(v)). Here c
    counts how often a sequence of words occurs, T(v) is the number of distinct words that occur after v, and v' is v
    without its first word. The recursion ends with the uniform distribution over the words of the vocabulary and one
    unknown word. Each text is padded with empty words before its first and after its last word.
    """

    def __init__(self, texts: Sequence[str], *, order: int) -> None:
        self.order = order
        windows = [window for text in text_list(texts) for n in range(1, order + 1) for window in _windows(text, n)]
        self._seen = Counter(windows)
        self._before = Counter(window[:-1] for window in windows)
        self._followers = Counter(window[:-1] for window in self._seen)

    def probability(self, *window: str) -> float:
        """Return the probability of the last word of ``window`` after the words before it."""
        before = window[:-1]
        followers = self._followers[before]
        less = self.probability(*window[1:]) if before else 1 / (followers + 1)
        return (self._seen[window] + followers * less) / (self._before[before] + followers) if followers else less

    def perplexity(self, texts: Sequence[str]) -> float:
        """Return the perplexity of texts per word; the end of each text counts as a word."""
        windows = (window for text in text_list(texts) for window in _windows(text, self.order))
        return math.exp(-float(np.mean([math.log(self.probability(*window)) for window in windows])))


def _windows(text: str, size: int) -> list[tuple[str, ...]]:
    words = [*[""] * (size - 1), *text.split(), ""]
    return [tuple(words[end - size : end]) for end in range(size, len(words) + 1)]


def measure(
    private: Corpus, rewrites: Sequence[str], *, trained_on: Sequence[str], other: Sequence[str]
) -> dict[str, float | None]:
    """Return all measures of rewritten text; measures that do not apply to the data are None.

    Args:
        rewrites: one rewrite of each private record.
        trained_on: the rewriter's training texts.
        other: texts that are neither records nor training texts, for the measure "fluency".
    """
    records, strangers, public = private.texts, deal_to_others(rewrites), set(trained_on)
    fluent, spoken, written = NgramModel([*map(plain, other)], order=3), [*map(plain, records)], [*map(plain, rewrites)]
    return {
        "bleu": bleu(records, rewrites), "distinct": len(set(rewrites)) / len(rewrites),
        "perplexity": NgramModel(records, order=2).perplexity(rewrites),
        "verbatim_public": sum(text in public for text in rewrites) / len(rewrites), **_measure_kept(private, rewrites),
        **{name + OTHER: value for name, value in _measure_kept(private, strangers).items()},
        "fluency": fluent.perplexity(written) / fluent.perplexity(spoken),
    }  # fmt: skip


def _measure_kept(private: Corpus, texts: Sequence[str] | None) -> dict[str, float | None]:
    if texts is None:
        return dict.fromkeys(PAIRED)
    records, values = private.texts, private.slot_values
    return {
        "slots": None if values is None else slot_share(values, texts),
        "words": mean_word_f1(records, texts),
        "exact": exact(records, texts),
    }
