"""What an audit certifies must not depend on how busy the machine is; and one that is asked everything must be cheap."""

import pytest
from audit.asking import make_cheap

from adept.audit.checks import calls, discrete_distribution, independence, repeated_outputs
from adept.audit.distinguisher import experiment

PLENTY = 1e4  # seconds


@pytest.fixture(autouse=True)
def _all_the_time_in_the_world(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SCREENING_SECONDS", "CHOOSING_SECONDS", "ELSEWHERE_SECONDS"):
        monkeypatch.setattr(experiment, name, PLENTY)
    monkeypatch.setattr(calls, "GAME_SECONDS", PLENTY)
    for module in (independence, repeated_outputs, discrete_distribution):
        monkeypatch.setattr(module, "CHECK_SECONDS", PLENTY)


@pytest.fixture
def few_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ask a mechanism for few releases in calls of their own."""
    make_cheap(monkeypatch)
