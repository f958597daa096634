"""Decoding: token ids from released latents, which costs no budget, being post-processing of them.

The decoder chooses its words greedily or by sampling, or a release is answered with the public texts nearest to it. What is drawn
comes from the operating system: whoever found a generator's seed could tell at which place of a file a text was written, and a
shuffled file has to hide that (``adept.release.shuffling``).
"""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import embedding

from adept.errors import ConfigurationError
from adept.mechanisms import entropy
from adept.mechanisms.base import check_positive
from adept.models.network.autoencoder import Autoencoder
from adept.models.network.lstm_step import doubled, gates_of_words, step
from adept.models.network.rounding import WIDTH, RowCounts, filled, random_rows
from adept.models.tokenizer.pipeline import END, FIRST_LABEL, PAD, START

# Rows that are written together: a step stays near the processor, a tenth faster than 1,024.
WRITTEN = (4, 8, 16, *range(32, 257, 32))


@dataclass
class DecodingConfig:
    """How texts are written from released latents."""

    strategy: str = "auto"
    """How texts are written: auto (nearest if the model says so, else sample where releases repeat, else greedy) | greedy |
    sample | nearest (the public text nearest to the release)."""
    temperature: float = 1.0
    """Of sample: below 1 likely words are preferred, above 1 rare ones."""
    top_k: int = 0
    """Of sample: among how many of the likeliest words; 0: among all."""
    top_p: float = 1.0
    """Of sample: among the likeliest words that together have this probability."""
    candidates: int = 1
    """Of sample: texts drawn for each one that is kept, which is the one that fits the latent best."""
    pool: int | None = None
    """Where releases repeat: texts of each codeword, which its records share; null: by a rule; 0: none."""

    def __post_init__(self) -> None:
        if self.strategy not in ("auto", "greedy", "sample", "nearest"):
            raise ConfigurationError(f"decoding.strategy must be auto, greedy, sample or nearest, got {self.strategy}")
        check_positive(**{"decoding.temperature": self.temperature})
        if self.top_k < 0:
            raise ConfigurationError(f"decoding.top_k must be at least 0, got {self.top_k}")
        if not 0 < self.top_p <= 1:
            raise ConfigurationError(f"decoding.top_p must be in (0, 1], got {self.top_p}")
        if self.candidates < 1:
            raise ConfigurationError(f"decoding.candidates must be at least 1, got {self.candidates}")
        if self.pool is not None and self.pool < 0:
            raise ConfigurationError(f"decoding.pool must be at least 0, got {self.pool}")


class Decoder:
    """Writes token ids from latents; holds copies of the model's weights."""

    @torch.no_grad()
    def __init__(self, model: Autoencoder) -> None:
        self._model = model
        lstm, embedded, dim = model.decoder, model.embedding.weight, model.config.latent_dim
        inputs = lstm.get_parameter("weight_ih_l0").T  # (E + n, 4H): a word's part, the latent's part
        words, latents = inputs[: embedded.shape[1]], inputs[embedded.shape[1] :]
        self._table = gates_of_words(lstm, embedded @ words, width=WIDTH)  # (V, 4H)
        self._from_latent = filled(doubled(latents, width=WIDTH), dim=0)  # (n, 4H)
        self._recurrent = filled(doubled(lstm.get_parameter("weight_hh_l0").T, width=WIDTH), dim=0)  # (H, 4H)
        first, bias = model.to_state.weight.T.reshape(dim, 2, -1), model.to_state.bias.reshape(2, -1)
        self._to_state = filled(filled(first, dim=2).flatten(1), dim=0)  # (n, 2H)
        self._state_bias = filled(bias, dim=1).flatten()  # (2H,)
        self._to_words = filled(filled(model.to_words.weight.T, dim=0), dim=1)  # (H, V)
        numbers = torch.arange(self._to_words.shape[1], device=embedded.device)
        label = (numbers >= FIRST_LABEL) & (numbers < FIRST_LABEL + model.labels)
        word = (numbers >= END) & ~label & (numbers < model.vocabulary_size)
        bias = filled(model.to_words.bias, dim=0)
        self._bias = bias.masked_fill(~word, -torch.inf)  # (V,): no special token but END
        self._first_bias = bias.masked_fill(~label, -torch.inf) if model.labels else self._bias
        self._size = RowCounts(self._moved, random_rows(WRITTEN[-1], dim, like=embedded), WRITTEN)

    @torch.inference_mode()
    def __call__(self, latents: Tensor, decoding: DecodingConfig | None = None) -> Tensor:
        """Write token ids (B, at most max_length, after the label's) from latents (B, n) alone.

        Rows end with END and are padded with PAD. A row that has ended leaves the batch, and when all have, writing stops: both
        look at released latents only, so they are post-processing.
        """
        decoding = decoding or DecodingConfig()
        written = [self._part(part, count, decoding) for part, count in self._size.chunks(latents)]
        width = max((part.shape[1] for part in written), default=0)
        parts = [nn.functional.pad(part, (0, width - part.shape[1]), value=PAD) for part in written]
        return torch.cat(parts) if parts else torch.empty((0, 0), dtype=torch.int64)

    def _part(self, latents: Tensor, count: int, decoding: DecodingConfig) -> Tensor:
        """Write from the first ``count`` latents of a chunk (B, n)."""
        limit = self._model.config.max_length + (self._model.labels > 0)
        rows = torch.arange(len(latents), device=latents.device)
        written = torch.full((len(rows), limit), PAD, device=latents.device)
        constant, hidden, cell = self._begun(latents)
        words, going = torch.full_like(rows, START), rows < count
        for position in range(limit):
            hidden = self._advanced(words, constant, hidden, cell)
            logits = self._read_out(hidden, self._bias if position else self._first_bias)
            words = choose(logits, decoding).masked_fill(~going, PAD)
            written[rows, position] = words
            going = going & (words != END)
            left = int(going.sum())
            if left == 0:
                return written[:count, : position + 1]
            if (size := self._size(left)) < len(rows):
                kept = going.argsort(descending=True, stable=True)[:size]
                rows, words, going = rows[kept], words[kept], going[kept]
                hidden, cell, constant = (embedding(kept, part) for part in (hidden, cell, constant))
        return written[:count]

    def _begun(self, latents: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """What latents (B, n) add to all gates (B, 4H), and the hidden and cell state (B, H) before the first word."""
        latents = filled(self._model.scaled(latents), dim=1)
        states = torch.addmm(self._state_bias, latents, self._to_state).tanh_()
        hidden, cell = (state.contiguous() for state in states.chunk(2, dim=1))
        return latents @ self._from_latent, hidden, cell

    def _advanced(self, words: Tensor, constant: Tensor, hidden: Tensor, cell: Tensor) -> Tensor:
        """Return the hidden states (B, H) after words (B,); the cells move in place."""
        return step(embedding(words, self._table).add_(constant).addmm_(hidden, self._recurrent), cell)

    def _read_out(self, hidden: Tensor, bias: Tensor) -> Tensor:
        """Return the logits (B, V), filled to a register's width, of hidden states (B, H)."""
        return torch.addmm(bias, hidden, self._to_words)

    def _moved(self, latents: Tensor) -> Tensor:
        """What latents (B, n) become in a step: all that products round."""
        constant, hidden, cell = self._begun(latents)
        words = torch.full((len(latents),), START, device=latents.device)
        hidden = self._advanced(words, constant, hidden, cell)
        return torch.cat([hidden, cell, self._read_out(hidden, self._bias)], dim=1)


def choose(logits: Tensor, decoding: DecodingConfig) -> Tensor:
    """Choose the next word (B,) from logits (B, V)."""
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
    return _drawn(probabilities)


def _drawn(weights: Tensor) -> Tensor:
    """Draw an index (B,) from each row of weights (B, V), with probabilities in their proportion, by inversion.

    The first index whose cumulated weight exceeds u * total, for uniform u in [0, 1), has a weight of its own above 0. Rounding can
    make u * total as large as the total, which no index exceeds; the largest float below the total stands for it then.
    """
    cumulated = weights.cumsum(dim=1)
    total = cumulated[:, -1:]
    uniform = fresh_uniform(len(total)).to(weights)[:, None]
    level = torch.minimum(uniform * total, torch.nextafter(total, torch.zeros_like(total)))
    return torch.searchsorted(cumulated, level, right=True)[:, 0].clamp(max=weights.shape[1] - 1)


def fresh_uniform(count: int) -> Tensor:
    """Return numbers (count,) in [0, 1), multiples of 2^-53, from the operating system's entropy."""
    return torch.from_numpy((entropy.source.words(count) >> np.uint64(11)) * 2.0**-53)
