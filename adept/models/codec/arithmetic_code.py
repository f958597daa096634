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

from collections.abc import Iterable, Iterator, Sequence
from hashlib import shake_256
from typing import NamedTuple

from adept.models.language_model.intervals import BITS, Interval, PointReader, Span, narrowed
from adept.models.language_model.mixture import LanguageModel, Reading
from adept.models.language_model.vocabulary import END, UNKNOWN

TAIL = 512  # bits of a point beyond those of K, from which the model writes on
NARROWEST = 1 << (2 * BITS)  # an interval narrower than this is not divided any more: the text ends
MAX_WORDS = 40
PLAIN = 1 << 12  # numbers up to which each writes its first point's text, so that all texts are at hand in a second
SPAN, SHARE, ATTEMPTS = 16, 4, 64  # widest to narrowest interval of a band; of numbers one in SHARE is for wider ones


class Band(NamedTuple):
    """``size`` numbers from ``first`` on that write texts with intervals of ``narrow`` <= width < ``wide``."""

    first: int
    size: int
    narrow: int
    wide: int


class ArithmeticCode:
    """The code of one model with K = ``size`` numbers, for one record or for released numbers: what it read ends with it.

    Raises:
        ValueError: ``size`` is below 1.
    """

    def __init__(self, model: LanguageModel, size: int) -> None:
        self.model, self.reading, self.size = model, Reading(model), size
        self.precision = size.bit_length() + TAIL
        self.bands = _bands(size, self.whole[1])

    @property
    def whole(self) -> Interval:
        """The line, in units of 2^-precision."""
        return 0, 1 << self.precision

    def write(self, number: int) -> list[str]:
        """The words of a number's text, at most MAX_WORDS of them."""
        band = next(band for band in self.bands if number < band.first + band.size)
        place = number - band.first
        return self.text_at(self._point(band, place, self._attempt(band, place)))[0]

    def spread(self, count: int) -> Iterator[list[str]]:
        """What the model writes at ``count`` points that are spread over the line; of K <= PLAIN points, what K numbers write."""
        line = Band(0, count, 0, self.whole[1])
        return (self.text_at(self._point(line, place, 0))[0] for place in range(count))

    def text_at(self, point: int, narrow: int = 0) -> tuple[list[str], int]:
        """The words of a point's text and the width of its interval; where that would be below ``narrow``, the text ends before."""
        reader = PointReader(self.whole, point, max(narrow, NARROWEST))
        words: list[str] = []
        history = self.reading.start
        while len(words) < MAX_WORDS:
            symbol, span = self.reading.find(history, reader.place())
            reader.narrow_to(span)
            word = self.model.vocabulary.words[symbol]
            if word == END or reader.ended:
                break
            spelled = self.model.spelling.read(reader) if word == UNKNOWN else word
            words += [spelled] if spelled else []  # no word without letters
            history = self.reading.after(history, symbol)
        return words, reader.interval[1]

    def spans(self, words: Sequence[str]) -> Iterator[Span]:
        """The shares of a text's words, of the spelling of unknown ones and of its end; an empty share for what cannot be spelled.

        The longest texts need no end.
        """
        history, vocabulary = self.reading.start, self.model.vocabulary
        for word, symbol in list(zip([*words, END], vocabulary.encode(words), strict=True))[:MAX_WORDS]:
            yield self.reading.span(history, symbol)
            if vocabulary.words[symbol] == UNKNOWN:
                yield from self.model.spelling.spans(word) or [(0, 0)]
            history = self.reading.after(history, symbol)

    def number(self, spans: Iterable[Span]) -> int | None:
        """A number whose text has these shares; None if there is none."""
        interval = self.whole
        for span in spans:
            interval = narrowed(interval, span)
            if interval[1] < max(NARROWEST, self.bands[0].narrow):
                return None
        band = next((band for band in self.bands if band.narrow <= interval[1] < band.wide), None)
        return None if band is None else self._number_in(band, interval)

    def _number_in(self, band: Band, interval: Interval) -> int | None:
        low, high = interval[0], interval[0] + interval[1]
        first, last = low * band.size >> self.precision, (high - 1) * band.size >> self.precision
        cells = dict.fromkeys((min(first + 1, last), first, last))
        for attempt in range(ATTEMPTS):
            for place in ((cell - _turn(band, attempt)) % band.size for cell in cells):
                if low <= self._point(band, place, attempt) < high and self._attempt(band, place) == attempt:
                    return band.first + place
        return None

    def _attempt(self, band: Band, place: int) -> int:
        """The first attempt at which a number of a band has a text of that band; the first of all if there is none."""
        for attempt in range(ATTEMPTS):
            width = self.text_at(self._point(band, place, attempt), band.narrow)[1]
            if band.narrow <= width < band.wide:
                return attempt
        return 0

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
