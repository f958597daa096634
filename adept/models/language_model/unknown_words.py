"""The probability of a word that the vocabulary lacks: as one of the commonest words of English, or letter by letter.

Public text of a domain lacks words that anyone may use. Most of them are among the 60,000 of the lexicon, whose r-th word is about
1/(r + 20) as likely (Zipf): that costs 15 bits, where letters cost 22 to 25. Names, and words that public text holds once, are
likelier as letters. A word has both intervals, and the wider one is used. The lexicon counts only if the vocabulary is English.

Everything is integers, as in ``adept.models.language_model.model``.
"""

from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import cached_property
from itertools import accumulate, takewhile
from math import prod
from typing import Any, NamedTuple

import numpy as np

from adept.models.language_model.ngrams import ONE, Ngrams, NgramTables, Whole
from adept.models.lexicon import MIN_KNOWN_SHARE, Lexicon

LETTER_ORDER, MAX_LETTERS = 6, 30
LISTED_SHARE = ONE // 2  # the share of words of the lexicon
ZIPF_OFFSET, ZIPF_WEIGHT = 20, 1 << 40  # the r-th word has ZIPF_WEIGHT // (r + ZIPF_OFFSET)

Span = tuple[int, int]  # a share of an interval, from the first to the second number out of ONE


class SpellingTables(NamedTuple):
    """The spelling of words in arrays.

    Attributes:
        letters: n-grams.
        edges: F of each listed word and of their end (M + 1, 1); one number where none is listed.
    """

    letters: NgramTables
    edges: Whole


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
        """Return the lexicon's words that the vocabulary lacks, the commonest first; none if it is another language's."""
        lexicon, known = Lexicon.load(), set(self.known)
        if len(known & lexicon.places.keys()) < MIN_KNOWN_SHARE * len(known):
            return []
        return [word for word in lexicon.words if word not in known]

    @cached_property
    def _places(self) -> dict[str, int]:
        return {word: place for place, word in enumerate(self._listed)}

    @cached_property
    def _edges(self) -> list[int]:
        """Return the distribution function of listed words."""
        sums = [0, *accumulate(ZIPF_WEIGHT // (rank + ZIPF_OFFSET) for rank in range(len(self._listed)))]
        return [ONE * value // max(1, sums[-1]) for value in sums]

    def spans(self, word: str) -> list[Span] | None:
        """Return the shares of a word's symbols, one after the other; None if it cannot be spelled."""
        ways = [way for way in (self._as_listed(word), self._as_letters(word)) if way]
        return max(ways, key=lambda way: Fraction(prod(high - low for low, high in way), ONE ** len(way)), default=None)

    def word(self, letters: Sequence[int]) -> str:
        """Return the word that ``adept.models.language_model.coder`` read: a listed one, or its letters up to an end."""
        if letters[0] < 0:
            return self._listed[-1 - letters[0]]
        return "".join(self.alphabet[letter - 1] for letter in takewhile(bool, letters))

    @cached_property
    def tables(self) -> SpellingTables:
        """Return all of it in arrays; made when it is first asked for."""
        return SpellingTables(self.letters.tables, np.array(self._edges if self._listed else [0])[:, None])

    def _as_listed(self, word: str) -> list[Span]:
        place = self._places.get(word)
        return [] if place is None else [(0, LISTED_SHARE), (self._edges[place], self._edges[place + 1])]

    def _as_letters(self, word: str) -> list[Span]:
        numbers = [self._numbers.get(letter, 0) for letter in word]
        if not 0 < len(numbers) <= MAX_LETTERS or 0 in numbers:
            return []
        from adept.models.language_model.coder import spell  # machine code, slow to import

        shares = spell(self.letters.tables, np.array([*numbers, 0][:MAX_LETTERS]))  # the longest word needs no end
        return [*([(LISTED_SHARE, ONE)] if self._listed else []), *((low, high) for low, high in shares.tolist())]
