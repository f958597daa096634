"""Reference mechanisms: ``identity`` adds no noise, and ``random`` ignores the record.

Checked proof: ``proofs/Privacy.v``, ``same_law_tells_nothing``, ``impossible_output_gives_away``.
"""

import math
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from adept.mechanisms.base import Mechanism
from adept.mechanisms.clip_to_grid import check_latents
from adept.mechanisms.guarantee import Guarantee
from adept.mechanisms.random_draws import fresh_directions, simulated_directions


@dataclass(frozen=True, kw_only=True)
class Reference(Mechanism):
    """A mechanism for comparisons, which needs no privacy budget and works with every model."""

    epsilon: float = math.inf
    clip: ClassVar[str] = "l2"
    serves: ClassVar[frozenset[str]] = frozenset({"l1", "l2", "sphere"})

    def _check_budget(self) -> None:
        if self.epsilon != math.inf:
            super()._check_budget()


@dataclass(frozen=True, kw_only=True)
class Identity(Reference):
    """A mechanism that releases the clipped latent itself and gives no privacy."""

    name: ClassVar[str] = "identity"

    def privatize(self, latents: Tensor) -> Tensor:
        return self.project(latents)

    def simulate(self, latents: Tensor, generator: torch.Generator | None) -> Tensor:
        return self.clip_as_floats(latents)

    def guarantee(self, dim: int) -> Guarantee:
        return Guarantee.pure(
            epsilon=math.inf,
            exact=True,
            sensitivity=2 * self.clip_norm,
            scale=0.0,
            text="No privacy: the latent is released as it is. Nothing is claimed and nothing is guaranteed.",
        )

    def expected_squared_error(self, dim: int) -> float:
        return 0.0


@dataclass(frozen=True, kw_only=True)
class Random(Reference):
    """A mechanism that ignores the record and releases a random vector of l2 norm C.

    The release is pure 0-LDP, whatever ``epsilon`` is. Proof: the program reads only the shape of
    the input, which the model fixes. So a release has the same distribution under any two records.
    """

    name: ClassVar[str] = "random"

    def privatize(self, latents: Tensor) -> Tensor:
        check_latents(latents)
        return (self.clip_norm * fresh_directions(*latents.shape)).to(latents.device, latents.dtype)

    def simulate(self, latents: Tensor, generator: torch.Generator | None) -> Tensor:
        check_latents(latents)
        return self.clip_norm * simulated_directions(latents.detach(), generator=generator)

    def guarantee(self, dim: int) -> Guarantee:
        return Guarantee.pure(
            epsilon=0.0,
            exact=True,
            sensitivity=0.0,
            text="Perfect privacy: the released latent is drawn without looking at the record.",
        )

    def expected_squared_error(self, dim: int) -> float:
        """Return the expected squared error of a latent of l2 norm C, which is 2 C^2."""
        return 2 * self.clip_norm**2
