"""The file of a ledger: an SQLite data base of mode 0600, its tables, and what is refused as damaged.

*Claim*: one bit that changes on the disk, or an end that is cut off, makes no record unknown and no limit larger in
silence. *Proof*. SQLite keeps each claim in two trees, the table and the index ``claims_again``, whose pages have
nothing in common. Claims are looked up in both, and where the answers differ the ledger is refused. The tables
``adept`` and ``releases`` are small; each is compared with an index of all its columns whenever the file is opened.
SQLite itself refuses a file that is shorter than it says; a file of no bytes, and one that lacks a table, are refused
here. QED. What no file can notice: a ledger that was put back from an older copy, which does not know what came later.

Ledgers of versions 1 to 3 held digests of whole rows with their types, also of rows of central releases. Such digests
match no identity of today, so these releases count against every row, as central ones do, and central ones with the
largest factor there is. Their digests are removed, and their place in the file is overwritten.
"""

import errno
import os
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from adept.data.files import give_name
from adept.errors import DataError
from adept.release.secret import row_digest

CACHE_KILOBYTES = 32_768  # for what a run collects
SECONDS = 60.0  # to wait for another run's claim
VERSION = 4
TABLES = {"adept", "releases", "claims"}
OLD_TABLES = {"adept", "releases", "released_rows"}
ROWS, EVERYWHERE = "rows", "everywhere"  # what a release counts against: the rows and persons it claimed, or all
SETTINGS = "version, key_check, record_columns, epsilon_limit"
FIELDS = (
    "run, started, finished, mechanism, epsilon, delta, model_sha256, output, scope, unit, neighbours, persons, per_row, "
    "per_person, shown"
)
SCHEMA = f"""
CREATE TABLE adept (version INTEGER, key_check BLOB, record_columns TEXT, epsilon_limit REAL);
CREATE INDEX adept_again ON adept ({SETTINGS});
CREATE TABLE releases (
    id INTEGER PRIMARY KEY, run TEXT UNIQUE, started TEXT, finished TEXT, mechanism TEXT, epsilon REAL, delta REAL,
    model_sha256 TEXT, output TEXT, scope TEXT, unit TEXT, neighbours TEXT, persons INTEGER, per_row INTEGER,
    per_person INTEGER, shown INTEGER
);
CREATE INDEX releases_again ON releases ({FIELDS});
CREATE TABLE claims (digest BLOB, release INTEGER, kind INTEGER, times INTEGER, PRIMARY KEY (digest, release)) WITHOUT ROWID;
CREATE INDEX claims_again ON claims (digest, kind, times);
"""
EMPTY = f"{SCHEMA} INSERT INTO adept VALUES ({VERSION}, NULL, NULL, NULL);"
ASKED = """
CREATE TEMP TABLE asked (digest BLOB PRIMARY KEY, kind INTEGER, times INTEGER, claimed INTEGER) WITHOUT ROWID;
CREATE INDEX temp.asked_due ON asked (digest) WHERE times > claimed;
"""
UPGRADE = f"""
DROP INDEX IF EXISTS releases_again;
ALTER TABLE adept RENAME TO old_adept;
ALTER TABLE releases RENAME TO old_releases;
DROP TABLE released_rows;
{SCHEMA}
INSERT INTO adept SELECT {VERSION}, MAX(key_check), NULL, NULL FROM old_adept;
INSERT INTO releases ({FIELDS})
    SELECT run, started, finished, mechanism, epsilon, delta, model_sha256, output, '{EVERYWHERE}', 'record', 'any two records', 0,
    CASE mechanism WHEN 'votes' THEN 4 ELSE 1 END, 1, {{shown}} FROM old_releases ORDER BY rowid;
DROP TABLE old_releases;
DROP TABLE old_adept;
"""
TREES = ("sqlite_autoindex_claims_1", "claims_again")  # the table itself, and its index
# What SQLite says of the machine, not of the file.
PASSING = ("FULL", "IOERR", "BUSY", "LOCKED", "READONLY", "CANTOPEN", "PERM")


class LedgerFile:
    """An open ledger's file.

    Args:
        path: the file, made where there is none.
        key: of the digests; None: to read the list alone.
        seconds: to wait for other runs.

    Raises:
        DataError: the file is none of ours, others can read it, or its digests have another key.
    """

    def __init__(self, path: str, *, key: bytes | None, seconds: float = SECONDS) -> None:
        self.path, self.key = path, key
        with told(path):
            if not os.path.lexists(path):
                _make(path)
            state = Path(path).stat()
            if state.st_mode & 0o077:
                raise DataError(f"{path} must be readable by its owner alone: chmod 600 it")
            if not state.st_size:
                raise DataError(f"{path} is empty, and a ledger never is: restore it, or remove it if it never was one")
            self._database = sqlite3.connect(path, timeout=seconds, isolation_level=None)
        try:
            with told(path):
                self._database.execute("PRAGMA secure_delete = ON").fetchall()  # what is given up is overwritten
                self._database.execute("PRAGMA temp.journal_mode = MEMORY").fetchall()
                self._database.execute(f"PRAGMA temp.cache_size = -{CACHE_KILOBYTES}").fetchall()
            with self._transaction():
                self._check_whole()
                self._run_all(ASKED)
                if key is not None:
                    self._check_key(row_digest(key, {"adept": "ledger"}))
        except BaseException:
            self._database.close()
            raise

    def close(self) -> None:
        """Close the file."""
        self._database.close()

    def _check_whole(self) -> None:
        """Refuse a ledger that was damaged; one of an earlier version becomes one of today."""
        there = {name for (name,) in self._database.execute("SELECT name FROM sqlite_master")}
        if not (there >= TABLES or there >= OLD_TABLES):
            raise DataError(f"{self.path} is damaged or no ledger: restore it, or give another one")
        self._check_tables("releases")
        if not there >= TABLES:
            columns = [found[1] for found in self._database.execute("PRAGMA table_info(releases)")]
            self._run_all(UPGRADE.format(shown="shown" if "shown" in columns else "0"))
        self._check_tables("adept")
        versions = self._database.execute("SELECT version FROM adept").fetchall()
        if versions != [(VERSION,)]:
            raise DataError(f"{self.path} is damaged, or another version's: restore it, or use the adept that wrote it")

    def _check_tables(self, table: str = "") -> None:
        """Compare a table with its indices, or all of them."""
        pragma = f"PRAGMA integrity_check({table})" if table else "PRAGMA integrity_check"
        if self._database.execute(pragma).fetchall() != [("ok",)]:
            raise self._damaged()

    def _check_key(self, check: bytes) -> None:
        (found,) = self._database.execute("SELECT key_check FROM adept").fetchone()
        if found is None:
            self._database.execute("UPDATE adept SET key_check = ?", (check,))
        elif found != check:
            raise DataError(f"{self.path} was written with another key: give that one with key=FILE")

    def _run_all(self, statements: str) -> None:
        for statement in filter(str.strip, statements.split(";")):
            self._database.execute(statement)

    def _damaged(self) -> DataError:
        return DataError(f"{self.path} is damaged: restore it, or give another one")

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        """Do all or nothing, one writer at a time: others wait."""
        with told(self.path):
            self._database.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._database.execute("COMMIT")
            except BaseException:
                if self._database.in_transaction:  # a full disk ends it
                    self._database.execute("ROLLBACK")
                raise


@contextmanager
def told(path: str) -> Iterator[None]:
    """Say in one line what SQLite and the operating system find wrong.

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
            database.executescript(f"BEGIN; {EMPTY} COMMIT;")
        give_name(partial, Path(path))
    except FileExistsError:
        pass  # another run was faster
    finally:
        partial.unlink(missing_ok=True)
