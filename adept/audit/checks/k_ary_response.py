"""The audit of randomised response over whole numbers: its law is known, so it is tested as a whole.

The claim (``adept.mechanisms.description``) is one sentence: the true number comes out with probability A / W, every other one
with B / W, and A <= e^eps B. So there is nothing to search for. The odds are compared with e^eps as rationals; how often the
truth is told is a binomial count, where the lies fall a uniform one; and the best guess between two numbers, "the one that came
out", certifies an epsilon by a confidence bound on its counts, whatever the mechanism declares.
"""

import random
import time
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from scipy import stats

from adept.audit.result import AuditResult, Check, Finding, MechanismFailure, judge
from adept.audit.stats.bounds import GameCounts
from adept.errors import ConfigurationError
from adept.mechanisms.noise import exact_odds

EVENT_SHARE = 0.9  # of alpha, for the certified event; the rest is shared by the two tests with a p-value
TESTS = 2
BINS = 16
SLACK = Fraction(1, 1 << 58)  # by how much the best odds that integers reach may be missed

SEES = {
    "range": "Sees releases that are no whole numbers below K.",
    "odds": "Sees declared odds above e^eps, exactly. Blind to a release that does not follow them.",
    "truth": "Sees a true number that comes out more or less often than declared.",
    "lies": "Sees lies that favour numbers near the truth, or the truth among the lies. Blind to patterns finer than a sixteenth.",
    "event": "Sees that one of two numbers is told too often, whatever is declared: certifies a bound on epsilon.",
    "seed": "Sees releases that seeds of torch, NumPy or random repeat. Blind to a secret seed of the mechanism's own.",
}


def run_description(mechanism: Any, *, trials: int = 10_000, confidence: float = 0.999) -> AuditResult:
    """Audit the claim of a mechanism on {0, .., K-1}; a sound one is accused with probability at most 1 - ``confidence``.

    Args:
        mechanism: anything with ``epsilon``, ``count`` (K), ``odds`` (A, B) and ``privatize`` (list[int] -> list[int]).
        trials: releases of each of two numbers, at least 100.
        confidence: strictly between 0 and 1.

    Raises:
        ConfigurationError: an argument is out of range.
    """
    if trials < 100 or not 0 < confidence < 1:
        raise ConfigurationError(
            f"trials must be at least 100 and confidence between 0 and 1, got {trials} and {confidence}"
        )
    begin = time.monotonic()
    audit = _Audit(mechanism, trials=trials, alpha=1 - confidence)
    checks = audit.checks()
    return AuditResult(
        mechanism=str(getattr(mechanism, "name", type(mechanism).__name__)),
        claimed_epsilon=float(mechanism.epsilon),
        delta=0.0,
        dim=None,
        trials=trials,
        confidence=confidence,
        source="release",
        seconds=time.monotonic() - begin,
        releases_judged=audit.released is not None,
        checks=tuple(checks),
    )


class _Audit:
    """The releases of two numbers, the smallest and the largest, and the questions put to them."""

    def __init__(self, mechanism: Any, *, trials: int, alpha: float) -> None:
        self.mechanism, self.alpha, self.size = mechanism, alpha, int(mechanism.count)
        self.inputs = [0] * trials + [self.size - 1] * trials
        self.released: list[int] | None = None

    def checks(self) -> list[Check]:
        """Every question, asked once."""
        questions = {
            "range": self._range,
            "odds": self._odds,
            "truth": self._truth,
            "lies": self._lies,
            "event": self._event,
            "seed": self._seed,
        }
        return [judge(name, question, sees=SEES[name]) for name, question in questions.items()]

    @property
    def _ranks(self) -> list[int]:
        """How far round the circle of numbers each release lies from the truth: 0 is the truth."""
        if self.released is None:
            raise MechanismFailure("the releases are no numbers below K")
        return [(out - true) % self.size for out, true in zip(self.released, self.inputs, strict=True)]

    def _release(self, inputs: Sequence[int]) -> list[Any]:
        try:
            return list(self.mechanism.privatize(list(inputs)))
        except Exception as error:
            raise MechanismFailure(f"the mechanism raised {type(error).__name__}") from error

    def _range(self) -> Finding:
        released = self._release(self.inputs)
        wrong = sum(not (type(out) is int and 0 <= out < self.size) for out in released)
        if not wrong and len(released) == len(self.inputs):
            self.released = released
        return Finding(failed=self.released is None, evidence=f"{wrong} of {len(released)} releases out of range")

    def _odds(self) -> Finding:
        heavy, light = self.mechanism.odds
        most, unit = exact_odds(Fraction(self.mechanism.epsilon))
        failed = Fraction(heavy, light) > Fraction(most, unit) * (1 + SLACK)
        return Finding(failed=failed, evidence=f"A / B is {float(Fraction(heavy * unit, light * most)):.17g} of e^eps")

    def _truth(self) -> Finding:
        heavy, light = self.mechanism.odds
        keep = heavy / (heavy + (self.size - 1) * light)
        told, asked = self._ranks.count(0), len(self.inputs)
        p_value = float(stats.binomtest(told, asked, keep).pvalue)
        return self._tested(p_value, f"the truth in {told} of {asked} releases, {keep * asked:.1f} expected")

    def _lies(self) -> Finding:
        lies = [rank - 1 for rank in self._ranks if rank]
        bins = min(BINS, self.size - 1)
        if bins < 2 or len(lies) < 5 * bins:
            raise MechanismFailure(f"only {len(lies)} lies: too few to test")
        edges = [-(-place * (self.size - 1) // bins) for place in range(bins + 1)]
        counts = np.bincount([lie * bins // (self.size - 1) for lie in lies], minlength=bins)
        shares = np.array([float(Fraction(high - low, self.size - 1)) for low, high in pairwise(edges)])
        p_value = float(stats.chisquare(counts, len(lies) * shares / shares.sum()).pvalue)
        return self._tested(p_value, f"{len(lies)} lies in {bins} bins")

    def _event(self) -> Finding:
        told, half = self._ranks, len(self.inputs) // 2
        first, second = 0, self.size - 1
        released = self.released or []
        right = told.count(0)
        wrong = released[:half].count(second) + released[half:].count(first)
        game = GameCounts(right=right, wrong=wrong, rounds=2 * half)
        certified = game.certified_epsilon(delta=0.0, alpha=EVENT_SHARE * self.alpha)
        evidence = f"the number that came out was the true one {right} times, the other of the two {wrong} times"
        return Finding(failed=certified > self.mechanism.epsilon, evidence=evidence, certified_epsilon=certified)

    def _seed(self) -> Finding:
        first, second = (self._seeded() for _ in range(2))
        repeats = first == second
        rank = (1 - float(self._ranks.count(0)) / len(self.inputs)) * len(self.inputs)
        if repeats and rank < 40:
            raise MechanismFailure("nearly every release is the truth: two equal runs mean nothing")
        return Finding(failed=repeats, evidence=f"two runs from one seed are {'equal' if repeats else 'different'}")

    def _seeded(self) -> list[Any]:
        states = random.getstate(), np.random.get_state(), torch.get_rng_state()
        try:
            random.seed(0)
            np.random.seed(0)
            torch.manual_seed(0)
            return self._release(self.inputs)
        finally:
            random.setstate(states[0])
            np.random.set_state(states[1])
            torch.set_rng_state(states[2])

    def _tested(self, p_value: float, evidence: str) -> Finding:
        threshold = (1 - EVENT_SHARE) * self.alpha / TESTS
        return Finding(failed=p_value < threshold, evidence=evidence, p_value=p_value, threshold=threshold)
