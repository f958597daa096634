"""What a release guarantees: a claim, its truth, and the words in which both are stated."""

import math
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Guarantee:
    """The local differential privacy of one release of one latent: what is claimed beside what is true.

    A mechanism M is (epsilon, delta)-LDP when P[M(x) in S] <= exp(epsilon) P[M(x') in S] + delta for all records x, x' and all sets
    S of outputs (Habernal 2021, Definition 2.3, any two records being neighbours).
    """

    claimed_epsilon: float  # what the mechanism's author says, in nats
    epsilon: float  # what holds: the smallest proven bound, possibly infinite
    delta: float
    holds: bool  # is the claim true, that is epsilon <= claimed_epsilon
    exact: bool  # is the release exact arithmetic, so that the proof covers the program and not only the formula
    sensitivity: float | None  # true largest distance of two clipped latents in the mechanism's norm, in latent units
    scale: float | None  # scale of the noise per coordinate, in latent units
    text: str  # the guarantee in words


def json_number(value: float | None) -> float | str | None:
    """Return ``value`` as JSON can hold it: an infinite epsilon is the string "inf"."""
    return "inf" if value is not None and math.isinf(value) else value


def words(epsilon: float) -> str:
    """Return epsilon for a sentence, with at most four significant digits."""
    return "infinite" if math.isinf(epsilon) else f"{epsilon:.4g}"
