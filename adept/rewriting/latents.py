"""Latents: the encoder gives a record's vector, the mechanism releases another one, and the decoder or a public text answers it.

Every record is encoded in chunks of one shape, so that a latent depends on its own record alone, to the last bit. A release is
answered in one of three ways: with what the decoder writes; if releases repeat, with a text of its codeword's pool
(``Pools``); or, without a decoder, with the public texts that lie nearest to it.
"""

import secrets
from collections.abc import Callable, Sequence
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch import Tensor

from adept.errors import ModelError
from adept.mechanisms import LearnedCodebook, LocalRandomizer
from adept.models.autoencoder import Autoencoder
from adept.models.config import DecodingConfig
from adept.models.decoding import PublicTexts, decode, likelihood
from adept.models.tokenizer import Tokenizer
from adept.rewriting.coding import Coding, Pair, symbols_of

POOL_TEXTS = 10_240  # of all codewords together, more if there are many
MIN_POOL, MAX_POOL = 10, 40  # texts of a codeword
_ENCODED: WeakKeyDictionary[Autoencoder, PublicTexts] = WeakKeyDictionary()  # of each model, encoded once


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
            public = _encode_texts(self.model, self.tokenizer)
            return [(text, None) for text in public.write(released, samples=samples, most=self.most)]
        if self.pools.size:
            return self.pools.draw(released, samples=samples, decode=self._decode)
        return self._decode(released.repeat_interleave(samples, dim=0))

    def _decode(self, released: Tensor) -> list[Pair]:
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
        """Return the fit (B,) of written tokens (B, T) to their latents (B, n): by topics or, without topics, likelihood."""
        if self.model.config.encoder == "topics":
            return torch.nn.functional.cosine_similarity(self.model.encode(tokens), latents)
        return likelihood(self.model, latents, tokens)


def _encode_texts(model: Autoencoder, tokenizer: Tokenizer) -> PublicTexts:
    """Return a model's public texts with their latents."""
    if model not in _ENCODED:
        _ENCODED[model] = PublicTexts.of(model, tokenizer, model.public_texts)
    return _ENCODED[model]


def pool_size(codewords: int) -> int:
    """Return the number of texts of a codeword: about 10,000 in all, and 10 to 40 of each.

    The fewer codewords, the more each of them has to say (``docs/decisions.md``, "Texts of a codeword").
    """
    return min(MAX_POOL, max(MIN_POOL, POOL_TEXTS // codewords))


def texts_of(mechanism: LocalRandomizer) -> int | None:
    """Return the number of texts of each of a mechanism's releases; None if releases do not repeat."""
    return pool_size(mechanism.count) if isinstance(mechanism, LearnedCodebook) else None


class Pools:
    """Pools of texts: if releases repeat, every codeword has a number of texts, and its records draw from them.

    *Claim*: a pool may be written one text at a time, when it is first drawn, and what comes out has the same distribution as
    if it had been written before. *Proof*: the texts of a codeword are drawn independently of each other, from one distribution
    that the codeword alone decides, and which of them a record gets is decided by a draw that never looks at a text. So it does
    not matter when a text is written, and one that nobody draws need not be written at all. QED. All of it reads released
    codewords alone: post-processing, which costs no budget. All draws are the operating system's, so that no seed tells which
    record came first.

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
