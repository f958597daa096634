"""What private text is good for: an intent classifier is trained on it and tested on text that people really wrote."""

from collections import Counter
from dataclasses import dataclass

from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from adept.data import Corpus
from adept.errors import ConfigurationError, DataError
from adept.metrics import Interval, accuracy, bootstrap, codes, macro_f1


@dataclass(frozen=True)
class Evaluation:
    """How well a classifier does on the test records, with 95 % bootstrap intervals over them."""

    accuracy: Interval
    macro_f1: Interval
    majority_accuracy: float  # of always guessing the commonest label of the training records
    train_records: int
    test_records: int
    labels: int


def evaluate(train: Corpus, test: Corpus, *, classifier: str = "tfidf", seed: int = 0) -> Evaluation:
    """Train an intent classifier on one corpus and test it on another.

    Args:
        classifier: "tfidf" (TF-IDF of words and word pairs, logistic regression).

    Raises:
        ConfigurationError: the classifier is unknown.
        DataError: a corpus has no labels.
    """
    for name, corpus in (("train", train), ("test", test)):
        if corpus.labels is None:
            raise DataError(f"{name} must have labels: name their column with label_column=")
    predicted = predict(train, test.texts, classifier=classifier, seed=seed)
    truth, guesses = codes(test.labels or [], predicted)
    commonest, _ = Counter(train.labels).most_common(1)[0]
    return Evaluation(
        accuracy=bootstrap(accuracy, truth, guesses),
        macro_f1=bootstrap(macro_f1, truth, guesses),
        majority_accuracy=(test.labels or []).count(commonest) / len(test),
        train_records=len(train),
        test_records=len(test),
        labels=len(set(train.labels or [])),
    )


def predict(train: Corpus, texts: list[str], *, classifier: str, seed: int = 0) -> list[str]:
    """Train a classifier on labelled records and return its labels for ``texts``."""
    match classifier:
        case "tfidf":
            return _predict_tfidf(train, texts)
        case _:
            raise ConfigurationError(f"classifier must be tfidf, got {classifier}")


def _predict_tfidf(train: Corpus, texts: list[str]) -> list[str]:
    labels = train.labels or []
    if len(set(labels)) == 1:
        return labels[:1] * len(texts)
    # Every word counts, one-letter words and numbers too, and empty texts are records like any other.
    features = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, token_pattern=r"(?u)\S+")
    model = make_pipeline(features, LogisticRegression(C=30.0, max_iter=2000))
    try:
        model.fit(train.texts, labels)
    except ValueError as error:
        if "empty vocabulary" in str(error):
            raise DataError("train must hold at least one word: all its texts are empty") from None
        raise
    return [str(label) for label in model.predict(texts)]
