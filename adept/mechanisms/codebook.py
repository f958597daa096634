r"""Top-t randomised response over a public codebook: PrivUnit's utility, with integers only between ranking and release.

k public unit vectors are known to everybody. For a record x let S_x be the t of them nearest to x. One codeword is released,
each in S_x with probability A / W and each other one with probability B / W, where A >= B are integers with A <= e^eps B and
W = t A + (k - t) B. (For t = 1 this is k-ary randomised response; for k -> infinity and t / k = q it is PrivUnit, whose cap of
probability q it samples. Subset selection over a random codebook: Feldman and Talwar 2021, "Lossless compression of
efficient private local randomizers"; Shah et al. 2022, "Optimal compression of locally differentially private mechanisms".)

Claim: pure eps-LDP, exactly, for any two records and whatever floats came in. Proof: W is the same for every x, because every S_x
is a set of exactly t indices (verified in integers for every record). So any codeword's probability is A / W or B / W under any
record, and two of them differ by a factor of at most A / B <= e^eps. Rounding errors, ties, duplicate codewords and the size of
the batch only change *which* t codewords are heavy, independently of the draw; no norm and no sensitivity enters. A comes from
eps as an exact rational (``adept.mechanisms.noise.exact_odds``), the draw from ``secrets``.

Blocks: one codebook covers a sphere only as far as its size allows, near eps = 12. Beyond, the coordinates are cut into m
blocks of n_j coordinates, each released by its own draw with budget eps n_j / n. The draws are independent given x, so the
budgets add up, to eps exactly, as fractions. The rule: each block's codebook has 2^12 to 2^14 codewords, the smallest power of
two that is at least 10 / q, and m is the power of two with the largest expected mean cosine. It reads n, eps and the
options, no data.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from adept.mechanisms.base import Mechanism, Symbols
from adept.mechanisms.blocks import Block, Shape, layout_cosine, random_layout
from adept.mechanisms.certificate import Part, symbols_part
from adept.mechanisms.grid import check_latents, clip_latents, to_grid
from adept.mechanisms.guarantee import Guarantee, words
from adept.mechanisms.noise import exact_ranks
from adept.mechanisms.privunit import DIMS
from adept.ranges import BUDGETS, check_between, check_integer

SIZES = (2, 2**20)


@dataclass(frozen=True, kw_only=True)
class Codebook(Mechanism):
    """Pure eps-LDP for any two records, in exact arithmetic: a public codeword near the latent's direction, times C.

    Neighbours, claim, proof and sources: this module's docstring. The release is the codeword itself, of length C, not an
    unbiased estimate: its mean over codebooks is ``mean_cosine`` times the record's direction, but for one fixed codebook it
    also has a part orthogonal to the record (length .23 at k = 4096, n = 64, eps = 8). Only the direction is released; a zero or
    non-finite latent stands for the first axis.

    Attributes:
        size: codewords k in each block's codebook, 2 to 2^20; by default 2^12 to 2^14 by the rule above.
        seed: published seed of the random codebook. It protects nothing and need not be secret.
        blocks: number of blocks m, 1 to n / 2; by default the power of two with the largest mean cosine.
    """

    size: int | None = None
    seed: int = 20210
    blocks: int | None = None
    name: ClassVar[str] = "codebook"
    clip: ClassVar[str] = "sphere"
    serves: ClassVar[frozenset[str]] = frozenset({"l2", "sphere"})

    def _check_budget(self) -> None:
        check_between(*BUDGETS, epsilon=self.epsilon)
        if self.size is not None:
            check_integer(*SIZES, size=self.size)
        if self.blocks is not None:
            check_integer(1, DIMS[1] // 2, blocks=self.blocks)
        check_integer(0, 2**128 - 1, seed=self.seed)

    def layout(self, dim: int) -> tuple[Block, ...]:
        """Return the blocks, in the order of the coordinates; their budgets sum to epsilon exactly."""
        return random_layout(dim, epsilon=self.epsilon, size=self.size, seed=self.seed, blocks=self.blocks)

    def certificate(self, dim: int) -> list[Part]:
        shapes = [block.shape for block in self.layout(dim)]
        return [symbols_part("text", epsilon=s.epsilon, size=s.size, top=s.top, odds=s.odds) for s in shapes]

    def symbols(self, dim: int) -> tuple[Symbols, ...]:
        return tuple(Symbols(block.shape.size, block.shape.top) for block in self.layout(dim))

    def privatize(self, latents: Tensor) -> Tensor:
        units = to_grid(latents, clip=self.clip, clip_norm=self.clip_norm)
        chosen = [block.choose(part, released_ranks(len(part), block.shape)) for block, part in self._parts(units)]
        return self._join(chosen, like=latents)

    def simulate(self, latents: Tensor, generator: torch.Generator | None) -> Tensor:
        """Return a seeded release, differentiable straight through: the gradient is that of mean_cosine times the direction."""
        check_latents(latents)
        centres = clip_latents(latents, clip=self.clip, clip_norm=self.clip_norm)
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
        """Put the blocks' codewords together, each with the length sqrt(n_j / n) C that a random direction gives it."""
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
        """Return E<x, V> for x uniform on the sphere, over random codebooks: closed form up to a quadrature."""
        return layout_cosine(tuple(block.shape for block in self.layout(dim)))

    def expected_squared_error(self, dim: int) -> float:
        """Return 2 C^2 (1 - mean cosine): averaged over x uniform on the sphere, and over random codebooks."""
        return 2 * self.clip_norm**2 * (1 - self.mean_cosine(dim))


def released_ranks(records: int, shape: Shape) -> Tensor:
    """Return exact ranks (B,) from the operating system's entropy: each of the first t has weight A, each other one B."""
    ranks = exact_ranks(records, near=shape.top, far=shape.size - shape.top, odds=shape.odds)
    return torch.tensor(ranks, dtype=torch.int64)


def simulated_ranks(latents: Tensor, shape: Shape, generator: torch.Generator | None) -> Tensor:
    """Return seeded ranks (B,), distributed as released ones. Not private."""
    heavy, light = shape.odds
    near = shape.top * heavy / (shape.top * heavy + (shape.size - shape.top) * light)
    draws = torch.rand(2, len(latents), dtype=torch.float64, device=latents.device, generator=generator)
    inside = (draws[1] * shape.top).long()
    outside = shape.top + (draws[1] * (shape.size - shape.top)).long()
    return torch.where(draws[0] < near, inside, outside)
