"""Both directions of the arithmetic code, in machine code: ``encode`` a text as its interval, ``decode`` the text at a point.

The line is divided as it is among texts of a band (``adept.models.language_model.intervals``). A point is known by its bits. What
is kept of it while a text is read is how far it lies from the beginning of the interval that is known to hold it, in units of that
interval: bits are taken in as the interval narrows.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from adept.models.language_model.compiled import compiled, without_reference_counts
from adept.models.language_model.intervals import (
    WIDTH,
    Limits,
    WidthAndDepth,
    edge_among_others,
    edge_below,
    end_share,
    is_inside,
    is_too_narrow,
    narrow,
    whole_line,
)
from adept.models.language_model.model import ModelTables
from adept.models.language_model.next_word import (
    COLUMNS,
    NextWord,
    append,
    below,
    find,
    find_contexts,
    first_at_least,
    read,
    span,
    start,
    start_again,
)
from adept.models.language_model.ngrams import BITS, ONE, NgramTables, Whole
from adept.models.language_model.unknown_words import LETTER_ORDER, LISTED_SHARE, MAX_LETTERS, SpellingTables
from adept.models.language_model.vocabulary import END_NUMBER, UNKNOWN_NUMBER

WORD_END = 0  # the number of a letter, as of a word
NO_BAND = -1


class Spelled(NamedTuple):
    """The words of a text that the vocabulary lacks.

    Attributes:
        shares: those of their spellings, one after the other (S, 2).
        starts: where the shares of each word begin, and S.
    """

    shares: Whole
    starts: Whole


class Foreseen(NamedTuple):
    """The model's shares of a text's words (L).

    Attributes:
        spans: the share of each word after those before it (L, 2).
        ends: the share of an end before each word, out of ONE (L,).
    """

    spans: Whole
    ends: Whole


@compiled
def encode(
    tables: ModelTables, words: Whole, spelled: Spelled, bands: Whole, narrowest: int
) -> tuple[int, Whole, WidthAndDepth, WidthAndDepth]:
    """Return a text's band, the steps (M, 2) to its interval in it, the width and depth of that, and those of its probability.

    A step is where a share begins in its interval, and by how many bits that is refined then. The band is NO_BAND where the text is
    of no band, or its interval is too narrow; there is nothing to do with the rest then.

    Args:
        tables: the model.
        words: the text's words and its end (L,).
        spelled: the words that the vocabulary lacks.
        bands: the limits of bands, less likely texts first (B, 5).
        narrowest: the depth of an interval that is too narrow.
    """
    foreseen = Foreseen(np.empty((len(words), 2), np.int64), np.empty(len(words), np.int64))
    text, none = _foresee(tables, words, spelled, bands[0], foreseen), np.empty((0, 2), np.int64)
    for number in range(len(bands)):
        if is_inside(bands[number], text[0], text[1]) and _may_end(words, foreseen, bands[number]):
            steps, own = _steps(words, foreseen, spelled, bands[number])
            return (NO_BAND if own[1] > narrowest else number), steps, own, text
    return NO_BAND, none, text, text


@compiled
def _foresee(tables: ModelTables, words: Whole, spelled: Spelled, band: Limits, foreseen: Foreseen) -> WidthAndDepth:
    """Write down what is foreseen; return the width and depth of a text's probability, or of a beginning too narrow for a band."""
    after, text, unknown = start(tables), whole_line(), 0
    for place, word in enumerate(words):
        low, high = span(tables, after, word)
        foreseen.spans[place, 0], foreseen.spans[place, 1] = low, high
        foreseen.ends[place] = span(tables, after, END_NUMBER)[1]
        narrow(text, low, high)
        if word == UNKNOWN_NUMBER:
            for letter in spelled.shares[spelled.starts[unknown] : spelled.starts[unknown + 1]]:
                narrow(text, letter[0], letter[1])
            unknown += 1
        if is_too_narrow(band, text[0], text[1]):
            break
        read(tables, after, word)
    return text


@without_reference_counts
def _may_end(words: Whole, foreseen: Foreseen, band: Limits) -> bool:
    """Return True if a text ends as texts of a band do; the longest ones have no end."""
    return bool(words[-1] != END_NUMBER or foreseen.ends[-1] >= band[4])


@compiled
def _steps(words: Whole, foreseen: Foreseen, spelled: Spelled, band: Limits) -> tuple[Whole, WidthAndDepth]:
    """Return the steps to the interval of a text of a band, and its width and depth."""
    steps, taken = np.empty((2 * len(words) + len(spelled.shares), 2), np.int64), 0
    text, own, unknown = whole_line(), whole_line(), 0
    for place, word in enumerate(words):
        end = foreseen.ends[place]
        share = end_share(band, text, end)
        if word == END_NUMBER:
            steps[taken] = narrow(own, 0, share)
            return steps[: taken + 1], own
        if share:
            steps[taken] = narrow(own, share, ONE)
            taken += 1
        low, high = foreseen.spans[place]
        narrow(text, low, high)
        steps[taken] = narrow(own, edge_among_others(end, low), edge_among_others(end, high))
        taken += 1
        if word == UNKNOWN_NUMBER:
            for letter in spelled.shares[spelled.starts[unknown] : spelled.starts[unknown + 1]]:
                narrow(text, letter[0], letter[1])
                steps[taken] = narrow(own, letter[0], letter[1])
                taken += 1
            unknown += 1
    return steps[:taken], own


class Decoder(NamedTuple):
    """A point, the interval that is known to hold it, and the probability of what was read.

    Attributes:
        bits: of the point, the highest first, as bytes.
        offset: how far the point is from where the interval begins (1,); changed in place, as the next two are.
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


@compiled
def decoder(bits: NDArray[np.uint8], band: Limits, narrowest: int) -> Decoder:
    """Return the decoder of a point that may lie anywhere on the line."""
    offset = 0
    for byte in bits[: WIDTH // 8]:
        offset = offset << 8 | byte
    return Decoder(bits, np.array([offset]), whole_line(), whole_line(), band, narrowest)


@compiled
def decode(
    tables: ModelTables,
    spelling: SpellingTables,
    points: NDArray[np.uint8],
    band: Limits,
    narrowest: int,
    most: int,
) -> tuple[int, Whole, Whole]:
    """Find the first of some points whose text is of a band: its words, and how unknown ones are spelled.

    A text ends at an end, after ``most`` words, or where it is too narrow for the band.

    Args:
        tables: the model.
        spelling: of words that its vocabulary lacks.
        points: their bits, the highest first (P, bytes).
        band: its limits (5,).
        narrowest: the depth of an interval that is too narrow to be divided.
        most: words of a text.

    Returns:
        The point's number, P if there is none; the last text's words (L,) and how unknown ones are spelled (L, MAX_LETTERS).
    """
    after, words, spelled = start(tables), np.empty(most, np.int64), np.empty((most, MAX_LETTERS), np.int64)
    found, length = 0, 0
    while found < len(points):
        point = decoder(points[found], band, narrowest)
        start_again(tables, after)
        length = _decode_text(tables, spelling, point, after, words, spelled)
        if is_inside(band, point.text[0], point.text[1]) and not _has_ended(point):
            break
        found += 1
    return found, words[:length], spelled[:length]


@compiled
def _decode_text(
    tables: ModelTables, spelling: SpellingTables, point: Decoder, after: NextWord, words: Whole, spelled: Whole
) -> int:
    """Write down the words at a point, and how unknown ones are spelled; return how many there are."""
    for number in range(len(words)):
        word = _decode_word(tables, point, after)
        if word == END_NUMBER or _has_ended(point):
            return number
        words[number] = word
        if word == UNKNOWN_NUMBER:
            decode_spelling(spelling, point, spelled[number])
        read(tables, after, word)
    return len(words)


@without_reference_counts
def _decode_word(tables: ModelTables, point: Decoder, after: NextWord) -> int:
    """Read the next word, or an end."""
    end = span(tables, after, END_NUMBER)[1]
    share = end_share(point.band, point.text, end)
    if share:
        if _place(point) < share:
            _narrow_to(point, 0, share)
            narrow(point.text, 0, end)
            return END_NUMBER
        _narrow_to(point, share, ONE)
    word, low, high = find(tables, after, edge_below(end, _place(point)))
    _narrow_to(point, edge_among_others(end, low), edge_among_others(end, high))
    narrow(point.text, low, high)
    return word


@compiled
def decode_spelling(spelling: SpellingTables, point: Decoder, letters: Whole) -> None:
    """Read a word that the vocabulary lacks: -1 - r for the r-th listed one, or its letters, up to the end or to MAX_LETTERS."""
    letters[0] = WORD_END
    if len(spelling.edges) > 1:
        if _place(point) < LISTED_SHARE:
            _spell_to(point, 0, LISTED_SHARE)
            if not _has_ended(point):
                rank = first_at_least(spelling.edges, 1, len(spelling.edges), _place(point) + 1) - 1
                _spell_to(point, spelling.edges[rank, 0], spelling.edges[rank + 1, 0])
                letters[0] = -1 - rank
            return
        _spell_to(point, LISTED_SHARE, ONE)
    context, contexts = _before_letters(spelling.letters)
    for number in range(len(letters)):
        letters[number] = WORD_END
        if _has_ended(point):
            return
        find_contexts(spelling.letters, context, contexts)
        letter = _find_letter(spelling.letters, contexts, _place(point))
        low, high = _letter_span(spelling.letters, contexts, letter)
        _spell_to(point, low, high)
        if letter == WORD_END:
            return
        letters[number] = letter
        append(context, letter)


@without_reference_counts
def _find_letter(tables: NgramTables, contexts: Whole, wanted: int) -> int:
    letter, beyond = 0, len(tables.alone) - 1
    while beyond - letter > 1:
        middle = (letter + beyond) // 2
        if _letter_edge(tables, contexts, middle) <= wanted:
            letter = middle
        else:
            beyond = middle
    return letter


@compiled
def spell(tables: NgramTables, letters: Whole) -> Whole:
    """Return the shares (M, 2) of letters (M,), one after the other."""
    context, contexts = _before_letters(tables)
    spans = np.empty((len(letters), 2), np.int64)
    for number, letter in enumerate(letters):
        find_contexts(tables, context, contexts)
        spans[number] = _letter_span(tables, contexts, letter)
        append(context, letter)
    return spans


@compiled
def _before_letters(tables: NgramTables) -> tuple[Whole, Whole]:
    """Return the context of a word's first letter, and room for the numbers of known contexts."""
    return np.full(LETTER_ORDER - 1, len(tables.alone) - 1), np.empty((LETTER_ORDER, COLUMNS), np.int64)


@without_reference_counts
def _letter_span(tables: NgramTables, contexts: Whole, letter: int) -> tuple[int, int]:
    return _letter_edge(tables, contexts, letter), _letter_edge(tables, contexts, letter + 1)


@without_reference_counts
def _letter_edge(tables: NgramTables, contexts: Whole, letter: int) -> int:
    """Return the strictly increasing distribution function of letters."""
    size = len(tables.alone) - 1
    edge: int = below(tables, contexts, letter) * (ONE - size) >> BITS
    return edge + letter


@without_reference_counts
def _place(point: Decoder) -> int:
    """Return the point's place in the interval, out of ONE: F(symbol) <= place < F(symbol + 1) says whose share it is."""
    return (((point.offset[0] + 1) << BITS) - 1) // point.interval[0]


@without_reference_counts
def _narrow_to(point: Decoder, low: int, high: int) -> None:
    """Go on to a share of the interval that holds the point."""
    bit = WIDTH + point.interval[1]
    begins, more = narrow(point.interval, low, high)
    offset = point.offset[0] - begins
    for _ in range(more):
        offset = offset << 1 | (point.bits[bit >> 3] >> (7 - (bit & 7)) & 1)
        bit += 1
    point.offset[0] = offset


@without_reference_counts
def _spell_to(point: Decoder, low: int, high: int) -> None:
    """Go on to the share of a part of a word's spelling, which is the same in every band."""
    _narrow_to(point, low, high)
    narrow(point.text, low, high)


@without_reference_counts
def _has_ended(point: Decoder) -> bool:
    """Return True if no text of the band begins with what was read, or the interval is too narrow to be divided."""
    return is_too_narrow(point.band, point.text[0], point.text[1]) or point.interval[1] > point.narrowest
