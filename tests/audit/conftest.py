"""What an audit certifies must not depend on how busy the machine is; and one that is asked everything must be cheap."""

import math

import pytest
from audit.asking import make_cheap

from adept.audit.checks import batch_neighbours, batch_size, discrete_distribution, independence, repeated_outputs
from adept.audit.distinguisher import experiment

PLENTY = 1e4  # seconds


@pytest.fixture(autouse=True)
def _all_the_time_in_the_world(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(experiment, "PATIENCE", math.inf)
    for name in ("SCREENING_SECONDS", "CHOOSING_SECONDS"):
        monkeypatch.setattr(experiment, name, PLENTY)
    for module in (experiment, independence, batch_neighbours, repeated_outputs, batch_size, discrete_distribution):
        monkeypatch.setattr(module, "SECONDS", PLENTY)


@pytest.fixture
def few_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ask a mechanism for few releases in calls of their own."""
    make_cheap(monkeypatch)
