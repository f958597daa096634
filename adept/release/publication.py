"""The files of a release: statement, card and data, which appear together and only when all of them are complete.

Each is written under a temporary name beside its own, and gets its name by a link that fails where the name is taken meanwhile.
The data comes last: whoever finds it finds its statement beside it. The temporary names stay until all is done, so that a run
that resumes can tell a name that it gave itself from somebody else's file.
"""

import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from adept.data.files import STANDARD_STREAM, publish
from adept.errors import DataError

STATEMENT, CARD, PARTIAL, JOURNAL = ".privacy.json", ".card.md", ".partial", ".journal"


@dataclass(frozen=True)
class Publication:
    """Where a release goes.

    Attributes:
        target: the data; ``-`` is standard output, which has no name to hold back.
        statement: the statement.
        card: the dataset card; None for none.
    """

    target: str
    statement: str
    card: str | None = None

    @classmethod
    def of(cls, target: str, statement: str | None, *, card: bool) -> "Publication":
        """Name the files of a release.

        Raises:
            DataError: the statement would be no file of its own.
        """
        if target == STANDARD_STREAM and (statement is None or card):
            raise DataError("statement= must name a file, and card=false, when the output is standard output")
        places = cls(target, statement or target + STATEMENT, target + CARD if card else None)
        others = [os.path.realpath(name) for name in (target, target + CARD)]
        if places.statement == STANDARD_STREAM or os.path.realpath(places.statement) in others:
            raise DataError(f"statement must be a file of its own, got {places.statement}: choose another name")
        return places

    @property
    def streaming(self) -> bool:
        """Is the data visible as it comes."""
        return self.target == STANDARD_STREAM

    @property
    def journal(self) -> Path:
        """The journal, beside the data, or beside the statement where the data is no file."""
        return Path((self.statement if self.streaming else self.target) + JOURNAL)

    @property
    def names(self) -> list[str]:
        """The final names, in the order in which they appear."""
        data = [] if self.streaming else [self.target]
        return [self.statement, *([self.card] if self.card else []), *data]

    @property
    def leftovers(self) -> list[Path]:
        """What a run that was killed has left."""
        temporary = [Path(name + PARTIAL) for name in self.names]
        return [path for path in (*temporary, self.journal) if os.path.lexists(path)]

    def check_free(self) -> None:
        """Refuse names that are taken, unless a journal tells that a run of this release was interrupted."""
        if not self.journal.exists():
            self.check_names()
            self.check_leftovers()

    def check_names(self, *, begun: bool = False) -> None:
        """Refuse to overwrite; everything that stands in the way is named at once. What was begun goes on under its own name."""
        if taken := [name for name in self.names if os.path.lexists(name)]:
            advice = "move it away, and continue with resume=true" if begun else "remove it or choose another name"
            raise DataError(f"{', '.join(taken)} exists and is not overwritten: {advice}")

    def make_temporary(self) -> None:
        """Make the files under their temporary names anew, before anything is drawn; until published they are their owner's.

        Raises:
            OSError: one cannot be made; its name may be too long.
        """
        for name in self.names:
            Path(name + PARTIAL).unlink(missing_ok=True)
            os.close(os.open(name + PARTIAL, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))

    def check_leftovers(self) -> None:
        """Refuse to begin beside temporary files that no journal explains; all of them are named at once."""
        if self.leftovers:
            raise DataError(f"a run that was killed left {self._named()}: remove them if no other run is writing them")

    def refuse_to_restart(self, records: int) -> None:
        """Refuse to begin again what was begun.

        Raises:
            DataError: naming what was left, and what a second run would be.
        """
        raise DataError(
            f"an interrupted run released {records} records and left {self._named()}: resume=true continues it; removing them and "
            "running again is a second release of those records, and budgets add up"
        )

    def _named(self) -> str:
        return ", ".join(map(str, self.leftovers))

    def make_directories(self) -> None:
        """Make the directories of the final names."""
        for name in self.names:
            try:
                Path(name).parent.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise DataError(f"cannot make the directory of {name}: {error.strerror}") from None

    def publish(self) -> None:
        """Give each complete file its name, everything on the disk before the next one.

        Raises:
            DataError: a name was taken meanwhile.
        """
        os.umask(mask := os.umask(0o077))  # there is no other way to read it
        for name in self.names:
            with suppress(PermissionError):  # of file systems that have no modes
                Path(name + PARTIAL).chmod(0o666 & ~mask)
            publish(Path(name + PARTIAL), Path(name))

    @property
    def published(self) -> bool:
        """Did every file get its name from an earlier run of this release."""
        return not self.streaming and all(map(_ours, self.names))

    @property
    def in_place(self) -> bool:
        """Does every final name stand for something."""
        return all(map(os.path.exists, self.names))

    def withdraw(self, *, all_ours: bool = False) -> None:
        """Take back the names that an earlier run gave before it was killed; somebody else's files are left alone."""
        for name in self.names:
            if all_ours or _ours(name):
                Path(name).unlink(missing_ok=True)

    def clear(self) -> None:
        """Remove the temporary names."""
        for name in self.names:
            with suppress(OSError):  # one that cannot be made cannot be removed
                Path(name + PARTIAL).unlink(missing_ok=True)


def _ours(name: str) -> bool:
    """Is a final name a link to our temporary file."""
    try:
        return Path(name).samefile(name + PARTIAL)
    except OSError:
        return False  # one of them is not there, or cannot be
