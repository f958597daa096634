"""What a comparison says, in sentences made of its own numbers."""

import math
from statistics import mean
from typing import Any

import pandas as pd

from adept.comparison.config import PAPER, CompareConfig
from adept.comparison.results import ALTERNATIVES, PUBLIC, REDACTED
from adept.mechanisms.guarantee import words
from adept.report.sections import ABSENT
from adept.report.table import at, budgets, curves, of, reference, texts
from adept.studies.figures import NAMES

KEPT = 0.8  # a rewriter that keeps less of the accuracy without any noise is itself what holds its mechanisms back


def headline(lines: pd.DataFrame) -> str:
    """Return the point of the comparison in a sentence or two."""
    chosen = texts(lines)
    sound = [curve for curve in sound_curves(chosen) if of(curve, "clip")]
    broken = next((curve for curve in curves(chosen) if of(curve, "mechanism") == "original"), None)
    if broken is None or not sound:
        return _frame(chosen)

    def best(epsilon: float) -> pd.DataFrame:
        return max(sound, key=lambda curve: _accuracy(curve, epsilon))

    epsilon = max(budgets(chosen), key=lambda e: _accuracy(broken, e) - _accuracy(best(e), e))
    chance = reference(chosen, best(epsilon), "random")
    return (
        f"At a claimed epsilon of {epsilon:g} the original reaches an accuracy of {_accuracy(broken, epsilon):.3f} and "
        f"the best sound mechanism ({of(best(epsilon), 'title')}) {_accuracy(best(epsilon), epsilon):.3f}; text that knows "
        f"nothing of the records reaches {ABSENT if chance is None else chance.accuracy}. But the original's claim is false: what "
        f"it really spends there is epsilon {words(at(broken, epsilon).epsilon)}."
    )


def _frame(chosen: pd.DataFrame) -> str:
    """Between what a mechanism's accuracy has to lie."""
    text, chance = (mean(_means(chosen, name)) for name in ("none", "random"))
    return (
        f"The text itself reaches an accuracy of {text:.3f}, and what a decoder writes from random latents {chance:.3f}: a "
        "mechanism's merit is its distance above random."
    )


def _means(lines: pd.DataFrame, mechanism: str) -> list[float]:
    return [found.mean for found in lines[lines.mechanism == mechanism].accuracy]


def sound_curves(lines: pd.DataFrame) -> list[pd.DataFrame]:
    """The curves whose claim is true at every budget."""
    return [curve for curve in curves(lines) if not curve.false_claim.any()]


def broken_claims(lines: pd.DataFrame) -> list[str]:
    """Return a sentence for each mechanism whose claim is false, on why it is."""
    false = (curve[curve.false_claim] for curve in curves(texts(lines)))
    return [_broken(next(curve.itertuples())) for curve in false if len(curve)]


def _broken(line: Any) -> str:
    if line.mechanism == "original":
        return (
            "Why the original is broken: it adds noise as if two clipped latents were never farther apart than 2C, but in n "
            f"dimensions they can be sqrt(n) times as far. So it spends {words(line.epsilon)} where it claims "
            f"{line.claimed_epsilon:g}, and its curve belongs that much farther to the right."
        )
    name = NAMES.get(line.mechanism, line.mechanism)
    if math.isinf(line.epsilon):
        return f"{name}: no epsilon holds for it, whatever it claims."
    return f"{name} spends {words(line.epsilon)} where it claims {line.claimed_epsilon:g}."


def seen_records(config: CompareConfig) -> list[str]:
    """Return one sentence of warning where the model was trained on the very records that it rewrites."""
    if config.protocol != PAPER:
        return []
    return [
        "No guarantee of this page holds for its records: the rewriter was trained on them (protocol paper), so that what it has "
        "learned of one may stand in the text of another, whatever the mechanism, and its codec or codebook is not public."
    ]


def lost_in_rewriting(lines: pd.DataFrame) -> list[str]:
    """Return one sentence of warning where a rewriter loses much of the text without any noise."""
    chosen = texts(lines)
    [text] = _means(chosen, "none")
    identity = chosen[chosen.mechanism == "identity"]
    lost = [f"{line.accuracy} ({line.model})" for line in identity.itertuples() if line.accuracy.mean < KEPT * text]
    if not lost:
        return []
    return [
        f"The rewriter itself has lost much of the text: without any noise (identity) the accuracy is {', '.join(lost)}, that of "
        f"the text {text:.3f}, and no budget gives it back; more dimensions, other topics or longer training may."
    ]


def advice(lines: pd.DataFrame) -> str:
    """Return which sound mechanism to use, what it reaches, and whether the private records were worth it."""
    chosen = texts(lines)
    sound = sound_curves(chosen)
    if not sound:
        return "No mechanism of this comparison can be used: none has a claim that holds."
    best = max(sound, key=lambda curve: mean(_accuracy(curve, epsilon) for epsilon in budgets(chosen)))
    name, last = of(best, "title"), at(best, budgets(chosen)[-1])
    opening = f"{name}, the best here of those whose claim holds"
    if last is not None and last.above_random is not None and last.above_random.low <= 0:
        opening = f"nothing of this. Even {opening}, may be no better than random"
    return f"What to use: {opening}. Its accuracy is {_reached(best)}. {_worth(chosen, best)}".strip()


def _reached(curve: pd.DataFrame) -> str:
    """Accuracy and distance above random at the least and the largest budget."""
    parts = []
    for epsilon in sorted({budgets(curve)[0], budgets(curve)[-1]}):
        line = at(curve, epsilon)
        gain = line.above_random
        beside = f" ({abs(gain.mean):.3f} {'above' if gain.mean >= 0 else 'below'} random)" if gain else ""
        parts.append(f"{line.accuracy} at epsilon {epsilon:g}{beside}")
    return " and ".join(parts)


def alternatives(lines: pd.DataFrame) -> list[str]:
    """Return one sentence on what might be taken instead: the accuracy of each at the least and the largest budget."""
    chosen = texts(lines)
    found = [curve for curve in curves(chosen) if of(curve, "mechanism") in ALTERNATIVES]
    if not found:
        return []
    parts = [f"{of(curve, 'title')} {_reached(curve)}" for curve in found]
    redacted = _means(chosen, REDACTED)
    rules = f" Redaction by rules keeps {redacted[0]:.3f} and guarantees nothing." if redacted else ""
    return [f"What else might be taken, with the same budget for a whole record: {'; '.join(parts)}.{rules}"]


def _worth(chosen: pd.DataFrame, best: pd.DataFrame) -> str:
    """What a classifier reaches that was trained on the rewriter's public half, with true labels, beside the mechanism."""
    if not (public := _means(chosen, PUBLIC)):
        return ""
    better = [epsilon for epsilon in budgets(chosen) if _accuracy(best, epsilon) > public[0]]
    text = f"If the rewriter's public half has labels, a classifier trained on it alone reaches {public[0]:.3f}"
    if better:
        return f"{text}, which the rewrites surpass from epsilon {min(better):g} on."
    text = f"{text}, more than any rewrite here: private records do not pay then"
    last = at(best, budgets(chosen)[-1])
    if last is None or not last.break_even:
        return f"{text}."
    as_good = f"{last.break_even.replace('<', 'fewer than')} labelled public records do as well as the rewrites"
    return f"{text}, and {as_good} at epsilon {last.claimed_epsilon:g}."


def _accuracy(curve: pd.DataFrame, epsilon: float) -> float:
    line = at(curve, epsilon)
    return -math.inf if line is None else float(line.accuracy.mean)
