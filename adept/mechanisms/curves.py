"""Curves that say how accurate a classifier is expected to be that learns from one release, and whether it is worth it.

No private record is read. A curve knows the command, its epsilon, the numbers of rows and labels, and what was
measured on public texts: classifiers of their rewrites at each epsilon of REHEARSED, with as many rows as the file
has if there are so many public texts (a *rehearsal*), or else how often the nearest label name is right. Its weights
(``policy.PLAN_CURVES``) are a linear regression of the log odds of the classifier "text" over those, fitted to releases
of cut corpora (``benchmarks/plan_curves.py``; ``docs/studies.md``, "Rows that teach more than names"). One error gives
both a range that is meant to hold eight of ten single releases, and the verdict on the mean of many, by expected score.
"""

import math
import operator
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import NormalDist, fmean
from typing import NamedTuple

from adept.mechanisms import policy

REWRITE, SYNTHESIZE = "rewrite", "synthesize"
WORTH, NOT_WORTH, TOO_CLOSE = "worth it", "not worth it", "too close to call"
REHEARSED = (4.0, 8.0, 12.0, 16.0)  # in nats
USUAL_EPSILON = 8.0  # to which other budgets are compared
MIN_TEXTS = 18  # public texts, below which what was measured on them is a guess
LEAST_SHARE = 0.01  # least accuracy, and least distance from 1, whose log odds are taken
MAX_MEASURED_LABELS, MAX_MEASURED_ROWS = 66, 150  # of the cut corpora; rows for each label


class Range(NamedTuple):
    """An expected accuracy, the range that is meant to hold eight of ten single releases, and the error of the gain."""

    low: float
    middle: float
    high: float
    error: float  # standard deviation of the mean accuracy of many releases, less the best free row

    def judge(self, floor: float) -> str:
        """Return the verdict with the best expected score beside the best free row.

        A verdict is right if the mean of many releases is above or below ``floor`` as it says, where half a right is
        lost within WORTH_MARGIN; "too close" is right only there. A wrong "worth it" counts double.
        """
        gain = NormalDist(self.middle - floor, self.error)
        below, not_above = gain.cdf(-policy.WORTH_MARGIN), gain.cdf(policy.WORTH_MARGIN)
        worth, loss = ((1 - not_above) + (1 - gain.cdf(0))) / 2, (below + gain.cdf(0)) / 2
        scores = {WORTH: 2 * worth - 1, NOT_WORTH: loss, TOO_CLOSE: not_above - below}
        return max(scores, key=lambda verdict: scores[verdict])


@dataclass(frozen=True)
class Rehearsal:
    """Accuracies of classifiers of rewrites of public texts, with so many rows of each label to learn from."""

    released: Mapping[float, float]  # by an epsilon of REHEARSED
    rows: float  # of each label
    texts: int  # on which all were measured

    def odds(self, epsilon: float | None = None) -> float:
        """Return the log odds of the accuracy at the nearest measured epsilon; None stands for the mean of all."""
        found = {known: measured_odds(share, self.texts) for known, share in self.released.items()}
        return fmean(found.values()) if epsilon is None else found[min(found, key=lambda k: abs(math.log(k / epsilon)))]


@dataclass(frozen=True)
class Known:
    """Hold what public texts say before a release.

    Args:
        labels: number L of labels, at least 2.
        names: accuracy of the nearest label name; None if it was not measured.
        rehearsal: None without public texts.
    """

    labels: int
    names: float | None = None
    rehearsal: Rehearsal | None = None

    @property
    def start(self) -> float:
        """Log odds from which a curve starts: the mean of the rehearsal or, without one, those of the nearest name."""
        names = expected_names(self.labels) if self.names is None else self.names
        return self.rehearsal.odds() if self.rehearsal else log_odds(names)


def expect_accuracy(command: str, known: Known, *, epsilon: float, rows: float) -> Range:
    """Return the accuracy that a classifier is expected to have after one release of a file with so many rows.

    ``epsilon`` is that of a record: for ``synthesize``, that of a person over the largest number of their records.
    """
    weights = policy.PLAN_CURVES[command, known.rehearsal is not None]
    features = read_features(command, known, epsilon=epsilon, rows=rows)
    middle = to_share(known.start + sum(map(operator.mul, weights, features)))
    error = expect_error(command, middle, known, rows=rows)
    return Range(
        max(0.0, middle - policy.RANGE_ERRORS * error), middle, min(1.0, middle + policy.RANGE_ERRORS * error), error
    )


def expect_error(command: str, middle: float, known: Known, *, rows: float) -> float:
    """Return the standard deviation of the mean accuracy of many releases, less the best free row, about the expected.

    The variance over that of a text has a part for the command, for judged texts, and for more rows (logarithm, squared).
    That of the free row has no part of its own: it is measured on the texts of the rehearsal, and lucky texts raise both.
    """
    if (tried := known.rehearsal) is None:
        return policy.UNMEASURED_ERROR
    more = math.log(rows / known.labels / tried.rows)
    variance = policy.CURVE_ERROR[command] + policy.TEXTS_ERROR / tried.texts + policy.MORE_ROWS_ERROR * more**2
    return math.sqrt(middle * (1 - middle) * variance)


def read_features(command: str, known: Known, *, epsilon: float, rows: float) -> tuple[float, ...]:
    """Return the numbers that a curve weighs: a constant, and logarithms of rows and of epsilon over the usual one.

    After a rehearsal, rows are over its rows; for ``rewrite``, the constant is how far its epsilon was from the mean.
    """
    each, budget = math.log(rows / known.labels), math.log(epsilon / USUAL_EPSILON)
    if (tried := known.rehearsal) is None:
        return 1.0, each, budget
    own = tried.odds(epsilon) - tried.odds() if command == REWRITE else 1.0
    return own, each - math.log(tried.rows), budget


def expected_names(labels: int) -> float:
    """Return the expected accuracy of the nearest of L label names."""
    return to_share(policy.NAMES_ALONE[0] + policy.NAMES_ALONE[1] * math.log(labels))


def log_odds(share: float) -> float:
    """Return the log odds of an accuracy, which is brought into LEAST_SHARE to 1 - LEAST_SHARE first."""
    share = min(max(share, LEAST_SHARE), 1 - LEAST_SHARE)
    return math.log(share / (1 - share))


def measured_odds(share: float, texts: int) -> float:
    """Return the log odds of an accuracy on so few texts, which cannot be told from one that differs by half a text."""
    half = 0.5 / (texts + 1)
    return log_odds(half + share * (1 - 2 * half))


def to_share(odds: float) -> float:
    """Return the accuracy with these log odds."""
    return 1 / (1 + math.exp(-odds))


def rows_needed(command: str, known: Known, *, epsilon: float, floor: float, most: int) -> int | None:
    """Return the least number of rows, to two digits, that are worth it beside a free row; None above ``most``."""
    sizes = (digits * int(10**power) for power in range(len(str(most))) for digits in range(10 if power else 1, 100))
    for rows in filter(lambda size: known.labels <= size <= most, sizes):
        if expect_accuracy(command, known, epsilon=epsilon, rows=rows).judge(floor) == WORTH:
            return rows
    return None
