r"""The likelihood of a release under each candidate, from which the best attack follows.

Let pi_x be the prior probability of a candidate x, and p(z|x) the likelihood of the release z under
x. By Bayes' theorem, the attack that names the candidate with the largest pi_x p(z|x) succeeds most
often, among all attacks that see z. To guess a property of the record, the best attack names the
class of candidates with the largest sum of pi_x p(z|x).

The likelihoods in this module omit factors that are the same for all candidates. For additive
noise, p(z|x) is the density of the noise at z - x, where x is the candidate's clipped latent. A
mechanism with codewords or descriptions releases *symbols*: one codeword for each block, or one
description. Under a candidate, some symbols are *heavy* and have the likelihood A, and all other
symbols have the likelihood 1.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import torch
from torch import Tensor

from adept.errors import ConfigurationError
from adept.mechanisms import Codebook, DPText, LocalRandomizer, Mechanism, Random
from adept.mechanisms.clip_to_grid import to_grid
from adept.mechanisms.privunit import PrivUnit, optimal_cap

COMPARED_RELEASES = 64  # number of releases that are compared with all candidates at once
ADDITIVE_NOISE = ("laplace", "gaussian", "l2_norm")
MAX_SCORES = 2**24  # scores of releases under candidates in memory at a time: 64 MiB


@dataclass(frozen=True)
class Candidates:
    """The candidates for the record behind a release, in the form that the mechanism reads.

    ``views`` holds tensors. For latents, there is one tensor with the clipped latents (j, n) of the
    j candidates. For a codebook, there is one tensor for each block, with the indices (j, t) of
    each candidate's heavy codewords. For descriptions, there is one tensor with each candidate's
    heavy descriptions (j, t).
    """

    mechanism: LocalRandomizer
    views: tuple[Tensor, ...]
    dim: int = 0  # number of dimensions of a latent; 0 for descriptions

    def __len__(self) -> int:
        return len(self.views[0])

    def before(self, others: "Candidates") -> "Candidates":
        """Return these candidates followed by ``others``."""
        return Candidates(self.mechanism, tuple(map(torch.cat, zip(self.views, others.views, strict=True))), self.dim)

    def log_likelihood(self, released: Tensor) -> Tensor:
        """Return ln p(z|x) for releases z (rows) and candidates x (columns).

        Factors that are the same for all candidates are left out. So each row may differ from the
        true logarithms by a constant.
        """
        score = _score(self)
        return torch.cat([score(part) for part in torch.split(released, COMPARED_RELEASES)])


def read_candidates(mechanism: LocalRandomizer, encoded: Tensor) -> Candidates:
    """Return the candidates that have the given latents (j, n) or descriptions (j, t)."""
    match mechanism:
        case Codebook():
            units = to_grid(encoded, clip=mechanism.clip, clip_norm=mechanism.clip_norm)
            blocks = mechanism.layout(encoded.shape[1])
            parts = torch.split(units, [block.shape.dim for block in blocks], dim=1)
            near = tuple(block.nearest(part) for block, part in zip(blocks, parts, strict=True))
            return Candidates(mechanism, near, encoded.shape[1])
        case Mechanism():
            return Candidates(mechanism, (mechanism.project(encoded.double()),), encoded.shape[1])
    return Candidates(mechanism, (encoded,))


def _score(candidates: Candidates) -> Callable[[Tensor], Tensor]:
    mechanism, (views, *_) = candidates.mechanism, candidates.views
    match mechanism:
        case Codebook():
            return _codebook_score(mechanism, candidates)
        case PrivUnit():
            return lambda z: _cap_score(mechanism, views, z)
        case DPText():
            return lambda z: _one_sided_score(mechanism, views, z)
        case Random():
            return lambda z: torch.zeros(len(z), len(views))
        case Mechanism():
            return _additive(mechanism, views)
    return lambda z: mechanism.epsilon * (z[:, None] == views).any(dim=2).float()


def _additive(mechanism: Mechanism, views: Tensor) -> Callable[[Tensor], Tensor]:
    scale = mechanism.guarantee(views.shape[1]).scale
    if not scale:  # no noise at all
        return lambda z: torch.where(_distances(z, views, order=1.0) == 0, 0.0, -torch.inf)
    if mechanism.noise not in ADDITIVE_NOISE:
        raise ConfigurationError(f"mechanism must have a known distribution to be attacked, got {mechanism.name}")
    if mechanism.noise == "gaussian":
        return lambda z: -(_distances(z, views, order=2.0) ** 2) / (2 * scale**2)
    order = 1.0 if mechanism.noise == "laplace" else 2.0
    return lambda z: -_distances(z, views, order=order) / scale


def _distances(released: Tensor, views: Tensor, *, order: float) -> Tensor:
    mode = "donot_use_mm_for_euclid_dist"
    distances: Tensor = torch.cdist(released.float(), views.float(), p=order, compute_mode=mode)
    return distances


def _cap_score(mechanism: PrivUnit, views: Tensor, released: Tensor) -> Tensor:
    units = released.double() / torch.linalg.vector_norm(released.double(), dim=1, keepdim=True)
    inside = units @ (views / mechanism.clip_norm).T >= optimal_cap(views.shape[1], epsilon=mechanism.epsilon).cosine
    scores: Tensor = mechanism.epsilon * inside.float()
    return scores


def _one_sided_score(mechanism: DPText, views: Tensor, released: Tensor) -> Tensor:
    """Return the log likelihood of each `dptext` release (row) under each candidate (column).

    The noise is never negative, so a candidate is impossible if one of its coordinates exceeds the
    same coordinate of the release. A coordinate of a release may have no noise at all. So each
    coordinate that the candidate and the release share to the last bit adds 50 nats to the
    candidate's score.
    """
    scale = mechanism.guarantee(views.shape[1]).scale or 1.0
    difference = released.to(views.dtype)[:, None] - views[None].to(released.dtype).to(views.dtype)
    density = -difference.nan_to_num(posinf=0.0).sum(dim=2) / scale
    exact = (difference == 0).sum(dim=2) * 50.0
    return torch.where((difference >= 0).all(dim=2), density + exact, -torch.inf).float()


def _codebook_score(mechanism: Codebook, candidates: Candidates) -> Callable[[Tensor], Tensor]:
    blocks = mechanism.layout(candidates.dim)

    @cache
    def table(place: int) -> Tensor:
        near = candidates.views[place]
        said = torch.zeros(blocks[place].shape.size, len(near))
        said[near, torch.arange(len(near))[:, None]] = float(blocks[place].shape.epsilon)
        return said

    def of_block(place: int, symbols: Tensor) -> Tensor:
        near, shape = candidates.views[place], blocks[place].shape
        if len(symbols) * near.shape[1] < shape.size:  # less work than a table
            return (near == symbols[:, None, None]).any(dim=2) * float(shape.epsilon)
        return table(place)[symbols]

    def score(released: Tensor) -> Tensor:
        symbols = released_symbols(mechanism, released)
        return torch.stack([of_block(place, symbols[:, place]) for place in range(len(blocks))]).sum(dim=0)

    return score


def released_symbols(mechanism: Codebook, released: Tensor) -> Tensor:
    """Return the index of each release's codeword in each block, as a tensor (m, blocks).

    If several codewords of a block are equal, the smallest of their indices is returned.
    """
    blocks = mechanism.layout(released.shape[1])
    parts = torch.split(released.double(), [block.shape.dim for block in blocks], dim=1)
    return torch.stack(
        [(part @ block.codewords.double().T).argmax(dim=1) for block, part in zip(blocks, parts, strict=True)], dim=1
    )


class Guesses(NamedTuple):
    """The candidate and the class that an attack names for each of m releases."""

    best: Tensor  # index of the candidate with the largest posterior probability (m,)
    best_class: Tensor  # the class with the largest posterior probability (m,)
    posterior: Tensor  # posterior probability of the best candidate (m,)
    odds: Tensor  # log of the largest factor by which the release changed the odds of two candidates (m,)


def guess(candidates: Candidates, released: Tensor, *, prior: Tensor, classes: Tensor | None = None) -> Guesses:
    """Name the likeliest candidate, and the likeliest class, for each of m releases.

    ``classes`` (j,) holds the class of each candidate. By default, each candidate is a class of its
    own.
    """
    rows = max(1, MAX_SCORES // len(candidates))
    parts = [_guess(candidates, part, prior.log(), classes) for part in torch.split(released, rows)]
    return Guesses(*(torch.cat(tensors) for tensors in zip(*parts, strict=True)))


def _guess(candidates: Candidates, released: Tensor, log_prior: Tensor, classes: Tensor | None) -> Guesses:
    scores = candidates.log_likelihood(released)
    odds = scores.amax(dim=1) - scores.amin(dim=1)
    posterior = torch.softmax(scores.double() + log_prior, dim=1)
    top, best = posterior.max(dim=1)
    if classes is None:
        return Guesses(best, best, top, odds)
    sums = torch.zeros(len(released), int(classes.max()) + 1, dtype=torch.float64).index_add_(1, classes, posterior)
    return Guesses(best, sums.argmax(dim=1), top, odds)
