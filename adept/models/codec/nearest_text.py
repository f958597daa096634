"""The nearest-text index: which of many texts is nearest to a record.

The distance of a text y from a record x: the weights of x's words that y lacks, and a part of those of y's words that x
lacks. A word weighs the square root of its inverse document frequency's logarithm in the public text: rare words weigh more,
function words little, and to leave a word out is worse than to add one. All numbers are whole, so that the nearest is the
nearest everywhere.
"""

import math
import random
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, pairwise
from typing import Any

import numpy as np
import scipy.sparse as sparse
from numpy.typing import NDArray

from adept.models.codec.listed_texts import ListedTexts, Words

WEIGHT_UNIT = 1000  # a word's weight is a whole number of thousandths
ADDED_COST, MISSING_COST = 4, 10  # factors of the weights of words that a text adds to a record or lacks
SCAN_SHARE = 4  # one in so many texts are compared without the others
MAX_EQUALS = 64  # of equally near texts that are read in order
ORDERED_TEXTS = 1024  # at the beginning of the order
TRIED_TEXTS, TARGET_TEXTS = 128, 1000  # candidates for each place there, and texts to be near to

Places = NDArray[np.integer[Any]]


class WordWeights:
    """The weights of words, by how many of the public texts hold them.

    Args:
        holders: how many texts hold each word.
        texts: how many there are.
        times: words that weigh so many times as much as that.
    """

    def __init__(self, holders: Counter[str], texts: int, times: Mapping[str, int] | None = None) -> None:
        self.holders, self.texts, self.times = holders, texts, dict(times or {})
        self._known = {word: self._of(count) for word, count in holders.items()}
        self._unknown = self._of(0)
        self._known |= {word: factor * self(word) for word, factor in self.times.items()}

    def __reduce__(self) -> tuple[Any, ...]:
        return WordWeights, (self.holders, self.texts, self.times)

    @classmethod
    def of(cls, texts: Sequence[Sequence[str]]) -> "WordWeights":
        """Count in how many texts each word stands; a word of one text weighs what an unknown one does, and is forgotten."""
        holders = Counter(word for text in texts for word in dict.fromkeys(text))
        return cls(Counter({word: count for word, count in holders.items() if count > 1}), len(texts))

    def __call__(self, word: str) -> int:
        """Return the weight of a word; unknown words are the heaviest."""
        return self._known.get(word, self._unknown)

    def _of(self, holders: int) -> int:
        return round(WEIGHT_UNIT * math.sqrt(math.log((self.texts + 1) / (holders + 0.5))))

    def distance(self, record: Iterable[str], text: Iterable[str]) -> int:
        """Return the distance of a text from a record: sums of weights times MISSING_COST and ADDED_COST."""
        wanted, given = set(record), set(text)
        return MISSING_COST * sum(map(self, wanted - given)) + ADDED_COST * sum(map(self, given - wanted))


class TextTable:
    """A table of texts, numbered from 0 on: which of them hold which words, and what these weigh.

    Args:
        texts: the first texts.
        weigh: the weights of words.
        more: texts behind them.
    """

    _one: type[np.integer[Any]] = np.int32  # stands where a text holds a word; as wide as weights, for quick products

    def __init__(self, texts: Sequence[Sequence[str]], weigh: WordWeights, more: ListedTexts | None = None) -> None:
        self.texts, self.more, self.weigh = texts, more or ListedTexts(), weigh
        self._columns: dict[str, int] = {}
        for word in chain(*texts, self.more.words):
            self._columns.setdefault(word, len(self._columns))
        self._weights = np.array([weigh(word) for word in self._columns] or [0], dtype=np.int32)
        self._table = self._make_table()

    def _make_table(self) -> sparse.csr_array:
        """Return which texts (rows) hold which words (columns)."""
        columns = [np.array([self._columns[word] for text in self.texts for word in text], dtype=np.int32)]
        lengths = [np.array([len(text) for text in self.texts], dtype=np.int32)]
        if len(self.more):
            of_word = np.array([self._columns[word] for word in self.more.words], dtype=np.int32)
            columns.append(of_word[self.more.flat[self.more.flat != 0]])
            lengths.append(np.diff(self.more.ends, prepend=-1).astype(np.int32) - 1)
        flat, starts = np.concatenate(columns), np.cumsum(np.concatenate([[0], *lengths]), dtype=np.int32)
        shape = len(starts) - 1, len(self._weights)
        table = sparse.csr_array((np.ones(len(flat), dtype=self._one), flat, starts), shape=shape)
        table.sum_duplicates()
        table.data[:] = 1
        return table

    def __getitem__(self, number: int) -> Sequence[str]:
        """Return the text of a number."""
        return self.texts[number] if number < len(self.texts) else self.more[number - len(self.texts)]

    def _weight(self, wanted: set[str]) -> int:
        """Return the distance of a text without words from a record of these words."""
        return MISSING_COST * sum(map(self.weigh, wanted))


class NearestTextIndex(TextTable):
    """The index of the text that is nearest by words; arguments are those of its base."""

    def __init__(self, texts: Sequence[Sequence[str]], weigh: WordWeights, more: ListedTexts | None = None) -> None:
        super().__init__(texts, weigh, more)
        by_word = self._table.tocsc()
        self._holders, self._starts = by_word.indices, by_word.indptr

    def nearest(self, records: Iterable[Sequence[str]]) -> Iterator[tuple[int, int]]:
        """Yield the number of each record's nearest text, and its distance: of equals the one most in the record's order."""
        for record in records:
            distance, equal = self._nearest(set(record))
            pairs = Counter(pairwise(("", *record, "")))
            yield max(equal, key=lambda place: (Counter(pairwise(("", *self[place], ""))) & pairs).total()), distance

    def nearer(self, record: Words, texts: Iterable[tuple[Words, int]], distance: int) -> Iterator[Words]:
        """Yield those of some texts that are nearer to a record than ``distance``, in their order, about that of distance."""
        return (text for text, seams in texts if self.weigh.distance(record, text) + seams < distance)

    def _nearest(self, wanted: set[str]) -> tuple[int, list[int]]:
        """Return the least distance of any text from a record of these words, and the first texts that are so near.

        A text that lacks the heaviest words is as far away as they weigh. So those that hold the heaviest word are compared, then
        those that hold the next one, until the nearest is nearer than that; where they are too many, all texts are.
        """
        gains, weight = self._gains(wanted), self._weight(wanted)
        lacked, looked, least = 0, 0, weight + 1
        equal: Places = np.zeros(0, dtype=np.int32)
        for word in sorted(wanted, key=lambda word: (-self.weigh(word), word)):
            lacked += MISSING_COST * self.weigh(word)
            holders = self._holders_of(word)
            looked += len(holders)
            if looked * SCAN_SHARE > self._table.shape[0]:
                break
            least, equal = _nearer((least, equal), self._table[holders] @ gains + weight, holders)
            if least < lacked:
                return least, equal[:MAX_EQUALS].tolist()
        distances = self._table @ gains + weight
        least, equal = _nearer((int(distances[0]) + 1, equal), distances, np.arange(len(distances)))
        return least, equal[:MAX_EQUALS].tolist()

    def _gains(self, wanted: set[str]) -> NDArray[np.int32]:
        """Return by how much each word of a text takes it away from a record of these words."""
        gains = ADDED_COST * self._weights
        own = [self._columns[word] for word in wanted if word in self._columns]
        gains[own] -= (ADDED_COST + MISSING_COST) * self._weights[own]
        return gains

    def _holders_of(self, word: str) -> NDArray[np.int32]:
        """Return the texts that hold a word."""
        column = self._columns.get(word)
        return self._holders[:0] if column is None else self._holders[self._starts[column] : self._starts[column + 1]]

    def order(self, *, seed: int) -> list[int]:
        """Return the texts' numbers in an order whose first k are near to all texts, whatever k is.

        Greedy: each place goes to the text that brings the others nearest to what is chosen already, among a few random candidates
        (Mirzasoleiman et al. 2015, "Lazier than lazy greedy"); after ORDERED_TEXTS places the rest follows as it comes.
        """
        rng = random.Random(seed)
        numbers = list(range(len(self.texts)))
        rng.shuffle(numbers)
        targets = [self.texts[number] for number in numbers[:TARGET_TEXTS]]
        rows = [self._table @ self._gains(set(target)) + self._weight(set(target)) for target in targets]
        distances = np.array(rows, dtype=np.int32).reshape(len(rows), len(numbers)).T.copy()
        nearest = np.array([MISSING_COST * sum(map(self.weigh, set(text))) for text in targets], dtype=np.int32)
        chosen: list[int] = []
        left = list(numbers)
        while left and len(chosen) < ORDERED_TEXTS:
            tried = rng.sample(range(len(left)), min(TRIED_TEXTS, len(left)))
            gains = np.maximum(nearest - distances[[left[place] for place in tried]], 0).sum(axis=1)
            place = tried[int(gains.argmax())]
            left[place], left[-1] = left[-1], left[place]
            chosen.append(left.pop())
            nearest = np.minimum(nearest, distances[chosen[-1]])
        return chosen + left


def _nearer(known: tuple[int, Places], distances: NDArray[np.int32], places: Places) -> tuple[int, Places]:
    """Return the least distance and the places that have it, of those known and of others."""
    least = min(known[0], int(distances.min(initial=known[0])))
    nearest = places[distances == least]
    return least, np.union1d(nearest, known[1]) if least == known[0] else nearest
