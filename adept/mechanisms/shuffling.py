r"""What shuffling adds: releases whose order a trusted party forgets are centrally private at a smaller epsilon.

n records, one a person, each release one symbol by *subset selection*: t of k symbols have weight A = e^eps, the others weight 1,
out of W = t A + k - t (k-ary randomised response is t = 1). Whoever reads the file sees the n symbols without their order.

*Claim*: the file is (c, delta)-DP for replacing one record by any other, c >= 0, both ways, n being public, with

    delta = E[(X_1 + ... + X_n)+] / n,    X_i independent, all of one law: with e = e^c and t' = min(t, k - t), o = t - t',
    X = A - e or 1 - e A, each with probability t' / W;  A (1 - e) with o / W;  1 - e with (k - 2t' - o) / W;  otherwise 0.

*Proof* (the privacy blanket: Balle, Bell, Gascon and Nissim 2019, Lemma 5.3; derived again). (1) Every symbol has probability at
least 1 / W under every record. So each of the other n - 1 records releases, with probability g = k / W, a uniform symbol, and
otherwise one of a law of its own. Tell the reader which ones are of the second kind, and their symbols: this can only help. What
is left are m - 1 uniform symbols and one from the record in question, x or x', in random order, m - 1 ~ Bin(n - 1, g). (2) Against
m uniform symbols y_i, the law of these under x has density (1/m) sum_i k Q(y_i|x): any of them may be the record's own. So the
hockey-stick divergence is (k / (m W)) E[(sum_i w(y_i|x) - e w(y_i|x'))+] with the weights w = 1 or A. (3) The chance
Bin(m - 1; n - 1, g) over m is Bin(m; n, g) / (g n), and k / (W g) = 1. So a record counts as 0 where it is no blanket: that is the
claim, with o' shared symbols in place of o and t - o' in place of t' for records x and x' whose heavy sets share o'. (4) The
smallest overlap is the worst: moving one symbol from "both" and one from "neither" to "x alone" and "x' alone" replaces the
values {A - e A, 1 - e} of X by {A - e, 1 - e A}, which have the same sum and lie further apart, as e >= 1: a mean-preserving
spread, and (.)+ of a sum is convex. (5) x and x' may be swapped. QED.

*Several symbols a record*, such as a text's and a label's, are one symbol of a product of such laws: weights and probabilities
multiply, and (4) goes through factor by factor. *More records* never make it worse: means over n form a reversed martingale,
so the smallest group of records governs. A smaller eps is post-processing, so A may be rounded up.

*The number*. Each value of X is split between its two neighbours on a grid, keeping the mean: a spread again, hence an upper bound.
The sum's law comes from a Fourier transform, after tilting by e^(theta s), theta chosen so that zero is its mean: so all that
counts is near the centre, and tails of 1e-12 are as exact as the middle. What the window loses above it is bounded by Chernoff
and added; what wraps around from below only adds. Rounding makes errors of 1e-10 relative; 1e-6 is added for them.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from adept.errors import ConfigurationError
from adept.mechanisms.base import LocalRandomizer, check_between, check_integer
from adept.mechanisms.joint_response import JointResponse
from adept.mechanisms.randomized_response import RandomizedResponse

Floats = NDArray[np.float64]

LARGEST_EPSILON = 40.0  # beyond, nothing is hidden among fewer than 10^17 records, and no amplification is computed
FINEST, COARSEST = 2**19, 0.02  # grid points of a window; a step, in units of the largest weight
WIDTH, SPREAD = (
    12.0,
    4e-3,
)  # half a window in standard deviations; the share of the variance that a grid may add, times 4
ROUNDING = 1e-6
STEP = 2e-4  # relative, of the returned epsilon


@dataclass(frozen=True)
class Draw:
    """One symbol by subset selection.

    Attributes:
        epsilon: in nats.
        size: k symbols.
        top: t heavy ones.
    """

    epsilon: float
    size: int
    top: int = 1

    def cells(self) -> list[tuple[float, float, float]]:
        """Return (probability of a blanket symbol, its weight under x, under x') for the worst pair of records."""
        heavy = math.nextafter(math.exp(self.epsilon), math.inf)
        total = self.top * heavy + (self.size - self.top)
        shared = max(0, 2 * self.top - self.size)
        own = self.top - shared
        rest = self.size - 2 * own - shared
        cells = [(own, heavy, 1.0), (own, 1.0, heavy), (shared, heavy, heavy), (rest, 1.0, 1.0)]
        return [(count / total, first, second) for count, first, second in cells if count]


def draws_of(
    mechanism: LocalRandomizer, *, dim: int, labels: RandomizedResponse | JointResponse | None = None
) -> tuple[Draw, ...]:
    """Return the symbols that one record releases: of its text, and of its label where that is randomised, or one of both.

    Raises:
        ConfigurationError: the mechanism releases no single symbol: it adds noise, or its codebook has several blocks.
    """
    if isinstance(labels, JointResponse):
        return (Draw(labels.epsilon, labels.size, labels.top),)
    beside = () if labels is None else (Draw(labels.guarantee().epsilon, len(labels.labels)),)
    if len(symbols := mechanism.symbols(dim)) == 1:
        return (Draw(mechanism.epsilon, *symbols[0]), *beside)
    raise ConfigurationError(
        "mechanism must be description, learned_codebook or codebook with blocks=1 for shuffled records, "
        f"got {mechanism.name}: no bound for shuffling is proven here for it"
    )


def central_epsilon(draws: Sequence[Draw], *, records: int, delta: float) -> float:
    """Return a central epsilon that holds at ``delta``: never above the local one, and never too small.

    Args:
        draws: the symbols that each record releases.
        records: n, how many are shuffled.
        delta: the mass outside the bound, for the whole file.

    Raises:
        ConfigurationError: a number is out of range.
    """
    check_integer(1, 10**12, shuffled_records=records)
    check_between(1e-100, 0.5, central_delta=delta)
    local = math.fsum(draw.epsilon for draw in draws)
    if local > LARGEST_EPSILON:
        return local
    return _smallest(tuple(draws), records, delta, local)


@lru_cache(maxsize=64)
def _smallest(draws: tuple[Draw, ...], records: int, delta: float, local: float) -> float:
    def excess(central: float) -> float:
        return math.log(max(central_delta(draws, records=records, epsilon=central), 1e-300) / delta)

    if excess(0.0) <= 0:
        return 0.0
    if excess(low := local * (1 - STEP)) > 0:
        return local
    central = brentq(excess, 0.0, low, rtol=STEP) * (1 + STEP)
    while central < local and excess(central) > 0:  # what is returned was checked
        central *= 1 + STEP
    return float(min(central, local))


def central_delta(draws: Sequence[Draw], *, records: int, epsilon: float) -> float:
    """Return an upper bound on the delta at which the shuffled file is (epsilon, delta)-DP: this module's claim."""
    if epsilon >= math.fsum(draw.epsilon for draw in draws):
        return 0.0
    chances, values, unit = _law(draws, epsilon=epsilon)
    tilt = _tilt(chances, values)
    law = _on_grid(chances, values, tilt=tilt, records=records)
    mean = law.mean_above_zero(tilt) + law.lost_above(tilt)
    return float(min(1.0, unit * mean / records * (1 + ROUNDING)))


def _law(draws: Sequence[Draw], *, epsilon: float) -> tuple[Floats, Floats, float]:
    """The probabilities and values of X, zero left out, in units of the largest weight; and that unit."""
    cells = [(1.0, 1.0, 1.0)]
    for draw in draws:
        cells = [(p * q, a * c, b * d) for p, a, b in cells for q, c, d in draw.cells()]
    chances, first, second = np.array(cells).T
    unit = float(first.max())
    return chances, first / unit - math.exp(epsilon) * (second / unit), unit


def _tilt(chances: Floats, values: Floats) -> float:
    """The theta >= 0 at which X e^(theta X) has mean zero: its largest value is positive, and its mean is not."""

    def mean(theta: float) -> float:
        return float((chances * np.exp(theta * values)) @ values)

    if mean(0.0) >= 0:
        return 0.0
    high = 1.0
    while mean(high) < 0:
        high *= 2
    return float(brentq(mean, 0.0, high))


def _on_grid(chances: Floats, values: Floats, *, tilt: float, records: int) -> "_Sum":
    """Split X between neighbours on a grid, keeping its mean; the grid is fine enough for its share of the variance."""
    tilted = chances * np.exp(tilt * values)
    tilted /= 1 - chances.sum() + tilted.sum()
    deviation = math.sqrt(records * float(tilted @ values**2))
    width = WIDTH * (deviation + 1)
    step = min(deviation * math.sqrt(SPREAD / (records * float(tilted.sum()))), COARSEST)
    size = min(FINEST, 1 << math.ceil(math.log2(2 * width / step)))
    step = 2 * width / size
    below = np.floor(values / step)
    share = values / step - below
    places = np.concatenate([below, below + 1])
    return _Sum(np.concatenate([chances * (1 - share), chances * share]), places, step, size, records)


@dataclass(frozen=True)
class _Sum:
    """A sum of independent copies of a law on whole multiples of a step.

    Attributes:
        chances: of the places; what is missing to one is the chance of zero.
        places: whole numbers, in steps.
        step: the grid's.
        size: grid points of the window, half of them above zero.
        records: copies.
    """

    chances: Floats
    places: Floats
    step: float
    size: int
    records: int

    def log_moment(self, theta: float) -> float:
        """ln E[e^(theta X)]."""
        return math.log1p(float(self.chances @ np.expm1(theta * self.step * self.places)))

    def mean_above_zero(self, tilt: float) -> float:
        """E[(sum X)+] inside the window."""
        log_moment = self.log_moment(tilt)
        tilted = self.chances * np.exp(tilt * self.step * self.places - log_moment)
        angles = 2 * np.pi * np.arange(self.size // 2 + 1) / self.size
        bend = np.zeros(len(angles), dtype=np.complex128)  # the characteristic function, less one: nothing cancels
        for chance, place in zip(tilted, self.places, strict=True):
            bend += chance * (-2 * np.sin(angles * (place / 2)) ** 2 - 1j * np.sin(angles * place))
        law = np.fft.irfft(np.exp(self.records * np.log1p(bend)), self.size)[: self.size // 2]
        sums = self.step * np.arange(self.size // 2)
        return math.exp(self.records * log_moment) * float((np.maximum(law, 0.0) * np.exp(-tilt * sums)) @ sums)

    def lost_above(self, tilt: float) -> float:
        """A bound on E[S; S >= R], R the window's end: s e^(-theta s) falls from s = 1 / theta on, and E[e^(theta S)] is known."""
        end = self.step * (self.size // 2)
        slopes = [tilt + 2.0**power / end for power in range(1, 12)]
        least = min(self.records * self.log_moment(slope) - slope * end for slope in slopes)
        return end * math.exp(min(least, 700.0))
