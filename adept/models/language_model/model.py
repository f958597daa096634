"""The language model: how likely each next word is, as a mixture of n-grams over words and n-grams over word classes.

A text is its words and an end. A word of the vocabulary is one symbol, any other one is UNKNOWN and then its spelling
(``adept.models.language_model.unknown_words``). The next word's distribution function is a mixture of two n-gram models
(``adept.models.language_model.ngrams``): one over words, one over classes of words with the same neighbours (a city that never
followed "to" is likely there, as cities are). Words are numbered class by class, so that a mixture of distribution functions is one
itself.

Everything is integers. A share is an interval [low, high) inside [0, ONE), never empty.
"""

from collections import Counter
from collections.abc import Sequence
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np

from adept.models.language_model.ngrams import ONE, Ngrams, NgramTables, Whole, in_few_bits
from adept.models.language_model.unknown_words import UnknownWords
from adept.models.language_model.vocabulary import LEAST_SEEN, Vocabulary, in_texts

WORD_ORDER, CLASS_ORDER = 4, 5  # symbols of an n-gram
CONTEXT_WORDS = max(WORD_ORDER, CLASS_ORDER) - 1  # words before one that n-grams look at
SHARE_OF_CLASSES = 3 * ONE // 10  # in the mixture
SHARE_OF_WORDS = ONE - SHARE_OF_CLASSES


class ModelTables(NamedTuple):
    """A model in arrays, as ``adept.models.language_model.next_word`` reads it: of V words in C classes.

    Attributes:
        class_of: the class of each word, and C for what is before a text (V + 1,).
        first: the first word of each class, and V (C + 1,).
        in_class: how often the words of its class before each word were said, out of ONE (V,).
        spells: True if texts may have words outside the vocabulary.
    """

    words: NgramTables
    classes: NgramTables
    class_of: Whole
    first: Whole
    in_class: Whole
    spells: bool


class LanguageModel:
    """The probability of each next word, in whole numbers.

    Args:
        vocabulary: the words.
        words: n-grams of their numbers.
        classes: n-grams of their classes.
        spelling: of other words.
        spells: whether texts may have words outside the vocabulary; if not, the others share their probability.
    """

    def __init__(
        self, vocabulary: Vocabulary, words: Ngrams, classes: Ngrams, spelling: UnknownWords, *, spells: bool = True
    ) -> None:
        self.vocabulary, self.words, self.classes, self.spelling = vocabulary, words, classes, spelling
        self.spells = spells

    def __reduce__(self) -> tuple[Any, ...]:
        parts = (self.vocabulary, self.words, self.classes, self.spelling)
        return partial(LanguageModel, spells=self.spells), parts

    @classmethod
    def of(cls, texts: Sequence[Sequence[str]], *, seed: int = 0, least: int = 1) -> "LanguageModel":
        """Learn from texts, given as words; words, spellings and sequences in fewer than ``least`` different ones are left out."""
        vocabulary = Vocabulary.of(texts, seed=seed, least=least)
        rows = [vocabulary.encode(text) for text in texts]
        size = vocabulary.classes[-1] + 1
        classes = [[vocabulary.classes[number] for number in row] for row in rows]
        seen = Counter(word for text in texts for word in text)
        kept = [(word, seen[word]) for word in sorted(in_texts(texts, least))]
        # Names are what has to be spelled: words seen once count twice.
        spelled = [word for word, count in kept for _ in range(1 + (count < LEAST_SEEN))]
        return cls(
            vocabulary,
            Ngrams.of(rows, order=WORD_ORDER, size=len(vocabulary.words), least=least),
            Ngrams.of(classes, order=CLASS_ORDER, size=size, least=least),
            UnknownWords.of(spelled, vocabulary.words),
        )

    def without_unknown_words(self) -> "LanguageModel":
        """Return the same model without words outside the vocabulary."""
        return LanguageModel(self.vocabulary, self.words, self.classes, self.spelling, spells=False)

    @cached_property
    def tables(self) -> ModelTables:
        """Return all of it in arrays; made when it is first asked for."""
        vocabulary = self.vocabulary
        first, counts = np.array(vocabulary.first), np.array(vocabulary.counts)
        counts = np.maximum(in_few_bits(counts, counts.sum()), 1)
        begins = np.repeat(first[:-1], np.diff(first))
        sums = np.cumsum(counts) - counts
        totals = np.repeat(np.add.reduceat(counts, first[:-1]), np.diff(first))
        return ModelTables(
            words=self.words.tables,
            classes=self.classes.tables,
            class_of=np.array([*vocabulary.classes, self.classes.size]),
            first=first,
            in_class=ONE * (sums - sums[begins]) // totals,
            spells=self.spells,
        )
