"""SQLite as journal and ledger use it: changes that happen as a whole or not at all, and errors in one line."""

import errno
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from adept.errors import DataError

# Errors of SQLite that concern the machine, not the file.
PASSING = ("FULL", "IOERR", "BUSY", "LOCKED", "READONLY", "CANTOPEN", "PERM")


class Database(sqlite3.Connection):
    """An open file; errors name the ``path`` and, if no run can go on with it, say that it is ``damaged`` and give ``advice``.

    Each method that reads or writes raises OSError if the same run can go on later, for example when the disk is full or
    another run holds the file, and otherwise DataError.
    """

    path = damaged = advice = ""

    def name(self, path: str, damaged: str, advice: str) -> None:
        """Set the words of errors."""
        self.path, self.damaged, self.advice = path, damaged, advice

    @contextmanager
    def reported(self) -> Iterator[None]:
        """Turn errors of SQLite into one line."""
        try:
            yield
        except sqlite3.Error as error:
            kind = getattr(error, "sqlite_errorname", "").split("_")[1:2]
            if set(kind) & set(PASSING):
                raise OSError(errno.ENOSPC if kind == ["FULL"] else errno.EIO, str(error), self.path) from None
            raise DataError(f"{self.damaged} ({error}): {self.advice}") from None
        except UnicodeDecodeError:  # SQLite quotes what it cannot read
            raise DataError(f"{self.damaged}: {self.advice}") from None

    @contextmanager
    def transaction(self, begin: str = "BEGIN IMMEDIATE") -> Iterator[None]:
        """Change the file, all or nothing; other writers wait."""
        with self.reported():
            self.execute(begin)
            try:
                yield
                self.execute("COMMIT")
            except BaseException:
                if self.in_transaction:  # a full disk ends it
                    self.execute("ROLLBACK")
                raise

    def run(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        """Run a statement, and return its rows."""
        with self.reported():
            return self.execute(query, values).fetchall()

    def row(self, query: str, *values: object) -> tuple[Any, ...]:
        """Return the first row of a query that has one."""
        with self.reported():
            found: tuple[Any, ...] = self.execute(query, values).fetchone()
            return found
