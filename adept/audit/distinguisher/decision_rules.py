"""Decision rules, which guess from a *statistic* which of two inputs was released.

A statistic is a number that is computed from a release. A rule guesses one input if the statistic
lies above one threshold, and the other input if the statistic lies below another threshold.
Otherwise, the rule abstains. A rule may be chosen in any way from earlier releases, because its
guesses are counted on fresh releases.
"""

import math
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from adept.audit.stats.confidence_bounds import Floats, game_lower_bound

MAX_THRESHOLDS = 400
SCREENING_THRESHOLDS = 80
# Largest alpha for comparing rules: with a larger alpha, the best rule would abstain too often
THRESHOLD_ALPHA = 1e-3
SMOOTHING_THRESHOLDS = 15  # neighbours on either side over which a score is averaged
LOWEST_SCORE = -50.0  # stands for "certifies nothing" in an average
NEWTON_STEPS = 12
RARE_SDS = 2.0
PROMISING_SDS = 4.0  # standard deviations by which the wrong guesses of a screened rule are increased
RIDGE = 1e-6  # penalty on the squared slope, per value: the slope stays finite even if a threshold separates the inputs


@dataclass(frozen=True, kw_only=True)
class Rule:
    """A rule that guesses one input for high values of a statistic, and the other for low values.

    High values are at least ``high``, and low values are below ``low``. For all other values, the
    rule abstains.
    """

    high: float  # infinite: the rule never names this input
    low: float  # minus infinity: the rule never names this input
    flipped: bool  # True if high values stand for the second input

    @property
    def answers(self) -> int:
        return int(np.isfinite(self.high)) + int(np.isfinite(self.low))

    def says(self, values: Floats, side: int) -> int:
        """Count the ``values`` for which the rule guesses the input number ``side`` (0 or 1)."""
        high = (side == 0) != self.flipped
        return int((values >= self.high if high else values < self.low).sum())


ANSWERS = (1, 1, 2) * 2  # number of inputs that each of the six kinds of rules can name
SILENT = Rule(high=math.inf, low=-math.inf, flipped=False)


def counted_rule(first: Floats, second: Floats, *, gap: float, delta: float, alpha: float) -> Rule:
    """Return the rule whose guesses on the given values certify the largest epsilon.

    ``first`` and ``second`` are the values of one statistic for releases of the first and of the
    second input. Each threshold lies between two neighbouring values that differ by more than
    ``gap``. ``delta`` is the claimed delta. ``alpha`` is the largest allowed probability that the
    certified epsilon is too large.
    """
    values, own = _pooled(first, second)
    return _best_rule(values, own, rounds=len(values), gap=gap, delta=delta, alpha=alpha)


def fitted_rule(first: Floats, second: Floats, *, rounds: int, gap: float, delta: float, alpha: float) -> Rule:
    """Return the rule for which a fitted curve predicts the largest certified epsilon.

    The curve is a logistic function, fitted to the given values (`chance_of_first`). The
    curve predicts how many guesses are right and how many are wrong in a game of ``rounds`` rounds.
    All arguments except ``rounds`` have the same meaning as in `counted_rule`.
    """
    values, _ = _pooled(first, second)
    return _best_rule(values, chance_of_first(first, second), rounds=rounds, gap=gap, delta=delta, alpha=alpha)


def rare_rule(first: Floats, second: Floats, *, rounds: int, gap: float, delta: float) -> Rule:
    """Return the rule that is likely to certify the largest epsilon in a game of ``rounds`` rounds.

    The function counts each rule's right and wrong guesses on the given values, and assumes that
    they are about as frequent in the game. All arguments except ``rounds`` have the same meaning as
    in `counted_rule`.
    """
    values, own = _pooled(first, second)
    tried = _try_rules(values[None], own, gap=gap, most=SCREENING_THRESHOLDS)
    if not len(tried.statistics):
        return SILENT
    [best] = tried.quick(rounds, delta, sds=RARE_SDS)[1]
    return tried.rule(values, *divmod(int(best), tried.low.shape[1]))


def _pooled(first: Floats, second: Floats) -> tuple[Floats, Floats]:
    return np.concatenate([first, second]), np.repeat([1.0, 0.0], [len(first), len(second)])


def chance_of_first(first: Floats, second: Floats) -> Floats:
    """Estimate, for each value of a statistic, the probability that the first input was released.

    The probability is a logistic function of the value, fitted to the values in ``first`` and in
    ``second``. The result holds the probabilities for the values in ``first``, followed by the
    probabilities for the values in ``second``.
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
    return np.asarray(expit(weights @ design))


def promising(
    values: Floats, chance: Floats, *, gap: float, delta: float, rounds: int = 0
) -> tuple[Floats, Floats, Floats]:
    """Return three arrays (S,) with a score, a number of wrong guesses and a hope per statistic.

    The score is a cautious estimate of the largest epsilon that a rule on the statistic certifies,
    ``ln((p - delta) / q)``, where p and q are the probabilities of a right and of a wrong guess.
    For caution, the number of wrong guesses is first increased by `PROMISING_SDS` standard
    deviations. The returned number of wrong guesses is that of the rule with this score, before the
    increase. The hope is an estimate of the epsilon that `rare_rule` would certify in ``rounds``
    rounds; it is minus infinity if ``rounds`` is 0.

    Args:
        values: array (S, N): the values of S statistics on the same N releases.
        chance: array (N,): for each release, the probability that the first input was released.
    """
    tried = _try_rules(values, chance, gap=gap, most=SCREENING_THRESHOLDS)
    score, seen, hope = np.full(len(values), -math.inf), np.zeros(len(values)), np.full(len(values), -math.inf)
    if len(some := tried.statistics):
        score[some], best = tried.quick(values.shape[1], delta, sds=PROMISING_SDS)
        seen[some] = np.take_along_axis(tried.wrong, best[:, None], axis=1)[:, 0]
        hope[some] = tried.quick(rounds, delta, sds=RARE_SDS)[0] if rounds else -math.inf
    return score, seen, hope


@dataclass(frozen=True)
class _Tried:
    """Rules that were tried on S statistics, and the numbers of their right and wrong guesses.

    There are six kinds of rules. A rule guesses for low values only, for high values only, or for
    both. In each of these three cases, high values stand either for the first or for the second
    input.
    """

    values: int
    statistics: NDArray[np.int64]  # (S,), the indices of statistics that have thresholds
    low: NDArray[np.int64]  # (S, T), number of values below a threshold
    high: NDArray[np.int64]
    right: Floats  # (S, 6 T), number of right guesses of each rule
    wrong: Floats

    def quick(self, rounds: int, delta: float, *, sds: float) -> tuple[Floats, NDArray[np.int64]]:
        """Return two arrays (S,): the bound of each statistic's best rule, and this rule's index.

        A rule's bound is the lower bound on epsilon that the rule would certify in ``rounds``
        rounds, computed approximately. For caution, the rule's number of wrong guesses is first
        increased by ``sds`` standard deviations (with Anscombe's square-root transform).
        """
        weight, forgiven = rounds / self.values, delta * rounds * np.repeat(ANSWERS, self.low.shape[1]) / 2
        most = np.square(np.sqrt(weight * self.wrong + 0.375) + sds / 2)
        scores = np.log(np.maximum(weight * (self.right + self.wrong) - most - forgiven, 1e-9) / most)
        return scores.max(axis=1), scores.argmax(axis=1)

    def rule(self, values: Floats, kind: int, place: int) -> Rule:
        """Return the rule of the given kind (0 to 5) with the thresholds at index ``place``."""
        ordered = np.sort(values)
        low, high = (float(ordered[cut - 1] + ordered[cut]) / 2 for cut in (self.low[0, place], self.high[0, place]))
        ends = kind % 3
        return Rule(high=high if ends else math.inf, low=low if ends != 1 else -math.inf, flipped=kind >= 3)


def _try_rules(values: Floats, chance: Floats, *, gap: float, most: int) -> _Tried:
    """Count right and wrong guesses of rules; for each statistic, try up to ``most`` thresholds."""
    order = np.argsort(values, axis=1)
    statistics, cuts = np.nonzero(np.diff(np.take_along_axis(values, order, axis=1), axis=1) > gap)
    found = np.bincount(statistics, minlength=len(values))
    some, total = np.flatnonzero(found), values.shape[1]
    ranks = _stacked([_ranks(int(count), most) for count in found[some]])
    begin, end = (np.cumsum(found) - found)[some, None], np.cumsum(found)[some, None]
    low, high = cuts[begin + ranks] + 1, cuts[end - 1 - ranks] + 1
    below = np.pad(np.cumsum(chance[order[some]], axis=1), ((0, 0), (1, 0)))
    under, over = np.take_along_axis(below, low, axis=1), below[:, -1:] - np.take_along_axis(below, high, axis=1)
    second = low - under, total - high - over
    right, wrong = [second[0], over, second[0] + over], [under, second[1], under + second[1]]
    either = (np.concatenate(kinds, axis=1) for kinds in (right + wrong, wrong + right))
    return _Tried(total, some, low, high, *either)


def _stacked(ranks: list[NDArray[np.int64]]) -> NDArray[np.int64]:
    """Return a matrix whose rows are the given arrays; shorter arrays repeat their last number."""
    places = np.arange(max(map(len, ranks), default=0))
    return np.array([row[np.minimum(places, len(row) - 1)] for row in ranks], int).reshape(len(ranks), len(places))


@cache
def _ranks(count: int, most: int) -> NDArray[np.int64]:
    return np.unique(np.geomspace(1, count, most).astype(int)) - 1


def _best_rule(values: Floats, chance: Floats, *, rounds: int, gap: float, delta: float, alpha: float) -> Rule:
    tried = _try_rules(values[None], chance, gap=gap, most=MAX_THRESHOLDS)
    if not len(tried.statistics):
        return SILENT
    weight, best = rounds / len(values), (-math.inf, 0, 0)
    for kind, answers in enumerate(ANSWERS):
        part = slice(kind * tried.low.shape[1], (kind + 1) * tried.low.shape[1])
        right, wrong = weight * tried.right[0, part], weight * tried.wrong[0, part]
        scores = game_lower_bound(right, wrong, rounds, delta=delta * answers / 2, alpha=alpha)
        place = _best_on_average(scores)
        best = max(best, (float(scores[place]), kind, place))
    return tried.rule(values, *best[1:])


def _best_on_average(scores: Floats) -> int:
    if len(scores) < 8 * SMOOTHING_THRESHOLDS:
        return int(np.argmax(scores))
    padded = np.pad(np.maximum(scores, LOWEST_SCORE), SMOOTHING_THRESHOLDS, mode="edge")
    return int(np.argmax(np.convolve(padded, np.ones(2 * SMOOTHING_THRESHOLDS + 1), "valid")))
