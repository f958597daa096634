"""Statistics of releases that are values, such as integers, labels, sets, tuples or texts.

A release is called an *outcome* here, and a *statistic* is a number that is computed from an
outcome. A decision rule guesses from a statistic which of two inputs was released.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from adept.audit.distinguisher.vector_statistics import log_ratios, statistics
from adept.audit.stats.confidence_bounds import Floats
from adept.audit.subject.time_limits import Statistic

Array = NDArray[Any]

MAX_ALPHABET = 4096  # the presence of numbers is counted only if all numbers in outcomes are smaller
SIGNIFICANT_SDS = 4.0  # standard deviations by which a part's frequencies must differ to be counted
MAX_PART_VALUES = 64  # a column with more different numbers is not looked at
MAX_COLUMNS = 3  # largest number of columns that are looked at together


def outcome_statistics(sample: Any, *, supports: Callable[[Any, Any], float] | None) -> Iterator[tuple[str, Statistic]]:
    """Yield statistics of outcomes with their names; some statistics are fitted to the sample.

    ``supports`` is the caller's function, or None if the caller gave no function. The function maps
    an outcome and an input to a number, which is high if the outcome suggests the input.
    """
    first, second = sample.pair.first, sample.pair.second
    ours, theirs = sample.releases
    if supports is not None:

        def support(z: Array) -> list[tuple[float, float]]:
            return [(float(supports(o, first)), float(supports(o, second))) for o in map(_plain, z)]

        def keys(z: Array) -> list[Hashable]:
            columns = z[:, small].tolist() if small else [()] * len(z)
            return [(*both, *parts) for both, parts in zip(support(z), columns, strict=True)]

        small = _small_columns(ours, theirs)
        yield "support of the caller's", lambda z: np.array([a - b for a, b in support(z)])
        yield "support of either, and its parts", log_ratios(ours, theirs, keys)
    if ours.dtype == object or theirs.dtype == object:
        yield from _of_objects(ours, theirs, first, second)
    else:
        yield from _of_numbers(sample)


def _of_numbers(sample: Any) -> Iterator[tuple[str, Statistic]]:
    (ours, theirs), first, second = sample.releases, sample.pair.first, sample.pair.second
    yield "outcome", log_ratios(ours, theirs, _rows)
    if ours.shape[1] == 1:
        yield "value", _number
        if all(isinstance(number, int | float) for value in (first, second) for number in _members(value)):
            yield "outcome that is an input", lambda z: _is_of(z, first) - _is_of(z, second)
        return
    yield "numbers in their places", _columns(ours, theirs)
    whole = np.concatenate([ours, theirs])
    if (whole == np.round(whole)).all() and whole.min() >= 0 and 1 < whole.max() < MAX_ALPHABET:
        size = int(whole.max()) + 2
        present = _columns(_presence(ours, size), _presence(theirs, size))
        yield "numbers anywhere", lambda z: present(_presence(z, size))
    yield "sum", lambda z: np.round(z.sum(axis=1), 9)
    yield "numbers that repeat", lambda z: (np.diff(np.sort(z, axis=1), axis=1) == 0).sum(axis=1) * 1.0
    if ours.shape[1] <= MAX_PART_VALUES:
        yield "which numbers are equal", log_ratios(ours, theirs, _equal_places)
    if len(np.unique(whole)) > MAX_PART_VALUES * whole.shape[1]:
        yield from statistics(sample, clip_norm=1.0)


def _of_objects(ours: Array, theirs: Array, first: Any, second: Any) -> Iterator[tuple[str, Statistic]]:
    yield "outcome", log_ratios(ours, theirs, lambda z: z)
    yield "outcome that is an input", lambda z: np.array([_is_input(o, first) - _is_input(o, second) for o in z])
    weights = _weights(ours, theirs)
    yield "parts", lambda z: np.round([sum(weights.get(part, 0.0) for part in parts(o)) for o in z], 9)
    strong = max(weights, key=lambda part: abs(weights[part]), default=None)
    if strong is not None:
        yield "strongest part", lambda z: np.array([float(strong in parts(o)) for o in z])
    if isinstance(first, str) and isinstance(second, str):
        words = set(first.split()), set(second.split())
        yield "words of the inputs", lambda z: np.array([_overlap(o, words[0]) - _overlap(o, words[1]) for o in z])
    yield "size", lambda z: np.array([float(len(o)) if hasattr(o, "__len__") else 0.0 for o in z])


def parts(outcome: Any) -> set[Hashable]:
    """Return the parts of an outcome, such as the words of a text.

    A statistic compares how often each part occurs in the outcomes of two inputs. The parts of a
    text are its words, its pairs of neighbouring words, the whole text, the pattern of its equal
    words (which places hold the same word, but not which word), and three counts: of words, of
    different words and of characters. The parts of a set are its members and its size. The parts of
    a tuple are its members, each with and without its place, the pattern of equal members, the size
    of the tuple, and the number of different members. An outcome of any other type has one part,
    which is the outcome itself.
    """
    if isinstance(outcome, str):
        words = outcome.split()
        sizes = {("words", len(words)), ("characters", len(outcome)), ("different words", len(set(words)))}
        return {*words, *pairwise(words), *sizes, ("whole", outcome), ("equal", _equal_members(words))}
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


def _equal_places(z: Floats) -> list[bytes]:
    return [row.tobytes() for row in (z[:, :, None] == z[:, None, :]).argmax(axis=2)]


def _overlap(outcome: Any, words: set[str]) -> float:
    return float(sum(word in words for word in outcome.split())) if isinstance(outcome, str) else 0.0


def _small_columns(ours: Array, theirs: Array) -> list[int]:
    if ours.dtype == object or theirs.dtype == object:
        return []
    both = np.concatenate([ours, theirs])
    return [c for c in range(both.shape[1]) if len(np.unique(both[:, c])) <= MAX_PART_VALUES][:MAX_COLUMNS]


def _plain(row: Any) -> Any:
    if not isinstance(row, np.ndarray):
        return row
    numbers = [int(x) if float(x).is_integer() else float(x) for x in row]
    return numbers[0] if len(numbers) == 1 else tuple(numbers)


def _number(z: Floats) -> Floats:
    return np.asarray(np.round(z[:, 0], 9))


def _members(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)


def _is_of(z: Floats, value: Any) -> Floats:
    return np.asarray(np.isin(z[:, 0], [float(number) for number in _members(value)]).astype(np.float64))


def _is_input(outcome: Any, value: Any) -> float:
    return float(outcome == value or (isinstance(value, tuple) and outcome in value))


def _rows(z: Floats) -> list[bytes]:
    return [row.tobytes() for row in z + 0.0]


def _weights(ours: Array, theirs: Array) -> dict[Hashable, float]:
    counts = Counter(p for o in ours for p in parts(o)), Counter(p for o in theirs for p in parts(o))
    weights = {}
    for part in counts[0].keys() | counts[1].keys():
        a, b = counts[0][part], counts[1][part]
        if abs(a - b) > SIGNIFICANT_SDS * np.sqrt(a + b):
            weights[part] = float(np.log((a + 0.25) / (b + 0.25)))
    return weights


def _columns(ours: Floats, theirs: Floats) -> Statistic:
    """Return a statistic that adds up one log ratio for each column of a release.

    Let x be the number that the release has in a column. If x occurs a times in this column of
    ``ours``, and b times in this column of ``theirs``, the log ratio is about ln(a / b). The
    statistic uses a column only if the column has few different numbers, and if the count of some
    number differs significantly between ``ours`` and ``theirs``.
    """
    tables: list[tuple[int, Floats, Floats]] = []
    for column in range(ours.shape[1]):
        values = np.unique(np.concatenate([ours[:, column], theirs[:, column]]))
        if len(values) > MAX_PART_VALUES:
            continue
        a, b = (np.array([(side[:, column] == v).sum() for v in values]) for side in (ours, theirs))
        if (np.abs(a - b) > SIGNIFICANT_SDS * np.sqrt(a + b)).any():
            tables.append((column, values, np.log((a + 0.25) / (b + 0.25))))

    def score(z: Floats) -> Floats:
        total = np.zeros(len(z))
        for column, values, ratios in tables:
            places = np.searchsorted(values, z[:, column]).clip(max=len(values) - 1)
            total += np.where(values[places] == z[:, column], ratios[places], 0.0)
        return np.round(total, 9)

    return score


def _presence(z: Floats, size: int) -> Floats:
    present = np.zeros((len(z), size))
    places = np.where((z >= 0) & (z < size - 1), z, size - 1).astype(np.int64)
    present[np.arange(len(z))[:, None], places] = 1.0
    return present
