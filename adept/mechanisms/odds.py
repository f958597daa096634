"""Epsilon in words: how much an attacker's odds can change, and how often a guess is right."""

import math
from decimal import ROUND_CEILING, Context, Decimal

from adept.errors import ConfigurationError
from adept.mechanisms.guarantee import words

MILLION = 1_000_000
MAX_STATED_EPSILON = 50.0  # above it the odds have more digits than anyone reads
CANDIDATES = 1_000  # records, or persons, among which an attacker looks for the right one
CASES = (100, 1_000, 10_000, MILLION)  # numbers of cases in which a bound is counted
ALL_CASES = "all cases"
# Largest epsilon of each judgement, in the words of docs/guarantees.md
JUDGEMENTS = (
    (1.0, "even between two candidates, an attacker stays uncertain"),
    (4.0, "protected among many candidates; between two candidates, an attacker can be right most of the time"),
    (8.0, "protected only if very many other records are possible, and not if there are only two candidates"),
    (16.0, "little protection: an attacker with a list of candidates can find the right one in most cases"),
    (math.inf, "next to no protection: an attacker with a list of candidates can find the right one almost always"),
)
MIN_COUNT = 2  # least count of such cases: 1 of 100 may be far above the bound


def odds_change(epsilon: float) -> str:
    """Say by what factor, at most, a pure eps-DP release can change an attacker's odds."""
    if epsilon >= MAX_STATED_EPSILON:
        return "may change more than 10^21-fold, so that next to nothing is guaranteed"
    most = Decimal(math.nextafter(math.exp(epsilon), math.inf))
    if most < MILLION:
        return f"change at most {Decimal(words(float(most))):,f}-fold"
    for size, name in ((MILLION, "million"), (1_000 * MILLION, "billion")):
        if (rounded := Context(prec=2, rounding=ROUND_CEILING).divide(most, size)) < 1_000:
            return f"change at most {rounded:f} {name}-fold"
    return f"change at most 10^{(most.adjusted() + 1)}-fold"


def judge(epsilon: float) -> str:
    """Say in plain words how well an epsilon protects a record or a person."""
    return next(words for most, words in JUDGEMENTS if epsilon <= most)


def good_enough(kappa: float, *, epsilon: float, delta: float = 0.0) -> float:
    r"""Return a bound on the probability that an attacker's guess about a record is right.

    The attacker sees a release before guessing. For each guess, add up the prior probabilities of the
    records for which it is right; ``kappa`` is the largest of these sums.

    Claim: P[success] <= (kappa e^eps + delta) / (kappa e^eps + 1 - kappa) (``docs/proofs.md``, "Right
    guesses").
    """
    check_bound(epsilon, kappa=kappa, delta=delta)
    if kappa in (0, 1):
        return float(kappa or delta)
    power = epsilon + math.log(kappa)  # of kappa e^eps, which may overflow where neither factor is negligible
    top, shrunk = math.exp(min(0.0, power)), math.exp(min(0.0, -power))
    return min(1.0, (top + delta * shrunk) / (top + (1 - kappa) * shrunk))


def risk(epsilon: float, delta: float = 0.0) -> str:
    """Say how often, at most, an attacker can pick the right one of CANDIDATES equally likely records."""
    found = cases(good_enough(1 / CANDIDATES, epsilon=epsilon, delta=delta))
    return found if found == ALL_CASES else f"at most {found}"


def cases(probability: float) -> str:
    """Return a bound on a probability in words, such as "75 of 100 cases", rounded up."""
    for times in CASES:
        count = math.ceil(probability * times)
        if MIN_COUNT <= count < times:
            return f"{count:,} of {times:,} cases"
    return f"1 of {CASES[-1]:,} cases" if probability * CASES[-1] <= 1 else ALL_CASES


def check_bound(epsilon: float, **shares: float) -> None:
    if not epsilon >= 0:
        raise ConfigurationError(f"epsilon must be a number that is not negative, got {epsilon}")
    for name, value in shares.items():
        if not 0 <= value <= 1:
            raise ConfigurationError(f"{name} must be between 0 and 1, got {value}")
