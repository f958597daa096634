"""Curves that say how accurate a classifier is expected to be that learns from one release.

No private record is read. A curve knows the command, its epsilon, the numbers of rows and labels, and what was
measured on public texts: how often the nearest label name is right, a classifier of public examples, and
classifiers of their rewrites at each epsilon of REHEARSED (a *rehearsal*). Its weights (``policy.PLAN_CURVES``)
are a linear regression of the log odds of the classifier "text" over those of the rehearsal or, without one,
of the nearest name. They were fitted to releases of cut corpora (``benchmarks/plan_curves.py``;
``docs/studies.md``, "Rows that teach more than names"). The range around a curve is meant to hold eight of ten
single releases: it comes from the errors on corpora that the regression had not seen.
"""

import math
import operator
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from adept.mechanisms.policy import (
    CAUTION_DEVIATIONS,
    NAMES_ALONE,
    PLAN_CURVES,
    RANGE_DEVIATIONS,
    TYPICAL_NAMES_ERROR,
    UNMEASURED_DEVIATIONS,
)

REWRITE, SYNTHESIZE = "rewrite", "synthesize"
REHEARSED = (4.0, 8.0, 12.0, 16.0)  # in nats
USUAL_EPSILON = 8.0  # to which other budgets are compared
ENOUGH_TEXTS = 4  # texts of each label to learn from in a rehearsal, below which it says less
LEAST_SHARE = 0.01  # least accuracy, and least distance from 1, whose log odds are taken
MAX_MEASURED_LABELS, MAX_MEASURED_ROWS = 79, 150  # of the cut corpora; rows for each label


class Range(NamedTuple):
    """An expected accuracy, and the range that is meant to hold eight of ten single releases."""

    low: float
    middle: float
    high: float
    cautious: float  # below the middle: what a release must be worth before it is recommended


@dataclass(frozen=True)
class Rehearsal:
    """Accuracies that were measured on public texts, with so many rows of each label to learn from."""

    released: Mapping[float, float]  # of classifiers of rewrites, by an epsilon of REHEARSED
    original: float  # of a classifier of the texts themselves
    rows: float  # of each label
    texts: int  # on which all were measured

    def odds(self, epsilon: float) -> tuple[float, float]:
        """Return the log odds of the accuracies of rewrites at the nearest measured epsilon, and of the texts themselves.

        None can be told from that of an accuracy which differs by half a text.
        """
        half, near = 0.5 / (self.texts + 1), min(self.released, key=lambda known: abs(math.log(known / epsilon)))
        released, original = (half + share * (1 - 2 * half) for share in (self.released[near], self.original))
        return log_odds(released), log_odds(original)


@dataclass(frozen=True)
class Known:
    """Hold what public texts say before a release.

    Args:
        labels: number L of labels, at least 2.
        names: accuracy of the nearest label name; None if it was not measured.
        names_texts: number of texts on which ``names`` was measured; 0 if it is certain.
        rehearsal: None without public texts.
    """

    labels: int
    names: float | None = None
    names_texts: int = 0
    rehearsal: Rehearsal | None = None

    @property
    def names_odds(self) -> float:
        """Log odds of the nearest name, measured or expected."""
        return log_odds(expected_names(self.labels) if self.names is None else self.names)


class Curve(NamedTuple):
    """The weights of ``read_features``, and the deviation of single releases from the curve, in log odds.

    ``few_deviation`` is that after a rehearsal with fewer than ENOUGH_TEXTS texts of each label.
    """

    weights: tuple[float, ...]
    deviation: float
    few_deviation: float


def expect_accuracy(command: str, known: Known, *, epsilon: float, rows: float) -> Range:
    """Return the accuracy that a classifier is expected to have after one release of a file with so many rows.

    ``epsilon`` is that of a record: for ``synthesize``, that of a person over the largest number of their records.
    What ``rewrite`` is expected to reach with a smaller rehearsed epsilon, it is expected to reach with a larger one.
    """
    curve, tried = Curve(*PLAN_CURVES[command, known.rehearsal is not None]), known.rehearsal
    smaller = [own for own in tried.released if own < epsilon] if tried and command == REWRITE else []
    middle = max(_expect_odds(command, known, curve, epsilon=own, rows=rows) for own in (*smaller, epsilon))
    start = start_odds(command, known, epsilon=epsilon)
    own = curve.few_deviation if tried and tried.rows < ENOUGH_TEXTS else curve.deviation
    error = math.hypot(own, _measuring_error(known, start))
    measured = known.rehearsal or known.names_texts
    doubt = error if measured else own  # of names: the free row has it, too
    low, high = (to_share(middle + sign * RANGE_DEVIATIONS * error) for sign in (-1, 1))
    caution = CAUTION_DEVIATIONS if measured else UNMEASURED_DEVIATIONS
    return Range(low, to_share(middle), high, to_share(middle - caution * doubt))


def _expect_odds(command: str, known: Known, curve: Curve, *, epsilon: float, rows: float) -> float:
    features = read_features(command, known, epsilon=epsilon, rows=rows)
    moved: float = sum(map(operator.mul, curve.weights, features))
    return start_odds(command, known, epsilon=epsilon) + moved


def start_odds(command: str, known: Known, *, epsilon: float) -> float:
    """Return the log odds from which a curve starts: those of the rehearsal or, without one, of the nearest name.

    The rehearsal for ``synthesize``, which has other budgets, is that at USUAL_EPSILON.
    """
    if known.rehearsal is None:
        return known.names_odds
    return known.rehearsal.odds(epsilon if command == REWRITE else USUAL_EPSILON)[0]


def read_features(command: str, known: Known, *, epsilon: float, rows: float) -> tuple[float, ...]:
    """Return the numbers that a curve weighs: accuracies as log odds; rows and epsilon as logarithms.

    After a rehearsal, rows count as a multiple of its rows. For ``rewrite``, a curve also weighs how far a classifier
    of the texts themselves is ahead of one of their rewrites, and how far the nearest name is behind. With fewer rows
    than the rehearsal had, budgets keep the distances that they had there.
    """
    each, budget = math.log(rows / known.labels), math.log(epsilon / USUAL_EPSILON)
    if (tried := known.rehearsal) is None:
        return 1.0, each, budget
    more = each - math.log(tried.rows)
    if command == SYNTHESIZE:
        return 1.0, more, budget
    released, original = tried.odds(epsilon)
    ahead, behind = max(0.0, original - released), max(0.0, released - known.names_odds)
    return more, max(0.0, more) * budget, ahead, ahead * more, behind


def _measuring_error(known: Known, odds: float) -> float:
    """Return the deviation of measured log odds that comes from few public texts or from none."""
    if known.rehearsal is None and known.names is None:
        return TYPICAL_NAMES_ERROR
    texts = known.rehearsal.texts if known.rehearsal else known.names_texts
    return (math.exp(odds / 2) + math.exp(-odds / 2)) / math.sqrt(texts) if texts else 0.0  # 1 / sqrt(n p (1 - p))


def expected_names(labels: int) -> float:
    """Return the expected accuracy of the nearest of L label names."""
    start, slope = NAMES_ALONE
    return to_share(start + slope * math.log(labels))


def log_odds(share: float) -> float:
    """Return the log odds of an accuracy, which is brought into LEAST_SHARE to 1 - LEAST_SHARE first."""
    share = min(max(share, LEAST_SHARE), 1 - LEAST_SHARE)
    return math.log(share / (1 - share))


def to_share(odds: float) -> float:
    """Return the accuracy with these log odds."""
    return 1 / (1 + math.exp(-odds))


def rows_needed(command: str, known: Known, *, epsilon: float, accuracy: float, most: int) -> int | None:
    """Return the least number of rows, to two digits, that reach an accuracy with caution; None above ``most``."""
    low, high = known.labels, most

    def reached(rows: int) -> bool:
        return expect_accuracy(command, known, epsilon=epsilon, rows=rows).cautious >= accuracy

    if not reached(high):
        return None
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if reached(middle) else (middle + 1, high)
    unit: int = 10 ** max(0, len(str(low)) - 2)
    return -(-low // unit) * unit
