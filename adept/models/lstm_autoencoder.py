"""ADePT as in its papers: encode a text, clip its latent, add noise, write a new text.

    tokens -> LSTM encoder -> r in R^n -> clip to a ball of radius C -> noise -> LSTM decoder -> tokens

The network is that of Krishna, Gupta and Dupuy, "ADePT: Auto-encoder based differentially private
text transformation" (EACL 2021). Habernal, "When differential privacy meets NLP: the devil is in
the detail" (EMNLP 2021), analyses ADePT's noise. Eq. 9 of this paper defines the clip, and Section
6 defines the clip in the l1 norm. A mechanism draws the noise of a release (``adept.mechanisms``).

Shapes: B records, T tokens, n latent dimensions, E embedding dimensions, H hidden units, V words.
"""

import math
from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence

from adept.errors import check_choice
from adept.mechanisms import Mechanism
from adept.mechanisms.clip_to_grid import NORM_ORDER, clip_latents
from adept.models.tokenizer import END, PAD, START, UNKNOWN  # 3, 0, 2 and 1: ids of tokens that are no words

ROWS = 64  # rows of every matrix product at release; a smaller batch is filled up
REGISTER_FLOATS = 16  # floats in a vector register
State = tuple[Tensor, Tensor]  # hidden and cell state of an LSTM, (B, H) each; of L layers (B, L*H)
Product = Callable[[Tensor, Tensor, Tensor], Tensor]  # of rows, a weight and a bias
Choice = Callable[[Tensor, Tensor], Tensor]  # next words (B,), of logits (B, V) and a mask (B,) of texts' first words


class Adept(nn.Module):
    """An autoencoder with clipped latents, whose decoder sees only the latent and earlier words.

    Args:
        clip, clip_norm: the set of clipped latents ("l1" or "l2" ball, "sphere"), and its radius C.
        dropout: share of the numbers in embeddings and decoder outputs that training sets to zero.
        word_dropout: share of the decoder's input words that training hides.
        num_layers: number L of layers of the encoder and of the decoder.
        directions: 2 for an encoder that reads forwards and backwards, 1 for forwards alone.
        tied_embeddings: True if the decoder scores words with the vectors that it reads.
        encoder: False if a subclass has its own encoder, and overrides ``read`` and ``read_rows``.
    """

    def __init__(
        self,
        *,
        vocabulary_size: int,
        embedding_dim: int = 96,
        hidden_dim: int = 256,
        latent_dim: int = 32,
        clip: str = "l1",
        clip_norm: float = 1.0,
        dropout: float = 0.1,
        word_dropout: float = 0.2,
        num_layers: int = 1,
        directions: int = 2,
        tied_embeddings: bool = False,
        encoder: bool = True,
    ) -> None:
        super().__init__()
        check_choice(NORM_ORDER, clip=clip)
        self.suffixes = ("", "_reverse")[:directions]  # of the names of the encoder's weights
        self.tied = tied_embeddings
        self.latent_dim, self.clip, self.clip_norm, self.word_dropout = latent_dim, clip, clip_norm, word_dropout
        weights = torch.empty(vocabulary_size, embedding_dim)
        if not weights.is_meta:  # on "meta" a normal draw would import a compiler (seconds, 100 MB)
            nn.init.zeros_(weights.normal_()[PAD])
        self.embedding = nn.Embedding(vocabulary_size, embedding_dim, padding_idx=PAD, _weight=weights)
        self.dropout = nn.Dropout(dropout)
        if encoder:
            both = directions == 2
            self.encoder = nn.LSTM(embedding_dim, hidden_dim, num_layers, batch_first=True, bidirectional=both)
            self.to_latent = nn.Linear(directions * hidden_dim, latent_dim)
        self.to_state = nn.Linear(latent_dim, 2 * num_layers * hidden_dim)
        self.decoder = nn.LSTM(embedding_dim + latent_dim, hidden_dim, num_layers, batch_first=True)
        if self.tied:
            self.to_embedding = nn.Linear(hidden_dim, embedding_dim)
            self.word_bias = nn.Parameter(torch.zeros(vocabulary_size))
        else:
            self.to_words = nn.Linear(hidden_dim, vocabulary_size)

    # --- Training: whole batches through nn.LSTM

    def encode(self, tokens: Tensor) -> Tensor:
        """Return the latents (B, n) of tokens (B, T), clipped by Eq. 9 to r * min(1, C / ||r||)."""
        return clip_latents(self.read(tokens).float(), clip=self.clip, clip_norm=self.clip_norm)

    def loss(self, tokens: Tensor, randomise: Callable[[Tensor], Tensor] | None = None) -> Tensor:
        """Return the reconstruction loss of tokens (B, T), which end with END, in nats per token.

        If given, ``randomise`` adds noise to the latents (B, n) before the decoder reads them.
        """
        latents = self.encode(tokens)
        logits = self(randomise(latents) if randomise else latents, tokens)
        return nn.functional.cross_entropy(logits.flatten(0, 1), tokens.flatten(), ignore_index=PAD)

    def forward(self, latents: Tensor, tokens: Tensor) -> Tensor:
        """Return logits (B, T, V) for tokens (B, T), given latents (B, n) and earlier tokens."""
        inputs = torch.cat([torch.full_like(tokens[:, :1], START), tokens[:, :-1]], dim=1)  # (B, T)
        if self.training:
            hidden = torch.rand(inputs.shape, device=inputs.device) < self.word_dropout
            inputs = torch.where(hidden & (inputs > START), UNKNOWN, inputs)
        beside = self.scale(latents)[:, None].expand(-1, inputs.shape[1], -1)  # the latent at every position
        words = torch.cat([self.dropout(self.embedding(inputs)), beside], dim=2)  # (B, T, E + n)
        with self.autocast():
            outputs, _ = run_layers(self.decoder, words, self.initial_state(latents), self.dropout)  # (B, T, H)
            logits = self.score(self.dropout(outputs), nn.functional.linear)
        return logits.float()

    def score(self, outputs: Tensor, product: Product) -> Tensor:
        """Return logits (..., V) of words, for outputs (..., H) of the decoder."""
        if not self.tied:
            return product(outputs, self.to_words.weight, self.to_words.bias)
        vectors = product(outputs, self.to_embedding.weight, self.to_embedding.bias)
        return product(vectors, self.embedding.weight, self.word_bias)

    def read(self, tokens: Tensor) -> Tensor:
        """Return unclipped latents r (B, n): a linear map of each direction's last LSTM outputs."""
        lengths = (tokens != PAD).sum(dim=1)
        positions = torch.arange(tokens.shape[1], device=tokens.device)
        backward = (lengths[:, None] - 1 - positions).clamp(min=0)  # (B, T): last token first
        words = self.dropout(self.embedding(tokens))  # (B, T, E)
        rows = torch.arange(len(tokens), device=tokens.device)

        def turn(sequence: Tensor) -> Tensor:
            return sequence.gather(1, backward[..., None].expand_as(sequence))

        with self.autocast():
            for layer in range(self.encoder.num_layers):
                read = [  # (B, T, H)
                    run(self.encoder, turn(words) if suffix else words, suffix=suffix, layer=layer)[0]
                    for suffix in self.suffixes
                ]
                if layer < self.encoder.num_layers - 1:
                    words = self.dropout(torch.cat([read[0], *map(turn, read[1:])], dim=2))
            ends = [outputs[rows, lengths - 1] for outputs in read]  # (B, H), at the last token
        latents: Tensor = self.to_latent(torch.cat(ends, dim=1).to(self.to_latent.weight.dtype))
        return latents

    def autocast(self) -> torch.autocast:
        """Return a context manager: inside it, training on a CPU with AMX units, or a Trainer that asks, uses bfloat16."""
        fast = torch.is_autocast_enabled("cpu") or (
            self.training and torch.cpu.get_capabilities().get("amx_bf16", False)
        )
        able = not torch._C._has_mkldnn or torch.ops.mkldnn._is_mkldnn_bf16_supported()  # on other CPUs, LSTMs fail
        # No copies of weights are kept, which would outlive a step of training inside a caller's autocast
        return torch.autocast("cpu", torch.bfloat16, enabled=able and fast, cache_enabled=False)

    def initial_state(self, latents: Tensor) -> State:
        hidden, cell = torch.tanh(multiply(self.to_state, self.scale(latents))).chunk(2, dim=1)
        return hidden.contiguous(), cell.contiguous()

    def scale(self, latents: Tensor) -> Tensor:
        """Multiply latents by a constant that makes their coordinates about 1 for any n and C."""
        factor = (self.latent_dim if self.clip == "l1" else math.sqrt(self.latent_dim)) / self.clip_norm
        return (latents * factor).to(self.to_state.weight.dtype)

    # --- Release: one word at a time through the same weights, always ROWS rows

    @torch.inference_mode()
    def encode_records(self, records: Sequence[Sequence[int]]) -> Tensor:
        """Return clipped latents (B, n) of records, each a list of token ids that ends with END.

        Claim: no bit of a record's latent depends on the other records, their number, their lengths, or the record's
        place. Proof: row i of every product, gate and sum is computed from row i of its input. The rounding of a row
        depends on the order of additions, which a kernel chooses by shapes, threads and processor, never by values.
        All shapes are constant: each step reads one word in each of ROWS rows, and a row whose text has ended keeps
        its state. The proof assumes that a kernel adds in the same order in each of its rows; tests check this.
        """
        latents = self.to_state.weight.new_empty(len(records), self.latent_dim)
        order = sorted(range(len(records)), key=lambda place: len(records[place]))  # similar lengths run together
        for start in range(0, len(order), ROWS):
            places = order[start : start + ROWS]
            rows = [records[place] for place in places] + [[END]] * (ROWS - len(places))
            clipped = clip_latents(self.read_rows(rows), clip=self.clip, clip_norm=self.clip_norm)
            latents[places] = clipped[: len(places)]
        return latents

    def read_rows(self, rows: Sequence[Sequence[int]]) -> Tensor:
        device = self.to_state.weight.device
        tokens = pad_sequence([torch.tensor(row) for row in rows], padding_value=PAD).to(device)  # (T, ROWS)
        going, positions = tokens != PAD, torch.arange(len(tokens), device=device)
        backward = (going.sum(dim=0) - 1 - positions[:, None]).clamp(min=0)  # (T, ROWS): last token first

        def turn(sequence: Tensor) -> Tensor:
            return sequence.gather(0, backward[..., None].expand_as(sequence))

        words = self.embedding(tokens)
        for layer in range(self.encoder.num_layers):
            read = [
                self._read_on(turn(words) if suffix else words, going, suffix=suffix, layer=layer)
                for suffix in self.suffixes
            ]
            if layer < self.encoder.num_layers - 1:
                ahead, *back = map(torch.stack, read)
                words = torch.cat([ahead, *map(turn, back)], dim=2)
        return multiply(self.to_latent, torch.cat([states[-1] for states in read], dim=1))

    def _read_on(self, words: Tensor, going: Tensor, *, suffix: str = "", layer: int) -> list[Tensor]:
        """Return the hidden states (ROWS, H) after each step; a row whose text has ended keeps its state."""
        hidden, cell = (words.new_zeros(ROWS, self.encoder.hidden_size) for _ in range(2))
        states = []
        for inputs, moves in zip(words, going, strict=True):
            moved = step(self.encoder, inputs, (hidden, cell), suffix=suffix, layer=layer)
            hidden, cell = _select(moves, moved, (hidden, cell))
            states.append(hidden)
        return states

    @torch.inference_mode()
    def write(self, latents: Tensor, *, max_length: int, choose: Choice | None = None) -> Tensor:
        """Write token ids (B, T), T <= max_length, from latents (B, n); ``choose`` picks each word, by default the
        likeliest.

        A text depends only on its own latent and random numbers (``encode_records``). When a text ends, the next
        one begins in the same row, at a time that depends only on released latents.
        """
        texts = torch.full((len(latents), max_length), PAD, device=latents.device)
        waiting = iter(range(len(latents)))
        text = torch.zeros(ROWS, dtype=torch.int64, device=latents.device)  # the one that each row writes
        words = position = text
        going, current = text > 0, latents.new_zeros(ROWS, self.latent_dim)  # no row writes yet
        state = self.initial_state(current)
        while True:
            if free := list(zip(torch.nonzero(~going)[:, 0].tolist(), waiting, strict=False)):
                places, records = torch.tensor(free, device=latents.device).T
                begins = torch.zeros_like(going).index_fill(0, places, True)
                text, current = text.index_copy(0, places, records), current.index_copy(0, places, latents[records])
                words, position = words.masked_fill(begins, START), position.masked_fill(begins, 0)
                going, state = going | begins, _select(begins, self.initial_state(current), state)
            if not going.any():
                return texts[:, : int((texts != PAD).any(dim=0).sum())]
            logits, state = self.next_word(words, current, state)
            words = (choose or choose_likeliest)(logits, position == 0)
            texts[text[going], position[going]] = words[going]
            position = position + 1
            going = going & (words != END) & (position < max_length)

    def next_word(self, words: Tensor, latents: Tensor, state: State) -> tuple[Tensor, State]:
        """Return logits (B, V) of the words after ``words`` (B,), and the decoder's next state."""
        inputs = torch.cat([self.embedding(words), self.scale(latents)], dim=1)
        outputs, state = run_layers(self.decoder, inputs[:, None], state)
        return self.score(outputs[:, 0], filled_product), state


def run(
    lstm: nn.LSTM, words: Tensor, state: State | None = None, *, suffix: str = "", layer: int = 0
) -> tuple[Tensor, State]:
    """Return the outputs (B, T, H) and last state of one layer of an LSTM for inputs (B, T, I)."""
    names = (f"weight_ih_l{layer}", f"weight_hh_l{layer}", f"bias_ih_l{layer}", f"bias_hh_l{layer}")
    weights: list[Tensor] = [lstm.get_parameter(name + suffix) for name in names]
    start = [part[None] for part in state or [words.new_zeros(len(words), lstm.hidden_size)] * 2]
    outputs, hidden, cell = torch.lstm(words, start, weights, True, 1, 0.0, lstm.training, False, True)
    return outputs, (hidden[0], cell[0])


def run_layers(lstm: nn.LSTM, words: Tensor, state: State, dropout: nn.Module | None = None) -> tuple[Tensor, State]:
    """Return the outputs (B, T, H) of the last layer, and the last states (B, L*H) of all layers side by side."""
    if lstm.num_layers == 1:
        return run(lstm, words, state)
    ends = []
    for layer, own in enumerate(zip(*(part.chunk(lstm.num_layers, dim=1) for part in state), strict=True)):
        words = dropout(words) if dropout and layer else words
        words, end = run(lstm, words, (own[0].contiguous(), own[1].contiguous()), layer=layer)
        ends.append(end)
    hidden, cell = (torch.cat(parts, dim=1) for parts in zip(*ends, strict=True))
    return words, (hidden, cell)


def step(lstm: nn.LSTM, words: Tensor, state: State, *, suffix: str = "", layer: int = 0) -> State:
    return run(lstm, words[:, None], state, suffix=suffix, layer=layer)[1]


def _select(mask: Tensor, first: State, second: State) -> State:
    hidden, cell = (torch.where(mask[:, None], one, other) for one, other in zip(first, second, strict=True))
    return hidden, cell


def multiply(layer: nn.Linear, rows: Tensor) -> Tensor:
    """Return a linear layer's output for rows (B, I), which are padded to full vector registers."""
    return filled_product(rows, layer.weight, layer.bias)


def filled_product(rows: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    return nn.functional.linear(fill_up(rows, dim=1), fill_up(weight, dim=1), bias)


def fill_up(matrix: Tensor, *, dim: int, width: int = REGISTER_FLOATS) -> Tensor:
    """Pad a matrix in one dimension to a multiple of ``width``, so all rows are rounded alike."""
    missing = -matrix.shape[dim] % width
    padding = (0, missing) if dim == 1 else (0, 0, 0, missing)
    return nn.functional.pad(matrix, padding) if missing else matrix


def choose_likeliest(logits: Tensor, begins: Tensor) -> Tensor:
    """Return the likeliest next words (B,), which are never PAD, UNKNOWN or START."""
    return logits[:, END:].argmax(dim=1) + END


def noise_between(mechanism: Callable[[float], Mechanism], low: float, high: float) -> Callable[[Tensor], Tensor]:
    def randomise(latents: Tensor) -> Tensor:
        return mechanism(low * (high / low) ** torch.rand(()).item()).simulate(latents, None)

    return randomise


def pad(rows: Sequence[Sequence[int]], *, length: int | None = None) -> Tensor:
    """Return rows of ids as one tensor (B, T), padded to ``length`` or else to the longest row."""
    length = length or max(map(len, rows))
    return torch.tensor([[*row, *[PAD] * (length - len(row))] for row in rows])
