"""A scikit-learn transformer that releases texts, and this process's memory of released texts.

The memory belongs to the process and not to a transformer, because cross-validation clones the
transformer. The memory holds keyed digests of texts (the key is random and secret), with the
epsilon of each release. A forked process begins with a copy of this memory.
"""

import os
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from threading import Lock
from typing import Any

from sklearn.base import BaseEstimator, TransformerMixin

from adept.data.text_arguments import text_list
from adept.errors import ReleaseRefused
from adept.mechanisms.guarantee import total, words
from adept.release.adapters import release_texts
from adept.release.default_ledger import NO_LEDGER
from adept.release.record_identity import text_digest, throwaway_key
from adept.release.rewrite_options import LedgerOptions
from adept.rewriting.rewriter import Rewriter

# By a text's digest: the epsilon of each of its releases
_SPENT: defaultdict[bytes, list[float]] = defaultdict(list)
_KEY, _LOCK = throwaway_key(), Lock()
os.register_at_fork(before=_LOCK.acquire, after_in_parent=_LOCK.release, after_in_child=_LOCK.release)


class PrivateText(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """A pipeline step that rewrites texts: ``make_pipeline(PrivateText(rewriter), ...)``.

    ``fit`` releases nothing; each call of ``transform`` is a release with new noise. ``transform``
    refuses a text that any ``PrivateText`` of this process has released before. So rewrite the
    texts once, before a cross-validation: otherwise the budgets of all folds would add up. With
    ``again=True``, ``transform`` releases such a text again, and the epsilons of the text add up;
    ``spent`` returns the largest total. To count the releases of other processes too, give a
    ledger, a file that lists released records.

    Args:
        rewriter, ledger, again, key, ledger_limit: as for ``DatasetRewriter``.
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
        """Check that ``texts`` is a list of texts, and learn nothing."""
        text_list(texts)
        return self

    def transform(self, texts: Any) -> list[str]:
        """Release each text once, and return the rewrites in order; refuse a single string."""
        given = text_list(texts)
        options = LedgerOptions(
            self.ledger or NO_LEDGER, again=self.again, key=self.key, ledger_limit=self.ledger_limit
        )
        with _remember(given, self.rewriter.guarantee.epsilon, again=self.again):
            return release_texts(self.rewriter, given, options, name="transform")

    def spent(self) -> float:
        """Return the largest total epsilon that any single text has spent in this process."""
        with _LOCK:
            return max((total(*epsilons) for epsilons in _SPENT.values()), default=0.0)

    def __sklearn_is_fitted__(self) -> bool:
        return True


@contextmanager
def _remember(texts: Sequence[str], epsilon: float, *, again: bool) -> Iterator[None]:
    """Add the epsilon of a release to the total of each of its texts.

    A text that occurs several times in one call is counted once. *Claim*: if two calls of one
    process both release a text, the later call has ``again=True``; a call that fails spends
    nothing. *Proof*. One lock is held while the texts are looked up and their epsilons are added,
    before the ``with`` block draws. If the ``with`` block fails, the added epsilons are removed
    again, because nobody has read the rewrites. QED.
    """
    digests = {text_digest(_KEY, text) for text in texts}
    with _LOCK:
        before = [total(*_SPENT[digest]) for digest in digests if digest in _SPENT]
        if before and not again:
            raise ReleaseRefused(
                f"{len(before)} different texts were released before in this process, with epsilon {words(max(before))} in all: "
                "rewrite once, before the search, and search on the rewrites; or add again=True, and budgets add up"
            )
        for digest in digests:
            _SPENT[digest].append(epsilon)
    try:
        yield
    except BaseException:
        with _LOCK:
            for digest in digests:
                _SPENT[digest].remove(epsilon)
                if not _SPENT[digest]:
                    del _SPENT[digest]
        raise
