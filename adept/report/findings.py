"""What a comparison says, in sentences made of its own numbers."""

import math
from dataclasses import replace
from statistics import mean

from adept.comparison.results import DENOISED, Row
from adept.mechanisms.guarantee import words
from adept.report.table import (
    ABSENT,
    Source,
    above_random,
    budgets,
    false_claim,
    figure_at,
    rows_of,
    sources,
    text_rows,
)
from adept.studies.figures import NAMES


def headline(rows: list[Row]) -> str:
    """Return the point of the comparison in a sentence or two."""
    texts = text_rows(rows)
    sound = [source for source in sound_sources(texts) if source.clip]
    broken = next((source for source in sources(texts) if source.mechanism == "original"), None)
    if broken is None or not sound:
        return _frame(texts)

    def best(epsilon: float) -> Source:
        return max(sound, key=lambda source: _accuracy(texts, source, epsilon))

    epsilon = max(budgets(texts), key=lambda e: _accuracy(texts, broken, e) - _accuracy(texts, best(e), e))
    chance = figure_at(texts, "accuracy", best(epsilon).random) or ABSENT
    return (
        f"At a claimed epsilon of {epsilon:g} the original reaches an accuracy of {_accuracy(texts, broken, epsilon):.3f} and "
        f"the best sound mechanism ({best(epsilon).name}) {_accuracy(texts, best(epsilon), epsilon):.3f}; text that knows "
        f"nothing of the records reaches {chance}. But the original's claim is false: what it really spends there is epsilon "
        f"{words(rows_of(texts, broken, epsilon)[0].epsilon)}."
    )


def _frame(texts: list[Row]) -> str:
    """Between what a mechanism's accuracy has to lie."""
    chance = [row.accuracy for row in texts if row.mechanism == "random"]
    text = mean(row.accuracy for row in texts if row.mechanism == "none")
    return (
        f"The text itself reaches an accuracy of {text:.3f}, and what a decoder writes from random latents {mean(chance):.3f}: a "
        "mechanism's merit is its distance above random."
    )


def sound_sources(texts: list[Row]) -> list[Source]:
    """The sources with a budget whose claim is true."""
    found = sources(texts)
    return [source for source in found if not false_claim([row for row in texts if Source.of(row) == source])]


def broken_claims(rows: list[Row]) -> list[str]:
    """Return a sentence for each mechanism whose claim is false, on why it is."""
    texts = text_rows(rows)
    sentences = []
    for source in sources(texts):
        found = sorted(
            {
                (row.claimed_epsilon or 0.0, row.epsilon)
                for row in texts
                if Source.of(row) == source and false_claim([row])
            }
        )
        if found:
            sentences.append(_broken(source.mechanism, *found[0]))
    return sentences


def _broken(mechanism: str, claimed: float, true: float) -> str:
    if mechanism == "original":
        return (
            "Why the original is broken: it adds noise as if two clipped latents were never farther apart than 2C, but in n "
            f"dimensions they can be sqrt(n) times as far. So it spends {words(true)} where it claims {claimed:g}, and its "
            "curve belongs that much farther to the right."
        )
    if math.isinf(true):
        return f"{NAMES.get(mechanism, mechanism)}: no epsilon holds for it, whatever it claims."
    return f"{NAMES.get(mechanism, mechanism)} spends {words(true)} where it claims {claimed:g}."


def advice(rows: list[Row]) -> str:
    """Return which sound mechanism to use, what it reaches, and whether the private records were worth it."""
    texts = text_rows(rows)
    sound = sound_sources(texts)
    if not sound:
        return "No mechanism of this comparison can be used: none has a claim that holds."
    best = max(sound, key=lambda source: mean(_accuracy(texts, source, epsilon) for epsilon in budgets(texts)))
    gain = above_random(texts, best, budgets(texts)[-1])
    opening = f"What to use: {best.name}, the best here of those whose claim holds."
    if gain is not None and gain.low <= 0:
        opening = (
            f"What to use: nothing of this. Even {best.name}, the best here of those whose claim holds, may be no better than "
            "random."
        )
    together = replace(best, decoder=DENOISED)
    denoised = f" Denoised it is {_reached(rows, together)}." if rows_of(rows, together, budgets(texts)[0]) else ""
    return f"{opening} Its accuracy is {_reached(texts, best)}.{denoised} {_worth(texts, best)}".strip()


def _reached(texts: list[Row], source: Source) -> str:
    """Accuracy and distance above random at the least and the largest budget."""
    parts = []
    for epsilon in sorted({budgets(texts)[0], budgets(texts)[-1]}):
        gain = above_random(texts, source, epsilon)
        beside = f" ({abs(gain.mean):.3f} {'above' if gain.mean >= 0 else 'below'} random)" if gain else ""
        parts.append(f"{_accuracy(texts, source, epsilon):.3f} at epsilon {epsilon:g}{beside}")
    return " and ".join(parts)


def _worth(texts: list[Row], best: Source) -> str:
    """What a classifier reaches that was trained on the rewriter's public half, with true labels, beside the mechanism."""
    public = [row.accuracy for row in texts if row.mechanism == "public_only"]
    if not public:
        return ""
    better = [epsilon for epsilon in budgets(texts) if _accuracy(texts, best, epsilon) > mean(public)]
    text = f"If the rewriter's public half has labels, a classifier trained on it alone reaches {mean(public):.3f}"
    if not better:
        return f"{text}, more than any rewrite here: private records do not pay then."
    return f"{text}, which the rewrites surpass from epsilon {min(better):g} on."


def _accuracy(texts: list[Row], source: Source, epsilon: float) -> float:
    figure = figure_at(texts, "accuracy", source, epsilon)
    return figure.mean if figure else -math.inf
