"""From a batch of records to rows: what is drawn, which costs budget and is kept in the journal, and what is written from it.

``draw`` is the only place where a file's records meet a mechanism; ``rows`` is post-processing of what was drawn, beside the
columns that are copied. So a journal that holds every draw can write all rows again without drawing anything.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from torch import Tensor

from adept.data.files import Record
from adept.mechanisms import RandomizedResponse
from adept.release.columns import ReleaseOptions
from adept.release.journal import Entry
from adept.rewriting.rewriter import Rewriter

JOINT = ("joint", "joint_response")  # treatments that put the label into the release of the text


class PlainBatches:
    """Each record is written from its own release."""

    def __init__(self, rewriter: Rewriter, label_column: str | None, options: ReleaseOptions) -> None:
        self.rewriter, self.label_column, self.options = rewriter, label_column, options

    def draw(self, batch: Sequence[Record]) -> Entry:
        """Release a batch of records: pairs of text and label, ``samples`` a record."""
        return self.written(batch, self.release(batch))

    def release(self, batch: Sequence[Record]) -> Tensor:
        """Release the texts of a batch, with their labels where those are part of the release."""
        texts = [record[self.options.text_column] for record in batch]
        return self.rewriter.release(texts, self._labels(batch) if self.options.labels in JOINT else None)

    def written(self, batch: Sequence[Record], released: Tensor) -> Entry:
        """Write from what was released of a batch, and release its labels where they have a budget of their own."""
        options, labels = self.options, self._labels(batch)
        pairs = self.rewriter.write(released, samples=options.samples)
        entry: Entry = {"texts": [text for text, _ in pairs]}
        if options.labels in JOINT:
            entry["labels"] = [label for _, label in pairs]
        elif labels is not None and isinstance(options.response, RandomizedResponse):
            entry["labels"] = _repeated(options.response.privatize(labels), options.samples)
        return entry

    def _labels(self, batch: Sequence[Record]) -> list[Any] | None:
        return [record.get(self.label_column) for record in batch] if self.label_column else None

    def rows(self, batch: Sequence[Record], entry: Entry) -> Iterator[Record]:
        """The output rows of a batch, from what was drawn for it."""
        labels = entry.get("labels")
        if labels is None and self.label_column:
            labels = _repeated([record[self.label_column] for record in batch], self.options.samples)
        return output_rows(entry["texts"], labels, batch, self.label_column, self.options)

    def last_rows(self) -> Iterator[Record]:
        """The rows that are written when every record is released: none."""
        return iter(())


def output_rows(
    texts: Sequence[str],
    labels: Sequence[Any] | None,
    records: Sequence[Record],
    label_column: str | None,
    options: ReleaseOptions,
) -> Iterator[Record]:
    """The output rows of texts and labels, ``samples`` for each record; of a record only its kept columns are read."""
    for i, text in enumerate(texts):
        number, sample = divmod(i, options.samples)
        row = {options.text_column: "", **{column: records[number][column] for column in options.keep_columns}}
        if label_column and labels is not None:
            row[label_column] = labels[i]
        if options.samples > 1:
            row["sample"] = sample
        row[options.text_column] = text  # last, so that nothing can stand in its place
        yield row


def _repeated(values: Sequence[Any], times: int) -> list[Any]:
    return [value for value in values for _ in range(times)]
