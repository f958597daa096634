"""The classifier that reads text: TF-IDF of words and word pairs, logistic regression whose strength cross-validation chooses.

Every word counts, one-letter words and numbers too, and empty texts are records like any other. Features are fitted once, on
the different texts without their labels. A text that stood on both sides of a fold would let the largest strength remember its
label, as if it had learned something: so all copies of a text are in one fold, that of the first record that has it, and so are
texts that a record has for itself. (Where records draw from pools nearly every text is shared: with folds of records a strength
of 128 was chosen on HWU64 at eps = 8, where 3 to 10 are best.)
"""

from collections.abc import Sequence
from typing import cast

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.feature_extraction.text import TfidfVectorizer
from torch import Tensor

from adept.data.corpus import Corpus
from adept.errors import DataError
from adept.evaluation.softmax import Features, best_labels, softmax_regression

STRENGTHS = (
    0.5,
    2.0,
    8.0,
    32.0,
    128.0,
)  # C of logistic regression for one record: the smaller, the simpler the classifier
FOLDS, SMALLEST_TO_TUNE = 3, 100
ENOUGH = 1500  # records of which a single fold says as much as is needed
TUNING_STEPS = 20  # from where the next smaller strength ended


class TextClassifier:
    """Learns the labels of texts.

    Args:
        train: labelled records of at least two labels.
        samples: consecutive texts of one record, which cross-validation keeps together.

    Attributes:
        names: the labels.
        rows, columns: the place of each text among the different ones, and of its label among the names (N,).

    Raises:
        DataError: all texts are empty.
    """

    def __init__(self, train: Corpus, *, samples: int = 1) -> None:
        texts, labels = train.texts, train.labels or []
        self.samples = samples
        self.names = sorted(set(labels))
        self.rows, distinct = _places(texts)
        self.columns = np.searchsorted(np.array(self.names, dtype=object), np.array(labels, dtype=object))
        self._distinct = len(distinct)
        self._tfidf = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, token_pattern=r"(?u)\S+", dtype=np.float32)
        try:
            self._features = Features.sparse(self._tfidf.fit_transform(distinct).tocsr())
        except ValueError as error:
            if "empty vocabulary" in str(error):
                raise DataError("train must hold at least one word: all its texts are empty") from None
            raise
        self._start: Tensor | None = None

    def fit(self, *, strength: float) -> Tensor:
        """Return weights (d + 1, L) from all records, each of which counts once, however many texts it has."""
        scaled = strength / self.samples
        return softmax_regression(self._features, self._counts(), strength=scaled, start=self._start)

    def predict(self, texts: Sequence[str], weights: Tensor) -> list[str]:
        """Return the likeliest label of each text."""
        found = best_labels(Features.sparse(self._tfidf.transform(texts).tocsr()), weights)
        return [self.names[place] for place in found.tolist()]

    def tuned(self) -> float:
        """Choose the strength by the accuracy of cross-validation over records; labels of noisy text call for a small one.

        Of many records one fold is enough. Upward, and no further than it helps: a large strength takes long to fit. The next
        :meth:`fit` starts from the folds' mean.
        """
        records = len(self.rows) // self.samples
        _, firsts = np.unique(self.rows, return_index=True)
        fold = (np.random.default_rng(0).permutation(records) % FOLDS)[firsts // self.samples][self.rows]
        folds = range(1 if records > ENOUGH else FOLDS)
        parts = [(self._counts(fold != i), self._counts(fold == i)) for i in folds]
        if records < SMALLEST_TO_TUNE or any(int((inside.sum(dim=0) > 0).sum()) < 2 for inside, _ in parts):
            return STRENGTHS[-1]
        best, most, starts = STRENGTHS[0], -1.0, cast(list[Tensor | None], [None] * len(parts))
        for strength in STRENGTHS:
            fitted = [
                softmax_regression(
                    self._features, inside, strength=strength / self.samples, start=start, steps=TUNING_STEPS
                )
                for (inside, _), start in zip(parts, starts, strict=True)
            ]
            found = sum(self._hits(outside, weights) for (_, outside), weights in zip(parts, fitted, strict=True))
            if found < most:
                break
            if found > most:
                best, most, self._start = strength, found, torch.stack(fitted).mean(dim=0)
            starts = list(fitted)
        return best

    def _counts(self, chosen: NDArray[np.bool_] | slice = slice(None)) -> Tensor:
        """How many of the chosen records have each different text and each label (m, L)."""
        size = len(self.names)
        cells = np.bincount(self.rows[chosen] * size + self.columns[chosen], minlength=self._distinct * size)
        return torch.from_numpy(cells.astype(np.float32)).reshape(self._distinct, size)

    def _hits(self, counts: Tensor, weights: Tensor) -> float:
        """How many of the counted records the weights label rightly."""
        return float(counts.gather(1, best_labels(self._features, weights)[:, None]).sum())


def _places(texts: Sequence[str]) -> tuple[NDArray[np.int64], list[str]]:
    """Return each text's place (N,) among the different ones, and those in the order in which they first come."""
    number = {text: place for place, text in enumerate(dict.fromkeys(texts))}
    return np.array([number[text] for text in texts], dtype=np.int64), list(number)
