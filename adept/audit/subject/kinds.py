"""Mechanisms under audit by the kind of their records: values, such as labels or sentences, and vectors."""

import copy
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from adept.audit.result import MechanismFailure
from adept.audit.stats import NOISES, Floats, Noise
from adept.audit.subject.target import Target, cost, try_copy
from adept.errors import ConfigurationError
from adept.mechanisms.clip_to_grid import NORM_ORDER, clip_latents

Array = NDArray[Any]

CALL_ELEMENTS = 2**18  # largest number of latent coordinates in one call
LIMIT, OTHER = 1e99, 3e99  # stand for infinity in an outcome (and twice LIMIT for NaN), and for what is no number
JITTER = 1e-7  # in units of clip_norm: how much the record varies between fresh copies

ARRAYS: dict[str, Callable[[Tensor], Any]] = {
    "torch": lambda latents: latents,
    "torch float32": lambda latents: latents.float(),
    "numpy": lambda latents: latents.numpy(),
    "numpy float32": lambda latents: latents.float().numpy(),
}


@dataclass
class VectorTarget(Target):
    """A mechanism under audit whose records are latents of a fixed dimension."""

    dim: int
    _array: str | None = field(default=None, repr=False, kw_only=True)
    # By a record's shape
    _widths: dict[tuple[int, ...], int] = field(default_factory=dict, repr=False, kw_only=True)

    def at(self, dim: int) -> "VectorTarget":
        return replace(self, dim=dim, _widths={})

    def asked_as(self, mechanism: Any, *, memoised: bool | None = None) -> "VectorTarget":
        memoised = self.memoised if memoised is None else memoised
        return replace(self, mechanism=mechanism, given=mechanism, memoised=memoised, _widths={})

    @property
    def clip(self) -> str:
        """Set that the claim covers: the ball "l1" or "l2" (the default), or the "sphere"."""
        declared = getattr(self.mechanism, "clip", "l2")
        return declared if isinstance(declared, str) and declared in NORM_ORDER else "l2"

    @property
    def clip_norm(self) -> float:
        return float(getattr(self.mechanism, "clip_norm", 1.0))

    @property
    def any_dimension(self) -> bool:
        """True if no attribute of the mechanism fixes the dimension of its latents."""
        names = ("dim", "dims", "dimension", "latent_dim", "n", "d")
        return not any(isinstance(getattr(self.mechanism, name, None), int) for name in names)

    @cached_property
    def largest(self) -> float:
        scale = 0.0
        with suppress(MechanismFailure):  # the noise is not declared
            scale = self.noise()[1]
        return 1e6 * max(self.clip_norm, scale)

    @cached_property
    def guarantee(self) -> Any:
        """The guarantee that the mechanism declares for latents of the target's dimension."""
        if not callable(getattr(self.mechanism, "guarantee", None)):
            raise MechanismFailure("the mechanism has no method guarantee")
        return self.call("guarantee", lambda: self.mechanism.guarantee(self.dim))

    @property
    def says_exact(self) -> bool:
        return hasattr(self.mechanism, "guarantee") and bool(getattr(self.guarantee, "exact", False))

    def noise(self) -> tuple[Noise, float]:
        """Return the distribution and the scale of the noise that the mechanism declares."""
        declared = getattr(self.mechanism, "noise", None)
        noise = NOISES.get(declared) if isinstance(declared, str) else None
        if noise is None:
            raise MechanismFailure("the mechanism declares no distribution of additive noise")
        scale: Any = getattr(self.guarantee, "scale", None)
        with suppress(TypeError, ValueError):  # no number
            if math.isfinite(scale) and scale > 0:
                return noise, float(scale)
        raise MechanismFailure(f"the mechanism declares no scale for its noise (got {scale})")

    def project(self, latents: Tensor) -> Floats:
        """Map latents (B, n) into the declared set, with ``project``, or else by clipping."""
        if not hasattr(self.mechanism, "project"):
            return clip_latents(latents, clip=self.clip, clip_norm=self.clip_norm).to(torch.float64).numpy()
        to = ARRAYS[self.array]  # read here: in the thread, it would wait for itself
        answer = self.call("project", lambda: self.mechanism.project(to(latents)))
        projected = as_rows(answer, rows=len(latents), what="project")
        if projected.shape != tuple(latents.shape):
            raise MechanismFailure(f"project returned shape {projected.shape} for latents {tuple(latents.shape)}")
        return projected

    def centres(self, first: Tensor, second: Tensor) -> tuple[Floats, Floats]:
        """Return the two inputs after projection as flat arrays, repeated for each report of a
        release; NaN and infinity become zero.
        """
        batch = torch.cat([record.to(torch.float64).reshape(-1, self.dim) for record in (first, second)])
        flat = np.nan_to_num(self.project(batch), nan=0.0, posinf=0.0, neginf=0.0).reshape(2, -1)
        return np.tile(flat[0], self.reports), np.tile(flat[1], self.reports)

    @property
    def array(self) -> str:
        """Library and dtype of the arrays that the mechanism accepts, found by trial calls."""
        if self._array is not None:
            return self._array
        probe, reasons = torch.full((2, self.dim), 0.1 * self.clip_norm, dtype=torch.float64), []
        for name, to in ARRAYS.items():
            try:
                as_rows(self.ask(to(probe), self.scratch), rows=2, what="privatize")
            except MechanismFailure as failure:
                reasons.append(failure)
            else:
                self._array = name
                return name
        raise reasons[0]

    def release(self, latents: Tensor) -> Floats:
        """Return the releases (B, m) of latents (B, n).

        If the mechanism has a memory, each release is drawn from a fresh copy of the mechanism.
        """
        return self.in_calls([row[None] for row in latents]) if self.memoised else self._rows(latents, self.mechanism)

    def answer(self, latents: Tensor) -> Any:
        return self.ask(ARRAYS[self.array](latents.clone()), self.next)

    def _rows(self, latents: Tensor, mechanism: Any) -> Floats:
        return as_rows(self.ask(ARRAYS[self.array](latents), mechanism), rows=len(latents), what="privatize")

    def draw(self, record: Tensor, rows: int, *, alone: bool = False) -> Iterator[Floats]:
        """Yield ``rows`` releases of one record, as several arrays (b, m) of finite numbers.

        If the mechanism has a memory, each release is drawn from a fresh copy of the mechanism, and
        a random number below `JITTER` times ``clip_norm`` is first added to each coordinate of the
        record: a bound that holds for each single record also holds for a mixture of such records.

        The record is a latent (n,), released in batches that hold only copies of it, or in calls of one row each if
        ``alone``; or a whole batch (B, n), whose B outputs together count as one release.
        """
        together = record.ndim == 1 and not alone and not self.memoised
        batch = record[None] if record.ndim == 1 else record
        size = CALL_ELEMENTS // self.dim if together else 0.5 / max(self.seconds_per_call, 1e-6)
        largest = max(1, min(int(size), CALL_ELEMENTS // batch.numel()))
        for start in range(0, rows, largest):
            count = min(largest, rows - start)
            released = self.release(batch.expand(count, -1).clone()) if together else self.in_calls([batch] * count)
            yield self.finite(fitted(released, self._widths.setdefault(tuple(record.shape), released.shape[1])))

    def finite(self, releases: Floats) -> Floats:
        return np.where(np.isnan(releases), 2 * self.largest, releases.clip(-self.largest, self.largest))

    def in_calls(self, batches: Sequence[Tensor]) -> Floats:
        """Release each batch in a separate call; return one row (B * m,) for each call."""
        here = replace(self, time_limit=math.inf, _array=self.array)  # one thread for all calls, not one each

        def one(batch: Tensor) -> Floats:
            if not self.memoised:
                return here._rows(batch.clone(), self.mechanism).ravel()
            jitter = torch.from_numpy(np.random.default_rng().random(tuple(batch.shape)))
            return here._rows(batch + JITTER * self.clip_norm * jitter, self.fresh()).ravel()

        return self.call("privatize", lambda: np.stack([one(batch) for batch in batches]))

    @cached_property
    def seconds_per_call(self) -> float:
        return self._seconds(1)

    @cached_property
    def seconds_per_row(self) -> float:
        rows = max(4, min(64, 2**12 // self.dim))
        call = self._seconds(rows)
        try:
            once = self.seconds_per_call
        except MechanismFailure:  # it may refuse a record that is alone
            once = 0.0
        return max(1e-9, (call - once) / (rows - 1), call * self.dim / CALL_ELEMENTS)

    def seconds_each(self, *, alone: bool) -> float:
        return self.seconds_per_call if alone or self.memoised else self.seconds_per_row

    def _seconds(self, rows: int) -> float:
        latents = torch.full((rows, self.dim), 0.1 * self.clip_norm, dtype=torch.float64)
        timed = replace(self, time_limit=math.inf, mechanism=self.scratch, _array=self.array)
        return self.call("privatize", lambda: cost(lambda: timed.in_calls([latents])))


def as_rows(value: Any, *, rows: int, what: str) -> Floats:
    """Convert a release (a tensor, an array or a list) to an array (rows, m) of float64.

    A complex number becomes two numbers.
    """
    try:
        array = as_array(value)
        array = (np.stack([array.real, array.imag], axis=-1) if array.dtype.kind == "c" else array).astype(np.float64)
    except (TypeError, ValueError, RuntimeError):
        raise MechanismFailure(f"{what} returned {type(value).__name__} instead of a tensor or an array") from None
    if array.ndim == 0 or len(array) != rows:
        raise MechanismFailure(f"{what} returned shape {array.shape} for {rows} latents: there must be one row each")
    if not array.size:
        raise MechanismFailure(f"{what} returned empty rows")
    return array.reshape(rows, -1)


def as_array(value: Any) -> Array:
    """Convert a tensor of any device, layout or dtype, an array or a list to an array."""
    if isinstance(value, Tensor):
        dense = value.to_dense()
        value = (dense.double() if dense.is_floating_point() else dense).numpy(force=True)
    return np.asarray(value)


def fitted(rows: Floats, width: int) -> Floats:
    return (
        rows[:, :width]
        if width <= rows.shape[1]
        else np.pad(rows, ((0, 0), (0, width - rows.shape[1])), constant_values=np.nan)
    )


# --- Values


@dataclass
class ValueTarget(Target):
    """A mechanism under audit whose records are values."""

    values: Sequence[Any] = ()  # the values that the audit tries

    def release(self, values: Sequence[Any]) -> Array:
        """Release values in one call; return the outcomes as numbers (B, m) or as objects (B,)."""
        return self._read(self.ask(list(values)), rows=len(values))

    def _read(self, released: Any, *, rows: int) -> Array:
        """Return outcomes in the form of the trial releases: objects (B,) or numbers (B, m).

        An outcome that is not m numbers then becomes a number from OTHER on, a function of this outcome alone.
        """
        shape = self._probed[1]
        outcomes = as_outcomes(released, rows=rows, objects=not shape)
        if outcomes.shape[1:] == shape:
            return outcomes
        each = [as_outcomes([outcome], rows=1, objects=False) for outcome in outcomes]
        odd = [np.full((1, *shape), OTHER * (1 + hash(outcome_key(outcome)) % 2**16)) for outcome in outcomes]
        return np.concatenate([one if one.shape[1:] == shape else o for one, o in zip(each, odd, strict=True)])

    def codes(self, values: Sequence[Any]) -> NDArray[np.int64]:
        """Release values in one call; return a hash of each outcome, equal for equal outcomes."""
        return np.array([hash(outcome_key(outcome)) for outcome in self.release(values)], dtype=np.int64)

    def of_copy(self) -> "ValueTarget":
        copied = copy.copy(self)  # keeps the cached `_probed`: both read outcomes in one way
        copied.mechanism = self.fresh()
        return copied

    def answer(self, value: Any) -> Any:
        return self.ask([value], self.next)

    def draw(self, record: Any, rows: int, *, alone: bool = False) -> Iterator[Array]:
        for start in range(0, rows, 2**12):
            values = [record] * min(2**12, rows - start)
            singly = alone or self.memoised
            outcomes = self.call("privatize", partial(self._singly, values)) if singly else self.ask(values)
            yield self._read(outcomes, rows=len(values))

    def _singly(self, values: Sequence[Any]) -> list[Any]:
        return [outcome for value in values for [outcome] in [self.next.privatize([value])]]

    def seconds_each(self, *, alone: bool) -> float:
        return self._probed[0]

    @cached_property
    def _probed(self) -> tuple[float, tuple[int, ...]]:
        """Seconds per outcome, and (m,) for outcomes of m numbers, or () if not all are numbers of one shape."""
        reasons = []
        for values in (self.values, self.values[:2], *([value] for value in self.values)):  # some may be refused
            try:
                return self._probe(values)
            except MechanismFailure as failure:
                reasons.append(failure)
        raise reasons[0]

    def _probe(self, values: Sequence[Any]) -> tuple[float, tuple[int, ...]]:
        batch = [value for value in values for _ in range(1 if self.memoised else -(-64 // len(values)))]
        copied = self.scratch
        release = partial(self._singly, batch) if self.memoised else lambda: copied.privatize(list(batch))
        outcomes = self.call("privatize", release)
        each = cost(lambda: self.call("privatize", release)) / len(batch)
        return each, as_outcomes(outcomes, rows=len(batch), objects=False).shape[1:]


def as_outcomes(released: Any, *, rows: int, objects: bool) -> Array:
    """Return numbers (B, m) if all outcomes are numbers of one shape and type, or else objects (B,)."""
    try:
        outcomes = list(released := as_array(released) if isinstance(released, Tensor) else released)
    except (TypeError, RuntimeError):
        raise MechanismFailure(f"privatize returned {type(released).__name__} instead of a list of outcomes") from None
    if len(outcomes) != rows:
        raise MechanismFailure(f"privatize returned {len(outcomes)} outcomes for {rows} values")
    try:
        numbers = np.asarray(released if isinstance(released, np.ndarray) else outcomes)
    except (TypeError, ValueError, RuntimeError):
        numbers = np.empty(0, dtype=object)
    small = numbers.dtype.kind in "biuf" and (
        numbers.dtype.kind == "f" or not numbers.size or abs(numbers).max() < 2**53
    )
    if small and len(numbers) == rows and not objects and len({*map(type, outcomes)}) == 1:
        return np.nan_to_num(numbers.reshape(rows, -1).astype(np.float64), nan=2 * LIMIT, posinf=LIMIT, neginf=-LIMIT)
    things = np.empty(rows, dtype=object)
    things[:] = [hashable(outcome) for outcome in outcomes]
    return things


class Described(tuple[Any, ...]):
    """The type and the state of an ``outcome``: all that a file of it would show, and not only what ``==`` compares."""

    outcome: Any

    def __new__(cls, outcome: Any) -> "Described":
        state: Sequence[Any] = ()
        with suppress(Exception):  # foreign code: whatever it raises, the state is unknown
            state = [hashable([*part] if isinstance(part, Iterator) else part) for part in outcome.__reduce_ex__(2)[1:]]
        found = super().__new__(cls, (type(outcome).__qualname__, *state))
        found.outcome = outcome
        return found


def hashable(outcome: Any) -> Any:
    """Convert an outcome to a hashable value; two are equal if nothing tells the outcomes from each other."""
    compared_whole = (str, bytes, int, float, bool, type(None))  # by ``==``
    if type(outcome) in compared_whole or isinstance(outcome, type | Described):
        return outcome
    match outcome:
        case Tensor() | np.ndarray():
            return tuple(as_array(outcome).ravel().tolist())
        case np.generic():
            return outcome.item()
        case list() | tuple():
            return tuple(map(hashable, outcome))
        case set() | frozenset():
            return frozenset(map(hashable, outcome))
        case dict():
            return tuple((hashable(key), hashable(value)) for key, value in outcome.items())  # in its order
        case _:
            return Described(outcome)


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

    The mechanism declares ``count`` (K), ``heavy`` (t, by default 1) and ``odds``, two integers A and B: each of the
    t numbers that belong to a record has A / B times the probability of any other number (`checks.declarations`).
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
