"""A language model: a mixture of n-grams of words and n-grams of word classes.

A text is a sequence of symbols. Each word of the vocabulary is one symbol. A word outside the
vocabulary is the symbol UNKNOWN, followed by the spelling of the word. A spelling consists of
letters or, if the vocabulary is English, of one entry in a list of the commonest English words. If
a word has both kinds of spelling, the model uses the likelier one. The model gives each symbol a
*share*: an interval [low, high) of whole numbers from 0 to ONE. The probability of the symbol is
``(high - low) / ONE``.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import accumulate, takewhile
from math import prod
from typing import NamedTuple

import numpy as np

from adept.models.language_model.ngrams import ONE, Ngrams, NgramTables, Whole, in_few_bits
from adept.models.language_model.vocabulary import LEAST_SEEN, Learned, Vocabulary, in_texts
from adept.models.word_vectors import MIN_ENGLISH_SHARE, Lexicon

WORD_ORDER, CLASS_ORDER = 4, 5  # symbols of an n-gram
CONTEXT_WORDS = max(WORD_ORDER, CLASS_ORDER) - 1  # words before a word that n-grams read
SHARE_OF_CLASSES = 3 * ONE // 10  # share of the n-grams of classes in the mixture
SHARE_OF_WORDS = ONE - SHARE_OF_CLASSES
LETTER_ORDER, MAX_WORD_LETTERS = 6, 30
LISTED_SHARE = ONE // 2  # the share of words of the lexicon
ZIPF_OFFSET, ZIPF_WEIGHT = 20, 1 << 40  # the r-th word has ZIPF_WEIGHT // (r + ZIPF_OFFSET)

Span = tuple[int, int]  # a share of an interval, from the first to the second number out of ONE


class SpellingTables(NamedTuple):
    letters: NgramTables
    edges: Whole  # F of each of M listed words, and ONE (M + 1, 1); a single 0 if no word is listed


@dataclass(frozen=True, eq=False)
class UnknownWords(Learned):
    """A model of the spelling of words that are not in the vocabulary."""

    letters: Ngrams  # n-grams of the numbers of letters, where 0 is the end of a word
    alphabet: str  # letter number i is alphabet[i - 1]
    known: Sequence[str]  # the vocabulary, whose words need no spelling

    @classmethod
    def of(cls, words: Iterable[str], known: Sequence[str]) -> "UnknownWords":
        """Learn from a list of words how words are spelled; a word listed twice counts twice.

        ``known`` is the vocabulary of the model, whose words need no spelling.
        """
        spelled = list(words)
        alphabet = "".join(sorted({letter for word in spelled for letter in word}))
        numbers = {letter: number for number, letter in enumerate(alphabet, start=1)}
        rows = [[*(numbers[letter] for letter in word), 0] for word in spelled]
        return cls(Ngrams.of(rows, order=LETTER_ORDER, size=len(alphabet) + 1), alphabet, known)

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {letter: number for number, letter in enumerate(self.alphabet, start=1)}

    @cached_property
    def _listed_words(self) -> list[str]:
        lexicon, known = Lexicon.load(), set(self.known)
        if len(known & lexicon.places.keys()) < MIN_ENGLISH_SHARE * len(known):
            return []
        return [word for word in lexicon.words if word not in known]

    @cached_property
    def _listed(self) -> dict[str, int]:
        return {word: place for place, word in enumerate(self._listed_words)}

    @cached_property
    def _edges(self) -> list[int]:
        sums = [0, *accumulate(ZIPF_WEIGHT // (rank + ZIPF_OFFSET) for rank in range(len(self._listed)))]
        return [ONE * value // max(1, sums[-1]) for value in sums]

    def spans(self, word: str) -> list[Span] | None:
        """Return the share of each symbol in a word's likeliest spelling; None without spelling."""
        ways = [way for way in (self._as_listed(word), self._as_letters(word)) if way]
        return max(ways, key=lambda way: Fraction(prod(high - low for low, high in way), ONE ** len(way)), default=None)

    def word(self, letters: Sequence[int]) -> str:
        """Return the word whose spelling a decoder has read.

        If the word is at place r of the list of common words, ``letters`` begins with -1 - r.
        Otherwise, ``letters`` holds the numbers of the word's letters, followed by 0.
        """
        if letters[0] < 0:
            return self._listed_words[-1 - letters[0]]
        return "".join(self.alphabet[letter - 1] for letter in takewhile(bool, letters))

    @cached_property
    def tables(self) -> SpellingTables:
        return SpellingTables(self.letters.tables, np.array(self._edges if self._listed else [0])[:, None])

    def _as_listed(self, word: str) -> list[Span]:
        place = self._listed.get(word)
        return [] if place is None else [(0, LISTED_SHARE), (self._edges[place], self._edges[place + 1])]

    def _as_letters(self, word: str) -> list[Span]:
        numbers = [self._numbers.get(letter, 0) for letter in word]
        if not 0 < len(numbers) <= MAX_WORD_LETTERS or 0 in numbers:
            return []
        from adept.models.language_model.interval_coder import spell  # machine code, slow to import

        shares = spell(self.letters.tables, np.array([*numbers, 0][:MAX_WORD_LETTERS]))  # the longest word needs no end
        return [*([(LISTED_SHARE, ONE)] if self._listed else []), *((low, high) for low, high in shares.tolist())]


class ModelTables(NamedTuple):
    words: NgramTables
    classes: NgramTables
    class_of: Whole  # the class of each word, and C for the places before a text (V + 1,)
    first: Whole  # the first word of each class, and V (C + 1,)
    in_class: Whole  # share, out of ONE, of the earlier words of its class in the class (V,)
    spells: bool  # True if texts may have words outside the vocabulary


@dataclass(frozen=True, eq=False)
class LanguageModel(Learned):
    """A language model that computes the probability of each next word in units of 1 / ONE."""

    vocabulary: Vocabulary
    words: Ngrams
    classes: Ngrams
    spelling: UnknownWords
    spells: bool = True  # if texts have no words outside the vocabulary, the others share their probability

    @classmethod
    def of(cls, texts: Sequence[Sequence[str]], *, seed: int = 0, least: int = 1) -> "LanguageModel":
        """Learn a model of the words and n-grams that occur in ``least`` or more distinct texts."""
        vocabulary = Vocabulary.of(texts, seed=seed, least=least)
        rows = [vocabulary.encode(text) for text in texts]
        classes = [[vocabulary.classes[number] for number in row] for row in rows]
        seen = Counter(word for text in texts for word in text)
        kept = [(word, seen[word]) for word in sorted(in_texts(texts, least))]
        # Names are what has to be spelled: words seen once count twice.
        spelled = [word for word, count in kept for _ in range(1 + (count < LEAST_SEEN))]
        return cls(
            vocabulary,
            Ngrams.of(rows, order=WORD_ORDER, size=len(vocabulary.words), least=least),
            Ngrams.of(classes, order=CLASS_ORDER, size=vocabulary.classes[-1] + 1, least=least),
            UnknownWords.of(spelled, vocabulary.words),
        )

    @cached_property
    def tables(self) -> ModelTables:
        vocabulary = self.vocabulary
        first, counts = np.array(vocabulary.first), np.array(vocabulary.counts)
        counts = np.maximum(in_few_bits(counts, counts.sum()), 1)
        begins = np.repeat(first[:-1], np.diff(first))
        sums = np.cumsum(counts) - counts
        totals = np.repeat(np.add.reduceat(counts, first[:-1]), np.diff(first))
        return ModelTables(
            self.words.tables,
            self.classes.tables,
            np.array([*vocabulary.classes, self.classes.size]),
            first,
            ONE * (sums - sums[begins]) // totals,
            self.spells,
        )
