"""Statistics of vectors: numbers that are computed from a release, such as its norm.

A decision rule guesses from a statistic which of two inputs was released. Any function of a release
may be a statistic, because a rule is scored on fresh releases. The values of statistics are rounded
to a billionth of ``clip_norm``, because the low bits of releases are left to other checks.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from adept.audit.distinguisher.input_pairs import PairSample
from adept.audit.stats.confidence_bounds import Floats
from adept.audit.subject.time_limits import Statistic

WITHOUT_NOISE = "coordinates without noise"
RESOLUTION = 1e-9  # in units of clip_norm
MAX_BINS = 48
MIN_SCALE = 1e-12  # in units of clip_norm: scales and distances below it count as zero
CHANCE_EACH, CHANCE_ALL = 12.0, 3.0  # limits for chi-square numbers: smaller differences may be chance
GRID_STEPS = (2.0**-10, 2.0**-20)  # in units of clip_norm
FINEST_PLACE = 6
FINEST_BIT = 20  # 2^-20 of the unit; sums in float32 have finer bits
FIRST_NUMBERS = 4  # coordinates of a release that are looked at first


def statistics(sample: PairSample, *, clip_norm: float) -> Iterator[tuple[str, Statistic]]:
    """Yield statistics with their names; some statistics are fitted to the sample."""
    unit = RESOLUTION * clip_norm
    for name, statistic in _all(sample, clip_norm):
        yield name, lambda z, statistic=statistic: _rounded(statistic(z), unit)  # type: ignore[misc]


def _all(sample: PairSample, unit: float) -> Iterator[tuple[str, Statistic]]:
    known = {name: _remembered(s) for name, s in _of_inputs(sample, unit)} if sample.additive else {}
    plain = {name: _remembered(s) for name, s in _of_release(unit)}
    first, second = sample.releases
    learned: dict[str, Statistic] = {}
    learned["learned direction"] = _remembered(_direction(first, second))
    learned["learned scales"] = _remembered(_scales(first, second, unit))
    yield from {**known, **plain, **learned}.items()
    yield "everything together", _together([*known.values(), *plain.values(), *learned.values()], first, second)
    for name in ("projection", "length"):
        if name in (every := {**known, **plain}):
            yield f"binned {name}", _binned(every[name], first, second)
    if first.shape[1] == 1:
        yield "binned value", _binned(lambda z: z[:, 0], first, second)
    for step in GRID_STEPS:
        if (phases := _phases(first, second, step * unit)) is not None:
            yield f"place below a grid of {step:.0e}", phases
    if sample.pair.antipodal:
        yield "lowest bits", lowest_bits
    table = _seen(first, second, unit)
    if table is not None:
        yield "output value", table


def _of_inputs(sample: PairSample, unit: float) -> Iterator[tuple[str, Statistic]]:
    first, second = sample.centres
    direction = _unit(first - second)
    if direction.any():
        yield "projection", lambda z: z @ direction
    yield "Laplace privacy loss", lambda z: l1_loss(z, first, second)
    yield "l2 privacy loss", lambda z: _length(z - second) - _length(z - first)
    yield (
        "closeness",
        lambda z: np.log(_length(z - second) + MIN_SCALE * unit) - np.log(_length(z - first) + MIN_SCALE * unit),
    )
    for name, centre in (("first", first), ("second", second)):
        yield f"farthest number from the {name}", lambda z, c=centre: np.abs(z - c).max(axis=1)  # type: ignore[misc]
    yield WITHOUT_NOISE, lambda z: _equal(z, first, unit) - _equal(z, second, unit)
    yield "record where the release is largest", lambda z: _where_largest(z, first, second)


def _of_release(unit: float) -> Iterator[tuple[str, Statistic]]:
    tiny = MIN_SCALE * unit
    yield "length", lambda z: np.log(_length(z) + tiny)
    yield "sum of sizes", lambda z: np.log(np.abs(z).sum(axis=1) + tiny)
    yield "largest number", lambda z: np.log(np.abs(z).max(axis=1) + tiny)
    yield "smallest number", lambda z: np.log(np.abs(z).min(axis=1) + tiny)
    yield "zeros", lambda z: (np.abs(z) < RESOLUTION * unit).sum(axis=1).astype(float)
    yield "negative zeros", lambda z: ((z == 0) & np.signbit(z)).sum(axis=1).astype(float)
    yield (
        "numbers that repeat",
        lambda z: (np.diff(np.sort(_rounded(z, RESOLUTION * unit), axis=1), axis=1) == 0).sum(axis=1) * 1.0,
    )
    yield "grid of the numbers", lambda z: trailing(z, unit)
    yield "binary grid of the numbers", lambda z: trailing_bits(z, unit)


def lowest_bits(z: Floats) -> Floats:
    """Return, for each release, the number of coordinates whose last mantissa bit is 1."""
    bits = np.ascontiguousarray(z).view(np.int64) & 1
    return np.asarray(bits.sum(axis=1).astype(np.float64))


def trailing(z: Floats, unit: float) -> Floats:
    """Return, for each release, how many decimals are needed to write all its coordinates.

    The coordinates are first divided by ``unit``. The result is 0 to 6, or 7 if six decimals are
    not enough.
    """
    places, rows = np.full(len(z), FINEST_PLACE + 1.0), np.flatnonzero(_whole(z[:, 0] / (unit * 10.0**-FINEST_PLACE)))
    for place in range(FINEST_PLACE, -1, -1):  # for most noise, hardly any row is left to look at again
        rows = rows[_whole(z[rows] / (unit * 10.0**-place)).all(axis=1)]
        if not len(rows):
            break
        places[rows] = place
    return places


def trailing_bits(z: Floats, unit: float) -> Floats:
    """Return, for each release, how many binary places are needed to write its coordinates.

    The coordinates are first divided by ``unit``. A result of `FINEST_BIT` + 1 means that more than
    `FINEST_BIT` places are needed.
    """
    places = np.full(len(z), FINEST_BIT + 1.0)
    scaled = z[:, :FIRST_NUMBERS] * (2.0**FINEST_BIT / unit)
    rows = np.flatnonzero((scaled == np.rint(scaled)).any(axis=1))
    scaled = z[rows] * (2.0**FINEST_BIT / unit)
    whole = (scaled == np.rint(scaled)).all(axis=1)
    looked_at = whole[:, None] & (np.abs(scaled) < 2.0**62)  # larger floats may overflow int64
    bits = np.bitwise_or.reduce(np.where(looked_at, scaled, 0.0).astype(np.int64), axis=1)
    lowest = np.where(bits == 0, 2.0**FINEST_BIT, (bits & -bits).astype(np.float64))
    places[rows[whole]] = np.maximum(FINEST_BIT - np.log2(lowest[whole]), 0.0)
    return places


def _whole(multiples: Floats) -> NDArray[np.bool_]:
    return np.asarray(np.abs(multiples - np.round(multiples)) < 1e-6)


def l1_loss(z: Floats, first: Floats, second: Floats) -> Floats:
    """Return the privacy loss of each release under Laplace noise, multiplied by the noise's scale.

    The privacy loss is ln(p / p'), where p and p' are the densities of the release under the first
    and under the second input (Habernal 2021, Eq. 28).
    """
    # Clipped, because the difference of two large distances would lose its digits
    inside = np.clip(z, np.minimum(first, second), np.maximum(first, second))
    return np.asarray((2 * inside - first - second) @ np.sign(first - second))


def _direction(first: Floats, second: Floats) -> Statistic:
    """Return a statistic: the projection onto Fisher's linear discriminant of the two samples."""
    centred = np.concatenate([first - first.mean(axis=0), second - second.mean(axis=0)])
    difference = first.mean(axis=0) - second.mean(axis=0)
    rows, dim = centred.shape
    ridge = 1e-6 * np.square(centred).sum() / (rows * dim) + 1e-12 * (difference @ difference) + 1e-100
    if rows < dim:  # the same solution, among the rows
        weights = np.linalg.solve(centred @ centred.T + rows * ridge * np.eye(rows), centred @ difference)
        learned = _unit(difference - centred.T @ weights)
    else:
        learned = _unit(np.linalg.solve(centred.T @ centred / rows + ridge * np.eye(dim), difference))
    return lambda z: z @ learned


def _scales(first: Floats, second: Floats, unit: float) -> Statistic:
    """Return a statistic: the log ratio of two Laplace densities, one fitted to each sample."""
    fits = []
    for releases in (first, second):
        centre = np.median(releases, axis=0)
        fits.append((centre, np.abs(releases - centre).mean(axis=0) + MIN_SCALE * unit))
    (m1, s1), (m2, s2) = fits
    return lambda z: np.clip(np.abs(z - m2) / s2 - np.abs(z - m1) / s1 + np.log(s2 / s1), -50, 50).sum(axis=1)


def _together(several: list[Statistic], first: Floats, second: Floats) -> Statistic:

    def raw(z: Floats) -> Floats:
        return np.stack([statistic(z) for statistic in several], axis=1)

    pooled = raw(np.concatenate([first, second]))
    middle = np.median(pooled, axis=0)
    spread = np.abs(pooled - middle).mean(axis=0) + 1e-300

    def features(values: Floats) -> Floats:
        standard = np.clip((values - middle) / spread, -6, 6)
        return np.concatenate([standard, np.square(standard)], axis=1)

    learned = features(pooled)
    score = _direction(learned[: len(first)], learned[len(first) :])
    return lambda z: score(features(raw(z)))


def _remembered(statistic: Statistic) -> Statistic:
    """Return a statistic with the same values, computed once for repeated calls on one array."""
    last: list[Floats] = []

    def ask(z: Floats) -> Floats:
        if not last or last[0] is not z:
            last[:] = z, statistic(z)
        return last[1]

    return ask


def _binned(statistic: Statistic, first: Floats, second: Floats) -> Statistic:
    """Return a new statistic: the log ratio of the two samples' shares in the bin of a release.

    The bins are intervals of values of ``statistic``. So one threshold on the new statistic
    suffices even if the samples differ only in the frequency of middle values of ``statistic``.
    """
    values = [statistic(first), statistic(second)]
    edges = np.unique(np.quantile(np.concatenate(values), np.linspace(0, 1, MAX_BINS + 1)[1:-1]))
    ours, theirs = (np.bincount(np.searchsorted(edges, v), minlength=len(edges) + 1) for v in values)
    ratio = np.log((ours + 0.5) / len(first)) - np.log((theirs + 0.5) / len(second))
    return lambda z: ratio[np.searchsorted(edges, statistic(z))]


def _phases(first: Floats, second: Floats, step: float) -> Statistic | None:
    """Return a statistic that is fitted to coordinates modulo ``step``, the step of a grid.

    The result is None if the remainders in the two samples do not differ significantly.
    """

    def features(z: Floats) -> Floats:
        angle = 2 * np.pi * np.mod(np.round(z / step, 3), 1)
        return np.concatenate([np.cos(angle), np.sin(angle)], axis=1)

    ours, theirs = features(first), features(second)
    scatter = ours.var(axis=0) / len(ours) + theirs.var(axis=0) / len(theirs)
    # About chi-square of one degree each.
    apart = np.square(ours.mean(axis=0) - theirs.mean(axis=0)) / (scatter + 1e-12)
    if apart.max() < CHANCE_EACH and apart.mean() < 1 + CHANCE_ALL / np.sqrt(len(apart)):
        return None
    score = _direction(ours, theirs)
    return lambda z: score(features(z))


def _seen(first: Floats, second: Floats, unit: float) -> Statistic | None:
    """Return `log_ratios` with whole releases as outcomes; None if no release occurs twice."""
    weights = np.sqrt(np.arange(2, 2 + first.shape[1]))
    sums = (np.round(np.concatenate([first, second]) / (RESOLUTION * unit)) * weights).sum(axis=1)
    if len(np.unique(sums)) == len(sums):  # equal outputs have equal sums
        return None
    # An output that only one input produced is evidence for this input, even if it was seen just once:
    # a mechanism with few seeds produces many such outputs.
    return log_ratios(first, second, lambda z: release_keys(z, unit), least=0.1)


def log_ratios(first: Any, second: Any, keys: Callable[[Any], Any], *, least: float = 0.25) -> Statistic:
    """Return a statistic: the log ratio of an outcome's counts in the first and second sample.

    An outcome that occurs in neither sample gets the value 0. ``keys`` converts an array of
    outcomes to hashable values, which can be counted. ``least`` is added to every count, so that no
    count is zero.
    """
    counts = Counter(keys(first)), Counter(keys(second))
    seen = counts[0].keys() | counts[1].keys()
    table = {key: round(float(np.log((counts[0][key] + least) / (counts[1][key] + least))), 9) for key in seen}
    return lambda z: np.array([table.get(key, 0.0) for key in keys(z)])


def release_keys(releases: Floats, unit: float) -> list[bytes]:
    """Return a hashable key for each release: its numbers, rounded to a billionth of ``unit``."""
    return [row.tobytes() for row in np.round(releases / (RESOLUTION * unit)) + 0.0]


def _where_largest(z: Floats, first: Floats, second: Floats) -> Floats:
    largest, farthest = z.argmax(axis=1), np.abs(z).argmax(axis=1)
    return np.asarray((first - second)[largest] + (np.abs(first) - np.abs(second))[farthest])


def _equal(z: Floats, centre: Floats, unit: float) -> Floats:
    return np.asarray((np.abs(z - centre) < RESOLUTION * unit).sum(axis=1).astype(np.float64))


def _unit(vector: Floats) -> Floats:
    norm = np.linalg.norm(vector)
    return np.asarray(vector / norm if norm > 0 else vector)


def _length(vectors: Floats) -> Floats:
    return np.asarray(np.linalg.norm(vectors, axis=1))


def _rounded(values: Floats, unit: float) -> Floats:
    return np.asarray(np.round(values / unit) * unit)
