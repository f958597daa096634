"""Encoders at release: rows of token ids to clipped latents, each a function of its own record to the last bit.

An encoder has two forms: modules of ``adept.models.network.autoencoder`` for training, and here the same function arranged for
speed and computed in numbers of rows that are rounded alike (``adept.models.network.rounding``), so that a latent does not depend
on the batch, its size and the place in it. How long a record is decides the time that it takes, which is not hidden. A new
encoder is a class here, a name in ``ENCODERS``, and its module in the autoencoder.
"""

from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import Tensor
from torch.nn.functional import embedding

from adept.mechanisms.grid import clip_latents
from adept.models.network.autoencoder import Autoencoder
from adept.models.network.batching import pad
from adept.models.network.lstm_step import doubled, gates_of_words, step
from adept.models.network.rounding import CHUNK, WIDTH, RowCounts, filled, random_rows
from adept.models.tokenizer.pipeline import END, PAD

READ = range(4, 65, 4)  # rows that are read together


class RecurrentEncoder:
    """Encodes by the LSTMs; holds copies of the model's weights."""

    @torch.no_grad()
    def __init__(self, model: Autoencoder) -> None:
        self._model = model
        directions, embedded = (model.encoder_forward, model.encoder_backward), model.embedding.weight
        tables = [
            gates_of_words(lstm, embedded @ lstm.get_parameter("weight_ih_l0").T, width=WIDTH) for lstm in directions
        ]
        weights = [doubled(lstm.get_parameter("weight_hh_l0").T, width=WIDTH) for lstm in directions]
        self._table = torch.cat(tables)  # (2V, 4H)
        self._recurrent = filled(torch.stack(weights), dim=1)  # (2, H, 4H)
        hidden = model.to_latent.weight.T.reshape(2, -1, model.config.latent_dim)  # (2, H, n)
        self._to_latent = filled(filled(hidden, dim=1), dim=2).flatten(0, 1)  # (2H, n)
        self._bias = filled(model.to_latent.bias, dim=0)  # (n,)
        self._size = RowCounts(self._moved, random_rows(READ[-1], 2, len(self._recurrent[0]), like=self._bias), READ)

    @torch.inference_mode()
    def __call__(self, rows: Sequence[list[int]]) -> Tensor:
        """Return the latents (B, n) of B rows, each closed by END."""
        latents = self._recurrent.new_empty(len(rows), self._model.config.latent_dim)
        # The longest first: rows that end are the last.
        order = sorted(range(len(rows)), key=lambda place: -len(rows[place]))
        while order:
            size = self._size(len(order))
            some, order = order[:size], order[size:]
            dummies = [[END]] * (size - len(some))
            latents[some] = self._chunk(pad([rows[place] for place in some] + dummies).to(latents.device))[: len(some)]
        return latents

    def _moved(self, states: Tensor) -> Tensor:
        """What states (B, 2, H) become in a step and after the last (B, 4H + n): all that products round."""
        states = states.transpose(0, 1).contiguous()
        words, cell = torch.zeros(states.shape[:2], dtype=torch.int64, device=states.device), states.clone()
        hidden = self._advanced(words, states, cell)
        return torch.cat([*hidden, *cell, self._read_out(hidden)], dim=1)

    def _advanced(self, words: Tensor, hidden: Tensor, cell: Tensor) -> Tensor:
        """Return the hidden states (2, B, H) after words (2, B), rows of the table; the cells move in place."""
        gates = embedding(words, self._table)
        return step(torch.baddbmm(gates, hidden, self._recurrent, out=gates), cell)

    def _read_out(self, hidden: Tensor) -> Tensor:
        """Return the latents (B, n), filled to a register's width, of hidden states (2, B, H)."""
        return torch.addmm(self._bias, torch.cat([hidden[0], hidden[1]], dim=1), self._to_latent)

    def _chunk(self, tokens: Tensor) -> Tensor:
        """Return the latents of tokens (B, T), the longest rows first."""
        lengths = (tokens != PAD).sum(dim=1)  # (B,)
        positions = torch.arange(tokens.shape[1], device=tokens.device)
        backward = tokens.gather(1, (lengths[:, None] - 1 - positions).clamp(min=0))  # last token first
        words = torch.stack([tokens, backward + self._model.vocabulary_size])  # (2, B, T): rows of the table
        reading = [*(tokens != PAD).sum(dim=0).tolist(), 0]  # at each position, how many rows have a word there
        cell = self._recurrent.new_zeros(2, len(tokens), self._recurrent.shape[1])
        hidden = step(embedding(words[:, :, 0], self._table), cell)  # nothing came before the first word
        states = torch.empty_like(hidden)  # after each row's last word
        size = len(tokens)
        for position, (count, left) in enumerate(pairwise(reading)):
            if position > 0:
                size = fewer if count <= (fewer := self._size(count)) < size else size
                hidden = self._advanced(words[:, :size, position], hidden[:, :size], cell[:, :size])
            states[:, left:count] = hidden[:, left:count]
        latents = self._read_out(states)[:, : self._model.config.latent_dim].contiguous()  # (B, n)
        return clip_latents(latents, clip=self._model.clip, clip_norm=self._model.config.clip_norm)


class LinearEncoder:
    """Encodes by topics: sums over positions, in chunks of one shape."""

    def __init__(self, model: Autoencoder) -> None:
        self._model = model

    @torch.inference_mode()
    def __call__(self, rows: Sequence[list[int]]) -> Tensor:
        """Return the latents (B, n) of B rows, each closed by END."""
        device, length = self._model.topics.offset.device, self._model.config.max_length + 2
        latents = self._model.topics.offset.new_empty(len(rows), self._model.config.latent_dim)
        for start in range(0, len(rows), CHUNK):
            some = list(rows[start : start + CHUNK])
            tokens = pad(some + [[END]] * (CHUNK - len(some)), length=length).to(device)
            latents[start : start + CHUNK] = self._model.encode(tokens)[: len(some)]
        return latents


ENCODERS: dict[str, type[RecurrentEncoder] | type[LinearEncoder]] = {"lstm": RecurrentEncoder, "topics": LinearEncoder}


def encoder_of(model: Autoencoder) -> RecurrentEncoder | LinearEncoder:
    """Return what encodes for a model."""
    return ENCODERS[model.config.encoder](model)
