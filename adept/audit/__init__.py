"""Audits of a claim of local differential privacy: certified violations, and what each check can and cannot see."""

from adept.audit.auditor import run
from adept.audit.checks.k_ary_response import run_description
from adept.audit.checks.text import guessing_game, replay
from adept.audit.result import AuditResult, Check, NotJudged, Verdict
from adept.audit.stats.bounds import GameCounts, clopper_pearson, epsilon_lower_bound
from adept.audit.target.claim import Claim

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
