r"""Shuffling: a trusted party hides the order of releases, so the central epsilon is smaller.

Each of n people has one record and releases one symbol by *subset selection*: t of k symbols have
weight A = e^eps, the others weight 1, out of W = t A + k - t (k-ary randomised response is t = 1).
A reader of the file sees the n symbols without their order.

*Claim*: the file is (c, delta)-DP for replacing one record by any other, c >= 0, both ways, n being
public, with

    delta = E[(X_1 + ... + X_n)+] / n,    X_i independent, all of one distribution: with e = e^c and t' = min(t, k - t), o = t - t',
    X = A - e or 1 - e A, each with probability t' / W;  A (1 - e) with o / W;  1 - e with (k - 2t' - o) / W;  otherwise 0.

*Proof* (the privacy blanket: Balle, Bell, Gascon and Nissim 2019, Lemma 5.3; derived again). (1)
Every symbol has probability at least 1 / W under every record. So each of the other n - 1 records
releases, with probability g = k / W, a uniform symbol, and otherwise one of a distribution of its
own. Tell the reader which ones are of the second kind, and their symbols: this can only help. This
leaves m - 1 uniform symbols and one from the record in question, x or x', in random order, with m -
1 ~ Bin(n - 1, g). (2) Against m uniform symbols y_i, the distribution of these under x has density
(1/m) sum_i k Q(y_i|x): any of them may be the record's own. So the hockey-stick divergence is (k /
(m W)) E[(sum_i w(y_i|x) - e w(y_i|x'))+] with the weights w = 1 or A. (3) The chance Bin(m - 1; n -
1, g) over m is Bin(m; n, g) / (g n), and k / (W g) = 1. So a record counts as 0 if it is not a
blanket: that is the claim, with o' shared symbols in place of o and t - o' in place of t' for
records x and x' whose heavy sets share o'. (4) The smallest overlap is the worst: moving one symbol
from "both" and one from "neither" to "x alone" and "x' alone" replaces the values {A - e A, 1 - e}
of X by {A - e, 1 - e A}, which have the same sum and lie further apart, as e >= 1: a
mean-preserving spread, and (.)+ of a sum is convex. (5) x and x' may be swapped. QED.

*Several symbols per record*, such as a text's and a label's, are one symbol of a product of such
distributions: weights and probabilities multiply, and (4) goes through factor by factor. *More
records* never make it worse: means over n form a reversed martingale, so the smallest group of
records governs. A smaller eps is post-processing, so A may be rounded up.

*The number* is an upper bound that ``adept.mechanisms.shuffle_numerics`` computes, with every rounding
error counted. It is at most the value for one record alone, E[X+]. The program also checks that it
is not below either of two *floors* of the claim, with p = t' / W (of several symbols: their
product):

    p (A - e) (1 - g)^(n-1), from the files in which no other record is a blanket; p (A - e) (p
    A)^(n-1), the truth if all other records are x and release a symbol that only x makes likely.

If the number is below a floor, or cannot be computed, E[X+] replaces it, so that the local epsilon
is stated.

Checked proof, without the steps (1) to (5): ``proofs/Shuffling.v``, ``claim_is_at_most_alone``,
``floor_of_the_claim``, ``floor_of_delta``.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from adept.errors import ConfigurationError
from adept.mechanisms.base import LocalRandomizer
from adept.mechanisms.guarantee import total
from adept.mechanisms.joint_response import JointResponse
from adept.mechanisms.randomized_response import RandomizedResponse
from adept.mechanisms.shuffle_numerics import SLACK, mean_positive_part
from adept.ranges import check_between, check_integer, check_positive

Floats = NDArray[np.float64]

MAX_AMPLIFIED_EPSILON = 40.0  # above it, fewer than 10^17 records hide nothing
RELATIVE_STEP = 2e-4  # relative step of the search for epsilon
MIN_DELTA = 1e-300  # the smallest delta that is computed
FLOOR_ERROR = 1e-3  # relative error of a floor: n u, for n up to 10^12


@dataclass(frozen=True)
class Draw:
    """A release of one symbol by subset selection."""

    epsilon: float  # in nats
    size: int  # k symbols
    top: int = 1  # t heavy ones

    def __post_init__(self) -> None:
        check_positive(epsilon=self.epsilon)
        check_integer(2, 2**1000, size=self.size)
        check_integer(1, self.size - 1, top=self.top)

    @property
    def own(self) -> int:
        """The number t': the most heavy symbols of a record that another record may lack."""
        return min(self.top, self.size - self.top)

    @property
    def weight(self) -> float:
        """The weight W of all symbols together."""
        return self.top * math.exp(self.epsilon) + (self.size - self.top)

    @property
    def kept(self) -> float:
        """ln(t' A / W): the logarithm of the chance of a heavy symbol that another record lacks."""
        heavy = self.own * math.exp(self.epsilon)
        return -math.log1p(((self.top - self.own) * math.exp(self.epsilon) + (self.size - self.top)) / heavy)

    def cells(self) -> list[tuple[float, tuple[float, ...], tuple[float, ...]]]:
        """Return the cells of the worst pair: blanket probability, and log weights under x and under x'."""
        heavy, light = (self.epsilon,), ()
        shared, rest = self.top - self.own, self.size - self.top - self.own
        cells = [(self.own, heavy, light), (self.own, light, heavy), (shared, heavy, heavy), (rest, light, light)]
        return [(count / self.weight, first, second) for count, first, second in cells if count]


def draws_of(
    mechanism: LocalRandomizer, *, dim: int, labels: RandomizedResponse | JointResponse | None = None
) -> tuple[Draw, ...]:
    """Return the draws of one record: for its text and its label, or one draw for both.

    Raises:
        ConfigurationError: the mechanism releases no single symbol: it adds noise, or its codebook
            has several blocks.
    """
    if isinstance(labels, JointResponse):
        return (Draw(labels.epsilon, labels.size, labels.top),)
    beside = () if labels is None else (Draw(labels.guarantee().epsilon, len(labels.labels)),)
    if len(symbols := mechanism.symbols(dim)) == 1:
        return (Draw(mechanism.epsilon, *symbols[0]), *beside)
    raise ConfigurationError(
        "mechanism must be description, learned_codebook or codebook with blocks=1 for shuffled records, "
        f"got {mechanism.name}: no bound for shuffling it is proved"
    )


def central_epsilon(draws: Sequence[Draw], *, records: int, delta: float) -> float:
    """Return the central epsilon of n shuffled records at this delta; never above the local epsilon."""
    check_integer(1, 10**12, shuffled_records=records)
    check_between(1e-100, 0.5, central_delta=delta)
    local = total(*(draw.epsilon for draw in draws))
    if local > MAX_AMPLIFIED_EPSILON:
        return local
    return _smallest(tuple(draws), records, delta, local)


@lru_cache(maxsize=64)
def _smallest(draws: tuple[Draw, ...], records: int, delta: float, local: float) -> float:
    from scipy.optimize import brentq  # slow to import, and most releases do without

    def excess(central: float) -> float:
        return math.log(central_delta(draws, records=records, epsilon=central) / delta)

    if excess(0.0) <= 0:
        return 0.0
    if excess(low := local * (1 - RELATIVE_STEP)) > 0:
        return local
    central = brentq(excess, 0.0, low, rtol=RELATIVE_STEP) * (1 + RELATIVE_STEP)
    while central < local and excess(central) > 0:  # what is returned was checked
        central *= 1 + RELATIVE_STEP
    return float(min(central, local))


def central_delta(draws: Sequence[Draw], *, records: int, epsilon: float) -> float:
    """Return a delta for which this module's claim makes the shuffled file (epsilon, delta)-DP."""
    if epsilon >= total(*(draw.epsilon for draw in draws)):
        return 0.0
    chances, values, unit = _distribution(draws, epsilon=epsilon)
    alone = unit * float(chances @ np.maximum(values, 0.0)) * (1 + SLACK)
    bound = unit * mean_positive_part(chances, values, zero=_no_blanket(draws), copies=records) / records
    floor = (1 - FLOOR_ERROR) * _floor(draws, records=records, epsilon=epsilon)
    return max(MIN_DELTA, bound if floor <= bound < alone else alone)


def _distribution(draws: Sequence[Draw], *, epsilon: float) -> tuple[Floats, Floats, float]:
    """Return upper bounds on X's probabilities and on its values, and the unit of these values."""
    cells: list[tuple[float, tuple[float, ...], tuple[float, ...]]] = [(1.0, (), ())]
    for draw in draws:
        cells = [(p * q, a + c, b + d) for p, a, b in cells for q, c, d in draw.cells()]
    exponents = [(math.fsum(a), math.fsum((epsilon, *b, *(-x for x in a)))) for _, a, b in cells]
    # Values e^a - e^(epsilon + b)
    values = np.array([-math.exp(weight) * math.expm1(odds) for weight, odds in exponents])
    chances = np.array([p for p, _, _ in cells]) * (1 + SLACK * np.sign(values))
    unit = float(values.max()) * (1 + SLACK)
    return chances[values != 0], (values + SLACK * np.abs(values))[values != 0] / unit, unit


def _no_blanket(draws: Sequence[Draw]) -> float:
    """Return 1 - g, computed without cancellation."""
    none = 0.0
    for draw in draws:
        none += (1 - none) * draw.top * math.expm1(draw.epsilon) / draw.weight
    return none


def _floor(draws: Sequence[Draw], *, records: int, epsilon: float) -> float:
    """Return the larger of the two floors of delta."""
    blanket = math.prod(draw.size / draw.weight for draw in draws)
    alone = math.log1p(-blanket) if blanket < 0.5 else math.log(_no_blanket(draws))
    together = math.fsum(draw.kept for draw in draws)
    left = math.expm1(math.fsum((epsilon, *(-draw.epsilon for draw in draws))))  # e^c / A - 1
    return -left * math.exp(together + (records - 1) * max(alone, together))
