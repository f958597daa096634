"""One run of a rewriter's release: read again what was drawn, draw the rest, and write everything.

The order of what happens is the proof of ``adept.release.journal``: claimed, drawn, journalled, and only then visible.
"""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path

from adept.data.files import Record
from adept.errors import DataError
from adept.release.batches import Batches
from adept.release.card import card
from adept.release.identity import Identity, prefix_digest, row_digest
from adept.release.journal import Entry
from adept.release.ledger import Ledger
from adept.release.ledger_file import Spending
from adept.release.output import open_output
from adept.release.plan import Plan
from adept.release.publication import PARTIAL
from adept.release.publishing import Publishing
from adept.release.shuffling import Groups
from adept.release.statement import PrivacyStatement


@dataclass(frozen=True, kw_only=True)
class Run(Publishing[PrivacyStatement]):
    """One run of a rewriter's release.

    Attributes:
        plan: what is released, and how.
        key: of digests.
    """

    plan: Plan
    key: bytes

    def drawn(self, records: Iterator[Record]) -> PrivacyStatement:
        """Draw for every record, and write all rows under the temporary name; returns what is to be stated of them."""
        self._check_and_claim_all()
        groups = Groups(self.plan.label_column, self.plan.options)
        sha256 = self._write(groups.counted(self.plan.checked(records)))
        return self.plan.statement(self.journal.records, output_sha256=sha256, smallest=groups.smallest)

    @property
    def so_far(self) -> str:
        """What was drawn, in a sentence."""
        return f"{self.journal.records} records are drawn"

    def describe(self, statement: PrivacyStatement) -> None:
        """Write statement and card under their temporary names."""
        super().describe(statement)
        if self.publication.card:
            described = card(statement, Path(self.publication.target).name)
            Path(self.publication.card + PARTIAL).write_text(described, "utf-8")

    def _check_and_claim_all(self) -> None:
        """Check every record of an input that can be read twice, and claim it, before anything is drawn."""
        if ledger := self._open_ledger:
            persons = self.plan.options.person_column is not None
            spending = Spending.of_local(self.plan.statement(0, output_sha256=None), persons=persons)
            ledger.begin(self.journal.run, spending, self.publication.target)
        if not self.plan.inputs.repeatable:
            return
        count = 0
        for batch in self._parts(self.plan.checked(self.plan.records())):
            if ledger := self._open_ledger:
                ledger.collect(self._subjects(batch, count))
                self._collected[count] = self._fingerprint(batch)
            count += len(batch)
        if ledger := self._open_ledger:
            ledger.claim()

    @property
    def _open_ledger(self) -> Ledger | None:
        """Ledger of the run; None if it was given up."""
        return self.ledger if self.ledger and self.ledger.keeps else None

    @cached_property
    def _identity(self) -> Identity | None:
        """Identity of records in the ledger."""
        options = self.plan.options
        if not self.ledger:
            return None
        return self.ledger.identity(text_column=options.text_column, person_column=options.person_column)

    @cached_property
    def _collected(self) -> dict[int, bytes]:
        """Fingerprints of the batches that were claimed before anything was drawn, by the number of earlier records."""
        return {}

    def _fingerprint(self, batch: Sequence[Record]) -> bytes:
        """Return a digest of the values that identify a batch's records."""
        identity = self._identity
        names = [*(column for _, column in identity.columns), identity.person_column] if identity else []
        content = repr([[record.get(name) for name in names] for record in batch])  # type: ignore[arg-type]
        return hashlib.blake2b(content.encode("utf-8", "surrogatepass"), key=self.key, digest_size=16).digest()

    def _subjects(self, batch: Sequence[Record], before: int) -> Iterator[tuple[bytes, int]]:
        """Yield the digests that a batch claims; ``before`` records precede it."""
        identity = self._identity
        for number, record in enumerate(batch, start=before + 1):
            yield from identity.subjects(record, number) if identity else ()

    def _write(self, records: Iterator[Record]) -> str:
        """Write the rows of all records; returns the digest of the output."""
        batches, written = self.plan.batches, 0
        plan = self.plan
        with open_output(self.publication, format=plan.format, columns=plan.columns, types=plan.types) as output:
            for batch, entry in self._entries(batches, records):
                if rows := list(batches.rows(batch, entry)):
                    output.write(self.plan.typed(rows))
                    output.flush()
                written += len(batch)
                if self.progress:
                    self.progress(written)
            for rows in batches.last_rows():
                output.write(self.plan.typed(rows))
                if self.progress:
                    self.progress(written)
        self.journal.sync()
        return output.sha256()

    def _entries(self, batches: Batches, records: Iterator[Record]) -> Iterator[tuple[Sequence[Record], Entry]]:
        """Pair every batch of records with what was drawn for it, in an earlier run or now; by then it is in the journal."""
        prefix, read = prefix_digest(self.key), 0
        for entry in self.journal.entries():
            batch = list(islice(records, entry["records"]))
            digests = self._digests(batch)
            for digest in digests:
                prefix.update(digest)
            if len(batch) != entry["records"] or prefix.hexdigest() != entry["input"]:
                raise DataError(
                    "input is not that of the interrupted release, or the key of its digests is another one: restore both, "
                    "as nothing else can be continued"
                )
            self._claim(batch, read)  # the run that drew them may have had no ledger
            read += len(batch)
            yield batch, entry
        for (batch, digests), draws in self.plan.drawn(batches, self._claimed(records, read)):
            for digest in digests:
                prefix.update(digest)
            entry = {"records": len(batch), "input": prefix.hexdigest(), **draws}
            self.journal.append(entry, durable=self.publication.streaming)
            if self.publication.streaming:
                self.show()
            yield batch, entry

    def _claimed(self, records: Iterator[Record], read: int) -> Iterator[tuple[list[Record], list[bytes]]]:
        """Yield claimed batches of records with their digests; ``read`` records precede them."""
        for batch in self._parts(records):
            self._claim(batch, read)  # the input may have grown since its records were claimed
            read += len(batch)
            yield batch, self._digests(batch)

    def _parts(self, records: Iterator[Record]) -> Iterator[list[Record]]:
        return iter(lambda: list(islice(records, self.plan.batch_size)), [])

    def _digests(self, batch: Sequence[Record]) -> list[bytes]:
        return [row_digest(self.key, record) for record in batch]

    def _claim(self, batch: Sequence[Record], before: int) -> None:
        """Claim a batch, unless this run already claimed it before it drew anything."""
        if (ledger := self._open_ledger) and self._collected.get(before) != self._fingerprint(batch):
            ledger.collect(self._subjects(batch, before))
            ledger.claim()
