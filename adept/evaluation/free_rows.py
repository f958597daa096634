"""Accuracies that no private record is needed for: names of labels alone, public examples alone, the commonest label."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from adept.data.corpus import Corpus
from adept.evaluation.classifiers import TEXT, predict
from adept.evaluation.label_names import spell_names
from adept.evaluation.record_free import COMMONEST_LABEL, EXAMPLES, NEAREST_NAME
from adept.models.sentence_encoder import SentenceEncoder

FOLDS = 5  # parts of the examples, of which each is a test once
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

    @property
    def judged(self) -> Corpus:
        """The texts whose labels are guessed."""
        return self.test or self.read

    @property
    def rows(self) -> float:
        """Number of texts of each label that a classifier learns from."""
        share = 1.0 if self.test else (FOLDS - 1) / FOLDS
        return share * len(self.read) / max(1, len(set(self.read.labels or [])))

    def measure(self, train: Corpus, *, epsilon: float = math.inf) -> float | None:
        """Return the accuracy of a classifier of ``train`` (``guess_labels``); None if it cannot be measured."""
        guessed = guess_labels(train, self.test, read=self.read, epsilon=epsilon)
        return None if guessed is None else share_right(guessed, self.judged)


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
    if (named := label_by_meaning(labels, judged.texts, about)) is not None:
        found.append(FreeRow(NEAREST_NAME, share_right(named, judged), size))
    if has_examples and (learnt := public.measure(public.read)) is not None:
        found.append(FreeRow(EXAMPLES, learnt, size))
    [(commonest, _)] = Counter(public.read.labels).most_common(1)
    return [*found, FreeRow(COMMONEST_LABEL, share_right([commonest] * size, judged), size)]


def label_by_meaning(
    labels: Sequence[str], texts: Sequence[str], about: Mapping[str, Sequence[str]]
) -> list[str] | None:
    """Return for each text the label whose name and public sentences are nearest to it; None if none has a word."""
    said = [
        " ".join([name, *about.get(label, ())]).strip() for label, name in zip(labels, spell_names(labels), strict=True)
    ]
    named = [place for place, text in enumerate(said) if text]
    if not named:
        return None
    encoder = SentenceEncoder.load()
    names = encoder.encode([said[place] for place in named]).astype(np.float32)
    nearest = (encoder.encode(texts).astype(np.float32) @ names.T).argmax(axis=1)
    return [labels[named[place]] for place in nearest.tolist()]


def guess_labels(train: Corpus, test: Corpus | None, *, read: Corpus, epsilon: float = math.inf) -> list[str] | None:
    """Return the labels that a classifier of ``train`` gives to the texts of ``test``.

    Without a test, the rows of ``train`` stand for those of ``read``, and each text of ``read`` gets its label from
    a classifier of the rows in other folds; the result is None if a label has a single row.

    Args:
        train: texts to learn from: ``read`` itself, or a rewrite of each of its texts.
        epsilon: of each text of ``train``; infinite for original text.
    """
    if test is not None:
        return predict(train, test.texts, classifier=TEXT, epsilon=epsilon)
    labels = read.labels or []
    if len(labels) < 2 or min(Counter(labels).values()) < 2:
        return None
    fold, guessed = deal(labels), [""] * len(labels)
    for part in sorted(set(fold)):
        inside, outside = ([row for row, own in enumerate(fold) if (own == part) is held] for held in (False, True))
        texts = [read.texts[row] for row in outside]
        found = predict(train.take(inside), texts, classifier=TEXT, epsilon=epsilon)
        for row, label in zip(outside, found, strict=True):
            guessed[row] = label
    return guessed


def deal(labels: Sequence[str]) -> list[int]:
    """Return a fold for each row: those of a label are dealt to FOLDS folds in turn."""
    seen: Counter[str] = Counter()
    folds = []
    for label in labels:
        folds.append(seen[label] % FOLDS)
        seen[label] += 1
    return folds


def _thin(corpus: Corpus, most: int) -> Corpus:
    """Return at most ``most`` records, spread over the corpus."""
    if len(corpus) <= most:
        return corpus
    return corpus.take(np.linspace(0, len(corpus) - 1, max(2, most)).round().astype(int).tolist())


def share_right(guessed: Sequence[str], judged: Corpus) -> float:
    """Return the share of texts whose label was guessed."""
    return sum(one == other for one, other in zip(guessed, judged.labels or [], strict=True)) / len(judged)
