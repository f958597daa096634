"""The ledger, a list of released records that prevents a second release by mistake.

The ledger holds a line for each release. For a local release, which randomises each record by itself, the ledger also
holds a keyed digest of every record and of every person (``adept.release.ledger.identity``). A central release adds
noise to counts over all records. The secret key of the digests is stored in a separate file. So nobody who has only the
ledger can test whether it lists a guessed record.

A record is *claimed*, that is, listed with its budget, before it is released. So an interrupted run has spent the
budget of the records that it has claimed. A claim is checked and written in one transaction. So of two simultaneous
runs, only one can be the first to claim a record, and both runs together stay within the ledger's limit. Before anybody
can read records of a release, the ledger stores the number of these records. Once this number is stored, the claims of
the release are never removed. A *journal* is the file in which a run stores its random draws, so that it can be
resumed. A release is not resumed from a journal that holds draws for fewer records than the number in the ledger.

*Claim*: suppose that two ledgers list the same releases with the same outputs, but that the central releases had
different records. Then every command gets the same answers from both ledgers, and the bytes of the ledgers do not
depend on these records. *Reason*: of a central release, the ledger stores only options, the day, and the digest of its
output, and its budget is added to the totals of all records and persons. A ledger that refuses a local run reveals that
a record was in an earlier local release. A local release's statement says this in its field ``not_hidden``.

*What adds up*. A release is *with persons* if a column names the person who contributed each
record. A release with epsilon e adds these amounts to the total of a record and of a person:

| release                                    | total of a record | total of a person           |
|--------------------------------------------|-------------------|-----------------------------|
| local, with persons                        | e                 | e for each of their records |
| local, without persons                     | e                 | unbounded                   |
| central without persons, ``replace``       | e                 | unbounded                   |
| central without persons, ``add_or_remove`` | 2 e               | unbounded                   |
| central with persons, ``replace``          | 2 e               | e                           |
| central with persons, ``add_or_remove``    | 4 e               | 2 e                         |

``docs/proofs.md`` says why. Equal records in one run count as different records, each of which is
released once; equal records in different runs may be the same record, so their budgets add up.
Records are equal if their identifying texts are (``adept.release.ledger.identity``).

*Without the key*, the file shows under a constant pseudonym in which releases each record and each
person is, and how many rows each person has in each release.

*Unproved releases*, by a mechanism whose claim nobody checked (``adept.rewriting.unproved``), are in
none of these totals. They have a sum of their own, of the epsilons that their authors claim.

*Limit*. A claim is refused if it would raise the total of a record above the limit or, in a release with persons, the
total of a person. In a ledger with a limit, either all releases are with persons or none is, and no release is
unproved. Records that *wait* are left out instead if their persons have no budget left (``LeftOut``).
"""

import json
import math
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any

from adept.data.formats import Record
from adept.errors import ConfigurationError, DataError, ReleaseRefused, refuse
from adept.mechanisms.guarantee import total, words
from adept.release.ledger.file import (
    EVERYWHERE,
    ROWS,
    WAIT_SECONDS,
    Asked,
    LedgerFile,
    Spending,
    add_up,
    claims_of,
    count_totals,
    group_claims,
    round_up,
)
from adept.release.ledger.identity import (
    PERSON_KIND,
    PERSON_ROLE,
    ROW_KIND,
    TEXT_ROLE,
    Identity,
    Role,
    choose_roles,
    describe_roles,
    throwaway_key,
)
from adept.release.statement.statement import now

DUE = "(SELECT * FROM asked WHERE times > claimed)"
TREES = ("sqlite_autoindex_claims_1", "claims_again")  # the table of claims itself, and its index
SELECT_FOUND = f"""
SELECT kind, claimed = 0, times, found, COUNT(*) FROM (
    SELECT due.kind AS kind, due.claimed AS claimed, CASE due.kind WHEN {ROW_KIND} THEN 1 ELSE due.times END AS times,
        GROUP_CONCAT(claims.release || ':' || CASE claims.kind WHEN {ROW_KIND} THEN 1 ELSE claims.times END) AS found
    FROM {DUE} AS due LEFT JOIN claims INDEXED BY {{}} ON claims.digest = due.digest AND claims.release != ?
    GROUP BY due.digest
) GROUP BY 1, 2, 3, 4
"""
COUNT_OTHERS = "SELECT COUNT(*) FROM releases WHERE run != ?"
LEFT_OUT = "left_out"  # among the entries of a journal
WAITING_PERSONS = """
SELECT person, COUNT(*), (
    SELECT GROUP_CONCAT(release || ':' || times) FROM claims INDEXED BY {} WHERE digest = person AND release != ?
) FROM waiting GROUP BY person
"""
ASK = """
INSERT INTO asked SELECT {0}, {1}, COUNT(*), 0 FROM {2} WHERE true GROUP BY {0}
ON CONFLICT DO UPDATE SET times = times + excluded.times
"""
NO_LIMIT = "ledger must have a limit for over_limit=drop, got none: add ledger_limit=X, or store one with adept ledger FILE limit=X"


@dataclass
class Overlap:
    """Numbers about earlier releases of the records that this run releases.

    Attributes:
        records: number of records that were released before.
        releases: largest number of earlier releases of one record.
        epsilon: largest total epsilon of a record after this run.
    """

    records: int = 0
    releases: int = 0
    epsilon: float = 0.0


@dataclass(frozen=True)
class LeftOut:
    """The records that a run leaves out.

    ``over_limit=drop`` leaves out records whose persons have no budget left. Each record of such a run *waits* until
    the ledger has chosen. For each person, the ledger computes how many records the rest of the person's budget allows.
    The first records of the person, up to this number, are claimed and released, and all others are left out.

    *Claim*: suppose that two files differ only in what their records say, and name the same persons in the same order;
    and that two ledgers differ only in what earlier records of the same persons said. Then the choice leaves out the
    records at the same places. *Proof*. Of the file, the choice reads the place of each record and the digest of its
    person. Of the ledger, the choice reads the limit, the budgets of all releases, and the claims of these persons. The
    digest of a person is computed from the key and the person's name alone (``Identity.subjects``), and a person's
    claims are numbers of records. No digest of a record is read, whatever columns identify records. QED. So the two
    runs also have the same statement and the same number of rows, unless one of them is refused. Numbers about earlier
    releases of the same records, which are told otherwise, are not told.

    The ledger may refuse the run because of a record: it was released before, or its own total would exceed the limit.
    Such a record is not left out. If it were, the number of rows would tell whether its text was released before. The
    run ends with an error instead, as without ``over_limit=drop``.

    *Claim*: a release uses one choice, even if it is interrupted, or reads its input again. *Proof*. ``Ledger.claim``
    chooses and claims in one transaction. The run then stores the choice in its journal, before it draws anything,
    together with a keyed digest of all records. A resumed run that finds draws in the journal also finds the choice,
    and takes it. If nothing was drawn, nobody has read anything, and the resumed run removes the claims and begins
    anew. In each later reading, the records must be the same as those for which the choice was made; otherwise the run
    is refused. QED.

    Checked proof of the release: ``proofs/DrawProofs.v``, ``left_out_rows_tell_nothing``.

    A person's absence from the output tells that earlier releases have spent this person's budget.
    The statement says so, and compares only records of the same person.

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


class Ledger(LedgerFile):
    """An open ledger, the list of released records with their budgets.

    Args:
        path, key, seconds: as for ``LedgerFile``; a ledger needs the same key in each run.
        again: True if a record that the ledger already lists may be released again.
        limit: largest total epsilon of a record or person, unless the ledger stores a smaller limit.
        record_columns: columns that identify a record; None for the columns that the ledger stores.
        read_only: True for a dry run, which changes no file.
    """

    _identity: Identity  # of records
    _spending: Spending  # of the release that was begun
    _output: str  # its name
    identifies_persons = True  # True if a person is usually a part of a record's identity
    keeps = True  # False once a default ledger was given up (``adept.release.ledger.default``)
    required = True  # True if a release that began with this ledger must be resumed with it

    def __init__(
        self,
        path: str,
        *,
        key: bytes | None = None,
        again: bool = False,
        limit: float | None = None,
        record_columns: Sequence[str] | None = None,
        seconds: float = WAIT_SECONDS,
        read_only: bool = False,
    ) -> None:
        self.again, self.record_columns = again is True, record_columns  # "false" allows nothing
        self._asked_limit = None if limit is None else check_limit(limit, "ledger_limit")
        self._roles: Sequence[Role] = ()
        self.overlap = Overlap()
        super().__init__(path, key=key, seconds=seconds, read_only=read_only)

    # --- Settings

    @property
    def limit(self) -> float | None:
        """The limit stored in the ledger or the limit of this run, whichever is smaller."""
        return min((one for one in (self._own_limit(), self._asked_limit) if one is not None), default=None)

    def set_limit(self, limit: float) -> None:
        """Store a limit in the ledger, for all later releases."""
        self._database.run("UPDATE adept SET epsilon_limit = ?", check_limit(limit, "limit"))

    def identity(self, *, text_column: str, person_column: str | None) -> Identity:
        """Return the columns that identify records; the first run in a ledger chooses them."""
        asked = choose_roles(self.record_columns, text_column=text_column, person_column=person_column)
        kept = self._kept_roles()
        refuse(
            (
                asked and kept and asked != kept,
                f"record_columns must be those of {self.path}, which identifies records by {describe_roles(kept or ())}: leave "
                "the option out, or keep another ledger with ledger=FILE",
            )
        )
        usual = (PERSON_ROLE, TEXT_ROLE) if person_column and self.identifies_persons else (TEXT_ROLE,)
        self._roles = kept or asked or usual
        key = self.key or throwaway_key()
        self._identity = Identity.of(key, self._roles, text_column=text_column, person_column=person_column)
        return self._identity

    def _kept_roles(self) -> tuple[Role, ...] | None:
        (kept,) = self._database.row("SELECT record_columns FROM adept")
        return tuple((kind, name) for kind, name in json.loads(kept)) if kept else None

    def _own_limit(self) -> float | None:
        (kept,) = self._database.row("SELECT epsilon_limit FROM adept")
        return None if kept is None else float(kept)

    # --- Claims

    def begin(self, run: str, spending: Spending, output: str) -> None:
        """Begin a release; the next call of ``claim`` stores the release in the ledger."""
        self._run, self._spending = run, spending
        self._resumed = bool(self._release_id())
        self._output = os.fsencode(output).decode("utf-8", "backslashreplace")  # a file name need not be text
        for table in ("collected", "asked", "waiting"):
            self._database.run(f"DELETE FROM {table}")

    def collect(self, subjects: Iterable[tuple[bytes, int]]) -> None:
        """Collect digests of records and persons; the next call of ``claim`` lists them."""
        with self._database.transaction("BEGIN"):  # of this process alone: without a lock on the file
            self._database.executemany("INSERT INTO collected VALUES (?, ?)", subjects)

    def collect_records(self, records: Iterable[Record], *, before: int = 0) -> None:
        """Collect digests of records and persons.

        ``before`` is the number of records that earlier calls have collected.
        """
        self.collect(found for _, subjects in self._numbered(records, before) for found in subjects)

    def wait(self, records: Iterable[Record], *, before: int = 0) -> None:
        """Collect records of which the next call of ``claim`` chooses those that are claimed.

        ``before`` is the number of records that earlier calls have collected.
        """
        refuse((self.limit is None, NO_LIMIT))
        rows = ((number, *(digest for digest, _ in found)) for number, found in self._numbered(records, before))
        with self._database.transaction("BEGIN"):
            self._database.executemany("INSERT INTO waiting VALUES (?, ?, ?)", rows)

    def _numbered(self, records: Iterable[Record], before: int) -> Iterator[tuple[int, Iterator[tuple[bytes, int]]]]:
        numbered = enumerate(records, start=before + 1)
        return ((number, self._identity.subjects(record, number)) for number, record in numbered)

    def claim(self) -> LeftOut:
        """Add the records collected so far to the ledger, with the budget of the release.

        Return those of the waiting records that are left out. A ledger for a dry run only checks.

        Raises:
            ReleaseRefused: one of the records must not be released; then none of them is added.
        """
        with self._database.transaction("BEGIN"):  # sorted, since a large tree is slow to fill in another order
            self._database.execute(ASK.format("digest", "kind", "collected"))
            self._database.execute("DELETE FROM collected")
        (due,) = self._database.row(f"SELECT EXISTS {DUE} OR EXISTS (SELECT * FROM waiting)")
        if not due and self._release_id():
            return LeftOut()
        with self._transaction():
            self._check_proved()
            left_out = self._choose()
            found = self._found()
            self._check_again(found)
            self._check_limit(found)
            self._note(found)
            if not self.read_only:
                self._write()
        return left_out

    def _check_proved(self) -> None:
        """Refuse a release with a limit if the claim of this release, or of a listed one, is unproved."""
        listed = "SELECT output FROM releases WHERE run != ? AND id IN (SELECT release FROM unproved)"
        others = [output for (output,) in self._database.run(listed, self._run)]
        if self.limit is not None and (others or self._spending.unproved is not None):
            which = f"that of an earlier release, {others[0]}" if others else "that of this release"
            raise ReleaseRefused(
                f"{self.path} has a limit, and nobody checked the claim of a mechanism ({which}), so no total is known: use a "
                "mechanism of adept, or keep another ledger with ledger=FILE"
            )

    def _choose(self) -> LeftOut:
        """Choose among the waiting records, and collect the chosen ones."""
        allowed, again = (self._allowed(tree) for tree in TREES)
        if allowed != again:
            raise self._database.damage()
        waiting = self._database.execute("SELECT number, person FROM waiting ORDER BY number")
        numbers = frozenset(choose(waiting, allowed))
        if numbers and len(numbers) == self._database.row("SELECT COUNT(*) FROM waiting")[0]:
            raise ReleaseRefused(
                "no person of the input has budget left in the ledger, so nothing is released: add records of other persons"
            )
        self._database.executemany("DELETE FROM waiting WHERE number = ?", ((number,) for number in numbers))
        for column, kind in (("record", ROW_KIND), ("person", PERSON_KIND)):
            self._database.execute(ASK.format(column, kind, "waiting"))
        self._database.execute("DELETE FROM waiting")
        return LeftOut(numbers, len(allowed))

    def _allowed(self, tree: str) -> dict[bytes, float]:
        """Return the number of allowed records of each person who has more records waiting."""
        spent, everywhere, epsilon = self._spent(), self._everywhere(PERSON_KIND), self._spending.added
        allowed = {}
        for person, records, found in self._database.execute(WAITING_PERSONS.format(tree), (self._release_id(),)):
            before = everywhere + add_up(spent, claims_of(found))
            most = count_allowed(before, epsilon=epsilon, limit=self.limit or 0.0)
            if most < records:
                allowed[person] = most
        return allowed

    def _found(self) -> Counter[Asked]:
        release = self._release_id()
        found, again = (group_claims(self._database.run(SELECT_FOUND.format(tree), release)) for tree in TREES)
        if found != again:
            raise self._database.damage()
        return found

    def _check_again(self, found: Counter[Asked]) -> None:
        if self.again:
            return
        spending = self._spending
        (listed,) = self._database.row(f"{COUNT_OTHERS} AND (? OR scope = '{EVERYWHERE}')", self._run, spending.central)
        if listed:
            whose = (
                "" if spending.central else f" {'that counts' if listed == 1 else 'that count'} against every record"
            )
            raise ReleaseRefused(
                f"{self.path} lists {listed} other release{'s' * (listed > 1)}{whose}; no message may reveal if they hold the "
                "same records, so budgets may add up: add again=true, or keep a ledger for each file"
            )
        known = {asked: count for asked, count in found.items() if asked[0] == ROW_KIND and asked[3]}
        if known:
            spent = self._spent()  # no central release is listed, which would count against every record
            before = round_up(max(add_up(spent, claims) for _, _, _, claims in known))
            after = f"would make it {words(total(before, spending.epsilon))}"
            after = after if spending.unproved is None else "adds a claim that nobody checked"
            raise ReleaseRefused(
                f"the ledger holds {sum(known.values())} of the records already, with epsilon {words(before)} in all; this "
                f"release {after}: leave them out, or add again=true"
            )

    def _check_limit(self, found: Counter[Asked]) -> None:
        if (limit := self.limit) is None:
            return
        spending = self._spending
        others = self._database.run(
            "SELECT output, started FROM releases WHERE run != ? AND persons != ? ORDER BY id",
            self._run,
            spending.persons,
        )
        if others:
            (output, started), more = others[0], len(others) - 1
            listed = f"{output}, begun {started}{f', and {more} more' if more else ''}"
            raise ReleaseRefused(
                f"{self.path} has a limit and lists a release {'without' if spending.persons else 'with'} persons ({listed}), so "
                "no total of a person is known: give person_column= in all releases or in none, or keep another ledger with "
                "ledger=FILE"
            )
        for kind, who, remedy in (
            (ROW_KIND, "record", "leave out what was released before"),
            (PERSON_KIND, "person", "add over_limit=drop, which leaves out the records of persons without budget"),
        ):
            if kind == PERSON_KIND and not spending.persons:
                continue
            totals = self._after(found, kind)
            if (most := max(totals)) > limit:
                above = sum(count for amount, count in totals.items() if amount > limit)
                whom = f"every {who}" if spending.central else f"{above} {who}{'s' * (above > 1)}"
                lowered = f"{'' if spending.central else f'{remedy}, or '}lower epsilon"
                begun = f"raise ledger_limit, or the limit of {self.path}; a begun release keeps its epsilon"
                raise ReleaseRefused(
                    f"the ledger's limit is epsilon {words(limit)}, and this release would bring {whom} to as much as "
                    f"{words(most)}: {begun if self._resumed else lowered}"
                )

    def _after(self, found: Counter[Asked], kind: int) -> Counter[float]:
        """Count the records (or persons) by their total epsilon after this run."""
        spending, everywhere = self._spending, self._everywhere(kind)
        if spending.central:
            everywhere += spending.added * (spending.per_row if kind == ROW_KIND else spending.per_person)
            found = self._every_claim()
        return count_totals(found, kind, self._spent(), everywhere, added=spending.added)

    def _write(self) -> None:
        budget = asdict(self._spending)
        central, unproved, *stated = (
            budget.pop(name) for name in ("central", "unproved", "person_epsilon", "person_delta")
        )
        started, scope = (now()[:10], EVERYWHERE) if central else (now(), ROWS)  # a day, or a time
        release = {"run": self._run, "started": started, "output": self._output, "scope": scope, "shown": 0, **budget}
        columns, values = ", ".join(release), ", ".join(f":{column}" for column in release)
        self._database.execute(f"INSERT OR IGNORE INTO releases ({columns}) VALUES ({values})", release)
        self._database.execute("INSERT OR IGNORE INTO bounds VALUES (?, ?, ?)", (self._release_id(), *stated))
        if unproved is not None:
            self._database.execute("INSERT OR IGNORE INTO unproved VALUES (?, ?)", (self._release_id(), unproved))
        kept = self._kept_roles()
        if self._roles and kept is None:
            self._database.execute("UPDATE adept SET record_columns = ?", (json.dumps(self._roles),))
        elif self._roles and kept != tuple(self._roles):
            raise ConfigurationError(f"another run has meanwhile given {self.path} other record_columns: run again")
        (found,) = self._database.row("SELECT scope FROM releases WHERE run = ?", self._run)
        if found == ROWS:
            due = f"SELECT digest, ?, kind, times FROM {DUE} WHERE true"
            again = "ON CONFLICT DO UPDATE SET times = MAX(times, excluded.times)"
            self._database.execute(f"INSERT INTO claims {due} {again}", (self._release_id(),))
        self._database.execute("UPDATE asked SET claimed = times WHERE times > claimed")

    def _note(self, found: Counter[Asked]) -> None:
        spent, spending = self._spent(), self._spending
        if spending.central and self._database.row(COUNT_OTHERS, self._run)[0]:
            self.overlap.epsilon = max(self._after(found, ROW_KIND))
        for (kind, first, _, claims), count in found.items():
            if kind == ROW_KIND and first and claims:
                amount = self._everywhere(kind) + add_up(spent, claims) + spending.added
                self.overlap.records += count
                self.overlap.releases = max(self.overlap.releases, len(claims))
                self.overlap.epsilon = max(self.overlap.epsilon, round_up(amount))

    def _release_id(self) -> int:
        return int(self._database.row("SELECT COALESCE(MAX(id), 0) FROM releases WHERE run = ?", self._run)[0])

    # --- Records that somebody may have read

    def show(self, run: str, records: int) -> None:
        """Store how many of a release's records somebody may have read; raise DataError if it is not listed any more."""
        with self._database.transaction():
            shown = "UPDATE releases SET shown = MAX(shown, ?) WHERE run = ?"
            if not self._database.execute(shown, (records, run)).rowcount:
                raise DataError(f"{self.path} was replaced by an older copy: restore it, and continue with resume=true")

    def count_shown(self, run: str) -> int:
        """Return the number of a release's records that somebody may have read."""
        return int(self._database.row("SELECT COALESCE(MAX(shown), 0) FROM releases WHERE run = ?", run)[0])

    def forget(self, run: str) -> None:
        """Remove a release from the ledger, if nobody can have read any of its rows."""
        with self._database.transaction():
            chosen = "(SELECT id FROM releases WHERE run = ? AND NOT shown)"
            for table in ("claims", "bounds", "unproved"):
                self._database.execute(f"DELETE FROM {table} WHERE release IN {chosen}", (run,))
            self._database.execute(f"DELETE FROM releases WHERE id IN {chosen}", (run,))
            self._database.execute("UPDATE adept SET record_columns = NULL WHERE NOT EXISTS (SELECT 1 FROM releases)")
            self._database.execute("UPDATE asked SET claimed = 0")

    def finish(self, run: str, output_sha256: str | None = None) -> None:
        """Store that a release has ended, with the current time and the digest of its output.

        For a central release, store the day on which it began instead, so the ledger does not show
        how long the release took. Leave out the digest if the output is not a file.
        """
        ended = f"CASE scope WHEN '{EVERYWHERE}' THEN started ELSE ? END"
        with self._database.transaction():
            self._database.execute(f"UPDATE releases SET finished = {ended} WHERE run = ?", (now(), run))
            if output_sha256 is not None:
                found = "SELECT id, ? FROM releases WHERE run = ?"
                self._database.execute(f"INSERT OR IGNORE INTO outputs {found}", (output_sha256, run))


def check_limit(limit: float, name: str) -> float:
    """Return a limit on epsilon; raise ConfigurationError unless it is positive and finite."""
    refuse((not 0 < limit < math.inf, f"{name} must be a positive number, got {limit}: write {name}=16"))
    return float(limit)


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
