"""Latents: the encoder makes a vector, the mechanism releases another one, and a text answers it.

The text is what the decoder writes, one of its codeword's pool (``Pools``), or the public text that lies nearest.
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
from adept.models.codebooks import encode_public
from adept.models.config import TOPICS, DecodingConfig
from adept.models.decoding import PublicTexts, decode, likelihood
from adept.models.tokenizer import Tokenizer
from adept.rewriting.coding import Coding, Pair

POOL_TEXTS = 10_240  # of all codewords together, more if there are many
MIN_POOL, MAX_POOL = 10, 40  # texts of a codeword
_ENCODED: WeakKeyDictionary[Autoencoder, PublicTexts] = WeakKeyDictionary()  # of each model, encoded once


class LatentCoding(Coding):
    """A model's encoder and decoder; raises ModelError if public texts are to answer and the model holds none."""

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
        """Raise ConfigurationError for a label that the model does not know."""
        if self.labels:
            self.tokenizer.label_ids(labels)

    def encode(self, texts: Sequence[str], labels: Sequence[str | None] | None = None) -> Tensor:
        """Return clipped latents (B, n), of texts or, if the model writes labels, of pairs."""
        rows = self.tokenizer.encode(texts, max_length=self.model.config.max_length, labels=labels)
        return self.model.encode_records(rows)

    def write(self, released: Tensor, *, samples: int) -> list[Pair]:
        """Write from latents (B, n): public texts, from pools, or afresh."""
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
        parts = (self.fittest(part.to(device)).tolist() for part in torch.split(released, self.batch_size))
        rows = [row for part in parts for row in part]
        labels = self.tokenizer.decode_labels(rows) if self.labels else [None] * len(rows)
        return list(zip(self.tokenizer.decode(rows), labels, strict=True))

    @torch.inference_mode()
    def fittest(self, released: Tensor) -> Tensor:
        """Write token ids (B, T): of several candidates the one of likeliest text or, with topics, of nearest topics."""
        count = self.decoding.candidates if self.decoding.strategy == "sample" else 1
        latents = released.repeat_interleave(count, dim=0)
        tokens = decode(self.model, latents, self.decoding)
        if count == 1:
            return tokens
        if self.model.config.encoder == TOPICS:
            fit = torch.nn.functional.cosine_similarity(self.model.encode(tokens), latents)
        else:
            fit = likelihood(self.model, latents, tokens)
        best = fit.reshape(-1, count).argmax(dim=1)
        return tokens[best + count * torch.arange(len(best), device=best.device)]


def pool_size(codewords: int) -> int:
    """Return the number of texts of a codeword: the fewer codewords, the more each of them has to say."""
    return min(MAX_POOL, max(MIN_POOL, POOL_TEXTS // codewords))


class Pools:
    """Pools of texts: if releases repeat, the records of a codeword draw from its texts.

    *Claim*: a pool may be written one text at a time, when it is first drawn, and what comes out has the same distribution
    as if it had been written before. *Proof*: the texts of a codeword are drawn independently of each other, from one
    distribution that the codeword alone decides, and a record's place is drawn without a look at a text. So it does not
    matter when a text is written. QED. All of it reads released codewords alone: post-processing, which costs no budget.
    All draws are the operating system's, so that no seed tells which record came first.
    """

    def __init__(self, size: int) -> None:
        self.size = size  # texts of a codeword
        self.texts: dict[bytes, dict[int, Pair]] = {}  # by their codeword's bytes and their place in its pool

    def __reduce__(self) -> tuple[Any, ...]:
        """Copies and pickles are empty pools."""
        return Pools, (self.size,)

    def draw(self, released: Tensor, *, samples: int, decode: Callable[[Tensor], list[Pair]]) -> list[Pair]:
        """Draw ``samples`` texts for each codeword (B, n), each place of its pool once before any comes again."""
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
