"""How likely a word is that the vocabulary lacks: as one of the commonest words of English, or letter by letter.

Public text of a domain lacks words that anyone may use. Most of them are among the 60,000 of the lexicon, whose r-th word is about
1/(r + 20) as likely (Zipf): that costs 15 bits, where letters cost 22 to 25. Names, and words that public text holds once, are
likelier as letters. A word has both intervals, and the wider one is used. The lexicon counts only if the vocabulary is English.

Everything is integers, as in ``adept.models.language_model.mixture``.
"""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import cached_property, partial
from itertools import accumulate
from math import prod
from typing import Any

from adept.models.language_model.intervals import BITS, ONE, PointReader, Span
from adept.models.language_model.ngrams import Branch, Context, Ngrams
from adept.models.tokenizer.lexicon import KNOWN_SHARE, Lexicon

LETTER_ORDER, MAX_LETTERS = 6, 30
LISTED = ONE // 2  # the share of words of the lexicon
FLAT, WEIGHT = 20, 1 << 40  # Zipf: the r-th word has WEIGHT // (r + FLAT)


class UnknownWords:
    """Words as symbols.

    Args:
        letters: n-grams of the letters' numbers, 0 being a word's end.
        alphabet: the letters by number, from 1 on.
        known: the vocabulary, whose words need no spelling.
    """

    def __init__(self, letters: Ngrams, alphabet: str, known: Sequence[str]) -> None:
        self.letters, self.alphabet, self.known = letters, alphabet, known
        self._numbers = {letter: number for number, letter in enumerate(alphabet, start=1)}

    @classmethod
    def of(cls, words: Iterable[str], known: Sequence[str]) -> "UnknownWords":
        """Learn how words are spelled; a word that occurs twice counts twice."""
        spelled = list(words)
        alphabet = "".join(sorted({letter for word in spelled for letter in word}))
        numbers = {letter: number for number, letter in enumerate(alphabet, start=1)}
        rows = [[*(numbers[letter] for letter in word), 0] for word in spelled]
        return cls(Ngrams.of(rows, order=LETTER_ORDER, size=len(alphabet) + 1), alphabet, known)

    def __reduce__(self) -> tuple[Any, ...]:
        return UnknownWords, (self.letters, self.alphabet, self.known)

    @cached_property
    def _listed(self) -> list[str]:
        """The lexicon's words that the vocabulary lacks, the commonest first; none if it is another language's."""
        lexicon, known = Lexicon.load(), set(self.known)
        if len(known & lexicon.places.keys()) < KNOWN_SHARE * len(known):
            return []
        return [word for word in lexicon.words if word not in known]

    @cached_property
    def _places(self) -> dict[str, int]:
        return {word: place for place, word in enumerate(self._listed)}

    @cached_property
    def _edges(self) -> list[int]:
        """The distribution function of listed words."""
        sums = [0, *accumulate(WEIGHT // (rank + FLAT) for rank in range(len(self._listed)))]
        return [ONE * value // max(1, sums[-1]) for value in sums]

    def spans(self, word: str) -> list[Span] | None:
        """The shares of a word's symbols, one after the other; None if it cannot be spelled."""
        ways = [way for way in (self._as_listed(word), self._as_letters(word)) if way]
        return max(ways, key=lambda way: Fraction(prod(high - low for low, high in way), ONE ** len(way)), default=None)

    def read(self, reader: PointReader) -> str:
        """The word whose interval holds a point, or as much of it as the interval shows."""
        if self._listed:
            if reader.place() < LISTED:
                reader.narrow_to((0, LISTED))
                return self._read_listed(reader)
            reader.narrow_to((LISTED, ONE))
        return self._read_letters(reader)

    def _as_listed(self, word: str) -> list[Span]:
        place = self._places.get(word)
        return [] if place is None else [(0, LISTED), (self._edges[place], self._edges[place + 1])]

    def _read_listed(self, reader: PointReader) -> str:
        if reader.ended:
            return ""
        place = bisect_right(self._edges, reader.place()) - 1
        reader.narrow_to((self._edges[place], self._edges[place + 1]))
        return self._listed[place]

    def _as_letters(self, word: str) -> list[Span]:
        numbers = [self._numbers.get(letter, 0) for letter in word]
        if not 0 < len(numbers) <= MAX_LETTERS or 0 in numbers:
            return []
        context, spans = self._start, [(LISTED, ONE)] if self._listed else []
        for number in [*numbers, 0][:MAX_LETTERS]:  # the longest word needs no end
            branches = self.letters.branches(context)
            spans.append((self._below(branches, number), self._below(branches, number + 1)))
            context = (*context[1:], number)
        return spans

    def _read_letters(self, reader: PointReader) -> str:
        letters, context = "", self._start
        while len(letters) < MAX_LETTERS and not reader.ended:
            branches, point = self.letters.branches(context), reader.place()
            edge = partial(self._below, branches)
            number = bisect_right(range(self.letters.size + 1), point, key=edge) - 1
            reader.narrow_to((edge(number), edge(number + 1)))
            if number == 0:
                break
            letters += self.alphabet[number - 1]
            context = (*context[1:], number)
        return letters

    @property
    def _start(self) -> Context:
        """The history before a word's first letter."""
        return (self.letters.size,) * (LETTER_ORDER - 1)

    def _below(self, branches: list[Branch], number: int) -> int:
        """The strictly increasing distribution function of letters."""
        size = self.letters.size
        return (self.letters.below(branches, number) * (ONE - size) >> BITS) + number
