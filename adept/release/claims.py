"""Claims on the records of a call: made before anything is drawn, and given up if the call fails."""

import secrets
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass

from adept.data.files import Record
from adept.errors import ConfigurationError
from adept.release.default_ledger import NONE
from adept.release.ledger import Ledger
from adept.release.secret import secret_key
from adept.release.spending import Spending
from adept.release.statement import PrivacyStatement


@dataclass(frozen=True)
class LedgerChoice:
    """The ledger of a call.

    Attributes:
        path: the file; None or "none" keeps no ledger.
        again: True releases records again that are in the ledger.
        key: the file with the key of the digests; None stands for the usual one.
        limit: epsilon that no record or person may exceed.
        record_columns: the columns that identify a record; None: those of the ledger.
    """

    path: str | None = None
    again: bool = False
    key: str | None = None
    limit: float | None = None
    record_columns: Sequence[str] | None = None

    def open(self) -> Ledger | None:
        """Open the ledger; return None without one.

        Raises:
            ConfigurationError: a limit or identifying columns are given without a ledger.
        """
        if self.path is None or self.path == NONE:
            if self.limit is not None or self.record_columns is not None:
                raise ConfigurationError(
                    "ledger must be given with ledger_limit or record_columns, got none: name a file"
                )
            return None
        key = secret_key(self.key)
        return Ledger(self.path, key=key, again=self.again, limit=self.limit, record_columns=self.record_columns)


@contextmanager
def claimed(
    records: Sequence[Record],
    statement: PrivacyStatement,
    choice: LedgerChoice,
    *,
    name: str,
    text_column: str = "text",
    person_column: str | None = None,
) -> Iterator[None]:
    """Hold the claims of records in a ledger while they are released; without a ledger do nothing.

    *Claim*: a call that fails leaves the ledger as it was, and a call that returns has its records there. *Proof*. All records are
    claimed in one transaction before the body begins. No caller sees a result before the context ends. If anything fails
    until then, the ledger forgets the run, and nobody has read any of its rewrites. QED.

    Args:
        records: the records to claim.
        statement: gives the budget of the release.
        choice: the ledger.
        name: the name of the output in the ledger.
        text_column: the column with the text.
        person_column: the column that names each record's person; None without one.

    Raises:
        ReleaseRefused: records were released before, or would exceed the limit.
        DataError: the ledger cannot be used.
        ConfigurationError: the identifying columns are not those of the ledger.
    """
    book = choice.open()
    if book is None:
        yield
        return
    run = secrets.token_hex(8)
    with closing(book):
        identity = book.identity(text_column=text_column, person_column=person_column)
        book.begin(run, Spending.of_local(statement, persons=person_column is not None), name)
        book.collect(
            found for number, record in enumerate(records, start=1) for found in identity.subjects(record, number)
        )
        book.claim()
        try:
            yield
        except BaseException:
            book.forget(run)
            raise
        book.finish(run)
