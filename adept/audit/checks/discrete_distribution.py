"""Discrete distribution: does the stated distribution of outcomes keep the claim, and does the program have it.

Claim of `stated`: a mechanism with finitely many outcomes is (epsilon, delta)-LDP for two values if and only if the sum over
outcomes of max(0, P - e^epsilon P') is at most delta, which for delta = 0 says that no ratio exceeds e^epsilon. That is arithmetic.
Whether the program has the distribution that it states, `frequencies` tests, outcome by outcome, against exact binomial tails.

k-ary randomised response on {0..K-1} (``adept.mechanisms.description``) needs no table, and K may be astronomical. Its claim is one
sentence: each of a record's t own numbers, mostly one, comes out with probability A / W, every other one with B / W, and A <= e^eps
B. The odds are compared with e^eps as rationals; how often an own number comes out is a binomial count, where the others fall a
uniform one; and the best guess between two records, "whose number came out", certifies an epsilon by its counts, whatever the
mechanism declares.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import stats

from adept.audit.checks.independence import seeded
from adept.audit.distinguisher.experiment import Experiment
from adept.audit.result import Finding, MechanismFailure
from adept.audit.stats.bounds import GameCounts
from adept.audit.stats.exact_tests import binomial_p_value, combined
from adept.audit.subject.value import ValueTarget, outcome_key
from adept.mechanisms.noise import exact_odds

SECONDS = 2.0  # that a slow mechanism may take in one check
BINS = 16  # of the numbers other than the true one
SLACK = Fraction(1, 1 << 58)  # by how much the best odds that integers reach may be missed
NEARLY_ALL = 40  # others than the true number, at least, for two equal runs to mean anything


def stated(experiment: Experiment[ValueTarget], alpha: float) -> Finding:
    """Does the distribution that the mechanism states keep its claim, between all values that are tried."""
    target = experiment.target
    distributions = [_distribution(target, value) for value in target.values]
    worst, mass = 0.0, 0.0
    limit = math.exp(target.epsilon) if target.epsilon < 700 else math.inf
    for ours in distributions:
        for theirs in distributions:
            worst = max([worst, *(_log_ratio(p, theirs.get(outcome, 0)) for outcome, p in ours.items())])
            beyond = (float(p) - limit * float(theirs.get(o, 0)) * (1 + 1e-12) for o, p in ours.items())
            mass = max(mass, sum(max(0.0, each) for each in beyond))
    failed = worst > target.epsilon * (1 + 1e-9) if target.delta == 0 else mass > target.delta * (1 + 1e-9) + 1e-15
    needed = f", and delta {mass:.4g} at the claimed epsilon" if target.delta else ""
    evidence = f"over {len(distributions)} values the largest log ratio is {worst:.6g}{needed}"
    exact = worst if target.delta == 0 else None
    return Finding(failed=failed, evidence=evidence, statistic=worst, certified_epsilon=exact)


def frequencies(experiment: Experiment[ValueTarget], alpha: float) -> Finding:
    """Do outcomes come as often as stated: exact binomial tails, with Bonferroni's factor over values and outcomes."""
    target = experiment.target
    rows = target.affordable(experiment.trials, seconds=SECONDS)
    tests: list[tuple[float, str]] = []
    for value in target.values:
        expected = _distribution(target, value)
        seen = Counter(outcome_key(outcome) for outcome in target.sample(value, rows))
        other = sum(count for outcome, count in seen.items() if outcome not in expected)
        what = f"outcome of value {value!r}"
        tests += [(binomial_p_value(seen[outcome], rows, float(p)), what) for outcome, p in expected.items()]
        none = max(0.0, 1 - float(sum(expected.values())))
        tests.append((binomial_p_value(other, rows, none), "outcomes that are not stated"))
    evidence = f"{rows} releases of each of {len(target.values)} values; least probable: {min(tests)[1]}"
    return combined([p for p, _ in tests], evidence, alpha=alpha)


def _distribution(target: ValueTarget, value: Any) -> dict[Any, Any]:
    if not callable(getattr(target.mechanism, "distribution", None)):
        raise MechanismFailure("the mechanism states no distribution of its outcomes")
    given = target.call("distribution", lambda: target.mechanism.distribution(value))
    if not isinstance(given, Mapping):
        kind = type(given).__name__
        raise MechanismFailure(f"distribution returned {kind} instead of a mapping from outcomes to probabilities")
    expected = {outcome_key(outcome): p for outcome, p in given.items()}
    if min(expected.values(), default=0) < 0 or abs(float(sum(expected.values())) - 1) > 1e-9:
        raise MechanismFailure("distribution returned probabilities that are negative or do not sum to one")
    return expected


def _log_ratio(p: Any, q: Any) -> float:
    """Return ln(p / q), of fractions without rounding before the logarithm."""
    if p == 0:
        return 0.0
    if q == 0:
        return math.inf
    ratio = Fraction(p) / Fraction(q)
    return math.log(ratio.numerator) - math.log(ratio.denominator)


@dataclass
class Response:
    """Releases of the smallest and of the largest numbers by k-ary randomised response.

    Attributes:
        target: a mechanism with ``count`` (K), ``odds`` (A, B) and ``privatize`` (list[int] -> list[int]; with ``heavy`` (t) above
            one, list[list[int]] -> list[int]).
        trials: releases of each of two records.
    """

    target: ValueTarget
    trials: int

    @property
    def size(self) -> int:
        """K, how many numbers there are."""
        return int(self.target.mechanism.count)

    @property
    def odds(self) -> tuple[int, int]:
        """A and B, the weights of each own number and of each other one."""
        heavy, light = self.target.mechanism.odds
        return heavy, light

    @property
    def top(self) -> int:
        """t, how many numbers a record has."""
        return int(getattr(self.target.mechanism, "heavy", 1))

    @property
    def firsts(self) -> list[int]:
        """The first own number of each record: those of the second are the last ones."""
        return [0] * self.trials + [self.size - self.top] * self.trials

    @property
    def inputs(self) -> list[Any]:
        if self.top == 1:
            return self.firsts
        return [list(range(first, first + self.top)) for first in self.firsts]

    def ask(self) -> Sequence[Any]:
        """Release the inputs once more."""
        return list(self.target.call("privatize", lambda: self.target.mechanism.privatize(self.inputs)))

    @cached_property
    def answers(self) -> Sequence[Any]:
        return self.ask()

    @property
    def released(self) -> Sequence[int]:
        """The releases.

        Raises:
            MechanismFailure: they are no numbers below K.
        """
        if len(self.answers) != len(self.inputs) or self.out_of_range:
            raise MechanismFailure("the releases are no numbers below K")
        return self.answers

    @property
    def out_of_range(self) -> int:
        return sum(not (type(out) is int and 0 <= out < self.size) for out in self.answers)

    @property
    def ranks(self) -> list[int]:
        """How far round the circle of numbers each release lies from the first own one; own ones are below t."""
        return [(out - first) % self.size for out, first in zip(self.released, self.firsts, strict=True)]

    @property
    def owned(self) -> int:
        """How many releases are own numbers."""
        return sum(rank < self.top for rank in self.ranks)


def in_range(response: Response, alpha: float) -> Finding:
    """Are the releases numbers below K, one for each input."""
    missing = len(response.inputs) - len(response.answers)
    evidence = f"{response.out_of_range} of {len(response.answers)} releases out of range"
    return Finding(failed=bool(missing or response.out_of_range), evidence=evidence)


def odds(response: Response, alpha: float) -> Finding:
    """Are the declared odds at most e^epsilon, as rationals."""
    heavy, light = response.odds
    most, unit = exact_odds(Fraction(response.target.mechanism.epsilon))
    failed = Fraction(heavy, light) > Fraction(most, unit) * (1 + SLACK)
    return Finding(failed=failed, evidence=f"A / B is {float(Fraction(heavy * unit, light * most)):.17g} of e^eps")


def kept(response: Response, alpha: float) -> Finding:
    """Are own numbers kept as often as declared, and each of them as often."""
    (heavy, light), top = response.odds, response.top
    keep = top * heavy / (top * heavy + (response.size - top) * light)
    count, rows = response.owned, len(response.inputs)
    evidence = f"an own number in {count} of {rows} releases, {keep * rows:.1f} expected"
    p_values = [float(stats.binomtest(count, rows, keep).pvalue)]
    if top > 1 and count >= 5 * top:
        own = np.bincount([rank for rank in response.ranks if rank < top], minlength=top)
        p_values.append(float(stats.chisquare(own).pvalue))
    return combined(p_values, evidence, alpha=alpha)


def replaced(response: Response, alpha: float) -> Finding:
    """Are the other numbers equally likely."""
    others = [rank - response.top for rank in response.ranks if rank >= response.top]
    size = response.size - response.top
    bins = min(BINS, size)
    if bins < 2 or len(others) < 5 * bins:
        raise MechanismFailure(f"only {len(others)} numbers were replaced: too few to test")
    edges = [-(-place * size // bins) for place in range(bins + 1)]
    counts = np.bincount([other * bins // size for other in others], minlength=bins)
    shares = np.array([float(Fraction(high - low, size)) for low, high in pairwise(edges)])
    p_value = float(stats.chisquare(counts, len(others) * shares / shares.sum()).pvalue)
    return combined([p_value], f"{len(others)} replaced numbers in {bins} bins", alpha=alpha)


def guessed(response: Response, alpha: float) -> Finding:
    """Which of the two records was released, by whose number came out; certifies a bound on epsilon, whatever is declared."""
    right, half, top = response.owned, response.trials, response.top
    wrong = sum(out >= response.size - top for out in response.released[:half])
    wrong += sum(out < top for out in response.released[half:])
    counts = GameCounts(right=right, wrong=wrong, rounds=2 * half)
    certified = counts.certified_epsilon(delta=0.0, alpha=alpha)
    evidence = f"the number that came out was an own one {right} times, one of the other record {wrong} times"
    return Finding(failed=certified > response.target.epsilon, evidence=evidence, certified_epsilon=certified)


def repeated_by_a_seed(response: Response, alpha: float) -> Finding:
    """Do seeds of torch, NumPy or random repeat the releases."""
    first, second = seeded(response.ask)
    if first == second and len(response.inputs) - response.owned < NEARLY_ALL:
        raise MechanismFailure("nearly every release is an own number: two equal runs mean nothing")
    return Finding(
        failed=first == second, evidence=f"two runs from one seed are {'equal' if first == second else 'different'}"
    )
