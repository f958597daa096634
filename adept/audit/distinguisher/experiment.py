"""An arena: a mechanism, pairs of records, and so many releases, from which one game is chosen and certified."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from adept.audit.distinguisher.choice import Score, certify, choose, choosing_rows, samples_of, screening_rows
from adept.audit.distinguisher.pairs import Pair, PairSample, Source
from adept.audit.result import Finding

# Seconds that a slow mechanism may take to screen all pairs, and to choose a game: where they bind, fewer releases choose.
SCREENING_SECONDS, CHOOSING_SECONDS = 5.0, 8.0
FEWEST_TRIALS = 100


@dataclass
class Arena:
    """Where a claim is tried by guessing an input from a release.

    Attributes:
        trials: releases of each input, those that choose the game among them.
        alpha: chance of error of the certified bound.
    """

    source: Source
    pairs: list[Pair]
    trials: int
    alpha: float
    _failures: list[str] = field(default_factory=list)

    @cached_property
    def samples(self) -> list[PairSample]:
        """The screening releases of all pairs that can be released.

        Raises:
            MechanismFailure: none can.
        """
        inputs, alone = 2 * len(self.pairs), self._alone
        rows = screening_rows(self.trials, inputs=inputs, dim=self._numbers)
        affordable = self.source.affordable(rows * inputs, seconds=SCREENING_SECONDS, alone=alone) // inputs
        samples, self._failures = samples_of(self.source, self.pairs, rows=min(rows, max(30, affordable)))
        return samples

    @property
    def _alone(self) -> bool:
        return self.pairs[0].alone or getattr(self.pairs[0].first, "ndim", 1) > 1

    @property
    def _numbers(self) -> int:
        return self.source.numbers(self.pairs[0].first)

    @property
    def certifying(self) -> int:
        """How many of the trials certify: what neither screened nor chose."""
        screened = len(self.samples[0].releases[0])
        chosen = choosing_rows(self.trials, dim=self._numbers)
        return max(FEWEST_TRIALS // 4, self.trials - screened - chosen)

    def finding(
        self,
        *,
        advance: Callable[[int], None] = lambda rows: None,
        enough: Callable[[Score, float], bool] = lambda score, share: False,
        claim: float = -math.inf,
    ) -> Finding:
        """Choose a game and certify a lower bound on epsilon, as `distinguisher.choice` explains."""
        source, samples = self.source, self.samples
        most = source.affordable(self.trials, seconds=CHOOSING_SECONDS, alone=self._alone)
        trials, certifying = min(self.trials, most), self.certifying
        game, *others = choose(source, samples, trials=trials, certifying=certifying, alpha=self.alpha)
        tests = sum(len(each.guesses) for each in (game, *others))
        options: dict[str, Any] = {"trials": certifying, "alpha": self.alpha / tests}
        score = certify(source, game, **options, advance=advance, enough=enough, claim=claim)
        for other in (
            others if score.bound <= source.epsilon and not self._alone else ()
        ):  # releases in calls of their own are dear
            further = certify(source, other, **options, enough=enough, claim=source.epsilon)
            score = max(score, further, key=lambda each: each.bound)
        counts, delta = score.counts, source.delta
        ceiling = replace(counts, right=counts.rounds, wrong=0).certified_epsilon(delta=0.0, alpha=score.alpha)
        evidence = (
            f"guessed the input from the {score.guess.name}, pair {score.pair.name}: {counts.right} right and {counts.wrong} wrong "
            f"of {counts.rounds}; so many certify {ceiling:.3g} at most"
        )
        return Finding(
            failed=score.bound > source.epsilon * (1 + 1e-9),
            evidence="; ".join([evidence, *self._failures]),
            statistic=counts.right / counts.rounds,
            p_value=min(1.0, tests * counts.p_value(epsilon=source.epsilon, delta=delta)),
            threshold=score.alpha * tests,
            certified_epsilon=score.bound,
        )


@dataclass
class Patience:
    """Says when enough is certified: the claim is refuted, and the rest would take too long.

    Attributes:
        seconds: that an audit of a refuted claim may take.
        refuted: was a check failed already.
    """

    seconds: float
    refuted: bool = False
    started: float = field(default_factory=time.monotonic)
    _round: float = field(default_factory=time.monotonic)

    def restart(self) -> None:
        """Take the time from here on as that of the rounds."""
        self._round = time.monotonic()

    def enough(self, score: Score, epsilon: float, share: float) -> bool:
        now = time.monotonic()
        rest = (now - self._round) * (1 / share - 1)
        return (self.refuted or score.bound > epsilon) and now - self.started + rest > self.seconds
