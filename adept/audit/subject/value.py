"""Mechanisms under audit whose records are values, such as integers, labels or sentences."""

import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from adept.audit.result import MechanismFailure
from adept.audit.subject.target import Target, cost, try_copy
from adept.errors import ConfigurationError

Array = NDArray[Any]

CALL_ROWS = 2**12


@dataclass
class ValueTarget(Target):
    """A mechanism under audit whose records are values."""

    values: Sequence[Any] = ()  # the values that the audit tries

    def release(self, values: Sequence[Any]) -> Array:
        """Release values in one call; return the outcomes as numbers (B, m) or as objects (B,)."""
        outcomes = as_outcomes(self.ask(list(values)), rows=len(values), objects=self.objects)
        if not self.objects and outcomes.dtype == object:
            raise MechanismFailure("privatize returned numbers at first, and then outcomes of another kind")
        return outcomes

    def codes(self, values: Sequence[Any]) -> NDArray[np.int64]:
        """Release values in one call; return a hash of each outcome, equal for equal outcomes."""
        return np.array([hash(outcome_key(outcome)) for outcome in self.release(values)], dtype=np.int64)

    def of_copy(self) -> "ValueTarget":
        """Return a copy of this target, with a fresh copy of its mechanism."""
        copied = copy.copy(self)  # keeps the cached `_probed`: both read outcomes in one way
        copied.mechanism = self.fresh()
        return copied

    def answer(self, value: Any) -> Any:
        return self.ask([value], self.next)

    def draw(self, record: Any, rows: int, *, alone: bool = False) -> Iterator[Array]:
        for start in range(0, rows, CALL_ROWS):
            values = [record] * min(CALL_ROWS, rows - start)
            if alone or self.memoised:
                outcomes = self.call("privatize", lambda values=values: self._singly(values))  # type: ignore[misc]
                yield as_outcomes(outcomes, rows=len(values), objects=self.objects)
            else:
                yield self.release(values)

    def _singly(self, values: Sequence[Any]) -> list[Any]:
        outcomes = []
        for value in values:
            [outcome] = self.next.privatize([value])
            outcomes.append(outcome)
        return outcomes

    def seconds_each(self, *, alone: bool) -> float:
        return self._probed[0]

    @property
    def objects(self) -> bool:
        """True if outcomes are kept as Python objects, since not all are numbers of one shape."""
        return self._probed[1]

    @cached_property
    def _probed(self) -> tuple[float, bool]:
        """Seconds per outcome, and the value of `objects`; both are found by trial releases."""
        batch = [value for value in self.values[:2] for _ in range(1 if self.memoised else 32)]
        copied = self.scratch

        def release() -> Any:
            return self._singly(batch) if self.memoised else copied.privatize(list(batch))

        outcomes = self.call("privatize", release)
        each = cost(lambda: self.call("privatize", release)) / len(batch)
        return each, as_outcomes(outcomes, rows=len(batch), objects=False).dtype == object


def as_outcomes(released: Any, *, rows: int, objects: bool) -> Array:
    """Return numbers (B, m) if all outcomes are numbers of one shape, or else objects (B,)."""
    if isinstance(released, Tensor):
        released = released.detach().cpu().numpy()
    try:
        outcomes = list(released)
    except TypeError:
        raise MechanismFailure(f"privatize returned {type(released).__name__} instead of a list of outcomes") from None
    if len(outcomes) != rows:
        raise MechanismFailure(f"privatize returned {len(outcomes)} outcomes for {rows} values")
    try:
        numbers = np.asarray(released if isinstance(released, np.ndarray) else outcomes)
    except ValueError:
        numbers = np.empty(0, dtype=object)
    small = numbers.dtype.kind in "biuf" and (
        numbers.dtype.kind == "f" or not numbers.size or abs(numbers).max() < 2**53
    )
    if small and len(numbers) == rows and not objects:
        return np.nan_to_num(numbers.reshape(rows, -1).astype(np.float64), nan=2e99, posinf=1e99, neginf=-1e99)
    things = np.empty(rows, dtype=object)
    things[:] = [hashable(outcome) for outcome in outcomes]
    return things


def hashable(outcome: Any) -> Any:
    """Convert an outcome to a hashable value, so that equal outcomes can be counted."""
    match outcome:
        case Tensor():
            return hashable(outcome.detach().cpu().numpy())
        case np.ndarray():
            return tuple(outcome.ravel().tolist())
        case np.generic():
            return outcome.item()
        case list() | tuple():
            return tuple(map(hashable, outcome))
        case set() | frozenset():
            return frozenset(map(hashable, outcome))
        case dict():
            return frozenset((key, hashable(value)) for key, value in outcome.items())
        case _:
            return outcome


def outcome_key(outcome: Any) -> Any:
    """Convert an outcome to a key of a dictionary; a tuple of one member becomes this member."""
    plain = hashable(outcome)
    return plain[0] if isinstance(plain, tuple) and len(plain) == 1 else plain


def alphabet_of(mechanism: Any) -> Sequence[Any] | None:
    """Return the alphabet that a mechanism declares by ``alphabet`` (a sequence of values, or K for
    the integers 0 to K - 1), by ``labels``, or by an integer ``size`` or ``count``; for k-ary
    response with several own numbers, return two values of the alphabet.
    """
    if (response := response_of(mechanism)) is not None and response[1] > 1:
        count, top = response
        return [tuple(range(top)), tuple(range(count - top, count))]
    declared = getattr(mechanism, "alphabet", None)
    if declared is None and not hasattr(mechanism, "project"):
        declared = getattr(mechanism, "labels", None)
        sizes = (getattr(mechanism, name, None) for name in ("size", "count"))
        size = next((size for size in sizes if isinstance(size, int) and not isinstance(size, bool)), None)
        declared = size if declared is None and size is not None and _takes(mechanism, [0, size - 1]) else declared
    if declared is None or isinstance(declared, int):
        return None if declared is None else range(max(2, declared))
    if not isinstance(declared, Sequence) or len(declared) < 2:
        raise ConfigurationError(f"alphabet must be an integer of at least 2 or a list of values, got {declared!r}")
    return declared


def some_of(alphabet: Sequence[Any]) -> list[Any]:
    """Return a few values of an alphabet: spread over a range, or the first ones of a list."""
    if not isinstance(alphabet, range):
        return list(alphabet[:48])
    last = len(alphabet) - 1
    return sorted({0, 1, last, len(alphabet) // 2, *(i * last // 11 for i in range(12))})


def response_of(mechanism: Any) -> tuple[int, int] | None:
    """Return the integers K and t if a mechanism declares k-ary response; otherwise return None.

    The mechanism declares ``count`` (K), ``heavy`` (t, by default 1) and ``odds``, two integers A
    and B: each of the t numbers that belong to a record has A / B times the probability of any
    other number (`checks.declarations`).
    """
    size, odds = getattr(mechanism, "count", None), getattr(mechanism, "odds", None)
    if not isinstance(size, int) or not isinstance(odds, tuple) or len(odds) != 2:
        return None
    return size, int(getattr(mechanism, "heavy", 1))


def _takes(mechanism: Any, values: list[Any]) -> bool:
    copied = try_copy(mechanism)
    try:
        as_outcomes((mechanism if copied is None else copied).privatize(values), rows=len(values), objects=False)
    except Exception:  # noqa: BLE001 - foreign code: whatever it raises, these are not its records
        return False
    return True
