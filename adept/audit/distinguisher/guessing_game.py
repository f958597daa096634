"""The guessing game: a coin picks one of two inputs, and a rule guesses which one was released.

A *statistic* is a number that is computed from a release. A *rule* guesses one of two inputs if the statistic lies
above one threshold, guesses the other input if it lies below another threshold, and otherwise abstains. A
*distinguisher* is a statistic with a rule. All of them may be chosen in any way from earlier releases: a poor choice
makes the certified bound on epsilon smaller but not less reliable, because guesses are counted on fresh releases.

Distinguishers are chosen on some releases (`choose`) and scored on fresh ones, the *certifying* releases. The counts
of right and wrong guesses on the certifying releases certify a lower bound on epsilon. A game that only has to refute
a claim is scored up to four times. Such a game ends early if the claim is refuted at one of these scorings, or if
further rounds are unlikely to refute the claim. The main game is scored once. A longer game may follow, whose
distinguishers are chosen again, from more releases (`choose_again`): if hardly any guess of the main game was wrong,
or if the claim is so large that the main game could hardly refute it.

Claim: with probability at most alpha, the largest bound that any distinguisher certifies exceeds the true epsilon.
Proof: fix all releases from which distinguishers are chosen, and with them all distinguishers (for a longer game, these
include all releases of the main game). The certifying releases are independent of these fixed releases. So for each
distinguisher, the events of a right and of a wrong guess are fixed before the certifying releases are drawn, and the
bound from their counts errs with probability at most its share of alpha (`game_lower_bound`). If a distinguisher names
both inputs, three events of it are scored: all its guesses, its guesses of the first and its guesses of the second
input. The shares of all events at all scorings of both games add up to alpha (union bound; a scoring that is left out
cannot err). So the claim holds for all values of the fixed releases, and therefore also on average over these values.

The functions that choose describe the releases of both inputs by two arrays (N,): ``values`` of a
statistic, and ``chance``, the probability that the first input was released. The array ``own`` is
the chance that is known, 1 for the first and 0 for the second input.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice
from operator import attrgetter
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from adept.audit.distinguisher import statistics
from adept.audit.distinguisher.input_pairs import AnyTarget, InputPair, PairSample, Sampler, show
from adept.audit.distinguisher.statistics import Rule, Statistic
from adept.audit.result import Check, MechanismFailure, Verdict
from adept.audit.stats import Floats, GameCounts, certified, game_lower_bound, rounds_needed, say_trials
from adept.audit.subject.kinds import LIMIT, ValueTarget, VectorTarget
from adept.mechanisms.guarantee import words

MAX_DISTINGUISHERS = 7  # four on the best pair, one on another pair, two on a pair with NaN or infinity
SCREENING_THRESHOLDS = 80
# Largest alpha for comparing rules: with a larger alpha, the best rule would abstain too often
THRESHOLD_ALPHA = 1e-3
SMOOTHING_THRESHOLDS = 15  # neighbours on either side over which a score is averaged
# Standard deviations by which the wrong guesses of a rare rule, and of a screened rule, are increased
RARE_SDS, PROMISING_SDS = 2.0, 4.0


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
) -> tuple[list[Game], list[InputPair]]:
    """Return the games to play, which are pairs of inputs and distinguishers that guess between them; and all pairs on
    which a rule could refute the claim.

    The first game uses the pair that is likely to certify the largest epsilon. A second game uses another pair if a
    game with that pair could refute the claim. Further games use a pair with NaN or infinity if such a game could
    refute the claim. ``samples`` hold a few releases of each input. Then ``rows`` releases of each input of a
    promising pair are drawn, and ``certifying`` releases of each input in a game.
    """
    sampler, rounds = Sampler(target, rows), 2 * certifying
    finite = [sample for sample in samples if sample.pair.finite] or samples
    pairs = screen(target, finite, finalists=finalists, certifying=certifying)
    candidates = _candidates(target, [sampler(pair) for pair in pairs], certifying)

    def certain(best: _Candidate) -> Distinguisher:
        return best.by(best_rule(best.values, best.own, rounds=len(best.values), **options))

    def seldom(candidates: list[_Candidate]) -> Game:
        best = max(candidates, key=attrgetter("hope"))
        return Game(best.pair, (best.by(best.rare_rule),))

    best = _best(candidates)
    options = best.options | {"alpha": min(alpha, THRESHOLD_ALPHA)}
    fitted = best.by(best_rule(best.values, chance_of_first(best.values, best.own), rounds=rounds, **options))
    of_best = [each for each in candidates if each.pair is best.pair]
    equal = [each for each in of_best if each.name == statistics.WITHOUT_NOISE]  # and seen, so that the rule speaks
    seen = [each for each in equal if (np.where(each.own, each.values, -each.values) >= 0.5).any()]
    without = [each.by(Rule(high=0.5, low=-0.5)) for each in seen]
    hopeful = [pair for pair in pairs if any(each.hope > target.epsilon for each in candidates if each.pair is pair)]
    games = [Game(best.pair, (certain(best), fitted, *seldom(of_best).distinguishers, *without))]
    others = [each for each in candidates if each.pair is not best.pair and each.hope > target.epsilon]
    if others and finalists > 1:
        games.append(seldom(others))
    rest = _candidates(target, [sample for sample in samples if not sample.pair.finite], certifying)
    if finite is samples or max((each.hope for each in rest), default=-math.inf) <= target.epsilon:
        return games, hopeful
    again = _candidates(target, [sampler(max(rest, key=lambda each: each.hope).pair)], certifying)
    top = _best(again)
    return [*games, seldom(again), Game(top.pair, (certain(top),))], hopeful


def choose_again(target: AnyTarget, pairs: Sequence[InputPair], *, rows: int, certifying: int) -> list[Game]:
    """Return up to three games of many rounds, on different pairs; none if no rule is likely to refute the claim.

    Against a large claim, a rule must hardly ever be wrong, and a few releases do not show how seldom it is wrong. So
    ``rows`` releases of each input are drawn, and several rules of up to three statistics compete: the one with the
    best counts, and rules that name fixed shares of all releases.
    """
    sampler = Sampler(target, rows)
    candidates = _candidates(target, [sampler(pair) for pair in pairs], certifying)
    hopeful = sorted((each for each in candidates if each.hope > target.epsilon), key=attrgetter("fitted_hope"))
    games = []
    for pair in list({id(each.pair): each.pair for each in reversed(hopeful)}.values())[:3]:
        of_pair = [each for each in candidates if each.pair is pair]
        best = _best(of_pair), *(max(of_pair, key=attrgetter(by)) for by in ("hope", "fitted_hope"))
        rules = [each.by(rule) for each in {id(each): each for each in best}.values() for rule in each.sure_rules]
        games.append(Game(pair, tuple(rules)))
    return games


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
    rounds: int  # of the game in which the candidate may play
    options: dict[str, Any]

    def by(self, rule: Rule) -> Distinguisher:
        return Distinguisher(name=self.name, statistic=self.statistic, rule=rule)

    @property
    def rare_rule(self) -> Rule:
        """The rule that is likely to certify the largest epsilon in the game, if right and wrong guesses are about as
        frequent in the game as on the candidate's values.
        """
        tried = statistics.try_rules(self.values[None], self.own, gap=self.options["gap"], most=SCREENING_THRESHOLDS)
        if not len(tried.statistics):
            return statistics.SILENT
        [best] = tried.quick(self.rounds, self.options["delta"], sds=RARE_SDS)[1]
        return tried.rule(self.values, *divmod(int(best), tried.low.shape[1]))

    @property
    def sure_rules(self) -> Iterator[Rule]:
        """Rules for a large claim: the rare rule, and rules that name fixed shares of all releases."""
        yield self.rare_rule
        for share in (0.6, 0.3, 0.15):
            low, high = np.quantile(self.values, (share / 2, 1 - share / 2), method="nearest")
            flipped = bool(self.own[self.values >= high].mean() < 0.5)
            if low < high:  # releases with just the low value are named, too
                yield Rule(high=high, low=float(np.nextafter(low, high)), flipped=flipped)

    @cached_property
    def fitted_hope(self) -> float:
        """The hope according to a fitted logistic curve, which also tells rules without wrong guesses apart."""
        values, rounds = self.values[None], self.rounds
        return float(promising(values, chance_of_first(values, self.own), rounds=rounds, **self.options)[2][0])


def _candidates(target: AnyTarget, samples: list[PairSample], certifying: int) -> list[_Candidate]:
    """Fit each statistic to half of a pair's releases, and try the statistic on the other half."""
    options = {"gap": 1.5 * statistics.RESOLUTION * target.clip_norm, "delta": target.delta}
    candidates = []
    for sample in samples:
        half = len(sample.releases[0]) // 2
        first, second = (side[half:] for side in sample.releases)
        learn = replace(sample, releases=(sample.releases[0][:half], sample.releases[1][:half]))
        own = np.repeat([1.0, 0.0], [len(first), len(second)])
        learned, rest = list(statistics.statistics_of(target, learn)), np.concatenate([first, second])
        values = np.stack([statistic(rest) for _, statistic in learned])
        judged = promising(values, own, rounds=2 * certifying, **options)
        for (name, statistic), of_it, score, wrong, hope in zip(learned, values, *judged, strict=True):
            more = score, wrong, hope, 2 * certifying, options
            candidates.append(_Candidate(sample.pair, name, statistic, of_it, own, *more))
    return candidates


def _best(candidates: list[_Candidate]) -> _Candidate:
    """Return the candidate with the largest promise among those with nearly the best score.

    Both are cautious estimates of the epsilon that the best rule certifies: ``score`` is computed from
    counted guesses, and the promise from fitted logistic curves, of all these candidates at once.
    """
    best = max(candidates, key=lambda tried: tried.score)
    least = best.score - 3 / math.sqrt(best.wrong + 36)  # at most 0.5 below the best score
    near = [tried for tried in candidates if tried.score >= least]
    values = np.stack([tried.values for tried in near])
    return near[int(promising(values, chance_of_first(values, best.own), **best.options)[0].argmax())]


def best_rule(values: Floats, chance: Floats, *, rounds: int, gap: float, delta: float, alpha: float) -> Rule:
    """Return the rule that would certify the largest epsilon in a game of ``rounds`` rounds.

    The array ``chance`` says how many guesses are right and how many are wrong: it is ``own`` to
    count them, or `chance_of_first` to predict them by a fitted curve. Each threshold lies between
    two neighbouring values that differ by more than ``gap``. ``delta`` is the claimed delta, and
    ``alpha`` the largest allowed probability that the certified epsilon is too large.
    """
    tried = statistics.try_rules(values[None], chance, gap=gap, most=400)
    if not len(tried.statistics):
        return statistics.SILENT
    answers = np.array(statistics.ANSWERS)
    right, wrong = (rounds / len(values) * side.reshape(len(answers), -1) for side in (tried.right, tried.wrong))
    rules = zip(right, wrong, delta * answers / 2, strict=True)
    scores = averaged = np.stack([game_lower_bound(a, b, rounds, delta=d, alpha=alpha) for a, b, d in rules])
    if scores.shape[1] >= 8 * SMOOTHING_THRESHOLDS:  # the best place on average over neighbours
        ends = (0, 0), (SMOOTHING_THRESHOLDS, SMOOTHING_THRESHOLDS)
        padded = np.pad(np.maximum(scores, -50.0), ends, mode="edge")  # -50 stands for "certifies nothing"
        windows = np.lib.stride_tricks.sliding_window_view(padded, 2 * SMOOTHING_THRESHOLDS + 1, axis=1)
        averaged = windows.mean(axis=2)
    places = averaged.argmax(axis=1)
    kind = int(np.take_along_axis(scores, places[:, None], axis=1).argmax())
    return tried.rule(values, kind, int(places[kind]))


def chance_of_first(values: Floats, own: Floats) -> Floats:
    """Fit a logistic function to ``own`` (N,) for each row of values (..., N); return its values (..., N)."""
    unit = (values - values.mean(axis=-1, keepdims=True)) / np.maximum(values.std(axis=-1, keepdims=True), 1e-300)
    ridge = 1e-6  # of each value; it keeps the slope finite even if a threshold separates the inputs
    slope = level = np.zeros_like(unit[..., :1])
    for _ in range(12):  # Newton's method
        chance = expit(slope * unit + level)
        curve, error = chance * (1 - chance), own - chance
        hessian = curve * unit**2 + ridge, curve * unit, curve + ridge
        gradient = error * unit - ridge * slope, error - ridge * level
        a, b, c, tilt, lift = (each.sum(axis=-1, keepdims=True) for each in (*hessian, *gradient))
        slope, level = slope + (c * tilt - b * lift) / (a * c - b * b), level + (a * lift - b * tilt) / (a * c - b * b)
    return np.asarray(expit(slope * unit + level))


def promising(
    values: Floats, chance: Floats, *, gap: float, delta: float, rounds: int = 0
) -> tuple[Floats, Floats, Floats]:
    """Return three arrays (S,) with a score, a number of wrong guesses and a hope per statistic.

    The score is a cautious estimate of the largest epsilon that a rule on the statistic certifies: the number of
    wrong guesses is first increased by `PROMISING_SDS` standard deviations. The returned number is that of the rule
    with this score, before the increase. The hope is an estimate of the epsilon that `_Candidate.rare_rule` would
    certify in ``rounds`` rounds; it is minus infinity if ``rounds`` is 0. ``values`` (S, N) are those of S statistics,
    ``chance`` (N,) or (S, N) is that of `best_rule`.
    """
    tried = statistics.try_rules(values, chance, gap=gap, most=SCREENING_THRESHOLDS)
    score, seen, hope = np.full(len(values), -math.inf), np.zeros(len(values)), np.full(len(values), -math.inf)
    if len(some := tried.statistics):
        score[some], best = tried.quick(values.shape[1], delta, sds=PROMISING_SDS)
        seen[some] = np.take_along_axis(tried.wrong, best[:, None], axis=1)[:, 0]
        hope[some] = tried.quick(rounds, delta, sds=RARE_SDS)[0] if rounds else -math.inf
    return score, seen, hope


MAX_CHOOSING_ELEMENTS = 2**23  # numbers of releases that are held in memory at a time: 64 MiB
MIN_ROWS = 60  # least number of planned releases of an input, for screening and for choosing
MIN_TRIALS = 100
FINALISTS = 6  # pairs that are compared again on more releases
ONE_SIDED_SHARE = 0.1  # of a rule's alpha, for its guesses of one input alone
# Each scoring: share of the certifying releases, share of alpha
LOOKS = ((0.05, 0.05), (0.25, 0.1), (0.5, 0.1), (1.0, 0.75))
# Of a suspicious claim's longer game: times the rounds, share of alpha, and releases of each input that choose it
LONGER, LONG_SHARE, LONG_ROWS = 15, 0.1, 8000
LARGE_SHARE = 0.6  # of alpha, for the longer game of a claim that is too large for the main game

TargetT = TypeVar("TargetT", VectorTarget, ValueTarget)
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Score:
    """Numbers of right and wrong guesses of a distinguisher, or of its guesses of one input, and the
    certified bound on epsilon.
    """

    pair: InputPair
    distinguisher: Distinguisher
    counts: GameCounts
    bound: float  # the certified lower bound on epsilon
    alpha: float  # the part of alpha for this event at this scoring
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
        most = min(self.trials // 20, max(250, self.trials // 160), MAX_CHOOSING_ELEMENTS // (numbers * inputs))
        rows = max(MIN_ROWS, most)
        affordable = self.target.affordable(rows * inputs, share=5 / 3, alone=self._alone) // inputs
        sampler, samples, failures = Sampler(self.target, min(rows, max(30, affordable))), [], list[str]()
        for pair in self.pairs:
            try:
                samples.append(sampler(pair))
            except MechanismFailure as failure:
                failures.append(f"pair {pair.name}: {failure}")
        loud = [sample for sample in samples if not sample.is_silent(self.target.largest)]
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
        return max(
            MIN_ROWS,
            min(trials // 8, max(3000, trials // 24), most, MAX_CHOOSING_ELEMENTS // ((FINALISTS + 1) * numbers)),
        )

    def play(self, *, alpha: float, claim: float = -math.inf) -> Check:
        """Choose distinguishers, score them, and return a check with the largest certified epsilon.

        If an epsilon is given as ``claim``, the game ends early if this claim is refuted, or if
        further rounds are unlikely to refute it.
        """
        target, samples = self.target, self.samples
        most = target.affordable(self.trials, share=8 / 3, alone=self._alone)
        rows, screened = self._choosing(min(self.trials, most)), len(samples[0].releases[0])
        certifying = max(MIN_TRIALS // 4, self.trials - screened - self._choosing(self.trials))
        finalists = 1 if self._alone else FINALISTS
        planned = {"finalists": finalists, "rows": rows, "certifying": certifying}
        games, hopeful_pairs = choose(target, samples, **planned, alpha=alpha)
        tests = sum(len(each.distinguishers) for each in games)
        most = 0 if claim > -math.inf else 2 * LONGER * certifying
        longer = target.affordable(most, share=8 / 3, alone=self._alone)
        needed = rounds_needed(target.epsilon, alpha=alpha / tests)
        share = (LARGE_SHARE if needed > certifying else LONG_SHARE) if longer > needed else 0.0  # for the longer game
        options: dict[str, Any] = {"trials": certifying, "alpha": (1 - share) * alpha / tests}
        score = certify(target, games[0], **options, claim=claim, progress=self.progress)
        if score.bound <= target.epsilon:
            enough = 2 * rounds_needed(target.epsilon, alpha=options["alpha"])  # a large claim needs many right guesses
            options["trials"] = max(certifying, int(min(enough, longer // 2)))
            further: list[Score] = [certify(target, other, **options, claim=target.epsilon) for other in games[1:]]
            score = max([score, *further], key=lambda each: each.bound)
        # For vectors, whose statistics take longer, a mere hope is not enough
        of_values = isinstance(target, ValueTarget)
        worth_it = of_values and (bool(hopeful_pairs) or share == LARGE_SHARE)
        if share and score.bound <= target.epsilon and (worth_it or _is_doubtful(score.counts, target)):
            others = hopeful_pairs if of_values else []
            longest: list[Score] = self._play_longer(score, others, longer, share * alpha)
            score = max([score, *longest], key=lambda each: each.bound)
        return self._check(score, tests)

    def _play_longer(self, score: Score, hopeful: list[InputPair], rounds: int, alpha: float) -> list[Score]:
        """Choose distinguishers anew, from more releases, and score them in a game of many ``rounds``."""
        pairs = [score.pair, *(pair for pair in hopeful if pair is not score.pair)]
        target, inputs = self.target, 2 * len(pairs)
        rows = target.affordable(LONG_ROWS * inputs, share=2 / 3, alone=self._alone) // inputs
        rows = max(MIN_ROWS, min(rows, 2**21 // (inputs * target.count_numbers(pairs[0].first))))
        games = choose_again(target, pairs, rows=rows, certifying=rounds // 2)
        each, scores = alpha / max(1, sum(len(game.distinguishers) for game in games)), list[Score]()
        for game in games:
            scores.append(certify(target, game, trials=rounds // 2, alpha=each, claim=target.epsilon))
            if scores[-1].bound > target.epsilon:
                break
        return scores

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
        evidence += f"; {_say_seen(score, played, limit=min(self.target.largest, LIMIT))}"
        if ceiling <= self.target.epsilon:
            evidence += f"; no claim above {words(ceiling)} can be refuted by so many"
        evidence = "; ".join([evidence, *self._failures])
        found = certified(
            counts, evidence, epsilon=self.target.epsilon, delta=self.target.delta, alpha=alpha, tests=tests
        )
        kind = played.kind(unit=self.target.clip_norm, varied=bool(score.said.all(axis=0).any()))
        return replace(found, kind=kind, caveat=self._caveat(score) if found.verdict is Verdict.PASSED else "")

    def _caveat(self, score: Score) -> str:
        """Say how many trials would refute the claim, if no guess was wrong and many were right."""
        counts = score.counts
        if counts.wrong or counts.right < 0.1 * counts.rounds:
            return ""
        needed = rounds_needed(self.target.epsilon, alpha=score.alpha) * self.trials / counts.right
        return f"every guess was right, and {say_trials(needed)} would refute the claim if that went on"


def _say_seen(score: Score, played: PairSample, *, limit: float) -> str:
    """Say what was seen: the two records, and how many releases on one side of a threshold came from each."""
    each, pair, side = score.distinguisher, score.pair, int(score.said.max(axis=1).argmax())
    rows = (pair.first != pair.second).any(dim=1) if getattr(pair.first, "ndim", 1) > 1 else None  # of a batch
    records = " and ".join(show(record if rows is None else record[rows]) for record in (pair.first, pair.second))
    values, high = each.statistic(played.releases[side]), (side == 0) != each.rule.flipped
    named = (place for place in range(len(values)) if each.rule.says(values[place : place + 1], side))
    such = "".join(f", such as {show(played.releases[side][place], limit=limit)}," for place in islice(named, 1))
    event = f"that score {f'at least {each.rule.high:.4g}' if high else f'below {each.rule.low:.4g}'}{such}"
    first, second = score.said[side]
    return (
        f"the records are {records}; of the releases {event} {first} came from the first and {second} from the second"
    )


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
    minus infinity, the game is scored at its end.
    """
    rounds, done, scores = 2 * trials, 0, list[Score]()
    said = np.zeros((len(game.distinguishers), 2, 2), np.int64)
    for share, part in LOOKS if claim > -math.inf else ((1.0, 1.0),):
        more = max(1, round(rounds * share)) - done
        said = said + _count_guesses(
            target,
            game,
            more,
            lambda rows, before=done: progress(before + rows, rounds),  # type: ignore[misc]
        )
        done, hopes = done + more, list[float]()
        for table, distinguisher in zip(said, game.distinguishers, strict=True):
            for counts, own in events(table, answers=distinguisher.rule.answers, rounds=done):
                bound = counts.certified_epsilon(delta=target.delta, alpha=own * part * alpha)
                scores.append(Score(game.pair, distinguisher, counts, bound, own * part * alpha, table))
                hopes.append(_hoped(counts, rounds, delta=target.delta, alpha=own * LOOKS[-1][1] * alpha))
        if max(hopes) < claim or max(score.bound for score in scores) > claim > -math.inf:
            break
    return max(scores, key=lambda score: (score.bound, score.counts.rounds))


def events(said: NDArray[np.int64], *, answers: int, rounds: int) -> Iterator[tuple[GameCounts, float]]:
    """Yield the counts of each event of a rule that names ``answers`` inputs, and the event's share of its alpha."""
    [[first, wrongly_first], [wrongly_second, second]] = said.tolist()
    every = GameCounts(right=first + second, wrong=wrongly_first + wrongly_second, rounds=rounds, answers=answers)
    yield every, 1 - (answers > 1) * 2 * ONE_SIDED_SHARE
    yield from (
        (GameCounts(right=right, wrong=wrong, rounds=rounds, answers=1), ONE_SIDED_SHARE)
        for right, wrong in ((first, wrongly_first), (second, wrongly_second))
        if answers > 1
    )


def _hoped(counts: GameCounts, rounds: int, *, delta: float, alpha: float) -> float:
    """Estimate which epsilon a rule will certify after ``rounds`` rounds, if its guesses so far were
    worse than on average by two standard deviations.
    """
    less = max(counts.wrong - 2.0 * math.sqrt(counts.wrong + 1), 0) * rounds / counts.rounds
    more = min((counts.right + 2.0 * math.sqrt(counts.right)) * rounds / counts.rounds, rounds - less)
    return float(game_lower_bound(more, less, rounds, delta=delta / 2, alpha=alpha))


def _is_doubtful(counts: GameCounts, target: AnyTarget) -> bool:
    """Return True if a claim is doubtful: a true one seldom is, with 0.7 standard deviations more wrong guesses."""
    earned = max(counts.right - target.delta * counts.answers / 2 * counts.rounds, 1e-300)
    wrong = counts.wrong + 0.7 * math.sqrt(counts.wrong + 1)
    return math.log(earned) - math.log(wrong) > target.epsilon


def play_rule(target: AnyTarget, pair: InputPair, statistic: Statistic, rule: Rule, *, rounds: int) -> GameCounts:
    """Play a game with one rule, fixed before the game, and count its right and wrong guesses."""
    game = Game(pair, (Distinguisher(name="", statistic=statistic, rule=rule),))
    [said] = _count_guesses(target, game, rounds, lambda done: None)
    return next(events(said, answers=2, rounds=rounds))[0]


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
