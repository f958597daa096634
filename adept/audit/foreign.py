"""Foreign code, called without trusting it: in a thread of its own, with a time limit, in the arrays that it takes.

Whatever goes wrong there becomes a `MechanismFailure` with the reason, and that becomes a check that could not be judged.
"""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from threading import Thread
from typing import Any, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from adept.audit.result import MechanismFailure

Floats = NDArray[np.float64]
FEWEST_CALLS, MOST_CALLS, TIMING_SECONDS = 4, 64, 0.1  # of taking the time of a call
Value = TypeVar("Value")

DIALECTS: dict[str, Callable[[Tensor], Any]] = {
    "torch": lambda latents: latents,
    "torch float32": lambda latents: latents.float(),
    "numpy": lambda latents: latents.numpy(),
    "numpy float32": lambda latents: latents.float().numpy(),
}


@dataclass
class Caller:
    """Calls foreign code; one call that never returned is not asked again.

    Attributes:
        time_limit: seconds that one call may take; infinite: calls run in the caller's own thread.
    """

    time_limit: float
    hung: bool = False

    def __call__(self, what: str, function: Callable[[], Value]) -> Value:
        """Run foreign code in a daemon thread.

        Raises:
            MechanismFailure: it raised, or took too long.
        """
        if self.hung:
            raise MechanismFailure(f"not asked again: an earlier call took longer than {self.time_limit:g} s")
        outcome: list[Value | BaseException] = []
        if math.isinf(self.time_limit):
            _try(function, outcome)
        else:
            thread = Thread(target=_try, args=(function, outcome), daemon=True)
            thread.start()
            thread.join(self.time_limit)
        if not outcome:
            self.hung = True
            raise MechanismFailure(f"{what} took longer than {self.time_limit:g} s")
        if isinstance(outcome[0], MechanismFailure):
            raise outcome[0]
        if isinstance(outcome[0], BaseException):
            raise MechanismFailure(f"{what} raised {type(outcome[0]).__name__}: {outcome[0]}") from outcome[0]
        return outcome[0]


def _try(function: Callable[[], Value], outcome: list[Value | BaseException]) -> None:
    """Append the function's value to ``outcome``, or what it raised."""
    try:
        outcome.append(function())
    except BaseException as error:  # noqa: BLE001 - foreign code: whatever it raises becomes a check's reason
        outcome.append(error)


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
    """Return rows of so many numbers: NaN where there were fewer, without those beyond."""
    if rows.shape[1] >= width:
        return rows[:, :width]
    return np.pad(rows, ((0, 0), (0, width - rows.shape[1])), constant_values=np.nan)


def cost(call: Callable[[], object]) -> float:
    """Return the seconds of a call: of processor time on average, one in ten may be dear, or the shortest wait if that is longer.

    The machine may be busy with something else, which delays some calls and costs no processor time.
    """
    waited, worked, begun = list[float](), time.thread_time(), time.perf_counter()
    while len(waited) < FEWEST_CALLS or (len(waited) < MOST_CALLS and time.perf_counter() < begun + TIMING_SECONDS):
        started = time.perf_counter()
        call()
        waited.append(time.perf_counter() - started)
    return max(min(waited), (time.thread_time() - worked) / len(waited))
