"""Warnings for the curator about text that a model was not made for: another language, or texts longer than it can write.

A model writes a sentence for any input: German comes back as English, and a long complaint as one short sentence. The warnings
depend on the records without any noise, so they go to standard error and into no statement or output.

The thresholds are measured. The packaged model does not know 0 to 15 % of the words of ATIS, SNIPS, HWU64 and forty kinds of public
English questions, 75 % of German ones and 38 % of Spanish ones. Of these, only mathematics (2 %) has more than one text in a
hundred that is too long.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from adept.data.formats import Record
from adept.data.texts import text_list
from adept.models.tokenizer import UNKNOWN, Tokenizer

FIRST_TEXTS = 1000  # texts of a file that are looked at
UNKNOWN_SHARE, MIN_UNKNOWN = 0.25, 3  # share and number of unknown words from which there is a warning
LONG_SHARE = 0.05  # share of long texts from which there is a warning
NUMBERS = re.compile(r"\S*\d\S*")  # numbers and codes, which belong to no language


@dataclass(frozen=True)
class Foreign:
    """Counts of words and texts that a model was not made for.

    Attributes:
        texts: number of texts that were looked at.
        words: number of their words, without numbers.
        unknown: number of words that the model neither knows nor reads as another one.
        long: number of texts with more words than the model can write.
    """

    texts: int
    words: int
    unknown: int
    long: int

    @property
    def lines(self) -> list[str]:
        """Return the warnings with advice; most English files get none."""
        found = []
        if self.unknown >= max(MIN_UNKNOWN, UNKNOWN_SHARE * self.words):
            found.append(
                f"the model does not know {_percent(self.unknown, self.words)} of the words, as in another language, and "
                "writes sentences of its own: make a model of public text like yours with adept adapt or adept train"
            )
        if self.long and self.long >= LONG_SHARE * self.texts:
            found.append(
                f"{_percent(self.long, self.texts)} of the texts are longer than the model can write, and are cut short: make each "
                "sentence a record, or train a model with a larger model.max_length on public text like yours"
            )
        told = f"of the first {self.texts:,} records; this line depends on them, so do not pass it on"
        return [f"{line} ({told})" for line in found]


def first_texts(records: Iterator[Record], column: str) -> list[str]:
    """Return the texts of the first records; errors are left to the release itself."""
    return [text for record in islice(records, FIRST_TEXTS) if isinstance(text := record.get(column), str)]


def look_at(tokenizer: Tokenizer, texts: Sequence[str], *, max_length: int) -> Foreign:
    """Count the unknown words and long texts for a model that writes at most ``max_length`` tokens."""
    head, first = 1 if tokenizer.labels else 0, text_list(texts)[:FIRST_TEXTS]
    whole = tokenizer.encode(first, max_length=max_length + 1)
    words = [
        row[head:-1] for row in tokenizer.encode([NUMBERS.sub(" ", text) for text in first], max_length=max_length)
    ]
    return Foreign(
        texts=len(first),
        words=sum(map(len, words)),
        unknown=sum(row.count(UNKNOWN) for row in words),
        long=sum(len(row) - head - 1 > max_length for row in whole),
    )


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.0f} %"
