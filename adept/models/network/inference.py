"""A trained model's arithmetic, arranged for speed: the functions of ``Autoencoder``'s modules, without gradients.

What a word adds to an LSTM's gates does not change, so it is looked up in a table of the whole vocabulary (by ``embedding``, which
copies rows seven times as fast as an index does), and what is left of a step is one matrix product, which is added to them in
place, and a few sigmoids (the new cell's tanh(x) is 2 sigmoid(2x) - 1, so that all four gates are one call).

Everything is computed in numbers of rows that are rounded alike (``adept.models.network.rounding``). So a latent depends on its own
record, whatever the batch, its size and the place in it, and a text on its own latent and on its own draws. How long a record is
decides the time that it takes, which is not hidden.
"""

from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn.functional import embedding

from adept.mechanisms.grid import clip_latents
from adept.models.network.autoencoder import Autoencoder
from adept.models.network.batching import pad
from adept.models.network.decoding import DecodingConfig, choose
from adept.models.network.rounding import CHUNK, WIDTH, RowCounts, filled, random_rows
from adept.models.tokenizer.pipeline import END, FIRST_LABEL, PAD, START
from adept.models.topics.encoder import TOPICS

READ = range(4, 65, 4)  # rows that are read together
WRITTEN = (
    4,
    8,
    16,
    *range(32, 257, 32),
)  # and written: a step's numbers stay near the processor, a tenth faster than of 1,024


class Reader:
    """Encodes rows of token ids into clipped latents; holds copies of the model's weights."""

    @torch.no_grad()
    def __init__(self, model: Autoencoder) -> None:
        self._model = model
        directions, embedded = (model.encoder_forward, model.encoder_backward), model.embedding.weight
        tables = [_gates(lstm, embedded @ lstm.get_parameter("weight_ih_l0").T, width=WIDTH) for lstm in directions]
        weights = [_doubled(lstm.get_parameter("weight_hh_l0").T, width=WIDTH) for lstm in directions]
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
        order = sorted(
            range(len(rows)), key=lambda place: -len(rows[place])
        )  # the longest first: rows that end are the last
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
        return _step(torch.baddbmm(gates, hidden, self._recurrent, out=gates), cell)

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
        hidden = _step(embedding(words[:, :, 0], self._table), cell)  # nothing came before the first word
        states = torch.empty_like(hidden)  # after each row's last word
        size = len(tokens)
        for position, (count, left) in enumerate(pairwise(reading)):
            if position > 0:
                size = fewer if count <= (fewer := self._size(count)) < size else size
                hidden = self._advanced(words[:, :size, position], hidden[:, :size], cell[:, :size])
            states[:, left:count] = hidden[:, left:count]
        latents = self._read_out(states)[:, : self._model.config.latent_dim].contiguous()  # (B, n)
        return clip_latents(latents, clip=self._model.clip, clip_norm=self._model.config.clip_norm)


class TopicReader:
    """The same for a model whose encoder is topics: sums over places, in chunks of one shape."""

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


def reader_of(model: Autoencoder) -> Reader | TopicReader:
    """Return what encodes for a model."""
    return TopicReader(model) if model.config.encoder == TOPICS else Reader(model)


class Writer:
    """Writes token ids from latents; holds copies of the model's weights."""

    @torch.no_grad()
    def __init__(self, model: Autoencoder) -> None:
        self._model = model
        lstm, embedded, dim = model.decoder, model.embedding.weight, model.config.latent_dim
        inputs = lstm.get_parameter("weight_ih_l0").T  # (E + n, 4H): a word's part, the latent's part
        words, latents = inputs[: embedded.shape[1]], inputs[embedded.shape[1] :]
        self._table = _gates(lstm, embedded @ words, width=WIDTH)  # (V, 4H)
        self._from_latent = filled(_doubled(latents, width=WIDTH), dim=0)  # (n, 4H)
        self._recurrent = filled(_doubled(lstm.get_parameter("weight_hh_l0").T, width=WIDTH), dim=0)  # (H, 4H)
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
        return _step(embedding(words, self._table).add_(constant).addmm_(hidden, self._recurrent), cell)

    def _read_out(self, hidden: Tensor, bias: Tensor) -> Tensor:
        """Return the logits (B, V), filled to a register's width, of hidden states (B, H)."""
        return torch.addmm(bias, hidden, self._to_words)

    def _moved(self, latents: Tensor) -> Tensor:
        """What latents (B, n) become in a step: all that products round."""
        constant, hidden, cell = self._begun(latents)
        words = torch.full((len(latents),), START, device=latents.device)
        hidden = self._advanced(words, constant, hidden, cell)
        return torch.cat([hidden, cell, self._read_out(hidden, self._bias)], dim=1)


def _gates(lstm: nn.LSTM, products: Tensor, *, width: int = 1) -> Tensor:
    """What each word adds to the gates (V, 4H), both biases included."""
    return _doubled(products + (lstm.get_parameter("bias_ih_l0") + lstm.get_parameter("bias_hh_l0")), width=width)


def _doubled(gates: Tensor, *, width: int = 1) -> Tensor:
    """Gates (..., 4H), in the order input, forget, cell, output, with the cell's doubled for ``_step``: exact in floats."""
    four = gates.reshape(*gates.shape[:-1], 4, -1).clone()
    four[..., 2, :] *= 2
    return filled(four, dim=-1, width=width).flatten(-2)


def _step(gates: Tensor, cell: Tensor) -> Tensor:
    """Advance an LSTM's cell (..., H) in place by its gates (..., 4H), which are used up; returns the hidden state (..., H)."""
    read, forget, new, output = gates.sigmoid_().chunk(4, dim=-1)
    cell.mul_(forget).addcmul_(read, new, value=2).sub_(read)  # + read * (2 new - 1)
    return cell.tanh().mul_(output)
