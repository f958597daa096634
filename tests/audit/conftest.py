"""Fixtures of audits: verdicts must not depend on the machine's load, and an audit with all questions must be cheap."""

import pytest
from audit.asking import make_cheap

from adept.audit.subject import target as limits

PLENTY = 1e4  # seconds


@pytest.fixture(autouse=True)
def _all_the_time_in_the_world(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "CHECK_SECONDS", PLENTY)


@pytest.fixture
def few_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ask a mechanism for few releases in calls of their own."""
    make_cheap(monkeypatch)
