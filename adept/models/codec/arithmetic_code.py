"""An arithmetic code, which maps likely texts to numbers below K, and each number to a text.

An arithmetic code divides the line [0, 1) into one interval for each possible first word. The width
of an interval is the probability of its word. Each interval is divided in the same way among the
possible second words, and so on (Witten, Neal and Cleary 1987, "Arithmetic coding for data
compression"). A point of the line stands for the text in whose interval the point lies.

If K points were spread evenly over the line, many points would stand for the same likely texts. To
avoid this, the numbers below K are divided into ranges, called *bands*, and each band is for texts
of similar probability. The probabilities of the texts of a band differ by at most a factor of
BAND_RATIO. Only the last band takes all texts that are too likely for the other bands. If K is at
most PLAIN_SIZE, one band takes all texts. Each number has MAX_ATTEMPTS points on the line, one for
each *attempt*. These points are tried in order, until one of them stands for a text that belongs to
the number's band; then the number stands for this text. If no point stands for such a text, the
number stands for the text at its first point.

In each attempt, the line is cut into cells of equal width, one for each number of a band. A hash
that everybody can compute chooses a number's point inside the number's cell. Given a text, the
method ``number`` searches the numbers of the text's band for one that has a point in the text's
interval. The points of this number in all earlier attempts must stand for texts outside the band.
So ``write`` maps the number of a text back to exactly this text.
"""

import math
from collections.abc import Iterator, Sequence
from hashlib import shake_256
from itertools import chain
from typing import NamedTuple

import numpy as np

from adept.models.language_model.interval_coder import NO_BAND, WIDTH, Limits, Spelled, WidthAndDepth, decode, encode
from adept.models.language_model.ngram_mixture import LanguageModel
from adept.models.language_model.ngrams import BITS, ONE
from adept.models.language_model.vocabulary import END_WORD, MAX_WORDS, UNKNOWN_NUMBER

TAIL_BITS = 512  # bits of a point after those of K, from which the model goes on writing
NARROWEST_BITS = 5 * BITS  # bits of a point that must be left where a text ends
PLAIN_SIZE = 1 << 12  # largest K at which each number stands for the text of its first point
BAND_RATIO, BAND_SHARE, MAX_ATTEMPTS = 64, 4, 12


class Band(NamedTuple):
    """A range of numbers that stand for texts whose probability lies between two limits.

    The range is from ``first`` to ``first + size - 1``. The limits ``narrow`` and ``wide`` are in
    units of ``2^-precision``, where ``precision`` is the number of bits of a point.
    """

    first: int
    size: int
    narrow: int
    wide: int


class Interval(NamedTuple):
    """The interval that a text has in its band, and the probability of the text.

    ``low``, ``width`` and ``probability`` are in units of ``2^-precision`` (see ``Band``).
    """

    band: Band
    low: int
    width: int
    probability: int


class ArithmeticCode:
    """An arithmetic code with K = ``size`` numbers, from 0 to K - 1.

    For K above PLAIN_SIZE, a text of fewer than MAX_WORDS words has a number only if, given all its
    words, the model expects the text to end there with a probability of ``2^-end_bits`` or more.
    """

    def __init__(self, model: LanguageModel, size: int, *, end_bits: int = BITS) -> None:
        self.model, self.size, self._least_end = model, size, ONE >> end_bits
        self.precision = -(-(size.bit_length() + TAIL_BITS) // 8) * 8
        self.bits = math.log2(size) + math.log2(BAND_RATIO)  # that a text may cost that has a number
        self.line = 1 << self.precision
        self._narrowest = self.precision - NARROWEST_BITS  # depth of an interval that is not divided any more
        self.bands = _bands(size, self.line)
        self._limits_of_bands = np.array([self._limits(band) for band in self.bands])

    def write(self, number: int) -> list[str]:
        band = next(band for band in self.bands if number < band.first + band.size)
        place = number - band.first
        attempt, words = self._first_inside(band, place, MAX_ATTEMPTS)
        return words if attempt < MAX_ATTEMPTS else self.text_at(self._point(band, place, 0))

    def spread(self, count: int) -> Iterator[list[str]]:
        """Yield the texts at ``count`` evenly spread points, without a division into bands."""
        line = Band(0, count, 0, self.line)
        return (self.text_at(self._point(line, place, 0)) for place in range(count))

    def text_at(self, point: int) -> list[str]:
        """Return the text at a point (unit ``2^-precision``), without a division into bands."""
        return self._read([point], self._limits(Band(0, 1, 0, self.line + 1)))[1]

    def number(self, words: Sequence[str]) -> int | None:
        found = self.interval(words)
        return self._number_in(found.band, found.low, found.low + found.width) if found else None

    def interval(self, words: Sequence[str]) -> Interval | None:
        """Return the interval that a text has in the band to which the text belongs.

        The result is None if the text belongs to no band, if one of its words cannot be spelled, or
        if the interval would be too narrow.
        """
        numbers = self.model.vocabulary.encode(words)[:MAX_WORDS]
        spelled = self._spelled(words, numbers)
        if END_WORD in words or spelled is None:
            return None
        band, steps, own, text = encode(
            self.model.tables, np.array(numbers), spelled, self._limits_of_bands, self._narrowest
        )
        if band == NO_BAND:
            return None
        low = 0
        for begins, more in steps.tolist():
            low = low + begins << more
        return Interval(self.bands[band], low << self._scale(own), self._line_width(own), self._line_width(text))

    def _spelled(self, words: Sequence[str], numbers: Sequence[int]) -> Spelled | None:
        unknown = [place for place, number in enumerate(numbers) if number == UNKNOWN_NUMBER]
        shares = {place: self.model.spelling.spans(words[place]) or [] for place in unknown}
        if not all(shares.values()):
            return None
        flat = np.array([*chain.from_iterable(shares.values())], dtype=np.int64).reshape(-1, 2)
        return Spelled(flat, np.cumsum([0, *(len(shares.get(place, ())) for place in range(len(numbers)))]))

    def _line_width(self, interval: WidthAndDepth) -> int:
        return int(interval[0]) << self._scale(interval)

    def _scale(self, interval: WidthAndDepth) -> int:
        return self.precision - WIDTH - int(interval[1])

    def _limits(self, band: Band) -> Limits:
        narrow, wide = self._width_and_depth(max(band.narrow, 1 << NARROWEST_BITS)), self._width_and_depth(band.wide)
        return np.array([*narrow, *wide, self._least_end if band.narrow else 1])

    def _width_and_depth(self, width: int) -> tuple[int, int]:
        """Return a width as a pair (width, depth) of ``interval_coder``, rounded up.

        The argument ``width`` is in units of ``2^-precision``.
        """
        more = WIDTH - (width - 1).bit_length()
        return -((-width << WIDTH) >> (WIDTH - more)), self.precision - WIDTH + more

    def _number_in(self, band: Band, low: int, high: int) -> int | None:
        first, last = low * band.size >> self.precision, (high - 1) * band.size >> self.precision
        cells = dict.fromkeys((min(first + 1, last), first, last))
        for attempt in range(MAX_ATTEMPTS):
            for place in ((cell - _turn(band, attempt)) % band.size for cell in cells):
                inside = low <= self._point(band, place, attempt) < high
                if inside and (not attempt or self._first_inside(band, place, attempt)[0] == attempt):
                    return band.first + place
        return None

    def _first_inside(self, band: Band, place: int, attempts: int) -> tuple[int, list[str]]:
        """Return the first attempt whose point stands for a text of ``band``, and this text.

        ``place`` is the number's place in ``band``. If none of the first ``attempts`` attempts has
        such a text, the result is ``attempts`` and the text of the last attempt.
        """
        if not band.narrow:
            return 0, self.text_at(self._point(band, place, 0))
        return self._read([self._point(band, place, attempt) for attempt in range(attempts)], self._limits(band))

    def _read(self, points: Sequence[int], limits: Limits) -> tuple[int, list[str]]:
        """Return the index of the first point whose text is within ``limits``, and this text.

        If there is no such point, return the number of points, and the last point's text.
        """
        model, size = self.model, self.precision // 8
        bits = np.frombuffer(b"".join(point.to_bytes(size, "big") for point in points), np.uint8).reshape(-1, size)
        tables, spelling = model.tables, model.spelling
        found, numbers, spelled = decode(tables, spelling.tables, bits, limits, self._narrowest, MAX_WORDS)
        words = [
            spelling.word(letters) if number == UNKNOWN_NUMBER else model.vocabulary.words[number]
            for number, letters in zip(numbers.tolist(), spelled.tolist(), strict=True)
        ]
        return found, [word for word in words if word]  # no word without letters

    def _point(self, band: Band, place: int, attempt: int) -> int:
        """Return the point that the number at ``place`` in ``band`` has in an attempt."""
        cell = (place + _turn(band, attempt)) % band.size
        begin, end = (-(-(edge << self.precision) // band.size) for edge in (cell, cell + 1))
        digest = shake_256(f"{band.first} {cell} {attempt}".encode()).digest(self.precision // 8 + 16)
        return begin + int.from_bytes(digest, "big") % (end - begin)


def _turn(band: Band, attempt: int) -> int:
    return attempt * (band.size * 618 // 1000)


def _bands(size: int, whole: int) -> list[Band]:
    if size <= PLAIN_SIZE:  # so all texts are at hand in a second
        return [Band(0, size, 0, whole + 1)]
    bands, left, wide = [], size, whole // size
    while left >= BAND_SHARE and wide < whole:
        bands.append(Band(size - left, left - left // BAND_SHARE, wide // BAND_RATIO, wide))
        left, wide = left // BAND_SHARE, wide * BAND_RATIO
    return [*bands, Band(size - left, left, bands[-1].wide, whole + 1)]
