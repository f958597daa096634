"""Noise: exact integers from the operating system's entropy for releases, seeded floats for simulations.

The two are kept apart on purpose. Whatever starts with ``exact_`` samples its distribution without any rounding error
(OpenDP's vetted samplers; integers in, integers out) from entropy that no seed reaches, and is the only noise that an
exact release may use. Whatever starts with ``simulated_`` is ordinary floating-point noise from a seeded generator: good
for training and studies, and worth nothing as protection (Mironov 2012, "On significance of the least significant bits
for differential privacy").
"""

import math
from fractions import Fraction
from functools import cache

import opendp.prelude as opendp
import torch
from opendp.mod import Measurement
from torch import Tensor

opendp.enable_features("contrib")


def smallest_scale(sensitivity: int, *, epsilon: float) -> float:
    """Return the smallest float b with ``sensitivity / b <= epsilon`` in exact rational arithmetic.

    Args:
        sensitivity: largest distance between two neighbours, in grid units; at least 1.
        epsilon: the budget, read as the exact rational number that the float is.
    """
    scale = sensitivity / epsilon
    while Fraction(sensitivity) > Fraction(epsilon) * Fraction(scale):
        scale = math.nextafter(scale, math.inf)
    return scale


@cache
def _laplace_measurement(scale: float) -> Measurement:
    space = opendp.vector_domain(opendp.atom_domain(T="i64")), opendp.l1_distance(T="i64")
    return opendp.m.make_laplace(*space, scale=scale)


def exact_laplace(values: Tensor, *, scale: float) -> Tensor:
    """Add independent discrete Laplace noise, P(z) proportional to exp(-|z| / scale) on the integers, to every entry.

    Claim: two integer tensors at l1 distance d lead to output distributions whose ratio is at most exp(d / scale), exactly.
    Proof: P(z - x) / P(z - x') = exp((|z - x'| - |z - x|) / scale) <= exp(|x - x'| / scale) entry by entry (triangle
    inequality), and the entries are independent. OpenDP samples this law from the operating system's entropy with
    integer arithmetic alone (Canonne, Kamath, Steinke 2020, Algorithm 2); saturation at the ends of int64 is
    post-processing.

    Args:
        values: int64 tensor of any shape on the CPU.
        scale: scale in units of one, positive.
    """
    noisy = _laplace_measurement(scale)(values.flatten().tolist())
    return torch.tensor(noisy, dtype=torch.int64).reshape(values.shape)


def simulated_laplace(like: Tensor, *, scale: float, generator: torch.Generator | None) -> Tensor:
    """Return seeded floating-point Laplace noise of the shape, dtype and device of ``like``. Not private."""
    first, second = (torch.empty_like(like).exponential_(generator=generator) for _ in range(2))
    return scale * (first - second)


def simulated_directions(like: Tensor, *, generator: torch.Generator | None) -> Tensor:
    """Return seeded directions, uniform on the unit sphere, of the shape (..., n) and dtype of ``like``. Not private."""
    gaussian = torch.empty_like(like).normal_(generator=generator)
    norm: Tensor = torch.linalg.vector_norm(gaussian, dim=-1, keepdim=True)
    return gaussian / norm.clamp(min=torch.finfo(like.dtype).tiny)
