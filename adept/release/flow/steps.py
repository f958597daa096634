"""The steps of every release: plan or continue the release, draw, publish, and tidy up.

To draw means to make all random choices of a release. The proofs of
``adept.release.flow.journal`` and ``adept.release.flow.publication`` depend on the order of these
steps. The *curator* is the person who holds the file and runs the release.
"""

import json
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import nullcontext, suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

from adept.data.formats import STANDARD_STREAM
from adept.data.writing import describe_failure
from adept.errors import AdeptError, DataError, Interrupted, ReleaseRefused
from adept.release.flow.journal import LEDGER, Journal
from adept.release.flow.publication import PARTIAL, Publication
from adept.release.ledger.claims import Ledger
from adept.release.ledger.default import LOG
from adept.release.ledger.file import Spending
from adept.release.ledger.identity import throwaway_key
from adept.release.options import PersonOptions
from adept.release.records import Inputs
from adept.release.statement import statement as statements
from adept.release.statement.statement import Statement
from adept.release.statement.verify import DECLARED, SENTENCES
from adept.release.statement.wording import approval_page, card
from adept.rewriting.rewriter import Rewriter
from adept.synthesis.synthesizer import Synthesizer

FACTS = ("output_sha256", "date", "training_data", "versions", "model_files")
"""Fields of a complete release that its statement alone can tell: options do not decide them."""

Progress = Callable[[int], None]
# Takes notes on the records that were read: exact numbers, and no part of the release
Tell = Callable[[Any], None]
Stated = TypeVar("Stated", bound=Statement)
Answer = TypeVar("Answer")


def ignore(notes: Any) -> None:
    """Ignore the given notes."""


@dataclass(frozen=True, kw_only=True)
class Plan(ABC, Generic[Stated]):
    """The plan of a release: everything that is decided before the first random choice."""

    drawn: ClassVar[tuple[str, ...]] = ()  # fields that may be unknown until the counts are drawn
    keeps_draws: ClassVar[bool] = False  # True if no error of the first run removes what it drew
    done: ClassVar[tuple[str, str]]  # verb and object: what an interrupted run with so many records did

    writer: Rewriter | Synthesizer
    inputs: Inputs
    publication: Publication
    options: PersonOptions
    format: str

    @cached_property
    def model_facts(self) -> dict[str, Any]:
        """The statement's fields about the model and the versions of programs."""
        return statements.model_facts(self.writer.model)

    def terms(self) -> dict[str, Any]:
        """Return the terms: the public values that a resumed run must share with the first run."""
        model, tokenizer, sha256 = self.writer.model, self.writer.tokenizer, self.model_facts["model_sha256"]
        return {
            # Without a directory: a run can be resumed from another one
            "output": Path(self.publication.target).name,
            "format_written": self.format,
            **self.own_terms(),
            "model": statements.model_fingerprint(model, tokenizer, sha256),
            "versions": statements.drawing_versions(),
        }

    @abstractmethod
    def own_terms(self) -> dict[str, Any]:
        """Return those ``terms`` that only this kind of release (local or central) has."""

    @abstractmethod
    def preview(self, ledger: Ledger | None = None) -> tuple[Stated, Any]:
        """Check and count all records; return a dry run's statement, and notes for the curator.

        If a ledger is given, which was opened with ``read_only``, the notes say what it would answer to this release.
        """

    def expected_statement(self) -> Stated:
        """Return the statement without the facts that are known only after the release."""
        expected, _ = self.preview()
        return expected

    @abstractmethod
    def examples(self) -> list[tuple[str, str]]:
        """Return pairs of a public text and its rewrite, which is "" in a central release."""

    def match_complete(self, described: dict[str, Any]) -> Stated:
        """Return the statement of a complete release; raise DataError if it has other options.

        *Claim*: all fields but the sentences are those of the statement's file, ``described``. *Proof*: fields that
        options do not decide are taken from the file, and all others are compared with it. QED.
        """
        stated = self.expected_statement()
        unknown = [name for name in self.drawn if getattr(stated, name) is None]
        known: dict[str, Any] = {name: described.get(name) for name in (*FACTS, *unknown)}
        stated = self.restore(replace(stated, **known), described)
        fields = json.loads(json.dumps(stated.fields()))
        for name in dict.fromkeys((*DECLARED, *fields)):  # the options first, which say best what differs
            if name not in SENTENCES and fields[name] != described.get(name):
                raise DataError(
                    f"{self.publication.target} is a complete release with other options, and is not overwritten ({name} was "
                    f"{described.get(name)!r}, and is {fields[name]!r}): choose another name"
                )
        return stated

    @abstractmethod
    def restore(self, stated: Stated, described: dict[str, Any]) -> Stated:
        """Return ``stated`` with those facts of the complete release that only its kind has."""


def find_files(
    source: str, target: str, options: PersonOptions, *, card: bool = False, ledger: Ledger | None = None
) -> tuple[Inputs, Publication]:
    """Find the input files, and name the output files; refuse a name that is used twice."""
    inputs = Inputs.of(source, options)
    others = (*(name for name in inputs.locations if name != STANDARD_STREAM), *([ledger.path] if ledger else []))
    return inputs, Publication.of(target, options.statement, card=card, report=options.report, others=others)


def release(
    publication: Publication,
    plan: Callable[[], Plan[Stated]],
    run_class: "Callable[..., Run[Stated]]",
    *,
    resume: bool,
    key: bytes | None = None,
    ledger: Ledger | None,
    progress: Progress | None,
    tell: Tell,
) -> Stated:
    """Release a file; if the release is complete already, return its statement.

    Args:
        plan: function that plans the release, called after the names of all files were checked.
        run_class: the subclass of ``Run`` that draws for such a plan.
        resume: True to continue an interrupted release; if there is none, a new release begins.
        key: key of the digests by which a resumed run recognises its input.
        ledger: the ledger (the list of released records) to which the records are added, or None.
        progress: function that is called with the number of finished records. If the function has an attribute
            ``last_step``, the attribute is a context manager that protects the publication from interrupts.
        tell: function that is called with notes for the curator.
    """
    complete = publication.complete if resume else None
    if complete is None:
        publication.check_free(resume=resume)
    planned = plan()
    stated = None if complete is None else planned.match_complete(complete)
    if stated is not None and ledger and ledger.keeps and not ledger.lists(publication.target, stated.output_sha256):
        LOG.warning(
            f"adept: not part of the release: {publication.target} is complete, but {ledger.path} does not list it, so its sums "
            "lack this budget: restore the newest ledger"
        )
    if stated is not None and not publication.journal.exists():
        publication.clear()
        return stated
    publication.make_directories()
    with Journal(publication.journal) as journal:
        run = run_class(planned, journal, key or throwaway_key(), ledger, progress or ignore, tell)
        if stated is not None:
            run.tidy(stated)
            return stated
        run.begin(resume=resume)
        return run.finish()


def preview(
    publication: Publication,
    plan: Callable[[], Plan[Stated]],
    tell: Tell = ignore,
    *,
    resume: bool = False,
    ledger: Ledger | None = None,
) -> Stated:
    """Return the statement of a dry run, which draws nothing and writes no file.

    If ``resume`` is True and the release is complete, return its statement, as ``release`` does.
    The ledger is not asked about an interrupted release, which it counts already.
    """
    if resume and (complete := publication.complete):
        return plan().match_complete(complete)
    publication.check_names()
    statement, notes = plan().preview(None if publication.journal.exists() else ledger)
    tell(notes)
    return statement


def foretell(claim: Callable[[], Answer]) -> tuple[Answer | None, list[str]]:
    """Return the answer of a ledger that is only read, and a line for the curator about it."""
    try:
        return claim(), ["the ledger would accept this release"]
    except ReleaseRefused as error:
        return None, [f"the ledger would refuse this release: {error}"]


@dataclass
class Run(ABC, Generic[Stated]):
    """One run of a release: its plan, its open journal, and arguments of ``release``.

    The key of a release in memory, whose input cannot change, is empty; ``listed_name`` is then the
    name of the release in the ledger.
    """

    plan: Plan[Stated]
    journal: Journal
    key: bytes
    ledger: Ledger | None = None
    progress: Progress = ignore
    tell: Tell = ignore
    listed_name: str | None = None

    @property
    def publication(self) -> Publication:
        return self.plan.publication

    def begin(self, *, resume: bool) -> None:
        """Begin or continue a release; raise DataError if a resumed run has different options."""
        journal, ledger = self.journal, self.ledger
        if journal.begun and not resume:
            done = " ".join(self.plan.done).format(journal.records)
            raise DataError(
                f"an interrupted run {done} and left {self.publication.leftovers}: resume=true continues it; removing them and "
                "running again is a second release of those records, and budgets add up"
            )
        if ledger:
            _check_newest(journal, ledger)
        required = ledger is not None and ledger.required
        if journal.has_ledger and not required:
            raise DataError(
                f"{self.publication.target} was begun with a ledger, which must count the rest too: add ledger=FILE"
            )
        noted = {LEDGER: True} if required and (journal.has_ledger or not journal.begun) else {}
        journal.begin(self.plan.terms() | noted)

    def finish(self) -> Stated:
        """Release all remaining records, write all files, and publish them."""
        keep = self.publication.streaming or self.journal.begun or self.plan.keeps_draws
        try:
            self.publication.withdraw(all_ours=self.publication.streaming and self.journal.finished)
            self.publication.check_names(begun=self.journal.begun)
            self.publication.make_temporary()
            statement, notes = self.draw()
        except BaseException as error:
            self._leave(error, keep=keep)
            raise
        try:
            self._publish(statement)
        except BaseException as error:
            if not self.publication.is_published:
                self._leave(error, keep=True)
                raise
        self.tidy(statement)
        if notes:
            self.tell(notes)
        return statement

    @abstractmethod
    def draw(self) -> tuple[Stated, Any]:
        """Release all records, and write their rows; return statement and notes for the curator."""

    @property
    def kept_ledger(self) -> Ledger | None:
        """The ledger; None without one, and if a default ledger was given up."""
        return self.ledger if self.ledger and self.ledger.keeps else None

    def enter_ledger(self, planned: Stated) -> Ledger | None:
        """Begin the release in the ledger with the planned budget, and return the ledger, if it is kept."""
        if ledger := self.kept_ledger:
            options = self.plan.options
            ledger.identity(text_column=options.text_column, person_column=options.person_column)
            ledger.begin(self.journal.run, Spending.of(planned), self.listed_name or self.publication.target)
        return self.kept_ledger

    def show(self) -> None:
        """Store in the ledger that somebody may read the rows of all records drawn so far."""
        if self.ledger:
            self.ledger.show(self.journal.run, self.journal.records)

    def tidy(self, stated: Stated) -> None:
        """Remove the working files of a complete release; a resumed run repeats this step."""
        with suppress(OSError, AdeptError, KeyboardInterrupt):
            self.journal.finish()
            if self.ledger:
                self.ledger.finish(self.journal.run, None if self.publication.streaming else stated.output_sha256)
            self.publication.clear()
            self.journal.remove()

    def _publish(self, statement: Stated) -> None:
        publication = self.publication
        publication.write_statement(statement.to_json())
        if publication.card:
            Path(publication.card + PARTIAL).write_text(
                card(statement, Path(publication.target).name), "utf-8", "backslashreplace"
            )
        if publication.report:
            page = approval_page(
                statement.to_json(),
                self.plan.examples(),
                title=Path(publication.target).name,
                statement=Path(publication.statement).name,
                about=self.plan.options.about,
                total=ledger.stated_total() if (ledger := self.kept_ledger) else None,
            )
            Path(publication.report + PARTIAL).write_text(page, "utf-8", "backslashreplace")
        self.show()
        with getattr(self.progress, "last_step", nullcontext)():
            publication.publish()

    def _leave(self, error: BaseException, *, keep: bool) -> None:
        """After an error, remove all files of this run except those that a resumed run needs."""
        try:
            self.publication.withdraw()
            self.publication.clear()
        except OSError as late:  # all that is left stays, and the journal with it
            error, keep = late, True
        if not self.journal.begun or (isinstance(error, AdeptError) and not keep):
            with suppress(OSError, AdeptError):  # nobody can have read a row; first the draws go
                self.journal.give_up()
                if self.ledger:
                    self.ledger.forget(self.journal.run)
                self.journal.remove()
        if isinstance(error, OSError):
            place = "standard output" if self.publication.streaming else self.publication.target
            raise DataError(f"{describe_failure(error, place)}: mend that, and continue with resume=true") from None
        if _is_interrupt(error) and self.journal.begun:
            raise Interrupted(
                f"{self.plan.done[1].format(self.journal.records)} are drawn, and {self.journal.path} keeps them: the same "
                "command with resume=true goes on"
            ) from None


def _is_interrupt(error: BaseException | None) -> bool:
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return error is not None


def _check_newest(journal: Journal, ledger: Ledger) -> None:
    """Refuse a journal that lacks draws for records which somebody may have read."""
    if journal.records < (shown := ledger.count_shown(journal.run)):
        raise DataError(
            f"{journal.path} holds {journal.records} records, but {ledger.path} knows that {shown} of its release may have been "
            "read: restore the newest journal; or remove it and add again=true, which releases those records again"
        )
    if not journal.begun:
        ledger.forget(journal.run)
