r"""Release of a codeword from a small codebook that was learned from public latents.

A codebook is a list of k unit vectors, the codewords, which are learned from the latents of public
texts. The release, its claim and its proof are those of ``adept.mechanisms.selection``, for *any*
public codewords. The rules of ``adept.mechanisms.policy`` set k and the number t of heavy codewords.

Checked proof: ``proofs/Symbols.v``, ``descriptions_are_private``.
"""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import torch
from torch import Tensor

from adept.errors import ConfigurationError
from adept.mechanisms import policy
from adept.mechanisms.clip_to_grid import check_latents, clip_latents
from adept.mechanisms.codebook import SIZES, Block, Codebook, random_codewords
from adept.mechanisms.selection import Selection
from adept.ranges import check_integer

STAND_IN_DIM = 8  # dimensions of random codewords, for an audit without a model


@dataclass(frozen=True, kw_only=True, eq=False)
class LearnedCodebook(Codebook):
    """A mechanism that releases one codeword of a codebook that was learned from public latents.

    The release is pure eps-LDP, exactly, provided that no private data influenced the codewords.

    Attributes:
        codewords: a finite (k, n) tensor with k >= 2 and without zero rows; the class scales the
            rows to unit length. None means random codewords until a model provides codewords.
        size: the number k of codewords; by default, it follows from the budget.
        top: the number t of heavy codewords of each record; by default, it follows from k and the
            budget.
    """

    # A Tensor; Any because configurations must be able to hold the class.
    codewords: Any = field(default=None, repr=False)
    top: int | None = None
    name: ClassVar[str] = "learned_codebook"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.blocks is not None:
            raise ConfigurationError(f"blocks must be left out for a learned codebook, got {self.blocks}")
        if self.codewords is not None:
            if self.size not in (None, len(self.codewords)):
                raise ConfigurationError(
                    f"size must be the number of codewords, {len(self.codewords)}, got {self.size}"
                )
            object.__setattr__(self, "codewords", unit_codewords(self.codewords))
        if self.top is not None:
            check_integer(1, self.count - 1, top=self.top)

    @property
    def count(self) -> int:
        """The number k of codewords."""
        return len(self.codewords) if self.codewords is not None else self.size or policy.codeword_count(self.epsilon)

    @property
    def selection(self) -> Selection:
        """The draw of a codeword's index."""
        top = self.top or policy.heavy_codewords(self.epsilon, self.count)
        return Selection(epsilon=self.epsilon, size=self.count, heavy_count=top)

    def selections(self, dim: int) -> tuple[Selection, ...]:
        return (self.selection,)

    def layout(self, dim: int) -> tuple[Block, ...]:
        words = random_codewords(dim, self.count, self.seed) if self.codewords is None else self.codewords
        if dim != words.shape[1]:
            raise ConfigurationError(f"dim must be {words.shape[1]}, that of the codewords, got {dim}")
        return (Block(self.selection, words),)

    def heavy(self, latents: Tensor) -> Tensor:
        """Return the ascending indices (B, t) of the codewords nearest to latents (B, n)."""
        units = self.clip_to_units(latents)
        return self.layout(units.shape[1])[0].nearest(units)

    def vectors(self, places: Tensor, *, like: Tensor) -> Tensor:
        """Return the codewords (B, n), of l2 norm C, at the given indices (B,)."""
        return self._join([(self.layout(like.shape[1])[0], places)], like=like)

    def heavy_symbols(self, number: int) -> set[int]:
        """Return the t codewords nearest to codeword ``number``, which an audit uses as a record."""
        words = random_codewords(STAND_IN_DIM, self.count, 0) if self.codewords is None else self.codewords
        return set(Block(self.selection, words).nearest(words[[number]])[0].tolist())

    def mean_cosine(self, dim: int) -> float:
        """Return the mean cosine between a random codeword, used as the record, and its release."""
        if self.codewords is None:
            return super().mean_cosine(dim)
        self.layout(dim)  # refuses another dimension
        return self._own_cosine

    @cached_property
    def _own_cosine(self) -> float:
        (block,) = self.layout(self.codewords.shape[1])
        (heavy, light), weight = block.selection.odds, block.selection.total
        precise = block.codewords.to(torch.float64)
        inside = torch.stack([precise[near].sum(dim=0) for near in block.nearest(block.codewords)])
        mean = inside * ((heavy - light) / weight) + precise.sum(dim=0) * (light / weight)
        return float((mean * precise).sum(dim=1).mean())


def unit_codewords(codewords: Tensor) -> Tensor:
    """Return codewords (k, n) scaled to unit length.

    Raise ConfigurationError unless there are 2 to 2^20 codewords, all finite and none of them zero.
    """
    if not isinstance(codewords, Tensor):
        raise ConfigurationError(f"codewords must be a tensor, got {type(codewords).__name__}")
    check_latents(codewords)
    check_integer(*SIZES, codewords=len(codewords))
    if not bool(codewords.isfinite().all()) or bool((codewords == 0).all(dim=1).any()):
        raise ConfigurationError("codewords must be finite and must not hold a zero row")
    unit = clip_latents(codewords.detach().to("cpu", torch.float64, copy=True), clip="sphere", clip_norm=1.0)
    return unit.to(torch.float32)
