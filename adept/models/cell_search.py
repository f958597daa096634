"""Search for the sentences of a label's cell that are nearest to a record: by words and topics.

The distance of a sentence from a record is the distance by words (``nearest_text``) plus one minus
the cosine of the topics of the two texts, times a multiple of the weight of the record's words.
Topics tell subjects apart, and words tell the texts of a subject apart. Meanings stand in for
topics if there are none, and in cells of more than MAX_UNGROUPED sentences.

*Claim*: the sentences found for a record depend on the record, the cell and public facts alone.
*Proof*: the words, topics and meaning of a text are whole numbers that depend on this text alone,
and products and sums of these numbers are exact in any order. Equal distances are ordered by the
sentences' places. So no other record of a batch changes a distance or an order. QED.
"""

from collections.abc import Sequence
from itertools import chain, islice

import numpy as np
import torch
from numpy.typing import NDArray

from adept.models.codec.meaning import MAX_UNGROUPED, MEANING_LENGTH, Meanings, tabulate
from adept.models.codec.nearest_text import MEANING_HALVES, MeaningIndex
from adept.models.topics import WordTopics

TOPIC_HALVES = 16  # of the record's weight, that a cosine of 0 between topics adds
SHORTLIST_TEXTS = 128  # sentences that are compared by their words
SHORTLIST_SHARE = 8  # a shortlist serves where at most an eighth of it is asked for
MANY_SHORTLIST_TEXTS = 1024  # sentences that are compared by their words for cells of many sentences
MAX_DISTANCES, MAX_RECORDS = 1 << 20, 256  # distances and records that are computed together
UNIT = MEANING_LENGTH**2  # of a cosine

Texts = Sequence[Sequence[str]]
Whole = NDArray[np.int64]


class CellSearch:
    """Search in any cell of the sentences of an index.

    Args:
        index: the index of all sentences.
        topics: the topics of words; without them, meanings are compared.
        first: the number of first sentences that every cell has.
    """

    def __init__(self, index: MeaningIndex, topics: WordTopics | None = None, *, first: int = 0) -> None:
        self.index, self.first = index, first
        self._read: WordTopics | Meanings = topics or index.meanings
        self._halves = TOPIC_HALVES if topics else MEANING_HALVES[0]
        self._table = self._read.of_table(*index.words)
        self._of_first = torch.from_numpy(self._table[:first]).float().T

    def nearest(self, records: Texts, places: NDArray[np.int32], count: int) -> Whole:
        """Return the positions (B, ``count``) of the sentences nearest to each record, among those at ``places``.

        Places (k,) begin with the ``first`` ones and ascend, and so do positions. With more than
        MAX_UNGROUPED places, the search may miss some near sentences.
        """
        few = len(places) <= MAX_UNGROUPED
        find, most = (self._find_in_few, MAX_DISTANCES // len(places)) if few else (self._find_in_many, MAX_RECORDS)
        step = max(1, min(MAX_RECORDS, most))
        parts = (records[begin : begin + step] for begin in range(0, len(records), step))
        return np.concatenate([np.empty((0, count), dtype=np.int64), *(find(part, places, count) for part in parts)])

    def _find_in_few(self, records: Texts, places: NDArray[np.int32], count: int) -> Whole:
        apart, near = self._compare(records, places), np.arange(len(places))[None]  # of all records alike
        if count * SHORTLIST_SHARE <= SHORTLIST_TEXTS < len(places):
            near = _least(apart, near, SHORTLIST_TEXTS)
            apart = np.take_along_axis(apart, near, axis=1)
        distances = self.index.measure(records, places[near].astype(np.int64), apart, most=self._halves)
        near = np.broadcast_to(near, distances.shape)
        return np.sort(np.take_along_axis(near, _least(distances, near, count), axis=1), axis=1)

    def _compare(self, records: Texts, places: NDArray[np.int32]) -> Whole:
        """Return how far apart (B, k) topics are, in UNIT halves of a record's weight."""
        asked = torch.from_numpy(self._read.of_table(*tabulate([set(record) for record in records]))).float()
        others = torch.from_numpy(np.take(self._table, places[self.first :], axis=0)).float()
        products = torch.cat([asked @ self._of_first, asked @ others.T], dim=1)
        return np.asarray(self._halves * (UNIT - products.long().numpy()))

    def _find_in_many(self, records: Texts, places: NDArray[np.int32], count: int) -> Whole:
        meanings = self.index.meanings.of([set(record) for record in records])
        numbers, products = self.index.file.nearest(meanings, MANY_SHORTLIST_TEXTS)
        halves = MEANING_HALVES[1]
        distances = self.index.measure(records, numbers, halves * (UNIT - products), most=MEANING_HALVES[0])
        at = np.searchsorted(places, numbers)
        there = places[np.minimum(at, len(places) - 1)] == numbers
        rows = np.argsort(np.where(there, distances, np.iinfo(np.int64).max), axis=1, kind="stable")
        found = (at[row, order][there[row, order]].tolist() for row, order in enumerate(rows))
        return np.array([sorted(islice(dict.fromkeys(chain(row, range(count))), count)) for row in found])


def _least(values: Whole, numbers: Whole, count: int) -> Whole:
    """Return columns (B, count) of the least values (B, k), unordered; lower numbers win ties."""
    if count >= values.shape[1]:
        return np.broadcast_to(np.arange(values.shape[1]), values.shape)
    return np.argpartition(values * (MAX_UNGROUPED * 2) + numbers, count - 1, axis=1)[:, :count]
