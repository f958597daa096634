r"""Top-t randomised response over a public codebook, drawn in integer arithmetic.

The codebook is k public unit vectors, the codewords. For a record x let S_x be the t codewords
nearest to x. One codeword is released: each codeword in S_x with probability A / W and each other
codeword with probability B / W, where A >= B are integers with A <= e^eps B and W = t A + (k - t)
B. (For t = 1 this is k-ary randomised response; for k -> infinity and t / k = q it is PrivUnit,
whose cap of probability q it samples. Subset selection over a random codebook: Feldman and Talwar
2021, "Lossless compression of efficient private local randomizers"; Shah et al. 2022, "Optimal
compression of locally differentially private mechanisms".)

Claim: pure eps-LDP, exactly, for any two records and any floats. Proof: W is the same for every x,
because every S_x is a set of exactly t indices (verified in integers for every record). So any
codeword's probability is A / W or B / W under any record, and two of them differ by a factor of at
most A / B <= e^eps. Rounding errors, ties, duplicate codewords and the size of the batch only
change *which* t codewords are heavy, independently of the draw. The proof uses no norm and no
sensitivity. A is computed from eps as an exact rational
(``adept.mechanisms.random_draws.exact_odds``), and the draw uses ``secrets``.

Blocks: a larger budget needs a larger codebook, and one codebook of the allowed size serves budgets
up to about eps = 12. For larger budgets, the coordinates are cut into m blocks of n_j coordinates,
and each block is released by its own draw with budget eps n_j / n. The draws are independent given
x, so the budgets add up; as fractions their sum is exactly eps. The rule: each block's codebook has
2^12 to 2^14 codewords, the smallest power of two that is at least 10 / q, and m is the power of two
with the largest expected mean cosine. The rule reads only n, eps and the options, never data.

Checked proof: ``proofs/Symbols.v``, ``descriptions_are_private``; ``proofs/Privacy.v``, ``composition_of_many``.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar

import numpy as np
import torch
from scipy.special import betaincinv, betaln, ndtri
from torch import Tensor

from adept.errors import ConfigurationError
from adept.mechanisms.base import Mechanism, Symbols
from adept.mechanisms.clip_to_grid import grid_step
from adept.mechanisms.guarantee import Guarantee, Part, symbols_part, words
from adept.mechanisms.privunit import SPHERE_DIMS, optimal_cap
from adept.mechanisms.random_draws import exact_odds, exact_ranks
from adept.ranges import BUDGETS, check_between, check_integer

SIZES = (2, 2**20)
DEFAULT_SIZES = (2**12, 2**14)
MAX_SCORES = 2**22  # scores in memory at a time: 16 MiB of float32


@dataclass(frozen=True)
class Shape:
    """The public numbers of one draw."""

    dim: int  # coordinates n_j
    size: int  # codewords k
    top: int  # t
    epsilon: Fraction  # the draw's share of the budget

    @property
    def odds(self) -> tuple[int, int]:
        """The integer weights (A, B) of a codeword inside and outside S_x."""
        return exact_odds(self.epsilon)


@dataclass(frozen=True, eq=False)
class Block:
    """One draw: its public numbers, and the codewords, float32 (k, n_j) on the CPU."""

    shape: Shape
    codewords: Tensor

    def nearest(self, latents: Tensor) -> Tensor:
        """Return S_x, the t nearest codewords of rows (B, n_j): int64 (B, t), ascending."""
        codewords = self.codewords.to(latents.device)
        chunks = torch.split(latents.to(torch.float32), max(1, MAX_SCORES // self.shape.size))
        scores = (chunk @ codewords.T for chunk in chunks)
        indices = torch.cat([score.topk(self.shape.top, dim=-1, sorted=False).indices for score in scores])
        indices = indices.sort(dim=-1).values
        if indices.shape[-1] != self.shape.top or bool((indices.diff(dim=-1) <= 0).any()):
            raise RuntimeError(f"a ranking returned something else than {self.shape.top} different codewords")
        return indices

    def choose(self, latents: Tensor, ranks: Tensor) -> Tensor:
        """Return the codeword (B, n_j) at each row's rank."""
        return self.codewords.to(latents.device)[self.place(latents, ranks)]

    def place(self, latents: Tensor, ranks: Tensor) -> Tensor:
        """Return the index (B,) of the codeword at each row's rank.

        Ranks 0..t-1 are the members of S_x, and ranks t..k-1 the other codewords, both in ascending
        order. So for every row the ranks permute the k codewords, which is all that the proof
        needs.
        """
        near, top = self.nearest(latents), self.shape.top
        ranks = ranks.to(near.device)
        inside = near.gather(1, ranks.clamp(max=top - 1)[:, None])[:, 0]
        # The j-th index outside S_x is j plus the number of members of S_x that precede it.
        before = near - torch.arange(top, device=near.device)
        outside = ranks - top + torch.searchsorted(before, (ranks - top)[:, None], right=True)[:, 0]
        return torch.where(ranks < top, inside, outside)


@dataclass(frozen=True, kw_only=True)
class Codebook(Mechanism):
    """Pure eps-LDP in exact arithmetic: a public codeword near the latent's direction.

    Neighbours, claim, proof and sources: this module's docstring. The release is the codeword
    itself, of length C, not an unbiased estimate. Only the direction is released; a zero or
    non-finite latent is read as the first axis.

    Attributes:
        size: the number k of codewords of each block, 2 to 2^20; the rule above sets the default.
        seed: published seed of the random codebook.
        blocks: the number m of blocks, 1 to n / 2; the rule above sets the default.
    """

    size: int | None = None
    seed: int = 20210
    blocks: int | None = None
    name: ClassVar[str] = "codebook"
    clip: ClassVar[str] = "sphere"

    def _check_budget(self) -> None:
        check_between(*BUDGETS, epsilon=self.epsilon)
        if self.size is not None:
            check_integer(*SIZES, size=self.size)
        if self.blocks is not None:
            check_integer(1, SPHERE_DIMS[1] // 2, blocks=self.blocks)
        check_integer(0, 2**128 - 1, seed=self.seed)

    def layout(self, dim: int) -> tuple[Block, ...]:
        """Return the blocks, in coordinate order; their budgets sum to epsilon exactly."""
        return random_layout(dim, epsilon=self.epsilon, size=self.size, seed=self.seed, blocks=self.blocks)

    def certificate(self, dim: int) -> list[Part]:
        shapes = [block.shape for block in self.layout(dim)]
        return [symbols_part("text", epsilon=s.epsilon, size=s.size, top=s.top, odds=s.odds) for s in shapes]

    def symbols(self, dim: int) -> tuple[Symbols, ...]:
        return tuple(Symbols(block.shape.size, block.shape.top) for block in self.layout(dim))

    def privatize(self, latents: Tensor) -> Tensor:
        parts = self._parts(self.clip_to_units(latents))
        chosen = [block.choose(part, released_ranks(len(part), block.shape)) for block, part in parts]
        return self._join(chosen, like=latents)

    def simulate(self, latents: Tensor, generator: torch.Generator | None) -> Tensor:
        """Simulate a seeded release whose gradient is that of ``mean_cosine`` times the direction."""
        centres = self.clip_as_floats(latents)
        chosen = [
            block.choose(part, simulated_ranks(part, block.shape, generator))
            for block, part in self._parts(centres.detach())
        ]
        mean = self.mean_cosine(latents.shape[1]) * centres
        return self._join(chosen, like=latents) + mean - mean.detach()

    def _parts(self, centres: Tensor) -> Iterator[tuple[Block, Tensor]]:
        """Pair each block with its coordinates."""
        blocks = self.layout(centres.shape[1])
        return zip(blocks, torch.split(centres, [block.shape.dim for block in blocks], dim=1), strict=True)

    def _join(self, chosen: list[Tensor], *, like: Tensor) -> Tensor:
        """Join the codewords of the blocks, each scaled to the length sqrt(n_j / n) C."""
        dim = like.shape[1]
        scaled = [word.to(torch.float64) * (self.clip_norm * (word.shape[1] / dim) ** 0.5) for word in chosen]
        return torch.cat(scaled, dim=1).to(like.device, like.dtype)

    def guarantee(self, dim: int) -> Guarantee:
        blocks = self.layout(dim)
        parts = "" if len(blocks) == 1 else f" ({len(blocks)} draws, whose budgets add up to it)"
        return Guarantee.pure(
            epsilon=self.epsilon,
            exact=True,
            text=f"The released codeword is {words(self.epsilon)}-LDP (pure) for any two records{parts}, and so is every text "
            "decoded from it, provided that the codebook was not made from private data.",
        )

    def mean_cosine(self, dim: int) -> float:
        """Return the mean of <x, V> over random codebooks, for x uniform on the unit sphere."""
        return layout_cosine(tuple(block.shape for block in self.layout(dim)))

    def expected_squared_error(self, dim: int) -> float:
        """Return 2 C^2 (1 - mean cosine), for x uniform on the sphere and random codebooks."""
        return 2 * self.clip_norm**2 * (1 - self.mean_cosine(dim))


def released_ranks(records: int, shape: Shape) -> Tensor:
    """Draw exact ranks (B,): each of the first t ranks has the weight A, each other rank B."""
    ranks = exact_ranks(records, near=shape.top, far=shape.size - shape.top, odds=shape.odds)
    return torch.tensor(ranks, dtype=torch.int64)


def simulated_ranks(latents: Tensor, shape: Shape, generator: torch.Generator | None) -> Tensor:
    """Draw seeded ranks (B,) with the distribution of released ranks. Not private."""
    heavy, light = shape.odds
    near = shape.top * heavy / (shape.top * heavy + (shape.size - shape.top) * light)
    draws = torch.rand(2, len(latents), dtype=torch.float64, device=latents.device, generator=generator)
    inside = (draws[1] * shape.top).long()
    outside = shape.top + (draws[1] * (shape.size - shape.top)).long()
    return torch.where(draws[0] < near, inside, outside)


@lru_cache(maxsize=8)
def random_codewords(dim: int, size: int, seed: int) -> Tensor:
    """Return ``size`` random unit vectors (size, dim) in float32, the same on every machine.

    NumPy guarantees the stream of PCG64. Rounding to multiples of 2^-20 removes the last bits,
    which differ between platforms.
    """
    raw = np.random.PCG64(seed).random_raw(size * dim)
    gaussian = ndtri(((raw >> np.uint64(12)).astype(np.float64) + 0.5) * 2.0**-52).reshape(size, dim)
    unit = gaussian / np.sqrt((gaussian**2).sum(axis=1, keepdims=True))
    return torch.from_numpy((np.round(unit / grid_step(1.0)) * grid_step(1.0)).astype(np.float32))


@lru_cache(maxsize=16)
def random_layout(dim: int, *, epsilon: float, size: int | None, seed: int, blocks: int | None) -> tuple[Block, ...]:
    """Return the blocks of a random codebook; this module's rule replaces options that are None."""
    count = blocks or default_blocks(dim, epsilon=epsilon, size=size)
    shapes = layout_shapes(dim, epsilon=epsilon, size=size, blocks=count)
    return tuple(Block(shape, random_codewords(shape.dim, shape.size, seed)) for shape in shapes)


def default_blocks(dim: int, *, epsilon: float, size: int | None) -> int:
    """Return the number of blocks, a power of two up to n / 2, with the largest mean cosine."""
    best, best_cosine = 1, 0.0
    for power in range(max(1, (dim // 2).bit_length()) if epsilon >= BUDGETS[0] * dim else 1):
        shapes = layout_shapes(dim, epsilon=epsilon, size=size, blocks=1 << power)
        if (cosine := layout_cosine(shapes)) > best_cosine:
            best, best_cosine = 1 << power, cosine
    return best


def layout_shapes(dim: int, *, epsilon: float, size: int | None, blocks: int) -> tuple[Shape, ...]:
    """Cut ``dim`` coordinates into blocks of nearly equal size, with budgets in exact proportion."""
    if blocks > max(1, dim // 2):
        raise ConfigurationError(f"blocks must be at most half of the {dim} coordinates, got {blocks}")
    dims = [dim // blocks + (index < dim % blocks) for index in range(blocks)]
    return tuple(block_shape(part, epsilon=Fraction(epsilon) * part / dim, size=size) for part in dims)


def block_shape(dim: int, *, epsilon: Fraction, size: int | None = None, top: int | None = None) -> Shape:
    """Return the numbers of one draw; by default t = round(q k), with the q of PrivUnit."""
    share = optimal_cap(dim, epsilon=float(epsilon)).probability
    low, high = DEFAULT_SIZES
    while low < high and low < 10 / share:
        low *= 2
    size = size or low
    return Shape(dim, size, top or max(1, round(share * size)), epsilon)


def layout_cosine(shapes: tuple[Shape, ...]) -> float:
    """Return the mean of <x, V> for x uniform on the sphere, where V joins the released blocks."""
    whole = sum(shape.dim for shape in shapes)
    return sum(mean_length(shape.dim, whole) * math.sqrt(shape.dim / whole) * draw_cosine(shape) for shape in shapes)


@lru_cache(maxsize=256)
def draw_cosine(shape: Shape) -> float:
    """Return the mean of <x, V> for one draw and a unit vector x, over random codebooks.

    The codewords' cosines with x are k independent copies of T, one coordinate of a random unit
    vector. Integration by parts over T's quantiles shows that the t largest of them sum to k
    E[M(g(v))] on average. Here v has the distribution Beta(t, k - t), g(v) is the cosine of the cap
    that covers the share v, and M(g) = E[T; T >= g]. All k of them sum to zero on average, which
    leaves (A - B) / W times that sum. The expectation over v is a Gauss quadrature over its
    quantiles.
    """
    a, top, size = (shape.dim - 1) / 2, shape.top, shape.size
    nodes, weights = np.polynomial.legendre.leggauss(128)
    share = betaincinv(top, size - top, (1 + nodes) / 2)
    squared_sine = betaincinv(a, 0.5, 2 * np.minimum(share, 1 - share))
    first_moment = float(weights @ squared_sine**a) / (4 * a) * float(np.exp(-betaln(0.5, a)))
    heavy, light = shape.odds
    return size * first_moment * ((heavy - light) / (top * heavy + (size - top) * light))


def mean_length(dim: int, whole: int) -> float:
    """Return the mean length of ``dim`` of the ``whole`` coordinates of a uniform unit vector."""
    if dim == whole:
        return 1.0
    rest = (whole - dim) / 2
    return float(np.exp(betaln((dim + 1) / 2, rest) - betaln(dim / 2, rest)))
