"""Fixtures of audits: verdicts must not depend on the machine's load, and an audit with all questions must be cheap."""

import pytest
from audit.asking import make_cheap, shorten_games

from adept.audit.subject import target as limits

PLENTY = 1e4  # seconds


@pytest.fixture(autouse=True)
def _all_the_time_in_the_world(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "CHECK_SECONDS", PLENTY)


@pytest.fixture
def few_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ask a mechanism for few releases in calls of their own."""
    make_cheap(monkeypatch)


@pytest.fixture
def short_games(monkeypatch: pytest.MonkeyPatch) -> None:
    """Play shorter longer games, with mechanisms that are sound."""
    shorten_games(monkeypatch)
