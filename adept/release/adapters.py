"""Rewriting inside other people's pipelines: a callable for ``datasets.Dataset.map``, and what scikit-learn's transformer calls.

Every call is a release: its noise is new, and rows that go through twice are released twice. ``Dataset.map`` keeps the results
of a data set that lies in files and reads them again, which costs nothing; of one in memory (``from_dict``) it releases again.
With ``ledger=`` such a second release is refused, and counted where it is wanted (``again=True``).
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

CHECKED_TOGETHER = 1000  # records that ``check`` has in memory


@dataclass(frozen=True)
class TextRelease:
    """Releases lists of texts; it can be copied and pickled, as pipelines do.

    Attributes:
        rewriter: what releases.
        ledger: where released texts are known from; None for none.
        again: release texts of the ledger again.
        key: the file with the key of the ledger's digests; None stands for the usual one.
        name: what the ledger lists as the output.
        ledger_limit: epsilon that no text of the ledger may pass; the ledger's own limit holds too.
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
        """The statement of a release of texts alone."""
        options = ReleaseOptions(labels="drop")
        return Plan(self.rewriter, Inputs(("-",)), options, "txt", None).statement(0, output_sha256=None)

    def release(self, texts: Any) -> list[str]:
        """Return one rewrite of each text.

        Raises:
            DataError: ``texts`` is no list, or one of them is no string.
            ReleaseRefused: texts are in the ledger.
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
    """For ``dataset.map(DatasetRewriter(rewriter), batched=True, remove_columns=dataset.column_names)``.

    Only the rewritten text comes back. Columns that are not removed stay in the data set as they are: they are not private.
    Without ``batched=True`` each call releases one text. Each call checks its own batch alone: call ``check`` first.
    Never give it to ``set_transform`` or ``with_transform``, which call it whenever a row is read: each time is a release.
    """

    text_column: str = "text"

    def __call__(self, batch: Mapping[str, Any]) -> dict[str, Any]:
        """Return the rewritten text column of a batch of columns, or the one rewrite of one record."""
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
            ConfigurationError: it has no such column.
            DataError: it is no data set, or a text is no string, with its position.
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
