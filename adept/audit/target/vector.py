"""The mechanism under audit: what it claims, what else it declares, and its releases, drawn without trusting it."""

import copy
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from adept.audit.distinguisher.pairs import Pair, PairSample, Statistic
from adept.audit.distinguisher.vector_statistics import statistics
from adept.audit.result import MechanismFailure
from adept.audit.stats.noise import LAWS, Law
from adept.audit.target.sandbox import DIALECTS, Caller, as_rows, cost, fitted
from adept.mechanisms.grid import clip_latents

Floats = NDArray[np.float64]

SOURCES, CLIPS = ("release", "simulate"), ("l1", "l2", "sphere")
CALL_ELEMENTS = 2**18  # numbers asked for in one call: bounds both the memory and the time of a call
CALLS_SECONDS = 0.5  # of calls that follow each other in one thread
LARGEST_OUTPUT = 1e6  # outputs beyond so many times clip_norm, infinite ones too, are cut off there: post-processing
MANY_NUMBERS = 2**12  # of a call of several rows whose time is taken
JITTER = 1e-7  # in units of clip_norm: tells the records of memoised releases apart


@dataclass
class Subject:
    """One mechanism on latents of one dimension.

    Attributes:
        mechanism: anything with ``epsilon`` and ``privatize``; ``delta``, ``clip``, ``clip_norm``, ``project``, ``guarantee``,
            ``simulate`` and ``noise`` (the name of a law) are used where they exist.
        source: "release" asks ``privatize``, "simulate" asks ``simulate``.
        time_limit: seconds that one call may take; infinite: calls run in the caller's own thread.
        generator: for ``simulate`` alone.
        memoised: the mechanism answers a record that it has seen with its earlier release; see `draw`.
    """

    mechanism: Any
    dim: int
    source: str
    time_limit: float
    generator: torch.Generator
    memoised: bool = False
    call: Caller = field(init=False, repr=False)
    _declared: Any = field(default=None, repr=False)
    _dialect: str | None = None
    _seconds: dict[str, float] = field(default_factory=dict, repr=False)
    _widths: dict[tuple[int, ...], int] = field(default_factory=dict, repr=False)  # of a release, by its record's shape

    def __post_init__(self) -> None:
        self.call = Caller(self.time_limit)

    @property
    def epsilon(self) -> float:
        """The claim that is judged."""
        return float(self.mechanism.epsilon)

    @property
    def delta(self) -> float:
        return float(getattr(self.mechanism, "delta", 0.0))

    @property
    def clip(self) -> str:
        """The set that the claim speaks of; what a foreign mechanism calls ``clip`` may be something else."""
        declared = getattr(self.mechanism, "clip", "l2")
        return declared if isinstance(declared, str) and declared in CLIPS else "l2"

    @property
    def clip_norm(self) -> float:
        return float(getattr(self.mechanism, "clip_norm", 1.0))

    @property
    def largest(self) -> float:
        """Where outputs are cut off; NaN is read as twice as much."""
        return LARGEST_OUTPUT * self.clip_norm

    @property
    def name(self) -> str:
        return str(getattr(self.mechanism, "name", type(self.mechanism).__name__))

    def guarantee(self) -> Any:
        """Return what the mechanism declares for this dimension.

        Raises:
            MechanismFailure: it declares nothing.
        """
        if self._declared is None:
            self._require("guarantee")
            self._declared = self.call("guarantee", lambda: self.mechanism.guarantee(self.dim))
        return self._declared

    @property
    def says_exact(self) -> bool:
        """Does the mechanism say that its releases are exact arithmetic."""
        return hasattr(self.mechanism, "guarantee") and bool(getattr(self.guarantee(), "exact", False))

    def law_name(self) -> str | None:
        """Return the name of the law that the noise is declared to have; a ``noise`` that is no name declares nothing."""
        declared = getattr(self.mechanism, "noise", None)
        return declared if isinstance(declared, str) else None

    def law(self) -> tuple[Law, float]:
        """Return the law and scale of the additive noise that the mechanism declares.

        Raises:
            MechanismFailure: it declares none.
        """
        law = LAWS.get(self.law_name() or "")
        if law is None:
            raise MechanismFailure("the mechanism declares no law of additive noise")
        scale = getattr(self.guarantee(), "scale", None)
        if scale is None or not (math.isfinite(scale) and scale > 0):
            raise MechanismFailure(f"the mechanism declares no scale for its noise (got {scale})")
        return law, float(scale)

    def project(self, latents: Tensor) -> Floats:
        """Map latents (B, n) into the set that the claim speaks of: with the mechanism's ``project``, or by its declared clip."""
        if not hasattr(self.mechanism, "project"):
            return clip_latents(latents, clip=self.clip, clip_norm=self.clip_norm).to(torch.float64).numpy()
        to = DIALECTS[self.dialect]
        projected = as_rows(
            self.call("project", lambda: self.mechanism.project(to(latents))), rows=len(latents), what="project"
        )
        if projected.shape != tuple(latents.shape):
            raise MechanismFailure(f"project returned shape {projected.shape} for latents {tuple(latents.shape)}")
        return projected

    def centres(self, pair: Pair) -> tuple[Floats, Floats]:
        """Return the projected inputs of a pair, flat; zero where the projection gives no number."""
        batch = torch.cat([record.to(torch.float64).reshape(-1, self.dim) for record in (pair.first, pair.second)])
        flat = np.nan_to_num(self.project(batch), nan=0.0, posinf=0.0, neginf=0.0).reshape(2, -1)
        return flat[0], flat[1]

    def statistics(self, sample: PairSample) -> Iterator[tuple[str, Statistic]]:
        """Yield the statistics that separate one pair, each with a name."""
        return statistics(sample, clip_norm=self.clip_norm)

    def numbers(self, record: Tensor) -> int:
        """Return how many numbers the release of a record, or of a batch, holds."""
        return record.numel()

    @property
    def dialect(self) -> str:
        """The arrays that the mechanism takes, found by trying: tensors or NumPy, of float64 or float32.

        Raises:
            MechanismFailure: it takes none of them, for the reason that it gave the first.
        """
        if self._dialect is None:
            probe, reasons = torch.full((2, self.dim), 0.1 * self.clip_norm, dtype=torch.float64), []
            for name in DIALECTS if self.source == "release" else ("torch",):
                try:
                    self._rows(probe, name)
                except MechanismFailure as failure:
                    reasons.append(failure)
                else:
                    self._dialect = name
                    break
            else:
                raise reasons[0]
        return self._dialect

    def release(self, latents: Tensor) -> Floats:
        """Ask for one release per row of latents (B, n), in one call; returns (B, m), as `as_rows` reads it."""
        return self._rows(latents, self.dialect)

    def answer(self, latents: Tensor) -> Any:
        """Ask for releases in one call, and return what the mechanism returns."""
        return self._raw(latents.clone(), self.dialect)

    def _rows(self, latents: Tensor, dialect: str) -> Floats:
        return as_rows(self._raw(latents, dialect), rows=len(latents), what=self.source)

    def _raw(self, latents: Tensor, dialect: str) -> Any:
        """Return what the mechanism returns."""
        if self.source == "simulate":
            self._require("simulate")
            return self.call("simulate", lambda: self.mechanism.simulate(latents, self.generator))
        given = DIALECTS[dialect](latents)
        return self.call("privatize", lambda: self.mechanism.privatize(given))

    def draw(self, record: Tensor, rows: int, *, alone: bool = False) -> Iterator[Floats]:
        """Yield ``rows`` releases of one record, in chunks (b, m) of bounded size, as finite numbers, m as it was first.

        NaN, infinite and missing numbers become large ones: post-processing. Memoised releases are drawn each from a copy of
        its own, of a record of its own, `JITTER` apart: what bounds the releases of any records bounds their mixture.

        Args:
            record: a latent (n,), released in batches that hold nothing else; or a whole batch (B, n), released once for each
                release, whose outputs are read as one row of B * m numbers.
            rows: how many releases.
            alone: whether a latent (n,) is released in calls of one row each.
        """
        limit, together = self.largest, record.ndim == 1 and not alone and not self.memoised
        batch = record[None] if record.ndim == 1 else record
        size = CALL_ELEMENTS // self.dim if together else CALLS_SECONDS / max(self.seconds_per_call, 1e-6)
        largest = max(1, min(int(size), CALL_ELEMENTS // batch.numel()))
        for start in range(0, rows, largest):
            count = min(largest, rows - start)
            released = self.release(batch.expand(count, -1).clone()) if together else self.in_calls([batch] * count)
            released = fitted(released, self._widths.setdefault(tuple(record.shape), released.shape[1]))
            yield np.nan_to_num(released, nan=2 * limit, posinf=limit, neginf=-limit).clip(-limit, 2 * limit)

    def sample(self, record: Tensor, rows: int, *, alone: bool = False) -> Floats:
        """Return ``rows`` releases (rows, m) of one record, as `draw` reads it."""
        return np.concatenate(list(self.draw(record, rows, alone=alone)))

    def in_calls(self, batches: Sequence[Tensor]) -> Floats:
        """Release batches, each in a call of its own, one after the other in one thread; returns (calls, B * m)."""
        dialect = self.dialect
        here = replace(self, time_limit=math.inf, _dialect=dialect)  # no further thread for each call

        def one(batch: Tensor) -> Floats:
            if not self.memoised:
                return here._rows(batch.clone(), dialect).ravel()
            fresh = replace(here, mechanism=copy.deepcopy(self.mechanism))
            jitter = torch.from_numpy(np.random.default_rng().random(tuple(batch.shape)))
            return fresh._rows(batch + JITTER * self.clip_norm * jitter, dialect).ravel()

        return self.call("privatize", lambda: np.stack([one(batch) for batch in batches]))

    @property
    def seconds_per_call(self) -> float:
        """How long a call of one row takes, measured once."""
        return self._measured("call", 1)

    @property
    def seconds_per_row(self) -> float:
        """How much longer each further row of a call takes, and no less than its share of the longest call."""
        rows = max(4, min(64, MANY_NUMBERS // self.dim))
        call = self._measured("rows", rows)
        return max(1e-9, (call - self.seconds_per_call) / (rows - 1), call * self.dim / CALL_ELEMENTS)

    def affordable(self, rows: int, *, seconds: float, alone: bool = False) -> int:
        """Return ``rows``, or as many as are released in so many seconds; fixed before any is looked at."""
        each = self.seconds_per_call if alone or self.memoised else self.seconds_per_row
        return max(0, min(rows, int(seconds / each)))

    def _measured(self, what: str, rows: int) -> float:
        if what not in self._seconds:
            latents = torch.full((rows, self.dim), 0.1 * self.clip_norm, dtype=torch.float64)
            here = replace(self, time_limit=math.inf, _dialect=self.dialect)
            self._seconds[what] = self.call("privatize", lambda: cost(lambda: here.in_calls([latents])))
        return self._seconds[what]

    def _require(self, method: str) -> None:
        if not callable(getattr(self.mechanism, method, None)):
            raise MechanismFailure(f"the mechanism has no method {method}")
