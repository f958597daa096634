"""Checks that releases share or repeat no noise, and depend on no other record, seed or fork.

Claim: if all releases of one record are independent, then all pairs of its releases have the same distribution,
whether the two releases come from one call or from two calls. Then every function of a pair, such as the angle
between its releases, also has the same distribution for all pairs. Exact two-sample tests (`differences`) compare
pairs from two sources, for example pairs within one call with pairs from two calls. In each test, a release belongs
to at most one pair. The tests differ in the function, in its threshold and in the number of rows between the two
releases of a pair. The smallest p-value is multiplied by the number of tests (Bonferroni).

*Repeated outputs.* The check `come_back_or_lie_near` learns two rules from releases of many
records. A rule looks at a release and names the record from which the release may have been drawn,
or no record. The rule *seen* names a record if the same release was drawn before from this record,
and from no other. The rule *near* names the record nearest to the release if all other records lie
many times farther away. Then both rules are scored on fresh releases of randomly chosen records.

Claim: the right and wrong names certify a lower bound on epsilon. Proof: the releases that are scored are independent
of those from which the rules were learned, and the proof at `GameCounts` applies to each rule with m records.
"""

import math
import random
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain, cycle
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from adept.audit import stats
from adept.audit.distinguisher.guessing_game import Experiment
from adept.audit.distinguisher.input_pairs import FAR_FACTOR
from adept.audit.distinguisher.statistics import in_places, release_keys
from adept.audit.result import Check, Kind, MechanismFailure
from adept.audit.stats import Difference, Floats, GameCounts
from adept.audit.subject.kinds import ValueTarget, VectorTarget
from adept.audit.subject.target import release_in_forks

ReleasePairs = tuple[Floats, Floats]

CALL_ROWS = 3 * 128  # 128 pairs of releases are compared after a seed and after a fork
MAX_BATCH_ROWS = 2**13
MAX_BATCHES, SMALL_BATCHES = 16, 1000
MAX_CALL_OUTCOMES = 2**20  # in calls whose outcomes are compared as a whole


def in_batch(experiment: Experiment[Any], alpha: float) -> Check:
    """Detect noise that the records of one batch share. The check is blind to correlations below a few percent.

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
    found_together = stats.least_probable(found, f"{rows} rows in each of {calls} batches", alpha=alpha)
    again = all((call == released[0]).all() for call in released[1:])
    return replace(found_together, kind=Kind.RANDOMNESS) if again else found_together


def after_one_seed(experiment: Experiment[Any], alpha: float) -> Check:
    """Detect noise that repeats if torch, NumPy and Python's random get the same seed again. The
    check is blind to a seed that the mechanism keeps secret.
    """
    rows = _paired_rows(experiment.target.without_memory())
    again = partial(_repeat, experiment, rows)
    again()  # random numbers that only a first call draws would shift the seeded ones
    first, second = _seeded(again)
    found = _compared(_between(first, second), _within(first), "after the same seed", more=True)
    what = f"{rows // 3} pairs after the same seed, {rows // 3} within one call"
    return stats.least_probable(found, what, alpha=alpha)


def in_forks(experiment: Experiment[Any], alpha: float) -> Check:
    """Detect noise that two workers share because both were forked from one process. The check is
    blind to processes that are started in other ways.
    """
    target, pairs = experiment.target.without_memory(), experiment.pairs  # the pairs are found once, before the fork
    rows = _paired_rows(target)
    first, second = release_in_forks(target, partial(_repeat, experiment, rows))
    found = _compared(_between(first, second), _within(first), "in two forked workers", more=True)
    what = f"{rows // 3} pairs of two forked workers, {rows // 3} within one, of {pairs[0].name}"
    return stats.least_probable(found, what, alpha=alpha)


def in_copies(experiment: Experiment[Any], alpha: float) -> Check:
    """Detect outcomes that fresh copies of a mechanism share, for example because the copies hold
    the same seed. The check is blind to a seed that a mechanism draws only after it was copied.

    Claim: without a shared seed, the probability that outcomes of two different copies are equal is
    at most the probability that two outcomes of one copy are equal (on average over the two
    copies). Proof: let q and r be the distributions of the outcomes of the two copies. Then ``sum(q
    * r) <= (sum(q^2) + sum(r^2)) / 2``, where the sums run over all outcomes. QED. So equal
    outcomes of two copies indicate a shared seed only if they are more frequent than equal outcomes of one copy.
    """
    target = experiment.target.without_memory()
    rows = _paired_rows(target)
    first, second = (target.of_copy().codes([target.values[0]] * rows) for _ in range(2))
    within = _joined([_within(first), _within(second)])
    found = _compared((first, second), within, "in two fresh copies", more=True)
    return stats.least_probable(found, f"{rows} pairs of two fresh copies, {len(within[0])} within one", alpha=alpha)


def in_calls_of_few_states(experiment: Experiment[ValueTarget], alpha: float) -> Check:
    """Detect random numbers that start from one of few states in each call, so that the outcomes of a whole call come
    back. The check is blind to more than about ten thousand states; at a claim of 8, to more than a few hundred.

    Claim: if all outcomes of a value are independent, then two calls with equal first halves have equal second halves
    as often as any two other calls. The halves are so long that two calls seldom agree in them by chance.
    """
    target = experiment.target.without_memory()
    half = int(min(max(64.0, math.exp(min(target.epsilon, 9.0))), 2048.0))  # at a large claim, outcomes hardly vary
    calls = min(1024, target.affordable(MAX_CALL_OUTCOMES, share=0.3) // (2 * half))
    if calls < 40:  # ten pairs that agree, beside ten that do not, are the fewest that tell
        raise MechanismFailure(f"there is time for {calls} calls of {2 * half} outcomes: too few to test")
    keys: NDArray[Any] = np.array(
        [
            [hash(part.tobytes()) for part in np.split(target.codes([target.values[0]] * (2 * half)), 2)]
            for _ in range(calls)
        ]
    )
    ours, theirs, rest = np.split(keys, [calls // 4, calls // 4 * 2])
    rest = rest[rest[:, 0].argsort()]
    later = np.flatnonzero((np.arange(len(rest)) - np.searchsorted(rest[:, 0], rest[:, 0])) % 2)  # of two neighbours
    found = _compared((rest[later - 1, 1], rest[later, 1]), (ours[:, 1], theirs[:, 1]), "halves after equal halves")
    return stats.least_probable(found, f"{calls} calls of {2 * half} outcomes", alpha=alpha)


def of_rest(experiment: Experiment[VectorTarget], alpha: float) -> Check:
    """Detect noise that a row shares with the rest of its batch of 2 or 8 rows. The check is blind to larger batches.

    The check pairs the first row of a batch with the mean of the other rows of the same batch. For
    comparison, the check pairs the first row with the mean of the other rows of a different batch.
    """
    target, found = experiment.target.without_memory(), list[Difference]()
    calls = target.affordable(6 * 64, share=0.2, alone=True) // 6
    if calls < 24:
        raise MechanismFailure("the mechanism is too slow for many small batches")
    for size in (2, 8):
        batch = experiment.pairs[0].first.expand(size, -1)
        released = target.in_calls([batch] * (3 * calls)).reshape(3, calls, size, -1)
        one, rest = released[:, :, 0], released[:, :, 1:].mean(axis=2)
        found += _compared((one[0], rest[0]), (one[1], rest[2]), f"one row and the mean of {size - 1} others")
    return stats.least_probable(found, f"{calls} batches of each size", alpha=alpha)


def of_neighbours(experiment: Experiment[VectorTarget], alpha: float) -> Check:
    """Detect releases that depend on the other records of their batch. The check is blind to
    effects of at most a few percent.

    Every second record of a batch is a constant record, which is the same in all batches; the other records differ
    between two groups of batches. Claim: if each row is released independently and depends only on its own record,
    then the releases of the constant record are independent and have the same distribution in all batches. Every
    function of these releases also has the same distribution in all batches. Exact two-sample tests (with
    Bonferroni's factor) compare several functions of the releases between batches with different neighbours.
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
    return stats.least_probable(found, "releases of one record among others", alpha=alpha)


def of_neighbouring_values(experiment: Experiment[ValueTarget], alpha: float) -> Check:
    """Detect outcomes that depend on other values of their batch. The check is blind to effects of a few percent."""
    target, found = experiment.target.without_memory(), list[Difference]()
    constant = [target.values[0]] * (_value_rows(target) // 2)
    for others in (target.values[1:2], target.values[::-1]):
        pairs = [zip(constant, cycle(beside), strict=False) for beside in (constant, others)]
        first, second = (_count_members(target.release([*chain.from_iterable(each)])[::2]) for each in pairs)
        found += [
            stats.fisher("one outcome or member", first[member], len(constant), second[member], len(constant))
            for member, _ in (first + second).most_common(60)
        ]
    return stats.least_probable(found, "releases of one value among others", alpha=alpha)


def _count_members(released: Any) -> Counter[Hashable]:
    """Count whole outcomes, and members in their places: whole texts are too rare to be compared."""
    outcomes = [tuple(each.tolist()) if isinstance(each, np.ndarray) else each for each in released]
    return Counter(part for outcome in outcomes for part in (("whole", outcome), *in_places(outcome)))


def _repeat(experiment: Experiment[Any], rows: int) -> Floats:
    """Release the first record ``rows`` times in one call; return hashes of outcomes of values."""
    target, record = experiment.target, experiment.pairs[0].first
    vectors = isinstance(target, VectorTarget)
    return np.asarray(target.release(record.expand(rows, -1).clone()) if vectors else target.codes([record] * rows))


def _value_rows(target: ValueTarget, most: int = 4096) -> int:  # more at a large claim: outcomes hardly vary
    return max(256, target.affordable(max(most, int(8 * math.exp(min(target.epsilon, 9)))), share=0.5) // 4 * 4)


def _paired_rows(target: Any) -> int:
    return CALL_ROWS if isinstance(target, VectorTarget) else _value_rows(target, 2 * CALL_ROWS)


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


def _compared(suspect: ReleasePairs, reference: ReleasePairs, where: str, *, more: bool = False) -> list[Difference]:
    if suspect[0].ndim == 1:
        counts = (count for a, b in (suspect, reference) for count in (int((a == b).sum()), len(a)))
        each = stats.fisher(f"{where}, equal", *counts)
        if more and each.ours * each.theirs_of <= each.theirs * each.ours_of:
            each = replace(each, p_value=1.0)  # fewer equal outcomes show no seed, but noise that a call shares
        return [each]
    centre = np.concatenate([*suspect, *reference]).mean(axis=0)
    ours, theirs = (_relations(a - centre, b - centre) for a, b in (suspect, reference))
    return [each for name in ours for each in stats.differences(ours[name], theirs[name], what=f"{where}, {name}")]


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
        ("neighbours equal and large, of zero", zero, zero, random),
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
    return [
        each for name, f in functions.items() for each in stats.differences(f(first), f(second), what=f"{what}, {name}")
    ]


Integers = NDArray[np.int64]

RECORDS = 96  # the more records, the more a right name certifies, and the less often releases repeat
SEEN, NEAR = "came back as", "lay nearest by far to"  # names of the two rules, as evidence reports them
NOBODY = -1
MAX_CALLS, MAX_ROWS = 30_000, 120_000  # most releases in separate calls, and in calls of many rows


def come_back_or_lie_near(experiment: Experiment[VectorTarget], alpha: float) -> Check:
    """Detect releases that repeat, for example because a mechanism has few seeds or draws its noise
    from a fixed pool. Also detect noise that is tiny in only a few releases. The check is blind to
    pools of more than trials^2 / 10^3 noise vectors.
    """
    target, trials = experiment.target, experiment.trials
    in_calls, together = (True, MAX_CALLS, 0.4 * max(1.0, min(2.0, trials / 10_000))), (False, MAX_ROWS, 0.4)
    rules = [
        rule
        for alone, most, share in (in_calls, together)
        for rule in _learn_and_score(target, _records(target), min(most, 3 * trials), share, alone=alone).items()
    ]
    found, claim = list[Check](), {"epsilon": target.epsilon, "delta": target.delta}
    for how, counts in rules:
        of_right, of_wrong = f"{counts.right} {how} their own record's", f"{counts.wrong} another's"
        evidence = f"of {counts.rounds} releases of {counts.records} records {of_right} and {of_wrong}"
        check = stats.certified(counts, evidence, **claim, alpha=alpha, tests=len(rules))
        found.append(replace(check, kind=Kind.RANDOMNESS if how == SEEN else Kind.DISTRIBUTION))
    return max(found, key=lambda check: check.certified_epsilon or 0.0)


def _records(target: VectorTarget) -> Tensor:
    generator, enough = torch.Generator().manual_seed(2023), math.exp(min(target.epsilon, 700)) / 8
    count = max(RECORDS, int(min(enough, 768)))
    directions = torch.randn(count, target.dim, dtype=torch.float64, generator=generator)
    sizes = torch.linspace(0.1, 1.0, count, dtype=torch.float64)[:, None] * target.clip_norm
    return sizes * torch.nn.functional.normalize(directions, dim=1)


def _learn_and_score(
    target: VectorTarget, records: Tensor, most: int, share: float, *, alone: bool
) -> dict[str, GameCounts]:
    """Learn the rules *seen* and *near* from half of the releases; score them on the other half."""
    releases = target.affordable(most, share=share, alone=alone) // 2
    # With less time than for eight releases of each record, only `RECORDS` records are tried
    records = records[:: -(-len(records) // RECORDS) if releases < 8 * len(records) else 1]
    rows = releases // len(records)
    if rows < 2:
        return dict.fromkeys((SEEN, NEAR), GameCounts(right=0, wrong=0, rounds=1, records=len(records)))
    owners: dict[bytes, int] = {}
    for owner, record in enumerate(records):
        _remember(owners, release_keys(target.sample(record, -(-rows // 2), alone=alone), target.clip_norm), [owner])
    try:
        places: Floats = np.nan_to_num(target.project(records))
    except MechanismFailure:  # a projection that fails has a check of its own
        places = records.numpy()

    def look_at(rows: int) -> Iterator[tuple[list[bytes], Integers, Integers, Integers, Floats]]:
        """Yield keys, records, the records that *seen* names, the nearest ones and their leads, of fresh releases."""
        for releases, sides in _fresh(target, records, rows, alone=alone):
            keys = release_keys(releases, target.clip_norm)
            yield keys, sides, np.array([owners.get(key, NOBODY) for key in keys]), *_nearest(releases, places)

    learned = [*look_at(rows // 2)]
    sides, seen, nearest, lead = map(np.concatenate, [*zip(*learned, strict=True)][1:])
    far = _far_enough(sides, nearest, lead, records=len(records), epsilon=target.epsilon)
    if (seen == sides).any() or far < math.inf:
        for keys, of_keys, *_ in learned:
            _remember(owners, keys, of_keys.tolist())
        sides, seen, nearest, lead = map(np.concatenate, [*zip(*look_at(rows), strict=True)][1:])
    near = np.where((lead >= far) & (far < math.inf), nearest, NOBODY)
    return {SEEN: _count(seen, sides, len(records)), NEAR: _count(near, sides, len(records))}


def _count(named: Integers, sides: Integers, records: int) -> GameCounts:
    right = int((named == sides).sum())
    return GameCounts(right=right, wrong=int((named != NOBODY).sum()) - right, rounds=len(sides), records=records)


def _remember(owners: dict[bytes, int], keys: list[bytes], sides: list[int]) -> None:
    for key, side in zip(keys, sides * (len(keys) // len(sides)), strict=True):
        owners[key] = side if owners.get(key, side) == side else NOBODY


def _fresh(target: VectorTarget, records: Tensor, rows: int, *, alone: bool) -> Iterator[tuple[Floats, Integers]]:
    chunk = 500 if alone else 4096
    for start in range(0, rows * len(records), chunk):
        sides = np.random.default_rng().integers(len(records), size=min(chunk, rows * len(records) - start))
        fresh = target.in_calls([records[side][None] for side in sides]) if alone else target.release(records[sides])
        yield target.finite(fresh), sides


def _nearest(z: Floats, places: Floats) -> tuple[Integers, Floats]:
    """Return, for each release, the index of the nearest projected record, and its lead.

    The lead is ln(d2 / d1), where d1 and d2 are the distances of the nearest and of the second
    nearest record. The index is -1 if releases and records have different dimensions.
    """
    if z.shape[1] != places.shape[1]:
        return np.full(len(z), NOBODY), np.full(len(z), -math.inf)
    squares = np.square(z).sum(axis=1)[:, None] + np.square(places).sum(axis=1) - 2 * z @ places.T
    order = np.argpartition(squares, 1, axis=1)[:, :2]
    first, second = np.maximum(np.take_along_axis(squares, order, axis=1), 1e-300).T
    return order[:, 0], np.log(second / first) / 2


def _far_enough(sides: Integers, owner: Integers, lead: Floats, *, records: int, epsilon: float) -> float:
    """Choose the smallest lead (`_nearest`) with which the rule *near* names a record; the result
    is infinity if no choice is likely to refute the claim about ``records`` records.
    """
    order = np.argsort(-lead)
    right = np.cumsum((owner == sides)[order])
    wrong = np.arange(1, len(order) + 1) - right
    promise = np.where(right >= 3, np.log((records - 1) * np.maximum(right, 1) / (wrong + 1)), -math.inf)
    lower = stats.clopper_pearson(right, right + wrong, alpha=1e-6)[0]
    with np.errstate(divide="ignore"):
        sure = np.where(promise > epsilon, np.log(lower / (1 - lower)), -math.inf)
    best = int(sure.argmax())
    return float(lead[order[best]]) if sure[best] > -math.inf else math.inf
