"""Batches of records: the random choices for a batch, and the output rows made from the choices.

A mechanism turns a record into a random value, the *release*, from which the record's texts are
written. ``draw`` makes all random choices for a batch. The result, an *entry*, is stored in the
journal, a file with which an interrupted run can continue. ``rows`` and ``last_rows`` make output
rows from an entry. Of the records themselves, ``rows`` and ``last_rows`` read only the columns that
are copied. So if the journal holds all entries, a run can write all rows again from the entries and
the copied columns.
"""

import base64
from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor

from adept.data.formats import PlacedRecord, Record
from adept.mechanisms.random_draws import shuffle
from adept.release.flow.journal import Entry
from adept.release.records.columns import ReleaseOptions, split_response
from adept.rewriting.rewriter import Rewriter


class PlainBatches:
    """A writer of rows in the order of the input.

    Each row contains the columns of the option ``keep_columns``. If ``copied`` is True, Arrow
    copies their values; otherwise, the row holds the values as they were read.
    """

    def __init__(
        self, rewriter: Rewriter, label_column: str | None, options: ReleaseOptions, *, copied: bool = False
    ) -> None:
        self.rewriter, self.label_column, self._copied = rewriter, label_column, copied
        self.options, self._joint = options, options.labels in ("joint", "joint_response")

    def draw(self, batch: Sequence[Record]) -> Entry:
        """Release a batch of records, and write ``options.samples`` rewrites of each record."""
        return self.write(self.release(batch), self.randomise_labels(batch))

    def release(self, batch: Sequence[Record]) -> Tensor:
        """Release a batch of texts, together with their labels if the mechanism uses labels."""
        texts = [record[self.options.text_column] for record in batch]
        with_labels = self._joint or self.rewriter.reads_labels
        return self.rewriter.release(texts, self._labels(batch) if with_labels else None)

    def randomise_labels(self, batch: Sequence[Record]) -> list[Any] | None:
        """Return a batch's randomised labels, or None if the labels have no separate budget."""
        labels, (_, response) = self._labels(batch), split_response(self.options.response)
        return response.privatize(labels) if labels is not None and response else None

    def write(self, released: Tensor, labels: Sequence[Any] | None) -> Entry:
        pairs = self.rewriter.write(released, samples=self.options.samples)
        entry: Entry = {"texts": [text for text, _ in pairs]}
        if self._joint:
            entry["labels"] = [label for _, label in pairs]
        elif labels is not None:
            entry["labels"] = _repeat(labels, self.options.samples)
        return entry

    def rows(self, batch: Sequence[Record], entry: Entry) -> Iterator[Record]:
        """Yield a batch's output rows: texts of the entry, and copied columns of the records."""
        labels, options = entry.get("labels"), self.options
        if labels is None:
            labels = _repeat(self._labels(batch) or [], options.samples)
        for place, text in enumerate(entry["texts"]):
            number, sample = divmod(place, options.samples)
            row: Record = {options.text_column: "", **(self._kept(batch[number]) if options.keep_columns else {})}
            if self.label_column:
                row[self.label_column] = labels[place]
            if options.samples > 1:
                row["sample"] = sample
            row[options.text_column] = text  # last, so that nothing can stand in its place
            yield row

    def last_rows(self) -> Iterator[list[Record]]:
        """Yield no rows, because ``rows`` has already yielded all of them."""
        return iter(())

    def _labels(self, batch: Sequence[Record]) -> list[Any] | None:
        return [record.get(self.label_column) for record in batch] if self.label_column else None

    def _kept(self, record: Record) -> Record:
        if self._copied and isinstance(record, PlacedRecord):
            return {name: record.cell(name) for name in self.options.keep_columns}
        return {name: record[name] for name in self.options.keep_columns}


class ShuffledBatches:
    """A writer of shuffled rows: it releases all records, permutes the releases, then writes texts.

    The permutation is uniform, comes from the operating system's entropy, and is not stored. Until
    the permutation, memory holds the releases of all records and, beside each release, the copied
    or randomised label of the same record.
    """

    def __init__(self, batches: PlainBatches) -> None:
        self._batches = batches
        self._kept: list[tuple[bytes, Any]] = []
        self._known: dict[bytes, bytes] = {}
        self._kind = ""

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle this object without its releases, which a worker process does not need."""
        return ShuffledBatches, (self._batches,)

    def draw(self, batch: Sequence[Record]) -> Entry:
        """Draw the releases of a batch of records; ``last_rows`` writes their texts later."""
        released, labels = self._batches.release(batch).cpu(), self._batches.randomise_labels(batch)
        rows = base64.b64encode(released.contiguous().numpy().tobytes()).decode("ascii")
        entry = {"releases": rows, "kind": str(released.dtype).removeprefix("torch.")}
        return entry if labels is None else entry | {"labels": labels}

    def rows(self, batch: Sequence[Record], entry: Entry) -> Iterator[Record]:
        """Store the releases of a batch until ``last_rows`` is called, and yield no rows."""
        column = self._batches.label_column if self._batches.options.labels == "copy" else None
        labels = entry.get("labels") or [record[column] if column else None for record in batch]
        rows, self._kind = base64.b64decode(entry["releases"]), entry["kind"]
        width = len(rows) // len(batch)
        releases = (rows[start : start + width] for start in range(0, len(rows), width))
        self._kept += zip((self._known.setdefault(row, row) for row in releases), labels, strict=True)
        return iter(())

    def last_rows(self) -> Iterator[list[Record]]:
        """Permute all stored releases, and yield the rows that are written from these releases."""
        shuffle(self._kept)
        batches, size = self._batches, self._batches.rewriter.batch_size
        for part in (self._kept[start : start + size] for start in range(0, len(self._kept), size)):
            released = torch.frombuffer(bytearray(b"".join(row for row, _ in part)), dtype=getattr(torch, self._kind))
            yield list(batches.rows((), batches.write(released.reshape(len(part), -1), [label for _, label in part])))


Batches = PlainBatches | ShuffledBatches


def _repeat(values: Sequence[Any], times: int) -> list[Any]:
    return [value for value in values for _ in range(times)]
