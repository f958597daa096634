"""The release of a whole file as synthetic records, under a central guarantee: rows are counted once, with noise.

*Claim*: output, statement, standard output and exit status are epsilon-DP for adding, removing or replacing a person's
rows (``adept.mechanisms.votes``), however often a run is killed and resumed. *Proof*. (1) A run keeps only the votes
of rows, counted by ``adept.synthesis.tally``, whose proof bounds the change that a person makes. No content of a row
raises an error: a damaged row has no vote, a file may be empty, and the ledger refuses because of other releases, never
because of a row. (2) Counts are released once, and stand in the journal before anything is visible; a run that
finds them there draws nothing and reads no record. A run that was killed before has released nothing. (3) Rows,
statement and standard output are functions of the released counts and of options. QED. Notes for the curator go to
``tell`` and are no part of the release.

The file's format says what a *row* is; ``adept.data.reading`` proves that a row changes its own record alone. In a csv, a
quote that is never closed takes all that follows into its row, so let a program that knows the format write such files.
A parquet file or a compressed one is read as a whole or not at all. The names of columns in a header or schema are
public.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import chain, islice
from typing import Any

import numpy as np

from adept.data.files import Record
from adept.errors import DataError
from adept.release.central_plan import BATCH, CentralPlan, Known, plan_central
from adept.release.central_statement import CentralStatement
from adept.release.config import CentralOptions
from adept.release.inputs import Inputs
from adept.release.journal import Journal
from adept.release.ledger import Ledger
from adept.release.ledger_file import Spending
from adept.release.output import open_output
from adept.release.publication import Publication
from adept.release.publishing import Progress, Publishing, check_newest
from adept.synthesis.synthesizer import Release, Synthesizer
from adept.synthesis.tally import Tally

SAME = (
    "label_set", "labels", "epsilon", "neighbours", "unit", "max_records_per_person", "size", "codebook_sha256", "model_sha256",
)  # fmt: skip


def _begun(records: Iterator[Record]) -> Iterator[Record]:
    """Read up to the first record of a pipe, so that a header without a needed column is refused before any claim."""
    return chain(list(islice(records, 1)), records)


@dataclass(frozen=True, kw_only=True)
class CentralRun(Publishing[CentralStatement]):
    """One run of a central release.

    Attributes:
        plan: what is released, and how.
        tell: called with what the curator should know of the rows, once they are counted.
    """

    plan: CentralPlan
    tell: Callable[[Known], None]

    def drawn(self, records: Iterator[Record]) -> CentralStatement:
        """Count and release, unless that was done, and write all rows under the temporary name."""
        synthesizer, options = self.plan.synthesizer, self.plan.options
        release = self._released(records)
        rows = synthesizer.write(release, rows=options.rows)
        written = 0
        with open_output(self.publication, format=self.plan.format, columns=self.plan.columns) as output:
            while part := list(islice(rows, BATCH)):
                output.write([dict(zip(self.plan.columns, pair, strict=False)) for pair in part])
                output.flush()
                written += len(part)
        return replace(
            self.plan.statement(),
            records=written,
            output_sha256=output.sha256(),
            stands_out=synthesizer.stands_out(release),
        )

    @property
    def so_far(self) -> str:
        """What was drawn, in a sentence."""
        return "the noisy counts are drawn"

    def _released(self, records: Iterator[Record]) -> Release:
        """Return the released counts: those of the journal, or else new ones, which are in the journal by then."""
        drawn = list(self.journal.entries())
        if not drawn:
            records = _begun(records)
        self._claim()
        shape = (self.plan.synthesizer.cells.size, len(self.plan.synthesizer.labels))
        for entry in drawn:
            return Release(np.array(entry["counts"], dtype=np.int64).reshape(shape))
        release = self.plan.synthesizer.release(self._counted(records))
        self.journal.append({"records": 1, "counts": release.counts.reshape(-1).tolist()}, durable=True)
        if self.publication.streaming:
            self.show()
        return release

    def _counted(self, records: Iterator[Record]) -> Tally:
        """Count all records, and tell the curator about them."""
        tally = self.plan.counted(self._watched(records))
        self.tell(Known(tally))
        return tally

    def _claim(self) -> None:
        """Note the release in the ledger before any record is read; the ledger learns nothing about records."""
        if self.ledger:
            options = self.plan.options
            self.ledger.identity(text_column=options.text_column, person_column=options.person_column)
            spending = Spending.of_votes(
                self.plan.synthesizer.votes,
                persons=options.person_column is not None,
                model_sha256=self.plan.model_sha256,
            )
            self.ledger.begin(self.journal.run, spending, self.publication.target)
            self.ledger.claim()

    def _watched(self, records: Iterator[Record]) -> Iterator[Record]:
        """Pass records on, and say how many were read."""
        for count, record in enumerate(records, start=1):
            if self.progress and count % BATCH == 0:
                self.progress(count)
            yield record


def synthesize_file(
    synthesizer: Synthesizer,
    source: str,
    target: str,
    *,
    options: CentralOptions,
    statement_path: str | None = None,
    resume: bool = False,
    ledger: Ledger | None = None,
    progress: Progress | None = None,
    tell: Callable[[Known], None] = lambda known: None,
) -> CentralStatement:
    """Write synthetic records from ``source`` into ``target``, and the statement beside them.

    Args:
        synthesizer: counts, releases and writes; it counts as many votes of a person as the options say.
        source: a file, a pattern of files, or ``-``.
        target: a file, or ``-``.
        options: how the source is read, and how many records are written.
        statement_path: None stands for ``TARGET.privacy.json``.
        resume: continue an interrupted release, or begin one. Counts that were drawn are written without reading the input.
        ledger: the ledger in which the release is noted; if it lists other releases, it needs ``again``.
        progress: called with the number of records read; its ``last_step`` is as for ``release_file``.
        tell: called with notes for the curator, which are exact numbers and no part of the release.

    Raises:
        DataError: a file cannot be read or written, an output exists, or a run was interrupted.
        ConfigurationError: options contradict each other.
        ReleaseRefused: the ledger lists other releases.
    """
    inputs = Inputs.of(source, options)
    others = (*inputs.files, *([ledger.path] if ledger else []))
    publication = Publication.of(target, statement_path, card=False, others=others)
    complete = publication.complete if resume else None
    if complete is None:
        publication.check_free(resume=resume)
    plan = plan_central(synthesizer, inputs, target, options)
    if complete is not None:
        _check_same(plan, publication, complete)
        if not publication.journal.exists():
            publication.clear()
            return _stated(plan, complete)
    publication.make_directories()
    with Journal(publication.journal) as journal:
        run = CentralRun(publication, journal, ledger, progress, plan=plan, tell=tell)
        if complete is not None:
            run.tidy()
            return _stated(plan, complete)
        if journal.begun and not resume:
            publication.refuse_to_restart("drew the noisy counts of its records")
        if ledger:
            check_newest(journal, ledger)
        journal.begin(plan.terms(publication, ledger=ledger is not None and ledger.required))
        return run.finish(inputs.records(tolerant=True, columns=options.used_columns, required=options.required))


def preview_central(
    synthesizer: Synthesizer,
    source: str,
    target: str,
    *,
    options: CentralOptions,
    statement_path: str | None = None,
    tell: Callable[[Known], None] = lambda known: None,
) -> CentralStatement:
    """Return the statement of a release that is not made: options are checked, records counted, and nothing is drawn or written."""
    inputs = Inputs.of(source, options)
    Publication.of(target, statement_path, card=False, others=inputs.files).check_names()
    plan = plan_central(synthesizer, inputs, target, options)
    records = inputs.records(tolerant=True, columns=options.used_columns, required=options.required)
    tell(Known(plan.counted(records), mismatches=tuple(inputs.mismatches)))
    return plan.statement()


def _check_same(plan: CentralPlan, publication: Publication, described: dict[str, Any]) -> None:
    """Refuse another release than the one that is complete.

    Raises:
        DataError: naming the first difference.
    """
    asked = plan.statement().to_json()
    for name in (*SAME, *(["records"] if plan.options.rows is not None else [])):
        if asked.get(name) != described.get(name):
            raise DataError(
                f"{publication.target} is another release, complete, and is not overwritten ({name} was "
                f"{described.get(name)!r}, and is {asked.get(name)!r}): choose another name"
            )


def _stated(plan: CentralPlan, described: dict[str, Any]) -> CentralStatement:
    """The statement of a release that was complete before."""
    return replace(
        plan.statement(),
        records=described["records"],
        output_sha256=described["output_sha256"],
        stands_out=described["stands_out"],
        date=described["date"],
    )
