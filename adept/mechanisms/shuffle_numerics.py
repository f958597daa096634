r"""An upper bound on E[(X_1 + ... + X_n)+] that includes all rounding errors; (s)+ is max(0, s).

The X_i are independent copies of a random number X, which has few values x_j, with probabilities p_j.

*Claim*: the returned number is at least E[S+] for S = X_1 + ... + X_n. *Reason*: with an independent
Gaussian U of standard deviation h, E[S+] <= E[(S + U)+] by Jensen's inequality. By Poisson's formula, a
sum of positive terms, one of which is E[(S + U)+], equals a sum of values of the Fourier transform
E[e^(z X)]^n e^(z^2 h^2 / 2) / z^2 at z = theta + iy, at about 10^4 places y. This holds whatever theta, h
and the *period* T of the sum are; they are chosen to make the bound close. Values of X below -reach are
raised to -reach, which can only increase E[S+]. If outcomes without a positive X_i are likely, they are
left out, because their rounding errors would hide the others: E[e^(z X)]^n - w^n, where w is the part of
E[e^(z X)] from values that are not positive, replaces the power.

*Rounding*: every step has a relative error of at most SLACK = 2^-40. The bounds on all errors, and on
the terms that are cut off, are added to the result. The *tilted* probability of x_j is p_j e^(theta x_j)
/ M with M = E[e^(theta X)]. If M^n or e^theta is beyond the range of floats, Chernoff's bound E[S+] <=
M^n / theta replaces the sum. ``docs/proofs.md``, "An upper bound on a mean of sums", derives all this.
"""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Complexes = NDArray[np.complex128]

SLACK = 2.0**-40
MIN_TILT, MAX_TILT, MAX_EXPONENT = 1e-12, 500.0, 700.0
PERIOD_DEVIATIONS, PERIOD_DECAY = 9.0, 36.0  # standard deviations that a period covers; e-folds of theta T
# h, relative to the smaller of 1 / theta and `_Sum.upward`; Y h; largest number of terms of the sum
SMOOTHING, CUT_OFF, MAX_SUM_TERMS = 0.01, 10.0, 2**17
MAX_LOG_ODDS = 30.0  # n ln(1 + P / a) at y = 0 up to which outcomes without a positive value are left out
MAX_LOG_ODDS_ONCE = 2.0  # the same limit for ln(1 + P / a)


def mean_positive_part(chances: Floats, values: Floats, *, zero: float, copies: int) -> float:
    """Return an upper bound on E[(X_1 + ... + X_n)+] for n = ``copies`` copies of X.

    ``values`` are the values of X other than 0, of which the largest is 1, and ``chances`` are
    their probabilities. ``zero`` is the probability that X is 0. Each probability may have a
    relative error of SLACK.
    """
    values = np.maximum(values, -_saddle(chances, values, zero, copies).reach)
    tilted = _saddle(chances, values, zero, copies)
    return tilted.bound(step=2 * math.pi / tilted.period, smoothing=tilted.smoothing)


def _saddle(chances: Floats, values: Floats, zero: float, copies: int) -> "_Sum":
    """Return S, tilted by the theta that the module's docstring chooses.

    For this theta, the term of the transform's sum at y = 0 is smallest. So this theta minimises
    E[e^(theta S); some X_i > 0] / theta^2.
    """
    from scipy.optimize import brentq  # slow to import, and most releases do without

    def excess(log_tilt: float) -> float:
        tilted = _Sum(chances, values, zero, copies, math.exp(log_tilt))
        return tilted.mean * tilted.tilt - 2

    ends = math.log(MIN_TILT), math.log(MAX_TILT)
    root = brentq(excess, *ends, xtol=1e-3) if excess(ends[1]) > 0 else ends[1]
    return _Sum(chances, values, zero, copies, math.exp(root))


@dataclass(frozen=True, eq=False)
class _Sum:
    """The *tilted* distribution of the sum S = X_1 + ... + X_n.

    Each outcome's probability is multiplied by e^(theta S), and all products are scaled to sum to
    one.
    """

    chances: Floats
    values: Floats
    zero: float  # the probability that X is zero
    copies: int  # the number n of copies of X
    tilt: float  # theta

    @cached_property
    def _growth(self) -> Floats:
        return np.asarray(self.chances * np.expm1(self.tilt * self.values))

    @cached_property
    def moment(self) -> float:
        """The moment M = E[e^(theta X)]."""
        near = 1.0 + float(self._growth.sum())
        return near if near > 0.5 else self.zero + float(self.chances @ np.exp(self.tilt * self.values))

    @cached_property
    def log_total(self) -> float:
        """An upper bound on n ln M, where M is ``moment``."""
        if self.moment <= 0.5:
            return self.copies * (math.log(self.moment) + 4 * SLACK)
        return self.copies * math.log1p(float((self._growth + SLACK * np.abs(self._growth)).sum()))

    @cached_property
    def masses(self) -> Floats:
        """The tilted probabilities m_j of the values of one X."""
        return np.asarray(self.chances * np.exp(self.tilt * self.values) / self.moment)

    @cached_property
    def _above(self) -> NDArray[np.bool_]:
        return np.asarray(self.values > 0)

    @cached_property
    def gain(self) -> float:
        """The tilted probability P that X is positive."""
        return float(self.masses[self._above].sum())

    @cached_property
    def share(self) -> float:
        """The tilted probability that at least one X_i is positive."""
        return -math.expm1(self.copies * math.log1p(-min(self.gain, 1 - SLACK)))

    @cached_property
    def mean(self) -> float:
        """The tilted mean of S, given that at least one X_i is positive."""
        weighted = self.masses * self.values
        rate = float(weighted[~self._above].sum()) / (1 - min(self.gain, 1 - SLACK))  # E[X | X <= 0]
        return self.copies * (rate + (float(weighted[self._above].sum()) - self.gain * rate) / self.share)

    @cached_property
    def upward(self) -> float:
        """The tilted root mean square of the positive values in S, if there is one.

        The square of this number is the tilted mean of the sum of X_i^2 over all positive X_i,
        given that at least one X_i is positive.
        """
        return math.sqrt(self.copies * float(self.masses[self._above] @ self.values[self._above] ** 2) / self.share)

    @property
    def reach(self) -> float:
        """The number reach: values of X below -reach are raised to -reach.

        In a sum, the positive values hardly ever outweigh such a low value.
        """
        mean = self.copies * float(self.masses[self._above] @ self.values[self._above]) / self.share
        return mean + PERIOD_DEVIATIONS * (self.upward + 1)

    @property
    def period(self) -> float:
        """The period T, the distance between the places at which Poisson's formula sums f."""
        downward = self.copies * float(self.masses[~self._above] @ self.values[~self._above] ** 2)
        return PERIOD_DEVIATIONS * 2 * math.sqrt(self.upward**2 + downward) + PERIOD_DECAY / self.tilt

    @property
    def smoothing(self) -> float:
        """The standard deviation h of the Gaussian number U that is added to S."""
        return SMOOTHING * min(1 / self.tilt, self.upward)

    def bound(self, *, step: float, smoothing: float) -> float:
        """Return the bound on E[S+], errors included, as a sum of terms at y = 0, step, 2 step, ...

        ``smoothing`` is h; the program increases it if the sum would otherwise have too many terms.
        """
        total = math.exp(max(-MAX_EXPONENT, min(self.log_total, MAX_EXPONENT)))
        if self.tilt >= MAX_TILT or self.log_total < -MAX_EXPONENT:
            return total / self.tilt  # Chernoff: s <= e^(theta s) / theta
        smoothing = max(smoothing, CUT_OFF / (MAX_SUM_TERMS * step))
        places = step * np.arange(math.ceil(CUT_OFF / (smoothing * step)) + 1, dtype=np.float64)
        powers, errors = self._powers(places)
        z = self.tilt + 1j * places
        kernel = np.exp(smoothing**2 / 2 * z**2) / z**2
        terms = (powers * kernel).real + errors * np.abs(kernel)
        terms[0] /= 2
        cut = math.exp(smoothing**2 / 2 * (self.tilt**2 - places[-1] ** 2)) / float(places[-1])
        cut *= min(1.0, 2 * self.copies * self.gain)  # twice: where nothing is left out this is 1
        whole = (step * float(terms.sum()) + cut) / math.pi
        return total * whole * (1 + SLACK)

    def _powers(self, places: Floats) -> tuple[Complexes, Floats]:
        """Return phi(y)^n at each place y, and bounds on the errors of these powers."""
        n, gain, drift = self.copies, self.gain, SLACK * places * float(self.masses @ np.abs(self.values))
        without = 1 - gain
        odds = math.log1p(gain / without) if without > 0 else math.inf
        if n * odds > MAX_LOG_ODDS or odds > MAX_LOG_ODDS_ONCE:
            log_power = n * _log1p(_turned(self.masses, self.values, places))
            radius = np.exp(log_power.real / n) + drift
            return np.exp(log_power), radius**n * (SLACK * (1 + np.abs(log_power)) + n * drift / radius)
        low, high = ~self._above, self._above
        log_low = _log1p(_turned(self.masses[low] / without, self.values[low], places))
        waves = np.exp(1j * places[:, None] * self.values[high]) @ self.masses[high]
        log_ratio = n * _log1p(waves / without * np.exp(-log_low))
        log_power = n * (log_low - odds)
        radius = without * np.exp(log_low.real) + gain + drift
        size = SLACK * (1 + places + n * odds + np.abs(log_power) + np.abs(log_ratio)) + n * drift / radius
        return _difference(log_power, log_ratio), n * gain * radius ** (n - 1) * size


def _turned(masses: Floats, values: Floats, places: Floats) -> Complexes:
    """Return the sum of m_j (e^(i y x_j) - 1) at each place y, without cancellation near y = 0."""
    total = np.zeros(len(places), dtype=np.complex128)
    for mass, value in zip(masses, values, strict=True):
        total += mass * (-2 * np.sin(places * (value / 2)) ** 2 + 1j * np.sin(places * value))
    return total


def _log1p(z: Complexes) -> Complexes:
    """Return ln(1 + z) for complex z = x + iy, computed from |1 + z|^2 - 1 = x (2 + x) + y^2."""
    # NumPy's logarithm of |1 + z| loses the real part of the result for a small z
    excess = z.real * (2 + z.real) + z.imag**2
    near = np.abs(excess) < 0.5
    far = np.log(np.maximum(np.hypot(1 + z.real, z.imag), 1e-150))
    real = np.where(near, np.log1p(np.where(near, excess, 0.0)) / 2, far)
    return np.asarray(real + 1j * np.arctan2(z.imag, 1 + z.real))


def _difference(first: Complexes, second: Complexes) -> Complexes:
    """Return e^(first + second) - e^first, without cancellation."""
    x, y = np.minimum(second.real, 1.0), second.imag
    small = np.expm1(x) * np.cos(y) - 2 * np.sin(y / 2) ** 2 + 1j * np.exp(x) * np.sin(y)
    large = np.exp(first + second) - np.exp(first)
    return np.asarray(np.where(second.real < 1, np.exp(first) * small, large))
