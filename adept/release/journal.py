r"""The journal of a release: what was drawn, in order, so that a run that was killed is continued and not repeated.

*Visible* is what stands under the output's final name, and what was written to standard output; until it has that name a file is
its owner's alone (mode 0600, made anew by each run), and who reads it then is not counted. A *release* is one randomised
output of the mechanism (and of randomised response, where labels are randomised).

*Claim*: however often a run is killed, at whatever moments, and resumed, all visible rows of a record are written from one
release of it. So the budget in the statement is spent once.

*Proof*. (1) A row becomes visible only after the entry with its release is on the disk: before standard output is written to,
and before the output gets its name, the journal is synchronised. (2) Entries are appended in the order of the input, by one
process at a time, and never changed: a lock that the kernel drops with its holder sees to it. Where there are no locks nothing
is begun; where machines do not share them, as a mount option of network disks has it, the claim is for the runs of one machine.
An entry that a crash has torn ends too early, or lacks whole blocks, which read as zeros; it was not on the disk, and nor was
what follows it, so by (1) nothing of either was visible, and both are cut off before anything new is drawn. Any other line
whose checksum is wrong was damaged later and may have been visible: such a journal is refused. (3) A run first replays the
entries against the same records, and draws for a record only if no entry holds it. So exactly one entry holds a record whose
rows are visible, in this run and in every one before. (4) Which record an entry is about cannot shift: with every entry stands
a keyed digest of all rows of the input up to there, and another input is refused, as is another model, mechanism, budget,
option or version of what draws and writes, so that the statement is true of what is replayed. QED.

What was drawn and lost, because the run died before it was on the disk, nobody saw. If the moment of death does not depend on the
values drawn, such draws cost nothing. If it did (a disk that is filled up by long texts), keeping only what survives would be a
selection by the output, which can at worst double the epsilon of those records; nothing here lets a value decide.

An entry holds what was drawn and nothing of a record: written texts, and randomised or written labels; where this run shuffles, the
releases themselves, as no text is written before all are there (``adept.release.shuffling``). Copied labels and kept columns are
read from the input again. The file has mode 0600 and goes when the output is complete.

What no file can notice: a journal whose end is cut off, or that was put back from an older copy, is one that has not come so
far. A ledger knows better: it keeps how many records may have been read (``adept.release.publication``).
"""

import fcntl
import hashlib
import json
import os
import secrets
import time
from collections.abc import Iterable, Iterator
from io import FileIO
from pathlib import Path
from types import TracebackType
from typing import Any

from adept.data.files import sync_directory
from adept.errors import DataError

VERSION = 2
LEDGER = "ledger"  # among the terms of a release that was begun with one
ATTEMPTS = 100  # to open a journal that other runs make and remove meanwhile
SECONDS_BETWEEN_SYNCS = 1.0
BLOCK = 512  # bytes that reach a disk together
HEADER = b' {"journal":'  # after the checksum of the first line
HEX = frozenset(b"0123456789abcdef")
CHECK = 16  # hexadecimal digits before each line that tell a whole line from a torn one

Entry = dict[str, Any]


class Journal:
    """An open journal, locked.

    Attributes:
        path: the file.
        run: the identity of the release, which its resumption keeps.
        records: how many records have an entry.
        finished: was it noted that everything had been published.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.run = secrets.token_hex(8)
        self.records, self.finished = 0, False
        self._terms: Entry = {}
        self._stream = _locked(path)
        self._begin = self._end = 0
        self._synced, self._is_synced = time.monotonic(), True
        try:
            self._scan()
        except BaseException:
            self._stream.close()
            raise

    @property
    def begun(self) -> bool:
        """Was anything drawn, in this run or before."""
        return self.records > 0

    def _scan(self) -> None:
        """Read what an earlier run left, and cut off what never was on the disk."""
        with self.path.open("rb") as stream:
            for line in stream:
                if (entry := _parsed(line)) is None:
                    self._check_torn(line, stream)
                    break
                self._end += len(line)
                if self._begin:
                    self.records += entry["records"]
                    self.finished = entry["finished"]
                elif entry["journal"] != VERSION:
                    raise DataError(f"{self.path} is another version's: continue with the adept that began it")
                else:
                    self._begin, self.run, self._terms = self._end, entry["run"], entry["terms"]
        self._stream.truncate(self._end)
        self._stream.seek(self._end)

    def _check_torn(self, line: bytes, rest: Iterable[bytes]) -> None:
        """Refuse a line that was damaged, or is none of ours; one that a crash has torn, with what follows it, was never safe."""
        safe = any(entry["synced"] for entry in map(_parsed, rest) if entry)
        if safe or not _torn(line, self._end) or not (self._begin or _is_header(line)):
            raise DataError(
                f"{self.path} is damaged or not a journal: restore it; under another name records would be released again"
            )

    @property
    def has_ledger(self) -> bool:
        """Whether the release was begun with a ledger."""
        return bool(self._terms.get(LEDGER))

    def begin(self, terms: Entry) -> None:
        """Write down the terms of a release of which nothing was drawn yet, or raise where a begun one had others.

        Raises:
            DataError: naming the first difference, or the journal cannot be written.
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
        try:
            self._cut(0)
            self._begin = self._end = self._write({"journal": VERSION, "run": self.run, "terms": terms})
            self.sync()
        except OSError as error:
            self.remove()  # half a first line would be taken for somebody else's file
            raise DataError(f"cannot write {self.path}: {error.strerror}: mend that, and run again") from None
        sync_directory(self.path.parent)

    def entries(self) -> Iterator[Entry]:
        """Yield the entries that an earlier run left."""
        place, end = self._begin, self._end
        with self.path.open("rb") as stream:
            stream.seek(place)
            while stream.tell() < end:
                entry = _parsed(stream.readline())
                if entry is not None and entry["records"]:
                    yield entry

    def append(self, entry: Entry, *, durable: bool) -> None:
        """Add what was drawn for the next records, on the disk before this returns if it is to be ``durable``.

        What is not yet durable survives the death of the process, though not of the machine.
        """
        self._note({**entry, "finished": False})
        self.records += entry["records"]
        if durable or time.monotonic() - self._synced > SECONDS_BETWEEN_SYNCS:
            self.sync()

    def finish(self) -> None:
        """Note that everything was published, so that all that stands under the final names is this release's."""
        self._note({"records": 0, "finished": True})
        self.sync()
        self.finished = True

    def _note(self, entry: Entry) -> None:
        """Write an entry, with whether everything before it is on the disk."""
        self._write({**entry, "synced": self._is_synced})
        self._is_synced = False

    def sync(self) -> None:
        """Put everything on the disk."""
        os.fsync(self._stream.fileno())
        self._synced, self._is_synced = time.monotonic(), True

    def give_up(self) -> None:
        """Forget what was drawn, which nobody can have read: what is left has nothing to publish, whatever happens next."""
        self._cut(self._begin)
        self.records, self._end = 0, self._begin
        self.sync()

    def remove(self) -> None:
        """Remove the file, which nothing needs any longer."""
        self.path.unlink(missing_ok=True)

    def _cut(self, length: int) -> None:
        self._stream.seek(length)
        self._stream.truncate(length)

    def _write(self, entry: Entry) -> int:
        content = json.dumps(entry, separators=(",", ":")).encode("ascii")
        line = _check(content) + b" " + content + b"\n"
        written = 0
        while written < len(line):
            written += self._stream.write(line[written:])
        return written

    def __enter__(self) -> "Journal":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._stream.close()


def _locked(path: Path) -> FileIO:
    """Open a journal for this process alone, making it where there is none."""
    for _ in range(ATTEMPTS):
        try:
            handle = _opened(path)
        except FileNotFoundError:
            if path.parent.exists():
                continue  # the run that had it has just removed it
            raise DataError(f"cannot write {path}: its directory is gone") from None
        except OSError as error:
            raise DataError(f"cannot write {path}: {error.strerror}") from None
        stream = os.fdopen(handle, "r+b", buffering=0)  # what was written is the kernel's, whatever becomes of us
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            stream.close()
            raise DataError(f"another run is writing {path}: wait for it, or choose another output") from None
        except OSError as error:
            stream.close()
            _remove_empty(path)
            raise DataError(
                f"{path} cannot be locked ({error.strerror}), so that two runs could release the same records: "
                "choose an output on a file system with locks"
            ) from None
        if path.exists() and os.fstat(handle).st_ino == path.stat().st_ino:
            return stream
        stream.close()  # the run that had the lock has just finished and removed the file
    raise DataError(f"cannot write {path}: the file system takes no such file; choose another output")


def _opened(path: Path) -> int:
    """Open a journal, or make one; what somebody else has put there could be read by them.

    The directory's owner may own it: some network disks give every file to one user, and that owner can read all of them.
    """
    flags = os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW
    try:
        return os.open(path, flags | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        handle = os.open(path, flags)
    if (owner := os.fstat(handle).st_uid) not in (os.geteuid(), path.parent.stat().st_uid):
        os.close(handle)
        raise DataError(f"{path} belongs to somebody else (user {owner}): choose another output")
    return handle


def _remove_empty(path: Path) -> None:
    """Take back a journal that was only just made."""
    if path.stat().st_size == 0:
        path.unlink()


def _is_header(line: bytes) -> bool:
    """May a torn first line be ours: a part of it, or a block that never reached the disk."""
    begin = line[:BLOCK]
    return not begin.strip(b"\0") or (set(begin[:CHECK]) <= HEX and HEADER.startswith(begin[CHECK:][: len(HEADER)]))


def _torn(line: bytes, start: int) -> bool:
    """Is a line, which begins at a place of its file, one that a crash cut off, or of which a block never reached the disk."""
    if not line.endswith(b"\n"):
        return _parsed(line[:-1] + b"\n") is None  # only its end was damaged
    blocks = range(start - start % BLOCK, start + len(line), BLOCK)
    return not all(line[max(block - start, 0) : block - start + BLOCK].strip(b"\0") for block in blocks)


def _parsed(line: bytes) -> Entry | None:
    """Return the entry on a line; None for one that is torn or damaged."""
    check, _, content = line.removesuffix(b"\n").partition(b" ")
    if not line.endswith(b"\n") or check != _check(content):
        return None
    entry: Entry = json.loads(content)
    return entry


def _check(content: bytes) -> bytes:
    return hashlib.sha256(content).hexdigest()[:CHECK].encode("ascii")
