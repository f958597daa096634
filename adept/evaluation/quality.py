"""Figures of merit of rewritten text beside its records, whatever wrote it and whichever classifier reads it.

A new one is a column here and a field of that name in ``adept.comparison.results.ResultRow``. What a text only says about the
corpus and not about its own record shows where another record's rewrite has the same figure (``verbatim_chance`` and all that end
in ``_other``): give a new column such a partner.
"""

from collections.abc import Sequence

from adept.data.corpus import Corpus
from adept.evaluation.metrics import (
    BigramModel,
    TrigramModel,
    bleu,
    content_f1,
    dealt_to_others,
    distinct_ratio,
    exact,
    slots_kept,
    token_overlap,
    verbatim,
    word_f1,
)

KEPT = (
    "slots",
    "words",
    "content_words",
    "exact",
)  # of a record in its own rewrite; each has a partner for another record's
OTHER = "_other"
COLUMNS = (
    *("overlap", "bleu", "distinct", "perplexity", "verbatim_own", "verbatim_chance", "verbatim_public"),
    *(name + end for name in KEPT for end in ("", OTHER)),
    "fluency",
)


def measure(
    private: Corpus, rewrites: Sequence[str], *, trained_on: Sequence[str], other: Sequence[str]
) -> dict[str, float | None]:
    """Return every column for the first rewrite of each record; None is what does not apply.

    Args:
        private: the records.
        rewrites: one text for each.
        trained_on: the rewriter's training texts.
        other: public texts that are neither.
    """
    records, strangers, fluent = private.texts, dealt_to_others(rewrites), TrigramModel(other)
    repeated = verbatim(records, rewrites, set(trained_on))
    return {
        "overlap": token_overlap(records, rewrites),
        "bleu": bleu(records, rewrites),
        "distinct": distinct_ratio(rewrites),
        "perplexity": BigramModel(records).perplexity(rewrites),
        "verbatim_own": repeated.own,
        "verbatim_chance": repeated.chance,
        "verbatim_public": repeated.public,
        **_kept(private, rewrites),
        **{name + OTHER: value for name, value in _kept(private, strangers).items()},
        "fluency": fluent.perplexity(rewrites) / fluent.perplexity(records),
    }


def _kept(private: Corpus, texts: Sequence[str] | None) -> dict[str, float | None]:
    """What of each record stands in the text that it was given; None where it was given none."""
    if texts is None:
        return dict.fromkeys(KEPT)
    slots = None if private.slots is None else slots_kept(private.slots, texts)
    records = private.texts
    return {
        "slots": slots,
        "words": word_f1(records, texts),
        "content_words": content_f1(records, texts),
        "exact": exact(records, texts),
    }
