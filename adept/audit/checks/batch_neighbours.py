"""Batch neighbours: does the release of a record depend on the other records of its batch.

A local guarantee is given record by record: the release of a record is a function of that record and of fresh coins. What else
reaches it, reaches it from other records, whose own releases have already spent their budgets.
"""

from collections import Counter

import numpy as np
import torch
from torch import Tensor

from adept.audit.checks.independence import without_memory
from adept.audit.distinguisher.experiment import Experiment
from adept.audit.distinguisher.pairs import FAR
from adept.audit.result import Finding, MechanismFailure
from adept.audit.stats.exact_tests import Difference, differences, fisher, least_probable
from adept.audit.subject.interface import Floats
from adept.audit.subject.value import ValueTarget
from adept.audit.subject.vector import VectorTarget

SECONDS = 1.5
LARGEST_BATCH = 2**13
BATCHES = 16
FEW, FEW_BATCHES = 16, 1000  # what many rows share out among them is more in a batch of few
VALUE_ROWS, OUTCOMES = 4096, 20


def of_vectors(experiment: Experiment[VectorTarget], alpha: float) -> Finding:
    """Does the release of a record depend on the other records of its batch.

    Every second record of a batch is always the same, those between are one record in some batches and another in others.
    Claim: if rows are released independently, each from its own record, then the releases of the constant rows are independent
    and of one distribution in all batches, so every function of them is; exact two-sample tests compare how far they lie along the
    difference of the neighbours and along their own record, and how long they are (Bonferroni over functions, thresholds, records).
    """
    target, found, failures = without_memory(experiment), list[Difference](), list[MechanismFailure]()
    seconds = SECONDS / (1 + len(cases := _cases(target.dim, target.clip_norm)))
    rows = min(target.affordable(4 * experiment.trials, seconds=seconds) // 2, BATCHES * LARGEST_BATCH)
    many = max(32, rows // (batches := max(2, min(BATCHES, rows // 64)))), batches // 2
    few = FEW, target.affordable(min(rows // FEW, FEW_BATCHES), seconds=seconds, alone=True) // 2 + 1
    sizes = [many] * len(cases) + [few]
    for size, (name, constant, first, second) in zip(sizes, [*cases, cases[1]], strict=True):
        try:
            sides = [_observed(target, constant, x, *size) for x in (first, second)]
        except MechanismFailure as failure:  # a record that it refuses, such as NaN
            failures.append(failure)
            continue
        direction, own = (second.nan_to_num() - first.nan_to_num()).numpy(), constant.nan_to_num().numpy()
        found += _compared(sides[0], sides[1], direction, own, what=f"{size[0]} {name}")
    if not found:
        raise failures[0]
    return least_probable(found, "releases of one record among others", alpha=alpha)


def of_values(experiment: Experiment[ValueTarget], alpha: float) -> Finding:
    """Does an outcome depend on the other values of its batch: its frequencies beside one value and beside another."""
    target, found = without_memory(experiment), list[Difference]()
    constant, second, *_, last = [*target.values, target.values[-1]]
    rows = max(256, target.affordable(VALUE_ROWS, seconds=SECONDS) // 4 * 4)
    for other in (second, last):
        sides = [target.codes([constant, neighbour] * (rows // 2))[::2] for neighbour in (constant, other)]
        for outcome, _ in Counter(np.concatenate(sides).tolist()).most_common(OUTCOMES):
            (a, m), (b, k) = ((int((side == outcome).sum()), len(side)) for side in sides)
            found.append(Difference(fisher(a, m, b, k), "one outcome", a, m, b, k))
    return least_probable(found, "releases of one value among others", alpha=alpha)


def _cases(dim: int, clip_norm: float) -> list[tuple[str, Tensor, Tensor, Tensor]]:
    """Return the constant record and two neighbours, by name."""
    random = torch.randn(dim, dtype=torch.float64, generator=torch.Generator().manual_seed(2022))
    random *= clip_norm / torch.linalg.vector_norm(random)
    zero, other, nan = torch.zeros_like(random), 0.3 * random.flip(0), torch.full_like(random, torch.nan)
    return [
        ("neighbours opposite", other, -FAR * random, FAR * random),
        ("neighbours small and large", other, zero, FAR * random),
        ("neighbours small and large, of zero", zero, 0.01 * random, random),
        ("neighbours opposite, of NaN", nan, -FAR * random, FAR * random),
    ]


def _observed(target: VectorTarget, constant: Tensor, neighbour: Tensor, rows: int, batches: int) -> Floats:
    batch = constant.expand(2 * min(rows, LARGEST_BATCH // 2), -1).clone()
    batch[1::2] = neighbour
    return np.concatenate([np.nan_to_num(target.release(batch.clone()))[::2] for _ in range(batches)])


def _compared(first: Floats, second: Floats, direction: Floats, own: Floats, *, what: str) -> list[Difference]:
    found = [
        *differences(_length(first), _length(second), what=f"{what}, length"),
        *differences(first[:, 0], second[:, 0], what=f"{what}, first number"),
        *differences(first.sum(axis=1), second.sum(axis=1), what=f"{what}, sum"),
    ]
    if first.shape[1] == len(direction):
        for name, along in (("the neighbours", direction), ("itself", own)):
            found += differences(first @ along, second @ along, what=f"{what}, along {name}") if along.any() else []
    return found


def _length(releases: Floats) -> Floats:
    lengths: Floats = np.round(np.linalg.norm(releases, axis=1), 12)
    return lengths
