r"""Cells of labels. A cell is a set of public sentences that resemble the records with a label.

The *cell* of a label c is a set of k of a model's public sentences. A record that keeps its
label is released as one sentence of the label's cell (``adept.mechanisms.description``). Every cell
contains the first n sentences of the list, which limit the harm if the label's name misleads.

Each later sentence s of the list has the weight ``min(1, f * exp(beta * cos(c, s)))``, where
``cos(c, s)`` is the cosine of the meanings of c and s. The factor f is chosen so that n plus the
sum of all weights is k. The factor ``beta`` is larger for a label that has sentences very near to
it in meaning (``choose_tilt``). The later sentences are sorted by their cosine, the largest first,
and the weights are added up in this order. A sentence enters the cell if its weight takes this
running sum past a whole number plus one half.

The vector of a label's meaning is the average of the vectors of the label's name and of public
sentences about the label. If the lexicon knows no word of the label's name and sentences, the cell
holds the first k sentences of the list.

*Claim*: the cell of c is a function of c, the sentences about c, the list, k and n. The cell has
exactly k distinct places in the list; a stranger's list may hold one sentence at several places.
*Proof*. The inner product of a label (or a name) with a sentence is the inner product of their
meanings. Inner products are whole numbers that floats hold exactly, so the inner products of one
label do not depend on other labels. The weights of the later sentences, in units of ``1 / UNIT``,
are whole numbers of at most UNIT. The weights sum to ``(k - n) * UNIT`` or more. Each weight is one
step of the running sum. Each of the points ``(j + 1/2) * UNIT`` with j from 0 to k - n - 1 lies in
the step of one sentence, and a step of at most UNIT holds at most one of these points. A cell that
was dropped from memory is computed again from the same numbers. QED.
Somebody who times the program can tell when a cell is computed; the privacy statements mention
this.
"""

import re
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from adept.models.adapt import read_meanings, spell_out
from adept.models.sentences.listed_texts import Words
from adept.models.sentences.meanings import MEANING_LENGTH, multiply_all
from adept.models.sentences.nearest_text import SentenceIndex
from adept.models.sentences.sentence_list import SentenceList, words_of
from adept.models.word_vectors import Lexicon

MIN_LETTERS = 3  # of a word that can say what a label means: codes have shorter ones
BATCH_NAMES = 16  # whose products with all sentences are computed together
DIGITS = re.compile(r"(?<=[^\d\W])(?=\d)|(?<=\d)(?=[^\d\W])")
UNIT = 1 << 20  # the weight of a sentence that is sure to be in a cell
TILTS, NAME_COSINES = (6.0, 10.0), (0.5, 0.7)  # beta of names that say little and much, and what these say
NAME_RANK = 100  # of the sentence whose likeness tells how much a name says
MAX_PLACES = 1 << 25  # of sentences, in all cells that are kept: 128 MiB
BISECTIONS = 50

Places = NDArray[np.int32]
Texts = tuple[Words, ...]


class LabelCells:
    """The cells of labels. A cell is computed at its first use, and kept while memory allows.

    Args:
        size: the number k of sentences in a cell.
        first: the number n of the first sentences, which every cell contains.
        about: public sentences about each label.
    """

    def __init__(
        self,
        index: SentenceIndex,
        *,
        size: int,
        first: int = 0,
        about: Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        self._index, self.size, self.first = index, size, first
        self.about = {label: tuple(map(words_of, sentences)) for label, sentences in (about or {}).items()}
        self._kept: OrderedDict[Texts, Places] = OrderedDict()
        self._lock = Lock()

    def __reduce__(self) -> tuple[Any, ...]:
        return _remake, (self._index, self.size, self.first, self.about)

    def of(self, labels: Iterable[str]) -> dict[str, Places]:
        """Return the cell of each label: the sorted places (k,) of its sentences in the list."""
        said = self._say(labels)
        with self._lock:
            cells = {texts: self._kept[texts] for texts in dict.fromkeys(said.values()) if texts in self._kept}
            cells |= self._make([texts for texts in dict.fromkeys(said.values()) if texts not in cells])
            self._keep(cells)
        return {name: cells[texts] for name, texts in said.items()}

    def label(self, texts: Sequence[str], labels: Iterable[str]) -> list[tuple[str, str]]:
        """Pair each text with the label nearest to it in meaning; the nearest pairs come first."""
        said = self._say(labels)
        meanings = np.stack([self._index.meanings.mean_of(own) for own in said.values()])
        products = multiply_all(self._index.meanings.of(map(words_of, texts)), meanings)
        order = np.argsort(-products.max(axis=1), kind="stable").tolist()
        return [(texts[row], [*said][products[row].argmax()]) for row in order]

    def _say(self, labels: Iterable[str]) -> dict[str, Texts]:
        """Return, for each label, its name and the sentences about it, each as a tuple of words."""
        names = list(dict.fromkeys(labels))
        spelled = zip(names, spell_names(names), strict=True)
        return {name: (*filter(None, [words]), *self.about.get(name, ())) for name, words in spelled}

    def _keep(self, cells: dict[Texts, Places]) -> None:
        for key, places in cells.items():
            self._kept[key] = places
            self._kept.move_to_end(key)
        while len(self._kept) > max(1, MAX_PLACES // self.size):
            self._kept.popitem(last=False)

    def _make(self, said: list[Texts]) -> dict[Texts, Places]:
        made = {}
        for start in range(0, len(said), BATCH_NAMES):
            part = said[start : start + BATCH_NAMES]
            meanings = np.stack([self._index.meanings.mean_of(texts) for texts in part])
            for texts, meaning, products in zip(part, meanings, self._index.compare_all(meanings), strict=True):
                made[texts] = self._choose(products) if meaning.any() else self._all_first
        return made

    def _choose(self, products: NDArray[np.int16]) -> Places:
        later = choose_near(products[self.first :], size=self.size - self.first, tilt=choose_tilt(products))
        return np.concatenate([self._all_first[: self.first], later + np.int32(self.first)])

    @property
    def _all_first(self) -> Places:
        return np.arange(self.size, dtype=np.int32)


def _remake(index: SentenceIndex, size: int, first: int, about: dict[str, Texts]) -> LabelCells:
    cells = LabelCells(index, size=size, first=first)
    cells.about = about
    return cells


def choose_tilt(products: NDArray[np.int16]) -> float:
    """Return the factor beta of a label, given its inner products (N,) with all sentences.

    Beta grows with the cosine of the label and its NAME_RANK-th nearest sentence.
    """
    rank = min(NAME_RANK, len(products))
    cosine = -float(np.partition(-products, rank - 1)[rank - 1]) / MEANING_LENGTH**2
    return float(np.interp(cosine, NAME_COSINES, TILTS))


def choose_near(products: NDArray[np.int16], *, size: int, tilt: float) -> Places:
    """Choose ``size`` of N sentences for a label; return their places, sorted.

    ``products`` (N,) holds the label's inner products with the sentences, and ``tilt`` is beta.
    """
    levels = products.astype(np.int64) - int(products.min())
    weights = _weigh(np.bincount(levels), size=size, tilt=tilt / MEANING_LENGTH**2)
    order = np.argsort(-products, kind="stable")
    points = (np.cumsum(weights[levels[order]]) + UNIT // 2) // UNIT
    chosen = order[np.diff(points, prepend=0) > 0][:size]
    return np.sort(chosen).astype(np.int32)


def _weigh(counts: NDArray[np.int64], *, size: int, tilt: float) -> NDArray[np.int64]:
    law = np.exp(tilt * (np.arange(len(counts)) - len(counts) + 1.0))
    least, largest = np.log(size * UNIT / (counts @ law)), np.log(UNIT / law[0]) + 1
    for _ in range(BISECTIONS):
        factor = (least + largest) / 2
        if counts @ _round(factor, law) < size * UNIT:
            least = factor
        else:
            largest = factor
    return _round(largest, law)


def _round(factor: float, law: NDArray[np.float64]) -> NDArray[np.int64]:
    return np.asarray(np.minimum(UNIT, np.exp(factor) * law).astype(np.int64))


def words_of_name(name: str, lexicon: Lexicon) -> tuple[str, ...]:
    """Return the words of a label's name, without numbers.

    A name is split at underscores, hyphens, capitals and digits. The result is empty unless the
    lexicon knows a word of the name that has at least MIN_LETTERS letters.
    """
    spelled = spell_out(name).split()
    parts = [part for word in spelled for part in ([word] if word in lexicon.places else DIGITS.split(word))]
    words = tuple(part for part in parts if not part.isdigit())
    return words if any(len(word) >= MIN_LETTERS and word in lexicon.places for word in words) else ()


def spell_names(names: Sequence[str]) -> list[tuple[str, ...]]:
    lexicon = Lexicon.load()
    return [words_of_name(name, lexicon) for name in names]


def compare_names(
    sentences: SentenceList, spelled: Sequence[tuple[str, ...]]
) -> Iterator[tuple[int, NDArray[np.float32]]]:
    """Yield, for each name with words, its index and its inner products (N,) with all sentences."""
    meanings, table = read_meanings(sentences)
    named = [place for place, words in enumerate(spelled) if words]
    for start in range(0, len(named), BATCH_NAMES):
        part = named[start : start + BATCH_NAMES]
        yield from zip(part, multiply_all(meanings.of(spelled[place] for place in part), table), strict=True)
