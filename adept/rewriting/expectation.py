"""Estimates of how much a rewrite keeps of its record, their table by epsilon, and warnings before a release.

Estimates use public texts only, by default texts that the model has not seen. Two texts have the same *topic* if the
cosine of the sentence encoder's vectors is at least TOPIC_COSINE; in another language than English, if the same
codeword of the model is nearest to both. Warnings about another language or overlong texts are computed from the
records without any noise, so they go only to standard error.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import islice
from statistics import fmean
from typing import NamedTuple

import numpy as np
import torch

from adept.data.corpus import Corpus
from adept.data.formats import Record
from adept.data.texts import text_list
from adept.mechanisms import Description, policy
from adept.mechanisms.guarantee import Guarantee, words
from adept.models.codebooks import encode_public
from adept.models.saved_model import mean_word_f1
from adept.models.sentence_encoder import reads_as_english, share_alike
from adept.models.tokenizer import UNKNOWN, Tokenizer
from adept.models.untrusted_files import packaged_directory
from adept.rewriting.alphabets import Alphabet
from adept.rewriting.cells import NO_NAME, Cells
from adept.rewriting.rewriter import Rewriter

TOPIC_CODEWORDS = 32  # that tell topics apart, if the model has so few
MIN_TEXTS, MAX_PROBES = 8, 100  # public texts that an estimate rests on
LABELLED = ("copy", "joint_response")  # treatments of labels whose rewrites teach a classifier
FIRST_TEXTS = 1000  # texts of a file that are looked at for warnings
# Unknown words from which there is a warning: of one's own language 0 to 15 % are unknown.
UNKNOWN_SHARE, MIN_UNKNOWN = 0.25, 3
LONG_SHARE = 0.05  # share of long texts from which there is one
BY_LABEL = (
    "each text is a public sentence near the name of its copied label: it keeps more of its record, but can reveal the label "
    "with certainty (label_codewords=off avoids that)"
)
NO_LABEL_SET = (
    "no estimate of what a rewrite keeps, because only the input names the labels: label_set=[A,B] or label_set=@FILE gives one, "
    "if the names are public"
)
PLAN = (
    "a classifier may learn more from label names or public examples, which are free: adept plan label_set=[A,B] expected_rows=N "
    "says what the rows are expected to add"
)
# Numbers and codes, which belong to no language; tried at the begin of a word alone, as one may have a million letters
NUMBERS = re.compile(r"(?<!\S)[^\s\d]*+\d\S*+")
TABLE_BUDGETS = (1.0, 2.0, 4.0, 8.0, 12.0, 16.0)  # in nats
TABLE_EXAMPLES = 2  # public sentences that the table shows with their rewrites
APPROVAL_EXAMPLES = 5  # such sentences on a page for approval
EXAMPLE_WORDS = range(6, 13)  # numbers of words of a sentence that is quickly read
ADVICE = (
    "for training a classifier: 4 to 8; for reading single sentences: 12 to 16, with little protection; "
    "if nobody needs rows one by one, use synthesize at 1 to 2"
)

SHARE_HEADINGS = ("topic kept (by chance)", "words kept (by chance)", "word for word")


@dataclass(frozen=True)
class Expectation:
    """Estimates, on public texts, of how much of a record's topic and words its rewrite keeps.

    Fields that end in ``of_others`` compare a record with the rewrite of another record.
    """

    texts: int  # number of public texts in the estimate
    topic: float | None  # share of rewrites about their record's topic; None in another language, without codebooks
    topic_of_others: float | None
    words: float  # mean F1
    words_of_others: float
    exact: float  # share of rewrites that equal their record

    @property
    def lines(self) -> list[str]:
        """Sentences on how much a rewrite keeps of its record, and on the estimates' errors."""
        error = self.texts**-0.5  # at least two standard errors of a mean of numbers from 0 to 1
        topic = (
            f"{self.topic:.0%} of all cases ({self.topic_of_others:.0%} by chance)" if self.topic is not None else ""
        )
        return [
            *([f"a rewrite keeps its record's topic in {topic}"] if topic else []),
            f"a rewrite keeps {self.words:.0%} of its record's words ({self.words_of_others:.0%} by chance)",
            *([f"a rewrite is its record word for word in {self.exact:.0%} of all cases"] if self.exact else []),
            f"estimated on {self.texts} public texts, so good to {error:.0%}; other text may fare worse",
        ]


def expected_lines(rewriter: Rewriter, public: Corpus | None = None, *, labelled: bool = False) -> list[str]:
    """Return sentences on what a release keeps of a text, and on what it teaches a classifier.

    Args:
        rewriter: the rewriter that will make the release.
        public: texts for the estimate; if None, texts held out from the model's training.
        labelled: if True, each rewrite has a label, which was copied or released with the text.
    """
    cells = rewriter.alphabet if isinstance(rewriter.alphabet, Cells) else None
    known = not cells or cells.public_labels or (public and public.labels)
    return [
        *([BY_LABEL] if cells else []),
        *(_estimate(rewriter, public) if known else [NO_LABEL_SET]),
        *adaptation_lines(rewriter),
        *enough_lines(rewriter),
        *(floor_lines(rewriter) if labelled else []),
    ]


def _estimate(rewriter: Rewriter, public: Corpus | None) -> list[str]:
    if (expected := expectation(rewriter, public)) is None:
        advice = "no estimate is possible: add expect=FILE public=true with a file of public texts"
        return [] if rewriter.model.labels else [advice]
    promised, lines = rewriter.guarantee, expected.lines
    epsilon = promised.claimed_epsilon if promised.holds is None else promised.epsilon
    unread = unseen_line(rewriter) if rewriter.model.is_packaged and public is None else None
    return [f"at epsilon {words(epsilon)} {lines[0]}", *lines[1:], *([unread] if unread else [])]


def adaptation_lines(writer: Rewriter) -> list[str]:
    """Return a sentence on how much the examples of an adapted model shape its rewrites, or []."""
    model = writer.model
    examples = model.training_data.examples
    if not examples or not model.sentences or not isinstance(writer.alphabet, Alphabet):
        return []
    near, possible = len(model.sentences.utterances), writer.alphabet.selection.size
    if isinstance(writer.alphabet, Cells):
        share, who = (
            1 - sum(policy.COMMON_SHARES),
            "these and the names of labels" if model.label_examples else "names of labels",
        )
        how = f"{who} choose {share:.0%} of the {possible:,} sentences that a rewrite can be"
    elif possible <= near:
        how = f"these and public texts like them are many of the {possible:,} texts that a rewrite can be"
    else:
        how = f"they count little at this epsilon, as a rewrite can be one of more than {near:,} texts"
    return [f"the model was adapted to {examples:,} examples: {how}"]


def enough_lines(writer: Rewriter) -> list[str]:
    """Return a sentence if a smaller epsilon would write the same sentences; otherwise []."""
    enough, epsilon = enough_epsilon(writer), writer.guarantee.epsilon
    if enough is None or epsilon <= enough:
        return []
    return [f"{enough} writes the same sentences as epsilon {words(epsilon)}, and protects more: add epsilon={enough}"]


def enough_epsilon(writer: Rewriter) -> int | None:
    """Return the epsilon above which sentences stay the same; None without a list, or if labels choose them."""
    mechanism = writer.mechanism
    if not isinstance(mechanism, Description) or mechanism.by_label or mechanism.heavy > 1:
        return None
    return (writer.joint or mechanism).selection.enough_epsilon


def floor_lines(writer: Rewriter) -> list[str]:
    """Return a sentence on what a classifier learns from public examples or label names alone, or []."""
    examples = sum(map(len, writer.model.label_examples.values()))
    if not examples:
        return [PLAN] if writer.model.is_packaged else []
    return [
        f"a classifier of the model's {examples} labelled examples alone can be better than one of the rewrites: "
        "adept evaluate train=[OUTPUT,EXAMPLES] test=FILE says what the rewrites add"
    ]


def choose_probes(rewriter: Rewriter, public: Corpus | None = None) -> Corpus:
    """Return public texts for an estimate; by default, texts held out from the model's training.

    They have labels only if the rewriter needs them. The result is empty with fewer than MIN_TEXTS texts, or
    if the model writes labels.
    """
    model = rewriter.model
    given = public or Corpus(model.held_out_texts)
    probes = given.take(range(min(len(given), MAX_PROBES)))
    if len(probes) < MIN_TEXTS or model.labels:
        return Corpus([])
    if rewriter.joint:  # the distribution of a released text does not depend on the label
        return Corpus(probes.texts, [rewriter.joint.labels[0]] * len(probes))
    if not isinstance(rewriter.alphabet, Cells):
        return Corpus(probes.texts)
    return probes if probes.labels else rewriter.alphabet.label_public(probes.texts)


def expectation(rewriter: Rewriter, public: Corpus | None = None) -> Expectation | None:
    """Estimate how much a rewriter keeps of a record; None if ``choose_probes`` finds no texts.

    Each text is also compared with the rewrite of another text, in a release by label with its own label.
    """
    probes = choose_probes(rewriter, public)
    if not probes.texts:
        return None
    if probes.labels:
        probes = probes.take(sorted(range(len(probes)), key=probes.labels.__getitem__))
    texts = probes.texts
    written, others = (
        [text for text, _ in rewriter.rewrite_pairs(some, probes.labels)] for some in (texts, [*texts[1:], texts[0]])
    )
    equal = (text.lower().split() == own.lower().split() for text, own in zip(texts, written, strict=True))
    return Expectation(
        texts=len(texts),
        words=mean_word_f1(texts, written),
        words_of_others=mean_word_f1(texts, others),
        exact=fmean(equal),
        topic=_same_topic(rewriter, texts, written),
        topic_of_others=_same_topic(rewriter, texts, others),
    )


@torch.inference_mode()
def _same_topic(rewriter: Rewriter, texts: Sequence[str], written: Sequence[str]) -> float | None:
    model = rewriter.model
    if reads_as_english(texts):
        return share_alike(texts, written)
    if not model.codebooks:
        return None
    coarse = model.codebooks[min(model.codebooks, key=lambda size: abs(size - TOPIC_CODEWORDS))].float()
    nearest = [
        (encode_public(model, rewriter.tokenizer, part).cpu() @ coarse.T).argmax(dim=1) for part in (texts, written)
    ]
    return float((nearest[0] == nearest[1]).float().mean())


class Survival(NamedTuple):
    """Shares of topic and words that a rewrite has in common with its record (``Expectation``)."""

    topic: float
    topic_of_others: float
    words: float
    words_of_others: float


@cache
def unseen_figures() -> dict[str, dict[float, Survival]]:
    """Return measurements on text about new subjects (``Survival``), by subject and epsilon."""
    return {
        subject: {float(epsilon): Survival(*shares) for epsilon, shares in row.items()}
        for subject, row in json.loads((packaged_directory() / "unseen.json").read_text("utf-8")).items()
    }


def unseen_line(rewriter: Rewriter) -> str | None:
    """Return a sentence on how much a rewrite keeps of records on subjects unknown to the model.

    The result is None below every measured epsilon, for pairs, and for another mechanism or way to write texts.
    """
    epsilon, figures = rewriter.guarantee.epsilon, unseen_figures()
    own = (rewriter.choice.mechanism, "nearest") == (rewriter.mechanism.name, rewriter.decoding.strategy)
    if rewriter.joint or isinstance(rewriter.alphabet, Cells) or not own or epsilon < min(map(min, figures.values())):
        return None
    topics, other_topics, kept, other_words = zip(
        *(_interpolate(row, epsilon) for row in figures.values()), strict=True
    )
    return (
        f"on {len(figures)} subjects that such a model had not read: a rewrite keeps its record's topic in {_range(topics)} of all "
        f"cases, and {_range(kept)} of its record's words (by chance up to {max(other_topics):.0%} and {max(other_words):.0%})"
    )


def _range(shares: Sequence[float]) -> str:
    return " to ".join(dict.fromkeys(f"{share:.0%}" for share in (min(shares), max(shares))))


def _interpolate(row: dict[float, Survival], epsilon: float) -> Survival:
    budgets = sorted(row)
    columns = zip(*(row[budget] for budget in budgets), strict=True)
    return Survival(*(float(np.interp(epsilon, budgets, column)) for column in columns))


def first_texts(records: Iterable[Record], column: str) -> list[str]:
    """Return the texts of the first FIRST_TEXTS records, without records that have no text."""
    return [text for record in islice(records, FIRST_TEXTS) if isinstance(text := record.get(column), str)]


def foreign_warnings(tokenizer: Tokenizer, texts: Sequence[str], *, max_length: int) -> list[str]:
    """Return warnings if many words are unknown to the model, or many texts are too long for it."""
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
    about = f"of the first {len(first):,} records; this line depends on them, so do not pass it on"
    return [f"{line} ({about})" for line in found]


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.0f} %"


@dataclass(frozen=True)
class Budget:
    """An epsilon, how much a rewrite keeps (None if there are too few public texts), and examples with their rewrites."""

    epsilon: float
    guarantee: Guarantee
    kept: Expectation | None
    examples: list[tuple[str, str]]

    @property
    def shares(self) -> list[str]:
        """One string for each column in SHARE_HEADINGS; all are empty if ``kept`` is None."""
        if (kept := self.kept) is None:
            return [""] * len(SHARE_HEADINGS)
        topic = "" if kept.topic is None else f"{kept.topic:.0%} ({kept.topic_of_others:.0%})"
        return [topic, f"{kept.words:.0%} ({kept.words_of_others:.0%})", f"{kept.exact:.0%}"]


def preview_budgets(open_rewriter: Callable[[float], Rewriter]) -> Iterator[Budget]:
    """Yield a line for each epsilon in TABLE_BUDGETS, by texts that were held out from training."""
    for epsilon in TABLE_BUDGETS:
        rewriter = open_rewriter(epsilon)
        shown = _rewrite_some(rewriter, choose_probes(rewriter), TABLE_EXAMPLES)
        yield Budget(epsilon, rewriter.guarantee, expectation(rewriter), shown)


def approval_examples(rewriter: Rewriter, public: Corpus | None = None) -> list[tuple[str, str]]:
    """Return pairs of a public sentence and its rewrite for a page for approval.

    In a release by label, each sentence has the label that ``public`` or a public description of the
    labels gives it, or else none. No label is guessed from the words of a sentence.
    """
    probes = choose_probes(rewriter, public)
    if isinstance(rewriter.alphabet, Cells) and not (public and public.labels):
        pairs = [(text, label) for label, texts in rewriter.alphabet.cells.about.items() for text in texts]
        pairs = pairs or [(text, NO_NAME) for text in probes.texts]
        probes = Corpus([text for text, _ in pairs], [label for _, label in pairs])
    return _rewrite_some(rewriter, probes, APPROVAL_EXAMPLES)


def _rewrite_some(rewriter: Rewriter, probes: Corpus, count: int) -> list[tuple[str, str]]:
    chosen = short_texts(probes.texts, count)
    labels = probes.labels and [probes.labels[probes.texts.index(text)] for text in chosen]
    written = rewriter.rewrite_pairs(chosen, labels) if chosen else []
    if labels and isinstance(rewriter.alphabet, Cells):
        chosen = [text if label == NO_NAME else f"{text} ({label})" for text, label in zip(chosen, labels, strict=True)]
    return [(text, rewrite) for text, (rewrite, _) in zip(chosen, written, strict=True)]


def short_texts(texts: Sequence[str], count: int) -> list[str]:
    """Return ``count`` short texts or, if there are not enough short ones, texts of any length."""
    short = [text for text in texts if len(text.split()) in EXAMPLE_WORDS]
    return list((short if len(short) >= count else texts)[:count])
