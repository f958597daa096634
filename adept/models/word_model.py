"""What text is likely: words after words, words after word classes, and letters for words that nobody foresaw.

A text is its words and an end. A word of the vocabulary is one symbol, any other one is UNKNOWN and then its letters and their
end. The next word's distribution function is the mixture of two n-gram models (``adept.models.ngrams``), one over words, one over
classes of words that stand in the same company: a city that was never seen after "to" is likely there, as cities are. Words are
numbered class by class, so that the mixture of the two distribution functions is one itself.

Everything is integers. A share is an interval [low, high) inside [0, ONE), never empty.
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import accumulate, pairwise
from typing import Any

import numpy as np

from adept.models.ngrams import BITS, ONE, Branch, Context, Ngrams

END, UNKNOWN = "", "\x00"  # no word is empty, and no text holds a zero byte: normalising takes it out
ORDER, CLASS_ORDER, LETTER_ORDER = 4, 5, 6
CLASS_SHARE = 3 * ONE // 10  # weight of the class model in the mixture
WORDS_PER_CLASS, LARGEST_CLASSES = 5, 200
LEAST_SEEN = 2  # times that a word must occur to be in the vocabulary

Span = tuple[int, int]


@dataclass(frozen=True)
class Vocabulary:
    """The words with a number of their own, class by class; END and UNKNOWN are among them, each a class of its own.

    Attributes:
        words: by number.
        classes: the class of each word, non-decreasing.
        counts: how often each was seen.
    """

    words: list[str]
    classes: list[int]
    counts: list[int]

    @classmethod
    def of(cls, texts: Sequence[Sequence[str]], *, seed: int, least: int = 1) -> "Vocabulary":
        """Number the words of texts that occur at least twice, and in ``least`` different texts, and find their classes."""
        seen = Counter(word for text in texts for word in text)
        told = [word for word in _in_texts(texts, least) if seen[word] >= LEAST_SEEN]
        known = sorted(told, key=lambda word: (-seen[word], word))
        rare = seen.total() - sum(seen[word] for word in known)
        found = _classes(texts, known, [seen[word] for word in known], seed=seed)
        order = [END, UNKNOWN, *sorted(known, key=lambda word: (found[word], word))]
        numbers = {label: place for place, label in enumerate(sorted(set(found.values())), start=2)}
        classes = [0, 1, *(numbers[found[word]] for word in order[2:])]
        return cls(order, classes, [len(texts), max(1, rare), *(seen[word] for word in order[2:])])

    def __reduce__(self) -> tuple[Any, ...]:
        return Vocabulary, (self.words, self.classes, self.counts)

    @cached_property
    def numbers(self) -> dict[str, int]:
        """Word to number."""
        return {word: number for number, word in enumerate(self.words)}

    @cached_property
    def first(self) -> list[int]:
        """The first word of each class, and the number of words."""
        starts = [i for i, (a, b) in enumerate(pairwise([-1, *self.classes])) if a != b]
        return [*starts, len(self.words)]

    @cached_property
    def sums(self) -> list[int]:
        """Counts summed up to each word."""
        return [0, *accumulate(self.counts)]

    def encode(self, text: Iterable[str]) -> list[int]:
        """The numbers of a text's words, closed by END."""
        unknown = self.numbers[UNKNOWN]
        return [*(self.numbers.get(word, unknown) for word in text), self.numbers[END]]


class WordModel:
    """Which share of all texts begins with given words.

    Args:
        vocabulary: the words.
        words: n-grams of their numbers.
        classes: n-grams of their classes.
        letters: n-grams of the letters' numbers, 0 being a word's end.
        alphabet: the letters by number, from 1 on.
        spells: whether words outside the vocabulary can be said; where they cannot, the others share what they would have.
    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        words: Ngrams,
        classes: Ngrams,
        letters: Ngrams,
        alphabet: str,
        *,
        spells: bool = True,
    ) -> None:
        self.vocabulary, self.words, self.classes = vocabulary, words, classes
        self.letters, self.alphabet = letters, alphabet
        self._letter_numbers = {letter: number for number, letter in enumerate(alphabet, start=1)}
        self.spells = spells

    @classmethod
    def of(cls, texts: Sequence[Sequence[str]], *, seed: int = 0, least: int = 1) -> "WordModel":
        """Learn from texts, given as words; what stands in fewer than ``least`` different ones is forgotten: words, their
        spelling, and sequences of words."""
        vocabulary = Vocabulary.of(texts, seed=seed, least=least)
        rows = [vocabulary.encode(text) for text in texts]
        size = vocabulary.classes[-1] + 1
        classes = [[vocabulary.classes[number] for number in row] for row in rows]
        seen = Counter(word for text in texts for word in text)
        kept = [(word, seen[word]) for word in sorted(_in_texts(texts, least))]
        alphabet = "".join(sorted({letter for word, _ in kept for letter in word}))
        numbers = {letter: number for number, letter in enumerate(alphabet, start=1)}
        # Names are what has to be spelled: words seen once count twice.
        spelled = [word for word, count in kept for _ in range(1 + (count < LEAST_SEEN))]
        return cls(
            vocabulary,
            Ngrams.of(rows, order=ORDER, size=len(vocabulary.words), least=least),
            Ngrams.of(classes, order=CLASS_ORDER, size=size, least=least),
            Ngrams.of(
                [[*(numbers[letter] for letter in word), 0] for word in spelled],
                order=LETTER_ORDER,
                size=len(alphabet) + 1,
            ),
            alphabet,
        )

    def unspelled(self) -> "WordModel":
        """Return the same model without words outside the vocabulary."""
        return WordModel(self.vocabulary, self.words, self.classes, self.letters, self.alphabet, spells=False)

    def __reduce__(self) -> tuple[Any, ...]:
        """Copies and pickles hold what it was made of, and nothing that describing records left behind."""
        parts = (self.vocabulary, self.words, self.classes, self.letters, self.alphabet)
        return partial(WordModel, spells=self.spells), parts

    @property
    def start(self) -> Context:
        """The history before the first word: CLASS_ORDER - 1 numbers, the longest that any part looks at."""
        return (len(self.vocabulary.words),) * (CLASS_ORDER - 1)

    def _state(self, history: Context) -> tuple[list[Branch], list[Branch]]:
        classes, outside = self.vocabulary.classes, self.classes.size
        words = len(self.vocabulary.words)
        around = tuple(outside if number == words else classes[number] for number in history)
        return self.words.branches(history[1:]), self.classes.branches(around)

    def _below(self, state: tuple[list[Branch], list[Branch]], number: int) -> int:
        """The strictly increasing distribution function of the mixture, from 0 to ONE."""
        size = len(self.vocabulary.words)
        return ONE if number >= size else self._edges(state, number, number)[0]

    def _edges(self, state: tuple[list[Branch], list[Branch]], number: int, *numbers: int) -> list[int]:
        """The mixture's distribution function at words of one class, or at the first word of the next, ``number`` being of it."""
        size, edges = len(self.vocabulary.words), self._mixed(state, number, *numbers)
        if not self.spells:
            low, high = self._mixed(state, 1, 1, 2)
            left = ONE - (high - low)  # what the others share when nothing is spelled
            edges = [
                (edge - (high - low) * (word > 1)) * ONE // left for word, edge in zip(numbers, edges, strict=True)
            ]
        return [(edge * (ONE - size) >> BITS) + word for word, edge in zip(numbers, edges, strict=True)]

    def _mixed(self, state: tuple[list[Branch], list[Branch]], number: int, *numbers: int) -> list[int]:
        own, sums = self.vocabulary.classes[number], self.vocabulary.sums
        first, last = self.vocabulary.first[own], self.vocabulary.first[own + 1]
        low, high = self.classes.below(state[1], own), self.classes.below(state[1], own + 1)
        edges = []
        for word in numbers:
            inside = low + (high - low) * (sums[word] - sums[first]) // (sums[last] - sums[first])
            edges.append(((ONE - CLASS_SHARE) * self.words.below(state[0], word) + CLASS_SHARE * inside) >> BITS)
        return edges

    def span(self, history: Context, number: int) -> Span:
        """The share of texts with this history that go on with a word."""
        low, high = self._edges(self._state(history), number, number, number + 1)
        return low, high

    def find(self, history: Context, point: int) -> tuple[int, Span]:
        """The word whose share holds a point of [0, ONE), and its share."""
        state = self._state(history)
        low, high = 0, len(self.vocabulary.words)
        below, above = 0, ONE
        while high - low > 1:
            middle = (low + high) // 2
            value = self._below(state, middle)
            if value <= point:
                low, below = middle, value
            else:
                high, above = middle, value
        return low, (below, above)

    def spelling(self, word: str) -> list[Span] | None:
        """The shares of a word's letters and their end, one after the other; None if it cannot be spelled."""
        numbers = [self._letter_numbers.get(letter) for letter in word]
        known = [number for number in numbers if number is not None]
        return self._letter_spans([*known, 0]) if self.spells and len(known) == len(numbers) else None

    def _letter_spans(self, numbers: list[int]) -> list[Span]:
        context, spans = self.letter_start, []
        for number in numbers:
            branches = self.letters.branches(context)
            spans.append((self._letters_below(branches, number), self._letters_below(branches, number + 1)))
            context = (*context[1:], number)
        return spans

    @property
    def letter_start(self) -> Context:
        """The history before a word's first letter."""
        return (self.letters.size,) * (LETTER_ORDER - 1)

    def _letters_below(self, branches: list[Branch], number: int) -> int:
        size = self.letters.size
        return (self.letters.below(branches, number) * (ONE - size) >> BITS) + number

    def find_letter(self, context: Context, point: int) -> tuple[int, Span]:
        """The letter's number whose share holds a point of [0, ONE), and its share."""
        branches = self.letters.branches(context)
        number = bisect_right(range(self.letters.size + 1), point, key=lambda n: self._letters_below(branches, n)) - 1
        return number, (self._letters_below(branches, number), self._letters_below(branches, number + 1))

    def likely(self, history: Context, count: int) -> list[int]:
        """Words that are likely after a history: what a writer may put in without being told."""
        return self.words.likely(history[1:], count)


def _in_texts(texts: Sequence[Sequence[str]], least: int) -> list[str]:
    """The words that stand in at least so many different texts: who says one sentence often is still one."""
    holders = Counter(word for text in dict.fromkeys(map(tuple, texts)) for word in set(text))
    return [word for word, count in holders.items() if count >= least]


def _classes(texts: Sequence[Sequence[str]], known: list[str], counts: list[int], *, seed: int) -> dict[str, int]:
    """The class of each known word: one of a class for every few words, by its neighbours in the texts."""
    from adept.models.word_classes import company_classes  # learning alone needs scikit-learn, slow to import

    count = min(LARGEST_CLASSES, len(known) // WORDS_PER_CLASS)
    if count < 2:
        return dict.fromkeys(known, 0)
    kept = set(known)
    rows = [[word if word in kept else UNKNOWN for word in text] for text in texts]
    weights = np.sqrt([*counts, 1])
    found = company_classes(rows, [*known, UNKNOWN], weights=weights, seed=seed, count=count, starts=1)
    return {word: found[word] for word in known}
