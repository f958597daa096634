"""The audit: every check, put to one mechanism.

All statistical verdicts hold together with probability ``confidence``: alpha = 1 - confidence is split over the certified games
(0.82 of it) and the eleven tests with a p-value (union bound); checks without a p-value are arithmetic and cannot err by
chance. So a sound mechanism is accused with probability at most alpha.

A mechanism on a finite alphabet or on texts is audited by `adept.audit.value_audit`: it has an ``alphabet`` (or an integer
``size``, or ``labels``), or ``pairs`` are of strings or other values. What an object does not say itself, its caller
can: ``Claim(mechanism, epsilon=..., alphabet=..., memoised=True)``. A mechanism that answers a record with the release that it
gave before has to be declared ``memoised``: it is convicted otherwise, since its releases do not vary.

A mechanism that takes latents of any dimension claims its epsilon at every dimension, so it is tried at 1, 2 and 8 too, where a
leak shows that 64 coordinates of noise would hide, and at 1,024, where one place of many tells most; unless it has a ``dim``.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from adept.audit.checks import batch_neighbours, declared_noise, floating_point, independence
from adept.audit.checks.batch_size import sizes
from adept.audit.checks.fresh_state import afterwards, first, untouched
from adept.audit.checks.metadata import manner
from adept.audit.checks.repeated_outputs import repetition
from adept.audit.distinguisher.experiment import FEWEST_TRIALS, Arena, Patience
from adept.audit.distinguisher.pairs import adversarial_pairs, company_pairs, lonely_pairs
from adept.audit.distinguisher.pilot import Batches, alike, rounds_needed
from adept.audit.distinguisher.search import every_pair
from adept.audit.limits import SEES, not_looked_at
from adept.audit.result import AuditResult, Check, Finding, MechanismFailure, Verdict, judge, judged
from adept.audit.target.arguments import check_arguments, check_mechanism, given_pairs
from adept.audit.target.vector import Subject
from adept.audit.value_audit import audit_values, given_values

# Shares of alpha. What the certified games leave is split evenly over the tests with a p-value, which have power to spare.
EVENT, SMALLER, ALONE, COMPANY, FIRST, DTYPE, REPETITION, SIZES = 0.5, 0.14, 0.05, 0.05, 0.02, 0.02, 0.02, 0.02
GAMES = EVENT + SMALLER + ALONE + COMPANY + FIRST + DTYPE + REPETITION + SIZES
TESTS = 11  # scale, shape, coordinates, batch, neighbours (at two dimensions each), seed, fork, lowest bit, representability
SMALL_DIMS, LARGE_DIMS = (1, 2, 8), (1024,)
LARGE_NUMBERS = 8  # times the numbers of an audited input are drawn of one at the large dimension
LARGE = ("diagonal", "zero and random", "first and last axis")  # pairs there
DIMENSIONS = ("dim", "dims", "dimension", "latent_dim", "n", "d")  # attributes that name the one a mechanism knows
SECONDS, PATIENCE = 3.0, 45.0  # that a slow mechanism may take in each further arena; `arena.Patience`
LONELY_TRIALS, COMPANY_TRIALS, LATE_TRIALS = 2500, 3000, 1000  # the last where the claim is refuted already

Progress = Callable[[int, int], None]
Question = Callable[[], Finding]


def run(
    mechanism: Any,
    *,
    dim: int = 64,
    trials: int = 10_000,
    confidence: float = 0.999,
    source: str = "release",
    pairs: Sequence[tuple[Any, Any]] | None = None,
    time_limit: float = 60.0,
    seed: int | None = None,
    progress: Progress | None = None,
) -> AuditResult:
    """Audit a mechanism's claim of (epsilon, delta)-local differential privacy for any two records.

    Args:
        mechanism: anything with ``epsilon``, ``privatize`` (latents (B, n) -> one row each: tensors or NumPy arrays, float64 or
            float32, rows of any dimension) and, if it has one, ``delta``. What else it declares is tested too: ``clip``
            (default "l2"), ``clip_norm`` (1), ``project``, ``guarantee(dim)`` with ``exact`` and ``scale``, and ``noise``, the law
            of additive noise: "laplace", "gaussian", "l2_norm" or "cap".
        dim: n, the number of coordinates.
        trials: releases of each of two inputs, at least 100; about a seventh choose the events, the others certify them.
        confidence: strictly between 0 and 1.
        source: "release" audits ``privatize``; "simulate" audits ``simulate`` instead, which is faster and judges the
            formula, not the program.
        pairs: further pairs of latents (n,) on which to look for a violation; or the pairs of values, or of texts, to be audited.
        time_limit: seconds that one call of the mechanism may take.
        seed: for ``source="simulate"`` alone.
        progress: called with releases counted so far and in all.

    Raises:
        ConfigurationError: an argument is out of range, or the mechanism has no usable ``epsilon`` or ``privatize``.
        NotJudged: the mechanism's releases could not be looked at, and nothing else refutes its claim.
    """
    original = untouched(mechanism)
    check_mechanism(mechanism)
    check_arguments(dim=dim, trials=trials, confidence=confidence, source=source, time_limit=time_limit, seed=seed)
    if (found := given_values(mechanism, pairs)) is not None:
        return audit_values(
            mechanism, found, trials=trials, confidence=confidence, time_limit=time_limit, progress=progress
        )
    generator = torch.Generator()
    generator.manual_seed(seed) if seed is not None else generator.seed()
    memoised = bool(getattr(mechanism, "memoised", False))
    subject = Subject(mechanism, dim=dim, source=source, time_limit=time_limit, generator=generator, memoised=memoised)
    given = given_pairs(pairs, dim=dim)
    audit = _Audit(subject, original, trials=trials, alpha=1 - confidence, given=given, progress=progress)
    return _judged(audit, confidence=confidence)


def _judged(audit: "_Audit", *, confidence: float) -> AuditResult:
    """Put every question, and say what was answered; NotJudged where nothing was."""
    subject, trials, started = audit.subject, audit.trials, time.monotonic()
    checks = tuple(audit.checks())
    result = AuditResult(
        mechanism=subject.name,
        claimed_epsilon=subject.epsilon,
        delta=subject.delta,
        dim=subject.dim,
        trials=trials,
        confidence=confidence,
        source=subject.source,
        seconds=time.monotonic() - started,
        releases_judged=any(check.name == "event" and check.verdict is not Verdict.UNJUDGED for check in checks),
        checks=checks,
        not_looked_at=not_looked_at(checks, trials=trials, claimed=subject.epsilon, alpha=EVENT * (1 - confidence)),
    )
    return judged(result)


@dataclass
class _Audit:
    subject: Subject
    original: Any
    trials: int
    alpha: float
    given: list[Any]
    progress: Progress | None
    patience: Patience = field(default_factory=lambda: Patience(PATIENCE))

    @cached_property
    def arena(self) -> Arena:
        """The audited dimension, many releases in a call."""
        return Arena(self.subject, self.given + every_pair(self.subject), self.trials, EVENT * self.alpha)

    @cached_property
    def batches(self) -> Batches:
        """What releases in calls of their own are compared with."""
        return Batches(self.subject, lambda: self.arena.samples)

    def checks(self) -> list[Check]:
        """Ask every question: cheap ones first, the report in the order that reads best."""
        asked: dict[str, Check] = {}
        for name, question in self._questions().items():
            asked[name] = judge(name, question, sees=SEES[name.split(",")[0].rstrip("0123456789")])
            self.patience.refuted |= asked[name].verdict is Verdict.FAILED
        top = [asked[name] for name in ("sensitivity", "norm", "event") if name in asked]
        return top + [check for check in asked.values() if check not in top]

    def _questions(self) -> dict[str, Question]:
        subject, arena, share = self.subject, self.arena, (1 - GAMES) * self.alpha / TESTS
        questions: dict[str, Question] = {
            "sensitivity": lambda: declared_noise.sensitivity(subject, arena.samples),
            "norm": lambda: declared_noise.norm(subject),
            "scale": lambda: declared_noise.scale(subject, arena.samples, share=share),
            "shape": lambda: declared_noise.shape(subject, arena.samples, share=share),
            "coordinates": lambda: declared_noise.coordinates(subject, arena.samples, share=share),
        }
        if subject.source == "release":
            questions |= self._of_programs(arena.pairs[0].first, share)
        return questions | self._games()

    def _of_programs(self, latent: Tensor, share: float) -> dict[str, Question]:
        """What a program can do wrong and a formula cannot."""
        subject, arena = self.subject, self.arena
        questions: dict[str, Question] = {
            "batch": lambda: independence.batch(subject, latent, share=share),
            "neighbours": lambda: batch_neighbours.neighbours(subject, trials=self.trials, share=share),
            "seed": lambda: independence.seed(subject, latent, share=share),
            "fork": lambda: independence.fork(subject, latent, share=share),
            "finiteness": lambda: independence.finiteness(subject),
            "dtype": lambda: manner(subject, arena.pairs, alpha=DTYPE * self.alpha),
            "grid": lambda: floating_point.grid(subject, arena.samples),
            "lowest bit": lambda: floating_point.lowest_bit(subject, arena.samples, share=share),
            "representability": lambda: floating_point.representability(subject, arena.samples, share=share),
        }
        if (small := self._other(2)) is not None:
            point = latent[:2].clone()
            questions["batch, dimension 2"] = lambda: independence.batch(small, point, share=share)
            questions["neighbours, dimension 2"] = lambda: batch_neighbours.neighbours(
                small, trials=4 * self.trials, share=share
            )
        return questions

    def _games(self) -> dict[str, Question]:
        """The guessing games: at the audited dimension, alone, in company, and at small dimensions."""
        subject, alpha = self.subject, self.alpha
        questions: dict[str, Question] = {}
        if subject.source == "release":
            options: dict[str, Any] = {"trials": self.trials, "alpha": FIRST / 2 * alpha}
            questions["first"] = lambda: first(subject, self.original, self.batches, **options)
            if self._other(1) is not None:
                questions["afterwards"] = lambda: afterwards(subject, self.original, self.batches, **options)
            questions["alone"] = lambda: self._in_calls("alone", LONELY_TRIALS, ALONE)
            questions["repetition"] = lambda: repetition(subject, trials=self.trials, alpha=REPETITION * alpha)
            questions["company"] = lambda: self._in_calls("company", COMPANY_TRIALS, COMPANY)
            questions["sizes"] = lambda: sizes(subject, trials=self.trials, alpha=SIZES * alpha)
        for dim in (*SMALL_DIMS, *LARGE_DIMS):
            if (other := self._other(dim)) is not None:
                questions[f"dimension {dim}"] = lambda other=other: self._elsewhere(other)  # type: ignore[misc]
        return questions | {"event": self._event}

    def _event(self) -> Finding:
        total, done = 2 * self.arena.certifying, 0

        def advance(rows: int) -> None:
            nonlocal done
            done += rows
            if self.progress is not None:
                self.progress(done, total)

        finite = [sample for sample in self.arena.samples if sample.pair.plain]
        if all((side > self.subject.largest).any(axis=1).all() for sample in finite for side in sample.releases):
            raise MechanismFailure("the mechanism returned NaN for every finite latent")
        self.patience.restart()
        return self.arena.finding(
            advance=advance, enough=lambda score, share: self.patience.enough(score, self.subject.epsilon, share)
        )

    def _in_calls(self, name: str, most: int, share: float) -> Finding:
        """A game whose every release is a call of its own, if there is anything to find (`distinguisher.pilot`)."""
        subject, alpha = self.subject, share * self.alpha
        make = lonely_pairs if name == "alone" else company_pairs
        pairs = make(self.given, dim=subject.dim, clip_norm=subject.clip_norm)
        trials = subject.affordable(min(most, self.trials), seconds=SECONDS, alone=True)
        if found := alike(subject, pairs, self.batches, trials=trials, alpha=alpha):
            return found
        needed = min(rounds_needed(subject.epsilon, alpha=alpha), 4 * most)  # of a large claim
        most_now = subject.affordable(int(needed), seconds=2 * SECONDS, alone=True)
        trials = min(trials, LATE_TRIALS) if self.patience.refuted else max(trials, most_now)
        return self._further(Arena(subject, pairs, trials, alpha))

    def _elsewhere(self, other: Subject) -> Finding:
        """A game at another dimension: with as many numbers as at the audited one, or a few times as many at a larger."""
        small = other.dim < self.subject.dim
        times = min(8, self.subject.dim // other.dim) if small else LARGE_NUMBERS * self.subject.dim / other.dim
        trials = other.affordable(2 * max(FEWEST_TRIALS, int(self.trials * times)), seconds=SECONDS) // 2
        pairs = (
            every_pair(other)
            if small
            else [pair for pair in adversarial_pairs(other.dim, clip_norm=other.clip_norm) if pair.name in LARGE]
        )
        return self._further(Arena(other, pairs, trials, SMALLER * self.alpha / len(SMALL_DIMS + LARGE_DIMS)))

    def _further(self, arena: Arena) -> Finding:
        if arena.trials < FEWEST_TRIALS:
            raise MechanismFailure(f"the mechanism is too slow for {FEWEST_TRIALS} releases in {SECONDS:g} s")
        refuted = self.patience.refuted  # already: a first look is enough
        return arena.finding(claim=self.subject.epsilon, enough=lambda score, share: refuted)

    def _other(self, dim: int) -> Subject | None:
        """The same mechanism at a smaller or larger dimension, unless it knows one only."""
        subject = self.subject
        knows = any(isinstance(getattr(subject.mechanism, name, None), int) for name in DIMENSIONS)
        if knows or dim == subject.dim or dim not in (SMALL_DIMS if dim < subject.dim else LARGE_DIMS):
            return None
        return replace(subject, dim=dim, _declared=None, _dialect=None, _seconds={})
