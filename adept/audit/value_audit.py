"""The audit of a mechanism on values: finite alphabets, exactly where the law is given; and texts."""

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from adept.audit.checks.discrete_distribution import SECONDS, counts, law, outcome_key
from adept.audit.checks.independence import LAGS, global_seeds_restored, set_global_seeds
from adept.audit.distinguisher.experiment import FEWEST_TRIALS, Arena
from adept.audit.distinguisher.pairs import Pair
from adept.audit.limits import SEES, not_looked_at
from adept.audit.result import AuditResult, Check, Finding, MechanismFailure, Verdict, judge, judged
from adept.audit.stats.two_sample import Difference, fisher, most_unlike
from adept.audit.target.metadata import unlike
from adept.audit.target.value import ValueSubject, alphabet_of, value_pairs
from adept.errors import ConfigurationError

EVENT, ALONE, DTYPE = 0.8, 0.1, 0.02
TESTS = 4  # counts, batch, neighbours, seed
ROWS = 4096
CALLS = 16  # between which outcomes are compared
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

    0.8 of alpha goes to the event, 0.1 to releases in calls of their own, 0.02 to what outcomes say beside themselves, the rest
    in equal parts to four tests (union bound).

    Raises:
        NotJudged: nothing could be released, and no law refutes the claim.
    """
    started, subject = time.monotonic(), ValueSubject(mechanism, time_limit)
    audit = _ValueAudit(subject, pairs, trials, 1 - confidence, progress)
    checks = tuple(audit.checks())
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
    refuted: bool = False  # by a check that was made already

    def checks(self) -> Iterator[Check]:
        for name, question in self.questions().items():
            yield (check := judge(name, question, sees=SEES[name]))
            self.refuted |= check.verdict is Verdict.FAILED

    def questions(self) -> dict[str, Callable[[], Finding]]:
        share = (1 - EVENT - ALONE - DTYPE) * self.alpha / TESTS
        values = list(dict.fromkeys(value for pair in self.pairs for value in (pair.first, pair.second)))
        questions: dict[str, Callable[[], Finding]] = {"event": self._event}
        if callable(getattr(self.subject.mechanism, "law", None)):
            questions["law"] = lambda: law(self.subject, values)
            questions["counts"] = lambda: counts(self.subject, values, trials=self.trials, share=share)
        questions["alone"] = self._alone
        questions["dtype"] = lambda: self._manner(values)
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

    def _manner(self, values: list[Any]) -> Finding:
        asked = [one for value in values for one in self.subject.asked(value)]
        return unlike(asked, epsilon=self.subject.epsilon, delta=self.subject.delta, alpha=DTYPE * self.alpha)

    def _alone(self) -> Finding:
        pairs = [Pair(name=f"{p.name}, alone", first=p.first, second=p.second, alone=True) for p in self.pairs[:6]]
        trials = self.subject.affordable(min(LONELY_TRIALS, self.trials), seconds=SECONDS)
        if trials < FEWEST_TRIALS:
            raise MechanismFailure(f"the mechanism is too slow for {FEWEST_TRIALS} releases in {SECONDS:g} s")
        arena, refuted = Arena(self.subject, pairs, trials, ALONE * self.alpha), self.refuted
        return arena.finding(claim=self.subject.epsilon, enough=lambda score, share: refuted)  # a first look, then


def batch(subject: ValueSubject, value: Any, *, share: float) -> Finding:
    """Are outcomes of one batch independent: equal pairs within calls against equal pairs between calls (Fisher's test).

    The first half of each call is paired within it, for several lags, the second half with the next call's.
    """
    calls = [_codes(subject, [value] * (_rows(subject) // CALLS)) for _ in range(CALLS)]
    half, found = len(calls[0]) // 2, []
    equal = np.concatenate([calls[i][half:] == calls[i + 1][half:] for i in range(0, CALLS, 2)])
    for lag in sorted({*(lag for lag in LAGS if lag < half // 2), half // 2}):
        start = np.arange(half - lag)
        start = start[start // lag % 2 == 0]
        within = np.concatenate([call[start] == call[start + lag] for call in calls])
        counts = int(within.sum()), len(within), int(equal.sum()), len(equal)
        found.append(Difference(fisher(*counts), f"equal, {lag} apart", *counts))
    return most_unlike(found, share=share, what="pairs within batches and between batches")


def neighbours(subject: ValueSubject, values: Sequence[Any], *, share: float) -> Finding:
    """Does an outcome depend on the other values of its batch: its frequencies beside one value and beside another."""
    constant, found, rows = values[0], [], _rows(subject)
    for other in (values[1], values[-1]):
        sides = [_codes(subject, [constant, neighbour] * (rows // 2))[::2] for neighbour in (constant, other)]
        for outcome, _ in Counter(np.concatenate(sides).tolist()).most_common(20):
            (a, m), (b, k) = ((int((side == outcome).sum()), len(side)) for side in sides)
            found.append(Difference(fisher(a, m, b, k), "one outcome", a, m, b, k))
    return most_unlike(found, share=share, what="releases of one value among others")


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
    return most_unlike(
        [Difference(fisher(*after, *within), "equal", *after, *within)],
        share=share,
        what="pairs after the same seed and in a call",
    )


def _rows(subject: ValueSubject) -> int:
    return max(256, subject.affordable(ROWS, seconds=SECONDS) // 4 * 4)


def _codes(subject: ValueSubject, values: Sequence[Any]) -> NDArray[np.int64]:
    """Return outcomes as hashes: equal for equal outcomes."""
    return np.array([hash(outcome_key(outcome)) for outcome in subject.release(values)], dtype=np.int64)
