"""A finite tape in place of the operating system's entropy: all tapes are run through, and every outcome has its exact probability.

A run that asks for more than the tape holds is begun again with each possible next draw. What is likelier than `least` is followed
to its end; the rest is the check's tolerance: an outcome's probability is what was found, or up to so much more.
"""

from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from adept.mechanisms import discrete_laplace, random_draws

MOST = 1 << 12  # possibilities of one draw


class EndOfTapeError(Exception):
    """The tape holds no further draw; these are the chances of the possible ones."""


@dataclass
class Tape:
    """Draws that were decided before, read one after the other.

    Attributes:
        draws: the decided ones.
        width: bits of a word.
        read: how many of them were read.
    """

    draws: tuple[int, ...]
    width: int = 64
    read: int = field(default=0, init=False)

    def next(self, chances: Callable[[], Sequence[Fraction]]) -> int:
        """The next draw, one of several."""
        if self.read == len(self.draws):
            raise EndOfTapeError(chances())
        self.read += 1
        return self.draws[self.read - 1]

    def below(self, bound: int) -> int:
        """A uniform integer; of so many only that the mistake which asks for more ends here."""
        if bound > MOST:
            raise OverflowError(f"no tape has a draw of {bound} possibilities")
        return self.next(lambda: [Fraction(1, bound)] * bound) if bound > 1 else 0

    def coin(self, chance: Fraction) -> bool:
        """True with this chance."""
        return not self.next(lambda: [chance, 1 - chance]) if 0 < chance < 1 else chance == 1

    def one_of(self, chances: Sequence[Fraction]) -> int:
        """The place of one of several chances, which sum to one."""
        return self.next(lambda: chances)

    def bits(self, count: int) -> int:
        return self.below(1 << count)

    def words(self, count: int) -> NDArray[np.uint64]:
        return np.array([self.bits(self.width) for _ in range(count)], dtype=np.uint64)

    def below_each(self, bound: int, count: int) -> NDArray[np.int64]:
        return np.array([self.below(bound) for _ in range(count)], dtype=np.int64)


@contextmanager
def reading(tape: Tape) -> Iterator[None]:
    """Let every sampler read this tape."""
    kept, random_draws.source = random_draws.source, tape
    try:
        yield
    finally:
        random_draws.source = kept


def replacing(**parts: Callable[[Tape], Any]) -> Callable[[Tape], AbstractContextManager[None]]:
    """Let functions of the discrete Laplace sampler read the tape in their own way: each part is proved by itself."""

    @contextmanager
    def read(tape: Tape) -> Iterator[None]:
        kept = {name: getattr(discrete_laplace, name) for name in parts}
        try:
            for name, part in parts.items():
                setattr(discrete_laplace, name, part(tape))
            yield
        finally:
            for name, part in kept.items():
                setattr(discrete_laplace, name, part)

    return read


@dataclass
class Outcomes:
    """Outcomes of all tapes.

    Attributes:
        found: the probability of each outcome whose tape ended.
        rest: that of all tapes that did not end.
    """

    found: dict[Any, Fraction]
    rest: Fraction

    def given_an_end(self) -> dict[Any, Fraction]:
        """The outcomes' probabilities where the tape ended: exact where it goes on by rejection alone."""
        return {outcome: chance / (1 - self.rest) for outcome, chance in self.found.items()}

    def allow(self, distribution: dict[Any, Fraction]) -> bool:
        """Return True if the tapes allow this distribution: every outcome within the tolerance, and no other one found."""
        inside = all(
            0 <= chance - self.found.get(outcome, Fraction(0)) <= self.rest for outcome, chance in distribution.items()
        )
        return inside and set(self.found) <= set(distribution)


def outcomes(
    run: Callable[[], Hashable],
    *,
    least: float,
    width: int = 64,
    read: Callable[[Tape], AbstractContextManager[None]] = reading,
) -> Outcomes:
    """Run through all tapes, each as far as it is likelier than ``least``."""
    found: dict[Any, Fraction] = {}
    rest, open_ends = Fraction(0), [((), Fraction(1))]
    while open_ends:
        draws, chance = open_ends.pop()
        try:
            with read(Tape(draws, width)):
                outcome = run()
            found[outcome] = found.get(outcome, Fraction(0)) + chance
        except EndOfTapeError as end:
            if chance < least:
                rest += chance
            else:
                open_ends += [((*draws, draw), chance * part) for draw, part in enumerate(end.args[0])]
    return Outcomes(found, rest)
