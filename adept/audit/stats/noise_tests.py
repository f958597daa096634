"""Distributions of noise that a mechanism may declare, and tests whether noise follows one of them."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import betainc
from scipy.stats import beta, gamma, laplace, norm

from adept.audit.result import MechanismFailure
from adept.audit.stats.confidence_bounds import Floats, gaussian_delta

NOT_GAUSSIAN_P = 0.01  # a smaller p-value rules out Gaussian noise


@dataclass(frozen=True, kw_only=True)
class Noise:
    """A distribution of additive noise that a mechanism may declare.

    The distance of two inputs is measured in the lp norm, where p is ``order``. A *pivot* is a
    number that is computed from the noise; if the declaration is true, its distribution is known
    exactly. (If a mechanism draws noise on a grid, the distribution of a pivot changes by less than
    a relative 1e-11, for epsilon up to 100.)
    """

    order: int
    pure: bool = True  # True if the largest privacy loss is the distance divided by the scale
    size: Callable[[Floats, float], tuple[float, int]]  # a chi-square pivot, and its degrees of freedom
    shape: Callable[[Floats, float], list[float]]  # p-values of tests of further pivots
    reach: Callable[[Floats, float], list[float]]  # p-values of the noise's ends, see `end_p_value`
    # Median of a coordinate's absolute value, in scales; None if these values depend on each other
    median: float | None

    def holds(self, distance: float, *, scale: float, epsilon: float, delta: float) -> tuple[bool, str]:
        """Decide if the claim can hold, and say what the noise needs.

        Pure noise has the loss ``distance / scale`` (Habernal 2021, Appendix A); Gaussian noise
        needs a delta.
        """
        if not self.pure:
            needed = gaussian_delta(distance, sigma=scale, epsilon=epsilon)
            return needed <= delta * (1 + 1e-6), f"delta {needed:.4g}"
        loss = distance / scale
        # A claimed delta may cover a loss beyond epsilon: only pure claims are refuted.
        return loss <= epsilon * (1 + 1e-9) or delta > 0, f"epsilon {loss:.4g}"


def _radial_shape(noise: Floats, scale: float) -> list[float]:
    """Compare the norms of noise vectors with Gamma(n, s), and, in more than one dimension, the
    square of one coordinate of the direction with Beta(1/2, (n - 1) / 2).
    """
    rows, dim = noise.shape
    radius = np.linalg.norm(noise, axis=1)
    tests = [kolmogorov(radius, gamma(dim, scale=scale).cdf)]
    if dim > 1:
        one = noise[np.arange(rows), np.arange(rows) % dim]
        tests.append(kolmogorov(np.square(one / radius), beta(0.5, (dim - 1) / 2).cdf))
    return tests


NOISES = {
    "laplace": Noise(  # independent on each coordinate, with the scale b (Habernal 2021, Definition 2.5)
        order=1,
        size=lambda noise, scale: (2 * float(np.abs(noise).sum()) / scale, 2 * noise.size),
        shape=lambda noise, scale: [kolmogorov(noise.ravel(), laplace(scale=scale).cdf)],
        reach=lambda noise, scale: [end_p_value(sign * noise.ravel(), laplace(scale=scale).sf) for sign in (1, -1)],
        median=math.log(2),
    ),
    "gaussian": Noise(  # independent on each coordinate; the scale is the standard deviation
        order=2,
        pure=False,
        size=lambda noise, scale: (float(np.square(noise / scale).sum()), noise.size),
        shape=lambda noise, scale: [kolmogorov(noise.ravel(), norm(scale=scale).cdf)],
        reach=lambda noise, scale: [end_p_value(sign * noise.ravel(), norm(scale=scale).sf) for sign in (1, -1)],
        median=float(norm.ppf(0.75)),
    ),
    "l2_norm": Noise(  # density proportional to exp(-||z|| / s): the norm is Gamma(n, s), the direction uniform
        order=2,
        size=lambda noise, scale: (2 * float(np.linalg.norm(noise, axis=1).sum()) / scale, 2 * noise.size),
        shape=_radial_shape,
        reach=lambda noise, scale: [end_p_value(np.linalg.norm(noise, axis=1), gamma(noise.shape[1], scale=scale).sf)],
        median=None,
    ),
}


def cap_p_value(releases: Floats, centre: Floats, *, epsilon: float, clip_norm: float) -> float:
    """Return the p-value of a test that releases (m, n) of one latent follow PrivUnit's
    distribution.

    The test is the Kolmogorov-Smirnov test of the cosine T between a release and its input. Claim:
    under PrivUnit (Bhowmick et al. 2018, Algorithm 1), P(T >= t) is ``p * u(t) / q`` for t above a
    threshold g, and ``1 - (1 - p) * (1 - u(t)) / (1 - q)`` for t below it. Here u(t) is the share
    of the sphere whose cosine with the input is at least t, q = u(g), and p is ``q * e^eps / (1 +
    (e^eps - 1) * q)``. All releases have the l2 norm C / g, where C is ``clip_norm``. So the test
    computes g as C divided by the median norm of the releases.
    """
    dim = releases.shape[1]
    length = np.linalg.norm(releases, axis=1)
    g = min(clip_norm / max(float(np.median(length)), 1e-300), 1.0)
    # At the width (1 - g^2) / (n g) = 3e-4, rounding to the grid changes Kolmogorov's distance by less than 1e-3
    if dim < 2 or 1 - g * g < 3e-4 * dim * g:
        raise MechanismFailure("the cap is so narrow that rounding would show in its distribution")
    q = float(_beyond(np.asarray(g), dim))
    p = 1 / (1 + math.exp(-epsilon) * (1 - q) / q)

    def below(t: Floats) -> Floats:
        beyond = _beyond(t, dim)
        return np.where(t < g, (1 - p) * (1 - beyond) / (1 - q), 1 - p * beyond / q)

    cosines = releases @ (centre / np.linalg.norm(centre)) / np.maximum(length, 1e-300)
    return kolmogorov(np.clip(cosines, -1, 1), below)


def end_p_value(values: Floats, beyond: Callable[[float], float]) -> float:
    """Return the p-value of a test that m independent values have the tail ``beyond``.

    Claim: if P(value > t) is ``beyond(t)`` for all t, the returned number is at most a with
    probability at most a. Proof: it is G(M) with M the largest value and G(t) = ``(1 - beyond(t)) **
    m``, which is the distribution function of M; and P(G(M) <= a) <= a for every distribution. QED.
    """
    return math.exp(len(values) * math.log1p(-min(float(beyond(float(values.max()))), 1 - 1e-16)))


def looks_gaussian(releases: Floats) -> bool:
    """Return True if releases (m, d) of one record cannot be told from draws of a Gaussian.

    The covariance is estimated and removed. Then Kolmogorov-Smirnov tests compare the coordinates
    with a normal distribution, and the squared lengths with Beta's, which they follow exactly for
    Gaussian releases (Gnanadesikan and Kettenring 1972). Whole numbers, or other multiples of a
    step, are spread over their steps first.
    """
    rows, dim = releases.shape
    values = np.unique(releases)
    if 2 < len(values) < releases.size / 2:
        releases = releases + np.diff(values).min() * (np.random.default_rng().random(releases.shape) - 0.5)
    centred = releases - releases.mean(axis=0)
    covariance = np.atleast_2d(np.cov(centred.T))
    if len(values) < 3 or rows < 8 * dim or np.linalg.matrix_rank(covariance) < dim:
        return False
    white = np.linalg.solve(np.linalg.cholesky(covariance), centred.T).T
    lengths = np.square(white).sum(axis=1) * rows / (rows - 1) ** 2
    tests = kolmogorov(white.ravel(), norm.cdf), kolmogorov(lengths, beta(dim / 2, (rows - 1 - dim) / 2).cdf)
    return min(tests) >= NOT_GAUSSIAN_P


def kolmogorov(values: Floats, distribution: Callable[[Floats], Floats]) -> float:
    """Return an upper bound on the p-value of the test that m values follow ``distribution``.

    The test is that of Kolmogorov and Smirnov. The bound is ``2 * exp(-2 * m * D**2)``, where D is
    the largest distance between ``distribution`` and the values' empirical distribution function
    (Massart 1990).
    """
    below, steps = distribution(np.sort(values)), np.arange(len(values) + 1) / len(values)
    distance = float(max((steps[1:] - below).max(), (below - steps[:-1]).max()))
    return min(1.0, 2 * math.exp(-2 * len(values) * distance**2))


def _beyond(t: Floats, dim: int) -> Floats:
    """Return the probability that the first coordinate of a uniform unit vector is >= ``t``."""
    tail = 0.5 * betainc((dim - 1) / 2, 0.5, 1 - np.square(t))
    return np.asarray(np.where(t > 0, tail, 1 - tail))
