"""The inverted file: texts in groups of like meaning, so that the nearest is looked for in a few groups, not among all.

A few hundred thousand meanings are divided among GROUPS centres, each the mean of its own (k-means for directions: Dhillon and
Modha 2001, "Concept decompositions for large sparse text data using clustering"). A record is compared with the centres, then with
the texts of the PROBED nearest ones alone (Jegou, Douze and Schmid 2011, "Product quantization for nearest neighbor search",
Section IV): a sixteenth of the products. Of requests of other domains 19 in 20 find the text that all products would have found,
the others one that is about as near.

Products are sums of whole numbers below 2^24, and centres are whole numbers too; of equally near texts the first counts. So what is
found is the same everywhere, and no record depends on those it is compared beside.
"""

import math

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

GROUPS, OF_ONE = 512, 64  # centres at most, and texts for each of them at least, about
MOST, LARGEST = 768, 1024  # texts of a group when it is made, and when others have joined it: larger ones are cut
FEW = 1 << 15  # texts that are all compared
PROBED = 40  # groups whose texts are compared
ROUNDS = 8  # of k-means
LENGTH = 127  # of a meaning and of a centre
PART = 1 << 13  # texts whose centres are looked for together
FIRST = 1 << 21  # more than there are texts


def grouped(meanings: NDArray[np.int8], *, seed: int = 0) -> NDArray[np.int16]:
    """Divide meanings (N, d) among groups of at most MOST: return the number of each one's group (N,), from 0 on."""
    table = torch.from_numpy(meanings)
    count = min(GROUPS, math.ceil(len(table) / OF_ONE))
    start = torch.randperm(len(table), generator=torch.Generator().manual_seed(seed))[:count]
    found = _nearest(table, table[start].float())
    for _ in range(ROUNDS):
        found = _nearest(table, centres(table, found, count))
    return _cut(found, MOST).numpy().astype(np.int16)


def _cut(groups: Tensor, most: int) -> Tensor:
    """Cut groups of more than ``most`` into several, and number those that have texts from 0 on."""
    order = torch.argsort(groups, stable=True)
    sizes = torch.bincount(groups)
    inside = torch.arange(len(groups)) - (sizes.cumsum(0) - sizes)[groups[order]]
    cut = torch.empty_like(groups)
    cut[order] = torch.unique(groups[order] * len(groups) + inside // most, return_inverse=True)[1]
    return cut


def joined(meanings: NDArray[np.int8], groups: NDArray[np.int16]) -> NDArray[np.int16]:
    """Return the groups of meanings (N, d) of which the last have these groups: the first ones join the nearest centre.

    Up to FEW meanings are one group: all products take less time than to choose some.
    """
    if len(meanings) <= FEW or not len(groups):
        return np.zeros(len(meanings), dtype=np.int16)
    first, of_others = len(meanings) - len(groups), torch.from_numpy(groups.astype(np.int64))
    table = torch.from_numpy(meanings)
    found = _nearest(table[:first], centres(table[first:], of_others, int(of_others.max()) + 1))
    return np.concatenate([found.numpy().astype(np.int16), groups])


def centres(table: Tensor, groups: Tensor, count: int) -> Tensor:
    """Return the centres (C, d) of groups: the directions of the sums of their meanings, in whole numbers."""
    sums = torch.zeros(count, table.shape[1], dtype=torch.float64)
    for begin in range(0, len(table), PART):
        sums.index_add_(0, groups[begin : begin + PART], table[begin : begin + PART].double())
    lengths = sums.square().sum(dim=1, keepdim=True).sqrt().clamp_min(1.0)
    return (LENGTH * sums / lengths).round().float()


def _nearest(table: Tensor, found: Tensor) -> Tensor:
    """The nearest centre of each meaning."""
    parts = (part.float() @ found.T for part in torch.split(table, PART))
    return torch.cat([part.argmax(dim=1) for part in parts]) if len(table) else torch.zeros(0, dtype=torch.int64)


class InvertedFile:
    """Meanings by group.

    Args:
        meanings: of all texts (N, d).
        groups: of each text (N,).
    """

    def __init__(self, meanings: NDArray[np.int8], groups: NDArray[np.int16]) -> None:
        of_text = _cut(torch.from_numpy(groups.astype(np.int64)), LARGEST)
        self.order, self.sizes = torch.argsort(of_text, stable=True), torch.bincount(of_text)
        self.table = torch.from_numpy(np.take(meanings, self.order.numpy(), axis=0))  # in a tenth of PyTorch's time
        self.centres = centres(self.table, of_text[self.order], len(self.sizes))

    def nearest(self, meanings: NDArray[np.float32], count: int) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """The texts (B, S) whose products with meanings (B, d) are largest, in that order, and these; S is ``count`` or less.

        A record that finds fewer texts has its nearest one in the places of the others.
        """
        asked = torch.from_numpy(meanings)
        probed = _keys(asked @ self.centres.T, torch.arange(len(self.sizes))).topk(min(PROBED, len(self.sizes)), dim=1)
        keys = self._compared(asked, probed.indices)
        found = keys.topk(min(count, keys.shape[1]), dim=1).values
        found = torch.where(found.isinf(), found[:, :1], found)
        products = torch.div(found, FIRST, rounding_mode="floor")
        return (FIRST - 1 - (found - products * FIRST)).long().numpy(), products.float().numpy()

    def _compared(self, asked: Tensor, probed: Tensor) -> Tensor:
        """The keys of the texts that each meaning (B, d) is compared with, by the groups (B, P) that it probes."""
        keys = torch.full((*probed.shape, int(self.sizes.max())), -math.inf, dtype=torch.float64)
        probes = probed.flatten().argsort(stable=True)
        rows, slots = probes // probed.shape[1], probes % probed.shape[1]
        counts = torch.bincount(probed.flatten(), minlength=len(self.sizes)).tolist()
        of_group = [torch.split(part, self.sizes.tolist()) for part in (self.table, self.order)]
        asking = [torch.split(part, counts) for part in (rows, slots)]
        for table, places, row, slot in zip(*of_group, *asking, strict=True):
            if len(row):
                keys[row, slot, : len(places)] = _keys(asked[row] @ table.float().T, places)
        return keys.flatten(1)


def _keys(products: Tensor, places: Tensor) -> Tensor:
    """Different numbers in the order of products (B, N), the first of equals first."""
    return products.double().mul_(FIRST).add_(FIRST - 1 - places)
