r"""Certificates: the public numbers from which anyone can compute what a release guarantees (``adept.release.checker`` does).

A *part* is one draw of a record's release. Its numbers are those of the mechanism alone: never what was drawn, how many words were
rejected or how many bits were read, any of which would tell something of the record.

- ``symbols``: subset selection, t of k symbols with the integer weight A, the others with B: one number below W = t A + (k - t) B,
  from words of b bits. The ratio of two records' probabilities is at most A / B, and A / B <= e^eps is one comparison of integers:
  with s = 2^128, A s <= B S for the sum S of the first m terms of s e^eps, each rounded down; all omitted terms are positive.
- ``discrete_laplace``: noise of scale b on integers at l1 distance at most D: D / b <= eps, as fractions.
- ``discrete_gaussian``: noise of parameter s on n integers at l2 distance at most D: (**) of ``adept.mechanisms.gaussian``.

Numbers that a float may not hold are strings: integers, and fractions as "p/q".
"""

from fractions import Fraction
from typing import Any

from adept.mechanisms.noise import exponential_series

Part = dict[str, Any]


def symbols_part(
    of: str, *, epsilon: Fraction, size: int, top: int, odds: tuple[int, int], labels: int | None = None
) -> Part:
    """Return the part of one symbol.

    Args:
        of: what is released: "text", "label" or "text and label".
        epsilon: of this draw.
        size: k.
        top: t.
        odds: A and B.
        labels: of "text and label", how many labels there are.
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
    """Return the part of discrete Laplace noise; sensitivity and scale are in units of the noise's grid."""
    return {
        "of": of,
        "kind": "discrete_laplace",
        "sensitivity": str(sensitivity),
        "scale": str(Fraction(scale)),
        "epsilon": str(epsilon),
    }


def gaussian_part(of: str, *, epsilon: float, delta: float, distance: float, dim: int, scale: float) -> Part:
    """Return the part of discrete Gaussian noise (OpenDP's sampler); distance and scale are in units of the grid."""
    return {
        "of": of,
        "kind": "discrete_gaussian",
        "distance": str(Fraction(distance)),
        "dim": dim,
        "scale": str(Fraction(scale)),
        "epsilon": str(Fraction(epsilon)),
        "delta": str(Fraction(delta)),
    }
