"""Exact lower bounds on epsilon from a guessing game, exact tests, and distributions of declared noise.

In each round of a guessing game, a coin picks one of two inputs, a mechanism releases this input, and a rule guesses
the input from the release or abstains. LDP stands for local differential privacy.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq
from scipy.special import bdtr, bdtrc, betainc, betainccinv, betaincinv, log_ndtr
from scipy.stats import beta, binom, gamma, hypergeom, laplace, norm

from adept.audit.result import Check, MechanismFailure
from adept.mechanisms.guarantee import words

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
    records: int = 2  # number m of inputs from which each round draws one

    def __str__(self) -> str:
        return f"{self.right} right and {self.wrong} wrong of {self.rounds}"

    def certified_epsilon(self, *, delta: float, alpha: float) -> float:
        """Return a lower bound on epsilon, which is wrong with probability at most ``alpha``."""
        return max(0.0, self._bound(delta, alpha))

    def _bound(self, delta: float, alpha: float) -> float:
        """Return ``ln(m - 1)`` plus `game_lower_bound`.

        Claim: this is a lower bound on epsilon if a rule names one of m inputs, or none. Proof: let P_i be the
        distribution of the releases of input i, and D_i the set of releases for which the rule names input i. Under
        (epsilon, delta)-LDP, ``P_i[D_i] <= e^epsilon * P_j[D_i] + delta`` for all i and j. For the probability p of a
        right round and q of a wrong round, the mean of these inequalities over all i and all j != i is ``p <=
        e^epsilon / (m - 1) * q + delta``. This is the inequality of `game_lower_bound` with ``e^epsilon / (m - 1)``
        in place of ``e^epsilon``, and the proof of that function applies. QED.
        """
        bound = game_lower_bound(self.right, self.wrong, self.rounds, delta=delta * self.answers / 2, alpha=alpha)
        return math.log(self.records - 1) + float(bound)

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

    Claim: let the rule guess the first input on the event E and the second input on the event F, both fixed before
    the rounds. Let P and P' be the distributions of the releases of the first and of the second input. A round is
    right with probability ``p = (P[E] + P'[F]) / 2`` and wrong with probability ``q = (P'[E] + P[F]) / 2``. Under
    (epsilon, delta)-LDP, ``P[E] <= exp(epsilon) * P'[E] + delta`` and ``P'[F] <= exp(epsilon) * P[F] + delta``, so
    ``p <= exp(epsilon) * q + delta``. If the rule guesses only one of the two inputs, and abstains otherwise, delta /
    2 is enough in the last inequality.

    For delta = 0, the proof needs only one confidence bound. Given the set of rounds in which the
    rule guesses, the number of wrong rounds among them is binomial with the probability ``w = q /
    (p + q) >= 1 / (1 + exp(epsilon))``. Let w_hi be the upper Clopper-Pearson bound on w. For every
    set of rounds, w_hi is below w with probability at most alpha, so the same holds on average over
    all sets. If w_hi >= w, then ``epsilon >= ln((1 - w) / w) >= ln((1 - w_hi) / w_hi)``.

    For delta > 0, write p = p_0 + r with ``p_0 <= exp(epsilon) * q`` and r <= delta. Imagine that each right round is
    *forgiven* with probability r / p. The number of forgiven rounds is binomial with a probability of at most delta.
    Let D be a number such that more than D rounds are forgiven with probability at most ``0.1 * alpha``. Without the
    forgiven rounds, the inequality for p and q holds with delta = 0. The more rounds are right, the smaller is w_hi.
    So if w_hi is computed for ``right - D`` right rounds and for the rest of alpha, w_hi is below w with probability
    at most alpha (union bound).

    ``right`` and ``wrong`` may be fractional and broadcast; ``rounds`` includes those without a
    guess. ``delta`` is half of the claimed delta if the rule guesses only one of the two inputs.
    """
    earned = np.asarray(right, float)
    if delta > 0:  # the quantile is not finite if alpha is tiny: then all rounds are forgiven
        forgiven = float(binom.isf(0.1 * alpha, rounds, min(delta, 1.0)))
        earned = np.maximum(earned - (forgiven if math.isfinite(forgiven) else rounds), 0.0)
        alpha *= 0.9
    _, upper = clopper_pearson(wrong, earned + np.asarray(wrong, float), alpha=alpha)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log1p(-upper) - np.log(upper))


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

    The event occurs in ``first`` of ``first_trials`` releases of one input, and in ``second`` of ``second_trials``
    releases of the other input. The event must be fixed before these releases are drawn. The bound is wrong with
    probability at most ``alpha``; it is -inf if the counts certify nothing.

    Claim: let P and Q be the probabilities of the event under the two inputs. An (epsilon, delta)-LDP mechanism has ``P
    <= exp(epsilon) * Q + delta`` for every event, so ``epsilon >= ln((P - delta) / Q)``. Each of the Clopper-Pearson
    bounds P >= p_lo and Q <= q_hi is wrong with probability at most alpha / 2. So the bound ``ln((p_lo - delta) /
    q_hi)`` holds with probability at least 1 - alpha (union bound; Ding et al. 2018, Jagielski et al. 2020).
    """
    lower, _ = clopper_pearson(first, first_trials, alpha=alpha / 2)
    _, upper = clopper_pearson(second, second_trials, alpha=alpha / 2)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(np.maximum(lower - delta, 0.0)) - np.log(upper))


def gaussian_delta(distance: float, *, sigma: float, epsilon: float) -> float:
    """Return the smallest delta for which continuous Gaussian noise is (epsilon, delta)-LDP.

    Let d be the l2 distance of two inputs (``distance``). Let s be the standard deviation of the noise (``sigma``).
    The exact delta is ``Phi(d / (2 * s) - epsilon * s / d) - exp(epsilon) * Phi(-d / (2 * s) - epsilon * s / d)``
    (Balle and Wang 2018, Theorem 8). Phi is the standard normal distribution function. Delta grows with the distance,
    so a mechanism's delta is the delta at the largest distance of two inputs.
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


def fisher(what: str, ours: int, ours_of: int, theirs: int, theirs_of: int) -> Difference:
    """Compare two counts by Fisher's exact test.

    The p-value is twice the smaller tail of the hypergeometric distribution of ``ours`` among
    ``ours_of`` cases, given the sum of both counts.
    """
    both = ours_of + theirs_of, ours + theirs, ours_of  # how many cases, how many of them count, and how many are ours
    tail = min(hypergeom.cdf(ours, *both), hypergeom.sf(ours - 1, *both))
    return Difference(float(min(1.0, 2 * tail)), what, ours, ours_of, theirs, theirs_of)


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
        found.append(fisher(f"{what} above {threshold:.4g}", *counts))
    return found


def binomial_p_value(count: ArrayLike, of: int, p: ArrayLike) -> Floats:
    """Return the two-sided p-values of counts under Binomial(of, p): twice the smaller tails."""
    seen, chance = np.broadcast_arrays(np.asarray(count, int), np.asarray(p, float))
    tails = np.minimum(bdtr(seen, of, chance), np.where(seen > 0, bdtrc(seen - 1, of, chance), 1.0))
    return np.asarray(np.where((chance <= 0) | (chance >= 1), seen == of * chance, np.minimum(1.0, 2 * tails)))


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


# --- Noise that a mechanism may declare


@dataclass(frozen=True, kw_only=True)
class Noise:
    """A distribution of additive noise that a mechanism may declare.

    The distance of two inputs is measured in the lp norm, where p is ``order``. A *pivot* is a number that is
    computed from the noise; if the declaration is true, its distribution is known exactly. (If a mechanism draws
    noise on a grid, the distribution of a pivot changes by less than a relative 1e-11, for epsilon up to 100.)
    """

    order: int
    pure: bool = True  # True if the density is proportional to exp(-||z|| / scale), in the lp norm
    coordinate: Any = None  # scipy's distribution of each coordinate, if the coordinates are independent

    def holds(self, distance: float, *, scale: float, epsilon: float, delta: float) -> tuple[bool, str]:
        """Decide if the claim can hold, and say what the noise needs.

        Pure noise has the loss ``distance / scale`` (Habernal 2021, Appendix A); Gaussian noise needs a delta.
        """
        if not self.pure:
            needed = gaussian_delta(distance, sigma=scale, epsilon=epsilon)
            return needed <= delta * (1 + 1e-6), f"delta {words(needed)}"
        loss = distance / scale
        # A claimed delta may cover a loss beyond epsilon: only pure claims are refuted.
        return loss <= epsilon * (1 + 1e-9) or delta > 0, f"epsilon {words(loss)}"

    def size(self, noise: Floats, scale: float) -> tuple[float, int]:
        """Return a chi-square pivot of noise (m, n), and its degrees of freedom."""
        if self.pure:  # the norm of a row is Gamma(n, scale)
            return 2 * float(np.linalg.norm(noise, ord=self.order, axis=1).sum()) / scale, 2 * noise.size
        return float(np.square(noise / scale).sum()), noise.size

    def shape(self, noise: Floats, scale: float) -> list[float]:
        """Return p-values of further pivots: of all numbers or, if these are dependent, of norms and directions.

        The norms of rows are compared with Gamma(n, scale) and, in more than one dimension, the square of one
        coordinate of the direction with Beta(1/2, (n - 1) / 2).
        """
        if self.coordinate is not None:
            return [kolmogorov(noise.ravel(), self.coordinate(scale=scale).cdf)]
        rows, dim = noise.shape
        radius = np.linalg.norm(noise, axis=1)
        tests = [kolmogorov(radius, gamma(dim, scale=scale).cdf)]
        if dim > 1:
            one = noise[np.arange(rows), np.arange(rows) % dim]
            tests.append(kolmogorov(np.square(one / radius), beta(0.5, (dim - 1) / 2).cdf))
        return tests

    def reach(self, noise: Floats, scale: float) -> list[float]:
        """Return p-values of the ends of the noise (`end_p_value`)."""
        if self.coordinate is None:
            return [end_p_value(np.linalg.norm(noise, axis=1), gamma(noise.shape[1], scale=scale).sf)]
        return [end_p_value(sign * noise.ravel(), self.coordinate(scale=scale).sf) for sign in (1, -1)]


NOISES = {
    "laplace": Noise(order=1, coordinate=laplace),  # with the scale b (Habernal 2021, Definition 2.5)
    "gaussian": Noise(order=2, pure=False, coordinate=norm),  # the scale is the standard deviation
    "l2_norm": Noise(order=2),  # the norm is Gamma(n, scale), and the direction is uniform
}


def cap_p_value(releases: Floats, centre: Floats, *, epsilon: float, clip_norm: float) -> float:
    """Return the p-value of a test that releases (m, n) of one latent follow PrivUnit's distribution.

    The test is the Kolmogorov-Smirnov test of the cosine T between a release and its input. Claim: under PrivUnit
    (Bhowmick et al. 2018, Algorithm 1), P(T >= t) is ``p * u(t) / q`` for t above a threshold g, and ``1 - (1 - p) *
    (1 - u(t)) / (1 - q)`` for t below it. Here u(t) is the share of the sphere whose cosine with the input is at
    least t, q = u(g), and p is ``q * e^eps / (1 + (e^eps - 1) * q)``. All releases have the l2 norm C / g, where C is
    ``clip_norm``. So the test computes g as C divided by the median norm of the releases.
    """
    dim = releases.shape[1]
    length = np.linalg.norm(releases, axis=1)
    g = min(clip_norm / max(float(np.median(length)), 1e-300), 1.0)
    # At the width (1 - g^2) / (n g) = 3e-4, rounding to the grid changes Kolmogorov's distance by less than 1e-3
    if dim < 2 or 1 - g * g < 3e-4 * dim * g:
        raise MechanismFailure("the cap is so narrow that rounding would show in its distribution")
    q = float(_beyond(np.asarray(g), dim))
    p = 1 / (1 + math.exp(-epsilon) * (1 - q) / q)

    def below(t: Floats) -> Floats:
        beyond = _beyond(t, dim)
        return np.where(t < g, (1 - p) * (1 - beyond) / (1 - q), 1 - p * beyond / q)

    cosines = releases @ (centre / np.linalg.norm(centre)) / np.maximum(length, 1e-300)
    return kolmogorov(np.clip(cosines, -1, 1), below)


def end_p_value(values: Floats, beyond: Callable[[float], float]) -> float:
    """Return the p-value of a test that m independent values have the tail ``beyond``.

    Claim: if P(value > t) is ``beyond(t)`` for all t, the returned number is at most a with
    probability at most a. Proof: it is G(M) with M the largest value and G(t) = ``(1 - beyond(t)) **
    m``, which is the distribution function of M; and P(G(M) <= a) <= a for every distribution. QED.
    """
    return math.exp(len(values) * math.log1p(-min(float(beyond(float(values.max()))), 1 - 1e-16)))


def looks_gaussian(releases: Floats) -> bool:
    """Return True if releases (m, d) of one record cannot be told from draws of a Gaussian.

    The covariance is estimated and removed. Then Kolmogorov-Smirnov tests compare the coordinates with a normal
    distribution, and the squared lengths with Beta's, which they follow exactly for Gaussian releases (Gnanadesikan
    and Kettenring 1972). Whole numbers, or other multiples of a step, are spread over their steps first.
    """
    rows, dim = releases.shape
    values = np.unique(releases)
    if 2 < len(values) < releases.size / 2:
        releases = releases + np.diff(values).min() * (np.random.default_rng().random(releases.shape) - 0.5)
    centred = releases - releases.mean(axis=0)
    covariance = np.atleast_2d(np.cov(centred.T))
    if len(values) < 3 or rows < 8 * dim or np.linalg.matrix_rank(covariance) < dim:
        return False
    white = np.linalg.solve(np.linalg.cholesky(covariance), centred.T).T
    lengths = np.square(white).sum(axis=1) * rows / (rows - 1) ** 2
    tests = kolmogorov(white.ravel(), norm.cdf), kolmogorov(lengths, beta(dim / 2, (rows - 1 - dim) / 2).cdf)
    return min(tests) >= 0.01  # a smaller p-value rules out Gaussian noise


def kolmogorov(values: Floats, distribution: Callable[[Floats], Floats]) -> float:
    """Return an upper bound on the p-value of the test that m values follow ``distribution``.

    The test is that of Kolmogorov and Smirnov. The bound is ``2 * exp(-2 * m * D**2)``, where D is the largest
    distance between ``distribution`` and the values' empirical distribution function (Massart 1990).
    """
    below, steps = distribution(np.sort(values)), np.arange(len(values) + 1) / len(values)
    distance = float(max((steps[1:] - below).max(), (below - steps[:-1]).max()))
    return min(1.0, 2 * math.exp(-2 * len(values) * distance**2))


def _beyond(t: Floats, dim: int) -> Floats:
    """Return the probability that the first coordinate of a uniform unit vector is >= ``t``."""
    tail = 0.5 * betainc((dim - 1) / 2, 0.5, 1 - np.square(t))
    return np.asarray(np.where(t > 0, tail, 1 - tail))
