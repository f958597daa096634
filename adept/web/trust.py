"""What a budget buys by where the blur is added: accuracy over epsilon, as `docs/results.md` has it for HWU64.

Local is `learned_codebook` with copied labels, central is `adept synthesize` with private ones; either has a pure epsilon.
"""

import math
from dataclasses import dataclass

LOCAL = {2.0: 0.320, 4.0: 0.666, 8.0: 0.772}
CENTRAL = {0.5: 0.671, 1.0: 0.738, 2.0: 0.787, 4.0: 0.806}
ITSELF = 0.882  # of a classifier of the text itself
LEAST, STEP, LEFT = 0.5, 66.0, 40.0  # the first epsilon, pixels to the double of each, and where it stands
FLOOR, HEIGHT = 250.0, 250.0  # where no answer is right, and from there to where all are


@dataclass(frozen=True)
class Point:
    """One measured accuracy, and where it is drawn."""

    epsilon: float
    accuracy: float

    @property
    def x(self) -> float:
        """From the left."""
        return LEFT + STEP * math.log2(self.epsilon / LEAST)

    @property
    def y(self) -> float:
        """From the top."""
        return FLOOR - HEIGHT * self.accuracy

    @property
    def said(self) -> str:
        """Of 100 sentences, how many a classifier gets right."""
        return f"{100 * self.accuracy:.0f}"


def lines() -> dict[str, list[Point]]:
    """Return the points of each line."""
    return {name: [Point(*one) for one in found.items()] for name, found in (("local", LOCAL), ("central", CENTRAL))}


def itself() -> Point:
    """Return where the text itself is drawn, at the first epsilon."""
    return Point(LEAST, ITSELF)
