"""A search for the texts that are nearest to a record, by meaning and by words.

The distance between a record and a text adds up three terms: the weight of those words of the record that are not in
the text; ADDED_COST / MISSING_COST times the weight of those words of the text that are not in the record; and, times a
constant, one minus the cosine of the meanings times the weight of the record's words. The constant is smaller in an
index of MANY_TEXTS texts or more. Words that negate, such as "not", weigh NEGATION_FACTOR times as much as others of
the same rarity. If the sentence encoder knows no token of a record, its words alone decide.

An *inverted file* divides texts into groups with similar meanings, by k-means for directions (Dhillon and Modha 2001),
in whole numbers, so that groups are the same on every machine. A record is compared with the centres of all groups, and
then only with the texts in the PROBED_GROUPS nearest groups (Jegou, Douze and Schmid 2011, Section IV).
"""

import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import chain, islice
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from adept.mechanisms import policy
from adept.models.sentence_encoder import LENGTH, Codes
from adept.models.sentences.meanings import (
    NEGATIONS,
    ListedTexts,
    WordWeights,
    meanings_of,
    meanings_of_table,
    multiply_all,
    tabulate,
    words_of,
)

GROUP_TEXTS, JOINED_GROUP_TEXTS = 768, 1024  # at most, when a group is made and when others have joined it
MAX_UNGROUPED = 1 << 15  # texts that are all compared
KMEANS_ROUNDS = 8
CENTRE_BATCH = 1 << 11  # texts whose centres are looked for together
PLACE_UNIT = 1 << 21  # texts at most, which loading a list checks
ORDERED_TEXTS = 1024  # at the beginning of the order
TRIED_TEXTS, TARGET_TEXTS = 128, 1000  # candidates for each place there, and texts to be near to
MAX_DISTANCES = 1 << 20  # that are computed together, if records are compared with all texts
BATCH_RECORDS = 256  # records whose products are computed together
SILENT_MARKS = frozenset(',;:!?()[]."')  # tokens of a text that are no words

Places = NDArray[np.integer[Any]]
Groups = NDArray[np.int16]


class SentenceIndex:
    """An index for searches by meaning and by words; listed texts come last.

    If ``compares_all`` is True, each record is compared with all texts, and otherwise with those in the nearest groups.
    """

    def __init__(
        self,
        texts: Sequence[Sequence[str]],
        weigh: WordWeights,
        more: ListedTexts | None = None,
        *,
        compares_all: bool = False,
    ) -> None:
        self.texts, self.more, self._compares_all = texts, more or ListedTexts(), compares_all
        self.weigh = replace(weigh, times=dict.fromkeys(NEGATIONS, policy.NEGATION_FACTOR))
        self._columns, self._table = tabulate(texts, more)
        self._weights = np.array([self.weigh(word) for word in self._columns], dtype=np.int32)
        self._halves = policy.MEANING_HALVES[len(texts) + len(self.more) >= policy.MANY_TEXTS]
        counted = [word not in SILENT_MARKS for word in self._columns]
        added = np.stack([counted, policy.ADDED_COST * self._weights], axis=1, dtype=np.float32)
        self._lengths, self._of_words = self._table.sum(added).astype(np.int32).T  # of at most MAX_WORDS words
        self._meanings = meanings_of_table([*self._columns], self._table)

    @cached_property
    def file(self) -> "InvertedFile":
        """The groups of all texts; cells that are compared as a whole do without."""
        return InvertedFile(self._meanings, join_groups(self._meanings, self.more.groups))

    @property
    def _all(self) -> NDArray[np.int64]:
        return np.arange(len(self._lengths))[None]

    def _weigh_all(self, wanted: set[str]) -> int:
        """Return the distance from a record with the words ``wanted`` to a text without words."""
        return policy.MISSING_COST * sum(map(self.weigh, wanted))

    def several(self, records: Sequence[str], count: int) -> Iterator[list[int]]:
        """Yield the numbers of the ``count`` nearest texts for each record; of equal ones, the lower number is nearer."""
        shortlist = max(policy.SHORTLIST_TEXTS, policy.SHORTLIST_FACTOR * count)
        for row, places in self.compare(records, shortlist, halves=self._halves):
            keys = row * PLACE_UNIT + places
            if self._compares_all:
                keys = np.partition(keys, count - 1)[:count]
            ordered = dict.fromkeys((np.sort(keys) % PLACE_UNIT).tolist())
            yield list(islice(dict.fromkeys(chain(ordered, range(count))), count))

    def compare(
        self, records: Sequence[str], shortlist: int, *, halves: int
    ) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """Yield, for each record, distances (S,) and numbers (S,) of the ``shortlist`` texts nearest in meaning, or of all.

        ``halves`` of the weight of the record's words is added where the cosine is 0.
        """
        step = BATCH_RECORDS
        if self._compares_all:
            step = max(1, min(step, MAX_DISTANCES // self._all.size))
        room = torch.empty(0) if self._compares_all else self.file.make_room(min(step, len(records)))
        for begin in range(0, len(records), step):
            some = records[begin : begin + step]
            meanings = meanings_of(some)
            numbers, products = (
                (self._all, self.compare_all(meanings).astype(np.int64))
                if self._compares_all
                else self.file.nearest(meanings, shortlist, room)
            )
            apart = halves * (LENGTH**2 - products)
            distances = self.measure([*map(words_of, some)], numbers, apart, most=policy.MEANING_HALVES[0])
            yield from zip(distances, np.broadcast_to(numbers, distances.shape), strict=True)

    def meanings(self, numbers: NDArray[np.integer[Any]]) -> Codes:
        """Return the meanings (S, d) of the texts with these numbers (S,)."""
        return np.asarray(np.take(self._meanings, numbers, axis=0))

    def compare_all(self, meanings: Codes) -> NDArray[np.int16]:
        """Return the inner products (L, N) of meanings (L, d) with the meanings of all N texts."""
        return multiply_all(meanings, self._meanings, dtype=np.int16)

    def measure(
        self, records: Sequence[Sequence[str]], numbers: NDArray[np.int64], apart: NDArray[np.int64], *, most: int
    ) -> NDArray[np.int64]:
        """Return the distances (B, S) of S texts from each of B records, by words and by meaning.

        ``numbers`` are the texts' numbers, and ``apart`` their distances in meaning. The result is the distance by
        words, plus f times the weight of the record's words, with f = ``apart / (2 * LENGTH^2)``, at most
        ``most``. A text with too few words to be a sentence is ``1 + most`` times that weight further away.
        """
        wanted = [set(record) for record in records]
        weights = np.array([self._weigh_all(words) for words in wanted])[:, None]
        distances = weights + self._by_words(wanted, numbers) + weights * apart // (2 * LENGTH**2)
        counts = [len(set(record) - SILENT_MARKS) for record in records]  # "by by card" has two words
        least = np.array([[min(count // 2, policy.SCRAP_WORDS)] for count in counts])
        return np.where(self._lengths[numbers] < least, distances + (1 + most) * weights, distances)

    def _by_words(self, wanted: Sequence[set[str]], numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return distances by words (B, S), minus each record's distance from a text without words.

        ``numbers`` (B, S) are those of the texts, or (1, S) if all records are compared with the same
        texts.
        """
        shared = np.zeros((len(self._weights), len(wanted)), dtype=np.float32)
        for row, words in enumerate(wanted):
            own = [self._columns[word] for word in words if word in self._columns]
            shared[own, row] = (policy.ADDED_COST + policy.MISSING_COST) * self._weights[own]
        if len(numbers) == 1:
            return np.asarray(self._of_words[numbers] - self._table.take(numbers[0]).sum(shared).T.astype(np.int64))
        table = self._table.take(numbers.ravel())
        rows = np.repeat(np.arange(numbers.size) // numbers.shape[1], np.diff(table.starts))
        sums = np.concatenate([[0], shared[table.columns, rows].astype(np.int64).cumsum()])
        return np.asarray(self._of_words[numbers] - np.diff(sums[table.starts]).reshape(numbers.shape))

    def order(self, *, seed: int) -> list[int]:
        """Order the texts so that, for every k, the first k texts represent all texts well.

        Each of the first ORDERED_TEXTS places goes to that one of TRIED_TEXTS random candidates that most reduces
        the total distance by words of TARGET_TEXTS random texts from their nearest chosen texts (Mirzasoleiman et
        al. 2015).
        """
        rng = random.Random(seed)
        left = list(range(len(self.texts)))
        rng.shuffle(left)
        targets = [set(self.texts[number]) for number in left[:TARGET_TEXTS]]
        nearest = np.array([*map(self._weigh_all, targets)])
        distances = self._by_words(targets, self._all).T + nearest
        chosen: list[int] = []
        while left and len(chosen) < ORDERED_TEXTS:
            tried = rng.sample(range(len(left)), min(TRIED_TEXTS, len(left)))
            gains = np.maximum(nearest - distances[[left[place] for place in tried]], 0).sum(axis=1)
            place = tried[int(gains.argmax())]
            left[place], left[-1] = left[-1], left[place]
            chosen.append(left.pop())
            nearest = np.minimum(nearest, distances[chosen[-1]])
        return chosen + left


def group_meanings(meanings: Codes, *, seed: int = 0) -> Groups:
    """Divide meanings (N, d) into groups of similar meanings; return the group numbers (N,)."""
    table = torch.from_numpy(meanings)
    count = min(policy.MAX_GROUPS, math.ceil(len(table) / policy.TEXTS_PER_GROUP))
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
    """Return the group numbers (N,) of meanings.

    ``groups`` (L,) holds those of the last L meanings. Every other meaning joins the group with the nearest
    centre. Without ``groups``, or with at most MAX_UNGROUPED meanings, all form one group.
    """
    if len(meanings) <= MAX_UNGROUPED or not len(groups):
        return np.zeros(len(meanings), dtype=np.int16)
    first, of_others = len(meanings) - len(groups), torch.from_numpy(groups.astype(np.int64))
    table = torch.from_numpy(meanings)
    found = _nearest(table[:first], _find_centres(table[first:], of_others, int(of_others.max()) + 1))
    return np.concatenate([found.numpy().astype(np.int16), groups])


def _find_centres(table: Tensor, groups: Tensor, count: int) -> Tensor:
    """Return the centres (C, d) of C groups, with norm LENGTH, rounded to whole numbers."""
    sums = torch.zeros(count, table.shape[1], dtype=torch.float64)
    for begin in range(0, len(table), CENTRE_BATCH):
        sums.index_add_(0, groups[begin : begin + CENTRE_BATCH], table[begin : begin + CENTRE_BATCH].double())
    lengths = sums.square().sum(dim=1, keepdim=True).sqrt().clamp_min(1.0)
    return (LENGTH * sums / lengths).round().float()


def _nearest(table: Tensor, found: Tensor) -> Tensor:
    parts = (part.float() @ found.T for part in torch.split(table, CENTRE_BATCH))
    return torch.cat([part.argmax(dim=1) for part in parts]) if len(table) else torch.zeros(0, dtype=torch.int64)


class InvertedFile:
    """Meanings (N, d) and the members of their groups, for searches in the nearest groups."""

    def __init__(self, meanings: Codes, groups: Groups) -> None:
        of_text = _cut(torch.from_numpy(groups.astype(np.int64)), JOINED_GROUP_TEXTS)
        self.table, self.sizes = torch.from_numpy(meanings), torch.bincount(of_text)
        self.members = torch.split(torch.argsort(of_text, stable=True), self.sizes.tolist())
        self.centres = _find_centres(self.table, of_text, len(self.sizes))

    def make_room(self, records: int) -> Tensor:
        """Return memory for the keys of so many records; to use it again saves a sixth of the time of a search."""
        return torch.empty(
            records, min(policy.PROBED_GROUPS, len(self.sizes)), int(self.sizes.max()), dtype=torch.float64
        )

    def nearest(self, meanings: Codes, count: int, room: Tensor) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return numbers (B, S) and products (B, S) of the S <= ``count`` nearest texts; the nearest fills up gaps."""
        asked = torch.from_numpy(meanings).float()
        probed = _keys(asked @ self.centres.T, torch.arange(len(self.sizes))).topk(room.shape[1], dim=1)
        keys = self._compare(asked, probed.indices, room[: len(asked)].fill_(-math.inf))
        found = keys.topk(min(count, keys.shape[1]), dim=1).values
        found = torch.where(found.isinf(), found[:, :1], found)  # the nearest again, where fewer are found
        products = torch.div(found, PLACE_UNIT, rounding_mode="floor")
        return (PLACE_UNIT - 1 - (found - products * PLACE_UNIT)).long().numpy(), products.long().numpy()

    def _compare(self, asked: Tensor, probed: Tensor, keys: Tensor) -> Tensor:
        groups, counts = torch.unique(probed, return_counts=True)
        probes = torch.split(probed.flatten().argsort(stable=True), counts.tolist())
        for group, probe in zip(groups.tolist(), probes, strict=True):
            places, row, slot = self.members[group], probe // probed.shape[1], probe % probed.shape[1]
            table = self.table.index_select(0, places).float()  # much faster than indexing with brackets
            keys[row, slot, : len(places)] = _keys(asked[row] @ table.T, places)
        return keys.flatten(1)


def _keys(products: Tensor, places: Tensor) -> Tensor:
    """Return keys (B, N) that sort like products (B, N); of equal products, the first is larger."""
    return torch.add((PLACE_UNIT - 1 - places).double(), products, alpha=PLACE_UNIT)
