"""The arithmetic code: whole numbers below K on one side, texts on the other; likely texts have numbers of their own.

An arithmetic code divides the line [0, 1) among first words by their probabilities, each interval among second words, and so on
(Witten, Neal and Cleary 1987, "Arithmetic coding for data compression"): a text of probability p is an interval of width p, and a
point of the line stands for the text in whose interval it lies. Points at random write texts at random from the model.

To make K evenly spread points the K numbers is wasteful: half of them would write again what others write, most of the rest texts
that are too rare to matter. A text needs one number, and the best code numbers the K likeliest texts. So numbers come in *bands*:
those of one band write texts whose intervals are about as wide, within a factor of SPAN, and a number stands for the first of
ATTEMPTS points whose text is of its band. The points of one attempt are evenly spread, one in each cell of the line, at a place in
it and in an order that public hashes choose; so that

- every number has a text, and numbers drawn at random write texts about as likely as those that K numbers pay for;
- to find the number of a text is to look, attempt by attempt, whether the point of its cell lies in its interval, and whether the
  number that the cell belongs to has passed over all its earlier points;
- what ``number`` finds, ``write`` writes as that text: both use the same points.

If texts of a band have a share a of all probability, a number takes 1/a attempts, and a text of probability p is that of n p / a of
the band's n numbers: as if it were 1/a times as likely. On real text a is about 1/20.

All of it is integers: both directions use the same intervals, to the last unit.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from hashlib import shake_256
from typing import NamedTuple

import numpy as np

from adept.models.language_model.intervals import BITS, WHOLE, WIDTH, Span, narrowed
from adept.models.language_model.mixture import LanguageModel
from adept.models.language_model.next_word import spans, unread
from adept.models.language_model.ngrams import Whole
from adept.models.language_model.point_reading import Point, read_text
from adept.models.language_model.vocabulary import MAX_WORDS, UNKNOWN_NUMBER

TAIL = 512  # bits of a point beyond those of K, from which the model writes on
NARROWEST = 1 << (3 * BITS)  # an interval narrower than this is not divided any more: the text ends
PLAIN = 1 << 12  # numbers up to which each writes its first point's text, so that all texts are at hand in a second
SPAN, SHARE, ATTEMPTS = 64, 4, 16  # widest to narrowest interval of a band; of numbers one in SHARE is for wider ones


class Band(NamedTuple):
    """``size`` numbers from ``first`` on that write texts with intervals of ``narrow`` <= width < ``wide``."""

    first: int
    size: int
    narrow: int
    wide: int


class ArithmeticCode:
    """The code of one model with K = ``size`` numbers.

    Raises:
        ValueError: ``size`` is below 1.
    """

    def __init__(self, model: LanguageModel, size: int) -> None:
        self.model, self.size = model, size
        self.precision = -(-(size.bit_length() + TAIL) // 8) * 8
        self.bands = _bands(size, self.line)
        self._first = unread(model.tables)
        spans(model.tables, self._first, np.zeros(0, dtype=np.int64))

    @property
    def bits(self) -> float:
        """What a text may cost that has a number."""
        return math.log2(self.size) + math.log2(SPAN)

    @property
    def line(self) -> int:
        """How long the line is, in units of 2^-precision."""
        return 1 << self.precision

    def write(self, number: int) -> list[str]:
        """The words of a number's text, at most MAX_WORDS of them."""
        band = next(band for band in self.bands if number < band.first + band.size)
        place = number - band.first
        return self.text_at(self._point(band, place, self._attempt(band, place)))[0]

    def spread(self, count: int) -> Iterator[list[str]]:
        """What the model writes at ``count`` points that are spread over the line; of K <= PLAIN points, what K numbers write."""
        line = Band(0, count, 0, self.line)
        return (self.text_at(self._point(line, place, 0))[0] for place in range(count))

    def text_at(self, point: int) -> tuple[list[str], int]:
        """The words of a point's text and the width of its interval."""
        (numbers, spelled), width = self.read(point, NARROWEST)
        model = self.model
        words = [
            model.spelling.word(letters) if number == UNKNOWN_NUMBER else model.vocabulary.words[number]
            for number, letters in zip(numbers.tolist(), spelled.tolist(), strict=True)
        ]
        return [word for word in words if word], width  # no word without letters

    def read(self, point: int, narrow: int) -> tuple[tuple[Whole, Whole], int]:
        """Read the words at a point, as numbers, and the width of their interval; where that is below ``narrow``, the text ends."""
        state = np.array([point >> (self.precision - WIDTH), WHOLE.width, WHOLE.depth])
        bits = np.frombuffer(point.to_bytes(self.precision // 8, "big"), dtype=np.uint8)
        reader = Point(bits, state, *self._depth_and_width(narrow))
        words = read_text(self.model.tables, self.model.spelling.tables, reader, self._first, MAX_WORDS)
        _, width, depth = state.tolist()
        return words, width << self.precision >> (WIDTH + depth)

    def _depth_and_width(self, width: int) -> tuple[int, int]:
        """The width of an interval in units of 2^-precision as that of an ``Interval``, rounded up."""
        more = WIDTH - (width - 1).bit_length()
        return self.precision - WIDTH + more, -((-width << WIDTH) >> (WIDTH - more))

    def spans(self, words: Sequence[str]) -> Iterator[Span]:
        """The shares of a text's words, of the spelling of unknown ones and of its end; an empty share for what cannot be spelled.

        The longest texts need no end.
        """
        numbers = self.model.vocabulary.encode(words)[:MAX_WORDS]
        shares = spans(self.model.tables, unread(self.model.tables), np.array(numbers)).tolist()
        for number, (low, high), word in zip(numbers, shares, [*words, ""], strict=False):
            yield low, high
            if number == UNKNOWN_NUMBER:
                yield from self.model.spelling.spans(word) or [(0, 0)]

    def number(self, spans: Iterable[Span]) -> int | None:
        """A number whose text has these shares; None if there is none."""
        interval, narrow = WHOLE, self._depth_and_width(max(NARROWEST, self.bands[0].narrow))
        for span in spans:
            if span[0] == span[1]:
                return None
            interval = narrowed(interval, span)
            if (interval.depth, -interval.width) > (narrow[0], -narrow[1]):
                return None
        scale = self.precision - WIDTH - interval.depth
        low, width = interval.low << scale, interval.width << scale
        band = next((band for band in self.bands if band.narrow <= width < band.wide), None)
        return None if band is None else self._number_in(band, low, low + width)

    def _number_in(self, band: Band, low: int, high: int) -> int | None:
        first, last = low * band.size >> self.precision, (high - 1) * band.size >> self.precision
        cells = dict.fromkeys((min(first + 1, last), first, last))
        for attempt in range(ATTEMPTS):
            for place in ((cell - _turn(band, attempt)) % band.size for cell in cells):
                earlier = (self._is_inside(band, place, before) for before in range(attempt))
                if low <= self._point(band, place, attempt) < high and not any(earlier):
                    return band.first + place
        return None

    def _attempt(self, band: Band, place: int) -> int:
        """The first attempt at which a number of a band has a text of that band; the first of all if there is none."""
        return next((attempt for attempt in range(ATTEMPTS) if self._is_inside(band, place, attempt)), 0)

    def _is_inside(self, band: Band, place: int, attempt: int) -> bool:
        """Whether the text of a number's point at an attempt is of its band."""
        _, width = self.read(self._point(band, place, attempt), max(band.narrow, NARROWEST))
        return band.narrow <= width < band.wide

    def _point(self, band: Band, place: int, attempt: int) -> int:
        """The point of a number of a band at an attempt, in units of 2^-precision: somewhere in a cell of its own."""
        cell = (place + _turn(band, attempt)) % band.size
        begin, end = (-(-(edge << self.precision) // band.size) for edge in (cell, cell + 1))
        digest = shake_256(f"{band.first} {cell} {attempt}".encode()).digest(self.precision // 8 + 16)
        return begin + int.from_bytes(digest, "big") % (end - begin)


def _turn(band: Band, attempt: int) -> int:
    """By how many cells the points of an attempt are turned, so that a number's lie all over the line."""
    return attempt * (band.size * 618 // 1000)


def _bands(size: int, whole: int) -> list[Band]:
    """The bands of ``size`` numbers: first that of texts of 1 to 1/SPAN cells, then wider ones, a SHARE of the rest for each."""
    if size <= PLAIN:
        return [Band(0, size, 0, whole + 1)]
    bands, left, wide = [], size, whole // size
    while left >= SHARE and wide < whole:
        bands.append(Band(size - left, left - left // SHARE, wide // SPAN, wide))
        left, wide = left // SHARE, wide * SPAN
    return [*bands, Band(size - left, left, bands[-1].wide, whole + 1)]
