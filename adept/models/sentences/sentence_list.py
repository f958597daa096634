"""The public sentences of a model: a list, from which ``description`` releases a sentence.

The list holds sentences of the public training text, and no other text; the index of a sentence in the list is its
*description*. The first sentences are the *utterances*, ordered so that, for every k, the first k represent all
utterances well. The others are *listed*, in less memory. *Broad text* is public text about many subjects. A list of
broad text is so long that each record is compared with some of its sentences only; any other list is compared as a
whole. The privacy guarantee of a release holds whichever sentences are chosen (``adept.mechanisms.selection``). The
list keeps no cache from one batch of records to the next, because a faster answer would reveal a repeated record.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from adept.data.texts import text_list
from adept.errors import ConfigurationError, ModelError
from adept.models.sentence_encoder import Codes
from adept.models.sentences.meanings import (
    MAX_LISTED_WORDS,
    Learned,
    ListedTexts,
    Words,
    WordWeights,
    meanings_of,
    meanings_of_table,
    multiply_all,
    tabulate,
    words_of,
)
from adept.models.sentences.nearest_text import SentenceIndex, group_meanings
from adept.models.tokenizer import join_words
from adept.ranges import refuse

MAX_UTTERANCES = 1 << 14  # sentences of broad text that are utterances; the others are listed
SPOKEN_WORDS = range(4, 17)  # numbers of words of a sentence that may be an utterance
MIN_HOLDERS = 3  # least number of sentences that must hold each word of a kept sentence
COMPARED_TEXTS = 64  # texts whose products with all sentences are computed together


@dataclass(eq=False)
class SentenceList(Learned):
    """Public sentences that are chosen once, saved with the model, and never changed."""

    weigh: WordWeights
    utterances: list[Words]  # in order
    held_out: Sequence[Words] = ()  # public sentences that are not in the list, for estimates
    listed: ListedTexts = field(default_factory=ListedTexts)  # behind the utterances
    is_broad: bool = False  # True if the sentences are about many subjects

    def __post_init__(self) -> None:
        self._indexes: dict[int, SentenceIndex] = {}

    @classmethod
    def of(cls, texts: Sequence[str], *, held_out: Iterable[str] = (), seed: int = 0) -> "SentenceList":
        """List all different sentences of public training texts."""
        rows = [row for row in map(words_of, texts) if row]
        distinct, weigh = list(dict.fromkeys(rows)), WordWeights.of(rows)
        ordered = [distinct[number] for number in SentenceIndex(distinct, weigh).order(seed=seed)]
        return cls(weigh, ordered, _drop_known(ordered, held_out))

    @classmethod
    def of_broad_text(cls, texts: Sequence[str], *, held_out: Iterable[str] = (), seed: int = 0) -> "SentenceList":
        """List those sentences of broad public text that hold no rare words."""
        different = list(dict.fromkeys(row for row in map(words_of, texts) if row))
        rows = sorted(_of_common_words(different), key=lambda row: len(row) not in SPOKEN_WORDS)
        weigh, utterances = WordWeights.of(different), rows[:MAX_UTTERANCES]
        listed = ListedTexts.of(rows[MAX_UTTERANCES:])
        listed.groups = group_meanings(_read_all([], listed), seed=seed)
        return cls(weigh, utterances, _drop_known(utterances, held_out), listed, True)

    def __len__(self) -> int:
        return len(self.utterances) + len(self.listed)

    def __getitem__(self, place: int) -> Words:
        count = len(self.utterances)
        return self.utterances[place] if place < count else self.listed[place - count]

    def spread(self, first: int, count: int) -> NDArray[np.int32]:
        """Return the places of ``count`` sentences behind the ``first``: one of each group, then a second one, and so on."""
        groups = self.listed.groups
        order = np.argsort(groups, kind="stable")
        turns = np.arange(len(order)) - np.searchsorted(groups[order], groups[order])
        places = len(self.utterances) + order[np.lexsort((order, turns))].astype(np.int32)
        return places[places >= first][:count]

    def nearest(self, texts: Sequence[str], *, size: int, count: int = 1) -> list[list[int]]:
        """Return, for each text alone, the ``count`` nearest of the first ``size`` sentences."""
        records = text_list(texts)
        refuse(
            (
                not 1 <= count <= size <= len(self),
                f"size must be from {count} to {len(self)}, the number of public sentences, got {size}",
            )
        )
        return list(self.index(size).several(records, count))

    def index(self, size: int | None = None) -> SentenceIndex:
        """Return the index of the first ``size`` sentences, by default of all."""
        count = len(self) if size is None else size
        if count not in self._indexes:
            said = self.utterances[:count]
            more = self.listed.first(count - len(said))
            self._indexes[count] = SentenceIndex(said, self.weigh, more, compares_all=not self.is_broad)
        return self._indexes[count]

    def table(self) -> Codes:
        """Return the meanings (N, d) of all sentences; raise ModelError unless they are broad text."""
        if not self.is_broad:
            raise ModelError("model_dir must hold a model of broad text: leave model_dir out, or give examples")
        return _read_all(self.utterances, self.listed)

    def compare(self, asked: Sequence[str], table: Codes | None = None) -> Iterator[NDArray[np.float32]]:
        """Yield, for each text, the inner products (N,) of its meaning with ``table`` (``self.table()``)."""
        table = self.table() if table is None else table
        for start in range(0, len(asked), COMPARED_TEXTS):
            yield from multiply_all(meanings_of(asked[start : start + COMPARED_TEXTS]), table)

    def write(self, places: Sequence[int]) -> list[str]:
        """Return the sentences at the given places."""
        for row, place in enumerate(places, start=1):
            if isinstance(place, bool) or not isinstance(place, int) or not 0 <= place < len(self):
                raise ConfigurationError(
                    f"places must be integers from 0 to {len(self) - 1}, got another value in record {row}"
                )
        return [join_words(self[place]) for place in places]


def _read_all(texts: Sequence[Words], more: ListedTexts) -> Codes:
    words, table = tabulate(texts, more)
    return meanings_of_table([*words], table)


def _drop_known(known: Iterable[Words], texts: Iterable[str]) -> list[Words]:
    """Return the different texts that are not among the known ones, as words."""
    held = set(known)
    return [words for words in dict.fromkeys(map(words_of, texts)) if words and words not in held]


def _of_common_words(rows: Sequence[Words]) -> Sequence[Words]:
    while True:
        holders = Counter(word for row in rows for word in set(row))
        common = {word for word, count in holders.most_common(MAX_LISTED_WORDS - 2) if count >= MIN_HOLDERS}
        kept = [row for row in rows if common.issuperset(row)]
        if len(kept) == len(rows):
            return kept
        rows = kept
