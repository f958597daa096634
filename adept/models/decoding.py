"""Turn released latents into texts, word by word or by a choice among public texts.

Decoding reads only released latents, so it is post-processing and costs no privacy.

All random numbers that decoding uses come from the operating system. If a seed determined these
numbers, an attacker who knows the seed could find the original place of a text in a shuffled file.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from adept.mechanisms.random_draws import fresh_index
from adept.models.config import DecodingConfig
from adept.models.lstm_autoencoder import fill_up
from adept.models.saved_model import Autoencoder
from adept.models.tokenizer import END, FIRST_LABEL, PAD

NEAREST_ROWS = 32  # rows of every product; fewer latents are filled up with zeros


def decode(model: Autoencoder, latents: Tensor, decoding: DecodingConfig | None = None) -> Tensor:
    """Write token ids (B, T) from latents (B, n), with END as the only special token.

    If the model writes labels, each row begins with the token of a label.
    """
    words, labels = writable(model), writable(model, labels=True)

    def choice(logits: Tensor, begins: Tensor) -> Tensor:
        allowed = torch.where(begins[:, None], labels, words) if model.labels else words
        return choose(logits.masked_fill(~allowed, -torch.inf), decoding or DecodingConfig())

    return model.write(latents, max_length=model.config.max_length + (model.labels > 0), choose=choice)


@torch.inference_mode()
def likelihood(model: Autoencoder, latents: Tensor, tokens: Tensor) -> Tensor:
    """Return the log-likelihood (B,) of tokens (B, T) given latents (B, n), in nats per token."""
    logits = model(latents, tokens).transpose(1, 2)
    losses = torch.nn.functional.cross_entropy(logits, tokens, ignore_index=PAD, reduction="none")
    return -losses.sum(dim=1) / (tokens != PAD).sum(dim=1).clamp(min=1)


def writable(model: Autoencoder, *, labels: bool = False) -> Tensor:
    numbers = torch.arange(model.vocabulary_size, device=model.to_words.weight.device)
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
        """Return ``samples`` texts for each latent (B, n): the public texts nearest to the latent.

        If ``most`` is given and less than ``samples``, only the ``most`` nearest texts are used,
        and repeated in turn.
        """
        count = min(samples, most or samples, len(self.texts))
        distinct, index = torch.unique(released.to(self._table), dim=0, return_inverse=True)
        near = [self._compare(part).topk(count, dim=1).indices for part in torch.split(distinct, NEAREST_ROWS)]
        chosen: list[list[int]] = torch.cat(near)[index].tolist()
        return [self.texts[row[place % count]] for row in chosen for place in range(samples)]

    def _compare(self, latents: Tensor) -> Tensor:
        rows = fill_up(fill_up(latents, dim=0, width=NEAREST_ROWS), dim=1)
        return (rows @ self._table)[: len(latents), : len(self.texts)]
