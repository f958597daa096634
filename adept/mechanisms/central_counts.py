r"""Central DP by counting: records vote for public cells, and exact noise is added to each count.

A *curator* holds all records and publishes noisy counts once. A *cell* is a public category. A public
rule assigns to each record at most one cell, which is the *vote* of the record. For a collection D of
records, h(D) holds the number of counted votes for each cell. The release is y = h(D) + X, where X holds
independent random integers with the discrete Laplace distribution: P(x) is proportional to exp(-|x| / b).

*Neighbours*. Under ``add_or_remove``, two collections are neighbours if one of them has all rows of the other and the
rows of one more *person*. Under ``replace``, they are neighbours if only the rows of one person differ; the number of
records is then public. At most m votes of each person are counted. A rule that reads only the rows of a person chooses
which. If the data name no persons, each record counts as a person, and m = 1.

*Claim*. Let s = m for ``add_or_remove`` and s = 2 m for ``replace``. If b >= s / eps, the release is eps-DP (pure), and
so is everything that is computed from y and public data. *Reason*: neighbours differ by at most s in l1 norm. If the
first m votes of a person are counted, the epsilon of one row is at most 2 eps / s for adding or removing it, and 4 eps
/ s for replacing it. *Two rounds*: a first round may release the noisy number of all votes, from which the rule and the
cells of the second round are chosen; the budgets add up. ``docs/proofs.md``, "Noisy counts of a file", has the proofs.

*What the proof needs*. The rule, the cells, m, eps and the neighbouring relation are fixed before anyone
looks at the records, apart from what the first round decides. Noise is added to *every* cell, because a
missing cell would reveal that nobody voted for it.

Source: Dwork, McSherry, Nissim and Smith 2006, section 3.1 (histograms); Ghosh, Roughgarden and
Sundararajan 2009 (the noise).

Checked proof: ``proofs/Noise.v``, ``votes_are_private``, ``votes_are_private_for_replacing``,
``one_row_has_its_own_epsilon``, ``two_rounds_are_private``, ``one_row_in_two_rounds``.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

import numpy as np
import torch
from numpy.typing import NDArray

from adept.errors import BUDGETS, check_between, check_choice, check_integer, refuse
from adept.mechanisms.discrete_laplace import exact_laplace, smallest_scale
from adept.mechanisms.guarantee import Guarantee, total, words
from adept.mechanisms.policy import NUMBER_SHARE

ADD_OR_REMOVE, REPLACE = "add_or_remove", "replace"
COUNTS_MOVED = {ADD_OR_REMOVE: 1, REPLACE: 2}  # number of counts that one vote can change by one
MAX_VOTES = 10**6  # largest ``votes_per_person``
# Largest count of a cell; ``exact_laplace`` may limit sums further, which costs accuracy, not privacy
MAX_CELL_VOTES = 1 << 40
NOISE_BATCH = 1 << 18  # counts whose noise is drawn together: memory stays flat

Counts = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class Votes:
    """A pure eps-DP release of the number of votes for each cell, in exact arithmetic.

    Attributes:
        epsilon: the budget of a person, or of a record if no persons are named: 1e-3 to 600 nats.
        neighbours: the relation between neighbours, "add_or_remove" or "replace".
        votes_per_person: the largest number m of votes that are counted for a person, at least 1.
        rounds: 1 to release the counts alone; 2 to release the number of all votes before the counts.
    """

    epsilon: float
    neighbours: str = ADD_OR_REMOVE
    votes_per_person: int = 1
    rounds: int = 1
    name: ClassVar[str] = "votes"

    def __post_init__(self) -> None:
        check_between(*BUDGETS, epsilon=self.epsilon)
        check_integer(1, MAX_VOTES, votes_per_person=self.votes_per_person)
        check_integer(1, 2, rounds=self.rounds)
        check_choice(COUNTS_MOVED, neighbours=self.neighbours)

    @property
    def sensitivity(self) -> int:
        """The largest l1 distance between the vote counts of two neighbouring collections."""
        return COUNTS_MOVED[self.neighbours] * self.votes_per_person

    @property
    def number_epsilon(self) -> Fraction:
        """The part of epsilon that is spent on the number of all votes; 0 if there is one round."""
        return Fraction(self.epsilon * NUMBER_SHARE) if self.rounds == 2 else Fraction(0)

    @property
    def counts_epsilon(self) -> Fraction:
        """The part of epsilon that is spent on the counts: epsilon minus ``number_epsilon``."""
        return Fraction(self.epsilon) - self.number_epsilon

    @cached_property
    def scale(self) -> float:
        """The scale b of the counts' noise: ``sensitivity / counts_epsilon``, rounded up."""
        return smallest_scale(self.sensitivity, epsilon=self.counts_epsilon)

    @property
    def decay(self) -> float:
        """The factor by which noise x of a count is less likely than noise ``|x| - 1``: ``e^(-1 / scale)``."""
        return math.exp(-1 / self.scale)

    @cached_property
    def number_scale(self) -> float:
        """The scale of the noise of the number of all votes, if there are two rounds."""
        return smallest_scale(self.sensitivity, epsilon=self.number_epsilon)

    def privatize_number(self, number: int) -> int:
        """Return the number of all votes plus exact noise, in the first of two rounds."""
        return int(_add_noise(np.array([number], dtype=np.int64), self.number_scale)[0])

    def privatize(self, counts: Counts) -> Counts:
        """Return counts (int64) plus noise, drawn exactly from the operating system's entropy."""
        return _add_noise(counts, self.scale)

    def record_epsilon(self, moved: int) -> float:
        """Return the epsilon for a change of one row, which moves the counts by at most ``moved`` in l1 norm."""
        return total(Fraction(self.epsilon) * moved / self.sensitivity)

    def guarantee(self, *, persons: bool | None = None) -> Guarantee:
        """Return the guarantee of one release of counts; ``persons`` is True if records name persons, None if unknown."""
        return Guarantee.pure(
            epsilon=self.epsilon,
            exact=True,
            sensitivity=float(self.sensitivity),
            scale=self.scale,
            neighbours=self.neighbours,
            unit="person" if persons else "record",
            text=f"The released counts are {words(self.epsilon)}-DP (pure, central): {self._compared(persons)} changes the "
            f"probability of any output by at most a factor of {_factor(self.epsilon)}. The same holds for everything written "
            "from them.",
        )

    def _compared(self, persons: bool | None) -> str:
        most = self.votes_per_person
        person = f"one person, of whose records at most {most} count{'s' * (most == 1)},"
        who = {True: person, False: "one record", None: f"{person} or one record where no persons are named,"}[persons]
        return f"adding or removing {who}" if self.neighbours == ADD_OR_REMOVE else f"replacing {who} by any other"


def _add_noise(counts: Counts, scale: float) -> Counts:
    _check(counts := np.asarray(counts))
    released, flat = np.empty(counts.size, dtype=np.int64), counts.reshape(-1)
    for start in range(0, counts.size, NOISE_BATCH):
        part = slice(start, start + NOISE_BATCH)
        released[part] = exact_laplace(torch.from_numpy(flat[part].copy()), scale=scale).numpy()
    return released.reshape(counts.shape)


def _check(counts: Counts) -> None:
    in_range = not counts.size or 0 <= counts.min() <= counts.max() <= MAX_CELL_VOTES
    refuse(
        (not np.issubdtype(counts.dtype, np.int64), f"counts must be int64, got {counts.dtype}"),
        (not in_range, "counts must be between 0 and 2^40, got another value"),
    )


def _factor(epsilon: float) -> str:
    return words(math.nextafter(math.exp(epsilon), math.inf)) if epsilon < 30 else f"e^{words(epsilon)}"
