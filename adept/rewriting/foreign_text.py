"""Warnings for the curator about text in another language, or longer than a model can write.

The warnings depend on the records without any noise, so they go to standard error and into no statement or output. A model does
not know 0 to 15 % of the words of its own language, but 38 to 75 % of another one's: the threshold lies between them.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import islice

from adept.data.formats import Record
from adept.data.texts import text_list
from adept.models.tokenizer import UNKNOWN, Tokenizer

FIRST_TEXTS = 1000  # texts of a file that are looked at
UNKNOWN_SHARE, MIN_UNKNOWN = 0.25, 3  # share and number of unknown words from which there is a warning
LONG_SHARE = 0.05  # share of long texts from which there is a warning
NUMBERS = re.compile(r"\S*\d\S*")  # numbers and codes, which belong to no language


def first_texts(records: Iterator[Record], column: str) -> list[str]:
    """Return the texts of the first records; errors are left to the release itself."""
    return [text for record in islice(records, FIRST_TEXTS) if isinstance(text := record.get(column), str)]


def foreign_warnings(tokenizer: Tokenizer, texts: Sequence[str], *, max_length: int) -> list[str]:
    """Return warnings about the first texts, for a model that writes at most ``max_length`` tokens."""
    head, first = 1 if tokenizer.labels else 0, text_list(texts)[:FIRST_TEXTS]
    whole = tokenizer.encode(first, max_length=max_length + 1)
    rows = tokenizer.encode([NUMBERS.sub(" ", text) for text in first], max_length=max_length)
    words = sum(len(row) - head - 1 for row in rows)
    unknown = sum(row[head:].count(UNKNOWN) for row in rows)
    long = sum(len(row) - head - 1 > max_length for row in whole)
    found = []
    if unknown >= max(MIN_UNKNOWN, UNKNOWN_SHARE * words):
        found.append(
            f"the model does not know {_percent(unknown, words)} of the words, as in another language, and "
            "writes sentences of its own: make a model of public text like yours with adept adapt or adept train"
        )
    if long and long >= LONG_SHARE * len(first):
        found.append(
            f"{_percent(long, len(first))} of the texts are longer than the model can write, and are cut short: make each "
            "sentence a record, or train a model with a larger model.max_length on public text like yours"
        )
    told = f"of the first {len(first):,} records; this line depends on them, so do not pass it on"
    return [f"{line} ({told})" for line in found]


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.0f} %"
