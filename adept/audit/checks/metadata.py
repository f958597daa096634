"""Checks that neither metadata, such as the type of releases, nor rewritten texts show records.

The *metadata* of a release are everything except its numbers; if a record is refused, the refusal
counts as metadata, too. If two records differ in their metadata, they are released many times in
random order, and a fixed rule guesses each time from the metadata which record was released. The
right and wrong guesses certify a lower bound on epsilon (`GameCounts`).

A rewriter encodes a text as a latent, releases this latent with noise, and decodes the released
latent to a new text. The check `replay` tests that the rewrite depends on nothing else.
"""

import copy
import hashlib
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from adept.audit.distinguisher.guessing_game import Experiment, events
from adept.audit.distinguisher.input_pairs import searched_records
from adept.audit.result import Check, MechanismFailure
from adept.audit.stats import certified, rounds_needed
from adept.audit.subject.kinds import ValueTarget, VectorTarget, as_array
from adept.audit.subject.target import Wrapper
from adept.mechanisms.clip_to_grid import NORM_ORDER

SEARCH_SHARE = 0.25  # share of the seconds of a check
Metadata = dict[str, str]
Asked = Callable[[], Metadata]  # releases a record anew at each call


def of_vectors(experiment: Experiment[VectorTarget], alpha: float) -> Check:
    """Detect records whose releases differ in type, dtype, shape or memory layout, in attached attributes, or in the
    memory of a larger array that a release is a view of. Also detect records that the mechanism refuses although they
    lie inside the declared set. The check is blind to records whose dtype is not float64.
    """
    target = experiment.target
    every = (record for pair in experiment.pairs for record in (pair.first, pair.second) if record.ndim == 1)
    records = {record.numpy().tobytes(): record for record in every if record.dtype == torch.float64}.values()
    searched = list(searched_records(target.dim, clip_norm=target.clip_norm))
    searched = searched[: target.affordable(len(searched), share=SEARCH_SHARE, alone=True)]
    asked = [one for record in records for one in _asked(target, record)]
    asked += [_asked(target, record)[place % 2] for place, record in enumerate(searched)]
    return distinguishable(asked, target, alpha=alpha)


def of_values(experiment: Experiment[ValueTarget], alpha: float) -> Check:
    """Detect values whose releases, or members of them, have different types, and values that the
    mechanism refuses although they belong to its alphabet or to the caller's pairs.
    """
    target = experiment.target
    # Each value is asked ten times if time allows, because it may be refused only now and then
    asked = [partial(_ask, target, value, must=True) for value in target.values]
    asked += (9 * asked)[: target.affordable(9 * len(asked), share=SEARCH_SHARE)]
    return distinguishable(asked, target, alpha=alpha)


def _asked(target: VectorTarget, record: Tensor) -> list[Asked]:
    """Ask for the record (n,) alone in a batch, and in a batch with a copy of itself."""
    size = float(torch.linalg.vector_norm(record, ord=NORM_ORDER[target.clip])) / target.clip_norm
    inside = abs(size - 1) < 1e-9 if target.clip == "sphere" else size <= 1
    must = inside and getattr(target.mechanism, "clip", None) in tuple(NORM_ORDER)
    batches = {"": record.expand(1, -1), "beside a copy, ": record.expand(2, -1)}
    return [partial(_ask, target, batch, must, how) for how, batch in batches.items()]


def _ask(target: VectorTarget | ValueTarget, record: Any, must: bool, how: str = "") -> Metadata:
    """Release a record once, and return the metadata of the release.

    A refusal is an answer only if the claim covers the record: it ``must`` be released. The text
    ``how`` names the batch in which the record is released.
    """
    try:
        released = target.answer(record)
    except MechanismFailure as failure:
        return {f"{how}answer": f"refused ({failure})"} if must else {}
    return {how + name: found for name, found in {"answer": "a release", **metadata_of(released)}.items()}


def distinguishable(asked: Sequence[Asked], target: VectorTarget | ValueTarget, *, alpha: float) -> Check:
    """Test that no metadata distinguish two records better than the claim allows."""
    seen = [(ask, found) for ask in asked if (found := ask())]
    if not any(len(found) > 1 for _, found in seen):
        raise MechanismFailure("no record could be released alone")
    differing: dict[str, tuple[tuple[Asked, str], tuple[Asked, str]]] = {}  # metadata of two records
    for name in dict.fromkeys(name for _, found in seen for name in found):
        of_name = [(ask, found[name]) for ask, found in seen if name in found]
        pair = next(((a, b) for a in of_name for b in of_name if a[0] is not b[0] and a[1] != b[1]), None)
        differing |= {name: pair} if pair else {}
    if not differing:
        kind = next(found["kind"] for _, found in seen if "kind" in found)
        return Check.of(failed=False, evidence=f"every record comes back as {kind}")
    findings = [_play(name, *pair, target, alpha=alpha / len(differing)) for name, pair in differing.items()]
    return max(findings, key=lambda finding: finding.certified_epsilon or 0.0)


def _play(
    name: str, first: tuple[Asked, str], second: tuple[Asked, str], target: VectorTarget | ValueTarget, *, alpha: float
) -> Check:
    """Play a game: guess the first record if its metadata come back, and otherwise the second.

    The guesses of one record are scored alone, too, because a record may be refused only now and then.
    """
    said, value, found = np.zeros((2, 2), np.int64), first[1], list[Check]()
    most = target.affordable(50_000, share=2, alone=True)  # a large claim, or a rare refusal, takes more rounds
    rounds = max(1200, int(min(20 * rounds_needed(target.epsilon, alpha=alpha), most)))
    for side in np.random.default_rng().integers(2, size=rounds):
        said[int((first, second)[side][0]().get(name) != value), side] += 1
    for counts, own in events(said, answers=2, rounds=rounds):
        guessed = f"guessed by it {counts.right} right, {counts.wrong} wrong"
        evidence = f"records come back with {name} {value} or {second[1]}: {guessed}"
        found.append(certified(counts, evidence, epsilon=target.epsilon, delta=target.delta, alpha=own * alpha))
    return max(found, key=lambda each: each.certified_epsilon or 0.0)


def metadata_of(value: Any) -> Metadata:
    """Return the properties of a release other than its numbers, as names and texts."""
    kind = f"{type(value).__name__} of {getattr(value, 'dtype', '')}".removesuffix(" of ")
    found = {"kind": f"{kind}, rows of shape {tuple(getattr(value, 'shape', ()))[1:]}"}
    if isinstance(value, Tensor):
        found["kind"] += f" on {value.device}" + " with gradient" * value.requires_grad
        found["layout"] = f"strides {value.stride()}" if value.layout == torch.strided else str(value.layout)
    elif isinstance(value, np.ndarray):
        found["layout"] = f"strides {value.strides}"
    elif isinstance(value, list | tuple):
        found["elements"] = _forms(value)
    found["behind"] = _digest(_behind(value))
    attached = getattr(value, "__dict__", None) or {}
    found["attached"] = ", ".join(f"{name} = {_plain(thing)}" for name, thing in sorted(attached.items())) or "nothing"
    return found


def _forms(members: Iterable[Any], *, deep: int = 4) -> str:
    """Return the types of members, and of their own members; values that are equal may differ in them."""
    found = set()
    for each in members:
        name, inside = type(each).__name__, getattr(each, "__dict__", {}).values() if deep else ()
        match each:
            case Tensor() | np.ndarray():
                name = f"{name} of {each.dtype} and shape {tuple(each.shape)}"
            case float() if each == 0 and math.copysign(1, each) < 0:
                name = f"negative zero {name}"
            case dict():
                inside = [*each.keys(), *each.values()]
            case list() | tuple() | set() | frozenset():
                inside = each
        found.add(f"{name} ({_forms(inside, deep=deep - 1)})" if inside and deep else name)
    return ", ".join(sorted(found))


def _behind(value: Any) -> bytes | None:
    """Return the bytes of the larger array that a release is a view of, without those of the release."""
    if isinstance(value, np.ndarray) and isinstance(base := value.base, np.ndarray) and base.nbytes > value.nbytes:
        if not base.flags.c_contiguous:
            return base.tobytes()
        whole, size, strides = base.view(np.ndarray).ravel().view(np.uint8), value.itemsize, value.strides
        start = value.__array_interface__["data"][0] - base.__array_interface__["data"][0]
    elif isinstance(value, Tensor) and value.layout == torch.strided:
        storage, size = value.detach().untyped_storage(), value.element_size()
        whole = torch.empty(0, dtype=torch.uint8, device=value.device).set_(storage).cpu().numpy()
        start, strides = size * value.storage_offset(), tuple(size * stride for stride in value.stride())
    else:
        return None
    unseen = np.ones(len(whole), dtype=bool)
    np.lib.stride_tricks.as_strided(unseen[start:], (*value.shape, size), (*strides, 1))[...] = False
    return whole[unseen].tobytes() if len(whole) > value.nbytes else None


def _digest(content: bytes | None) -> str:
    return (
        "nothing" if content is None else f"{len(content)} bytes, {hashlib.blake2b(content, digest_size=8).hexdigest()}"
    )


def _plain(thing: Any) -> str:
    content = as_array(thing).tobytes() if isinstance(thing, Tensor) else repr(thing).encode()
    return f"{type(thing).__name__} {_digest(content)}"


def replay(experiment: Experiment[ValueTarget], alpha: float) -> Check:
    """Detect rewrites that depend on more than the released latent, for example on the length of the record's text,
    on padding, on other records of the batch, or on words that are forced into the rewrite. The check is blind to
    leaks through the latent, and to rewriters that draw words at random.

    Claim: if a mechanism releases the same latent for every record, then all records must be
    rewritten to the same text, whether they are rewritten in one batch, in another order or alone.
    A single difference proves that something besides the latent influences the text.
    """
    target, texts = experiment.target, list(experiment.target.values)
    rewriter = target.mechanism.rewriter

    def replayed() -> int:
        latents = rewriter.release([texts[i % len(texts)] for i in range(8)])
        return sum(_changes(rewriter, latent, texts) for latent in latents)

    different = target.call("the rewriter", replayed)
    evidence = f"{different} of 8 frozen latents were decoded to more than one text"
    return Check.of(failed=different > 0, evidence=evidence, statistic=different / 8)


def _changes(rewriter: Any, latent: Tensor, texts: Sequence[str]) -> bool:
    """Return True if the text that is written from the latent depends on the record or its batch."""
    frozen = copy.copy(rewriter)
    object.__setattr__(frozen, "mechanism", _Frozen(rewriter.mechanism, latent))
    object.__setattr__(frozen, "release", lambda texts, *_, **__: latent.expand(len(texts), -1).clone())
    alone = frozen.rewrite([texts[0]])
    if frozen.rewrite([texts[0]]) != alone:
        raise MechanismFailure("decoding samples: replay a greedy rewriter")
    rewrites = [*frozen.rewrite(texts), *frozen.rewrite(list(reversed(texts))), *frozen.rewrite([texts[-1]])]
    return set(rewrites) != set(alone)


@dataclass(frozen=True)
class _Frozen(Wrapper):
    """A mechanism that releases the same latent for every record."""

    mechanism: Any
    latent: Tensor

    def privatize(self, latents: Tensor) -> Tensor:
        return self.latent.to(latents).expand(len(latents), -1).clone()
