"""The audit of a mechanism on values: finite alphabets, exactly where the law is given; and texts.

Claim of `law`: a law on finitely many outcomes is (epsilon, delta)-LDP for two values if and only if the sum over outcomes of
max(0, P - e^epsilon P') is at most delta, which for delta = 0 says that no ratio exceeds e^epsilon. That is arithmetic. Whether
the program has the law that it gives, `counts` tests, outcome by outcome, against exact binomial tails.
"""

import math
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtr, bdtrc
from torch import Tensor

from adept.audit.arena import FEWEST_TRIALS, Arena
from adept.audit.calls import LAGS, global_seeds_restored, set_global_seeds
from adept.audit.exact_tests import Difference, fisher, smallest
from adept.audit.pairs import Pair
from adept.audit.result import AuditResult, Finding, MechanismFailure, Verdict, judge, judged
from adept.audit.sight import SEES, not_looked_at
from adept.audit.values import ValueSubject, alphabet_of, hashable, value_pairs
from adept.errors import ConfigurationError

EVENT, ALONE = 0.8, 0.1
TESTS = 4  # counts, batch, neighbours, seed
ROWS = 2048
SECONDS = 2.0
LONELY_TRIALS = 3000


def given_values(mechanism: Any, pairs: Sequence[tuple[Any, Any]] | None) -> list[Pair] | None:
    """Return the pairs of values to audit, or None if the mechanism is one on latents.

    Raises:
        ConfigurationError: they are not pairs of two different values.
    """
    mine = []
    for number, pair in enumerate(pairs if isinstance(pairs, Sequence) else (), start=1):
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise ConfigurationError(f"pairs must each hold two records, got {type(pair).__name__} as pair {number}")
        if isinstance(pair[0], Tensor | np.ndarray | list):
            return None
        if pair[0] == pair[1]:
            raise ConfigurationError(f"pairs must hold two different values, got the same twice in pair {number}")
        mine.append(Pair(name=f"given {number}", first=pair[0], second=pair[1], hard=True))
    values = alphabet_of(mechanism)
    return mine + value_pairs(values) if values else mine or None


def audit_values(
    mechanism: Any,
    pairs: list[Pair],
    *,
    trials: int,
    confidence: float,
    time_limit: float,
    progress: Callable[[int, int], None] | None = None,
) -> AuditResult:
    """Audit a claim on values: as `adept.audit.run`, which calls this.

    0.8 of alpha goes to the event, 0.1 to releases in calls of their own, the rest in equal parts to four tests (union bound).

    Raises:
        NotJudged: nothing could be released, and no law refutes the claim.
    """
    started, subject = time.monotonic(), ValueSubject(mechanism, time_limit)
    audit = _ValueAudit(subject, pairs, trials, 1 - confidence, progress)
    checks = tuple(judge(name, question, sees=SEES[name]) for name, question in audit.questions().items())
    result = AuditResult(
        mechanism=subject.name,
        claimed_epsilon=subject.epsilon,
        delta=subject.delta,
        dim=None,
        trials=trials,
        confidence=confidence,
        source="release",
        seconds=time.monotonic() - started,
        releases_judged=any(check.name == "event" and check.verdict is not Verdict.UNJUDGED for check in checks),
        checks=checks,
        not_looked_at=not_looked_at(checks, trials=trials, claimed=subject.epsilon, alpha=EVENT * (1 - confidence)),
    )
    return judged(result)


@dataclass
class _ValueAudit:
    subject: ValueSubject
    pairs: list[Pair]
    trials: int
    alpha: float
    progress: Callable[[int, int], None] | None

    def questions(self) -> dict[str, Callable[[], Finding]]:
        share = (1 - EVENT - ALONE) * self.alpha / TESTS
        values = list(dict.fromkeys(value for pair in self.pairs for value in (pair.first, pair.second)))
        questions: dict[str, Callable[[], Finding]] = {"event": self._event}
        if callable(getattr(self.subject.mechanism, "law", None)):
            questions["law"] = lambda: law(self.subject, values)
            questions["counts"] = lambda: counts(self.subject, values, trials=self.trials, share=share)
        questions["alone"] = self._alone
        if not self.subject.memoised:
            questions["batch"] = lambda: batch(self.subject, values[0], share=share)
            questions["neighbours"] = lambda: neighbours(self.subject, values, share=share)
            questions["seed"] = lambda: seed(self.subject, values[0], share=share)
        return questions

    def _event(self) -> Finding:
        self.subject.measure(self.pairs[0].first, self.pairs[0].second)
        arena, done = Arena(self.subject, self.pairs, self.trials, EVENT * self.alpha), 0

        def advance(rows: int) -> None:
            nonlocal done
            done += rows
            if self.progress is not None:
                self.progress(done, 2 * arena.certifying)

        return arena.finding(advance=advance)

    def _alone(self) -> Finding:
        pairs = [Pair(name=f"{p.name}, alone", first=p.first, second=p.second, alone=True) for p in self.pairs[:6]]
        trials = self.subject.affordable(min(LONELY_TRIALS, self.trials), seconds=SECONDS)
        if trials < FEWEST_TRIALS:
            raise MechanismFailure(f"the mechanism is too slow for {FEWEST_TRIALS} releases in {SECONDS:g} s")
        return Arena(self.subject, pairs, trials, ALONE * self.alpha).finding()


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
        seen = Counter(_key(outcome) for outcome in subject.sample(value, rows))
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


def batch(subject: ValueSubject, value: Any, *, share: float) -> Finding:
    """Are outcomes of one batch independent: equal pairs within a call against equal pairs between calls (Fisher's test)."""
    first, second = (_codes(subject, [value] * _rows(subject)) for _ in range(2))
    half, found = len(first) // 2, []
    between = int((first[half:] == second[half:]).sum()), len(first) - half
    for lag in sorted({*(lag for lag in LAGS if lag < half // 2), half // 2}):
        start = np.arange(half - lag)
        start = start[start // lag % 2 == 0]
        counts = int((first[start] == first[start + lag]).sum()), len(start), *between
        found.append(Difference(fisher(*counts), f"equal, {lag} apart", *counts))
    return _finding(found, share, "pairs within a batch and between batches")


def neighbours(subject: ValueSubject, values: Sequence[Any], *, share: float) -> Finding:
    """Does an outcome depend on the other values of its batch: its frequencies beside one value and beside another."""
    constant, found, rows = values[0], [], _rows(subject)
    for other in (values[1], values[-1]):
        sides = [_codes(subject, [constant, neighbour] * (rows // 2))[::2] for neighbour in (constant, other)]
        for outcome, _ in Counter(np.concatenate(sides).tolist()).most_common(20):
            (a, m), (b, k) = ((int((side == outcome).sum()), len(side)) for side in sides)
            found.append(Difference(fisher(a, m, b, k), "one outcome", a, m, b, k))
    return _finding(found, share, "releases of one value among others")


def seed(subject: ValueSubject, value: Any, *, share: float) -> Finding:
    """Is the randomness beyond the reach of seeds: equal pairs of two calls after the same seeds, against pairs within a call."""
    rows, calls = min(_rows(subject), 512), []
    with global_seeds_restored():
        for _ in range(2):
            set_global_seeds()
            calls.append(_codes(subject, [value] * rows))
    half = rows // 2
    after = int((calls[0][half:] == calls[1][half:]).sum()), rows - half
    within = int((calls[0][:half:2] == calls[0][1:half:2]).sum()), len(calls[0][:half:2])
    return _finding(
        [Difference(fisher(*after, *within), "equal", *after, *within)],
        share,
        "pairs after the same seed and in a call",
    )


def _rows(subject: ValueSubject) -> int:
    return max(256, subject.affordable(ROWS, seconds=SECONDS) // 4 * 4)


def _codes(subject: ValueSubject, values: Sequence[Any]) -> NDArray[np.int64]:
    """Return outcomes as hashes: equal for equal outcomes."""
    return np.array([hash(_key(outcome)) for outcome in subject.release(values)], dtype=np.int64)


def _key(outcome: Any) -> Any:
    """Return an outcome as a law's keys are compared: numbers of one place as a number."""
    plain = hashable(outcome)
    return plain[0] if isinstance(plain, tuple) and len(plain) == 1 else plain


def _law_of(subject: ValueSubject, value: Any) -> dict[Any, Any]:
    given = subject.call("law", lambda: subject.mechanism.law(value))
    if not isinstance(given, Mapping):
        raise MechanismFailure(
            f"law returned {type(given).__name__} instead of a mapping from outcomes to probabilities"
        )
    expected = {_key(outcome): p for outcome, p in given.items()}
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


def _finding(found: list[Difference], share: float, what: str) -> Finding:
    p, least = smallest(found)
    return Finding(
        failed=p < share,
        evidence=f"{what}; most unlike: {least}",
        statistic=least.ours / max(1, least.ours_of),
        p_value=p,
        threshold=share,
    )
