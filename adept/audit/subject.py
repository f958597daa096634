"""The mechanism under audit: what it claims, what else it declares, and its releases, drawn without trusting it.

Everything that a foreign mechanism does runs in a thread of its own with a time limit. Whatever goes wrong there becomes a
`MechanismFailure` with the reason, and that becomes a check that could not be judged.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from threading import Thread
from typing import Any, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from adept.audit.laws import LAWS, Law
from adept.audit.result import MechanismFailure
from adept.errors import ConfigurationError
from adept.mechanisms.grid import clip_latents

Floats = NDArray[np.float64]
Value = TypeVar("Value")

SOURCES = ("release", "simulate")
CLIPS = ("l1", "l2", "sphere")
CALL_ELEMENTS = 2**18  # numbers asked for in one call: bounds both the memory and the time of a call
LARGEST_OUTPUT = 1e6  # outputs beyond so many times clip_norm, infinite ones too, are cut off there: post-processing


@dataclass
class Subject:
    """One mechanism on latents of one dimension.

    Attributes:
        mechanism: anything with ``epsilon`` and ``privatize``; ``delta``, ``clip``, ``clip_norm``, ``project``, ``guarantee``,
            ``simulate`` and ``noise`` (the name of a law) are used where they exist.
        source: "release" asks ``privatize``, "simulate" asks ``simulate``.
        time_limit: seconds that one call may take; infinite: calls run in the caller's own thread.
        generator: for ``simulate`` alone.
    """

    mechanism: Any
    dim: int
    source: str
    time_limit: float
    generator: torch.Generator
    _declared: Any = field(default=None, repr=False)
    _hung: bool = False

    def __post_init__(self) -> None:
        epsilon = getattr(self.mechanism, "epsilon", None)
        if not isinstance(epsilon, int | float) or not epsilon >= 0:
            raise ConfigurationError(f"epsilon of the mechanism must be a number of at least zero, got {epsilon!r}")
        if not callable(getattr(self.mechanism, "privatize", None)):
            raise ConfigurationError("privatize must be a method of the mechanism: latents (B, n) -> (B, n)")

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
        return declared if declared in CLIPS else "l2"

    @property
    def clip_norm(self) -> float:
        return float(getattr(self.mechanism, "clip_norm", 1.0))

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
            self._declared = self._call("guarantee", lambda: self.mechanism.guarantee(self.dim))
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

    def project(self, latents: Tensor) -> Tensor:
        """Map latents (B, n) into the set that the claim speaks of: with the mechanism's ``project``, or by its declared clip."""
        if hasattr(self.mechanism, "project"):
            return self._checked("project", latents, self._call("project", lambda: self.mechanism.project(latents)))
        return clip_latents(latents, clip=self.clip, clip_norm=self.clip_norm)

    def release(self, latents: Tensor) -> Tensor:
        """Ask for one release per row of latents (B, n): one call."""
        if self.source == "simulate":
            self._require("simulate")
            released = self._call("simulate", lambda: self.mechanism.simulate(latents, self.generator))
        else:
            released = self._call("privatize", lambda: self.mechanism.privatize(latents))
        return self._checked(self.source, latents, released)

    def draw(self, latent: Tensor, rows: int) -> Iterator[Floats]:
        """Yield ``rows`` releases of one latent (n,), in chunks (b, n) of bounded size, as finite numbers."""
        largest = max(1, CALL_ELEMENTS // self.dim)
        limit = LARGEST_OUTPUT * self.clip_norm
        for start in range(0, rows, largest):
            batch = latent.expand(min(largest, rows - start), -1).clone()
            released = self.release(batch)
            if released.isnan().any():
                raise MechanismFailure("the mechanism returned NaN for a finite latent")
            yield released.numpy().clip(-limit, limit)

    def sample(self, latent: Tensor, rows: int) -> Floats:
        """Return ``rows`` releases (rows, n) of one latent (n,)."""
        return np.concatenate(list(self.draw(latent, rows)))

    def _require(self, method: str) -> None:
        if not callable(getattr(self.mechanism, method, None)):
            raise MechanismFailure(f"the mechanism has no method {method}")

    def _checked(self, what: str, latents: Tensor, value: Any) -> Tensor:
        if not isinstance(value, Tensor):
            raise MechanismFailure(f"{what} returned {type(value).__name__} instead of a tensor")
        if value.shape != latents.shape:
            raise MechanismFailure(f"{what} returned shape {tuple(value.shape)} for latents {tuple(latents.shape)}")
        return value.detach().to("cpu", torch.float64)

    def _call(self, what: str, function: Callable[[], Value]) -> Value:
        """Run foreign code in a daemon thread: one that never returns is left behind, and never called again."""
        if self._hung:
            raise MechanismFailure(f"not asked again: an earlier call took longer than {self.time_limit:g} s")
        outcome: list[Value | BaseException] = []
        if math.isinf(self.time_limit):
            _try(function, outcome)
        else:
            thread = Thread(target=_try, args=(function, outcome), daemon=True)
            thread.start()
            thread.join(self.time_limit)
        if not outcome:
            self._hung = True
            raise MechanismFailure(f"{what} took longer than {self.time_limit:g} s")
        if isinstance(outcome[0], BaseException):
            raise MechanismFailure(f"{what} raised {type(outcome[0]).__name__}: {outcome[0]}") from outcome[0]
        return outcome[0]


def _try(function: Callable[[], Value], outcome: list[Value | BaseException]) -> None:
    """Append the function's value to ``outcome``, or what it raised."""
    try:
        outcome.append(function())
    except BaseException as error:  # noqa: BLE001 - foreign code: whatever it raises becomes a check's reason
        outcome.append(error)
