"""Audits: statistical tests of a mechanism's claim to be locally differentially private."""

from adept.audit.auditor import run
from adept.audit.result import AuditResult, Check, Kind, NotJudged, Verdict
from adept.audit.stats import GameCounts, clopper_pearson, epsilon_lower_bound
from adept.audit.subject.target import Claim, JointReports

__all__ = [
    "AuditResult",
    "Check",
    "Claim",
    "GameCounts",
    "JointReports",
    "Kind",
    "NotJudged",
    "Verdict",
    "clopper_pearson",
    "epsilon_lower_bound",
    "run",
]
