"""Classifiers that are trained on rewritten text and tested on text that people wrote.

The classifiers "text" and "tfidf" are in ``adept.evaluation.text_classifier``, and "lstm" is in
``adept.evaluation.lstm_classifier``.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from adept.data.corpus import Corpus, join
from adept.data.texts import MANY_LABELS, folded, list_few, note_labels, text_list
from adept.errors import DataError, check_choice
from adept.evaluation.metrics import ConfidenceInterval, Hits, accuracy, bootstrap, codes, macro_f1
from adept.evaluation.text_classifier import EncoderClassifier, TfidfClassifier
from adept.torch_defaults import usual_torch

TEXT = "text"  # the default
MANY_COPIES = 0.2  # share of a test file; a smaller one narrows an interval by a tenth at most


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

    A note counts test records whose labels training lacks, test texts that it holds, or texts without a letter, or tells
    of labels that are very many or oddly spelled.

    Args:
        train: training corpora, by the names that messages give them.
        name: name of ``test`` in messages.

    Raises:
        DataError: a corpus has no labels, or training and test have no label in common.
    """
    corpora = {**train, name: test}
    labelled = [place for place, corpus in corpora.items() if corpus.labels is not None]
    for place, corpus in corpora.items():
        corpus.require_labels(place, f"rename its column of labels as in {labelled[0]}" if labelled else "")
    joined, names = join(list(train.values())), " and ".join(train)
    known, texts = set(joined.labels or []), set(map(folded, joined.texts))
    unseen = Counter(label for label in test.labels or [] if label not in known)
    if len(unseen) == len(set(test.labels or [])):
        alike = {*map(folded, known)} & {*map(folded, unseen)}
        advice = "spell them alike" if alike else "use the same labels, or name their column with label_column="
        raise DataError(f"{names} and {name} have no label in common ({list_few(known)}; {list_few(unseen)}): {advice}")
    count, repeated = sum(unseen.values()), sum(folded(text) in texts for text in test.texts)
    copies = len(test) - len({*map(folded, test.texts)})
    found: dict[str, object] = {
        f"{count} of {len(test)} records of {name} have labels that {names} lacks ({list_few(unseen)})": count,
        f"{repeated} of {len(test)} texts of {name} also occur in {names}, apart from case and spaces": repeated,
        f"{copies} of {len(test)} texts of {name} are copies of others, but count as new ones: the intervals are too narrow": (
            copies > MANY_COPIES * len(test)
        ),
    }
    for place, corpus in corpora.items():
        own, wordless = set(corpus.labels or []), sum(not any(map(str.isalpha, text)) for text in corpus.texts)
        found[f"{wordless} of {len(corpus)} texts of {place} have no letter: text_column= names texts"] = wordless
        many = place in train and 2 * len(own) > max(len(corpus), MANY_LABELS)
        found[f"{len(corpus)} texts of {place} have {len(own)} labels: label_column= names labels"] = many
    return [note for note, holds in found.items() if holds] + note_labels([*known, *unseen])


def evaluate(train: Corpus, test: Corpus, **options: Any) -> Evaluation:
    """Train a classifier of labels on one corpus, and test the classifier on another.

    ``options`` are those of ``predict``. Raises DataError if a corpus has no labels.
    """
    train.require_labels("train")
    test.require_labels("test")
    examples: Corpus | None = options.get("examples")
    learned = [*(train.labels or []), *((examples and examples.labels) or [])]
    return score(predict(train, test.texts, **options), test, learned=learned)


def score(predicted: list[str], test: Corpus, *, learned: Sequence[str], majority: Sequence[str] = ()) -> Evaluation:
    """Compare predicted labels with the labels of ``test``.

    Args:
        predicted: one predicted label for each record of ``test``.
        learned: labels of the training records.
        majority: labels, by default ``learned``. For comparison, a baseline predicts the commonest of these labels
            for every record.
    """
    known, labels = Counter(majority or learned), test.labels or []
    truth, guesses = codes(labels, predicted)
    return Evaluation(
        accuracy=bootstrap(accuracy, truth, guesses), macro_f1=bootstrap(macro_f1, truth, guesses),
        majority_accuracy=labels.count(max(known, key=known.__getitem__)) / len(labels),
        train_records=len(learned), test_records=len(test), labels=len(known), hits=truth == guesses,
    )  # fmt: skip


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
    """Train a classifier of labels, and return the labels that it predicts for ``texts``.

    Args:
        classifier: the name of the classifier, "text", "tfidf" or "lstm".
        samples: number of consecutive texts in ``train`` that come from the same record; cross-validation keeps them
            together.
        noisy_labels: if True, the labels of ``train`` were randomised, so their frequencies are not those of the true
            labels.
        epsilon: budget of each text of ``train``; infinite for original text. The classifier "text" chooses by it how
            much it trusts the names of labels.
        examples: public text with labels from which the classifier "text" learns, too.

    Raises:
        ConfigurationError: the classifier is unknown.
    """
    check_choice((TEXT, "tfidf", "lstm"), classifier=classifier)
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
