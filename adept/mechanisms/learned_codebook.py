r"""Release of a codeword from a small codebook that was learned from public latents.

A codebook is a list of k unit vectors, the codewords, which are learned from the latents of public
texts. The t codewords nearest to a record are the record's *heavy* codewords, which are released
for this record with a larger probability than the other codewords. The release, its claim and its
proof are those of ``adept.mechanisms.codebook``. The proof holds for *any* public codewords.

By default, k is 2^round(4 + eps), but at least 32, at most 1024, and at most half the number of
public latents. By default, t is .8 k / (e^eps + 1), but at least 1. If t = 1 would release a
record's nearest codeword with a probability below .9, then t is also at least k / 512. (A set of k
/ (e^eps + 1) heavy codewords keeps the most information: Ye and Barg 2018, Eq. 10;
``docs/decisions.md``, "Sizes of codebooks".)

A model of *broad* text, which covers many subjects instead of one domain, may use a larger
codebook. The program starts with the largest codebook of at most 4 k codewords, with the k of the
rule above. It goes on to the next larger codebook as long as this one is at most twice as large. If
no step between sizes is larger than that, the program arrives at the model's largest codebook. A
model that was adapted to a domain may have a larger step between its smaller codebooks, which are
made from texts of the domain, and its largest one. For broad text, t is k s / (e^eps + s) with the
k of the chosen codebook, where s is eps - 2, but at least 4/3. Then the odds of releasing a heavy
codeword are s to one (``docs/decisions.md``, "Heavy codewords of broad text").

Checked proof: ``proofs/Symbols.v``, ``descriptions_are_private``, and for labels
``same_label_is_private``.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Self

import torch
from torch import Tensor

from adept.errors import ConfigurationError
from adept.mechanisms.base import SymbolRandomizer
from adept.mechanisms.clip_to_grid import check_latents, clip_latents
from adept.mechanisms.codebook import SIZES, Block, Codebook, block_shape, random_codewords
from adept.ranges import check_integer

SIZE_POWERS, JOINT_SIZE_POWERS = (5, 10), (7, 10)  # powers of two of the default size: alone, and with labels
STAND_IN_DIM = 8  # dimensions of random codewords, for an audit without a model
HEAVY_SHARE, CODEWORDS_PER_HEAVY, SURE_PROBABILITY = 0.8, 512, 0.9  # the rule for the number of heavy codewords
BROAD_FACTOR = 4  # factor by which broad text may have more codewords
# Odds of a heavy codeword of broad text: epsilon less the first number, and at least the second
BROAD_ODDS_BELOW_EPSILON, MIN_ODDS = 2.0, 4 / 3


@dataclass(frozen=True, kw_only=True, eq=False)
class LearnedCodebook(Codebook, SymbolRandomizer):
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
    symbol: ClassVar[str] = "codeword"
    proviso: ClassVar[str] = ", provided that the codebook was not made from private data"

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
        if self.codewords is not None:
            return len(self.codewords)
        return self.size or 1 << min(max(round(4 + self.epsilon), SIZE_POWERS[0]), SIZE_POWERS[1])

    @property
    def heavy(self) -> int:
        """The number t of heavy codewords of each record.

        By default, the rule in the docstring of this module sets t.
        """
        if self.top is not None:
            return self.top
        odds = math.exp(min(self.epsilon, 700.0))
        least = 1 if odds >= SURE_PROBABILITY * (odds + self.count - 1) else max(1, self.count // CODEWORDS_PER_HEAVY)
        return max(least, round(HEAVY_SHARE * self.count / (odds + 1)))

    def with_codewords(self, codebooks: Mapping[int, Tensor], *, most: int | None = None) -> Self:
        """Return a copy with the largest codebook of at most ``most`` (by default k) codewords.

        ``codebooks`` maps a number of codewords to the model's codebook of this size.
        """
        if self.codewords is not None:
            return self
        most = most or self.count
        fitting = [size for size in codebooks if size <= most]
        if not fitting:
            raise ConfigurationError(
                f"size must be at least {min(codebooks, default=0)}, the model's smallest codebook, got {most}"
            )
        return replace(self, codewords=codebooks[max(fitting)], size=max(fitting))

    def over_broad_text(self, codebooks: Mapping[int, Tensor]) -> Self:
        """Return a copy for a model of broad text.

        ``codebooks`` maps a number of codewords to the model's codebook of this size. The rules in
        the docstring of this module choose one of them and set t.
        """
        found = self.with_codewords(codebooks, most=_without_gap(codebooks, most=BROAD_FACTOR * self.count))
        odds = max(MIN_ODDS, self.epsilon - BROAD_ODDS_BELOW_EPSILON)
        top = self.top or max(1, round(found.count * odds / (math.exp(min(self.epsilon, 700.0)) + odds)))
        return replace(found, top=top)

    def layout(self, dim: int) -> tuple[Block, ...]:
        words = random_codewords(dim, self.count, self.seed) if self.codewords is None else self.codewords
        if dim != words.shape[1]:
            raise ConfigurationError(f"dim must be {words.shape[1]}, that of the codewords, got {dim}")
        shape = block_shape(dim, epsilon=Fraction(self.epsilon), size=self.count, top=self.heavy)
        return (Block(shape, words),)

    def places(self, latents: Tensor, ranks: Sequence[int]) -> Tensor:
        """Return the index (B,) of the codeword at the given rank for each latent."""
        units = self.clip_to_units(latents)
        (block,) = self.layout(units.shape[1])
        return block.place(units, torch.tensor(ranks, dtype=torch.int64))

    @property
    def own_symbol(self) -> str:
        return "its nearest codeword" if self.heavy == 1 else f"one of its {self.heavy} nearest codewords"

    def beside(self, labels: int) -> Self:
        """Return a copy for releasing a text and a label together.

        ``labels`` is the number of possible labels; by default, ``joint_codewords`` sets k.
        """
        size = self.count if self.size or self.codewords is not None else joint_codewords(self.epsilon, labels)
        odds = math.exp(min(self.epsilon, 700.0))
        top = self.top or max(1, min(round(HEAVY_SHARE * size * labels / (odds + 1)), size // 2))
        return replace(self, size=size, top=top)

    def choose(self, latents: Tensor, ranks: Sequence[int]) -> Tensor:
        """Return the codeword (B, n), of l2 norm C, at the given rank for each latent."""
        if not isinstance(latents, Tensor):
            raise ConfigurationError(f"latents must be a tensor, got {type(latents).__name__}")
        (block,) = self.layout(latents.shape[1])
        return self._join([block.codewords[self.places(latents, ranks)]], like=latents)

    def choose_symbols(self, numbers: Sequence[int], ranks: Sequence[int]) -> list[int]:
        found: list[int] = self.places(self._own[list(numbers)], ranks).tolist()
        return found

    def heavy_symbols(self, number: int) -> set[int]:
        """Return the numbers of the t codewords nearest to codeword ``number``."""
        (block,) = self.layout(self._own.shape[1])
        return set(block.nearest(self._own[[number]])[0].tolist())

    @property
    def _own(self) -> Tensor:
        """The codewords (k, n); if no model gave any, random ones of STAND_IN_DIM dimensions."""
        return random_codewords(STAND_IN_DIM, self.count, 0) if self.codewords is None else self.codewords

    def mean_cosine(self, dim: int) -> float:
        """Return the mean cosine between a random codeword, used as the record, and its release."""
        if self.codewords is None:
            return super().mean_cosine(dim)
        self.layout(dim)  # refuses another dimension
        return self._own_cosine

    @cached_property
    def _own_cosine(self) -> float:
        (block,) = self.layout(self.codewords.shape[1])
        heavy, light = block.shape.odds
        weight = block.shape.top * heavy + (block.shape.size - block.shape.top) * light
        precise = block.codewords.to(torch.float64)
        inside = torch.stack([precise[near].sum(dim=0) for near in block.nearest(block.codewords)])
        mean = inside * ((heavy - light) / weight) + precise.sum(dim=0) * (light / weight)
        return float((mean * precise).sum(dim=1).mean())


def joint_codewords(epsilon: float, labels: int) -> int:
    """Return the number k of codewords for a ``JointResponse`` with ``labels`` possible labels."""
    fitting = math.exp(min(epsilon, 700.0)) / (2 * labels)
    return 1 << max(JOINT_SIZE_POWERS[0], min(JOINT_SIZE_POWERS[1], math.floor(math.log2(fitting))))


def _without_gap(sizes: Iterable[int], *, most: int) -> int:
    """Return the size of the codebook for a model of broad text.

    Start at the largest of ``sizes`` that is at most ``most``, or at the smallest size if all are
    larger. Go on to the next larger size as long as it is at most twice as large.
    """
    ordered = sorted(sizes)
    found = max((size for size in ordered if size <= most), default=ordered[0])
    for size in ordered:
        if found < size <= 2 * found:
            found = size
    return found


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
