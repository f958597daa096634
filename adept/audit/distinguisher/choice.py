"""Choose the inputs and the distinguishers that are likely to certify the largest epsilon.

A *statistic* is a number that is computed from a release. A *rule* guesses one of two inputs if the
statistic lies above one threshold, guesses the other input if it lies below another threshold, and
otherwise abstains. A *distinguisher* is a statistic with a rule. All of them may be chosen in any
way from earlier releases: a poor choice makes the certified bound on epsilon smaller but not less
reliable, because guesses are counted on fresh releases.

The functions below describe the releases of both inputs by two arrays (N,): ``values`` of a
statistic, and ``chance``, the probability that the first input was released. The array ``own`` is
the chance that is known, 1 for the first and 0 for the second input.
"""

import math
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from adept.audit.distinguisher.input_pairs import AnyTarget, InputPair, PairSample, Sampler
from adept.audit.distinguisher.statistics import RESOLUTION, WITHOUT_NOISE, Statistic, statistics_of
from adept.audit.stats.confidence_bounds import Floats, game_lower_bound

MAX_DISTINGUISHERS = 7  # four on the best pair, one on another pair, two on a pair with NaN or infinity
SCREENING_THRESHOLDS = 80
# Largest alpha for comparing rules: with a larger alpha, the best rule would abstain too often
THRESHOLD_ALPHA = 1e-3
SMOOTHING_THRESHOLDS = 15  # neighbours on either side over which a score is averaged
# Standard deviations by which the wrong guesses of a rare rule, and of a screened rule, are increased
RARE_SDS, PROMISING_SDS = 2.0, 4.0
ANSWERS = (1, 1, 2) * 2  # number of inputs that each of the six kinds of rules can name


@dataclass(frozen=True, kw_only=True)
class Rule:
    """A rule that guesses one input for high values of a statistic, and the other for low values.

    High values are at least ``high``, and low values are below ``low``. For all other values, the
    rule abstains.
    """

    high: float  # infinite: the rule never names this input
    low: float  # minus infinity: the rule never names this input
    flipped: bool = False  # True if high values stand for the second input

    @property
    def answers(self) -> int:
        return int(np.isfinite(self.high)) + int(np.isfinite(self.low))

    def says(self, values: Floats, side: int) -> int:
        """Count the ``values`` for which the rule guesses the input number ``side`` (0 or 1)."""
        high = (side == 0) != self.flipped
        return int((values >= self.high if high else values < self.low).sum())


SILENT = Rule(high=math.inf, low=-math.inf)


@dataclass(frozen=True, kw_only=True)
class Distinguisher:
    """A statistic of a release, and a decision rule that guesses the input from this statistic."""

    name: str
    statistic: Statistic
    rule: Rule


@dataclass(frozen=True)
class Game:
    """A pair of inputs and the distinguishers to score on it, all chosen before the scoring."""

    pair: InputPair
    distinguishers: tuple[Distinguisher, ...]


def choose(
    target: AnyTarget, samples: list[PairSample], *, finalists: int, rows: int, certifying: int, alpha: float
) -> list[Game]:
    """Return the games to play: pairs of inputs, and distinguishers that guess between them.

    The first game uses the pair that is likely to certify the largest epsilon. A second game uses
    another pair if a game with that pair could refute the claim. Further games use a pair with NaN
    or infinity if such a game could refute the claim. ``samples`` hold a few releases of each
    input. Then ``rows`` releases of each input of a promising pair are drawn, and ``certifying``
    releases of each input in a game.
    """
    sampler, rounds = Sampler(target, rows), 2 * certifying
    finite = [sample for sample in samples if sample.pair.finite] or samples
    pairs = screen(target, finite, finalists=finalists, certifying=certifying)
    candidates = _candidates(target, [sampler(pair) for pair in pairs], certifying)

    def certain(best: _Candidate) -> Distinguisher:
        return best.by(best_rule(best.values, best.own, rounds=len(best.values), **options))

    def seldom(candidates: list[_Candidate]) -> Game:
        rare = max(candidates, key=lambda tried: tried.hope)
        return Game(rare.pair, (rare.by(rare_rule(rare.values, rare.own, rounds=rounds, **rare.options)),))

    best = _best(candidates)
    options = best.options | {"alpha": min(alpha, THRESHOLD_ALPHA)}
    fitted = best.by(best_rule(best.values, chance_of_first(best.values, best.own), rounds=rounds, **options))
    of_best = [each for each in candidates if each.pair is best.pair]
    without = [each.by(Rule(high=0.5, low=-0.5)) for each in of_best if each.is_without_noise]
    games = [Game(best.pair, (certain(best), fitted, *seldom(of_best).distinguishers, *without))]
    others = [each for each in candidates if each.pair is not best.pair and each.hope > target.epsilon]
    if others and finalists > 1:
        games.append(seldom(others))
    rest = _candidates(target, [sample for sample in samples if not sample.pair.finite], certifying)
    if finite is samples or max((each.hope for each in rest), default=-math.inf) <= target.epsilon:
        return games
    again = _candidates(target, [sampler(max(rest, key=lambda each: each.hope).pair)], certifying)
    top = _best(again)
    return [*games, seldom(again), Game(top.pair, (certain(top),))]


def screen(target: AnyTarget, samples: list[PairSample], *, finalists: int, certifying: int) -> list[InputPair]:
    """Return the ``finalists`` most promising pairs, the best pair first, and one more pair.

    The last pair is chosen from the remaining pairs: on this pair, a rule with hardly any wrong
    guesses is likely to certify the largest epsilon.
    """
    rest, chosen = _candidates(target, samples, certifying), list[InputPair]()
    while rest and len(chosen) < finalists:
        chosen.append(_best(rest).pair)
        rest = [tried for tried in rest if tried.pair is not chosen[-1]]
    return [*chosen, max(rest, key=lambda tried: tried.hope).pair] if rest else chosen


@dataclass(frozen=True)
class _Candidate:
    pair: InputPair
    name: str
    statistic: Statistic
    values: Floats
    own: Floats
    score: float  # approximate bound on epsilon of the best rule
    wrong: float  # number of wrong guesses of that rule
    hope: float  # approximate bound on epsilon of a rule that is hardly ever wrong
    options: dict[str, Any]

    def by(self, rule: Rule) -> Distinguisher:
        return Distinguisher(name=self.name, statistic=self.statistic, rule=rule)

    @property
    def is_without_noise(self) -> bool:
        return self.name == WITHOUT_NOISE and bool((np.where(self.own, self.values, -self.values) >= 0.5).any())

    @cached_property
    def promise(self) -> float:
        return float(promising(self.values[None], chance_of_first(self.values, self.own), **self.options)[0][0])


def _candidates(target: AnyTarget, samples: list[PairSample], certifying: int) -> list[_Candidate]:
    """Fit each statistic to half of a pair's releases, and try the statistic on the other half."""
    options = {"gap": 1.5 * RESOLUTION * target.clip_norm, "delta": target.delta}
    candidates = []
    for sample in samples:
        half = len(sample.releases[0]) // 2
        first, second = (side[half:] for side in sample.releases)
        learn = replace(sample, releases=(sample.releases[0][:half], sample.releases[1][:half]))
        own = np.repeat([1.0, 0.0], [len(first), len(second)])
        learned, rest = list(statistics_of(target, learn)), np.concatenate([first, second])
        values = np.stack([statistic(rest) for _, statistic in learned])
        judged = promising(values, own, rounds=2 * certifying, **options)
        for (name, statistic), of_it, score, wrong, hope in zip(learned, values, *judged, strict=True):
            candidates.append(_Candidate(sample.pair, name, statistic, of_it, own, score, wrong, hope, options))
    return candidates


def _best(candidates: list[_Candidate]) -> _Candidate:
    """Return the candidate with the largest ``promise`` among those with nearly the best score.

    Both are cautious estimates of the epsilon that the best rule certifies: ``score`` is computed
    from counted guesses, and ``promise`` from a fitted logistic curve.
    """
    best = max(candidates, key=lambda tried: tried.score)
    least = best.score - 3 / math.sqrt(best.wrong + 36)  # at most 0.5 below the best score
    return max((tried for tried in candidates if tried.score >= least), key=lambda tried: tried.promise)


def best_rule(values: Floats, chance: Floats, *, rounds: int, gap: float, delta: float, alpha: float) -> Rule:
    """Return the rule that would certify the largest epsilon in a game of ``rounds`` rounds.

    The array ``chance`` says how many guesses are right and how many are wrong: it is ``own`` to
    count them, or `chance_of_first` to predict them by a fitted curve. Each threshold lies between
    two neighbouring values that differ by more than ``gap``. ``delta`` is the claimed delta, and
    ``alpha`` the largest allowed probability that the certified epsilon is too large.
    """
    tried = _try_rules(values[None], chance, gap=gap, most=400)
    if not len(tried.statistics):
        return SILENT
    weight, best = rounds / len(values), (-math.inf, 0, 0)
    for kind, answers in enumerate(ANSWERS):
        part = slice(kind * tried.low.shape[1], (kind + 1) * tried.low.shape[1])
        right, wrong = weight * tried.right[0, part], weight * tried.wrong[0, part]
        scores = game_lower_bound(right, wrong, rounds, delta=delta * answers / 2, alpha=alpha)
        if len(scores) < 8 * SMOOTHING_THRESHOLDS:
            place = int(np.argmax(scores))
        else:  # the best place on average over neighbours, where -50 stands for "certifies nothing"
            padded = np.pad(np.maximum(scores, -50.0), SMOOTHING_THRESHOLDS, mode="edge")
            place = int(np.argmax(np.convolve(padded, np.ones(2 * SMOOTHING_THRESHOLDS + 1), "valid")))
        best = max(best, (float(scores[place]), kind, place))
    return tried.rule(values, *best[1:])


def rare_rule(values: Floats, own: Floats, *, rounds: int, gap: float, delta: float) -> Rule:
    """Return the rule that is likely to certify the largest epsilon in a game of ``rounds`` rounds,
    if right and wrong guesses are about as frequent in the game as on the given values.
    """
    tried = _try_rules(values[None], own, gap=gap, most=SCREENING_THRESHOLDS)
    if not len(tried.statistics):
        return SILENT
    [best] = tried.quick(rounds, delta, sds=RARE_SDS)[1]
    return tried.rule(values, *divmod(int(best), tried.low.shape[1]))


def chance_of_first(values: Floats, own: Floats) -> Floats:
    """Fit a logistic function of the values to ``own``, and return its value for each release."""
    unit = (values - values.mean()) / max(float(values.std()), 1e-300)
    design = np.stack([unit, np.ones_like(unit)])
    ridge = 1e-6 * len(values) * np.eye(2)  # keeps the slope finite even if a threshold separates the inputs
    weights = np.zeros(2)
    for _ in range(12):  # Newton's method
        chance = expit(weights @ design)
        (a, b), (_, c) = (design * (chance * (1 - chance))) @ design.T + ridge
        slope, level = design @ (own - chance) - ridge @ weights
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
    rounds; it is minus infinity if ``rounds`` is 0. ``values`` (S, N) are those of S statistics.
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
    ranks = _ranks(found[some].tolist(), most)
    begin, end = (np.cumsum(found) - found)[some, None], np.cumsum(found)[some, None]
    low, high = cuts[begin + ranks] + 1, cuts[end - 1 - ranks] + 1
    below = np.pad(np.cumsum(chance[order[some]], axis=1), ((0, 0), (1, 0)))
    under, over = np.take_along_axis(below, low, axis=1), below[:, -1:] - np.take_along_axis(below, high, axis=1)
    second = low - under, total - high - over
    right, wrong = [second[0], over, second[0] + over], [under, second[1], under + second[1]]
    either = (np.concatenate(kinds, axis=1) for kinds in (right + wrong, wrong + right))
    return _Tried(total, some, low, high, *either)


def _ranks(counts: list[int], most: int) -> NDArray[np.int64]:
    """Return a row of up to ``most`` ranks below each count; short rows repeat their last rank."""
    rows = [_row_of_ranks(count, most) for count in counts]
    places = np.arange(max(map(len, rows), default=0))
    return np.array([row[np.minimum(places, len(row) - 1)] for row in rows], int).reshape(len(rows), len(places))


@cache
def _row_of_ranks(count: int, most: int) -> NDArray[np.int64]:
    return np.unique(np.geomspace(1, count, most).astype(int)) - 1
