"""Rewriting inside other people's pipelines: a callable for ``datasets.Dataset.map``, and what scikit-learn's transformer calls.

Every call is a release: its noise is new, and rows that go through twice are released twice. ``Dataset.map`` keeps the results
of a data set that lies in files and reads them again, which costs nothing; of one in memory (``from_dict``) it releases again, as
does cross-validation for each fold. With ``ledger=`` such a second release is refused, and counted where it is wanted
(``again=True``).
"""

import secrets
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from adept.errors import ConfigurationError, ReleaseRefused
from adept.release.columns import ReleaseOptions
from adept.release.inputs import Inputs
from adept.release.ledger import Ledger, claim_rows
from adept.release.plan import Plan
from adept.release.secret import row_digest, secret_key
from adept.rewriting.rewriter import Rewriter


@dataclass(frozen=True)
class TextRelease:
    """Releases lists of texts; it can be copied and pickled, as pipelines do.

    Attributes:
        rewriter: what releases.
        ledger: where released texts are known from; None for none.
        again: release texts of the ledger again.
        key: the file with the key of the ledger's digests; None stands for the usual one.
        name: what the ledger lists as the output.
    """

    rewriter: Rewriter
    ledger: str | None = None
    again: bool = False
    key: str | None = None
    name: str = "memory"

    def __post_init__(self) -> None:
        if self.rewriter.measurement:
            raise ReleaseRefused("a rewriter for measurement must not release: open one with open_rewriter")

    def release(self, texts: Sequence[str]) -> list[str]:
        """Return one rewrite of each text.

        Raises:
            ReleaseRefused: texts are in the ledger.
        """
        if not all(isinstance(text, str) for text in texts):
            raise ConfigurationError("texts must be strings, got something else: turn every value into a string first")
        if self.ledger is None:
            return self.rewriter.rewrite(texts)
        key, run = secret_key(self.key), secrets.token_hex(8)
        options = ReleaseOptions(labels="drop")
        statement = Plan(self.rewriter, Inputs(("-",), "txt"), options, "txt", None).statement(0, output_sha256=None)
        with closing(Ledger(self.ledger, key=key, again=self.again)) as ledger:
            ledger.begin(run, statement, self.name)
            try:
                claim_rows(ledger, run, [[row_digest(key, {"text": text}) for text in texts]], statement.epsilon)
                rewrites = self.rewriter.rewrite(texts)
            except BaseException:
                ledger.forget(run)  # nobody saw anything
                raise
            ledger.finish(run)
        return rewrites


@dataclass(frozen=True)
class DatasetRewriter(TextRelease):
    """For ``dataset.map(DatasetRewriter(rewriter), batched=True, remove_columns=dataset.column_names)``.

    Only the rewritten text comes back. Columns that are not removed stay in the data set as they are: they are not private.
    """

    text_column: str = "text"

    def __call__(self, batch: Mapping[str, Sequence[Any]]) -> dict[str, list[str]]:
        """Return the rewritten text column of a batch of columns."""
        if self.text_column not in batch:
            raise ConfigurationError(f"text_column must be a column of the data set, got {self.text_column}")
        return {self.text_column: self.release(list(batch[self.text_column]))}
