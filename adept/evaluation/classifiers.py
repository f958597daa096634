"""The worth of private text: an intent classifier is trained on it and tested on text that people really wrote."""

from collections import Counter
from dataclasses import dataclass

from adept.data.corpus import Corpus
from adept.data.texts import text_list
from adept.errors import ConfigurationError, DataError
from adept.evaluation.metrics import ConfidenceInterval, accuracy, bootstrap, codes, macro_f1
from adept.evaluation.tfidf import TextClassifier

CLASSIFIERS = ("tfidf", "lstm")


@dataclass(frozen=True)
class Evaluation:
    """A classifier's figures on the test records, with 95 % bootstrap intervals over them."""

    accuracy: ConfidenceInterval
    macro_f1: ConfidenceInterval
    majority_accuracy: float  # of always guessing the majority label of the training records
    train_records: int
    test_records: int
    labels: int


def evaluate(
    train: Corpus,
    test: Corpus,
    *,
    classifier: str = "tfidf",
    seed: int = 0,
    samples: int = 1,
    noisy_labels: bool = False,
) -> Evaluation:
    """Train an intent classifier on one corpus and test it on another.

    Args:
        classifier: "tfidf" (TF-IDF of words and word pairs and the mean of the words' vectors, logistic regression whose
            regularisation is chosen by cross-validation inside ``train``) or "lstm" (bidirectional, max-pooled).
        samples: consecutive texts of one record in ``train``, which cross-validation keeps together.
        noisy_labels: those of ``train`` were randomised, and do not show how common the true ones are.

    Raises:
        ConfigurationError: the classifier is unknown.
        DataError: a corpus has no labels.
    """
    for name, corpus in (("train", train), ("test", test)):
        if corpus.labels is None:
            raise DataError(f"{name} must have labels: name their column with label_column=")
    predicted = predict(train, test.texts, classifier=classifier, seed=seed, samples=samples, noisy_labels=noisy_labels)
    known, labels = Counter(train.labels or []), test.labels or []
    truth, guesses = codes(labels, predicted)
    return Evaluation(
        accuracy=bootstrap(accuracy, truth, guesses),
        macro_f1=bootstrap(macro_f1, truth, guesses),
        majority_accuracy=labels.count(max(known, key=known.__getitem__)) / len(labels),
        train_records=len(train),
        test_records=len(test),
        labels=len(known),
    )


def predict(
    train: Corpus, texts: list[str], *, classifier: str, seed: int = 0, samples: int = 1, noisy_labels: bool = False
) -> list[str]:
    """Train a classifier on labelled records and return its labels for ``texts``.

    Raises:
        DataError: ``texts`` is not a list of strings.
        ConfigurationError: the classifier is unknown.
    """
    texts = text_list(texts)
    match classifier:
        case "tfidf":
            if len(set(train.labels or [])) == 1:
                return (train.labels or [])[:1] * len(texts)
            fitted = TextClassifier(train, samples=samples, noisy_labels=noisy_labels)
            return fitted.predict(texts, fitted.fit(strength=fitted.tune()))
        case "lstm":
            from adept.evaluation.lstm import predict_lstm  # a trainer takes seconds to import

            return predict_lstm(train, texts, seed=seed)
        case _:
            raise ConfigurationError(f"classifier must be one of {', '.join(CLASSIFIERS)}, got {classifier}")
