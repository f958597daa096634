"""Mechanisms on values instead of latents: finite alphabets, and texts; their releases are outcomes of any kind.

A record is a value: an integer of 0..K-1, a label, a sentence. ``privatize`` takes a list of values and returns one outcome for
each: a number, a string, a bit vector, a set, a tuple. The claim is the same, and so is its audit: pairs of values, rules
that guess the value from the outcome, certified on fresh outcomes. Only the statistics differ.
"""

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from adept.audit.result import MechanismFailure
from adept.audit.subject.sandbox import Caller, fresh_copy, scratch_copy
from adept.errors import ConfigurationError

Floats = NDArray[np.float64]
Array = NDArray[Any]

LARGEST_CALL = 2**12
PROBES = 32  # releases of each of two values whose time is taken
VALUES = 12  # of a large alphabet, that are tried


@dataclass
class ValueTarget:
    """One mechanism on values. Attributes as of `subject.vector.VectorTarget`.

    Attributes:
        values: some that are released before the experiment, to take the time and to see what outcomes are.
    """

    mechanism: Any
    time_limit: float = math.inf
    values: Sequence[Any] = ()
    given: Any = None
    clip_norm: float = 1.0  # the unit of numbers among outcomes
    call: Caller = field(init=False, repr=False)

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
    def supports(self) -> Callable[[Any, Any], float] | None:
        found: Callable[[Any, Any], float] | None = getattr(self.mechanism, "supports", None)
        return found

    @property
    def name(self) -> str:
        return str(getattr(self.mechanism, "name", type(self.mechanism).__name__))

    def fresh(self) -> Any:
        """Return a copy of the mechanism as it was given, which nobody has asked."""
        if self.given is None:
            raise MechanismFailure("the mechanism cannot be copied")
        return fresh_copy(self.given)

    def release(self, values: Sequence[Any]) -> Array:
        """Ask for one outcome per value, in one call; returns a numeric (B, m), or (B,) of objects."""
        outcomes = as_outcomes(self._ask(self.mechanism, values), rows=len(values), objects=self.objects)
        if not self.objects and outcomes.dtype == object:
            raise MechanismFailure("privatize returned numbers at first, and then outcomes of another kind")
        return outcomes

    def codes(self, values: Sequence[Any]) -> NDArray[np.int64]:
        """Ask for one outcome per value, in one call; returns hashes, equal for equal outcomes."""
        return np.array([hash(outcome_key(outcome)) for outcome in self.release(values)], dtype=np.int64)

    def answer(self, value: Any) -> Any:
        """Ask for one value, and return what the mechanism returns."""
        return self._ask(self.fresh() if self.memoised else self.mechanism, [value])

    def _ask(self, mechanism: Any, values: Sequence[Any]) -> Any:
        return self.call("privatize", lambda: mechanism.privatize(list(values)))

    def draw(self, record: Any, rows: int, *, alone: bool = False) -> Iterator[Array]:
        """Yield ``rows`` outcomes of one value, in chunks; of a mechanism with a memory each from a fresh copy."""
        for start in range(0, rows, LARGEST_CALL):
            count = min(LARGEST_CALL, rows - start)
            yield self._singly(record, count) if alone or self.memoised else self.release([record] * count)

    def sample(self, record: Any, rows: int, *, alone: bool = False) -> Array:
        """Return ``rows`` outcomes of one value."""
        chunks = list(self.draw(record, rows, alone=alone))
        if len({chunk.shape[1:] for chunk in chunks}) > 1:
            raise MechanismFailure("privatize returned rows of different lengths")
        return np.concatenate(chunks)

    def _singly(self, record: Any, count: int) -> Array:
        """Return outcomes of one value, each of a call of its own, all in one thread."""

        def one() -> Any:
            [outcome] = (self.fresh() if self.memoised else self.mechanism).privatize([record])
            return outcome

        outcomes = self.call("privatize", lambda: [one() for _ in range(count)])
        return as_outcomes(outcomes, rows=count, objects=self.objects)

    def centres(self, first: Any, second: Any) -> tuple[Floats, Floats]:
        return np.zeros(0), np.zeros(0)

    def silent(self, releases: Any) -> bool:
        return False

    def numbers(self, record: Any) -> int:
        return 1

    def affordable(self, rows: int, *, seconds: float, alone: bool = False) -> int:
        """Return ``rows``, or as many as the mechanism releases in so many seconds; fixed before any is looked at."""
        return max(0, min(rows, int(seconds / self._probed[0])))

    @property
    def objects(self) -> bool:
        """Are outcomes read as objects, since they are no numbers of one shape."""
        return self._probed[1]

    @cached_property
    def _probed(self) -> tuple[float, bool]:
        """How long an outcome takes, and whether outcomes are objects: asked of copies, which are not asked again."""
        batch = [value for value in self.values[:2] for _ in range(1 if self.memoised else PROBES)]
        copied = self.mechanism if self.given is None else self.fresh()

        def release() -> Any:
            if self.memoised:
                return [self.fresh().privatize([value])[0] for value in batch]
            return copied.privatize(list(batch))

        outcomes = self.call("privatize", release)
        times = [time.perf_counter()]
        for _ in range(3):
            self.call("privatize", release)
            times.append(time.perf_counter())
        each = min(after - before for before, after in pairwise(times)) / len(batch)
        return each, as_outcomes(outcomes, rows=len(batch), objects=False).dtype == object


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


def outcome_key(outcome: Any) -> Any:
    """Return an outcome as the keys of a stated distribution are compared: numbers of one place as a number."""
    plain = hashable(outcome)
    return plain[0] if isinstance(plain, tuple) and len(plain) == 1 else plain


def alphabet_of(mechanism: Any) -> list[Any] | None:
    """Return values of the finite alphabet that a mechanism declares, or None: all of them, or some of a large one.

    An ``alphabet`` (a sequence, or K for 0..K-1), ``labels``, or an integer ``size`` or ``count`` if it releases lists of integers,
    which a copy of it is asked.
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
        spread = (i * (declared - 1) // (VALUES - 1) for i in range(VALUES))
        return sorted({0, 1, declared - 1, declared // 2, *spread} - {-1})
    if not isinstance(declared, Sequence) or len(declared) < 2:
        raise ConfigurationError(f"alphabet must be an integer of at least 2 or a list of values, got {declared!r}")
    return list(declared)[: 4 * VALUES]


def _takes(mechanism: Any, values: list[Any]) -> bool:
    """Does a mechanism release these values; one with a ``size`` may also be one on latents."""
    try:
        as_outcomes(scratch_copy(mechanism).privatize(values), rows=len(values), objects=False)
    except Exception:  # noqa: BLE001 - foreign code: whatever it raises, these are not its records
        return False
    return True
