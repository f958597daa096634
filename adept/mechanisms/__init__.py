"""Mechanisms, each of which randomises latents, descriptions, labels or counts."""

from adept.mechanisms.base import LocalRandomizer, Mechanism
from adept.mechanisms.central_counts import Votes
from adept.mechanisms.codebook import Codebook
from adept.mechanisms.description import Description
from adept.mechanisms.dptext import DPText
from adept.mechanisms.gaussian import ClampedGaussian, Gaussian
from adept.mechanisms.joint_response import JointResponse
from adept.mechanisms.l2_norm import L2Norm
from adept.mechanisms.laplace import L1Laplace, OriginalLaplace, SqrtNLaplace
from adept.mechanisms.learned_codebook import LearnedCodebook
from adept.mechanisms.privunit import PrivUnit
from adept.mechanisms.randomized_response import RandomizedResponse, ScalarLaplace
from adept.mechanisms.reference import Identity, Random
from adept.mechanisms.selection import Selection

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
