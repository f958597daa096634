"""The language model: how likely each next word is, as a mixture of n-grams over words, n-grams over word classes, and an LSTM.

A text is its words and an end. A word of the vocabulary is one symbol, any other one is UNKNOWN and then its spelling
(``adept.models.language_model.unknown_words``). The next word's distribution function is a mixture of three: two n-gram models
(``adept.models.language_model.ngrams``), one over words, one over classes of words with the same neighbours (a city that never
followed "to" is likely there, as cities are), and an LSTM that reads the whole text (``adept.models.language_model.word_lstm``),
where the training text is public. Words are numbered class by class, so that a mixture of distribution functions is one itself.

Everything is integers. A share is an interval [low, high) inside [0, ONE), never empty.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from adept.models.language_model.intervals import ONE
from adept.models.language_model.ngrams import Ngrams, NgramTables, Whole, in_few_bits
from adept.models.language_model.unknown_words import UnknownWords
from adept.models.language_model.vocabulary import LEAST_SEEN, Vocabulary, in_texts
from adept.models.language_model.word_lstm import LARGE, NO_NETWORK, SMALL, NetworkTables, Size, WordLstm

if TYPE_CHECKING:
    from adept.models.language_model.common_prefixes import Prefixes

ORDER, CLASS_ORDER = 4, 5
SEEN = max(ORDER, CLASS_ORDER) - 1  # words before one that n-grams look at
SHARES_WITHOUT = (ONE - 3 * ONE // 10, 3 * ONE // 10, 0)  # of words, classes and the network in the mixture
SHARES = {
    SMALL: (ONE - ONE // 2 - 3 * ONE // 20, 3 * ONE // 20, ONE // 2),
    LARGE: (ONE - 3 * ONE // 4 - 3 * ONE // 40, 3 * ONE // 40, 3 * ONE // 4),
}


class ModelTables(NamedTuple):
    """A model in arrays, as ``adept.models.language_model.next_word`` reads it: of V words in C classes.

    Attributes:
        class_of: the class of each word, and C for what is before a text (V + 1,).
        first: the first word of each class, and V (C + 1,).
        largest_class: how many words it has.
        in_class: how often the words of its class before each word were said, out of ONE (V,).
        shares: of words, classes and the network in the mixture.
        spells: whether texts may have words outside the vocabulary.
    """

    words: NgramTables
    classes: NgramTables
    network: NetworkTables
    class_of: Whole
    first: Whole
    largest_class: int
    in_class: Whole
    shares: tuple[int, int, int]
    spells: bool


class LanguageModel:
    """The probability of each next word, in whole numbers.

    Args:
        vocabulary: the words.
        words: n-grams of their numbers.
        classes: n-grams of their classes.
        spelling: of other words.
        lstm: a network over the words' numbers; without it a word depends on the last ones alone.
        spells: whether texts may have words outside the vocabulary; if not, the others share their probability.
    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        words: Ngrams,
        classes: Ngrams,
        spelling: UnknownWords,
        lstm: WordLstm | None = None,
        *,
        spells: bool = True,
    ) -> None:
        self.vocabulary, self.words, self.classes, self.spelling, self.lstm = vocabulary, words, classes, spelling, lstm
        self.spells = spells
        self.shares = SHARES[lstm.size] if lstm else SHARES_WITHOUT

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
            Ngrams.of(rows, order=ORDER, size=len(vocabulary.words), least=least),
            Ngrams.of(classes, order=CLASS_ORDER, size=size, least=least),
            UnknownWords.of(spelled, vocabulary.words),
        )

    def with_network(
        self,
        texts: Sequence[Sequence[str]],
        *,
        size: Size = SMALL,
        seed: int = 0,
        report: Callable[[float], None] = lambda share: None,
    ) -> "LanguageModel":
        """Return the same model with a network that has read texts, which must be public: it may learn one by heart.

        Args:
            texts: what the model was learned from.
            size: of the network.
            seed: of its first weights and of the order of texts.
            report: gets the share of the work that is done.
        """
        from adept.models.language_model.word_lstm_training import learn_word_lstm  # learning alone needs PyTorch

        rows = [self.vocabulary.encode(text) for text in texts]
        lstm = learn_word_lstm(rows, self.vocabulary, seed=seed, size=size, report=report)
        return self.with_lstm(lstm)

    def with_lstm(self, lstm: WordLstm) -> "LanguageModel":
        """Return the same model with a network."""
        return LanguageModel(self.vocabulary, self.words, self.classes, self.spelling, lstm)

    def without_unknown_words(self) -> "LanguageModel":
        """Return the same model without words outside the vocabulary."""
        return LanguageModel(self.vocabulary, self.words, self.classes, self.spelling, self.lstm, spells=False)

    def without_network(self) -> "LanguageModel":
        """Return the same model without its network: quick, as only the last words count."""
        return LanguageModel(self.vocabulary, self.words, self.classes, self.spelling, spells=self.spells)

    def __reduce__(self) -> tuple[Any, ...]:
        parts = (self.vocabulary, self.words, self.classes, self.spelling, self.lstm)
        return partial(LanguageModel, spells=self.spells), parts

    @cached_property
    def prefixes(self) -> "Prefixes":
        """The distributions after the commonest prefixes of texts; made when they are first asked for."""
        from adept.models.language_model.common_prefixes import common_prefixes  # machine code, slow to import

        return common_prefixes(self)

    @cached_property
    def tables(self) -> ModelTables:
        """All of it in arrays; made when it is first asked for."""
        vocabulary = self.vocabulary
        first, counts = np.array(vocabulary.first), np.array(vocabulary.counts)
        counts = np.maximum(in_few_bits(counts, counts.sum()), 1)
        begins = np.repeat(first[:-1], np.diff(first))
        sums = np.cumsum(counts) - counts
        totals = np.repeat(np.add.reduceat(counts, first[:-1]), np.diff(first))
        return ModelTables(
            words=self.words.tables,
            classes=self.classes.tables,
            network=self.lstm.tables if self.lstm else NO_NETWORK,
            class_of=np.array([*vocabulary.classes, self.classes.size]),
            first=first,
            largest_class=int(np.diff(first).max()),
            in_class=ONE * (sums - sums[begins]) // totals,
            shares=self.shares,
            spells=self.spells,
        )
