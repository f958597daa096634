"""Figures of merit of predictions and of rewritten text, and how sure of them one can be."""

import itertools
import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from adept.data.texts import text_list

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
    given = text_list(texts)
    return len(set(given)) / len(given)


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


def plain(text: str) -> str:
    """Return a text in lower case with single spaces: what the figures below compare."""
    return " ".join(text.lower().split())


def slots_kept(values: Sequence[Sequence[str]], rewrites: Sequence[str]) -> float | None:
    """Return the share of all records' slot values that stand in their rewrites, word beside word; None without any value."""
    kept = [
        f" {plain(value)} " in f" {plain(rewrite)} "
        for own, rewrite in zip(values, rewrites, strict=True)
        for value in own
    ]
    return float(np.mean(kept)) if kept else None


def word_f1(records: Sequence[str], rewrites: Sequence[str]) -> float:
    """Return the mean F1 of the words of each rewrite with its record's, repeated words counted; two empty texts have 1.

    That is 2 |A and B| / (|A| + |B|) of the multisets A and B, the harmonic mean of precision and recall.
    """
    pairs = [
        (Counter(plain(record).split()), Counter(plain(rewrite).split()))
        for record, rewrite in zip(records, rewrites, strict=True)
    ]
    return float(np.mean([2 * (a & b).total() / (a.total() + b.total()) if a or b else 1.0 for a, b in pairs]))


def content_f1(records: Sequence[str], rewrites: Sequence[str]) -> float:
    """Return the mean F1 of the words of each rewrite with its record's, each different word weighed by how few records hold it.

    A word weighs ln((N + 1) / (n + 1/2)) if n of the N records hold it, so that what all say counts next to nothing; the weights
    are those of the records whatever the rewrites are. Two texts without words have 1.
    """
    pairs = [tuple(set(plain(text).split()) for text in pair) for pair in zip(records, rewrites, strict=True)]
    holders = Counter(word for record, _ in pairs for word in record)

    def weight(words: Iterable[str]) -> float:
        return sum(math.log((len(pairs) + 1) / (holders[word] + 0.5)) for word in words)

    totals = [(weight(record & rewrite), weight(record) + weight(rewrite)) for record, rewrite in pairs]
    return float(np.mean([2 * shared / total if total else 1.0 for shared, total in totals]))


def exact(records: Sequence[str], rewrites: Sequence[str]) -> float:
    """Return the share of rewrites that are their record word for word, case and white space aside."""
    return float(np.mean([plain(a) == plain(b) for a, b in zip(records, rewrites, strict=True)]))


def dealt_to_others(rewrites: Sequence[str]) -> list[str] | None:
    """Return, for each record, another record's rewrite, the same for the same number of records; None for a single record.

    All records stand in one fixed circle, shuffled since neighbours in a file may be alike; each gets its predecessor's rewrite.
    """
    if len(rewrites) < 2:
        return None
    circle = np.random.default_rng(0).permutation(len(rewrites))
    origin = dict(zip(circle.tolist(), np.roll(circle, 1).tolist(), strict=True))
    return [rewrites[origin[record]] for record in range(len(rewrites))]


class BigramModel:
    """A bigram language model with Witten-Bell smoothing (Witten and Bell 1991, method C) over the words of ``texts``.

    p(w | v) = (c(v, w) + T(v) p(w)) / (c(v) + T(v)), where T(v) is the number of different words seen after v, and p(w) mixes
    with the uniform distribution over the vocabulary and one unknown word in the same way.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        pairs = [pair for text in text_list(texts) for pair in self._pairs(text)]
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
        logarithms = [math.log(self.probability(v, w)) for text in text_list(texts) for v, w in self._pairs(text)]
        return math.exp(-float(np.mean(logarithms)))


class TrigramModel:
    """The same with one word more to look back on: p(w | u, v) mixes with the bigram model's p(w | v) as that does with p(w).

    Case and white space do not count. The word before a text's first is the empty one, as at both its ends.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        texts = text_list(texts)
        self._bigrams = BigramModel([plain(text) for text in texts])
        self._seen = Counter(triple for text in texts for triple in self._triples(text))
        self._before = Counter((u, v) for u, v, _ in self._seen.elements())
        self._followers = Counter((u, v) for u, v, _ in self._seen)

    @staticmethod
    def _triples(text: str) -> list[tuple[str, str, str]]:
        words = ["", "", *plain(text).split(), ""]
        return list(zip(words, words[1:], words[2:], strict=False))

    def probability(self, before: tuple[str, str], word: str) -> float:
        """Return p(word | before)."""
        less, followers = self._bigrams.probability(before[1], word), self._followers[before]
        return (
            (self._seen[(*before, word)] + followers * less) / (self._before[before] + followers) if followers else less
        )

    def perplexity(self, texts: Sequence[str]) -> float:
        """Return the perplexity per word, ends of texts included."""
        given = text_list(texts)
        logarithms = [math.log(self.probability((u, v), w)) for text in given for u, v, w in self._triples(text)]
        return math.exp(-float(np.mean(logarithms)))
