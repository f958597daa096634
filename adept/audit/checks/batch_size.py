"""Batches of some size: does a record lose noise where a batch is one larger than a chunk, or as long as a buffer.

One record is released a few times in batches of many sizes, and the spread of its first, middle and last row is taken. Where one
is far calmer than most, a game is played there: a fair coin picks one of two records for that row, the rest of the batch stays
what it is, and a rule guesses which from that row alone.

Claim: what the game certifies is a lower bound on epsilon, wrong with probability at most alpha. Proof: size, place and the rest
of the batch are fixed before a counted release is drawn, so the row is the release of a record by one mechanism, which the claim
covers as it does any other; the rest is that of `distinguisher.choice`. Nothing is certified where nothing is calm.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from adept.audit.distinguisher.experiment import FEWEST_TRIALS, Arena
from adept.audit.distinguisher.pairs import adversarial_pairs
from adept.audit.result import Finding, MechanismFailure
from adept.audit.target.sandbox import Floats, as_rows
from adept.audit.target.vector import Subject

SIZES = (*range(2, 67), *(2**k + more for k in range(7, 11) for more in (-1, 0, 1)))
TIMES = 3  # releases of a batch that tell how calm its rows are
AGAIN, CALMEST = 15, 4  # releases once more, of the calmest few
CALM = 0.1  # of the median spread, a release
TRIALS, SECONDS = 1000, 3.0
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


def sizes(subject: Subject, *, trials: int, alpha: float) -> Finding:
    """Look for the size of a batch and the place where a record has the least noise, and play a game there if it is little."""
    if subject.memoised:
        raise MechanismFailure("memoised releases of one record are equal by declaration")
    most = subject.affordable(TIMES * sum(SIZES), seconds=SECONDS) // TIMES
    tried = [size for size, total in zip(SIZES, np.cumsum(SIZES).tolist(), strict=True) if total <= most]
    if not tried:
        raise MechanismFailure(f"the mechanism is too slow for batches of {len(SIZES)} sizes in {SECONDS:g} s")
    spread = {(size, name): calm for size in tried for name, calm in _spreads(subject, size, times=TIMES).items()}
    calmest = sorted(spread, key=spread.__getitem__)[:CALMEST]
    again = {(size, name): _spreads(subject, size, times=AGAIN)[name] for size, name in calmest}
    size, name = min(again, key=again.__getitem__)
    if again[size, name] >= CALM * float(np.median(list(spread.values()))):
        return Finding(failed=False, evidence=f"no row of a batch of {tried[0]} to {tried[-1]} is calmer than most")
    placed = replace(
        subject,
        mechanism=Placed(subject.mechanism, size, PLACES[name](size)),
        _declared=None,
        _dialect=None,
        _seconds={},
    )
    pairs = [pair for pair in adversarial_pairs(placed.dim, clip_norm=placed.clip_norm) if pair.name in PAIRS]
    games = placed.affordable(min(TRIALS, trials), seconds=SECONDS)
    if games < FEWEST_TRIALS:
        raise MechanismFailure(f"the mechanism is too slow for {FEWEST_TRIALS} batches of {size} in {SECONDS:g} s")
    found = Arena(placed, pairs, games, alpha).finding(claim=subject.epsilon)
    return replace(found, evidence=f"the {name} of {size} rows is calm; {found.evidence}")


def _spreads(subject: Subject, size: int, *, times: int) -> dict[str, float]:
    """Return how far releases of one record lie apart on average in a batch of so many, at each place."""
    latents = torch.full((size, subject.dim), subject.clip_norm / subject.dim, dtype=torch.float64)
    rows = sorted({place(size) for place in PLACES.values()})
    drawn = np.stack([np.nan_to_num(subject.release(latents))[rows] for _ in range(times)])
    apart = np.abs(np.diff(drawn, axis=0)).sum(axis=2).mean(axis=0)
    return {name: float(apart[rows.index(place(size))]) for name, place in PLACES.items()}
