"""One run of a release: replay what was drawn, draw the rest, write everything, publish it, and leave what another run needs.

The order of what happens is the proof of ``adept.release.journal``: claimed, drawn, journalled, and only then visible.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from adept.data.files import Record
from adept.errors import AdeptError, DataError, Interrupted
from adept.release.batches import Batches
from adept.release.card import card
from adept.release.journal import Entry, Journal
from adept.release.ledger import Ledger, claim_rows
from adept.release.output import open_output
from adept.release.plan import Plan
from adept.release.publication import PARTIAL, Publication
from adept.release.secret import Prefix, row_digest
from adept.release.shuffling import Groups
from adept.release.statement import PrivacyStatement

Progress = Callable[[int], None]


@dataclass(frozen=True)
class Run:
    """One run of a release, from its first record or from where another run was interrupted.

    Attributes:
        plan: what is released, and how.
        publication: where it goes.
        journal: what was drawn; open, with the plan's terms.
        key: of digests.
        ledger: where rows are claimed before they are released.
        progress: called with how many records are written; its ``last_step``, if it has one, is a context that keeps interrupts
            away from the publication, and from all that comes after it.
    """

    plan: Plan
    publication: Publication
    journal: Journal
    key: bytes
    ledger: Ledger | None = None
    progress: Progress | None = None

    def finish(self, records: Iterator[Record]) -> PrivacyStatement:
        """Release what is not yet released, write everything and publish it.

        Raises:
            DataError: the input is not that of the interrupted release, or cannot be read; an output cannot be written.
            ReleaseRefused: rows are in the ledger.
        """
        keep = self.publication.streaming or self.journal.begun
        try:
            statement = self._drawn(records)
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

    def _drawn(self, records: Iterator[Record]) -> PrivacyStatement:
        """Draw for every record, and write all rows under the temporary name; returns what is to be stated of them."""
        self.publication.withdraw(all_ours=self.publication.streaming and self.journal.finished)
        self.publication.check_names(begun=self.journal.begun)
        self.publication.make_temporary()
        self._claim_all()
        groups = Groups(self.plan.label_column, self.plan.options)
        sha256 = self._write(groups.counted(self.plan.checked(records)))
        return self.plan.statement(self.journal.records, output_sha256=sha256, smallest=groups.smallest)

    def _claim_all(self) -> None:
        """Claim every row of an input that can be read twice, before anything is drawn."""
        if not self.ledger:
            return
        note = self.journal.run, self.plan.statement(0, output_sha256=None), self.publication.target
        self.ledger.begin(*note)
        if self.plan.inputs.repeatable:
            self._claim(map(self._digests, self._parts(self.plan.checked(self.plan.inputs.records()))))
            self.ledger.begin(*note)  # and counts from the beginning again

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
        if isinstance(error, KeyboardInterrupt) and self.journal.begun:
            raise Interrupted(
                f"{self.journal.records} records are drawn, and {self.journal.path} keeps them: the same command with "
                "resume=true goes on"
            ) from None

    def _give_up(self) -> None:
        """Undo what nobody can have read; where that fails, the journal stays, and the next run of this release does it."""
        with suppress(OSError, AdeptError):
            self.journal.give_up()
            if self.ledger:
                self.ledger.forget(self.journal.run)
            self.journal.remove()

    def _write(self, records: Iterator[Record]) -> str:
        """Write the rows of all records; returns the digest of the output."""
        batches, written = self.plan.batches, 0
        with open_output(self.publication, format=self.plan.format, columns=self.plan.columns) as output:
            for batch, entry in self._entries(batches, records):
                if rows := list(batches.rows(batch, entry)):
                    output.write(rows)
                    output.flush()
                written += len(batch)
                if self.progress:
                    self.progress(written)
            for rows in batches.last_rows():
                output.write(rows)
                if self.progress:
                    self.progress(written)
        self.journal.sync()
        return output.sha256()

    def _entries(self, batches: Batches, records: Iterator[Record]) -> Iterator[tuple[Sequence[Record], Entry]]:
        """Pair every batch of records with what was drawn for it, in an earlier run or now; by then it is in the journal."""
        prefix = Prefix(self.key)
        for entry in self.journal.entries():
            batch = list(islice(records, entry["records"]))
            digests = self._digests(batch)
            for digest in digests:
                prefix.add(digest)
            if len(batch) != entry["records"] or prefix.hexdigest() != entry["input"]:
                raise DataError(
                    "input is not that of the interrupted release, or the key of its digests is another one: restore both, "
                    "as nothing else can be continued"
                )
            self._claim(iter([digests]))  # the run that drew them may have had no ledger
            yield batch, entry
        for (batch, digests), draws in self.plan.drawn(batches, self._claimed(records)):
            for digest in digests:
                prefix.add(digest)
            entry = {"records": len(batch), "input": prefix.hexdigest(), **draws}
            self.journal.append(entry, durable=self.publication.streaming)
            if self.publication.streaming:
                self._show()
            yield batch, entry

    def _claimed(self, records: Iterator[Record]) -> Iterator[tuple[list[Record], list[bytes]]]:
        """Batches of records, with their digests, that may be drawn for."""
        for batch in self._parts(records):
            digests = self._digests(batch)
            self._claim(iter([digests]))  # what is read now may be more than what was read before
            yield batch, digests

    def _parts(self, records: Iterator[Record]) -> Iterator[list[Record]]:
        return iter(lambda: list(islice(records, self.plan.batch_size)), [])

    def _digests(self, batch: Sequence[Record]) -> list[bytes]:
        return [row_digest(self.key, record) for record in batch]

    def _claim(self, parts: Iterator[list[bytes]]) -> None:
        if self.ledger:
            epsilon = self.plan.statement(0, output_sha256=None).epsilon
            claim_rows(self.ledger, self.journal.run, parts, epsilon)

    def _show(self) -> None:
        """Let the ledger know that everything drawn so far may be read from now on."""
        if self.ledger:
            self.ledger.show(self.journal.run, self.journal.records)

    def _publish(self, statement: PrivacyStatement) -> None:
        """Write statement and card, and give everything its name."""
        described = json.dumps(statement.to_json(), indent=2) + "\n"
        Path(self.publication.statement + PARTIAL).write_text(described, "utf-8")
        if self.publication.card:
            Path(self.publication.card + PARTIAL).write_text(
                card(statement, Path(self.publication.target).name), "utf-8"
            )
        self._show()
        with getattr(self.progress, "last_step", nullcontext)():
            self.publication.publish()

    def tidy(self) -> None:
        """Remove what a complete release needs no longer; where that fails, what is left tells a resumption to do it."""
        with suppress(OSError, AdeptError, KeyboardInterrupt):
            self.journal.finish()
            if self.ledger:
                self.ledger.finish(self.journal.run)
            self.publication.clear()
            self.journal.remove()
