"""Exact lower bounds on epsilon from a guessing game, exact tests, and the delta of Gaussian noise.

In each round of a guessing game, a coin picks one of two inputs, a mechanism releases this input,
and a rule guesses the input from the release or abstains. LDP stands for local differential
privacy.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq
from scipy.special import bdtr, bdtrc, betainccinv, betaincinv, gammaln, log_ndtr
from scipy.stats import binom

from adept.audit.result import Check

Floats = NDArray[np.float64]


def clopper_pearson(successes: ArrayLike, trials: ArrayLike, *, alpha: float) -> tuple[Floats, Floats]:
    """Return a lower and an upper bound on a probability, from the number of successes in trials.

    Claim: for k ~ Binomial(N, p), P[p < lower] <= alpha and P[p > upper] <= alpha, whatever p and
    N. Proof: the bounds invert the tails of the binomial distribution, which are regularised
    incomplete beta functions of p (Clopper and Pearson 1934). Arrays of k and N broadcast.
    """
    count, total = np.broadcast_arrays(np.asarray(successes, float), np.asarray(trials, float))
    lower = np.where(count > 0, betaincinv(np.maximum(count, 1), total - count + 1, alpha), 0.0)
    upper = np.where(count < total, betainccinv(count + 1, np.maximum(total - count, 1), alpha), 1.0)
    # If the inverse does not converge because alpha is tiny, the bounds are the trivial ones, 0 and 1.
    # Near 1, the spacing of floats is large compared with 1 - bound, so both bounds are rounded outward.
    lower, upper = np.nan_to_num(lower, nan=0.0), np.nan_to_num(upper, nan=1.0)
    return np.nextafter(lower, 0.0), np.nextafter(upper, 1.0)


@dataclass(frozen=True, kw_only=True)
class GameCounts:
    """The numbers of right and wrong guesses in independent rounds of a rule fixed before them."""

    right: int
    wrong: int
    rounds: int  # all rounds, including those without a guess
    answers: int = 2  # 1 if the rule only ever guesses one of the two inputs

    def __str__(self) -> str:
        return f"{self.right} right and {self.wrong} wrong of {self.rounds}"

    def certified_epsilon(self, *, delta: float, alpha: float) -> float:
        """Return a lower bound on epsilon, which is wrong with probability at most ``alpha``."""
        return max(0.0, self._bound(delta, alpha))

    def _bound(self, delta: float, alpha: float) -> float:
        half = delta * self.answers / 2
        return float(game_lower_bound(self.right, self.wrong, self.rounds, delta=half, alpha=alpha))

    def p_value(self, *, epsilon: float, delta: float) -> float:
        """Return the p-value of the (epsilon, delta)-LDP claim, but never less than 1e-300."""

        def excess(log_alpha: float) -> float:
            return max(self._bound(delta, math.exp(log_alpha)), -1e6) - epsilon

        low, high = math.log(1e-300), math.log(0.999)
        if excess(high) <= 0:
            return 1.0
        return 1e-300 if excess(low) > 0 else math.exp(brentq(excess, low, high))


def game_lower_bound(right: ArrayLike, wrong: ArrayLike, rounds: int, *, delta: float, alpha: float) -> Floats:
    """Return a lower bound on epsilon from the right and wrong guesses of a rule.

    Claim: let the rule guess the first input on the event E and the second input on the event F,
    both fixed before the rounds. Let P and P' be the distributions of the releases of the first and
    of the second input. A round is right with probability ``p = (P[E] + P'[F]) / 2`` and wrong with
    probability ``q = (P'[E] + P[F]) / 2``. Under (epsilon, delta)-LDP, ``P[E] <= exp(epsilon) *
    P'[E] + delta`` and ``P'[F] <= exp(epsilon) * P[F] + delta``, so ``p <= exp(epsilon) * q +
    delta``. If the rule guesses only one of the two inputs, and abstains otherwise, delta / 2 is
    enough in the last inequality.

    For delta = 0, the proof needs only one confidence bound. Given the set of rounds in which the
    rule guesses, the number of wrong rounds among them is binomial with the probability ``w = q /
    (p + q) >= 1 / (1 + exp(epsilon))``. Let w_hi be the upper Clopper-Pearson bound on w. For every
    set of rounds, w_hi is below w with probability at most alpha, so the same holds on average over
    all sets. If w_hi >= w, then ``epsilon >= ln((1 - w) / w) >= ln((1 - w_hi) / w_hi)``.

    For delta > 0, write p = p_0 + r with ``p_0 <= exp(epsilon) * q`` and r <= delta. Imagine that
    each right round is *forgiven* with probability r / p. The number of forgiven rounds is binomial
    with a probability of at most delta. Let D be a number such that more than D rounds are forgiven
    with probability at most ``0.1 * alpha``. Without the forgiven rounds, the inequality for p
    and q holds with delta = 0. The more rounds are right, the smaller is w_hi. So if w_hi is
    computed for ``right - D`` right rounds and for the rest of alpha, w_hi is below w with
    probability at most alpha (union bound).

    ``right`` and ``wrong`` may be fractional and broadcast; ``rounds`` includes those without a
    guess. ``delta`` is half of the claimed delta if the rule guesses only one of the two inputs.
    """
    earned = np.asarray(right, float)
    if delta > 0:
        earned = np.maximum(earned - _forgiven(rounds, delta, 0.1 * alpha), 0.0)
        alpha *= 0.9
    _, upper = clopper_pearson(wrong, earned + np.asarray(wrong, float), alpha=alpha)
    with np.errstate(divide="ignore"):
        bound: Floats = np.log1p(-upper) - np.log(upper)
    return bound


@lru_cache(1024)
def _forgiven(rounds: int, delta: float, alpha: float) -> float:
    """Return a number that a Binomial(rounds, delta) count exceeds with chance <= ``alpha``."""
    most = float(binom.isf(alpha, rounds, min(delta, 1.0)))
    return most if math.isfinite(most) else float(rounds)


def rounds_needed(epsilon: float, *, alpha: float) -> float:
    """Return the number of right guesses that refute a claimed epsilon if no guess is wrong."""
    return -math.log(alpha) / math.log1p(math.exp(-epsilon)) if epsilon < 50 else math.inf


def say_trials(needed: float) -> str:
    """Return a phrase such as "about 1,200 trials", with two significant digits."""
    return "no number of trials" if math.isinf(needed) else f"about {float(f'{needed:.2g}'):,.0f} trials"


def epsilon_lower_bound(
    first: ArrayLike, second: ArrayLike, first_trials: int, second_trials: int, *, delta: float, alpha: float
) -> Floats:
    """Return a lower bound on epsilon from the counts of one event under two inputs.

    The event occurs in ``first`` of ``first_trials`` releases of one input, and in ``second`` of
    ``second_trials`` releases of the other input. The event must be fixed before these releases are
    drawn. The bound is wrong with probability at most ``alpha``; it is -inf if the counts certify
    nothing.

    Claim: let P and Q be the probabilities of the event under the two inputs. An (epsilon,
    delta)-LDP mechanism has ``P <= exp(epsilon) * Q + delta`` for every event, so ``epsilon >=
    ln((P - delta) / Q)``. Each of the Clopper-Pearson bounds P >= p_lo and Q <= q_hi is wrong with
    probability at most alpha / 2. So the bound ``ln((p_lo - delta) / q_hi)`` holds with probability
    at least 1 - alpha (union bound; Ding et al. 2018, Jagielski et al. 2020).
    """
    lower, _ = clopper_pearson(first, first_trials, alpha=alpha / 2)
    _, upper = clopper_pearson(second, second_trials, alpha=alpha / 2)
    mass = np.maximum(lower - delta, 0.0)
    with np.errstate(divide="ignore"):
        bound: Floats = np.log(mass) - np.log(upper)
    return bound


def gaussian_delta(distance: float, *, sigma: float, epsilon: float) -> float:
    """Return the smallest delta for which continuous Gaussian noise is (epsilon, delta)-LDP.

    Let d be the l2 distance of two inputs (``distance``). Let s be the standard deviation of the
    noise (``sigma``). The exact delta is ``Phi(d / (2 * s) - epsilon * s / d) - exp(epsilon) *
    Phi(-d / (2 * s) - epsilon * s / d)`` (Balle and Wang 2018, Theorem 8). Phi is the standard
    normal distribution function. Delta grows with the distance, so a mechanism's delta is the delta
    at the largest distance of two inputs.
    """
    if distance == 0:
        return 0.0
    ratio = distance / sigma  # in logarithms from here on: exp(epsilon) may overflow
    high = float(log_ndtr(ratio / 2 - epsilon / ratio))
    low = epsilon + float(log_ndtr(-ratio / 2 - epsilon / ratio))
    return math.exp(high) * -math.expm1(low - high) if low < high else 0.0


@dataclass(frozen=True)
class Difference:
    """A comparison of two counts, one from each of two samples, with the comparison's p-value."""

    p_value: float
    what: str
    ours: int  # the count in the first sample, among ``ours_of`` cases
    ours_of: int
    theirs: int
    theirs_of: int

    def __str__(self) -> str:
        return f"{self.what}: {self.ours} of {self.ours_of} against {self.theirs} of {self.theirs_of}"


def fisher(ours: int, ours_of: int, theirs: int, theirs_of: int) -> float:
    """Return the two-sided p-value of Fisher's exact test, which compares two counts.

    The p-value is twice the smaller tail of the hypergeometric distribution of ``ours`` among
    ``ours_of`` cases, given the sum of both counts.
    """
    both, least = ours + theirs, max(0, ours + theirs - theirs_of)
    count = np.arange(least, min(both, ours_of) + 1, dtype=np.float64)
    logs = _choose(ours_of, count) + _choose(theirs_of, both - count) - _choose(ours_of + theirs_of, np.float64(both))
    chances = np.exp(logs)
    lower, upper = chances[: ours - least + 1].sum(), chances[ours - least :].sum()
    return float(min(1.0, 2 * min(lower, upper)))


def _choose(of: int, count: Floats | np.float64) -> Floats | np.float64:
    return np.asarray(gammaln(of + 1) - gammaln(count + 1) - gammaln(of - count + 1))


def differences(first: Floats, second: Floats, *, what: str) -> list[Difference]:
    """Compare two samples by how many of their numbers lie above each of several thresholds.

    The thresholds are quantiles of the two samples together. Claim: Fisher's test of these counts
    is exact if all numbers are independent and have the same distribution. Proof: given the pooled
    numbers, every way to divide them into the two samples is equally likely, and the thresholds are
    always the same. So the number of values above the threshold in one sample is hypergeometric.
    """
    pooled = np.concatenate([first, second])
    found = []
    for threshold in np.unique(np.quantile(pooled, (0.02, 0.1, 0.3, 0.5, 0.7, 0.9, 0.98))):
        counts = int((first > threshold).sum()), len(first), int((second > threshold).sum()), len(second)
        found.append(Difference(fisher(*counts), f"{what} above {threshold:.4g}", *counts))
    return found


def binomial_p_value(count: int, of: int, p: float) -> float:
    """Return the two-sided p-value of ``count`` under Binomial(of, p): twice the smaller tail."""
    if p <= 0 or p >= 1:
        return 1.0 if count == of * p else 0.0
    lower, upper = float(bdtr(count, of, p)), float(bdtrc(count - 1, of, p)) if count else 1.0
    return min(1.0, 2 * min(lower, upper))


def certified(
    counts: GameCounts, evidence: str, *, epsilon: float, delta: float, alpha: float, tests: int = 1
) -> Check:
    """Return a check that fails if the counts certify an epsilon above the claimed ``epsilon``.

    The check is one of ``tests`` tests, each of which gets an equal part of ``alpha``.
    """
    bound = counts.certified_epsilon(delta=delta, alpha=alpha / tests)
    return Check.of(
        failed=bound > epsilon * (1 + 1e-9),
        evidence=evidence,
        statistic=counts.right / counts.rounds,
        p_value=min(1.0, tests * counts.p_value(epsilon=epsilon, delta=delta)),
        threshold=alpha,
        certified_epsilon=bound,
    )


def combined(p_values: Sequence[float], evidence: str, *, alpha: float, statistic: float | None = None) -> Check:
    """Return one check for several tests: the smallest p-value is multiplied by their number."""
    p = min(1.0, min(p_values) * len(p_values))
    return Check.of(failed=p < alpha, evidence=evidence, statistic=statistic, p_value=p, threshold=alpha)


def least_probable(found: Sequence[Difference], what: str, *, alpha: float) -> Check:
    """Return one check for several comparisons, which names the least probable comparison."""
    least = min(found, key=lambda difference: difference.p_value)
    evidence, share = f"{what}; least probable: {least}", least.ours / max(1, least.ours_of)
    return combined([each.p_value for each in found], evidence, alpha=alpha, statistic=share)
