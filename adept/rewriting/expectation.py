"""Estimates and warnings before a release.

An estimate compares public texts that the model has not seen with their own and with another one's
rewrite. Two texts are about the same *topic* if the same of the model's coarsest codewords is
nearest to both. Warnings (text in another language, or too long) depend on the records without any
noise: they go to standard error alone.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from statistics import fmean

import torch

from adept.data.formats import Record
from adept.data.texts import text_list
from adept.mechanisms.guarantee import words
from adept.models.codebooks import encode_public
from adept.models.reconstruction import mean_word_f1
from adept.models.tokenizer import UNKNOWN, Tokenizer
from adept.rewriting.rewriter import Rewriter

TOPIC_CODEWORDS = 32  # that tell topics apart, if the model has so few
MIN_TEXTS = 8  # of an estimate
FIRST_TEXTS = 1000  # texts of a file that are looked at for warnings
UNKNOWN_SHARE, MIN_UNKNOWN = (
    0.25,
    3,
)  # unknown words from which there is one: 0 to 15 % of one's own language are unknown
LONG_SHARE = 0.05  # share of long texts from which there is one
NUMBERS = re.compile(r"\S*\d\S*")  # numbers and codes, which belong to no language


@dataclass(frozen=True)
class Expectation:
    """Shares of a record that survive in its rewrite, and in another text's."""

    texts: int  # public texts that it was measured on
    topic: float | None  # share about the same topic after as before; None for a model without codebooks
    topic_of_others: float | None
    words: float  # mean F1
    words_of_others: float
    exact: float  # share written word for word

    @property
    def line(self) -> str:
        topic = ""
        if self.topic is not None:
            topic = f"its record's topic in {self.topic:.0%} of all cases ({self.topic_of_others:.0%} by chance) and "
        error = self.texts**-0.5  # at least two standard errors of a mean of numbers from 0 to 1
        exact = f", and is its record word for word in {self.exact:.0%} of all cases" if self.exact else ""
        return (
            f"a rewrite keeps {topic}{self.words:.0%} of its words ({self.words_of_others:.0%} by chance){exact}: "
            f"estimated on {self.texts} public texts, so good to {error:.0%}; other text may fare worse"
        )


def expected_lines(rewriter: Rewriter, public: Sequence[str] | None = None) -> list[str]:
    """Return lines on what survives of the user's public texts, or of held-out texts."""
    expected = expectation(rewriter, public)
    return [f"at epsilon {words(rewriter.guarantee.epsilon)} {expected.line}"] if expected else []


def expectation(rewriter: Rewriter, public: Sequence[str] | None = None) -> Expectation | None:
    """Return a rewriter's expectation; None for too few texts or written labels."""
    model = rewriter.model
    texts = list((model.held_out_texts if public is None else public)[: rewriter.coding.probes])
    if len(texts) < MIN_TEXTS or model.labels:
        return None
    # Any label does for a joint release: the distribution of its text does not depend on it.
    labels = [rewriter.joint.labels[0]] * len(texts) if rewriter.joint else None
    written = [text for text, _ in rewriter.rewrite_pairs(texts, labels)]
    others, pairs = [*written[1:], written[0]], zip(texts, written, strict=True)
    return Expectation(
        texts=len(texts),
        topic=_same_topic(rewriter, texts, written),
        topic_of_others=_same_topic(rewriter, texts, others),
        words=mean_word_f1(texts, written),
        words_of_others=mean_word_f1(texts, others),
        exact=fmean(record.lower().split() == rewrite.lower().split() for record, rewrite in pairs),
    )


@torch.inference_mode()
def _same_topic(rewriter: Rewriter, texts: Sequence[str], written: Sequence[str]) -> float | None:
    model = rewriter.model
    if not model.codebooks:
        return None
    coarse = model.codebooks[min(model.codebooks, key=lambda size: abs(size - TOPIC_CODEWORDS))]
    nearest = [
        (encode_public(model, rewriter.tokenizer, part).cpu() @ coarse.T).argmax(dim=1) for part in (texts, written)
    ]
    return float((nearest[0] == nearest[1]).float().mean())


def first_texts(records: Iterator[Record], column: str) -> list[str]:
    """Return the texts of the first records; errors are left to the release itself."""
    return [text for record in islice(records, FIRST_TEXTS) if isinstance(text := record.get(column), str)]


def foreign_warnings(tokenizer: Tokenizer, texts: Sequence[str], *, max_length: int) -> list[str]:
    """Return warnings about the first texts, for a model of ``max_length`` tokens."""
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
