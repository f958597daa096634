"""What a budget buys by where the blur is added: accuracy over epsilon, as `docs/studies.md` has it for HWU64, all labels private.

Every epsilon is for replacing one record by any other. Local and central are pure; shuffled is the local file in an order that
nobody knows, so that it has the local accuracy at a smaller epsilon, with delta 1e-6.
"""

import math
from dataclasses import dataclass

CENTRAL = {
    0.25: 0.178,
    0.5: 0.527,
    1.0: 0.630,
    2.0: 0.753,
    4.0: 0.777,
    6.0: 0.802,
    8.0: 0.814,
    11.0: 0.815,
    16.0: 0.809,
}
SHUFFLED = {0.33: 0.024, 1.12: 0.250, 2.14: 0.614, 5.49: 0.743, 13.6: 0.756}
LOCAL = {4.0: 0.024, 6.0: 0.250, 8.0: 0.614, 11.0: 0.743, 16.0: 0.756}
ITSELF = 0.890  # of a classifier of the text itself
TICKS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0)
STEP, LEFT = 46.0, 46.0  # pixels to the double of an epsilon, and where the first one stands
FLOOR, HEIGHT = 230.0, 210.0  # where no answer is right, and from there to where all are


@dataclass(frozen=True)
class Point:
    """One measured accuracy, and where it is drawn."""

    epsilon: float
    accuracy: float

    @property
    def x(self) -> float:
        """From the left."""
        return round(LEFT + STEP * math.log2(self.epsilon / TICKS[0]), 1)

    @property
    def y(self) -> float:
        """From the top."""
        return round(FLOOR - HEIGHT * self.accuracy, 1)

    @property
    def said(self) -> str:
        """Of 100 sentences, how many a classifier gets right."""
        return f"{100 * self.accuracy:.0f}"


def lines() -> dict[str, list[Point]]:
    """Return the points of each line."""
    found = {"central": CENTRAL, "shuffled": SHUFFLED, "local": LOCAL}
    return {name: [Point(*one) for one in points.items()] for name, points in found.items()}


def marks() -> dict[str, list[Point]]:
    """Return where the axes have their marks, and where the text itself is drawn."""
    first = TICKS[0]
    return {
        "epsilon": [Point(epsilon, 0.0) for epsilon in TICKS],
        "accuracy": [Point(first, share) for share in (0.0, 0.25, 0.5, 0.75)],
        "itself": [Point(first, ITSELF)],
    }
