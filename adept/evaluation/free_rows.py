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
MAX_TESTED, MAX_RELEASED = 5_000, 3_000  # texts of a test; texts that a rehearsal releases


@dataclass(frozen=True)
class FreeRow:
    """An accuracy that costs no budget, and the number of public texts on which it was measured."""

    name: str  # a key of record_free.TITLES
    accuracy: float
    texts: int

    @property
    def doubt(self) -> float:
        """Standard deviation of the accuracy on so few texts; 0 if none were measured."""
        share = (self.accuracy * self.texts + 0.5) / (self.texts + 1)  # also of few texts, all right, others are wrong
        return math.sqrt(share * (1 - share) / self.texts) if self.texts else 0.0


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
        tested = None if examples is None or test is None else _thin(test, MAX_TESTED)
        return cls(_thin(given, MAX_CELLS // labels), tested)

    @cached_property
    def places(self) -> list[int]:
        """The rows that are judged without a test: those of as many folds as hold about MAX_JUDGED texts."""
        folds = max(1, min(FOLDS, round(FOLDS * MAX_JUDGED / len(self.read))))
        return [row for row, fold in enumerate(deal(self.read.labels or [])) if fold < folds]

    @cached_property
    def judged(self) -> Corpus:
        """The texts whose labels are guessed."""
        return self.test or self.read.take(self.places)

    @cached_property
    def pool(self) -> Corpus:
        """The texts that a rehearsal releases: those of the test first, and examples that are not among them."""
        test = self.test or Corpus([], [])
        tested = test.take(draw_rows(range(len(test)), test.labels or [], MAX_JUDGED))
        known = {*tested.texts}
        new = [row for row, text in enumerate(self.read.texts) if text not in known]
        others = _thin(self.read.take(new), MAX_RELEASED - len(tested))
        return Corpus([*tested.texts, *others.texts], [*(tested.labels or []), *(others.labels or [])])

    @property
    def rehearsed(self) -> range:
        """The rows of the pool that are judged: those of the test if there is one, and otherwise all."""
        return range(min(len(self.test), MAX_JUDGED) if self.test else len(self.pool))

    def measure_examples(self) -> float | None:
        """Return the accuracy of a classifier of the texts that are read; None if it cannot be measured."""
        if self.test is not None:
            return share_right(predict(self.read, self.test.texts, classifier=TEXT), self.test)
        hits = find_hits(self.read, self.read, self.places)
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
    if has_examples and (learnt := public.measure_examples()) is not None:
        found.append(FreeRow(EXAMPLES, learnt, size))
    [(commonest, _)] = Counter(public.read.labels).most_common(1)
    return [*found, FreeRow(COMMONEST_LABEL, share_right([commonest] * size, judged), size)]


def find_hits(
    train: Corpus,
    read: Corpus,
    rows: Sequence[int],
    *,
    epsilon: float = math.inf,
    most: int | None = None,
    folds: int = FOLDS,
) -> list[bool] | None:
    """Return for each of the given rows True if a classifier of the other folds finds its label.

    The result is None if labels have fewer than two rows on average.

    Args:
        train: texts to learn from, row by row: ``read`` itself, or a rewrite of each of its texts.
        rows: the rows to judge.
        epsilon: of each text of ``train``; infinite for original text.
        most: largest number of texts to learn from, which are drawn in the proportions of the labels.
    """
    labels = read.labels or []
    if len(labels) < 2 * len(set(labels)):
        return None
    fold, hits = deal(labels, folds), dict[int, bool]()
    for part in sorted({fold[row] for row in rows}):
        inside = draw_rows([row for row, own in enumerate(fold) if own != part], labels, most)
        outside = [row for row in rows if fold[row] == part]
        found = predict(train.take(inside), read.take(outside).texts, classifier=TEXT, epsilon=epsilon)
        hits |= {row: label == labels[row] for row, label in zip(outside, found, strict=True)}
    return [hits[row] for row in rows]


def draw_rows(rows: Sequence[int], labels: Sequence[str], most: int | None) -> list[int]:
    """Draw at most ``most`` of the rows, in the proportions of their labels; other ones each time."""
    if most is None or len(rows) <= most:
        return [*rows]
    mixed = sorted(np.random.default_rng().permutation(rows).tolist(), key=lambda row: labels[row])
    return [mixed[place] for place in np.linspace(0, len(mixed) - 1, most).round().astype(int).tolist()]


def deal(labels: Sequence[str], folds: int = FOLDS) -> list[int]:
    """Return a fold for each row: those of a label are dealt to the folds in turn."""
    return [turn % folds for turn in _count_turns(labels)]


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
