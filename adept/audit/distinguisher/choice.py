r"""From releases to a certified epsilon: a guessing rule is chosen on some releases and scored on others.

Epsilon-delta privacy bounds every event by every other input's: P <= exp(eps) Q + delta. So each event, and each rule that
guesses the input from a release or abstains, certifies a lower bound on epsilon (`GameCounts`). Any function of a release may
define the rule (post-processing). What is left is to find a good one.

- Choosing: for each pair of inputs and each *statistic* (a real function of a release), thresholds define rules: high values
  say one input, low values the other, those between say nothing. Few releases of every pair screen pairs and statistics; more of
  the most promising pairs find three rules, as `distinguisher.decision_rules` explains. Nothing here needs to be right, only good.
- Certifying: those rules are scored on fresh releases, at three looks: after few of them, after more, and after all.

Claim: the largest of the bounds exceeds the true epsilon with probability at most alpha. Proof: fix all choosing releases,
and with them all rules; the certifying releases are independent of them, so right and wrong rounds of any rule are
counts of fixed events, whose bound errs with probability at most its share of alpha (`game_lower_bound`). The shares of all
rules at all looks add up to alpha (union bound, whether a look is taken or not). That holds for every outcome of the choosing
releases, hence on average. Pairs, statistics, thresholds and directions cost nothing, however many were tried.
It would be false if a certifying release had been looked at before.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from adept.audit.distinguisher.decision_rules import (
    THRESHOLD_ALPHA,
    Rule,
    chance_of_first,
    counted_rule,
    fitted_rule,
    promising,
    rare_rule,
)
from adept.audit.distinguisher.pairs import Pair, PairSample, Sampler, Source, Statistic
from adept.audit.distinguisher.vector_statistics import RESOLUTION
from adept.audit.result import MechanismFailure
from adept.audit.stats.bounds import GameCounts, game_lower_bound

Floats = NDArray[np.float64]

CHOOSING_ELEMENTS = 2**23  # numbers held at a time for choosing: 64 MiB
CHOOSING_ROWS = 2**16  # more would find hardly better rules
FEWEST_ROWS = 60  # releases of an input that screen a pair, whatever they cost
FINALISTS = 3  # pairs of which more releases are drawn before one is chosen
FEWEST_WRONG = 36  # added to the wrong guesses: no game wins by the curve that is worse than the best by more than 0.5
LUCK = 2.0  # standard deviations of a count
LOOKS = ((0.05, 0.05), (0.25, 0.15), (1.0, 0.8))  # share of the certifying releases, share of alpha


@dataclass(frozen=True, kw_only=True)
class Guess:
    """A statistic and a rule on it."""

    name: str
    statistic: Statistic
    rule: Rule


@dataclass(frozen=True, kw_only=True)
class Game:
    """Everything that is fixed before a rule is scored."""

    pair: Pair
    guesses: tuple[Guess, ...]


@dataclass(frozen=True, kw_only=True)
class Score:
    """What a game certified."""

    pair: Pair
    guess: Guess
    counts: GameCounts
    bound: float  # on epsilon
    alpha: float  # the share of this rule at this look


def screening_rows(trials: int, *, inputs: int, dim: int) -> int:
    """Return the releases of each input that screen: a fortieth of the trials, and bounded in memory."""
    return max(FEWEST_ROWS, min(trials // 40, CHOOSING_ELEMENTS // (dim * inputs)))


def choosing_rows(trials: int, *, dim: int) -> int:
    """Return the releases of each input of a finalist: an eighth of the trials, and bounded in memory."""
    return max(FEWEST_ROWS, min(trials // 8, CHOOSING_ROWS, CHOOSING_ELEMENTS // (4 * dim)))


def choose(source: Source, samples: list[PairSample], *, trials: int, certifying: int, alpha: float) -> list[Game]:
    """Return the games to certify on ``certifying`` releases per input, from the screening releases and others, drawn here.

    Rules are compared at the chance of error ``alpha`` that they are certified at, or at `THRESHOLD_ALPHA` if that is stricter.

    Three guesses are made of the best pair: on its best statistic by counts and by a fitted curve, and the one that was hardly ever
    wrong, on any statistic, if it is right often enough to be certified by so many releases: rare events are found by it. If the
    one that was hardly ever wrong of all is of another pair, and could refute the claim, it is a second game.
    """
    sampler = Sampler(source, choosing_rows(trials, dim=source.numbers(samples[0].pair.first)))
    tried = _trials(source, [sampler(pair) for pair in screen(source, samples, certifying=certifying)], certifying)
    trial = _best(tried)
    options = {"gap": 1.5 * RESOLUTION * source.clip_norm, "delta": source.delta, "alpha": min(alpha, THRESHOLD_ALPHA)}
    counted = counted_rule(trial.first, trial.second, **options)[1]
    fitted = fitted_rule(trial.first, trial.second, rounds=2 * certifying, **options)[1]
    guesses = [Guess(name=trial.name, statistic=trial.statistic, rule=rule) for rule in (counted, fitted)]

    def seldom(trials: list[_Trial]) -> Game:
        rare = max(trials, key=lambda t: t.hope)
        _, rule = rare_rule(rare.first, rare.second, rounds=2 * certifying, gap=options["gap"], delta=source.delta)
        return Game(pair=rare.pair, guesses=(Guess(name=rare.name, statistic=rare.statistic, rule=rule),))

    guesses += seldom([t for t in tried if t.pair is trial.pair]).guesses
    others = [t for t in tried if t.pair is not trial.pair and t.hope > source.epsilon]
    return [Game(pair=trial.pair, guesses=tuple(guesses)), *([seldom(others)] if others else [])]


def screen(source: Source, samples: list[PairSample], *, certifying: int) -> list[Pair]:
    """Return the most promising pairs, the best first: learned on half of the screening releases, scored on the rest.

    One more is the pair on which a guess was hardly ever wrong.
    """
    rest, chosen = _trials(source, samples, certifying), list[Pair]()
    while rest and len(chosen) < FINALISTS:
        chosen.append(_best(rest).pair)
        rest = [trial for trial in rest if trial.pair is not chosen[-1]]
    return [*chosen, max(rest, key=lambda trial: trial.hope).pair] if rest else chosen


@dataclass(frozen=True)
class _Trial:
    """A pair with a statistic, and its values under both inputs."""

    pair: Pair
    name: str
    statistic: Statistic
    first: Floats
    second: Floats
    score: float  # about the bound of the best rule
    wrong: float  # how often that rule is wrong
    hope: float  # the bound of a rule that is hardly ever wrong, if that goes on
    options: dict[str, Any]

    @cached_property
    def promise(self) -> float:
        """The score that a curve fitted to all values promises."""
        values = np.concatenate([self.first, self.second])
        return float(promising(values[None], chance_of_first(self.first, self.second), **self.options)[0][0])


def _trials(source: Source, samples: list[PairSample], certifying: int) -> list[_Trial]:
    """Try each pair with each statistic, learned on half of its releases, on the other half."""
    options = {"gap": 1.5 * RESOLUTION * source.clip_norm, "delta": source.delta}
    trials = []
    for sample in samples:
        first, second = sample.releases
        half = len(first) // 2
        learn = replace(sample, releases=(first[:half], second[:half]))
        rest = np.concatenate([first[half:], second[half:]])
        ours = len(first) - half
        own = np.repeat([1.0, 0.0], [ours, len(rest) - ours])
        learned = list(source.statistics(learn))
        values = np.stack([statistic(rest) for _, statistic in learned])
        judged = promising(values, own, rounds=2 * certifying, **options)
        for (name, statistic), of_it, score, wrong, hope in zip(learned, values, *judged, strict=True):
            trials.append(_Trial(sample.pair, name, statistic, of_it[:ours], of_it[ours:], score, wrong, hope, options))
    return trials


def _best(trials: list[_Trial]) -> _Trial:
    """Return the trial with the best bound.

    Bounds on few counts scatter, by about 1 / sqrt(wrong). Games that are as good up to three times that are told apart by what the
    fitted curve promises, so that a lucky pair of inputs does not win over the one that leaks most.
    """
    best = max(trials, key=lambda trial: trial.score)
    least = best.score - 3 / math.sqrt(best.wrong + FEWEST_WRONG)
    return max((trial for trial in trials if trial.score >= least), key=lambda trial: trial.promise)


def certify(
    source: Source,
    game: Game,
    *,
    trials: int,
    alpha: float,
    advance: Callable[[int], None] = lambda rows: None,
    enough: Callable[[Score, float], bool] = lambda score, share: False,
    claim: float = -math.inf,
) -> Score:
    """Play the rules of a game on the same 2 * ``trials`` fresh releases, in constant memory; a fair coin chooses each input.

    Args:
        alpha: chance of error of each rule.
        advance: told of the releases counted.
        enough: told the score of the first look and the share of releases drawn; if it says yes, the rest is not drawn.
        claim: the epsilon that is to be refuted: the rest is not drawn once no rule can be expected to refute it. Without one,
            the bound itself is what is wanted.
    """
    rounds, done, best = 2 * trials, 0, None
    guesses = game.guesses
    right, wrong = np.zeros(len(guesses), int), np.zeros(len(guesses), int)
    for share, part in LOOKS:
        more = max(1, round(rounds * share)) - done
        done += more
        tally = _play(source, game, more, advance)
        right, wrong = right + tally[0], wrong + tally[1]
        last = LOOKS[-1][1] * alpha
        hopes = _hoped(right, wrong, done, rounds, delta=source.delta / 2, alpha=last)
        for r, w, guess in zip(right.tolist(), wrong.tolist(), guesses, strict=True):
            counts = GameCounts(right=r, wrong=w, rounds=done, answers=guess.rule.answers)
            each = part * alpha
            bound = counts.certified_epsilon(delta=source.delta, alpha=each)
            score = Score(pair=game.pair, guess=guess, counts=counts, bound=bound, alpha=each)
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
    source: Source, game: Game, rounds: int, advance: Callable[[int], None]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    heads = int(np.random.default_rng().binomial(rounds, 0.5))
    right, wrong = np.zeros(len(game.guesses), np.int64), np.zeros(len(game.guesses), np.int64)
    for side, (record, rows) in enumerate(((game.pair.first, heads), (game.pair.second, rounds - heads))):
        for releases in source.draw(record, rows, alone=game.pair.alone):
            values = {id(guess.statistic): guess.statistic(releases) for guess in game.guesses}
            right += [guess.rule.says(values[id(guess.statistic)], side) for guess in game.guesses]
            wrong += [guess.rule.says(values[id(guess.statistic)], 1 - side) for guess in game.guesses]
            advance(len(releases))
    return right, wrong


def samples_of(source: Source, pairs: list[Pair], *, rows: int) -> tuple[list[PairSample], list[str]]:
    """Return the screening releases of all pairs that can be released, and the reasons why others cannot.

    Raises:
        MechanismFailure: none can.
    """
    sampler, samples, failures = Sampler(source, rows), [], []
    for pair in pairs:
        try:
            samples.append(sampler(pair))
        except MechanismFailure as failure:
            failures.append(f"pair {pair.name}: {failure}")
    if not samples:
        raise MechanismFailure(failures[0].split(": ", 1)[1])
    return samples, failures
