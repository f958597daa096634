r"""Gaussian noise on an l2-clipped latent, calibrated tightly for every epsilon.

The *continuous* Gaussian mechanism with standard deviation s, for latents at l2 distance at most D, is (eps, delta)-LDP
if and only if delta >= delta_continuous(eps) = Phi(-u) - exp(eps) Phi(-v), where Phi is the standard normal
distribution function, u = eps s / D - D / (2s) and v = eps s / D + D / (2s) (Balle and Wang 2018, Theorem 8). The
release adds *discrete* Gaussian noise on the public grid (Canonne, Kamath, Steinke 2020), sampled exactly.

*Claim*. Lengths are in grid steps. For n coordinates, any radius T, a = n / (8 s^2), c = T^2 / (8 s^4)
and noise Y, two records x, x' and any set S of outputs satisfy

    P[S|x] - exp(eps) P[S|x'] <= exp(a) delta_continuous(eps - 2a - c) + P[||Y|| > T - D],                         (**)

and the last term, *tail*, is at most (3/2)^n exp(-(T - D)^2 / (4 s^2)). *Reason*: a grid step is small
beside the noise, so the discrete distribution differs from the rounded continuous one by at most the
factors exp(a) and exp(a + ||y||^2 / (8 s^4)). ``docs/proofs.md``, "Discrete Gaussian noise", has the
proof. The program chooses T so that the bound on *tail* is delta / 2^21, and s so that the first term is
delta (1 - 2^-20). The guarantee holds even if (**) is computed with a relative error of 4e-7.
"""

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import scipy
import torch
from torch import Tensor

from adept.errors import BUDGETS, check_between, check_choice
from adept.mechanisms.base import Mechanism
from adept.mechanisms.clip_to_grid import check_latents, from_grid, grid_radius, grid_step, round_to_grid
from adept.mechanisms.guarantee import Guarantee, Part, gaussian_part, words
from adept.mechanisms.random_draws import exact_gaussian, fresh_gaussian

DELTAS = (1e-100, 0.5)
DELTA_MARGIN = 2.0**-20


@dataclass(frozen=True, kw_only=True)
class Gaussian(Mechanism):
    """A mechanism that adds Gaussian noise to latents clipped to l2 norm C.

    The release is (eps, delta)-LDP for any two records. Proof: the program verifies sum z^2 <= (C / step)^2 for each
    vector z of integers, so two such vectors are at most 2C / step apart, and the bound (**) of the module applies.

    Attributes:
        delta: the delta of the guarantee, from 1e-100 to 0.5; choose it far below 1 / (number of records).
        calibration: "exact" adds integer noise, at the scale for which the bound (**) gives the guarantee. "analytic"
            adds floating-point noise, at the scale of Balle and Wang; no proof covers its rounding errors.
    """

    delta: float = 1e-6
    calibration: str = "exact"
    name: ClassVar[str] = "gaussian"
    clip: ClassVar[str] = "l2"
    noise: ClassVar[str | None] = "gaussian"

    def _check_budget(self) -> None:
        check_between(*BUDGETS, epsilon=self.epsilon)
        check_between(*DELTAS, delta=self.delta)
        check_choice(("exact", "analytic"), calibration=self.calibration)

    def _scale(self, dim: int) -> float:
        if self.calibration == "analytic":
            return 2 * self.clip_norm * analytic_scale(self.epsilon, delta=self.delta)
        steps = discrete_scale(self._distance(), dim=dim, epsilon=self.epsilon, delta=self.delta)
        return steps * grid_step(self.clip_norm)

    def _distance(self) -> float:
        """Return the l2 diameter of the ball in grid steps, which a float represents exactly."""
        return 2 * self.clip_norm / grid_step(self.clip_norm)

    def privatize(self, latents: Tensor) -> Tensor:
        units = self.clip_to_units(latents)
        step, scale = grid_step(self.clip_norm), self._scale(latents.shape[1])
        if self.calibration == "exact":
            return from_grid(exact_gaussian(units, scale=scale / step), clip_norm=self.clip_norm, like=latents)
        noisy = units * step + scale * fresh_gaussian(*units.shape)
        return round_to_grid(noisy, clip_norm=self.clip_norm, like=latents)

    def simulate(self, latents: Tensor, generator: torch.Generator | None) -> Tensor:
        clipped = self.clip_as_floats(latents)
        return clipped + self._scale(latents.shape[1]) * torch.empty_like(clipped).normal_(generator=generator)

    def guarantee(self, dim: int) -> Guarantee:
        exact = self.calibration == "exact"
        inexact = " as far as the formula goes; the noise is computed in floating point, which no proof covers"
        return Guarantee(
            claimed_epsilon=self.epsilon,
            epsilon=self.epsilon,
            delta=self.delta,
            holds=True,
            exact=exact,
            sensitivity=2 * self.clip_norm,
            scale=self._scale(dim),
            text=f"The released latent is ({words(self.epsilon)}, {words(self.delta)})-LDP (approximate, l2 sensitivity) for any "
            f"two records, and so is every text decoded from it{'' if exact else inexact}.",
        )

    def certificate(self, dim: int) -> list[Part] | None:
        if self.calibration != "exact":
            return None
        scale, distance = self._scale(dim) / grid_step(self.clip_norm), self._distance()
        return [gaussian_part(epsilon=self.epsilon, delta=self.delta, distance=distance, dim=dim, scale=scale)]

    def expected_squared_error(self, dim: int) -> float:
        return dim * self._scale(dim) ** 2


@dataclass(frozen=True, kw_only=True)
class ClampedGaussian(Gaussian):
    """A mechanism that clamps each of n coordinates to [-C / sqrt(n), C / sqrt(n)] and adds Gaussian noise.

    The release is (eps, delta)-LDP for any two records. Proof: the cube of half side C / sqrt(n) lies in the
    l2 ball of radius C, so the bound (**) of the module applies with D = 2C. The same holds on the grid: with
    R the largest sum of squares of a grid point of the ball, the n integers are clamped to magnitude at most
    m = floor(sqrt(R / n)), and n m^2 <= R.

    Source: DP-BART clamps the encoder's output in this way and adds analytic Gaussian noise (Igamberdiev and
    Habernal, Findings of ACL 2023, Section 3.2).
    """

    name: ClassVar[str] = "clamped_gaussian"

    def clip_to_units(self, latents: Tensor) -> Tensor:
        check_latents(latents)
        values = latents.detach().to("cpu", torch.float64)
        values = torch.where(values.isfinite().all(dim=-1, keepdim=True), values, 0.0)
        side = math.isqrt(grid_radius(self.clip_norm, clip=self.clip) // latents.shape[1])
        step = grid_step(self.clip_norm)
        return (values.clamp(-(side + 1) * step, (side + 1) * step) / step).trunc().to(torch.int64).clamp(-side, side)

    def clip_as_floats(self, latents: Tensor) -> Tensor:
        check_latents(latents)
        half_side = self.clip_norm / math.sqrt(latents.shape[1])
        return latents.clamp(-half_side, half_side)


def log_delta(scale: float, *, epsilon: float) -> float:
    """Return ln of the module's delta_continuous(``epsilon``), for s = ``scale`` and D = 1."""
    centre, half = epsilon * scale, 1 / (2 * scale)
    low, high = centre - half, centre + half
    if low < -30:
        return float(scipy.special.log_ndtr(-low))
    tails = scipy.special.erfcx(low / math.sqrt(2)) - scipy.special.erfcx(high / math.sqrt(2))
    return -(low**2) / 2 - math.log(2) + math.log(tails)


@lru_cache(maxsize=256)
def analytic_scale(epsilon: float, *, delta: float) -> float:
    """Return the standard deviation of continuous Gaussian noise for (epsilon, delta)-LDP at l2 sensitivity 1."""
    target = math.log(delta) + math.log1p(-DELTA_MARGIN)

    def excess(log_scale: float) -> float:
        return log_delta(math.exp(log_scale), epsilon=epsilon) - target

    # At 1/80 delta is 1 to the last bit; at the upper end Mill's bound keeps it under the target.
    high = max(1.0, math.sqrt(-2 * target)) / min(epsilon, 1.0) + 1
    return math.exp(scipy.optimize.brentq(excess, math.log(1 / 80), math.log(high), xtol=1e-14, rtol=1e-14))


def discrete_log_delta(scale: float, *, distance: float, dim: int, epsilon: float, tail: float) -> float:
    """Return ln of the first term of the module's bound (**), for s = ``scale``, D = ``distance``.

    The radius T is chosen so that the module's bound on *tail* equals ``tail``.
    """
    near = dim / (8 * scale**2)
    reach = distance + 2 * scale * math.sqrt(dim * math.log(1.5) - math.log(tail))
    slack = 2 * near + reach**2 / (8 * scale**4)
    return near + log_delta(scale / distance, epsilon=epsilon - slack)


@lru_cache(maxsize=256)
def discrete_scale(distance: float, *, dim: int, epsilon: float, delta: float) -> float:
    """Return the scale s for which (**) in the module's docstring proves (epsilon, delta)-LDP."""
    target = math.log(delta) + math.log1p(-DELTA_MARGIN)
    start = math.log(distance * analytic_scale(epsilon, delta=delta))

    def excess(log_scale: float) -> float:
        bound = discrete_log_delta(
            math.exp(log_scale), distance=distance, dim=dim, epsilon=epsilon, tail=delta * DELTA_MARGIN / 2
        )
        return bound - target

    return math.exp(scipy.optimize.brentq(excess, start - 1e-9, start + 1.0, xtol=1e-14, rtol=1e-14))
