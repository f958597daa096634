r"""Central DP by counting: each record votes for a public cell; each count gets exact noise.

This mechanism is for a *curator*, who holds the records and releases their counts once. A public
rule v sends a record to one of M public cells, or to none; h(D) holds the number of votes for each
cell. The release is y = h(D) + X, where X has M independent discrete Laplace numbers with P(x)
proportional to exp(-|x| / b).

*Neighbours*: two collections of records are neighbours if one has all rows of the other and those
of one more *person* (``add_or_remove``), or if the rows of one person differ (``replace``, for
which the number of records is public). A person has at most m votes: a rule that reads only that
person's rows chooses at most m of them. If no persons are given, each record counts as a person,
and m = 1.

*Claim*: with b >= s / eps, s = m for ``add_or_remove`` and s = 2 m for ``replace``, the release is
eps-DP (pure): for neighbours D, D' and every set S of outputs, P(y(D) in S) <= e^eps P(y(D') in S).
The same holds for everything computed from y and public data.

*Proof*. (1) h(D) and h(D') differ by at most s in l1 norm. The rule that chooses a person's rows
reads no other rows, so that all other people's votes are the same in both; the person's own votes
are at most m in D and at most m in D', each adds one to one count, and under ``add_or_remove`` one
of the two collections has none of them. (2) For every y, P(h + X = y) / P(h' + X = y) = exp(sum_z
(|y_z - h'_z| - |y_z - h_z|) / b) <= exp(||h - h'||_1 / b) <= exp(s / b) <= e^eps, by the triangle
inequality. (3) Everything computed from y is a function of y and of coins that do not depend on D.
QED.

*Claim for one row of a person*, if a person's m votes are those of their first m rows with a vote:
adding or removing one row changes h by at most 2 in l1 norm, and replacing one row by any other, of
the same person or not, by at most 4, for every m. So the epsilon of one row is at most 2 / s and
4 / s times eps: 2 and 4 times it for m = 1 and ``add_or_remove``.

*Proof*. Let a person's votes in order be v_1, .., v_n, of which the first m count. Removing one
beyond the first m, or a row without a vote, changes nothing. If v_i, i <= m, is removed, the other
counted votes still count, because each stays or moves forward. One place becomes free, and v_(m+1)
takes it if it exists: one count falls by one, and at most one rises by one. Adding is the converse.
Replacing is removing one row and adding one, perhaps of another person: 2 + 2. By (2) the ratio is
at most e^(2 / b) or e^(4 / b), and 1 / b <= eps / s. QED. For m = 1 all bounds are attained: if a
person's first vote is removed, the second one, for another cell, counts instead. Without persons
one row is one record, and (1) holds with m = 1.

The rule v, the cells and their number, m, eps and the neighbouring relation must be fixed before
anyone looks at the records. Under ``add_or_remove`` the number of records is protected too: the
release tells about it only through sum(y), which is noisy.

The noise is exact (``adept.mechanisms.discrete_laplace``) and *every* cell gets noise, with or
without votes: if a cell without votes were left out, its absence would reveal that nobody voted for
it.

Source: Dwork, McSherry, Nissim and Smith 2006, "Calibrating noise to sensitivity in private data
analysis", section 3.1 (histograms); Ghosh, Roughgarden and Sundararajan 2009, "Universally
utility-maximizing privacy mechanisms" (the noise).

Checked proof: ``proofs/Noise.v``, ``votes_are_private``, ``votes_are_private_for_replacing``,
``one_row_moves_2``.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
import torch
from numpy.typing import NDArray

from adept.errors import ConfigurationError
from adept.mechanisms.discrete_laplace import exact_laplace, smallest_scale
from adept.mechanisms.guarantee import Guarantee, total, words
from adept.ranges import BUDGETS, check_between, check_integer

ADD_OR_REMOVE, REPLACE = "add_or_remove", "replace"
COUNTS_MOVED = {ADD_OR_REMOVE: 1, REPLACE: 2}  # number of counts that one vote can change by one
MAX_VOTES = 10**6  # votes of a person
# Votes for a cell; at large budgets sums are cut off earlier (``exact_laplace``), which costs use, not privacy
MAX_CELL_VOTES = 1 << 40
NOISE_BATCH = 1 << 18  # counts whose noise is drawn together: memory stays flat

Counts = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class Votes:
    """Pure eps-DP release of a histogram of votes, in exact arithmetic.

    Attributes:
        epsilon: the budget of a person, or of a record if no persons are given, in nats, from 1e-3
            to 600.
        neighbours: "add_or_remove" or "replace".
        votes_per_person: the largest number m of votes per person, at least 1, fixed before any
            record is read.
    """

    epsilon: float
    neighbours: str = ADD_OR_REMOVE
    votes_per_person: int = 1
    name: ClassVar[str] = "votes"

    def __post_init__(self) -> None:
        check_between(*BUDGETS, epsilon=self.epsilon)
        check_integer(1, MAX_VOTES, votes_per_person=self.votes_per_person)
        if self.neighbours not in COUNTS_MOVED:
            raise ConfigurationError(f"neighbours must be one of {', '.join(COUNTS_MOVED)}, got {self.neighbours}")

    @property
    def sensitivity(self) -> int:
        """The largest l1 distance between the histograms of two neighbours."""
        return COUNTS_MOVED[self.neighbours] * self.votes_per_person

    @property
    def scale(self) -> float:
        """The scale b of the noise: the smallest 24-bit number with sensitivity / b <= epsilon."""
        return smallest_scale(self.sensitivity, epsilon=self.epsilon)

    def privatize(self, counts: Counts) -> Counts:
        """Add exact noise to counts (int64, any shape), from the operating system's entropy."""
        _check(counts)
        released = np.empty(counts.size, dtype=np.int64)
        flat, scale = counts.reshape(-1), self.scale
        for start in range(0, counts.size, NOISE_BATCH):
            part = slice(start, start + NOISE_BATCH)
            released[part] = exact_laplace(torch.from_numpy(flat[part].copy()), scale=scale).numpy()
        return released.reshape(counts.shape)

    def record_epsilon(self, moved: int) -> float:
        """Return the epsilon of one row; ``moved`` is 2 for adding or removing it, 4 for replacing it."""
        return total(Fraction(self.epsilon) * moved / self.sensitivity)

    def guarantee(self, *, persons: bool | None = None) -> Guarantee:
        """Return one release's guarantee; ``persons`` is True if a column names them, None if unknown."""
        return Guarantee.pure(
            epsilon=self.epsilon,
            exact=True,
            sensitivity=float(self.sensitivity),
            scale=self.scale,
            text=f"The released counts are {words(self.epsilon)}-DP (pure, central): {self._compared(persons)} changes the "
            f"probability of any output by at most a factor of {_factor(self.epsilon)}. The same holds for everything written "
            "from them.",
        )

    def _compared(self, persons: bool | None) -> str:
        """Return words for the neighbouring relation, such as "adding or removing one record"."""
        most = self.votes_per_person
        person = f"one person, of whose records at most {most} count{'s' * (most == 1)},"
        who = {True: person, False: "one record", None: f"{person} or one record where no persons are named,"}[persons]
        return f"adding or removing {who}" if self.neighbours == ADD_OR_REMOVE else f"replacing {who} by any other"


def _check(counts: Counts) -> None:
    """Raise ConfigurationError unless counts are whole numbers in the possible range."""
    if not np.issubdtype(counts.dtype, np.int64):
        raise ConfigurationError(f"counts must be int64, got {counts.dtype}")
    if counts.size and not 0 <= counts.min() <= counts.max() <= MAX_CELL_VOTES:
        raise ConfigurationError("counts must be between 0 and 2^40, got another value")


def _factor(epsilon: float) -> str:
    """Return e^epsilon as text: four significant digits, rounded up."""
    return words(math.nextafter(math.exp(epsilon), math.inf)) if epsilon < 30 else f"e^{words(epsilon)}"
