r"""Shuffling: hiding the order of releases makes the central epsilon smaller than the local one.

Each of n people has one record and releases one index for it by subset selection
(``adept.mechanisms.selection``): t of the k indices are heavy, with the weight A = e^eps, and the others
have the weight 1. W is the sum of all weights. A trusted party puts the n releases into a random order.

*Claim*: let n be public, and let two collections of n records be neighbours if they differ in one
record. Then for every c >= 0, the file is (c, delta)-DP with

    delta = E[(X_1 + ... + X_n)+] / n,    where (s)+ = max(0, s) and the X_i are copies of X.

With u = e^c, t' = min(t, k - t) and o = t - t', X takes the values A - u and 1 - u A with probability
t' / W each, A (1 - u) with o / W, 1 - u with (k - 2 t' - o) / W, and otherwise 0.

*Reason* (the privacy blanket: Balle, Bell, Gascon and Nissim 2019, Lemma 5.3): every record is with
probability k / W a *blanket*, which releases a uniformly random index, and hides among the blankets.
Several indices per record count as one, whose distribution is their product. *More records* never
increase delta. ``docs/proofs.md``, "Shuffled records", has the proof and the *floor*, a lower bound on
the claimed delta. The computed delta is an upper bound on it (`mean_positive_part`). If
it is below the floor, or cannot be computed, the delta of a file of one record, E[X+], replaces it.

Checked proof, without the blanket: ``proofs/Shuffling.v``, ``claim_is_at_most_alone``,
``floor_of_the_claim``, ``claim_is_above_the_floor_of_delta``.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import scipy
from numpy.typing import NDArray

from adept.errors import ConfigurationError, check_between, check_integer
from adept.mechanisms.base import LocalRandomizer
from adept.mechanisms.guarantee import total
from adept.mechanisms.randomized_response import JointResponse, RandomizedResponse
from adept.mechanisms.selection import Selection

Floats = NDArray[np.float64]
Complexes = NDArray[np.complex128]

MAX_AMPLIFIED_EPSILON = 40.0  # above this local epsilon, shuffling fewer than 10^17 records hides nothing
RELATIVE_STEP = 2e-4  # relative step of the search for epsilon
MIN_DELTA = 1e-300  # the smallest delta that is computed
FLOOR_ERROR = 1e-3  # relative error of a floor: n times 2^-53, for n up to 10^12
# Of mean_positive_part
SLACK = 2.0**-40
MIN_TILT, MAX_TILT, MAX_EXPONENT = 1e-12, 500.0, 700.0
PERIOD_DEVIATIONS, PERIOD_DECAY = 9.0, 36.0  # standard deviations that a period covers; e-folds of theta T
# h, relative to the smaller of 1 / theta and `_Sum.upward`; Y h; largest number of terms of the sum
SMOOTHING, CUT_OFF, MAX_SUM_TERMS = 0.01, 10.0, 2**17
MAX_LOG_ODDS = 30.0  # n ln(1 + P / a) at y = 0 up to which outcomes without a positive value are left out
MAX_LOG_ODDS_ONCE = 2.0  # the same limit for ln(1 + P / a)


def own(draw: Selection) -> int:
    """Return the largest number t' of indices that are heavy for one record and not for another."""
    return min(draw.heavy_count, draw.size - draw.heavy_count)


def weight(draw: Selection) -> float:
    """Return the sum W of the weights of all indices, in units of B, as a float."""
    return draw.heavy_count * math.exp(draw.epsilon) + (draw.size - draw.heavy_count)


def kept(draw: Selection) -> float:
    """Return the logarithm of t' A / W: the probability that an index is released that is heavy for x and not for x'."""
    heavy = own(draw) * math.exp(draw.epsilon)
    others = draw.size - draw.heavy_count
    return -math.log1p(((draw.heavy_count - own(draw)) * math.exp(draw.epsilon) + others) / heavy)


def cells(draw: Selection) -> list[tuple[float, tuple[float, ...], tuple[float, ...]]]:
    """Group the indices by their weights under two records, whose heavy sets overlap as little as possible.

    Each group has the probability that a record is a blanket and releases an index of the group, and the weights of
    these indices under the first and the second record. A weight is a tuple of numbers whose sum is its logarithm.
    """
    heavy, light, alone = (float(draw.epsilon),), (), own(draw)
    shared, rest = draw.heavy_count - alone, draw.size - draw.heavy_count - alone
    groups = [(alone, heavy, light), (alone, light, heavy), (shared, heavy, heavy), (rest, light, light)]
    return [(count / weight(draw), first, second) for count, first, second in groups if count]


def draws_of(
    mechanism: LocalRandomizer, *, dim: int, labels: RandomizedResponse | JointResponse | None = None
) -> tuple[Selection, ...]:
    """Return the random draws for one record: of text and label together, or of the text and then of the label."""
    if isinstance(labels, JointResponse):
        return (labels.selection,)
    beside = () if labels is None else (labels.selection,)
    if len(selections := mechanism.selections(dim)) == 1:
        return (*selections, *beside)
    raise ConfigurationError(
        "mechanism must be description, learned_codebook or codebook with blocks=1 for shuffled records, "
        f"got {mechanism.name}: no bound for shuffling it is proved"
    )


def central_epsilon(draws: Sequence[Selection], *, records: int, delta: float) -> float:
    """Return the central epsilon of ``records`` shuffled records, never above the local epsilon."""
    check_integer(1, 10**12, shuffled_records=records)
    check_between(1e-100, 0.5, central_delta=delta)
    local = total(*(draw.epsilon for draw in draws))
    if local > MAX_AMPLIFIED_EPSILON:
        return local
    return _smallest(tuple(draws), records, delta, local)


@lru_cache(maxsize=64)
def _smallest(draws: tuple[Selection, ...], records: int, delta: float, local: float) -> float:
    def excess(central: float) -> float:
        return math.log(central_delta(draws, records=records, epsilon=central) / delta)

    if excess(0.0) <= 0:
        return 0.0
    if excess(low := local * (1 - RELATIVE_STEP)) > 0:
        return local
    central = scipy.optimize.brentq(excess, 0.0, low, rtol=RELATIVE_STEP) * (1 + RELATIVE_STEP)
    while central < local and excess(central) > 0:  # so that ``central_delta`` confirms the returned epsilon
        central *= 1 + RELATIVE_STEP
    return float(min(central, local))


@np.errstate(under="ignore")  # a caller may have made it an error
def central_delta(draws: Sequence[Selection], *, records: int, epsilon: float) -> float:
    """Return a delta for which the shuffled file is (epsilon, delta)-DP, by the module's claim."""
    if epsilon >= total(*(draw.epsilon for draw in draws)):
        return 0.0
    chances, values, unit = _distribution(draws, epsilon=epsilon)
    alone = unit * float(chances @ np.maximum(values, 0.0)) * (1 + SLACK)
    bound = unit * mean_positive_part(chances, values, zero=_no_blanket(draws), copies=records) / records
    floor = (1 - FLOOR_ERROR) * _floor(draws, records=records, epsilon=epsilon)
    return max(MIN_DELTA, bound if floor <= bound < alone else alone)


def _distribution(draws: Sequence[Selection], *, epsilon: float) -> tuple[Floats, Floats, float]:
    """Return the probabilities of X's nonzero values, these values divided by a unit, and the unit.

    X is the random variable of the module's claim, and the unit its largest value. All are rounded so that
    E[(X_1 + ... + X_n)+] can only increase.
    """
    joined: list[tuple[float, tuple[float, ...], tuple[float, ...]]] = [(1.0, (), ())]
    for draw in draws:
        joined = [(p * q, a + c, b + d) for p, a, b in joined for q, c, d in cells(draw)]
    exponents = [(math.fsum(a), math.fsum((epsilon, *b, *(-x for x in a)))) for _, a, b in joined]
    # Values e^a - e^(epsilon + b)
    values = np.array([-math.exp(weight) * math.expm1(odds) for weight, odds in exponents])
    chances = np.array([p for p, _, _ in joined]) * (1 + SLACK * np.sign(values))
    unit = float(values.max()) * (1 + SLACK)
    return chances[values != 0], (values + SLACK * np.abs(values))[values != 0] / unit, unit


def _no_blanket(draws: Sequence[Selection]) -> float:
    """Return 1 - g, the probability that a record is no blanket, computed without cancellation."""
    none = 0.0
    for draw in draws:
        none += (1 - none) * draw.heavy_count * math.expm1(draw.epsilon) / weight(draw)
    return none


def _floor(draws: Sequence[Selection], *, records: int, epsilon: float) -> float:
    """Return the floor p (A - u) (p + 1 - g)^(n-1), a lower bound on delta (``docs/proofs.md``)."""
    together = math.fsum(map(kept, draws))
    own = math.exp(math.fsum((together, *(-draw.epsilon for draw in draws))))
    blanket = math.prod(draw.size / weight(draw) for draw in draws)
    others = math.log1p(own - blanket) if blanket < 0.5 else math.log(own + _no_blanket(draws))
    left = math.expm1(math.fsum((epsilon, *(-draw.epsilon for draw in draws))))  # e^c / A - 1
    return -left * math.exp(together + (records - 1) * others)


def mean_positive_part(chances: Floats, values: Floats, *, zero: float, copies: int) -> float:
    """Return an upper bound on E[(X_1 + ... + X_n)+] for n = ``copies`` independent copies of X, errors included.

    ``values`` are the few values x_j of X other than 0, of which the largest is 1, and ``chances`` are their
    probabilities p_j. ``zero`` is the probability that X is 0. Each probability may have a relative error of
    SLACK.

    *Claim*: the returned number is at least E[S+] for S = X_1 + ... + X_n. *Reason*: with an independent Gaussian U of
    standard deviation h, E[S+] <= E[(S + U)+] by Jensen's inequality. By Poisson's formula, a sum of positive terms,
    one of which is E[(S + U)+], equals a sum of values of the Fourier transform E[e^(z X)]^n e^(z^2 h^2 / 2) / z^2 at z
    = theta + iy, at about 10^4 places y. This holds whatever theta, h and the *period* T of the sum are; they are
    chosen to make the bound close. Values of X below -reach are raised to -reach, which can only increase E[S+]. If
    outcomes without a positive X_i are likely, they are left out, because their rounding errors would hide the others:
    E[e^(z X)]^n - w^n, where w is the part of E[e^(z X)] from values that are not positive, replaces the power.

    *Rounding*: every step has a relative error of at most SLACK = 2^-40. The bounds on all errors, and on
    the terms that are cut off, are added to the result. The *tilted* probability of x_j is p_j e^(theta x_j)
    / M with M = E[e^(theta X)]. If M^n or e^theta is beyond the range of floats, Chernoff's bound E[S+] <=
    M^n / theta replaces the sum. ``docs/proofs.md``, "An upper bound on a mean of sums", derives all this.
    """
    values = np.maximum(values, -_saddle(chances, values, zero, copies).reach)
    tilted = _saddle(chances, values, zero, copies)
    return tilted.bound(step=2 * math.pi / tilted.period, smoothing=tilted.smoothing)


def _saddle(chances: Floats, values: Floats, zero: float, copies: int) -> "_Sum":
    """Return S, tilted by the theta for which the term of the transform's sum at y = 0 is smallest.

    So this theta minimises E[e^(theta S); some X_i > 0] / theta^2.
    """

    def excess(log_tilt: float) -> float:
        tilted = _Sum(chances, values, zero, copies, math.exp(log_tilt))
        return tilted.mean * tilted.tilt - 2

    ends = math.log(MIN_TILT), math.log(MAX_TILT)
    root = scipy.optimize.brentq(excess, *ends, xtol=1e-3) if excess(ends[1]) > 0 else ends[1]
    return _Sum(chances, values, zero, copies, math.exp(root))


@dataclass(eq=False)
class _Sum:
    """The *tilted* distribution of the sum S = X_1 + ... + X_n.

    Each outcome's probability is multiplied by e^(theta S), and all products are scaled to sum to one.
    """

    chances: Floats
    values: Floats
    zero: float  # the probability that X is zero
    copies: int  # the number n of copies of X
    tilt: float  # theta

    def __post_init__(self) -> None:
        powers = np.exp(self.tilt * self.values)
        self.growth = self.chances * np.expm1(self.tilt * self.values)
        near = 1.0 + float(self.growth.sum())
        self.moment = near if near > 0.5 else self.zero + float(self.chances @ powers)  # M = E[e^(theta X)]
        self.masses = self.chances * powers / self.moment  # the tilted probabilities m_j of the values of one X
        self._above = self.values > 0
        self.gain = float(self.masses[self._above].sum())  # the tilted probability P that X is positive
        # The tilted probability that at least one X_i is positive
        self.share = -math.expm1(self.copies * math.log1p(-min(self.gain, 1 - SLACK)))

    @property
    def log_total(self) -> float:
        """An upper bound on n ln M, where M is ``moment``."""
        if self.moment <= 0.5:
            return self.copies * (math.log(self.moment) + 4 * SLACK)
        return self.copies * math.log1p(float((self.growth + SLACK * np.abs(self.growth)).sum()))

    @property
    def mean(self) -> float:
        """The tilted mean of S, given that at least one X_i is positive."""
        weighted = self.masses * self.values
        rate = float(weighted[~self._above].sum()) / (1 - min(self.gain, 1 - SLACK))  # E[X | X <= 0]
        return self.copies * (rate + (float(weighted[self._above].sum()) - self.gain * rate) / self.share)

    @property
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
    return np.asarray(np.where(second.real < 1, np.exp(first) * small, np.exp(first + second) - np.exp(first)))
