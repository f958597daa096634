"""Checks that releases meet the claim in calls with batches of any size, on fresh copies of the
mechanism, and after other calls.

Each check plays a guessing game, in which a rule sees a release and guesses which of two records
was released (`distinguisher.guessing_game`).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from adept.audit.distinguisher import input_pairs
from adept.audit.distinguisher.guessing_game import Experiment
from adept.audit.distinguisher.input_pairs import InputPair
from adept.audit.result import Check, Kind, MechanismFailure, Verdict
from adept.audit.stats import Floats, rounds_needed
from adept.audit.subject.kinds import VectorTarget, as_rows
from adept.audit.subject.target import Wrapper

BATCH_SIZES = (*range(2, 67), *(2**k + more for k in range(7, 11) for more in (-1, 0, 1)))
RELEASES = 3  # of each batch, to compare how much rows vary
ONE_TRIALS, THREE_TRIALS, COPY_TRIALS, VALUE_TRIALS = 2000, 1600, 800, 2500
MAX_LARGER = 4  # largest factor of the trials for a large claimed epsilon
COPY_PAIRS = ("diagonal", "zero and random")


def one(experiment: Experiment[Any], alpha: float) -> Check:
    """Detect that a release reveals more than the claim allows about a record that is alone in its
    batch. The check is blind to events that are rarer than one in a few hundred releases.
    """
    if isinstance(experiment.target, VectorTarget):
        pairs, most = (
            [*experiment.given, *input_pairs.named_pairs(experiment.target, input_pairs.HARD_PAIRS)],
            ONE_TRIALS,
        )
    else:
        pairs, most = experiment.pairs[:6], VALUE_TRIALS
    alone = [replace(pair, name=f"{pair.name}, alone", alone=True) for pair in pairs]
    return _play(experiment, alone, most, alpha)


def three(experiment: Experiment[VectorTarget], alpha: float) -> Check:
    """Detect that the releases of a batch of three records reveal more than the claim allows about
    one of these records. The check is blind to larger batches.
    """
    target = experiment.target.without_memory()
    pairs = input_pairs.pairs_of_batches(experiment.given, dim=target.dim, clip_norm=target.clip_norm)
    return _play(experiment, pairs, THREE_TRIALS, alpha)


def _play(
    experiment: Experiment[Any], pairs: Sequence[InputPair], most: int, alpha: float, beside: VectorTarget | None = None
) -> Check:
    """Play a guessing game with a separate call for each release of ``beside``, or else the target.

    If the claimed epsilon is so large that no affordable number of trials could refute it, the game
    has one pair and few trials.
    """
    target, needed = beside or experiment.target, rounds_needed(experiment.target.epsilon, alpha=alpha)
    if needed > 2 * MAX_LARGER * most:
        pairs, most, needed = pairs[:1], 400, 0.0
    trials = target.affordable(min(most, experiment.trials), alone=True)
    more = target.affordable(int(min(needed, MAX_LARGER * most)), share=2, alone=True)
    return experiment.refute(pairs, max(trials, more), alpha=alpha, target=target)


def first_release(experiment: Experiment[VectorTarget], alpha: float) -> Check:
    """Detect that the first release of a fresh copy of the mechanism reveals more than the claim
    allows about the released record. Also detect noise that several fresh copies share.
    """
    experiment.target.fresh()  # raises MechanismFailure if no copy can be made
    copies = experiment.target.asked_as(experiment.target.given, memoised=True)
    trials = copies.affordable(min(COPY_TRIALS, experiment.trials), alone=True)
    found = experiment.refute(input_pairs.named_pairs(copies, COPY_PAIRS), trials, alpha=alpha, target=copies)
    if found.kind is not Kind.RANDOMNESS:
        return _attributed(found, experiment, trials, alpha)
    # Copies share a generator if two of them give equal releases, call after call
    record = torch.zeros(128, experiment.target.dim, dtype=torch.float64)
    first, second = (experiment.target.asked_as(experiment.target.fresh(), memoised=False) for _ in range(2))
    shared = all((first.release(record) == second.release(record)).all() for _ in range(3))
    return found if shared else replace(found, kind=Kind.STATE)


def one_cell(experiment: Experiment[VectorTarget], alpha: float) -> Check:
    """Detect that a mechanism with a memory adds the same noise to two different records, because it rounds both
    records to the same point of a grid. The check is blind to grids with a step below 1e-5 times the clip norm.

    In one call, a fresh copy of the mechanism releases a fixed record and one of two records that lie near the fixed
    record. From the difference of the two releases, a rule guesses which of the near records was released.
    """
    if not experiment.target.memoised:
        raise MechanismFailure("the mechanism declares no memory")
    target = experiment.target
    record, pairs = input_pairs.cell_pairs(target.dim, clip_norm=target.clip_norm)
    beside = target.asked_as(AmongOthers(target.given, record.expand(2, -1), place=1, less_first=True))
    return replace(_play(experiment, pairs, COPY_TRIALS, alpha, beside), kind=Kind.STATE)


def after_another_dimension(experiment: Experiment[VectorTarget], alpha: float) -> Check:
    """Detect a state, such as a scale, that a call with latents of another dimension leaves behind
    in the mechanism. The check makes one such call, and is blind to a state that only several calls leave behind.
    """
    target = experiment.target
    if not target.any_dimension or target.dim == 1:
        raise MechanismFailure("the mechanism knows one dimension only")
    asked = target.fresh()
    target.asked_as(asked, memoised=False).at(1).release(torch.zeros(1, 1, dtype=torch.float64))
    later, trials = target.asked_as(asked), min(experiment.trials, 10_000)
    found = experiment.refute(input_pairs.named_pairs(later, COPY_PAIRS), trials, alpha=alpha, target=later)
    return _attributed(found, experiment, trials, alpha)


def _attributed(found: Check, experiment: Experiment[VectorTarget], trials: int, alpha: float) -> Check:
    """Change a check's kind from DISTRIBUTION to STATE, unless ordinary releases fail, too.

    Ordinary releases are those of the mechanism itself; if they fail a game with four times the
    trials, the violation does not come from a state.
    """
    if found.kind is not Kind.DISTRIBUTION:
        return found
    if found.verdict is Verdict.FAILED:
        pairs = input_pairs.named_pairs(experiment.target, COPY_PAIRS)
        if experiment.refute(pairs, 4 * trials, alpha=alpha).verdict is Verdict.FAILED:
            return found
    return replace(found, kind=Kind.STATE)


def any_size(experiment: Experiment[VectorTarget], alpha: float) -> Check:
    """Detect rows with little noise in batches of up to 1,025 records. The check is blind to rows
    whose noise is only halved.

    If the first, middle or last row of a batch varies far less than most rows, the check plays a guessing game with
    the releases of this row. Claim: the bound of this game errs with probability at most alpha. Proof: the size of
    the batch, the place of the row and the rest of the batch are fixed before any counted release is drawn. So the
    row is the release of a record by one fixed mechanism, and the proof in `distinguisher.guessing_game` applies.
    """
    target = experiment.target.without_memory()
    most = target.affordable(RELEASES * sum(BATCH_SIZES)) // RELEASES
    tried = [size for size, total in zip(BATCH_SIZES, np.cumsum(BATCH_SIZES).tolist(), strict=True) if total <= most]
    if not tried:
        raise MechanismFailure(f"the mechanism is too slow for batches of {len(BATCH_SIZES)} sizes")
    spread = {(size, name): each for size in tried for name, each in _spreads(target, size, times=RELEASES).items()}
    least = sorted(spread, key=spread.__getitem__)[:4]
    again = {(size, name): _spreads(target, size, times=15)[name] for size, name in least}
    size, name = min(again, key=again.__getitem__)
    if again[size, name] >= 0.1 * float(np.median(list(spread.values()))):
        return Check.of(failed=False, evidence=f"no row of {tried[0]} to {tried[-1]} varies far less than most")
    zeros = torch.zeros(size, target.dim, dtype=torch.float64)
    placed = target.asked_as(AmongOthers(target.mechanism, zeros, _places(size)[name]))
    trials = placed.affordable(min(1000, experiment.trials))
    pairs = input_pairs.named_pairs(placed, ("diagonal", "far", "zero and random"))
    found = experiment.refute(pairs, trials, alpha=alpha, target=placed)
    return replace(found, evidence=f"the {name} of {size} rows varies little; {found.evidence}")


def _places(size: int) -> dict[str, int]:
    return {"first": 0, "middle": size // 2, "last": size - 1}


def _spreads(target: VectorTarget, size: int, *, times: int) -> dict[str, float]:
    """Return how much the first, middle and last row of a batch vary between ``times`` calls."""
    latents, places = torch.full((size, target.dim), target.clip_norm / target.dim, dtype=torch.float64), _places(size)
    releases = np.stack([np.nan_to_num(target.release(latents))[[*places.values()]] for _ in range(times)])
    return dict(zip(places, np.abs(np.diff(releases, axis=0)).sum(axis=2).mean(axis=0).tolist(), strict=True))


@dataclass(frozen=True)
class AmongOthers(Wrapper):
    """A mechanism that releases each latent in a new batch, together with fixed other records."""

    mechanism: Any
    others: Tensor  # (B, n)
    place: int  # the row of ``others`` that the latent replaces
    less_first: bool = False  # subtract the release of the first row

    def privatize(self, latents: Any) -> Floats:
        """Release each latent (n,) in a separate batch; return one row for each latent."""
        is_numpy = not isinstance(latents, Tensor)
        return np.stack([self._row(torch.as_tensor(latent), is_numpy=is_numpy) for latent in latents])

    def _row(self, latent: Tensor, *, is_numpy: bool) -> Floats:
        batch = self.others.to(latent.dtype, copy=True)
        batch[self.place] = latent
        released = self.mechanism.privatize(batch.numpy() if is_numpy else batch)
        rows = as_rows(released, rows=len(batch), what="privatize")
        return np.asarray(rows[self.place] - rows[0] if self.less_first else rows[self.place])
