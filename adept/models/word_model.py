"""What text is likely: words after words, words after word classes, and letters for words that nobody foresaw.

A text is its words and an end. A word of the vocabulary is one symbol, any other one is UNKNOWN and then its letters and their
end. The next word's distribution function is the mixture of two n-gram models (``adept.models.ngrams``), one over words, one over
classes of words that stand in the same company: a city that was never seen after "to" is likely there, as cities are. Words are
numbered class by class, so that the mixture of the two distribution functions is one itself.

Everything is integers. A share is an interval [low, high) inside [0, ONE), never empty.
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import Any

from adept.models.intervals import BITS, ONE, Span
from adept.models.ngrams import Context, Ngrams
from adept.models.spelling import Spelling
from adept.models.vocabulary import LEAST_SEEN, Vocabulary, in_texts

ORDER, CLASS_ORDER = 4, 5
CLASS_SHARE = 3 * ONE // 10  # weight of the class model in the mixture
MEMORY = 20_000  # histories that are remembered: it only saves time


class WordModel:
    """Which share of all texts begins with given words.

    Args:
        vocabulary: the words.
        words: n-grams of their numbers.
        classes: n-grams of their classes.
        spelling: how other words are said.
        spells: whether words outside the vocabulary can be said; where they cannot, the others share what they would have.
    """

    def __init__(
        self, vocabulary: Vocabulary, words: Ngrams, classes: Ngrams, spelling: Spelling, *, spells: bool = True
    ) -> None:
        self.vocabulary, self.words, self.classes, self.spelling = vocabulary, words, classes, spelling
        self.spells = spells
        self._found: dict[Context, _Next] = {}

    @classmethod
    def of(cls, texts: Sequence[Sequence[str]], *, seed: int = 0, least: int = 1) -> "WordModel":
        """Learn from texts, given as words; what stands in fewer than ``least`` different ones is forgotten: words, their
        spelling, and sequences of words."""
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
            Spelling.of(spelled, vocabulary.words),
        )

    def unspelled(self) -> "WordModel":
        """Return the same model without words outside the vocabulary."""
        return WordModel(self.vocabulary, self.words, self.classes, self.spelling, spells=False)

    def __reduce__(self) -> tuple[Any, ...]:
        """Copies and pickles hold what it was made of, and nothing that describing records left behind."""
        return partial(WordModel, spells=self.spells), (self.vocabulary, self.words, self.classes, self.spelling)

    @property
    def start(self) -> Context:
        """The history before the first word: CLASS_ORDER - 1 numbers, the longest that any part looks at."""
        return (len(self.vocabulary.words),) * (CLASS_ORDER - 1)

    def span(self, history: Context, number: int) -> Span:
        """The share of texts with this history that go on with a word."""
        return self._next(history).span(number)

    def find(self, history: Context, point: int) -> tuple[int, Span]:
        """The word whose share holds a point of [0, ONE), and its share."""
        return self._next(history).find(point)

    def likely(self, history: Context, count: int) -> list[int]:
        """Words that are likely after a history: what a writer may put in without being told."""
        return self.words.likely(history[1:], count)

    def _next(self, history: Context) -> "_Next":
        found = self._found
        if history not in found:
            if len(found) >= MEMORY:
                found = self._found = {}  # another thread may read the old one
            found[history] = _Next(self, history)
        return found[history]


class _Next:
    """The next word's distribution after one history."""

    def __init__(self, model: WordModel, history: Context) -> None:
        vocabulary, outside = model.vocabulary, len(model.vocabulary.words)
        around = (model.classes.size if number == outside else vocabulary.classes[number] for number in history)
        self.model, self.vocabulary = model, vocabulary
        self.words, self.classes = model.words.branches(history[1:]), model.classes.branches(tuple(around))

    def span(self, number: int) -> Span:
        """A word's share."""
        edge = self._edges_of(self.vocabulary.classes[number])
        return edge(number), edge(number + 1)

    def find(self, point: int) -> tuple[int, Span]:
        """The word whose share holds a point: first its class, then the word."""
        first = self.vocabulary.first
        own = bisect_right(range(len(first) - 1), point, key=lambda c: self._edge(first[c], self._class_edge(c))) - 1
        edge = self._edges_of(own)
        number = bisect_right(range(first[own], first[own + 1]), point, key=edge) - 1 + first[own]
        return number, (edge(number), edge(number + 1))

    def _edges_of(self, own: int) -> Callable[[int], int]:
        """The distribution function at the words of a class and at the first word of the next."""
        sums, first, last = self.vocabulary.sums, *self.vocabulary.first[own : own + 2]
        low, high = self._class_edge(own), self._class_edge(own + 1)
        count = sums[last] - sums[first]
        return lambda word: self._edge(word, low + (high - low) * (sums[word] - sums[first]) // count)

    def _class_edge(self, own: int) -> int:
        return self.model.classes.below(self.classes, own)

    def _edge(self, word: int, in_classes: int) -> int:
        """The strictly increasing distribution function of the mixture, from 0 to ONE, at a word where that of classes is known."""
        edge, size = self._mixed(word, in_classes), len(self.vocabulary.words)
        if not self.model.spells:
            low, high = self._unknown
            edge = (edge - (high - low) * (word > 1)) * ONE // (ONE - (high - low))  # shared by the others
        return (edge * (ONE - size) >> BITS) + word

    @cached_property
    def _unknown(self) -> Span:
        """The share of UNKNOWN, which is word and class number 1."""
        return self._mixed(1, self._class_edge(1)), self._mixed(2, self._class_edge(2))

    def _mixed(self, word: int, in_classes: int) -> int:
        in_words = self.model.words.below(self.words, word)
        return ((ONE - CLASS_SHARE) * in_words + CLASS_SHARE * in_classes) >> BITS
