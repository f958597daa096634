"""The ledger: which rows were released before, at what budget, so that nobody spends a budget twice without knowing.

An SQLite file, mode 0600. It holds a line for each release (when, with what mechanism, model, epsilon and delta) and a keyed
digest of each whole row that was released; the key lies elsewhere (``adept.release.secret``), so that no guess at a row can be
tested against the ledger alone. A row is *claimed* before it is released: a run that was killed has spent what it claimed, and
two runs at once cannot both believe that they are the first. A file is claimed whole before anything is drawn, and once more as it
is read to be drawn, for it may have grown. How many records of a release may have been read is kept too, before they can be: no
claim on them is given back, and no journal with fewer draws continues the release.

*Claim*: one bit that changes on the disk, or an end that is cut off, makes no row unknown in silence. *Proof*. SQLite keeps each
digest in two trees, the table and the index ``rows_again``, whose pages have nothing in common. Rows are looked up in both, and
where one of them knows fewer the ledger is refused; ``releases`` is small, and compared with ``releases_again`` whenever it is
opened. SQLite itself refuses a file that is shorter than it says; a file of no bytes, and one that lacks a table, are refused
here. QED. What no file can notice: a ledger that was put back from an older copy, which does not know what came later.

The unit is a record. Equal rows of one run are records of their own, each released once; how many there were is kept, for where
they are one person's. What equal rows of different runs have spent is added up, as they may be the same record. Sums are exact,
and rounded up.

*What adds up*. A local release of a record with epsilon e is e-DP for replacing that record in a file of a public number of rows.
A central one that is e-DP for adding or removing a record is 2 e-DP for that: removing the record, then adding the other. So all
budgets of a row add up under replacing it, a local epsilon once and such a central one twice (``counted``). The converse fails: a
local release has as many rows as its file, so nothing of finite epsilon holds for adding or removing. A release without delta is
meant here: central ones have none.
"""

import errno
import os
import sqlite3
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

from adept.data.files import give_name
from adept.errors import DataError, ReleaseRefused
from adept.mechanisms.guarantee import total, words
from adept.release.secret import row_digest

SECONDS = 60.0  # to wait for another run's claim
VERSION = 3
TABLES = {"adept", "releases", "released_rows"}
TIMES, SHOWN = "times INTEGER NOT NULL DEFAULT 1", "shown INTEGER NOT NULL DEFAULT 0"
COUNTED = "counted INTEGER NOT NULL DEFAULT 1"
AGAIN = """
DROP INDEX IF EXISTS releases_again;
CREATE INDEX IF NOT EXISTS rows_again ON released_rows (digest, times);
CREATE INDEX releases_again ON releases (run, started, finished, mechanism, epsilon, delta, model_sha256, output, shown, counted);
"""
SCHEMA = f"""
CREATE TABLE adept (version INTEGER, key_check BLOB);
CREATE TABLE releases (
    run TEXT PRIMARY KEY, started TEXT, finished TEXT, mechanism TEXT, epsilon REAL, delta REAL, model_sha256 TEXT, output TEXT,
    {SHOWN}, {COUNTED}
);
CREATE TABLE released_rows (digest BLOB, run TEXT, {TIMES}, PRIMARY KEY (digest, run)) WITHOUT ROWID;
{AGAIN}
INSERT INTO adept VALUES ({VERSION}, NULL);
"""
OF_A_RUN = """
CREATE TEMP TABLE asked (digest BLOB PRIMARY KEY);
CREATE TEMP TABLE rows_of_run (digest BLOB, run TEXT, times INTEGER, PRIMARY KEY (digest, run)) WITHOUT ROWID;
"""
KNOWN = """
SELECT COUNT(*) FROM asked WHERE EXISTS (SELECT 1 FROM released_rows INDEXED BY {} WHERE digest = asked.digest AND run != ?)
"""
TREES = ("sqlite_autoindex_released_rows_1", "rows_again")  # the table itself, and its index
# What SQLite says of the machine, not of the file.
PASSING = ("FULL", "IOERR", "BUSY", "LOCKED", "READONLY", "CANTOPEN", "PERM")
ROUNDING = 1e-9  # relative: more than a sum of floats can be off


class Spending(Protocol):
    """What a ledger keeps of a release's statement."""

    @property
    def mechanism(self) -> str: ...
    @property
    def epsilon(self) -> float: ...
    @property
    def delta(self) -> float: ...
    @property
    def model_sha256(self) -> str | None: ...
    @property
    def counted(self) -> int:
        """How many times its epsilon is spent where one record is replaced by another."""
        ...


@dataclass(frozen=True)
class LedgerEntry:
    """One release, as the ledger lists it; ``counted`` is how many times its epsilon counts in a sum."""

    started: str
    finished: str | None
    mechanism: str
    epsilon: float
    delta: float
    rows: int
    model_sha256: str
    output: str
    counted: int = 1


@dataclass(frozen=True)
class LedgerSum:
    """All releases together: the largest total over one row, by basic composition; ``equal`` rows at most were in one release."""

    releases: int
    rows: int
    epsilon: float
    delta: float
    equal: int = 1


class Ledger:
    """An open ledger.

    Args:
        path: the file, made where there is none.
        key: of the digests; a ledger must always be given the same one. None: to read the list alone.
        again: release rows that were released before, all the same.

    Raises:
        DataError: the file is none of ours, others can read it, or its digests have another key.
    """

    def __init__(self, path: str, *, key: bytes | None = None, again: bool = False) -> None:
        self.path, self.key, self.again = path, key, again
        with _told(path):
            if not os.path.lexists(path):
                _make(path)
            state = Path(path).stat()
            if state.st_mode & 0o077:
                raise DataError(f"{path} must be readable by its owner alone: chmod 600 it")
            if not state.st_size:
                raise DataError(f"{path} is empty, and a ledger never is: restore it, or remove it if it never was one")
            self._database = sqlite3.connect(path, timeout=SECONDS, isolation_level=None)
            with self._transaction():
                self._check_whole()
                self._run_all(OF_A_RUN)
                if key is not None:
                    self._check_key(row_digest(key, {"adept": "ledger"}))

    def _check_whole(self) -> None:
        """Refuse a ledger that was damaged; one of an earlier version gets what it lacks."""
        there = {name for (name,) in self._database.execute("SELECT name FROM sqlite_master")}
        if not there >= TABLES:
            raise DataError(f"{self.path} is damaged or no ledger: restore it, or give another one")
        if self._database.execute("PRAGMA integrity_check(releases)").fetchall() != [("ok",)]:
            raise self._damaged()
        if self._database.execute("SELECT * FROM adept WHERE version = ?", (VERSION,)).fetchone() is None:
            self._upgrade()

    def _upgrade(self) -> None:
        for table, column in (("released_rows", TIMES), ("releases", SHOWN), ("releases", COUNTED)):
            names = [found[1] for found in self._database.execute(f"PRAGMA table_info({table})")]
            if column.split()[0] not in names:
                self._database.execute(f"ALTER TABLE {table} ADD COLUMN {column}")
        self._run_all(AGAIN)
        self._database.execute("INSERT INTO adept SELECT ?, NULL WHERE NOT EXISTS (SELECT * FROM adept)", (VERSION,))
        self._database.execute("UPDATE adept SET version = ?", (VERSION,))

    def _run_all(self, statements: str) -> None:
        for statement in filter(str.strip, statements.split(";")):
            self._database.execute(statement)

    def _damaged(self) -> DataError:
        return DataError(f"{self.path} is damaged: restore it, or give another one")

    def _check_key(self, check: bytes) -> None:
        (found,) = self._database.execute("SELECT key_check FROM adept").fetchone()
        if found is None:
            self._database.execute("UPDATE adept SET key_check = ?", (check,))
        elif found != check:
            raise DataError(f"{self.path} was written with another key: give that one with key=FILE")

    def begin(self, run: str, statement: Spending, output: str) -> None:
        """Note a release that is about to begin; one that resumes is there already."""
        place = os.fsencode(output).decode("utf-8", "backslashreplace")  # a name need not be text
        fields = (
            statement.mechanism,
            statement.epsilon,
            statement.delta,
            statement.model_sha256,
            place,
            statement.counted,
        )
        with self._transaction():
            self._database.execute("DELETE FROM rows_of_run WHERE run = ?", (run,))
            self._database.execute(
                "INSERT OR IGNORE INTO releases VALUES (?, ?, NULL, ?, ?, ?, ?, ?, 0, ?)", (run, _now(), *fields)
            )

    def others(self, run: str) -> int:
        """Return how many releases there are but one: a number that no record has a part in."""
        with _told(self.path):
            return int(self._database.execute("SELECT COUNT(*) FROM releases WHERE run != ?", (run,)).fetchone()[0])

    def claim(self, run: str, digests: Sequence[bytes], *, always: bool = False) -> int:
        """Claim rows for a release, and return how many of them other releases have claimed; one that resumes claims the same.

        Where others have, rows are claimed only if they may be released again, or ``always`` are.
        """
        with self._transaction():
            self._database.execute("DELETE FROM asked")
            self._database.executemany("INSERT OR IGNORE INTO asked VALUES (?)", ((digest,) for digest in digests))
            known, again = (int(self._database.execute(KNOWN.format(tree), (run,)).fetchone()[0]) for tree in TREES)
            if known != again:
                raise self._damaged()
            if not known or self.again or always:
                self._note(run, digests)
        return known

    def _note(self, run: str, digests: Sequence[bytes]) -> None:
        """Keep each row with how often the run has asked for it: a resumption counts from the beginning."""
        self._database.executemany(
            "INSERT INTO rows_of_run VALUES (?, ?, 1) ON CONFLICT DO UPDATE SET times = times + 1",
            ((digest, run) for digest in digests),
        )
        self._database.execute(
            "INSERT INTO released_rows SELECT digest, run, times FROM rows_of_run WHERE run = ? AND digest IN asked "
            "ON CONFLICT DO UPDATE SET times = MAX(times, excluded.times)",
            (run,),
        )

    def spent(self, digests: Iterable[bytes], *, but: str) -> float:
        """Return the largest total epsilon that was spent on one of some rows, by other releases than one."""
        query = "SELECT epsilon, counted FROM released_rows JOIN releases USING (run) WHERE digest = ? AND run != ?"
        with _told(self.path):
            found = [self._database.execute(query, (digest, but)).fetchall() for digest in digests]
        return max(map(_added, found), default=0.0)

    def show(self, run: str, records: int) -> None:
        """Note how many records of a release may have been read from now on."""
        with self._transaction():
            self._database.execute("UPDATE releases SET shown = MAX(shown, ?) WHERE run = ?", (records, run))

    def shown(self, run: str) -> int:
        """Return how many records of a release may have been read."""
        with _told(self.path):
            found = self._database.execute("SELECT shown FROM releases WHERE run = ?", (run,)).fetchone()
        return int(found[0]) if found else 0

    def forget(self, run: str) -> None:
        """Give up the claims of a release of which nobody can have read anything."""
        with self._transaction():
            rows = "DELETE FROM released_rows WHERE run IN (SELECT run FROM releases WHERE run = ? AND NOT shown)"
            self._database.execute(rows, (run,))
            self._database.execute("DELETE FROM releases WHERE run = ? AND NOT shown", (run,))

    def finish(self, run: str) -> None:
        """Note that a release is complete."""
        with self._transaction():
            self._database.execute("UPDATE releases SET finished = ? WHERE run = ?", (_now(), run))

    def entries(self) -> list[LedgerEntry]:
        """Return all releases, the oldest first."""
        query = (
            "SELECT started, finished, mechanism, epsilon, delta, (SELECT COUNT(*) FROM released_rows WHERE run = releases.run), "
            "model_sha256, output, counted FROM releases ORDER BY rowid"
        )
        with _told(self.path):
            return [LedgerEntry(*row) for row in self._database.execute(query)]

    def sum(self) -> LedgerSum:
        """Return all releases together.

        Raises:
            DataError: the ledger was damaged.
        """
        with _told(self.path):
            if self._database.execute("PRAGMA integrity_check").fetchall() != [("ok",)]:
                raise self._damaged()
            rows, equal = self._database.execute(
                "SELECT COUNT(DISTINCT digest), MAX(times) FROM released_rows"
            ).fetchone()
            (releases,) = self._database.execute("SELECT COUNT(*) FROM releases").fetchone()
            return LedgerSum(releases, rows, self._most("epsilon"), self._most("delta"), equal or 1)

    def _most(self, column: str) -> float:
        """The largest exact total of a budget over one row: floats choose those that are near it, whole fractions decide."""
        summed = (
            f"SELECT SUM(counted * {column}) AS s, GROUP_CONCAT(run) AS runs FROM "
            f"(SELECT digest, run, counted, {column} FROM released_rows JOIN releases USING (run) ORDER BY digest, run) "
            "GROUP BY digest"
        )
        (most,) = self._database.execute(f"SELECT MAX(s) FROM ({summed})").fetchone()
        near = self._database.execute(
            f"SELECT DISTINCT runs FROM ({summed}) WHERE s >= ?", ((most or 0.0) * (1 - ROUNDING),)
        )
        rows = self._database.execute(f"SELECT run, {column}, counted FROM releases").fetchall()
        spent = {run: (budget, times) for run, budget, times in rows}
        return max((_added(spent[run] for run in runs.split(",")) for (runs,) in near.fetchall()), default=0.0)

    def close(self) -> None:
        """Close the file."""
        self._database.close()

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        """All or nothing, one writer at a time: others wait."""
        with _told(self.path):
            self._database.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._database.execute("COMMIT")
            except BaseException:
                if self._database.in_transaction:  # a full disk ends it
                    self._database.execute("ROLLBACK")
                raise


def _added(spent: Iterable[tuple[float, int]]) -> float:
    """Add budgets up, each as often as it counts."""
    return total(*(budget for budget, times in spent for _ in range(times)))


def claim_rows(ledger: Ledger, run: str, parts: Iterable[Sequence[bytes]], epsilon: float) -> None:
    """Claim the digests of rows, part by part, before any of them is released.

    Args:
        ledger: where.
        run: for which release, that is noted there.
        parts: the digests.
        epsilon: what the release spends on each row.

    Raises:
        ReleaseRefused: some were released before, with how many, and the total that it would come to.
    """
    overlap, before = 0, 0.0
    for digests in parts:
        found = ledger.claim(run, digests)
        if found and not ledger.again:
            overlap, before = overlap + found, max(before, ledger.spent(digests, but=run))
    if overlap:
        raise ReleaseRefused(
            f"{overlap} different rows are in the ledger already, with epsilon {words(before)} in all; this release would make "
            f"it {words(total(before, epsilon))}: leave them out, or add again=true"
        )


@contextmanager
def _told(path: str) -> Iterator[None]:
    """Tell what SQLite and the operating system find wrong in one line.

    Raises:
        OSError: the disk is full, say, or another run has the ledger: later, the same run can go on.
        DataError: it cannot go on with this file.
    """
    try:
        yield
    except sqlite3.Error as error:
        kind = getattr(error, "sqlite_errorname", "").split("_")[1:2]
        if set(kind) & set(PASSING):
            raise OSError(errno.ENOSPC if kind == ["FULL"] else errno.EIO, str(error), path) from None
        raise DataError(f"cannot use the ledger {path} ({error}): restore it, or give another one") from None
    except OSError as error:
        raise DataError(f"cannot open the ledger {path}: {error.strerror}") from None


def _make(path: str) -> None:
    """Make a ledger whole, under a name that only one of several runs can win: one that is there never is empty."""
    handle, name = tempfile.mkstemp(dir=Path(path).parent)  # mode 0600
    os.close(handle)
    partial = Path(name)
    try:
        with closing(sqlite3.connect(name)) as database:
            database.executescript(f"BEGIN; {SCHEMA} COMMIT;")
        give_name(partial, Path(path))
    except FileExistsError:
        pass  # another run was faster
    finally:
        partial.unlink(missing_ok=True)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
