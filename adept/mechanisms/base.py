"""Base classes of mechanisms, and a class that holds the choice of a mechanism.

A mechanism replaces each record by a random output, which is called the *release* of the record. Most mechanisms read a
*latent*: the vector of numbers into which an encoder turns a text. The other mechanisms read a *description*: the place
of a sentence in a public list.

Any two records are neighbours. A guarantee for latents covers a bounded set of latents: an l1 ball, an l2 ball or a
sphere of radius C. ``project`` clips each latent into the bounded set and rounds it to a public grid of points
(``adept.mechanisms.clip_to_grid``). Every proof starts from the projected latents. The *sensitivity* is the largest
distance between two latents of the bounded set, that is, the diameter of this set.
"""

from abc import ABC, abstractmethod
from dataclasses import MISSING, dataclass, field, fields
from typing import TYPE_CHECKING, Any, ClassVar

import torch
from torch import Tensor

from adept.errors import CLIP_NORMS, ConfigurationError, check_between, check_positive, refuse
from adept.mechanisms.clip_to_grid import check_latents, clip_latents, from_grid, to_grid
from adept.mechanisms.guarantee import TEXT, Guarantee, Part

if TYPE_CHECKING:
    from adept.mechanisms.selection import Selection


@dataclass(frozen=True, kw_only=True)
class LocalRandomizer(ABC):
    """A mechanism that releases the text of one record, given as a latent or as a description.

    Attributes:
        epsilon: the privacy budget that the mechanism *claims* to keep, in nats.
        name: the mechanism's name in configurations and reports.
        clip: the set of latents that the guarantee covers: an "l1" or "l2" ball, or a "sphere". A
            mechanism that reads descriptions has the clip of the model that lists the sentences.
        serves: the values of a model's clip with which the mechanism can be used.
        randomises: the form of the text that the mechanism reads, "latent" or "description".
    """

    epsilon: float
    name: ClassVar[str]
    clip: ClassVar[str]
    serves: ClassVar[frozenset[str]]
    randomises: ClassVar[str]

    @abstractmethod
    def privatize(self, values: Any, /) -> Any:
        """Release one value for each input, with unseeded random bits from the operating system."""

    @abstractmethod
    def guarantee(self, dim: int) -> Guarantee:
        """Return the guarantee for one latent of ``dim`` numbers, or for one description."""

    @property
    def delta(self) -> float:
        """The delta of the guarantee; it is zero for mechanisms that are pure eps-LDP."""
        return 0.0

    @property
    def radius(self) -> float | None:
        """The radius of the set into which latents are clipped; None if no latents are read."""
        return None

    @property
    def unproved(self) -> dict[str, Any] | None:
        """Claim and origin of a mechanism that is not part of adept, for statements; None for adept's own."""
        return None

    def certificate(self, dim: int) -> list[Part] | None:
        """Return the public numbers that prove the guarantee, one part for each draw; None if there is no proof."""
        return [part for selection in self.selections(dim) for part in selection.certificate(TEXT)] or None

    def selections(self, dim: int) -> "tuple[Selection, ...]":
        """Return the draws of a release, each of an index of a public list; empty for noise."""
        return ()


@dataclass(frozen=True, kw_only=True)
class Mechanism(LocalRandomizer):
    """A mechanism that maps latents (B, n) to randomised latents (B, n) and states its guarantee.

    Latents are CPU or CUDA tensors of float32 or float64 numbers, with one row for each record. The
    output has the shape, the dtype and the device of the input. Before the release, a row of zeros
    replaces each row that holds NaN or Inf.

    Attributes:
        clip_norm: the radius C of the ball or sphere into which latents are clipped, on the scale
            of the latents; between 1e-6 and 1e6.
        noise: the name of the noise's distribution in ``adept.audit.stats``, or "cap"
            for PrivUnit. It is None if there is no statistical test of the noise.
    """

    clip_norm: float = 1.0
    randomises: ClassVar[str] = "latent"
    serves: ClassVar[frozenset[str]] = frozenset({"l2", "sphere"})
    noise: ClassVar[str | None] = None

    def __post_init__(self) -> None:
        self._check_budget()
        check_between(*CLIP_NORMS, clip_norm=self.clip_norm)

    def _check_budget(self) -> None:
        check_positive(epsilon=self.epsilon)

    @property
    def radius(self) -> float:
        """The radius C of the ball or sphere into which latents are clipped."""
        return self.clip_norm

    def project(self, latents: Tensor) -> Tensor:
        """Return latents (B, n) clipped exactly to norm C and rounded to the public grid."""
        return from_grid(self.clip_to_units(latents), clip_norm=self.clip_norm, like=latents)

    def clip_to_units(self, latents: Tensor) -> Tensor:
        """Clip latents (B, n) and return them in steps of the public grid, as int64 on the CPU."""
        return to_grid(latents, clip=self.clip, clip_norm=self.clip_norm)

    def clip_as_floats(self, latents: Tensor) -> Tensor:
        """Clip latents (B, n) in floating point, for a simulation; the result is differentiable."""
        check_latents(latents)
        return clip_latents(latents, clip=self.clip, clip_norm=self.clip_norm)

    @abstractmethod
    def privatize(self, latents: Tensor) -> Tensor:
        """Project latents (B, n) and release them, with random bits from the operating system."""

    @abstractmethod
    def simulate(self, latents: Tensor, generator: torch.Generator | None) -> Tensor:
        """Simulate a release of latents (B, n) that is seeded, differentiable and not private."""

    @abstractmethod
    def expected_squared_error(self, dim: int) -> float:
        """Return the expected value of ||privatize(x) - x||^2 for clipped latents x."""


Kind = type[LocalRandomizer]


@dataclass(frozen=True)
class MechanismChoice:
    """The class, the budget, the radius and the options of a mechanism that is built later."""

    kind: Kind
    epsilon: float | None = None
    clip_norm: float | None = None
    options: dict[str, Any] = field(default_factory=dict)

    def budget(self, epsilon: float | None = None) -> float | None:
        """Return ``epsilon``, or this choice's; raise ConfigurationError if both are given and differ."""
        if epsilon is not None and self.epsilon not in (None, epsilon):
            raise ConfigurationError(f"epsilon must be given once, got {epsilon} and {self.epsilon}: drop one of them")
        return self.epsilon if epsilon is None else epsilon

    def build(self, *, epsilon: float | None = None, clip_norm: float) -> LocalRandomizer:
        """Build the mechanism; if this choice has a radius, the radius replaces ``clip_norm``."""
        budget, own = self.budget(epsilon), {part.name: part for part in fields(self.kind)}
        if budget is None and own["epsilon"].default is MISSING:
            raise ConfigurationError("epsilon must be given, got none: add epsilon=8, for example")
        given: dict[str, Any] = {} if budget is None else {"epsilon": budget}
        if "clip_norm" in own:  # mechanisms on descriptions have no radius
            given["clip_norm"] = clip_norm if self.clip_norm is None else self.clip_norm
        return self.kind(**given, **self.options)


def check_listed(field: str, value: object) -> None:
    """Raise ConfigurationError unless a value is a list, an array or a column, which can be read twice in one order."""
    listed = hasattr(value, "__len__") and hasattr(value, "__getitem__") and not isinstance(value, str | bytes | dict)
    refuse((not listed, f"{field} must be a list, got a value of type {type(value).__name__}: put them into a list"))
