r"""PrivUnit draws a unit vector from a cap around the record, or else from outside this cap.

Let x be the record's latent, scaled to a point of the unit sphere of R^n. For a threshold g, the cap is {v : <x, v> >=
g}, the part of the sphere whose cosine with x is at least g. Let q be the probability of the cap under the uniform
distribution on the sphere. Then q = I_s(a, 1/2) / 2 with a = (n - 1) / 2 and s = 1 - g^2, where I is the regularised
incomplete beta function. PrivUnit draws a unit vector V. With probability p = q e^eps / (1 + (e^eps - 1) q), V is
uniform on the cap. Otherwise V is uniform on the complement of the cap (Bhowmick et al. 2018, Algorithm 1).

Mean: E V = m(g) x with m(g) = M(g) (e^eps - 1) / (1 + (e^eps - 1) q). Here M(g) = E[T; T >= g] = s^a / ((n - 1) B(1/2,
a)), and T is the first coordinate of a uniformly random unit vector. So V / m(g) is an unbiased estimate of x with the
squared error 1/m(g)^2 - 1, and the best g maximises m. The derivative of m vanishes where m(g) = g, which is true for
exactly one g, because dM/dg = -g f(g) and dq/dg = -f(g), where f is the density of T. For this g the release is V / g,
and g is the expected cosine between V and x. With these parameters PrivUnit has the least variance in a large family of
unbiased eps-LDP releases of a unit vector (Asi, Feldman, Talwar 2022).
"""

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np
import scipy
import torch
from numpy.typing import NDArray
from torch import Tensor

from adept.errors import BUDGETS, check_between, check_integer
from adept.mechanisms.base import Mechanism
from adept.mechanisms.clip_to_grid import check_latents, clip_latents, round_to_grid
from adept.mechanisms.guarantee import Guarantee, words
from adept.mechanisms.random_draws import exact_bernoulli, fresh_gaussian, fresh_uniform

SPHERE_DIMS = (2, 10_000)  # a sphere in one dimension is two points: use randomised response
MIN_LOGIT = -690.0  # logit of s; the optimum's is larger for all permitted eps and n (-401 at eps=600, n=2)


@dataclass(frozen=True)
class Cap:
    """The optimal cap of PrivUnit for the dimension of the latents and the budget."""

    cosine: float  # g: threshold, and mean cosine of the release with the record
    squared_sine: float  # s = 1 - g^2, which stays precise when g rounds to 1
    probability: float  # q: the cap's share of the sphere, never below 1e-270 for the permitted budgets
    escape: float  # 1 - p: probability that V is drawn outside the cap


@dataclass(frozen=True, kw_only=True)
class PrivUnit(Mechanism):
    """A mechanism whose release is a random vector, an unbiased estimate of the clipped latent.

    Clipping scales the latent to l2 norm C; a zero latent counts as the unit vector along the first axis. The
    mean squared distance between latent and release is C^2 (1/g^2 - 1).

    The release is pure eps-LDP for any two records. Proof: the density of V is p/q on the cap and (1 - p) / (1 - q)
    on its complement, and the ratio p (1 - q) / (q (1 - p)) is e^eps by the choice of p. The choice between cap and
    complement is exact. No proof covers the rounding errors of the other steps, so ``exact`` is False.
    """

    name: ClassVar[str] = "privunit"
    clip: ClassVar[str] = "sphere"
    noise: ClassVar[str | None] = "cap"

    def _check_budget(self) -> None:
        check_between(*BUDGETS, epsilon=self.epsilon)

    def privatize(self, latents: Tensor) -> Tensor:
        units = self.clip_to_units(latents).to(torch.float64)
        centres = units / torch.linalg.vector_norm(units, dim=-1, keepdim=True)
        cap = optimal_cap(latents.shape[1], epsilon=self.epsilon)
        inside = ~exact_bernoulli(len(centres), probability=cap.escape)
        cosine, sine = cap_angles(cap, inside, fresh_uniform(len(centres)), dim=latents.shape[1])
        released = at_angles(centres, cosine, sine, fresh_gaussian(*centres.shape))
        return round_to_grid(self.clip_norm / cap.cosine * released, clip_norm=self.clip_norm, like=latents)

    def simulate(self, latents: Tensor, generator: torch.Generator | None) -> Tensor:
        check_latents(latents)
        centres = clip_latents(latents, clip=self.clip, clip_norm=1.0)
        cap = optimal_cap(latents.shape[1], epsilon=self.epsilon)
        draws = torch.rand(2, len(centres), dtype=torch.float64, device=latents.device, generator=generator).cpu()
        cosine, sine = cap_angles(cap, draws[0] >= cap.escape, draws[1], dim=latents.shape[1])
        gaussian = torch.empty_like(centres).normal_(generator=generator)
        return self.clip_norm / cap.cosine * at_angles(centres, cosine.to(centres), sine.to(centres), gaussian)

    def guarantee(self, dim: int) -> Guarantee:
        optimal_cap(dim, epsilon=self.epsilon)  # refuses what cannot be released
        return Guarantee.pure(
            epsilon=self.epsilon,
            exact=False,
            sensitivity=2 * self.clip_norm,
            text=f"The released direction is {words(self.epsilon)}-LDP (pure) for any two records as far as the formula "
            "goes; it is drawn in floating point and rounded to a public grid, which no proof covers.",
        )

    def mean_cosine(self, dim: int) -> float:
        return optimal_cap(dim, epsilon=self.epsilon).cosine

    def expected_squared_error(self, dim: int) -> float:
        cap = optimal_cap(dim, epsilon=self.epsilon)
        return self.clip_norm**2 * cap.squared_sine / cap.cosine**2


@lru_cache(maxsize=1024)
def optimal_cap(dim: int, *, epsilon: float) -> Cap:
    """Return the cap for which the expected cosine between a latent and its release is largest.

    The threshold g solves m(g) = g, which is (M - g q)(e^eps - 1) = g. The program solves it for the logit
    ln(s / (1 - s)), which gives both s and g^2 = 1 - s in full precision.
    """
    check_between(*BUDGETS, epsilon=epsilon)
    check_integer(*SPHERE_DIMS, dim=dim)  # of a sphere
    a = (dim - 1) / 2
    log_gain = epsilon + math.log(-math.expm1(-epsilon))

    def excess(logit: float) -> float:
        return log_gain + log_overshoot(logit, dim=dim) - 0.5 * float(scipy.special.log_expit(-logit))

    # The optimum is at least m(0) = 2 M(0) tanh(eps / 2), which bounds s from above.
    floor = 0.99 * 2 * math.tanh(epsilon / 2) / (2 * a) * math.exp(-float(scipy.special.betaln(0.5, a)))
    logit = float(scipy.optimize.brentq(excess, MIN_LOGIT, -2 * math.log(floor), xtol=1e-14, rtol=1e-14, maxiter=500))
    log_q = math.log(cap_probability(float(scipy.special.expit(logit)), dim=dim))
    escape = -math.expm1(log_q) * math.exp(-float(np.logaddexp(0.0, log_gain + log_q)))
    return Cap(math.sqrt(scipy.special.expit(-logit)), float(scipy.special.expit(logit)), math.exp(log_q), escape)


def log_overshoot(logit: float, *, dim: int) -> float:
    """Return ln E max(T - g, 0) = ln(M - g q) for the cap with s / (1 - s) = exp(``logit``).

    The letters are those of the module's docstring. If g is near 1 or q is tiny, rounding errors
    would spoil the difference M - g q. In these cases the program uses an equivalent formula,
    ``s^(a+1) * F(a + 1/2, 1; a + 2; s) / (4 * a * (a + 1) * B(1/2, a))``, where F is Gauss's
    hypergeometric function, a series of positive terms.
    """
    a, sine, log_sine = (dim - 1) / 2, float(scipy.special.expit(logit)), float(scipy.special.log_expit(logit))
    log_beta = float(scipy.special.betaln(0.5, a))
    if sine < 0.5 or a * log_sine < -100:
        series = math.log(float(scipy.special.hyp2f1(a + 0.5, 1.0, a + 2.0, sine)))
        return (a + 1) * log_sine - math.log(4 * a * (a + 1)) - log_beta + series
    first_moment = math.exp(a * log_sine - log_beta) / (2 * a)
    return math.log(first_moment - math.sqrt(scipy.special.expit(-logit)) * cap_probability(sine, dim=dim))


def cap_probability(squared_sine: float, *, dim: int) -> float:
    """Return q, the cap's share of the sphere, from ``squared_sine`` = 1 - g^2 with g >= 0."""
    return float(scipy.special.betainc((dim - 1) / 2, 0.5, squared_sine)) / 2


def cap_angles(cap: Cap, inside: Tensor, uniform: Tensor, *, dim: int) -> tuple[Tensor, Tensor]:
    """Return the cosine and the sine (B, 1) of the angle between a latent x and its draw V.

    ``uniform`` (B,) holds uniform numbers from (0, 1); ``inside`` (B,) is True where V is in the
    cap.
    """
    u, q = uniform.numpy(), cap.probability
    # P(T >= t): below q inside the cap, between q and 1 outside; beyond 1/2 the other tail keeps its digits.
    upper = np.where(inside.numpy(), q * u, q + (1 - q) * u)
    lower = np.where(inside.numpy(), 1 - q * u, (1 - q) * (1 - u))
    squared: NDArray[np.float64] = scipy.special.betaincinv(
        (dim - 1) / 2, 0.5, np.minimum(1.0, 2 * np.minimum(upper, lower))
    )
    cosine = np.where(upper <= lower, 1.0, -1.0) * np.sqrt(1 - squared)
    return torch.from_numpy(cosine)[:, None], torch.from_numpy(np.sqrt(squared))[:, None]


def at_angles(centres: Tensor, cosine: Tensor, sine: Tensor, gaussian: Tensor) -> Tensor:
    """Return unit vectors T x + sqrt(1 - T^2) W, where W is a random unit vector orthogonal to x.

    ``centres`` (B, n) holds each x, ``cosine`` (B, 1) holds each T, and ``sine`` (B, 1) holds each
    sqrt(1 - T^2). W is computed from the standard normal numbers ``gaussian`` (B, n).
    """
    for _ in range(2):  # the second removes what rounding leaves of x in the first
        gaussian = gaussian - (gaussian * centres).sum(dim=-1, keepdim=True) * centres
        norm: Tensor = torch.linalg.vector_norm(gaussian, dim=-1, keepdim=True)
        gaussian = gaussian / norm.clamp(min=torch.finfo(gaussian.dtype).tiny)
    return cosine * centres + sine * gaussian
