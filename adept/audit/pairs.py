"""Pairs of records on which a claim is tried, and samples of their releases."""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from adept.audit.subject import Subject

Floats = NDArray[np.float64]

FAR = 1000.0  # how far outside the ball the far pair lies, in units of clip_norm


@dataclass(frozen=True, kw_only=True)
class Pair:
    """Two records' latents (n,), raw: as an encoder might return them, before any clip."""

    name: str
    first: Tensor
    second: Tensor


def adversarial_pairs(dim: int, *, clip_norm: float) -> list[Pair]:
    """Return the pairs at which the mechanisms of the literature are weakest, antipodal and on the boundary of the l2 ball.

    The diagonal has the largest l1 distance in the l2 ball (Habernal 2021, Theorem 5.1); the axis has the largest distance in the
    l1 ball; a random direction is neither; the far pair lies outside and shows whether the mechanism clips at all.
    """
    diagonal = torch.full((dim,), clip_norm / dim**0.5, dtype=torch.float64)
    axis = torch.zeros(dim, dtype=torch.float64)
    axis[0] = clip_norm
    random = torch.randn(dim, dtype=torch.float64, generator=torch.Generator().manual_seed(2021))
    random *= clip_norm / torch.linalg.vector_norm(random)
    directions = {"diagonal": diagonal, "axis": axis, "random": random, "far": FAR * diagonal}
    return [Pair(name=name, first=-x, second=x) for name, x in directions.items()]


@dataclass(frozen=True, kw_only=True)
class PairSample:
    """Releases of both inputs of a pair, for choosing and for the tests of the noise; and the projected inputs."""

    pair: Pair
    centres: tuple[Floats, Floats]  # (n,) each
    releases: tuple[Floats, Floats]  # (m, n) each


def sample_pair(subject: Subject, pair: Pair, rows: int) -> PairSample:
    """Draw ``rows`` releases of each input of a pair."""
    inputs = torch.stack([pair.first, pair.second])
    first, second = subject.project(inputs).numpy()
    return PairSample(
        pair=pair,
        centres=(first, second),
        releases=(subject.sample(pair.first, rows), subject.sample(pair.second, rows)),
    )
