r"""Meanings of texts in whole numbers, and the index of the text that is nearest to a record in meaning and in words.

A text's meaning is the sum of its words' vectors, each times how rare the word is in public text, at length MEANING_LENGTH and
rounded to whole numbers. The words' vectors are those of a lexicon (``adept.models.lexicon``), whose sums are close to what a
neural encoder makes of whole sentences. The product of two meanings is MEANING_LENGTH^2 times their cosine: a sum of whole numbers
below 2^24, which floating point holds exactly in whatever order it adds. So the nearest is the nearest everywhere and in every
batch.

The distance of a text y from a record x adds two parts: the distance by words (``adept.models.codec.nearest_text``), and a multiple
of the weight of all of x's words for what the cosine lacks to one, which is less among MANY_TEXTS texts: some of them share x's
words. By words alone the nearest text is, where none holds the record's rare words, the one that says least; by meaning alone it
is one that shares no word. The SHORTLIST_TEXTS nearest in meaning are compared in both. Words that negate are common, and by rarity
alone they would be left out first: "don't shuffle" would become "shuffle". In the distance by words they weigh NEGATION_FACTOR
times as much.

The texts stand in an *inverted file*, in groups of like meaning, so that the nearest is looked for in a few groups, not among all.
A few hundred thousand meanings are divided among MAX_GROUPS centres, each the mean of its own (k-means for directions: Dhillon and
Modha 2001, "Concept decompositions for large sparse text data using clustering"). A record is compared with the centres, then with
the texts of the PROBED_GROUPS nearest ones alone (Jegou, Douze and Schmid 2011, "Product quantization for nearest neighbor search",
Section IV): a sixteenth of the products. Of requests of other domains 19 in 20 find the text that all products would have found,
the others one that is about as near.

Products are sums of whole numbers below 2^24, and centres are whole numbers too; of equally near texts the first counts. So what is
found is the same everywhere, and no record depends on those it is compared beside.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import Any

import numpy as np
import scipy.sparse as sparse
import torch
from numpy.typing import NDArray
from torch import Tensor

from adept.models.codec.listed_texts import ListedTexts, Words
from adept.models.codec.nearest_text import ADDED_COST, MISSING_COST, WEIGHT_UNIT, TextTable, WordWeights
from adept.models.lexicon import Lexicon

MAX_GROUPS, TEXTS_PER_GROUP = 512, 64  # centres at most, and texts for each of them at least, about
GROUP_TEXTS, JOINED_GROUP_TEXTS = 768, 1024  # at most, when a group is made and when others have joined it
MAX_UNGROUPED = 1 << 15  # texts that are all compared
PROBED_GROUPS = 40  # groups whose texts are compared
KMEANS_ROUNDS = 8
MEANING_LENGTH = 127  # of a meaning and of a centre
CENTRE_BATCH = 1 << 13  # texts whose centres are looked for together
PLACE_UNIT = 1 << 21  # more than there are texts
MANY_TEXTS = 1 << 15
MEANING_HALVES = 4, 1  # of the record's weight, that a cosine of 0 adds: among fewer texts than MANY_TEXTS, and more
SHORTLIST_TEXTS = 128  # texts that are compared by their words
SHORTLIST_FACTOR = 4  # times as many are compared as are asked for
SCRAP_WORDS = 3  # a text with fewer different words than this, and than half of its record, is not taken for a sentence
BATCH_RECORDS = 256  # records whose products are computed together
RARITY_DIVISOR = 10  # thousandths of rarity; sums of 40 words stay below 2^24
NEGATION_FACTOR = 3  # times as heavy as by rarity: words that negate
AUXILIARIES = {"do", "does", "did", "is", "are", "was", "were", "has", "have", "had"}
MODALS = {"could", "would", "should", "must", "need"}
NEGATIONS = {"not", "no", "never", "without", "nothing", "nobody", "none", "neither", "nor", "cannot"} | {
    *("can't", "cant", "won't", "wont"),
    *(verb + end for verb in AUXILIARIES | MODALS for end in ("n't", "nt")),
}
SILENT_MARKS = frozenset(',;:!?()[]."')  # tokens of a text that are no words
BATCH_TEXTS = 1 << 11  # texts whose sums are computed together, near the processor

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
        self._rarity = ((WEIGHT_UNIT + weights**2 // WEIGHT_UNIT) // RARITY_DIVISOR).astype(
            np.float32
        )  # 1 + ln(texts / holders)

    @property
    def dim(self) -> int:
        """Return the dimensions d of a meaning."""
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
        """Return the meanings of texts that hold the words columns[starts[i] : starts[i + 1]], each of them counted once."""
        used = np.bincount(columns, minlength=len(self._rarity)) > 0
        vectors, columns = self._times_rarity(np.flatnonzero(used)), (np.cumsum(used, dtype=np.int32) - 1)[columns]
        shape = len(starts) - 1, len(vectors)
        table = sparse.csr_array((np.ones(len(columns), dtype=np.float32), columns, starts), shape=shape)
        table.sum_duplicates()
        table.data[:] = 1
        return self._sums(table, vectors)

    def _sums(self, table: sparse.csr_array, vectors: NDArray[np.float32]) -> Codes:
        """Return the meanings of texts that hold words (N, W) with vectors (W, d)."""
        found = np.empty((table.shape[0], self.dim), dtype=np.int8)
        for begin in range(0, len(found), BATCH_TEXTS):
            found[begin : begin + BATCH_TEXTS] = _at_length(table[begin : begin + BATCH_TEXTS] @ vectors)
        return found

    def vectors(self, words: Iterable[str]) -> NDArray[np.float32]:
        """Return the vectors (W, d) that words add to a text's meaning; zeros for those that the lexicon lacks."""
        places = np.array([self.lexicon.places.get(word, -1) for word in words], dtype=np.int64)
        return np.where(places[:, None] < 0, np.float32(0), self._times_rarity(places))

    def _times_rarity(self, places: NDArray[Any]) -> NDArray[np.float32]:
        """Return the vectors (W, d) of the words at some places of the lexicon, each times how rare the word is."""
        return np.asarray(self._rarity[places, None] * self.lexicon.vectors[places])


class MeaningIndex(TextTable):
    """The index of the text that is nearest in meaning and in words.

    Args:
        texts: the first texts.
        meanings: of texts.
        more: texts behind them.
    """

    _one = np.int8  # few products are made of the table

    def __init__(self, texts: Sequence[Sequence[str]], meanings: Meanings, more: ListedTexts | None = None) -> None:
        times = dict.fromkeys(NEGATIONS, NEGATION_FACTOR)
        super().__init__(texts, WordWeights(meanings.weigh.holders, meanings.weigh.texts, times), more)
        self.meanings = meanings
        self._halves = MEANING_HALVES[len(texts) + len(self.more) >= MANY_TEXTS]
        table = meanings.of_held(self._table, self._columns)
        self._file = InvertedFile(table, join_groups(table, self.more.groups))
        self._lengths = self._table @ np.array(
            [word not in SILENT_MARKS for word in self._columns] or [False], dtype=np.int64
        )
        # of each text's words, as if a record lacked them all
        self._of_words = self._table @ (ADDED_COST * self._weights)

    def nearest(self, records: Sequence[Sequence[str]]) -> Iterator[tuple[int, int]]:
        """Yield the number of each record's nearest text, the first of equals, and its distance; scraps are moved away."""
        for row, places in self._compared(records, SHORTLIST_TEXTS):
            least = row.min()
            yield int(places[row == least].min()), int(least)

    def several(self, records: Sequence[Sequence[str]], count: int) -> Iterator[list[int]]:
        """Yield the numbers of ``count`` different texts for each record: the nearest ones, the first of equals before the others.

        Where fewer are compared, the first texts that are not among them make up the number.
        """
        for row, places in self._compared(records, max(SHORTLIST_TEXTS, SHORTLIST_FACTOR * count)):
            ordered = dict.fromkeys(places[np.lexsort((places, row))].tolist())
            yield list(islice(dict.fromkeys(chain(ordered, range(count))), count))

    def _compared(
        self, records: Sequence[Sequence[str]], shortlist: int
    ) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """Yield the distances of the texts that each record is compared with, and their numbers, maybe one of them repeated."""
        for begin in range(0, len(records), BATCH_RECORDS):
            some = records[begin : begin + BATCH_RECORDS]
            wanted = [set(record) for record in some]
            numbers, products = self._file.nearest(self.meanings.of(wanted).astype(np.float32), shortlist)
            weights = np.array([self._weight(words) for words in wanted])[:, None]
            distances = weights + self._by_words(wanted, numbers) + self._apart(weights, products)
            scraps = self._lengths[numbers] < np.array([[_fewest(record)] for record in some])
            distances = np.where(scraps, distances + (1 + MEANING_HALVES[0]) * weights, distances)
            yield from zip(distances, numbers, strict=True)

    def nearer(self, record: Words, texts: Iterable[tuple[Words, int]], distance: int) -> Iterator[Words]:
        """Yield those of the SHORTLIST_TEXTS first texts that are nearer to a record than ``distance``, the nearest first.

        Scraps are left out. To each text belongs what its seams add (``adept.models.codec.beam_search``).
        """
        fewest = _fewest(record)
        pairs = [(record, 0), *islice((pair for pair in texts if _length(pair[0]) >= fewest), SHORTLIST_TEXTS)]
        rows, seams = [text for text, _ in pairs], np.array([seams for _, seams in pairs])
        names = {word: column for column, word in enumerate(dict.fromkeys(chain(*rows)))}
        holds = np.zeros((len(rows), len(names)), dtype=np.int64)
        holds[np.repeat(np.arange(len(rows)), [*map(len, rows)]), [names[word] for row in rows for word in row]] = 1
        weights, wanted = np.array([*map(self.weigh, names)], dtype=np.int64), holds[0]
        by_words = MISSING_COST * ((wanted > holds) @ weights) + ADDED_COST * ((wanted < holds) @ weights)
        meanings = _at_length(holds.astype(np.float32) @ self.meanings.vectors(names))
        apart = by_words + seams + self._apart(np.array(self._weight(set(record))), meanings @ meanings[0])
        return (rows[place] for place in np.argsort(apart, kind="stable").tolist() if place and apart[place] < distance)

    def _apart(self, weights: NDArray[np.int64], products: Any) -> Any:
        """Return how far meanings with these products are apart, for records whose words weigh so much."""
        return (
            self._halves
            * weights
            * (MEANING_LENGTH**2 - np.asarray(products).astype(np.int64))
            // (2 * MEANING_LENGTH**2)
        )

    def _by_words(self, wanted: Sequence[set[str]], numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return by how much the words of each text (B, S) take it away from or towards its record, whose words are given."""
        shared = np.zeros((len(wanted), len(self._weights)), dtype=np.int64)
        for row, words in zip(shared, wanted, strict=True):
            own = [self._columns[word] for word in words if word in self._columns]
            row[own] = (ADDED_COST + MISSING_COST) * self._weights[own]
        table = self._table[numbers.ravel()]
        rows = np.repeat(np.arange(numbers.size) // numbers.shape[1], np.diff(table.indptr))
        sums = np.concatenate([[0], np.cumsum(shared[rows, table.indices])])
        return np.asarray(self._of_words[numbers] - np.diff(sums[table.indptr]).reshape(numbers.shape))


def _at_length(sums: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return sums of vectors (N, d) as meanings: at MEANING_LENGTH, and whole. Sums of squares are exact, being below 2^53."""
    wide = sums.astype(np.float64)
    lengths = np.sqrt(np.einsum("nd,nd->n", wide, wide))
    factors = (MEANING_LENGTH / np.maximum(lengths, 1)).astype(np.float32)
    scaled: NDArray[np.float32] = sums * factors[:, None]
    np.rint(scaled, out=scaled)
    return scaled


def _fewest(record: Sequence[str]) -> int:
    """Return the least number of words of a text that is no scrap beside a record."""
    return min(_length(record) // 2, SCRAP_WORDS)


def _length(words: Iterable[str]) -> int:
    """Count the different words ("by by card" has two) without the marks between them."""
    return len(set(words) - SILENT_MARKS)


def group_meanings(meanings: NDArray[np.int8], *, seed: int = 0) -> NDArray[np.int16]:
    """Divide meanings (N, d) among groups of at most GROUP_TEXTS: return the number of each one's group (N,), from 0 on."""
    table = torch.from_numpy(meanings)
    count = min(MAX_GROUPS, math.ceil(len(table) / TEXTS_PER_GROUP))
    start = torch.randperm(len(table), generator=torch.Generator().manual_seed(seed))[:count]
    found = _nearest(table, table[start].float())
    for _ in range(KMEANS_ROUNDS):
        found = _nearest(table, find_centres(table, found, count))
    return _cut(found, GROUP_TEXTS).numpy().astype(np.int16)


def _cut(groups: Tensor, most: int) -> Tensor:
    """Cut groups of more than ``most`` into several, and number those that have texts from 0 on."""
    order = torch.argsort(groups, stable=True)
    sizes = torch.bincount(groups)
    inside = torch.arange(len(groups)) - (sizes.cumsum(0) - sizes)[groups[order]]
    cut = torch.empty_like(groups)
    cut[order] = torch.unique(groups[order] * len(groups) + inside // most, return_inverse=True)[1]
    return cut


def join_groups(meanings: NDArray[np.int8], groups: NDArray[np.int16]) -> NDArray[np.int16]:
    """Return the groups of meanings (N, d) of which the last have these groups: the first ones join the nearest centre.

    Up to MAX_UNGROUPED meanings are one group: all products take less time than to choose some.
    """
    if len(meanings) <= MAX_UNGROUPED or not len(groups):
        return np.zeros(len(meanings), dtype=np.int16)
    first, of_others = len(meanings) - len(groups), torch.from_numpy(groups.astype(np.int64))
    table = torch.from_numpy(meanings)
    found = _nearest(table[:first], find_centres(table[first:], of_others, int(of_others.max()) + 1))
    return np.concatenate([found.numpy().astype(np.int16), groups])


def find_centres(table: Tensor, groups: Tensor, count: int) -> Tensor:
    """Return the centres (C, d) of groups: the directions of the sums of their meanings, in whole numbers."""
    sums = torch.zeros(count, table.shape[1], dtype=torch.float64)
    for begin in range(0, len(table), CENTRE_BATCH):
        sums.index_add_(0, groups[begin : begin + CENTRE_BATCH], table[begin : begin + CENTRE_BATCH].double())
    lengths = sums.square().sum(dim=1, keepdim=True).sqrt().clamp_min(1.0)
    return (MEANING_LENGTH * sums / lengths).round().float()


def _nearest(table: Tensor, found: Tensor) -> Tensor:
    """Return the nearest centre of each meaning."""
    parts = (part.float() @ found.T for part in torch.split(table, CENTRE_BATCH))
    return torch.cat([part.argmax(dim=1) for part in parts]) if len(table) else torch.zeros(0, dtype=torch.int64)


class InvertedFile:
    """The inverted file: meanings by group.

    Args:
        meanings: of all texts (N, d).
        groups: of each text (N,).
    """

    def __init__(self, meanings: NDArray[np.int8], groups: NDArray[np.int16]) -> None:
        of_text = _cut(torch.from_numpy(groups.astype(np.int64)), JOINED_GROUP_TEXTS)
        self.order, self.sizes = torch.argsort(of_text, stable=True), torch.bincount(of_text)
        self.table = torch.from_numpy(np.take(meanings, self.order.numpy(), axis=0))  # in a tenth of PyTorch's time
        self.centres = find_centres(self.table, of_text[self.order], len(self.sizes))

    def nearest(self, meanings: NDArray[np.float32], count: int) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Return the texts (B, S) whose products with meanings (B, d) are largest, and these, in order; S is ``count`` or less.

        A record that finds fewer texts has its nearest one in the places of the others.
        """
        asked = torch.from_numpy(meanings)
        probed = _keys(asked @ self.centres.T, torch.arange(len(self.sizes))).topk(
            min(PROBED_GROUPS, len(self.sizes)), dim=1
        )
        keys = self._compared(asked, probed.indices)
        found = keys.topk(min(count, keys.shape[1]), dim=1).values
        found = torch.where(found.isinf(), found[:, :1], found)
        products = torch.div(found, PLACE_UNIT, rounding_mode="floor")
        return (PLACE_UNIT - 1 - (found - products * PLACE_UNIT)).long().numpy(), products.float().numpy()

    def _compared(self, asked: Tensor, probed: Tensor) -> Tensor:
        """Return the keys of the texts that each meaning (B, d) is compared with, by the groups (B, P) that it probes."""
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
    """Return different numbers in the order of products (B, N), the first of equals first."""
    return products.double().mul_(PLACE_UNIT).add_(PLACE_UNIT - 1 - places)
