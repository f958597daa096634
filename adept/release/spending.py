"""Budgets of releases, as a ledger stores them, and their exact sums."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction

from adept.errors import ConfigurationError
from adept.mechanisms.votes import ADD_OR_REMOVE, Votes
from adept.release.statement import PrivacyStatement


@dataclass(frozen=True, kw_only=True)
class Spending:
    """The budget of a release, and the records or persons that it counts against.

    Attributes:
        unit: the unit that epsilon protects, a record or a person.
        neighbours: the pairs that cannot be told apart.
        persons: True if a column names who contributed each record.
        central: True if it counts against every record of its ledger.
        per_row: how often epsilon counts for replacing one record.
        per_person: how often it counts for replacing all of a person's records; in a local release, for each of them.
    """

    mechanism: str
    epsilon: float
    delta: float
    model_sha256: str | None
    unit: str = "record"
    neighbours: str = "any two records"
    persons: bool = False
    central: bool = False
    per_row: int = 1
    per_person: int = 1

    @classmethod
    def of_local(cls, statement: PrivacyStatement, *, persons: bool) -> "Spending":
        """Return the budget that a local release spends on each record."""
        return cls(
            mechanism=statement.mechanism,
            epsilon=statement.epsilon,
            delta=statement.delta,
            model_sha256=statement.model_sha256,
            neighbours=statement.neighbours,
            persons=persons,
        )

    @classmethod
    def of_votes(cls, votes: Votes, *, persons: bool, model_sha256: str | None) -> "Spending":
        """Return the budget of a central release; ``adept.release.ledger`` derives how often it counts."""
        twice = 2 if votes.neighbours == ADD_OR_REMOVE else 1
        return cls(
            mechanism=votes.name,
            epsilon=votes.epsilon,
            delta=0.0,
            model_sha256=model_sha256,
            unit="person" if persons else "record",
            neighbours=votes.neighbours,
            persons=persons,
            central=True,
            per_row=2 * twice if persons else twice,
            per_person=twice,
        )


@dataclass(frozen=True)
class LedgerEntry:
    """One release, as the ledger lists it; ``counted`` is how often its epsilon counts in the sum of a record.

    ``everywhere`` is True for a release that counts against every record; it has no number of rows.
    """

    started: str
    finished: str | None
    mechanism: str
    epsilon: float
    delta: float
    rows: int
    model_sha256: str | None
    output: str
    counted: int
    unit: str
    neighbours: str
    everywhere: bool
    persons: bool


@dataclass(frozen=True)
class LedgerSum:
    """All releases together: the largest totals over one record, and over one person.

    Attributes:
        releases: their number.
        rows: number of different records in local releases.
        epsilon: the largest epsilon that one record has spent.
        delta: the largest delta that one record has spent.
        equal: the largest number of equal records in one release.
        persons: number of different persons in local releases.
        person_epsilon: the largest epsilon that one person has spent; infinite if only some releases name persons, None if
            none does.
        nameless: number of releases that named no persons.
    """

    releases: int
    rows: int
    epsilon: float
    delta: float
    equal: int = 1
    persons: int = 0
    person_epsilon: float | None = None
    nameless: int = 0


def exact(budget: float) -> Fraction | float:
    """Return a budget as a fraction; an infinite one stays as it is."""
    return Fraction(budget) if math.isfinite(budget) else math.inf


def added(spent: Mapping[int, Fraction | float], claims: Iterable[tuple[int, int]]) -> Fraction | float:
    """Add up the budgets of releases, each as often as it counts; releases missing in ``spent`` are counted elsewhere."""
    return sum((spent[release] * times for release, times in claims if release in spent), Fraction())


def rounded_up(amount: Fraction | float) -> float:
    """Return the smallest float that is not below an exact sum."""
    try:
        result = float(amount)
    except OverflowError:
        return math.inf
    return result if result >= amount else math.nextafter(result, math.inf)


def check_limit(limit: float, name: str) -> float:
    """Return a limit that is a positive, finite number.

    Raises:
        ConfigurationError: it is none.
    """
    if not 0 < limit < math.inf:
        raise ConfigurationError(f"{name} must be a positive number, got {limit}: write {name}=16")
    return float(limit)
