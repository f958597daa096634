"""Exact sums of a ledger's releases over one record and over one person."""

import math
from collections import Counter
from collections.abc import Iterable
from fractions import Fraction

from adept.release.identity import PERSON_KIND, ROW_KIND
from adept.release.ledger_file import EVERYWHERE, ROWS, LedgerFile, told
from adept.release.spending import LedgerEntry, LedgerSum, added, exact, rounded_up

ALL_FOUND = f"""
SELECT kind, 0, 0, found, COUNT(*) FROM (
    SELECT kind, GROUP_CONCAT(release || ':' || CASE kind WHEN {ROW_KIND} THEN 1 ELSE times END) AS found
    FROM claims GROUP BY digest
) GROUP BY 1, 4
"""
Found = tuple[tuple[int, int], ...]  # releases that claimed a digest, and how often each counts
Asked = tuple[
    int, bool, int, Found
]  # kind of a digest, True if this run asks for it first, its count now, and its earlier claims


class LedgerSums(LedgerFile):
    """A ledger's file, and sums of what it lists."""

    _run = ""  # the current release, which does not count among the earlier ones

    def entries(self) -> list[LedgerEntry]:
        """Return all releases, the oldest first."""
        query = (
            "SELECT started, finished, mechanism, epsilon, delta, (SELECT COUNT(*) FROM claims WHERE release = id AND "
            f"kind = {ROW_KIND}), model_sha256, output, per_row, unit, neighbours, scope = '{EVERYWHERE}', persons FROM releases "
            "ORDER BY id"
        )
        with told(self.path):
            return [LedgerEntry(*row) for row in self._database.execute(query).fetchall()]

    def sum(self) -> LedgerSum:
        """Return the sums of all releases.

        Raises:
            DataError: the ledger was damaged.
        """
        with told(self.path):
            self._check_tables()
            self._run = ""  # no current release: all count
            found = grouped(self._database.execute(ALL_FOUND).fetchall())
            releases = self._database.execute("SELECT id, scope, epsilon, delta, persons FROM releases").fetchall()
            equal = self._database.execute(f"SELECT MAX(times) FROM claims WHERE kind = {ROW_KIND}").fetchone()[0]
        deltas = {number: exact(delta) for number, _, _, delta, _ in releases}
        everywhere_delta = sum((exact(delta) for _, scope, _, delta, _ in releases if scope == EVERYWHERE), Fraction())
        named = [bool(persons) for *_, persons in releases]
        return LedgerSum(
            releases=len(releases),
            rows=sum(count for (kind, *_), count in found.items() if kind == ROW_KIND),
            epsilon=self._most(found, ROW_KIND, self._spent(), self._everywhere(ROW_KIND)),
            delta=self._most(found, ROW_KIND, deltas, everywhere_delta),
            equal=equal or 1,
            persons=sum(count for (kind, *_), count in found.items() if kind == PERSON_KIND),
            person_epsilon=self._of_persons(found, named),
            nameless=named.count(False),
        )

    def _of_persons(self, found: Counter[Asked], named: list[bool]) -> float | None:
        """Return the largest total of one person; ``named`` says which releases named persons."""
        if not any(named):
            return None
        return self._most(found, PERSON_KIND, self._spent(), self._everywhere(PERSON_KIND)) if all(named) else math.inf

    def _most(
        self, found: Counter[Asked], kind: int, spent: dict[int, Fraction | float], everywhere: Fraction | float
    ) -> float:
        """Return the largest total of a budget over one record, or one person."""
        claimed = (added(spent, claims) for asked, _, _, claims in found if asked == kind)
        return rounded_up(everywhere + max(claimed, default=Fraction()))

    def _spent(self) -> dict[int, Fraction | float]:
        """Return the epsilon of each release that counts against what it claimed."""
        query = f"SELECT id, epsilon FROM releases WHERE scope = '{ROWS}'"
        return {release: exact(epsilon) for release, epsilon in self._database.execute(query).fetchall()}

    def _everywhere(self, kind: int) -> Fraction | float:
        """Return the epsilon that releases other than this run's have spent on every record, or on every person."""
        factor = "per_row" if kind == ROW_KIND else "per_person"
        query = f"SELECT epsilon, {factor} FROM releases WHERE scope = '{EVERYWHERE}' AND run != ?"
        return sum(
            (exact(epsilon) * times for epsilon, times in self._database.execute(query, (self._run,))), Fraction()
        )


def grouped(rows: Iterable[tuple[int, int, int, str | None, int]]) -> Counter[Asked]:
    """Count digests by their kind and the releases that claimed them, in any order."""
    groups: Counter[Asked] = Counter()
    for kind, first, times, found, count in rows:
        claims = (claim.split(":") for claim in found.split(",")) if found else ()
        groups[kind, bool(first), times, tuple(sorted((int(release), int(often)) for release, often in claims))] += (
            count
        )
    return groups
