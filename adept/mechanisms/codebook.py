r"""Release of a public codeword; the t codewords nearest to the record are the likeliest.

A codebook is a list of k public unit vectors, the codewords. For a record with the latent x, let
S_x be the set of the t codewords nearest to x, its *heavy* codewords. The mechanism releases one
codeword for the record: each codeword in S_x with probability A / W, and each other codeword with
probability B / W. Here A >= B are integers with A <= e^eps B (``random_draws.exact_odds``), and W =
t A + (k - t) B. The program draws a *rank*: ranks 0 to t - 1 stand for the heavy codewords, and
ranks t to k - 1 stand for the others. For t = 1 the mechanism is k-ary randomised response. For
k -> infinity and t / k = q, the mechanism becomes PrivUnit with a cap of probability q
(``adept.mechanisms.privunit``).

Claim: the release is pure eps-LDP, exactly, for any two records, whatever floating-point numbers
their latents hold. Proof: every S_x is a set of exactly t indices, which the program verifies in
integers for every record. So W is the same for every x, and any codeword has probability A / W or B
/ W under any record. The probabilities of a codeword under two records differ by a factor of at
most A / B <= e^eps. Rounding errors, ties and equal codewords can only change *which* t codewords
are heavy, and this choice does not depend on the draw. The proof uses no norm and no sensitivity.
QED.

The other records of a batch, and their number, do not change S_x: every product has SCORED_ROWS
rows (fewer, if there are very many codewords), so a record's scores are always rounded alike. This
assumes that a kernel adds in the same order in each row, which tests check.

Blocks: a codebook has at most 2^20 codewords, too few for budgets above about eps = 12. For large
budgets, the program cuts the n coordinates of a latent into m blocks. Block j has n_j coordinates,
and a separate draw with the budget eps n_j / n releases this block. The draws for the blocks are
independent given x, so their budgets add up. The program computes the budgets as fractions, so
their sum is exactly eps.

By default, k is the smallest power of two from 2^12 to 2^14 that is at least 10 / q, or 2^14 if all
these powers are smaller. Here q is the probability of PrivUnit's cap. By default, t is q k, rounded
to a whole number, but at least 1. By default, m is the power of two for which the expected cosine
between a latent and its release is largest. The rules for k and m read only n, eps and the options.

Sources for subset selection over a random codebook: Feldman and Talwar 2021, "Lossless compression
of efficient private local randomizers"; Shah et al. 2022, "Optimal compression of locally
differentially private mechanisms".

Checked proof: ``proofs/Symbols.v``, ``descriptions_are_private``; ``proofs/Privacy.v``,
``composition_of_many``.
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
from torch.nn.functional import pad

from adept.errors import ConfigurationError
from adept.mechanisms.base import Mechanism, Symbols
from adept.mechanisms.clip_to_grid import grid_step
from adept.mechanisms.guarantee import Guarantee, Part, symbols_part, words
from adept.mechanisms.privunit import SPHERE_DIMS, optimal_cap
from adept.mechanisms.random_draws import exact_odds, exact_ranks
from adept.ranges import BUDGETS, check_between, check_integer

SIZES = (2, 2**20)
DEFAULT_SIZES = (2**12, 2**14)
MAX_SCORES = 2**22  # scores of codewords in memory at a time: 16 MiB of float32
SCORED_ROWS = 128  # rows of every product with codewords, if MAX_SCORES permits; fewer latents are filled up with zeros


@dataclass(frozen=True)
class Shape:
    """The public numbers that define the draw for one block."""

    dim: int  # the number n_j of coordinates of the block
    size: int  # the number k of codewords
    top: int  # the number t of heavy codewords
    epsilon: Fraction  # the block's share of the budget

    @property
    def odds(self) -> tuple[int, int]:
        """The integer weights (A, B) of a heavy codeword and of any other codeword."""
        return exact_odds(self.epsilon)


@dataclass(frozen=True, eq=False)
class Block:
    """A block of n_j coordinates, with its codewords (k, n_j) and the numbers for its draw."""

    shape: Shape
    codewords: Tensor

    def nearest(self, latents: Tensor) -> Tensor:
        """Return the ascending indices (B, t) of the t codewords nearest to each of B latents."""
        codewords = self.codewords.to(latents.device)
        rows = min(SCORED_ROWS, max(1, MAX_SCORES // self.shape.size))
        chunks = torch.split(latents.to(torch.float32), rows)
        scores = ((pad(chunk, (0, 0, 0, rows - len(chunk))) @ codewords.T)[: len(chunk)] for chunk in chunks)
        indices = torch.cat([score.topk(self.shape.top, dim=-1, sorted=False).indices for score in scores])
        indices = indices.sort(dim=-1).values
        if indices.shape[-1] != self.shape.top or bool((indices.diff(dim=-1) <= 0).any()):
            raise RuntimeError(f"a ranking returned something else than {self.shape.top} different codewords")
        return indices

    def choose(self, latents: Tensor, ranks: Tensor) -> Tensor:
        """Return the codeword (B, n_j) at the given rank for each row of latents (B, n_j)."""
        return self.codewords.to(latents.device)[self.place(latents, ranks)]

    def place(self, latents: Tensor, ranks: Tensor) -> Tensor:
        """Return the index (B,) of the codeword at the given rank for each row of latents (B, n_j).

        The t nearest codewords have the ranks 0 to t - 1, and the other codewords have the ranks t
        to k - 1, both in ascending order of the indices. So for every latent, each of the k
        codewords has exactly one rank.
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
    """A mechanism that releases a public codeword; codewords near the latent are likelier.

    The release is pure eps-LDP for any two records, in exact arithmetic. The release consists of
    one codeword for each block, and has l2 norm C. The release is biased: its mean is not the
    latent. The probabilities of the codewords depend only on the direction of the latent. A zero or
    non-finite latent counts as the unit vector along the first axis.

    Attributes:
        size: the number k of codewords in the codebook of each block, from 2 to 2^20; by default,
            it follows from the budget.
        seed: the seed of the random codebook, which is public.
        blocks: the number m of blocks into which the n numbers of a latent are cut, from 1 to n /
            2; by default, it follows from n and the budget.
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
        """Return the blocks, whose budgets sum to epsilon, in the order of their coordinates."""
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
        """Simulate a release from a seeded generator, without privacy.

        The gradient of the result is the gradient of the expected release.
        """
        centres = self.clip_as_floats(latents)
        chosen = [
            block.choose(part, simulated_ranks(part, block.shape, generator))
            for block, part in self._parts(centres.detach())
        ]
        mean = self.mean_cosine(latents.shape[1]) * centres
        return self._join(chosen, like=latents) + mean - mean.detach()

    def _parts(self, centres: Tensor) -> Iterator[tuple[Block, Tensor]]:
        blocks = self.layout(centres.shape[1])
        return zip(blocks, torch.split(centres, [block.shape.dim for block in blocks], dim=1), strict=True)

    def _join(self, chosen: list[Tensor], *, like: Tensor) -> Tensor:
        """Join the blocks' codewords, scaled to l2 norm sqrt(n_j / n) C, into latents (B, n)."""
        dim = like.shape[1]
        scaled = [word.to(torch.float64) * (self.clip_norm * (word.shape[1] / dim) ** 0.5) for word in chosen]
        return torch.cat(scaled, dim=1).to(like.device, like.dtype)

    def guarantee(self, dim: int) -> Guarantee:
        blocks = random_shapes(dim, epsilon=self.epsilon, size=self.size, blocks=self.blocks)
        parts = "" if len(blocks) == 1 else f" ({len(blocks)} draws, whose budgets add up to it)"
        return Guarantee.pure(
            epsilon=self.epsilon,
            exact=True,
            text=f"The released codeword is {words(self.epsilon)}-LDP (pure) for any two records{parts}, and so is every text "
            "decoded from it, provided that the codebook was not made from private data.",
        )

    def mean_cosine(self, dim: int) -> float:
        """Return the mean cosine between a latent of random direction and its release."""
        return layout_cosine(tuple(block.shape for block in self.layout(dim)))

    def expected_squared_error(self, dim: int) -> float:
        """Return the mean squared distance between a latent of random direction and its release.

        The distance is 2 C^2 (1 - ``mean_cosine``), because latent and release have the l2 norm C.
        """
        return 2 * self.clip_norm**2 * (1 - self.mean_cosine(dim))


def released_ranks(records: int, shape: Shape) -> Tensor:
    """Draw a rank for each record in exact arithmetic; ranks below t have the larger weight."""
    ranks = exact_ranks(records, near=shape.top, far=shape.size - shape.top, odds=shape.odds)
    return torch.tensor(ranks, dtype=torch.int64)


def simulated_ranks(latents: Tensor, shape: Shape, generator: torch.Generator | None) -> Tensor:
    """Draw ranks (B,) as ``released_ranks`` does, but from a seeded generator, without privacy."""
    heavy, light = shape.odds
    near = shape.top * heavy / (shape.top * heavy + (shape.size - shape.top) * light)
    draws = torch.rand(2, len(latents), dtype=torch.float64, device=latents.device, generator=generator)
    inside = (draws[1] * shape.top).long()
    outside = shape.top + (draws[1] * (shape.size - shape.top)).long()
    return torch.where(draws[0] < near, inside, outside)


@lru_cache(maxsize=8)
def random_codewords(dim: int, size: int, seed: int) -> Tensor:
    """Return random unit vectors (size, dim) in float32, which are the same on every machine."""
    raw = np.random.PCG64(seed).random_raw(size * dim)
    gaussian = ndtri(((raw >> np.uint64(12)).astype(np.float64) + 0.5) * 2.0**-52).reshape(size, dim)
    unit = gaussian / np.sqrt((gaussian**2).sum(axis=1, keepdims=True))
    # Rounding removes the last bits, which may differ between platforms
    return torch.from_numpy((np.round(unit / grid_step(1.0)) * grid_step(1.0)).astype(np.float32))


@lru_cache(maxsize=16)
def random_layout(dim: int, *, epsilon: float, size: int | None, seed: int, blocks: int | None) -> tuple[Block, ...]:
    """Return the blocks of a random codebook; if an option is None, the module's rule sets it."""
    shapes = random_shapes(dim, epsilon=epsilon, size=size, blocks=blocks)
    return tuple(Block(shape, random_codewords(shape.dim, shape.size, seed)) for shape in shapes)


def random_shapes(dim: int, *, epsilon: float, size: int | None, blocks: int | None) -> tuple[Shape, ...]:
    """Return the public numbers of the blocks, without the codewords, which take long to draw."""
    count = blocks or default_blocks(dim, epsilon=epsilon, size=size)
    return layout_shapes(dim, epsilon=epsilon, size=size, blocks=count)


def default_blocks(dim: int, *, epsilon: float, size: int | None) -> int:
    """Return the number of blocks, a power of two, for which the expected cosine is largest."""
    best, best_cosine = 1, 0.0
    for power in range(max(1, (dim // 2).bit_length()) if epsilon >= BUDGETS[0] * dim else 1):
        shapes = layout_shapes(dim, epsilon=epsilon, size=size, blocks=1 << power)
        if (cosine := layout_cosine(shapes)) > best_cosine:
            best, best_cosine = 1 << power, cosine
    return best


def layout_shapes(dim: int, *, epsilon: float, size: int | None, blocks: int) -> tuple[Shape, ...]:
    """Cut ``dim`` coordinates into nearly equal blocks, with budgets proportional to the sizes."""
    if blocks > max(1, dim // 2):
        raise ConfigurationError(f"blocks must be at most half of the {dim} coordinates, got {blocks}")
    dims = [dim // blocks + (index < dim % blocks) for index in range(blocks)]
    return tuple(block_shape(part, epsilon=Fraction(epsilon) * part / dim, size=size) for part in dims)


@lru_cache(maxsize=256)
def block_shape(dim: int, *, epsilon: Fraction, size: int | None = None, top: int | None = None) -> Shape:
    """Return the public numbers for a block's draw; the module's rules set k and t by default."""
    share = optimal_cap(dim, epsilon=float(epsilon)).probability
    low, high = DEFAULT_SIZES
    while low < high and low < 10 / share:
        low *= 2
    size = size or low
    return Shape(dim, size, top or max(1, round(share * size)), epsilon)


def layout_cosine(shapes: tuple[Shape, ...]) -> float:
    """Return the expected cosine between a latent and its release, which consists of all blocks."""
    whole = sum(shape.dim for shape in shapes)
    return sum(mean_length(shape.dim, whole) * math.sqrt(shape.dim / whole) * draw_cosine(shape) for shape in shapes)


@lru_cache(maxsize=256)
def draw_cosine(shape: Shape) -> float:
    """Return the expected cosine between a unit vector x and its released codeword, for one block.

    The expectation is over the draw and over random codebooks. The cosines between x and the k
    codewords are independent copies of T, which is one coordinate of a random unit vector.
    Integration by parts over the quantiles of T shows that the t largest cosines sum to k
    E[M(g(v))] on average. Here v has the distribution Beta(t, k - t), g(v) is the smallest cosine
    in the cap that covers the share v of the sphere, and M(g) = E[T; T >= g]. All k cosines sum to
    zero on average. So the expected cosine of the release is (A - B) / W times the sum of the t
    largest cosines.
    """
    a, top, size = (shape.dim - 1) / 2, shape.top, shape.size
    nodes, weights = np.polynomial.legendre.leggauss(128)
    share = betaincinv(top, size - top, (1 + nodes) / 2)
    squared_sine = betaincinv(a, 0.5, 2 * np.minimum(share, 1 - share))
    first_moment = float(weights @ squared_sine**a) / (4 * a) * float(np.exp(-betaln(0.5, a)))
    heavy, light = shape.odds
    return size * first_moment * ((heavy - light) / (top * heavy + (size - top) * light))


def mean_length(dim: int, whole: int) -> float:
    """Return the mean l2 norm of ``dim`` of the ``whole`` coordinates of a random unit vector."""
    if dim == whole:
        return 1.0
    rest = (whole - dim) / 2
    return float(np.exp(betaln((dim + 1) / 2, rest) - betaln(dim / 2, rest)))
