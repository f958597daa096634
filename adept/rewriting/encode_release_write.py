"""The three steps of a rewriter: encode, release and write, for each kind of release.

    encode    records -> rows    one secret row for each record
    release   rows -> rows       the mechanism randomises each row
    write     rows -> texts      computed from released rows and public data alone

A row holds the latent of a record (a vector of its text), or the places of the public sentences that
are nearest to the record in the model's list. If labels are released too, each row ends with the index
of the record's label. To add a kind of release, write another subclass of ``Coding``, and let
``Rewriter`` choose it.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch import Tensor

from adept.errors import ConfigurationError, ModelError
from adept.mechanisms import JointResponse, LearnedCodebook, LocalRandomizer
from adept.models.codebook_learning import encode_public
from adept.models.config import DecodingConfig
from adept.models.decoding import Pair, Pools, PublicTexts, decode_best, pool_size
from adept.models.saved_model import Autoencoder
from adept.models.sentences.sentence_list import SentenceList
from adept.models.tokenizer import Tokenizer
from adept.rewriting.loading import public_sentences

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
    """A coding by a model's public sentences: a row holds the places (t,) of those near to a record."""

    def __init__(self, model: Autoencoder, mechanism: LocalRandomizer) -> None:
        self.sentences = public_sentences(model)
        [(self.size, self.top)] = mechanism.symbols(model.config.latent_dim)
        self.sentences.index(self.size)  # before any record is read

    def encode(self, texts: Sequence[str], labels: Sequence[str | None] | None = None) -> Tensor:
        """Return the places (B, t) of the t sentences nearest to each text."""
        return torch.tensor(self.sentences.nearest(texts, size=self.size, count=self.top), dtype=torch.int64).reshape(
            -1, self.top
        )

    def write(self, released: Tensor, *, samples: int) -> list[Pair]:
        return write_sentences(self.sentences, released, samples=samples)

    def pack(self, values: Sequence[int]) -> Tensor:
        return torch.tensor(values, dtype=torch.int64).reshape(-1, 1)

    def unpack(self, rows: Tensor) -> list[list[int]]:
        places: list[list[int]] = rows.tolist()
        return places


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


def write_sentences(sentences: SentenceList, released: Tensor, *, samples: int) -> list[Pair]:
    """Write each sentence whose place was released, a row of (B, 1), ``samples`` times."""
    if released.dtype != torch.int64 or released.ndim != 2 or released.shape[1] != 1:
        raise ConfigurationError(f"released must be rows of one int64, got {tuple(released.shape)} of {released.dtype}")
    texts = sentences.write(released[:, 0].tolist())
    return [(text, None) for text in texts for _ in range(samples)]
