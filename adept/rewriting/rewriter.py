"""Rewriting: batches of text to private text.

The only way from a record to its rewrite is encode -> release -> decode. ``encode`` computes every record in a chunk of one shape,
so a latent depends on its own record alone, to the last bit; ``release`` is the mechanism; ``decode`` sees nothing but released
latents.

Where releases repeat, because the mechanism has few codewords, each codeword has a *pool* of texts, and every record with that
codeword draws from it (``adept.rewriting.pool``). That is post-processing, and it is what a reader of noisy releases wants: all
records with one codeword say the same, so that their labels average out, text by text.
"""

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from adept.errors import ConfigurationError
from adept.mechanisms import Description, JointResponse, Mechanism
from adept.mechanisms.guarantee import Guarantee
from adept.models.network.autoencoder import Autoencoder
from adept.models.network.decoding import DecodingConfig
from adept.models.network.inference import Reader, TopicReader, Writer, reader_of
from adept.models.tokenizer.tokenizer import Tokenizer
from adept.rewriting.described import Describer, packed
from adept.rewriting.labelled import parted, released_pairs
from adept.rewriting.loading import check_fit, check_release, joint_with_codewords, with_codewords
from adept.rewriting.nearest import NearestTexts
from adept.rewriting.pool import Pools, resolved, texts_of
from adept.rewriting.sharing import Shared

BATCH_SIZE = 1024  # enough for chunks of records that are about as long
FEWEST_ROWS, LOGITS = 256, 1 << 20  # written at once: small products are slow, many logits take much memory


class Rewriter(Shared):
    """Writes private text from text, with one model and one mechanism.

    Args:
        model: the autoencoder.
        tokenizer: the one that was saved with the model.
        mechanism: what randomises the latent, whose set must fit the model's clip and whose radius must be the model's; or what
            randomises the description that the model's codec makes of the text; or a :class:`JointResponse`, which releases text
            and label as one symbol: every record then needs its label, and each text comes with a released one.
        decoding: greedy or sampled; sampling draws fresh randomness.
        batch_size: records that go through the model at once.
        accept_broken_claim: release although the mechanism's claim is false, or nothing is claimed.
        accept_inexact: release although the noise is floating-point arithmetic.
        accept_private_model: release although the model was trained on text that was not declared public.

    Attributes:
        mechanism: what randomises the text, with the model's codewords.
        joint: what randomises text and label as one symbol; None where the text is released alone.
        measurement: made by :meth:`for_measurement`: what it writes serves to measure and is never handed out.

    Raises:
        ModelError: the model was trained for a clip that the mechanism cannot use.
        ConfigurationError: the mechanism's radius is not the model's.
        ReleaseRefused: a release would promise what it cannot keep, and that was not accepted.
    """

    def __init__(
        self,
        model: Autoencoder,
        tokenizer: Tokenizer,
        *,
        mechanism: Mechanism | Description | JointResponse,
        decoding: DecodingConfig | None = None,
        batch_size: int = BATCH_SIZE,
        accept_broken_claim: bool = False,
        accept_inexact: bool = False,
        accept_private_model: bool = False,
    ) -> None:
        if batch_size < 1:
            raise ConfigurationError(f"batch_size must be at least 1, got {batch_size}")
        self.model = model.eval()
        self.tokenizer = tokenizer
        self.joint = joint_with_codewords(mechanism, model) if isinstance(mechanism, JointResponse) else None
        text = mechanism.mechanism if isinstance(mechanism, JointResponse) else mechanism
        check_fit(model, text)
        self.mechanism = self.joint.text if self.joint else with_codewords(text, model)
        self._describer = Describer(model, self.mechanism) if isinstance(self.mechanism, Description) else None
        self.measurement = False
        check_release(
            self.guarantee,
            model.training_data,
            accept_broken_claim=accept_broken_claim,
            accept_inexact=accept_inexact,
            accept_private_model=accept_private_model,
        )
        self.decoding = resolved(decoding or DecodingConfig(), model, self.mechanism)
        nearest = self.decoding.strategy == "nearest" and not self._describer
        self._nearest = NearestTexts(model, tokenizer, most=texts_of(self.mechanism)) if nearest else None
        self.batch_size = batch_size
        self._pools = Pools(self.decoding.pool or 0)

    @classmethod
    def for_measurement(
        cls,
        model: Autoencoder,
        tokenizer: Tokenizer,
        *,
        mechanism: Mechanism | Description | JointResponse,
        decoding: DecodingConfig | None = None,
        batch_size: int = BATCH_SIZE,
    ) -> "Rewriter":
        """Return a rewriter that refuses nothing, for what is there to be measured alone: ``adept.release`` refuses it."""
        every = {"accept_broken_claim": True, "accept_inexact": True, "accept_private_model": True}
        rewriter = cls(model, tokenizer, mechanism=mechanism, decoding=decoding, batch_size=batch_size, **every)
        rewriter.measurement = True
        return rewriter

    @property
    def guarantee(self) -> Guarantee:
        """What each rewrite guarantees about the record that it was written from."""
        return (self.joint or self.mechanism).guarantee(self.model.config.latent_dim)

    def rewrite(self, texts: Sequence[str], *, samples: int = 1) -> list[str]:
        """Release every text once and write ``samples`` texts from each release, consecutively in the result."""
        return [text for text, _ in self.rewrite_pairs(texts, samples=samples)]

    def rewrite_pairs(
        self, texts: Sequence[str], labels: Sequence[str | None] | None = None, *, samples: int = 1
    ) -> list[tuple[str, str | None]]:
        """Release every record once and write ``samples`` pairs of text and label, or None without labels, from each release.

        Args:
            texts: the records' texts.
            labels: their labels, for a model that writes labels, whose latents then speak of the pair, or for a joint release.
            samples: pairs from each released latent, consecutively in the result.
        """
        if isinstance(texts, str):
            raise ConfigurationError("texts must be a list of strings, got one string: put it into a list")
        written: list[tuple[str, str | None]] = []
        for start in range(0, len(texts), self.batch_size):
            batch = slice(start, start + self.batch_size)
            released = self.release(texts[batch], labels[batch] if labels is not None else None)
            written += self.write(released, samples=samples)
        return written

    def write(self, released: Tensor, *, samples: int = 1) -> list[tuple[str, str | None]]:
        """Write ``samples`` pairs of text and label from each release (B, n): afresh, from pools, or public texts."""
        if not self.joint:
            return self._written(released, samples)
        rows, labels = parted(self.joint, released)
        beside = (label for label in labels for _ in range(samples))
        return [(text, label) for (text, _), label in zip(self._written(rows, samples), beside, strict=True)]

    def _written(self, released: Tensor, samples: int) -> list[tuple[str, str | None]]:
        if other := self._describer or self._nearest:
            return other.write(released, samples=samples)
        if self._pools.size:
            return self._pools.draw(released, samples=samples, decode=self._decode_parts)
        return self._decode_parts(released.repeat_interleave(samples, dim=0))

    def _decode_parts(self, released: Tensor) -> list[tuple[str, str | None]]:
        """Decode as many at a time as go through the model at once."""
        return [pair for part in torch.split(released, self.batch_size) for pair in self.decode_pairs(part)]

    @torch.inference_mode()
    def encode(self, texts: Sequence[str], labels: Sequence[str | None] | None = None) -> Tensor:
        """Return the clipped latents (B, n) of B records: secret, and the same whatever the other records are."""
        return self._reader(self.tokenizer.encode(texts, max_length=self.model.config.max_length, labels=labels))

    def release(self, texts: Sequence[str], labels: Sequence[str | None] | None = None) -> Tensor:
        """Return released latents (B, n): encode, then the mechanism; of descriptions, rows (B, 2); with a label, one more."""
        if self.joint:
            inputs = self._describer.describe(texts) if self._describer else self.encode(texts)
            return released_pairs(self.joint, inputs, labels)
        if isinstance(self.mechanism, Description):
            return packed(self.mechanism.privatize(Describer(self.model, self.mechanism).describe(texts)))
        return self.mechanism.privatize(self.encode(texts, labels))

    def decode(self, released: Tensor) -> list[str]:
        """Write one text from each released latent; nothing else is looked at."""
        return [text for text, _ in self.decode_pairs(released)]

    def decode_pairs(self, released: Tensor) -> list[tuple[str, str | None]]:
        """Write one text and, where the model writes labels, its label from each released latent."""
        if self._nearest:
            return self._nearest.write(released, samples=1)
        generator = torch.Generator(self._device)
        generator.seed()
        at_once = max(FEWEST_ROWS, LOGITS // self.model.vocabulary_size)
        parts = (self._fittest(part, generator).tolist() for part in torch.split(released, at_once))
        rows = [row for part in parts for row in part]
        labels: Sequence[str | None] = (
            self.tokenizer.decode_labels(rows) if self.tokenizer.labels else [None] * len(rows)
        )
        return list(zip(self.tokenizer.decode(rows), labels, strict=True))

    def _fittest(self, released: Tensor, generator: torch.Generator) -> Tensor:
        """Write token ids (B, T): of as many candidates as are asked for, the one that fits the released latent best."""
        count = self.decoding.candidates if self.decoding.strategy == "sample" else 1
        latents = released.repeat_interleave(count, dim=0)
        tokens = self._writer(latents, self.decoding, generator)
        if count == 1:
            return tokens
        best = self._fit(latents, tokens).reshape(-1, count).argmax(dim=1)
        return tokens[best + count * torch.arange(len(best), device=best.device)]

    def __getstate__(self) -> dict[str, Any]:
        """Copies and pickles hold nothing that a call left behind, so that a rewriter that was used is the one it was."""
        return {name: value for name, value in self.__dict__.items() if name not in ("_reader", "_writer")}

    @cached_property
    def _reader(self) -> Reader | TopicReader:
        return reader_of(self.model)

    @cached_property
    def _writer(self) -> Writer:
        return Writer(self.model)

    @torch.inference_mode()
    def _fit(self, latents: Tensor, tokens: Tensor) -> Tensor:
        """How well written tokens (B, T) fit their latents (B, n): by their own topics or, without topics, their likelihood."""
        if self.model.config.encoder == "topics":
            return torch.nn.functional.cosine_similarity(self.model.encode(tokens), latents)
        return self.model.likelihood(latents, tokens)

    @property
    def _device(self) -> torch.device:
        return next(self.model.parameters()).device
