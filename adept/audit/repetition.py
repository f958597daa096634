"""Releases that come back: a mechanism whose randomness is small repeats itself, and a repetition names its record.

Releases of many records are drawn, and remembered with their record; then fresh releases of the same records are looked up. Let
D_i be the set of outputs remembered for record i and for no other, m the number of records, and w the chance that a fresh release
of a record drawn at random is in its own set, c that it is in another's. Claim: c >= (m - 1) e^-eps w. Proof: under eps-LDP
P_j[D_i] >= e^-eps P_i[D_i] for all i and j; summed over i and j != i, and divided by m, that is the claim. The sets are disjoint,
so a fresh release is a hit of its own, a hit of another's, or none; given that it hits, it hits its own with probability at most
1 / (1 + (m - 1) e^-eps). So (m - 1) (s / (1 - s)), s a lower Clopper-Pearson bound on that share, is a lower bound on e^eps, wrong
with probability at most alpha. It is far stronger than a game of two records, since a few hits of one's own and none of another's
suffice, and for a sound mechanism, discrete or not, it is as true as any other. (For delta > 0 nothing is certified here.)
"""

import math
from collections.abc import Iterable, Iterator

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from adept.audit.bounds import clopper_pearson
from adept.audit.result import Finding, MechanismFailure
from adept.audit.statistics import RESOLUTION
from adept.audit.subject import Subject

Floats = NDArray[np.float64]

RECORDS = 96
SECONDS, PATIENT = (
    4.0,
    2.0,
)  # for either, where a mechanism is slow; so many times that for calls, in an audit of many trials
CHUNK_CALLS, CHUNK_ROWS = 500, 4096
CALLS, ROWS = 30_000, 120_000  # releases in calls of their own; releases of many rows a call


def repetition(subject: Subject, *, trials: int, alpha: float) -> Finding:
    """Look fresh releases up among earlier ones: in calls of one row, where each call may be seeded, and in calls of many."""
    if subject.delta > 0:
        raise MechanismFailure("a claim with delta forgives repetitions")
    records = _records(subject)
    patient = SECONDS * max(1.0, min(PATIENT, trials / 10_000))
    results = [
        _hits(subject, records, min(most, 3 * trials), seconds, alone=alone)
        for alone, most, seconds in ((True, CALLS, patient), (False, ROWS, SECONDS))
    ]
    bounds = [_bound(own, other, alpha=alpha / 2) for own, other, _ in results]
    bound = max(bounds)
    own, other, rows = results[bounds.index(bound)]
    return Finding(
        failed=bound > subject.epsilon * (1 + 1e-9),
        evidence=f"of {rows} releases of {RECORDS} records {own} came back as their own record's and {other} as another's",
        statistic=own / rows,
        threshold=alpha,
        certified_epsilon=bound,
    )


def _bound(own: int, other: int, *, alpha: float) -> float:
    lower = float(clopper_pearson(own, max(1, own + other), alpha=alpha)[0])
    return max(0.0, math.log((RECORDS - 1) * lower / (1 - lower))) if 0 < lower < 1 else 0.0


def _records(subject: Subject) -> Tensor:
    """Return records (m, n) inside the ball, of many directions and lengths."""
    generator = torch.Generator().manual_seed(2023)
    directions = torch.randn(RECORDS, subject.dim, dtype=torch.float64, generator=generator)
    sizes = torch.linspace(0.1, 1.0, RECORDS, dtype=torch.float64)[:, None] * subject.clip_norm
    records: Tensor = directions * (sizes / torch.linalg.vector_norm(directions, dim=1, keepdim=True))
    return records


def _hits(subject: Subject, records: Tensor, most: int, seconds: float, *, alone: bool) -> tuple[int, int, int]:
    """Return how many fresh releases hit their own record's set, how many another's, and how many there were.

    Half of the releases come first, half of them remembered. If none of the others comes back, a quarter of the hits that would be
    counted was missed, and hardly a dozen, the fewest that convict, can be expected of all: then nothing more is drawn.
    """
    rows = subject.affordable(most, seconds=seconds, alone=alone) // (2 * RECORDS)
    if rows < 1:
        return 0, 0, 1
    owners: dict[bytes, int] = {}
    for owner, record in enumerate(records):
        _remember(owners, _keys(subject.sample(record, -(-rows // 2), alone=alone), subject.clip_norm), [owner])
    first = list(_fresh(subject, records, rows // 2, alone=alone))
    own, other = _counted(owners, first)
    if not own and rows > 1:
        return own, other, rows // 2 * RECORDS
    for keys, sides in first:
        _remember(owners, keys, sides)
    return *_counted(owners, _fresh(subject, records, rows, alone=alone)), rows * RECORDS


def _remember(owners: dict[bytes, int], keys: list[bytes], sides: list[int]) -> None:
    """Note whose release each is; that of two records is nobody's."""
    for key, side in zip(keys, sides * (len(keys) // len(sides)), strict=True):
        owners[key] = side if owners.get(key, side) == side else -1


def _fresh(subject: Subject, records: Tensor, rows: int, *, alone: bool) -> Iterator[tuple[list[bytes], list[int]]]:
    """Yield releases of records drawn at random, ``rows`` for each on average, with their records."""
    chunk = CHUNK_CALLS if alone else CHUNK_ROWS
    for start in range(0, rows * len(records), chunk):
        sides = np.random.default_rng().integers(len(records), size=min(chunk, rows * len(records) - start)).tolist()
        fresh = subject.in_calls([records[side][None] for side in sides]) if alone else subject.release(records[sides])
        yield _keys(np.nan_to_num(fresh), subject.clip_norm), sides


def _counted(owners: dict[bytes, int], fresh: Iterable[tuple[list[bytes], list[int]]]) -> tuple[int, int]:
    found = [(owners.get(key, -1), side) for keys, sides in fresh for key, side in zip(keys, sides, strict=True)]
    return sum(owner == side for owner, side in found), sum(owner not in (-1, side) for owner, side in found)


def _keys(releases: Floats, unit: float) -> list[bytes]:
    return [row.tobytes() for row in np.round(releases / (RESOLUTION * unit)) + 0.0]
