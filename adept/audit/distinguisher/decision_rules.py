"""Decision rules: they guess an input from one number of a release; and two ways to choose the thresholds of a rule.

The best rule for many rounds speaks seldom: of the releases that choose it, a few dozen reach its thresholds, and hardly
one contradicts it. To count those few is luck. `counted_rule` trusts the counts alone, and finds any leak that they show.
`fitted_rule` reads the odds of the two inputs off a logistic curve through *all* values. The curve is true where the
statistic is a privacy loss up to a factor, as for Laplace and l2 noise; elsewhere it may be far off, so the auditor scores
both rules. A rule is valid whatever it was chosen by, if it is scored on other releases.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from adept.audit.stats.confidence_bounds import GameCounts, game_lower_bound

Floats = NDArray[np.float64]

MAX_THRESHOLDS = 400
SCREENING_THRESHOLDS = 80
# Bounds are compared at a strict alpha: the best rule at a lax one would speak seldom, and what it certifies would scatter.
THRESHOLD_ALPHA = 1e-3  # some thousand rules, most of them nearly the same
SMOOTHING_THRESHOLDS = 15  # on either side, over which a score is averaged
LOWEST_SCORE = -50.0  # stands for "certifies nothing" in an average
NEWTON_STEPS = 12
RARE_SDS = 2.0
PROMISING_SDS = 4.0  # standard deviations of a log ratio of counts by which a screened rule is marked down
RIDGE = 1e-6  # of the squared slope, per value: keeps it finite where the values of the inputs do not overlap


@dataclass(frozen=True, kw_only=True)
class Rule:
    """Guesses an input from a statistic: one from ``high`` on, the other below ``low``, neither in between."""

    high: float  # infinite: never said
    low: float  # minus infinity: never said
    flipped: bool  # high values speak for the second input

    @property
    def answers(self) -> int:
        return int(np.isfinite(self.high)) + int(np.isfinite(self.low))

    def says(self, values: Floats, side: int) -> int:
        """Return how often the rule says input ``side``, 0 or 1."""
        high = (side == 0) != self.flipped
        return int((values >= self.high if high else values < self.low).sum())

    def play(self, first: Floats, second: Floats) -> GameCounts:
        """Return the score on the statistic's values under both inputs: each value is a round."""
        return GameCounts(
            right=self.says(first, 0) + self.says(second, 1),
            wrong=self.says(first, 1) + self.says(second, 0),
            rounds=len(first) + len(second),
            answers=self.answers,
        )


def counted_rule(first: Floats, second: Floats, *, gap: float, delta: float, alpha: float) -> Rule:
    """Return the rule with the largest bound, at ``alpha``, on a statistic's values under two inputs."""
    values, own = _pooled(first, second)
    return _best_rule(values, own, rounds=len(values), gap=gap, delta=delta, alpha=alpha)


def fitted_rule(first: Floats, second: Floats, *, rounds: int, gap: float, delta: float, alpha: float) -> Rule:
    """Return the rule that should certify most in ``rounds`` rounds by the odds that a logistic curve gives."""
    values, _ = _pooled(first, second)
    return _best_rule(values, chance_of_first(first, second), rounds=rounds, gap=gap, delta=delta, alpha=alpha)


def rare_rule(first: Floats, second: Floats, *, rounds: int, gap: float, delta: float) -> Rule:
    """Return the rule with the best bound in ``rounds`` rounds if it errs no more often than here: an optimistic promise."""
    values, own = _pooled(first, second)
    weight, best_score, best = rounds / len(values), -math.inf, Rule(high=np.inf, low=-np.inf, flipped=False)
    for high, low, answers, flipped, right, wrong in _candidates(values, own, 1 - own, gap, SCREENING_THRESHOLDS):
        score, _, i = _quick(right, wrong, weight, delta * answers / 2 * rounds, sds=RARE_SDS)
        if score > best_score:
            best_score, best = float(score), Rule(high=float(high[i]), low=float(low[i]), flipped=flipped)
    return best


def _pooled(first: Floats, second: Floats) -> tuple[Floats, Floats]:
    return np.concatenate([first, second]), np.repeat([1.0, 0.0], [len(first), len(second)])


def chance_of_first(first: Floats, second: Floats) -> Floats:
    """Return for each value, the first input's before the second's, the chance that it is of the first.

    Logistic regression with an intercept, by Newton's method.
    """
    values, label = _pooled(first, second)
    unit = (values - values.mean()) / max(float(values.std()), 1e-300)
    design = np.stack([unit, np.ones_like(unit)])
    ridge = RIDGE * len(values) * np.eye(2)
    weights = np.zeros(2)
    for _ in range(NEWTON_STEPS):
        chance = expit(weights @ design)
        (a, b), (_, c) = (design * (chance * (1 - chance))) @ design.T + ridge
        slope, level = design @ (label - chance) - ridge @ weights
        weights = weights + np.array([c * slope - b * level, a * level - b * slope]) / (a * c - b * b)
    result: Floats = expit(weights @ design)
    return result


def promising(
    values: Floats, chance: Floats, *, gap: float, delta: float, rounds: int = 0
) -> tuple[Floats, Floats, Floats]:
    """Return about the bound of the best rule if each value is the first input's with its ``chance``, and how often it is wrong.

    ln((p - delta) / q) less `PROMISING_SDS` standard deviations of the log ratio of two counts: fast, for screening. Third comes
    the best hope of ``rounds`` rounds, with the optimism of `rare_rule`.

    Args:
        values: (S, N), of S statistics of the same N releases.
        chance: (N,).

    Returns:
        Three numbers for each statistic, (S,) each.
    """
    order = np.argsort(values, axis=1)
    statistics, cuts = np.nonzero(np.diff(np.take_along_axis(values, order, axis=1), axis=1) > gap)
    found = np.bincount(statistics, minlength=len(values))
    score, seen, hope = np.full(len(values), -math.inf), np.zeros(len(values)), np.full(len(values), -math.inf)
    some, total = np.flatnonzero(found), values.shape[1]
    if not len(some):
        return score, seen, hope
    ranks = np.stack([_padded_ranks(int(count)) for count in found[some]])
    begin = (np.cumsum(found) - found)[some, None]
    # How many lie below a threshold.
    low, high = cuts[begin + ranks] + 1, cuts[begin + found[some, None] - 1 - ranks] + 1
    below = np.pad(np.cumsum(chance[order[some]], axis=1), ((0, 0), (1, 0)))
    every = below[:, -1:]
    under, beneath = (np.take_along_axis(below, cut, axis=1) for cut in (low, high))
    first = [under, low - under]
    second = [every - beneath, total - high - (every - beneath)]
    # Six kinds of rules at once: the low end alone, the high end alone, or both; and the same the other way round.
    says = [first[0], second[0], first[0] + second[1], first[1], second[1], first[1] + second[0]]
    right, wrong = np.concatenate(says, axis=1), np.concatenate(says[3:] + says[:3], axis=1)
    answers = np.repeat([1, 1, 2] * 2, ranks.shape[1])
    score[some], seen[some], _ = _quick(right, wrong, 1.0, delta * answers / 2 * total)
    if rounds:
        hope[some] = _quick(right, wrong, rounds / total, delta * answers / 2 * rounds, sds=RARE_SDS)[0]
    return score, seen, hope


def _quick(
    right: Floats, wrong: Floats, weight: float, forgiven: float | Floats, *, sds: float = PROMISING_SDS
) -> tuple[Floats, Floats, NDArray[np.int64]]:
    """Return about the best of several bounds (of each row), how often its rule is wrong, and which it is.

    Wrong guesses are read as so many standard deviations more, after Anscombe's root.
    """
    answered, seen = (right + wrong) * weight, wrong * weight
    most = np.square(np.sqrt(seen + 0.375) + sds / 2)
    scores = np.log(np.maximum(answered - most - forgiven, 1e-9) / most)
    best = scores.argmax(axis=-1)
    at = best[..., None]
    return np.take_along_axis(scores, at, axis=-1)[..., 0], np.take_along_axis(seen, at, axis=-1)[..., 0], best


@cache
def _padded_ranks(count: int) -> NDArray[np.int64]:
    ranks = _ranks(count)
    return np.pad(ranks, (0, SCREENING_THRESHOLDS - len(ranks)), mode="edge")


@cache
def _ranks(count: int, most: int = SCREENING_THRESHOLDS) -> NDArray[np.int64]:
    return np.unique(np.geomspace(1, count, most).astype(int)) - 1


def _best_rule(values: Floats, chance: Floats, *, rounds: int, gap: float, delta: float, alpha: float) -> Rule:
    """Return the rule with the best bound in ``rounds`` rounds if each value is the first input's with its ``chance``."""
    weight, best_score, best = rounds / len(values), -math.inf, Rule(high=np.inf, low=-np.inf, flipped=False)
    for high, low, answers, flipped, right, wrong in _candidates(
        values, chance * weight, (1 - chance) * weight, gap, MAX_THRESHOLDS
    ):
        scores = game_lower_bound(right, wrong, rounds, delta=delta * answers / 2, alpha=alpha)
        i = _best_on_average(scores)
        if scores[i] > best_score:
            best_score, best = float(scores[i]), Rule(high=float(high[i]), low=float(low[i]), flipped=flipped)
    return best


def _candidates(
    values: Floats, first: Floats, second: Floats, gap: float, most: int
) -> Iterator[tuple[Floats, Floats, int, bool, Floats, Floats]]:
    """Yield thresholds (high, low), answers, direction, and how much weight each rule has right and wrong.

    Thresholds are tried by their rank from either end: one end alone, the other alone, and both ends at the same rank.
    """
    highs, lows = _thresholds(values, gap, most)
    ends = [(highs, np.full_like(lows, -np.inf)), (np.full_like(highs, np.inf), lows), (highs, lows)]
    up, down = _tails(values, first, second, highs, lows)
    none = np.zeros_like(up[0])
    for (high, low), above, below in zip(ends, (up, [none, none], up), ([none, none], down, down), strict=True):
        answers = 2 if above is up and below is down else 1
        for flipped in (False, True):
            right, wrong = above[flipped] + below[not flipped], above[not flipped] + below[flipped]
            yield high, low, answers, flipped, right, wrong


def _tails(
    values: Floats, first: Floats, second: Floats, highs: Floats, lows: Floats
) -> tuple[list[Floats], list[Floats]]:
    order = np.argsort(values)
    ordered = values[order]
    up, down = [], []
    for weight in (first[order], second[order]):
        # Either tail is summed from its own end: as a difference from the whole, a small one would lose its digits.
        above = np.concatenate([[0.0], np.cumsum(weight[::-1])])
        below = np.concatenate([[0.0], np.cumsum(weight)])
        up.append(above[len(values) - np.searchsorted(ordered, highs)])
        down.append(below[np.searchsorted(ordered, lows)])
    return up, down


def _best_on_average(scores: Floats) -> int:
    """Return the index of the best score, averaged over its neighbours unless there are few thresholds."""
    if len(scores) < 8 * SMOOTHING_THRESHOLDS:
        return int(np.argmax(scores))
    padded = np.pad(np.maximum(scores, LOWEST_SCORE), SMOOTHING_THRESHOLDS, mode="edge")
    return int(np.argmax(np.convolve(padded, np.ones(2 * SMOOTHING_THRESHOLDS + 1), "valid")))


def _thresholds(values: Floats, gap: float, most: int) -> tuple[Floats, Floats]:
    distinct = np.unique(values)
    middles = ((distinct[:-1] + distinct[1:]) / 2)[np.diff(distinct) > gap]
    if not len(middles):
        return distinct[:1], distinct[:1]
    ranks = _ranks(len(middles), most)
    return middles[::-1][ranks], middles[ranks]
