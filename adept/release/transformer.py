"""A scikit-learn transformer that releases texts; nothing else that releases needs scikit-learn."""

from typing import Any

from sklearn.base import BaseEstimator, TransformerMixin

from adept.data.texts import text_list
from adept.release.adapters import TextRelease
from adept.release.memory import most_spent, remembered
from adept.rewriting.rewriter import Rewriter


class PrivateText(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Texts to private texts, as a step of a pipeline: ``make_pipeline(PrivateText(rewriter), TfidfVectorizer(), ...)``.

    ``fit`` learns nothing and releases nothing. ``transform`` releases: each call draws new noise. A pipeline that is
    cross-validated transforms the same texts many times, and budgets would add up. So a text that a ``PrivateText`` of this
    process has released, be it this one, a clone or another one, is refused: rewrite once, before the search. ``again=True``
    releases it again, and ``spent`` tells the total.

    What other processes release cannot be seen, such as the workers of ``n_jobs=2`` or an earlier session. A ledger sees it.

    Args:
        rewriter: what releases.
        ledger: where released texts are known from.
        again: release texts again that this process or the ledger knows.
        key: the file with the key of the ledger's digests.
        ledger_limit: epsilon that no text of the ledger may pass; the ledger's own limit holds too.
    """

    def __init__(
        self,
        rewriter: Rewriter,
        ledger: str | None = None,
        again: bool = False,
        key: str | None = None,
        ledger_limit: float | None = None,
    ) -> None:
        self.rewriter = rewriter
        self.ledger = ledger
        self.again = again
        self.key = key
        self.ledger_limit = ledger_limit

    def fit(self, texts: Any, labels: Any = None) -> "PrivateText":
        """Check the texts, and learn nothing."""
        text_list(texts)
        return self

    def transform(self, texts: Any) -> list[str]:
        """Release every text once.

        Raises:
            DataError: ``texts`` is no list, or one of them is no string; a single string is refused too.
            ReleaseRefused: some were released before.
        """
        given = text_list(texts)
        step = TextRelease(self.rewriter, self.ledger, self.again, self.key, "transform", self.ledger_limit)
        with remembered(given, self.rewriter.guarantee.epsilon, again=self.again):
            return step.release(given)

    def spent(self) -> float:
        """Return the largest total epsilon that one text has spent in this process, over all objects of this class."""
        return most_spent()

    def __sklearn_is_fitted__(self) -> bool:
        return True
