"""Mechanisms: each one turns a latent into a private latent, and says what that guarantees."""

from adept.mechanisms.base import Mechanism
from adept.mechanisms.baselines import Identity, Random
from adept.mechanisms.laplace import L1Laplace, OriginalLaplace, SqrtNLaplace

BY_NAME: dict[str, type[Mechanism]] = {
    mechanism.name: mechanism for mechanism in (OriginalLaplace, L1Laplace, SqrtNLaplace, Identity, Random)
}

__all__ = ["BY_NAME", "Identity", "L1Laplace", "Mechanism", "OriginalLaplace", "Random", "SqrtNLaplace"]
