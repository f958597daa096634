"""Text that a model was not made for: another language, or texts longer than it can write, told to the curator alone.

A model writes a private sentence whatever it is given: German comes back as English, and of a long complaint one short sentence is
left. What is told here depends on the records without any noise, so that it goes to standard error and into no statement or output.

Thresholds are measured: of ATIS, SNIPS, HWU64 and forty kinds of public English questions the packaged model lacks
0 to 15 % of the words, of German 75 %, of Spanish 38 %; and none of these, mathematics apart (2 %), has a text that is too long in
a hundred.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from adept.data.files import Record
from adept.data.texts import text_list
from adept.models.tokenizer.tokenizer import UNKNOWN, Tokenizer

FIRST_TEXTS = 1000  # of a file, which say enough of it
UNKNOWN_SHARE, LEAST_UNKNOWN = 0.25, 3  # of words, from which they are worth a line; and at least so many of them
LONG_SHARE = 0.05  # of texts
NUMBERS = re.compile(r"\S*\d\S*")  # numbers and codes, which say nothing of a language


@dataclass(frozen=True)
class Foreign:
    """How far texts are from what a model was made for.

    Attributes:
        texts: that were looked at.
        words: of them, without numbers.
        unknown: words that the model neither knows nor reads as another one.
        long: texts with more words than it can write.
    """

    texts: int
    words: int
    unknown: int
    long: int

    @property
    def lines(self) -> list[str]:
        """Return what is worth telling, with what to do; nothing of most English files."""
        found = []
        if self.unknown >= max(LEAST_UNKNOWN, UNKNOWN_SHARE * self.words):
            found.append(
                f"the model does not know {_percent(self.unknown, self.words)} of the words, as of text in another language, and "
                "writes sentences of its own: adept adapt, or adept train, makes a model of public text like yours"
            )
        if self.long and self.long >= LONG_SHARE * self.texts:
            found.append(
                f"{_percent(self.long, self.texts)} of the texts are longer than the model can write, and are cut short: make each "
                "sentence a record, or train a model with a larger model.max_length on public text like yours"
            )
        told = f"of the first {self.texts:,} records; this depends on them and is not to be passed on"
        return [f"{line} ({told})" for line in found]


def first_texts(records: Iterator[Record], column: str) -> list[str]:
    """Return the texts of the first records; what is wrong with the others is said by whoever releases them."""
    return [text for record in islice(records, FIRST_TEXTS) if isinstance(text := record.get(column), str)]


def look_at(tokenizer: Tokenizer, texts: Sequence[str], *, max_length: int) -> Foreign:
    """Count what a model of texts of at most ``max_length`` tokens cannot read or write of the first texts of a file."""
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
