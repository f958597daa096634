"""Statistics: numbers that are computed from a release, such as its norm, or from an outcome; and rules that guess.

A decision rule guesses from a statistic which of two inputs was released. Any function of a release
may be a statistic, because a rule is scored on fresh releases. Statistics of vectors are rounded to
a billionth of ``clip_norm``, because the low bits of releases are left to other checks. A release
that is no vector, such as an integer, a label, a set or a text, is called an *outcome*.
"""

import math
import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain, combinations, pairwise
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from adept.audit.distinguisher.input_pairs import AnyTarget, PairSample
from adept.audit.stats import Floats

Array = NDArray[Any]
Statistic = Callable[[Any], Floats]

WITHOUT_NOISE = "coordinates without noise"
RESOLUTION = 1e-9  # in units of clip_norm
MIN_SCALE = 1e-12  # in units of clip_norm: scales and distances below it count as zero
SIGNIFICANT_SDS = 4.0  # standard deviations by which a part's frequencies must differ to be counted
MAX_PART_VALUES = 64  # in a column with more different numbers, those of an interval count as one
MARKS = re.compile(r"[^\w ]|^\s|\s\s+|\s$")  # signs, invisible ones too, and spaces that do not part two words


def statistics_of(target: AnyTarget, sample: PairSample) -> Iterator[tuple[str, Statistic]]:
    """Yield statistics with their names; some statistics are fitted to the sample."""
    if isinstance(sample.pair.first, Tensor):
        return vector_statistics(sample, clip_norm=target.clip_norm)
    return outcome_statistics(sample, supports=getattr(target.mechanism, "supports", None))


def vector_statistics(sample: PairSample, *, clip_norm: float) -> Iterator[tuple[str, Statistic]]:
    unit = RESOLUTION * clip_norm
    for name, statistic in _of_vectors(sample, clip_norm):
        yield name, lambda z, statistic=statistic: _rounded(statistic(z), unit)  # type: ignore[misc]


def _of_vectors(sample: PairSample, unit: float) -> Iterator[tuple[str, Statistic]]:
    first, second = sample.releases
    plain = {**(dict(_of_inputs(sample, unit)) if sample.additive else {}), **dict(_of_release(unit))}
    plain |= {"learned direction": _direction(first, second), "learned scales": _scales(first, second, unit)}
    plain["numbers one by one"] = _columns(first, second)
    every = {name: _remembered(statistic) for name, statistic in plain.items()}
    yield from every.items()
    yield "everything together", _together([*every.values()], first, second)
    binned = (name for name in ("projection", "length") if name in every)
    yield from ((f"binned {name}", _binned(every[name], first, second)) for name in binned)
    for step in (2.0**-10, 2.0**-20):  # in units of clip_norm
        if (phases := _phases(first, second, step * unit)) is not None:
            yield f"place below a grid of {step:.0e}", phases
    pair = sample.pair
    if isinstance(pair.first, Tensor) and torch.equal(pair.first, -pair.second):
        yield "lowest bits", lambda z: (np.ascontiguousarray(z).view(np.int64) & 1).sum(axis=1).astype(np.float64)
    if (table := _seen(first, second, unit)) is not None:
        yield "output value", table


def _of_inputs(sample: PairSample, unit: float) -> Iterator[tuple[str, Statistic]]:
    (first, second), tiny = sample.centres, MIN_SCALE * unit
    direction = _unit(first - second)
    if direction.any():
        yield "projection", lambda z: z @ direction
    yield "Laplace privacy loss", lambda z: l1_loss(z, first, second)
    yield "l2 privacy loss", lambda z: _length(z - second) - _length(z - first)
    yield "closeness", lambda z: np.log(_length(z - second) + tiny) - np.log(_length(z - first) + tiny)
    yield "farthest number from the first", lambda z: np.abs(z - first).max(axis=1)
    yield "farthest number from the second", lambda z: np.abs(z - second).max(axis=1)
    yield WITHOUT_NOISE, lambda z: _equal(z, first, unit) - _equal(z, second, unit)
    yield "record where the release is largest", lambda z: _where_largest(z, first, second)


def _of_release(unit: float) -> Iterator[tuple[str, Statistic]]:
    tiny, near = MIN_SCALE * unit, RESOLUTION * unit
    yield "length", lambda z: np.log(_length(z) + tiny)
    yield "sum of sizes", lambda z: np.log(np.abs(z).sum(axis=1) + tiny)
    yield "largest number", lambda z: np.log(np.abs(z).max(axis=1) + tiny)
    yield "smallest number", lambda z: np.log(np.abs(z).min(axis=1) + tiny)
    yield "zeros", lambda z: _equal(z, np.zeros(1), unit)
    yield "negative zeros", lambda z: ((z == 0) & np.signbit(z)).sum(axis=1).astype(float)
    yield "numbers that repeat", lambda z: _repeats(_rounded(z, near))
    yield "grid of the numbers", lambda z: trailing(z, unit, base=10, most=6)
    yield "binary grid of the numbers", lambda z: trailing(z, unit, base=2, most=20)  # sums in float32 have finer bits


def trailing(z: Floats, unit: float, *, base: int, most: int) -> Floats:
    """Return, for each release, how many places in the given base are needed to write all its coordinates.

    The coordinates are first divided by ``unit``. The result is ``most + 1`` if ``most`` places are not enough.
    """
    places, rows = np.full(len(z), most + 1.0), np.flatnonzero(_whole(z[:, 0] * (float(base) ** most / unit)))
    for place in range(most, -1, -1):  # for most noise, hardly any row is left to look at again
        rows = rows[_whole(z[rows] * (float(base) ** place / unit)).all(axis=1)]
        places[rows] = place
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
    m1, m2 = (np.median(releases, axis=0) for releases in (first, second))
    s1, s2 = (np.abs(z - m).mean(axis=0) + MIN_SCALE * unit for z, m in ((first, m1), (second, m2)))
    return lambda z: np.clip(np.abs(z - m2) / s2 - np.abs(z - m1) / s1 + np.log(s2 / s1), -50, 50).sum(axis=1)


def _together(several: list[Statistic], first: Floats, second: Floats) -> Statistic:
    """Return a statistic: the best linear function of several statistics and of their squares."""

    def raw(z: Floats) -> Floats:
        return np.stack([statistic(z) for statistic in several], axis=1)

    def features(values: Floats) -> Floats:
        standard = np.clip((values - middle) / spread, -6, 6)
        return np.concatenate([standard, np.square(standard)], axis=1)

    pooled = raw(np.concatenate([first, second]))
    middle = np.median(pooled, axis=0)
    spread = np.abs(pooled - middle).mean(axis=0) + 1e-300
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
    """Return `_columns` of a statistic: for samples that differ only in its middle values."""
    ratio = _columns(statistic(first)[:, None], statistic(second)[:, None])
    return lambda z: ratio(statistic(z)[:, None])


def _phases(first: Floats, second: Floats, step: float) -> Statistic | None:
    """Return a statistic that is fitted to coordinates modulo ``step``, the step of a grid.

    The result is None if the remainders in the two samples do not differ significantly.
    """

    def features(z: Floats) -> Floats:
        angle = 2 * np.pi * np.mod(np.round(z / step, 3), 1)
        return np.concatenate([np.cos(angle), np.sin(angle)], axis=1)

    ours, theirs = features(first), features(second)
    scatter = ours.var(axis=0) / len(ours) + theirs.var(axis=0) / len(theirs)
    # About chi-square of one degree each: smaller numbers may be chance
    apart = np.square(ours.mean(axis=0) - theirs.mean(axis=0)) / (scatter + 1e-12)
    if apart.max() < 12 and apart.mean() < 1 + 3 / np.sqrt(len(apart)):
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
    outcomes to hashable values. ``least`` is added to every count, so that no count is zero.
    """
    counts = Counter(keys(first)), Counter(keys(second))
    seen = counts[0].keys() | counts[1].keys()
    table = {key: round(float(np.log((counts[0][key] + least) / (counts[1][key] + least))), 9) for key in seen}
    return lambda z: np.array([table.get(key, 0.0) for key in keys(z)])


def release_keys(releases: Floats, unit: float) -> list[bytes]:
    """Return a hashable key for each release: its numbers, rounded to a billionth of ``unit``."""
    return _rows(np.round(releases / (RESOLUTION * unit)))


def _rows(z: Floats) -> list[bytes]:
    return [row.tobytes() for row in z + 0.0]  # minus zero becomes zero


def _repeats(z: Floats) -> Floats:
    return np.asarray((np.diff(np.sort(z, axis=1), axis=1) == 0).sum(axis=1) * 1.0)


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


def outcome_statistics(
    sample: PairSample, *, supports: Callable[[Any, Any], float] | None
) -> Iterator[tuple[str, Statistic]]:
    """Yield statistics of outcomes with their names.

    ``supports`` is the caller's function, or None if the caller gave no function. The function maps
    an outcome and an input to a number, which is high if the outcome suggests the input.
    """
    first, second = sample.pair.first, sample.pair.second
    ours, theirs = sample.releases
    of_objects = ours.dtype == object or theirs.dtype == object
    if supports is not None:
        support = _remembered(
            lambda z: np.array([[float(supports(o, x)) for x in (first, second)] for o in map(_plain, z)])
        )

        def keys(z: Array) -> list[Hashable]:
            columns = z[:, small].tolist() if small else [()] * len(z)
            return [(*both, *parts) for both, parts in zip(support(z).tolist(), columns, strict=True)]

        both = np.empty((0, 0)) if of_objects else np.concatenate([ours, theirs])
        small = [c for c, column in enumerate(both.T) if len(np.unique(column)) <= MAX_PART_VALUES][:3]
        yield "support of the caller's", lambda z: np.subtract(*support(z).T)
        yield "support of either, and its parts", log_ratios(ours, theirs, keys)
    of_input = "outcome that is an input"
    yield of_input, lambda z: np.array([_is_input(o, first) - _is_input(o, second) for o in map(_plain, z)])
    yield from (_of_objects if of_objects else _of_numbers)(sample)


def _of_numbers(sample: PairSample) -> Iterator[tuple[str, Statistic]]:
    ours, theirs = sample.releases
    yield "outcome", log_ratios(ours, theirs, lambda z: [row.tobytes() for row in z])  # minus zero is not zero
    if ours.shape[1] == 1:
        yield "value", lambda z: np.round(z[:, 0], 9)
        return
    yield "numbers in their places", _columns(ours, theirs)
    whole = np.concatenate([ours, theirs])
    if (whole == np.round(whole)).all() and whole.min() >= 0 and 1 < whole.max() < 4096:
        size = int(whole.max()) + 2
        present = _columns(_presence(ours, size), _presence(theirs, size))
        yield "numbers anywhere", lambda z: present(_presence(z, size))
    yield "sum", lambda z: np.round(z.sum(axis=1), 9)
    yield "numbers that repeat", _repeats
    if ours.shape[1] <= MAX_PART_VALUES:
        equal = log_ratios(ours, theirs, lambda z: _rows((z[:, :, None] == z[:, None, :]).argmax(axis=2)))
        yield "which numbers are equal", equal
    if len(np.unique(whole)) > MAX_PART_VALUES * whole.shape[1]:
        yield from vector_statistics(sample, clip_norm=1.0)


def _of_objects(sample: PairSample) -> Iterator[tuple[str, Statistic]]:
    (ours, theirs), first, second = sample.releases, sample.pair.first, sample.pair.second
    yield "outcome", log_ratios(ours, theirs, lambda z: z)
    if len({*map(_types, ours), *map(_types, theirs)}) > 1:
        yield "types of the members", log_ratios(ours, theirs, lambda z: [*map(_types, z)])
        yield "value", lambda z: np.array([float(o) if isinstance(o, int | float) else 0.0 for o in z])
    mixed = any(isinstance(outcome, tuple) and all(_split(outcome)) for outcome in ours[:20])
    beside = [("words beside the other members", words_beside)] if mixed else []
    features = [("members in their places", in_places), *beside, ("parts", parts)]
    for name, of_inputs in (("members of the inputs", _members), ("members of the inputs in their places", in_places)):
        own = set(of_inputs(first)), set(of_inputs(second))
        yield name, _adds_up({part: 1.0 * (part in own[0]) - (part in own[1]) for part in own[0] | own[1]}, of_inputs)
        yield f"{name}, weighed", _own_parts(ours, theirs, own, of_inputs)
    for name, parts_of in features:
        significant, weights = _weights(ours, theirs, parts_of)
        yield name, _adds_up(significant, parts_of)
        yield f"{name}, rare ones too", _adds_up(weights, parts_of)
    if turned := _turned_words(first, second):
        yield "order of the inputs' words", lambda z: np.array([_order(o, turned) for o in z])
    strong = max(significant, key=lambda part: abs(significant[part]), default=None)
    if strong is not None:
        yield "strongest part", lambda z: np.array([float(strong in parts(o)) for o in z])
    yield "size", lambda z: np.array([float(len(o)) if hasattr(o, "__len__") else 0.0 for o in z])


def parts(outcome: Any) -> set[Hashable]:
    """Return the parts of an outcome, such as the words of a text.

    A statistic compares how often each part occurs in the outcomes of two inputs. The parts of a text are its words,
    its pairs of neighbouring words, its signs and unusual spaces, the whole text, the pattern of its equal words
    (which places hold the same word, but not which word), and three counts: of words, of different words and of
    characters. The parts of a set are its members and its size. The parts of a tuple are its members, each with and
    without its place, the pattern of equal members, the size of the tuple, and the number of different members. An
    outcome of any other type has one part, which is the outcome itself.
    """
    if isinstance(outcome, str):
        words = outcome.split()
        sizes = {("words", len(words)), ("characters", len(outcome)), ("different words", len(set(words)))}
        marks = {("between words", mark) for mark in MARKS.findall(outcome)}
        return {*words, *pairwise(words), *sizes, *marks, ("whole", outcome), ("equal", _equal_members(words))}
    if isinstance(outcome, frozenset):
        return {*outcome, ("size", len(outcome))}
    if isinstance(outcome, tuple):
        sizes = {("size", len(outcome)), ("different", len(set(outcome)))}
        members = {("in", member) for member in outcome}
        return {*members, *enumerate(outcome), *sizes, ("equal", _equal_members(outcome))}
    return {outcome}


def _equal_members(members: Sequence[Hashable]) -> tuple[int, ...]:
    first: dict[Hashable, int] = {}
    return tuple(first.setdefault(member, place) for place, member in enumerate(members))


def _plain(row: Any) -> Any:
    if not isinstance(row, np.ndarray):
        return getattr(row, "outcome", tuple(map(_plain, row)) if isinstance(row, tuple) else row)
    numbers = [int(x) if float(x).is_integer() else float(x) for x in row]
    return numbers[0] if len(numbers) == 1 else tuple(numbers)


def _is_input(outcome: Any, value: Any) -> float:
    return float(outcome == value or (isinstance(value, tuple) and outcome in value))


def in_places(outcome: Any) -> list[tuple[Hashable, Hashable]]:
    """Return the members of a tuple, or the words of a text, each with its place; and the members of these members.

    Statistics that add up over places show a budget that a mechanism spends anew in each of them.
    """
    members = outcome.split() if isinstance(outcome, str) else outcome if isinstance(outcome, tuple) else (outcome,)
    inside = (
        ((place, *inner), part)
        for place, member in enumerate(members)
        if isinstance(member, tuple) or (isinstance(member, str) and " " in member)
        for *inner, part in in_places(member)
    )
    return [*enumerate(members), *inside]


def _own_parts(
    ours: Array, theirs: Array, own: tuple[set[Hashable], set[Hashable]], parts: Callable[[Any], Iterable[Hashable]]
) -> Statistic:
    """Return a statistic that adds up the log ratios of those parts of outcomes that are parts of an input, too.

    A part of one input counts as seen once more in this input's releases, so it is evidence even if it is too rare to
    have been seen. All other parts are left out, because chance in their many frequencies would hide a rare part.
    """
    first, second = (Counter(p for o, n in Counter(side).items() for p in [*parts(o)] * n) for side in (ours, theirs))
    table = {
        part: float(np.log((first[part] + 0.25 + (part in own[0])) / (second[part] + 0.25 + (part in own[1]))))
        for part in own[0] | own[1]
    }
    return _adds_up(table, parts)


def _types(outcome: Any) -> Any:
    return tuple(map(_types, outcome)) if isinstance(outcome, tuple) else type(outcome)


def _members(outcome: Any) -> tuple[Hashable, ...]:
    return tuple(chain.from_iterable(_split(outcome)))


def words_beside(outcome: Any) -> set[Hashable]:
    """Return each word of a tuple's texts together with all members that are no texts.

    A statistic of them shows words that depend on the label beside them.
    """
    others, words = _split(outcome)
    return {(others, word) for word in words}


def _split(outcome: Any) -> tuple[tuple[Hashable, ...], tuple[str, ...]]:
    """Return the members of a tuple, and of the tuples in it, that are no texts; and the words of those that are."""
    if isinstance(outcome, str) and " " in outcome:
        return (), tuple(outcome.split())
    if not isinstance(outcome, tuple):
        return (outcome,), ()
    each = [_split(member) for member in outcome]
    return tuple(chain.from_iterable(a for a, _ in each)), tuple(chain.from_iterable(b for _, b in each))


def _turned_words(first: Any, second: Any) -> set[tuple[str, str]]:
    """Return all pairs of words that occur in this order in the first input, and in the other order in the second."""
    ours, theirs = (_split(value)[1] for value in (first, second))
    common = [word for word in dict.fromkeys(ours) if word in theirs][:12]
    return {(a, b) for a, b in combinations(common, 2) if theirs.index(a) > theirs.index(b)}


def _order(outcome: Any, turned: set[tuple[str, str]]) -> float:
    """Return how many pairs of words an outcome holds in the first input's order, less those in the other order."""
    place = {word: number for number, word in enumerate(_split(outcome)[1])}
    return float(sum(1 if place[a] < place[b] else -1 for a, b in turned if a in place and b in place))


def _adds_up(weights: dict[Hashable, float], parts: Callable[[Any], Iterable[Hashable]]) -> Statistic:
    def add(z: Array) -> Floats:
        known = {outcome: sum(weights.get(part, 0.0) for part in parts(outcome)) for outcome in set(z)}
        return np.round([known[outcome] for outcome in z], 9)

    return add


def _weights(
    ours: Array, theirs: Array, parts: Callable[[Any], Iterable[Hashable]]
) -> tuple[dict[Hashable, float], dict[Hashable, float]]:
    """Return the log ratios of the parts whose frequencies differ significantly, and of all that differ."""
    first, second = (Counter(p for o, n in Counter(side).items() for p in [*parts(o)] * n) for side in (ours, theirs))
    counts = {part: (first[part], second[part]) for part in first.keys() | second.keys() if first[part] != second[part]}
    every = {part: float(np.log((a + 0.25) / (b + 0.25))) for part, (a, b) in counts.items()}
    return {
        part: every[part] for part, (a, b) in counts.items() if abs(a - b) > SIGNIFICANT_SDS * np.sqrt(a + b)
    }, every


def _columns(ours: Floats, theirs: Floats) -> Statistic:
    """Return a statistic that adds up one log ratio for each column of a release.

    Let x be the number that the release has in a column. If x occurs a times in this column of
    ``ours``, and b times in this column of ``theirs``, the log ratio is about ln(a / b). In a column
    with many different numbers, those of an interval count as one. Of several columns, the statistic
    uses those whose means differ most and in which some count differs significantly.
    """
    tables: list[tuple[int, Floats, Floats]] = []
    alone, spread = ours.shape[1] == 1, ours.std(axis=0) + theirs.std(axis=0) + 1e-300
    near = -np.abs(ours.mean(axis=0) - theirs.mean(axis=0)) / spread
    for column in near.argsort(kind="stable")[:12].tolist():
        whole = np.concatenate([ours[:, column], theirs[:, column]])
        edges = np.unique(whole)[1:]
        if len(edges) >= MAX_PART_VALUES:
            bins = 48 if alone else min(48, max(4, len(ours) // 60))
            edges = np.unique(np.quantile(whole, np.arange(1, bins) / bins))
        bins_of = (np.searchsorted(edges, side[:, column], "right") for side in (ours, theirs))
        a, b = (np.bincount(places, minlength=len(edges) + 1) for places in bins_of)
        if alone or (np.abs(a - b) > SIGNIFICANT_SDS * np.sqrt(a + b)).any():
            tables.append((column, edges, np.log((a + 0.25) / (b + 0.25))))

    def ratios_of(z: Floats) -> Iterator[Floats]:
        return (ratios[np.searchsorted(edges, z[:, column], "right")] for column, edges, ratios in tables)

    return lambda z: np.round(sum(ratios_of(z), np.zeros(len(z))), 9)


def _presence(z: Floats, size: int) -> Floats:
    present = np.zeros((len(z), size))
    places = np.where((z >= 0) & (z < size - 1), z, size - 1).astype(np.int64)
    present[np.arange(len(z))[:, None], places] = 1.0
    return present


# --- Rules that guess from a statistic

ANSWERS = (1, 1, 2) * 2  # number of inputs that each of the six kinds of rules can name


@dataclass(frozen=True, kw_only=True)
class Rule:
    """A rule that guesses one input for high values of a statistic, and the other for low values.

    High values are at least ``high``, and low values are below ``low``. For all other values, the rule abstains.
    """

    high: float  # infinite: the rule never names this input
    low: float  # minus infinity: the rule never names this input
    flipped: bool = False  # True if high values stand for the second input

    @property
    def answers(self) -> int:
        return int(np.isfinite(self.high)) + int(np.isfinite(self.low))

    def says(self, values: Floats, side: int) -> int:
        """Count the ``values`` for which the rule guesses the input number ``side`` (0 or 1)."""
        return int((values >= self.high if (side == 0) != self.flipped else values < self.low).sum())


SILENT = Rule(high=math.inf, low=-math.inf)


@dataclass(frozen=True)
class Tried:
    """Rules that were tried on S statistics, and the numbers of their right and wrong guesses.

    There are six kinds of rules. A rule guesses for low values only, for high values only, or for both. In each of
    these three cases, high values stand either for the first or for the second input.
    """

    values: int
    statistics: NDArray[np.int64]  # (S,), the indices of statistics that have thresholds
    low: NDArray[np.int64]  # (S, T), number of values below a threshold
    high: NDArray[np.int64]
    right: Floats  # (S, 6 T), number of right guesses of each rule
    wrong: Floats

    def quick(self, rounds: int, delta: float, *, sds: float) -> tuple[Floats, NDArray[np.int64]]:
        """Return two arrays (S,): the bound of each statistic's best rule, and this rule's index.

        A rule's bound is the lower bound on epsilon that the rule would certify in ``rounds``
        rounds, computed approximately. For caution, the rule's number of wrong guesses is first
        increased by ``sds`` standard deviations (with Anscombe's square-root transform).
        """
        weight, forgiven = rounds / self.values, delta * rounds * np.repeat(ANSWERS, self.low.shape[1]) / 2
        most = np.square(np.sqrt(weight * self.wrong + 0.375) + sds / 2)
        scores = np.log(np.maximum(weight * (self.right + self.wrong) - most - forgiven, 1e-9) / most)
        return scores.max(axis=1), scores.argmax(axis=1)

    def rule(self, values: Floats, kind: int, place: int) -> Rule:
        """Return the rule of the given kind (0 to 5) with the thresholds at index ``place``."""
        ordered = np.sort(values)
        low, high = (float(ordered[cut - 1] + ordered[cut]) / 2 for cut in (self.low[0, place], self.high[0, place]))
        ends = kind % 3
        return Rule(high=high if ends else math.inf, low=low if ends != 1 else -math.inf, flipped=kind >= 3)


def try_rules(values: Floats, chance: Floats, *, gap: float, most: int) -> Tried:
    """Count right and wrong guesses of rules; for each statistic, try up to ``most`` thresholds."""
    order = np.argsort(values, axis=1)
    statistics, cuts = np.nonzero(np.diff(np.take_along_axis(values, order, axis=1), axis=1) > gap)
    found = np.bincount(statistics, minlength=len(values))
    some, total = np.flatnonzero(found), values.shape[1]
    ranks = _ranks(found[some].tolist(), most)
    begin, end = (np.cumsum(found) - found)[some, None], np.cumsum(found)[some, None]
    low, high = cuts[begin + ranks] + 1, cuts[end - 1 - ranks] + 1
    sums = np.cumsum(np.broadcast_to(chance, values.shape)[some[:, None], order[some]], axis=1)
    under, over = np.take_along_axis(sums, low - 1, axis=1), sums[:, -1:] - np.take_along_axis(sums, high - 1, axis=1)
    second = low - under, total - high - over
    right, wrong = [second[0], over, second[0] + over], [under, second[1], under + second[1]]
    either = (np.concatenate(kinds, axis=1) for kinds in (right + wrong, wrong + right))
    return Tried(total, some, low, high, *either)


def _ranks(counts: list[int], most: int) -> NDArray[np.int64]:
    """Return a row of up to ``most`` ranks below each count; short rows repeat their last rank."""
    rows = [_row_of_ranks(count, most) for count in counts]
    places = np.arange(max(map(len, rows), default=0))
    return np.array([row[np.minimum(places, len(row) - 1)] for row in rows], int).reshape(len(rows), len(places))


@cache
def _row_of_ranks(count: int, most: int) -> NDArray[np.int64]:
    return np.unique(np.geomspace(1, count, most).astype(int)) - 1
