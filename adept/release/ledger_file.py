"""The file of a ledger: an SQLite data base of mode 0600, its tables, and the checks for damage.

*Claim*: if one bit changes on the disk, or the end of the file is lost, no record becomes unknown and no limit larger
without an error. *Proof*. SQLite keeps each claim in two trees, the table and the index ``claims_again``, whose pages have
nothing in common. Claims are looked up in both; if the answers differ, the ledger is refused. The tables
``adept`` and ``releases`` are small; each is compared with an index of all its columns whenever the file is opened.
SQLite itself refuses a file that is shorter than its header says; an empty file, and one that lacks a table, are refused
here. QED. No file can notice that it was replaced by an older copy, which does not know later releases.

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

CACHE_KILOBYTES = 32_768  # memory for the digests that a run collects
SECONDS = 60.0  # time to wait for another run's claim
VERSION = 4
TABLES = {"adept", "releases", "claims"}
OLD_TABLES = {"adept", "releases", "released_rows"}
ROWS, EVERYWHERE = "rows", "everywhere"  # a release counts against the rows and persons that it claimed, or against all
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
# Errors of SQLite that concern the machine, not the file.
PASSING = ("FULL", "IOERR", "BUSY", "LOCKED", "READONLY", "CANTOPEN", "PERM")


class LedgerFile:
    """An open ledger's file.

    Args:
        path: the file; it is made if it does not exist.
        key: the key of the digests; None reads the list alone.
        seconds: time to wait for other runs.

    Raises:
        DataError: the file is no ledger, other users can read it, or its digests have another key.
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
                raise DataError(
                    f"{path} is empty, which a ledger never is: restore it, or remove it if it never was a ledger"
                )
            self._database = sqlite3.connect(path, timeout=seconds, isolation_level=None)
        try:
            with told(path):
                self._database.execute("PRAGMA secure_delete = ON").fetchall()  # overwrite what is deleted
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
        """Refuse a damaged ledger, and convert one of an earlier version."""
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
        """Compare a table, or all tables, with their indices."""
        pragma = f"PRAGMA integrity_check({table})" if table else "PRAGMA integrity_check"
        if self._database.execute(pragma).fetchall() != [("ok",)]:
            raise self._damaged()

    def _check_key(self, check: bytes) -> None:
        (found,) = self._database.execute("SELECT key_check FROM adept").fetchone()
        if found is None:
            self._database.execute("UPDATE adept SET key_check = ?", (check,))
        elif found != check:
            raise DataError(f"{self.path} was written with another key: give that key with key=FILE")

    def _run_all(self, statements: str) -> None:
        for statement in filter(str.strip, statements.split(";")):
            self._database.execute(statement)

    def _damaged(self) -> DataError:
        return DataError(f"{self.path} is damaged: restore it, or give another one")

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        """Change the file, all or nothing; other writers wait."""
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
    """Turn errors of SQLite and the operating system into one line.

    Raises:
        OSError: the same run can go on later, for example if the disk is full or another run holds the ledger.
        DataError: no run can go on with this file.
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
    """Make a complete ledger under a temporary name; only one of several runs can then give it its name."""
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
