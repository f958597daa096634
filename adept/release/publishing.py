"""What every release does with its files, whatever it draws: leave what a resumption needs, publish, and tidy up.

The order of what happens is the proof of ``adept.release.journal`` and ``adept.release.publication``: claimed, drawn, journalled,
and only then visible.
"""

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from adept.data.files import Record
from adept.errors import AdeptError, DataError, Interrupted
from adept.release.journal import Journal
from adept.release.ledger import Ledger
from adept.release.publication import PARTIAL, Publication

Progress = Callable[[int], None]


class Statement(Protocol):
    """What is stated of a release."""

    def to_json(self) -> dict[str, Any]:
        """Return the fields as JSON values."""
        ...


Stated = TypeVar("Stated", bound=Statement)


@dataclass(frozen=True)
class Publishing(ABC, Generic[Stated]):
    """One run of a release, from its first record or from where another run was interrupted.

    Attributes:
        publication: where it goes.
        journal: what was drawn; open, with the release's terms.
        ledger: where rows are claimed before they are released.
        progress: called with how many records are done; its ``last_step``, if it has one, is a context that keeps interrupts
            away from the publication, and from all that comes after it.
    """

    publication: Publication
    journal: Journal
    ledger: Ledger | None = None
    progress: Progress | None = None

    def finish(self, records: Iterator[Record]) -> Stated:
        """Release what is not yet released, write everything and publish it.

        Raises:
            DataError: the input is not that of the interrupted release, or cannot be read; an output cannot be written.
            ReleaseRefused: rows are in the ledger.
        """
        keep = self.publication.streaming or self.journal.begun
        try:
            self.publication.withdraw(all_ours=self.publication.streaming and self.journal.finished)
            self.publication.check_names(begun=self.journal.begun)
            self.publication.make_temporary()
            statement = self.drawn(records)
        except BaseException as error:
            self._leave(error, keep=keep)
            raise
        try:
            self._publish(statement)
        except BaseException as error:
            if not self.publication.named:
                self._leave(error, keep=True)
                raise
        self.tidy()
        return statement

    @abstractmethod
    def drawn(self, records: Iterator[Record]) -> Stated:
        """Draw, journal, and write all rows under the temporary name; returns what is to be stated of them."""

    @property
    @abstractmethod
    def so_far(self) -> str:
        """What was drawn, in a sentence."""

    def describe(self, statement: Stated) -> None:
        """Write what stands beside the data under its temporary name."""
        described = json.dumps(statement.to_json(), indent=2) + "\n"
        Path(self.publication.statement + PARTIAL).write_text(described, "utf-8")

    def show(self) -> None:
        """Let the ledger know that everything drawn so far may be read from now on."""
        if self.ledger:
            self.ledger.show(self.journal.run, self.journal.records)

    def tidy(self) -> None:
        """Remove what a complete release needs no longer; where that fails, what is left tells a resumption to do it."""
        with suppress(OSError, AdeptError, KeyboardInterrupt):
            self.journal.finish()
            if self.ledger:
                self.ledger.finish(self.journal.run)
            self.publication.clear()
            self.journal.remove()

    def _publish(self, statement: Stated) -> None:
        """Write what is stated, and give everything its name."""
        self.describe(statement)
        self.show()
        with getattr(self.progress, "last_step", nullcontext)():
            self.publication.publish()

    def _leave(self, error: BaseException, *, keep: bool) -> None:
        """Leave what a resumption needs when a run ends early, and nothing where there is nothing to resume.

        A mistake of the user's in the first run of a file ends as if nothing had been drawn: nothing of it was visible.
        """
        self.publication.withdraw()
        self.publication.clear()
        if not self.journal.begun or (isinstance(error, AdeptError) and not keep):
            self._give_up()
        if isinstance(error, OSError):
            place = error.filename or ("standard output" if self.publication.streaming else self.publication.target)
            raise DataError(
                f"cannot write {place}: {error.strerror}: mend that, and continue with resume=true"
            ) from None
        if _is_interrupt(error) and self.journal.begun:
            raise Interrupted(
                f"{self.so_far}, and {self.journal.path} keeps them: the same command with resume=true goes on"
            ) from None

    def _give_up(self) -> None:
        """Undo what nobody can have read; where that fails, the journal stays, and the next run of this release does it."""
        with suppress(OSError, AdeptError):
            self.journal.give_up()
            if self.ledger:
                self.ledger.forget(self.journal.run)
            self.journal.remove()


def _is_interrupt(error: BaseException | None) -> bool:
    """Whether an error is an interrupt, or one that a library made of it, as numba does within machine code."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return error is not None


def check_newest(journal: Journal, ledger: Ledger) -> None:
    """Refuse a journal without everything that may have been read, and forget the claims of a run that drew nothing."""
    if journal.records < (shown := ledger.shown(journal.run)):
        raise DataError(
            f"{journal.path} holds {journal.records} records, but {ledger.path} knows that {shown} of its release may have been "
            "read: restore the newest one; to release what it lacks again, remove it and add again=true"
        )
    if not journal.begun:
        ledger.forget(journal.run)
