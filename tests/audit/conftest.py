"""What an audit certifies must not depend on how busy the machine is; and one that is asked everything must be cheap."""

import math

import pytest
from audit.asking import make_cheap

from adept.audit import arena, auditor, calls, company, repetition, sizes, value_audit, value_laws

PLENTY = 1e4  # seconds


@pytest.fixture(autouse=True)
def _all_the_time_in_the_world(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(auditor, "PATIENCE", math.inf)
    monkeypatch.setattr(calls, "BATCH_SECONDS", PLENTY)
    for name in ("SCREENING_SECONDS", "CHOOSING_SECONDS"):
        monkeypatch.setattr(arena, name, PLENTY)
    for module in (auditor, company, repetition, sizes, value_audit, value_laws):
        monkeypatch.setattr(module, "SECONDS", PLENTY)


@pytest.fixture
def few_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ask a mechanism for few releases in calls of their own."""
    make_cheap(monkeypatch)
