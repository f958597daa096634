r"""The likelihood of a release under each candidate, from which the best attack follows.

Let pi_x be the prior probability of a candidate x, and p(z|x) the likelihood of the release z under x. By Bayes'
theorem, the attack that names the candidate with the largest pi_x p(z|x) succeeds most often, among all attacks that
see z. To guess a property of the record, the best attack names the class of candidates with the largest sum of pi_x
p(z|x).

The likelihoods in this module omit factors that are the same for all candidates. For additive noise, p(z|x) is the
density of the noise at z - x, where x is the candidate's clipped latent. A draw from a public list releases an index.
Under a candidate, some indices are *heavy* and have the likelihood A, and all others have the likelihood 1
(``adept.mechanisms.selection``).
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import torch
from torch import Tensor

from adept.errors import ConfigurationError
from adept.mechanisms import Codebook, DPText, LocalRandomizer, Mechanism, Random, Selection
from adept.mechanisms.clip_to_grid import to_grid
from adept.mechanisms.privunit import PrivUnit, optimal_cap


@dataclass(frozen=True)
class Candidates:
    """The candidates for the record behind a release, in the form that the mechanism reads.

    ``views`` holds tensors. For noise, there is one tensor with the clipped latents (j, n) of the j candidates. For a
    release from a public list, there is one tensor for each draw, with the heavy indices (j, t) of each candidate.
    """

    mechanism: LocalRandomizer
    views: tuple[Tensor, ...]
    dim: int = 0  # number of dimensions of a latent; 0 if candidates are given by their heavy indices

    def __len__(self) -> int:
        return len(self.views[0])

    def before(self, others: "Candidates") -> "Candidates":
        return Candidates(self.mechanism, tuple(map(torch.cat, zip(self.views, others.views, strict=True))), self.dim)

    def log_likelihood(self, released: Tensor) -> Tensor:
        """Return ln p(z|x) for releases z (rows) and candidates x (columns).

        Factors that are the same for all candidates are left out. So each row may differ from the true logarithms by
        a constant.
        """
        score = _score(self)
        return torch.cat([score(part) for part in torch.split(released, 64)])  # with all candidates at once


def read_candidates(mechanism: LocalRandomizer, encoded: Tensor) -> Candidates:
    """Return the candidates that have the given latents (j, n) or heavy indices (j, t)."""
    if not encoded.is_floating_point():
        return Candidates(mechanism, (encoded,))
    match mechanism:
        case Codebook():
            units = to_grid(encoded, clip=mechanism.clip, clip_norm=mechanism.clip_norm)
            near = tuple(block.nearest(part) for block, part in mechanism.parts(units))
            return Candidates(mechanism, near, encoded.shape[1])
        case Mechanism():
            return Candidates(mechanism, (mechanism.project(encoded.double()),), encoded.shape[1])
    raise ConfigurationError(f"mechanism must read latents, got {mechanism.name}")


def _score(candidates: Candidates) -> Callable[[Tensor], Tensor]:
    mechanism, (views, *_) = candidates.mechanism, candidates.views
    if draws := mechanism.selections(candidates.dim):
        return _selection_score(draws, candidates)
    match mechanism:
        case PrivUnit():
            return lambda z: _cap_score(mechanism, views, z)
        case DPText():
            return lambda z: _one_sided_score(mechanism, views, z)
        case Random():
            return lambda z: torch.zeros(len(z), len(views))
        case Mechanism():
            return _additive(mechanism, views)
    raise ConfigurationError(f"mechanism must have a known distribution to be attacked, got {mechanism.name}")


def _additive(mechanism: Mechanism, views: Tensor) -> Callable[[Tensor], Tensor]:
    scale = mechanism.guarantee(views.shape[1]).scale
    if not scale:  # no noise at all
        return lambda z: torch.where(_distances(z, views, order=1.0) == 0, 0.0, -torch.inf)
    if mechanism.noise not in ("laplace", "gaussian", "l2_norm"):
        raise ConfigurationError(f"mechanism must have a known distribution to be attacked, got {mechanism.name}")
    if mechanism.noise == "gaussian":
        return lambda z: -(_distances(z, views, order=2.0) ** 2) / (2 * scale**2)
    return lambda z: -_distances(z, views, order=1.0 if mechanism.noise == "laplace" else 2.0) / scale


def _distances(released: Tensor, views: Tensor, *, order: float) -> Tensor:
    # In float32, differences of large distances would exceed what a small epsilon allows
    pair = released.double(), views.to(released.dtype).double()
    return torch.as_tensor(torch.cdist(*pair, p=order, compute_mode="donot_use_mm_for_euclid_dist"))


def _cap_score(mechanism: PrivUnit, views: Tensor, released: Tensor) -> Tensor:
    units = released.double() / torch.linalg.vector_norm(released.double(), dim=1, keepdim=True)
    inside = units @ (views / mechanism.clip_norm).T >= optimal_cap(views.shape[1], epsilon=mechanism.epsilon).cosine
    return torch.as_tensor(mechanism.epsilon * inside.float())


def _one_sided_score(mechanism: DPText, views: Tensor, released: Tensor) -> Tensor:
    """Return the log likelihood of each `dptext` release (row) under each candidate (column).

    The noise is never negative, so a candidate is impossible if one of its coordinates exceeds the same coordinate of
    the release. A coordinate of a release may have no noise at all. So each coordinate that the candidate and the
    release share to the last bit adds 50 nats to the candidate's score.
    """
    scale = mechanism.guarantee(views.shape[1]).scale or 1.0
    difference = released.to(views.dtype)[:, None] - views[None].to(released.dtype).to(views.dtype)
    density = -difference.nan_to_num(posinf=0.0).sum(dim=2) / scale
    exact = (difference == 0).sum(dim=2) * 50.0
    return torch.where((difference >= 0).all(dim=2), density + exact, -torch.inf).float()


def _selection_score(draws: Sequence[Selection], candidates: Candidates) -> Callable[[Tensor], Tensor]:
    @cache
    def table(place: int) -> Tensor:
        near = candidates.views[place]
        said = torch.zeros(draws[place].size, len(near))
        said[near, torch.arange(len(near))[:, None]] = float(draws[place].epsilon)
        return said

    def of_draw(place: int, symbols: Tensor) -> Tensor:
        near, draw = candidates.views[place], draws[place]
        if len(symbols) * near.shape[1] < draw.size:  # less work than a table
            return (near == symbols[:, None, None]).any(dim=2) * float(draw.epsilon)
        return table(place)[symbols]

    def score(released: Tensor) -> Tensor:
        symbols = released_symbols(candidates.mechanism, released)
        return torch.stack([of_draw(place, symbols[:, place]) for place in range(len(draws))]).sum(dim=0)

    return score


def released_symbols(mechanism: LocalRandomizer, released: Tensor) -> Tensor:
    """Return the index of each release in the list of each draw, as a tensor (m, draws).

    If several codewords of a block are equal, the smallest of their indices is returned.
    """
    if not isinstance(mechanism, Codebook) or not released.is_floating_point():
        return released
    return torch.stack(
        [(part @ block.codewords.double().T).argmax(dim=1) for block, part in mechanism.parts(released.double())], dim=1
    )


class Guesses(NamedTuple):
    """The candidate and the class that an attack names for each of m releases."""

    best: Tensor  # index of the candidate with the largest posterior probability (m,)
    best_class: Tensor  # the class with the largest posterior probability (m,)
    posterior: Tensor  # posterior probability of the best candidate (m,)
    odds: Tensor  # log of the largest factor by which the release changed the odds of two candidates (m,)


def guess(candidates: Candidates, released: Tensor, *, prior: Tensor, classes: Tensor | None = None) -> Guesses:
    """Name the likeliest candidate, and the likeliest class, for each of m releases.

    ``classes`` (j,) holds the class of each candidate. By default, each candidate is a class of its own.
    """
    rows = max(1, 2**24 // len(candidates))  # 64 MiB of scores in memory at a time
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


def best_success(candidates: Candidates, prior: Tensor, classes: Tensor) -> float | None:
    r"""Return the success rate of the best attack, or None if a release is not one symbol.

    Claim: let v be one release of a record x, which is drawn with the prior probabilities pi_x, and
    let Q(v|x) be the probability of v given x. Of all attacks that see v, none names the class c(x)
    of the record with a probability above

        sum over v of max over classes c of sum over x in c of pi_x Q(v|x),

    and the attack that names the maximising class reaches this probability. Proof: given v, a guess c is right with
    probability sum_{x in c} pi_x Q(v|x) / P(v). QED.

    The program computes one term of the sum for each symbol v that is *heavy* (likelier than most symbols) under a
    candidate. All other symbols have the same term, because for each of them, the best attack names the class with
    the largest prior probability.

    Args:
        candidates: the candidates, in the form that the mechanism reads.
        prior: the prior probability of each candidate (j,); the sum is one.
        classes: the class of each candidate (j,), whole numbers from 0 on.
    """
    draws = candidates.mechanism.selections(candidates.dim)
    if len(draws) != 1:
        return None
    [symbols], odds, size = candidates.views, math.exp(candidates.mechanism.epsilon), draws[0].size
    prior = prior.double()
    masses = torch.zeros(int(classes.max()) + 1, dtype=torch.float64).index_add(0, classes, prior)
    used, places = torch.unique(symbols, return_inverse=True)
    best = masses.max().repeat(len(used))
    # Each number stands for a pair of a symbol and a class
    pairs, which = torch.unique(places * len(masses) + classes[:, None], return_inverse=True)
    heavy = torch.zeros(len(pairs), dtype=torch.float64)
    heavy.index_add_(0, which.flatten(), prior[:, None].expand(symbols.shape).flatten())
    best.scatter_reduce_(0, pairs // len(masses), (odds - 1) * heavy + masses[pairs % len(masses)], "amax")
    light = 1 / (symbols.shape[1] * (odds - 1) + size)  # probability of a symbol that is not heavy
    return float(light * (best.sum() + (size - len(used)) * masses.max()))
