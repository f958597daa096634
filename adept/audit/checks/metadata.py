"""Metadata: is a record distinguishable by what its release says beside its numbers, or by whether there is one at all.

What a release says beside its numbers is its type, dtype, shape, layout and what is attached to it (`subject.metadata`), and an
error message is an answer too. Where two records differ in one of these, they are released again, in the order of a fair coin, and
guessed by it: `stats.bounds.GameCounts` says what that certifies. So what varies by itself, such as noise left in a buffer, refutes
no claim, and hides nothing else.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from adept.audit.distinguisher.experiment import Experiment
from adept.audit.distinguisher.search import searched_records
from adept.audit.result import Finding, MechanismFailure
from adept.audit.stats.bounds import GameCounts
from adept.audit.subject.interface import Target
from adept.audit.subject.metadata import Metadata, metadata_of
from adept.audit.subject.value import ValueTarget, alphabet_of
from adept.audit.subject.vector import CLIPS, VectorTarget
from adept.mechanisms.grid import NORM_ORDER

SECONDS = 0.75  # for records of the search
SAME_NORM = 1e-9  # how far from the sphere a record of the sphere may lie, in units of its radius
ROUNDS = 1200  # for each difference between records
REFUSED = "answer"


def of_vectors(experiment: Experiment[VectorTarget], alpha: float) -> Finding:
    """Ask for the records of all pairs, alone and beside a copy, and for those of the search either way, where there is time."""
    target = experiment.target
    every = (record for pair in experiment.pairs for record in (pair.first, pair.second) if record.ndim == 1)
    records = {record.numpy().tobytes(): record for record in every if record.dtype == torch.float64}.values()
    searched = list(searched_records(target.dim, clip_norm=target.clip_norm))
    searched = searched[: target.affordable(len(searched), seconds=SECONDS, alone=True)]
    asked = [one for record in records for one in _asked(target, record)]
    asked += [list(_asked(target, record))[place % 2] for place, record in enumerate(searched)]
    return distinguishable(asked, target, alpha=alpha)


def of_values(experiment: Experiment[ValueTarget], alpha: float) -> Finding:
    """Ask for every value by itself; one of an alphabet has to be answered."""
    target = experiment.target
    must = alphabet_of(target.mechanism) is not None
    return distinguishable([Asked(partial(target.answer, value), must) for value in target.values], target, alpha=alpha)


def _asked(target: VectorTarget, record: Tensor) -> Iterator["Asked"]:
    """Yield a record (n,) alone and beside a copy; it has to be answered if it lies in the set that the mechanism itself names."""
    must = getattr(target.mechanism, "clip", None) in CLIPS and _inside(target, record)
    for how, rows in (("", 1), ("beside a copy, ", 2)):
        yield Asked(partial(target.answer, record.expand(rows, -1)), must, how)


def _inside(target: VectorTarget, record: Tensor) -> bool:
    size = float(torch.linalg.vector_norm(record, ord=NORM_ORDER[target.clip])) / target.clip_norm
    return abs(size - 1) < SAME_NORM if target.clip == "sphere" else size <= 1


@dataclass(frozen=True)
class Asked:
    """A record as it is asked for, and what comes back; ``ask`` returns the release itself, or raises MechanismFailure.

    Attributes:
        must: whether the claim covers the record, so that refusing it is an answer like any other.
        how: in what batch it is asked for, which its metadata is named after.
    """

    ask: Callable[[], Any]
    must: bool = False
    how: str = ""

    def metadata(self) -> Metadata:
        """Ask once, and return what the answer says beside its numbers; nothing of a record that may be refused, and is."""
        try:
            released = self.ask()
        except MechanismFailure as failure:
            return {self.how + REFUSED: f"refused ({failure})"} if self.must else {}
        return {self.how + name: found for name, found in {REFUSED: "a release", **metadata_of(released)}.items()}


def distinguishable(asked: Sequence[Asked], target: Target, *, alpha: float) -> Finding:
    """Do two records differ in the metadata of their releases, always or more often than the claim allows.

    The two records are the first that differ; the rule is fixed before the rounds that count, and alpha is split over what differs.
    """
    seen = [(one, found) for one in asked if (found := one.metadata())]
    if not any(len(found) > 1 for _, found in seen):
        raise MechanismFailure("no record could be released alone")
    names = list(dict.fromkeys(name for _, found in seen for name in found))
    differing = {name: pair for name in names if (pair := _differing(seen, name)) is not None}
    if not differing:
        kinds = {found["kind"] for _, found in seen if "kind" in found}
        return Finding(failed=False, evidence=f"every record comes back as {next(iter(kinds))}")
    findings = [_played(name, *pair, target, alpha=alpha / len(differing)) for name, pair in differing.items()]
    return max(findings, key=lambda finding: finding.certified_epsilon or 0.0)


def _differing(seen: Sequence[tuple[Asked, Metadata]], name: str) -> tuple[Asked, Asked, str, str] | None:
    having = [(one, found[name]) for one, found in seen if name in found]
    for one, value in having[1:]:
        if value != having[0][1]:
            return having[0][0], one, having[0][1], value
    return None


def _played(name: str, first: Asked, second: Asked, value: str, other: str, target: Target, *, alpha: float) -> Finding:
    tally: Counter[bool] = Counter()
    for side in np.random.default_rng().integers(2, size=ROUNDS):
        tally[((first, second)[side].metadata().get(name) == value) == (side == 0)] += 1
    counts = GameCounts(right=tally[True], wrong=tally[False], rounds=ROUNDS)
    bound = counts.certified_epsilon(delta=target.delta, alpha=alpha)
    return Finding(
        failed=bound > target.epsilon * (1 + 1e-9),
        evidence=f"records come back with {name} {value} or {other}: guessed by it {tally[True]} right, {tally[False]} wrong",
        statistic=tally[True] / ROUNDS,
        p_value=counts.p_value(epsilon=target.epsilon, delta=target.delta),
        threshold=alpha,
        certified_epsilon=bound,
    )
