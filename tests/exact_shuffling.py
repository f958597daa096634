"""Guarantees of shuffling, computed apart from the package: files enumerated, sums written out, in sixty digits or integers."""

import math
from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache
from itertools import combinations, combinations_with_replacement, product

import mpmath

from adept.mechanisms.selection import Selection

Number = mpmath.mpf
SCALE = 2**200  # of a weight of one, where weights are integers


def exp_integer(value: float) -> int:
    """e^value as a multiple of 1 / SCALE, right to sixty digits."""
    with mpmath.workdps(90):
        return int(mpmath.nint(mpmath.exp(mpmath.mpf(value)) * SCALE))


def subset(epsilon: float, size: int, top: int = 1) -> Selection:
    return Selection(epsilon=epsilon, size=size, heavy_count=top)


def true_delta(draw: Selection, records: int, epsilon: float) -> Fraction:
    """The exact delta of a shuffled file: the largest over all neighbouring files. One record is x; symbols have no names."""
    weights = exp_integer(draw.epsilon), SCALE
    total = draw.heavy_count * weights[0] + (draw.size - draw.heavy_count) * weights[1]
    sets = list(combinations(range(draw.size), draw.heavy_count))
    ratio = exp_integer(epsilon)
    worst = 0
    for others in combinations_with_replacement(sets, records - 1):
        distributions = [shuffled_weights((*others, one), draw.size, weights) for one in sets]
        for other in distributions[1:]:
            worst = max(worst, sum(max(0, distributions[0][v] * SCALE - ratio * other[v]) for v in distributions[0]))
    return Fraction(worst, SCALE * total**records)


def shuffled_weights(
    sets: tuple[tuple[int, ...], ...], size: int, weights: tuple[int, int]
) -> dict[tuple[int, ...], int]:
    """The weight of each count of symbols that records with these heavy sets release."""
    distribution = {(0,) * size: 1}
    for heavy in sets:
        grown: dict[tuple[int, ...], int] = {}
        for counts, weight in distribution.items():
            for symbol in range(size):
                after = (*counts[:symbol], counts[symbol] + 1, *counts[symbol + 1 :])
                grown[after] = grown.get(after, 0) + weight * weights[symbol not in heavy]
        distribution = grown
    return distribution


def cells(draws: list[Selection], epsilon: float) -> tuple[list[Number], list[Number]]:
    """The chances and values of X for the worst pair of records, as the claim says."""
    found = [(mpmath.mpf(1), mpmath.mpf(1), mpmath.mpf(1))]
    for draw in draws:
        heavy = mpmath.exp(mpmath.mpf(draw.epsilon))
        total = draw.heavy_count * heavy + draw.size - draw.heavy_count
        own = min(draw.heavy_count, draw.size - draw.heavy_count)
        shared, rest = draw.heavy_count - own, draw.size - draw.heavy_count - own
        part = [(own, heavy, 1), (own, 1, heavy), (shared, heavy, heavy), (rest, 1, 1)]
        found = [(p * count / total, a * c, b * d) for p, a, b in found for count, c, d in part if count]
    e = mpmath.exp(mpmath.mpf(epsilon))
    return [p for p, _, _ in found], [a - e * b for _, a, b in found]


def bound_by_enumeration(draws: list[Selection], records: int, epsilon: float) -> Number:
    """The claim's bound, E[(X_1 + ... + X_n)+] / n, summed over all counts of values."""
    with mpmath.workdps(60):
        chances, values = cells(draws, epsilon)
        none = 1 - mpmath.fsum(chances)
        sums = mpmath.mpf(0)
        for counts in _counts(records, len(chances)):
            if (total := mpmath.fdot(counts, values)) > 0:
                left = records - sum(counts)
                weight = mpmath.mpf(math.factorial(records) // math.prod(map(math.factorial, (*counts, left))))
                sums += total * weight * none**left * mpmath.fprod(p**c for p, c in zip(chances, counts, strict=True))
        return sums / records


@lru_cache(64)
def _counts(records: int, kinds: int) -> list[tuple[int, ...]]:
    return [counts for counts in product(range(records + 1), repeat=kinds) if sum(counts) <= records]


def bound_at_sixty_digits(draw: Selection, records: int, epsilon: float) -> Number:
    """The same for many records: a of the first value, b of the second, and the third one's binomial tail, from tables.

    What is left out is below 10^-40 of the sum.
    """
    with mpmath.workdps(60):
        chances, values = cells([draw], epsilon)
        chances, values = [*chances, mpmath.mpf(0)][:3], [*values, mpmath.mpf(0)][:3]
        own, gain, pain, loss = chances[0], values[0], -values[1], -values[2]
        third = chances[2] / (1 - 2 * own)
        total = mpmath.mpf(0)
        for b, often in walk(records, own):
            most = mpmath.mpf(0)
            for a, too in walk(records - b, own / (1 - own)):
                if (left := gain * a - pain * b) > 0:
                    term = often * too * _kept(records - a - b, third, left, loss)
                    total, most = total + term, max(most, term)
                    if term < most * mpmath.mpf(10) ** -50:
                        break
        return total / records


def walk(trials: int, chance: Number) -> list[tuple[int, Number]]:
    """The binomial distribution, upward from where it counts."""
    mode = int(trials * chance)
    top = mpmath.exp(
        mpmath.loggamma(trials + 1)
        - mpmath.loggamma(mode + 1)
        - mpmath.loggamma(trials - mode + 1)
        + (mode * mpmath.log(chance) if mode else 0)
        + (trials - mode) * mpmath.log1p(-chance)
    )
    odds = chance / (1 - chance)
    return [*reversed(list(_downward(mode, top, trials, odds))), *_upward(mode, top, trials, odds)]


def _upward(mode: int, top: Number, trials: int, odds: Number) -> Iterator[tuple[int, Number]]:
    weight, least = top, top * mpmath.mpf(10) ** -50
    for count in range(mode, trials + 1):
        yield count, weight
        weight *= odds * (trials - count) / (count + 1)
        if weight < least and count > mode + 2:
            return


def _downward(mode: int, top: Number, trials: int, odds: Number) -> Iterator[tuple[int, Number]]:
    weight, least = top, top * mpmath.mpf(10) ** -50
    for count in range(mode, 0, -1):
        weight *= count / (odds * (trials - count + 1))
        if weight < least:
            return
        yield count - 1, weight


def _kept(trials: int, chance: Number, gain: Number, loss: Number) -> Number:
    """E[(gain - loss L)+] for L binomial."""
    if not chance or not loss:
        return gain
    mean, far = trials * chance, 25 * mpmath.sqrt(trials * chance) + 80
    if gain > loss * min(mpmath.mpf(trials), mean + far):
        return gain - loss * mean
    first, sums, moments = _table(trials, chance)
    place = min(int(gain / loss) - first, len(sums) - 1)
    return gain * sums[place] - loss * moments[place] if place >= 0 else mpmath.mpf(0)


@lru_cache(64)
def _table(trials: int, chance: Number) -> tuple[int, list[Number], list[Number]]:
    distribution = walk(trials, chance)
    sums, moments = [mpmath.mpf(0)], [mpmath.mpf(0)]
    for count, weight in distribution:
        sums.append(sums[-1] + weight)
        moments.append(moments[-1] + count * weight)
    return distribution[0][0], sums[1:], moments[1:]
