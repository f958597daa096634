"""The language model: how likely each next word is, as a mixture of n-grams over words, n-grams over word classes, and an LSTM.

A text is its words and an end. A word of the vocabulary is one symbol, any other one is UNKNOWN and then its spelling
(``adept.models.language_model.unknown_words``). The next word's distribution function is a mixture of three: two n-gram models
(``adept.models.language_model.ngrams``), one over words, one over classes of words with the same neighbours (a city that never
followed "to" is likely there, as cities are), and an LSTM that reads the whole text (``adept.models.language_model.word_lstm``),
where the training text is public. Words are numbered class by class, so that a mixture of distribution functions is one itself.

Everything is integers. A share is an interval [low, high) inside [0, ONE), never empty.
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import Any

from adept.models.language_model.intervals import BITS, ONE, Span
from adept.models.language_model.ngrams import Context, Ngrams
from adept.models.language_model.unknown_words import UnknownWords
from adept.models.language_model.vocabulary import LEAST_SEEN, Vocabulary, in_texts
from adept.models.language_model.word_lstm import State, WordLstm

ORDER, CLASS_ORDER = 4, 5
SEEN = max(ORDER, CLASS_ORDER) - 1  # words before one that n-grams look at
SHARES_WITHOUT = (ONE - 3 * ONE // 10, 3 * ONE // 10, 0)  # of words, classes and the network in the mixture
SHARES = (ONE - ONE // 2 - 3 * ONE // 20, 3 * ONE // 20, ONE // 2)
MEMORY = 2_000  # histories that a reading remembers, and as many that were asked for before them: it only saves time


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
        self.shares = SHARES if lstm else SHARES_WITHOUT

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
        self, texts: Sequence[Sequence[str]], *, seed: int = 0, report: Callable[[float], None] = lambda share: None
    ) -> "LanguageModel":
        """Return the same model with a network that has read texts, which must be public: it may learn one by heart.

        Args:
            texts: what the model was learned from.
            seed: of the network.
            report: gets the share of the work that is done.
        """
        from adept.models.language_model.word_lstm_training import learn_word_lstm  # learning alone needs PyTorch

        rows = [self.vocabulary.encode(text) for text in texts]
        lstm = learn_word_lstm(rows, self.vocabulary, seed=seed, report=report)
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

    def prepare(self) -> None:
        """Make every table that is otherwise made when a text first needs it."""
        for part in (self.vocabulary, self.words, self.classes, self.spelling, self.spelling.letters):
            for name, attribute in vars(type(part)).items():
                if isinstance(attribute, cached_property):
                    getattr(part, name)
        if self.lstm:
            self.lstm.class_edges(self.lstm.start())  # the curves


class Reading:
    """Texts read word by word under a model: the candidates of one record, or the texts of released numbers.

    It remembers the prefixes that it met, and the model remembers nothing, so that the time of a record does not depend on other
    records, nor that of a release on whether it is what its record was described as.
    """

    def __init__(self, model: LanguageModel) -> None:
        self.model = model
        self._found: dict[Context, _Next] = {}
        self._before: dict[Context, _Next] = {}  # what was found before those

    @property
    def start(self) -> Context:
        """The history before the first word: as many numbers as n-grams look at."""
        return (len(self.model.vocabulary.words),) * SEEN

    def after(self, history: Context, number: int) -> Context:
        """The history after one more word: all words before, or the last ones if no network reads them."""
        return (*history, number) if self.model.lstm else (*history[1:], number)

    def span(self, history: Context, number: int) -> Span:
        """The share of texts with this history that go on with a word."""
        return self._next(history).span(number)

    def find(self, history: Context, point: int) -> tuple[int, Span]:
        """The word whose share holds a point of [0, ONE), and its share."""
        return self._next(history).find(point)

    def likely(self, history: Context, count: int) -> list[int]:
        """Words that are likely after a history."""
        return self.model.words.likely(history[1 - ORDER :], count)

    def _next(self, history: Context) -> "_Next":
        found = self._found.get(history)
        if found is None:
            found = self._before.get(history) or self._made(history)
            if len(self._found) >= MEMORY:
                self._before, self._found = self._found, {}
            self._found[history] = found
        return found

    def _made(self, history: Context) -> "_Next":
        lstm = self.model.lstm
        return _Next(self.model, history[-SEEN:], self._read(lstm, history) if lstm else None)

    def _read(self, lstm: WordLstm, history: Context) -> State:
        """The network's state after a history."""
        if len(history) == SEEN:
            return lstm.start()
        return lstm.read(self._next(history[:-1]).state or self._read(lstm, history[:-1]), history[-1])


class _Next:
    """The next word's distribution after one history, given by its last words and the network's state."""

    def __init__(self, model: LanguageModel, history: Context, state: State | None) -> None:
        vocabulary, outside = model.vocabulary, len(model.vocabulary.words)
        around = (model.classes.size if number == outside else vocabulary.classes[number] for number in history)
        self.model, self.vocabulary, self.state = model, vocabulary, state
        self.words, self.classes = model.words.branches(history[1 - ORDER :]), model.classes.branches(tuple(around))
        self._begins: dict[int, int] = {}

    def span(self, number: int) -> Span:
        """A word's share."""
        edge = self._edges_of(self.vocabulary.classes[number])
        return edge(number), edge(number + 1)

    def find(self, point: int) -> tuple[int, Span]:
        """The word whose share holds a point: first its class, then the word."""
        first = self.vocabulary.first
        own = bisect_right(range(len(first) - 1), point, key=self._begin) - 1
        edge = self._edges_of(own)
        number = bisect_right(range(first[own], first[own + 1]), point, key=edge) - 1 + first[own]
        return number, (edge(number), edge(number + 1))

    def _begin(self, own: int) -> int:
        """The distribution function at the first word of a class."""
        found = self._begins.get(own)
        if found is None:
            found = self._begins[own] = self._edge(self.vocabulary.first[own], *self._class_edges(own))
        return found

    def _edges_of(self, own: int) -> Callable[[int], int]:
        """The distribution function at the words of a class and at the first word of the next."""
        sums, first, last = self.vocabulary.sums, *self.vocabulary.first[own : own + 2]
        (low, read_low), (high, read_high) = self._class_edges(own), self._class_edges(own + 1)
        count, width, read_width = sums[last] - sums[first], high - low, read_high - read_low
        inside = self.model.lstm.word_edges(self.state, own) if self.model.lstm and self.state else None

        def edge(word: int) -> int:
            read = read_low + (read_width * inside[word - first] >> BITS) if inside else 0
            return self._edge(word, low + width * (sums[word] - sums[first]) // count, read)

        return edge

    def _class_edges(self, own: int) -> tuple[int, int]:
        """Where a class begins, by n-grams of classes and by the network."""
        return self.model.classes.below(self.classes, own), self._read[own]

    @cached_property
    def _read(self) -> list[int]:
        """The network's distribution function of classes; zeros where there is none."""
        if self.model.lstm and self.state:
            return self.model.lstm.class_edges(self.state)
        return [0] * len(self.vocabulary.first)

    def _edge(self, word: int, in_classes: int, in_lstm: int) -> int:
        """The strictly increasing distribution function of the mixture, from 0 to ONE, at a word; those of classes are given."""
        edge, size = self._mixed(word, in_classes, in_lstm), len(self.vocabulary.words)
        if not self.model.spells:
            low, high = self._unknown
            edge = (edge - (high - low) * (word > 1)) * ONE // (ONE - (high - low))  # shared by the others
        return (edge * (ONE - size) >> BITS) + word

    @cached_property
    def _unknown(self) -> Span:
        """The share of UNKNOWN, which is word and class number 1."""
        return self._mixed(1, *self._class_edges(1)), self._mixed(2, *self._class_edges(2))

    def _mixed(self, word: int, in_classes: int, in_lstm: int) -> int:
        of_words, of_classes, of_lstm = self.model.shares
        in_words = self.model.words.below(self.words, word)
        return (of_words * in_words + of_classes * in_classes + of_lstm * in_lstm) >> BITS
