"""Cheap audits: one question alone, by which a planted defect is found, or all of them with few calls of the mechanism."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any
from unittest.mock import patch

import pytest

from adept import audit
from adept.audit import NotJudged, Verdict, auditor
from adept.audit.checks import calls, declarations, independence, metadata
from adept.audit.distinguisher import guessing_game, input_pairs
from adept.audit.subject import kinds
from adept.audit.subject.target import Target

FEW_CALLS = 100
FEW_RECORDS = 24
FEW_VALUES = 256
MAX_ALONE = 6 * 24  # releases in calls of their own: the least that the question about the rest of a batch takes


def make_cheap(patched: pytest.MonkeyPatch) -> None:
    """Releases in calls of their own, and large ones, are what takes time; where they are not what is tested, few have to do."""
    affordable = Target.affordable

    def afford_few(target: Target, rows: int, *, share: float = 1.0, alone: bool = False) -> int:
        return affordable(target, min(rows, MAX_ALONE) if alone else rows, share=share, alone=alone)

    patched.setattr(Target, "affordable", afford_few)
    patched.setattr(kinds, "cost", call_once)
    for name in ("ONE_TRIALS", "THREE_TRIALS", "VALUE_TRIALS", "COPY_TRIALS"):
        patched.setattr(calls, name, FEW_CALLS)
    patched.setattr(calls, "BATCH_SIZES", calls.BATCH_SIZES[::16])
    patched.setattr(auditor, "OF_VECTORS", [row for row in auditor.OF_VECTORS if row.dim in (None, 1, 2)])
    patched.setattr(guessing_game, "MIN_ROWS", 20)
    patched.setattr(input_pairs, "HARD_PAIRS", calls.COPY_PAIRS)
    patched.setattr(metadata, "SEARCH_SHARE", 0.0)
    patched.setattr(declarations, "REACH_NUMBERS", 2**13)
    patched.setattr(independence, "MAX_BATCH_ROWS", 2 * independence.CALL_ROWS)
    patched.setattr(independence, "SMALL_BATCHES", FEW_CALLS)
    patched.setattr(independence, "RECORDS", FEW_RECORDS)
    patched.setattr(independence, "MAX_CALLS", 4 * FEW_RECORDS)
    patched.setattr(independence, "MAX_CALL_OUTCOMES", 2**13)
    patched.setattr(independence, "MAX_ROWS", 8 * FEW_RECORDS)
    patched.setattr(independence, "_value_rows", lambda target, most=0: FEW_VALUES)


def shorten_games(patched: pytest.MonkeyPatch) -> None:
    """Let a longer game be three times as long as the main one, not fifteen: more rounds find no more in what is sound."""
    patched.setattr(guessing_game, "LONGER", 3)
    patched.setattr(guessing_game, "LONG_ROWS", 1000)


def call_once(call: Callable[[], object]) -> float:
    """Return no more than the least cost of a call, which is made as often as it takes to see it fail."""
    call()
    return 1e-9


def failed(result: audit.AuditResult) -> set[str]:
    return {check.name for check in result.checks if check.verdict is Verdict.FAILED}


def failed_of(names: set[str], mechanism: Any, **options: Any) -> set[str]:
    """Audit a mechanism by the named checks alone; return those that failed, none if none could be judged."""
    return failed(judged(names, mechanism, **options))


def finds(check: str, mechanism: Any, *, tries: int = 3, **options: Any) -> bool:
    """Audit up to ``tries`` times by a check alone; return True as soon as an audit finds a violation.

    Releases are random: a search that finds nine in ten misses one in a thousand three times running. False alarms at the
    default confidence are one in 300 of three audits, so a check that has become blind still shows.
    """
    return any(failed_of({check}, mechanism, **options) == {check} for _ in range(tries))


def asked(names: set[str], mechanism: Any, **options: Any) -> audit.AuditResult:
    """Audit a mechanism by the named checks alone."""
    with only_questions(*names):
        return audit.run(mechanism, **options)


def only_questions(*names: str) -> AbstractContextManager[object]:
    """Let audits ask the named questions alone."""
    vectors, values = ([row for row in table if row.name in names] for table in (auditor.OF_VECTORS, auditor.OF_VALUES))
    return patch.multiple(auditor, OF_VECTORS=vectors, OF_VALUES=values)


def judged(names: set[str], mechanism: Any, **options: Any) -> audit.AuditResult:
    """Audit by the named checks alone; return the result even if they obtained no release."""
    try:
        return asked(names, mechanism, **options)
    except NotJudged as unjudged:
        return unjudged.result
