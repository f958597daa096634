"""Accuracies that no private record is needed for: names of labels alone, public examples alone, the commonest label."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean

import numpy as np

from adept.data.corpus import Corpus
from adept.evaluation.classifiers import TEXT, predict
from adept.evaluation.record_free import COMMONEST_LABEL, EXAMPLES, NEAREST_NAME
from adept.models.names import label_by_names

FOLDS = 10  # parts of the examples, of which each is a test once if they are few
MAX_JUDGED = 600  # texts, about, that are judged without a test
MAX_CELLS = 1 << 18  # examples times labels that are learned from: more take minutes
MAX_TESTED = 5_000  # texts of a test


@dataclass(frozen=True)
class FreeRow:
    """An accuracy that costs no budget, and the number of public texts on which it was measured."""

    name: str  # a key of record_free.TITLES
    accuracy: float
    texts: int


@dataclass(frozen=True)
class PublicTexts:
    """Public texts with labels: those to learn from, and others to test with, if there are any.

    Use ``of``, which takes at most as many as are read in seconds.
    """

    read: Corpus
    test: Corpus | None

    @classmethod
    def of(cls, examples: Corpus | None, test: Corpus | None, *, labels: int) -> "PublicTexts | None":
        """Return public texts, where a test alone is also read; None if there are none."""
        if (given := examples or test) is None:
            return None
        return cls(
            _thin(given, MAX_CELLS // labels), None if examples is None or test is None else _thin(test, MAX_TESTED)
        )

    @cached_property
    def places(self) -> list[int]:
        """The rows that are judged without a test: those of as many folds as hold about MAX_JUDGED texts."""
        folds = max(1, min(FOLDS, round(FOLDS * MAX_JUDGED / len(self.read))))
        return [row for row, fold in enumerate(deal(self.read.labels or [])) if fold < folds]

    @cached_property
    def judged(self) -> Corpus:
        """The texts whose labels are guessed."""
        return self.test or self.read.take(self.places)

    @property
    def rows(self) -> float:
        """Number of texts of each label that a classifier learns from."""
        share = 1.0 if self.test else (FOLDS - 1) / FOLDS
        return share * len(self.read) / max(1, len(set(self.read.labels or [])))

    def measure(self, train: Corpus, *, epsilon: float = math.inf) -> float | None:
        """Return the accuracy of a classifier of ``train`` (as for ``find_hits``); None if it cannot be measured."""
        if self.test is not None:
            return share_right(predict(train, self.test.texts, classifier=TEXT, epsilon=epsilon), self.test)
        hits = find_hits(train, self.read, self.places, epsilon=epsilon)
        return None if hits is None else fmean(hits)


def measure_free_rows(
    labels: Sequence[str], public: PublicTexts, about: Mapping[str, Sequence[str]], *, has_examples: bool
) -> list[FreeRow]:
    """Measure what is free: names, examples if there are any, and the commonest label.

    Args:
        about: public sentences about labels, which count as their names do.
        has_examples: False if the texts that are read are the test, of which nobody should learn.
    """
    judged, size = public.judged, len(public.judged)
    found = []
    if (named := label_by_names(labels, judged.texts, about)) is not None:
        found.append(FreeRow(NEAREST_NAME, share_right(named, judged), size))
    if has_examples and (learnt := public.measure(public.read)) is not None:
        found.append(FreeRow(EXAMPLES, learnt, size))
    [(commonest, _)] = Counter(public.read.labels).most_common(1)
    return [*found, FreeRow(COMMONEST_LABEL, share_right([commonest] * size, judged), size)]


def find_hits(train: Corpus, read: Corpus, rows: Sequence[int], *, epsilon: float = math.inf) -> list[bool] | None:
    """Return for each of the given rows True if a classifier of the other folds finds its label.

    The result is None if labels have fewer than two rows on average.

    Args:
        train: texts to learn from, row by row: ``read`` itself, or a rewrite of each of its texts.
        rows: the rows to judge, which are all rows of some folds.
        epsilon: of each text of ``train``; infinite for original text.
    """
    labels = read.labels or []
    if len(labels) < 2 * len(set(labels)):
        return None
    fold, hits = deal(labels), dict[int, bool]()
    for part in sorted({fold[row] for row in rows}):
        inside, outside = ([row for row, own in enumerate(fold) if (own == part) is held] for held in (False, True))
        found = predict(train.take(inside), read.take(outside).texts, classifier=TEXT, epsilon=epsilon)
        hits |= {row: label == labels[row] for row, label in zip(outside, found, strict=True)}
    return [hits[row] for row in rows]


def deal(labels: Sequence[str]) -> list[int]:
    """Return a fold for each row: those of a label are dealt to FOLDS folds in turn."""
    return [turn % FOLDS for turn in _count_turns(labels)]


def _count_turns(labels: Sequence[str]) -> list[int]:
    """Return for each row the number of rows before it that have its label."""
    seen: Counter[str] = Counter()
    turns = []
    for label in labels:
        turns.append(seen[label])
        seen[label] += 1
    return turns


def _thin(corpus: Corpus, most: int) -> Corpus:
    """Return at most ``most`` records: the first ones of each label, and as many of each as possible."""
    if len(corpus) <= most:
        return corpus
    turns = _count_turns(corpus.labels or [])
    return corpus.take(sorted(np.argsort(turns, kind="stable")[:most].tolist()))


def share_right(guessed: Sequence[str], judged: Corpus) -> float:
    """Return the share of texts whose label was guessed."""
    return sum(one == other for one, other in zip(guessed, judged.labels or [], strict=True)) / len(judged)
