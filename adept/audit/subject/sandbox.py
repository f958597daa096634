"""Foreign code, called without trusting it: in a thread of its own, with a time limit, in the arrays that it takes.

Whatever goes wrong there becomes a `MechanismFailure` with the reason, and that becomes a check that could not be judged.
"""

import copy
import gc
import math
import time
import weakref
from collections.abc import Callable
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from adept.audit.result import MechanismFailure

Floats = NDArray[np.float64]
MIN_TIMED_CALLS, MAX_TIMED_CALLS, TIMING_SECONDS = 4, 64, 0.1  # of taking the time of a call
Value = TypeVar("Value")
_Call = tuple[Callable[[], Any], "SimpleQueue[Any]"]

ARRAYS: dict[str, Callable[[Tensor], Any]] = {
    "torch": lambda latents: latents,
    "torch float32": lambda latents: latents.float(),
    "numpy": lambda latents: latents.numpy(),
    "numpy float32": lambda latents: latents.float().numpy(),
}


def fresh_copy(mechanism: Any) -> Any:
    """Return a copy of a mechanism.

    Raises:
        MechanismFailure: it cannot be copied.
    """
    try:
        return copy.deepcopy(mechanism)
    except Exception as error:  # foreign code: whatever it raises, there is no copy
        raise MechanismFailure(f"the mechanism cannot be copied ({type(error).__name__})") from error


def scratch_copy(mechanism: Any) -> Any:
    """Return a copy of a mechanism, or itself where there can be none."""
    try:
        return fresh_copy(mechanism)
    except MechanismFailure:
        return mechanism


class Caller:
    """Calls foreign code; one call that never returned is not asked again.

    All calls of a caller run in one daemon thread: a thread for each would take longer than what most of them do.

    Args:
        time_limit: seconds that one call may take; infinite: calls run in the caller's own thread.
    """

    def __init__(self, time_limit: float) -> None:
        self.time_limit, self.hung = time_limit, False
        self._calls: SimpleQueue[_Call | None] = SimpleQueue()
        self._thread: Thread | None = None

    def __call__(self, what: str, function: Callable[[], Value]) -> Value:
        """Run foreign code.

        Raises:
            MechanismFailure: it raised, or took too long.
        """
        if self.hung:
            raise MechanismFailure(f"not asked again: an earlier call took longer than {self.time_limit:g} s")
        try:
            outcome = _tried(function) if math.isinf(self.time_limit) else self._in_thread(function)
        except Empty:
            self.hung = True
            raise MechanismFailure(f"{what} took longer than {self.time_limit:g} s") from None
        if isinstance(outcome, MechanismFailure):
            raise outcome
        if isinstance(outcome, BaseException):
            raise MechanismFailure(f"{what} raised {type(outcome).__name__}: {outcome}") from outcome
        return outcome

    def _in_thread(self, function: Callable[[], Value]) -> Value | BaseException:
        if self._thread is None:
            self._thread = Thread(target=_serve, args=(self._calls,), daemon=True)
            self._thread.start()
            weakref.finalize(self, self._calls.put, None)  # the thread ends with its caller
        answer: SimpleQueue[Value | BaseException] = SimpleQueue()  # one for each call: none gets another's answer
        self._calls.put((function, answer))
        return answer.get(timeout=self.time_limit)


def _serve(calls: "SimpleQueue[_Call | None]") -> None:
    while call := calls.get():
        function, answer = call
        answer.put(_tried(function))
        del call, function, answer  # what they hold would live on until the next call


def _tried(function: Callable[[], Value]) -> Value | BaseException:
    try:
        return function()
    except BaseException as error:  # noqa: BLE001 - foreign code: whatever it raises becomes a check's reason
        return error


def as_rows(value: Any, *, rows: int, what: str) -> Floats:
    """Return a release as float64 (rows, m): a tensor, an array or a list of numbers, of any dimension m.

    Raises:
        MechanismFailure: it is none of these, or has another number of rows.
    """
    if isinstance(value, Tensor):
        value = value.detach().cpu().to(torch.float64).numpy()
    try:
        array = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise MechanismFailure(f"{what} returned {type(value).__name__} instead of a tensor or an array") from None
    if array.ndim == 0 or len(array) != rows:
        raise MechanismFailure(f"{what} returned shape {array.shape} for {rows} latents: one row each is asked for")
    if not array.size:
        raise MechanismFailure(f"{what} returned rows of no numbers")
    return array.reshape(rows, -1)


def fitted(rows: NDArray[np.float64], width: int) -> NDArray[np.float64]:
    if rows.shape[1] >= width:
        return rows[:, :width]
    return np.pad(rows, ((0, 0), (0, width - rows.shape[1])), constant_values=np.nan)


def cost(call: Callable[[], object]) -> float:
    """Return the seconds of a call: of processor time on average, as one in ten may be expensive, or the shortest wait.

    Neither the first call of all nor Python's collecting of garbage is counted.
    """
    call()
    collects = gc.isenabled()
    gc.disable()
    try:
        return _timed(call)
    finally:
        if collects:
            gc.enable()


def _timed(call: Callable[[], object]) -> float:
    waited, worked, begun = list[float](), time.thread_time(), time.perf_counter()
    while len(waited) < MIN_TIMED_CALLS or (
        len(waited) < MAX_TIMED_CALLS and time.perf_counter() < begun + TIMING_SECONDS
    ):
        started = time.perf_counter()
        call()
        waited.append(time.perf_counter() - started)
    return max(min(waited), (time.thread_time() - worked) / len(waited))
