"""An SQLite file, whose errors say what to do. Journal and ledger are such files."""

import errno
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from adept.errors import DataError

# Errors of SQLite that concern the machine, not the file.
PASSING = ("FULL", "IOERR", "BUSY", "LOCKED", "READONLY", "CANTOPEN", "PERM")


class Database(sqlite3.Connection):
    """An open SQLite file (journal or ledger) whose errors name its path and give advice.

    An error after which the run can be continued later, such as a full disk, is raised as an
    OSError. All other errors of SQLite are raised as DataErrors.
    """

    path = damaged = advice = ""

    def name(self, path: str, damaged: str, advice: str) -> None:
        """Set the parts of error messages: the path, the words for damage, and the advice."""
        self.path, self.damaged, self.advice = path, damaged, advice

    @contextmanager
    def reported(self) -> Iterator[None]:
        """Turn errors that SQLite raises inside the ``with`` block into OSError or DataError."""
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
        """Run the ``with`` block in one transaction; meanwhile, no other process can write."""
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
        """Run an SQL query, and return all rows of its result."""
        with self.reported():
            return self.execute(query, values).fetchall()

    def row(self, query: str, *values: object) -> tuple[Any, ...]:
        """Return the first row of an SQL query's result, which must have at least one row."""
        with self.reported():
            found: tuple[Any, ...] = self.execute(query, values).fetchone()
            return found
