"""Classifiers that are trained on rewritten text and tested on text that people wrote.

The classifiers "text" and "lstm" have modules of their own. The classifier "tfidf" is a logistic
regression, whose strength is chosen by cross-validation. It reads TF-IDF (weighted counts of words and
word pairs) and, unless the texts are in another language, the sentence encoder's vector.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from adept.data.corpus import Corpus, join
from adept.data.texts import separate_characters, text_list
from adept.errors import DataError, printable
from adept.evaluation.metrics import ConfidenceInterval, Hits, accuracy, bootstrap, codes, macro_f1
from adept.evaluation.ngrams import count_ngrams
from adept.evaluation.softmax_regression import best_labels, commonness, softmax_regression
from adept.evaluation.text_classifier import EncoderClassifier, encoder_for, read_meanings
from adept.ranges import check_choice
from adept.torch_defaults import usual_torch

TEXT = "text"  # the default
CLASSIFIERS = (TEXT, "tfidf", "lstm")
FEW_LABELS = 5  # labels that a message names
# Strengths to try (scikit-learn's C): a smaller strength gives a simpler classifier
STRENGTHS = 0.25, 0.5, 1.0, 2.0, 4.0, 16.0, 64.0
STANDARD_STRENGTH = 4.0  # a larger strength must give more correct labels
TEMPERATURES = 2.0 ** torch.arange(-2.0, 2.75, 0.25, dtype=torch.float32)  # factors by which scores are multiplied
FOLDS, MIN_RECORDS_TO_TUNE = 3, 100
ONE_FOLD_RECORDS = 1500  # with more records, only one fold is held out
TUNING_STEPS = 20  # steps of a fit that starts from the weights of the strength before

Fold = tuple[Tensor, Tensor]  # counts of the training texts, and of the held-out texts


@dataclass(frozen=True)
class Evaluation:
    """A classifier's measures on the test records, with 95 % intervals (bootstrap over records)."""

    accuracy: ConfidenceInterval
    macro_f1: ConfidenceInterval
    majority_accuracy: float  # accuracy of always predicting the training records' commonest label
    train_records: int
    test_records: int
    labels: int
    hits: Hits = field(repr=False, compare=False)
    others: dict[str, "Evaluation"] = field(default_factory=dict)  # classifiers trained on other files, for comparison


def check_files_fit(train: Mapping[str, Corpus], test: Corpus, *, name: str = "test") -> list[str]:
    """Check that classifiers trained on ``train`` can be tested on ``test``; return notes for the user.

    A note counts the test records whose labels training lacks, or the test texts that training holds.

    Args:
        train: training corpora, by the names that messages give them.
        name: name of ``test`` in messages.

    Raises:
        DataError: a corpus has no labels, or training and test have no label in common.
    """
    corpora = {**train, name: test}
    lacking = [place for place, corpus in corpora.items() if corpus.labels is None]
    if lacking:
        others = [place for place, corpus in corpora.items() if corpus.labels is not None]
        advice = f"rename its column of labels as in {others[0]}" if others else "name their column with label_column="
        raise DataError(f"{lacking[0]} must have labels: {advice}")
    joined, names = join(list(train.values())), " and ".join(train)
    known, texts = set(joined.labels or []), set(map(_fold, joined.texts))
    unseen = Counter(label for label in test.labels or [] if label not in known)
    if len(unseen) == len(set(test.labels or [])):
        raise DataError(
            f"{names} and {name} have no label in common ({list_few(known)}; {list_few(unseen)}): use the same "
            "labels, or name their column with label_column="
        )
    count, repeated = sum(unseen.values()), sum(_fold(text) in texts for text in test.texts)
    lost = f"{count} of {len(test)} records of {name} have labels that {names} lacks ({list_few(unseen)})"
    seen = f"{repeated} of {len(test)} texts of {name} also occur in {names}, apart from case and spaces"
    return [note for note, found in ((lost, count), (seen, repeated)) if found]


def _fold(text: str) -> str:
    return " ".join(text.casefold().split())


def list_few(labels: Iterable[str]) -> str:
    listed = sorted(labels)
    few = ", ".join(repr(printable(label, limit=40)) for label in listed[:FEW_LABELS])
    return few + (f" and {len(listed) - FEW_LABELS} more" if len(listed) > FEW_LABELS else "")


def evaluate(
    train: Corpus,
    test: Corpus,
    *,
    classifier: str = TEXT,
    seed: int = 0,
    samples: int = 1,
    noisy_labels: bool = False,
    epsilon: float = math.inf,
    examples: Corpus | None = None,
) -> Evaluation:
    """Train a classifier of labels on one corpus, and test the classifier on another.

    Args:
        classifier: the name of the classifier, "text", "tfidf" or "lstm".
        samples: number of consecutive texts in ``train`` that come from the same record;
            cross-validation keeps them together.
        noisy_labels: if True, the labels of ``train`` were randomised, so their frequencies are not
            those of the true labels.
        epsilon: budget of each text of ``train``; infinite for original text. The classifier
            "text" chooses by it how much it trusts the names of labels.
        examples: public text with labels from which the classifier "text" learns, too.

    Raises:
        ConfigurationError: the classifier is unknown.
        DataError: a corpus has no labels.
    """
    for name, corpus in (("train", train), ("test", test)):
        if corpus.labels is None:
            raise DataError(f"{name} must have labels: name their column with label_column=")
    read: dict[str, Any] = {"samples": samples, "noisy_labels": noisy_labels, "epsilon": epsilon}
    predicted = predict(train, test.texts, classifier=classifier, seed=seed, examples=examples, **read)
    return score(predicted, test, learned=[*(train.labels or []), *((examples and examples.labels) or [])])


def score(predicted: list[str], test: Corpus, *, learned: Sequence[str], majority: Sequence[str] = ()) -> Evaluation:
    """Compare predicted labels with the labels of ``test``.

    Args:
        predicted: one predicted label for each record of ``test``.
        learned: labels of the training records.
        majority: labels, by default ``learned``. For comparison, a baseline predicts the commonest
            of these labels for every record.
    """
    known, labels = Counter(majority or learned), test.labels or []
    truth, guesses = codes(labels, predicted)
    return Evaluation(
        accuracy=bootstrap(accuracy, truth, guesses),
        macro_f1=bootstrap(macro_f1, truth, guesses),
        majority_accuracy=labels.count(max(known, key=known.__getitem__)) / len(labels),
        train_records=len(learned),
        test_records=len(test),
        labels=len(known),
        hits=truth == guesses,
    )


@usual_torch()
def predict(
    train: Corpus,
    texts: list[str],
    *,
    classifier: str = TEXT,
    seed: int = 0,
    samples: int = 1,
    noisy_labels: bool = False,
    epsilon: float = math.inf,
    examples: Corpus | None = None,
) -> list[str]:
    """Train a classifier as ``evaluate`` does; return the labels that it predicts for ``texts``."""
    check_choice(CLASSIFIERS, classifier=classifier)
    texts = text_list(texts)
    if classifier == "lstm":
        from adept.evaluation.lstm_classifier import predict_lstm  # a trainer takes seconds to import

        return predict_lstm(train, texts, seed=seed)
    if len({*(train.labels or []), *((examples and examples.labels) or [])}) == 1:
        return (train.labels or [])[:1] * len(texts)
    if classifier == TEXT:
        options: dict[str, Any] = {"samples": samples, "noisy_labels": noisy_labels, "epsilon": epsilon}
        return EncoderClassifier(train, examples=examples, **options).predict(texts)
    fitted = TfidfClassifier(train, samples=samples, noisy_labels=noisy_labels)
    return fitted.predict(texts, fitted.fit(strength=fitted.tune()))


class HeldOut(NamedTuple):
    """The measures of a classifier on texts that were held out from its training."""

    likelihood: float  # mean log likelihood of a text's label, in nats, at the best of TEMPERATURES
    hits: float  # share of texts with a correct label
    error: float  # standard error of ``hits``
    weights: list[Tensor]  # the weights fitted for each fold


class TfidfClassifier:
    """The classifier "tfidf", for two or more labels; ``evaluate`` explains its arguments."""

    def __init__(self, train: Corpus, *, samples: int = 1, noisy_labels: bool = False) -> None:
        texts, labels = [*map(separate_characters, train.texts)], train.labels or []
        self.samples, self.noisy_labels = samples, noisy_labels
        self.names = sorted(set(labels))
        number = {text: place for place, text in enumerate(dict.fromkeys(texts))}
        distinct = list(number)
        # (N,): the index of each text among the distinct texts, and of its label among the names.
        self.rows = np.array([number[text] for text in texts], dtype=np.int64)
        self.columns = np.searchsorted(np.array(self.names, dtype=object), np.array(labels, dtype=object))
        self._distinct = len(distinct)
        self._tfidf, counted = count_ngrams(distinct)
        self._encoder = encoder_for(distinct)
        self._features = read_meanings(counted, distinct, self._encoder)
        self._start: Tensor | None = None

    def fit(self, *, strength: float) -> Tensor:
        """Return weights (d + 1, L) fitted to all texts.

        The texts of one record together weigh as much as one text.
        """
        scaled = strength / self.samples
        return softmax_regression(self._features, self._counts(), strength=scaled, start=self._start)

    def predict(self, texts: Sequence[str], weights: Tensor) -> list[str]:
        """Return the likeliest label of each text, given weights that ``fit`` returned."""
        texts = [*map(separate_characters, text_list(texts))]
        common = commonness(self._features, weights, self._counts(), noisy_labels=self.noisy_labels)
        features = read_meanings(self._tfidf.transform(texts).tocsr(), texts, self._encoder)
        found = best_labels(features, weights, common)
        return [self.names[place] for place in found.tolist()]

    def tune(self) -> float:
        """Choose the strength (the inverse penalty) of the regression by cross-validation.

        The strengths are tried in increasing order, until one is no better than the strength before
        it. A strength up to STANDARD_STRENGTH is better than the strength before it if the labels
        of held-out texts get a larger likelihood. (To compute a likelihood, the classifier's scores
        are multiplied by the one of TEMPERATURES that makes the likelihood largest.) A strength
        above STANDARD_STRENGTH is better if the share of held-out texts with a correct label grows
        by more than a standard error (``docs/decisions.md``, "Strength").
        """
        parts = self._folds()
        if not parts:
            return STRENGTHS[-1]
        best, found = STRENGTHS[0], self._read_held_out(parts, STRENGTHS[0], [None] * len(parts))
        for strength in STRENGTHS[1:]:
            tried = self._read_held_out(parts, strength, found.weights)
            likelier, hits_more = tried.likelihood > found.likelihood, tried.hits > found.hits + found.error
            if not (likelier if strength <= STANDARD_STRENGTH else hits_more):
                break
            best, found = strength, tried
        self._start = torch.stack(found.weights).mean(dim=0)
        return best

    def _read_held_out(self, parts: list[Fold], strength: float, starts: Sequence[Tensor | None]) -> HeldOut:
        scaled, weights, hits, likelihood = strength / self.samples, [], 0.0, torch.zeros(len(TEMPERATURES))
        for (inside, outside), start in zip(parts, starts, strict=True):
            fitted = softmax_regression(self._features, inside, strength=scaled, start=start, steps=TUNING_STEPS)
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
        filled = np.unique(fold)  # with few distinct texts, a fold may be empty
        folds = filled[: 1 if records > ONE_FOLD_RECORDS else FOLDS]
        parts = [(self._counts(fold != i), self._counts(fold == i)) for i in folds]
        judged = all(int((inside.sum(dim=0) > 0).sum()) > 1 for inside, _ in parts)
        return parts if records >= MIN_RECORDS_TO_TUNE and judged else []

    def _counts(self, chosen: NDArray[np.bool_] | slice = slice(None)) -> Tensor:
        """Return how often each of m distinct texts has each of L labels, as a tensor (m, L)."""
        size = len(self.names)
        cells = np.bincount(self.rows[chosen] * size + self.columns[chosen], minlength=self._distinct * size)
        return torch.from_numpy(cells.astype(np.float32)).reshape(self._distinct, size)
