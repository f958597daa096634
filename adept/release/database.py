"""SQLite as journal and ledger use it: changes that happen as a whole or not at all, and errors in one line."""

import errno
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from adept.errors import DataError

# Errors of SQLite that concern the machine, not the file.
PASSING = ("FULL", "IOERR", "BUSY", "LOCKED", "READONLY", "CANTOPEN", "PERM")


@contextmanager
def transaction(database: sqlite3.Connection, *, begin: str = "BEGIN IMMEDIATE") -> Iterator[None]:
    """Change a file, all or nothing; other writers wait."""
    database.execute(begin)
    try:
        yield
        database.execute("COMMIT")
    except BaseException:
        if database.in_transaction:  # a full disk ends it
            database.execute("ROLLBACK")
        raise


@contextmanager
def reported(path: str, damaged: str, advice: str) -> Iterator[None]:
    """Turn errors of SQLite into one line.

    Args:
        path: the file.
        damaged: what is wrong with a file that no run can go on with.
        advice: what to do then.

    Raises:
        OSError: the same run can go on later, for example if the disk is full or another run holds the file.
        DataError: no run can go on with this file.
    """
    try:
        yield
    except sqlite3.Error as error:
        kind = getattr(error, "sqlite_errorname", "").split("_")[1:2]
        if set(kind) & set(PASSING):
            raise OSError(errno.ENOSPC if kind == ["FULL"] else errno.EIO, str(error), path) from None
        raise DataError(f"{damaged} ({error}): {advice}") from None
    except UnicodeDecodeError:  # SQLite quotes what it cannot read
        raise DataError(f"{damaged}: {advice}") from None
