"""Rows of token ids as batches: bucketed by length for training, padded for the model."""

import math
import random
from collections.abc import Iterator, Sequence

import torch
from torch import Tensor

from adept.models.tokenizer import PAD


def length_batches(lengths: Sequence[int], *, batch_size: int, seed: int) -> list[list[int]]:
    """Return batches of indices of similar length, in random order: less padding, so faster training.

    Records are shuffled, sorted by length inside pools of 50 batches, cut into batches, and the batches shuffled.
    """
    rng = random.Random(seed)
    order = list(range(len(lengths)))
    rng.shuffle(order)
    pool = 50 * batch_size
    pools = [sorted(order[i : i + pool], key=lengths.__getitem__) for i in range(0, len(order), pool)]
    batches = [chunk[i : i + batch_size] for chunk in pools for i in range(0, len(chunk), batch_size)]
    rng.shuffle(batches)
    return batches


class Batches:
    """An iterable of token batches (B, T), bucketed by length and reshuffled each epoch by the seed and the epoch.

    With ``targets`` (N, n), one for each row, each batch is a pair of tokens (B, T) and the rows' targets (B, n).
    """

    def __init__(
        self,
        rows: list[list[int]],
        *,
        batch_size: int,
        seed: int,
        shuffle: bool,
        targets: Tensor | None = None,
    ) -> None:
        self.rows, self.batch_size, self.seed, self.shuffle = rows, batch_size, seed, shuffle
        self.targets = targets
        self.epoch = 0

    def __len__(self) -> int:
        return math.ceil(len(self.rows) / self.batch_size)

    def __iter__(self) -> Iterator[Tensor | tuple[Tensor, Tensor]]:
        seed = self.seed + self.epoch if self.shuffle else self.seed
        for batch in length_batches([len(row) for row in self.rows], batch_size=self.batch_size, seed=seed):
            tokens = pad([self.rows[i] for i in batch])
            yield tokens if self.targets is None else (tokens, self.targets[batch])


def pad(rows: list[list[int]], *, length: int | None = None) -> Tensor:
    """Return ids as one tensor (B, T), T being ``length`` or that of the longest row."""
    length = length or max(map(len, rows))
    return torch.tensor([row + [PAD] * (length - len(row)) for row in rows])
