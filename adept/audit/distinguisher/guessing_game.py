"""The guessing game: a coin picks one of two inputs, and a rule guesses which one was released.

A *distinguisher* consists of a statistic, which is a number computed from a release, and a decision
rule, which guesses the input from this number. Distinguishers are chosen on some releases and
scored on fresh ones, the *certifying* releases. The counts of right and wrong guesses on the
certifying releases certify a lower bound on epsilon. A game that only has to refute a claim is
scored up to three times. Such a game ends early if the claim is refuted at one of these scorings,
or if further rounds are unlikely to refute the claim.

Claim: with probability at most alpha, the largest bound that any distinguisher certifies exceeds
the true epsilon. Proof: fix all releases from which distinguishers are chosen, and with them all
distinguishers. The certifying releases are independent of these fixed releases. So for each
distinguisher, the events of a right and of a wrong guess are fixed before the certifying releases
are drawn, and the bound from their counts errs with probability at most its share of alpha
(`game_lower_bound`). The shares of all distinguishers at all scorings add up to alpha (union bound;
a scoring that is left out cannot err). So the claim holds for all values of the fixed releases, and
therefore also on average over these values.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from adept.audit.distinguisher.distinguisher_choice import Distinguisher, Game, choose, samples_of
from adept.audit.distinguisher.input_pairs import AnyTarget, InputPair, PairSample, kind_of
from adept.audit.result import Check, MechanismFailure, Verdict
from adept.audit.stats.confidence_bounds import Floats, GameCounts, game_lower_bound, rounds_needed, say_trials
from adept.audit.stats.exact_tests import certified
from adept.audit.subject.value import ValueTarget
from adept.audit.subject.vector import VectorTarget

MAX_CHOOSING_ELEMENTS = 2**23  # numbers of releases that are held in memory at a time: 64 MiB
MAX_CHOOSING_ROWS, MAX_CHOOSING_CALLS = 2**16, 400
MIN_ROWS = 60  # least number of planned releases of an input, for screening and for choosing
SCREENING_SHARE, CHOOSING_SHARE = 5 / 3, 8 / 3  # time for screening and for choosing, in `CHECK_SECONDS`
FINALISTS = 3  # pairs that are compared again on more releases, unless each release needs its own call
MIN_TRIALS = 100
MIN_RIGHT_SHARE = 0.1  # least share of right guesses among the rounds that allows a forecast
LUCK_SDS = 2.0  # assumed bad luck, in standard deviations of a count
LOOKS = ((0.05, 0.05), (0.25, 0.15), (1.0, 0.8))  # each scoring: share of the certifying releases, share of alpha

TargetT = TypeVar("TargetT", VectorTarget, ValueTarget)
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Score:
    """A distinguisher's numbers of right and wrong guesses, and the certified bound on epsilon."""

    pair: InputPair
    distinguisher: Distinguisher
    counts: GameCounts
    bound: float  # the certified lower bound on epsilon
    alpha: float  # the part of alpha for this distinguisher at this scoring


@dataclass
class Experiment(Generic[TargetT]):
    """The mechanism, the pairs of inputs and the number of trials of a guessing game."""

    target: TargetT
    find_pairs: Callable[[TargetT], Sequence[InputPair]]  # returns the pairs to add to the caller's
    trials: int  # releases of each input, including those that choose distinguishers
    given: Sequence[InputPair] = ()  # the caller's own pairs
    progress: Progress = lambda done, total: None  # called with the numbers of counted and of planned releases
    _failures: list[str] = field(default_factory=list)

    @cached_property
    def pairs(self) -> list[InputPair]:
        """All pairs of inputs: the caller's pairs, then the pairs that ``find_pairs`` returns."""
        return [*self.given, *self.find_pairs(self.target)]

    @cached_property
    def samples(self) -> list[PairSample]:
        """The screening releases: a few releases of each input, to find promising pairs."""
        inputs, alone = 2 * len(self.pairs), self._alone
        rows = max(MIN_ROWS, min(self.trials // 40, MAX_CHOOSING_ELEMENTS // (self._numbers * inputs)))
        affordable = self.target.affordable(rows * inputs, share=SCREENING_SHARE, alone=alone) // inputs
        samples, self._failures = samples_of(self.target, self.pairs, rows=min(rows, max(30, affordable)))
        return samples

    @property
    def _alone(self) -> bool:
        return self.pairs[0].alone or getattr(self.pairs[0].first, "ndim", 1) > 1

    @property
    def _numbers(self) -> int:
        return self.target.count_numbers(self.pairs[0].first)

    @property
    def certifying(self) -> int:
        """Number of releases of each input that are left for scoring the distinguishers."""
        screened = len(self.samples[0].releases[0])
        return max(MIN_TRIALS // 4, self.trials - screened - self._choosing(self.trials))

    def _choosing(self, trials: int) -> int:
        """Return the number of releases of each input from which distinguishers are chosen."""
        most = MAX_CHOOSING_CALLS if self._alone else MAX_CHOOSING_ROWS
        return max(MIN_ROWS, min(trials // 8, most, MAX_CHOOSING_ELEMENTS // (4 * self._numbers)))

    def with_pairs(
        self, pairs: Sequence[InputPair], trials: int, target: TargetT | None = None
    ) -> "Experiment[TargetT]":
        """Return a new experiment with the given pairs, number of trials and target; if ``target``
        is None, the new experiment keeps this experiment's target.
        """
        return Experiment(target or self.target, lambda _: pairs, trials)

    def play(self, *, alpha: float, claim: float = -math.inf) -> Check:
        """Choose distinguishers, score them, and return a check with the largest certified epsilon.

        The certified bound is wrong with probability at most ``alpha``. If an epsilon is given as
        ``claim``, the game ends early if this claim is refuted, or if further rounds are unlikely
        to refute it.
        """
        target, samples = self.target, self.samples
        most = target.affordable(self.trials, share=CHOOSING_SHARE, alone=self._alone)
        rows, certifying = self._choosing(min(self.trials, most)), self.certifying
        finalists = 1 if self._alone else FINALISTS
        game, *others = choose(target, samples, finalists=finalists, rows=rows, certifying=certifying, alpha=alpha)
        tests = sum(len(each.distinguishers) for each in (game, *others))
        options: dict[str, Any] = {"trials": certifying, "alpha": alpha / tests}
        score = certify(target, game, **options, claim=claim, progress=self.progress)
        if score.bound <= target.epsilon:
            further = [certify(target, other, **options, claim=target.epsilon) for other in others]
            score = max(score, *further, key=lambda each: each.bound) if further else score
        return self._check(score, tests)

    def refute(self, *, alpha: float) -> Check:
        """Play the game; end early if the claim is refuted or unlikely to be refuted later."""
        if self.trials < MIN_TRIALS:
            raise MechanismFailure(f"the mechanism is too slow for {MIN_TRIALS} releases of each input")
        return self.play(alpha=alpha, claim=self.target.epsilon)

    def _check(self, score: Score, tests: int) -> Check:
        counts, alpha = score.counts, score.alpha * tests
        ceiling = replace(counts, right=counts.rounds, wrong=0).certified_epsilon(delta=0.0, alpha=score.alpha)
        evidence = (
            f"guessed the input from the {score.distinguisher.name}, pair {score.pair.name}: {counts.right} right and "
            f"{counts.wrong} wrong of {counts.rounds}"
        )
        if ceiling <= self.target.epsilon:
            evidence += f"; no claim above {ceiling:.3g} can be refuted by so many"
        evidence = "; ".join([evidence, *self._failures])
        claim = {"epsilon": self.target.epsilon, "delta": self.target.delta}
        played = next(sample for sample in self.samples if sample.pair is score.pair)
        kind = kind_of(played, unit=self.target.clip_norm)
        found = certified(counts, evidence, **claim, alpha=alpha, tests=tests)
        return replace(found, kind=kind, caveat=self._caveat(score) if found.verdict is Verdict.PASSED else "")

    def _caveat(self, score: Score) -> str:
        """Say in a sentence how many trials would refute the claim if no guess were wrong.

        The sentence is empty if a guess was wrong, or if only few guesses were right.
        """
        counts = score.counts
        if counts.wrong or counts.right < MIN_RIGHT_SHARE * counts.rounds:
            return ""
        needed = rounds_needed(self.target.epsilon, alpha=score.alpha) * self.trials / counts.right
        return f"every guess was right, and {say_trials(needed)} would refute the claim if that went on"


def event(experiment: Experiment[Any], alpha: float) -> Check:
    """Detect any difference between the releases of two inputs that lets a rule guess which input
    was released. The certified lower bound on epsilon cannot exceed about ln(trials). If a
    difference is spread over many coordinates, the bound reflects only a part of the difference.
    """
    return experiment.play(alpha=alpha)


def event_elsewhere(experiment: Experiment[Any], alpha: float) -> Check:
    """Detect differences between the releases of two inputs if latents have another dimension than
    in the main guessing game. At a small dimension, less noise can hide a difference. The check
    tests one dimension, and is blind to all others.
    """
    trials = experiment.target.affordable(2 * max(MIN_TRIALS, experiment.trials)) // 2
    return experiment.with_pairs(experiment.pairs, trials).refute(alpha=alpha)


def certify(
    target: AnyTarget,
    game: Game,
    *,
    trials: int,
    alpha: float,
    claim: float = -math.inf,
    progress: Progress = lambda done, total: None,
) -> Score:
    """Score all distinguishers of a game, and return the score with the largest certified epsilon.

    Args:
        trials: half the number of rounds. In each round, all distinguishers guess from the same
            release.
        alpha: largest probability that the bound of one distinguisher is wrong.
        claim: the epsilon to refute. If ``claim`` is minus infinity, the game is scored only once,
            at its end.
    """
    rounds, done, scores = 2 * trials, 0, list[Score]()
    right, wrong = (np.zeros(len(game.distinguishers), int) for _ in range(2))
    for share, part in LOOKS if claim > -math.inf else ((1.0, 1.0),):
        more = max(1, round(rounds * share)) - done
        tally = _play(target, game, more, lambda rows, before=done: progress(before + rows, rounds))  # type: ignore[misc]
        done, right, wrong = done + more, right + tally[0], wrong + tally[1]
        for r, w, distinguisher in zip(right.tolist(), wrong.tolist(), game.distinguishers, strict=True):
            counts = GameCounts(right=r, wrong=w, rounds=done, answers=distinguisher.rule.answers)
            bound = counts.certified_epsilon(delta=target.delta, alpha=part * alpha)
            scores.append(Score(game.pair, distinguisher, counts, bound, alpha=part * alpha))
        hopes = _hoped(right, wrong, done, rounds, delta=target.delta / 2, alpha=LOOKS[-1][1] * alpha)
        if hopes.max() < claim or max(score.bound for score in scores) > claim > -math.inf:
            break
    return max(scores, key=lambda score: (score.bound, score.counts.rounds))


def _hoped(
    right: NDArray[np.int64], wrong: NDArray[np.int64], done: int, rounds: int, *, delta: float, alpha: float
) -> Floats:
    """Estimate optimistically which epsilon each rule will certify after ``rounds`` rounds.

    The function assumes that the rule had bad luck in the ``done`` rounds so far: its numbers of
    right and wrong guesses were worse than their means by `LUCK_SDS` standard deviations.
    """
    less = np.maximum(wrong - LUCK_SDS * np.sqrt(wrong + 1), 0) * rounds / done
    more = np.minimum((right + LUCK_SDS * np.sqrt(right)) * rounds / done, rounds - less)
    return game_lower_bound(more, less, rounds, delta=delta, alpha=alpha)


def _play(
    target: AnyTarget, game: Game, rounds: int, advance: Callable[[int], None]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    heads, done = int(np.random.default_rng().binomial(rounds, 0.5)), 0
    right, wrong = (np.zeros(len(game.distinguishers), np.int64) for _ in range(2))
    for side, (record, rows) in enumerate(((game.pair.first, heads), (game.pair.second, rounds - heads))):
        for releases in target.draw(record, rows, alone=game.pair.alone):
            values = {id(each.statistic): each.statistic(releases) for each in game.distinguishers}
            right += [each.rule.says(values[id(each.statistic)], side) for each in game.distinguishers]
            wrong += [each.rule.says(values[id(each.statistic)], 1 - side) for each in game.distinguishers]
            done += len(releases)
            advance(done)
    return right, wrong
