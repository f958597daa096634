"""Checks of a stated distribution: does it meet the claim, and does the program draw from it?

K-ary response releases one of K numbers. Each of the record's t *own* numbers has probability A /
W, and each of the K - t other numbers has probability B / W. W is the number for which all
probabilities add up to 1. Claim: k-ary response is eps-LDP (local differential privacy) if and only
if ``A <= e^eps * B``.
"""

import math
from collections import Counter
from collections.abc import Mapping
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import stats
from scipy.special import bdtr

from adept.audit.distinguisher.guessing_game import Experiment
from adept.audit.result import Check, MechanismFailure
from adept.audit.stats.exact_tests import binomial_p_value, combined
from adept.audit.subject.value import ValueTarget, outcome_key, response_of
from adept.mechanisms.random_draws import exact_odds

MIN_BIN_COUNT = 5  # least number of releases in a bin of a chi-square test
RARE_COUNTS = 8.0, 4.0, 2.0, 1.0, 0.5  # outcomes that are expected less often are counted together
SLACK = Fraction(1, 1 << 58)  # by how much the odds may exceed the best integer odds


def stated(experiment: Experiment[ValueTarget], alpha: float) -> Check:
    """Detect a stated distribution that violates the claim. This check cannot err by chance. The
    check is blind to a program that does not draw from the distribution that it states.

    Claim: a mechanism with finitely many outcomes is (epsilon, delta)-LDP (local differential
    privacy) for two values if and only if the sum of ``max(0, P - e^epsilon * P')`` over all
    outcomes is at most delta. Here P and P' are the probabilities of an outcome for the two values,
    and the condition must hold for both orders of the values. If delta is 0, the sum must be 0, so
    no ratio P / P' may exceed e^epsilon.
    """
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
    return Check.of(failed=failed, evidence=evidence, statistic=worst, certified_epsilon=exact)


def frequencies(experiment: Experiment[ValueTarget], alpha: float) -> Check:
    """Detect outcomes whose frequencies differ from their stated probabilities, and stated outcomes
    that never come. The check is blind to differences of only a few standard deviations.

    Claim: the count of all outcomes that are rare in their value's distribution is a sum of
    independent trials of different probabilities. Its lower tail at most one below its mean is at
    most that of the binomial distribution of the same mean (Hoeffding 1956, Theorem 5).
    """
    target = experiment.target
    rows = target.affordable(experiment.trials)
    tests: list[tuple[float, str]] = []
    rare_seen, rare_mean = np.zeros(len(RARE_COUNTS), int), np.zeros(len(RARE_COUNTS))
    for value in target.values:
        expected = _distribution(target, value)
        seen = Counter(outcome_key(outcome) for outcome in target.sample(value, rows))
        other = sum(count for outcome, count in seen.items() if outcome not in expected)
        what = f"outcome of value {value!r}"
        for place, most in enumerate(RARE_COUNTS):
            rare = [outcome for outcome, p in expected.items() if rows * p < most]
            rare_seen[place] += sum(seen[outcome] for outcome in rare)
            rare_mean[place] += sum(float(expected[outcome]) for outcome in rare) / len(target.values)
        tests += [(binomial_p_value(seen[outcome], rows, float(p)), what) for outcome, p in expected.items()]
        none = max(0.0, 1 - float(sum(expected.values())))
        tests.append((binomial_p_value(other, rows, none), "outcomes that are not stated"))
    total = rows * len(target.values)
    unseen = np.where(rare_seen <= total * rare_mean - 1, bdtr(rare_seen, total, rare_mean), 1.0)
    tests += [(p, "all rare outcomes together") for p in unseen.tolist()]
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
    if p == 0:
        return 0.0
    if q == 0:
        return math.inf
    ratio = Fraction(p) / Fraction(q)
    return math.log(ratio.numerator) - math.log(ratio.denominator)


def in_range(experiment: Experiment[ValueTarget], alpha: float) -> Check:
    """Detect releases of k-ary response that are not whole numbers from 0 to k - 1."""
    (size, _), answers = _response(experiment.target), _answers(experiment)
    outside = sum(not _is_below(out, size) for out in answers)
    return Check.of(failed=outside > 0, evidence=f"{outside} of {len(answers)} releases out of range")


def odds(experiment: Experiment[ValueTarget], alpha: float) -> Check:
    """Detect that k-ary response declares a ratio of two probabilities that exceeds e^epsilon. This
    check cannot err by chance. The check is blind to a program whose draws do not have the declared
    ratio.
    """
    heavy, light = experiment.target.mechanism.odds
    most, unit = exact_odds(Fraction(experiment.target.epsilon))
    failed = Fraction(heavy, light) > Fraction(most, unit) * (1 + SLACK)
    return Check.of(failed=failed, evidence=f"A / B is {float(Fraction(heavy * unit, light * most)):.17g} of e^eps")


def kept(experiment: Experiment[ValueTarget], alpha: float) -> Check:
    """Detect that k-ary response keeps a record's own numbers too often or too rarely. If a record
    has several own numbers, also detect that some of them are released more often than others.
    """
    (size, top), (heavy, light) = _response(experiment.target), experiment.target.mechanism.odds
    ranks = _ranks(experiment)
    own = [rank for rank in ranks if rank < top]
    keep = top * heavy / (top * heavy + (size - top) * light)
    evidence = f"an own number in {len(own)} of {len(ranks)} releases, {keep * len(ranks):.1f} expected"
    p_values = [binomial_p_value(len(own), len(ranks), keep)]
    if top > 1 and len(own) >= MIN_BIN_COUNT * top:
        p_values.append(float(stats.chisquare(np.bincount(own, minlength=top)).pvalue))
    return combined(p_values, evidence, alpha=alpha)


def replaced(experiment: Experiment[ValueTarget], alpha: float) -> Check:
    """Detect that k-ary response prefers some replacements of a record's own number to others, for
    example neighbouring numbers. The check sorts the replacements into at most 16 bins, and is
    blind to patterns inside a bin.
    """
    size, top = _response(experiment.target)
    others, size = [rank - top for rank in _ranks(experiment) if rank >= top], size - top
    bins = min(16, size)
    if bins < 2 or len(others) < MIN_BIN_COUNT * bins:
        raise MechanismFailure(f"only {len(others)} numbers were replaced: too few to test")
    edges = [-(-place * size // bins) for place in range(bins + 1)]
    counts = np.bincount([other * bins // size for other in others], minlength=bins)
    shares = np.array([float(Fraction(high - low, size)) for low, high in pairwise(edges)])
    p_value = float(stats.chisquare(counts, len(others) * shares / shares.sum()).pvalue)
    return combined([p_value], f"{len(others)} replaced numbers in {bins} bins", alpha=alpha)


def _response(target: ValueTarget) -> tuple[int, int]:
    response = response_of(target.mechanism)
    if response is None:
        raise MechanismFailure("the mechanism declares no k-ary response")
    return response


def _answers(experiment: Experiment[ValueTarget]) -> list[Any]:
    target, (size, top) = experiment.target, _response(experiment.target)
    rows = target.affordable(experiment.trials)
    first, last = (list(range(start, start + top)) if top > 1 else start for start in (0, size - top))
    answers = list(target.ask([first] * rows + [last] * rows))
    if len(answers) != 2 * rows:
        raise MechanismFailure(f"privatize returned {len(answers)} numbers for {2 * rows}")
    return answers


def _ranks(experiment: Experiment[ValueTarget]) -> list[int]:
    (size, top), answers = _response(experiment.target), _answers(experiment)
    if not all(_is_below(out, size) for out in answers):
        raise MechanismFailure("the releases are no numbers below K")
    starts = np.repeat([0, 1], len(answers) // 2).tolist()
    return [(out - start * (size - top)) % size for out, start in zip(answers, starts, strict=True)]


def _is_below(out: Any, size: int) -> bool:
    return type(out) is int and 0 <= out < size
