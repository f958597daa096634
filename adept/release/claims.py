"""Claims on the records of a call: made before anything is drawn, and given up if the call fails."""

import logging
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from adept.data.files import Record
from adept.errors import AdeptError
from adept.release.default_ledger import NONE, ledger_lines, opened_ledger, usual_key
from adept.release.ledger import Ledger
from adept.release.ledger_file import Spending
from adept.release.statement import PrivacyStatement

LOG = logging.getLogger("adept")


@dataclass(frozen=True)
class LedgerChoice:
    """The ledger of a call.

    Attributes:
        path: the file; "none" keeps no ledger, and nor does None unless by_default is True.
        again: True releases records again that are in the ledger.
        key: the file with the key of the digests; None stands for the usual one.
        limit: epsilon that no record or person may exceed.
        record_columns: the columns that identify a record; None: those of the ledger.
        by_default: True keeps the ledger by default if path is None, as the command does.
    """

    path: str | None = None
    again: bool = False
    key: str | None = None
    limit: float | None = None
    record_columns: Sequence[str] | None = None
    by_default: bool = False

    @contextmanager
    def opened(self) -> Iterator[Ledger | None]:
        """Open the ledger, and close it in the end; yield None without one.

        Raises:
            ConfigurationError: a limit or identifying columns are given without a ledger.
            ReleaseRefused: the ledger by default has a limit, which cannot be checked.
        """
        given = NONE if self.path is None and not self.by_default else self.path
        key = None if given == NONE else usual_key(self.key, needed=given is not None)
        with opened_ledger(
            given,
            key=key,
            again=self.again,
            limit=self.limit,
            record_columns=self.record_columns,
            tell=LOG.warning,
        ) as ledger:
            yield ledger


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
    run = secrets.token_hex(8)
    with choice.opened() as book:
        if book is None:
            yield
            return
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
        with suppress(
            OSError, AdeptError
        ):  # the release is done; a ledger that cannot be told lists it as unfinished, so as spent
            book.finish(run)
        for line in ledger_lines(book):
            LOG.warning(line)
