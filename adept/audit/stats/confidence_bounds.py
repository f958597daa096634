"""Exact confidence bounds: the epsilon that counts certify, and the delta of Gaussian noise."""

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq
from scipy.special import betainccinv, betaincinv, log_ndtr
from scipy.stats import binom

Floats = NDArray[np.float64]

FORGIVEN = 0.1  # the share of alpha that counts the rounds which delta forgives


def clopper_pearson(successes: ArrayLike, trials: ArrayLike, *, alpha: float) -> tuple[Floats, Floats]:
    """Return lower and upper bounds on a probability; each is wrong with chance <= ``alpha``.

    Claim: P[p < lower] <= alpha and P[p > upper] <= alpha for k ~ Binomial(N, p), whatever p and N.
    Proof: the bounds invert the binomial's tails, which are regularised incomplete beta functions
    of p (Clopper and Pearson 1934).

    Args:
        successes: k, a count or an array of counts.
        trials: N, at least 1; broadcasts against ``successes``.
        alpha: chance of error *per side*.
    """
    count, total = np.broadcast_arrays(np.asarray(successes, float), np.asarray(trials, float))
    lower = np.where(count > 0, betaincinv(np.maximum(count, 1), total - count + 1, alpha), 0.0)
    upper = np.where(count < total, betainccinv(count + 1, np.maximum(total - count, 1), alpha), 1.0)
    # Where the inverse does not converge, at a tiny alpha, nothing is known: the trivial bounds.
    # Near one a float's spacing matters to what lies beyond it, so both are rounded outward.
    lower, upper = np.nan_to_num(lower, nan=0.0), np.nan_to_num(upper, nan=1.0)
    return np.nextafter(lower, 0.0), np.nextafter(upper, 1.0)


@dataclass(frozen=True, kw_only=True)
class GameCounts:
    """The score of a guessing game, in which a coin picks an input and a rule guesses or abstains.

    The rounds are independent, and the rule was fixed before them (`game_lower_bound`).
    """

    right: int
    wrong: int
    rounds: int  # those abstained from too
    answers: int = 2  # 1 if the rule can say one input only

    def certified_epsilon(self, *, delta: float, alpha: float) -> float:
        """Return a lower bound on epsilon, wrong with probability at most ``alpha``."""
        return max(0.0, self._bound(delta, alpha))

    def _bound(self, delta: float, alpha: float) -> float:
        half = delta * self.answers / 2
        return float(game_lower_bound(self.right, self.wrong, self.rounds, delta=half, alpha=alpha))

    def p_value(self, *, epsilon: float, delta: float) -> float:
        """Return the smallest alpha >= 1e-300 at which the counts refute (epsilon, delta)."""

        def excess(log_alpha: float) -> float:
            return max(self._bound(delta, math.exp(log_alpha)), -1e6) - epsilon

        low, high = math.log(1e-300), math.log(0.999)
        if excess(high) <= 0:
            return 1.0
        return 1e-300 if excess(low) > 0 else math.exp(brentq(excess, low, high))


def game_lower_bound(right: ArrayLike, wrong: ArrayLike, rounds: int, *, delta: float, alpha: float) -> Floats:
    """Return a lower bound on epsilon from a game's score, wrong with chance <= ``alpha``.

    Claim: let the rule say "first" on the event E and "second" on the event F, both fixed before
    the rounds. A round is right with probability p = (P[E] + P'[F]) / 2 and wrong with probability
    q = (P'[E] + P[F]) / 2, P and P' being the releases of the two inputs. Under (epsilon,
    delta)-LDP, P[E] <= exp(epsilon) P'[E] + delta and P'[F] <= exp(epsilon) P[F] + delta, so p <=
    exp(epsilon) q + delta; if the rule can name only one of the two inputs, only half of delta
    counts (the argument ``delta`` is the part that counts).

    For delta = 0 one bound is enough. Given which rounds were answered, the wrong ones among them
    are binomial with the share w = q / (p + q) >= 1 / (1 + exp(epsilon)). Clopper and Pearson's
    w_hi is below w with probability at most alpha, whatever was answered, hence also on average;
    unless it is, epsilon >= ln((1 - w) / w) >= ln((1 - w_hi) / w_hi).

    For delta > 0, p = p_0 + r with p_0 <= exp(epsilon) q and r <= delta. Say that each right round
    is forgiven with probability r / p. The forgiven ones are binomial with a probability of at most
    delta, so more than D of them, the upper quantile at FORGIVEN * alpha, have at most that
    probability. Without them the rounds are those of delta = 0, and w_hi shrinks as the rounds
    right grow: w_hi of right - D is below w with probability at most alpha in all (union bound).

    Args:
        right: rounds guessed right; may be fractional while a rule is being chosen. Broadcasts
            against ``wrong``.
        wrong: rounds guessed wrong.
        rounds: all rounds, including those without a guess.
        delta: the probability mass that the claim's delta allows this rule's events.
        alpha: chance of error.
    """
    earned = np.asarray(right, float)
    if delta > 0:
        earned = np.maximum(earned - _forgiven(rounds, delta, FORGIVEN * alpha), 0.0)
        alpha *= 1 - FORGIVEN
    _, upper = clopper_pearson(wrong, earned + np.asarray(wrong, float), alpha=alpha)
    with np.errstate(divide="ignore"):
        bound: Floats = np.log1p(-upper) - np.log(upper)
    return bound


@lru_cache(1024)
def _forgiven(rounds: int, delta: float, alpha: float) -> float:
    """Return D with P[more than D of ``rounds`` events of chance ``delta``] <= ``alpha``."""
    most = float(binom.isf(alpha, rounds, min(delta, 1.0)))
    return most if math.isfinite(most) else float(rounds)


def rounds_needed(epsilon: float, *, alpha: float) -> float:
    """Return the number m of right guesses, none wrong, with (1 + e^-epsilon)^-m = alpha."""
    return -math.log(alpha) / math.log1p(math.exp(-epsilon)) if epsilon < 50 else math.inf


def say_trials(needed: float) -> str:
    """Return a number of trials in words, with two significant digits."""
    return "no number of trials" if math.isinf(needed) else f"about {float(f'{needed:.2g}'):,.0f} trials"


def epsilon_lower_bound(
    first: ArrayLike, second: ArrayLike, first_trials: int, second_trials: int, *, delta: float, alpha: float
) -> Floats:
    """Return a lower bound on epsilon from one event's counts under two inputs.

    It is wrong with probability at most ``alpha``.
    Claim: an (epsilon, delta)-LDP mechanism has P <= exp(epsilon) Q + delta for every event, so
    epsilon >= ln((P - delta) / Q). With P >= p_lo and Q <= q_hi, each wrong with probability at
    most alpha/2, the bound ln((p_lo - delta) / q_hi) holds with probability 1 - alpha (union bound;
    Ding et al. 2018, Jagielski et al. 2020). The event must have been fixed before the counted
    releases were drawn.

    Returns:
        The bound; -inf if nothing is certified.
    """
    lower, _ = clopper_pearson(first, first_trials, alpha=alpha / 2)
    _, upper = clopper_pearson(second, second_trials, alpha=alpha / 2)
    mass = np.maximum(lower - delta, 0.0)
    with np.errstate(divide="ignore"):
        bound: Floats = np.log(mass) - np.log(upper)
    return bound


def gaussian_delta(distance: float, *, sigma: float, epsilon: float) -> float:
    """Return the exact delta of continuous Gaussian noise for inputs at l2 ``distance``.

    Phi(d/2s - eps s/d) - exp(eps) Phi(-d/2s - eps s/d) (Balle and Wang 2018, Theorem 8), in
    logarithms because exp(eps) overflows. It grows with the distance, so the largest distance, the
    sensitivity, determines delta.
    """
    if distance == 0:
        return 0.0
    ratio = distance / sigma
    high = float(log_ndtr(ratio / 2 - epsilon / ratio))
    low = epsilon + float(log_ndtr(-ratio / 2 - epsilon / ratio))
    return math.exp(high) * -math.expm1(low - high) if low < high else 0.0
