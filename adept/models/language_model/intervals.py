"""Intervals of an arithmetic code in whole numbers: how a line is divided among words and letters."""

BITS = 30
ONE = 1 << BITS

Span = tuple[int, int]  # a share of an interval, from the first to the second number out of ONE
Interval = tuple[int, int]  # of the line: where it begins, and how wide it is


def narrowed(interval: Interval, span: Span) -> Interval:
    """The interval that a share of an interval is."""
    low, width = interval
    begin, end = width * span[0] >> BITS, width * span[1] >> BITS
    return low + begin, end - begin


class PointReader:
    """A point, and the interval that is known to hold it; reading ends where that is narrower than ``narrow`` >= ONE."""

    def __init__(self, interval: Interval, point: int, narrow: int) -> None:
        self.interval, self.point, self.narrow = interval, point, narrow

    @property
    def ended(self) -> bool:
        return self.interval[1] < self.narrow

    def narrow_to(self, span: Span) -> None:
        self.interval = narrowed(self.interval, span)

    def place(self) -> int:
        """Where the point lies in the interval, out of ONE: F(symbol) <= place < F(symbol + 1) says whose share it is."""
        low, width = self.interval
        return (((self.point - low + 1) << BITS) - 1) // width
