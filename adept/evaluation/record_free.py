"""Record-free references: accuracies that public knowledge reaches by itself, and what records add to them.

A reference is *record-free* if it reads no private record: the label whose name is nearest by the sentence encoder, a
classifier of public examples or, if labels are copied, the commonest label. A release is worth only what it adds to
the best of them. Other public encoders, larger than ours, may know more from the names of labels.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import count
from statistics import fmean

import numpy as np

from adept.data.corpus import Corpus
from adept.evaluation.classifiers import Evaluation, predict, score
from adept.evaluation.metrics import ConfidenceInterval, accuracy, codes, gain_in_hits, plain
from adept.models.label_names import label_by_names

NEAREST_NAME, COMMONEST_LABEL, EXAMPLES = "nearest_name", "commonest_label", "examples"
TITLES = {
    NEAREST_NAME: "the label with the nearest name",
    COMMONEST_LABEL: "always the commonest label",
    EXAMPLES: "public examples alone",
}
LARGER_ENCODER = "A larger public encoder may get more from the names of labels than ours does."
FOLDS = 10  # parts of the examples, of which each is a test once if they are few
MAX_JUDGED = 600  # texts, about, that are judged without a test
MAX_TESTED, MAX_RELEASED = 5_000, 3_000  # texts of a test; texts that a rehearsal releases


def describe_variation(records: int) -> str | None:
    """Return a clause on how much the accuracy of one release of few records varies; None if they are not few."""
    if not 0 < records < 1000:
        return None
    return (
        f"the accuracy of one release of a small file varies: with {records} records, another release may have about "
        f"{0.8 / math.sqrt(records):.2f} more or less"  # two standard errors of one release's accuracy
    )


@dataclass(frozen=True)
class AddedByRecords:
    """The gain in accuracy over the best record-free reference."""

    name: str  # of the reference, a key of TITLES
    free: float  # accuracy of the reference
    gain: ConfidenceInterval

    @property
    def verdict(self) -> str:
        """Return "" if the records add something, and otherwise a clause that says they do not."""
        if self.gain.low > 0:
            return ""
        shown = "" if self.gain.value <= 0 else " that this test can show"
        return f"the records add nothing{shown}; {TITLES[self.name]}, which is free, has {self.free:.3f}"


def measure_references(
    labels: Sequence[str],
    test: Corpus,
    *,
    copied: bool,
    label_set: Sequence[str] = (),
    about: Mapping[str, Sequence[str]] | None = None,
) -> dict[str, Evaluation]:
    """Return the record-free references that need no file but the test.

    Args:
        labels: the labels of the training records.
        copied: if True, labels are copied, so their frequencies are public.
        label_set: all labels, by default those of the training records.
        about: public sentences about labels, which count as their names do.
    """
    found = {}
    if (nearest := label_by_names(label_set or sorted(set(labels)), test.texts, about)) is not None:
        found[NEAREST_NAME] = score(nearest, test, learned=[], majority=labels)
    if copied:
        [(commonest, _)] = Counter(labels).most_common(1)
        found[COMMONEST_LABEL] = score([commonest] * len(test), test, learned=[], majority=labels)
    return found


def compare_with_free(found: Evaluation, others: Mapping[str, Evaluation]) -> AddedByRecords | None:
    """Compare a classifier with the best record-free reference among others; None if there is none."""
    free = {name: other for name, other in others.items() if name in TITLES}
    if not free:
        return None
    best = max(free, key=lambda name: free[name].accuracy.value)
    return AddedByRecords(best, free[best].accuracy.value, gain_in_hits(found.hits, free[best].hits))


# --- What is free before a release, measured on public texts


@dataclass(frozen=True)
class FreeRow:
    """An accuracy that costs no budget, and the number of public texts on which it was measured."""

    name: str  # a key of TITLES
    accuracy: float
    texts: int

    @property
    def cells(self) -> tuple[str, str]:
        """The name and the accuracy, with twice its standard deviation and the number of measured texts."""
        measured = f"± {2 * self.doubt:.2f} (measured on {self.texts:,} public text{'s' * (self.texts > 1)})"
        how = measured if self.texts else "(usual for so many labels, not measured)"
        return TITLES.get(self.name, self.name), f"{self.accuracy:.2f} {how}"

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
        apart = None if examples is None or test is None else _thin(test, MAX_TESTED)
        return cls(_thin(given, 2**18 // labels), apart)  # more examples times labels take minutes

    @cached_property
    def places(self) -> list[int]:
        """The rows that are judged without a test: those of as many folds as hold about MAX_JUDGED texts."""
        folds = max(1, min(FOLDS, round(FOLDS * MAX_JUDGED / len(self.read))))
        return [row for row, fold in enumerate(deal(self.read)) if fold < folds]

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
            return accuracy(*codes(self.test.labels or [], predict(self.read, self.test.texts)))
        hits = find_hits(self.read, self.read, self.places)
        return None if hits is None else fmean(hits)


def measure_free_rows(
    labels: Sequence[str], public: PublicTexts, about: Mapping[str, Sequence[str]], *, has_examples: bool
) -> list[FreeRow]:
    """Measure what is free: names, examples if there are any, and the commonest label.

    ``has_examples`` is False if the texts that are read are the test, of which nobody should learn.
    """
    references = measure_references(public.read.labels or [], public.judged, copied=True, label_set=labels, about=about)
    free = {name: found.accuracy.value for name, found in references.items()}
    if has_examples and (learnt := public.measure_examples()) is not None:
        free[EXAMPLES] = learnt
    order = (NEAREST_NAME, EXAMPLES, COMMONEST_LABEL)
    return [FreeRow(name, free[name], len(public.judged)) for name in order if name in free]


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

    The result is None if labels have fewer than two different texts on average.

    Args:
        train: texts to learn from, row by row: ``read`` itself, or a rewrite of each of its texts.
        rows: the rows to judge.
        epsilon: of each text of ``train``; infinite for original text.
        most: largest number of texts to learn from, which are drawn in the proportions of the labels.
    """
    if not can_deal(read):
        return None
    labels, fold, hits = read.labels or [], deal(read, folds), dict[int, bool]()
    for part in sorted({fold[row] for row in rows}):
        inside = draw_rows([row for row, own in enumerate(fold) if own != part], labels, most)
        outside = [row for row in rows if fold[row] == part]
        found = predict(train.take(inside), read.take(outside).texts, epsilon=epsilon)
        hits |= {row: label == labels[row] for row, label in zip(outside, found, strict=True)}
    return [hits[row] for row in rows]


def draw_rows(rows: Sequence[int], labels: Sequence[str], most: int | None) -> list[int]:
    """Draw at most ``most`` of the rows, in the proportions of their labels; other ones each time."""
    if most is None or len(rows) <= most:
        return [*rows]
    mixed = sorted(np.random.default_rng().permutation(rows).tolist(), key=lambda row: labels[row])
    return [mixed[place] for place in np.linspace(0, len(mixed) - 1, most).round().astype(int).tolist()]


def deal(corpus: Corpus, folds: int = FOLDS) -> list[int]:
    """Return a fold for each row: a label's different texts are dealt to the folds in turn, with their copies."""
    turn = dict(zip(known := _list_different(corpus), _count_turns([label for label, _ in known]), strict=True))
    return [turn[label, plain(text)] % folds for label, text in zip(corpus.labels or [], corpus.texts, strict=True)]


def can_deal(corpus: Corpus) -> bool:
    """Return True if labels have two different texts on average, so that one can be judged by another."""
    return len(_list_different(corpus)) >= 2 * len(set(corpus.labels or []))


def _list_different(corpus: Corpus) -> list[tuple[str, str]]:
    return [*dict.fromkeys(zip(corpus.labels or [], map(plain, corpus.texts), strict=True))]


def _count_turns(labels: Sequence[str]) -> list[int]:
    """Return for each row the number of rows before it that have its label."""
    turns: defaultdict[str, count[int]] = defaultdict(count)
    return [next(turns[label]) for label in labels]


def _thin(corpus: Corpus, most: int) -> Corpus:
    """Return at most ``most`` records: the first ones of each label, and as many of each as possible."""
    if len(corpus) <= most:
        return corpus
    return corpus.take(sorted(np.argsort(_count_turns(corpus.labels or []), kind="stable")[:most].tolist()))
