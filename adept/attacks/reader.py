"""The attackers' classifier, and that of whoever gets rewrites: TF-IDF of words and word pairs, logistic regression."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from adept.data.texts import text_list

STRENGTH = 10.0  # C of the regression: chosen once, on public text


class Reader:
    """A classifier of texts.

    Args:
        texts: to learn from.
        values: what they say, by their classes' names; at least one.
        seed: of the solver.
    """

    def __init__(self, texts: Sequence[str], values: Sequence[str], *, seed: int = 0) -> None:
        from sklearn.feature_extraction.text import TfidfVectorizer  # slow to import
        from sklearn.linear_model import LogisticRegression
        from sklearn.pipeline import make_pipeline

        texts = text_list(texts)
        self.classes = sorted(set(values))
        self._model = make_pipeline(
            TfidfVectorizer(ngram_range=(1, 2), token_pattern=r"\S+"),
            LogisticRegression(C=STRENGTH, max_iter=300, random_state=seed),
        )
        if len(self.classes) > 1:
            self._model.fit(texts, list(values))

    def guess(self, texts: Sequence[str]) -> list[str]:
        """Name the class of each text."""
        texts = text_list(texts)
        if len(self.classes) < 2:
            return self.classes * len(texts)
        return [str(value) for value in self._model.predict(texts)]

    def confidence(self, texts: Sequence[str], values: Sequence[str]) -> NDArray[np.float64]:
        """The logit of the probability of each text's own class; of a class that was never seen, that of one in a million."""
        texts = text_list(texts)
        chances = np.full(len(texts), 1e-6)
        if len(self.classes) > 1:
            table = self._model.predict_proba(texts)
            places = {value: place for place, value in enumerate(self.classes)}
            for row, value in enumerate(values):
                chances[row] = table[row, places[value]] if value in places else 1e-6
        clipped = np.clip(chances, 1e-9, 1 - 1e-9)
        logits: NDArray[np.float64] = np.log(clipped) - np.log1p(-clipped)
        return logits
