"""Public lists of texts from which releases are drawn, and the model's latents for added noise.

An *alphabet* is a public list. For each record it gives the t *heavy* indices, which the draw prefers
(``adept.mechanisms.selection``), and it writes texts from drawn numbers. ``heavy`` reads one record at
a time; ``numbers`` and ``write`` read no text of a record, so they are post-processing. ``Latents`` is
the model's encoder and decoder; ``Noise``, the other kind, lets a mechanism add noise between them.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar
from weakref import WeakKeyDictionary

import torch
from torch import Tensor

from adept.errors import ConfigurationError, ModelError, refuse
from adept.mechanisms import JointResponse, LearnedCodebook, LocalRandomizer, Selection
from adept.models.codebooks import encode_public
from adept.models.config import DecodingConfig
from adept.models.decoding import Pair, Pools, PublicTexts, decode_best
from adept.models.saved_model import Autoencoder
from adept.models.sentences.sentence_list import SentenceList
from adept.models.tokenizer import Tokenizer

_ENCODED: WeakKeyDictionary[Autoencoder, PublicTexts] = WeakKeyDictionary()  # public texts of each model, encoded once

Labels = Sequence[str | None] | None


@dataclass(eq=False)
class Latents:
    """A model's latents: texts are encoded into them, and written from released ones."""

    model: Autoencoder
    tokenizer: Tokenizer
    decoding: DecodingConfig
    batch_size: int
    most: int | None = None  # different public texts at most that are written from one latent; None: no limit
    reads_labels: ClassVar[bool] = False  # a release depends on the latent alone

    def __post_init__(self) -> None:
        self.labels: Sequence[str] = self.tokenizer.labels  # that a text can come with
        self.pools = Pools(self.decoding.pool or 0)
        if self.decoding.strategy == "nearest" and not self.model.sentences:
            raise ModelError(
                "the model holds no public texts to write: set decoding.strategy=sample, or train on public text"
            )

    def check_labels(self, labels: Sequence[str | None]) -> None:
        """Raise ConfigurationError if ``encode`` would refuse one of the labels."""
        if self.labels:
            self.tokenizer.label_ids(labels)

    def encode(self, texts: Sequence[str], labels: Labels = None) -> Tensor:
        """Return clipped latents (B, n) of texts, and of labels if the model writes labels."""
        rows = self.tokenizer.encode(texts, max_length=self.model.config.max_length, labels=labels)
        return self.model.encode_records(rows)

    def write_rows(self, released: Tensor, *, samples: int) -> list[Pair]:
        """Write ``samples`` texts with labels from each released latent (B, n)."""
        if self.decoding.strategy == "nearest":
            if (model := self.model) not in _ENCODED:
                texts = model.public_texts
                _ENCODED[model] = PublicTexts(texts, encode_public(model, self.tokenizer, texts))
            return [(text, None) for text in _ENCODED[model].write(released, samples=samples, most=self.most)]
        if self.pools.size:
            return self.pools.draw(released, samples=samples, decode=self._decode)
        return self._decode(released.repeat_interleave(samples, dim=0))

    def _decode(self, released: Tensor) -> list[Pair]:
        device = next(self.model.parameters()).device
        parts = torch.split(released, self.batch_size)
        rows = [row for part in parts for row in decode_best(self.model, part.to(device), self.decoding).tolist()]
        labels = self.tokenizer.decode_labels(rows) if self.labels else [None] * len(rows)
        return list(zip(self.tokenizer.decode(rows), labels, strict=True))


@dataclass(eq=False)
class Noise(Latents):
    """A model's latents, each of which is released with noise of a mechanism."""

    mechanism: LocalRandomizer = field(kw_only=True)

    def draw(self, latents: Tensor, labels: Labels = None) -> Tensor:
        """Release latents (B, n)."""
        released: Tensor = self.mechanism.privatize(latents)
        return released


class Alphabet(ABC):
    """A public list of texts, one of which is drawn for each record.

    Attributes:
        selection: the draw of an index of this list.
        reads_labels: True if the heavy indices depend on the record's label.
        labels: the labels that a text can come with.
    """

    selection: Selection
    reads_labels: bool = False
    labels: Sequence[str] = ()

    @abstractmethod
    def heavy(self, texts: Sequence[str], labels: Labels = None) -> Tensor:
        """Return the indices (B, t) that the draw prefers; each row depends on its record alone."""

    @abstractmethod
    def write(self, numbers: Tensor, *, samples: int) -> list[Pair]:
        """Write ``samples`` texts with labels for each drawn number (B,)."""

    def encode(self, texts: Sequence[str], labels: Labels = None) -> Tensor:
        """Return ``heavy``, the secret rows of which ``draw`` releases a number each."""
        return self.heavy(texts, labels)

    def draw(self, heavy: Tensor, labels: Labels = None) -> Tensor:
        """Release a number (B, 1) for each record, given its heavy indices (B, t)."""
        return self.numbers(self.selection.draw(heavy), labels)[:, None]

    def write_rows(self, released: Tensor, *, samples: int) -> list[Pair]:
        """Write from released rows (B, 1), as ``draw`` returns them."""
        refuse(
            (
                released.dtype != torch.int64 or released.ndim != 2 or released.shape[1] != 1,
                f"released must be rows of one int64, got {tuple(released.shape)} of {released.dtype}",
            )
        )
        return self.write(released[:, 0], samples=samples)

    def numbers(self, indices: Tensor, labels: Labels = None) -> Tensor:
        """Return the numbers by which ``write`` knows the drawn indices (B,) or (B, t)."""
        return indices

    def check_labels(self, labels: Sequence[str | None]) -> None:  # noqa: B027 - nothing to check without a label set
        """Raise ConfigurationError if ``heavy`` would refuse one of the labels."""


class Codewords(Alphabet):
    """The codewords of a model's codebook, and the texts that the model writes from them."""

    def __init__(self, latents: Latents, mechanism: LearnedCodebook) -> None:
        self.latents, self.labels = latents, latents.labels
        self.mechanism, self.selection = mechanism, mechanism.selection
        model = latents.model
        self._like = torch.empty(0, model.config.latent_dim, device=next(model.parameters()).device)

    def check_labels(self, labels: Sequence[str | None]) -> None:
        self.latents.check_labels(labels)

    def heavy(self, texts: Sequence[str], labels: Labels = None) -> Tensor:
        return self.mechanism.heavy(self.latents.encode(texts, labels))

    def write(self, numbers: Tensor, *, samples: int) -> list[Pair]:
        return self.latents.write_rows(self.mechanism.vectors(numbers, like=self._like), samples=samples)


class Sentences(Alphabet):
    """The public sentences that a model lists."""

    def __init__(self, sentences: SentenceList, selection: Selection) -> None:
        self.sentences, self.selection = sentences, selection
        sentences.index(selection.size)  # before any record is read

    def heavy(self, texts: Sequence[str], labels: Labels = None) -> Tensor:
        size, count = self.selection.size, self.selection.heavy_count
        found = self.sentences.nearest(texts, size=size, count=count)
        return torch.tensor(found, dtype=torch.int64).reshape(len(texts), count)

    def write(self, numbers: Tensor, *, samples: int) -> list[Pair]:
        return [(text, None) for text in self.sentences.write(numbers.tolist()) for _ in range(samples)]


class Pairs(Alphabet):
    """The pairs of an entry of another alphabet and a public label, ordered by label."""

    reads_labels = True

    def __init__(self, entries: Alphabet, joint: JointResponse) -> None:
        self.entries, self.labels, self.selection = entries, joint.labels, joint.selection

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

    def heavy(self, texts: Sequence[str], labels: Labels = None) -> Tensor:
        beside = labels or [None] * len(texts)
        self.check_labels(beside)
        place_of: dict[str | None, int] = {label: place for place, label in enumerate(self.labels)}
        own = self.entries.heavy(texts)
        return own + self.entries.selection.size * torch.tensor(
            [[place_of[label]] for label in beside], device=own.device
        ).reshape(-1, 1)

    def write(self, numbers: Tensor, *, samples: int) -> list[Pair]:
        size = self.entries.selection.size
        written = self.entries.write(numbers % size, samples=samples)
        beside = (numbers // size).repeat_interleave(samples).tolist()
        return [(text, self.labels[place]) for (text, _), place in zip(written, beside, strict=True)]
