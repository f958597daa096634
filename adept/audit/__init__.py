"""Audits of a claim of local differential privacy: certified violations, and what each check can and cannot see."""

from adept.audit.auditor import run
from adept.audit.bounds import GameCounts, clopper_pearson, epsilon_lower_bound
from adept.audit.claim import Claim
from adept.audit.descriptions import run_description
from adept.audit.pipeline import guessing_game, replay
from adept.audit.result import AuditResult, Check, NotJudged, Verdict

__all__ = [
    "AuditResult",
    "Check",
    "Claim",
    "GameCounts",
    "NotJudged",
    "Verdict",
    "clopper_pearson",
    "epsilon_lower_bound",
    "guessing_game",
    "replay",
    "run",
    "run_description",
]
