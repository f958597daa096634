"""Releases inside other libraries: a callable for ``datasets.Dataset.map``, and lists of texts.

Every call is a release with new noise, so if you pass a text twice, it is released twice. With
``ledger=FILE``, a second release of a text is refused, unless ``again=True``.
"""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

from adept.data.column_names import list_names
from adept.data.text_arguments import instance_of, text_list
from adept.errors import ConfigurationError, DataError, ReleaseRefused
from adept.release.default_ledger import NO_LEDGER, claim_records
from adept.release.ledger_file import Spending
from adept.release.rewrite_options import LedgerOptions
from adept.release.statement_provenance import model_sha256
from adept.rewriting.rewriter import Rewriter

CHECK_ROWS = 1000  # records that ``check`` holds in memory


@dataclass(frozen=True)
class DatasetRewriter:
    """A callable for ``dataset.map(..., batched=True)`` that rewrites the texts of a batch.

    Pass ``remove_columns=dataset.column_names`` to ``map``, because the original columns are not
    private. Call ``check`` on the whole data set first, because ``map`` checks one batch at a time.
    Never pass this object to ``set_transform`` or ``with_transform``: they would release a row
    again whenever somebody reads the row.

    Attributes:
        ledger: file that lists released records; with None, no list is kept.
        again: True if a text that the ledger already lists may be released again.
        key: file with the secret key for the ledger's digests; None for ``~/.config/adept/key``.
        name: name of the output in the ledger.
        ledger_limit: largest total epsilon of a text, unless the ledger stores a smaller limit.
        text_column: name of the column with the texts.
        label_column: name of the column with labels; needed if the label of a text selects the
            public sentences among which the text's rewrite is chosen.
    """

    rewriter: Rewriter
    ledger: str | None = None
    again: bool = False
    key: str | None = None
    name: str = "memory"
    ledger_limit: float | None = None
    text_column: str = "text"
    label_column: str | None = None

    def __call__(self, batch: Mapping[str, Any]) -> dict[str, Any]:
        self._check_columns(list(batch))
        texts, labels = batch[self.text_column], batch[self.label_column] if self.label_column else None
        options = LedgerOptions(
            self.ledger or NO_LEDGER, again=self.again, key=self.key, ledger_limit=self.ledger_limit
        )
        single = isinstance(texts, str)
        given, beside = ([texts], labels and [labels]) if single else (texts, labels)
        private = release_texts(self.rewriter, given, options, name=self.name, labels=beside)
        return {self.text_column: private[0] if single else private}

    def check(self, dataset: Any) -> int:
        """Check that each row of a data set has a text; return the number of rows.

        Call this method before any text is released.
        """
        if not instance_of(dataset, (("datasets", "Dataset"), ("datasets", "IterableDataset"))):
            raise DataError(f"dataset must be a datasets.Dataset, got a {type(dataset).__name__}: check each split")
        if dataset.column_names is not None:
            self._check_columns(dataset.column_names)
        count = 0
        for batch in dataset.iter(batch_size=CHECK_ROWS):
            self._check_columns(list(batch))
            count += len(text_list(batch[self.text_column], self.text_column, first=count + 1))
        return count

    def _check_columns(self, columns: Sequence[str]) -> None:
        for option in ("text_column", "label_column"):
            if (column := getattr(self, option)) is not None and column not in columns:
                raise ConfigurationError(
                    f"{option} must be a column of the data set, got {column!r}: it has {list_names(columns)}"
                )


def release_texts(
    rewriter: Rewriter, texts: Any, options: LedgerOptions, *, name: str, labels: Any = None
) -> list[str]:
    """Return one rewrite of each text; the ledger stores ``name`` as the name of the output."""
    if rewriter.measurement:
        raise ReleaseRefused("a rewriter for measurement must not release: open one with open_release")
    given = text_list(texts)
    held: AbstractContextManager[None] = nullcontext()
    if options.ledger != NO_LEDGER or options.ledger_limit is not None:
        spending = Spending.of(rewriter.guarantee, rewriter.mechanism.name, model_sha256(rewriter.model))
        held = claim_records([{"text": text} for text in given], spending, options, name=name)
    with held:
        return [text for text, _ in rewriter.rewrite_pairs(given, labels)]
