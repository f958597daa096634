"""What an experiment needs of a target: releases of one record, as many as can be had in the time."""

from collections.abc import Callable, Iterator
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Statistic = Callable[[Any], Floats]


class Target(Protocol):
    """A mechanism on vectors or on values, as the distinguisher sees it."""

    @property
    def name(self) -> str: ...

    @property
    def epsilon(self) -> float:
        """The claim that is judged, in nats."""

    @property
    def delta(self) -> float: ...

    @property
    def clip_norm(self) -> float:
        """The unit of the numbers in a release."""

    @property
    def memoised(self) -> bool:
        """Has the mechanism a memory of its own, so that each release is drawn from a fresh copy of it."""

    @property
    def supports(self) -> Callable[[Any, Any], float] | None:
        """The caller's own statistic of an outcome and a value."""

    def draw(self, record: Any, rows: int, *, alone: bool = False) -> Iterator[Any]:
        """Yield so many releases of one record, in chunks."""

    def sample(self, record: Any, rows: int, *, alone: bool = False) -> Any:
        """Return so many releases of one record."""

    def centres(self, first: Any, second: Any) -> tuple[Floats, Floats]:
        """Return two inputs as the claim sees them, flat; empty for values."""

    def silent(self, releases: Any) -> bool:
        """Is there no number in these releases."""

    def numbers(self, record: Any) -> int:
        """Return how many numbers a release of a record holds, about."""

    def affordable(self, rows: int, *, seconds: float, alone: bool = False) -> int:
        """Return ``rows``, or as many as are released in so many seconds; fixed before any is looked at."""
