"""Convert labels to texts, in the same way for all commands, and read public label sets.

*Claim*: the label that a release reads or writes for a record depends only on the value of the
label column in this record. *Proof*: ``label_of`` returns ``plain_text`` of this value, or raises
an error if the value has no text. The number of the record appears only in the message of the
error. QED.
"""

import os
import re
from collections.abc import Iterable, Sequence
from typing import Any

from adept.data.column_names import missing_column
from adept.data.formats import Record
from adept.data.reading import ReadingOptions, read_records
from adept.data.text_arguments import is_null, plain_text
from adept.errors import ConfigurationError, DataError

USUAL_LABEL_COLUMN = "intent"  # the label column of files, if no option names another one
FROM_FILE = "@"  # before the name of a file with a label on each line
INTEGER = re.compile(r"0|-?[1-9][0-9]{0,19}")  # how whole numbers are spelled that a column of 64 bits can hold


def label_of(record: Record, column: str, *, number: int) -> str:
    """Return the label of a record as text; raise DataError if the record has no label."""
    if column not in record and number == 1:
        raise missing_column(list(record), column, "label_column", number=number)
    value = record.get(column)
    if (label := plain_text(value)) is not None:
        return label
    if is_missing(value):  # an empty label in the output would mark the record
        raise DataError(
            f"record {number} has no label in column {column!r}: give such records one, for example none, or leave "
            "labels out"
        )
    raise DataError(
        f"column {column!r} must hold labels (text, whole numbers or booleans), got {type(value).__name__} "
        f"in record {number}: turn it into text, or leave labels out"
    )


def refuse_late_label(record: Record, *, number: int) -> None:
    """Raise DataError if a record has a label in the default column, which record 1 lacks.

    *Claim*: if no option names the label column, either each record's label is read, or no record
    has one in the column "intent", or an error is raised. *Proof*: if record 1 has the column,
    ``label_of`` is called for each record; otherwise, this function is called for each record. QED.
    """
    if not is_missing(record.get(USUAL_LABEL_COLUMN)):
        raise DataError(
            f"record {number} has a label in column {USUAL_LABEL_COLUMN!r}, which record 1 lacks: give each record a label, for "
            "example none, or leave labels out"
        )


def is_missing(value: Any) -> bool:
    """Return True if a value is null, NaN, an empty string or a blank string."""
    return is_null(value) or (isinstance(value, str) and not value.strip())


def label_set_of(labels: Iterable[Any], *, file: str | None = None) -> tuple[str, ...]:
    """Return a public label set's labels as texts; raise ConfigurationError if two are equal.

    ``file`` names the file whose lines the labels are; its blank lines are no labels.
    """
    places: dict[str, int] = {}
    if isinstance(labels, str | bytes) or not isinstance(labels, Iterable):
        raise ConfigurationError("label_set must be a list of labels, got a single one: add the others")
    for number, label in enumerate(labels, start=1):
        if file and is_missing(label):
            continue
        if (text := plain_text(label)) is None:
            kind = "an empty one" if is_missing(label) else f"a value of type {type(label).__name__}"
            raise ConfigurationError(
                f"label_set must hold names, whole numbers or booleans, got {kind} in entry {number}: correct it or leave it out"
            )
        if places.setdefault(text, number) != number:
            where = f"lines {places[text]} and {number} of {file}" if file else f"entries {places[text]} and {number}"
            raise ConfigurationError(
                f"label_set must hold labels that are all different, but {where} are both {text!r}: leave one out"
            )
    return tuple(places)


def read_label_descriptions(location: str | None) -> dict[str, tuple[str, ...]]:
    """Read public sentences that describe labels; return the sentences for each label.

    Each line of the file holds a label and one or more sentences, separated by tabs. If
    ``location`` is None, there are no sentences.
    """
    found: dict[str, tuple[str, ...]] = {}
    options = ReadingOptions(format="txt")
    for number, record in enumerate(read_records(location, options=options) if location else (), start=1):
        first, *rest = str(record["text"]).split("\t")
        label, sentences = plain_text(first), tuple(part.strip() for part in rest if part.strip())
        if label is None or not sentences:
            raise ConfigurationError(
                f"label_descriptions must hold a label, a tab and a sentence in each line, got something else in line {number} of "
                f"{location}: correct it"
            )
        found[label] = (*found.get(label, ()), *sentences)
    return found


def read_label_set(given: Sequence[str] | None) -> tuple[str, ...]:
    """Return a public label set; a single entry ``@FILE`` stands for the labels in FILE's lines."""
    labels = list(given or [])
    if len(labels) != 1 or not str(labels[0]).startswith(FROM_FILE):
        return label_set_of(labels)
    location = os.path.expanduser(str(labels[0]).removeprefix(FROM_FILE))  # noqa: PTH111 - Path raises without a home
    lines = [record["text"] for record in read_records(location, options=ReadingOptions(format="txt"))]
    if not (found := label_set_of(lines, file=location)):
        raise ConfigurationError(f"label_set must hold labels, got none in {location}: write one on each line")
    return found
