"""What a central release is going to be: what of a file is counted, and what is stated of it, fixed before a row is read."""

import hashlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

from adept.data.files import Record, file_format
from adept.data.formats import STANDARD_STREAM, written_format
from adept.errors import ConfigurationError
from adept.release import cluster, facts
from adept.release.central_statement import CentralStatement
from adept.release.config import CentralOptions
from adept.release.inputs import Inputs
from adept.release.journal import Entry
from adept.release.publication import Publication
from adept.synthesis.synthesizer import Synthesizer
from adept.synthesis.tally import Tally

BATCH = 4096  # records that are read, and rows that are written, together


@dataclass(frozen=True)
class Known:
    """Notes on the rows for the curator alone.

    Attributes:
        tally: the counts without noise, and notes on rows without a vote.
        mismatches: sentences on files whose first bytes do not fit the format in which they are read.
    """

    tally: Tally
    mismatches: tuple[str, ...] = ()

    @property
    def lines(self) -> list[str]:
        """Return the lines to be told, exact numbers in them."""
        notes = self.tally.notes
        parts = [
            (notes.no_text, "have no text (text_column= names its column)"),
            (notes.outside, "have a label outside label_set, or none (label_column= names its column)"),
            (notes.nobody, "name no person"),
            (notes.excess, "exceed their person's bound"),
        ]
        missing = "; ".join(f"{count} {what}" for count, what in parts if count)
        counted = f"{notes.rows} rows read, {int(self.tally.counts.sum())} counted{': ' if missing else ''}{missing}"
        return [counted, *self.mismatches]


@dataclass(frozen=True)
class Counter:
    """Turns a batch of records into votes: all that is drawn of them, by a worker too, is where each one counts."""

    synthesizer: Synthesizer
    options: CentralOptions

    def draw(self, batch: Sequence[Record]) -> Entry:
        """Return the cells of a batch; nothing random is in it."""
        texts = [record.get(self.options.text_column) for record in batch]
        labels = [record.get(self.options.label) for record in batch] if self.options.labels == "vote" else None
        return {"votes": self.synthesizer.vote(texts, labels)}

    def votes(self, parts: Iterator[list[Record]]) -> Iterator[tuple[list[Record], list[int]]]:
        """Pair batches with their votes, here or on a cluster."""
        if self.options.engine == "ray":
            drawn = cluster.draw_on_cluster(self, ((part, None) for part in parts), workers=self.options.workers)
            return ((part[0], entry["votes"]) for part, entry in drawn)
        return ((part, self.draw(part)["votes"]) for part in parts)


@dataclass(frozen=True)
class CentralPlan:
    """A release before its first record.

    Attributes:
        synthesizer: what counts, releases and writes.
        inputs: where records come from.
        options: what of them is read.
        format: of the output.
        date: the day.
    """

    synthesizer: Synthesizer
    inputs: Inputs
    options: CentralOptions
    format: str
    date: str

    @property
    def columns(self) -> list[str]:
        """The columns of the output."""
        return [self.options.text_column, *([self.options.label] if self.options.labels == "vote" else [])]

    @cached_property
    def cells_sha256(self) -> str:
        """The digest of what a cell means: codewords, and the texts that may be written."""
        cells = self.synthesizer.cells
        digest = hashlib.sha256(cells.codewords.astype("<i4").tobytes())
        for text in cells.texts:
            digest.update(text.encode("utf-8", "surrogatepass") + b"\n")
        return digest.hexdigest()

    @cached_property
    def model_sha256(self) -> str:
        """The digest of the weights."""
        return facts.model_sha256(self.synthesizer.model)

    def terms(self, publication: Publication, *, ledger: bool) -> dict[str, Any]:
        """Return what must be the same for an interrupted release to be continued: options, and nothing of a record."""
        synthesizer, votes = self.synthesizer, self.synthesizer.votes
        return {
            "output": Path(publication.target).name,  # without a directory: a run can be resumed from another one
            "input": [name if name == STANDARD_STREAM else os.path.realpath(name) for name in self.inputs.locations],
            "ledger": ledger,
            "format_written": self.format,
            "columns": self.columns,
            "rows": self.options.rows,
            "person_column": self.options.person_column,
            "epsilon": votes.epsilon,
            "neighbours": votes.neighbours,
            "votes_per_person": votes.votes_per_person,
            "label_set": list(synthesizer.labels),
            "cells": synthesizer.cells.size,
            "cells_sha256": self.cells_sha256,
            "model": facts.model_fingerprint(synthesizer.model, synthesizer.tokenizer, self.model_sha256),
            "versions": facts.drawing_versions(),
        }

    def statement(self) -> CentralStatement:
        """Return what is guaranteed, as far as it is known before anything is released."""
        synthesizer = self.synthesizer
        labels = tuple(label for label in synthesizer.labels if label is not None)
        return CentralStatement(
            votes=synthesizer.votes,
            records=self.options.rows,
            label_set=labels or None,
            persons=self.options.person_column is not None,
            text_column=self.options.text_column,
            label_column=self.options.label if labels else None,
            cells=synthesizer.cells.size,
            cells_sha256=self.cells_sha256,
            training_data=facts.origin(synthesizer.model.training_data)
            | {"packaged": facts.is_packaged(synthesizer.model, self.model_sha256)},
            model_sha256=self.model_sha256,
            model_files=synthesizer.model.files or None,
            versions=facts.versions(),
            date=self.date,
        )

    def counted(self, records: Iterator[Record]) -> Tally:
        """Count the votes of all records."""
        tally = self.synthesizer.tally()
        parts = iter(lambda: list(islice(records, BATCH)), [])
        for part, votes in Counter(self.synthesizer, self.options).votes(parts):
            persons = (
                [record.get(self.options.person_column) for record in part] if self.options.person_column else None
            )
            tally.add(votes, persons)
        return tally


def plan_central(synthesizer: Synthesizer, inputs: Inputs, target: str, options: CentralOptions) -> CentralPlan:
    """Plan a release without reading any record.

    Raises:
        DataError: the format of input or output is unknown, or a header or schema does not name a column.
        ConfigurationError: options contradict each other.
    """
    written = written_format(target, inputs.options, inputs.locations)
    for location in inputs.locations:
        file_format(location, inputs.options.format)
    check_labels(options, synthesizer.labels != (None,))
    if written == "txt" and options.labels == "vote":
        raise ConfigurationError("labels must be drop for a txt output, which holds text alone: write jsonl or csv")
    if (options.max_records_per_person or 1) != synthesizer.votes.votes_per_person:
        raise ConfigurationError(
            f"max_records_per_person must be the synthesizer's {synthesizer.votes.votes_per_person}, "
            f"got {options.max_records_per_person}"
        )
    inputs.check_columns(options.required)
    return CentralPlan(synthesizer, inputs, options, written, datetime.now(UTC).date().isoformat())


def check_labels(options: CentralOptions, given: bool) -> None:
    """Refuse votes for labels without a label set, and a label set that nothing votes for."""
    if (options.labels == "vote") != given:
        raise ConfigurationError(
            "label_set must name the public labels, or be left out with labels=drop: a set read off private data would leak"
        )
