"""What a release says beside its numbers: type, dtype, shape, layout, what is attached to it, and whether there is one at all.

An object that leaves a program is more than its numbers: saving a tensor that is a view saves what lies behind the view, attributes
are pickled, and an error message is an answer too. Each such thing is an *aspect*, a string for each record. Where two records
differ in one, they are released again, in the order of a fair coin, and guessed by it: `GameCounts` says what that certifies. So an
aspect that varies by itself, such as noise left in a buffer, convicts nobody, and hides no other.
"""

import hashlib
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from adept.audit.result import Finding, MechanismFailure
from adept.audit.stats.bounds import GameCounts

ROUNDS = 1200  # for each aspect in which records differ
REFUSED = "answer"
Aspects = dict[str, str]


@dataclass(frozen=True)
class Asked:
    """A record as it is asked for, and what comes back; ``ask`` returns the release itself, or raises MechanismFailure.

    Attributes:
        must: whether the claim speaks of the record, so that refusing it is an answer like any other.
        how: in what company it is asked for, which its aspects are named after.
    """

    ask: Callable[[], Any]
    must: bool = False
    how: str = ""

    def aspects(self) -> Aspects:
        """Ask once, and return what the answer says beside its numbers; nothing of a record that may be refused, and is."""
        try:
            released = self.ask()
        except MechanismFailure as failure:
            return {self.how + REFUSED: f"refused ({failure})"} if self.must else {}
        return {self.how + name: found for name, found in {REFUSED: "a release", **aspects_of(released)}.items()}


def aspects_of(value: Any) -> Aspects:
    """Return every aspect of a release."""
    kind = f"{type(value).__name__} of {getattr(value, 'dtype', '')}".removesuffix(" of ")
    found = {"kind": f"{kind}, rows of shape {tuple(getattr(value, 'shape', ()))[1:]}"}
    if isinstance(value, Tensor):
        found["kind"] += f" on {value.device}" + " with gradient" * value.requires_grad
        found["layout"] = f"strides {value.stride()}" if value.layout == torch.strided else str(value.layout)
    elif isinstance(value, np.ndarray):
        found["layout"] = f"strides {value.strides}"
    elif isinstance(value, list | tuple):
        found["elements"] = ", ".join(sorted({type(element).__name__ for element in value}))
    found["behind"] = _digest(_behind(value))
    attached = getattr(value, "__dict__", None) or {}
    found["attached"] = ", ".join(f"{name} = {_plain(thing)}" for name, thing in sorted(attached.items())) or "nothing"
    return found


def unlike(asked: Sequence[Asked], *, epsilon: float, delta: float, alpha: float) -> Finding:
    """Do two records differ in an aspect of their releases, always or more often than the claim allows.

    The two records are the first that differ; the rule is fixed before the rounds that count, and alpha is split over the aspects.
    """
    seen = [(one, found) for one in asked if (found := one.aspects())]
    if not any(len(found) > 1 for _, found in seen):
        raise MechanismFailure("no record could be released alone")
    names = list(dict.fromkeys(name for _, found in seen for name in found))
    told = {name: pair for name in names if (pair := _differing(seen, name)) is not None}
    if not told:
        kinds = {found["kind"] for _, found in seen if "kind" in found}
        return Finding(failed=False, evidence=f"every record comes back as {next(iter(kinds))}")
    findings = [
        _played(name, *pair, epsilon=epsilon, delta=delta, alpha=alpha / len(told)) for name, pair in told.items()
    ]
    return max(findings, key=lambda finding: finding.certified_epsilon or 0.0)


def _differing(seen: Sequence[tuple[Asked, Aspects]], name: str) -> tuple[Asked, Asked, str, str] | None:
    having = [(one, found[name]) for one, found in seen if name in found]
    for one, value in having[1:]:
        if value != having[0][1]:
            return having[0][0], one, having[0][1], value
    return None


def _played(
    name: str, first: Asked, second: Asked, value: str, other: str, *, epsilon: float, delta: float, alpha: float
) -> Finding:
    tally: Counter[bool] = Counter()
    for side in np.random.default_rng().integers(2, size=ROUNDS):
        tally[((first, second)[side].aspects().get(name) == value) == (side == 0)] += 1
    counts = GameCounts(right=tally[True], wrong=tally[False], rounds=ROUNDS)
    bound = counts.certified_epsilon(delta=delta, alpha=alpha)
    return Finding(
        failed=bound > epsilon * (1 + 1e-9),
        evidence=f"records come back with {name} {value} or {other}: guessed by it {tally[True]} right, {tally[False]} wrong",
        statistic=tally[True] / ROUNDS,
        p_value=counts.p_value(epsilon=epsilon, delta=delta),
        threshold=alpha,
        certified_epsilon=bound,
    )


def _behind(value: Any) -> bytes | None:
    """Return what is stored beside the numbers of a view, which saving it saves too; None where the view is all there is."""
    if isinstance(value, np.ndarray) and isinstance(value.base, np.ndarray) and value.base.nbytes > value.nbytes:
        return _unseen(value.base.view(), value)
    if not isinstance(value, Tensor) or value.layout != torch.strided:
        return None
    storage = value.detach().untyped_storage()
    if storage.nbytes() <= value.nbytes:
        return None
    whole = torch.empty(0, dtype=value.dtype, device=value.device).set_(storage)
    seen = torch.arange(len(whole)).as_strided(value.shape, value.stride(), value.storage_offset())
    unseen = torch.ones(len(whole), dtype=torch.bool).index_fill_(0, seen.flatten(), False)
    return whole.cpu()[unseen].view(torch.uint8).numpy().tobytes()


def _unseen(whole: NDArray[Any], view: NDArray[Any]) -> bytes:
    """Return the bytes of an array that are not those of a view of it: marked in a copy, through a view of the same shape."""
    start = view.__array_interface__["data"][0] - whole.__array_interface__["data"][0]
    marks = np.zeros(whole.nbytes, dtype=np.uint8)
    each = np.lib.stride_tricks.as_strided(marks[start:], (*view.shape, view.itemsize), (*view.strides, 1))
    each[...] = 1
    return whole.tobytes() if not whole.flags.c_contiguous else whole.ravel().view(np.uint8)[marks == 0].tobytes()


def _digest(content: bytes | None) -> str:
    return (
        "nothing" if content is None else f"{len(content)} bytes, {hashlib.blake2b(content, digest_size=8).hexdigest()}"
    )


def _plain(thing: Any) -> str:
    """Return an attached thing in short: what it is, and a digest of what it holds."""
    content = thing.detach().cpu().numpy().tobytes() if isinstance(thing, Tensor) else repr(thing).encode()
    return f"{type(thing).__name__} {_digest(content)}"
