r"""Cells of labels: public sentences that resemble records of a label, to judge by its name.

The *cell* of a label c is a set of k public sentences. A record of this label is released as one of
them (``adept.mechanisms.description``). Every cell begins with the same sentences: the
first ones that the codec, the list of all public sentences, stores. Because of these sentences, a
name that misleads does less harm.

Each later sentence s has a weight, ``min(1, f * exp(beta * cos(c, s)))``. Here ``cos(c, s)`` is the
cosine between the meanings of the label and the sentence. The factor f is such that all weights and
the number of first sentences sum to k. The number ``beta`` is large for informative names, which
are near to many sentences: as the cosine of the sentence at rank NAME_RANK grows from the smaller
to the larger of NAME_COSINES, ``beta`` grows from the smaller to the larger of TILTS. The later
sentences are sorted by cosine, and the cell takes a sentence wherever the running sum of weights
passes a whole number plus one half.

The meaning of a label is the mean of the meaning of its name and the meanings of *public sentences*
about it, if there are any, such as descriptions or a model's labelled examples. The cell of a label
without any known word is the first k sentences. A name is split into words at underscores, hyphens,
capitals and digits.

*Claim*: the cell of c is a function of c, the sentences about c, the codec and k. It has exactly k
different sentences. *Proof*. Products of meanings are whole numbers that floats hold exactly, so a
product does not depend on the other names or on how many there are. Let n be the number of first
sentences. The weights of the later sentences, in units of ``1 / UNIT``, are whole numbers of at
most UNIT that sum to ``(k - n) * UNIT`` or more. Each sentence adds one step to the running sum of
weights. Of the k - n points ``(j + 1/2) * UNIT`` each lies in the step of one sentence, and a step
of at most UNIT holds at most one of these points. A cell that was dropped from memory is made again
exactly as it was. QED. Making a cell takes time, so somebody who times the program can tell when a
cell is made. The privacy statements mention this.
"""

import re
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from adept.models.adapt import read_meanings, spell_out
from adept.models.codec.codec import Codec, words_of
from adept.models.codec.listed_texts import Words
from adept.models.codec.meaning import MEANING_LENGTH, multiply_all
from adept.models.codec.nearest_text import MeaningIndex
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
    """The cells of labels, each made at its first use and kept while memory allows.

    Args:
        codec: a codec of broad text, whose sentences the cells hold.
        index: the index of all sentences of the codec.
        size: the number k of sentences in a cell.
        first: the number of first sentences of the codec in every cell.
        about: public sentences about labels.
    """

    def __init__(
        self,
        codec: Codec,
        index: MeaningIndex,
        *,
        size: int,
        first: int = 0,
        about: Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        self._codec, self._index, self.size, self.first = codec, index, size, first
        self.about = {label: tuple(map(words_of, sentences)) for label, sentences in (about or {}).items()}
        self._kept: OrderedDict[Texts, Places] = OrderedDict()
        self._lock = Lock()

    def __reduce__(self) -> tuple[Any, ...]:
        return _remake, (self._codec, self._index, self.size, self.first, self.about)

    def of(self, labels: Iterable[str]) -> dict[str, Places]:
        """Return the cell of each label: the places (k,) of its sentences, in ascending order."""
        names = list(dict.fromkeys(labels))
        spelled = zip(names, spell_names(self._codec, names), strict=True)
        said = {name: (*filter(None, [words]), *self.about.get(name, ())) for name, words in spelled}
        with self._lock:
            cells = {texts: self._kept[texts] for texts in dict.fromkeys(said.values()) if texts in self._kept}
            cells |= self._make([texts for texts in dict.fromkeys(said.values()) if texts not in cells])
            self._keep(cells)
        return {name: cells[texts] for name, texts in said.items()}

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


def _remake(codec: Codec, index: MeaningIndex, size: int, first: int, about: dict[str, Texts]) -> LabelCells:
    cells = LabelCells(codec, index, size=size, first=first)
    cells.about = about
    return cells


def choose_tilt(products: NDArray[np.int16]) -> float:
    """Return the number beta for a name, from its products (N,) with all sentences.

    Beta is large for informative names, whose product is still large at rank NAME_RANK.
    """
    rank = min(NAME_RANK, len(products))
    cosine = -float(np.partition(-products, rank - 1)[rank - 1]) / MEANING_LENGTH**2
    return float(np.interp(cosine, NAME_COSINES, TILTS))


def choose_near(products: NDArray[np.int16], *, size: int, tilt: float) -> Places:
    """Choose ``size`` sentences by their products (N,) with a label; return their places.

    Sentences with a large product are chosen more densely. The places are in ascending order.
    """
    levels = products.astype(np.int64) - int(products.min())
    weights = _weigh(np.bincount(levels), size=size, tilt=tilt / MEANING_LENGTH**2)
    order = np.argsort(-products, kind="stable")
    points = (np.cumsum(weights[levels[order]]) + UNIT // 2) // UNIT
    chosen = order[np.diff(points, prepend=0) > 0][:size]
    return np.sort(chosen).astype(np.int32)


def _weigh(counts: NDArray[np.int64], *, size: int, tilt: float) -> NDArray[np.int64]:
    """Return the weight of a sentence for each level of its product with the label.

    ``counts`` holds the number of sentences at each level. The weights of all sentences sum to
    ``size * UNIT`` or slightly more.
    """
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

    There are none if the lexicon knows no word of the name that has at least MIN_LETTERS letters.
    """
    spelled = spell_out(name).split()
    parts = [part for word in spelled for part in ([word] if word in lexicon.places else DIGITS.split(word))]
    words = tuple(part for part in parts if not part.isdigit())
    return words if any(len(word) >= MIN_LETTERS and word in lexicon.places for word in words) else ()


def spell_names(codec: Codec, names: Sequence[str]) -> list[tuple[str, ...]]:
    """Return the words of each name (``words_of_name``)."""
    lexicon = codec.lexicon or Lexicon.load()
    return [words_of_name(name, lexicon) for name in names]


def compare_names(codec: Codec, spelled: Sequence[tuple[str, ...]]) -> Iterator[tuple[int, NDArray[np.float32]]]:
    """Yield the place of each name with words, and its products (N,) with all sentences."""
    meanings, table = read_meanings(codec)
    named = [place for place, words in enumerate(spelled) if words]
    for start in range(0, len(named), BATCH_NAMES):
        part = named[start : start + BATCH_NAMES]
        yield from zip(part, multiply_all(meanings.of(spelled[place] for place in part), table), strict=True)
