"""In what manner latents are released: the aspects of a release beside its numbers, of many records, each asked for by itself."""

from collections.abc import Iterator
from functools import partial

import torch
from torch import Tensor

from adept.audit.distinguisher.pairs import Pair
from adept.audit.distinguisher.search import scouted_records
from adept.audit.result import Finding
from adept.audit.target.metadata import Asked, unlike
from adept.audit.target.vector import CLIPS, Subject
from adept.mechanisms.grid import NORM_ORDER

SECONDS = 0.75  # for scouted records
SAME_NORM = 1e-9  # how far from the sphere a record of the sphere may lie, in units of its radius


def manner(subject: Subject, pairs: list[Pair], *, alpha: float) -> Finding:
    """Is a record told by what its release says beside its numbers, or by being refused (`target.metadata`).

    Records of all pairs are asked for, alone and beside a copy, and those that scouting would try either way, where there is time.
    """
    every = (record for pair in pairs for record in (pair.first, pair.second) if record.ndim == 1)
    records = {record.numpy().tobytes(): record for record in every if record.dtype == torch.float64}.values()
    scouted = list(scouted_records(subject.dim, clip_norm=subject.clip_norm))
    scouted = scouted[: subject.affordable(len(scouted), seconds=SECONDS, alone=True)]
    asked = [one for record in records for one in _asked(subject, record)]
    asked += [list(_asked(subject, record))[place % 2] for place, record in enumerate(scouted)]
    return unlike(asked, epsilon=subject.epsilon, delta=subject.delta, alpha=alpha)


def _asked(subject: Subject, record: Tensor) -> Iterator[Asked]:
    """Yield a record (n,) alone and beside a copy; it has to be answered if it lies in the set that the mechanism itself names."""
    must = getattr(subject.mechanism, "clip", None) in CLIPS and _inside(subject, record)
    for how, rows in (("", 1), ("beside a copy, ", 2)):
        yield Asked(partial(subject.answer, record.expand(rows, -1)), must, how)


def _inside(subject: Subject, record: Tensor) -> bool:
    size = float(torch.linalg.vector_norm(record, ord=NORM_ORDER[subject.clip])) / subject.clip_norm
    return abs(size - 1) < SAME_NORM if subject.clip == "sphere" else size <= 1
