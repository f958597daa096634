"""A scikit-learn transformer that releases texts; nothing else that releases needs scikit-learn."""

from collections.abc import Sequence
from typing import Any

from sklearn.base import BaseEstimator, TransformerMixin

from adept.release.adapters import TextRelease
from adept.rewriting.rewriter import Rewriter


class PrivateText(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Texts to private texts, as a step of a pipeline: ``make_pipeline(PrivateText(rewriter), TfidfVectorizer(), ...)``.

    ``fit`` learns nothing and releases nothing. ``transform`` releases: each call draws new noise, so a pipeline that is
    fitted, scored and cross-validated releases the same texts many times, and budgets add up. Transform once and keep the
    result, or give a ledger, which refuses a second release unless ``again=True``.

    Args:
        rewriter: what releases.
        ledger: where released texts are known from.
        again: release texts of the ledger again.
        key: the file with the key of the ledger's digests.
    """

    def __init__(
        self, rewriter: Rewriter, ledger: str | None = None, again: bool = False, key: str | None = None
    ) -> None:
        self.rewriter = rewriter
        self.ledger = ledger
        self.again = again
        self.key = key

    def fit(self, texts: Sequence[str], labels: Any = None) -> "PrivateText":
        """Do nothing."""
        return self

    def transform(self, texts: Sequence[str]) -> list[str]:
        """Release every text once."""
        return TextRelease(self.rewriter, self.ledger, self.again, self.key, "transform").release(list(texts))

    def __sklearn_is_fitted__(self) -> bool:
        return True
