"""The text at a point of the line, in machine code: the inverse of the intervals of texts.

A point is known by its bits. What is kept of it while a text is read is how far it lies from the beginning of the interval that is
known to hold it, in units of that interval (``adept.models.language_model.intervals``): bits are taken in as the interval narrows.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from adept.models.language_model.compiled import compiled
from adept.models.language_model.intervals import BITS, ONE, WIDTH
from adept.models.language_model.mixture import ModelTables
from adept.models.language_model.next_word import Next, append, below, copied, find, first_at_least, know_ends, read
from adept.models.language_model.ngrams import NgramTables, Whole
from adept.models.language_model.unknown_words import LETTER_ORDER, LISTED, MAX_LETTERS, SpellingTables
from adept.models.language_model.vocabulary import END_NUMBER, UNKNOWN_NUMBER

WORD_END = 0  # the number of a letter, as of a word


class Point(NamedTuple):
    """A point, and the interval that is known to hold it.

    Attributes:
        bits: of the point, the highest first, as bytes.
        state: how far the point is from where the interval begins, the interval's width, and its depth (3,); changed in place.
        depth, width: reading ends at an interval that is narrower than this one.
    """

    bits: NDArray[np.uint8]
    state: Whole
    depth: int
    width: int


@compiled
def place(point: Point) -> int:
    """Where the point lies in the interval, out of ONE: F(symbol) <= place < F(symbol + 1) says whose share it is."""
    return (((point.state[0] + 1) << BITS) - 1) // point.state[1]


@compiled
def narrow_to(point: Point, low: int, high: int) -> None:
    """Go on to a share of the interval that holds the point."""
    offset, width, depth = point.state
    begin, end = width * low >> BITS, width * high >> BITS
    offset, width = offset - begin, end - begin
    while width <= 1 << (WIDTH - 1):
        bit = WIDTH + depth
        offset = offset << 1 | (point.bits[bit >> 3] >> (7 - (bit & 7)) & 1)
        width, depth = width << 1, depth + 1
    point.state[0], point.state[1], point.state[2] = offset, width, depth


@compiled
def ended(point: Point) -> bool:
    """Whether the interval is too narrow to be divided."""
    return point.state[2] > point.depth or (point.state[2] == point.depth and point.state[1] < point.width)


@compiled
def read_text(
    tables: ModelTables, spelling: SpellingTables, point: Point, first: Next, most: int
) -> tuple[Whole, Whole]:
    """Read the words (L,) at a point, and how unknown ones are spelled (L, MAX_LETTERS).

    It ends at an end, after ``most`` words, or where the interval is too narrow to be divided.

    Args:
        tables: the model.
        spelling: of words that its vocabulary lacks.
        point: which goes on to the text's interval.
        first: the distribution of the first word; it is copied.
        most: words of a text.
    """
    after = copied(first)
    words, spelled = np.empty(most, np.int64), np.empty((most, MAX_LETTERS), np.int64)
    for number in range(most):
        word, low, high = find(tables, after, place(point))
        narrow_to(point, low, high)
        if word == END_NUMBER or ended(point):
            return words[:number], spelled[:number]
        words[number] = word
        if word == UNKNOWN_NUMBER:
            read_spelled(spelling, point, spelled[number])
        read(tables, after, word)
    return words, spelled


@compiled
def read_spelled(spelling: SpellingTables, point: Point, letters: Whole) -> None:
    """Read a word that the vocabulary lacks: -1 - r for the r-th listed one, or its letters, up to the end or to MAX_LETTERS."""
    letters[0] = WORD_END
    if len(spelling.edges) > 1:
        if place(point) < LISTED:
            narrow_to(point, 0, LISTED)
            if not ended(point):
                rank = first_at_least(spelling.edges, 1, len(spelling.edges), place(point) + 1) - 1
                narrow_to(point, spelling.edges[rank, 0], spelling.edges[rank + 1, 0])
                letters[0] = -1 - rank
            return
        narrow_to(point, LISTED, ONE)
    context, contexts = _before_letters(spelling.letters)
    for number in range(len(letters)):
        letters[number] = WORD_END
        if ended(point):
            return
        know_ends(spelling.letters, context, contexts)
        letter, beyond, wanted = 0, len(spelling.letters.alone) - 1, place(point)
        while beyond - letter > 1:
            middle = (letter + beyond) // 2
            if _letter_edge(spelling.letters, contexts, middle) <= wanted:
                letter = middle
            else:
                beyond = middle
        narrow_to(
            point,
            _letter_edge(spelling.letters, contexts, letter),
            _letter_edge(spelling.letters, contexts, letter + 1),
        )
        if letter == WORD_END:
            return
        letters[number] = letter
        append(context, letter)


@compiled
def spell(tables: NgramTables, letters: Whole) -> Whole:
    """The shares (M, 2) of letters (M,), one after the other."""
    context, contexts = _before_letters(tables)
    spans = np.empty((len(letters), 2), np.int64)
    for number, letter in enumerate(letters):
        know_ends(tables, context, contexts)
        spans[number, 0] = _letter_edge(tables, contexts, letter)
        spans[number, 1] = _letter_edge(tables, contexts, letter + 1)
        append(context, letter)
    return spans


@compiled
def _before_letters(tables: NgramTables) -> tuple[Whole, Whole]:
    """The context of a word's first letter, and room for the numbers of known contexts."""
    return np.full(LETTER_ORDER - 1, len(tables.alone) - 1), np.zeros(LETTER_ORDER, np.int64)


@compiled
def _letter_edge(tables: NgramTables, contexts: Whole, letter: int) -> int:
    """The strictly increasing distribution function of letters."""
    size = len(tables.alone) - 1
    return (below(tables, contexts, letter) * (ONE - size) >> BITS) + letter
