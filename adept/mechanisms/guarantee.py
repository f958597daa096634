r"""Guarantees of mechanisms, the words that state them, and the public numbers that prove them.

The words say how much an attacker's odds can change, and how often, at most, a guess is right.

A *certificate* is a list of public numbers from which anyone can compute the guarantee of a release, as
``adept.release.statement.verify`` does. Releasing a record may take several random draws. Each *part* of a certificate
describes the distribution of one draw, never the drawn value. A part has one of three kinds:

- ``symbols``: subset selection, which draws one of k symbols. For each record, t symbols have the
  integer weight A, and the other symbols have the integer weight B. The program draws one integer
  below W = t A + (k - t) B from random integers of b bits. The probabilities of a symbol under two
  records differ by a factor of at most A / B. The comparison A s <= B S of two integers shows that
  A / B <= e^eps. Here s = 2^128, and S is the sum of the first m terms of the series of s e^eps,
  where each term is rounded down. So S <= s e^eps, because all omitted terms are positive.
- ``discrete_laplace``: noise of scale b, added to vectors of integers whose l1 distance is at most
  D. The guarantee holds if D / b <= eps, which is checked with exact fractions.
- ``discrete_gaussian``: noise of scale s (here the s of ``adept.mechanisms.gaussian``), added to
  vectors of n integers whose l2 distance is at most D. The guarantee holds if the bound (**) of
  ``adept.mechanisms.gaussian`` is at most delta.

In a certificate, integers and fractions ("p/q") are strings, because a float may not represent them exactly.

Checked proof: ``proofs/Checker.v``, ``accepted_symbols_are_private``, ``accepted_noise_is_private``.
"""

import math
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from typing import Any

from adept.errors import refuse
from adept.mechanisms.random_draws import exponential_series

# What a part of a certificate is about; the second is a guarantee for records with the same label
TEXT, TEXT_BY_LABEL = "text", "text by label"
ANY_TWO_RECORDS = "any two records"  # the neighbours of local DP
MILLION = 1_000_000
MAX_STATED_EPSILON = 50.0  # above it the odds have more digits than anyone reads
CANDIDATES = 1_000  # equally likely records, or persons, among which an attacker looks for the right one
QUESTION = f"an attacker picks the right one of {CANDIDATES:,} equally likely candidates in"  # answered by ``risk``
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

Part = dict[str, Any]  # a part of a certificate: the public numbers of one random draw


@dataclass(frozen=True, kw_only=True)
class Guarantee:
    """The claimed and the true guarantee of one release: central DP of ``Votes``, else local DP (LDP).

    A mechanism M is (epsilon, delta)-LDP when P[M(x) in S] <= exp(epsilon) P[M(x') in S] + delta for all
    records x, x' and all sets S of outputs (Habernal 2021, Definition 2.3).
    """

    claimed_epsilon: float  # the epsilon that the mechanism's author claims, in nats
    epsilon: float  # the true epsilon: the smallest proven bound, possibly infinite
    delta: float
    holds: bool | None  # True if the claim is true: epsilon <= claimed_epsilon; None if nobody checked the claim
    exact: bool  # True if all arithmetic is exact, so that the proof covers the program and not only the formula
    # Largest distance between the inputs of two neighbours (clipped latents or counts), in the mechanism's norm
    sensitivity: float | None = None
    scale: float | None = None  # scale of the noise per coordinate, in the units of latents or counts
    text: str  # the guarantee in words
    neighbours: str = ANY_TWO_RECORDS  # pairs of inputs for which epsilon and delta hold
    unit: str = "record"  # what neighbours differ in: "record" or "person"

    @classmethod
    def pure(cls, *, epsilon: float | Fraction, **others: Any) -> "Guarantee":
        """Return the guarantee of a mechanism whose claim of pure epsilon-LDP (or DP) is true; round epsilon up."""
        stated = total(epsilon)
        return cls(claimed_epsilon=stated, epsilon=stated, delta=0.0, holds=True, **others)


def json_number(value: float | None) -> float | str | None:
    """Return ``value``, or the string "inf" for infinity, because JSON has no infinite numbers."""
    return "inf" if value is not None and math.isinf(value) else value


def words(number: float, *, lower: bool = False) -> str:
    """Format an epsilon or delta for a sentence, with four digits, rounded up; or down, if it is a lower bound."""
    if math.isinf(number):
        return "infinite"
    context = Context(prec=4, rounding=ROUND_FLOOR if lower else ROUND_CEILING)  # not the caller's own rounding
    rounded = context.create_decimal(repr(float(number))).normalize(context)
    return f"{rounded:f}" if not rounded or rounded >= Decimal("1e-4") else f"{rounded:e}"


def format_bound(value: float | Decimal, *, digits: int = 3, lower: bool = False) -> str:
    """Return a bound as text with so many decimal places, rounded up; or down, if it is a lower bound."""
    if not math.isfinite(value):
        return str(value)
    return f"{Decimal(str(value)).quantize(Decimal(10) ** -digits, ROUND_FLOOR if lower else ROUND_CEILING):f}"


def often(probability: Fraction) -> str:
    """Return a probability in words, such as "75 of 100 cases"; the number is rounded down."""
    for times in CASES:
        count = math.floor(probability * times)
        if 1 <= count <= times - MIN_COUNT:
            return f"{count:,} of {times:,} cases"
    return "all but at most 1 in a million cases" if probability > 0.5 else "fewer than 1 in a million cases"


def total(*epsilons: float | Fraction, times: int = 1) -> float:
    """Return the sum of budgets, multiplied by ``times`` and rounded up to a float."""
    if not all(map(math.isfinite, epsilons)):
        return math.inf
    exact = times * sum((Fraction(epsilon) for epsilon in epsilons), Fraction(0))
    try:
        result = float(exact)
    except OverflowError:
        return math.inf
    return result if Fraction(result) >= exact else math.nextafter(result, math.inf)


def share(epsilon: float, records: int) -> float:
    """Return the largest float whose exact product with ``records`` is at most ``epsilon``: the share of one record."""
    part = epsilon / records
    while Fraction(part) * records > Fraction(epsilon):
        part = math.nextafter(part, 0.0)
    return part


def symbols_part(
    of: str, *, epsilon: Fraction, size: int, top: int, odds: tuple[int, int], labels: int | None = None
) -> Part:
    """Return the part of a certificate for the draw of one of k = ``size`` symbols.

    ``top`` symbols have the larger weight A of ``odds``. ``of`` says what a symbol stands for; ``labels`` is
    the number of labels if it stands for a text and a label.
    """
    heavy, light = odds
    return {
        "of": of,
        "kind": "symbols",
        "size": str(size),
        "top": str(top),
        "labels": labels,
        "heavy": str(heavy),
        "light": str(light),
        "bits": (top * heavy + (size - top) * light - 1).bit_length(),
        "terms": exponential_series(epsilon)[1],
        "epsilon": str(epsilon),
    }


def laplace_part(of: str, *, epsilon: Fraction, sensitivity: int, scale: float) -> Part:
    """Return the part of a certificate for discrete Laplace noise, with lengths in grid steps."""
    return {
        "of": of,
        "kind": "discrete_laplace",
        "sensitivity": str(sensitivity),
        "scale": str(Fraction(scale)),
        "epsilon": str(epsilon),
    }


def gaussian_part(*, epsilon: float, delta: float, distance: float, dim: int, scale: float) -> Part:
    """Return the part of a certificate for discrete Gaussian noise, with lengths in grid steps."""
    return {
        "of": TEXT,
        "kind": "discrete_gaussian",
        "distance": str(Fraction(distance)),
        "dim": dim,
        "scale": str(Fraction(scale)),
        "epsilon": str(Fraction(epsilon)),
        "delta": str(Fraction(delta)),
    }


def odds_change(epsilon: float) -> str:
    """Say by what factor, at most, a pure eps-DP release can change an attacker's odds."""
    if epsilon >= MAX_STATED_EPSILON:
        return "may change more than 10^21-fold, so that next to nothing is guaranteed"
    most = Decimal.from_float(math.nextafter(math.exp(epsilon), math.inf))
    if most < MILLION:
        return f"change at most {Decimal(words(float(most))):,f}-fold"
    for size, name in ((MILLION, "million"), (1_000 * MILLION, "billion")):
        if (rounded := Context(prec=2, rounding=ROUND_CEILING).divide(most, size)) < 1_000:
            return f"change at most {rounded:f} {name}-fold"
    return f"change at most 10^{(most.adjusted() + 1)}-fold"


def judge(epsilon: float, delta: float = 0.0) -> str:
    """Say in plain words how well an epsilon for replacing a record, or the records of a person, protects them."""
    said = next(said for most, said in JUDGEMENTS if epsilon <= most)
    return f"{said}; and delta allows everything to be revealed with a probability of {words(delta)}" if delta else said


def good_enough(kappa: float, *, epsilon: float, delta: float = 0.0) -> float:
    r"""Return a bound on the probability that an attacker's guess about a record is right.

    The attacker sees a release before guessing. For each guess, add up the prior probabilities of the
    records for which it is right; ``kappa`` is the largest of these sums.

    Claim: P[success] <= (kappa e^eps + delta) / (kappa e^eps + 1 - kappa) (``docs/proofs.md``, "Right guesses").
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
    refuse((not epsilon >= 0, f"epsilon must be a number that is not negative, got {epsilon}"))
    for name, value in shares.items():
        refuse((not 0 <= value <= 1, f"{name} must be between 0 and 1, got {value}"))
