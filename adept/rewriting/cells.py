"""Cells of labels: the public sentences about a label, one of which replaces a record that keeps its label.

The *cell* of a label c holds k of a model's public sentences. Every cell contains the first n sentences of the list
and m later ones, as many of each group of similar sentences (``SentenceList.spread``), which limit the harm if the
label's name misleads. The others are those k - n - m later sentences whose meanings
(``adept.models.sentences.meanings``) have the largest inner products with that of c; of equal ones, the first. The
meaning of c is the average of the meanings of its name and of public sentences about it. If these have no token with
a meaning, the cell holds the first k sentences of the list.

A sentence of the cell is likely to be released if it is near to the record (``adept.mechanisms.selection`` has claim
and proof of privacy). The distance adds up the difference in words (``adept.models.sentences.nearest_text``) and
CELL_HALVES halves of one minus the cosine of meanings, times the weight of the record's words. From each inner product
with the record, that with the mean of the cell is subtracted: what all sentences of the cell have in common tells
nothing. Beyond MAX_COMPARED sentences, the nearest of the whole list are looked for.

*Claim 1*: a cell is a function of its label, the sentences about the label, the list, k, n and m, and holds exactly k
distinct places of the list. *Claim 2*: the sentences found for a record depend on the record, the cell and public facts
alone. Reason: all weights, meanings and products are whole numbers that floats hold exactly, so neither other labels
nor other records of a batch change them. ``docs/proofs.md`` has both proofs. Somebody who times the program can tell
when a cell is computed; the privacy statements mention this.
"""

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain, islice
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from adept.data.corpus import Corpus
from adept.errors import ConfigurationError, ModelError
from adept.mechanisms import Description, Selection, policy
from adept.models.decoding import Pair
from adept.models.label_names import largest_first, spell_name
from adept.models.saved_model import Autoencoder
from adept.models.sentence_encoder import LENGTH, Codes
from adept.models.sentences.meanings import Words, mean_meaning, meanings_of, multiply_all, words_of
from adept.models.sentences.nearest_text import BATCH_RECORDS, MAX_DISTANCES, SentenceIndex
from adept.models.sentences.sentence_list import SentenceList
from adept.rewriting.alphabets import Labels, Sentences

BATCH_NAMES = 8  # whose products with all sentences are computed together
MAX_COMPARED = 1 << 14  # sentences of a cell that are all compared with a record
MAX_PLACES = 1 << 25  # of sentences, in all cells that are kept: 128 MiB
NO_NAME = "?"  # a label without a word, whose cell holds the first sentences
UNIT = LENGTH**2  # of a cosine

Places = NDArray[np.int32]
Texts = tuple[str, ...]
Whole = NDArray[np.int64]


class Group(NamedTuple):
    """A label's sentences, and the records that have this label."""

    places: Places  # of the sentences in the list, ascending
    rows: Sequence[int]  # of the records in a batch


class LabelCells:
    """The cells of labels, and a search for the sentences of a cell that are nearest to a record.

    A cell is computed at its first use, and kept while memory allows.

    Args:
        index: the index of all public sentences of a model.
        size: the number k of sentences in a cell.
        first: the number n of the first sentences, which every cell contains.
        spread: places (m,) of later sentences that every cell contains, too.
        about: public sentences about each label.
    """

    def __init__(
        self,
        index: SentenceIndex,
        *,
        size: int,
        first: int = 0,
        spread: Places | None = None,
        about: Mapping[str, Texts] | None = None,
    ) -> None:
        self.index, self.size, self.first = index, size, first
        self.spread = np.zeros(0, dtype=np.int32) if spread is None else spread
        self.about = about or {}
        self._first = torch.from_numpy(index.meanings(np.arange(first))).float().T.contiguous()
        self._kept: OrderedDict[Texts, Places] = OrderedDict()
        self._lock = Lock()

    def __reduce__(self) -> tuple[Any, ...]:
        return (
            partial(LabelCells, size=self.size, first=self.first, spread=self.spread, about=self.about),
            (self.index,),
        )

    def of(self, labels: Iterable[str]) -> dict[str, Places]:
        """Return the cell of each label: the sorted places (k,) of its sentences in the list."""
        said = self._say(labels)
        with self._lock:
            cells = {texts: self._kept[texts] for texts in dict.fromkeys(said.values()) if texts in self._kept}
            cells |= self._make([texts for texts in dict.fromkeys(said.values()) if texts not in cells])
            self._keep(cells)
        return {name: cells[texts] for name, texts in said.items()}

    def pair_nearest(self, texts: Sequence[str], labels: Iterable[str]) -> list[tuple[str, str]]:
        """Pair each text with the label nearest to it in meaning; the nearest pairs come first."""
        said = self._say(labels)
        products = multiply_all(meanings_of(texts), np.stack([*map(mean_meaning, said.values())]))
        return [
            (texts[row], [*said][products[row].argmax()])
            for row in largest_first(products.max(axis=1), len(texts)).tolist()
        ]

    def _say(self, labels: Iterable[str]) -> dict[str, Texts]:
        """Return, for each label, its name in words and the sentences about it."""
        spelled = {name: spell_name(name) for name in labels}
        return {name: (*filter(None, [words]), *self.about.get(name, ())) for name, words in spelled.items()}

    def _keep(self, cells: dict[Texts, Places]) -> None:
        for key, places in cells.items():
            self._kept[key] = places
            self._kept.move_to_end(key)
        while len(self._kept) > max(1, MAX_PLACES // self.size):
            self._kept.popitem(last=False)

    def _make(self, said: list[Texts]) -> dict[Texts, Places]:
        made = {}
        for part in _batches(said, BATCH_NAMES):
            meanings = np.stack([*map(mean_meaning, part)])
            for texts, meaning, products in zip(part, meanings, self.index.compare_all(meanings), strict=True):
                made[texts] = np.arange(self.size, dtype=np.int32)
                if meaning.any():
                    products[self.spread] = np.iinfo(products.dtype).max
                    near = largest_first(products[self.first :], self.size - self.first)
                    made[texts][self.first :] = self.first + np.sort(near)
        return made

    def nearest(self, records: Sequence[str], groups: Sequence[Group], count: int) -> Whole:
        """Return the positions (B, ``count``) of those sentences of its label that are nearest to each record, sorted.

        Each of ``groups`` holds the places (k,) of a label's sentences among all, ascending, which begin with 0 to
        ``first`` - 1, and the rows of the records with this label. A *position* is an index into the places. Beyond
        MAX_COMPARED places, some may be missed.
        """
        found = np.empty((len(records), count), dtype=np.int64)
        if groups and len(groups[0].places) > MAX_COMPARED:
            places_of = {row: group.places for group in groups for row in group.rows}
            near = self.index.compare(records, policy.MANY_SHORTLIST_TEXTS, halves=policy.MEANING_HALVES[1])
            for row, (distances, numbers) in enumerate(near):
                # Of equal ones, the nearest in meaning first
                found[row] = _choose(numbers[np.argsort(distances, kind="stable")], places_of[row], count)
            return found
        meanings, words = meanings_of(records), [*map(words_of, records)]
        for places, all_rows in groups:
            for rows in _batches(all_rows, max(1, min(BATCH_RECORDS, MAX_DISTANCES // len(places)))):
                found[rows] = self._compare(meanings[rows], [words[row] for row in rows], places, count)
        return found

    def _compare(self, meanings: Codes, words: Sequence[Words], places: Places, count: int) -> Whole:
        apart, near = self._measure(meanings, places), np.arange(len(places))[None]  # of all records alike
        if count * policy.SHORTLIST_SHARE <= policy.SHORTLIST_TEXTS < len(places):
            near = _least(apart, near, policy.SHORTLIST_TEXTS)
            apart = np.take_along_axis(apart, near, axis=1)
        distances = self.index.measure(words, places[near].astype(np.int64), apart, most=2 * policy.CELL_HALVES)
        near = np.broadcast_to(near, distances.shape)
        return np.sort(np.take_along_axis(near, _least(distances, near, count), axis=1), axis=1)

    def _measure(self, meanings: Codes, places: Places) -> Whole:
        """Return the distances in meaning (B, k), of which ``index.measure`` takes the ``2 * UNIT``-th part of the weight."""
        asked = torch.from_numpy(meanings).float()
        later = torch.from_numpy(self.index.meanings(places[self.first :])).float()
        mean = (self._first.sum(dim=1) + later.sum(dim=0)).div(len(places)).round()  # of exact sums: 2^14 * 127 < 2^24
        products = torch.cat([asked @ self._first - mean @ self._first, asked @ later.T - later @ mean], dim=1)
        return np.asarray(policy.CELL_HALVES * (UNIT - products.long().numpy()))


def _batches(rows: Sequence[Any], size: int) -> Iterator[list[Any]]:
    return (list(rows[start : start + size]) for start in range(0, len(rows), size))


def _choose(ranked: Whole, places: Places, count: int) -> list[int]:
    """Return the positions of the first ``count`` of ranked sentences that are in a cell, sorted; then of the cell's first."""
    at = np.minimum(np.searchsorted(places, ranked), len(places) - 1)
    return sorted(islice(dict.fromkeys(chain(at[places[at] == ranked].tolist(), range(count))), count))


class Cell(Sentences):
    """The public sentences about one label, which all records have."""

    def __init__(self, sentences: SentenceList, cells: LabelCells, label: str, selection: Selection) -> None:
        self.sentences, self.cells, self.selection = sentences, cells, selection
        self.members = cells.of([label])[label]  # the sentences' numbers, ascending

    def heavy(self, texts: Sequence[str], labels: Labels = None) -> Tensor:
        group = Group(self.members, range(len(texts)))
        return torch.from_numpy(self.cells.nearest(texts, [group], self.selection.heavy_count))

    def write(self, numbers: Tensor, *, samples: int) -> list[Pair]:
        return super().write(torch.from_numpy(self.members[numbers]), samples=samples)


class Cells(Sentences):
    """The public sentences about each label, where records keep their labels.

    An index is a position in the cell of the record's label; a number is that of a sentence.

    Args:
        model: a model that lists sentences of broad text.
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
        said = {label: tuple(texts) for label, texts in {**model.label_examples, **(about or {})}.items()}
        self.public_labels = list(dict.fromkeys([*label_set, *said]))
        self._examples = {words_of(text): label for label, texts in said.items() for text in texts}
        first, spread = (round(size * share) for share in policy.COMMON_SHARES)
        self.cells = LabelCells(
            self.sentences.index(), size=size, first=first, spread=self.sentences.spread(first, spread), about=said
        )

    def check_labels(self, labels: Sequence[str | None]) -> None:
        if None in labels:
            raise ConfigurationError(
                f"labels must be given with every record for descriptions by label, got none in record {labels.index(None) + 1}"
            )

    def label_public(self, texts: Sequence[str]) -> Corpus:
        """Return the texts with public labels, those nearest to a label first.

        A public sentence about a label gets this label, and any other text the nearest in meaning, or NO_NAME.
        """
        pairs = self.cells.pair_nearest(texts, self.public_labels or [NO_NAME])
        labels = [self._examples.get(words_of(text), label) for text, label in pairs]
        return Corpus([text for text, _ in pairs], labels)

    def of(self, label: str) -> Cell:
        """Return the alphabet for records that all have this label."""
        return Cell(self.sentences, self.cells, label, self.selection)

    def heavy(self, texts: Sequence[str], labels: Labels = None) -> Tensor:
        return torch.from_numpy(self.cells.nearest(texts, self._groups(len(texts), labels), self.selection.heavy_count))

    def numbers(self, indices: Tensor, labels: Labels = None) -> Tensor:
        found = torch.empty_like(indices)
        for places, rows in self._groups(len(indices), labels):
            found[rows] = torch.from_numpy(places.astype(np.int64))[indices[rows]]
        return found

    def _groups(self, count: int, labels: Labels) -> list[Group]:
        beside = [None] * count if labels is None else list(labels)
        self.check_labels(beside)
        rows: dict[str, list[int]] = {}
        for row, label in enumerate(beside):
            rows.setdefault(str(label), []).append(row)
        return [Group(places, rows[label]) for label, places in self.cells.of(rows).items()]


def _least(values: Whole, numbers: Whole, count: int) -> Whole:
    """Return the columns (B, count) of the smallest values in each row; of equal ones, the lower number is smaller."""
    if count >= values.shape[1]:
        return np.broadcast_to(np.arange(values.shape[1]), values.shape)
    return np.argpartition(values * (MAX_COMPARED * 2) + numbers, count - 1, axis=1)[:, :count]
