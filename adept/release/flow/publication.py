"""The files of a release (statement, card, report, data), published when all are complete.

Each file is first written under a temporary name beside its final name. A hard link then gives the file its final
name. If another file already has this name, DataError is raised. The data file gets its final name last. So beside a
data file with a final name there is always a statement that holds the digest of the data file. The temporary names
stay until the release is complete, so that a resumed run recognises its files.

A run stores its draws (the results of all random choices) in the *journal*. To *claim* records means to add them to the
*ledger*, the list of released records. The *terms* of a release are the options and facts that all its runs share. A
release into a file goes through the following states. Each state is on the disk before the next state begins.

| state     | journal          | ledger                   | temporary files | final names     |
|-----------|------------------|--------------------------|-----------------|-----------------|
| begun     | terms            | nothing                  | none            | none            |
| claimed   | terms            | claims of its records    | empty           | none            |
| drawn     | terms and draws  | claims                   | rows so far     | none            |
| shown     | every draw       | claims, marked readable  | complete        | one by one      |
| published | every draw       | claims, marked readable  | complete        | all             |
| tidied    | gone             | finished                 | gone            | all             |

*Claim*: after any crash, on a disk that keeps what was synchronised, (a) a release with claims in the ledger has a
journal, or is published; (b) if a journal holds draws for a record, the ledger holds a claim of that record; (c) once
all files have their final names, every resumed run finds that the release is complete; (d) no record has two visible
releases.

*Reason* (the proof is in ``docs/proofs.md``): records are claimed after the terms are on the disk,
and drawn after they are claimed. The data file gets its name last, beside a statement that holds its
digest. The ledger stores how many records may have been read; a journal with draws for fewer is
refused, and while the number is above zero, no claim is removed.

On standard output, rows become visible batch by batch. The records of a batch are drawn, stored in
the journal, and marked as readable in the ledger; only then are their rows written. If a default
ledger fails, the run may continue without it (``adept.release.ledger.default``). The claims that
are already in the ledger stay there, and a resumed run uses the ledger again.
"""

import errno
import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from adept.data.formats import STANDARD_STREAM, STATEMENT, Types, Write
from adept.data.writing import WrittenFile, make_directory, publish, record_writer, sync_directory
from adept.errors import DataError
from adept.models.untrusted_files import file_sha256
from adept.release.flow.journal import journal_files

CARD, REPORT, PARTIAL, JOURNAL = ".card.md", ".report.html", ".partial", ".journal"
STDOUT = 1


@dataclass(frozen=True)
class Publication:
    """The files of a release: data (``-`` is standard output), statement, card and report."""

    target: str
    statement: str
    card: str | None = None
    report: str | None = None

    @classmethod
    def of(
        cls, target: str, statement: str | None, *, card: bool, report: bool = False, others: tuple[str, ...] = ()
    ) -> "Publication":
        """Choose the names of the files; raise DataError if two files would have the same name."""
        if target == STANDARD_STREAM and (statement is None or card or report):
            raise DataError(
                "statement must name a file for output=-: add statement=privacy.json, and leave card and report out"
            )
        extra = {"card": target + CARD if card else None, "report": target + REPORT if report else None}
        places = cls(target, statement or target + STATEMENT, **extra)
        if places.statement == STANDARD_STREAM:
            raise DataError(f"statement must be a file of its own, got {places.statement}: choose another name")
        taken: set[str] = set()
        for name in (*places.names, *map(str, places._working_files), *others):
            if (real := os.path.realpath(name)) in taken:
                raise DataError(
                    f"input, output, statement, ledger and key must be different files, got {name} twice: choose another name "
                    f"(a run also uses OUTPUT{PARTIAL} and OUTPUT{JOURNAL})"
                )
            taken.add(real)
        return places

    @property
    def streaming(self) -> bool:
        """True if rows go to standard output, and are visible once they are written."""
        return self.target == STANDARD_STREAM

    @property
    def journal(self) -> Path:
        """Path of the journal, which lies beside the data file.

        If rows go to standard output, the journal lies beside the statement instead.
        """
        return Path((self.statement if self.streaming else self.target) + JOURNAL)

    @property
    def names(self) -> list[str]:
        """Final names of the files, in the order in which the files get these names."""
        return [self.statement, *filter(None, (self.card, self.report)), *([] if self.streaming else [self.target])]

    @property
    def temporary(self) -> list[Path]:
        """Temporary names of the files, in the order of ``names``."""
        return [Path(name + PARTIAL) for name in self.names]

    @property
    def leftovers(self) -> str:
        """Names of all existing temporary and journal files, as one text; "" if none exists."""
        return ", ".join(str(path) for path in self._working_files if os.path.lexists(path))

    @property
    def _working_files(self) -> list[Path]:
        return [*self.temporary, *journal_files(self.journal)]

    def check_free(self, *, resume: bool = False) -> None:
        """Raise DataError if an output file exists and no journal shows an interrupted run."""
        if self.journal.exists():
            return
        if resume and self.streaming and os.path.lexists(self.statement):
            raise DataError(
                f"{self.statement} says that this release is complete, and its rows are not kept, so they cannot be written "
                "again: for another release, which adds to the budget, give another statement="
            )
        self.check_names()
        self.check_leftovers()

    def check_names(self, *, begun: bool = False) -> None:
        """Raise DataError if an output file exists, so that no file is overwritten."""
        odd = [name for name in self.names if os.path.exists(name) and not os.path.isfile(name)]  # noqa: PTH110, PTH113
        if odd:  # Path raises for a name that is too long
            raise DataError(f"{odd[0]} is a directory, a device or a pipe: choose a new name (- is standard output)")
        if taken := [name for name in self.names if os.path.lexists(name)]:
            advice = "move it away, and continue with resume=true" if begun else "remove it or choose another name"
            others = "".join(f", nor is {name}" for name in taken[:-1])
            raise DataError(f"{taken[-1]} exists and is not overwritten{others}: {advice}")

    def make_temporary(self, *, resumed: bool = True) -> None:
        """Create the temporary files, which only their owner can read; those of an earlier run may be there if ``resumed``."""
        for path in self.temporary if resumed else ():
            path.unlink(missing_ok=True)
        for path in self.temporary:
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
        self._synchronise()  # or a final name could outlive the temporary one

    def check_leftovers(self) -> None:
        """Raise DataError if an earlier run has left temporary files."""
        if left := self.leftovers:
            raise DataError(f"a run that was killed left {left}: remove them if no other run is writing them")

    def make_directories(self) -> None:
        """Create the directories that will hold the files; raise DataError if this is impossible.

        A name that is too long for the disk also raises DataError.
        """
        for path in (*map(Path, self.names), *self._working_files):
            try:
                make_directory(path.parent)
                with suppress(FileNotFoundError):
                    path.lstat()
            except OSError as error:
                raise DataError(f"cannot make {path} or its directory: {error.strerror}") from None

    def write_statement(self, described: dict[str, Any]) -> None:
        """Write a statement's fields into the temporary file of the statement."""
        Path(self.statement + PARTIAL).write_text(json.dumps(described, indent=2) + "\n", "utf-8")

    def publish(self) -> None:
        """Give the files their final names, one by one; raise DataError if a name is taken."""
        for path, name in zip(self.temporary, self.names, strict=True):
            try:
                publish(path, Path(name))
            except FileExistsError:
                raise DataError(
                    f"{name} appeared during the run and is not overwritten: move it away, and continue with resume=true"
                ) from None

    @property
    def is_published(self) -> bool:
        return all(map(_ours, self.names))

    @property
    def complete(self) -> dict[str, Any] | None:
        """The statement's fields if all files of the release are published, else None."""
        if self.streaming or not all(map(os.path.isfile, self.names)):
            return None
        try:
            described = json.loads(Path(self.statement).read_bytes())
            return described if described["output_sha256"] == file_sha256(self.target) else None
        except (OSError, ValueError, LookupError, TypeError, RecursionError):
            return None

    def withdraw(self, *, all_ours: bool = False) -> None:
        """Remove the final names that this release has given to its files.

        With ``all_ours``, the caller knows that all files with these names belong to this release.
        Otherwise, a name is removed only if it leads to the same file as its temporary name.
        """
        for name in self.names:
            if all_ours or _ours(name):
                Path(name).unlink(missing_ok=True)
        self._synchronise()  # before anything that tells whose they were goes

    def clear(self) -> None:
        """Remove the temporary names of the files."""
        for path in self.temporary:
            with suppress(OSError):  # one that cannot be made cannot be removed
                path.unlink(missing_ok=True)
        self._synchronise()

    def _synchronise(self) -> None:
        for directory in {path.parent for path in self.temporary}:
            sync_directory(directory)


def _ours(name: str) -> bool:
    try:
        return Path(name).samefile(name + PARTIAL)
    except OSError:
        return False  # one of them is not there, or cannot be


@contextmanager
def open_output(
    publication: Publication, *, format: str, columns: Sequence[str], types: Types | None = None
) -> Iterator[tuple[Write, Callable[[], str]]]:
    """Yield a function that writes rows, and one that returns the SHA-256 digest of the closed output.

    Rows on standard output are visible as soon as they are written. Raise DataError if the program
    that reads standard output stops before all rows are written. The digest is that of the rows
    which this run wrote; raise OSError if another program has changed the file.
    """
    partial = publication.target + PARTIAL
    output = WrittenFile(STDOUT if publication.streaming else partial)

    def sha256() -> str:
        if not publication.streaming and file_sha256(partial) != output.digest.hexdigest():
            raise OSError(errno.EBUSY, "another program changed it while it was written", partial)
        return output.digest.hexdigest()

    try:
        with record_writer(output, format=format, columns=columns, types=types) as write:
            yield write, sha256
    except BrokenPipeError:
        raise DataError(
            "standard output was closed before everything was written: what was read of it is a release, "
            "which resume=true writes again and continues"
        ) from None
