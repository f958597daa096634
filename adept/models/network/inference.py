"""A trained model's arithmetic, arranged for speed: the functions of ``Autoencoder``'s modules, without gradients.

What a word adds to an LSTM's gates does not change, so it is looked up in a table of the whole vocabulary (by ``embedding``, which
copies rows seven times as fast as an index does), and what is left of a step is one matrix product, which is added to them in
place, and a few sigmoids (the new cell's tanh(x) is 2 sigmoid(2x) - 1, so that all four gates are one call).

Bits. A matrix product may round a row differently when the number of rows changes, so a record encoded alone and in a batch
would differ in its last bits, and a release would depend on its neighbours. A row of a product is a function of that row alone
once the number of rows is fixed and its sides are multiples of a register's width (tested bit for bit). ``Reader`` therefore
computes with CHUNK rows, where dummies fill the last chunk, or with another number where that rounds as CHUNK rows do: fewer, so
that a lone record does not pay for 31 dummies and records that are read leave the chunk, and more, because larger products are
faster. Whether it does is a matter of the order in which a product's terms are added, which a kernel chooses by the shapes, the
number of threads and the processor, never by the values. So it is tried out, once for each number of threads, on random states:
thousands of sums in two orders do not all agree to the last bit. So a latent depends on its own record, whatever the batch, its
size and the place in it. How long a record is decides the time that it takes, which is not hidden.
"""

import math
from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn.functional import embedding

from adept.mechanisms.grid import clip_latents
from adept.models.network.autoencoder import Autoencoder
from adept.models.network.batching import pad
from adept.models.network.decoding import DecodingConfig, choose
from adept.models.tokenizer.pipeline import END, FIRST_LABEL, PAD, START
from adept.models.topics.encoder import TOPICS

CHUNK = 32
WRITTEN = 256  # rows that are written together: a step's numbers stay near the processor, a tenth faster than of 1,024
STEP, MOST = 4, 64  # other numbers of rows are multiples of STEP, at most MOST
WIDTH = 16  # floats of a vector register: rows of another width begin at different places in one, and may be rounded otherwise


class Reader:
    """Encodes rows of token ids into clipped latents; holds copies of the model's weights."""

    @torch.no_grad()
    def __init__(self, model: Autoencoder) -> None:
        self._model = model
        directions, embedded = (model.encoder_forward, model.encoder_backward), model.embedding.weight
        tables = [_gates(lstm, embedded @ lstm.get_parameter("weight_ih_l0").T, width=WIDTH) for lstm in directions]
        weights = [_doubled(lstm.get_parameter("weight_hh_l0").T, width=WIDTH) for lstm in directions]
        self._table = torch.cat(tables)  # (2V, 4H)
        self._recurrent = _filled(torch.stack(weights), dim=1)  # (2, H, 4H)
        hidden = model.to_latent.weight.T.reshape(2, -1, model.config.latent_dim)  # (2, H, n)
        self._to_latent = _filled(_filled(hidden, dim=1), dim=2).flatten(0, 1)  # (2H, n)
        self._bias = _filled(model.to_latent.bias, dim=0)  # (n,)
        self._alike: dict[int, dict[int, bool]] = {}  # by threads, then rows: whether that many round as CHUNK do

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

    def _size(self, count: int) -> int:
        """With how many rows to compute ``count`` rows: as few as hold them, if that many are rounded as CHUNK rows are."""
        size, threads = min(math.ceil(count / STEP) * STEP, MOST), torch.get_num_threads()
        if threads not in self._alike:
            self._alike[threads] = self._tried()
        return size if self._alike[threads][size] else CHUNK

    def _tried(self) -> dict[int, bool]:
        """Whether so many rows round as CHUNK rows do: of all numbers at once, as the lengths of records decide which are met."""
        states = torch.rand(2, MOST, self._recurrent.shape[1], generator=torch.Generator().manual_seed(0)) - 0.5
        states = states.to(self._recurrent)
        expected = torch.cat([self._moved(part) for part in torch.split(states, CHUNK, dim=1)])
        sizes = range(STEP, MOST + 1, STEP)
        return {size: torch.equal(self._moved(states[:, :size]), expected[:size]) for size in sizes}

    def _moved(self, states: Tensor) -> Tensor:
        """What states (2, B, H) become in a step and after the last (B, 4H + n): all that products round."""
        words = torch.arange(states.shape[1], device=states.device).expand(2, -1) % len(self._table)
        cell = states.clone()
        hidden = self._advanced(words, states.contiguous(), cell)
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
        lstm, embedded = model.decoder, model.embedding.weight
        inputs = lstm.get_parameter("weight_ih_l0").T  # (E + n, 4H): a word's part, the latent's part
        words, latents = inputs[: embedded.shape[1]], inputs[embedded.shape[1] :]
        self._table = _gates(lstm, embedded @ words)  # (V, 4H)
        self._from_latent = _doubled(latents)  # (n, 4H)
        self._recurrent = _doubled(lstm.get_parameter("weight_hh_l0").T)  # (H, 4H)
        self._to_words = model.to_words.weight.T.contiguous()  # (H, V)
        numbers = torch.arange(model.vocabulary_size, device=embedded.device)
        label = (numbers >= FIRST_LABEL) & (numbers < FIRST_LABEL + model.labels)
        bias = model.to_words.bias
        self._bias = bias.masked_fill(~((numbers >= END) & ~label), -torch.inf)  # (V,): no special token but END
        self._first_bias = bias.masked_fill(~label, -torch.inf) if model.labels else self._bias

    @torch.inference_mode()
    def __call__(
        self, latents: Tensor, decoding: DecodingConfig | None = None, generator: torch.Generator | None = None
    ) -> Tensor:
        """Write token ids (B, at most max_length, after the label's) from latents (B, n) alone.

        Rows end with END and are padded with PAD. A row that has ended leaves the batch, and when all have, writing stops: both
        look at released latents only, so they are post-processing.
        """
        decoding = decoding or DecodingConfig()
        together = WRITTEN if latents.is_cpu else max(1, len(latents))
        written = [self._part(part, decoding, generator) for part in torch.split(latents, together)]
        width = max(part.shape[1] for part in written)
        return torch.cat([nn.functional.pad(part, (0, width - part.shape[1]), value=PAD) for part in written])

    def _part(self, latents: Tensor, decoding: DecodingConfig, generator: torch.Generator | None) -> Tensor:
        limit = self._model.config.max_length + (self._model.labels > 0)
        written = torch.full((len(latents), limit), PAD, device=latents.device)
        hidden, cell = self._model.initial_state(latents)
        constant = self._model.scaled(latents) @ self._from_latent  # (B, 4H)
        rows = torch.arange(len(latents), device=latents.device)
        words = torch.full_like(rows, START)
        for position in range(limit):
            gates = embedding(words, self._table).add_(constant).addmm_(hidden, self._recurrent)
            hidden = _step(gates, cell)
            bias = self._bias if position else self._first_bias
            words = choose(torch.addmm(bias, hidden, self._to_words), decoding, generator)
            written[rows, position] = words
            going = (words != END).nonzero()[:, 0]
            if len(going) == 0:
                return written[:, : position + 1]
            if len(going) < len(rows):
                rows, words = rows[going], words[going]
                hidden, cell, constant = (embedding(going, part) for part in (hidden, cell, constant))
        return written


def _gates(lstm: nn.LSTM, products: Tensor, *, width: int = 1) -> Tensor:
    """What each word adds to the gates (V, 4H), both biases included."""
    return _doubled(products + (lstm.get_parameter("bias_ih_l0") + lstm.get_parameter("bias_hh_l0")), width=width)


def _doubled(gates: Tensor, *, width: int = 1) -> Tensor:
    """Gates (..., 4H), in the order input, forget, cell, output, with the cell's doubled for ``_step``: exact in floats."""
    four = gates.reshape(*gates.shape[:-1], 4, -1).clone()
    four[..., 2, :] *= 2
    return _filled(four, dim=-1, width=width).flatten(-2)


def _filled(tensor: Tensor, *, dim: int, width: int = WIDTH) -> Tensor:
    """Fill a dimension with zeros to a multiple of ``width``: units that are zero stay zero and add nothing."""
    missing = -tensor.shape[dim] % width
    zeros = tensor.new_zeros(
        [missing if place == dim % tensor.dim() else size for place, size in enumerate(tensor.shape)]
    )
    return torch.cat([tensor, zeros], dim=dim).contiguous()


def _step(gates: Tensor, cell: Tensor) -> Tensor:
    """Advance an LSTM's cell (..., H) in place by its gates (..., 4H), which are used up; returns the hidden state (..., H)."""
    read, forget, new, output = gates.sigmoid_().chunk(4, dim=-1)
    cell.mul_(forget).addcmul_(read, new, value=2).sub_(read)  # + read * (2 new - 1)
    return cell.tanh().mul_(output)
