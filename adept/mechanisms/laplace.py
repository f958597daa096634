r"""The three variants of ADePT: Laplace noise on a clipped latent.

Beside them stand other mechanisms with noise of this kind: `L2Norm`, whose noise decays with the l2 norm;
`ScalarLaplace` for a single number; and `DPText`, whose sampler is wrong.

All three variants release r + (Y_1, ..., Y_n), where r is the clipped latent and Y_1, ..., Y_n are independent Laplace
random numbers of scale b (Habernal 2021, Eq. 11 and 13). Let x and x' be the clipped latents of two records. The
privacy loss at any output z is sum_i (|z_i - x'_i| - |z_i - x_i|) / b <= ||x - x'||_1 / b (Habernal 2021, Appendix A),
and z = x attains this bound. So the true epsilon is D / b, where D is the *l1* diameter of the set of clipped latents:

=========  =====  ================  =============  ====================================
name       clip   l1 diameter D     scale b        D / b
=========  =====  ================  =============  ====================================
original   l2     2 C sqrt(n)       2 C / eps      eps sqrt(n): the claim is false
l1         l1     2 C               2 C / eps      eps
sqrt_n     l2     2 C sqrt(n)       D / eps        eps
=========  =====  ================  =============  ====================================

The l1 diameter of the l2 ball is 2 C sqrt(n) by Cauchy-Schwarz: ||x||_1 <= sqrt(n) ||x||_2, with equality for x = C /
sqrt(n) (1, ..., 1) (Habernal 2021, Theorem 5.1). The authors of ADePT (Krishna et al. 2021) took the l1 diameter of the
l2 ball to be 2 C.

The release is exact, because the latents are integers on the public grid, the noise is discrete Laplace noise, and the
program chooses b in rational arithmetic so that D / b <= eps for the integer diameter D. On the grid, D = 2 R for the
l1 ball of integer radius R. For integer vectors with sum z^2 <= Q, D <= 2 isqrt(n Q), because each ||z||_1 is an
integer and at most sqrt(n Q).

Checked proof: ``proofs/Papers.v``, ``l1_is_private``, ``sqrt_n_is_private``, ``original_is_not_private``.
"""

import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from numbers import Integral
from typing import ClassVar

import torch
from torch import Tensor

from adept.errors import ConfigurationError, check_choice, check_positive, refuse
from adept.mechanisms.base import Mechanism, check_listed
from adept.mechanisms.clip_to_grid import from_grid, grid_radius, grid_step, round_to_grid
from adept.mechanisms.discrete_laplace import exact_laplace, smallest_scale
from adept.mechanisms.guarantee import Guarantee, Part, laplace_part, total, words
from adept.mechanisms.random_draws import fresh_directions, fresh_uniform, simulated_directions, simulated_laplace

MAX_RANGE = 2**31


@dataclass(frozen=True, kw_only=True)
class _Laplace(Mechanism):
    """Base class of ADePT's three variants, which add Laplace noise to latents on a public grid."""

    noise: ClassVar[str | None] = "laplace"

    def _assumed_diameter(self, dim: int) -> int:
        """Return the l1 diameter, in grid steps, for which the variant calibrates its noise."""
        return self._true_diameter(dim)

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
        step, true = grid_step(self.clip_norm), self._true_diameter(dim)
        holds = true <= self._assumed_diameter(dim)
        epsilon = self.epsilon if holds else self._true_epsilon(dim)
        text = (
            f"The released latent is {words(epsilon)}-LDP (pure) for any two records, and so is every text decoded from it."
            if holds
            else f"The claim of epsilon {words(self.epsilon)} is false: the l1 sensitivity of the l2-clipped latent is "
            f"sqrt({dim}) times the claimed one (Habernal 2021, Theorem 5.1). The true epsilon is {words(epsilon)}."
        )
        return Guarantee(
            claimed_epsilon=self.epsilon,
            epsilon=epsilon,
            delta=0.0,
            holds=holds,
            exact=True,
            sensitivity=true * step,
            scale=self._scale(dim) * step,
            text=text,
        )

    def certificate(self, dim: int) -> list[Part]:
        epsilon, sensitivity = Fraction(self.guarantee(dim).epsilon), self._true_diameter(dim)
        return [laplace_part("text", epsilon=epsilon, sensitivity=sensitivity, scale=self._scale(dim))]

    def _true_epsilon(self, dim: int) -> float:
        """Return a finite upper bound on the true epsilon of a false claim: the larger of D / b and eps sqrt(n)."""
        ratio = total(self._true_diameter(dim) / Fraction(self._scale(dim)))
        return max(ratio, min(self.epsilon * math.sqrt(dim), sys.float_info.max))

    def expected_squared_error(self, dim: int) -> float:
        return 2 * dim * (self._scale(dim) * grid_step(self.clip_norm)) ** 2


@dataclass(frozen=True, kw_only=True)
class OriginalLaplace(_Laplace):
    """ADePT as published: latents clipped to l2 norm C, plus Laplace noise of scale 2C / eps.

    The claim of eps-LDP is false for n > 1 (Habernal 2021, Theorems 3.1 and 5.1). The true guarantee is pure (eps *
    sqrt(n))-LDP for any two records, and the latents C/sqrt(n) (1, ..., 1) and -C/sqrt(n) (1, ..., 1) attain this
    bound. By default, the program refuses to release records with this mechanism.
    """

    name: ClassVar[str] = "original"
    clip: ClassVar[str] = "l2"

    def _assumed_diameter(self, dim: int) -> int:
        return 2 * grid_radius(self.clip_norm, clip="l1")


@dataclass(frozen=True, kw_only=True)
class L1Laplace(_Laplace):
    """First remedy for ADePT: latents clipped to l1 norm C, plus Laplace noise of scale 2C / eps.

    The release is pure eps-LDP for any two records (Habernal 2021, Section 6). Proof: two points of the l1 ball of
    radius C are at l1 distance at most 2C, so the privacy loss is at most 2C / b = eps.
    """

    name: ClassVar[str] = "l1"
    clip: ClassVar[str] = "l1"
    serves: ClassVar[frozenset[str]] = frozenset({"l1"})


@dataclass(frozen=True, kw_only=True)
class SqrtNLaplace(_Laplace):
    """Second remedy for ADePT: latents clipped to l2 norm C, plus noise of scale 2C sqrt(n) / eps.

    The release is pure eps-LDP for any two records (Habernal 2021, Section 6). Proof: two points of the l2 ball of
    radius C are at l1 distance at most 2C sqrt(n), so the privacy loss is at most 2C sqrt(n) / b = eps.
    """

    name: ClassVar[str] = "sqrt_n"
    clip: ClassVar[str] = "l2"


@dataclass(frozen=True, kw_only=True)
class ScalarLaplace:
    """A pure eps-LDP release of one integer in [lower, upper], computed in exact arithmetic.

    Proof: values are clamped to the public range, so the l1 sensitivity is upper - lower. The discrete Laplace
    noise has a scale b with (upper - lower) / b <= eps. A released value may lie outside the range, because
    clamping it would bias the mean.
    """

    epsilon: float
    lower: int = 0
    upper: int = 15

    def __post_init__(self) -> None:
        check_positive(epsilon=self.epsilon)
        check_integers([self.lower, self.upper])
        refuse(
            (
                not 1 <= self.upper - self.lower <= MAX_RANGE or max(abs(self.lower), abs(self.upper)) > MAX_RANGE,
                f"lower and upper must be within 2^31 of zero and of each other, lower < upper, got {self.lower} and {self.upper}",
            )
        )

    @property
    def scale(self) -> float:
        """The scale b of the noise."""
        return smallest_scale(self.upper - self.lower, epsilon=self.epsilon)

    def privatize(self, values: Sequence[int]) -> list[int]:
        """Clamp each integer and release it, with noise from the operating system's entropy."""
        check_integers(values)
        clamped = [min(max(int(value), self.lower), self.upper) - self.lower for value in values]
        noisy = exact_laplace(torch.tensor(clamped, dtype=torch.int64), scale=self.scale)
        return [int(value) + self.lower for value in noisy.tolist()]

    def simulate(self, values: Sequence[int], generator: torch.Generator | None) -> list[int]:
        """Simulate a release of each integer with a seeded generator, without privacy."""
        check_integers(values)
        clamped = torch.tensor(list(map(int, values)), dtype=torch.int64).clamp(self.lower, self.upper)
        first, second = torch.empty(2, len(clamped), dtype=torch.float64).exponential_(generator=generator)
        noise = (self.scale * first).floor() - (self.scale * second).floor()
        return [int(value) for value in (clamped + noise.to(torch.int64)).tolist()]

    def guarantee(self) -> Guarantee:
        return Guarantee.pure(
            epsilon=self.epsilon,
            exact=True,
            sensitivity=float(self.upper - self.lower),
            scale=self.scale,
            text=f"The released number is {words(self.epsilon)}-LDP (pure) for any two records with values from {self.lower} "
            f"to {self.upper}; values outside are clamped first.",
        )

    def expected_squared_error(self) -> float:
        """Return the variance of the noise, 2p / (1 - p)^2 with p = exp(-1 / b)."""
        return 2 * math.exp(-1 / self.scale) / math.expm1(-1 / self.scale) ** 2


@dataclass(frozen=True, kw_only=True)
class _FloatNoise(Mechanism):
    """Base class of mechanisms that add noise of scale b = 2C / eps in floating point; b has the limit of exact noise."""

    def _scale(self) -> float:
        smallest_scale(2 * grid_radius(self.clip_norm, clip="l1"), epsilon=self.epsilon)  # refuses a larger one
        return 2 * self.clip_norm / self.epsilon


@dataclass(frozen=True, kw_only=True)
class L2Norm(_FloatNoise):
    """The K-norm mechanism in l2: noise z has a density proportional to exp(-||z||_2 / b), b = 2C / eps.

    The mechanism adds this noise to latents clipped to l2 norm C. Its direction is uniformly random, and its l2 norm
    has the distribution Gamma(n, b), because the density of the norm r is proportional to r^(n-1) exp(-r / b) (Hardt
    and Talwar 2010, "On the geometry of differential privacy"; Chaudhuri, Monteleoni, Sarwate 2011).

    The release is pure eps-LDP for any two records. Proof: the l2 sensitivity is at most 2C, because all
    latents lie in the ball of radius C. Let f be the density of the noise. At any output z, the densities of
    the release under two latents x and x' satisfy f(z - x) / f(z - x') = exp((||z - x'|| - ||z - x||) / b) <=
    exp(||x - x'|| / b) <= exp(eps) by the triangle inequality. Rounding to the public grid is
    post-processing. The proof does not cover floating-point errors, so ``exact`` is False.
    """

    name: ClassVar[str] = "l2_norm"
    clip: ClassVar[str] = "l2"
    noise: ClassVar[str | None] = "l2_norm"

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


@dataclass(frozen=True, kw_only=True)
class DPText(_FloatNoise):
    """DPText as published: latents clipped to l2 norm C, plus noise of scale b = 2C / eps; its claim is false.

    DPText (Beigi et al. 2019, 2021; Alnasser et al. 2021) draws v uniformly from (0, 1) for each number r of a
    latent, and releases r + F(v) with F(v) = -b sgn(v) ln(1 - 2|v|). If v came from (-1/2, 1/2), F(v) would
    have the Laplace distribution. But v comes from (0, 1). So F(v) is exponentially distributed for v below
    1/2, +inf for v = 1/2, and NaN for v above 1/2 (Habernal 2022, Section 3). An audit must find this.

    Claim: the release is not eps-LDP for any finite epsilon (Habernal 2022, Theorem 3.2). Proof: take two clipped
    latents x and x' whose first coordinates satisfy x_1 < x'_1. The noise is never negative. So an output z with
    z_1 < x'_1 and z_i >= x_i for all i has positive density under x and density zero under x'. Checked proof, for
    one coordinate: ``proofs/Papers.v``, ``noise_that_is_never_negative_gives_away``.

    Attributes:
        nan: the treatment of random numbers v > 1/2, for which the noise F(v) is NaN. "redraw"
            draws v again until F(v) is a number, so the noise is exponential with mean b. "zero"
            replaces NaN by 0, as the published code does, so half of all numbers get no noise.
    """

    nan: str = "redraw"
    name: ClassVar[str] = "dptext"
    clip: ClassVar[str] = "l2"
    noise: ClassVar[str | None] = "laplace"  # the distribution that the authors claim (Habernal 2022, Section 3.3)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice(("redraw", "zero"), nan=self.nan)

    def privatize(self, latents: Tensor) -> Tensor:
        projected = self.project(latents)
        return projected + self._noise(fresh_uniform, projected)

    def simulate(self, latents: Tensor, generator: torch.Generator | None) -> Tensor:
        clipped = self.clip_as_floats(latents)

        def uniform(*shape: int) -> Tensor:
            return torch.rand(shape, dtype=torch.float64, device=latents.device, generator=generator)

        return clipped + self._noise(uniform, clipped)

    def _noise(self, uniform: Callable[..., Tensor], like: Tensor) -> Tensor:
        noise = inverse_on_wrong_interval(uniform(*like.shape), scale=self._scale())
        while self.nan == "redraw" and (missing := noise.isnan()).any():
            noise[missing] = inverse_on_wrong_interval(uniform(int(missing.sum())), scale=self._scale())
        return noise.nan_to_num(nan=0.0, posinf=math.inf).to(like.device, like.dtype)

    def guarantee(self, dim: int) -> Guarantee:
        return Guarantee(
            claimed_epsilon=self.epsilon,
            epsilon=math.inf,
            delta=0.0,
            holds=False,
            exact=False,
            sensitivity=2 * self.clip_norm,
            scale=self._scale(),
            text=f"The claim of epsilon {words(self.epsilon)} is false, and no finite epsilon holds: the noise is never "
            "negative, so some outputs are possible for one record and impossible for another (Habernal 2022, Theorem 3.2).",
        )

    def expected_squared_error(self, dim: int) -> float:
        """Return the mean of ||noise||^2: 2 n b^2 if ``nan`` is "redraw", n b^2 if it is "zero"."""
        return dim * self._scale() ** 2 * (2 if self.nan == "redraw" else 1)


def inverse_on_wrong_interval(uniform: Tensor, *, scale: float) -> Tensor:
    """Return F(v) = -b sgn(v) ln(1 - 2|v|) for each v in ``uniform``, with b = ``scale``.

    F is meant for v from (-1/2, 1/2), but the published code takes v from (0, 1).
    """
    return -scale * uniform.sign() * (1 - 2 * uniform.abs()).log()


def check_integers(values: Sequence[object]) -> None:
    check_listed("values", values)
    for row, value in enumerate(values, start=1):
        if isinstance(value, bool) or not isinstance(value, Integral):
            raise ConfigurationError(f"values must be integers, got {type(value).__name__} in record {row}")
