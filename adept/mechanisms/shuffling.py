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
the claimed delta. The computed delta is an upper bound on it (``adept.mechanisms.shuffle_numerics``). If
it is below the floor, or cannot be computed, the delta of a file of one record, E[X+], replaces it.

Checked proof, without the blanket: ``proofs/Shuffling.v``, ``claim_is_at_most_alone``,
``floor_of_the_claim``, ``claim_is_above_the_floor_of_delta``.
"""

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from adept.errors import ConfigurationError
from adept.mechanisms.base import LocalRandomizer
from adept.mechanisms.guarantee import total
from adept.mechanisms.joint_response import JointResponse
from adept.mechanisms.randomized_response import RandomizedResponse
from adept.mechanisms.selection import Selection
from adept.mechanisms.shuffle_numerics import SLACK, mean_positive_part
from adept.ranges import check_between, check_integer

Floats = NDArray[np.float64]

MAX_AMPLIFIED_EPSILON = 40.0  # above this local epsilon, shuffling fewer than 10^17 records hides nothing
RELATIVE_STEP = 2e-4  # relative step of the search for epsilon
MIN_DELTA = 1e-300  # the smallest delta that is computed
FLOOR_ERROR = 1e-3  # relative error of a floor: n times 2^-53, for n up to 10^12


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

    Each group has the probability that a record is a blanket and releases an index of the group, and the
    weights of these indices under the first and the second record. A weight is a tuple of numbers whose sum
    is its logarithm.
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
    from scipy.optimize import brentq  # slow to import, and most releases do without

    def excess(central: float) -> float:
        return math.log(central_delta(draws, records=records, epsilon=central) / delta)

    if excess(0.0) <= 0:
        return 0.0
    if excess(low := local * (1 - RELATIVE_STEP)) > 0:
        return local
    central = brentq(excess, 0.0, low, rtol=RELATIVE_STEP) * (1 + RELATIVE_STEP)
    while central < local and excess(central) > 0:  # so that ``central_delta`` confirms the returned epsilon
        central *= 1 + RELATIVE_STEP
    return float(min(central, local))


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
