"""Distributions of noise that a mechanism may declare, and exact tests of samples.

Each distribution has an ``order``: the p of the lp norm that measures its distances. `size` and
`shape` are pivots: if the declaration is true, the distribution of a pivot is known exactly. (On
the public grid it differs by less than a relative 1e-11 up to epsilon 100.) `magnitude_median` is
the median of |noise|, or None if magnitudes are not independent.
"""

import math
from collections.abc import Callable

import numpy as np
from scipy.special import betainc
from scipy.stats import beta, gamma, laplace, norm

from adept.audit.result import MechanismFailure
from adept.audit.stats.confidence_bounds import Floats, gaussian_delta

# (1 - g^2) / (n g): at this width rounding to the grid moves Kolmogorov's distance by less than
# 1e-3.
MIN_CAP_WIDTH = 3e-4


class PureNoise:
    """Noise whose privacy loss is bounded, and attained, by the distance D over the scale."""

    def holds(self, distance: float, *, scale: float, epsilon: float, delta: float) -> tuple[bool, str]:
        """Check the loss D / scale against the claim (Habernal 2021, Appendix A)."""
        loss = distance / scale
        # A claimed delta may cover a loss beyond epsilon: only pure claims are refuted.
        return loss <= epsilon * (1 + 1e-9) or delta > 0, f"epsilon {loss:.4g}"


class LaplaceNoise(PureNoise):
    """Independent Laplace noise of scale b per coordinate (Habernal 2021, Definition 2.5)."""

    order = 1

    def size(self, noise: Floats, scale: float) -> tuple[float, int]:
        """Return 2 sum|z|/b, chi-square with two degrees of freedom per number."""
        return 2 * float(np.abs(noise).sum()) / scale, 2 * noise.size

    def shape(self, noise: Floats, scale: float) -> list[float]:
        return [kolmogorov(noise.ravel(), laplace(scale=scale).cdf)]

    def magnitude_median(self, scale: float) -> float | None:
        return scale * math.log(2)


class GaussianNoise:
    """Independent normal noise of standard deviation s on each coordinate."""

    order = 2

    def holds(self, distance: float, *, scale: float, epsilon: float, delta: float) -> tuple[bool, str]:
        """Check the exact delta at epsilon against the claim (Balle and Wang 2018, Th. 8)."""
        needed = gaussian_delta(distance, sigma=scale, epsilon=epsilon)
        return needed <= delta * (1 + 1e-6), f"delta {needed:.4g}"

    def size(self, noise: Floats, scale: float) -> tuple[float, int]:
        """Return sum z^2 / s^2, chi-square with one degree of freedom per number."""
        return float(np.square(noise / scale).sum()), noise.size

    def shape(self, noise: Floats, scale: float) -> list[float]:
        return [kolmogorov(noise.ravel(), norm(scale=scale).cdf)]

    def magnitude_median(self, scale: float) -> float | None:
        return scale * float(norm.ppf(0.75))


class RadialNoise(PureNoise):
    """K-norm noise in l2: density ~ exp(-||z|| / s); radius Gamma(n, s), uniform direction."""

    order = 2

    def size(self, noise: Floats, scale: float) -> tuple[float, int]:
        """Return 2 sum||z||/s, chi-square with 2n degrees of freedom per vector."""
        return 2 * float(np.linalg.norm(noise, axis=1).sum()) / scale, 2 * noise.size

    def shape(self, noise: Floats, scale: float) -> list[float]:
        """Test the radius as Gamma(n, s), a squared direction cosine as Beta(1/2, (n-1)/2)."""
        rows, dim = noise.shape
        radius = np.linalg.norm(noise, axis=1)
        tests = [kolmogorov(radius, gamma(dim, scale=scale).cdf)]
        if dim > 1:
            one = noise[np.arange(rows), np.arange(rows) % dim]
            tests.append(kolmogorov(np.square(one / radius), beta(0.5, (dim - 1) / 2).cdf))
        return tests

    def magnitude_median(self, scale: float) -> float | None:
        return None


Noise = LaplaceNoise | GaussianNoise | RadialNoise
NOISES: dict[str, Noise] = {"laplace": LaplaceNoise(), "gaussian": GaussianNoise(), "l2_norm": RadialNoise()}


def cap_p_value(releases: Floats, centre: Floats, *, epsilon: float, clip_norm: float) -> float:
    """Test releases (m, n) of one latent against PrivUnit; return Kolmogorov-Smirnov's p-value.

    Claim: the cosine T of a release with its input has P(T >= t) = p u(t) / q above the threshold g
    and 1 - (1-p) (1-u(t)) / (1-q) below it, u(t) the share of the sphere beyond t, q = u(g) and
    p = q e^eps / (1 + (e^eps - 1) q) (Bhowmick et al. 2018, Algorithm 1). All releases have length
    C / g, so g is C over their median length.
    """
    dim = releases.shape[1]
    length = np.linalg.norm(releases, axis=1)
    g = min(clip_norm / max(float(np.median(length)), 1e-300), 1.0)
    if dim < 2 or 1 - g * g < MIN_CAP_WIDTH * dim * g:
        raise MechanismFailure("the cap is so narrow that rounding would show in its distribution")
    q = float(_beyond(np.asarray(g), dim))
    p = 1 / (1 + math.exp(-epsilon) * (1 - q) / q)

    def below(t: Floats) -> Floats:
        beyond = _beyond(t, dim)
        return np.where(t < g, (1 - p) * (1 - beyond) / (1 - q), 1 - p * beyond / q)

    cosines = releases @ (centre / np.linalg.norm(centre)) / np.maximum(length, 1e-300)
    return kolmogorov(np.clip(cosines, -1, 1), below)


def kolmogorov(values: Floats, distribution: Callable[[Floats], Floats]) -> float:
    """Return 2 exp(-2 m D^2) for Kolmogorov distance D: bounds the p-value (Massart 1990)."""
    below, steps = distribution(np.sort(values)), np.arange(len(values) + 1) / len(values)
    distance = float(max((steps[1:] - below).max(), (below - steps[:-1]).max()))
    return min(1.0, 2 * math.exp(-2 * len(values) * distance**2))


def _beyond(t: Floats, dim: int) -> Floats:
    """Return P(T >= t) for the first coordinate T of a uniform unit vector."""
    tail = 0.5 * betainc((dim - 1) / 2, 0.5, 1 - np.square(t))
    return np.asarray(np.where(t > 0, tail, 1 - tail))
