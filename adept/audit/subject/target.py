"""The target of an audit: what a mechanism on vectors and one on values have in common."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from adept.audit.result import MechanismFailure
from adept.audit.subject.sandbox import Caller, fresh_copy

Floats = NDArray[np.float64]
Statistic = Callable[[Any], Floats]

CHECK_SECONDS = 3.0  # that a slow mechanism may take, about, in one check


@dataclass
class Target:
    """A mechanism under audit, its claim, and the caller that asks it."""

    mechanism: Any  # with ``epsilon`` and ``privatize``
    time_limit: float = field(default=math.inf, kw_only=True)  # seconds of a call; infinite: no thread of its own
    given: Any = field(default=None, kw_only=True)  # as it was given: copied, never asked; None: it cannot be copied
    memoised: bool = field(default=False, kw_only=True)  # has a memory: each release is drawn from a fresh copy
    call: Caller = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self.call = Caller(self.time_limit)

    @property
    def name(self) -> str:
        """Name of the mechanism, or of its type."""
        return str(getattr(self.mechanism, "name", type(self.mechanism).__name__))

    @property
    def epsilon(self) -> float:
        return float(self.mechanism.epsilon)

    @property
    def delta(self) -> float:
        return float(getattr(self.mechanism, "delta", 0.0) or 0.0)

    @property
    def clip_norm(self) -> float:
        """The unit of the numbers in a release."""
        return 1.0

    @property
    def supports(self) -> Callable[[Any, Any], float] | None:
        """The caller's own statistic of an outcome and a value."""
        return None

    def fresh(self) -> Any:
        """Return a copy of the mechanism as it was given, which nobody has asked.

        Raises:
            MechanismFailure: there can be none.
        """
        if self.given is None:
            raise MechanismFailure("the mechanism cannot be copied")
        return fresh_copy(self.given)

    def without_memory(self) -> Self:
        """Return this target; raise MechanismFailure if its releases depend on each other by declaration."""
        if self.memoised:
            raise MechanismFailure("the mechanism says that its releases depend on earlier ones")
        return self

    def affordable(self, rows: int, *, share: float = 1.0, alone: bool = False) -> int:
        """Return ``rows``, or as many as are released in a share of `CHECK_SECONDS`; fixed before any is looked at."""
        return max(0, min(rows, int(share * CHECK_SECONDS / self.seconds_each(alone=alone))))

    def seconds_each(self, *, alone: bool) -> float:
        """Return the seconds that a release takes, in a call of its own if ``alone``."""
        raise NotImplementedError

    def draw(self, record: Any, rows: int, *, alone: bool = False) -> Iterator[Any]:
        """Yield ``rows`` releases of one record, in chunks; each in a call of its own if ``alone``."""
        raise NotImplementedError

    def sample(self, record: Any, rows: int, *, alone: bool = False) -> Any:
        """Return ``rows`` releases of one record, as `draw` reads it."""
        chunks = list(self.draw(record, rows, alone=alone))
        if len({chunk.shape[1:] for chunk in chunks}) > 1:
            raise MechanismFailure("privatize returned rows of different lengths")
        return np.concatenate(chunks)

    def centres(self, first: Any, second: Any) -> tuple[Floats, Floats]:
        """Return two inputs as the claim sees them, flat; empty for values."""
        return np.zeros(0), np.zeros(0)

    def is_silent(self, releases: Any) -> bool:
        """Return True if there is no number in these releases."""
        return False

    def count_numbers(self, record: Any) -> int:
        """Return about how many numbers a release of a record holds."""
        return 1
