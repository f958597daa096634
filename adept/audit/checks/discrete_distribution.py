"""Audits of the law that a mechanism on values gives for its outcomes: exact, and the program against it.

Claim of `law`: a law on finitely many outcomes is (epsilon, delta)-LDP for two values if and only if the sum over outcomes of
max(0, P - e^epsilon P') is at most delta, which for delta = 0 says that no ratio exceeds e^epsilon. That is arithmetic. Whether
the program has the law that it gives, `counts` tests, outcome by outcome, against exact binomial tails.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from scipy.special import bdtr, bdtrc

from adept.audit.result import Finding, MechanismFailure
from adept.audit.target.value import ValueSubject, hashable

SECONDS = 2.0  # that a slow mechanism may take in one check


def law(subject: ValueSubject, values: Sequence[Any]) -> Finding:
    """Does the law that the mechanism gives keep its claim, between all values that are tried."""
    laws = [_law_of(subject, value) for value in values]
    worst, mass = 0.0, 0.0
    for ours in laws:
        for theirs in laws:
            worst = max([worst, *(_log_ratio(p, theirs.get(outcome, 0)) for outcome, p in ours.items())])
            limit = math.exp(subject.epsilon) if subject.epsilon < 700 else math.inf
            mass = max(
                mass, sum(max(0.0, float(p) - limit * float(theirs.get(o, 0)) * (1 + 1e-12)) for o, p in ours.items())
            )
    failed = worst > subject.epsilon * (1 + 1e-9) if subject.delta == 0 else mass > subject.delta * (1 + 1e-9) + 1e-15
    beyond = f", and delta {mass:.4g} at the claimed epsilon" if subject.delta else ""
    evidence = f"over {len(values)} values the law's largest log ratio is {worst:.6g}{beyond}"
    exact = worst if subject.delta == 0 else None
    return Finding(failed=failed, evidence=evidence, statistic=worst, certified_epsilon=exact)


def counts(subject: ValueSubject, values: Sequence[Any], *, trials: int, share: float) -> Finding:
    """Do outcomes come as often as the law says: exact binomial tails, with Bonferroni's factor over values and outcomes."""
    rows = subject.affordable(trials, seconds=SECONDS)
    tests: list[tuple[float, str]] = []
    for value in values:
        expected = _law_of(subject, value)
        seen = Counter(outcome_key(outcome) for outcome in subject.sample(value, rows))
        other = sum(count for outcome, count in seen.items() if outcome not in expected)
        tests += [
            (_binomial(seen[outcome], rows, float(p)), f"outcome of value {value!r}") for outcome, p in expected.items()
        ]
        tests.append(
            (_binomial(other, rows, max(0.0, 1 - float(sum(expected.values())))), "outcomes that the law does not have")
        )
    p, what = min(tests)
    p = min(1.0, p * len(tests))
    evidence = f"{rows} releases of each of {len(values)} values; most unlike: {what}"
    return Finding(failed=p < share, evidence=evidence, p_value=p, threshold=share)


def _law_of(subject: ValueSubject, value: Any) -> dict[Any, Any]:
    given = subject.call("law", lambda: subject.mechanism.law(value))
    if not isinstance(given, Mapping):
        raise MechanismFailure(
            f"law returned {type(given).__name__} instead of a mapping from outcomes to probabilities"
        )
    expected = {outcome_key(outcome): p for outcome, p in given.items()}
    if min(expected.values(), default=0) < 0 or abs(float(sum(expected.values())) - 1) > 1e-9:
        raise MechanismFailure("law returned probabilities that are negative or do not sum to one")
    return expected


def _log_ratio(p: Any, q: Any) -> float:
    """Return ln(p / q), of fractions without rounding before the logarithm."""
    if p == 0:
        return 0.0
    if q == 0:
        return math.inf
    ratio = Fraction(p) / Fraction(q)
    return math.log(ratio.numerator) - math.log(ratio.denominator)


def _binomial(count: int, of: int, p: float) -> float:
    """Return twice the smaller tail of a binomial count."""
    if p <= 0 or p >= 1:
        return 1.0 if count == of * p else 0.0
    lower, upper = float(bdtr(count, of, p)), float(bdtrc(count - 1, of, p)) if count else 1.0
    return min(1.0, 2 * min(lower, upper))


def outcome_key(outcome: Any) -> Any:
    """Return an outcome as a law's keys are compared: numbers of one place as a number."""
    plain = hashable(outcome)
    return plain[0] if isinstance(plain, tuple) and len(plain) == 1 else plain
