"""Latents: the encoder gives a record's vector, the mechanism releases another one, and the decoder or a public text answers it.

Every record is encoded in chunks of one shape, so that a latent depends on its own record alone, to the last bit. A release is
answered in one of three ways: with what the decoder writes; where releases repeat, with a text of its codeword's pool
(``adept.rewriting.pool``); or, without a decoder, with the public texts that lie nearest to it.
"""

from collections.abc import Sequence
from functools import cached_property
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch import Tensor

from adept.errors import ModelError
from adept.mechanisms import LocalRandomizer
from adept.models.autoencoder import Autoencoder
from adept.models.config import DecodingConfig
from adept.models.decoding import PublicTexts, decode
from adept.models.tokenizer import Tokenizer
from adept.rewriting.coding import Coding, Pair, symbols_of
from adept.rewriting.pool import Pools, texts_of

_PUBLIC: WeakKeyDictionary[Autoencoder, PublicTexts] = WeakKeyDictionary()  # one for each model


class LatentCoding(Coding):
    """A model's encoder and decoder.

    Args:
        mechanism: what releases the latents.
        decoding: with its strategy and pool resolved.
        batch_size: rows that go through the decoder at once.

    Raises:
        ModelError: releases are to be answered with public texts, and the model holds none.
    """

    def __init__(
        self,
        model: Autoencoder,
        tokenizer: Tokenizer,
        mechanism: LocalRandomizer,
        decoding: DecodingConfig,
        batch_size: int,
    ) -> None:
        self.model, self.tokenizer, self.decoding, self.batch_size = model, tokenizer, decoding, batch_size
        self.size, self.labels = symbols_of(mechanism, model), tokenizer.labels
        self.pools, self.most = Pools(decoding.pool or 0), texts_of(mechanism)
        if decoding.strategy == "nearest" and not model.public_texts:
            raise ModelError(
                "the model holds no public texts to write: set decoding.strategy=sample, or train on public text"
            )

    def __getstate__(self) -> dict[str, Any]:
        """Copies and pickles hold nothing that a call left behind, so that a coding that was used is the one it was."""
        return {name: value for name, value in self.__dict__.items() if name != "_public"}

    @cached_property
    def _public(self) -> PublicTexts:
        if self.model not in _PUBLIC:
            _PUBLIC[self.model] = PublicTexts.of(self.model, self.tokenizer, self.model.public_texts)
        return _PUBLIC[self.model]

    @torch.inference_mode()
    def check_labels(self, labels: Sequence[str | None]) -> None:
        """Raise ConfigurationError for a label that the model does not know."""
        if self.labels:
            self.tokenizer.label_ids(labels)

    def encode(self, texts: Sequence[str], labels: Sequence[str | None] | None = None) -> Tensor:
        """Return the clipped latents (B, n), of texts or of pairs where the model writes labels."""
        rows = self.tokenizer.encode(texts, max_length=self.model.config.max_length, labels=labels)
        return self.model.encode_records(rows)

    def write(self, released: Tensor, *, samples: int) -> list[Pair]:
        """Write from latents (B, n): public texts, from pools, or afresh.

        A codeword is answered with the nearest text, not one of the nearest: all its records then say the same, and their labels
        average out over it.
        """
        if self.decoding.strategy == "nearest":
            return [(text, None) for text in self._public.write(released, samples=samples, most=self.most)]
        if self.pools.size:
            return self.pools.draw(released, samples=samples, decode=self._decoded)
        return self._decoded(released.repeat_interleave(samples, dim=0))

    def _decoded(self, released: Tensor) -> list[Pair]:
        """Decode one pair from each latent, as many at a time as go through the model at once."""
        device = next(self.model.parameters()).device
        parts = (self.fittest(part.to(device)).tolist() for part in torch.split(released, self.batch_size))
        rows = [row for part in parts for row in part]
        labels = self.tokenizer.decode_labels(rows) if self.labels else [None] * len(rows)
        return list(zip(self.tokenizer.decode(rows), labels, strict=True))

    def fittest(self, released: Tensor) -> Tensor:
        """Write token ids (B, T): of as many candidates as are asked for, the one that fits the released latent best."""
        count = self.decoding.candidates if self.decoding.strategy == "sample" else 1
        latents = released.repeat_interleave(count, dim=0)
        tokens = decode(self.model, latents, self.decoding)
        if count == 1:
            return tokens
        best = self._fit(latents, tokens).reshape(-1, count).argmax(dim=1)
        return tokens[best + count * torch.arange(len(best), device=best.device)]

    @torch.inference_mode()
    def _fit(self, latents: Tensor, tokens: Tensor) -> Tensor:
        """How well written tokens (B, T) fit their latents (B, n): by their own topics or, without topics, their likelihood."""
        if self.model.config.encoder == "topics":
            return torch.nn.functional.cosine_similarity(self.model.encode(tokens), latents)
        return self.model.likelihood(latents, tokens)
