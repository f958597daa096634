"""From a batch of records to rows: what is drawn, which costs budget and is kept in the journal, and what is written from it.

``draw`` is the only place where a file's records meet a mechanism; ``rows`` and ``last_rows`` are post-processing of what was
drawn, beside the columns that are copied. So a journal that holds every draw can write all rows again without drawing anything.
"""

import base64
from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor

from adept.data.files import Record
from adept.data.parquet import ParquetRow
from adept.mechanisms import RandomizedResponse
from adept.mechanisms.entropy import shuffle
from adept.release.columns import ReleaseOptions
from adept.release.journal import Entry
from adept.rewriting.rewriter import Rewriter

KINDS = {"int64": torch.int64, "float32": torch.float32, "float64": torch.float64}  # of what is released
JOINT = ("joint", "joint_response")  # treatments that put the label into the release of the text


class PlainBatches:
    """Writes each record from its own release; kept columns are ``copied`` within Arrow, or written from Python."""

    def __init__(
        self, rewriter: Rewriter, label_column: str | None, options: ReleaseOptions, *, copied: bool = False
    ) -> None:
        self.rewriter, self.label_column, self.options, self.copied = rewriter, label_column, options, copied

    def draw(self, batch: Sequence[Record]) -> Entry:
        """Release a batch of records, and write ``samples`` texts a record from it."""
        return self.write(self.release(batch), self.randomised(batch))

    def release(self, batch: Sequence[Record]) -> Tensor:
        """Release the texts of a batch, with their labels where those are part of the release."""
        texts = [record[self.options.text_column] for record in batch]
        return self.rewriter.release(texts, self._labels(batch) if self.options.labels in JOINT else None)

    def randomised(self, batch: Sequence[Record]) -> list[Any] | None:
        """Release the labels of a batch where they have a budget of their own."""
        labels, response = self._labels(batch), self.options.response
        return response.privatize(labels) if labels is not None and isinstance(response, RandomizedResponse) else None

    def write(self, released: Tensor, labels: Sequence[Any] | None) -> Entry:
        """Write texts from releases, and labels where they are part of them; other labels stand beside each text."""
        pairs = self.rewriter.write(released, samples=self.options.samples)
        entry: Entry = {"texts": [text for text, _ in pairs]}
        if self.options.labels in JOINT:
            entry["labels"] = [label for _, label in pairs]
        elif labels is not None:
            entry["labels"] = _repeated(labels, self.options.samples)
        return entry

    def _labels(self, batch: Sequence[Record]) -> list[Any] | None:
        return [record.get(self.label_column) for record in batch] if self.label_column else None

    def rows(self, batch: Sequence[Record], entry: Entry) -> Iterator[Record]:
        """The output rows of a batch, from what was drawn for it."""
        labels = entry.get("labels")
        if labels is None and self.label_column:
            labels = _repeated([record[self.label_column] for record in batch], self.options.samples)
        return output_rows(entry["texts"], labels, batch, self.label_column, self.options, copied=self.copied)

    def last_rows(self) -> Iterator[list[Record]]:
        """The rows that are written when every record is released: none."""
        return iter(())


class ShuffledBatches:
    """Every record is released before any text is written; then releases are permuted, and written from in their new order alone.

    The permutation is uniform, from the operating system's entropy, and kept nowhere. Until then each record's release stays in
    memory, with the label that is copied or was randomised beside it; equal releases are kept once. A run that resumes draws
    another permutation of the same releases.
    """

    def __init__(self, batches: PlainBatches) -> None:
        self._batches = batches
        self._kept: list[tuple[bytes, Any]] = []
        self._known: dict[bytes, bytes] = {}
        self._kind = ""

    def __reduce__(self) -> tuple[Any, ...]:
        """Workers draw, and need no release of another batch."""
        return ShuffledBatches, (self._batches,)

    def draw(self, batch: Sequence[Record]) -> Entry:
        """Release a batch of records."""
        released, labels = self._batches.release(batch).cpu(), self._batches.randomised(batch)
        rows = base64.b64encode(released.contiguous().numpy().tobytes()).decode("ascii")
        entry = {"releases": rows, "kind": str(released.dtype).removeprefix("torch.")}
        return entry if labels is None else entry | {"labels": labels}

    def rows(self, batch: Sequence[Record], entry: Entry) -> Iterator[Record]:
        """Nothing yet: what was drawn is kept for the end."""
        column = self._batches.label_column if self._batches.options.labels == "copy" else None
        labels = entry.get("labels") or [record[column] if column else None for record in batch]
        rows, self._kind = base64.b64decode(entry["releases"]), entry["kind"]
        width = len(rows) // len(batch)
        releases = (rows[start : start + width] for start in range(0, len(rows), width))
        self._kept += zip((self._known.setdefault(row, row) for row in releases), labels, strict=True)
        return iter(())

    def last_rows(self) -> Iterator[list[Record]]:
        """Every record's rows, some records at a time."""
        shuffle(self._kept)
        batches, size = self._batches, self._batches.rewriter.batch_size
        for part in (self._kept[start : start + size] for start in range(0, len(self._kept), size)):
            released = torch.frombuffer(bytearray(b"".join(row for row, _ in part)), dtype=KINDS[self._kind])
            entry = batches.write(released.reshape(len(part), -1), [label for _, label in part])
            labels = entry["labels"] if batches.label_column else None
            yield list(output_rows(entry["texts"], labels, (), batches.label_column, batches.options))


Batches = PlainBatches | ShuffledBatches


def output_rows(
    texts: Sequence[str],
    labels: Sequence[Any] | None,
    records: Sequence[Record],
    label_column: str | None,
    options: ReleaseOptions,
    *,
    copied: bool = False,
) -> Iterator[Record]:
    """Yield the output rows of texts and labels, ``samples`` for each record; only its kept columns are read."""
    for i, text in enumerate(texts):
        number, sample = divmod(i, options.samples)
        record = records[number] if options.keep_columns else {}
        kept = {
            name: record.cell(name) if copied and isinstance(record, ParquetRow) else record[name]
            for name in options.keep_columns
        }
        row: Record = {options.text_column: "", **kept}
        if label_column and labels is not None:
            row[label_column] = labels[i]
        if options.samples > 1:
            row["sample"] = sample
        row[options.text_column] = text  # last, so that nothing can stand in its place
        yield row


def _repeated(values: Sequence[Any], times: int) -> list[Any]:
    return [value for value in values for _ in range(times)]
