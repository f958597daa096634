r"""Guarantees: claimed and true budgets, their words, and the public numbers that prove them.

Anyone can compute from a certificate what a release guarantees, as
``adept.release.verify_statement`` does. A *part* is one draw of a record's release. Its numbers
describe only the mechanism, never the drawn value.

- ``symbols``: subset selection, where t of k symbols have the integer weight A and the others B:
  one number below W = t A + (k - t) B, from words of b bits. The ratio of two records'
  probabilities is at most A / B, and A / B <= e^eps is one comparison of integers: with s = 2^128,
  A s <= B S for the sum S of the first m terms of s e^eps, each rounded down; all omitted terms are
  positive.
- ``discrete_laplace``: noise of scale b on integers at l1 distance at most D: D / b <= eps, as
  fractions.
- ``discrete_gaussian``: noise of parameter s on n integers at l2 distance at most D: (**) of
  ``adept.mechanisms.gaussian``.

Numbers that a float may not hold exactly are stored as strings: integers, and fractions as "p/q".

Checked proof: ``proofs/Checker.v``, ``accepted_symbols_are_private``,
``accepted_noise_is_private``.
"""

import math
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from typing import Any

from adept.mechanisms.random_draws import exponential_series

# What a part is of: the second compares records of one label alone
TEXT, TEXT_BY_LABEL = "text", "text by label"

Part = dict[str, Any]  # of a certificate


@dataclass(frozen=True, kw_only=True)
class Guarantee:
    """The claimed and the true guarantee of one release; for votes it is central, otherwise local.

    A mechanism M is (epsilon, delta)-LDP when P[M(x) in S] <= exp(epsilon) P[M(x') in S] + delta
    for all records x, x' and all sets S of outputs (Habernal 2021, Definition 2.3).
    """

    claimed_epsilon: float  # what the mechanism's author says, in nats
    epsilon: float  # what holds: the smallest proven bound, possibly infinite
    delta: float = 0.0
    holds: bool = True  # is the claim true, that is epsilon <= claimed_epsilon
    exact: bool  # is the release exact arithmetic, so that the proof covers the program and not only the formula
    # True largest distance in the mechanism's norm of two clipped latents, or of counts
    sensitivity: float | None = None
    scale: float | None = None  # scale of the noise per coordinate, in the units of latents or counts
    text: str  # the guarantee in words

    @classmethod
    def pure(cls, *, epsilon: float, **others: Any) -> "Guarantee":
        """Return the guarantee of a mechanism whose claim of pure epsilon-LDP is true."""
        return cls(claimed_epsilon=epsilon, epsilon=epsilon, **others)


def json_number(value: float | None) -> float | str | None:
    """Return ``value`` in a form that JSON can hold: an infinite epsilon is the string "inf"."""
    return "inf" if value is not None and math.isinf(value) else value


def words(number: float) -> str:
    """Format an epsilon or delta for a sentence: four significant digits, rounded up."""
    if math.isinf(number):
        return "infinite"
    rounded = Context(prec=4, rounding=ROUND_CEILING).create_decimal(repr(float(number))).normalize()
    return f"{rounded:f}" if not rounded or rounded >= Decimal("1e-4") else f"{rounded:e}"


def often(probability: Fraction) -> str:
    """Return a probability in words such as "75 of 100 cases"; it is never rounded up to 1."""
    for times in (100, 1_000, 10_000, 1_000_000):
        count = math.floor(probability * times)
        if times - count >= 2:
            return f"{count:,} of {times:,} cases"
    return "all but at most 1 in a million cases"


def total(*epsilons: float | Fraction, times: int = 1) -> float:
    """Return the exact sum of budgets, each spent ``times`` times, rounded up once at the end."""
    if not all(map(math.isfinite, epsilons)):
        return math.inf
    exact = times * sum((Fraction(epsilon) for epsilon in epsilons), Fraction(0))
    try:
        result = float(exact)
    except OverflowError:
        return math.inf
    return result if Fraction(result) >= exact else math.nextafter(result, math.inf)


def share(epsilon: float, records: int) -> float:
    """Return the largest float that, times ``records``, is at most ``epsilon``."""
    part = epsilon / records
    while Fraction(part) * records > Fraction(epsilon):
        part = math.nextafter(part, 0.0)
    return part


def symbols_part(
    of: str, *, epsilon: Fraction, size: int, top: int, odds: tuple[int, int], labels: int | None = None
) -> Part:
    """Return the part for one symbol, which stands for a text, a label, or both (``of``)."""
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
    """Return the part for discrete Laplace noise, in units of the grid."""
    return {
        "of": of,
        "kind": "discrete_laplace",
        "sensitivity": str(sensitivity),
        "scale": str(Fraction(scale)),
        "epsilon": str(epsilon),
    }


def gaussian_part(of: str, *, epsilon: float, delta: float, distance: float, dim: int, scale: float) -> Part:
    """Return the part for discrete Gaussian noise, in units of the grid."""
    return {
        "of": of,
        "kind": "discrete_gaussian",
        "distance": str(Fraction(distance)),
        "dim": dim,
        "scale": str(Fraction(scale)),
        "epsilon": str(Fraction(epsilon)),
        "delta": str(Fraction(delta)),
    }
