"""Blocks of a codebook: how many, how large, over which codewords, and what their draws achieve.

Everything here is public: it reads the dimension, the budget and the options, never a record, except for ``Block.place``, whose
part in the proof is stated there. The proof is in ``adept.mechanisms.codebook``.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
import torch
from scipy.special import betaincinv, betaln, ndtri
from torch import Tensor

from adept.errors import ConfigurationError
from adept.mechanisms.grid import grid_step
from adept.mechanisms.noise import exact_odds
from adept.mechanisms.privunit import optimal_cap
from adept.ranges import BUDGETS

DEFAULT_SIZES = (2**12, 2**14)
CHUNK = 2**22  # scores in memory at a time: 16 MiB of float32


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
        """Return S_x for each row (B, n_j): int64 (B, t), ascending, verified to be t different indices."""
        codewords = self.codewords.to(latents.device)
        chunks = torch.split(latents.to(torch.float32), max(1, CHUNK // self.shape.size))
        scores = (chunk @ codewords.T for chunk in chunks)
        indices = torch.cat([score.topk(self.shape.top, dim=-1, sorted=False).indices for score in scores])
        indices = indices.sort(dim=-1).values
        if indices.shape[-1] != self.shape.top or bool((indices.diff(dim=-1) <= 0).any()):
            raise RuntimeError(f"a ranking returned something else than {self.shape.top} different codewords")
        return indices

    def choose(self, latents: Tensor, ranks: Tensor) -> Tensor:
        """Return the codeword (B, n_j) that each rank means for each row."""
        return self.codewords.to(latents.device)[self.place(latents, ranks)]

    def place(self, latents: Tensor, ranks: Tensor) -> Tensor:
        """Return the index (B,) of the codeword that each rank means for each row.

        Ranks 0..t-1 mean the members of S_x, ranks t..k-1 the other codewords, both in ascending order: for every row a
        permutation of the k codewords, which is all that the proof needs.
        """
        near, top = self.nearest(latents), self.shape.top
        ranks = ranks.to(near.device)
        inside = near.gather(1, ranks.clamp(max=top - 1)[:, None])[:, 0]
        # The j-th index outside S_x is j plus the number of members of S_x that precede it.
        before = near - torch.arange(top, device=near.device)
        outside = ranks - top + torch.searchsorted(before, (ranks - top)[:, None], right=True)[:, 0]
        return torch.where(ranks < top, inside, outside)


@lru_cache(maxsize=8)
def random_codewords(dim: int, size: int, seed: int) -> Tensor:
    """Return ``size`` random unit vectors (size, dim) in float32, the same on every machine.

    The raw 64-bit words of NumPy's PCG64, whose stream NumPy promises to keep, become normal numbers by the inverse of the
    distribution function; the directions are rounded to multiples of 2^-20, so that the last bits of a platform's
    mathematical functions hardly ever matter, and lengths are 1 up to that rounding.
    """
    raw = np.random.PCG64(seed).random_raw(size * dim)
    gaussian = ndtri(((raw >> np.uint64(12)).astype(np.float64) + 0.5) * 2.0**-52).reshape(size, dim)
    unit = gaussian / np.sqrt((gaussian**2).sum(axis=1, keepdims=True))
    return torch.from_numpy((np.round(unit / grid_step(1.0)) * grid_step(1.0)).astype(np.float32))


@lru_cache(maxsize=16)
def random_layout(dim: int, *, epsilon: float, size: int | None, seed: int, blocks: int | None) -> tuple[Block, ...]:
    """Return the blocks of a random codebook; what is None is chosen by the rule in ``adept.mechanisms.codebook``.

    Raises:
        ConfigurationError: dim is below 2, or there are more blocks than dim and epsilon allow.
    """
    count = blocks or default_blocks(dim, epsilon=epsilon, size=size)
    shapes = layout_shapes(dim, epsilon=epsilon, size=size, blocks=count)
    return tuple(Block(shape, random_codewords(shape.dim, shape.size, seed)) for shape in shapes)


def default_blocks(dim: int, *, epsilon: float, size: int | None) -> int:
    """Return the power of two, at most n / 2, that has the largest expected mean cosine."""
    best, best_cosine = 1, 0.0
    for power in range(max(1, (dim // 2).bit_length()) if epsilon >= BUDGETS[0] * dim else 1):
        shapes = layout_shapes(dim, epsilon=epsilon, size=size, blocks=1 << power)
        if (cosine := layout_cosine(shapes)) > best_cosine:
            best, best_cosine = 1 << power, cosine
    return best


def layout_shapes(dim: int, *, epsilon: float, size: int | None, blocks: int) -> tuple[Shape, ...]:
    """Cut ``dim`` coordinates into ``blocks`` parts whose sizes differ by at most 1, with budgets in proportion.

    The budgets are exact fractions and sum to ``epsilon``, read as the rational number that the float is.
    """
    if blocks > max(1, dim // 2):
        raise ConfigurationError(f"blocks must be at most half of the {dim} coordinates, got {blocks}")
    dims = [dim // blocks + (index < dim % blocks) for index in range(blocks)]
    return tuple(block_shape(part, epsilon=Fraction(epsilon) * part / dim, size=size) for part in dims)


def block_shape(dim: int, *, epsilon: Fraction, size: int | None = None, top: int | None = None) -> Shape:
    """Return the numbers of one draw; by default t = max(1, round(q k)), and k by the rule, q PrivUnit's cap probability."""
    share = optimal_cap(dim, epsilon=float(epsilon)).probability
    low, high = DEFAULT_SIZES
    while low < high and low < 10 / share:
        low *= 2
    size = size or low
    return Shape(dim, size, top or max(1, round(share * size)), epsilon)


def layout_cosine(shapes: tuple[Shape, ...]) -> float:
    """Return E<x, V> for x uniform on the sphere and V the blocks put together, each with length sqrt(n_j / n)."""
    whole = sum(shape.dim for shape in shapes)
    return sum(mean_length(shape.dim, whole) * math.sqrt(shape.dim / whole) * draw_cosine(shape) for shape in shapes)


@lru_cache(maxsize=256)
def draw_cosine(shape: Shape) -> float:
    """Return E<x, V> of one draw for a unit x, averaged over random codebooks.

    The codewords' cosines with x are k independent copies of T, one coordinate of a random unit vector. Integrating by
    parts over T's quantiles, the t largest of them sum to k E[M(g(v))] on average, with v of distribution Beta(t, k - t), g(v) the
    cosine of the cap that covers the share v, and M(g) = E[T; T >= g]. All k of them sum to zero on average, which leaves
    (A - B) / W times that sum. The expectation over v is a Gauss quadrature over its quantiles.
    """
    a, top, size = (shape.dim - 1) / 2, shape.top, shape.size
    nodes, weights = np.polynomial.legendre.leggauss(128)
    share = betaincinv(top, size - top, (1 + nodes) / 2)
    squared_sine = betaincinv(a, 0.5, 2 * np.minimum(share, 1 - share))
    first_moment = float(weights @ squared_sine**a) / (4 * a) * float(np.exp(-betaln(0.5, a)))
    heavy, light = shape.odds
    return size * first_moment * ((heavy - light) / (top * heavy + (size - top) * light))


def mean_length(dim: int, whole: int) -> float:
    """Return E||x_j|| for ``dim`` coordinates x_j of a uniform unit vector with ``whole`` coordinates."""
    if dim == whole:
        return 1.0
    rest = (whole - dim) / 2
    return float(np.exp(betaln((dim + 1) / 2, rest) - betaln(dim / 2, rest)))
