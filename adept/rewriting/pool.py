"""Pools: where releases repeat, every codeword has a number of texts, and its records draw from them.

*Claim*: a pool may be written one text at a time, when it is first drawn, and what comes out has the same distribution as if it had
been written before. *Proof*: the texts of a codeword are drawn independently of each other, from one distribution that the codeword
alone decides, and which of them a record gets is decided by a draw that never looks at a text. So it does not matter when a text
is written, and one that nobody draws need not be written at all. QED. All of it reads released codewords alone: post-processing,
which costs no budget. All draws are the operating system's, so that no seed tells which record came first.
"""

import secrets
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from adept.mechanisms import LearnedCodebook, LocalRandomizer
from adept.models.autoencoder import Autoencoder
from adept.models.config import DecodingConfig

Pair = tuple[str, str | None]


ALL_TEXTS, FEWEST, MOST = 10_240, 10, 40


def pool_size(codewords: int) -> int:
    """Return how many texts a codeword has: about 10,000 in all, and 10 to 40 of each.

    The fewer codewords, the more each of them has to say (``docs/decisions.md``, "Texts of a codeword").
    """
    return min(MOST, max(FEWEST, ALL_TEXTS // codewords))


def texts_of(mechanism: LocalRandomizer) -> int | None:
    """Return how many texts each of a mechanism's releases has; None where releases do not repeat."""
    return pool_size(mechanism.count) if isinstance(mechanism, LearnedCodebook) else None


class Pools:
    """The texts of all codewords that were met.

    Args:
        size: texts a codeword.

    Attributes:
        texts: those that were written, by their codeword's bytes and their place in its pool.
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self.texts: dict[bytes, dict[int, Pair]] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        """Copies and pickles are empty pools."""
        return Pools, (self.size,)

    def draw(self, released: Tensor, *, samples: int, decode: Callable[[Tensor], list[Pair]]) -> list[Pair]:
        """Draw ``samples`` texts for each released codeword (B, n), each place of its pool once before any comes again."""
        keys = [row.numpy().tobytes() for row in released.cpu()]
        drawn = [(key, place) for key in keys for place in self._places(samples)]
        wanted = [(key, place) for key, place in dict.fromkeys(drawn) if place not in self.texts.get(key, ())]
        if wanted:
            rows = dict(zip(keys, released, strict=True))
            pairs = decode(torch.stack([rows[key] for key, _ in wanted]))
            for (key, place), pair in zip(wanted, pairs, strict=True):
                self.texts.setdefault(key, {})[place] = pair
        return [self.texts[key][place] for key, place in drawn]

    def _places(self, samples: int) -> list[int]:
        whole, rest = divmod(samples, self.size)
        return [*range(self.size)] * whole + secrets.SystemRandom().sample(range(self.size), rest)


def resolved(decoding: DecodingConfig, model: Autoencoder, mechanism: LocalRandomizer) -> DecodingConfig:
    """Say what strategy "auto" and pool null stand for; there is a pool only where texts are sampled and releases repeat."""
    repeats = isinstance(mechanism, LearnedCodebook)
    nearest = model.config.decoder == "nearest" and not model.labels
    default = "nearest" if nearest else "sample" if repeats else "greedy"
    strategy = decoding.strategy if decoding.strategy != "auto" else default
    if not isinstance(mechanism, LearnedCodebook) or strategy != "sample":
        return replace(decoding, strategy=strategy, pool=0)
    pool = pool_size(mechanism.count) if decoding.pool is None else decoding.pool
    return replace(decoding, strategy=strategy, pool=pool)
