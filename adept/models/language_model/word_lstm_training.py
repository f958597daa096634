"""Learns an LSTM over words (``adept.models.language_model.word_lstm``) from public text, in floating point, and rounds its
weights."""

import random
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from adept.models.language_model.vocabulary import Vocabulary
from adept.models.language_model.word_lstm import LARGEST, SMALL, UNIT, Size, WordLstm

DROPOUT, LITTLE = 0.3, 0.1  # of texts that are read often, and of so many that they are not
BATCH, RATE, DECAY, LARGEST_STEP = 32, 1e-2, 1e-2, 1.0
REMEMBERING = 1.0  # of the gate that keeps what was read, to begin with
UPDATES, MOST_EPOCHS = 2_500, 25  # whichever comes first, but every text is read LEAST_EPOCHS times
LEAST_EPOCHS, MOST_UPDATES = 3, 7_500  # in larger batches where that takes more updates


def learn_word_lstm(
    rows: Sequence[Sequence[int]],
    vocabulary: Vocabulary,
    *,
    seed: int,
    size: Size = SMALL,
    report: Callable[[float], None] = lambda share: None,
) -> WordLstm:
    """Return a network trained on texts; with fewer than a thousand of them n-grams alone do as well.

    Args:
        rows: texts as numbers of the vocabulary, each closed by its end. They must be public: a network may learn one by heart.
        vocabulary: the words.
        seed: of the first weights, the batches and dropout.
        size: of the network.
        report: gets the share of the work that is done.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        epochs = min(MOST_EPOCHS, max(LEAST_EPOCHS, round(UPDATES * BATCH / len(rows))))
        network = _Network(vocabulary, size, dropout=DROPOUT if epochs > LEAST_EPOCHS else LITTLE)
        _fit(network, rows, epochs=epochs, seed=seed, report=report)
    return WordLstm(network.rounded(), vocabulary.first)


def _fit(
    network: "_Network", rows: Sequence[Sequence[int]], *, epochs: int, seed: int, report: Callable[[float], None]
) -> None:
    size = BATCH * max(1, -(-epochs * len(rows) // (MOST_UPDATES * BATCH)))
    optimizer = torch.optim.AdamW(network.parameters(), weight_decay=DECAY)
    steps = epochs * -(-len(rows) // size)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, RATE, total_steps=steps)
    network.train()
    with torch.enable_grad():
        for step, batch in enumerate(_batches(rows, size, epochs=epochs, seed=seed), start=1):
            loss = network(batch)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(network.parameters(), LARGEST_STEP)
            optimizer.step()
            schedule.step()
            report(step / steps)


def _batches(rows: Sequence[Sequence[int]], size: int, *, epochs: int, seed: int) -> Iterator[list[Sequence[int]]]:
    """Batches of texts of about one length, in another order each time."""
    rng = random.Random(seed)
    for _ in range(epochs):
        order = sorted(rows, key=lambda row: len(row) + 2 * rng.random())
        batches = [order[start : start + size] for start in range(0, len(order), size)]
        rng.shuffle(batches)
        yield from batches


class _Network(nn.Module):
    """The same network in floating point; its output is the loss."""

    classes: Tensor
    places: Tensor

    def __init__(self, vocabulary: Vocabulary, size: Size, *, dropout: float) -> None:
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        words, classes = len(vocabulary.words), vocabulary.classes[-1] + 1
        inputs, states = size
        self.register_buffer("classes", torch.tensor(vocabulary.classes))
        self.sizes = [last - first for first, last in pairwise(vocabulary.first)]
        self.register_buffer(
            "places", torch.cat([torch.arange(size) for size in self.sizes])
        )  # of words in their classes
        self.embedding = nn.Parameter(0.1 * torch.randn(words + 1, inputs))
        self.lstm = nn.LSTM(inputs, states)
        with torch.no_grad():
            self.lstm.get_parameter("bias_ih_l0")[states : 2 * states] = REMEMBERING
        self.query = nn.Linear(states, inputs)
        self.of_class = nn.Linear(inputs, classes)
        self.word_offset = nn.Parameter(torch.zeros(words))

    def forward(self, rows: Sequence[Sequence[int]]) -> Tensor:
        """Mean of -ln p over the symbols of texts."""
        words = len(self.word_offset)
        after = nn.utils.rnn.pad_sequence([torch.tensor(row) for row in rows], padding_value=-1)
        before = torch.cat([torch.full_like(after[:1], words), after[:-1]]).clamp_min(0)
        states, _ = self.lstm(self.dropout(self.embedding[before]))
        said = after >= 0
        states, after = states[said], after[said]
        query = self.dropout(self.query(self.dropout(states)))
        own = self.classes[after]
        return functional.cross_entropy(self.of_class(query), own) + self._inside(query, own, after) / len(after)

    def _inside(self, query: Tensor, own: Tensor, after: Tensor) -> Tensor:
        """Sum of -ln p of words (T,) among those of their classes (T,), class by class: those of others need no scores."""
        order = own.argsort(stable=True)
        counts = torch.bincount(own, minlength=len(self.sizes)).tolist()
        parts = (torch.split(table, counts) for table in (query[order], self.places[after[order]]))
        words = (torch.split(table, self.sizes) for table in (self.embedding[:-1], self.word_offset))
        losses = [
            functional.cross_entropy(asked @ table.T + offset, place, reduction="sum")
            for asked, place, table, offset in zip(*parts, *words, strict=True)
            if len(place)
        ]
        return torch.stack(losses).sum()

    def rounded(self) -> dict[str, NDArray[np.int16]]:
        """The weights as ``WordLstm`` has them."""
        lstm = dict(self.lstm.named_parameters())
        parts = {
            "embedding": self.embedding,
            "from_input": lstm["weight_ih_l0"].T,
            "from_state": lstm["weight_hh_l0"].T,
            "gates": lstm["bias_ih_l0"] + lstm["bias_hh_l0"],
            "query": self.query.weight.T,
            "query_offset": self.query.bias,
            "of_class": self.of_class.weight.T,
            "class_offset": self.of_class.bias,
            "word_offset": self.word_offset,
        }
        scaled = {name: (UNIT * part.detach()).round().clamp(-LARGEST, LARGEST) for name, part in parts.items()}
        return {name: np.ascontiguousarray(part.numpy().astype(np.int16)) for name, part in scaled.items()}
