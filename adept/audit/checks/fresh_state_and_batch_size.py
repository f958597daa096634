"""Calls: releases of one, three or other numbers of rows, by fresh copies, and after other calls.

The claim covers a record's release in any call of the mechanism, so each check is a guessing game,
like the event check (`distinguisher.experiment`). One call per release is expensive, so such a game
has few trials.

For sizes other than one and three, one record is released a few times in batches of many sizes. If
its first, middle or last row varies far less than most other rows do, a game is played with that
row. Claim: its bound also errs with probability at most alpha. Proof: size, place and the rest of
the batch are fixed before a counted release is drawn, so the row is the release of a record by one
mechanism; the rest of the proof is in `distinguisher.experiment`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from adept.audit.distinguisher.experiment import Experiment
from adept.audit.distinguisher.input_pairs import (
    InputPair,
    adversarial_pairs,
    cell_pairs,
    cell_record,
    named_pairs,
    pairs_of_batches,
)
from adept.audit.result import Check, Kind, MechanismFailure, Verdict
from adept.audit.stats.confidence_bounds import rounds_needed
from adept.audit.subject.foreign_code import Floats
from adept.audit.subject.value import ValueTarget
from adept.audit.subject.vector import VectorTarget, as_rows

BATCH_SIZES = (*range(2, 67), *(2**k + more for k in range(7, 11) for more in (-1, 0, 1)))
# Of a batch that show how much its rows vary; of the few rows that vary least
RELEASES, FURTHER_RELEASES = 3, 15
FURTHER_ROWS = 4
SMALL_SPREAD = 0.1  # of the median spread: less is suspicious
SHARED_ROWS, SHARED_CALLS = 128, 3  # that two fresh copies answer
SIZE_TRIALS, ONE_TRIALS, THREE_TRIALS, COPY_TRIALS, PAST_TRIALS = 1000, 2400, 2500, 800, 10_000
# Times the trials of a large claim; trials of one that no number here refutes
MAX_LARGER, HOPELESS_TRIALS = 4, 400
VALUE_TRIALS, VALUE_PAIRS = 2500, 6
ORDINARY_FACTOR = 4  # times the trials of a game of copies
SIZE_PAIRS, COPY_PAIRS = ("diagonal", "far", "zero and random"), ("diagonal", "zero and random")
PLACES: dict[str, Callable[[int], int]] = {"first": lambda _: 0, "middle": lambda n: n // 2, "last": lambda n: n - 1}


def one(experiment: Experiment[VectorTarget], alpha: float) -> Check:
    """Detect what a batch of one record reveals. Blind to events rarer than 1 in hundreds."""
    target = experiment.target
    pairs = [*experiment.given, *adversarial_pairs(target.dim, clip_norm=target.clip_norm)]
    return _play(experiment, [_alone(pair) for pair in pairs if pair.hard], ONE_TRIALS, alpha)


def three(experiment: Experiment[VectorTarget], alpha: float) -> Check:
    """Detect what a batch of three reveals of one of its records. Blind to larger batches."""
    target = experiment.target.without_memory()
    pairs = pairs_of_batches(experiment.given, dim=target.dim, clip_norm=target.clip_norm)
    return _play(experiment, pairs, THREE_TRIALS, alpha)


def _play(experiment: Experiment[VectorTarget], pairs: Sequence[InputPair], most: int, alpha: float) -> Check:
    """Play a game with one call per release; if it cannot refute the claim, with one pair."""
    target, needed = experiment.target, rounds_needed(experiment.target.epsilon, alpha=alpha)
    if needed > 2 * MAX_LARGER * most:
        pairs, most, needed = pairs[:1], HOPELESS_TRIALS, 0.0
    trials = target.affordable(min(most, experiment.trials), alone=True)
    more = target.affordable(int(min(needed, MAX_LARGER * most)), share=2, alone=True)
    return experiment.with_pairs(pairs, max(trials, more)).refute(alpha=alpha)


def one_value(experiment: Experiment[ValueTarget], alpha: float) -> Check:
    """Detect what a batch of one value reveals. Blind to events rarer than 1 in hundreds."""
    pairs = [_alone(pair) for pair in experiment.pairs[:VALUE_PAIRS]]
    trials = experiment.target.affordable(min(VALUE_TRIALS, experiment.trials), alone=True)
    return experiment.with_pairs(pairs, trials).refute(alpha=alpha)


def _alone(pair: InputPair) -> InputPair:
    return replace(pair, name=f"{pair.name}, alone", alone=True)


def first_release(experiment: Experiment[VectorTarget], alpha: float) -> Check:
    """Detect what the first release of a fresh copy reveals, and noise that copies share."""
    experiment.target.fresh()  # raises where there can be no copy
    copies = experiment.target.asked_as(experiment.target.given, memoised=True)
    trials = copies.affordable(min(COPY_TRIALS, experiment.trials), alone=True)
    found = experiment.with_pairs(named_pairs(copies, COPY_PAIRS), trials, copies).refute(alpha=alpha)
    bare = found.kind is Kind.RANDOMNESS and not _share_a_generator(experiment.target)
    return replace(found, kind=Kind.STATE) if bare else _attributed(found, experiment, trials, alpha)


def _share_a_generator(target: VectorTarget) -> bool:
    """Return True if two fresh copies give equal answers to several batches of one record.

    If the answers differ, only the first releases of the copies are equal, so those have no noise.
    """
    record = torch.zeros(SHARED_ROWS, target.dim, dtype=torch.float64)
    copies = [target.asked_as(target.fresh(), memoised=False) for _ in range(2)]
    return all((copies[0].release(record) == copies[1].release(record)).all() for _ in range(SHARED_CALLS))


def one_cell(experiment: Experiment[VectorTarget], alpha: float) -> Check:
    """Detect noise that a memory reuses for different records that round alike. Blind to cells
    narrower than a hundred thousandth of the set.

    A copy releases a fixed record and, in the same call, one of two records beside it. The rule
    reads the difference.
    """
    if not experiment.target.memoised:
        raise MechanismFailure("the mechanism declares no memory")
    target, pairs = experiment.target, cell_pairs(experiment.target.dim, clip_norm=experiment.target.clip_norm)
    beside = target.asked_as(LessAnother(target.given, cell_record(target.dim, clip_norm=target.clip_norm)))
    found = _play(experiment.with_pairs(pairs, experiment.trials, beside), pairs, COPY_TRIALS, alpha)
    return replace(found, kind=Kind.STATE)


def after_another_dimension(experiment: Experiment[VectorTarget], alpha: float) -> Check:
    """Detect what stays from a call of another dimension, such as scales. Blind to longer pasts."""
    target = experiment.target
    if not target.any_dimension or target.dim == 1:
        raise MechanismFailure("the mechanism knows one dimension only")
    asked = target.fresh()
    target.asked_as(asked, memoised=False).at(1).release(torch.zeros(1, 1, dtype=torch.float64))
    later, trials = target.asked_as(asked), min(experiment.trials, PAST_TRIALS)
    found = experiment.with_pairs(named_pairs(later, COPY_PAIRS), trials, later).refute(alpha=alpha)
    return _attributed(found, experiment, trials, alpha)


def _attributed(found: Check, experiment: Experiment[VectorTarget], trials: int, alpha: float) -> Check:
    """Return a finding about copies as one of the state, unless ordinary releases refute the claim too.

    These further releases decide only the kind of the finding, never the verdict.
    """
    if found.kind is not Kind.DISTRIBUTION or found.verdict is not Verdict.FAILED:
        return found if found.kind is not Kind.DISTRIBUTION else replace(found, kind=Kind.STATE)
    pairs = named_pairs(experiment.target, COPY_PAIRS)
    ordinary = experiment.with_pairs(pairs, ORDINARY_FACTOR * trials).refute(alpha=alpha)
    return found if ordinary.verdict is Verdict.FAILED else replace(found, kind=Kind.STATE)


def any_size(experiment: Experiment[VectorTarget], alpha: float) -> Check:
    """Detect rows with little noise in batches of up to 1,025. Blind to half the noise."""
    target = experiment.target.without_memory()
    most = target.affordable(RELEASES * sum(BATCH_SIZES)) // RELEASES
    tried = [size for size, total in zip(BATCH_SIZES, np.cumsum(BATCH_SIZES).tolist(), strict=True) if total <= most]
    if not tried:
        raise MechanismFailure(f"the mechanism is too slow for batches of {len(BATCH_SIZES)} sizes")
    spread = {(size, name): each for size in tried for name, each in _spreads(target, size, times=RELEASES).items()}
    least = sorted(spread, key=spread.__getitem__)[:FURTHER_ROWS]
    again = {(size, name): _spreads(target, size, times=FURTHER_RELEASES)[name] for size, name in least}
    size, name = min(again, key=again.__getitem__)
    if again[size, name] >= SMALL_SPREAD * float(np.median(list(spread.values()))):
        return Check.of(
            failed=False, evidence=f"no row of a batch of {tried[0]} to {tried[-1]} varies far less than most"
        )
    placed = target.asked_as(PlacedInBatch(target.mechanism, size, PLACES[name](size)))
    trials = placed.affordable(min(SIZE_TRIALS, experiment.trials))
    found = experiment.with_pairs(named_pairs(placed, SIZE_PAIRS), trials, placed).refute(alpha=alpha)
    return replace(found, evidence=f"the {name} of {size} rows varies little; {found.evidence}")


def _spreads(target: VectorTarget, size: int, *, times: int) -> dict[str, float]:
    latents = torch.full((size, target.dim), target.clip_norm / target.dim, dtype=torch.float64)
    rows = sorted({place(size) for place in PLACES.values()})
    releases = np.stack([np.nan_to_num(target.release(latents))[rows] for _ in range(times)])
    apart = np.abs(np.diff(releases, axis=0)).sum(axis=2).mean(axis=0)
    return {name: float(apart[rows.index(place(size))]) for name, place in PLACES.items()}


@dataclass(frozen=True)
class LessAnother:
    """A mechanism that releases a fixed record and another in one call, as their difference."""

    mechanism: Any
    record: Tensor

    def __getattr__(self, name: str) -> Any:
        if name in ("mechanism", "record"):  # of a copy that is just being made
            raise AttributeError(name)
        return getattr(self.mechanism, name)

    def privatize(self, latents: Any) -> Floats:
        """Release each latent (n,) after the fixed record; return the differences."""
        differences = []
        for latent in map(torch.as_tensor, latents):
            both = torch.stack([self.record.to(latent.dtype), latent])
            released = self.mechanism.privatize(both if isinstance(latents, Tensor) else both.numpy())
            first, second = as_rows(released, rows=2, what="privatize")
            differences.append(second - first)
        return np.stack(differences)


@dataclass(frozen=True)
class PlacedInBatch:
    """A mechanism that releases one row of a batch; all other rows are zeros."""

    mechanism: Any
    size: int
    place: int

    def __getattr__(self, name: str) -> Any:
        if name == "mechanism":  # of a copy that is just being made
            raise AttributeError(name)
        return getattr(self.mechanism, name)

    def privatize(self, latents: Any) -> Floats:
        """Release each latent (n,) in a new batch of its own; return their rows."""
        return np.stack(
            [self._row(torch.as_tensor(latent), numpy=not isinstance(latents, Tensor)) for latent in latents]
        )

    def _row(self, latent: Tensor, *, numpy: bool) -> Floats:
        batch = torch.zeros(self.size, len(latent), dtype=latent.dtype)
        batch[self.place] = latent
        released = self.mechanism.privatize(batch.numpy() if numpy else batch)
        row: Floats = as_rows(released, rows=self.size, what="privatize")[self.place]
        return row
