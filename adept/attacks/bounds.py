r"""What no attacker can exceed, given the true epsilon: bounds on guesses of a record, and of whether it took part.

Every bound follows from P[M(x) in S] <= e^eps P[M(x') in S] + delta alone, so it holds for whatever is computed from one
release. A measured rate that lies above a bound with its whole confidence interval refutes the epsilon that was put in. The
secret has to be drawn from the prior that the bound is told, and the attack fixed before; ``adept.attacks.reconstruction``
plays it so.
"""

import math
from dataclasses import dataclass

from adept.audit.stats.bounds import clopper_pearson
from adept.errors import ConfigurationError
from adept.studies.limits import best_guess

__all__ = ["Rate", "best_guess", "good_enough", "membership_auc", "membership_power", "several_guesses"]


@dataclass(frozen=True)
class Rate:
    """How often an attack succeeded, with its interval by Clopper and Pearson.

    Attributes:
        value: the share.
        low: lower end.
        high: upper end.
        trials: independent rounds.
        confidence: of both ends together.
    """

    value: float
    low: float
    high: float
    trials: int
    confidence: float

    @classmethod
    def of(cls, successes: int, trials: int, *, confidence: float) -> "Rate":
        """Return the rate of ``successes`` in so many independent rounds."""
        if not 0 < confidence < 1:
            raise ConfigurationError(f"confidence must be between 0 and 1, got {confidence}")
        if not 0 <= successes <= trials or trials < 1:
            raise ConfigurationError(
                f"successes must be from 0 to the trials, at least one, got {successes} of {trials}"
            )
        low, high = clopper_pearson(successes, trials, alpha=(1 - confidence) / 2)
        return cls(successes / trials, float(low), float(high), trials, confidence)

    def exceeds(self, bound: float) -> bool:
        """Does the rate refute a bound: is its whole interval above it."""
        return self.low > bound


def good_enough(kappa: float, *, epsilon: float, delta: float = 0.0) -> float:
    r"""Return the largest probability that one guess is good enough, where any fixed guess is with probability at most kappa.

    Claim: P[success] <= (kappa e^eps + delta) / (kappa e^eps + 1 - kappa).

    Proof: a guess g wins the records of a set of mass pi_g <= kappa. Write s_g for the chance that g is guessed and wins, f_g
    for that it is guessed and does not, and d_g(x, y) = max(0, P[g|x] - e^eps P[g|y]), whose sum over g is at most delta,
    because guesses exclude each other. For x in g's set and y outside, P[g|x] <= e^eps P[g|y] + d_g(x, y). Averaged over y by
    the prior outside, and summed over x: s_g <= e^eps pi_g / (1 - pi_g) f_g + sum_x pi_x sum_y pi_y d_g(x, y) / (1 - pi_g).
    Summed over g, with pi_g <= kappa throughout: s <= kappa e^eps / (1 - kappa) (1 - s) + delta / (1 - kappa). Solve for s.
    QED.
    """
    _check(epsilon, kappa=kappa, delta=delta)
    if kappa in (0, 1):
        return float(kappa or delta)
    power = epsilon + math.log(kappa)  # of kappa e^eps, which may overflow where neither factor is negligible
    top, shrunk = math.exp(min(0.0, power)), math.exp(min(0.0, -power))
    return min(1.0, (top + delta * shrunk) / (top + (1 - kappa) * shrunk))


def several_guesses(guesses: int, candidates: int, *, epsilon: float) -> float:
    """Return the largest probability that one of r guesses names the record among j equally likely ones.

    Claim and proof: `good_enough` with kappa = r / j, the set of guesses being one guess that r records win.
    """
    if not 1 <= guesses <= candidates:
        raise ConfigurationError(f"guesses must be from 1 to the {candidates} candidates, got {guesses}")
    return good_enough(guesses / candidates, epsilon=epsilon)


def membership_power(false_positives: float, *, epsilon: float, delta: float = 0.0) -> float:
    """Return the largest true positive rate of a test of membership at a false positive rate.

    Claim: TPR <= min(1, e^eps FPR + delta, 1 - e^-eps (1 - delta - FPR)). Proof: the definition for the event "says yes" under x
    against x', and for "says no" under x' against x (Wasserman and Zhou 2010; Kairouz, Oh and Viswanath 2015, Theorem 2.1).
    """
    _check(epsilon, false_positives=false_positives, delta=delta)
    high = math.exp(min(0.0, epsilon + math.log(false_positives))) if false_positives else 0.0  # e^eps alone overflows
    return min(1.0, high + delta, -math.expm1(-epsilon) + math.exp(-epsilon) * (delta + false_positives))


def membership_auc(*, epsilon: float, delta: float = 0.0) -> float:
    """Return the largest area under the ROC curve of a test of membership.

    Claim: AUC <= 1 - (1 - delta)^2 / (1 + e^eps). Proof: integrate `membership_power`: the two lines through (0, delta) with
    slope e^eps and through (1 - delta, 1) with slope e^-eps meet on the falling diagonal, and above both lies twice a triangle
    of base 1 - delta and height (1 - delta) / (1 + e^eps), halved.
    """
    _check(epsilon, delta=delta)
    return 1 - (1 - delta) ** 2 / (1 + math.exp(min(epsilon, 700.0)))


def _check(epsilon: float, **shares: float) -> None:
    if not epsilon >= 0:
        raise ConfigurationError(f"epsilon must be a number that is not negative, got {epsilon}")
    for name, value in shares.items():
        if not 0 <= value <= 1:
            raise ConfigurationError(f"{name} must be between 0 and 1, got {value}")
