"""The text at a point of the line, in machine code: the inverse of the intervals of texts.

A point is known by its bits. What is kept of it while a text is read is how far it lies from the beginning of the interval that is
known to hold it, in units of that interval (``adept.models.language_model.intervals``): bits are taken in as the interval narrows.
The line is divided as it is among texts of a band (``adept.models.language_model.bands``).
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from adept.models.language_model.bands import (
    Limits,
    WidthAndDepth,
    edge_below,
    end_share,
    goes_on,
    is_of,
    is_too_narrow,
    narrow,
    whole_line,
)
from adept.models.language_model.common_prefixes import Prefixes, begin, go_on
from adept.models.language_model.compiled import compiled, without_reference_counts
from adept.models.language_model.intervals import BITS, ONE, WIDTH
from adept.models.language_model.mixture import ModelTables
from adept.models.language_model.next_word import Next, append, at, find, span, unread
from adept.models.language_model.ngram_reading import ALL, below, first_at_least, know_ends
from adept.models.language_model.ngrams import NgramTables, Whole
from adept.models.language_model.unknown_words import LETTER_ORDER, LISTED, MAX_LETTERS, SpellingTables
from adept.models.language_model.vocabulary import END_NUMBER, UNKNOWN_NUMBER

WORD_END = 0  # the number of a letter, as of a word


class Point(NamedTuple):
    """A point, the interval that is known to hold it, and the probability of what was read.

    Attributes:
        bits: of the point, the highest first, as bytes.
        offset: how far the point is from where the interval begins (1,); changed in place, as the other two are.
        interval: the interval's width and depth (2,).
        text: the width and the depth of an interval of that probability (2,).
        band: limits of the texts that are looked for.
        narrowest: the depth of an interval that is too narrow.
    """

    bits: NDArray[np.uint8]
    offset: Whole
    interval: WidthAndDepth
    text: WidthAndDepth
    band: Limits
    narrowest: int


@without_reference_counts
def place(point: Point) -> int:
    """Where the point lies in the interval, out of ONE: F(symbol) <= place < F(symbol + 1) says whose share it is."""
    return (((point.offset[0] + 1) << BITS) - 1) // point.interval[0]


@without_reference_counts
def narrow_to(point: Point, low: int, high: int) -> None:
    """Go on to a share of the interval that holds the point."""
    bit = WIDTH + point.interval[1]
    begins, more = narrow(point.interval, low, high)
    offset = point.offset[0] - begins
    for _ in range(more):
        offset = offset << 1 | (point.bits[bit >> 3] >> (7 - (bit & 7)) & 1)
        bit += 1
    point.offset[0] = offset


@without_reference_counts
def spell_to(point: Point, low: int, high: int) -> None:
    """Go on to the share of a part of a word's spelling, which is the same in every band."""
    narrow_to(point, low, high)
    narrow(point.text, low, high)


@without_reference_counts
def ended(point: Point) -> bool:
    """Whether no text of the band begins with what was read, or the interval is too narrow to be divided."""
    return is_too_narrow(point.band, point.text[0], point.text[1]) or point.interval[1] > point.narrowest


@compiled
def beginning(bits: NDArray[np.uint8], band: Limits, narrowest: int) -> Point:
    """A point of which the whole line is known to hold it."""
    offset = 0
    for byte in bits[: WIDTH // 8]:
        offset = offset << 8 | byte
    return Point(bits, np.array([offset]), whole_line(), whole_line(), band, narrowest)


@compiled
def first_inside(
    tables: ModelTables,
    spelling: SpellingTables,
    common: Prefixes,
    points: NDArray[np.uint8],
    band: Limits,
    narrowest: int,
    most: int,
) -> tuple[int, Whole, Whole]:
    """The first of some points whose text is of a band: its words, and how unknown ones are spelled.

    A text ends at an end, after ``most`` words, or where it is too narrow for the band.

    Args:
        tables: the model.
        spelling: of words that its vocabulary lacks.
        common: the distributions after its commonest prefixes.
        points: their bits, the highest first (P, bytes).
        band: its limits (5,).
        narrowest: the depth of an interval that is too narrow to be divided.
        most: words of a text.

    Returns:
        The point's number, P if there is none; the last text's words (L,) and how unknown ones are spelled (L, MAX_LETTERS).
    """
    after, words, spelled = at(unread(tables, 1), 0), np.empty(most, np.int64), np.empty((most, MAX_LETTERS), np.int64)
    found, length = 0, 0
    while found < len(points):
        point = beginning(points[found], band, narrowest)
        length = _read(tables, spelling, common, point, after, words, spelled)
        if is_of(band, point.text[0], point.text[1]) and not ended(point):
            break
        found += 1
    return found, words[:length], spelled[:length]


@compiled
def _read(
    tables: ModelTables,
    spelling: SpellingTables,
    common: Prefixes,
    point: Point,
    after: Next,
    words: Whole,
    spelled: Whole,
) -> int:
    """Write down the words at a point, and how unknown ones are spelled; return how many there are."""
    begin(common, after)
    for number in range(len(words)):
        word = _next(tables, point, after)
        if word == END_NUMBER or ended(point):
            return number
        words[number] = word
        if word == UNKNOWN_NUMBER:
            read_spelled(spelling, point, spelled[number])
        go_on(tables, common, after, word)
    return len(words)


@without_reference_counts
def _next(tables: ModelTables, point: Point, after: Next) -> int:
    """Read the next word, or an end."""
    end = span(tables, after, END_NUMBER)[1]
    share = end_share(point.band, point.text, end)
    if share:
        if place(point) < share:
            narrow_to(point, 0, share)
            narrow(point.text, 0, end)
            return END_NUMBER
        narrow_to(point, share, ONE)
    word, low, high = find(tables, after, edge_below(end, place(point)))
    narrow_to(point, goes_on(end, low), goes_on(end, high))
    narrow(point.text, low, high)
    return word


@compiled
def read_spelled(spelling: SpellingTables, point: Point, letters: Whole) -> None:
    """Read a word that the vocabulary lacks: -1 - r for the r-th listed one, or its letters, up to the end or to MAX_LETTERS."""
    letters[0] = WORD_END
    if len(spelling.edges) > 1:
        if place(point) < LISTED:
            spell_to(point, 0, LISTED)
            if not ended(point):
                rank = first_at_least(spelling.edges, 1, len(spelling.edges), place(point) + 1) - 1
                spell_to(point, spelling.edges[rank, 0], spelling.edges[rank + 1, 0])
                letters[0] = -1 - rank
            return
        spell_to(point, LISTED, ONE)
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
        spell_to(
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
    return np.full(LETTER_ORDER - 1, len(tables.alone) - 1), np.empty((LETTER_ORDER, ALL + 1), np.int64)


@compiled
def _letter_edge(tables: NgramTables, contexts: Whole, letter: int) -> int:
    """The strictly increasing distribution function of letters."""
    size = len(tables.alone) - 1
    return (below(tables, contexts, letter) * (ONE - size) >> BITS) + letter
