"""What an audit certifies must not depend on how busy the machine is on which its tests run."""

import math

import pytest

from adept.audit import arena, auditor, calls, company, repetition, value_audit, value_laws

PLENTY = 1e4  # seconds


@pytest.fixture(autouse=True)
def _all_the_time_in_the_world(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(auditor, "PATIENCE", math.inf)
    monkeypatch.setattr(calls, "BATCH_SECONDS", PLENTY)
    for name in ("SCREENING_SECONDS", "CHOOSING_SECONDS"):
        monkeypatch.setattr(arena, name, PLENTY)
    for module in (auditor, company, repetition, value_audit, value_laws):
        monkeypatch.setattr(module, "SECONDS", PLENTY)
