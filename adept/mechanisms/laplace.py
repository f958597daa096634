r"""The three variants of ADePT: Laplace noise on a clipped latent.

All three variants release r + (Y_1, ..., Y_n), where r is the clipped latent and Y_1, ..., Y_n are
independent Laplace random numbers of scale b (Habernal 2021, Eq. 11 and 13). Let x and x' be the
clipped latents of two records. The privacy loss at any output z is sum_i (|z_i - x'_i| - |z_i -
x_i|) / b <= ||x - x'||_1 / b (Habernal 2021, Appendix A), and z = x attains this bound. So the true
epsilon is D / b, where D is the *l1* diameter of the set of clipped latents:

=========  =====  ================  =============  ====================================
name       clip   l1 diameter D     scale b        D / b
=========  =====  ================  =============  ====================================
original   l2     2 C sqrt(n)       2 C / eps      eps sqrt(n): the claim is false
l1         l1     2 C               2 C / eps      eps
sqrt_n     l2     2 C sqrt(n)       D / eps        eps
=========  =====  ================  =============  ====================================

The l1 diameter of the l2 ball is 2 C sqrt(n) by Cauchy-Schwarz: ||x||_1 <= sqrt(n) ||x||_2, with
equality for x = C / sqrt(n) (1, ..., 1) (Habernal 2021, Theorem 5.1). The authors of ADePT (Krishna
et al. 2021) took the l1 diameter of the l2 ball to be 2 C.

The release is exact, because the latents are integers on the public grid, the noise is discrete
Laplace noise, and the program chooses b in rational arithmetic so that D / b <= eps for the integer
diameter D. On the grid, D = 2 R for the l1 ball of integer radius R. For integer vectors with sum
z^2 <= Q, D <= 2 isqrt(n Q), because each ||z||_1 is an integer and at most sqrt(n Q).

Checked proof: ``proofs/Papers.v``, ``l1_is_private``, ``sqrt_n_is_private``,
``original_is_not_private``.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import torch
from torch import Tensor

from adept.mechanisms.base import Mechanism
from adept.mechanisms.clip_to_grid import from_grid, grid_radius, grid_step
from adept.mechanisms.discrete_laplace import exact_laplace, smallest_scale
from adept.mechanisms.guarantee import Guarantee, Part, laplace_part, words
from adept.mechanisms.random_draws import simulated_laplace


@dataclass(frozen=True, kw_only=True)
class _Laplace(Mechanism):
    """Base class of ADePT's three variants, which add Laplace noise to latents on a public grid."""

    noise: ClassVar[str | None] = "laplace"

    def _assumed_diameter(self, dim: int) -> int:
        """Return the l1 diameter, in grid steps, for which the variant calibrates its noise."""
        raise NotImplementedError

    def _true_diameter(self, dim: int) -> int:
        """Return the l1 diameter of the set of clipped latents, in grid steps."""
        radius = grid_radius(self.clip_norm, clip=self.clip)
        return 2 * radius if self.clip == "l1" else 2 * math.isqrt(dim * radius)

    def _scale(self, dim: int) -> float:
        return smallest_scale(self._assumed_diameter(dim), epsilon=self.epsilon)

    def privatize(self, latents: Tensor) -> Tensor:
        noisy = exact_laplace(self.clip_to_units(latents), scale=self._scale(latents.shape[1]))
        return from_grid(noisy, clip_norm=self.clip_norm, like=latents)

    def simulate(self, latents: Tensor, generator: torch.Generator | None) -> Tensor:
        clipped = self.clip_as_floats(latents)
        scale = self._scale(latents.shape[1]) * grid_step(self.clip_norm)
        return clipped + simulated_laplace(clipped, scale=scale, generator=generator)

    def guarantee(self, dim: int) -> Guarantee:
        step = grid_step(self.clip_norm)
        assumed, true = self._assumed_diameter(dim), self._true_diameter(dim)
        holds = true <= assumed
        epsilon = self.epsilon if holds else self._true_epsilon(dim)
        return Guarantee(
            claimed_epsilon=self.epsilon,
            epsilon=epsilon,
            delta=0.0,
            holds=holds,
            exact=True,
            sensitivity=true * step,
            scale=self._scale(dim) * step,
            text=self._text(dim, epsilon, holds),
        )

    def certificate(self, dim: int) -> list[Part]:
        epsilon, sensitivity = Fraction(self.guarantee(dim).epsilon), self._true_diameter(dim)
        return [laplace_part("text", epsilon=epsilon, sensitivity=sensitivity, scale=self._scale(dim))]

    def _true_epsilon(self, dim: int) -> float:
        """Return an upper bound on the true epsilon if the claim is false.

        The bound is the larger of D / b and eps sqrt(n) (letters of the module's docstring).
        """
        ratio = self._true_diameter(dim) / self._scale(dim)
        while Fraction(ratio) * Fraction(self._scale(dim)) < self._true_diameter(dim):
            ratio = math.nextafter(ratio, math.inf)
        return max(ratio, self.epsilon * math.sqrt(dim))

    def _text(self, dim: int, epsilon: float, holds: bool) -> str:
        if holds:
            return (
                f"The released latent is {words(epsilon)}-LDP (pure) for any two records, "
                "and so is every text decoded from it."
            )
        return (
            f"The claim of epsilon {words(self.epsilon)} is false: the l1 sensitivity of the l2-clipped latent is "
            f"sqrt({dim}) times the claimed one (Habernal 2021, Theorem 5.1). The true epsilon is {words(epsilon)}."
        )

    def expected_squared_error(self, dim: int) -> float:
        return 2 * dim * (self._scale(dim) * grid_step(self.clip_norm)) ** 2


@dataclass(frozen=True, kw_only=True)
class OriginalLaplace(_Laplace):
    """ADePT as published: latents clipped to l2 norm C, plus Laplace noise of scale 2C / eps.

    The claim of eps-LDP is false for n > 1 (Habernal 2021, Theorems 3.1 and 5.1). The true
    guarantee is pure (eps * sqrt(n))-LDP for any two records, and the latents C/sqrt(n) (1, ..., 1)
    and -C/sqrt(n) (1, ..., 1) attain this bound. By default, the program refuses to release records
    with this mechanism.
    """

    name: ClassVar[str] = "original"
    clip: ClassVar[str] = "l2"

    def _assumed_diameter(self, dim: int) -> int:
        return 2 * grid_radius(self.clip_norm, clip="l1")


@dataclass(frozen=True, kw_only=True)
class L1Laplace(_Laplace):
    """First remedy for ADePT: latents clipped to l1 norm C, plus Laplace noise of scale 2C / eps.

    The release is pure eps-LDP for any two records (Habernal 2021, Section 6). Proof: two points of
    the l1 ball of radius C are at l1 distance at most 2C, so the privacy loss is at most 2C / b =
    eps.
    """

    name: ClassVar[str] = "l1"
    clip: ClassVar[str] = "l1"
    serves: ClassVar[frozenset[str]] = frozenset({"l1"})

    def _assumed_diameter(self, dim: int) -> int:
        return self._true_diameter(dim)


@dataclass(frozen=True, kw_only=True)
class SqrtNLaplace(_Laplace):
    """Second remedy for ADePT: latents clipped to l2 norm C, plus noise of scale 2C sqrt(n) / eps.

    The release is pure eps-LDP for any two records (Habernal 2021, Section 6). Proof: two points of
    the l2 ball of radius C are at l1 distance at most 2C sqrt(n), so the privacy loss is at most 2C
    sqrt(n) / b = eps.
    """

    name: ClassVar[str] = "sqrt_n"
    clip: ClassVar[str] = "l2"

    def _assumed_diameter(self, dim: int) -> int:
        return self._true_diameter(dim)
