"""A codec, which maps any text to a number below K, and each number to a text (2 <= K <= 2^120).

The codec stores some texts, and each of the smallest numbers stands for one of them. The first
stored texts are *public utterances*, which are sentences of the public training text. ``Codec.of``
orders the utterances so that, for every k, the first k utterances represent all utterances well.
The other stored texts are *listed texts* (``listed_texts``). An arithmetic code, which is based on
a language model, assigns a text to each of the larger numbers (``arithmetic_code``). *Broad text*
is public text about many subjects; a codec of broad text stores only sentences of this text.

The *description* of a record is the number of a text near to the record: a stored text
(``nearest_text``), or a text that a search finds (``beam_search``). The privacy guarantee of a
release holds whichever text is chosen (``adept.mechanisms.description``).

The codec keeps no cache from one batch of records to the next, because a faster answer would reveal
a repeated record. Within a batch, similar records take less time than dissimilar records; the
privacy statements mention this difference in time.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np

from adept.data.text_arguments import separate_characters, text_list
from adept.errors import ConfigurationError, ModelError
from adept.models.codec.listed_texts import MAX_LISTED_WORDS, ListedTexts, Words, list_likely
from adept.models.codec.nearest_text import MeaningIndex, NearestTextIndex, group_meanings
from adept.models.codec.word_weights_and_meanings import Meanings, WordWeights
from adept.models.language_model.ngram_mixture import LanguageModel
from adept.models.language_model.ngrams import BITS
from adept.models.language_model.vocabulary import MAX_WORDS, Learned
from adept.models.tokenizer import PUNCTUATION, join_words
from adept.models.word_vectors import Lexicon

if TYPE_CHECKING:  # machine code, slow to import, and needed by large K alone
    from adept.models.codec.arithmetic_code import ArithmeticCode
    from adept.models.codec.beam_search import BeamSearch

OPEN_SIZE = 1 << 18  # least K at which texts may hold unknown words
MAX_LISTED_SIZE = 1 << 24  # least K at which a list of texts wins little and costs time
MIN_SEARCH_RATIO = 2  # a search is worth its time if K is at least this many times the number of whole texts
MAX_PART_SIZE = 1 << 9  # largest K at which a codec of broad text uses a part of its sentences
POOL_SIZE, POOL_LETTERS = 4096, 200_000  # candidates, and letters of all of them, if there are no utterances
POOL_PROBES = 16  # candidates from which the length of all others is estimated
LETTERS_OF_WORD = 5  # letters that take as long to write as one word
SEAM_COST = 3_000  # for broad text: distance for each bit that the word after a seam costs more than in the record
MIN_END_BITS, END_PART = 6, 5  # for broad text: an end may cost a fifth of the bits of K, and at least 6 bits
MAX_TRIES = 50  # texts of the search for which a number is looked up
MAX_UTTERANCES = 1 << 14  # sentences of broad text that are utterances; the others are listed
SPOKEN_WORDS = range(4, 17)  # numbers of words of a sentence that may be an utterance
MIN_HOLDERS = 3  # least number of sentences that must hold each word of a kept sentence
MAX_RECORD_LETTERS = 100 * MAX_WORDS  # letters that are read of a record: a line of megabytes should not cost seconds
PUNCTUATION_MARKS = re.compile(f"({PUNCTUATION})")


@dataclass(eq=False)
class Codec(Learned):
    """A codec that is learned once from training text, saved with the model, and never changed."""

    model: LanguageModel
    weigh: WordWeights
    utterances: list[Words]  # in order; none where the training text is not public
    held_out: Sequence[Words] = ()  # utterances that nothing was learned from, for estimates; never written
    listed: ListedTexts = field(default_factory=ListedTexts)  # behind the utterances
    unlisted: int = 0  # number of stored texts that ``with_list`` will reach; 0 if nothing is left to list
    lexicon: Lexicon | None = None  # without it records are described by their words alone
    directory: Path | None = None  # where it was loaded from

    def __post_init__(self) -> None:
        self.models = replace(self.model, spells=False), self.model
        self._sizes: dict[int, _Sized] = {}

    @classmethod
    def of(cls, texts: Sequence[str], *, public: bool, listed: int = 0, seed: int = 0) -> "Codec":
        """Learn a codec from training texts.

        A codec of public texts stores these texts as utterances, and ``with_list`` can add likely
        texts until ``listed`` texts are stored. A codec of private texts stores no text; it stores
        a word or a sequence of words only if two different texts, perhaps of one person, contain
        it.
        """
        rows = [row for row in map(words_of, texts) if row]
        different = list(dict.fromkeys(rows))
        weigh = WordWeights.of(rows if public else different)
        distinct = different if public else []
        ordered = [distinct[number] for number in NearestTextIndex(distinct, weigh).order(seed=seed)]
        model = LanguageModel.of(rows, seed=seed, least=1 if public else 2)
        return cls(model, weigh, ordered, unlisted=listed if public and listed > len(ordered) else 0)

    @classmethod
    def of_sentences(cls, texts: Sequence[str], *, lexicon: Lexicon, seed: int = 0) -> "Codec":
        """Learn a codec of broad public text, which stores all sentences without rare words."""
        different = list(dict.fromkeys(row for row in map(words_of, texts) if row))
        rows = sorted(_of_common_words(different), key=lambda row: len(row) not in SPOKEN_WORDS)
        model = LanguageModel.of(rows, seed=seed)
        numbers = [number for row in rows[MAX_UTTERANCES:] for number in model.vocabulary.encode(row)]
        weigh = WordWeights.of(different)
        listed = ListedTexts(model.vocabulary.words, np.array(numbers, dtype=np.int16))
        listed.groups = group_meanings(Meanings(lexicon, weigh).of([], listed), seed=seed)
        return cls(model, weigh, rows[:MAX_UTTERANCES], listed=listed, lexicon=lexicon)

    def with_list(self) -> "Codec":
        """Return the codec with a list of likely texts, which takes about a minute to make."""
        if not self.unlisted:
            return self
        return replace(self, listed=list_likely(self.model, self.utterances, count=self.unlisted), unlisted=0)

    def choose_size(self, size: int, *, joint: bool = False) -> int:
        """Return the number K of descriptions to use if a user asks for ``size`` descriptions.

        Let n be the number of sentences that a codec of broad text stores (0 for other codecs). K
        is n if ``size`` is above a limit and at most MIN_SEARCH_RATIO * n. Otherwise, K is
        ``size``. The limit is n if text and label are released together (``joint``), and
        MAX_PART_SIZE if not.
        """
        most = MIN_SEARCH_RATIO * self.sentences
        return self.sentences if (self.sentences if joint else MAX_PART_SIZE) < size <= most else size

    @property
    def sentences(self) -> int:
        """Number of stored sentences, if the codec was learned from broad text; otherwise 0."""
        return len(self.utterances) + len(self.listed) if self.lexicon else 0

    def describe(self, texts: Sequence[str], *, size: int) -> list[int]:
        """Return each text's description: a number below ``size`` that no other text influences."""
        sized, records = self._sized(size), [words_of(text) for text in text_list(texts)]
        nearest = zip(records, sized.index.nearest(records), strict=True)
        return [sized.describe(record, place, distance) for record, (place, distance) in nearest]

    def describe_by_several(self, texts: Sequence[str], *, size: int, count: int) -> list[list[int]]:
        """Return, for each text, the numbers of the ``count`` nearest stored sentences."""
        records = [*map(words_of, text_list(texts))]
        if not count <= size <= self.sentences:
            raise ConfigurationError(
                f"top must be 1 unless all descriptions are sentences, of which there are {self.sentences}: got {count} of {size}"
            )
        return list(cast(MeaningIndex, self._sized(size).index).several(records, count))

    @property
    def sentence_index(self) -> MeaningIndex:
        """Index for searches among all stored sentences of a codec of broad text."""
        return cast(MeaningIndex, self._sized(self.sentences).index)

    def write(self, descriptions: Sequence[int], *, size: int) -> list[str]:
        """Return the texts for which descriptions (numbers below ``size``) stand."""
        sized = self._sized(size)
        for row, number in enumerate(descriptions, start=1):
            if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number < size:
                raise ConfigurationError(
                    f"descriptions must be integers from 0 to {size - 1}, got another value in record {row}"
                )
        return [join_words(sized.write(number)) for number in descriptions]

    def _sized(self, size: int) -> "_Sized":
        if size < 2:
            raise ConfigurationError(f"size must be at least 2, got {size}")
        if self.unlisted:
            raise ModelError("the codec lacks its list of likely texts: use what with_list() returns")
        if size not in self._sizes:
            self._sizes[size] = _Sized(self, size)
        return self._sizes[size]


class _Sized:
    """The parts of a codec that depend on the number K of descriptions, but not on any record."""

    def __init__(self, codec: Codec, size: int) -> None:
        utterances, broad = codec.utterances[:size], codec.lexicon is not None
        more = len(codec.listed) if size < MAX_LISTED_SIZE or broad else 0
        listed = codec.listed.first(min(more, size - len(utterances)))
        self.first = len(utterances) + len(listed)
        self.model = codec.models[size >= OPEN_SIZE]
        self.coded = max(1, size - self.first)
        self.numbers: Sequence[int] = range(self.first)
        self.index: NearestTextIndex | MeaningIndex = NearestTextIndex(utterances, codec.weigh, listed)
        if codec.lexicon:
            self.index = MeaningIndex(utterances, Meanings(codec.lexicon, codec.weigh), listed)
        self.searches = size > self.first * (MIN_SEARCH_RATIO if len(listed) else 1)
        self.seam = SEAM_COST * broad
        self.end_bits = max(MIN_END_BITS, self.coded.bit_length() // END_PART) if broad else BITS
        if size > self.first:
            self._prepare()
        if not self.first:
            self._find_candidates(codec.weigh, size)

    @cached_property
    def code(self) -> "ArithmeticCode":
        from adept.models.codec.arithmetic_code import ArithmeticCode

        return ArithmeticCode(self.model, self.coded, end_bits=self.end_bits)

    @cached_property
    def search(self) -> "BeamSearch":
        from adept.models.codec.beam_search import BeamSearch

        return BeamSearch(self.model, weigh=self.index.weigh, seam=self.seam)

    def _prepare(self) -> None:
        """Create tables and machine code in advance, so that no record has to wait for them."""
        from adept.models.language_model.machine_code import telling

        with telling("making machine code, once for this version: about half a minute", compiles=True):
            words = self.code.write(self.coded // 2)
            if self.searches:
                self.model.spelling.spans(self.model.spelling.alphabet[:2])
                self.code.number(words)
                next(self.search.near(words, bits=self.code.bits), None)

    def _find_candidates(self, weigh: WordWeights, size: int) -> None:
        pool = min(POOL_SIZE, size)
        letters = sum(LETTERS_OF_WORD + len(word) for words in self.code.spread(POOL_PROBES) for word in words)
        pool = min(pool, max(1, POOL_LETTERS * POOL_PROBES // max(1, letters)))  # written in some seconds
        self.searches = size > pool
        written: dict[int, Words] = {}
        for place, words in enumerate(self.code.spread(pool)):
            number = place if pool == size else self.code.number(words)
            if number is not None:
                written[number] = tuple(words)
        written = written or {0: tuple(self.write(0))}
        self.numbers, self.index = list(written), NearestTextIndex(list(written.values()), weigh)

    def describe(self, record: Words, place: int, distance: int) -> int:
        """Return the description of a record, whose nearest stored text is at ``place``.

        ``distance`` is the distance of the stored text from the record. If the arithmetic code has
        a number for the record itself, or for a nearer text that the search finds, the method
        returns this number; otherwise, it returns the number of the stored text.
        """
        if self.searches and tuple(self.index[place]) != record:
            for words in chain([record], self._near(record, distance)):
                if (number := self.code.number(words)) is not None:
                    return self.first + number
        return self.numbers[place]

    def _near(self, record: Words, distance: int) -> Iterator[Words]:
        found = self.search.near(record, bits=self.code.bits, within=distance)
        yield from islice(self.index.nearer(record, ((text.words, text.seams) for text in found), distance), MAX_TRIES)

    def write(self, number: int) -> Sequence[str]:
        return self.index[number] if number < self.first else self.code.write(number - self.first)


def _of_common_words(rows: Sequence[Words]) -> Sequence[Words]:
    while True:
        holders = Counter(word for row in rows for word in set(row))
        common = {word for word, count in holders.most_common(MAX_LISTED_WORDS - 2) if count >= MIN_HOLDERS}
        kept = [row for row in rows if common.issuperset(row)]
        if len(kept) == len(rows):
            return kept
        rows = kept


def words_of(text: str) -> Words:
    """Return the first MAX_WORDS words and punctuation marks of a text, in lower case."""
    clean = text[:MAX_RECORD_LETTERS]
    if not (clean.isascii() and clean.isprintable()):  # of most texts nothing has to be taken out
        clean = unicodedata.normalize("NFC", clean.encode("utf-8", "replace").decode("utf-8"))
        clean = separate_characters("".join(" " if unicodedata.category(c)[0] == "C" else c for c in clean))
    words = (PUNCTUATION_MARKS.sub(r" \1 ", word).split() for word in clean.lower().split())
    return tuple(part for parts in words for part in parts)[:MAX_WORDS]
