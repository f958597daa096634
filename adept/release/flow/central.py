"""The release of a file as synthetic records, written from noisy counts.

The *curator* is the person who holds the file and runs this program. Each row of the file *votes* for one *cell*, a
public pair of codeword and label (``adept.synthesis.votes``). Synthetic records are written from the noisy numbers of
votes for the cells. The guarantee is *central*: it requires trust in the curator.

*Claim*: output, statement, standard output and exit status are epsilon-DP for adding, removing or replacing a
person's rows (``adept.mechanisms.central_counts``), however often a run is killed and resumed. *Proof*. (1) A release
depends on the rows only through their counted votes, and the proof of ``adept.synthesis.votes`` bounds the effect of
a person on the counts. No content of a row raises an error: a damaged row has no vote, and a file may be empty. The
ledger may refuse a release because of other releases, but never because of a row. (2) A release draws the noisy
number of votes, by which the codewords are chosen, and then the noisy counts. If an option gives the number of
codewords, a release draws only the counts. Each draw is stored in the journal before the run goes on, and no error
removes a stored draw. A run that finds a draw in the journal does not repeat the draw. A draw that was lost before it
was stored had no effect that anybody can see. (3) The codewords are a function of the noisy number and of options.
The output's rows, the statement and standard output are functions of the two draws and of options. QED. Notes for the
curator are passed to the function ``tell``, and are not part of the release.

The file's format decides which bytes form a *row*. ``adept.data.reading`` proves that a row affects
only the record that is read from this row, but for the exceptions in its ``READING_EXCEPTIONS``,
which the statement lists. So write csv files with a program that closes all quotes, and convert a
JSON array to jsonl. The names of columns in a header or schema are public.
"""

import hashlib
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import chain, islice
from typing import Any

import numpy as np

from adept.data.formats import STANDARD_STREAM, Record, file_format
from adept.data.texts import cell_text
from adept.data.writing import written_format
from adept.errors import ConfigurationError, DataError, check_integer, refuse
from adept.mechanisms.central_counts import Counts
from adept.release.flow.cluster import draw_parts
from adept.release.flow.journal import Entry, NoJournal
from adept.release.flow.publication import Publication, open_output
from adept.release.flow.steps import Plan, Progress, Run, find_files, foretell, ignore, release
from adept.release.ledger.claims import Ledger
from adept.release.options import CentralOptions
from adept.release.records import Inputs
from adept.release.statement.statement import CentralStatement, now
from adept.rewriting.expectation import APPROVAL_EXAMPLES, short_texts
from adept.synthesis.synthesizer import MAX_ROWS, Synthesizer
from adept.synthesis.votes import Tally

BATCH_ROWS = 4096  # records that are read, and rows that are written, together


def synthesize_file(
    synthesizer: Synthesizer,
    source: str,
    target: str,
    *,
    options: CentralOptions,
    resume: bool = False,
    ledger: Ledger | None = None,
    progress: Progress | None = None,
    tell: Callable[[Tally], None] = ignore,
) -> CentralStatement:
    """Write synthetic records for the file ``source`` into ``target``, with a privacy statement.

    Args:
        source, target: names of input and output, as for ``release_file``.
        options: columns and treatment of labels; ``max_records_per_person`` must be the
            synthesizer's number of votes per person.
        ledger: the ledger in which the release is listed, or None. A ledger that already lists
            other releases must have been opened with ``again=True``.
        resume, progress, tell: as for ``release``.
    """
    prepared = prepare_synthesis(synthesizer, source, target, options=options, ledger=ledger)
    return release(*prepared, CentralRun, resume=resume, ledger=ledger, progress=progress, tell=tell)


def prepare_synthesis(
    synthesizer: Synthesizer, source: str, target: str, *, options: CentralOptions, ledger: Ledger | None = None
) -> tuple[Publication, Callable[[], "CentralPlan"]]:
    """Return the files of a release and its planning function, as arguments for ``release``."""
    inputs, publication = find_files(source, target, options, ledger=ledger)
    return publication, partial(plan_central, synthesizer, inputs, publication, options)


@dataclass(frozen=True, kw_only=True)
class CentralPlan(Plan[CentralStatement]):
    """The plan of a central release; ``date`` is the day on which the release begins."""

    drawn = ("records", "size", "codebook_sha256")
    keeps_draws = True
    done = ("drew", "the noisy counts")

    writer: Synthesizer
    options: CentralOptions
    date: str

    @property
    def columns(self) -> list[str]:
        return list(filter(None, (self.options.text_column, self.options.label)))

    @cached_property
    def codebook_sha256(self) -> str:
        """SHA-256 digest of the public texts, and of the codewords if these are already chosen."""
        cells = self.writer.cells
        digest = hashlib.sha256(cells.codewords.astype("<i4").tobytes())
        for text in cells.texts:
            digest.update(text.encode("utf-8", "surrogatepass") + b"\n")
        return digest.hexdigest()

    def records(self) -> Iterator[Record]:
        options = self.options
        return self.inputs.records(tolerant=True, columns=options.used_columns, required=options.required)

    def own_terms(self) -> dict[str, Any]:
        votes = self.writer.votes
        return {
            "input": [name if name == STANDARD_STREAM else os.path.realpath(name) for name in self.inputs.locations],
            "columns": self.columns,
            "rows": self.options.rows,
            "person_column": self.options.person_column,
            "epsilon": votes.epsilon,
            "neighbours": votes.neighbours,
            "votes_per_person": votes.votes_per_person,
            "rounds": votes.rounds,
            "label_set": list(self.writer.labels),
            "cells": self.writer.cells.size,
            "cells_sha256": self.codebook_sha256,
        }

    def expected_statement(self) -> CentralStatement:
        """Return the statement; its facts about codewords are None until codewords are chosen."""
        labels = tuple(label for label in self.writer.labels if label is not None)
        chosen = self.writer.has_codewords
        return CentralStatement(
            **self.model_facts,
            votes=self.writer.votes,
            records=self.options.rows,
            label_set=labels or None,
            persons=self.options.person_column is not None,
            text_column=self.options.text_column,
            label_column=self.options.label,
            size=self.writer.cells.size * len(self.writer.labels) if chosen else None,
            codebook_sha256=self.codebook_sha256 if chosen else None,
            date=self.date,
        )

    def restore(self, stated: CentralStatement, described: dict[str, Any]) -> CentralStatement:
        return replace(stated, stands_out=described.get("stands_out") is True)

    def preview(self, ledger: Ledger | None = None) -> tuple[CentralStatement, Tally]:
        told = foretell(CentralRun(self, NoJournal(), b"", ledger).claim)[1] if ledger else []
        tally = self.count(self.records())
        tally.warnings = [*self.inputs.mismatches, *told]
        return self.expected_statement(), tally

    def examples(self) -> list[tuple[str, str]]:
        return [(text, "") for text in short_texts(self.writer.model.public_texts, APPROVAL_EXAMPLES)]

    def count(self, records: Iterator[Record], progress: Progress = ignore) -> Tally:
        tally, person = self.writer.tally(), self.options.person_column
        parts = ((part,) for part in iter(lambda: list(islice(records, BATCH_ROWS)), []))
        for (part,), entry in draw_parts(self.vote, parts, self.options):
            tally.add(entry["votes"], [record.get(person) for record in part] if person else None)
            progress(tally.rows)
        return tally

    def vote(self, batch: Sequence[Record]) -> Entry:
        """Return only the votes of a batch of records; a cluster's workers call this method."""
        texts = [cell_text(record.get(self.options.text_column)) for record in batch]
        labels = [record.get(self.options.label) for record in batch] if self.options.label else None
        return {"votes": self.writer.vote(texts, labels)}


@dataclass
class CentralRun(Run[CentralStatement]):
    """A run that draws the noisy counts of a file's votes, and writes rows from the counts alone."""

    plan: CentralPlan

    def draw(self) -> tuple[CentralStatement, None]:
        release = self._draw_counts()
        plan = self.plan
        rows, written = plan.writer.write(release, rows=plan.options.rows), 0
        with open_output(plan.publication, format=plan.format, columns=plan.columns) as (write, sha256):
            while part := list(islice(rows, BATCH_ROWS)):
                write([dict(zip(plan.columns, pair, strict=False)) for pair in part])
                written += len(part)
        found: dict[str, Any] = {"output_sha256": sha256(), "stands_out": plan.writer.stands_out(release)}
        return replace(plan.expected_statement(), records=written, **found), None

    def claim(self) -> None:
        """List the release in the ledger."""
        if ledger := self.enter_ledger(self.plan.expected_statement()):
            ledger.claim()

    def _draw_counts(self) -> Counts:
        stored: Entry = {}
        for entry in self.journal.entries():
            stored |= entry
        records = iter(()) if "counts" in stored else self.plan.records()
        # Reads the header of a pipe, so that a missing column is refused before the ledger makes a claim
        begun: Iterator[Record] = chain(list(islice(records, 1)), records)
        self.claim()
        if not self.plan.writer.has_codewords:
            begun = self._choose_codewords(stored.get("number"), begun)
        plan = self.plan
        if "counts" in stored:
            if stored["codebook_sha256"] != plan.codebook_sha256:
                raise DataError(
                    "the codewords are not those of the counts drawn before: continue on the machine that drew them"
                )
            return np.array(stored["counts"], dtype=np.int64).reshape(plan.writer.cells.size, -1)
        tally = plan.count(begun, self.progress)
        self.tell(tally)
        release = plan.writer.release(tally)
        counts = {"counts": release.reshape(-1).tolist(), "codebook_sha256": plan.codebook_sha256}
        self.journal.append({"records": 1, **counts}, durable=True)
        if plan.publication.streaming:
            self.show()
        return release

    def _choose_codewords(self, number: int | None, records: Iterator[Record]) -> Iterator[Record]:
        """Give the plan its codewords, by a stored or a new noisy number; return the records still to be counted."""
        plan = self.plan
        if number is None:
            # Standard input cannot be read twice, so its records stay in memory for the second round
            held = None if plan.inputs.repeatable else list(records)
            number = plan.writer.release_number(plan.count(records if held is None else iter(held)))
            self.journal.append({"records": 1, "number": number}, durable=True)
            records = plan.records() if held is None else iter(held)
        self.plan = replace(plan, writer=plan.writer.choose_codewords(number))
        return records


def plan_central(
    synthesizer: Synthesizer, inputs: Inputs, publication: Publication, options: CentralOptions
) -> CentralPlan:
    """Plan a central release without reading any record."""
    written = written_format(publication.target, inputs.options, inputs.locations)
    for location in inputs.locations:
        file_format(location, inputs.options.format)
    check_label_set(options, synthesizer.labels != (None,))
    most, given = synthesizer.votes.votes_per_person, options.max_records_per_person
    refuse(
        (
            written == "txt" and options.labels == "vote",
            "labels must be drop for a txt output, which holds text alone: write jsonl or csv",
        ),
        ((given or 1) != most, f"max_records_per_person must be the synthesizer's {most}, got {given}"),
    )
    if options.rows is not None:
        check_integer(0, MAX_ROWS, rows=options.rows)
    inputs.check_columns(options.required)
    files: dict[str, Any] = {"inputs": inputs, "publication": publication, "format": written}
    return CentralPlan(writer=synthesizer, options=options, date=now()[:10], **files)


def check_label_set(options: CentralOptions, given: bool) -> None:
    """Raise ConfigurationError if only one of ``labels=vote`` and a label set is given."""
    if (options.labels == "vote") != given:
        raise ConfigurationError(
            "label_set must name the public labels, or be left out with labels=drop: a set taken from private data would leak"
        )
