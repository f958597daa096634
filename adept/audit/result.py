"""The result of an audit: one `Check` for each question, and the verdict of all checks together."""

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from typing import Any

from adept.errors import AdeptError
from adept.mechanisms.guarantee import json_number, words


class Verdict(StrEnum):
    """The outcome of one check.

    ``FAILED``: the check refutes the claim, or a declaration on which the proof of the claim
    relies. ``NOTED``: the check found a defect for which the claim makes the caller responsible,
    such as noise that repeats because the caller sets a seed twice.
    """

    PASSED = "passed"
    NOTED = "noted"
    FAILED = "failed"
    UNJUDGED = "could not be judged"


class Kind(StrEnum):
    """The kinds of violations, in the order in which a verdict names them."""

    DISTRIBUTION = "distribution"  # the outputs' probabilities contradict the claim
    RANDOMNESS = "randomness"  # noise is missing, or a seed, a fork or a copy repeats it
    STATE = "state"  # outputs depend on earlier calls or on other records
    METADATA = "metadata"  # the type, the length or an error of a release reveals the record
    FLOATING_POINT = "floating point"  # the claim fails in low bits, NaN or infinity


FINITENESS = "finiteness"  # its evidence is easier to read than that of other checks of floating point
KIND_OUTCOMES = {  # the outcome of a kind, by the most serious verdict of the kind's checks
    Verdict.FAILED: "violated",
    Verdict.NOTED: "noted",
    Verdict.PASSED: "not refuted",
    Verdict.UNJUDGED: "not judged",
}


class MechanismFailure(Exception):
    """The error of a check that cannot test the mechanism; the message gives the reason."""


@dataclass(frozen=True, kw_only=True)
class Check:
    """The outcome of one question that an audit asked about a mechanism."""

    name: str = ""  # of the question
    kind: Kind = Kind.DISTRIBUTION  # of the violation that was looked for, or found
    verdict: Verdict
    statistic: float | None = None  # what was measured; ``evidence`` says in which unit
    p_value: float | None = None  # largest probability of data at least as bad if the claim is true
    threshold: float | None = None  # a smaller p-value fails: the check's share of alpha
    certified_epsilon: float | None = None  # lower bound on the true epsilon
    evidence: str  # what was measured, or why nothing could be
    caveat: str = ""  # what a reader must know if the claim is not refuted
    sees: str = ""  # what the check can and cannot see

    @classmethod
    def of(cls, *, failed: bool, evidence: str, **measured: Any) -> "Check":
        """Return a check whose verdict is FAILED if ``failed`` is true, and PASSED otherwise."""
        return cls(verdict=Verdict.FAILED if failed else Verdict.PASSED, evidence=evidence, **measured)


@dataclass(frozen=True, kw_only=True)
class AuditResult:
    """The outcomes of all checks of one audit."""

    mechanism: str
    claimed_epsilon: float
    delta: float
    dim: int | None
    trials: int
    confidence: float  # all refutations and certified bounds are true with at least this probability
    source: str
    seconds: float
    releases_judged: bool  # if False, no check judged releases, so passed checks mean nothing
    checks: tuple[Check, ...]
    caveats: tuple[str, ...] = ()  # what a reader must know if nothing is refuted; checks add more
    not_looked_at: tuple[str, ...] = ()  # defects that this audit cannot detect, in sentences

    @property
    def failed(self) -> list[Check]:
        return [check for check in self.checks if check.verdict is Verdict.FAILED]

    @property
    def violated(self) -> bool:
        """True if at least one check refutes the claim."""
        return bool(self.failed)

    @property
    def kinds(self) -> dict[str, str]:
        """Outcome per kind of violation: "violated", "noted", "not refuted" or "not judged"."""
        found = {kind: {check.verdict for check in self.checks if check.kind is kind} for kind in Kind}
        return {
            kind.value: next((word for verdict, word in KIND_OUTCOMES.items() if verdict in verdicts), "not judged")
            for kind, verdicts in found.items()
        }

    @property
    def outcome(self) -> str:
        """Outcome: "violated", "could not tell", "not refuted" (which proves nothing), "not judged"."""
        told = "could not tell" if self._doubts else "not refuted"
        return ("violated" if self.violated else told) if self.judged else "not judged"

    @property
    def _doubts(self) -> list[str]:
        """Reasons why the claim cannot hold as stated, from checks that could not certify this."""
        return [check.caveat for check in self.checks if check.verdict is Verdict.UNJUDGED and check.caveat]

    @property
    def strongest(self) -> Check | None:
        """The check with the strongest evidence; None if no check passed or failed.

        If any check refutes the claim, the result is the strongest check of the first violated kind, in the order of
        `Kind`. Otherwise, the result is the passed check with the largest certified epsilon.
        """
        passed = _most_certain([check for check in self.checks if check.verdict is Verdict.PASSED])
        return next(iter(self._with(Verdict.FAILED)), passed)

    def _with(self, verdict: Verdict) -> list[Check]:
        """Return the strongest check with this verdict of each kind of violation."""
        checks = [check for check in self.checks if check.verdict is verdict]
        strongest = (_most_certain([check for check in checks if check.kind is kind]) for kind in Kind)
        return [check for check in strongest if check is not None]

    @property
    def sentence(self) -> str:
        """The verdict in words, with the strongest evidence and the violated and noted kinds."""
        claim = f"the claim of {self.mechanism}, epsilon {self.claimed_epsilon:g}"
        if not self.judged or self.strongest is None:
            return f"Not judged: nothing could be looked at to judge {claim}."
        bound = words(self.certified_epsilon, lower=True)
        certified = f"certified epsilon at least {bound} at confidence {self.confidence:g}"
        check = self.strongest
        if self.violated:
            kinds = ", ".join(kind for kind, outcome in self.kinds.items() if outcome == "violated")
            said = f"Violation found ({kinds}): {claim}, is refuted by the check {_said(check)} ({certified})."
        else:
            read_with = "".join(f"; {caveat}" for caveat in self._caveats(check))
            found = (
                f"Could not tell whether {claim}, holds"
                if self._doubts
                else f"No violation found, which is no proof of {claim}"
            )
            said = f"{found}{read_with}; strongest evidence, {_said(check)} ({certified})."
        also = [f"Also violated: {_said(other)}." for other in self._with(Verdict.FAILED)[1:]]
        left = [f"Left to the caller: {_said(other)}." for other in self._with(Verdict.NOTED)]
        return " ".join([said, *also, *left])

    def _caveats(self, strongest: Check) -> list[str]:
        """Return the caveats that a reader must know if the claim is not refuted.

        If the strongest check has no caveat, the caveat of the check named "event" is used instead.
        """
        games = [each.caveat for each in (strongest, *self.checks) if each is strongest or each.name == "event"]
        others = [each.caveat for each in self.checks if each.certified_epsilon is None]
        return list(filter(None, [*self.caveats, *others, next(filter(None, games), "")]))

    @property
    def judged(self) -> bool:
        """True if the audit obtained releases, or if it refuted the claim without any release."""
        return self.violated or self.releases_judged

    @property
    def certified_epsilon(self) -> float:
        """The largest certified lower bound on epsilon, at least 0. NOTED checks do not count."""
        counted = (check for check in self.checks if check.verdict is not Verdict.NOTED)
        return max((check.certified_epsilon or 0.0 for check in counted), default=0.0)

    def rows(self) -> list[dict[str, str]]:
        """Return one row of a table for each check, as a dictionary from column names to texts."""
        return [
            {
                "check": check.name,
                "kind": check.kind.value,
                "verdict": check.verdict.value,
                "statistic": _short(check.statistic),
                "p-value": _short(check.p_value),
                "certified epsilon": ""
                if check.certified_epsilon is None
                else words(check.certified_epsilon, lower=True),
                "evidence": check.evidence,
            }
            for check in self.checks
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return all fields, outcomes and checks as a dictionary of JSON values."""
        named = ("violated", "kinds", "judged", "outcome", "certified_epsilon")
        return dict(_json({name: getattr(self, name) for name in named} | asdict(self)))


class NotJudged(AdeptError):
    """The error of an audit that obtained no release and did not refute the claim.

    The checks of the attribute ``result`` give the reasons.
    """

    def __init__(self, result: AuditResult) -> None:
        self.result = result
        reasons = [check.evidence for check in result.checks if check.name == "event"]
        reasons += [check.evidence for check in result.checks if check.verdict is Verdict.UNJUDGED] or ["no check"]
        super().__init__(
            f"the claim of {result.mechanism} could not be judged ({reasons[0]}): mend the mechanism and audit again"
        )


def judged(result: AuditResult) -> AuditResult:
    """Return the result; raise NotJudged if the audit could not judge the claim."""
    if not result.judged:
        raise NotJudged(result)
    return result


def judge(name: str, question: Callable[[], Check], *, sees: str, kind: Kind = Kind.DISTRIBUTION) -> Check:
    """Ask a question and return its check, which is UNJUDGED if a MechanismFailure is raised.

    ``kind`` becomes the kind of the returned check, unless the check itself found a kind other than
    DISTRIBUTION.
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
    if isinstance(value, dict):
        return {name: _json(each) for name, each in value.items()}
    if isinstance(value, tuple):
        return [*map(_json, value)]
    if isinstance(value, float):
        return None if math.isnan(value) else json_number(value)
    return value
