"""Calls of foreign code: their cost is known although one in ten is expensive or rows cost nothing; any width is read."""

import gc
import math
import sys
import threading
from itertools import count
from typing import Any

import numpy as np
import pytest
import torch
from audit.asking import asked, finds
from hanging import PATIENCE_SECONDS
from torch import Tensor

from adept.audit import Claim, NotJudged
from adept.audit.checks.metadata import metadata_of
from adept.audit.result import MechanismFailure
from adept.audit.subject import target as limits
from adept.audit.subject.kinds import CALL_ELEMENTS, VectorTarget, fitted
from adept.audit.subject.target import Caller, cost

EXPENSIVE = 0.01  # seconds


class Clock:
    """The sandbox's clock, which moves where a test says so and nowhere else."""

    def __init__(self) -> None:
        self.worked = self.waited = 0.0

    def thread_time(self) -> float:
        return self.worked

    def perf_counter(self) -> float:
        return self.worked + self.waited

    def work(self, seconds: float) -> None:
        self.worked += seconds

    def wait(self, seconds: float) -> None:
        self.waited += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    moved = Clock()
    monkeypatch.setattr("adept.audit.subject.target.time", moved)
    return moved


def test_a_call_of_which_one_in_ten_is_dear_costs_its_mean(clock: Clock) -> None:
    numbers = count(1)
    found = cost(lambda: clock.work(EXPENSIVE if next(numbers) % 10 == 0 else EXPENSIVE / 10_000))
    assert found == pytest.approx(EXPENSIVE / 10, rel=0.1)


def test_the_cost_of_the_first_call_alone_is_not_the_cost_of_a_call(clock: Clock) -> None:
    """As where it imports something; taken for the cost of each, it would leave an audit a tenth of its releases."""
    costs = iter([20 * EXPENSIVE])
    assert cost(lambda: clock.work(next(costs, EXPENSIVE))) == pytest.approx(EXPENSIVE)


def test_garbage_is_not_collected_at_a_calls_expense() -> None:
    """Of a large heap that takes half a second: one of four calls would seem to cost a hundred times as much as it does."""
    collects: list[bool] = []
    cost(lambda: collects.append(gc.isenabled()))
    assert not any(collects[1:])
    assert gc.isenabled()


def test_a_call_that_waits_costs_its_shortest_wait(clock: Clock) -> None:
    waits = count(1)
    assert cost(lambda: clock.wait(EXPENSIVE * min(next(waits), 2))) == pytest.approx(2 * EXPENSIVE)


def test_releases_of_another_width_are_cut_off_or_lack_numbers() -> None:
    rows = np.ones((2, 3))
    assert fitted(rows, 2).shape == (2, 2)
    assert np.isnan(fitted(rows, 5)).sum() == 4


def test_calls_share_a_thread_that_ends_with_their_caller() -> None:
    caller = Caller(PATIENCE_SECONDS)
    threads = {caller("asking", threading.current_thread) for _ in range(3)}
    assert len(threads) == 1
    assert threading.current_thread() not in threads
    del caller
    for thread in threads:
        thread.join(PATIENCE_SECONDS)
        assert not thread.is_alive()


def test_what_a_call_raises_is_said_and_the_next_one_is_asked() -> None:
    caller = Caller(PATIENCE_SECONDS)
    with pytest.raises(MechanismFailure, match="asking raised SystemExit: 3"):
        caller("asking", lambda: sys.exit(3))
    assert caller("asking", lambda: 7) == 7
    assert Caller(math.inf)("asking", threading.current_thread) is threading.current_thread()


def test_a_call_that_does_not_return_is_the_last() -> None:
    caller, let_go = Caller(0.05), threading.Event()
    with pytest.raises(MechanismFailure, match=r"asking took longer than 0.05 s"):
        caller("asking", let_go.wait)
    let_go.set()
    with pytest.raises(MechanismFailure, match="not asked again"):
        caller("asking", lambda: 7)


def test_an_exception_may_be_a_value() -> None:
    """A foreign function that returns one has not raised it, but what is no release is a failure all the same."""
    with pytest.raises(MechanismFailure, match="asking raised ValueError: x"):
        Caller(PATIENCE_SECONDS)("asking", lambda: ValueError("x"))


class Costly:
    """Whatever is asked of it, a call costs the same."""

    epsilon = 4.0

    def __init__(self, clock: Clock) -> None:
        self.clock = clock

    def __deepcopy__(self, memo: object) -> "Costly":
        return self

    def privatize(self, latents: Tensor) -> Tensor:
        self.clock.work(EXPENSIVE)
        return latents + torch.randn_like(latents)


def test_calls_that_cost_the_same_whatever_their_rows_are_paid_for_too(clock: Clock) -> None:
    """Of the longest calls, a hundred are affordable in a second; rows that seem to cost nothing would be as many as one likes."""
    target = VectorTarget(Costly(clock), dim=1024)
    assert 0 < target.affordable(10**9, share=100 * EXPENSIVE / limits.CHECK_SECONDS) <= 100 * CALL_ELEMENTS / 1024


DTYPES = {
    "bfloat16": lambda z: z.to(torch.bfloat16),
    "sparse": lambda z: z.to_sparse(),
    "with gradient": lambda z: z.clone().requires_grad_(),
    "imaginary part alone": lambda z: torch.complex(torch.zeros_like(z), z).imag,
    "conjugate": lambda z: torch.complex(z, z).conj().imag,
}


@pytest.mark.parametrize("convert", DTYPES.values(), ids=DTYPES)
def test_releases_of_any_dtype_and_layout_are_judged(convert: Any) -> None:
    """Of vectors and of values; each of them is the record itself, so a few trials refute the claim."""
    vectors = Claim(convert, epsilon=1.0)
    values = Claim(lambda records: convert(torch.tensor(records).double()), epsilon=1.0, alphabet=2)
    one_by_one = Claim(lambda records: [*values.privatize(records)], epsilon=1.0, alphabet=2)
    for mechanism in (vectors, values, one_by_one):
        assert finds("event", mechanism, dim=4, trials=200)


@pytest.mark.parametrize("as_array", [lambda z: z, lambda z: z.numpy()], ids=["torch", "numpy"])
def test_a_record_in_the_imaginary_part_of_a_release_is_found(as_array: Any) -> None:
    mechanism = Claim(lambda z: as_array(torch.complex(torch.zeros_like(z), z)), epsilon=1.0)
    assert finds("event", mechanism, dim=4, trials=200)


def test_a_release_that_is_no_array_is_a_failure_with_its_type() -> None:
    ragged = Claim(lambda z: [[0.0] * (1 + row % 2) for row in range(len(z))], epsilon=1.0)
    with pytest.raises(NotJudged, match="privatize returned list instead of a tensor or an array"):
        asked({"event"}, ragged, dim=4, trials=200)


def test_an_attribute_of_any_dtype_is_read() -> None:
    released = torch.zeros(2)
    released.hidden = torch.ones(1, dtype=torch.bfloat16)
    assert "hidden = Tensor" in metadata_of(released)["attached"]
