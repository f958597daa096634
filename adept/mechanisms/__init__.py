"""Mechanisms, each of which randomises latents, descriptions, labels or counts."""

from adept.mechanisms.base import LocalRandomizer, Mechanism
from adept.mechanisms.central_counts import Votes
from adept.mechanisms.codebook import Codebook, LearnedCodebook
from adept.mechanisms.gaussian import ClampedGaussian, Gaussian
from adept.mechanisms.laplace import DPText, L1Laplace, L2Norm, OriginalLaplace, ScalarLaplace, SqrtNLaplace
from adept.mechanisms.privunit import PrivUnit
from adept.mechanisms.randomized_response import JointResponse, RandomizedResponse
from adept.mechanisms.reference import Identity, Random
from adept.mechanisms.selection import Description, Selection

BY_NAME: dict[str, type[LocalRandomizer]] = {
    mechanism.name: mechanism
    for mechanism in (
        OriginalLaplace,
        L1Laplace,
        SqrtNLaplace,
        L2Norm,
        Gaussian,
        ClampedGaussian,
        PrivUnit,
        Codebook,
        LearnedCodebook,
        Description,
        DPText,
        Identity,
        Random,
    )
}

__all__ = [
    "BY_NAME",
    "ClampedGaussian",
    "Codebook",
    "DPText",
    "Description",
    "Gaussian",
    "Identity",
    "JointResponse",
    "L1Laplace",
    "L2Norm",
    "LearnedCodebook",
    "LocalRandomizer",
    "Mechanism",
    "OriginalLaplace",
    "PrivUnit",
    "Random",
    "RandomizedResponse",
    "ScalarLaplace",
    "Selection",
    "SqrtNLaplace",
    "Votes",
]
