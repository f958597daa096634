"""Repeated outputs: releases that equal an earlier release, or lie very near their record.

The check learns two rules from releases of many records. A rule looks at a release and names the
record from which the release may have been drawn, or no record. The rule *seen* names a record if
the same release was drawn before from this record, and from no other. The rule *near* names the
record nearest to the release if all other records lie many times farther away. Then both rules are
scored on fresh releases of randomly chosen records.

Claim: under eps-LDP (local differential privacy), ``c >= (m - 1) * e^-eps * w``. Here m is the
number of records. For a fresh release of a random record, w is the probability that a rule names
the right record, and c is the probability that the rule names a wrong record. Proof: let P_i be the
distribution of the releases of record i, and let D_i be the set of releases for which the rule
names record i. Then ``P_j[D_i] >= e^-eps * P_i[D_i]`` for all i and j. The sum of these
inequalities over all i and all j != i, divided by m, is the claim. QED. So if the rule names a
record, this is the right record with probability at most ``1 / (1 + (m - 1) * e^-eps)``. Let s be a
lower Clopper-Pearson bound on the probability that a named record is the right one. Then ``(m - 1)
* s / (1 - s)`` is a lower bound on e^eps, which is wrong with probability at most alpha. (The check
cannot judge a claim with delta > 0.)
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from adept.audit.distinguisher.guessing_game import Experiment
from adept.audit.distinguisher.statistics import release_keys
from adept.audit.result import Check, Kind, MechanismFailure
from adept.audit.stats.confidence_bounds import Floats, clopper_pearson
from adept.audit.subject.vector import VectorTarget

Integers = NDArray[np.int64]

RECORDS = 96
SEEN = "came back as"
NOBODY = -1
MAX_CALLS, MAX_ROWS = 30_000, 120_000  # most releases in separate calls, and in calls of many rows


def come_back_or_lie_near(experiment: Experiment[VectorTarget], alpha: float) -> Check:
    """Detect releases that repeat, for example because a mechanism has few seeds or draws its noise
    from a fixed pool. Also detect noise that is tiny in only a few releases. The check is blind to
    pools of more than trials^2 / 10^3 noise vectors.
    """
    target, trials = experiment.target, experiment.trials
    if target.delta > 0:
        raise MechanismFailure("a claim with delta forgives repetitions")
    records = _records(target)
    longer = max(1.0, min(2.0, trials / 10_000))
    found = [
        counts
        for alone, most, share in ((True, MAX_CALLS, 0.4 * longer), (False, MAX_ROWS, 0.4))
        for counts in _named(target, records, min(most, 3 * trials), share, alone=alone)
    ]
    bound, best = max(((each.bound(alpha=alpha / len(found)), each) for each in found), key=lambda pair: pair[0])
    return Check.of(
        failed=bound > target.epsilon * (1 + 1e-9),
        evidence=f"of {best.rows} releases of {RECORDS} records {best.right} {best.how} their own record's and {best.wrong} "
        "another's",
        statistic=best.right / best.rows,
        threshold=alpha,
        certified_epsilon=bound,
        kind=Kind.RANDOMNESS if best.how == SEEN else Kind.DISTRIBUTION,
    )


@dataclass
class _Counts:
    how: str
    right: int = 0
    wrong: int = 0
    rows: int = 1

    def add(self, named: Integers, sides: Integers) -> None:
        self.right += int((named == sides).sum())
        self.wrong += int(((named != sides) & (named != NOBODY)).sum())

    def bound(self, *, alpha: float) -> float:
        """Return the lower bound on epsilon that the module's docstring proves."""
        lower = float(clopper_pearson(self.right, max(1, self.right + self.wrong), alpha=alpha)[0])
        return max(0.0, math.log((RECORDS - 1) * lower / (1 - lower))) if 0 < lower < 1 else 0.0


def _records(target: VectorTarget) -> Tensor:
    generator = torch.Generator().manual_seed(2023)
    directions = torch.randn(RECORDS, target.dim, dtype=torch.float64, generator=generator)
    sizes = torch.linspace(0.1, 1.0, RECORDS, dtype=torch.float64)[:, None] * target.clip_norm
    records: Tensor = directions * (sizes / torch.linalg.vector_norm(directions, dim=1, keepdim=True))
    return records


def _named(target: VectorTarget, records: Tensor, most: int, share: float, *, alone: bool) -> tuple[_Counts, _Counts]:
    """Learn the rules *seen* and *near* from half of the releases; score them on the other half."""
    seen, near = _Counts(SEEN), _Counts("lay nearest by far to")
    rows = target.affordable(most, share=share, alone=alone) // (2 * RECORDS)
    if rows < 1:
        return seen, near
    owners: dict[bytes, int] = {}
    for owner, record in enumerate(records):
        _remember(owners, release_keys(target.sample(record, -(-rows // 2), alone=alone), target.clip_norm), [owner])
    try:
        places: Floats = np.nan_to_num(target.project(records))
    except MechanismFailure:  # a projection that fails has a check of its own
        places = records.numpy()
    first, learned = _Counts(seen.how, rows=max(1, rows // 2 * RECORDS)), []
    for releases, sides in _fresh(target, records, rows // 2, alone=alone):
        keys = release_keys(releases, target.clip_norm)
        first.add(_owners(owners, keys), sides)
        learned.append((keys, sides, *_nearest(releases, places)))
    if not learned:
        return first, near
    sides, owned, leads = (np.concatenate([each[column] for each in learned]) for column in (1, 2, 3))
    far = _far_enough(sides, owned, leads, epsilon=target.epsilon)
    if not first.right and far == math.inf:
        return first, near
    for keys, own, *_ in learned:
        _remember(owners, keys, own.tolist())
    for releases, sides in _fresh(target, records, rows, alone=alone):
        seen.add(_owners(owners, release_keys(releases, target.clip_norm)), sides)
        owned, lead = _nearest(releases, places)
        near.add(np.where(lead >= far, owned, NOBODY), sides)
    seen.rows = near.rows = rows * RECORDS
    return seen, near


def _remember(owners: dict[bytes, int], keys: list[bytes], sides: list[int]) -> None:
    for key, side in zip(keys, sides * (len(keys) // len(sides)), strict=True):
        owners[key] = side if owners.get(key, side) == side else NOBODY


def _owners(owners: dict[bytes, int], keys: list[bytes]) -> Integers:
    return np.array([owners.get(key, NOBODY) for key in keys])


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


def _far_enough(sides: Integers, owner: Integers, lead: Floats, *, epsilon: float) -> float:
    """Choose the smallest lead (`_nearest`) with which the rule *near* names a record; the result
    is infinity if no choice is likely to refute the claim.
    """
    order = np.argsort(-lead)
    right = np.cumsum((owner == sides)[order])
    wrong = np.arange(1, len(order) + 1) - right
    promise = np.where(right >= 3, np.log((RECORDS - 1) * np.maximum(right, 1) / (wrong + 1)), -math.inf)
    lower = clopper_pearson(right, right + wrong, alpha=1e-6)[0]
    with np.errstate(divide="ignore"):
        sure = np.where(promise > epsilon, np.log(lower / (1 - lower)), -math.inf)
    best = int(sure.argmax())
    return float(lead[order[best]]) if sure[best] > -math.inf else math.inf
