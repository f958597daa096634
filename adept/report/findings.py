"""The findings of a comparison, in sentences made of its own numbers."""

import math
from statistics import mean

from adept.comparison.config import PAPER, CompareConfig
from adept.comparison.plan import ALTERNATIVES, PUBLIC, REDACTED
from adept.mechanisms.guarantee import words
from adept.report.table import ComparisonTable, Curve, Line

GOOD_REWRITER = 0.8  # least share of the accuracy that a rewriter keeps without noise


def findings(table: ComparisonTable, attacked: list[str]) -> list[str]:
    """Return the comparison in a minute: its point first, then why, then what to use."""
    return [headline(table), *explain_broken_claims(table), *attacked, advice(table), *alternatives(table)]


def headline(table: ComparisonTable) -> str:
    """Return the point of the comparison in a sentence or two."""
    sound = [curve for curve in table.curves if not curve.false_claim and curve.random]
    broken = next((curve for curve in table.curves if curve.mechanism == "original"), None)
    if broken is None or not sound:
        text, level = (mean(_means(table, name)) for name in ("none", "random"))
        return (
            f"The text itself reaches an accuracy of {text:.3f}, and what a decoder writes from random latents {level:.3f}: a "
            "mechanism's merit is its distance above random."
        )
    best_at = {epsilon: max(sound, key=lambda curve: _accuracy(curve, epsilon)) for epsilon in broken.at}
    claimed = max(best_at, key=lambda epsilon: _accuracy(broken, epsilon) - _accuracy(best_at[epsilon], epsilon))
    best = best_at[claimed]
    chance = best.random.accuracy if best.random else "no accuracy that was measured"
    return (
        f"At a claimed epsilon of {claimed:g} the original reaches an accuracy of {_accuracy(broken, claimed):.3f} and "
        f"the best mechanism whose claim holds ({best.title}) {_accuracy(best, claimed):.3f}; text that knows nothing of the "
        f"records reaches {chance}. But the original's claim is false: what it really spends there is epsilon "
        f"{words(broken.at[claimed].epsilon)}."
    )


def _means(table: ComparisonTable, mechanism: str) -> list[float]:
    return [line.accuracy.mean for line in table.texts if line.mechanism == mechanism]


def explain_broken_claims(table: ComparisonTable) -> list[str]:
    """Return a sentence for each mechanism whose claim is false, on why it is."""
    false = ([line for line in curve.at.values() if line.false_claim] for curve in table.curves)
    return [_broken(lines[0]) for lines in false if lines]


def _broken(line: Line) -> str:
    claimed = f"{line.claimed_epsilon:g}"
    if line.mechanism == "original":
        return (
            "Why the original is broken: it adds noise as if two clipped latents were never farther apart than 2C, but in n "
            f"dimensions they can be sqrt(n) times as far. So it spends {words(line.epsilon)} where it claims "
            f"{claimed}, and its curve belongs that much farther to the right."
        )
    if math.isinf(line.epsilon):
        return f"{line.title}: no epsilon holds for it, whatever it claims."
    return f"{line.title} spends {words(line.epsilon)} where it claims {claimed}."


def warn_of_seen_records(config: CompareConfig) -> list[str]:
    """Return one sentence of warning where the model was trained on the very records that it rewrites."""
    if config.protocol != PAPER:
        return []
    return [
        "No guarantee of this page holds for its records: the rewriter was trained on them (protocol paper). What it learned of "
        "one record may stand in the text of another, whatever the mechanism, and its codec or codebook is not public."
    ]


def warn_of_losses(table: ComparisonTable) -> list[str]:
    """Return one sentence of warning where a rewriter loses much of the text without any noise."""
    [text] = _means(table, "none")
    identity = [line for line in table.texts if line.mechanism == "identity"]
    lost = [f"{line.accuracy} ({line.model})" for line in identity if line.accuracy.mean < GOOD_REWRITER * text]
    if not lost:
        return []
    return [
        f"The rewriter itself loses much of the text: without any noise (identity) the accuracy is {', '.join(lost)}, that of "
        f"the text {text:.3f}. No budget gives it back; more dimensions, topics or longer training may."
    ]


def advice(table: ComparisonTable) -> str:
    """Return the best mechanism of those whose claim holds, and what it reaches."""
    sound = [curve for curve in table.curves if not curve.false_claim]
    if not sound:
        return "No mechanism of this comparison can be used: none has a claim that holds."
    best = max(sound, key=lambda curve: mean(_accuracy(curve, epsilon) for epsilon in table.budgets))
    last = best.at.get(table.budgets[-1])
    opening = f"{best.title}, the best here of those whose claim holds"
    if last is not None and last.above_random is not None and last.above_random.low <= 0:
        opening = f"nothing of this. Even {opening}, may be no better than random"
    return f"What to use: {opening}. Its accuracy is {_reached(best)}. {_worth(table, best)}".strip()


def _reached(curve: Curve) -> str:
    parts = []
    for epsilon in sorted({min(curve.at), max(curve.at)}):
        line = curve.at[epsilon]
        gain = line.above_random
        beside = f" ({abs(gain.mean):.3f} {'above' if gain.mean >= 0 else 'below'} random)" if gain else ""
        parts.append(f"{line.accuracy} at epsilon {epsilon:g}{beside}")
    return " and ".join(parts)


def alternatives(table: ComparisonTable) -> list[str]:
    """Return one sentence on what might be taken instead."""
    found = [curve for curve in table.curves if curve.mechanism in ALTERNATIVES]
    if not found:
        return []
    parts = "; ".join(f"{curve.title} {_reached(curve)}" for curve in found)
    redacted = _means(table, REDACTED)
    rules = f" Redaction by rules keeps {redacted[0]:.3f} and guarantees nothing." if redacted else ""
    return [f"What else might be taken, with the same budget for a whole record: {parts}.{rules}"]


def _worth(table: ComparisonTable, best: Curve) -> str:
    """Compare the mechanism with a classifier of the rewriter's public half, with true labels."""
    if not (public := _means(table, PUBLIC)):
        return ""
    better = [epsilon for epsilon in best.at if _accuracy(best, epsilon) > public[0]]
    text = f"If the rewriter's public half has labels, a classifier trained on it alone reaches {public[0]:.3f}"
    if better:
        return f"{text}, which the rewrites surpass from epsilon {min(better):g} on."
    return f"{text}, more than any rewrite here: private records are not worth their cost then."


def _accuracy(curve: Curve, epsilon: float) -> float:
    line = curve.at.get(epsilon)
    return -math.inf if line is None else line.accuracy.mean
