"""The result of an audit: one `Check` per question, and the verdict that follows."""

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from typing import Any

from adept.errors import AdeptError
from adept.mechanisms.guarantee import json_number


class Verdict(StrEnum):
    """The outcome of one check.

    ``FAILED``: the check refutes the claim or a declaration that its proof needs. ``NOTED``: a
    finding that the claim leaves to the caller, such as a repeated seed.
    """

    PASSED = "passed"
    NOTED = "noted"
    FAILED = "failed"
    UNJUDGED = "could not be judged"


class Kind(StrEnum):
    """The kinds of violations, in the order in which a verdict names them."""

    DISTRIBUTION = "distribution"  # the outputs' probabilities contradict the claim
    RANDOMNESS = "randomness"  # noise is missing, or repeated by whoever sets a seed, forks or copies
    STATE = "state"  # earlier calls or other records show in outputs
    METADATA = "metadata"  # type, length or error tells
    FLOATING_POINT = "floating point"  # the claim fails in low bits, NaN or infinity


FINITENESS = "finiteness"  # says in words what other checks of floating point show in counts
KIND_OUTCOMES = {  # of a kind, by the most serious verdict of its checks
    Verdict.FAILED: "violated",
    Verdict.NOTED: "noted",
    Verdict.PASSED: "not refuted",
    Verdict.UNJUDGED: "not judged",
}


class MechanismFailure(Exception):
    """A failure of a mechanism: an error, a timeout, no release or a missing declaration."""


@dataclass(frozen=True, kw_only=True)
class Check:
    """The outcome of one question that an audit asked a mechanism."""

    name: str = ""  # of the question
    kind: Kind = Kind.DISTRIBUTION  # of the violation that was looked for, or found
    verdict: Verdict
    statistic: float | None = None  # what was measured; ``evidence`` says in which unit
    p_value: float | None = None  # the largest chance of data this bad if the claim were true
    threshold: float | None = None  # a smaller p-value fails: the check's share of alpha
    certified_epsilon: float | None = None  # lower bound on the true epsilon
    evidence: str  # what was measured, or why nothing could be
    caveat: str = ""  # what a claim that is not refuted has to be read with
    sees: str = ""  # what the check can and cannot see

    @classmethod
    def of(cls, *, failed: bool, evidence: str, **measured: Any) -> "Check":
        """Return a check that passed or failed."""
        return cls(verdict=Verdict.FAILED if failed else Verdict.PASSED, evidence=evidence, **measured)


@dataclass(frozen=True, kw_only=True)
class AuditResult:
    """All checks of one audit; their bounds hold together with probability ``confidence``."""

    mechanism: str
    claimed_epsilon: float
    delta: float
    dim: int | None
    trials: int
    confidence: float
    source: str
    seconds: float
    releases_judged: bool  # if not, passing the other checks means nothing
    checks: tuple[Check, ...]
    caveats: tuple[str, ...] = ()  # to read a verdict with that refutes nothing; checks have further ones
    not_looked_at: tuple[str, ...] = ()  # what this audit cannot have seen, in sentences

    @property
    def failed(self) -> list[Check]:
        """The checks that refute the claim."""
        return [check for check in self.checks if check.verdict is Verdict.FAILED]

    @property
    def violated(self) -> bool:
        """True if a check failed."""
        return bool(self.failed)

    @property
    def kinds(self) -> dict[str, str]:
        """The outcome for each kind: "violated", "noted", "not refuted" or "not judged"."""
        found = {kind: {check.verdict for check in self.checks if check.kind is kind} for kind in Kind}
        return {
            kind.value: next((word for verdict, word in KIND_OUTCOMES.items() if verdict in verdicts), "not judged")
            for kind, verdicts in found.items()
        }

    @property
    def outcome(self) -> str:
        """The outcome: "violated", "not refuted" (which is no proof) or "not judged"."""
        return ("violated" if self.violated else "not refuted") if self.judged else "not judged"

    @property
    def strongest(self) -> Check | None:
        """The check with the largest certified epsilon in the first violated kind, else among all."""
        failed = self._with(Verdict.FAILED)
        return failed[0] if failed else _most_certain(self._with(Verdict.PASSED))

    def _with(self, verdict: Verdict) -> list[Check]:
        """Return the strongest check of each kind with this verdict, or all that passed."""
        checks = [check for check in self.checks if check.verdict is verdict]
        if verdict is Verdict.PASSED:
            return checks
        strongest = (_most_certain([check for check in checks if check.kind is kind]) for kind in Kind)
        return [check for check in strongest if check is not None]

    @property
    def sentence(self) -> str:
        """The verdict and its strongest evidence in one sentence, then other findings."""
        claim = f"the claim of {self.mechanism}, epsilon {self.claimed_epsilon:g}"
        if not self.judged or self.strongest is None:
            return f"Not judged: nothing could be looked at to judge {claim}."
        certified = f"certified epsilon at least {self.certified_epsilon:.3g} at confidence {self.confidence:g}"
        check = self.strongest
        if self.violated:
            said = f"Violation found: {claim}, is refuted by the check {_said(check)} ({certified})."
        else:
            read_with = "".join(f"; {caveat}" for caveat in self._caveats(check))
            said = f"No violation found, which is no proof of {claim}{read_with}; strongest evidence, {_said(check)} ({certified})."
        also = [f"Also violated: {_said(other)}." for other in self._with(Verdict.FAILED)[1:]]
        left = [f"Left to the caller: {_said(other)}." for other in self._with(Verdict.NOTED)]
        return " ".join([said, *also, *left])

    def _caveats(self, strongest: Check) -> list[str]:
        """Return the caveats; of the games, the strongest adds one, or else the event does."""
        games = [each.caveat for each in (strongest, *self.checks) if each is strongest or each.name == "event"]
        others = [each.caveat for each in self.checks if each.certified_epsilon is None]
        return list(filter(None, [*self.caveats, *others, next(filter(None, games), "")]))

    @property
    def judged(self) -> bool:
        """True if the audit obtained releases, or if it refuted the claim without them."""
        return self.violated or self.releases_judged

    @property
    def certified_epsilon(self) -> float:
        """The largest certified lower bound on epsilon; zero if there is none."""
        counted = (check for check in self.checks if check.verdict is not Verdict.NOTED)
        return max((check.certified_epsilon or 0.0 for check in counted), default=0.0)

    def rows(self) -> list[dict[str, str]]:
        """Return the checks as rows of a table for people."""
        return [
            {
                "check": check.name,
                "kind": check.kind.value,
                "verdict": check.verdict.value,
                "statistic": _short(check.statistic),
                "p-value": _short(check.p_value),
                "certified epsilon": _short(check.certified_epsilon),
                "evidence": check.evidence,
            }
            for check in self.checks
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return all fields as JSON values, with the same numbers as the table."""
        plain = {name: value for name, value in asdict(self).items() if name != "checks"}
        named = ("violated", "kinds", "judged", "outcome", "certified_epsilon")
        verdicts = {name: getattr(self, name) for name in named}
        checks = [{name: _json(value) for name, value in asdict(check).items()} for check in self.checks]
        return {name: _json(value) for name, value in {**verdicts, **plain}.items()} | {"checks": checks}


class NotJudged(AdeptError):
    """The third outcome of an audit: it saw no release; ``result`` holds the reasons."""

    def __init__(self, result: AuditResult) -> None:
        self.result = result
        reasons = dict.fromkeys(check.evidence for check in result.checks if check.verdict is Verdict.UNJUDGED)
        event = next(
            (check.evidence for check in result.checks if check.name == "event"), next(iter(reasons), "no check")
        )
        super().__init__(
            f"the claim of {result.mechanism} could not be judged ({event}): mend the mechanism and audit again"
        )


def judged(result: AuditResult) -> AuditResult:
    """Return the result if it judges the claim; raise NotJudged otherwise."""
    if not result.judged:
        raise NotJudged(result)
    return result


def judge(name: str, question: Callable[[], Check], *, sees: str, kind: Kind = Kind.DISTRIBUTION) -> Check:
    """Ask one question; if the mechanism fails to answer, the outcome is "not judged".

    A check that found a kind other than distribution keeps it; any other check gets the question's
    ``kind``.
    """
    try:
        found = question()
    except MechanismFailure as failure:
        return Check(name=name, kind=kind, verdict=Verdict.UNJUDGED, evidence=str(failure), sees=sees)
    return replace(found, name=name, sees=sees, kind=kind if found.kind is Kind.DISTRIBUTION else found.kind)


def _most_certain(checks: list[Check]) -> Check | None:
    said_plainly = [check for check in checks if check.name == FINITENESS and check.verdict is Verdict.FAILED]
    return max(
        said_plainly or checks,
        key=lambda check: (check.certified_epsilon or 0.0, -(check.p_value or 0.0)),
        default=None,
    )


def _said(check: Check) -> str:
    kind = f" ({check.kind})" if check.verdict is not Verdict.PASSED else ""
    return f"{check.name}{kind}: {check.evidence}"


def _short(value: float | None) -> str:
    return "" if value is None else f"{value:.4g}"


def _json(value: Any) -> Any:
    if isinstance(value, tuple):
        return list(value)
    if isinstance(value, float):
        return None if math.isnan(value) else json_number(value)
    return value
