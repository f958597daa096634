"""Base classes of mechanisms, and the choice of a mechanism by name.

A guarantee covers a bounded set of latents: an l1 ball, an l2 ball or a sphere. ``project`` maps
any input into that set, and every proof starts from the projected latents. Any two records are
neighbours, so the sensitivity is the diameter of the set.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import MISSING, dataclass, field, fields
from typing import Any, ClassVar, NamedTuple, Self

import torch
from torch import Tensor

from adept.errors import ConfigurationError
from adept.mechanisms.clip_to_grid import check_latents, clip_latents, from_grid, to_grid
from adept.mechanisms.guarantee import Guarantee, Part
from adept.ranges import CLIP_NORMS, check_between, check_positive


class Symbols(NamedTuple):
    """The sizes of a finite alphabet from which a release is drawn."""

    size: int  # k
    top: int  # t, the symbols that are likelier than the others; as many for every record


@dataclass(frozen=True, kw_only=True)
class LocalRandomizer(ABC):
    """A mechanism for the text of one record: it takes a latent or a description (a number).

    A ``Mechanism`` takes latents, and a ``Description`` takes numbers.

    Attributes:
        epsilon: the budget that the mechanism *claims*, in nats.
        name: the mechanism's name in configurations and reports.
        clip: the set that the guarantee covers, "l1" or "l2" (balls of radius C) or "sphere" (l2
            norm C); for a mechanism on numbers, the clip of the model that belongs to its codec.
        serves: the clips of the models that the mechanism can be used with.
        randomises: the part of a record that it reads: "latent" or "description".
    """

    epsilon: float
    name: ClassVar[str]
    clip: ClassVar[str]
    serves: ClassVar[frozenset[str]]
    randomises: ClassVar[str]

    @abstractmethod
    def privatize(self, values: Any, /) -> Any:
        """Release one value for each input; random bits come from the operating system, not a seed."""

    @abstractmethod
    def guarantee(self, dim: int) -> Guarantee:
        """Return the guarantee for the release of one latent of ``dim`` coordinates, or of one number."""

    @property
    def delta(self) -> float:
        """Probability mass outside the epsilon bound; zero for pure mechanisms."""
        return 0.0

    @property
    def radius(self) -> float | None:
        """The radius of the set that records are clipped into; None if they are numbers."""
        return None

    def certificate(self, dim: int) -> list[Part] | None:
        """Return the public numbers of each draw, from which the guarantee follows, or None."""
        return None

    def symbols(self, dim: int) -> tuple[Symbols, ...]:
        """Return the alphabet of each draw of a release; an empty tuple if the outputs are not symbols."""
        return ()


@dataclass(frozen=True, kw_only=True)
class Mechanism(LocalRandomizer):
    """A randomised map of latents (B, n) -> (B, n) with a stated guarantee.

    Latents are CPU or CUDA tensors, float32 or float64; shape, dtype and device are preserved. Each
    row is one record. A row that holds NaN or Inf is replaced by a constant before any other code
    reads it.

    Attributes:
        epsilon: the budget that the mechanism *claims*, in nats; positive and finite.
        clip_norm: the radius C of the set, in latent units; between 1e-6 and 1e6.
        noise: the name of its noise in ``adept.audit.stats.noise_tests``, or "cap" for PrivUnit;
            None if no test of the noise exists.
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
        """The radius C."""
        return self.clip_norm

    def project(self, latents: Tensor) -> Tensor:
        """Clip latents (B, n) and put them on the public grid; the norm bound holds exactly."""
        return from_grid(self.clip_to_units(latents), clip_norm=self.clip_norm, like=latents)

    def clip_to_units(self, latents: Tensor) -> Tensor:
        """Clip latents (B, n) and return them in units of the public grid: int64 on the CPU."""
        return to_grid(latents, clip=self.clip, clip_norm=self.clip_norm)

    def clip_as_floats(self, latents: Tensor) -> Tensor:
        """Clip latents (B, n) in floating point, differentiably, for a simulation."""
        check_latents(latents)
        return clip_latents(latents, clip=self.clip, clip_norm=self.clip_norm)

    @abstractmethod
    def privatize(self, latents: Tensor) -> Tensor:
        """Project latents (B, n) and release them, with noise from the operating system."""

    @abstractmethod
    def simulate(self, latents: Tensor, generator: torch.Generator | None) -> Tensor:
        """Simulate a release of latents (B, n): seeded, differentiable, and not private."""

    @abstractmethod
    def expected_squared_error(self, dim: int) -> float:
        """Return E||privatize(x) - x||^2 in squared latent units, for any x in the set."""


class SymbolRandomizer(LocalRandomizer):
    """A mechanism that releases one of k symbols for each record.

    ``JointResponse`` turns it into a mechanism that releases a text and a label as one symbol.

    Attributes:
        symbol: the word that sentences use for a symbol, such as "codeword".
        proviso: a further condition of the guarantee, worded for a sentence; empty if there is
            none.
    """

    symbol: ClassVar[str]
    proviso: ClassVar[str] = ""

    @property
    @abstractmethod
    def count(self) -> int:
        """The number k of symbols."""

    @property
    def heavy(self) -> int:
        """The number t of heavy symbols, which are likelier than the others."""
        return 1

    @property
    @abstractmethod
    def own_symbol(self) -> str:
        """Words for the heavy symbols of a record, such as "its nearest codeword"."""

    @abstractmethod
    def beside(self, labels: int) -> Self:
        """Return a copy whose number of symbols suits a release together with one of several labels."""

    @abstractmethod
    def choose(self, values: Any, ranks: Sequence[int]) -> Any:
        """Return the symbol at a rank for each record, whose heavy symbols have the first ranks."""

    @abstractmethod
    def choose_symbols(self, numbers: Sequence[int], ranks: Sequence[int]) -> list[int]:
        """Do the same as ``choose`` for records that are given as the numbers of symbols."""

    @abstractmethod
    def heavy_symbols(self, number: int) -> set[int]:
        """Return the numbers of the heavy symbols of the record that equals symbol ``number``."""


Kind = type[LocalRandomizer]


@dataclass(frozen=True)
class MechanismChoice:
    """A mechanism to build later: its class and options; budget and radius may still be missing."""

    kind: Kind
    epsilon: float | None = None
    clip_norm: float | None = None
    options: dict[str, Any] = field(default_factory=dict)

    def budget(self, epsilon: float | None = None) -> float | None:
        """Return the budget given here or with the choice; raise ConfigurationError if these differ."""
        if epsilon is not None and self.epsilon not in (None, epsilon):
            raise ConfigurationError(f"epsilon must be given once, got {epsilon} and {self.epsilon}: drop one of them")
        return self.epsilon if epsilon is None else epsilon

    def build(self, *, epsilon: float | None = None, clip_norm: float) -> LocalRandomizer:
        """Build the mechanism; a radius given with the choice takes precedence over ``clip_norm``."""
        budget, own = self.budget(epsilon), {part.name: part for part in fields(self.kind)}
        if budget is None and own["epsilon"].default is MISSING:
            raise ConfigurationError("epsilon must be given, got none: add epsilon=8, for example")
        given: dict[str, Any] = {} if budget is None else {"epsilon": budget}
        if "clip_norm" in own:  # numbers have no radius
            given["clip_norm"] = clip_norm if self.clip_norm is None else self.clip_norm
        return self.kind(**given, **self.options)
