"""Rewriting by description: the codec puts a record into a number, the mechanism releases the number, the codec writes its text.

A number may have 120 bits. So that releases are tensors whatever the mechanism, a number travels as a row of two int64 halves.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from adept.errors import ConfigurationError, ModelError
from adept.mechanisms import Description
from adept.models.codec.codec import Codec
from adept.models.network.autoencoder import Autoencoder

HALF = 60  # bits


def codec_of(model: Autoencoder) -> Codec:
    """Return a model's codec.

    Raises:
        ModelError: it has none.
    """
    if model.codec is None:
        raise ModelError("the model has no codec: train one with this version")
    return model.codec


class Describer:
    """A model's codec at the number of descriptions that one mechanism has.

    Raises:
        ModelError: the model has no codec.
    """

    def __init__(self, model: Autoencoder, mechanism: Description) -> None:
        self.codec, self.size = codec_of(model), mechanism.count

    def describe(self, texts: Sequence[str]) -> list[int]:
        """Return the texts' descriptions: secret, and the same whatever the other texts are."""
        return self.codec.describe(texts, size=self.size)

    def write(self, released: Tensor, *, samples: int) -> list[tuple[str, str | None]]:
        """Write the text of each released description (B, 2), ``samples`` times; there is no label in it."""
        texts = self.codec.write(unpacked(released), size=self.size)
        return [(text, None) for text in texts for _ in range(samples)]


def packed(numbers: Sequence[int]) -> Tensor:
    """Whole numbers below 2^120 as rows (B, 2) of int64: the high half and the low one."""
    rows = [[number >> HALF, number & ((1 << HALF) - 1)] for number in numbers]
    return torch.tensor(rows, dtype=torch.int64).reshape(-1, 2)


def unpacked(rows: Tensor) -> list[int]:
    """The whole numbers of rows (B, 2).

    Raises:
        ConfigurationError: the rows are no released descriptions.
    """
    if rows.dtype != torch.int64 or rows.ndim != 2 or rows.shape[1] != 2:
        raise ConfigurationError(f"released must be rows of two int64, got {tuple(rows.shape)} of {rows.dtype}")
    return [(high << HALF) + low for high, low in rows.tolist()]
