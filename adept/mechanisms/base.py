"""The contract of a mechanism, and the range checks of its options.

A *mechanism* turns a latent vector into a randomised one. Its guarantee speaks of a bounded set of latents (an l1 ball,
an l2 ball or a sphere); ``project`` maps any input into that set, and the proof of every mechanism starts from there. Any
two records are neighbours (local differential privacy), so a sensitivity is the diameter of the set in the
mechanism's norm.
"""

import sys
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from adept.errors import ConfigurationError
from adept.mechanisms.grid import from_grid, to_grid
from adept.mechanisms.guarantee import Guarantee

CLIP_NORMS = (1e-6, 1e6)
BUDGETS = (1e-3, 600.0)  # where the formulas of gaussian, privunit, codebook and randomised response are verified


def check_positive(**values: float) -> None:
    """Raise ConfigurationError unless every value is a positive, finite number."""
    for field, value in values.items():
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if not (number and 0 < value <= sys.float_info.max):
            raise ConfigurationError(f"{field} must be positive and finite, got {value!r}")


def check_between(low: float, high: float, **values: float) -> None:
    """Raise ConfigurationError unless every value is a number in [low, high]."""
    check_positive(**values)
    for field, value in values.items():
        if not low <= value <= high:
            raise ConfigurationError(f"{field} must be between {low:g} and {high:g}, got {value!r}")


def check_integer(low: int, high: int, **values: int | None) -> None:
    """Raise ConfigurationError unless every value is None or an integer in [low, high]."""
    for field, value in values.items():
        if value is not None and (isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high):
            raise ConfigurationError(f"{field} must be an integer between {low} and {high}, got {value!r}")


@dataclass(frozen=True, kw_only=True)
class Mechanism(ABC):
    """A randomised map of latents (B, n) -> (B, n) with a stated guarantee.

    Latents are CPU or CUDA tensors, float32 or float64; shape, dtype and device are preserved. Each row is one record.
    A row that holds NaN or Inf is replaced by a constant before anything else looks at it.

    Attributes:
        epsilon: the budget that the mechanism *claims*, in nats; positive and finite.
        clip_norm: the radius C of the set, in latent units; between 1e-6 and 1e6.
        name: the mechanism's name in configurations and reports.
        clip: the set that the guarantee speaks of: "l1" or "l2" (balls of radius C) or "sphere" (l2 norm C).
        serves: the clips that a model may have been trained with, for this mechanism to make sense of its latents.
        noise: the distribution of its noise, by its name in ``adept.audit.stats.noise`` or "cap"; None where none can be tested.
    """

    epsilon: float
    clip_norm: float = 1.0
    name: ClassVar[str]
    clip: ClassVar[str]
    serves: ClassVar[frozenset[str]]
    noise: ClassVar[str | None] = None

    def __post_init__(self) -> None:
        self._check_budget()
        check_between(*CLIP_NORMS, clip_norm=self.clip_norm)

    def _check_budget(self) -> None:
        check_positive(epsilon=self.epsilon)

    @property
    def delta(self) -> float:
        """Probability mass outside the epsilon bound; zero for pure mechanisms."""
        return 0.0

    def project(self, latents: Tensor) -> Tensor:
        """Map latents (B, n) into the mechanism's set: clipped, on the public grid, the norm bound met exactly."""
        return from_grid(
            to_grid(latents, clip=self.clip, clip_norm=self.clip_norm), clip_norm=self.clip_norm, like=latents
        )

    @abstractmethod
    def privatize(self, latents: Tensor) -> Tensor:
        """Project latents (B, n) and release them: noise from the operating system's entropy, never seedable."""

    @abstractmethod
    def simulate(self, latents: Tensor, generator: torch.Generator | None) -> Tensor:
        """Return what a release would look like: seeded, differentiable in ``latents``, floating point. Guarantees nothing."""

    @abstractmethod
    def guarantee(self, dim: int) -> Guarantee:
        """Return what one release of a latent with ``dim`` coordinates guarantees."""

    @abstractmethod
    def expected_squared_error(self, dim: int) -> float:
        """Return E||privatize(x) - x||^2 for x already in the set, in squared latent units."""
