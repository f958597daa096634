r"""Central DP by counting: records vote for public cells, and exact noise is added to each count.

A *curator* holds all records and publishes noisy counts once. A *cell* is a public category; there
are M cells. A public rule v assigns to each record at most one cell, which is the *vote* of the
record. For a collection D of records, h(D) holds the number of counted votes for each cell. The
release is y = h(D) + X, where X holds M independent random integers with the discrete Laplace
distribution: P(x) is proportional to exp(-|x| / b).

*Neighbours*. Under ``add_or_remove``, two collections are neighbours if one of them has all rows of
the other and the rows of one more *person*. Under ``replace``, two collections are neighbours if
only the rows of one person differ; the number of records is then public. At most m votes of each
person are counted. A rule that reads only the rows of a person chooses which of this person's votes
are counted. If the data name no persons, each record counts as a person, and m = 1.

*Claim*. Let s = m for ``add_or_remove`` and s = 2 m for ``replace``. If b >= s / eps, the release
is eps-DP (pure): P(y(D) in S) <= e^eps P(y(D') in S) for all neighbours D, D' and every set S of
outputs. Everything that is computed from y and public data is also eps-DP.

*Proof*.

1. The l1 distance between h(D) and h(D') is at most s. The rule that chooses a person's votes reads
   only the rows of this person, so all other people's votes are the same in D and D'. The person in
   whom D and D' differ has at most m counted votes in D and at most m in D', and each counted vote
   increases one count by one. Under ``add_or_remove``, this person has no votes in D or no votes in
   D'.
2. Let h = h(D) and h' = h(D'). For every y, the ratio P(h + X = y) / P(h' + X = y) is exp(sum_z
   (|y_z - h'_z| - |y_z - h_z|) / b), where the sum is over all cells z. By the triangle inequality,
   the ratio is at most exp(||h - h'||_1 / b) <= exp(s / b) <= e^eps.
3. Everything computed from y and public data is a function of y, of these data and of random bits.
   The public data and the random bits do not depend on D. QED.

*Claim for one row of a person*. Suppose that the counted votes are those of the person's first m
rows with a vote. Then adding or removing one row changes h by at most 2 in l1 norm, for every m.
Replacing one row by any other row, of any person, changes h by at most 4. So the epsilon of one row
is at most 2 eps / s for adding or removing it, and at most 4 eps / s for replacing it.

*Proof*. Let v_1, .., v_n be the votes of a person's rows in order, of which the first m are
counted. Removing a row without a vote, or a row whose vote comes after the first m, changes
nothing. If v_i with i <= m is removed, the other counted votes are still counted, because each of
them keeps its place among the votes or moves forward. If there is a vote v_(m+1), it is counted
instead of v_i. So one count falls by one, and at most one count rises by one. Adding a row is the
reverse of removing a row. Replacing a row means removing one row and adding another row, so the
changes sum to at most 2 + 2. By step 2 above, the ratio of probabilities is at most e^(2 / b) or
e^(4 / b), and 1 / b <= eps / s. QED.

*Claim for two rounds*. Let s be as above, and let eps_1 + eps_2 = eps. The first round treats all
votes as votes for one cell: it releases the number n(D) of counted votes as y_1 = n(D) + X_1, where
the scale of X_1 is at least s / eps_1. Then y_1 and public data decide the rule v and the cells of
the second round. The second round releases the counts of these cells as y_2, with independent noise
of a scale of at least s / eps_2. The pair (y_1, y_2) is eps-DP.

*Proof*. Both rounds count at most m votes of each person, as above. The second round depends on D
only through its counts and through y_1, so for every y_1, its rule and cells are the same for D and
D'. By the first claim, P(y_1 | D) <= e^eps_1 P(y_1 | D') and P(y_2 | y_1, D) <= e^eps_2 P(y_2 |
y_1, D'), for all y_1 and y_2. The probability of the pair is the product of the two probabilities.
So the probability of a pair changes between D and D' by at most a factor of e^(eps_1 + eps_2), and
so does the sum of the probabilities over any set of pairs. QED. The proof also holds if the
collection changes between the rounds, as long as D and D' differ in the same person's rows in both
rounds. The bounds for one row also hold for two rounds, by the same product of probabilities: one
row changes n by at most 1 if it is added or removed, and by at most 2 if it is replaced.

The rule v, the cells, m, eps and the neighbouring relation must be fixed before anyone looks at the
records. The only exception is the choice of v and the cells of the second round from y_1. Noise is
added to *every* cell, also to a cell without votes, because a missing cell would reveal that nobody
voted for this cell.

Source: Dwork, McSherry, Nissim and Smith 2006, "Calibrating noise to sensitivity in private data
analysis", section 3.1 (histograms); Ghosh, Roughgarden and Sundararajan 2009, "Universally
utility-maximizing privacy mechanisms" (the noise).

Checked proof: ``proofs/Noise.v``, ``votes_are_private``, ``votes_are_private_for_replacing``,
``one_row_moves_2``; for two rounds and an added or removed person, ``two_rounds_are_private``.
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
from adept.mechanisms.policy import NUMBER_SHARE
from adept.ranges import BUDGETS, check_between, check_integer

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
        rounds: 1 to release the counts alone; 2 to release the number of all votes before the
            counts.
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
        if self.neighbours not in COUNTS_MOVED:
            raise ConfigurationError(f"neighbours must be one of {', '.join(COUNTS_MOVED)}, got {self.neighbours}")

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

    @property
    def scale(self) -> float:
        """The scale b of the counts' noise: ``sensitivity / counts_epsilon``, rounded up."""
        return smallest_scale(self.sensitivity, epsilon=self.counts_epsilon)

    @property
    def number_scale(self) -> float:
        """The scale of the noise that is added to the number of all votes, if there are two rounds."""
        return smallest_scale(self.sensitivity, epsilon=self.number_epsilon)

    def privatize_number(self, number: int) -> int:
        """Return the number of all votes plus exact noise, in the first of two rounds."""
        return int(_add_noise(np.array([number], dtype=np.int64), self.number_scale)[0])

    def privatize(self, counts: Counts) -> Counts:
        """Return counts (int64) plus noise, drawn exactly from the operating system's entropy."""
        return _add_noise(counts, self.scale)

    def record_epsilon(self, moved: int) -> float:
        """Return the epsilon for a change of only one row of a person.

        ``moved`` bounds the l1 change of the counts: 2 if a row is added or removed, 4 if it is
        replaced.
        """
        return total(Fraction(self.epsilon) * moved / self.sensitivity)

    def guarantee(self, *, persons: bool | None = None) -> Guarantee:
        """Return the guarantee of one release of counts.

        ``persons`` is True if the data say to which person each record belongs, False if they do
        not, and None if this is unknown.
        """
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
    _check(counts)
    released, flat = np.empty(counts.size, dtype=np.int64), counts.reshape(-1)
    for start in range(0, counts.size, NOISE_BATCH):
        part = slice(start, start + NOISE_BATCH)
        released[part] = exact_laplace(torch.from_numpy(flat[part].copy()), scale=scale).numpy()
    return released.reshape(counts.shape)


def _check(counts: Counts) -> None:
    if not np.issubdtype(counts.dtype, np.int64):
        raise ConfigurationError(f"counts must be int64, got {counts.dtype}")
    if counts.size and not 0 <= counts.min() <= counts.max() <= MAX_CELL_VOTES:
        raise ConfigurationError("counts must be between 0 and 2^40, got another value")


def _factor(epsilon: float) -> str:
    return words(math.nextafter(math.exp(epsilon), math.inf)) if epsilon < 30 else f"e^{words(epsilon)}"
