"""Descriptions: the codec puts a record into one number or several, the mechanism releases one, the codec writes it.

A number may have 120 bits, so it travels as a row of two int64 halves.
"""

from collections.abc import Iterable, Sequence
from itertools import chain

import torch
from torch import Tensor

from adept.errors import ConfigurationError, ModelError
from adept.mechanisms import LocalRandomizer
from adept.mechanisms.description import Described
from adept.models.autoencoder import Autoencoder
from adept.models.codec.training import complete
from adept.models.config import DecodingConfig
from adept.models.tokenizer import Tokenizer
from adept.rewriting.coding import Coding, Pair

HALF_BITS = 60


class DescriptionCoding(Coding):
    """A model's codec at one number of descriptions; neither tokenizer nor decoding plays a part.

    Raises:
        ModelError: the model has no codec.
        ConfigurationError: a record is to have several descriptions, and not all of them are sentences.
    """

    size: int
    probes = 40  # each is searched for

    def __init__(
        self,
        model: Autoencoder,
        tokenizer: Tokenizer,
        mechanism: LocalRandomizer,
        decoding: DecodingConfig,
        batch_size: int,
    ) -> None:
        if model.codec is None:
            raise ModelError("the model has no codec: train one with this version")
        model.codec = self.codec = complete(model.codec)  # before any record is read
        [(self.size, self.top)] = mechanism.symbols(model.config.latent_dim)
        if self.top > 1:
            self.codec.describe_by_several([], size=self.size, count=self.top)  # refused before any record is read

    def encode(self, texts: Sequence[str], labels: Sequence[str | None] | None = None) -> Tensor:
        """Return the texts' descriptions (B, 2), or t of each in a row (B, 2 t), nearest first."""
        if self.top == 1:
            return pack(self.codec.describe(texts, size=self.size))
        several = self.codec.describe_by_several(texts, size=self.size, count=self.top)
        return pack(chain.from_iterable(several)).reshape(-1, 2 * self.top)

    def write(self, released: Tensor, *, samples: int) -> list[Pair]:
        texts = self.codec.write(unpack(released), size=self.size)
        return [(text, None) for text in texts for _ in range(samples)]

    def pack(self, values: Sequence[int]) -> Tensor:
        return pack(values)

    def unpack(self, rows: Tensor) -> Sequence[Described]:
        if self.top == 1:
            return unpack(rows)
        numbers = unpack(rows.reshape(-1, 2))
        return [numbers[begin : begin + self.top] for begin in range(0, len(numbers), self.top)]


def pack(numbers: Iterable[int]) -> Tensor:
    """Return whole numbers below 2^120 as rows (B, 2) of int64: the high half and the low one."""
    rows = [[number >> HALF_BITS, number & ((1 << HALF_BITS) - 1)] for number in numbers]
    return torch.tensor(rows, dtype=torch.int64).reshape(-1, 2)


def unpack(rows: Tensor) -> list[int]:
    """Return the whole numbers of rows (B, 2).

    Raises:
        ConfigurationError: the rows are no released descriptions.
    """
    if rows.dtype != torch.int64 or rows.ndim != 2 or rows.shape[1] != 2:
        raise ConfigurationError(f"released must be rows of two int64, got {tuple(rows.shape)} of {rows.dtype}")
    return [(high << HALF_BITS) + low for high, low in rows.tolist()]
