"""Meanings of texts, as vectors of whole numbers, and a search for texts with similar meanings.

The *meaning* of a text is the sum of its words' vectors (``adept.models.word_vectors``), weighted
by the words' rarity in public text. The sum is scaled to the Euclidean norm MEANING_LENGTH and
rounded to whole numbers. The inner product of two meanings is about ``MEANING_LENGTH^2`` times
their cosine. Inner products are whole numbers below ``2^24``, so 32-bit floats hold them exactly,
in whatever order the terms of a product are added.

An *inverted file* divides texts into groups with similar meanings, by k-means for directions
(Dhillon and Modha 2001). A record is compared with the centres of all groups, and then only with
the texts in the PROBED_GROUPS nearest groups (Jegou, Douze and Schmid 2011, Section IV).
"""

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain

import numpy as np
import scipy.sparse as sparse
import torch
from numpy.typing import NDArray
from torch import Tensor

from adept.models.codec.listed_texts import ListedTexts
from adept.models.language_model.vocabulary import Learned
from adept.models.word_vectors import Lexicon

WEIGHT_UNIT = 1000  # a word's weight is a whole number of thousandths
ADDED_COST, MISSING_COST = 4, 10  # factors of the weights of words that a text adds to a record or lacks
MAX_GROUPS, TEXTS_PER_GROUP = 512, 64  # centres at most, and texts for each of them at least, about
GROUP_TEXTS, JOINED_GROUP_TEXTS = 768, 1024  # at most, when a group is made and when others have joined it
MAX_UNGROUPED = 1 << 15  # texts that are all compared
PROBED_GROUPS = 40  # groups whose texts are compared
KMEANS_ROUNDS = 8
MEANING_LENGTH = 127  # of a meaning and of a centre
CENTRE_BATCH = 1 << 13  # texts whose centres are looked for together
PLACE_UNIT = 1 << 21  # more than there are texts
RARITY_DIVISOR = 10  # thousandths of rarity; sums of 40 words stay below 2^24
BATCH_TEXTS = 1 << 11  # texts whose sums are computed together, near the processor
BATCH_PRODUCTS = 1 << 14  # texts whose products are computed together

Codes = NDArray[np.int8]
Groups = NDArray[np.int16]


@dataclass(frozen=True, eq=False)
class WordWeights(Learned):
    """Weights of words: the square roots of their logarithmic inverse document frequencies."""

    holders: Counter[str]  # how many texts hold each word
    texts: int
    times: Mapping[str, int] = field(default_factory=dict)  # words that weigh so many times as much

    @classmethod
    def of(cls, texts: Sequence[Sequence[str]]) -> "WordWeights":
        holders = Counter(word for text in texts for word in dict.fromkeys(text))
        return cls(Counter({word: count for word, count in holders.items() if count > 1}), len(texts))

    def __call__(self, word: str) -> int:
        known, unknown = self._table
        return known.get(word, unknown)

    @cached_property
    def _table(self) -> tuple[dict[str, int], int]:
        known, unknown = {word: self._weigh(count) for word, count in self.holders.items()}, self._weigh(0)
        return known | {word: factor * known.get(word, unknown) for word, factor in self.times.items()}, unknown

    def _weigh(self, holders: int) -> int:
        return round(WEIGHT_UNIT * math.sqrt(math.log((self.texts + 1) / (holders + 0.5))))

    def distance(self, record: Iterable[str], text: Iterable[str]) -> int:
        """Return the distance of a text from a record, computed from their words alone."""
        wanted, given = set(record), set(text)
        return MISSING_COST * sum(map(self, wanted - given)) + ADDED_COST * sum(map(self, given - wanted))


def tabulate(
    texts: Sequence[Collection[str]], more: ListedTexts | None = None
) -> tuple[dict[str, int], sparse.csr_array]:
    """Return each word's column, and a table with a 1 where a text (row) contains a word (column).

    The last rows of the table are those of the listed texts ``more``.
    """
    more = more or ListedTexts()
    words: dict[str, int] = {}
    for word in chain(*texts, more.words):
        words.setdefault(word, len(words))
    columns = [np.array([words[word] for text in texts for word in text], dtype=np.int32)]
    lengths = [np.array([*map(len, texts)], dtype=np.int32)]
    if len(more):
        of_word = np.array([words[word] for word in more.words], dtype=np.int32)
        columns.append(of_word[more.flat[more.flat != 0]])
        lengths.append(np.diff(more.ends, prepend=-1).astype(np.int32) - 1)
    flat, starts = np.concatenate(columns), np.cumsum(np.concatenate([[0], *lengths]), dtype=np.int32)
    shape = len(starts) - 1, max(1, len(words))
    table = sparse.csr_array((np.ones(len(flat), dtype=np.int8), flat, starts), shape=shape)
    table.sum_duplicates()
    table.data[:] = 1
    return words, table


class Meanings:
    """A calculator of texts' meanings, from a lexicon's vectors (W, d) and weights of words."""

    def __init__(self, lexicon: Lexicon, weigh: WordWeights) -> None:
        self.lexicon, self.weigh = lexicon, weigh
        weights = np.fromiter(map(weigh, lexicon.words), dtype=np.int64, count=len(lexicon.words))
        rarity = (WEIGHT_UNIT + weights**2 // WEIGHT_UNIT) // RARITY_DIVISOR  # 1 + ln(texts / holders)
        self._rarity = rarity.astype(np.float32)

    def of(self, texts: Iterable[Collection[str]], more: ListedTexts | None = None) -> Codes:
        """Return the meanings (N, d) of texts, followed by those of the listed texts ``more``.

        The meaning of a text without a word of the lexicon is zero.
        """
        return self.of_table(*tabulate(list(texts), more))

    def mean_of(self, texts: Iterable[Collection[str]]) -> Codes:
        """Return the average (d,) of texts' meanings, scaled (unless zero) to MEANING_LENGTH."""
        sums = self.of(texts).astype(np.float32).sum(axis=0, keepdims=True)
        return np.asarray(_at_length(sums)[0].astype(np.int8))

    def of_table(self, words: Iterable[str], table: sparse.csr_array) -> Codes:
        places = np.array([self.lexicon.places.get(word, -1) for word in words] or [-1], dtype=np.int64)
        vectors = np.where(
            places[:, None] < 0, np.float32(0), self._rarity[places, None] * self.lexicon.vectors[places]
        )
        found = np.empty((table.shape[0], vectors.shape[1]), dtype=np.int8)
        for begin in range(0, len(found), BATCH_TEXTS):
            found[begin : begin + BATCH_TEXTS] = _at_length(table[begin : begin + BATCH_TEXTS] @ vectors)
        return found


def _at_length(sums: NDArray[np.float32]) -> NDArray[np.float32]:
    wide = sums.astype(np.float64)
    lengths = np.sqrt(np.einsum("nd,nd->n", wide, wide))
    factors = (MEANING_LENGTH / np.maximum(lengths, 1)).astype(np.float32)
    return np.asarray(np.rint(sums * factors[:, None]))


def multiply_all(asked: Codes, meanings: Codes) -> NDArray[np.float32]:
    parts = np.array_split(meanings, max(1, len(meanings) // BATCH_PRODUCTS))
    return np.concatenate([asked.astype(np.float32) @ part.astype(np.float32).T for part in parts], axis=1)


def group_meanings(meanings: Codes, *, seed: int = 0) -> Groups:
    """Divide meanings (N, d) into groups of similar meanings; return the group numbers (N,)."""
    table = torch.from_numpy(meanings)
    count = min(MAX_GROUPS, math.ceil(len(table) / TEXTS_PER_GROUP))
    start = torch.randperm(len(table), generator=torch.Generator().manual_seed(seed))[:count]
    found = _nearest(table, table[start].float())
    for _ in range(KMEANS_ROUNDS):
        found = _nearest(table, _find_centres(table, found, count))
    return _cut(found, GROUP_TEXTS).numpy().astype(np.int16)


def _cut(groups: Tensor, most: int) -> Tensor:
    """Split groups into parts of at most ``most`` texts; return new group numbers without gaps."""
    order = torch.argsort(groups, stable=True)
    sizes = torch.bincount(groups)
    inside = torch.arange(len(groups)) - (sizes.cumsum(0) - sizes)[groups[order]]
    cut = torch.empty_like(groups)
    cut[order] = torch.unique(groups[order] * len(groups) + inside // most, return_inverse=True)[1]
    return cut


def join_groups(meanings: Codes, groups: Groups) -> Groups:
    """Return the group numbers (N,) of meanings; the last meanings keep their numbers ``groups``.

    A meaning without a group number joins the group with the nearest centre. If ``groups`` is
    empty, or if there are at most MAX_UNGROUPED meanings, all meanings form one group.
    """
    if len(meanings) <= MAX_UNGROUPED or not len(groups):
        return np.zeros(len(meanings), dtype=np.int16)
    first, of_others = len(meanings) - len(groups), torch.from_numpy(groups.astype(np.int64))
    table = torch.from_numpy(meanings)
    found = _nearest(table[:first], _find_centres(table[first:], of_others, int(of_others.max()) + 1))
    return np.concatenate([found.numpy().astype(np.int16), groups])


def _find_centres(table: Tensor, groups: Tensor, count: int) -> Tensor:
    """Return the centres (C, d) of C groups, with norm MEANING_LENGTH, rounded to whole numbers."""
    sums = torch.zeros(count, table.shape[1], dtype=torch.float64)
    for begin in range(0, len(table), CENTRE_BATCH):
        sums.index_add_(0, groups[begin : begin + CENTRE_BATCH], table[begin : begin + CENTRE_BATCH].double())
    lengths = sums.square().sum(dim=1, keepdim=True).sqrt().clamp_min(1.0)
    return (MEANING_LENGTH * sums / lengths).round().float()


def _nearest(table: Tensor, found: Tensor) -> Tensor:
    parts = (part.float() @ found.T for part in torch.split(table, CENTRE_BATCH))
    return torch.cat([part.argmax(dim=1) for part in parts]) if len(table) else torch.zeros(0, dtype=torch.int64)


class InvertedFile:
    def __init__(self, meanings: Codes, groups: Groups) -> None:
        of_text = _cut(torch.from_numpy(groups.astype(np.int64)), JOINED_GROUP_TEXTS)
        self.order, self.sizes = torch.argsort(of_text, stable=True), torch.bincount(of_text)
        self.table = torch.from_numpy(np.take(meanings, self.order.numpy(), axis=0))  # in a tenth of PyTorch's time
        self.centres = _find_centres(self.table, of_text[self.order], len(self.sizes))
        self.slots = np.argsort(self.order.numpy()).astype(np.int32)  # of each text in the table

    def nearest(self, meanings: Codes, count: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return numbers (B, S) and inner products (B, S) of the texts nearest to B meanings.

        S is at most ``count``; if fewer texts are found for a meaning, the nearest one is repeated.
        """
        asked = torch.from_numpy(meanings).float()
        groups = len(self.sizes)
        probed = _keys(asked @ self.centres.T, torch.arange(groups)).topk(min(PROBED_GROUPS, groups), dim=1)
        keys = self._compare(asked, probed.indices)
        found = keys.topk(min(count, keys.shape[1]), dim=1).values
        found = torch.where(found.isinf(), found[:, :1], found)  # the nearest again, where fewer are found
        products = torch.div(found, PLACE_UNIT, rounding_mode="floor")
        return (PLACE_UNIT - 1 - (found - products * PLACE_UNIT)).long().numpy(), products.long().numpy()

    def _compare(self, asked: Tensor, probed: Tensor) -> Tensor:
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
    """Return keys (B, N) that sort like products (B, N); equal products get different keys."""
    return products.double().mul_(PLACE_UNIT).add_(PLACE_UNIT - 1 - places)
