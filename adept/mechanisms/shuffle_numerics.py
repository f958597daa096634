r"""An upper bound on E[(X_1 + ... + X_n)+], rounding included.

The X_i are independent copies of a number with few values. *The sum*. Let S = X_1 + ... + X_n, and
U an independent Gaussian number of mean 0 and deviation h: E[S+] <= E[(S + U)+] (Jensen). For theta
> 0 put f(x) = e^(theta x) E[(S + U - x)+]. Its Fourier transform is E[e^(z S)] e^(z^2 h^2 / 2) /
z^2 at z = theta + iy, because the integral of e^(z x) (s - x) over x < s is e^(z s) / z^2. By
Poisson's formula the sum of f over the multiples of any T is 1 / T times the sum of the transform
over the multiples of 2 pi / T. All terms of the first sum are positive and f(0) is one of them; so
the second, a sum of E[e^(z X)]^n over some 10^4 places, is an *upper bound*, whatever theta, T and
h are. They decide how close it is: theta makes the largest term, at y = 0, as small as possible; T
is so long that the other multiples add hardly anything; h is a hundredth of the scale that matters.
Values so low that the others hardly ever make up for them are raised to a limit, which can only
increase the result. Outcomes without one positive X add nothing to E[S+]. If they are likely they
are left out, because otherwise they would hide the others: from E[e^(z X)]^n the same power of the
contribution of zero and the negative values is subtracted, as one difference without cancellation.

*Its rounding*. With u = 2^-53, sums and products have a relative error of at most u, elementary
functions one of 8 u, and exponentials a further one of u times their exponent. So every step below
has a relative error of at most SLACK = 2^-40, which is 2^13 u. Let M = E[e^(theta X)], m_j the
tilted chances p_j e^(theta x_j) / M, v = sum m_j |x_j|, and phi(y) = E[e^(z X)] / M. The terms m_j
(e^(i y x_j) - 1) of phi(y) - 1 have errors of at most SLACK m_j y |x_j|, with the rounding of their
arguments. So the error of phi is at most SLACK y v. By the mean value theorem, the error of phi^n,
with |phi| <= r, is at most SLACK r^n n y v / r, plus SLACK r^n (1 + |n ln phi|) for exponential and
logarithm. Without the outcomes that have no positive value it is (a + b)^n - a^n with |b| <= P, the
tilted mass of the positive values, and |a| + P <= r: that changes by at most n P r^(n-1) times the
same sum, with y for the arguments in b. All this is added term by term. The part that is cut off
beyond y = Y is at most e^((theta^2 - Y^2) h^2 / 2) / Y times the power at y = 0. M - 1, a sum of
p_j (e^(theta x_j) - 1), is taken larger by SLACK times the sum of their sizes; below 1/2, M is the
sum of the chance of zero and all p_j e^(theta x_j), none of them negative, and taken larger by 4
SLACK M. Where M^n or e^theta is beyond the range of floats, Chernoff's E[S+] <= M^n / theta stands.
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
SMOOTHING, CUT_OFF, MAX_SUM_TERMS = 0.01, 10.0, 2**17  # h, relative to what counts; Y h; places of the sum
MAX_LOG_ODDS = 30.0  # n ln(1 + P / a) at y = 0 up to which outcomes without a positive value are left out
MAX_LOG_ODDS_ONCE = 2.0  # the same limit for ln(1 + P / a)


def mean_positive_part(chances: Floats, values: Floats, *, zero: float, copies: int) -> float:
    """Return an upper bound on E[(X_1 + ... + X_n)+].

    Args:
        chances: the probability of each value, with a relative error of at most SLACK.
        values: the values themselves; none is zero, and the largest is 1.
        zero: the probability of the value zero, with a relative error of at most SLACK; it is 1
            less all ``chances``.
        copies: the number n of independent copies, at least 1.
    """
    values = np.maximum(values, -_saddle(chances, values, zero, copies).reach)
    tilted = _saddle(chances, values, zero, copies)
    return tilted.bound(step=2 * math.pi / tilted.period, smoothing=tilted.smoothing)


def _saddle(chances: Floats, values: Floats, zero: float, copies: int) -> "_Sum":
    """Return S tilted by the theta that minimises E[e^(theta S); some X > 0] / theta^2."""
    from scipy.optimize import brentq  # slow to import, and most releases do without

    def excess(log_tilt: float) -> float:
        tilted = _Sum(chances, values, zero, copies, math.exp(log_tilt))
        return tilted.mean * tilted.tilt - 2

    ends = math.log(MIN_TILT), math.log(MAX_TILT)
    root = brentq(excess, *ends, xtol=1e-3) if excess(ends[1]) > 0 else ends[1]
    return _Sum(chances, values, zero, copies, math.exp(root))


@dataclass(frozen=True, eq=False)
class _Sum:
    """The distribution of S under the weights e^(theta S)."""

    chances: Floats
    values: Floats
    zero: float  # the chance of zero
    copies: int  # n
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
        """An upper bound on n ln M."""
        if self.moment <= 0.5:
            return self.copies * (math.log(self.moment) + 4 * SLACK)
        return self.copies * math.log1p(float((self._growth + SLACK * np.abs(self._growth)).sum()))

    @cached_property
    def masses(self) -> Floats:
        """m_j: the tilted chances."""
        return np.asarray(self.chances * np.exp(self.tilt * self.values) / self.moment)

    @cached_property
    def _above(self) -> NDArray[np.bool_]:
        return np.asarray(self.values > 0)

    @cached_property
    def gain(self) -> float:
        """P, the tilted mass of the positive values."""
        return float(self.masses[self._above].sum())

    @cached_property
    def share(self) -> float:
        """The tilted chance that some X is positive."""
        return -math.expm1(self.copies * math.log1p(-min(self.gain, 1 - SLACK)))

    @cached_property
    def mean(self) -> float:
        """The tilted mean of S, given that some X is positive."""
        weighted = self.masses * self.values
        rate = float(weighted[~self._above].sum()) / (1 - min(self.gain, 1 - SLACK))  # of the others' mean
        return self.copies * (rate + (float(weighted[self._above].sum()) - self.gain * rate) / self.share)

    @cached_property
    def upward(self) -> float:
        """Root mean square of the contribution of positive values, under the tilted chances."""
        return math.sqrt(self.copies * float(self.masses[self._above] @ self.values[self._above] ** 2) / self.share)

    @property
    def reach(self) -> float:
        """The size beyond which positive values hardly ever make up for a negative value."""
        mean = self.copies * float(self.masses[self._above] @ self.values[self._above]) / self.share
        return mean + PERIOD_DEVIATIONS * (self.upward + 1)

    @property
    def period(self) -> float:
        """The period T."""
        downward = self.copies * float(self.masses[~self._above] @ self.values[~self._above] ** 2)
        return PERIOD_DEVIATIONS * 2 * math.sqrt(self.upward**2 + downward) + PERIOD_DECAY / self.tilt

    @property
    def smoothing(self) -> float:
        """The deviation h of the Gaussian U."""
        return SMOOTHING * min(1 / self.tilt, self.upward)

    def bound(self, *, step: float, smoothing: float) -> float:
        """Return the sum over y = 0, step, 2 step, ..., plus bounds on its errors."""
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
        """Return phi(y)^n and error bounds; leave out outcomes without a positive value if likely."""
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
    """Return the sum of m (e^(iyx) - 1) at each y, without cancellation near y = 0."""
    total = np.zeros(len(places), dtype=np.complex128)
    for mass, value in zip(masses, values, strict=True):
        total += mass * (-2 * np.sin(places * (value / 2)) ** 2 + 1j * np.sin(places * value))
    return total


def _log1p(z: Complexes) -> Complexes:
    """Return ln(1 + z), by |1 + z|^2 - 1 = x (2 + x) + y^2.

    (NumPy takes the logarithm of |1 + z|: a small z loses its real part.)
    """
    excess = z.real * (2 + z.real) + z.imag**2
    near = np.abs(excess) < 0.5
    far = np.log(np.maximum(np.hypot(1 + z.real, z.imag), 1e-150))
    real = np.where(near, np.log1p(np.where(near, excess, 0.0)) / 2, far)
    return np.asarray(real + 1j * np.arctan2(z.imag, 1 + z.real))


def _difference(first: Complexes, second: Complexes) -> Complexes:
    """Return e^(first + second) - e^first, without cancellation.

    With z = x + iy: e^z - 1 = (e^x - 1) cos y - 2 sin^2(y/2) + i e^x sin y.
    """
    x, y = np.minimum(second.real, 1.0), second.imag
    small = np.expm1(x) * np.cos(y) - 2 * np.sin(y / 2) ** 2 + 1j * np.exp(x) * np.sin(y)
    large = np.exp(first + second) - np.exp(first)
    return np.asarray(np.where(second.real < 1, np.exp(first) * small, large))
