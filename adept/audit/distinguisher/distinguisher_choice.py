"""Choose the inputs and the distinguishers that are likely to certify the largest epsilon.

A *distinguisher* guesses from a *statistic* which of two inputs a mechanism released. The statistic
is a number that is computed from the release. A poor choice makes the certified bound on epsilon
smaller but not less reliable, because distinguishers are scored on fresh releases.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from torch import Tensor

from adept.audit.distinguisher.decision_rules import (
    THRESHOLD_ALPHA,
    Rule,
    chance_of_first,
    counted_rule,
    fitted_rule,
    promising,
    rare_rule,
)
from adept.audit.distinguisher.input_pairs import AnyTarget, InputPair, PairSample, Sampler, is_finite
from adept.audit.distinguisher.value_statistics import outcome_statistics
from adept.audit.distinguisher.vector_statistics import RESOLUTION, WITHOUT_NOISE, statistics
from adept.audit.result import MechanismFailure
from adept.audit.stats.confidence_bounds import Floats
from adept.audit.subject.time_limits import Statistic

MAX_DISTINGUISHERS = 7  # four on the best pair, one on another pair, two on a pair with NaN or infinity
EXTRA_WRONG = 36  # added to the wrong guesses: `_best` takes no candidate whose score is worse by more than 0.5


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


def statistics_of(target: AnyTarget, sample: PairSample) -> Iterator[tuple[str, Statistic]]:
    """Yield names and statistics from which a rule may guess which input was released."""
    if isinstance(sample.pair.first, Tensor):
        return statistics(sample, clip_norm=target.clip_norm)
    return outcome_statistics(sample, supports=getattr(target.mechanism, "supports", None))


def choose(
    target: AnyTarget, samples: list[PairSample], *, finalists: int, rows: int, certifying: int, alpha: float
) -> list[Game]:
    """Return the games to play: pairs of inputs, and distinguishers that guess between them.

    The first game uses the pair that is likely to certify the largest epsilon. A second game uses
    another pair if a game with that pair could refute the claim. Further games use a pair with NaN
    or infinity if such a game could refute the claim.

    Args:
        samples: the screening releases, which are a few releases of each input.
        rows: number of releases to draw of each input of a promising pair after screening.
        certifying: number of releases of each input that will be drawn in each game.
    """
    sampler = Sampler(target, rows)
    finite = [sample for sample in samples if is_finite(sample.pair)] or samples
    pairs = screen(target, finite, finalists=finalists, certifying=certifying)
    candidates = _candidates(target, [sampler(pair) for pair in pairs], certifying)
    best = _best(candidates)
    options = best.options | {"alpha": min(alpha, THRESHOLD_ALPHA)}
    counted = counted_rule(best.first, best.second, **options)
    fitted = fitted_rule(best.first, best.second, rounds=2 * certifying, **options)

    def seldom(candidates: list[_Candidate]) -> Game:
        rare = max(candidates, key=lambda tried: tried.hope)
        return Game(rare.pair, (rare.by(rare_rule(rare.first, rare.second, rounds=2 * certifying, **rare.options)),))

    of_best = [each for each in candidates if each.pair is best.pair]
    without = [each.by(Rule(high=0.5, low=-0.5, flipped=False)) for each in of_best if each.is_without_noise]
    game = Game(best.pair, (best.by(counted), best.by(fitted), *seldom(of_best).distinguishers, *without))
    others = [each for each in candidates if each.pair is not best.pair and each.hope > target.epsilon]
    games = [game, seldom(others)] if others and finalists > 1 else [game]
    rest = _candidates(target, [sample for sample in samples if not is_finite(sample.pair)], certifying)
    if finite is samples or max((each.hope for each in rest), default=-math.inf) <= target.epsilon:
        return games
    hopeful = sampler(max(rest, key=lambda each: each.hope).pair)
    again = _candidates(target, [hopeful], certifying)
    top = _best(again)
    return [*games, seldom(again), Game(top.pair, (top.by(counted_rule(top.first, top.second, **options)),))]


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
    first: Floats
    second: Floats
    score: float  # approximate bound on epsilon of the best rule
    wrong: float  # number of wrong guesses of that rule
    hope: float  # approximate bound on epsilon of a rule that is hardly ever wrong
    options: dict[str, Any]

    def by(self, rule: Rule) -> Distinguisher:
        return Distinguisher(name=self.name, statistic=self.statistic, rule=rule)

    @property
    def is_without_noise(self) -> bool:
        return self.name == WITHOUT_NOISE and max(self.first.max(), -self.second.min()) >= 0.5

    @cached_property
    def promise(self) -> float:
        values = np.concatenate([self.first, self.second])
        return float(promising(values[None], chance_of_first(self.first, self.second), **self.options)[0][0])


def _candidates(target: AnyTarget, samples: list[PairSample], certifying: int) -> list[_Candidate]:
    """Fit each statistic to half of a pair's releases, and try the statistic on the other half."""
    options = {"gap": 1.5 * RESOLUTION * target.clip_norm, "delta": target.delta}
    candidates = []
    for sample in samples:
        first, second = sample.releases
        half = len(first) // 2
        learn = replace(sample, releases=(first[:half], second[:half]))
        rest = np.concatenate([first[half:], second[half:]])
        ours = len(first) - half
        own = np.repeat([1.0, 0.0], [ours, len(rest) - ours])
        learned = list(statistics_of(target, learn))
        values = np.stack([statistic(rest) for _, statistic in learned])
        judged = promising(values, own, rounds=2 * certifying, **options)
        for (name, statistic), of_it, score, wrong, hope in zip(learned, values, *judged, strict=True):
            candidates.append(
                _Candidate(sample.pair, name, statistic, of_it[:ours], of_it[ours:], score, wrong, hope, options)
            )
    return candidates


def _best(candidates: list[_Candidate]) -> _Candidate:
    """Return the candidate with the largest ``promise`` among those with nearly the best score.

    Both are cautious estimates of the epsilon that the best rule certifies: ``score`` is computed
    from counted guesses, and ``promise`` from a fitted logistic curve.
    """
    best = max(candidates, key=lambda tried: tried.score)
    least = best.score - 3 / math.sqrt(best.wrong + EXTRA_WRONG)
    return max((tried for tried in candidates if tried.score >= least), key=lambda tried: tried.promise)


def samples_of(target: AnyTarget, pairs: list[InputPair], *, rows: int) -> tuple[list[PairSample], list[str]]:
    """Return the screening releases of each pair, and reasons why releases of some pairs failed."""
    sampler, samples, failures = Sampler(target, rows), [], []
    for pair in pairs:
        try:
            samples.append(sampler(pair))
        except MechanismFailure as failure:
            failures.append(f"pair {pair.name}: {failure}")
    loud = [sample for sample in samples if not all(map(target.is_silent, sample.releases))]
    if not loud:
        raise MechanismFailure(failures[0].split(": ", 1)[1] if failures else "every release is NaN")
    return loud, failures
