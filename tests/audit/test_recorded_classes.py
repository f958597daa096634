"""Six classes of bugs that Re:cord-play describes, in mechanisms of our own: which of them an audit of outputs finds.

A false positive of a sound one has a chance of .001 in this file; the broken ones are missed far less often than that.
"""

import math

import numpy as np
import pytest

from adept import audit

TRIALS = 10_000


def laplace(scale: float) -> float:
    return float(np.random.default_rng().laplace(0, scale))


class Answers:
    """An answer to a question about a data set in which one record varies."""

    epsilon, delta = 1.0, 0.0
    alphabet: tuple[float, ...] = (0, 1)

    def privatize(self, values: list[float]) -> list[object]:
        return [self.one(value) for value in values]

    def one(self, value: float) -> object:
        raise NotImplementedError


class PrivateMean(Answers):
    """The noise of a mean is scaled by the number of records, where a record is added."""

    def one(self, value: float) -> object:
        data = [0.0] * 4 + [1.0] * int(value)
        return sum(data) / len(data) + laplace(1 / len(data))


class DomainInference(Answers):
    """A histogram over the values that occur."""

    def one(self, value: float) -> object:
        data = ["a"] * 5 + ["b"] * 5 + ["c"] * int(value)
        return tuple((name, round(data.count(name) + laplace(2))) for name in sorted(set(data)))


class DoubleSpending(Answers):
    """Two answers, each with the whole budget."""

    def one(self, value: float) -> object:
        return [10 + value + laplace(1), 10 + value + laplace(1)]


class NaNInjection(Answers):
    """A record of NaN passes the clamp."""

    alphabet = (0.5, math.nan)

    def one(self, value: float) -> object:
        return 0.5 + (min(1.0, max(0.0, value)) if value == value else value) + laplace(1)


class MiscalibratedNoise(Answers):
    """A scale of 1 / (2 epsilon)."""

    def one(self, value: float) -> object:
        return value + laplace(0.5)


class MiscalibratedSensitivity(Answers):
    """Clamped to [-1, 1], scaled for a range of 1."""

    alphabet = (-1.0, 1.0)

    def one(self, value: float) -> object:
        return value + laplace(1)


class SoundSum(Answers):
    """A sum as it should be."""

    def one(self, value: float) -> object:
        return value + laplace(1)


class UnreleasedDraw(Answers):
    """A draw of the wrong scale that never reaches an output."""

    def one(self, value: float) -> object:
        laplace(0.01)
        return value + laplace(1)


class SpentTwice(SoundSum):
    """A budget for one answer that a second call does not check."""

    memoised = True


BROKEN = (PrivateMean, DomainInference, DoubleSpending, NaNInjection, MiscalibratedNoise, MiscalibratedSensitivity)


@pytest.mark.slow
@pytest.mark.parametrize("kind", BROKEN, ids=lambda kind: kind.__name__)
def test_a_class_that_shows_in_outputs_is_found(kind: type[Answers]) -> None:
    trials = 10 * TRIALS if kind is PrivateMean else TRIALS  # at TRIALS it is missed now and then
    assert audit.run(kind(), trials=trials).violated


@pytest.mark.slow
@pytest.mark.parametrize("kind", [SoundSum, UnreleasedDraw], ids=lambda kind: kind.__name__)
def test_what_no_output_shows_is_outside_an_audit_of_outputs(kind: type[Answers]) -> None:
    assert not audit.run(kind(), trials=TRIALS, confidence=0.9995).violated


@pytest.mark.slow
def test_a_budget_that_later_calls_ignore_shows_in_joint_reports_alone() -> None:
    assert audit.run(SpentTwice(), trials=1000, confidence=0.9999).outcome == "not refuted"
    assert audit.run(audit.JointReports(SpentTwice(), reports=2), trials=1000).violated
