"""The questions of an audit, one a row: its name, what it asks, its share of alpha, its check, and what that sees.

A new check is a row more. The shares of a table add up to at most 1 (union bound); a share of 0 says that the check is arithmetic,
which cannot err by chance. Questions are asked in the order of their table, cheap ones first, since an expensive game is cut short
once the claim is refuted.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from adept.audit.checks import (
    batch_neighbours,
    batch_size,
    declared_noise,
    discrete_distribution,
    floating_point,
    fresh_state,
    independence,
    metadata,
    repeated_outputs,
    text,
)
from adept.audit.checks.discrete_distribution import Response
from adept.audit.checks.text import Texts
from adept.audit.distinguisher.experiment import Experiment, event, event_elsewhere
from adept.audit.result import Finding
from adept.audit.subject.value import ValueTarget
from adept.audit.subject.vector import VectorTarget

AskedT = TypeVar("AskedT")
Vectors = Experiment[VectorTarget]
Values = Experiment[ValueTarget]

TEST = 0.015  # the share of each test with a p-value in an audit of vectors: they have power to spare


@dataclass(frozen=True)
class Question(Generic[AskedT]):
    """One row: a question that an audit puts to a target.

    Attributes:
        share: of alpha, the chance that a violation is reported of a sound mechanism.
        check: answers it, given what it is asked of and its own alpha.
        sees: what the check sees, and what it is blind to.
        dim: the dimension at which it is asked; None is that of the audit.
        of_programs: it asks what a program can do wrong and a formula cannot, so simulations are not asked.
        of_releases: an audit that could not answer it has not looked at the releases.
    """

    name: str
    asks: str
    share: float
    check: Callable[[AskedT, float], Finding]
    sees: str
    dim: int | None = None
    of_programs: bool = False
    of_releases: bool = False


def _elsewhere(question: Question[AskedT], *dims: int, share: float, **changes: Any) -> list[Question[AskedT]]:
    """Return the same question at other dimensions, with a share for each."""
    return [
        replace(question, name=f"{question.name}, dimension {dim}", dim=dim, share=share, **changes) for dim in dims
    ]


EVENT = Question[Any](
    "event",
    "Does any decision rule guess the input from its release better than the claim allows?",
    0.5,
    event,
    "Sees any leak by which a rule guesses the input, whatever the mechanism declares: certifies a bound on epsilon. "
    "It cannot exceed about ln(trials), and a leak spread over many coordinates shows only in part.",
    of_releases=True,
)
SHARED_NOISE = Question[Vectors](
    "shared noise",
    "Are the releases of one batch independent?",
    TEST,
    independence.in_batch,
    "Sees noise that records of one batch share, in whole or in part. Blind to correlations below a few percent.",
    of_programs=True,
)
BATCH_NEIGHBOURS = Question[Vectors](
    "batch neighbours",
    "Does the release of a record depend on the other records of its batch?",
    TEST,
    batch_neighbours.of_vectors,
    "Sees releases that depend on the other records of a batch. Blind to dependence below a few percent.",
    of_programs=True,
)

OF_VECTORS: list[Question[Vectors]] = [
    Question(
        "sensitivity",
        "Do the declared noise and the distance of projected inputs give the claim?",
        0,
        declared_noise.sensitivity,
        "Sees inputs farther apart than the declared noise covers. Blind to noise that is not as declared.",
    ),
    Question(
        "norm",
        "Does every projected latent meet the declared norm bound?",
        0,
        declared_noise.norm,
        "Sees projected latents outside the declared set, to the last bit, on 34 latents of every size.",
    ),
    Question(
        "scale",
        "Is the noise at least as large as declared?",
        TEST,
        declared_noise.scale,
        "Sees noise smaller than declared, by fractions of a percent. Blind to what is not additive noise.",
    ),
    Question(
        "shape",
        "Does the noise have the declared distribution?",
        TEST,
        declared_noise.shape,
        "Sees noise of another distribution than declared, also where it depends on the input. Blind to dependence.",
    ),
    Question(
        "coordinates",
        "Is the noise independent between coordinates and between rows?",
        TEST,
        declared_noise.coordinates,
        "Sees noise shared by coordinates or rows in sign or size, at several distances. Blind to other distances.",
    ),
    Question(
        "Gaussian noise",
        "Does the noise under a pure claim look Gaussian?",
        0,
        declared_noise.undeclared_gaussian,
        "Sees noise that looks Gaussian under a claim without delta, and reports no violation: so few trials cannot.",
    ),
    SHARED_NOISE,
    BATCH_NEIGHBOURS,
    Question(
        "seed",
        "Are releases independent of the global seeds?",
        TEST,
        independence.after_one_seed,
        "Sees noise that torch, NumPy or random seeds repeat. Blind to a secret seed of the mechanism's own.",
        of_programs=True,
    ),
    Question(
        "fork",
        "Are the releases of two forked processes independent?",
        TEST,
        independence.in_forks,
        "Sees noise that forked workers share. Blind to processes started in other ways.",
        of_programs=True,
    ),
    Question(
        "finiteness",
        "Are latents with NaN or Inf released as ordinary ones?",
        0,
        floating_point.finiteness,
        "Sees NaN or Inf that come through. What a constant put in their place reveals, the event sees.",
        of_programs=True,
    ),
    Question(
        "metadata",
        "Is a record distinguishable by what its release says beside its numbers?",
        0.02,
        metadata.of_vectors,
        "Sees records that come back as another type, dtype, shape or layout, with something attached or behind a view, or refused "
        "within the set that the mechanism names. Blind to what a type says of two records of one dtype.",
        of_programs=True,
    ),
    Question(
        "grid",
        "Are releases that are said to be exact multiples of one step?",
        0,
        floating_point.grid,
        "Sees floating-point noise that says it is exact. Blind to floats that were rounded to a grid afterwards.",
        of_programs=True,
    ),
    Question(
        "lowest bit",
        "Are exact releases odd multiples of their step as often as exact noise is?",
        TEST,
        floating_point.lowest_bit,
        "Sees floating-point noise of any precision that says it is exact. Blind to floats rounded to a grid afterwards.",
        of_programs=True,
    ),
    Question(
        "representability",
        "Can every exact release of one input be reached from another?",
        TEST,
        floating_point.representability,
        "Sees low bits that separate one input from another. Blind to traces in which numbers are likely.",
        of_programs=True,
    ),
    Question(
        "float32 sums",
        "Is an input distinguishable by which float32 sums can be reached from it?",
        TEST,
        floating_point.float32_sums,
        "Sees noise that was added in float32, whatever the mechanism declares: certifies a bound on epsilon. Blind to sums in "
        "float64 of a mechanism that does not say it is exact, and to sums that were rounded afterwards.",
        of_programs=True,
    ),
    *_elsewhere(SHARED_NOISE, 2, share=TEST),
    *_elsewhere(BATCH_NEIGHBOURS, 2, share=TEST),
    Question(
        "fresh copy",
        "Is an input distinguishable by the first release of a fresh copy?",
        0.01,
        fresh_state.first_release,
        "Sees what the first release of a fresh copy reveals that others do not, and noise that copies share.",
        of_programs=True,
    ),
    Question(
        "copy with a past",
        "Is an input distinguishable by the releases of a copy that was asked at another dimension?",
        0.01,
        fresh_state.after_another_dimension,
        "Sees what a copy keeps from a call of another dimension, such as a scale. Blind to longer pasts.",
        of_programs=True,
    ),
    Question(
        "batch of one",
        "Is an input distinguishable by its release in a batch of its own?",
        0.05,
        batch_size.one,
        "Sees what a record's release in a batch of its own reveals that others do not. Blind to events rarer than in hundreds.",
        of_programs=True,
    ),
    Question(
        "repeated outputs",
        "Do releases name their record among 96, by coming back or by lying near it?",
        0.02,
        repeated_outputs.come_back_or_lie_near,
        "Sees releases that come back, from pools of noise or small spaces of seeds, and noise that is small now and then. "
        "Blind to spaces beyond trials^2 / 10^3.",
        of_programs=True,
    ),
    Question(
        "batch of three",
        "Is one record of three distinguishable by all three releases?",
        0.05,
        batch_size.three,
        "Sees what all releases of a batch reveal of a record, at any of three places, and a batch of copies does not. "
        "Blind to larger batches.",
        of_programs=True,
    ),
    Question(
        "batch size",
        "Is a row of a batch of some size released with far less noise?",
        0.02,
        batch_size.any_size,
        "Sees a first, middle or last row with little noise in batches of some size up to 1,025. Blind to noise that is half.",
        of_programs=True,
    ),
    *_elsewhere(
        EVENT,
        *(1, 2, 8, 1024),
        share=0.035,
        check=event_elsewhere,
        of_releases=False,
        sees="Sees what the event sees, at a small dimension, where less noise hides it, or at a large one, by one place of many. "
        "Blind to other dimensions.",
    ),
    EVENT,
]

OF_VALUES: list[Question[Values]] = [
    replace(EVENT, share=0.8),
    Question(
        "distribution",
        "Does the stated distribution keep the claim?",
        0,
        discrete_distribution.stated,
        "Sees a claim that the stated distribution does not keep, exactly. Blind to a program that has another distribution.",
    ),
    Question(
        "frequencies",
        "Do outcomes come as often as stated?",
        0.02,
        discrete_distribution.frequencies,
        "Sees a program whose outcomes are not distributed as stated. Blind to differences of a few standard deviations.",
    ),
    Question(
        "batch of one",
        "Is a value distinguishable by its outcome in a batch of its own?",
        0.1,
        batch_size.one_value,
        "Sees what a value's outcome in a batch of its own reveals that others do not. Blind to events rarer than in hundreds.",
    ),
    Question(
        "metadata",
        "Is a value distinguishable by what its outcome says beside itself?",
        0.02,
        metadata.of_values,
        "Sees values that come back as another type, or that an alphabet names and the mechanism refuses.",
    ),
    Question(
        "shared noise",
        "Are the outcomes of one batch independent?",
        0.02,
        independence.values_in_batch,
        "Sees randomness that values of one batch share. Blind to correlations below a few percent.",
    ),
    Question(
        "batch neighbours",
        "Does the outcome of a value depend on the other values of its batch?",
        0.02,
        batch_neighbours.of_values,
        "Sees outcomes that depend on the other values of a batch. Blind to dependence below a few percent.",
    ),
    Question(
        "seed",
        "Are outcomes independent of the global seeds?",
        0.02,
        independence.values_after_one_seed,
        "Sees randomness that torch, NumPy or random seeds repeat. Blind to a secret seed of the mechanism's own.",
    ),
]

OF_RESPONSES: list[Question[Response]] = [
    Question(
        "range",
        "Are the releases numbers below K?",
        0,
        discrete_distribution.in_range,
        "Sees releases that are no whole numbers below K.",
    ),
    Question(
        "odds",
        "Are the declared odds at most e^epsilon?",
        0,
        discrete_distribution.odds,
        "Sees declared odds above e^eps, exactly. Blind to a release that does not follow them.",
    ),
    Question(
        "kept numbers",
        "Are a record's own numbers kept as often as declared?",
        0.05,
        discrete_distribution.kept,
        "Sees own numbers that come out more or less often than declared.",
    ),
    Question(
        "replaced numbers",
        "Are the other numbers equally likely?",
        0.05,
        discrete_distribution.replaced,
        "Sees replaced numbers that favour numbers near the true one, or itself. Blind to patterns finer than a sixteenth.",
    ),
    Question(
        "event",
        "Which of two numbers was released?",
        0.9,
        discrete_distribution.guessed,
        "Sees one of two numbers that comes out too often, whatever is declared: certifies a bound on epsilon.",
        of_releases=True,
    ),
    Question(
        "seed",
        "Do seeds repeat the releases?",
        0,
        discrete_distribution.repeated_by_a_seed,
        "Sees releases that seeds of torch, NumPy or random repeat. Blind to a secret seed of the mechanism's own.",
    ),
]

GUESSING_GAME: list[Question[Texts]] = [
    Question(
        "guessing game",
        "Is one of two texts distinguishable by its rewrite?",
        1,
        text.guessing_game,
        "Sees any leak by which a guess from words, word pairs, length and whole sentences beats the budget. Blind to leaks that "
        "this guess does not use, and to any beyond about ln(trials).",
        of_releases=True,
    )
]
REPLAY: list[Question[Texts]] = [
    Question(
        "replay",
        "Does the rewrite depend on the record other than through its released latent?",
        0,
        text.replay,
        "Sees text that depends on the record by its length, padding, batch or forcing. Blind to the latent itself, and to "
        "rewriters that sample.",
        of_releases=True,
    )
]
