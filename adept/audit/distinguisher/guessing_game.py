"""The guessing game: a coin picks one of two inputs, and a rule guesses which one was released.

Distinguishers are chosen on some releases (`distinguisher.choice`) and scored on fresh ones, the
*certifying* releases. The counts of right and wrong guesses on the certifying releases certify a
lower bound on epsilon. A game that only has to refute a claim is scored up to four times. Such a
game ends early if the claim is refuted at one of these scorings, or if further rounds are unlikely
to refute the claim.

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
from itertools import islice
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from adept.audit.distinguisher.choice import Distinguisher, Game, Rule, choose
from adept.audit.distinguisher.input_pairs import AnyTarget, InputPair, PairSample, Sampler, show
from adept.audit.distinguisher.statistics import Statistic
from adept.audit.result import Check, MechanismFailure, Verdict
from adept.audit.stats.confidence_bounds import Floats, GameCounts, game_lower_bound, rounds_needed, say_trials
from adept.audit.stats.exact_tests import certified
from adept.audit.subject.value import ValueTarget
from adept.audit.subject.vector import VectorTarget

MAX_CHOOSING_ELEMENTS = 2**23  # numbers of releases that are held in memory at a time: 64 MiB
MIN_ROWS = 60  # least number of planned releases of an input, for screening and for choosing
MIN_TRIALS = 100
LOOKS = (
    (0.05, 0.05),
    (0.25, 0.1),
    (0.5, 0.1),
    (1.0, 0.75),
)  # each scoring: share of the certifying releases, share of alpha

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
    said: NDArray[np.int64]  # (2, 2), how often the rule named a record (rows) for each released record (columns)


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
        inputs, numbers = 2 * len(self.pairs), self.target.count_numbers(self.pairs[0].first)
        most = min(self.trials // 40, max(250, self.trials // 160), MAX_CHOOSING_ELEMENTS // (numbers * inputs))
        rows = max(MIN_ROWS, most)
        affordable = self.target.affordable(rows * inputs, share=5 / 3, alone=self._alone) // inputs
        sampler, samples, failures = Sampler(self.target, min(rows, max(30, affordable))), [], list[str]()
        for pair in self.pairs:
            try:
                samples.append(sampler(pair))
            except MechanismFailure as failure:
                failures.append(f"pair {pair.name}: {failure}")
        loud = [sample for sample in samples if not all(map(self.target.is_silent, sample.releases))]
        if not loud:
            raise MechanismFailure(failures[0].split(": ", 1)[1] if failures else "every release is NaN")
        self._failures = failures
        return loud

    @property
    def _alone(self) -> bool:
        return self.pairs[0].alone or getattr(self.pairs[0].first, "ndim", 1) > 1

    def _choosing(self, trials: int) -> int:
        """Return the number of releases of each input from which distinguishers are chosen."""
        most, numbers = 400 if self._alone else 2**16, self.target.count_numbers(self.pairs[0].first)
        return max(MIN_ROWS, min(trials // 8, most, MAX_CHOOSING_ELEMENTS // (4 * numbers)))

    def play(self, *, alpha: float, claim: float = -math.inf) -> Check:
        """Choose distinguishers, score them, and return a check with the largest certified epsilon.

        If an epsilon is given as ``claim``, the game ends early if this claim is refuted, or if
        further rounds are unlikely to refute it.
        """
        target, samples = self.target, self.samples
        most = target.affordable(self.trials, share=8 / 3, alone=self._alone)
        rows, screened = self._choosing(min(self.trials, most)), len(samples[0].releases[0])
        certifying = max(MIN_TRIALS // 4, self.trials - screened - self._choosing(self.trials))
        finalists = 1 if self._alone else 3  # pairs that are compared again on more releases
        game, *others = choose(target, samples, finalists=finalists, rows=rows, certifying=certifying, alpha=alpha)
        tests = sum(len(each.distinguishers) for each in (game, *others))
        options: dict[str, Any] = {"trials": certifying, "alpha": alpha / tests}
        score = certify(target, game, **options, claim=claim, progress=self.progress)
        if score.bound <= target.epsilon:
            further = [certify(target, other, **options, claim=target.epsilon) for other in others]
            score = max(score, *further, key=lambda each: each.bound) if further else score
        return self._check(score, tests)

    def refute(self, pairs: Sequence[InputPair], trials: int, *, alpha: float, target: TargetT | None = None) -> Check:
        """Play a game with other pairs and trials, and possibly another target, until the claim is
        refuted or unlikely to be refuted later.
        """
        if trials < MIN_TRIALS:
            raise MechanismFailure(f"the mechanism is too slow for {MIN_TRIALS} releases of each input")
        target = target or self.target
        return Experiment(target, lambda _: pairs, trials).play(alpha=alpha, claim=target.epsilon)

    def _check(self, score: Score, tests: int) -> Check:
        counts, alpha = score.counts, score.alpha * tests
        ceiling = replace(counts, right=counts.rounds, wrong=0).certified_epsilon(delta=0.0, alpha=score.alpha)
        played = next(sample for sample in self.samples if sample.pair is score.pair)
        evidence = f"guessed the input from the {score.distinguisher.name}, pair {score.pair.name}: {counts}"
        evidence += f"; {_say_seen(score, played)}"
        if ceiling <= self.target.epsilon:
            evidence += f"; no claim above {ceiling:.3g} can be refuted by so many"
        evidence = "; ".join([evidence, *self._failures])
        claim = {"epsilon": self.target.epsilon, "delta": self.target.delta}
        found = certified(counts, evidence, **claim, alpha=alpha, tests=tests)
        kind = played.kind(unit=self.target.clip_norm)
        return replace(found, kind=kind, caveat=self._caveat(score) if found.verdict is Verdict.PASSED else "")

    def _caveat(self, score: Score) -> str:
        """Say how many trials would refute the claim, if no guess was wrong and many were right."""
        counts = score.counts
        if counts.wrong or counts.right < 0.1 * counts.rounds:
            return ""
        needed = rounds_needed(self.target.epsilon, alpha=score.alpha) * self.trials / counts.right
        return f"every guess was right, and {say_trials(needed)} would refute the claim if that went on"


def _say_seen(score: Score, played: PairSample) -> str:
    """Say what was seen: the two records, and how often releases like one release came from each."""
    each, pair, side = score.distinguisher, score.pair, int(score.said.max(axis=1).argmax())
    records = f"the records are {show(pair.first)} and {show(pair.second)}"
    values = each.statistic(played.releases[side])
    named = (place for place in range(len(values)) if each.rule.says(values[place : place + 1], side))
    such = "".join(f", such as {show(played.releases[side][place])}," for place in islice(named, 1))
    first, second = score.said[side]
    return f"{records}; releases of one sort{such} came {first} times from the first and {second} times from the second"


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
    trials = experiment.target.affordable(2 * max(MIN_TRIALS, experiment.trials), share=0.2) // 2
    return experiment.refute(experiment.pairs, trials, alpha=alpha)


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

    In each of the ``2 * trials`` rounds, all distinguishers guess from the same release. The bound
    of each is wrong with probability at most ``alpha``. If the epsilon to refute, ``claim``, is
    minus infinity, the game is scored only once, at its end.
    """
    rounds, done, scores = 2 * trials, 0, list[Score]()
    said = np.zeros((len(game.distinguishers), 2, 2), np.int64)
    for share, part in LOOKS if claim > -math.inf else ((1.0, 1.0),):
        more = max(1, round(rounds * share)) - done
        said = said + _count_guesses(target, game, more, lambda rows, before=done: progress(before + rows, rounds))  # type: ignore[misc]
        done, right = done + more, np.trace(said, axis1=1, axis2=2)
        wrong = said.sum(axis=(1, 2)) - right
        for r, w, table, distinguisher in zip(right.tolist(), wrong.tolist(), said, game.distinguishers, strict=True):
            counts = GameCounts(right=r, wrong=w, rounds=done, answers=distinguisher.rule.answers)
            bound = counts.certified_epsilon(delta=target.delta, alpha=part * alpha)
            scores.append(Score(game.pair, distinguisher, counts, bound, part * alpha, table))
        hopes = _hoped(right, wrong, done, rounds, delta=target.delta / 2, alpha=LOOKS[-1][1] * alpha)
        if hopes.max() < claim or max(score.bound for score in scores) > claim > -math.inf:
            break
    return max(scores, key=lambda score: (score.bound, score.counts.rounds))


def _hoped(
    right: NDArray[np.int64], wrong: NDArray[np.int64], done: int, rounds: int, *, delta: float, alpha: float
) -> Floats:
    """Estimate optimistically which epsilon each rule will certify after ``rounds`` rounds.

    The numbers of right and wrong guesses in the ``done`` rounds so far are taken to be worse than
    their means by two standard deviations.
    """
    less = np.maximum(wrong - 2.0 * np.sqrt(wrong + 1), 0) * rounds / done
    more = np.minimum((right + 2.0 * np.sqrt(right)) * rounds / done, rounds - less)
    return game_lower_bound(more, less, rounds, delta=delta, alpha=alpha)


def play_rule(target: AnyTarget, pair: InputPair, statistic: Statistic, rule: Rule, *, rounds: int) -> GameCounts:
    """Play a game with one rule, fixed before the game, and count its right and wrong guesses."""
    game = Game(pair, (Distinguisher(name="", statistic=statistic, rule=rule),))
    [said] = _count_guesses(target, game, rounds, lambda done: None)
    right = int(np.trace(said))
    return GameCounts(right=right, wrong=int(said.sum()) - right, rounds=rounds)


def _count_guesses(target: AnyTarget, game: Game, rounds: int, advance: Callable[[int], None]) -> NDArray[np.int64]:
    """Play rounds; return (D, 2, 2), how often each rule named a record, for each released record."""
    heads, done = int(np.random.default_rng().binomial(rounds, 0.5)), 0
    said = np.zeros((len(game.distinguishers), 2, 2), np.int64)
    for side, (record, rows) in enumerate(((game.pair.first, heads), (game.pair.second, rounds - heads))):
        for releases in target.draw(record, rows, alone=game.pair.alone):
            values = {id(each.statistic): each.statistic(releases) for each in game.distinguishers}
            said[:, :, side] += [
                [each.rule.says(values[id(each.statistic)], name) for name in (0, 1)] for each in game.distinguishers
            ]
            done += len(releases)
            advance(done)
    return said
