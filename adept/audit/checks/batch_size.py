"""Batch size: is a record released with less noise in a batch of one, of three, or of some other size.

Batches of one and of three are games whose every release is a call of its own, played where a pilot sees a difference from large
batches. For other sizes, such as one row more than a chunk or as many as a buffer holds, one record is released a few times in
batches of many sizes, and the spread of its first, middle and last row is taken. Where one is far smaller than most, a game is
played there. A fair coin picks one of two records for that row, the rest of the batch stays what it is, and a rule guesses which
from that row alone.

Claim: what the game certifies is a lower bound on epsilon, wrong with probability at most alpha. Proof: size, place and the rest
of the batch are fixed before a counted release is drawn, so the row is the release of a record by one mechanism, which the claim
covers as it does any other; the rest is that of `distinguisher.choice`. Nothing is certified where no spread is small.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from adept.audit.checks.independence import without_memory
from adept.audit.distinguisher.experiment import Experiment
from adept.audit.distinguisher.pairs import Pair, adversarial_pairs, pairs_in_batches_of_one, pairs_of_batches
from adept.audit.distinguisher.pilot import rounds_needed, same_as_batches
from adept.audit.result import Finding, MechanismFailure
from adept.audit.subject.interface import Floats
from adept.audit.subject.sandbox import as_rows
from adept.audit.subject.value import ValueTarget
from adept.audit.subject.vector import VectorTarget

SIZES = (*range(2, 67), *(2**k + more for k in range(7, 11) for more in (-1, 0, 1)))
TIMES = 3  # releases of a batch that show how much its rows vary
AGAIN, FEWEST = 15, 4  # releases once more, of the few rows that vary least
SMALL = 0.1  # of the median spread: less is suspicious
TRIALS, SECONDS = 1000, 3.0
ONE_TRIALS, THREE_TRIALS, LATE_TRIALS = 2500, 3000, 1000  # the last where the claim is refuted already
VALUE_TRIALS, VALUE_PAIRS = 3000, 6
PAIRS = ("diagonal", "far", "zero and random")
PLACES: dict[str, Callable[[int], int]] = {"first": lambda _: 0, "middle": lambda n: n // 2, "last": lambda n: n - 1}


@dataclass(frozen=True)
class Placed:
    """A mechanism on one row of a batch, the rest of which are zeros."""

    mechanism: Any
    size: int
    place: int

    @property
    def epsilon(self) -> float:
        return float(self.mechanism.epsilon)

    def __getattr__(self, name: str) -> Any:
        if name == "mechanism":  # of a copy that is just being made
            raise AttributeError(name)
        return getattr(self.mechanism, name)

    def privatize(self, latents: Any) -> Floats:
        """Release each latent (n,) in a batch of its own, made anew; returns their rows."""
        return np.stack(
            [self._row(torch.as_tensor(latent), numpy=not isinstance(latents, Tensor)) for latent in latents]
        )

    def _row(self, latent: Tensor, *, numpy: bool) -> Floats:
        batch = torch.zeros(self.size, len(latent), dtype=latent.dtype)
        batch[self.place] = latent
        released = self.mechanism.privatize(batch.numpy() if numpy else batch)
        row: Floats = as_rows(released, rows=self.size, what="privatize")[self.place]
        return row


def one(experiment: Experiment[VectorTarget], alpha: float) -> Finding:
    """Guess a record from its release in a batch of its own."""
    target = experiment.target
    pairs = pairs_in_batches_of_one(experiment.given, dim=target.dim, clip_norm=target.clip_norm)
    return _in_calls(experiment, pairs, ONE_TRIALS, alpha)


def three(experiment: Experiment[VectorTarget], alpha: float) -> Finding:
    """Guess one record of a batch of three from all three releases."""
    target = without_memory(experiment)
    pairs = pairs_of_batches(experiment.given, dim=target.dim, clip_norm=target.clip_norm)
    return _in_calls(experiment, pairs, THREE_TRIALS, alpha)


def _in_calls(experiment: Experiment[VectorTarget], pairs: Sequence[Pair], most: int, alpha: float) -> Finding:
    """Play a game whose every release is a call of its own, if a pilot sees a difference from batches."""
    target = experiment.target
    trials = target.affordable(min(most, experiment.trials), seconds=SECONDS, alone=True)
    if found := same_as_batches(experiment, experiment.with_pairs(pairs, trials), alpha=alpha):
        return found
    needed = min(rounds_needed(target.epsilon, alpha=alpha), 4 * most)  # of a large claim
    more = target.affordable(int(needed), seconds=2 * SECONDS, alone=True)
    trials = min(trials, LATE_TRIALS) if experiment.patience.refuted else max(trials, more)
    return experiment.with_pairs(pairs, trials).refute(alpha=alpha)


def one_value(experiment: Experiment[ValueTarget], alpha: float) -> Finding:
    """Guess a value from its outcome in a batch of its own."""
    pairs = [replace(pair, name=f"{pair.name}, alone", alone=True) for pair in experiment.pairs[:VALUE_PAIRS]]
    trials = experiment.target.affordable(min(VALUE_TRIALS, experiment.trials), seconds=SECONDS, alone=True)
    return experiment.with_pairs(pairs, trials).refute(alpha=alpha)


def any_size(experiment: Experiment[VectorTarget], alpha: float) -> Finding:
    """Look for the size of a batch and the place where a record has the least noise, and play a game there if it is little."""
    target = without_memory(experiment)
    most = target.affordable(TIMES * sum(SIZES), seconds=SECONDS) // TIMES
    tried = [size for size, total in zip(SIZES, np.cumsum(SIZES).tolist(), strict=True) if total <= most]
    if not tried:
        raise MechanismFailure(f"the mechanism is too slow for batches of {len(SIZES)} sizes in {SECONDS:g} s")
    spread = {(size, name): each for size in tried for name, each in _spreads(target, size, times=TIMES).items()}
    least = sorted(spread, key=spread.__getitem__)[:FEWEST]
    again = {(size, name): _spreads(target, size, times=AGAIN)[name] for size, name in least}
    size, name = min(again, key=again.__getitem__)
    if again[size, name] >= SMALL * float(np.median(list(spread.values()))):
        return Finding(
            failed=False, evidence=f"no row of a batch of {tried[0]} to {tried[-1]} varies far less than most"
        )
    placed = target.asked_as(Placed(target.mechanism, size, PLACES[name](size)))
    pairs = [pair for pair in adversarial_pairs(placed.dim, clip_norm=placed.clip_norm) if pair.name in PAIRS]
    trials = placed.affordable(min(TRIALS, experiment.trials), seconds=SECONDS)
    found = experiment.with_pairs(pairs, trials, placed).refute(alpha=alpha)
    return replace(found, evidence=f"the {name} of {size} rows varies little; {found.evidence}")


def _spreads(target: VectorTarget, size: int, *, times: int) -> dict[str, float]:
    """Return how far releases of one record lie apart on average in a batch of so many, at each place."""
    latents = torch.full((size, target.dim), target.clip_norm / target.dim, dtype=torch.float64)
    rows = sorted({place(size) for place in PLACES.values()})
    drawn = np.stack([np.nan_to_num(target.release(latents))[rows] for _ in range(times)])
    apart = np.abs(np.diff(drawn, axis=0)).sum(axis=2).mean(axis=0)
    return {name: float(apart[rows.index(place(size))]) for name, place in PLACES.items()}
