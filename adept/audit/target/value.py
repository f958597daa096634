"""Mechanisms on values instead of latents: finite alphabets, and texts; their releases are outcomes of any kind.

A record is a value: an integer of 0..K-1, a label, a sentence. ``privatize`` takes a list of values and returns one outcome for
each: a number, a string, a bit vector, a set, a tuple. The claim is the same, and so is its audit: pairs of values, rules
that guess the value from the outcome, certified on fresh outcomes. Only the statistics differ.
"""

import copy
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from adept.audit.distinguisher.pairs import Pair
from adept.audit.distinguisher.value_statistics import Statistic, outcome_statistics
from adept.audit.result import MechanismFailure
from adept.audit.target.metadata import Asked
from adept.audit.target.sandbox import Caller
from adept.errors import ConfigurationError

Array = NDArray[Any]

LARGEST_CALL = 2**12
VALUES = 12  # of a large alphabet, that are tried


@dataclass
class ValueSubject:
    """One mechanism on values. Attributes as of `target.vector.Subject`."""

    mechanism: Any
    time_limit: float
    call: Caller = field(init=False, repr=False)
    clip_norm: float = 1.0  # the unit of numbers among outcomes
    objects: bool | None = None  # whether outcomes are read as objects; None until it is known
    _seconds: dict[Any, float] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        self.call = Caller(self.time_limit)

    @property
    def epsilon(self) -> float:
        return float(self.mechanism.epsilon)

    @property
    def delta(self) -> float:
        return float(getattr(self.mechanism, "delta", 0.0) or 0.0)

    @property
    def memoised(self) -> bool:
        return bool(getattr(self.mechanism, "memoised", False))

    @property
    def name(self) -> str:
        return str(getattr(self.mechanism, "name", type(self.mechanism).__name__))

    def release(self, values: Sequence[Any]) -> Array:
        """Ask for one outcome per value, in one call; returns a numeric (B, m), or (B,) of objects."""
        return self._read(self.call("privatize", lambda: self.mechanism.privatize(list(values))), len(values))

    def asked(self, value: Any) -> list[Asked]:
        """Return a value as it is asked for, to see what its outcome says beside itself; one of an alphabet has to be answered."""
        must = alphabet_of(self.mechanism) is not None
        return [Asked(lambda: self.call("privatize", lambda: self.mechanism.privatize([value])), must)]

    def _read(self, released: Any, rows: int) -> Array:
        outcomes = as_outcomes(released, rows=rows, objects=bool(self.objects))
        if self.objects is False and outcomes.dtype == object:
            raise MechanismFailure("privatize returned numbers at first, and then outcomes of another kind")
        return outcomes

    def draw(self, record: Any, rows: int, *, alone: bool = False) -> Iterator[Array]:
        """Yield ``rows`` outcomes of one value, in chunks; memoised ones each from a fresh copy of the mechanism."""
        for start in range(0, rows, LARGEST_CALL):
            count = min(LARGEST_CALL, rows - start)
            if alone or self.memoised:
                yield self._read(self.call("privatize", lambda c=count: self._singly(record, c)), count)  # type: ignore[misc]
            else:
                yield self.release([record] * count)

    def sample(self, record: Any, rows: int, *, alone: bool = False) -> Array:
        """Return ``rows`` outcomes of one value."""
        chunks = list(self.draw(record, rows, alone=alone))
        if len({chunk.shape[1:] for chunk in chunks}) > 1:
            raise MechanismFailure("privatize returned rows of different lengths")
        return np.concatenate(chunks)

    def _singly(self, record: Any, count: int) -> list[Any]:
        outcomes = []
        for _ in range(count):
            mechanism = copy.deepcopy(self.mechanism) if self.memoised else self.mechanism
            [outcome] = mechanism.privatize([record])
            outcomes.append(outcome)
        return outcomes

    def centres(self, pair: Pair) -> tuple[Array, Array]:
        return np.zeros(0), np.zeros(0)

    def statistics(self, sample: Any) -> Iterator[tuple[str, Statistic]]:
        return outcome_statistics(sample, supports=getattr(self.mechanism, "supports", None))

    def numbers(self, record: Any) -> int:
        return 1

    def affordable(self, rows: int, *, seconds: float, alone: bool = False) -> int:
        """Return ``rows``, or as many as the mechanism releases in so many seconds; fixed before any is looked at."""
        return max(0, min(rows, int(seconds / self._seconds.get("row", 1e-6))))

    def measure(self, *values: Any) -> None:
        """Take the time of a release, and learn whether outcomes are numbers of one shape."""
        batch = [value for value in values for _ in range(32)]
        self.release(batch[:1])
        times = [time.perf_counter()]
        for _ in range(3):
            released = self.release(batch)
            times.append(time.perf_counter())
        self._seconds["row"] = min(b - a for a, b in pairwise(times)) / len(batch)
        self.objects = released.dtype == object


def as_outcomes(released: Any, *, rows: int, objects: bool) -> Array:
    """Return outcomes as numbers (B, m) where they are numbers of one shape, else as objects (B,).

    Raises:
        MechanismFailure: there is not one outcome per value.
    """
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
    """Return an outcome as something that can be compared and counted."""
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


def alphabet_of(mechanism: Any) -> list[Any] | None:
    """Return values of the finite alphabet that a mechanism declares, or None: all of them, or some of a large one.

    An ``alphabet`` (a sequence, or K for 0..K-1), ``labels``, or an integer ``size`` or ``count`` if it releases lists of integers.
    """
    declared = getattr(mechanism, "alphabet", None)
    if declared is None and not hasattr(mechanism, "project"):
        declared = getattr(mechanism, "labels", None)
        sizes = (getattr(mechanism, name, None) for name in ("size", "count"))
        size = next((size for size in sizes if isinstance(size, int) and not isinstance(size, bool)), None)
        declared = size if declared is None and size is not None and _takes(mechanism, [0, size - 1]) else declared
    if declared is None:
        return None
    if isinstance(declared, int):
        return sorted(
            {0, 1, declared - 1, declared // 2, *(i * (declared - 1) // (VALUES - 1) for i in range(VALUES))} - {-1}
        )
    if not isinstance(declared, Sequence) or len(declared) < 2:
        raise ConfigurationError(f"alphabet must be an integer of at least 2 or a list of values, got {declared!r}")
    return list(declared)[: 4 * VALUES]


def _takes(mechanism: Any, values: list[Any]) -> bool:
    """Does a mechanism release these values; one with a ``size`` may also be one on latents."""
    try:
        as_outcomes(mechanism.privatize(values), rows=len(values), objects=False)
    except Exception:  # noqa: BLE001 - foreign code: whatever it raises, these are not its records
        return False
    return True


def value_pairs(values: Sequence[Any]) -> list[Pair]:
    """Return pairs of values: each with the next and with the first, around the circle."""
    ring = [(a, b) for a, b in zip(values, [*values[1:], values[0]], strict=True) if a != b]
    star = [(values[0], b) for b in values[2:]]
    unique = list({frozenset((i, j)): (i, j) for i, j in [*ring, *star]}.values())
    return [Pair(name=f"{a!r} and {b!r}", first=a, second=b, hard=True) for a, b in unique]
