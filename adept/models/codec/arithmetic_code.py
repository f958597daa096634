"""A code for texts: whole numbers below K on one side, texts on the other; likely texts have numbers of their own.

An arithmetic code divides the line [0, 1) among first words by their shares, each part among second words, and so on (Witten,
Neal and Cleary 1987, "Arithmetic coding for data compression"): a text of probability p is a part of width p, and a point of the
line stands for the text in whose part it lies. Points at random write texts at random from the model.

To make K points the K numbers is wasteful: half of them would write again what others write, most of the rest texts so rare
that nobody says them. A text needs one number, and the best code numbers the K likeliest texts. So numbers come in *bands*: those
of one band write texts whose part is about as wide, within a factor of SPAN, and a number stands for the first of ATTEMPTS points
whose text is of its band. The points of one attempt lie evenly, one in each cell of the line, at a place in it and in an order
that public hashes choose; so that

- every number has a text, and numbers drawn at random write texts about as likely as those that K numbers pay for;
- to find the number of a text is to look, attempt by attempt, whether the point of its cell lies in its part, and whether the
  number that the cell belongs to has passed over all its earlier points;
- what ``number`` finds, ``write`` writes as that text: both read the same points.

Where texts of a band are a share a of all that is written, a number takes 1/a attempts, and a text of probability p is that of
n p / a numbers out of the band's n: as if it were 1/a times as likely. On real text a is a twentieth. Without the network, so many
validation texts have a number at K = 2^19, 2^30, 2^41 and 2^64: of ATIS .20, .43, .60, .87 (with K points as the K numbers .16,
.40, .57, .85), of SNIPS .10, .16, .26, .52 (.07, .15, .23, .50), of HWU64 .09, .27, .44, .71 (.06, .26, .41, .68). SPAN 8 has
.01 less, 32 needs more attempts for as much.

All of it is integers: both directions go through the same parts, to the last unit.
"""

from collections.abc import Iterable, Iterator, Sequence
from hashlib import shake_256
from typing import NamedTuple

from adept.models.language_model.intervals import BITS, Part, Reader, Span, narrowed
from adept.models.language_model.mixture import LanguageModel, Reading
from adept.models.language_model.vocabulary import END, UNKNOWN

TAIL = 512  # bits of a point beyond those of K: what the model goes on with
NARROWEST = 1 << (2 * BITS)  # a part narrower than this is not divided any more: the text ends
MAX_WORDS = 40
PLAIN = 1 << 12  # numbers up to which each writes its first point's text, so that all texts are at hand in a second
SPAN, SHARE, ATTEMPTS = 16, 4, 64  # widest to narrowest part of a band; one in SHARE numbers is left for wider bands


class Band(NamedTuple):
    """``size`` numbers from ``first`` on that write texts with parts of ``narrow`` <= width < ``wide``."""

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
    def whole(self) -> Part:
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
        """The words of a point's text and the width of its part; where that would be below ``narrow``, the text ends before."""
        reader = Reader(self.whole, point, max(narrow, NARROWEST))
        words: list[str] = []
        history = self.reading.start
        while len(words) < MAX_WORDS:
            symbol, span = self.reading.find(history, reader.place())
            reader.narrow_to(span)
            word = self.model.vocabulary.words[symbol]
            if word == END or reader.ended:
                break
            words += filter(
                None, [self.model.spelling.read(reader) if word == UNKNOWN else word]
            )  # no word without letters
            history = self.reading.after(history, symbol)
        return words, reader.part[1]

    def spans(self, words: Sequence[str]) -> Iterator[Span]:
        """The shares of a text's words, of the others' spelling and of its end; of nothing after a word that cannot be said.

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
        part = self.whole
        for span in spans:
            part = narrowed(part, span)
            if part[1] < max(NARROWEST, self.bands[0].narrow):
                return None
        band = next((band for band in self.bands if band.narrow <= part[1] < band.wide), None)
        return None if band is None else self._number_in(band, part)

    def _number_in(self, band: Band, part: Part) -> int | None:
        low, high = part[0], part[0] + part[1]
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
