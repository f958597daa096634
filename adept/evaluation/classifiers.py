"""What private text is good for: an intent classifier is trained on it and tested on text that people really wrote."""

import tempfile
import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytorch_lightning as lightning
import torch
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from torch import Tensor, nn
from torch.utils.data import DataLoader

from adept.data.corpus import Corpus
from adept.errors import ConfigurationError, DataError
from adept.evaluation.metrics import Interval, accuracy, bootstrap, codes, macro_f1
from adept.models.batching import length_batches, pad
from adept.models.tokenizer import PAD, Tokenizer
from adept.models.trainer import TrainerConfig, make_trainer, quiet_lightning

CLASSIFIERS = ("tfidf", "lstm")
STRENGTHS = (0.1, 1.0, 10.0, 100.0)  # C of logistic regression: the smaller, the simpler the classifier
FOLDS, SMALLEST_TO_TUNE = 3, 100


@dataclass(frozen=True)
class Evaluation:
    """How well a classifier does on the test records, with 95 % bootstrap intervals over them."""

    accuracy: Interval
    macro_f1: Interval
    majority_accuracy: float  # of always guessing the majority label of the training records
    train_records: int
    test_records: int
    labels: int


def evaluate(train: Corpus, test: Corpus, *, classifier: str = "tfidf", seed: int = 0, samples: int = 1) -> Evaluation:
    """Train an intent classifier on one corpus and test it on another.

    Args:
        classifier: "tfidf" (TF-IDF of words and word pairs, logistic regression whose regularisation is chosen by
            cross-validation inside ``train``) or "lstm" (bidirectional, max-pooled).
        samples: consecutive texts of one record in ``train``, which cross-validation keeps together.

    Raises:
        ConfigurationError: the classifier is unknown.
        DataError: a corpus has no labels.
    """
    for name, corpus in (("train", train), ("test", test)):
        if corpus.labels is None:
            raise DataError(f"{name} must have labels: name their column with label_column=")
    predicted = predict(train, test.texts, classifier=classifier, seed=seed, samples=samples)
    return _scored(predicted, train.labels or [], test.labels or [])


def evaluate_latents(latents: Tensor, labels: list[str], test_latents: Tensor, test_labels: list[str]) -> Evaluation:
    """Train logistic regression on released latents (N, n) themselves and test it on clean ones: what decoding has to lose."""
    if len(set(labels)) == 1:
        return _scored(labels[:1] * len(test_labels), labels, test_labels)
    vectors, index = torch.unique(latents.double(), dim=0, return_inverse=True)
    pairs = Counter(zip(index.tolist(), labels, strict=True))
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=2000))
    model.fit(
        vectors[[row for row, _ in pairs]].numpy(),
        [label for _, label in pairs],
        logisticregression__sample_weight=list(pairs.values()),
        standardscaler__sample_weight=list(pairs.values()),
    )
    return _scored([str(label) for label in model.predict(test_latents.double().numpy())], labels, test_labels)


def _scored(predicted: list[str], train_labels: list[str], test_labels: list[str]) -> Evaluation:
    truth, guesses = codes(test_labels, predicted)
    majority, _ = Counter(train_labels).most_common(1)[0]
    return Evaluation(
        accuracy=bootstrap(accuracy, truth, guesses),
        macro_f1=bootstrap(macro_f1, truth, guesses),
        majority_accuracy=test_labels.count(majority) / len(test_labels),
        train_records=len(train_labels),
        test_records=len(test_labels),
        labels=len(set(train_labels)),
    )


def predict(train: Corpus, texts: list[str], *, classifier: str, seed: int = 0, samples: int = 1) -> list[str]:
    """Train a classifier on labelled records and return its labels for ``texts``."""
    match classifier:
        case "tfidf":
            return _predict_tfidf(train, texts, samples=samples)
        case "lstm":
            return _predict_lstm(train, texts, seed=seed)
        case _:
            raise ConfigurationError(f"classifier must be one of {', '.join(CLASSIFIERS)}, got {classifier}")


def _predict_tfidf(train: Corpus, texts: list[str], *, samples: int) -> list[str]:
    labels = train.labels or []
    if len(set(labels)) == 1:
        return labels[:1] * len(texts)
    try:
        model = _fit_tfidf(train.texts, labels, strength=_tuned_strength(train.texts, labels, samples=samples))
    except ValueError as error:
        if "empty vocabulary" in str(error):
            raise DataError("train must hold at least one word: all its texts are empty") from None
        raise
    return [str(label) for label in model.predict(texts)]


def _fit_tfidf(texts: Sequence[str], labels: Sequence[str], *, strength: float) -> Pipeline:
    """Fit the classifier; equal rows, of which private text has many, are counted instead of repeated."""
    pairs = Counter(zip(texts, labels, strict=True))
    # Every word counts, one-letter words and numbers too, and empty texts are records like any other.
    features = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, token_pattern=r"(?u)\S+")
    model = make_pipeline(features, LogisticRegression(C=strength, max_iter=300))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # after 300 steps no test figure moves any more
        weights = list(pairs.values())
        model.fit([t for t, _ in pairs], [c for _, c in pairs], logisticregression__sample_weight=weights)
    return model


def _tuned_strength(texts: list[str], labels: list[str], *, samples: int) -> float:
    """Choose C by the accuracy of cross-validation over records; labels of noisy text call for a small one."""
    records = len(texts) // samples
    fold = np.random.default_rng(0).permutation(records).repeat(samples) % FOLDS
    words, classes = np.array(texts, dtype=object), np.array(labels, dtype=object)
    folds = [(fold != i, fold == i) for i in range(FOLDS)]
    if records < SMALLEST_TO_TUNE or any(len(set(classes[inside])) < 2 for inside, _ in folds):
        return STRENGTHS[-1]

    def hits(strength: float) -> int:
        models = ((_fit_tfidf(words[inside], classes[inside], strength=strength), out) for inside, out in folds)
        return sum(int((model.predict(words[out]) == classes[out]).sum()) for model, out in models)

    best, most = STRENGTHS[0], hits(STRENGTHS[0])
    for strength in STRENGTHS[1:]:  # upward, and no further than it helps: a large C takes long to fit
        if (found := hits(strength)) < most:
            break
        best, most = (strength, found) if found > most else (best, most)
    return best


class LSTMClassifier(lightning.LightningModule):
    """Embedding, bidirectional LSTM, maximum over time, linear: tokens (B, T) -> logits (B, labels)."""

    def __init__(self, vocabulary_size: int, labels: int, *, embedding_dim: int = 96, hidden_dim: int = 128) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocabulary_size, embedding_dim, padding_idx=PAD)
        self.lstm = nn.LSTM(embedding_dim, hidden_dim, batch_first=True, bidirectional=True)
        self.dropout = nn.Dropout(0.3)
        self.to_labels = nn.Linear(2 * hidden_dim, labels)

    def forward(self, tokens: Tensor) -> Tensor:
        states, _ = self.lstm(self.dropout(self.embedding(tokens)))  # (B, T, 2H)
        pooled = states.masked_fill((tokens == PAD)[..., None], -torch.inf).amax(dim=1)  # END is there: never empty
        return cast(Tensor, self.to_labels(self.dropout(pooled)))

    def training_step(self, batch: tuple[Tensor, Tensor]) -> Tensor:
        tokens, labels = batch
        return nn.functional.cross_entropy(self(tokens), labels)

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.AdamW(self.parameters(), lr=2e-3)


def _predict_lstm(train: Corpus, texts: list[str], *, seed: int, max_length: int = 60, epochs: int = 8) -> list[str]:
    """Train for a fixed number of epochs: validation text that is not private would be one more thing to know about."""
    lightning.seed_everything(seed, verbose=False)
    tokenizer = Tokenizer.train(train.texts)
    names = sorted(set(train.labels or []))
    targets = [names.index(label) for label in train.labels or []]
    rows = tokenizer.encode(train.texts, max_length=max_length)
    order = length_batches([len(row) for row in rows], batch_size=32, seed=seed)
    batches = [(pad([rows[i] for i in batch]), torch.tensor([targets[i] for i in batch])) for batch in order]
    model = LSTMClassifier(len(tokenizer), len(names))
    with tempfile.TemporaryDirectory() as directory, quiet_lightning():
        config = TrainerConfig(max_epochs=epochs, progress_bar=False)
        trainer = make_trainer(config, Path(directory), [], gradient_clip=1.0, checkpoints=False)
        trainer.fit(model, DataLoader(cast(Any, batches), batch_size=None, shuffle=True))
    model.eval().cpu()
    with torch.inference_mode():
        encoded = tokenizer.encode(texts, max_length=max_length)
        chunks = (pad(encoded[i : i + 256]) for i in range(0, len(encoded), 256))
        best = torch.cat([model(chunk).argmax(dim=1) for chunk in chunks])
    return [names[i] for i in best.tolist()]
