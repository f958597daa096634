"""The file of a ledger: an SQLite database (mode 0600), checks for damage, and exact sums.

A *claim* is an entry of the ledger for one record or person in one release.

*Claim*: suppose that one bit changes on the disk, or that the end of the file is lost. Then an
error is raised, or else the ledger still lists every record and its limit has not grown.

*Proof*. SQLite stores each claim twice: in the tree of the table of claims, and in the tree of the index
``claims_again``. The two trees of a claim share no page of the file. Each claim is looked up in both trees, and if
the two answers differ, the ledger is refused. The tables ``adept``, ``releases``, ``outputs``, ``approvals``,
``bounds`` and ``unproved`` are small; whenever the file is opened, each of them is compared with an index of all its
columns. SQLite itself refuses a file that is shorter than its header says; this module refuses an empty file, and a
file that lacks a table. QED.
"""

import errno
import math
import os
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

from adept.data.formats import STANDARD_STREAM
from adept.data.writing import new_private_file
from adept.errors import DataError
from adept.mechanisms.central_counts import ADD_OR_REMOVE
from adept.mechanisms.guarantee import ANY_TWO_RECORDS
from adept.models.untrusted_files import file_sha256
from adept.release.ledger.identity import PERSON_KIND, ROW_KIND, check_private, row_digest
from adept.release.statement.statement import Statement, now
from adept.release.statement.wording import StatedTotal

# Errors of SQLite that concern the machine, not the file.
PASSING = ("FULL", "IOERR", "BUSY", "LOCKED", "READONLY", "CANTOPEN", "PERM")
CACHE_KILOBYTES = 32_768  # memory for pages of the file, and for the digests that a run collects
WAIT_SECONDS = 60.0  # time to wait for another run's claim
LEDGER_VERSION, OLDER_VERSIONS = 7, (4, 5, 6)
SMALL_TABLES = ("adept", "releases", "outputs", "approvals", "bounds", "unproved")
# A release counts against the rows and persons that it claimed, or against all
ROWS, EVERYWHERE = "rows", "everywhere"
SCHEMA = f"""
CREATE TABLE adept (version INTEGER, key_check BLOB, record_columns TEXT, epsilon_limit REAL);
CREATE INDEX adept_again ON adept (version, key_check, record_columns, epsilon_limit);
CREATE TABLE releases (
    id INTEGER PRIMARY KEY, run TEXT UNIQUE, started TEXT, finished TEXT, mechanism TEXT, epsilon REAL, delta REAL,
    model_sha256 TEXT, output TEXT, scope TEXT, unit TEXT, neighbours TEXT, persons INTEGER, per_row INTEGER,
    per_person INTEGER, shown INTEGER
);
CREATE INDEX releases_again ON releases (
    run, started, finished, mechanism, epsilon, delta, model_sha256, output, scope, unit, neighbours, persons, per_row,
    per_person, shown
);
CREATE TABLE claims (digest BLOB, release INTEGER, kind INTEGER, times INTEGER, PRIMARY KEY (digest, release)) WITHOUT ROWID;
CREATE INDEX claims_again ON claims (digest, kind, times);
INSERT INTO adept VALUES ({LEDGER_VERSION}, NULL, NULL, NULL);
"""
ADDED = """
CREATE TABLE IF NOT EXISTS approvals (release INTEGER, approved_by TEXT, approved TEXT);
CREATE INDEX IF NOT EXISTS approvals_again ON approvals (release, approved_by, approved);
CREATE TABLE IF NOT EXISTS outputs (release INTEGER PRIMARY KEY, sha256 TEXT);
CREATE INDEX IF NOT EXISTS outputs_again ON outputs (release, sha256);
CREATE TABLE IF NOT EXISTS bounds (release INTEGER PRIMARY KEY, person_epsilon REAL, person_delta REAL);
CREATE INDEX IF NOT EXISTS bounds_again ON bounds (release, person_epsilon, person_delta);
CREATE TABLE IF NOT EXISTS unproved (release INTEGER PRIMARY KEY, claimed_epsilon REAL);
CREATE INDEX IF NOT EXISTS unproved_again ON unproved (release, claimed_epsilon);
"""  # tables that a ledger of an older version may lack
# What is deleted is overwritten, and memory does not grow with the file
SETTINGS = """
PRAGMA secure_delete = ON; PRAGMA temp.journal_mode = TRUNCATE; PRAGMA main.cache_size = -{0}; PRAGMA temp.cache_size = -{0}
"""
ASKED = """
CREATE TEMP TABLE waiting (number INTEGER PRIMARY KEY, record BLOB, person BLOB);
CREATE TEMP TABLE collected (digest BLOB, kind INTEGER);
CREATE TEMP TABLE asked (digest BLOB PRIMARY KEY, kind INTEGER, times INTEGER, claimed INTEGER) WITHOUT ROWID;
CREATE INDEX temp.asked_due ON asked (digest) WHERE times > claimed;
"""
ALL_FOUND = f"""
SELECT kind, 0, 0, found, COUNT(*) FROM (
    SELECT kind, GROUP_CONCAT(release || ':' || CASE kind WHEN {ROW_KIND} THEN 1 ELSE times END) AS found
    FROM claims GROUP BY digest
) GROUP BY 1, 4
"""
ENTRIES = f"""
SELECT started, finished, mechanism, epsilon, delta,
    (SELECT COUNT(*) FROM claims WHERE release = id AND kind = {ROW_KIND}), model_sha256, output, per_row, unit, neighbours,
    scope = '{EVERYWHERE}', persons, (SELECT sha256 FROM outputs WHERE release = id),
    COALESCE((SELECT GROUP_CONCAT(approved_by || ', ' || approved, '; ') FROM approvals WHERE release = id), ''),
    (SELECT claimed_epsilon FROM unproved WHERE release = id)
FROM releases ORDER BY id
"""
# Fields of a statement that the ledger lists
STATED_FIELDS = (
    "mechanism", "epsilon", "delta", "model_sha256", "unit", "neighbours", "person_epsilon", "person_delta"
)  # fmt: skip
Claims = tuple[tuple[int, int], ...]  # releases that claimed a digest, and how often each counts
# A digest's kind, True if this run asks for it first, its count now, and its earlier claims.
Asked = tuple[int, bool, int, Claims]
Budget = Fraction | float


class Database(sqlite3.Connection):
    """An open SQLite file (journal or ledger) whose errors name its path and give advice.

    An error after which the run can be continued later, such as a full disk, is raised as an
    OSError. All other errors of SQLite are raised as DataErrors.
    """

    path = damaged = advice = ""

    def name(self, path: str, damaged: str, advice: str) -> None:
        """Set the parts of error messages: the path, the words for damage, and the advice."""
        self.path, self.damaged, self.advice = path, damaged, advice

    def damage(self, reason: str = "") -> DataError:
        """Return the error for a damaged file."""
        return DataError(f"{self.damaged}{reason}: {self.advice}")

    @contextmanager
    def reported(self) -> Iterator[None]:
        """Turn errors that SQLite raises inside the ``with`` block into OSError or DataError."""
        try:
            yield
        except sqlite3.Error as error:
            kind = getattr(error, "sqlite_errorname", "").split("_")[1:2]
            if set(kind) & set(PASSING):
                raise OSError(errno.ENOSPC if kind == ["FULL"] else errno.EIO, str(error), self.path) from None
            raise self.damage(f" ({error})") from None
        except UnicodeDecodeError:  # SQLite quotes what it cannot read
            raise self.damage() from None

    @contextmanager
    def transaction(self, begin: str = "BEGIN IMMEDIATE") -> Iterator[None]:
        """Run the ``with`` block in one transaction; meanwhile, no other process can write."""
        with self.reported():
            self.execute(begin)
            try:
                yield
                self.execute("COMMIT")
            except BaseException:
                if self.in_transaction:  # a full disk ends it
                    self.execute("ROLLBACK")
                raise

    def run(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        """Run an SQL query, and return all rows of its result."""
        with self.reported():
            return self.execute(query, values).fetchall()

    def row(self, query: str, *values: object) -> tuple[Any, ...]:
        """Return the first row of an SQL query's result, which must have at least one row."""
        return self.run(query, *values)[0]


@dataclass(frozen=True, kw_only=True)
class Spending:
    """The budget of a release, and how often it is added to the total of a record or person.

    Attributes:
        persons: True if a column names the person who contributed each record.
        central: True if the budget is added to the totals of all records and persons, even of those
            that are not in the release.
        per_row: number of times that epsilon is added to the total of a record.
        per_person: number of times that epsilon is added to the total of a person. In a local
            release, epsilon is added that many times for each record of the person.
        person_epsilon, person_delta: bounds that the release states for one person, for replacing
            the person's records; None if the release states none.
        unproved: epsilon that an author claims, and nobody checked; None for adept's mechanisms. The
            release's ``epsilon`` is then infinite, and is part of no sum.
    """

    mechanism: str
    epsilon: float
    delta: float
    model_sha256: str | None
    unit: str
    neighbours: str
    persons: bool = False
    central: bool = False
    per_row: int = 1
    per_person: int = 1
    person_epsilon: float | None = None
    person_delta: float | None = None
    unproved: float | None = None

    @property
    def added(self) -> Budget:
        """The epsilon that is added to totals of proved epsilons."""
        return Fraction() if self.unproved is not None else exact(self.epsilon)

    @classmethod
    def of(cls, statement: Statement) -> "Spending":
        """Return the budget that the statement of a release states."""
        said = statement.fields()
        central, persons = said["trust"] == "central", said["max_records_per_person"] is not None
        twice = 2 if said["neighbours"] == ADD_OR_REMOVE else 1
        copied: dict[str, Any] = {name: math.inf if said[name] == "inf" else said[name] for name in STATED_FIELDS}
        if central and persons:
            copied["person_epsilon"] *= twice
        return cls(
            **copied,
            persons=persons,
            central=central,
            per_row=2 * twice if central and persons else twice,
            per_person=twice,
            unproved=said["claimed_epsilon"] if said["holds"] is None else None,
        )


@dataclass(frozen=True)
class LedgerEntry:
    """A release in the ledger; its epsilon is added ``counted`` times to the total of a record."""

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
    output_sha256: str | None  # unknown for standard output, for a table in memory, and from version 4
    approved: str  # who approved it and when, or nothing
    unproved: float | None  # epsilon that the author of a mechanism claims, and nobody checked


@dataclass(frozen=True)
class LedgerSum:
    """Sums over all releases in a ledger: counts, and the largest totals of epsilon and delta.

    Attributes:
        rows, persons: numbers of distinct records and of distinct persons in local releases.
        equal: largest number of records in one release that are equal to each other.
        person_epsilon: largest total epsilon of a person; infinite if some releases name no
            persons, and None if no release names persons.
        person_delta: largest total delta of a person.
        nameless: number of releases that name no persons.
        spent: pairs of a total epsilon and the number of persons with this total, in order.
        everywhere: total epsilon of a person who is in no local release.
        unproved: largest total of a record's epsilons that nobody checked, which are in no other sum;
            None if there are none.
    """

    releases: int
    rows: int
    epsilon: float
    delta: float
    equal: int = 1
    persons: int = 0
    person_epsilon: float | None = None
    person_delta: float = 0.0
    nameless: int = 0
    spent: tuple[tuple[float, int], ...] = ()
    everywhere: float = 0.0
    unproved: float | None = None


class LedgerFile:
    """The file of an open ledger, with methods that list its releases and sum up their budgets.

    Args:
        path: name of the file, which is created if it does not exist.
        key: secret key for digests; with None, only the list of releases can be read.
        seconds: longest time to wait for other runs that use the file.
        read_only: True to change nothing; a missing file is then read as an empty ledger.
    """

    _run = ""  # the current release, which does not count among the earlier ones

    def __init__(self, path: str, *, key: bytes | None, seconds: float = WAIT_SECONDS, read_only: bool = False) -> None:
        self.path, self.key, self.read_only = path, key, read_only
        missing = not os.path.lexists(path)
        absent = read_only and missing
        place = f"file:{quote(os.fsencode(Path(path).absolute()))}?mode={'ro' if read_only else 'rw'}"
        try:
            if not absent:
                _check_file(path)
            self._database = sqlite3.connect(
                ":memory:" if absent else place, timeout=seconds, isolation_level=None, factory=Database, uri=True
            )
            if absent:
                self._database.executescript(SCHEMA + ADDED)
        except (OSError, sqlite3.Error) as error:
            failed = f"cannot {'make' if missing else 'open'} the ledger {path}: {getattr(error, 'strerror', error)}"
            raise DataError(f"{failed}: mend that, or give another one") from None
        self._database.name(path, f"{path} is damaged or cannot be used", "restore it, or give another one")
        try:
            self._prepare()
        except BaseException:
            self._database.close()
            raise

    def close(self) -> None:
        self._database.close()

    def _transaction(self) -> AbstractContextManager[None]:
        return self._database.transaction("BEGIN" if self.read_only else "BEGIN IMMEDIATE")

    def _prepare(self) -> None:
        with self._database.reported():
            self._execute_each(SETTINGS.format(CACHE_KILOBYTES))
        with self._transaction():
            self._check_whole()
            self._execute_each(ASKED)
            if self.key is not None:
                self._check_key(row_digest(self.key, {"adept": "ledger"}))

    def _check_whole(self) -> None:
        there = {name for (name,) in self._database.execute("SELECT name FROM sqlite_master")}
        if not there >= {"adept", "releases", "claims"}:
            raise DataError(
                f"{self.path} is damaged, not a ledger, or of a version before 0.2.0: restore it, or add what an older one "
                "lists to the totals of the new ledger"
            )
        for table in there.intersection(SMALL_TABLES):
            self._check_tables(table)
        version = self._database.run("SELECT version FROM adept")
        older = version in [[(older,)] for older in OLDER_VERSIONS]
        if older and self.read_only:
            self._database.execute("CREATE TEMP TABLE unproved (release, claimed_epsilon)")  # it has none
            return
        if older:
            self._execute_each(ADDED)
            self._database.execute("UPDATE adept SET version = ?", (LEDGER_VERSION,))
        elif version != [(LEDGER_VERSION,)]:
            raise DataError(f"{self.path} is damaged, or another version's: restore it, or use the adept that wrote it")
        if _definitions(self._database) != _own_definitions():
            raise self._database.damage()

    def _execute_each(self, script: str) -> None:
        for statement in filter(str.strip, script.split(";")):
            self._database.execute(statement)

    def _check_tables(self, table: str = "") -> None:
        if self._database.run(f"PRAGMA integrity_check({table})" if table else "PRAGMA integrity_check") != [("ok",)]:
            raise self._database.damage()

    def _check_key(self, check: bytes) -> None:
        (found,) = self._database.row("SELECT key_check FROM adept")
        if found is None and not self.read_only:
            self._database.execute("UPDATE adept SET key_check = ?", (check,))
        elif found not in (None, check):
            raise DataError(f"{self.path} was written with another key: give that key with key=FILE")

    # --- List and sums

    def entries(self) -> list[LedgerEntry]:
        """Return all releases in the ledger, the oldest first."""
        return [LedgerEntry(*row) for row in self._database.run(ENTRIES)]

    def lists(self, output: str, sha256: str | None) -> bool:
        """Return True if a released file is in the ledger, with its digest or, if it has none there, with its name."""
        name = Path(output).name
        return any((one.output_sha256 or Path(one.output).name) in (sha256, name) for one in self.entries())

    def approve(self, output: str, by: str) -> None:
        """Store who approved the newest complete release of the file ``output``.

        The content of the file decides, not its name: two files in different directories may have
        been released under one relative name. Raise DataError for a file that cannot be read, and
        for a content that the ledger does not list.
        """
        if output == STANDARD_STREAM or not Path(output).is_file():
            raise DataError(
                f"approve must be a released file, got {output}, which is none: name the file as it lies on the disk; for "
                "standard output, sign the statement instead"
            )
        sha256 = file_sha256(output)
        with self._database.transaction():
            (release,) = self._database.row("SELECT MAX(release) FROM outputs WHERE sha256 = ?", sha256)
            if release is None:
                others = "finished NOT NULL AND id NOT IN (SELECT release FROM outputs)"
                (unknown,) = self._database.row(f"SELECT COUNT(*) FROM releases WHERE {others}")
                more = (
                    f"; the ledger does not know the content of {unknown} of its releases (an earlier version entered them, or "
                    "they were no files), so sign their statements instead"
                )
                raise DataError(
                    f"{self.path} lists no complete release with the content of {output}: name a released file, as it was "
                    f"written{more if unknown else ''}"
                )
            self._database.execute("INSERT INTO approvals VALUES (?, ?, ?)", (release, by, now()))

    def sum(self) -> LedgerSum:
        """Return the sums over all releases in the ledger; raise DataError for a damaged ledger."""
        self._check_tables()
        self._run = ""  # no current release: all count
        found, kinds = self._every_claim(), (ROW_KIND, PERSON_KIND)
        releases = self._database.run("SELECT id, scope, delta, persons FROM releases")
        (equal,) = self._database.row(f"SELECT MAX(times) FROM claims WHERE kind = {ROW_KIND}")
        rows, persons = (count_totals(found, kind, self._spent(), self._everywhere(kind)) for kind in kinds)
        deltas = {number: exact(delta) for number, _, delta, _ in releases}
        everywhere_delta = sum((deltas[number] for number, scope, *_ in releases if scope == EVERYWHERE), Fraction())
        row_deltas, person_deltas = (count_totals(found, kind, deltas, everywhere_delta) for kind in kinds)
        named = [bool(persons) for *_, persons in releases]
        claimed = {release: exact(epsilon) for release, epsilon in self._database.run("SELECT * FROM unproved")}
        return LedgerSum(
            releases=len(releases),
            rows=rows.total(),
            epsilon=max(rows),
            delta=max(row_deltas),
            equal=equal or 1,
            persons=persons.total(),
            person_epsilon=None if not any(named) else max(persons) if all(named) else math.inf,
            person_delta=max(person_deltas),
            nameless=named.count(False),
            spent=tuple(sorted((+persons).items())),
            everywhere=round_up(self._everywhere(PERSON_KIND)),
            unproved=max(count_totals(found, ROW_KIND, claimed, Fraction())) if claimed else None,
        )

    def stated_total(self) -> StatedTotal:
        """Return the sum of the bounds that the releases state for one person, whoever was in them."""
        stated = "scope, neighbours, person_epsilon, person_delta"
        found = self._database.run(f"SELECT {stated} FROM releases LEFT JOIN bounds ON release = id")
        if not found or any(None in row for row in found):
            return StatedTotal(len(found))
        epsilon, delta = (round_up(sum(map(exact, each), Fraction())) for each in [*zip(*found, strict=True)][2:])
        pairs = {pair for scope, pair, *_ in found if scope == ROWS and pair != ANY_TWO_RECORDS}
        return StatedTotal(len(found), epsilon, delta, tuple(sorted(pairs)))

    def _every_claim(self) -> Counter[Asked]:
        return group_claims(self._database.run(ALL_FOUND))

    def _spent(self) -> dict[int, Budget]:
        proved = "id NOT IN (SELECT release FROM unproved)"
        rows = self._database.run(f"SELECT id, epsilon FROM releases WHERE scope = '{ROWS}' AND {proved}")
        return {release: exact(epsilon) for release, epsilon in rows}

    def _everywhere(self, kind: int) -> Budget:
        """Return the epsilon that central releases of other runs add to every total.

        ``kind`` says whether these are the totals of records or of persons.
        """
        factor = "per_row" if kind == ROW_KIND else "per_person"
        rows = self._database.run(
            f"SELECT epsilon, {factor} FROM releases WHERE scope = '{EVERYWHERE}' AND run != ?", self._run
        )
        return sum((exact(epsilon) * times for epsilon, times in rows), Fraction())


def _check_file(path: str) -> None:
    if not os.path.lexists(path):
        with new_private_file(Path(path)) as partial, closing(sqlite3.connect(partial, factory=Database)) as database:
            database.name(path, f"cannot make the ledger {path}", "give another one")
            with database.reported():
                database.executescript(f"BEGIN; {SCHEMA} {ADDED} COMMIT;")
    if not check_private(Path(path)).st_size:
        raise DataError(f"{path} is empty, which a ledger never is: restore it, or remove it if it never was a ledger")


def _definitions(database: sqlite3.Connection) -> dict[str, list[str]]:
    """Return the SQL text that defines each table and index, split into words.

    SQLite does not notice damage in this text, so ``LedgerFile`` compares it with the text that defines a new ledger.
    """
    rows = database.execute("SELECT name, sql FROM sqlite_master WHERE name NOT LIKE 'sqlite_stat%'")
    return {name: (sql or "").split() for name, sql in rows}


@cache
def _own_definitions() -> dict[str, list[str]]:
    with closing(sqlite3.connect(":memory:")) as database:
        database.executescript(SCHEMA + ADDED)
        return _definitions(database)


def group_claims(rows: Iterable[tuple[int, int, int, str | None, int]]) -> Counter[Asked]:
    """Count the digests with the same kind, use in this run, and earlier claims (``Asked``)."""
    groups: Counter[Asked] = Counter()
    for kind, first, times, found, count in rows:
        groups[kind, bool(first), times, claims_of(found)] += count
    return groups


def claims_of(found: str | None) -> Claims:
    """Return the claims of one digest, which a query has joined into one text."""
    pairs = (claim.split(":") for claim in found.split(",")) if found else ()
    try:
        return tuple(sorted((int(release), int(often)) for release, often in pairs))
    except ValueError:
        raise DataError("the ledger is damaged: restore it, or give another one") from None


def exact(budget: float) -> Budget:
    """Return a budget as an exact fraction; an infinite budget stays infinite."""
    return Fraction(budget) if math.isfinite(budget) else math.inf


def add_up(spent: Mapping[int, Budget], claims: Iterable[tuple[int, int]]) -> Budget:
    """Return the total epsilon of the given claims; ``spent`` maps a release to its epsilon."""
    return sum((spent[release] * times for release, times in claims if release in spent), Fraction())


def round_up(amount: Budget) -> float:
    """Return the smallest float that is at least as large as an exact amount."""
    try:
        result = float(amount)
    except OverflowError:
        return math.inf
    return result if result >= amount else math.nextafter(result, math.inf)


def count_totals(
    found: Counter[Asked], kind: int, spent: Mapping[int, Budget], everywhere: Budget, *, added: Budget = 0
) -> Counter[float]:
    """Count the records (or persons) by their totals, each rounded up: so it exceeds a float if and only if the total does.

    A total is the sum of ``everywhere``, of a digest's claims and, as often as this run asks for it, of ``added``. The
    total of a record that the ledger has never seen is among the totals, with the count 0.
    """
    totals = Counter({round_up(everywhere): 0})
    for (asked, _, times, claims), count in found.items():
        if asked == kind:
            totals[round_up(everywhere + add_up(spent, claims) + (times and added * times))] += count
    return totals
