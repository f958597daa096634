"""Cheap audits: one question alone, by which a planted defect is found, or all of them with few calls of the mechanism."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import pytest

from adept import audit
from adept.audit import NotJudged, Verdict, checks_and_alpha
from adept.audit.checks import fresh_state_and_batch_size, repeated_outputs, shared_noise_and_neighbours
from adept.audit.distinguisher import guessing_game

FEW_CALLS = 100


def make_cheap(patched: pytest.MonkeyPatch) -> None:
    """Releases in calls of their own, and large ones, are what takes time; where they are not what is tested, few have to do."""
    for name in ("ONE_TRIALS", "THREE_TRIALS", "VALUE_TRIALS", "COPY_TRIALS"):
        patched.setattr(fresh_state_and_batch_size, name, FEW_CALLS)
    patched.setattr(checks_and_alpha, "OF_VECTORS", [row for row in checks_and_alpha.OF_VECTORS if row.dim != 1024])
    patched.setattr(guessing_game, "MIN_ROWS", 20)
    patched.setattr(shared_noise_and_neighbours, "MAX_BATCH_ROWS", 2 * shared_noise_and_neighbours.CALL_ROWS)
    patched.setattr(shared_noise_and_neighbours, "SMALL_BATCHES", FEW_CALLS)
    patched.setattr(fresh_state_and_batch_size, "BATCH_SIZES", fresh_state_and_batch_size.BATCH_SIZES[::16])
    patched.setattr(repeated_outputs, "MAX_CALLS", 4 * repeated_outputs.RECORDS)
    patched.setattr(repeated_outputs, "MAX_ROWS", 8 * repeated_outputs.RECORDS)


def failed(result: audit.AuditResult) -> set[str]:
    return {check.name for check in result.checks if check.verdict is Verdict.FAILED}


def failed_of(names: set[str], mechanism: Any, **options: Any) -> set[str]:
    """Audit a mechanism by the named checks alone; return those that failed, none if none could be judged."""
    try:
        return failed(asked(names, mechanism, **options))
    except NotJudged as unjudged:
        return failed(unjudged.result)


def asked(names: set[str], mechanism: Any, **options: Any) -> audit.AuditResult:
    """Audit a mechanism by the named checks alone."""
    with only(*names):
        return audit.run(mechanism, **options)


@contextmanager
def only(*names: str) -> Iterator[None]:
    """Audits ask the named questions alone."""
    with (
        patch.object(
            checks_and_alpha,
            "OF_VECTORS",
            [row for row in checks_and_alpha.OF_VECTORS if row.name in names],
        ),
        patch.object(
            checks_and_alpha,
            "OF_VALUES",
            [row for row in checks_and_alpha.OF_VALUES if row.name in names],
        ),
    ):
        yield
