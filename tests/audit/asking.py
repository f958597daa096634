"""Cheap audits: one question alone, for which a planted defect is convicted, or all of them with few calls of the mechanism."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import pytest

from adept import audit
from adept.audit import NotJudged, Verdict, auditor, value_audit
from adept.audit.auditor import _Audit
from adept.audit.checks import batch_neighbours, batch_size, fresh_state, independence, repeated_outputs
from adept.audit.distinguisher import choice
from adept.audit.value_audit import _ValueAudit

FEW_CALLS = 100


def make_cheap(patched: pytest.MonkeyPatch) -> None:
    """Releases in calls of their own, and large ones, are what takes time; where they are not what is tested, few have to do."""
    for module, name in ((auditor, "LONELY_TRIALS"), (auditor, "COMPANY_TRIALS"), (value_audit, "LONELY_TRIALS")):
        patched.setattr(module, name, FEW_CALLS)
    patched.setattr(auditor, "LARGE_DIMS", ())
    patched.setattr(choice, "FEWEST_ROWS", 20)
    patched.setattr(independence, "BATCH_ROWS", 2 * independence.CALL_ROWS)
    patched.setattr(batch_neighbours, "FEW_BATCHES", FEW_CALLS)
    patched.setattr(fresh_state, "TRIALS", FEW_CALLS)
    patched.setattr(batch_size, "SIZES", batch_size.SIZES[::16])
    patched.setattr(repeated_outputs, "CALLS", 4 * repeated_outputs.RECORDS)
    patched.setattr(repeated_outputs, "ROWS", 8 * repeated_outputs.RECORDS)


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
    """Audits ask the named checks alone."""
    with (
        patch.object(_Audit, "_questions", _only(names, _Audit._questions)),
        patch.object(_ValueAudit, "questions", _only(names, _ValueAudit.questions)),
    ):
        yield


def _only(names: tuple[str, ...], everything: Callable[[Any], dict[str, Any]]) -> Callable[[Any], dict[str, Any]]:
    return lambda audited: {name: question for name, question in everything(audited).items() if name in names}
