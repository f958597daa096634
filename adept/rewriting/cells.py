"""The sentences about a label, one of which replaces a record that keeps its label.

The sentences of a label are chosen by the label's public name
(``adept.models.names``). The set of a label's sentences is the label's *cell*.
A sentence of the cell is likely to be released if it is near to the record's text. The module
``adept.mechanisms.selection`` holds the claim and the proof of privacy.

The distance between a sentence and a record is the sum of two distances. The first distance
compares the words of the sentence and the record (``adept.models.sentences.nearest_text``). The second
distance is a product: one minus the cosine between the topics of the sentence and the record, times
the total weight of the record's words, times a constant. If the model has no topics, or if a cell
has more than MAX_UNGROUPED sentences, meanings are compared instead of topics
(``adept.models.sentences.meanings``).

*Claim*: the sentences found for a record depend only on the record, the cell and public facts.
*Proof*: the words, topics and meaning of a text are whole numbers that depend on this text alone,
whatever a model's file holds (``WordTopics``, ``meanings``). Products and sums of
these numbers are exact in any order. Sentences at equal distances are ordered by their places. So
the other records of a batch change neither a distance nor an order. QED.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, islice

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from adept.data.corpus import Corpus
from adept.data.text_arguments import text_list
from adept.errors import ConfigurationError, ModelError
from adept.mechanisms import Description, Selection
from adept.mechanisms.policy import common_share
from adept.models.config import TOPICS
from adept.models.decoding import Pair
from adept.models.names import LabelCells, Places
from adept.models.saved_model import Autoencoder
from adept.models.sentences.meanings import MEANING_LENGTH, Meanings, tabulate
from adept.models.sentences.nearest_text import MAX_UNGROUPED, MEANING_HALVES, SentenceIndex
from adept.models.sentences.sentence_list import SentenceList, words_of
from adept.models.topics import WordTopics
from adept.rewriting.alphabets import Alphabet, Labels

TOPIC_HALVES = 16  # of the record's weight, that a cosine of 0 between topics adds
SHORTLIST_TEXTS = 128  # sentences that are compared by their words
SHORTLIST_SHARE = 8  # a shortlist serves where at most an eighth of it is asked for
MANY_SHORTLIST_TEXTS = 1024  # sentences that are compared by their words for cells of many sentences
NO_NAME = "?"  # a label without a word, whose cell holds the first sentences
MAX_DISTANCES, MAX_RECORDS = 1 << 20, 256  # distances and records that are computed together
UNIT = MEANING_LENGTH**2  # of a cosine

Texts = Sequence[Sequence[str]]
Whole = NDArray[np.int64]


class CellSearch:
    """A search for the sentences nearest to a record, among the sentences of a label (its cell).

    Args:
        index: the index of all public sentences of a model.
        topics: an object that computes the topics of texts; if None, meanings are compared instead
            of topics.
        first: the number of sentences at the beginning of the index that belong to every label.
    """

    def __init__(self, index: SentenceIndex, topics: WordTopics | None = None, *, first: int = 0) -> None:
        self.index, self.first = index, first
        self._read: WordTopics | Meanings = topics or index.meanings
        self._halves = TOPIC_HALVES if topics else MEANING_HALVES[0]
        self._table = self._read.of_table(*index.words)
        self._of_first = torch.from_numpy(self._table[:first]).float().T

    def nearest(self, records: Texts, places: Places, count: int) -> Whole:
        """Return the positions (B, ``count``) of a label's sentences nearest to each record.

        ``places`` (k,) holds the indices of the label's sentences among all public sentences, in
        ascending order; it begins with 0, 1, ..., ``first`` - 1. A *position* is an index into
        ``places``, and the positions of each record are sorted. If there are more than
        MAX_UNGROUPED places, the search may miss some of the nearest sentences.
        """
        few = len(places) <= MAX_UNGROUPED
        find, most = (self._find_in_few, MAX_DISTANCES // len(places)) if few else (self._find_in_many, MAX_RECORDS)
        step = max(1, min(MAX_RECORDS, most))
        parts = (records[begin : begin + step] for begin in range(0, len(records), step))
        return np.concatenate([np.empty((0, count), dtype=np.int64), *(find(part, places, count) for part in parts)])

    def _find_in_few(self, records: Texts, places: Places, count: int) -> Whole:
        apart, near = self._compare(records, places), np.arange(len(places))[None]  # of all records alike
        if count * SHORTLIST_SHARE <= SHORTLIST_TEXTS < len(places):
            near = _least(apart, near, SHORTLIST_TEXTS)
            apart = np.take_along_axis(apart, near, axis=1)
        distances = self.index.measure(records, places[near].astype(np.int64), apart, most=self._halves)
        near = np.broadcast_to(near, distances.shape)
        return np.sort(np.take_along_axis(near, _least(distances, near, count), axis=1), axis=1)

    def _compare(self, records: Texts, places: Places) -> Whole:
        """Return whole numbers (B, k): the distances in topic between B records and k sentences.

        ``SentenceIndex.measure`` multiplies a number by the total weight of the record's words, and
        divides the product by ``2 * UNIT``.
        """
        asked = torch.from_numpy(self._read.of_table(*tabulate([set(record) for record in records]))).float()
        others = torch.from_numpy(np.take(self._table, places[self.first :], axis=0)).float()
        products = torch.cat([asked @ self._of_first, asked @ others.T], dim=1)
        return np.asarray(self._halves * (UNIT - products.long().numpy()))

    def _find_in_many(self, records: Texts, places: Places, count: int) -> Whole:
        meanings = self.index.meanings.of([set(record) for record in records])
        numbers, products = self.index.file.nearest(meanings, MANY_SHORTLIST_TEXTS)
        halves = MEANING_HALVES[1]
        distances = self.index.measure(records, numbers, halves * (UNIT - products), most=MEANING_HALVES[0])
        at = np.searchsorted(places, numbers)
        there = places[np.minimum(at, len(places) - 1)] == numbers
        rows = np.argsort(np.where(there, distances, np.iinfo(np.int64).max), axis=1, kind="stable")
        found = (at[row, order][there[row, order]].tolist() for row, order in enumerate(rows))
        return np.array([sorted(islice(dict.fromkeys(chain(row, range(count))), count)) for row in found])


class Cell(Alphabet):
    """The public sentences about one label, which all records have."""

    def __init__(self, sentences: SentenceList, search: CellSearch, members: Places, selection: Selection) -> None:
        self.sentences, self.search, self.selection = sentences, search, selection
        self.members = members  # the sentences' numbers, ascending

    def heavy(self, texts: Sequence[str], labels: Labels = None) -> Tensor:
        records = [*map(words_of, text_list(texts))]
        return torch.from_numpy(self.search.nearest(records, self.members, self.selection.heavy_count))

    def write(self, numbers: Tensor, *, samples: int) -> list[Pair]:
        texts = self.sentences.write(self.members[numbers].tolist())
        return [(text, None) for text in texts for _ in range(samples)]


class Cells(Alphabet):
    """The public sentences about each label, where records keep their labels.

    An index is a position in the cell of the record's label; a number is that of a sentence.

    Args:
        model: a model that lists sentences of broad text.
        vocabulary: the id of each word in the model's tokenizer.
        mechanism: a ``Description`` with ``by_label=True``.
        about: public sentences about labels; for a label without such sentences, the model's
            labelled examples are used.
        label_set: labels that are public and were not read from the records.

    Raises:
        ModelError: the model lists no sentences of broad text, or too few.
    """

    reads_labels = True

    def __init__(
        self,
        model: Autoencoder,
        vocabulary: Mapping[str, int],
        mechanism: Description,
        about: Mapping[str, Sequence[str]] | None = None,
        *,
        label_set: Sequence[str] = (),
    ) -> None:
        self.selection, size = mechanism.selection, mechanism.count
        if not (model.sentences and model.sentences.is_broad) or len(model.sentences) <= size:
            raise ModelError(
                f"descriptions by label need a model of broad text with more than {size:,} sentences: use label_codewords=off"
            )
        self.sentences = model.sentences
        self.about = {**model.label_examples, **(about or {})}
        self.public_labels = list(dict.fromkeys([*label_set, *self.about]))
        self._examples = {text: label for label, texts in self.about.items() for text in map(words_of, texts)}
        index = self.sentences.index()
        first = round(size * common_share(mechanism.epsilon))
        self.cells = LabelCells(index, size=size, first=first, about=self.about)
        topics = WordTopics(model.topics, vocabulary) if model.config.encoder == TOPICS else None
        self.search = CellSearch(index, topics, first=first)

    def check_labels(self, labels: Sequence[str | None]) -> None:
        if None in labels:
            raise ConfigurationError(
                f"labels must be given with every record for descriptions by label, got none in record {labels.index(None) + 1}"
            )

    def label_public(self, texts: Sequence[str]) -> Corpus:
        """Return the texts, and give each text a public label.

        A text that is one of the public sentences about a label gets this label. Any other text
        gets the public label that is nearest to it in meaning. The texts nearest to a public label
        come first. If there are no public labels, each text gets the label NO_NAME.
        """
        pairs = self.cells.label(texts, self.public_labels or [NO_NAME])
        labels = [self._examples.get(words_of(text), label) for text, label in pairs]
        return Corpus([text for text, _ in pairs], labels)

    def of(self, label: str) -> Cell:
        """Return the alphabet for records that all have this label."""
        return Cell(self.sentences, self.search, self.cells.of([label])[label], self.selection)

    def heavy(self, texts: Sequence[str], labels: Labels = None) -> Tensor:
        found = torch.empty((len(texts), self.selection.heavy_count), dtype=torch.int64)
        for cell, rows in self._groups(len(texts), labels):
            found[rows] = cell.heavy([texts[row] for row in rows])
        return found

    def numbers(self, indices: Tensor, labels: Labels = None) -> Tensor:
        found = torch.empty_like(indices)
        for cell, rows in self._groups(len(indices), labels):
            found[rows] = torch.from_numpy(cell.members.astype(np.int64))[indices[rows]]
        return found

    def write(self, numbers: Tensor, *, samples: int) -> list[Pair]:
        texts = self.sentences.write(numbers.tolist())
        return [(text, None) for text in texts for _ in range(samples)]

    def _groups(self, count: int, labels: Labels) -> Iterator[tuple[Cell, list[int]]]:
        """Yield each label's cell with the indices of the records that have this label."""
        beside = [None] * count if labels is None else list(labels)
        self.check_labels(beside)
        rows: dict[str, list[int]] = {}
        for row, label in enumerate(beside):
            rows.setdefault(str(label), []).append(row)
        for label, members in self.cells.of(rows).items():
            yield Cell(self.sentences, self.search, members, self.selection), rows[label]


def _least(values: Whole, numbers: Whole, count: int) -> Whole:
    """Return the columns (B, count) of the ``count`` smallest values in each row.

    Of two equal values, the one with the lower number in ``numbers`` counts as smaller.
    """
    if count >= values.shape[1]:
        return np.broadcast_to(np.arange(values.shape[1]), values.shape)
    return np.argpartition(values * (MAX_UNGROUPED * 2) + numbers, count - 1, axis=1)[:, :count]
