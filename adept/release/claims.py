"""Claims on the records of a call: made before anything is drawn, and given up where the call returns nothing."""

import secrets
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager

from adept.data.files import Record
from adept.release.ledger import Ledger, claim_rows
from adept.release.secret import row_digest, secret_key
from adept.release.statement import PrivacyStatement


@contextmanager
def claimed(
    records: Sequence[Record],
    statement: PrivacyStatement,
    *,
    ledger: str | None,
    again: bool,
    key: str | None,
    name: str,
) -> Iterator[None]:
    """Hold the claims of records in a ledger while they are released; without a ledger do nothing.

    *Claim*: a call that fails leaves the ledger as it was, and a call that returns has its records there. *Proof*. All records are
    claimed before the body begins. Its result is returned by nobody before the context ends; if anything fails until then, the
    ledger forgets the run, of which nobody has read anything. QED.

    Args:
        records: what is claimed.
        statement: what the release spends.
        ledger: the file; None for none.
        again: release records that the ledger knows.
        key: the file with the key of the digests; None stands for the usual one.
        name: what the ledger lists as the output.

    Raises:
        ReleaseRefused: records were released before.
        DataError: the ledger cannot be used.
    """
    if ledger is None:
        yield
        return
    secret, run = secret_key(key), secrets.token_hex(8)
    with closing(Ledger(ledger, key=secret, again=again)) as book:
        book.begin(run, statement, name)
        try:
            claim_rows(book, run, [[row_digest(secret, record) for record in records]], statement.epsilon)
            yield
        except BaseException:
            book.forget(run)
            raise
        book.finish(run)
