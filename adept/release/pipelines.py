"""Rewriting inside other libraries' pipelines: a callable for ``datasets.Dataset.map``, and a transformer of scikit-learn.

Every call is a release: it draws new noise, so rows that pass twice are released twice. If a data set lies in files,
``Dataset.map`` caches its results and reads them again, which costs nothing. If it lies in memory (``from_dict``), ``map``
releases it again. With ``ledger=`` a second release is refused, or counted if it is wanted (``again=True``).

Cross-validation clones its steps and transforms a text once for each fold. Clones, copies and pickles of a step are different
objects, so the memory of what was transformed belongs to the process. It holds digests, under a key that each process draws
anew. A forked process begins with a copy of its parent's memory.
"""

import os
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock
from typing import Any

from sklearn.base import BaseEstimator, TransformerMixin

from adept.data.column_names import list_names
from adept.data.texts import instance_of, text_list
from adept.errors import ConfigurationError, DataError, ReleaseRefused
from adept.mechanisms.guarantee import total, words
from adept.release.columns import ReleaseOptions
from adept.release.config import LedgerOptions
from adept.release.default_ledger import NONE, claim_records
from adept.release.identity import text_digest, throwaway_key
from adept.release.inputs import Inputs
from adept.release.local import LocalPlan
from adept.release.publication import Publication
from adept.release.statement import PrivacyStatement
from adept.rewriting.rewriter import Rewriter

CHECK_ROWS = 1000  # records that ``check`` holds in memory

_SPENT: defaultdict[bytes, list[float]] = defaultdict(list)  # by a text's digest: the epsilon of each of its releases
_KEY, _LOCK = throwaway_key(), Lock()
os.register_at_fork(before=_LOCK.acquire, after_in_parent=_LOCK.release, after_in_child=_LOCK.release)


@dataclass(frozen=True)
class DatasetRewriter:
    """Function for ``dataset.map(DatasetRewriter(rewriter), batched=True, remove_columns=dataset.column_names)``.

    It returns only the rewritten text. Columns that ``map`` does not remove stay in the data set unchanged and are not private.
    Without ``batched=True`` each call releases one text. A call checks its own batch alone, so call ``check`` first.
    Never give it to ``set_transform`` or ``with_transform``: they call it whenever a row is read, and each call is a release.

    Attributes:
        rewriter: the rewriter that releases.
        ledger: the ledger's file; None keeps no ledger.
        again: True releases texts again that are in the ledger.
        key: the file with the key of the ledger's digests; None stands for the usual one.
        name: the name of the output in the ledger.
        ledger_limit: epsilon that no text of the ledger may exceed; the ledger's own limit holds too.
        text_column: the column with the texts.
    """

    rewriter: Rewriter
    ledger: str | None = None
    again: bool = False
    key: str | None = None
    name: str = "memory"
    ledger_limit: float | None = None
    text_column: str = "text"

    def __call__(self, batch: Mapping[str, Any]) -> dict[str, Any]:
        """Return the rewritten text column of a batch, or the rewrite of a single record."""
        self._check_column(list(batch))
        texts = batch[self.text_column]
        if isinstance(texts, str):
            return {self.text_column: _release(self, [texts], self.name)[0]}
        return {self.text_column: _release(self, texts, self.name)}

    def check(self, dataset: Any) -> int:
        """Check all texts of a data set before any of them is released, and return their number.

        Args:
            dataset: a ``datasets.Dataset`` or ``IterableDataset``, which is read a part at a time.

        Raises:
            ConfigurationError: the data set has no text column of this name.
            DataError: ``dataset`` is no data set, or a text is not a string; the message gives its position.
        """
        if not instance_of(dataset, (("datasets", "Dataset"), ("datasets", "IterableDataset"))):
            raise DataError(f"dataset must be a datasets.Dataset, got a {type(dataset).__name__}: check each split")
        if dataset.column_names is not None:
            self._check_column(dataset.column_names)
        count = 0
        for batch in dataset.iter(batch_size=CHECK_ROWS):
            self._check_column(list(batch))
            count += len(text_list(batch[self.text_column], self.text_column, first=count + 1))
        return count

    def _check_column(self, columns: Sequence[str]) -> None:
        if self.text_column not in columns:
            raise ConfigurationError(
                f"text_column must be a column of the data set, got {self.text_column!r}: it has {list_names(columns)}"
            )


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
        with _remember(given, self.rewriter.guarantee.epsilon, again=self.again):
            return _release(self, given, "transform")

    def spent(self) -> float:
        """Return the largest total epsilon that one text has spent in this process, over all objects of this class."""
        with _LOCK:
            return max((total(*epsilons) for epsilons in _SPENT.values()), default=0.0)

    def __sklearn_is_fitted__(self) -> bool:
        return True


def _release(step: DatasetRewriter | PrivateText, texts: Any, name: str) -> list[str]:
    """Return one rewrite of each text.

    Raises:
        DataError: ``texts`` is not a list of strings.
        ReleaseRefused: some texts are in the ledger, or the rewriter is for measurement.
    """
    if step.rewriter.measurement:
        raise ReleaseRefused("a rewriter for measurement must not release: open one with open_release")
    given = text_list(texts)
    if step.ledger is None and step.ledger_limit is None:
        return step.rewriter.rewrite(given)
    options = LedgerOptions(ledger=step.ledger or NONE, again=step.again, key=step.key, ledger_limit=step.ledger_limit)
    with claim_records([{"text": text} for text in given], _state(step.rewriter), options, name=name):
        return step.rewriter.rewrite(given)


def _state(rewriter: Rewriter) -> PrivacyStatement:
    """Return the statement of a release of texts alone."""
    inputs, publication, options = Inputs(("-",)), Publication("-", ""), ReleaseOptions(labels="drop")
    return LocalPlan(writer=rewriter, inputs=inputs, publication=publication, options=options, format="txt").statement()


@contextmanager
def _remember(texts: Sequence[str], epsilon: float, *, again: bool) -> Iterator[None]:
    """Remember that the body releases texts; equal texts of one call are different records, so the call counts once for them.

    *Claim*: no two calls of one process both release a text unless the later one says ``again``; a call that fails spends nothing.
    *Proof*. Looking up and adding happen under one lock, before the body draws; if the body fails, its epsilons are taken
    back, because nobody has read its rewrites. QED.

    Raises:
        ReleaseRefused: some texts were released before in this process, and ``again`` is False.
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
        _take_back(digests, epsilon)
        raise


def _take_back(digests: set[bytes], epsilon: float) -> None:
    """Forget one release of each text."""
    with _LOCK:
        for digest in digests:
            _SPENT[digest].remove(epsilon)
            if not _SPENT[digest]:
                del _SPENT[digest]
