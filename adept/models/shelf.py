"""A shelf of texts, and which of them is nearest to a record.

The distance of a text y from a record x: the weights of x's words that y lacks, and ADDED times those of y's words that x
lacks. A word weighs the square root of its inverse document frequency's logarithm in the public text: rare words weigh more,
function words little, and to leave a word out is worse than to add one. All numbers are whole, so that the nearest is the
nearest everywhere.
"""

import math
import random
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sparse
from numpy.typing import NDArray

FINE = 1000  # a word's weight is a whole number of thousandths
ADDED = 4, 10  # what an added word weighs beside a missing one
CHUNK = 64  # records that are compared at once; each has a row of its own
ORDERED, TRIED, REACHED = 1024, 128, 1000  # the shelf's order: its length, candidates a place, texts to be near to


class Weights:
    """The weights of words, by how many of the public texts hold them."""

    def __init__(self, holders: Counter[str], texts: int) -> None:
        self.holders, self.texts = holders, texts
        self._known: dict[str, int] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        """Copies and pickles hold what was counted, and no word that was weighed."""
        return Weights, (self.holders, self.texts)

    @classmethod
    def of(cls, texts: Sequence[Sequence[str]]) -> "Weights":
        """Count in how many texts each word stands; a word of one text weighs what an unknown one does, and is forgotten."""
        holders = Counter(word for text in texts for word in set(text))
        return cls(Counter({word: count for word, count in holders.items() if count > 1}), len(texts))

    def __call__(self, word: str) -> int:
        """The weight of a word; unknown words are the heaviest."""
        holders = self.holders.get(word, 0)
        if not holders:
            return self._of(0)
        if word not in self._known:
            self._known[word] = self._of(holders)
        return self._known[word]

    def _of(self, holders: int) -> int:
        return round(FINE * math.sqrt(math.log((self.texts + 1) / (holders + 0.5))))

    def added(self, word: str) -> int:
        """What a word weighs that a text adds to a record."""
        return self(word) * ADDED[0] // ADDED[1]

    def distance(self, record: Iterable[str], text: Iterable[str]) -> int:
        """The distance of a text from a record, in parts: ADDED[1] times the sum of weights."""
        wanted, given = set(record), set(text)
        return ADDED[1] * sum(map(self, wanted - given)) + ADDED[0] * sum(map(self, given - wanted))


class Shelf:
    """Texts as words, numbered from 0 on, and the way to the nearest."""

    def __init__(self, texts: Sequence[Sequence[str]], weigh: Weights) -> None:
        self.texts, self.weigh = texts, weigh
        self._columns: dict[str, int] = {}
        for text in texts:
            for word in text:
                self._columns.setdefault(word, len(self._columns))
        self._weights = np.array([weigh(word) for word in self._columns] or [0], dtype=np.int32)
        table = self._table(texts)
        self._totals = table @ self._weights
        self._weighted = (table @ sparse.diags_array(self._weights, dtype=np.int32)).T.tocsr()

    def _table(self, texts: Sequence[Sequence[str]]) -> sparse.csr_array:
        """Which texts (rows) hold which words of the shelf (columns)."""
        rows = [[self._columns[word] for word in dict.fromkeys(text) if word in self._columns] for text in texts]
        starts = np.cumsum([0, *map(len, rows)])
        columns = np.array([column for row in rows for column in row], dtype=np.int32)
        shape = len(texts), len(self._weights)
        return sparse.csr_array((np.ones(len(columns), dtype=np.int32), columns, starts), shape=shape)

    def nearest(self, records: Sequence[Sequence[str]]) -> list[tuple[int, int]]:
        """The number of each record's nearest text, the first of equals, and its distance."""
        found: list[tuple[int, int]] = []
        for start in range(0, len(records), CHUNK):
            distances = self._distances(records[start : start + CHUNK])
            best = distances.argmin(axis=1)
            found += zip(best.tolist(), distances[np.arange(len(best)), best].tolist(), strict=True)
        return found

    def _distances(self, records: Sequence[Sequence[str]]) -> NDArray[np.int32]:
        """The distances (B, N) of all texts from records."""
        common = (self._table(records) @ self._weighted).toarray()
        wanted = np.array([sum(map(self.weigh, set(record))) for record in records], dtype=np.int32)
        return np.asarray(ADDED[1] * (wanted[:, None] - common) + ADDED[0] * (self._totals - common), dtype=np.int32)

    def order(self, *, seed: int) -> list[int]:
        """The shelf's numbers, so that the first k of them are near to all texts, whatever k is.

        Greedy: each place goes to the text that brings the others nearest to what stands before it, among a few random candidates
        (Mirzasoleiman et al. 2015, "Lazier than lazy greedy"); after ORDERED places the rest follows as it comes.
        """
        rng = random.Random(seed)
        numbers = list(range(len(self.texts)))
        rng.shuffle(numbers)
        targets = [self.texts[number] for number in numbers[:REACHED]]
        parts = [self._distances(targets[i : i + CHUNK]) for i in range(0, len(targets), CHUNK)]
        distances = np.ascontiguousarray(np.concatenate(parts).T) if parts else np.zeros((0, 0), dtype=np.int32)
        nearest = np.array([ADDED[1] * sum(map(self.weigh, set(text))) for text in targets], dtype=np.int32)
        chosen: list[int] = []
        left = list(numbers)
        while left and len(chosen) < ORDERED:
            tried = rng.sample(range(len(left)), min(TRIED, len(left)))
            gains = np.maximum(nearest - distances[[left[place] for place in tried]], 0).sum(axis=1)
            place = tried[int(gains.argmax())]
            left[place], left[-1] = left[-1], left[place]
            chosen.append(left.pop())
            nearest = np.minimum(nearest, distances[chosen[-1]])
        return chosen + left
