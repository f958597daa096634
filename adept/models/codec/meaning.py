r"""What texts mean, in whole numbers, and the index of the text that is nearest to a record in meaning and in words.

A text's meaning is the sum of its words' vectors, each times how rare the word is in public text, at length LENGTH and rounded to
whole numbers. The words' vectors are those of a lexicon (``adept.models.lexicon``), whose sums are close to what a neural
encoder makes of whole sentences. The product of two meanings is LENGTH^2 times their cosine: a sum of whole numbers below 2^24,
which floating point holds exactly in whatever order it adds, so that the nearest is the nearest everywhere and in every batch.

The distance of a text y from a record x adds two parts: the distance by words (``adept.models.codec.nearest_text``), and a multiple
of the weight of all of x's words for what the cosine lacks to one: less where there are MANY texts, of which some share x's words.
By words alone the nearest text is, where none holds the record's rare words, the one that says least; by meaning alone it is one
that shares no word. The SHORTLIST texts that mean most nearly the same as a record are compared in both. Words that negate are
common, and by rarity alone they would be left out first: "don't shuffle" would become "shuffle". In the distance by words they
weigh NEGATED times as much.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import Any

import numpy as np
import scipy.sparse as sparse
from numpy.typing import NDArray

from adept.models.codec.inverted_file import LENGTH, InvertedFile, joined
from adept.models.codec.nearest_text import ADDED, FINE, ListedTexts, TextTable, Words, WordWeights
from adept.models.lexicon import Lexicon

MANY = 1 << 15  # texts
MEANING = (
    4,
    1,
)  # halves of the record's weight that a cosine of 0 adds to the distance: among fewer texts than MANY, and more
SHORTLIST = 128  # texts that are compared by their words
WIDER = 4  # times as many are compared as are asked for
SCRAP = 3  # a text with fewer different words than this, and than half of its record, is not taken for a sentence
TOGETHER = 256  # records whose products are computed together
HUNDREDTHS = 10  # thousandths of rarity; sums of 40 words stay below 2^24
NEGATED = 3  # times as heavy as by rarity: words that negate
AUXILIARIES = {"do", "does", "did", "is", "are", "was", "were", "has", "have", "had"}
MODALS = {"could", "would", "should", "must", "need"}
NEGATIONS = {"not", "no", "never", "without", "nothing", "nobody", "none", "neither", "nor", "cannot"} | {
    *("can't", "cant", "won't", "wont"),
    *(verb + end for verb in AUXILIARIES | MODALS for end in ("n't", "nt")),
}
SILENT_MARKS = frozenset(',;:!?()[]."')  # tokens of a text that are no words
PART = 1 << 11  # texts whose sums are computed together, near the processor

Codes = NDArray[np.int8]


class Meanings:
    """The meanings of texts.

    Args:
        lexicon: words and their vectors (W, d).
        weigh: the weights of words.
    """

    def __init__(self, lexicon: Lexicon, weigh: WordWeights) -> None:
        self.lexicon, self.weigh = lexicon, weigh
        weights = np.fromiter(map(weigh, lexicon.words), dtype=np.int64, count=len(lexicon.words))
        self._rarity = ((FINE + weights**2 // FINE) // HUNDREDTHS).astype(np.float32)  # 1 + ln(texts / holders)

    @property
    def dim(self) -> int:
        """The dimensions d of a meaning."""
        return int(self.lexicon.vectors.shape[1])

    def of(self, texts: Iterable[Iterable[str]]) -> Codes:
        """Return the meanings (N, d) of texts, given as words; zeros where the lexicon has none of them."""
        known, columns, starts = self.lexicon.places, [], [0]
        for words in texts:
            columns += sorted({known[word] for word in words if word in known})
            starts.append(len(columns))
        return self._of_places(np.array(columns, dtype=np.int32), np.array(starts))

    def of_listed(self, texts: ListedTexts) -> Codes:
        """Return the meanings (N, d) of listed texts."""
        places = np.array([self.lexicon.places.get(word, -1) for word in texts.words], dtype=np.int32)[texts.flat]
        inside = (texts.flat != 0) & (places >= 0)
        starts = np.concatenate([[0], np.cumsum(inside)[texts.ends]])
        return self._of_places(places[inside], starts)

    def of_held(self, table: sparse.csr_array, words: Iterable[str]) -> Codes:
        """Return the meanings (N, d) of texts, by a table of ones that says which of them (N) hold which words (W)."""
        return self._sums(table, self.vectors(words))

    def _of_places(self, columns: NDArray[np.int32], starts: NDArray[Any]) -> Codes:
        """The meanings of texts that hold the words columns[starts[i] : starts[i + 1]], each of them counted once."""
        used = np.bincount(columns, minlength=len(self._rarity)) > 0
        vectors, columns = self._times_rarity(np.flatnonzero(used)), (np.cumsum(used, dtype=np.int32) - 1)[columns]
        shape = len(starts) - 1, len(vectors)
        table = sparse.csr_array((np.ones(len(columns), dtype=np.float32), columns, starts), shape=shape)
        table.sum_duplicates()
        table.data[:] = 1
        return self._sums(table, vectors)

    def _sums(self, table: sparse.csr_array, vectors: NDArray[np.float32]) -> Codes:
        """The meanings of texts that hold words (N, W) with vectors (W, d)."""
        found = np.empty((table.shape[0], self.dim), dtype=np.int8)
        for begin in range(0, len(found), PART):
            found[begin : begin + PART] = _at_length(table[begin : begin + PART] @ vectors)
        return found

    def vectors(self, words: Iterable[str]) -> NDArray[np.float32]:
        """The vectors (W, d) that words add to a text's meaning; zeros for those that the lexicon lacks."""
        places = np.array([self.lexicon.places.get(word, -1) for word in words], dtype=np.int64)
        return np.where(places[:, None] < 0, np.float32(0), self._times_rarity(places))

    def _times_rarity(self, places: NDArray[Any]) -> NDArray[np.float32]:
        """The vectors (W, d) of the words at some places of the lexicon, each times how rare the word is."""
        return np.asarray(self._rarity[places, None] * self.lexicon.vectors[places])


class MeaningIndex(TextTable):
    """The way to the text that is nearest in meaning and in words.

    Args:
        texts: the first texts.
        meanings: of texts.
        more: texts behind them.
    """

    _one = np.int8  # few products are made of the table

    def __init__(self, texts: Sequence[Sequence[str]], meanings: Meanings, more: ListedTexts | None = None) -> None:
        times = dict.fromkeys(NEGATIONS, NEGATED)
        super().__init__(texts, WordWeights(meanings.weigh.holders, meanings.weigh.texts, times), more)
        self.meanings = meanings
        self._halves = MEANING[len(texts) + len(self.more) >= MANY]
        table = meanings.of_held(self._table, self._columns)
        self._file = InvertedFile(table, joined(table, self.more.groups))
        self._lengths = self._table @ np.array(
            [word not in SILENT_MARKS for word in self._columns] or [False], dtype=np.int64
        )
        # of each text's words, as if a record lacked them all
        self._of_words = self._table @ (ADDED[0] * self._weights)

    def nearest(self, records: Sequence[Sequence[str]]) -> Iterator[tuple[int, int]]:
        """Yield the number of each record's nearest text, the first of equals, and its distance; scraps are moved away."""
        for row, places in self._compared(records, SHORTLIST):
            least = row.min()
            yield int(places[row == least].min()), int(least)

    def several(self, records: Sequence[Sequence[str]], count: int) -> Iterator[list[int]]:
        """Yield the numbers of ``count`` different texts for each record: the nearest ones, the first of equals before the others.

        Where fewer are compared, the first texts that are not among them make up the number.
        """
        for row, places in self._compared(records, max(SHORTLIST, WIDER * count)):
            ordered = dict.fromkeys(places[np.lexsort((places, row))].tolist())
            yield list(islice(dict.fromkeys(chain(ordered, range(count))), count))

    def _compared(
        self, records: Sequence[Sequence[str]], shortlist: int
    ) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """Yield the distances of the texts that each record is compared with, and their numbers, maybe one of them repeated."""
        for begin in range(0, len(records), TOGETHER):
            some = records[begin : begin + TOGETHER]
            wanted = [set(record) for record in some]
            numbers, products = self._file.nearest(self.meanings.of(wanted).astype(np.float32), shortlist)
            weights = np.array([self._weight(words) for words in wanted])[:, None]
            distances = weights + self._by_words(wanted, numbers) + self._apart(weights, products)
            scraps = self._lengths[numbers] < np.array([[_fewest(record)] for record in some])
            distances = np.where(scraps, distances + (1 + MEANING[0]) * weights, distances)
            yield from zip(distances, numbers, strict=True)

    def nearer(self, record: Words, texts: Iterable[tuple[Words, int]], distance: int) -> Iterator[Words]:
        """Those of the SHORTLIST first texts that are nearer to a record than ``distance``, the nearest first; no scraps.

        To each text belongs what its seams add (``adept.models.codec.beam_search``).
        """
        fewest = _fewest(record)
        pairs = [(record, 0), *islice((pair for pair in texts if _length(pair[0]) >= fewest), SHORTLIST)]
        rows, seams = [text for text, _ in pairs], np.array([seams for _, seams in pairs])
        names = {word: column for column, word in enumerate(dict.fromkeys(chain(*rows)))}
        holds = np.zeros((len(rows), len(names)), dtype=np.int64)
        holds[np.repeat(np.arange(len(rows)), [*map(len, rows)]), [names[word] for row in rows for word in row]] = 1
        weights, wanted = np.array([*map(self.weigh, names)], dtype=np.int64), holds[0]
        by_words = ADDED[1] * ((wanted > holds) @ weights) + ADDED[0] * ((wanted < holds) @ weights)
        meanings = _at_length(holds.astype(np.float32) @ self.meanings.vectors(names))
        apart = by_words + seams + self._apart(np.array(self._weight(set(record))), meanings @ meanings[0])
        return (rows[place] for place in np.argsort(apart, kind="stable").tolist() if place and apart[place] < distance)

    def _apart(self, weights: NDArray[np.int64], products: Any) -> Any:
        """What meanings with these products are apart, for records whose words weigh so much."""
        return self._halves * weights * (LENGTH**2 - np.asarray(products).astype(np.int64)) // (2 * LENGTH**2)

    def _by_words(self, wanted: Sequence[set[str]], numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """By how much the words of each text (B, S) take it away from or towards its record, whose words are given."""
        shared = np.zeros((len(wanted), len(self._weights)), dtype=np.int64)
        for row, words in zip(shared, wanted, strict=True):
            own = [self._columns[word] for word in words if word in self._columns]
            row[own] = sum(ADDED) * self._weights[own]
        table = self._table[numbers.ravel()]
        rows = np.repeat(np.arange(numbers.size) // numbers.shape[1], np.diff(table.indptr))
        sums = np.concatenate([[0], np.cumsum(shared[rows, table.indices])])
        return np.asarray(self._of_words[numbers] - np.diff(sums[table.indptr]).reshape(numbers.shape))


def _at_length(sums: NDArray[np.float32]) -> NDArray[np.float32]:
    """Sums of vectors (N, d) as meanings: at LENGTH, and whole numbers. Sums of squares stay below 2^53, so they are exact."""
    wide = sums.astype(np.float64)
    lengths = np.sqrt(np.einsum("nd,nd->n", wide, wide))
    factors = (LENGTH / np.maximum(lengths, 1)).astype(np.float32)
    scaled: NDArray[np.float32] = sums * factors[:, None]
    np.rint(scaled, out=scaled)
    return scaled


def _fewest(record: Sequence[str]) -> int:
    """How many words a text has at least that is no scrap beside a record."""
    return min(_length(record) // 2, SCRAP)


def _length(words: Iterable[str]) -> int:
    """How many different words there are ("by by card" has two); marks between them do not count."""
    return len(set(words) - SILENT_MARKS)
