"""Count votes, at most m of each person, and note how many rows are not counted.

*Claim*: adding or removing all rows of one person changes the counts by at most m in l1 norm. *Proof*: the
vote of a row is a function of that row (``adept.synthesis.vote_cells``). The first m votes of each person
are counted; from one row to the next, the program remembers only how many of each person it has counted.
So other people's votes are counted as before, and at most m of this person's each add one to one count.
QED. If no persons are given, each row counts as the row of a different person.
Checked proof: ``proofs/DrawProofs.v``, ``a_person_among_others_moves_m``.

A *person* is a value in the column that names persons, read as text (``plain_text``), normalised (NFKC),
and stripped of spaces: a function of the row alone. A vote of a row that names no person is not counted;
otherwise one person could have any number of votes. The count never raises an error.
"""

import hashlib
import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from adept.data.texts import plain_text
from adept.mechanisms.central_counts import Counts

NO_TEXT, OUTSIDE = -1, -2  # in the place of a vote: the reason why there is none
DIGEST_BYTES = 16


@dataclass
class Notes:
    """Notes for the curator only: exact numbers of rows, which are not part of the release."""

    rows: int = 0
    no_text: int = 0
    outside: int = 0  # rows whose label is not in the public label set
    nobody: int = 0  # rows that name no person
    excess: int = 0  # rows beyond the votes that are counted for their person


class Tally:
    """Counts (M,) of votes for M cells, at most m votes per person, and notes for the curator."""

    def __init__(self, cells: int, *, votes_per_person: int = 1) -> None:
        self.counts: Counts = np.zeros(cells, dtype=np.int64)
        self.notes = Notes()
        self._most, self._had = votes_per_person, Counter[bytes]()

    def add(self, votes: Sequence[int], persons: Sequence[object] | None = None) -> None:
        """Add the votes of rows: indices of cells, NO_TEXT or OUTSIDE. Without ``persons``, all votes are counted."""
        self.notes.rows += len(votes)
        self.notes.no_text += sum(vote == NO_TEXT for vote in votes)
        self.notes.outside += sum(vote == OUTSIDE for vote in votes)
        cast = [(row, vote) for row, vote in enumerate(votes) if vote >= 0]
        if persons is not None:
            cast = [(row, vote) for row, vote in cast if self._may_vote(persons[row])]
        np.add.at(self.counts, np.array([vote for _, vote in cast], dtype=np.int64), 1)

    def _may_vote(self, person: object) -> bool:
        name = person_name(person)
        if name is None:
            self.notes.nobody += 1
            return False
        digest = hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=DIGEST_BYTES).digest()
        if self._had[digest] >= self._most:
            self.notes.excess += 1
            return False
        self._had[digest] += 1
        return True


def person_name(person: object) -> str | None:
    """Return a person's normalised name; None if ``person`` is neither text nor a whole number."""
    name = None if isinstance(person, bool | np.bool_) else plain_text(person)
    # Compatible letters can spell "1.0" too, so the rule is applied after they are normalised.
    return plain_text(unicodedata.normalize("NFKC", name)) if name else None
