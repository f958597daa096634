r"""The journal of a release: all draws in order, so an interrupted run never draws twice.

To *draw* for a record means to make the random choices of its release. The journal stores the result of each batch of
records as an *entry*. A row of the output is *visible* if it is in a file with the output's final name, or was
written to standard output. Until a file has its final name, only its owner can read it (mode 0600). A *release* of a
record is one randomised output of the mechanism, together with the randomised label if labels are randomised.

*Claim*: all visible rows of a record are written from a single release of this record, no matter how often or when
the run is killed and resumed. So each record spends the budget in the statement exactly once.

*Reason* (the proof is in ``docs/proofs.md``): a row becomes visible only after ``sync`` has put its entry on the
disk. Entries are numbered in the order of the input, added by the one process that holds the lock, and never changed.
A run draws for a record only if no entry holds its draws, and an entry holds a keyed digest of the input up to its
last record. A crash loses only entries whose rows were never visible; a journal with any other damage is refused,
because each row of its SQLite table holds a digest, and one row the number of entries. The moment at which a run dies
does not depend on the drawn values, so lost draws cost no budget.

An entry holds only drawn values: texts that were written, and labels that were randomised or
written. If this run shuffles the records, an entry holds the releases instead of texts. Copied
labels and kept columns are read from the input again.

A journal cannot detect that it was replaced by an older copy. The ledger, the list of released records, can detect
this, because it stores how many records may have been read (``adept.release.flow.publication``).
"""

import errno
import fcntl
import hashlib
import json
import os
import secrets
import sqlite3
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing
from io import FileIO
from itertools import islice
from pathlib import Path
from typing import Any
from urllib.parse import quote

from adept.data.writing import sync_directory
from adept.errors import DataError
from adept.release.ledger.file import Database

JOURNAL_VERSION, JOURNAL_VERSION_OF_0_2 = 4, 3  # releases by description were two numbers in 0.2
LEDGER = "ledger"  # among the terms of a release that was begun with one
MAX_LOCK_ATTEMPTS = 100  # to open a journal that other runs make and remove meanwhile
SECONDS_BETWEEN_SYNCS = 1.0
DIGEST_BYTES = 16
SIDE_FILES = ("-wal", "-shm", "-journal")  # names that SQLite adds to the file's own
TERMS, PROGRESS = 0, -1  # numbers of the rows that are no entries

Entry = dict[str, Any]


class Journal:
    """An open journal, which this process has locked.

    Attributes:
        run: identifier of the release; a resumed run has the identifier of the first run.
        records: number of records whose random choices are stored.
        finished: True if all files of the release have been published.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.run = secrets.token_hex(8)
        self.records, self.finished = 0, False
        self._terms: Entry = {}
        self._entries, self._synced = 0, time.monotonic()
        with ExitStack() as opened:
            self._lock = opened.enter_context(_lock(path))
            self._database = opened.enter_context(closing(_connect(path)))
            self._read()
            self._opened = opened.pop_all()

    @property
    def begun(self) -> bool:
        """True if the journal holds draws for a record, made by this run or by an earlier run."""
        return self.records > 0

    @property
    def has_ledger(self) -> bool:
        """True if the first run of the release had a ledger (a list of released records)."""
        return bool(self._terms.get(LEDGER))

    def begin(self, terms: Entry) -> None:
        """Store the terms of a release: the options and facts that all its runs must share.

        If the journal holds draws, compare the terms with the stored terms instead. Raise DataError
        if the terms differ, or if the journal cannot be written.
        """
        terms = json.loads(json.dumps(terms))
        if self.begun:
            for name in [*terms, *self._terms]:
                if terms.get(name) != self._terms.get(name):
                    raise DataError(
                        f"resume=true continues a release of the same input with the same options, but {name} was "
                        f"{self._terms.get(name)!r}, and is {terms.get(name)!r}: restore it"
                    )
            return
        self._terms = terms
        try:
            sync_directory(self.path.parent)  # before SQLite has files beside it, which tell nothing alone
            self._start()
            self._use_log()
            self.sync()
        except OSError as error:
            self.remove()  # nothing was drawn
            raise DataError(f"cannot write {self.path}: {error.strerror}: mend that, and run again") from None

    def entries(self) -> Iterator[Entry]:
        """Yield the entries that earlier runs have stored, in order."""
        yield from (json.loads(content) for _, content in self._rows(first=1)) if self._entries else ()

    def append(self, entry: Entry, *, durable: bool) -> None:
        """Store the draws for the next batch; if ``durable``, wait until they are on the disk."""
        number, records = self._entries + 1, self.records + entry["records"]
        self._write({number: entry, PROGRESS: _progress(number, records)})
        self._entries, self.records = number, records
        if durable or time.monotonic() - self._synced > SECONDS_BETWEEN_SYNCS:
            self.sync()

    def finish(self) -> None:
        """Store that all files of the release have been published."""
        self._write({PROGRESS: _progress(self._entries, self.records, finished=True)})
        self.sync()
        self.finished = True

    def sync(self) -> None:
        """Move all entries from SQLite's log into the journal's file, and wait for the disk."""
        (busy, *_) = self._database.row("PRAGMA wal_checkpoint(TRUNCATE)")
        if busy:
            raise OSError(errno.EBUSY, "the journal is being read", str(self.path))
        os.fsync(self._lock.fileno())
        self._synced = time.monotonic()

    def give_up(self) -> None:
        """Delete all entries. Call this method only if nobody can have read their rows."""
        self._start()
        self.sync()

    def remove(self) -> None:
        """Remove first the files that SQLite has made beside the journal, and then the journal."""
        self._database.close()
        path, *others = journal_files(self.path)
        for other in others:
            other.unlink(missing_ok=True)
        sync_directory(path.parent)
        path.unlink(missing_ok=True)

    # --- The file

    def _read(self) -> None:
        try:
            if self._database.row("PRAGMA page_count") != (0,):
                self._use_log()
                self._check_whole()
        except OSError as error:
            raise DataError(f"cannot continue {self.path}: {error.strerror}: mend that, or restore it") from None

    def _check_whole(self) -> None:
        if self._database.run("PRAGMA quick_check(1)") != [("ok",)]:
            raise self._database.damage()
        rows = self._rows(first=PROGRESS)
        head = {number: json.loads(content) for number, content in islice(rows, 2)}
        if head.keys() != {PROGRESS, TERMS}:
            raise self._database.damage()
        begun, progress = head[TERMS], head[PROGRESS]
        if begun["journal"] != JOURNAL_VERSION:
            began = "adept 0.2" if begun["journal"] == JOURNAL_VERSION_OF_0_2 else "the adept that began it"
            raise DataError(f"{self.path} is of another version, and is kept: continue with {began}")
        if [number for number, _ in rows] != list(range(1, progress["entries"] + 1)):
            raise self._database.damage()
        self.run, self._terms = begun["run"], begun["terms"]
        self._entries, self.records, self.finished = progress["entries"], progress["records"], progress["finished"]

    def _rows(self, *, first: int) -> Iterator[tuple[int, bytes]]:
        with self._database.reported():
            stored = "SELECT number, content, digest FROM journal WHERE number >= ? ORDER BY number"
            for number, content, digest in self._database.execute(stored, (first,)):
                if type(number) is not int or type(content) is not bytes or digest != _digest(number, content):
                    raise self._database.damage()
                yield number, content

    def _start(self) -> None:
        begun = {"journal": JOURNAL_VERSION, "run": self.run, "terms": self._terms}
        self._write({TERMS: begun, PROGRESS: _progress(0, 0)}, anew=True)
        self._entries = self.records = 0

    def _use_log(self) -> None:
        """Make SQLite use a write-ahead log; the file must already hold the journal's table."""
        self._database.run("PRAGMA journal_mode = WAL")
        self._database.run("PRAGMA synchronous = NORMAL")  # ``sync`` alone waits for the disk
        self._database.run("PRAGMA secure_delete = ON")  # overwrite what is deleted

    def _write(self, entries: Mapping[int, Entry], *, anew: bool = False) -> None:
        contents = [(n, json.dumps(entry, separators=(",", ":")).encode("ascii")) for n, entry in entries.items()]
        rows = [(number, content, _digest(number, content)) for number, content in contents]
        columns = "number INTEGER PRIMARY KEY, content BLOB, digest BLOB"
        with self._database.transaction():
            for statement in (f"CREATE TABLE IF NOT EXISTS journal ({columns})", "DELETE FROM journal") if anew else ():
                self._database.execute(statement)
            self._database.executemany("INSERT OR REPLACE INTO journal VALUES (?, ?, ?)", rows)

    def __enter__(self) -> "Journal":
        return self

    def __exit__(self, *_: object) -> None:
        self._opened.close()  # the lock last, behind which SQLite tidies up


class NoJournal(Journal):
    """The journal of a release in memory, or of a dry run: it keeps nothing."""

    def __init__(self) -> None:
        self.run, self.records = secrets.token_hex(8), 0

    def entries(self) -> Iterator[Entry]:
        return iter(())

    def append(self, entry: Entry, *, durable: bool) -> None:
        """Forget the entry."""


def journal_files(path: Path) -> list[Path]:
    return [path, *(Path(f"{path}{suffix}") for suffix in SIDE_FILES)]


def _connect(path: Path) -> Database:
    """Open the journal's file without SQLite's own locks, because ``_lock`` has locked the file."""
    for other in journal_files(path)[1:]:
        if os.path.lexists(other):
            _check_owner(other, other.lstat().st_uid)
    address = f"file:{quote(os.fsencode(path.absolute()))}?mode=rw&vfs=unix-none"
    try:
        database = sqlite3.connect(address, uri=True, isolation_level=None, factory=Database)
    except sqlite3.Error as error:
        raise DataError(f"cannot write {path}: {error}") from None
    advice = "restore it, or continue with the adept that began it; under another name records would be released again"
    database.name(str(path), f"{path} is damaged or not a journal", advice)
    database.run("PRAGMA locking_mode = EXCLUSIVE")  # a log without shared memory
    return database


def _lock(path: Path) -> FileIO:
    for _ in range(MAX_LOCK_ATTEMPTS):
        try:
            handle = _open(path)
        except FileNotFoundError:
            if path.parent.exists():
                continue  # the run that had it has just removed it
            raise DataError(f"cannot write {path}: its directory is gone") from None
        except OSError as error:
            raise DataError(f"cannot {'open' if path.exists() else 'make'} {path}: {error.strerror}") from None
        stream = FileIO(handle, "r+")
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            stream.close()
            raise DataError(f"another run is writing {path}: wait for it, or choose another output") from None
        except OSError as error:
            stream.close()
            if path.stat().st_size == 0:  # it was only just made
                path.unlink()
            raise DataError(
                f"{path} cannot be locked ({error.strerror}), so that two runs could release the same records: "
                "choose an output on a file system with locks"
            ) from None
        if path.exists() and os.fstat(handle).st_ino == path.stat().st_ino:
            return stream
        stream.close()  # the run that had the lock has just finished and removed the file
    raise DataError(f"cannot write {path}: the file system does not accept it; choose another output")


def _open(path: Path) -> int:
    flags = os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW
    try:
        return os.open(path, flags | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        handle = os.open(path, flags)
    try:
        _check_owner(path, os.fstat(handle).st_uid)
    except DataError:
        os.close(handle)
        raise
    return handle


def _check_owner(path: Path, owner: int) -> None:
    """Raise DataError if a file belongs neither to this user nor to its directory's owner.

    The directory's owner is accepted because some disks give all files to this owner.
    """
    if owner not in (os.geteuid(), path.parent.stat().st_uid):
        raise DataError(f"{path} belongs to somebody else (user {owner}): choose another output")


def _progress(entries: int, records: int, *, finished: bool = False) -> Entry:
    return {"entries": entries, "records": records, "finished": finished}


def _digest(number: int, content: bytes) -> bytes:
    return hashlib.blake2b(b"%d " % number + content, digest_size=DIGEST_BYTES).digest()
