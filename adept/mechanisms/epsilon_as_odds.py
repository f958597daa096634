"""Epsilon in words: the change of an attacker's odds, and the chance that a guess is right."""

import math
from decimal import ROUND_CEILING, Context, Decimal

from adept.errors import ConfigurationError
from adept.mechanisms.guarantee import words

MILLION = 1_000_000
MAX_STATED_EPSILON = 50.0  # above it the odds have more digits than anyone reads
CANDIDATES = 1_000  # records, or persons, among which an attacker looks for the right one
CASES = (100, 1_000, 10_000, MILLION)  # numbers of cases in which a bound is counted
ALL_CASES = "all cases"
MIN_COUNT = 2  # least count of such cases: 1 of 100 may be far above the bound


def odds_change(epsilon: float) -> str:
    """Return words for the largest change of an attacker's odds by a release of pure ``epsilon``."""
    if epsilon >= MAX_STATED_EPSILON:
        return "may change more than 10^21-fold, so that next to nothing is guaranteed"
    most = Decimal(math.nextafter(math.exp(epsilon), math.inf))
    if most < MILLION:
        return f"change at most {Decimal(words(float(most))):,f}-fold"
    for size, name in ((MILLION, "million"), (1_000 * MILLION, "billion")):
        if (rounded := Context(prec=2, rounding=ROUND_CEILING).divide(most, size)) < 1_000:
            return f"change at most {rounded:f} {name}-fold"
    return f"change at most 10^{(most.adjusted() + 1)}-fold"


def good_enough(kappa: float, *, epsilon: float, delta: float = 0.0) -> float:
    r"""Return a bound on the chance of a good enough guess; a fixed guess has at most ``kappa``.

    Claim: P[success] <= (kappa e^eps + delta) / (kappa e^eps + 1 - kappa).

    Proof: a guess g wins the records of a set of mass pi_g <= kappa. Write s_g for the chance that
    g is guessed and wins, f_g for the chance that it is guessed and loses, and d_g(x, y) = max(0,
    P[g|x] - e^eps P[g|y]), whose sum over g is at most delta, because guesses exclude each other.
    For x in g's set and y outside, P[g|x] <= e^eps P[g|y] + d_g(x, y). Averaged over y by the prior
    outside, and summed over x: s_g <= e^eps pi_g / (1 - pi_g) f_g + sum_x pi_x sum_y pi_y d_g(x, y)
    / (1 - pi_g). Summed over g, with pi_g <= kappa throughout: s <= kappa e^eps / (1 - kappa) (1 -
    s) + delta / (1 - kappa). Solve for s. QED.
    """
    check_bound(epsilon, kappa=kappa, delta=delta)
    if kappa in (0, 1):
        return float(kappa or delta)
    power = epsilon + math.log(kappa)  # of kappa e^eps, which may overflow where neither factor is negligible
    top, shrunk = math.exp(min(0.0, power)), math.exp(min(0.0, -power))
    return min(1.0, (top + delta * shrunk) / (top + (1 - kappa) * shrunk))


def risk(epsilon: float, delta: float = 0.0) -> str:
    """Return an attacker's best chance to find the right one of CANDIDATES equally likely records."""
    found = cases(good_enough(1 / CANDIDATES, epsilon=epsilon, delta=delta))
    return found if found == ALL_CASES else f"at most {found}"


def cases(probability: float) -> str:
    """Express a bound on a probability as a count of cases, rounded up: "75 of 100 cases"."""
    for times in CASES:
        count = math.ceil(probability * times)
        if MIN_COUNT <= count < times:
            return f"{count:,} of {times:,} cases"
    return f"1 of {CASES[-1]:,} cases" if probability * CASES[-1] <= 1 else ALL_CASES


def check_bound(epsilon: float, **shares: float) -> None:
    """Raise ConfigurationError if epsilon is negative or a share is not between 0 and 1."""
    if not epsilon >= 0:
        raise ConfigurationError(f"epsilon must be a number that is not negative, got {epsilon}")
    for name, value in shares.items():
        if not 0 <= value <= 1:
            raise ConfigurationError(f"{name} must be between 0 and 1, got {value}")
