"""Figures of merit of rewritten text beside its records, whatever wrote it and whichever classifier reads it.

A new one is a column here and a field of that name in ``adept.comparison.results.Row``. A comparison that kept texts before the
column came measures them when it is run again. What a text only says about the corpus and not about its own record shows where
another record's rewrite has the same figure (``verbatim_chance``): give a new column such a partner.
"""

from collections.abc import Sequence

from adept.evaluation.metrics import BigramModel, bleu, distinct_ratio, token_overlap, verbatim

COLUMNS = ("overlap", "bleu", "distinct", "perplexity", "verbatim_own", "verbatim_chance", "verbatim_public")


def measure(
    records: Sequence[str], rewrites: Sequence[str], *, public: Sequence[str], language: BigramModel
) -> dict[str, float | None]:
    """Return every column for the first rewrite of each record; None is what does not apply.

    Args:
        records: the private texts.
        rewrites: one text for each.
        public: the rewriter's training texts.
        language: a model of the private texts.
    """
    repeated = verbatim(records, rewrites, set(public))
    return {
        "overlap": token_overlap(records, rewrites),
        "bleu": bleu(records, rewrites),
        "distinct": distinct_ratio(rewrites),
        "perplexity": language.perplexity(rewrites),
        "verbatim_own": repeated.own,
        "verbatim_chance": repeated.chance,
        "verbatim_public": repeated.public,
    }
