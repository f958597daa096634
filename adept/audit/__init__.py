"""Audits of a claim of local differential privacy: certified violations, and what each check can and cannot see."""

from adept.audit.auditor import run
from adept.audit.bounds import GameCounts, clopper_pearson, epsilon_lower_bound
from adept.audit.descriptions import run_description
from adept.audit.pipeline import guessing_game, replay
from adept.audit.result import AuditResult, Check, Verdict

__all__ = [
    "AuditResult",
    "Check",
    "GameCounts",
    "Verdict",
    "clopper_pearson",
    "epsilon_lower_bound",
    "guessing_game",
    "replay",
    "run",
    "run_description",
]
