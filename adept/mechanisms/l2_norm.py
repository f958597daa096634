"""The K-norm mechanism in l2: the density of a noise vector depends only on its l2 norm.

The density of the noise z is proportional to exp(-||z||_2 / b) with b = 2C / eps. The noise has a
uniformly random direction. The l2 norm of the noise has the distribution Gamma(n, b), because the
density of the norm r is proportional to r^(n-1) exp(-r / b) (Hardt and Talwar 2010, "On the
geometry of differential privacy"; Chaudhuri, Monteleoni, Sarwate 2011).
"""

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from adept.mechanisms.base import Mechanism
from adept.mechanisms.clip_to_grid import grid_step, round_to_grid
from adept.mechanisms.guarantee import Guarantee, words
from adept.mechanisms.random_draws import fresh_directions, fresh_uniform, simulated_directions


@dataclass(frozen=True, kw_only=True)
class L2Norm(Mechanism):
    """A mechanism whose noise z has a density proportional to exp(-eps ||z||_2 / (2C)).

    The mechanism adds this noise to latents clipped to l2 norm C. The release is pure eps-LDP for
    any two records. Proof: the l2 sensitivity is at most 2C, because all latents lie in the ball of
    radius C. Let f be the density of the noise. At any output z, the densities of the release under
    two latents x and x' satisfy f(z - x) / f(z - x') = exp(eps (||z - x'|| - ||z - x||) / (2C)) <=
    exp(eps ||x - x'|| / (2C)) <= exp(eps) by the triangle inequality. Rounding to the public grid
    is post-processing. The proof does not cover floating-point errors, so ``exact`` is False.
    """

    name: ClassVar[str] = "l2_norm"
    clip: ClassVar[str] = "l2"
    noise: ClassVar[str | None] = "l2_norm"

    def _scale(self) -> float:
        return 2 * self.clip_norm / self.epsilon

    def privatize(self, latents: Tensor) -> Tensor:
        centres = self.clip_to_units(latents) * grid_step(self.clip_norm)
        # A sum of n standard exponentials is Gamma(n, 1): exact for integer n, and free of
        # rejection.
        radius = -self._scale() * fresh_uniform(*centres.shape).log().sum(dim=-1, keepdim=True)
        noisy = centres + radius * fresh_directions(*centres.shape)
        return round_to_grid(noisy, clip_norm=self.clip_norm, like=latents)

    def simulate(self, latents: Tensor, generator: torch.Generator | None) -> Tensor:
        clipped = self.clip_as_floats(latents)
        exponentials = torch.empty_like(clipped).exponential_(generator=generator)
        radius = self._scale() * exponentials.sum(dim=-1, keepdim=True)
        return clipped + radius * simulated_directions(clipped, generator=generator)

    def guarantee(self, dim: int) -> Guarantee:
        return Guarantee.pure(
            epsilon=self.epsilon,
            exact=False,
            sensitivity=2 * self.clip_norm,
            scale=self._scale(),
            text=f"The released latent is {words(self.epsilon)}-LDP (pure, l2 sensitivity) for any two records as far as the "
            "formula goes; the noise is computed in floating point and rounded to a public grid, which no proof covers.",
        )

    def expected_squared_error(self, dim: int) -> float:
        """Return the mean squared l2 norm of the noise, n (n + 1) b^2 = 4 n (n + 1) C^2 / eps^2."""
        return dim * (dim + 1) * self._scale() ** 2
