"""The choice of the records that ``over_limit=drop`` leaves out, because their persons have no budget left.

Each record of a run *waits* until the ledger has chosen. For each person, the ledger computes how
many records the rest of the person's budget allows. The first records of the person, up to this
number, are claimed and released, and all others are left out.

*Claim*: suppose that two files differ only in what their records say, and name the same persons in
the same order; and that two ledgers differ only in what earlier records of the same persons said.
Then the choice leaves out the records at the same places. *Proof*. Of the file, the choice reads
the place of each record and the digest of its person. Of the ledger, the choice reads the limit,
the budgets of all releases, and the claims of these persons. The digest of a person is computed
from the key and the person's name alone (``Identity.subjects``), and a person's claims are numbers
of records. No digest of a record is read, whatever columns identify records. QED. So the two runs
also have the same statement and the same number of rows, unless one of them is refused. Numbers
about earlier releases of the same records, which are told otherwise, are not told.

The ledger may refuse the run because of a record: it was released before, or its own total would
exceed the limit. Such a record is not left out. If it were, the number of rows would tell whether
its text was released before. The run ends with an error instead, as without ``over_limit=drop``.

*Claim*: a release uses one choice, even if it is interrupted, or reads its input again. *Proof*.
``Ledger.claim`` chooses and claims in one transaction. The run then stores the choice in its
journal, before it draws anything, together with a keyed digest of all records. A resumed run that
finds draws in the journal also finds the choice, and takes it. If nothing was drawn, nobody has read
anything, and the resumed run removes the claims and begins anew. In each later reading, the records
must be the same as those for which the choice was made; otherwise the run is refused. QED.

Checked proof of the release: ``proofs/DrawProofs.v``, ``left_out_rows_tell_nothing``.

A person's absence from the output tells that earlier releases have spent this person's budget. The
statement says so, and compares only records of the same person.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from adept.data.formats import Record

LEFT_OUT = "left_out"  # among the entries of a journal
WAIT = "INSERT INTO waiting VALUES (?, ?, ?)"
WAITING_PERSONS = """
SELECT person, COUNT(*), (
    SELECT GROUP_CONCAT(release || ':' || times) FROM claims INDEXED BY {} WHERE digest = person AND release != ?
) FROM waiting GROUP BY person
"""
WAITING = "SELECT number, person FROM waiting ORDER BY number"
LEAVE_OUT = "DELETE FROM waiting WHERE number = ?"
COLLECT_WAITING = """
INSERT INTO asked SELECT {0}, {1}, COUNT(*), 0 FROM waiting WHERE true GROUP BY {0}
ON CONFLICT DO UPDATE SET times = times + excluded.times
"""
NOBODY_LEFT = (
    "no person of the input has budget left in the ledger, so nothing is released: add records of other persons"
)
NO_LIMIT = "ledger must have a limit for over_limit=drop, got none: add ledger_limit=X, or store a limit with adept ledger limit=X"


@dataclass(frozen=True)
class LeftOut:
    """The records that a run leaves out.

    Attributes:
        numbers: places of the records in the input; the first has number 1, and records that
            ``excess=drop`` leaves out are not numbered.
        persons: number of the persons of these records.
        input: keyed digest of all records for which the choice was made.
    """

    numbers: frozenset[int] = frozenset()
    persons: int = 0
    input: str = ""

    @classmethod
    def find(cls, entries: Iterable[Mapping[str, Any]]) -> "LeftOut | None":
        """Return the choice that is among the entries of a journal, or None."""
        found = next((entry for entry in entries if LEFT_OUT in entry), None)
        return None if found is None else cls(frozenset(found[LEFT_OUT]), found["persons"], found["input"])

    def split(self, records: Sequence[Record], *, before: int = 0) -> tuple[list[Record], list[Record]]:
        """Return the records that are kept and those that are left out; ``before`` records come first."""
        kept: tuple[list[Record], list[Record]] = ([], [])
        for number, record in enumerate(records, start=before + 1):
            kept[number in self.numbers].append(record)
        return kept

    @property
    def entry(self) -> dict[str, Any]:
        """The choice as an entry of a journal, which holds no draws."""
        return {"records": 0, LEFT_OUT: sorted(self.numbers), "persons": self.persons, "input": self.input}

    @property
    def lines(self) -> list[str]:
        """At most one sentence, for the holder of the input alone."""
        records, persons = len(self.numbers), self.persons
        if not records:
            return []
        counted = f"{records} record{'s' * (records > 1)} of {persons} person{'s' * (persons > 1)}"
        return [
            f"{counted} {'are' if records > 1 else 'is'} left out: earlier releases have used these persons' budget"
        ]


def count_allowed(before: Fraction | float, *, epsilon: Fraction | float, limit: float) -> float:
    """Return how many records of a person may be released.

    ``before`` is the person's total without this release, and ``epsilon`` the budget of a record.
    """
    left = Fraction(limit) - before
    if left < 0:
        return 0
    return left // epsilon if epsilon else float("inf")


def choose(waiting: Iterable[tuple[int, bytes]], allowed: Mapping[bytes, float]) -> Iterator[int]:
    """Yield the numbers of the records that are left out.

    ``waiting`` holds a record's number and its person's digest, in the order of the input.
    ``allowed`` says, for each person with too many records, how many may be released.
    """
    counts: Counter[bytes] = Counter()
    for number, person in waiting:
        if person in allowed:
            counts[person] += 1
            if counts[person] > allowed[person]:
                yield number
