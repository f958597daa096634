"""The audit: every check, put to one mechanism."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from adept.audit import calls, declared, floats
from adept.audit.events import certify, choose, screening_rows, threshold_rows
from adept.audit.pairs import Pair, PairSample, adversarial_pairs, sample_pair
from adept.audit.result import AuditResult, Check, Finding, MechanismFailure, Verdict, judge
from adept.audit.subject import SOURCES, Subject
from adept.errors import ConfigurationError

EVENT_SHARE = 0.9  # of alpha; the rest is split evenly over the tests with a p-value, which have power to spare
TESTS = 7  # scale, shape, coordinates, batch, seed, fork, representability
TRIALS_PER_PAIR = 25  # the fewest from which an event can be chosen at all

Progress = Callable[[int, int], None]

SEES = {
    "sensitivity": "Sees inputs farther apart than the declared noise covers. Blind to noise that is not as declared.",
    "norm": "Sees projected latents outside the declared set, to the last bit, on 24 latents of every size.",
    "event": "Sees any leak by which a rule guesses the input, whatever the mechanism declares: certifies a bound on epsilon. "
    "It cannot exceed about ln(trials), and a leak spread over many coordinates shows only in part.",
    "scale": "Sees noise smaller than declared, by fractions of a percent. Blind to what is not additive noise.",
    "shape": "Sees noise of another law than declared, also where it depends on the input. Blind to dependence.",
    "coordinates": "Sees noise shared by adjacent coordinates or rows in sign or size. Blind to dependence at a distance.",
    "batch": "Sees noise that records of one batch share exactly. Blind to partly shared noise.",
    "seed": "Sees noise that torch, NumPy or random seeds repeat. Blind to a secret seed of the mechanism's own.",
    "fork": "Sees noise that forked workers share. Blind to processes started in other ways.",
    "finiteness": "Sees NaN or Inf that come through. Blind to what a constant put in their place would tell.",
    "grid": "Sees floating-point noise that says it is exact. Blind to floats that were rounded to a grid afterwards.",
    "representability": "Sees low bits that tell one input from another. Blind to traces in which numbers are likely.",
}


def run(
    mechanism: Any,
    *,
    dim: int = 64,
    trials: int = 10_000,
    confidence: float = 0.999,
    source: str = "release",
    pairs: Sequence[tuple[Tensor, Tensor]] | None = None,
    time_limit: float = 60.0,
    seed: int | None = None,
    progress: Progress | None = None,
) -> AuditResult:
    """Audit a mechanism's claim of (epsilon, delta)-local differential privacy for any two records.

    All statistical verdicts hold together with probability ``confidence``: 0.9 of alpha = 1 - confidence goes to the
    certified events, the rest in equal parts to the seven tests with a p-value (union bound); checks without a p-value
    are arithmetic and cannot err by chance. So a sound mechanism is accused with probability at most alpha.

    Args:
        mechanism: anything with ``epsilon``, ``privatize`` (latents (B, n) -> (B, n)) and, if it has one, ``delta``. What else it
            declares is tested too: ``clip`` (default "l2"), ``clip_norm`` (1), ``project``, ``guarantee(dim)`` with ``exact`` and
            ``scale``, and ``noise``, the law of additive noise: "laplace", "gaussian", "l2_norm" or "cap".
        dim: n, the number of coordinates.
        trials: releases of each of two inputs, at least 100 (25 a pair): at most half choose the events, the others certify them.
        confidence: strictly between 0 and 1.
        source: "release" audits ``privatize``; "simulate" audits ``simulate`` instead, which is faster and judges the
            formula, not the program.
        pairs: further pairs of latents (n,) on which to look for a violation.
        time_limit: seconds that one call of the mechanism may take.
        seed: for ``source="simulate"`` alone.
        progress: called with releases counted so far and in all.

    Raises:
        ConfigurationError: an argument is out of range, or the mechanism has no usable ``epsilon`` or ``privatize``.
    """
    _check_arguments(dim, confidence, source, time_limit)
    generator = torch.Generator()
    generator.manual_seed(seed) if seed is not None else generator.seed()
    subject = Subject(mechanism, dim=dim, source=source, time_limit=time_limit, generator=generator)
    every_pair = _pairs(subject, pairs)
    if trials < TRIALS_PER_PAIR * len(every_pair):
        raise ConfigurationError(f"trials must be at least {TRIALS_PER_PAIR * len(every_pair)}, got {trials}")
    audit = _Audit(subject, trials=trials, alpha=1 - confidence, pairs=every_pair, progress=progress)
    started = time.monotonic()
    checks = tuple(audit.checks())
    return AuditResult(
        mechanism=subject.name,
        claimed_epsilon=subject.epsilon,
        delta=subject.delta,
        dim=dim,
        trials=trials,
        confidence=confidence,
        source=source,
        seconds=time.monotonic() - started,
        releases_judged=any(check.name == "event" and check.verdict is not Verdict.UNJUDGED for check in checks),
        checks=checks,
    )


@dataclass
class _Audit:
    subject: Subject
    trials: int
    alpha: float
    pairs: list[Pair]
    progress: Progress | None
    _failures: list[str] = field(default_factory=list)

    @cached_property
    def _samples(self) -> list[PairSample]:
        rows = screening_rows(self.trials, pairs=len(self.pairs), dim=self.subject.dim)
        samples = []
        for pair in self.pairs:
            try:
                samples.append(sample_pair(self.subject, pair, rows))
            except MechanismFailure as failure:
                self._failures.append(f"pair {pair.name}: {failure}")
        return samples

    @property
    def samples(self) -> list[PairSample]:
        """The choosing releases of all pairs that can be released.

        Raises:
            MechanismFailure: none can.
        """
        if not self._samples:
            raise MechanismFailure(self._failures[0])
        return self._samples

    def checks(self) -> list[Check]:
        """Ask every question, strongest and cheapest first."""
        subject, share = self.subject, (1 - EVENT_SHARE) * self.alpha / TESTS
        latent = self.pairs[0].first
        questions: dict[str, Callable[[], Finding]] = {
            "sensitivity": lambda: declared.sensitivity(subject, self.samples),
            "norm": lambda: declared.norm(subject),
            "event": self._event,
            "scale": lambda: declared.scale(subject, self.samples, share=share),
            "shape": lambda: declared.shape(subject, self.samples, share=share),
            "coordinates": lambda: declared.coordinates(subject, self.samples, share=share),
        }
        if subject.source == "release":
            questions |= {
                "batch": lambda: calls.batch(subject, latent, share=share),
                "seed": lambda: calls.seed(subject, latent, share=share),
                "fork": lambda: calls.fork(subject, latent, share=share),
                "finiteness": lambda: calls.finiteness(subject),
                "grid": lambda: floats.grid(subject, self.samples),
                "representability": lambda: floats.representability(subject, self.samples, share=share),
            }
        return [judge(name, question, sees=SEES[name]) for name, question in questions.items()]

    def _event(self) -> Finding:
        """Certify a lower bound on epsilon by the better of two rules, as `adept.audit.events` explains."""
        subject, samples, failures = self.subject, self.samples, self._failures
        screened = len(self.pairs) * len(samples[0].releases[0])
        certifying = self.trials - screened - threshold_rows(self.trials)
        game = choose(subject, samples, trials=self.trials, certifying=certifying)
        scores = certify(subject, game, trials=certifying, advance=self._advance(2 * certifying))
        alpha = EVENT_SHARE * self.alpha / len(scores)
        counts = max(scores, key=lambda score: score.certified_epsilon(delta=subject.delta, alpha=alpha))
        bound = counts.certified_epsilon(delta=subject.delta, alpha=alpha)
        ceiling = replace(counts, right=counts.rounds, wrong=0).certified_epsilon(delta=0.0, alpha=alpha)
        evidence = (
            f"guessed the input from the {game.name}, pair {game.pair.name}: {counts.right} right and {counts.wrong} wrong of "
            f"{counts.rounds}; so many certify {ceiling:.3g} at most"
        )
        return Finding(
            failed=bound > subject.epsilon * (1 + 1e-9),
            evidence="; ".join([evidence, *failures]),
            statistic=counts.right / counts.rounds,
            p_value=min(1.0, len(scores) * counts.p_value(epsilon=subject.epsilon, delta=subject.delta)),
            threshold=alpha * len(scores),
            certified_epsilon=bound,
        )

    def _advance(self, total: int) -> Callable[[int], None]:
        """Return what counts the certified releases and tells ``progress`` of them."""
        done = 0

        def advance(rows: int) -> None:
            nonlocal done
            done += rows
            if self.progress is not None:
                self.progress(done, total)

        return advance


def _check_arguments(dim: int, confidence: float, source: str, time_limit: float) -> None:
    if dim < 1:
        raise ConfigurationError(f"dim must be at least 1, got {dim}")
    if not 0 < confidence < 1:
        raise ConfigurationError(f"confidence must be between 0 and 1, got {confidence}")
    if source not in SOURCES:
        raise ConfigurationError(f"source must be one of {', '.join(SOURCES)}, got {source!r}")
    if not time_limit > 0:
        raise ConfigurationError(f"time_limit must be positive, got {time_limit}")


def _pairs(subject: Subject, pairs: Sequence[tuple[Tensor, Tensor]] | None) -> list[Pair]:
    """Return the user's pairs first, then the adversarial ones."""
    mine = []
    for number, pair in enumerate(pairs or (), start=1):
        first, second = (latent.detach().to("cpu", torch.float64) for latent in pair)
        if first.shape != (subject.dim,) or second.shape != (subject.dim,):
            raise ConfigurationError(f"pairs must hold latents of shape ({subject.dim},), got {tuple(first.shape)}")
        if not (first.isfinite().all() and second.isfinite().all()):
            raise ConfigurationError(f"pairs must be finite, got NaN or Inf in pair {number}")
        mine.append(Pair(name=f"given {number}", first=first, second=second))
    return mine + adversarial_pairs(subject.dim, clip_norm=subject.clip_norm)
