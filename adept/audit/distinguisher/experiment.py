r"""The experiment: a fair coin picks one of two inputs, the target releases it, and a distinguisher guesses the input.

Epsilon-delta privacy bounds the probability of every event by that under every other input: P <= exp(eps) Q + delta. So each event,
and each rule that guesses the input from a release or abstains, certifies a lower bound on epsilon (`stats.bounds.GameCounts`).
Distinguishers are chosen on some releases (`distinguisher.choice`) and scored on fresh ones, at three looks: after few of them,
after more, and after all.

Claim: the largest of the bounds exceeds the true epsilon with probability at most alpha. Proof: fix all choosing releases,
and with them all distinguishers; the certifying releases are independent of them, so right and wrong rounds of any rule are
counts of fixed events, whose bound errs with probability at most its share of alpha (`game_lower_bound`). The shares of all
rules at all looks add up to alpha (union bound, whether a look is taken or not). That holds for every outcome of the choosing
releases, hence on average. Pairs, statistics, thresholds and directions cost nothing, however many were tried.
It would be false if a certifying release had been looked at before.
"""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from adept.audit.distinguisher.choice import (
    Distinguisher,
    Game,
    choose,
    choosing_rows,
    samples_of,
    screening_rows,
)
from adept.audit.distinguisher.pairs import Pair, PairSample, Sampler
from adept.audit.result import Finding, MechanismFailure
from adept.audit.stats.bounds import GameCounts, game_lower_bound
from adept.audit.subject.arguments import FEWEST_TRIALS
from adept.audit.subject.interface import Floats, Target

# Seconds that a slow mechanism may take to screen all pairs, and to choose a game: where they bind, fewer releases choose.
SCREENING_SECONDS, CHOOSING_SECONDS = 5.0, 8.0
SECONDS = 3.0  # that a slow mechanism may take at another dimension
PATIENCE = 45.0  # seconds that an audit of a refuted claim may take
LUCK = 2.0  # standard deviations of a count
LOOKS = ((0.05, 0.05), (0.25, 0.15), (1.0, 0.8))  # share of the certifying releases, share of alpha

TargetT = TypeVar("TargetT", bound=Target)
Progress = Callable[[int, int], None]


@dataclass(frozen=True, kw_only=True)
class Score:
    """What a game certified."""

    pair: Pair
    distinguisher: Distinguisher
    counts: GameCounts
    bound: float  # on epsilon
    alpha: float  # the share of this distinguisher at this look


@dataclass
class Patience:
    """What is known while an audit runs: is the claim refuted already, so that an expensive game may be cut short."""

    seconds: float = field(default_factory=lambda: PATIENCE)  # that an audit of a refuted claim may take
    refuted: bool = False
    started: float = field(default_factory=time.monotonic)


@dataclass
class Experiment(Generic[TargetT]):
    """A target, input pairs, and so many releases of each input, from which distinguishers are chosen and scored.

    Attributes:
        find_pairs: the pairs on which the target is tried, beside the caller's own.
        trials: releases of each input, those that choose the distinguishers among them.
        given: the caller's own pairs.
        progress: is given the releases that the main game counted, and how many there are to count.
    """

    target: TargetT
    find_pairs: Callable[[TargetT], Sequence[Pair]]
    trials: int
    given: Sequence[Pair] = ()
    patience: Patience = field(default_factory=Patience)
    progress: Progress = lambda done, total: None
    _failures: list[str] = field(default_factory=list)

    @cached_property
    def pairs(self) -> list[Pair]:
        """The input pairs, the caller's own first."""
        return [*self.given, *self.find_pairs(self.target)]

    @cached_property
    def samples(self) -> list[PairSample]:
        """The screening releases of all pairs that can be released.

        Raises:
            MechanismFailure: none can.
        """
        inputs, alone = 2 * len(self.pairs), self._alone
        rows = screening_rows(self.trials, inputs=inputs, dim=self._numbers)
        affordable = self.target.affordable(rows * inputs, seconds=SCREENING_SECONDS, alone=alone) // inputs
        samples, self._failures = samples_of(self.target, self.pairs, rows=min(rows, max(30, affordable)))
        return samples

    @cached_property
    def batches(self) -> Sampler:
        """Releases of records in batches of themselves, those drawn for `samples` among them."""
        sampler = Sampler(self.target, len(self.samples[0].releases[0]))
        for sample in self.samples:
            sampler.remember(sample)
        return sampler

    @property
    def _alone(self) -> bool:
        return self.pairs[0].alone or getattr(self.pairs[0].first, "ndim", 1) > 1

    @property
    def _numbers(self) -> int:
        return self.target.numbers(self.pairs[0].first)

    @property
    def certifying(self) -> int:
        """How many of the trials certify: what neither screened nor chose."""
        screened = len(self.samples[0].releases[0])
        chosen = choosing_rows(self.trials, dim=self._numbers)
        return max(FEWEST_TRIALS // 4, self.trials - screened - chosen)

    def with_pairs(self, pairs: Sequence[Pair], trials: int, target: TargetT | None = None) -> "Experiment[TargetT]":
        """Return an experiment on other pairs, or of another target with the same claim."""
        return Experiment(target or self.target, lambda _: pairs, trials, patience=self.patience)

    def play(
        self,
        *,
        alpha: float,
        advance: Callable[[int], None] = lambda rows: None,
        enough: Callable[[Score, float], bool] = lambda score, share: False,
        claim: float = -math.inf,
    ) -> Finding:
        """Choose a game and certify a lower bound on epsilon, wrong with probability at most ``alpha``; see `certify`."""
        target, samples = self.target, self.samples
        most = target.affordable(self.trials, seconds=CHOOSING_SECONDS, alone=self._alone)
        trials, certifying = min(self.trials, most), self.certifying
        game, *others = choose(target, samples, trials=trials, certifying=certifying, alpha=alpha)
        tests = sum(len(each.distinguishers) for each in (game, *others))
        options: dict[str, Any] = {"trials": certifying, "alpha": alpha / tests}
        score = certify(target, game, **options, advance=advance, enough=enough, claim=claim)
        if score.bound <= target.epsilon and not self._alone:  # releases in calls of their own are expensive
            further = [certify(target, other, **options, enough=enough, claim=target.epsilon) for other in others]
            score = max(score, *further, key=lambda each: each.bound) if further else score
        return self._finding(score, tests)

    def _finding(self, score: Score, tests: int) -> Finding:
        counts, epsilon, delta = score.counts, self.target.epsilon, self.target.delta
        ceiling = replace(counts, right=counts.rounds, wrong=0).certified_epsilon(delta=0.0, alpha=score.alpha)
        evidence = (
            f"guessed the input from the {score.distinguisher.name}, pair {score.pair.name}: {counts.right} right and "
            f"{counts.wrong} wrong of {counts.rounds}; so many certify {ceiling:.3g} at most"
        )
        return Finding(
            failed=score.bound > epsilon * (1 + 1e-9),
            evidence="; ".join([evidence, *self._failures]),
            statistic=counts.right / counts.rounds,
            p_value=min(1.0, tests * counts.p_value(epsilon=epsilon, delta=delta)),
            threshold=score.alpha * tests,
            certified_epsilon=score.bound,
        )

    def refute(self, *, alpha: float) -> Finding:
        """Play to refute the claim: no further than there is hope, and for a first look only where it is refuted already.

        Raises:
            MechanismFailure: the mechanism is too slow for `FEWEST_TRIALS`.
        """
        if self.trials < FEWEST_TRIALS:
            raise MechanismFailure(f"the mechanism is too slow for {FEWEST_TRIALS} releases of each input")
        refuted = self.patience.refuted
        return self.play(alpha=alpha, claim=self.target.epsilon, enough=lambda score, share: refuted)


def event(experiment: Experiment[Any], alpha: float) -> Finding:
    """Does any distinguisher guess the input from its release better than the claim allows; certifies a bound on epsilon."""
    patience, target, done = experiment.patience, experiment.target, 0
    total = 2 * experiment.certifying
    begun = time.monotonic()

    def advance(rows: int) -> None:
        nonlocal done
        done += rows
        experiment.progress(done, total)

    def enough(score: Score, share: float) -> bool:
        """Is the claim refuted, and would the rest take too long."""
        now = time.monotonic()
        rest = (now - begun) * (1 / share - 1)
        late = now - patience.started + rest > patience.seconds
        return late and (patience.refuted or score.bound > target.epsilon)

    return experiment.play(alpha=alpha, advance=advance, enough=enough)


def event_elsewhere(experiment: Experiment[Any], alpha: float) -> Finding:
    """The same at another dimension, with as many trials as a slow mechanism has time for."""
    trials = experiment.target.affordable(2 * max(FEWEST_TRIALS, experiment.trials), seconds=SECONDS) // 2
    return experiment.with_pairs(experiment.pairs, trials).refute(alpha=alpha)


def certify(
    target: Target,
    game: Game,
    *,
    trials: int,
    alpha: float,
    advance: Callable[[int], None] = lambda rows: None,
    enough: Callable[[Score, float], bool] = lambda score, share: False,
    claim: float = -math.inf,
) -> Score:
    """Play the distinguishers of a game on the same 2 * ``trials`` fresh releases, in constant memory; a coin chooses each input.

    Args:
        alpha: chance of error of each distinguisher.
        advance: is given the releases counted.
        enough: is given the score of a look and the share of releases drawn; if it says yes, the rest is not drawn.
        claim: the epsilon that is to be refuted: the rest is not drawn once no rule can be expected to refute it. Without one,
            the bound itself is what is wanted.
    """
    rounds, done, best = 2 * trials, 0, None
    right, wrong = (np.zeros(len(game.distinguishers), int) for _ in range(2))
    for share, part in LOOKS:
        more = max(1, round(rounds * share)) - done
        done += more
        tally = _play(target, game, more, advance)
        right, wrong = right + tally[0], wrong + tally[1]
        last = LOOKS[-1][1] * alpha
        hopes = _hoped(right, wrong, done, rounds, delta=target.delta / 2, alpha=last)
        for r, w, distinguisher in zip(right.tolist(), wrong.tolist(), game.distinguishers, strict=True):
            counts = GameCounts(right=r, wrong=w, rounds=done, answers=distinguisher.rule.answers)
            each = part * alpha
            bound = counts.certified_epsilon(delta=target.delta, alpha=each)
            score = Score(pair=game.pair, distinguisher=distinguisher, counts=counts, bound=bound, alpha=each)
            best = score if best is None or (bound, done) >= (best.bound, best.counts.rounds) else best
        if best is not None and share < 1 and (enough(best, share) or hopes.max() < claim):
            break
    if best is None:
        raise MechanismFailure("there are no rules to score")
    return best


def _hoped(
    right: NDArray[np.int64], wrong: NDArray[np.int64], done: int, rounds: int, *, delta: float, alpha: float
) -> Floats:
    """Return the bounds that rules may reach in all rounds, if luck was against them in those that are done.

    Two standard deviations: of a rule that would refute the claim in half of all games, one in forty is given up.
    """
    less = np.maximum(wrong - LUCK * np.sqrt(wrong + 1), 0) * rounds / done
    more = np.minimum((right + LUCK * np.sqrt(right)) * rounds / done, rounds - less)
    return game_lower_bound(more, less, rounds, delta=delta, alpha=alpha)


def _play(
    target: Target, game: Game, rounds: int, advance: Callable[[int], None]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    heads = int(np.random.default_rng().binomial(rounds, 0.5))
    right, wrong = (np.zeros(len(game.distinguishers), np.int64) for _ in range(2))
    for side, (record, rows) in enumerate(((game.pair.first, heads), (game.pair.second, rounds - heads))):
        for releases in target.draw(record, rows, alone=game.pair.alone):
            values = {id(each.statistic): each.statistic(releases) for each in game.distinguishers}
            right += [each.rule.says(values[id(each.statistic)], side) for each in game.distinguishers]
            wrong += [each.rule.says(values[id(each.statistic)], 1 - side) for each in game.distinguishers]
            advance(len(releases))
    return right, wrong
