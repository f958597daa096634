"""An arithmetic code: whole numbers below K on one side, texts on the other, likely texts having many numbers.

The line [0, 1) is divided among first words by their shares, each part among second words, and so on (Witten, Neal and Cleary 1987,
"Arithmetic coding for data compression"). Number d stands for one point inside [d/K, (d+1)/K), at a place that a public hash of d
chooses, and for the text in whose part the point lies. So

- every number has a text, written by the model alone where the number has said all that it has to say;
- a text whose part is at least 2/K wide has a number, and of narrower ones some do, by luck: :meth:`number` tells;
- numbers drawn at random write texts drawn at random from the model.

All of it is integers: both directions go through the same parts, to the last unit.
"""

from collections.abc import Iterable, Iterator, Sequence
from hashlib import shake_256

from adept.models.ngrams import BITS
from adept.models.word_model import END, UNKNOWN, Span, WordModel

TAIL = 512  # bits of the point beyond those of K: what the model goes on with
NARROWEST = 1 << (2 * BITS)  # a part narrower than this is not divided any more: the text ends
MAX_WORDS, MAX_LETTERS = 40, 30

Part = tuple[int, int]  # where it begins, and how wide it is


class TextCode:
    """The code of one model with K = ``size`` numbers.

    Raises:
        ValueError: ``size`` is below 1.
    """

    def __init__(self, model: WordModel, size: int) -> None:
        self.model, self.size = model, size
        self.precision = size.bit_length() + TAIL

    @property
    def whole(self) -> Part:
        """The line, in units of 2^-precision."""
        return 0, 1 << self.precision

    def write(self, number: int) -> list[str]:
        """The words of a number's text, at most MAX_WORDS of them."""
        reader = _Reader(self.whole, self._point(number))
        words: list[str] = []
        history = self.model.start
        while len(words) < MAX_WORDS and reader.part[1] > NARROWEST:
            symbol, span = self.model.find(history, reader.place())
            reader.part = narrowed(reader.part, span)
            word = self.model.vocabulary.words[symbol]
            if word == END:
                break
            words += filter(None, [self._spell(reader) if word == UNKNOWN else word])  # no word without letters
            history = (*history[1:], symbol)
        return words

    def _spell(self, reader: "_Reader") -> str:
        letters, context = "", self.model.letter_start
        while len(letters) < MAX_LETTERS and reader.part[1] > NARROWEST:
            number, span = self.model.find_letter(context, reader.place())
            reader.part = narrowed(reader.part, span)
            if number == 0:
                break
            letters += self.model.alphabet[number - 1]
            context = (*context[1:], number)
        return letters

    def spans(self, words: Sequence[str]) -> Iterator[Span]:
        """The shares of a text's words and letters and of its end; stops short at a letter that is in no alphabet."""
        history, vocabulary = self.model.start, self.model.vocabulary
        for word, symbol in zip([*words, END], vocabulary.encode(words), strict=True):
            yield self.model.span(history, symbol)
            if vocabulary.words[symbol] == UNKNOWN:
                yield from self.model.spelling(word) or [(0, 0)]
            history = (*history[1:], symbol)

    def number(self, spans: Iterable[Span]) -> int | None:
        """A number whose text has these shares; None if there is none."""
        part = self.whole
        for span in spans:
            part = narrowed(part, span)
            if part[1] <= NARROWEST:
                return None
        low, high = part[0], part[0] + part[1]
        first, last = low * self.size >> self.precision, (high - 1) * self.size >> self.precision
        for number in dict.fromkeys((min(first + 1, last), first, last)):
            if low <= self._point(number) < high:
                return number
        return None

    def _point(self, number: int) -> int:
        """A number's point, in units of 2^-precision."""
        begin, end = (-(-(d << self.precision) // self.size) for d in (number, number + 1))
        digest = shake_256(number.to_bytes(32, "big")).digest(self.precision // 8 + 16)
        return begin + int.from_bytes(digest, "big") % (end - begin)


class _Reader:
    """A point, and the part of the line that is known to hold it."""

    def __init__(self, part: Part, point: int) -> None:
        self.part, self.point = part, point

    def place(self) -> int:
        """Where the point lies in the part, out of ONE: F(symbol) <= place < F(symbol + 1) says whose part it is."""
        low, width = self.part
        return (((self.point - low + 1) << BITS) - 1) // width


def narrowed(part: Part, span: Span) -> Part:
    """The part of a part that a share of it is."""
    low, width = part
    begin, end = width * span[0] >> BITS, width * span[1] >> BITS
    return low + begin, end - begin
