"""Turn released latents into texts: write word by word, choose public texts, or draw from a pool.

A *pool* holds the texts that were written for one released codeword (``Pools``).

Decoding reads only released latents, so it is post-processing and costs no privacy.

All random numbers that decoding uses come from the operating system. If a seed determined these
numbers, an attacker who knows the seed could find the original place of a text in a shuffled file.
"""

import secrets
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from adept.mechanisms.policy import POOL_SIZES, POOL_TEXTS
from adept.mechanisms.random_draws import fresh_index
from adept.models.config import FIRST_LABEL, TOPICS, DecodingConfig
from adept.models.lstm_autoencoder import fill_up
from adept.models.saved_model import Autoencoder
from adept.models.tokenizer import END, PAD

NEAREST_ROWS = 32  # rows of every product; fewer latents are filled up with zeros
Pair = tuple[str, str | None]  # a text, and its label where one was written or released with it


def decode(model: Autoencoder, latents: Tensor, decoding: DecodingConfig | None = None) -> Tensor:
    """Write token ids (B, T) from latents (B, n), with END as the only special token but a label's at the beginning."""
    words, labels = writable(model), writable(model, labels=True)

    def choice(logits: Tensor, begins: Tensor) -> Tensor:
        allowed = torch.where(begins[:, None], labels, words) if model.labels else words
        return choose(logits.masked_fill(~allowed, -torch.inf), decoding or DecodingConfig())

    return model.write(latents, max_length=model.config.max_length + (model.labels > 0), choose=choice)


@torch.inference_mode()
def decode_best(model: Autoencoder, latents: Tensor, decoding: DecodingConfig) -> Tensor:
    """Write several texts from each latent (B, n); return the one with the nearest topics, or the likeliest, as ids (B,
    T).
    """
    count = decoding.candidates if decoding.strategy == "sample" else 1
    latents = latents.repeat_interleave(count, dim=0)
    tokens = decode(model, latents, decoding)
    if count == 1:
        return tokens
    if model.config.encoder == TOPICS:
        fit = torch.nn.functional.cosine_similarity(model.encode(tokens), latents)
    else:
        fit = likelihood(model, latents, tokens)
    best = fit.reshape(-1, count).argmax(dim=1)
    return tokens[best + count * torch.arange(len(best), device=best.device)]


@torch.inference_mode()
def likelihood(model: Autoencoder, latents: Tensor, tokens: Tensor) -> Tensor:
    """Return the log-likelihood (B,) of tokens (B, T) given latents (B, n), in nats per token."""
    logits = model(latents, tokens).transpose(1, 2)
    losses = torch.nn.functional.cross_entropy(logits, tokens, ignore_index=PAD, reduction="none")
    return -losses.sum(dim=1) / (tokens != PAD).sum(dim=1).clamp(min=1)


def writable(model: Autoencoder, *, labels: bool = False) -> Tensor:
    numbers = torch.arange(model.vocabulary_size, device=model.embedding.weight.device)
    label = (numbers >= FIRST_LABEL) & (numbers < FIRST_LABEL + model.labels)
    return label if labels else (numbers >= END) & ~label


def choose(logits: Tensor, decoding: DecodingConfig) -> Tensor:
    """Choose the next words (B,) from logits (B, V): the likeliest words, or random draws."""
    if decoding.strategy != "sample":
        return logits.argmax(dim=1)
    if decoding.temperature != 1:
        logits = logits / decoding.temperature
    if decoding.top_k:
        smallest = logits.topk(min(decoding.top_k, logits.shape[1]), dim=1).values[:, -1:]
        logits = logits.masked_fill(logits < smallest, -torch.inf)
    probabilities = logits.softmax(dim=1)
    if decoding.top_p < 1:
        ordered, order = probabilities.sort(dim=1, descending=True)
        beyond = ordered.cumsum(dim=1) - ordered >= decoding.top_p  # the word that crosses the line stays
        probabilities = ordered.masked_fill(beyond, 0.0).gather(1, order.argsort(dim=1))
    return fresh_index(probabilities)


class PublicTexts:
    """Public texts with their latents (N, n), to find the texts nearest to a released latent."""

    def __init__(self, texts: Sequence[str], latents: Tensor) -> None:
        self.texts = list(texts)
        directions = torch.nn.functional.normalize(latents.to(torch.float32), dim=1)
        self._table = fill_up(fill_up(directions, dim=0), dim=1).T.contiguous()  # (n, N)

    def write(self, released: Tensor, *, samples: int, most: int | None = None) -> list[str]:
        """Return ``samples`` texts for each latent (B, n): the nearest public texts, or the ``most`` nearest ones in turn."""
        count = min(samples, most or samples, len(self.texts))
        distinct, index = torch.unique(released.to(self._table), dim=0, return_inverse=True)
        near = [self._compare(part).topk(count, dim=1).indices for part in torch.split(distinct, NEAREST_ROWS)]
        chosen: list[list[int]] = torch.cat(near)[index].tolist()
        return [self.texts[row[place % count]] for row in chosen for place in range(samples)]

    def _compare(self, latents: Tensor) -> Tensor:
        rows = fill_up(fill_up(latents, dim=0, width=NEAREST_ROWS), dim=1)
        return (rows @ self._table)[: len(latents), : len(self.texts)]


def pool_size(codewords: int) -> int:
    """Return the number of texts in a codeword's pool: the fewer codewords, the larger the pool."""
    return min(POOL_SIZES[1], max(POOL_SIZES[0], POOL_TEXTS // codewords))


class Pools:
    """Pools of texts. All records that are released as the same codeword share one pool.

    *Claim*: outputs have the same distribution whether a text of a pool is written when it is first drawn, or
    the whole pool before. *Proof*: the texts of a codeword are drawn independently, from one distribution
    that depends on the codeword alone, and a random place in the pool is drawn before any text is read. QED.
    Only released codewords are read, so drawing is post-processing. All random numbers come from the
    operating system, so no seed can reveal which record was the first to draw a text.
    """

    def __init__(self, size: int) -> None:
        self.size = size  # texts of a codeword
        self.texts: dict[bytes, dict[int, Pair]] = {}  # by their codeword's bytes and their place in its pool

    def __reduce__(self) -> tuple[Any, ...]:
        return Pools, (self.size,)

    def draw(self, released: Tensor, *, samples: int, decode: Callable[[Tensor], list[Pair]]) -> list[Pair]:
        """Draw ``samples`` texts for each released codeword (B, n) from the codeword's pool."""
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
