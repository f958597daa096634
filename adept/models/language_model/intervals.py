"""Intervals of an arithmetic code in whole numbers: how a line is divided among words and letters."""

BITS = 30
ONE = 1 << BITS

Span = tuple[int, int]  # a share of something, from the first to the second number out of ONE
Part = tuple[int, int]  # of the line: where it begins, and how wide it is


def narrowed(part: Part, span: Span) -> Part:
    """The part of a part that a share of it is."""
    low, width = part
    begin, end = width * span[0] >> BITS, width * span[1] >> BITS
    return low + begin, end - begin


class Reader:
    """A point, and the part of the line that is known to hold it; reading ends where that is narrower than ``narrow`` >= ONE."""

    def __init__(self, part: Part, point: int, narrow: int) -> None:
        self.part, self.point, self.narrow = part, point, narrow

    @property
    def ended(self) -> bool:
        return self.part[1] < self.narrow

    def narrow_to(self, span: Span) -> None:
        self.part = narrowed(self.part, span)

    def place(self) -> int:
        """Where the point lies in the part, out of ONE: F(symbol) <= place < F(symbol + 1) says whose part it is."""
        low, width = self.part
        return (((self.point - low + 1) << BITS) - 1) // width
