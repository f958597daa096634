"""A scikit-learn transformer that releases texts; nothing else that releases needs scikit-learn."""

from typing import Any

from sklearn.base import BaseEstimator, TransformerMixin

from adept.data.texts import text_list
from adept.release.adapters import TextRelease
from adept.release.memory import most_spent, remembered
from adept.rewriting.rewriter import Rewriter


class PrivateText(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """A pipeline step that rewrites texts: ``make_pipeline(PrivateText(rewriter), TfidfVectorizer(), ...)``.

    ``fit`` learns nothing and releases nothing. ``transform`` releases: each call draws new noise. Cross-validation
    transforms the same texts many times, and budgets would add up. So a step refuses a text that any ``PrivateText`` of this
    process has released, be it this one, a clone or another one: rewrite once, before the search. ``again=True`` releases the
    text again, and ``spent`` returns the total.

    A step does not see the releases of other processes, such as the workers of ``n_jobs=2`` or an earlier session. A ledger does.

    Args:
        rewriter: the rewriter that releases.
        ledger: the ledger's file; None keeps no ledger.
        again: True releases texts again that this process or the ledger has seen.
        key: the file with the key of the ledger's digests.
        ledger_limit: epsilon that no text of the ledger may exceed; the ledger's own limit holds too.
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
            DataError: ``texts`` is not a list of strings; a single string is refused too.
            ReleaseRefused: some texts were released before.
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
