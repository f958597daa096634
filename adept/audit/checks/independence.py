"""Checks that releases share no noise, and do not depend on other records, a seed or a fork.

Claim: if all releases of one record are independent, then all pairs of its releases have the same
distribution, whether the two releases come from one call or from two calls. Then every function of
a pair, such as the angle between its releases, also has the same distribution for all pairs. Exact
two-sample tests (`stats.exact_tests`) compare pairs from two sources, for example pairs within one
call with pairs from two calls. In each test, a release belongs to at most one pair. The tests
differ in the function, in its threshold and in the number of rows between the two releases of a
pair. The smallest p-value is multiplied by the number of tests (Bonferroni).
"""

import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from adept.audit.distinguisher.guessing_game import Experiment
from adept.audit.distinguisher.input_pairs import FAR_FACTOR
from adept.audit.result import Check, Kind, MechanismFailure
from adept.audit.stats.confidence_bounds import Floats
from adept.audit.stats.exact_tests import Difference, differences, fisher, least_probable
from adept.audit.subject.target import release_in_forks
from adept.audit.subject.value import ValueTarget
from adept.audit.subject.vector import VectorTarget

ReleasePairs = tuple[Floats, Floats]

CALL_ROWS = 3 * 128  # 128 pairs of releases are compared after a seed and after a fork
MAX_BATCH_ROWS = 2**13
MAX_BATCHES, SMALL_BATCHES = 16, 1000
REST_SIZES = 2, 8


def in_batch(experiment: Experiment[Any], alpha: float) -> Check:
    """Detect noise that the records of one batch share. The check is blind to correlations below a
    few percent.

    The check compares pairs of rows from one call with pairs of rows from two different calls. It
    repeats the comparison for several distances between the two rows from one call.
    """
    target, found = experiment.target.without_memory(), list[Difference]()
    if isinstance(target, VectorTarget):
        calls, rows = 2, max(CALL_ROWS, target.affordable(MAX_BATCH_ROWS, share=0.5) // 4 * 4)
    else:
        calls, rows = 16, _value_rows(target) // 16
    released = [_repeat(experiment, rows) for _ in range(calls)]
    half = rows // 2
    between = _joined([(a[half:], b[half:]) for a, b in zip(released[::2], released[1::2], strict=True)])
    lags = (1, 2, 3, 4, 5, 8, 10, 16, 32, 64, 100, 128, 256)
    for lag in sorted({*(lag for lag in lags if lag < half // 2), half // 2}):
        start = np.arange(half - lag)
        start = start[start // lag % 2 == 0]
        within = _joined([(call[start], call[start + lag]) for call in released])
        found += _compared(within, between, f"rows {lag} apart")
    quarter = half // 2
    apart = _joined([(call[:quarter], call[half : half + quarter]) for call in released])
    last = _joined([(a[-quarter:], b[-quarter:]) for a, b in zip(released[::2], released[1::2], strict=True)])
    found += _compared(apart, last, f"rows {half} apart")
    found_together = least_probable(found, f"{rows} rows in each of {calls} batches", alpha=alpha)
    again = all((call == released[0]).all() for call in released[1:])
    return replace(found_together, kind=Kind.RANDOMNESS) if again else found_together


def after_one_seed(experiment: Experiment[Any], alpha: float) -> Check:
    """Detect noise that repeats if torch, NumPy and Python's random get the same seed again. The
    check is blind to a seed that the mechanism keeps secret.
    """
    rows = _paired_rows(experiment.target.without_memory())
    _repeat(experiment, rows)  # random numbers that only a first call draws would shift the seeded ones
    first, second = _seeded(lambda: _repeat(experiment, rows))
    found = _compared(_between(first, second), _within(first), "after the same seed")
    pairs = f"{rows // 3} pairs after the same seed, {rows // 3} within one call"
    return least_probable(found, pairs, alpha=alpha)


def in_copies(experiment: Experiment[Any], alpha: float) -> Check:
    """Detect outcomes that fresh copies of a mechanism share, for example because the copies hold
    the same seed. The check is blind to a seed that a mechanism draws only after it was copied.

    Claim: without a shared seed, the probability that outcomes of two different copies are equal is
    at most the probability that two outcomes of one copy are equal (on average over the two
    copies). Proof: let q and r be the distributions of the outcomes of the two copies. Then ``sum(q
    * r) <= (sum(q^2) + sum(r^2)) / 2``, where the sums run over all outcomes. QED. So equal
    outcomes of two copies indicate a shared seed only if they are more frequent than equal outcomes
    of one copy.
    """
    target = experiment.target.without_memory()
    rows = _paired_rows(target)
    first, second = (target.of_copy().codes([target.values[0]] * rows) for _ in range(2))
    within = _joined([_within(first), _within(second)])
    found = [
        each if each.ours * each.theirs_of > each.theirs * each.ours_of else replace(each, p_value=1.0)
        for each in _compared((first, second), within, "in two fresh copies")
    ]
    return least_probable(found, f"{rows} pairs of two fresh copies, {len(within[0])} within one", alpha=alpha)


def in_forks(experiment: Experiment[Any], alpha: float) -> Check:
    """Detect noise that two workers share because both were forked from one process. The check is
    blind to processes that are started in other ways.
    """
    target, pairs = experiment.target.without_memory(), experiment.pairs  # the pairs are found once, before the fork
    rows = _paired_rows(target)
    first, second = release_in_forks(target, partial(_repeat, experiment, rows))
    found = _compared(_between(first, second), _within(first), "in two forked workers")
    what = f"{rows // 3} pairs of two forked workers, {rows // 3} within one, of {pairs[0].name}"
    return least_probable(found, what, alpha=alpha)


def of_rest(experiment: Experiment[VectorTarget], alpha: float) -> Check:
    """Detect noise that a row shares with the rest of its batch of 2 or 8 rows. The check is blind
    to larger batches.

    The check pairs the first row of a batch with the mean of the other rows of the same batch. For
    comparison, the check pairs the first row with the mean of the other rows of a different batch.
    """
    target, found = experiment.target.without_memory(), list[Difference]()
    tried = 3 * len(REST_SIZES)
    calls = target.affordable(tried * 64, share=0.2, alone=True) // tried
    if calls < 24:
        raise MechanismFailure("the mechanism is too slow for many small batches")
    for size in REST_SIZES:
        batch = experiment.pairs[0].first.expand(size, -1)
        released = target.in_calls([batch] * (3 * calls)).reshape(3, calls, size, -1)
        one, rest = released[:, :, 0], released[:, :, 1:].mean(axis=2)
        found += _compared((one[0], rest[0]), (one[1], rest[2]), f"one row and the mean of {size - 1} others")
    return least_probable(found, f"{calls} batches of each size", alpha=alpha)


def of_neighbours(experiment: Experiment[VectorTarget], alpha: float) -> Check:
    """Detect releases that depend on the other records of their batch. The check is blind to
    effects of at most a few percent.

    Every second record of a batch is a constant record, which is the same in all batches; the other
    records differ between two groups of batches. Claim: if each row is released independently and
    depends only on its own record, then the releases of the constant record are independent and
    have the same distribution in all batches. Every function of these releases also has the same
    distribution in all batches. Exact two-sample tests (with Bonferroni's factor) compare several
    functions of the releases between batches with different neighbours.
    """
    target, found, failures = experiment.target.without_memory(), list[Difference](), list[MechanismFailure]()
    share = 0.2 / (1 + len(cases := _cases(target.dim, target.clip_norm)))
    rows = min(target.affordable(4 * experiment.trials, share=share) // 2, MAX_BATCHES * MAX_BATCH_ROWS)
    batches = max(2, min(MAX_BATCHES, rows // 64))
    large = max(32, rows // batches), batches // 2  # rows of a batch, and number of batches
    small = 16, target.affordable(min(rows // 16, SMALL_BATCHES), share=share, alone=True) // 2 + 1
    for size, (name, constant, first, second) in [*((large, case) for case in cases), (small, cases[1])]:
        try:
            sides = [_beside(target, constant, x, *size) for x in (first, second)]
        except MechanismFailure as failure:  # the mechanism may refuse such a record
            failures.append(failure)
            continue
        direction, own = (second.nan_to_num() - first.nan_to_num()).numpy(), constant.nan_to_num().numpy()
        found += _compared_beside(sides[0], sides[1], direction, own, what=f"{size[0]} {name}")
    if not found:
        raise failures[0]
    return least_probable(found, "releases of one record among others", alpha=alpha)


def of_neighbouring_values(experiment: Experiment[ValueTarget], alpha: float) -> Check:
    """Detect outcomes that depend on the other values of their batch. The check is blind to effects
    of at most a few percent.
    """
    target, found = experiment.target.without_memory(), list[Difference]()
    constant, second, *_, last = [*target.values, target.values[-1]]
    rows = _value_rows(target)
    for other in (second, last):
        sides = [target.codes([constant, neighbour] * (rows // 2))[::2] for neighbour in (constant, other)]
        for outcome, _ in Counter(np.concatenate(sides).tolist()).most_common(20):
            (a, m), (b, k) = ((int((side == outcome).sum()), len(side)) for side in sides)
            found.append(Difference(fisher(a, m, b, k), "one outcome", a, m, b, k))
    return least_probable(found, "releases of one value among others", alpha=alpha)


def _repeat(experiment: Experiment[Any], rows: int) -> Floats:
    """Release the first record ``rows`` times in one call; return hashes of outcomes of values."""
    target, record = experiment.target, experiment.pairs[0].first
    vectors = isinstance(target, VectorTarget)
    released: Floats = target.release(record.expand(rows, -1).clone()) if vectors else target.codes([record] * rows)
    return released


def _value_rows(target: ValueTarget) -> int:
    return max(256, target.affordable(4096, share=0.5) // 4 * 4)


def _paired_rows(target: Any) -> int:
    return CALL_ROWS if isinstance(target, VectorTarget) else min(_value_rows(target), 2 * CALL_ROWS)


def _joined(pairs: Sequence[ReleasePairs]) -> ReleasePairs:
    first, second = (np.concatenate(side) for side in zip(*pairs, strict=True))
    return first, second


def _within(call: Floats) -> ReleasePairs:
    """Pair neighbouring rows in the first two thirds of a call; no row is in two pairs."""
    pairs = len(call) // 3
    return call[: 2 * pairs : 2], call[1 : 2 * pairs : 2]


def _between(first: Floats, second: Floats) -> ReleasePairs:
    pairs = len(first) // 3
    return first[2 * pairs :], second[2 * pairs :]


def _compared(suspect: ReleasePairs, reference: ReleasePairs, where: str) -> list[Difference]:
    if suspect[0].ndim == 1:
        counts = [each for a, b in (suspect, reference) for each in (int((a == b).sum()), len(a))]
        return [Difference(fisher(*counts), f"{where}, equal", *counts)]
    centre = np.concatenate([*suspect, *reference]).mean(axis=0)
    ours, theirs = (_relations(a - centre, b - centre) for a, b in (suspect, reference))
    return [each for name in ours for each in differences(ours[name], theirs[name], what=f"{where}, {name}")]


def _relations(first: Floats, second: Floats) -> dict[str, Floats]:
    """Return functions of pairs of releases, by name."""
    a, b = np.linalg.norm(first, axis=1), np.linalg.norm(second, axis=1)
    return {
        "equal numbers": np.isclose(first, second, rtol=0, atol=1e-12).mean(axis=1),
        "angle": np.round((first * second).sum(axis=1) / np.maximum(a * b, 1e-300), 9),
        "difference in length": np.round(np.abs(np.log((a + 1e-9) / (b + 1e-9))), 9),
    }


def _seeded(release: Callable[[], Floats]) -> list[Floats]:
    """Release twice with equal seeds of random, NumPy and torch; then restore the generators."""
    python, numpy, pytorch = random.getstate(), np.random.get_state(), torch.get_rng_state()
    released = []
    try:
        for _ in range(2):
            random.seed(0)
            np.random.seed(0)
            torch.manual_seed(0)
            released.append(release())
    finally:
        random.setstate(python)
        np.random.set_state(numpy)
        torch.set_rng_state(pytorch)
    return released


def _cases(dim: int, clip_norm: float) -> list[tuple[str, Tensor, Tensor, Tensor]]:
    random = torch.randn(dim, dtype=torch.float64, generator=torch.Generator().manual_seed(2022))
    random *= clip_norm / torch.linalg.vector_norm(random)
    zero, other, nan = torch.zeros_like(random), 0.3 * random.flip(0), torch.full_like(random, torch.nan)
    return [
        ("neighbours opposite", other, -FAR_FACTOR * random, FAR_FACTOR * random),
        ("neighbours small and large", other, zero, FAR_FACTOR * random),
        ("neighbours small and large, of zero", zero, 0.01 * random, random),
        ("neighbours opposite, of NaN", nan, -FAR_FACTOR * random, FAR_FACTOR * random),
    ]


def _beside(target: VectorTarget, constant: Tensor, neighbour: Tensor, rows: int, batches: int) -> Floats:
    batch = constant.expand(2 * min(rows, MAX_BATCH_ROWS // 2), -1).clone()
    batch[1::2] = neighbour
    return np.concatenate([np.nan_to_num(target.release(batch.clone()))[::2] for _ in range(batches)])


def _compared_beside(first: Floats, second: Floats, direction: Floats, own: Floats, *, what: str) -> list[Difference]:
    functions: dict[str, Callable[[Floats], Floats]] = {
        "length": lambda z: np.round(np.linalg.norm(z, axis=1), 12),
        "first number": lambda z: z[:, 0],
        "sum": lambda z: z.sum(axis=1),
    }
    for name, along in (("along the neighbours", direction), ("along itself", own)):
        if first.shape[1] == len(along) and along.any():
            functions[name] = lambda z, along=along: z @ along  # type: ignore[misc]
    return [each for name, f in functions.items() for each in differences(f(first), f(second), what=f"{what}, {name}")]
