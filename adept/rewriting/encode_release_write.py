"""The three steps of a rewriter: encode, release and write, for each kind of release.

    encode    records -> rows    one secret row for each record
    release   rows -> rows       the mechanism randomises each row
    write     rows -> texts      computed from released rows and public data alone

A row holds the latent of a record (a vector of its text), or the numbers that the model's codec
gives to the texts nearest to the record. If labels are released too, each row ends with the index
of the record's label. To add a kind of release, write another subclass of ``Coding``, and let
``Rewriter`` choose it.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch import Tensor

from adept.errors import ConfigurationError, ModelError
from adept.mechanisms import JointResponse, LearnedCodebook, LocalRandomizer
from adept.mechanisms.description import Described
from adept.models.codebook_learning import encode_public
from adept.models.codec.codec_learning import complete
from adept.models.config import DecodingConfig
from adept.models.decoding import Pair, Pools, PublicTexts, decode_best, pool_size
from adept.models.saved_model import Autoencoder
from adept.models.tokenizer import Tokenizer

HALF_BITS = 60  # bits of half a description, which may have 120 bits
_ENCODED: WeakKeyDictionary[Autoencoder, PublicTexts] = WeakKeyDictionary()  # public texts of each model, encoded once


class Coding(ABC):
    """A way to encode records for a mechanism, and to write texts from its releases."""

    labels: Sequence[str] = ()  # those that a text can come with
    probes: int = 100  # public texts that an estimate rests on

    @abstractmethod
    def encode(self, texts: Sequence[str], labels: Sequence[str | None] | None = None) -> Tensor:
        """Return secret rows (B, n), one for each record; a row depends on its record alone."""

    def check_labels(self, labels: Sequence[str | None]) -> None:  # noqa: B027 - nothing to check without a label set
        """Raise ConfigurationError if ``encode`` would refuse one of the labels."""

    def release(self, encoded: Tensor, mechanism: Any) -> Tensor:
        """Return the mechanism's random output (B, n) for encoded records."""
        return self.pack(mechanism.privatize(self.unpack(encoded)))

    def release_records(self, texts: Sequence[str], labels: Sequence[str | None] | None, mechanism: Any) -> Tensor:
        """Encode records, and return the mechanism's random output (B, n) for them."""
        return self.release(self.encode(texts, labels), mechanism)

    @abstractmethod
    def write(self, released: Tensor, *, samples: int) -> list[Pair]:
        """Write ``samples`` texts with labels from each released row (B, n); read no record."""

    def pack(self, values: Any) -> Tensor:
        rows: Tensor = values
        return rows

    def unpack(self, rows: Tensor) -> Any:
        return rows


class LatentCoding(Coding):
    """A coding by a model's encoder and decoder; each row is a latent."""

    def __init__(
        self,
        model: Autoencoder,
        tokenizer: Tokenizer,
        mechanism: LocalRandomizer,
        decoding: DecodingConfig,
        batch_size: int,
    ) -> None:
        self.model, self.tokenizer, self.decoding, self.batch_size = model, tokenizer, decoding, batch_size
        self.labels, self.pools = tokenizer.labels, Pools(decoding.pool or 0)
        # Texts that answer a release at most: the places of a pool, if releases repeat.
        self.most = pool_size(mechanism.count) if isinstance(mechanism, LearnedCodebook) else None
        if decoding.strategy == "nearest" and not model.public_texts:
            raise ModelError(
                "the model holds no public texts to write: set decoding.strategy=sample, or train on public text"
            )

    def check_labels(self, labels: Sequence[str | None]) -> None:
        if self.labels:
            self.tokenizer.label_ids(labels)

    def encode(self, texts: Sequence[str], labels: Sequence[str | None] | None = None) -> Tensor:
        """Return clipped latents (B, n) of texts, and of labels if the model writes labels."""
        rows = self.tokenizer.encode(texts, max_length=self.model.config.max_length, labels=labels)
        return self.model.encode_records(rows)

    def write(self, released: Tensor, *, samples: int) -> list[Pair]:
        if self.decoding.strategy == "nearest":
            texts = self._public_texts().write(released, samples=samples, most=self.most)
            return [(text, None) for text in texts]
        if self.pools.size:
            return self.pools.draw(released, samples=samples, decode=self._decode)
        return self._decode(released.repeat_interleave(samples, dim=0))

    def _public_texts(self) -> PublicTexts:
        model = self.model
        if model not in _ENCODED:
            texts = model.public_texts
            _ENCODED[model] = PublicTexts(texts, encode_public(model, self.tokenizer, texts))
        return _ENCODED[model]

    def _decode(self, released: Tensor) -> list[Pair]:
        device = next(self.model.parameters()).device
        parts = torch.split(released, self.batch_size)
        rows = [row for part in parts for row in decode_best(self.model, part.to(device), self.decoding).tolist()]
        labels = self.tokenizer.decode_labels(rows) if self.labels else [None] * len(rows)
        return list(zip(self.tokenizer.decode(rows), labels, strict=True))


class DescriptionCoding(Coding):
    """A coding by a model's codec: each row holds numbers of descriptions, packed by ``pack``."""

    size: int
    probes = 40  # each is searched for

    def __init__(self, model: Autoencoder, mechanism: LocalRandomizer) -> None:
        if model.codec is None:
            raise ModelError("the model has no codec: train one with this version")
        model.codec = self.codec = complete(model.codec)  # before any record is read
        [(self.size, self.top)] = mechanism.symbols(model.config.latent_dim)
        if self.top > 1:
            self.codec.describe_by_several([], size=self.size, count=self.top)  # refused before any record is read

    def encode(self, texts: Sequence[str], labels: Sequence[str | None] | None = None) -> Tensor:
        """Return rows (B, 2 t) with the numbers of the t descriptions nearest to each text."""
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


class PairCoding(Coding):
    """A coding of text and label as one symbol; rows (B, n + 1) end with the index of the label."""

    def __init__(self, text: Coding, labels: Sequence[str]) -> None:
        self.text, self.labels, self.probes = text, labels, text.probes

    def encode(self, texts: Sequence[str], labels: Sequence[str | None] | None = None) -> Tensor:
        """Return rows (B, n + 1) of texts and labels; every label must be in the label set."""
        return self.join_labels(self.text.encode(texts), labels or [None] * len(texts))

    def check_labels(self, labels: Sequence[str | None]) -> None:
        known = set(self.labels)
        if (first := next((n for n, label in enumerate(labels) if label not in known), None)) is None:
            return
        if labels[first] is None:
            raise ConfigurationError(
                f"labels must be given with every record for labels=joint_response, got none in record {first + 1}"
            )
        raise ConfigurationError(
            f"labels must be in the public set, got another one in record {first + 1}: add it to the set, if it is public"
        )

    def release(self, encoded: Tensor, mechanism: JointResponse) -> Tensor:
        rows, labels = self.split_labels(encoded)
        released, beside = mechanism.release(self.text.unpack(rows), labels)
        return self.join_labels(self.text.pack(released), beside)

    def write(self, released: Tensor, *, samples: int) -> list[Pair]:
        rows, labels = self.split_labels(released)
        beside = (label for label in labels for _ in range(samples))
        return [(text, label) for (text, _), label in zip(self.text.write(rows, samples=samples), beside, strict=True)]

    def join_labels(self, rows: Tensor, labels: Sequence[str | None]) -> Tensor:
        self.check_labels(labels)
        place_of: dict[str | None, int] = {label: place for place, label in enumerate(self.labels)}
        places = torch.tensor([place_of[label] for label in labels], dtype=rows.dtype, device=rows.device)
        return torch.cat([rows, places.reshape(-1, 1)], dim=1)

    def split_labels(self, rows: Tensor) -> tuple[Tensor, list[str]]:
        return rows[:, :-1], [self.labels[int(place)] for place in rows[:, -1].tolist()]


def pack(numbers: Iterable[int]) -> Tensor:
    """Pack B whole numbers below 2^120 into rows (B, 2) of int64: the high and the low 60 bits."""
    rows = [[number >> HALF_BITS, number & ((1 << HALF_BITS) - 1)] for number in numbers]
    return torch.tensor(rows, dtype=torch.int64).reshape(-1, 2)


def unpack(rows: Tensor) -> list[int]:
    """Return the numbers that ``pack`` put into int64 rows (B, 2), or raise ConfigurationError."""
    if rows.dtype != torch.int64 or rows.ndim != 2 or rows.shape[1] != 2:
        raise ConfigurationError(f"released must be rows of two int64, got {tuple(rows.shape)} of {rows.dtype}")
    return [(high << HALF_BITS) + low for high, low in rows.tolist()]
