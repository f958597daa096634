"""The questions of an audit and their shares of alpha, in tables for vectors, values and texts.

Each question has a check: a function that tests the mechanism and so answers the question. Alpha is
the largest allowed probability that an audit reports anything false. Each question gets a share of
alpha, and the shares in a table add up to at most 1. If a check cannot refute a true claim by
chance, its question has a share of 0.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from adept.audit.checks import (
    calls,
    declared_noise,
    discrete_distribution,
    floating_point,
    independence,
    metadata,
    repetitions,
    replay,
)
from adept.audit.distinguisher.guessing_game import event, event_elsewhere
from adept.audit.result import FINITENESS, Check, Kind

TEST_SHARE = 0.015  # of alpha, for each test with a p-value in an audit of vectors


@dataclass(frozen=True)
class Question:
    """A question that an audit asks about a mechanism, and the check that answers it."""

    name: str
    share: float  # share of alpha that this question gets
    check: Callable[[Any, float], Check]  # called with an experiment and the question's part of alpha
    dim: int | None = None  # dimension of the latents; None: the audit's dimension
    of_releases: bool = False  # True if its check judges releases; at least one such check must succeed
    of_responses: bool = False  # asked only about k-ary response
    kind: Kind = Kind.DISTRIBUTION  # kind of the violation that the check looks for
    of_seeding: bool = False  # True if the caller may be responsible for what the check finds

    @property
    def sees(self) -> str:
        """The first paragraph of the check's docstring, which says what the check can detect."""
        return " ".join((self.check.__doc__ or "").split("\n\n")[0].split())

    def at(self, *dims: int, share: float, **changes: Any) -> "list[Question]":
        """Return a copy of this question for each dimension of latents, with a share and changes."""
        return [replace(self, name=f"{self.name}, dimension {dim}", dim=dim, share=share, **changes) for dim in dims]


EVENT = Question("event", 0.455, event, of_releases=True)
SHARED_NOISE = Question("shared noise", TEST_SHARE, independence.in_batch)
BATCH_NEIGHBOURS = Question("batch neighbours", TEST_SHARE, independence.of_neighbours, kind=Kind.STATE)

OF_VECTORS = [
    Question("sensitivity", 0, declared_noise.sensitivity),
    Question("norm", 0, declared_noise.norm),
    Question("scale", TEST_SHARE, declared_noise.scale),
    Question("shape", TEST_SHARE, declared_noise.shape),
    Question("reach", 0.01, declared_noise.reach),
    Question("coordinates", TEST_SHARE, declared_noise.coordinates),
    Question("Gaussian noise", 0.01, declared_noise.undeclared_gaussian),
    SHARED_NOISE,
    BATCH_NEIGHBOURS,
    Question("seed", TEST_SHARE, independence.after_one_seed, kind=Kind.RANDOMNESS, of_seeding=True),
    Question("fork", TEST_SHARE, independence.in_forks, kind=Kind.RANDOMNESS, of_seeding=True),
    Question(FINITENESS, 0, floating_point.finiteness, kind=Kind.FLOATING_POINT),
    Question("metadata", 0.02, metadata.of_vectors, kind=Kind.METADATA),
    Question("grid", 0, floating_point.grid, kind=Kind.FLOATING_POINT),
    Question("lowest bit", TEST_SHARE, floating_point.lowest_bit, kind=Kind.FLOATING_POINT),
    Question("representability", TEST_SHARE, floating_point.representability, kind=Kind.FLOATING_POINT),
    Question("float32 sums", TEST_SHARE, floating_point.float32_sums, kind=Kind.FLOATING_POINT),
    *SHARED_NOISE.at(2, share=TEST_SHARE),
    *BATCH_NEIGHBOURS.at(2, share=TEST_SHARE),
    Question("fresh copy", 0.01, calls.first_release, of_seeding=True),
    Question("copy with a past", 0.01, calls.after_another_dimension),
    Question("batch of one", 0.05, calls.one),
    Question("repeated outputs", 0.02, repetitions.come_back_or_lie_near),
    Question("one cell", 0.01, calls.one_cell, kind=Kind.STATE),
    Question("rest of the batch", TEST_SHARE, independence.of_rest),
    Question("batch of three", 0.05, calls.three),
    Question("batch size", 0.02, calls.any_size),
    *EVENT.at(1, 2, 8, 1024, share=0.035, check=event_elsewhere, of_releases=False),
    EVENT,
]

OF_VALUES = [
    replace(EVENT, share=0.77),
    Question("range", 0, discrete_distribution.in_range, of_responses=True),
    Question("odds", 0, discrete_distribution.odds, of_responses=True),
    Question("kept numbers", 0.01, discrete_distribution.kept, of_responses=True),
    Question("replaced numbers", 0.01, discrete_distribution.replaced, of_responses=True),
    Question("distribution", 0, discrete_distribution.stated),
    Question("frequencies", 0.02, discrete_distribution.frequencies),
    Question("Gaussian noise", 0, declared_noise.undeclared_gaussian),
    Question("batch of one", 0.08, calls.one_value),
    Question("metadata", 0.02, metadata.of_values, kind=Kind.METADATA),
    Question("fresh copy", 0.015, independence.in_copies, kind=Kind.RANDOMNESS, of_seeding=True),
    Question("fork", 0.015, independence.in_forks, kind=Kind.RANDOMNESS, of_seeding=True),
    Question("shared noise", 0.02, independence.in_batch),
    Question("batch neighbours", 0.02, independence.of_neighbouring_values, kind=Kind.STATE),
    Question("seed", 0.02, independence.after_one_seed, kind=Kind.RANDOMNESS, of_seeding=True),
]

OF_TEXTS = [
    replace(EVENT, name="guessing game", share=0.98),
    Question("batch neighbours", 0.02, independence.of_neighbouring_values, kind=Kind.STATE),
    Question("replay", 0, replay.replay, of_releases=True, kind=Kind.METADATA),
]
