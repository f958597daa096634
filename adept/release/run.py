"""One flow for every release: plan it, or continue one that was interrupted, draw, publish, and tidy up.

The order of what happens is the proof of ``adept.release.journal`` and ``adept.release.publication``: claimed, drawn, journalled,
and only then visible. The two kinds of release differ in their plans (``adept.release.local``, ``adept.release.central``).
"""

import json
from collections.abc import Callable
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic

from adept.errors import AdeptError, DataError, Interrupted
from adept.release.config import PersonOptions
from adept.release.identity import throwaway_key
from adept.release.inputs import Inputs
from adept.release.journal import LEDGER, Journal
from adept.release.ledger import Ledger
from adept.release.plan import Notes, Plan, Stated
from adept.release.publication import PARTIAL, Publication
from adept.release.wording import card

Progress = Callable[[int], None]
Tell = Callable[[Any], None]  # takes the notes of the plan


def tell_nobody(notes: Notes) -> None:
    """Drop the notes."""


def find_files(
    source: str, target: str, options: PersonOptions, *, card: bool = False, ledger: Ledger | None = None
) -> tuple[Inputs, Publication]:
    """Find the input, and name the outputs, none of which takes the place of a file that the run reads."""
    inputs = Inputs.of(source, options)
    others = (*inputs.files, *([ledger.path] if ledger else []))
    return inputs, Publication.of(target, options.statement, card=card, others=others)


def release(
    publication: Publication,
    plan: Callable[[], Plan[Stated]],
    *,
    resume: bool,
    key: bytes | None = None,
    ledger: Ledger | None,
    progress: Progress | None,
    tell: Tell,
) -> Stated:
    """Release a file, or return the statement of the release if it is complete already.

    Args:
        publication: the files of the release.
        plan: plans the release; it is called once nothing stands in its way.
        resume: continue an interrupted release, or begin one.
        key: the key of the digests by which a resumed run knows its input.
        ledger: the ledger in which records are claimed.
        progress: called with a number of records; its ``last_step``, if it has one, is a context that keeps interrupts away from
            the publication and from all that comes after it.
        tell: called with notes for the curator.
    """
    complete = publication.complete if resume else None
    if complete is None:
        publication.check_free(resume=resume)
    planned = plan()
    stated = None if complete is None else planned.complete(complete)
    if stated is not None and not publication.journal.exists():
        publication.clear()
        return stated
    publication.make_directories()
    with Journal(publication.journal) as journal:
        run = Run(planned, journal, key or throwaway_key(), ledger, progress, tell)
        if stated is not None:
            run.tidy()
            return stated
        run.begin(resume=resume)
        return run.finish()


def preview(publication: Publication, plan: Callable[[], Plan[Stated]], tell: Tell) -> Stated:
    """Return the statement of a release that is not made: options and records are checked, and nothing is drawn or written."""
    publication.check_names()
    statement, notes = plan().preview()
    tell(notes)
    return statement


@dataclass(frozen=True)
class Run(Generic[Stated]):
    """One run of a release, from its first record or from where another run was interrupted.

    Attributes:
        plan: the release.
        journal: the draws; open.
        key: the key of digests.
        ledger, progress, tell: as in ``release``.
    """

    plan: Plan[Stated]
    journal: Journal
    key: bytes
    ledger: Ledger | None = None
    progress: Progress | None = None
    tell: Tell = tell_nobody

    @property
    def publication(self) -> Publication:
        """Files of the release."""
        return self.plan.publication

    def begin(self, *, resume: bool) -> None:
        """Write down the terms of the release, or check that they are those of the run that was interrupted.

        Raises:
            DataError: a run was interrupted, and is not resumed or cannot be.
        """
        journal, ledger = self.journal, self.ledger
        if journal.begun and not resume:
            self.publication.refuse_to_restart(f"{self.plan.verb} {self.plan.drawn_so_far(journal.records)}")
        if ledger:
            _check_newest(journal, ledger)
        required = ledger is not None and ledger.required
        if journal.has_ledger and not required:
            raise DataError(
                f"{self.publication.target} was begun with a ledger, which would not learn of the rest: add ledger=FILE"
            )
        noted = {LEDGER: True} if required and (journal.has_ledger or not journal.begun) else {}
        journal.begin(self.plan.terms() | noted)

    def finish(self) -> Stated:
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
            statement, notes = self.plan.draw(self)
        except BaseException as error:
            self._leave(error, keep=keep)
            raise
        try:
            self._publish(statement)
        except BaseException as error:
            if not self.publication.is_published:
                self._leave(error, keep=True)
                raise
        self.tidy()
        if notes:
            self.tell(notes)
        return statement

    def advance(self, records: int) -> None:
        """Tell how many records are done."""
        if self.progress:
            self.progress(records)

    def show(self) -> None:
        """Let the ledger know that everything drawn so far may be read from now on."""
        if self.ledger:
            self.ledger.show(self.journal.run, self.journal.records)

    def tidy(self) -> None:
        """Remove what a complete release needs no longer; if that fails, what is left tells a resumption to do it."""
        with suppress(OSError, AdeptError, KeyboardInterrupt):
            self.journal.finish()
            if self.ledger:
                self.ledger.finish(self.journal.run)
            self.publication.clear()
            self.journal.remove()

    def _publish(self, statement: Stated) -> None:
        """Write statement and card, and give everything its name."""
        publication = self.publication
        described = json.dumps(statement.to_json(), indent=2) + "\n"
        Path(publication.statement + PARTIAL).write_text(described, "utf-8")
        if publication.card:
            Path(publication.card + PARTIAL).write_text(card(statement, Path(publication.target).name), "utf-8")
        self.show()
        with getattr(self.progress, "last_step", nullcontext)():
            publication.publish()

    def _leave(self, error: BaseException, *, keep: bool) -> None:
        """Leave what a resumption needs if a run ends early, and nothing if there is nothing to resume.

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
                f"{self.plan.drawn_so_far(self.journal.records)} are drawn, and {self.journal.path} keeps them: the same command "
                "with resume=true goes on"
            ) from None

    def _give_up(self) -> None:
        """Undo what nobody can have read; if that fails, the journal stays, and the next run of this release does it."""
        with suppress(OSError, AdeptError):
            self.journal.give_up()
            if self.ledger:
                self.ledger.forget(self.journal.run)
            self.journal.remove()


def _is_interrupt(error: BaseException | None) -> bool:
    """Return True for an interrupt, or for an error that a library made of it, as numba does within machine code."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return error is not None


def _check_newest(journal: Journal, ledger: Ledger) -> None:
    """Refuse a journal without everything that may have been read, and forget the claims of a run that drew nothing."""
    if journal.records < (shown := ledger.count_shown(journal.run)):
        raise DataError(
            f"{journal.path} holds {journal.records} records, but {ledger.path} knows that {shown} of its release may have been "
            "read: restore the newest one; to release what it lacks again, remove it and add again=true"
        )
    if not journal.begun:
        ledger.forget(journal.run)
