"""Rewriting inside other libraries' pipelines: a callable for ``datasets.Dataset.map``, and the base of scikit-learn's step.

Every call is a release: it draws new noise, so rows that pass twice are released twice. If a data set lies in files,
``Dataset.map`` caches its results and reads them again, which costs nothing. If it lies in memory (``from_dict``), ``map``
releases it again. With ``ledger=`` a second release is refused, or counted if it is wanted (``again=True``).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from adept.data.texts import instance_of, shown_names, text_list
from adept.errors import ConfigurationError, DataError, ReleaseRefused
from adept.release.claims import LedgerChoice, claimed
from adept.release.columns import ReleaseOptions
from adept.release.inputs import Inputs
from adept.release.plan import Plan
from adept.release.statement import PrivacyStatement
from adept.rewriting.rewriter import Rewriter

CHECKED_TOGETHER = 1000  # records that ``check`` holds in memory


@dataclass(frozen=True)
class TextRelease:
    """Releases lists of texts; it can be copied and pickled, as pipelines do.

    Attributes:
        rewriter: the rewriter that releases.
        ledger: the ledger's file; None keeps no ledger.
        again: True releases texts again that are in the ledger.
        key: the file with the key of the ledger's digests; None stands for the usual one.
        name: the name of the output in the ledger.
        ledger_limit: epsilon that no text of the ledger may exceed; the ledger's own limit holds too.
    """

    rewriter: Rewriter
    ledger: str | None = None
    again: bool = False
    key: str | None = None
    name: str = "memory"
    ledger_limit: float | None = None

    def __post_init__(self) -> None:
        if self.rewriter.measurement:
            raise ReleaseRefused("a rewriter for measurement must not release: open one with open_rewriter")

    @property
    def statement(self) -> PrivacyStatement:
        """Statement of a release of texts alone."""
        options = ReleaseOptions(labels="drop")
        return Plan(self.rewriter, Inputs(("-",)), options, "txt", None).statement(0, output_sha256=None)

    def release(self, texts: Any) -> list[str]:
        """Return one rewrite of each text.

        Raises:
            DataError: ``texts`` is not a list of strings.
            ReleaseRefused: some texts are in the ledger.
        """
        given = text_list(texts)
        if self.ledger is None and self.ledger_limit is None:
            return self.rewriter.rewrite(given)
        records = [{"text": text} for text in given]
        choice = LedgerChoice(self.ledger, self.again, self.key, self.ledger_limit)
        with claimed(records, self.statement, choice, name=self.name):
            return self.rewriter.rewrite(given)


@dataclass(frozen=True)
class DatasetRewriter(TextRelease):
    """Function for ``dataset.map(DatasetRewriter(rewriter), batched=True, remove_columns=dataset.column_names)``.

    It returns only the rewritten text. Columns that ``map`` does not remove stay in the data set unchanged and are not private.
    Without ``batched=True`` each call releases one text. A call checks its own batch alone, so call ``check`` first.
    Never give it to ``set_transform`` or ``with_transform``: they call it whenever a row is read, and each call is a release.
    """

    text_column: str = "text"

    def __call__(self, batch: Mapping[str, Any]) -> dict[str, Any]:
        """Return the rewritten text column of a batch, or the rewrite of a single record."""
        self._check_column(list(batch))
        texts = batch[self.text_column]
        if isinstance(texts, str):
            return {self.text_column: self.release([texts])[0]}
        return {self.text_column: self.release(texts)}

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
        for batch in dataset.iter(batch_size=CHECKED_TOGETHER):
            self._check_column(list(batch))
            count += len(text_list(batch[self.text_column], self.text_column, first=count + 1))
        return count

    def _check_column(self, columns: Sequence[str]) -> None:
        if self.text_column not in columns:
            raise ConfigurationError(
                f"text_column must be a column of the data set, got {self.text_column!r}: it has {shown_names(columns)}"
            )
