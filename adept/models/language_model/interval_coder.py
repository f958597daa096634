"""An arithmetic coder: ``encode`` finds a text's interval, ``decode`` finds the text at a point.

The coder divides the line [0, 1) into one interval for each text. An interval is stored as three
whole numbers, ``low``, ``width`` and ``depth``. The interval begins at ``low * 2^-(WIDTH + depth)``
and has the width ``width * 2^-(WIDTH + depth)``, where ``2^(WIDTH - 1) < width <= 2^WIDTH``. A
*share* is a part of an interval, given by its two edges: whole numbers from 0, the start of the
interval, to ONE, its end. A share of any interval, however narrow, is computed with 64-bit
integers.

A *band* holds the texts whose probability lies between two limits, and whose end has at least a
given probability. Each band divides the line in its own way. The interval of an unfinished text is
divided in two steps: first into a share for the end of the text and a share for all continuations,
which is then divided among the next words. The end gets no share if the band excludes the finished
text. If the finished text belongs to the band, the end gets the larger one of the shares p and
``p / (p + b / GROWTH)``, and all continuations together get the rest. Here p is the model's
probability that the text ends here, and b is the number of bits that a continuation may still cost
if it is to belong to the band.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from adept.models.language_model.machine_code import compiled, without_reference_counts
from adept.models.language_model.next_word import (
    CONTEXT_COLUMNS,
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
from adept.models.language_model.ngram_mixture import (
    LETTER_ORDER,
    LISTED_SHARE,
    MAX_WORD_LETTERS,
    ModelTables,
    SpellingTables,
)
from adept.models.language_model.ngrams import BITS, ONE, NgramTables, Whole
from adept.models.language_model.vocabulary import END_NUMBER, UNKNOWN_NUMBER

WIDTH = 32  # bits of an interval's width: more than BITS, so that no share of it is empty
GROWTH = 64  # a text of 20 to 40 bits costs b to b + 1 of them with a probability of about 1 / GROWTH
WORD_END = 0  # number of the letter that ends a word
NO_BAND = -1

WidthAndDepth = NDArray[np.int64]
# Five numbers for a band: the width and depth of the least probability of its texts, the width and
# depth of the least probability that is too large for it, and the least share that the model must
# give to the end of a text.
Limits = NDArray[np.int64]


class Spelled(NamedTuple):
    """The spellings of those words of a text that are not in the vocabulary."""

    shares: Whole  # shares of the letters of all these words, one after the other (S, 2)
    starts: Whole  # rows where the shares of each of the L words begin, and S (L + 1,)


class Foreseen(NamedTuple):
    """The model's shares for the L words of a text, and for ending the text before each word."""

    spans: Whole  # the share of each word after those before it (L, 2)
    ends: Whole  # the share of an end before each word, out of ONE (L,)


class Decoder(NamedTuple):
    """The point to decode, an interval that contains it, and the probability of the text so far."""

    bits: NDArray[np.uint8]  # bits of the point, the highest bit first, as bytes
    offset: Whole  # distance of the point from the start of the interval (1,)
    interval: WidthAndDepth
    text: WidthAndDepth  # width and depth of an interval as wide as the text's probability
    band: Limits  # limits of the band to which the text must belong
    narrowest: int  # the depth of an interval that is too narrow


@compiled
def whole_line() -> WidthAndDepth:
    return np.array([1 << WIDTH, 0])


@without_reference_counts
def narrow(interval: WidthAndDepth, low: int, high: int) -> tuple[int, int]:
    """Replace an interval by its share from ``low`` to ``high`` (edges from 0 to ONE).

    Return the distance of the share's start from the old interval's start, in units of
    ``2^-(WIDTH + depth)`` with the old depth. Also return the number of bits by which the depth
    grows.
    """
    begins, width, more = _share(interval[0], low, high)
    interval[0], interval[1] = width, interval[1] + more
    return begins, more


@without_reference_counts
def _share(width: int, low: int, high: int) -> tuple[int, int, int]:
    """Return the start and the width of a share, and the bits by which the depth grows."""
    begins, ends, more = width * low >> BITS, width * high >> BITS, 0
    while ends - begins << more <= 1 << (WIDTH - 1):
        more += 1
    return begins, ends - begins << more, more


@without_reference_counts
def _is_inside(band: Limits, width: int, depth: int) -> bool:
    return _narrower(width, depth, band[2], band[3]) and not _is_too_narrow(band, width, depth)


@without_reference_counts
def _is_too_narrow(band: Limits, width: int, depth: int) -> bool:
    """Return True if a text is too unlikely for the band and for all bands of likelier texts."""
    return _narrower(width, depth, band[0], band[1])


@without_reference_counts
def _narrower(width: int, depth: int, other_width: int, other_depth: int) -> bool:
    return depth > other_depth or (depth == other_depth and width < other_width)


@without_reference_counts
def end_share(band: Limits, text: WidthAndDepth, own: int) -> int:
    """Return the share, out of ONE, that a band gives to ending a text after the words so far.

    ``own`` is the share that the model gives to this end, and ``text`` is the probability of the
    words so far. The result is 0 if the text that ends here does not belong to the band.
    """
    _, width, more = _share(text[0], 0, own)
    if own < band[4] or not _is_inside(band, width, text[1] + more):
        return 0
    growth = (1 + band[1] - text[1]) * ONE // GROWTH
    return int(max(own, own * ONE // (own + growth)))


@without_reference_counts
def edge_among_others(own: int, edge: int) -> int:
    """Return where ``edge`` lies after the part from ``own`` to ONE is stretched to [0, ONE).

    The share from 0 to ``own`` belongs to the end of the text, and the other shares belong to the
    next words. The result increases strictly with ``edge``.
    """
    return (edge - own << BITS) // (ONE - own)


@without_reference_counts
def edge_below(own: int, place: int) -> int:
    """Return the largest whole number e for which ``edge_among_others(own, e)`` <= ``place``."""
    return own + (((place + 1) * (ONE - own) - 1) >> BITS)


@compiled
def encode(
    tables: ModelTables, words: Whole, spelled: Spelled, bands: Whole, narrowest: int
) -> tuple[int, Whole, WidthAndDepth, WidthAndDepth]:
    """Find the band of a text, and the interval of the text in this band.

    Return the number of the band, the steps (M, 2), the width of the interval, and the probability
    of the text. The steps lead from the whole line to the interval. Each step replaces the interval
    so far by one of its shares, and holds the result of ``narrow``. Width and probability are pairs
    (width, depth). If the text belongs to no band, or if the depth of its interval is above
    ``narrowest``, the number of the band is NO_BAND. In ``bands`` (B, 5), the bands of less likely
    texts come first.
    """
    foreseen = Foreseen(np.empty((len(words), 2), np.int64), np.empty(len(words), np.int64))
    text, none = _foresee(tables, words, spelled, bands[0], foreseen), np.empty((0, 2), np.int64)
    for number in range(len(bands)):
        band = bands[number]
        may_end = words[-1] != END_NUMBER or foreseen.ends[-1] >= band[4]  # the longest texts have no end
        if may_end and _is_inside(band, text[0], text[1]):
            steps, own = _steps(words, foreseen, spelled, band)
            return (NO_BAND if own[1] > narrowest else number), steps, own, text
    return NO_BAND, none, text, text


@compiled
def _foresee(tables: ModelTables, words: Whole, spelled: Spelled, band: Limits, foreseen: Foreseen) -> WidthAndDepth:
    after, text = start(tables), whole_line()
    for place, word in enumerate(words):
        low, high = span(tables, after, word)
        foreseen.spans[place, 0], foreseen.spans[place, 1] = low, high
        foreseen.ends[place] = span(tables, after, END_NUMBER)[1]
        narrow(text, low, high)
        for letter in spelled.shares[spelled.starts[place] : spelled.starts[place + 1]]:
            narrow(text, letter[0], letter[1])
        if _is_too_narrow(band, text[0], text[1]):
            break
        read(tables, after, word)
    return text


@compiled
def _steps(words: Whole, foreseen: Foreseen, spelled: Spelled, band: Limits) -> tuple[Whole, WidthAndDepth]:
    steps, taken = np.empty((2 * len(words) + len(spelled.shares), 2), np.int64), 0
    text, own = whole_line(), whole_line()
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
        for letter in spelled.shares[spelled.starts[place] : spelled.starts[place + 1]]:
            narrow(text, letter[0], letter[1])
            steps[taken] = narrow(own, letter[0], letter[1])
            taken += 1
    return steps[:taken], own


@compiled
def decoder(bits: NDArray[np.uint8], band: Limits, narrowest: int) -> Decoder:
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
    """Return the index of the first of P points whose text belongs to the band, and this text.

    If there is no such point, return P and the text of the last point. A text ends at END, after
    ``most`` words, when it is too unlikely for the band, or when its interval is too narrow. The
    text is returned as the numbers of its words, and the spellings of words outside the vocabulary.
    """
    after, words, spelled = start(tables), np.empty(most, np.int64), np.empty((most, MAX_WORD_LETTERS), np.int64)
    found, length = 0, 0
    while found < len(points):
        point = decoder(points[found], band, narrowest)
        start_again(tables, after)
        length = _decode_text(tables, spelling, point, after, words, spelled)
        if _is_inside(band, point.text[0], point.text[1]) and not _has_ended(point):
            break
        found += 1
    return found, words[:length], spelled[:length]


@compiled
def _decode_text(
    tables: ModelTables, spelling: SpellingTables, point: Decoder, after: NextWord, words: Whole, spelled: Whole
) -> int:
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
    """Read the spelling of a word that is not in the vocabulary, and store it in ``letters``.

    If the word is at place r of the list of common words, the first entry becomes -1 - r.
    Otherwise, the entries become the numbers of the word's letters, followed by WORD_END.
    """
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
    """Return the shares (M, 2) of the M letters of a word, each given the letters before it."""
    context, contexts = _before_letters(tables)
    spans = np.empty((len(letters), 2), np.int64)
    for number, letter in enumerate(letters):
        find_contexts(tables, context, contexts)
        spans[number] = _letter_span(tables, contexts, letter)
        append(context, letter)
    return spans


@compiled
def _before_letters(tables: NgramTables) -> tuple[Whole, Whole]:
    return np.full(LETTER_ORDER - 1, len(tables.alone) - 1), np.empty((LETTER_ORDER, CONTEXT_COLUMNS), np.int64)


@without_reference_counts
def _letter_span(tables: NgramTables, contexts: Whole, letter: int) -> tuple[int, int]:
    return _letter_edge(tables, contexts, letter), _letter_edge(tables, contexts, letter + 1)


@without_reference_counts
def _letter_edge(tables: NgramTables, contexts: Whole, letter: int) -> int:
    size = len(tables.alone) - 1
    edge: int = below(tables, contexts, letter) * (ONE - size) >> BITS
    return edge + letter


@without_reference_counts
def _place(point: Decoder) -> int:
    return (((point.offset[0] + 1) << BITS) - 1) // point.interval[0]


@without_reference_counts
def _narrow_to(point: Decoder, low: int, high: int) -> None:
    bit = WIDTH + point.interval[1]
    begins, more = narrow(point.interval, low, high)
    offset = point.offset[0] - begins
    for _ in range(more):
        offset = offset << 1 | (point.bits[bit >> 3] >> (7 - (bit & 7)) & 1)
        bit += 1
    point.offset[0] = offset


@without_reference_counts
def _spell_to(point: Decoder, low: int, high: int) -> None:
    _narrow_to(point, low, high)
    narrow(point.text, low, high)


@without_reference_counts
def _has_ended(point: Decoder) -> bool:
    """Return True if the text is too unlikely for the band, or if its interval is too narrow."""
    return _is_too_narrow(point.band, point.text[0], point.text[1]) or point.interval[1] > point.narrowest
