r"""Release of a public codeword; the t codewords nearest to the record are the likeliest.

A codebook is a list of k public unit vectors, the codewords. The t codewords nearest to a record's latent
are its *heavy* codewords. The release is a draw of an index by subset selection, whose claim and proof
are those of ``adept.mechanisms.selection``. Rounding errors, ties and equal codewords can only change
*which* t codewords are heavy. The other records of a batch do not change S_x: every product has
SCORED_ROWS rows (fewer, if there are very many codewords), so a record's scores are always rounded
alike. This assumes that a kernel adds in the same order in each row, which tests check.

*Blocks*: a codebook has at most 2^20 codewords, too few above about eps = 12. For large budgets, the n
coordinates of a latent are cut into m blocks. A separate draw with the budget eps n_j / n releases the
n_j coordinates of block j. The draws are independent given x, so their budgets add up, exactly to eps.

By default, k is the smallest power of two from 2^12 to 2^14 that is at least 10 / q, or 2^14, and t is
q k, but at least 1, where q is the probability of PrivUnit's cap (``adept.mechanisms.privunit``). By
default, m is the power of two for which the expected cosine between latent and release is largest.

Sources: Feldman and Talwar 2021, "Lossless compression of efficient private local randomizers"; Shah et
al. 2022, "Optimal compression of locally differentially private mechanisms".

*Learned codewords* (`LearnedCodebook`) come from the latents of public texts. Claim and proof are the same,
for *any* public codewords. The rules of ``adept.mechanisms.policy`` set k and t.

Checked proof: ``proofs/Symbols.v``, ``descriptions_are_private``; ``proofs/Privacy.v``, ``composition_of_many``.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, ClassVar

import numpy as np
import scipy
import torch
from torch import Tensor
from torch.nn.functional import pad

from adept.errors import BUDGETS, ConfigurationError, check_between, check_integer, refuse
from adept.mechanisms import policy
from adept.mechanisms.base import Mechanism
from adept.mechanisms.clip_to_grid import check_latents, clip_latents, grid_step
from adept.mechanisms.guarantee import Guarantee, words
from adept.mechanisms.privunit import SPHERE_DIMS, optimal_cap
from adept.mechanisms.selection import Selection

SIZES = (2, 2**20)
DEFAULT_SIZES = (2**12, 2**14)
STAND_IN_DIM = 8  # dimensions of random codewords, for an audit without a model
MAX_SCORES = 2**22  # scores of codewords in memory at a time: 16 MiB of float32
SCORED_ROWS = 128  # rows of every product with codewords, if MAX_SCORES permits; fewer latents are filled up with zeros

Layout = tuple[tuple[int, Selection], ...]  # for each block, its number n_j of coordinates and its draw


@dataclass(frozen=True, eq=False)
class Block:
    """A block of n_j coordinates: its codewords (k, n_j), and the draw of one of them."""

    selection: Selection
    codewords: Tensor

    @property
    def dim(self) -> int:
        """The number n_j of coordinates."""
        return self.codewords.shape[1]

    def nearest(self, latents: Tensor) -> Tensor:
        """Return the indices (B, t) of the t codewords nearest to each of B latents, ascending."""
        codewords = self.codewords.to(latents.device)
        rows = min(SCORED_ROWS, max(1, MAX_SCORES // self.selection.size))
        chunks = torch.split(latents.to(torch.float32), rows)
        scores = ((pad(chunk, (0, 0, 0, rows - len(chunk))) @ codewords.T)[: len(chunk)] for chunk in chunks)
        near = [score.topk(self.selection.heavy_count, dim=-1, sorted=False).indices for score in scores]
        return torch.cat(near).sort(dim=-1).values


@dataclass(frozen=True, kw_only=True)
class Codebook(Mechanism):
    """A mechanism that releases a public codeword; codewords near the latent are likelier.

    The release is pure eps-LDP for any two records, in exact arithmetic. It consists of one codeword for each
    block, and has l2 norm C. Its mean is not the latent. Only the direction of the latent counts; a zero or
    non-finite latent counts as the unit vector along the first axis.

    Attributes:
        size: the number k of codewords of each block, from 2 to 2^20; by default, it follows from the budget.
        seed: the seed of the random codebook, which is public.
        blocks: the number m of blocks, from 1 to n / 2; by default, it follows from n and the budget.
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

    def draws(self, dim: int) -> Layout:
        """Return the size and the draw of each block; the budgets of all draws sum to epsilon."""
        blocks = self.blocks or default_blocks(dim, epsilon=self.epsilon, size=self.size)
        return cut(dim, epsilon=self.epsilon, size=self.size, blocks=blocks)

    def layout(self, dim: int) -> tuple[Block, ...]:
        """Return the blocks with their codewords, in the order of their coordinates."""
        return tuple(Block(draw, random_codewords(part, draw.size, self.seed)) for part, draw in self.draws(dim))

    def selections(self, dim: int) -> tuple[Selection, ...]:
        return tuple(draw for _, draw in self.draws(dim))

    def privatize(self, latents: Tensor) -> Tensor:
        parts = self.parts(self.clip_to_units(latents))
        drawn = [(block, block.selection.draw(block.nearest(part))) for block, part in parts]
        return self.join(drawn, like=latents)

    def simulate(self, latents: Tensor, generator: torch.Generator | None) -> Tensor:
        """Simulate a release with a seed, without privacy; its gradient is that of the expected release."""
        centres = self.clip_as_floats(latents)
        parts = self.parts(centres.detach())
        drawn = [(block, block.selection.simulate(block.nearest(part), generator)) for block, part in parts]
        mean = self.mean_cosine(latents.shape[1]) * centres
        return self.join(drawn, like=latents) + mean - mean.detach()

    def parts(self, latents: Tensor) -> Iterator[tuple[Block, Tensor]]:
        """Return each block with its coordinates of the latents (B, n)."""
        blocks = self.layout(latents.shape[1])
        return zip(blocks, torch.split(latents, [block.dim for block in blocks], dim=1), strict=True)

    def join(self, drawn: list[tuple[Block, Tensor]], *, like: Tensor) -> Tensor:
        """Join the drawn codewords, scaled to l2 norm sqrt(n_j / n) C, into latents (B, n)."""
        dim = like.shape[1]
        words = ((block.codewords.to(places.device)[places], block.dim) for block, places in drawn)
        scaled = [word.to(torch.float64) * (self.clip_norm * (part / dim) ** 0.5) for word, part in words]
        return torch.cat(scaled, dim=1).to(like.device, like.dtype)

    def guarantee(self, dim: int) -> Guarantee:
        draws = len(self.selections(dim))
        parts = "" if draws == 1 else f" ({draws} draws, whose budgets add up to it)"
        return Guarantee.pure(
            epsilon=self.epsilon,
            exact=True,
            text=f"The released codeword is {words(self.epsilon)}-LDP (pure) for any two records{parts}, and so is every text "
            "decoded from it, provided that the codebook was not made from private data.",
        )

    def mean_cosine(self, dim: int) -> float:
        """Return the mean cosine between a latent of random direction and its release."""
        return layout_cosine(self.draws(dim))

    def expected_squared_error(self, dim: int) -> float:
        """Return the mean squared distance 2 C^2 (1 - ``mean_cosine``) of a random latent from its release."""
        return 2 * self.clip_norm**2 * (1 - self.mean_cosine(dim))


@dataclass(frozen=True, kw_only=True, eq=False)
class LearnedCodebook(Codebook):
    """A mechanism that releases one codeword of a codebook that was learned from public latents.

    The release is pure eps-LDP, exactly, provided that no private data influenced the codewords.

    Attributes:
        codewords: a finite (k, n) tensor with k >= 2 and without zero rows; its rows are scaled to unit
            length at first use. None means random codewords until a model provides codewords.
        size: the number k of codewords; by default, it follows from the budget.
        top: the number t of heavy codewords of each record; by default, it follows from k and the budget.
    """

    # A Tensor; Any because configurations must be able to hold the class.
    codewords: Any = field(default=None, repr=False)
    top: int | None = None
    name: ClassVar[str] = "learned_codebook"

    def __post_init__(self) -> None:
        super().__post_init__()
        refuse((self.blocks is not None, f"blocks must be left out for a learned codebook, got {self.blocks}"))
        if self.codewords is not None:
            if self.size not in (None, len(self.codewords)):
                raise ConfigurationError(
                    f"size must be the number of codewords, {len(self.codewords)}, got {self.size}"
                )
            check_codewords(self.codewords)
        if self.top is not None:
            check_integer(1, self.count - 1, top=self.top)

    def __getstate__(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}  # no cache, so use leaves no trace

    @property
    def count(self) -> int:
        """The number k of codewords."""
        return len(self.codewords) if self.codewords is not None else self.size or policy.codeword_count(self.epsilon)

    @property
    def selection(self) -> Selection:
        """The draw of a codeword's index."""
        top = self.top or policy.heavy_codewords(self.epsilon, self.count)
        return Selection(epsilon=self.epsilon, size=self.count, heavy_count=top)

    def draws(self, dim: int) -> Layout:
        return ((dim, self.selection),)

    def layout(self, dim: int) -> tuple[Block, ...]:
        words = random_codewords(dim, self.count, self.seed) if self.codewords is None else self._units
        refuse((dim != words.shape[1], f"dim must be {words.shape[1]}, that of the codewords, got {dim}"))
        return (Block(self.selection, words),)

    def heavy(self, latents: Tensor) -> Tensor:
        """Return the ascending indices (B, t) of the codewords nearest to latents (B, n)."""
        units = self.clip_to_units(latents)
        return self.layout(units.shape[1])[0].nearest(units)

    def vectors(self, places: Tensor, *, like: Tensor) -> Tensor:
        """Return the codewords (B, n), of l2 norm C, at the given indices (B,)."""
        return self.join([(self.layout(like.shape[1])[0], places)], like=like)

    def heavy_symbols(self, number: int) -> set[int]:
        """Return the t codewords nearest to codeword ``number``, which an audit uses as a record."""
        words = random_codewords(STAND_IN_DIM, self.count, 0) if self.codewords is None else self._units
        return set(Block(self.selection, words).nearest(words[[number]])[0].tolist())

    def mean_cosine(self, dim: int) -> float:
        """Return the mean cosine between a random codeword, used as the record, and its release."""
        if self.codewords is None:
            return super().mean_cosine(dim)
        self.layout(dim)  # refuses another dimension
        return self._own_cosine

    @cached_property
    def _units(self) -> Tensor:
        return unit_codewords(self.codewords)

    @cached_property
    def _own_cosine(self) -> float:
        (block,) = self.layout(self.codewords.shape[1])
        (heavy, light), weight = block.selection.odds, block.selection.total
        precise = block.codewords.to(torch.float64)
        inside = torch.stack([precise[near].sum(dim=0) for near in block.nearest(block.codewords)])
        mean = inside * ((heavy - light) / weight) + precise.sum(dim=0) * (light / weight)
        return float((mean * precise).sum(dim=1).mean())


@lru_cache(maxsize=8)
def random_codewords(dim: int, size: int, seed: int) -> Tensor:
    """Return random unit vectors (size, dim) in float32, which are the same on every machine."""
    raw = np.random.PCG64(seed).random_raw(size * dim)
    gaussian = scipy.special.ndtri(((raw >> np.uint64(12)).astype(np.float64) + 0.5) * 2.0**-52).reshape(size, dim)
    unit = gaussian / np.sqrt((gaussian**2).sum(axis=1, keepdims=True))
    # Rounding removes the last bits, which may differ between platforms
    return torch.from_numpy((np.round(unit / grid_step(1.0)) * grid_step(1.0)).astype(np.float32))


@lru_cache(maxsize=256)
def default_blocks(dim: int, *, epsilon: float, size: int | None) -> int:
    """Return the number of blocks, a power of two, for which the expected cosine is largest."""
    best, best_cosine = 1, 0.0
    for power in range(max(1, (dim // 2).bit_length()) if epsilon >= BUDGETS[0] * dim else 1):
        if (cosine := layout_cosine(cut(dim, epsilon=epsilon, size=size, blocks=1 << power))) > best_cosine:
            best, best_cosine = 1 << power, cosine
    return best


def cut(dim: int, *, epsilon: float, size: int | None, blocks: int) -> Layout:
    """Cut ``dim`` coordinates into nearly equal blocks, with budgets proportional to the sizes."""
    if blocks > max(1, dim // 2):
        raise ConfigurationError(f"blocks must be at most half of the {dim} coordinates, got {blocks}")
    dims = [dim // blocks + (index < dim % blocks) for index in range(blocks)]
    return tuple((part, block_draw(part, epsilon=Fraction(epsilon) * part / dim, size=size)) for part in dims)


@lru_cache(maxsize=256)
def block_draw(dim: int, *, epsilon: Fraction, size: int | None = None) -> Selection:
    """Return the draw of a block of random codewords; the module's rules set k and t by default."""
    share = optimal_cap(dim, epsilon=float(epsilon)).probability
    low, high = DEFAULT_SIZES
    while low < high and low < 10 / share:
        low *= 2
    size = size or low
    return Selection(epsilon=epsilon, size=size, heavy_count=max(1, round(share * size)))


def layout_cosine(layout: Layout) -> float:
    """Return the expected cosine between a latent and its release, which consists of all blocks."""
    whole = sum(dim for dim, _ in layout)
    return sum(mean_length(dim, whole) * math.sqrt(dim / whole) * draw_cosine(dim, draw) for dim, draw in layout)


@lru_cache(maxsize=256)
def draw_cosine(dim: int, draw: Selection) -> float:
    """Return the expected cosine between a unit vector and its released codeword, for one block.

    The expectation is over the draw and over random codebooks: (A - B) / W times the mean sum of the t
    largest of k independent cosines (``docs/proofs.md``, "The cosine of a codeword").
    """
    check_integer(*SPHERE_DIMS, dim=dim)
    a = (dim - 1) / 2
    nodes, weights = np.polynomial.legendre.leggauss(128)
    share = scipy.special.betaincinv(draw.heavy_count, draw.size - draw.heavy_count, (1 + nodes) / 2)
    squared_sine = scipy.special.betaincinv(a, 0.5, 2 * np.minimum(share, 1 - share))
    first_moment = float(weights @ squared_sine**a) / (4 * a) * float(np.exp(-scipy.special.betaln(0.5, a)))
    heavy, light = draw.odds
    return draw.size * first_moment * ((heavy - light) / draw.total)


def mean_length(dim: int, whole: int) -> float:
    """Return the mean l2 norm of ``dim`` of the ``whole`` coordinates of a random unit vector."""
    if dim == whole:
        return 1.0
    rest = (whole - dim) / 2
    return float(np.exp(scipy.special.betaln((dim + 1) / 2, rest) - scipy.special.betaln(dim / 2, rest)))


def check_codewords(codewords: Tensor) -> None:
    """Raise ConfigurationError unless there are 2 to 2^20 codewords (k, n), all finite and none of them zero."""
    refuse((not isinstance(codewords, Tensor), f"codewords must be a tensor, got {type(codewords).__name__}"))
    check_latents(torch.empty_like(codewords, dtype=torch.float32) if codewords.dtype == torch.float16 else codewords)
    check_integer(*SIZES, codewords=len(codewords))
    if not all(math.isfinite(edge) for edge in codewords.aminmax()) or not bool(codewords.any(dim=1).all()):
        raise ConfigurationError("codewords must be finite and must not hold a zero row")


def unit_codewords(codewords: Tensor) -> Tensor:
    """Return codewords (k, n) scaled to unit length; raise ConfigurationError as ``check_codewords`` does."""
    check_codewords(codewords)
    parts = torch.split(codewords.detach().cpu(), 1 << 10)  # all codewords as doubles take 50 MB
    return torch.cat([clip_latents(part.double(), clip="sphere", clip_norm=1.0).float() for part in parts])
