"""Batches of token ids: bucketed by length for training, padded for the model."""

import math
import random
from collections.abc import Iterator, Sequence
from typing import cast

import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset, Sampler

from adept.models.tokenizer.tokenizer import PAD


def length_batches(lengths: Sequence[int], *, batch_size: int, seed: int | str) -> list[list[int]]:
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


class LengthBatchSampler(Sampler[list[int]]):
    """Batches of indices of similar length, in an order that the seed and the epoch decide; without a seed, always the same."""

    def __init__(self, lengths: Sequence[int], *, batch_size: int, seed: int | None = None) -> None:
        self.lengths, self.batch_size, self.seed = lengths, batch_size, seed
        self.epoch = 0
        self.sampler = self  # where Lightning looks for set_epoch

    def set_epoch(self, epoch: int) -> None:
        """Choose the epoch whose order the next iteration has."""
        self.epoch = epoch

    def __len__(self) -> int:
        return math.ceil(len(self.lengths) / self.batch_size)

    def __iter__(self) -> Iterator[list[int]]:
        seed = "fixed" if self.seed is None else f"seed {self.seed}, epoch {self.epoch}"
        return iter(length_batches(self.lengths, batch_size=self.batch_size, seed=seed))


def token_loader(rows: list[list[int]], *, batch_size: int, seed: int | None = None) -> DataLoader[list[int]]:
    """Return a loader of token batches (B, T), bucketed by length and reshuffled each epoch where a seed is given."""
    sampler = LengthBatchSampler([len(row) for row in rows], batch_size=batch_size, seed=seed)
    return DataLoader(cast("Dataset[list[int]]", rows), batch_sampler=sampler, collate_fn=pad)


def pad(rows: Sequence[Sequence[int]], *, length: int | None = None) -> Tensor:
    """Return ids as one tensor (B, T), T being ``length`` or that of the longest row."""
    length = length or max(map(len, rows))
    return torch.tensor([[*row, *[PAD] * (length - len(row))] for row in rows])
