"""Limits, persons, identities, central releases and the ledger by default: what a ledger promises, tried on the ledger itself."""

import datetime
import sqlite3
import threading
import uuid
from collections.abc import Iterable
from contextlib import closing
from dataclasses import replace
from decimal import Decimal
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow
import pytest
from made_statements import central_statement, spending

from adept.cli import ledger as ledger_command
from adept.cli.ledger import _lines
from adept.data.formats import UnreadableValue
from adept.errors import ConfigurationError, DataError, ReleaseRefused
from adept.mechanisms.central_counts import Votes
from adept.release.ledger.claims import Ledger
from adept.release.ledger.default import DefaultLedger, default_location, open_ledger
from adept.release.ledger.file import Spending
from adept.release.ledger.identity import UNWRITTEN, identity_text, key_location
from adept.release.options import LedgerOptions

KEY = b"k" * 32
Subjects = list[tuple[bytes, int]]


def local(epsilon: float, *, persons: bool = False) -> Spending:
    return spending(epsilon=epsilon, persons=persons)


def central(epsilon: float, *, persons: bool = False, neighbours: str = "add_or_remove") -> Spending:
    return Spending.of(central_statement(Votes(epsilon=epsilon, neighbours=neighbours), persons=persons))


def release(ledger: Ledger, run: str, spending: Spending, records: Iterable[dict[str, object]] = ()) -> None:
    """Claim records, whose columns are text and, where persons are named, user."""
    identity = ledger.identity(text_column="text", person_column="user" if spending.persons else None)
    ledger.begin(run, spending, "out")
    if not spending.central:
        for number, record in enumerate(records, start=1):
            ledger.collect(identity.subjects(record, number))
    ledger.claim()
    ledger.finish(run)


def rows(*texts: str, **columns: object) -> list[dict[str, object]]:
    return [{"text": text, **columns} for text in texts]


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "ledger.db")


# --- Central releases


def test_a_central_release_counts_against_every_record_known_or_not(path: str) -> None:
    with closing(Ledger(path, key=KEY)) as ledger:
        release(ledger, "central", central(1.0))
        for text in ("in it", "not in it"):
            with pytest.raises(ReleaseRefused, match="lists 1 other release that counts against every record"):
                release(ledger, "local", local(8.0), rows(text))
    with closing(Ledger(path, key=KEY, again=True)) as ledger:
        release(ledger, "local", local(8.0), rows("any"))
        assert ledger.sum().epsilon == 8.0 + 2 * 1.0


def test_a_refused_run_leaves_no_byte_in_the_ledger(path: str) -> None:
    """Tell a later central run nothing of a refused run, which is not on the list."""
    with closing(Ledger(path, key=KEY)) as ledger:
        release(ledger, "first", local(8.0), rows("a"))
    before = Path(path).read_bytes()
    for run, asked in (("again", rows("a", "b")), ("limit", rows("c"))):
        with (
            closing(Ledger(path, key=KEY, limit=7.0 if run == "limit" else None)) as ledger,
            pytest.raises(ReleaseRefused),
        ):
            release(ledger, run, local(8.0), asked)
        assert Path(path).read_bytes() == before


@pytest.mark.parametrize(
    ("persons", "neighbours", "per_row", "per_person"),
    [
        (False, "add_or_remove", 2, None),
        (False, "replace", 1, None),
        (True, "add_or_remove", 4, 2),
        (True, "replace", 2, 1),
    ],
)
def test_a_central_release_counts_as_often_as_its_neighbours_need_it(
    path: str, persons: bool, neighbours: str, per_row: int, per_person: int | None
) -> None:
    with closing(Ledger(path, key=KEY)) as ledger:
        release(ledger, "central", central(1.0, persons=persons, neighbours=neighbours))
        assert (ledger.sum().epsilon, ledger.sum().person_epsilon) == (per_row, per_person)


def test_two_central_runs_at_once_do_not_both_pass(path: str) -> None:
    """Both look before either writes, as far as the ledger lets them: the second one waits, and is refused."""
    Ledger(path, key=KEY).close()
    written, answers = threading.Event(), []

    class Slow(Ledger):
        """Lets another run come between its check and its entry."""

        def _check_again(self, found: object) -> None:
            super()._check_again(found)  # type: ignore[arg-type]
            other.start()
            assert not written.wait(0.2)

    def second() -> None:
        with closing(Ledger(path, key=KEY)) as ledger:
            try:
                release(ledger, "second", central(1.0))
                answers.append("passed")
            except ReleaseRefused:
                answers.append("refused")
            written.set()

    other = threading.Thread(target=second)
    with closing(Slow(path, key=KEY)) as ledger:
        release(ledger, "first", central(1.0))
    other.join()
    assert answers == ["refused"]


# --- What a record is


IDS = ("12345678123456781234567812345678", "12345678123456781234567812345679")
NOON = datetime.datetime(2026, 1, 2, 12, 0, 0, 500_000)


@pytest.mark.parametrize(
    ("values", "text"),
    [
        (["1", 1, 1.0, Decimal("1.00"), np.int64(1), " 1 "], "1"),
        (["1.5", "1.50", 1.5, Decimal("1.50"), np.float64(1.5)], "1.5"),
        (["caf\u00e9", "cafe\u0301"], "caf\u00e9"),
        ([True, "true", "True", np.bool_(True)], "true"),
        ([None, float("nan"), "", "  ", float("inf")], None),
        ([datetime.date(2026, 1, 2), datetime.datetime(2026, 1, 2), "2026-01-02", "2026-01-02 00:00:00"], "2026-01-02"),
        ([NOON, NOON.isoformat(), "2026-01-02 12:00:00.5", "2026-01-02 12:00:00.500000"], "2026-01-02T12:00:00.5"),
        ([NOON.replace(tzinfo=datetime.UTC), "2026-01-02 12:00:00.5Z"], "2026-01-02T12:00:00.5+00:00"),
        (["2026-01-02 10:00"], "2026-01-02T10:00:00"),
        (["2026-01-02 00:00:05"], "2026-01-02T00:00:05"),
        (["2026-01-02 00:00Z"], "2026-01-02T00:00:00+00:00"),
        (["on 2026-01-02"], "on 2026-01-02"),
        ([{"b": 1, "a": [2]}, {"a": [2], "b": 1}], '{"a": [2], "b": 1}'),
        ([b"abc", "abc"], "abc"),
        ([uuid.UUID(int=10), str(uuid.UUID(int=10))], "00000000-0000-0000-0000-00000000000a"),
        ([datetime.timedelta(hours=1), "1:00:00"], "1:00:00"),
        ([np.array([1, 2]), [1, 2], (1, 2)], "[1, 2]"),
        ([{"at": [datetime.date(2026, 1, 2)]}, {"at": ["2026-01-02"]}], '{"at": ["2026-01-02"]}'),
    ],
)
def test_spellings_of_one_value_are_one_text(values: list[object], text: str | None) -> None:
    assert {identity_text(value) for value in values} == {text}


def test_a_value_that_cannot_be_written_down_ends_no_release() -> None:
    deep: list[object] = []
    for _ in range(10**5):
        deep = [deep]
    assert identity_text(deep) == UNWRITTEN
    while deep:
        deep = deep.pop()  # type: ignore[assignment]
    assert identity_text(10**5000) == UNWRITTEN


def test_two_values_without_a_plain_text_are_told_apart_where_their_type_spells_them() -> None:
    odd = [UnreadableValue(pyarrow.array([day], pyarrow.date32())) for day in (10**8, 10**8 + 1)]
    spelled = {identity_text(value) for value in (*odd, *map(datetime.timedelta, (1, 2)), *map(uuid.UUID, IDS))}
    assert len(spelled) == 6
    for value in ({1, 2}, object(), [object()], slice(3)):
        assert UNWRITTEN in str(identity_text(value))


def test_columns_that_identify_a_record_are_fixed_by_the_first_release(path: str) -> None:
    given = {"utterance": "yes", "id": 1}
    with closing(Ledger(path, key=KEY, record_columns=["utterance", "id"])) as ledger:
        found = ledger.identity(text_column="utterance", person_column=None)
        ledger.begin("first", local(1.0), "out")
        ledger.collect(found.subjects(given, 1))
        ledger.claim()
    with closing(Ledger(path, key=KEY)) as ledger:
        found = ledger.identity(text_column="text", person_column=None)
        same, other = (set(found.subjects({"text": "yes", "id": number}, 1)) for number in ("1", 2))
        assert same == set(ledger.identity(text_column="utterance", person_column=None).subjects(given, 1)) != other
        with pytest.raises(
            DataError, match="column 'id', by which the ledger identifies records, is missing in record 7"
        ):
            list(found.subjects({"text": "yes"}, 7))
    with (
        closing(Ledger(path, key=KEY, record_columns=["id"])) as ledger,
        pytest.raises(ConfigurationError, match="identifies records by column 'id', the text"),
    ):
        ledger.identity(text_column="text", person_column=None)


def test_of_two_first_releases_at_once_with_other_columns_the_later_is_refused(path: str) -> None:
    """Each began while the ledger had none, and would not know the other's records again."""
    runs = [Ledger(path, key=KEY, record_columns=[column]) for column in ("text", "id")]
    with closing(runs[0]), closing(runs[1]):
        for ledger in runs:
            found = ledger.identity(text_column="text", person_column=None)
            ledger.begin(str(found.columns), local(1.0), "out")
            ledger.collect(found.subjects({"text": "yes", "id": 1}, 1))
        runs[0].claim()
        with pytest.raises(ConfigurationError, match="another run has meanwhile given"):
            runs[1].claim()
        assert runs[1].sum().releases == 1


def test_a_first_release_that_is_given_up_fixes_no_columns(path: str) -> None:
    """Let a later run ask for the same, wherever the first one failed."""
    with closing(Ledger(path, key=KEY, record_columns=["id"])) as ledger:
        ledger.identity(text_column="text", person_column=None)
        ledger.begin("first", local(1.0), "out")
        ledger.claim()
        ledger.forget("first")
    with closing(Ledger(path, key=KEY, record_columns=["text"])) as ledger:
        ledger.identity(text_column="text", person_column=None)


def test_records_are_identified_by_text_and_person_if_the_first_release_has_persons(path: str) -> None:
    with closing(Ledger(path, key=KEY)) as ledger:
        release(ledger, "first", local(1.0, persons=True), rows("yes", user="ann"))
        release(ledger, "second", local(1.0, persons=True), rows("yes", user="bob"))
        with pytest.raises(ReleaseRefused, match="1 of the records"):
            release(ledger, "third", local(1.0, persons=True), rows("yes", user=" bob "))
        with pytest.raises(ConfigurationError, match="person_column must be given"):
            release(ledger, "fourth", local(1.0), rows("yes"))


# --- Persons


def test_a_persons_budget_is_that_of_all_their_records(path: str) -> None:
    with closing(Ledger(path, key=KEY)) as ledger:
        release(ledger, "first", local(2.0, persons=True), [*rows("a", "b", "c", user="ann"), *rows("d", user="bob")])
        release(ledger, "second", local(1.0, persons=True), rows("e", user=" ann "))
        summed = ledger.sum()
        assert (summed.epsilon, summed.persons, summed.person_epsilon) == (2.0, 2, 7.0)
    with closing(Ledger(path, key=KEY, again=True)) as ledger:
        release(ledger, "central", central(0.5, persons=True))
        assert (ledger.sum().epsilon, ledger.sum().person_epsilon) == (2.0 + 4 * 0.5, 7.0 + 2 * 0.5)


def test_the_delta_of_a_person_is_added_up_and_listed(path: str) -> None:
    with closing(Ledger(path, key=KEY)) as ledger:
        noisy = replace(local(2.0, persons=True), delta=1e-6)
        release(ledger, "first", noisy, [*rows("a", "b", user="ann"), *rows("d", user="bob")])
        assert (ledger.sum().delta, ledger.sum().person_delta) == (1e-6, 2e-6)
        assert ("most for one person", "4, delta 2e-6") in _lines([], ledger.sum(), None)
        told = dict(_lines([], replace(ledger.sum(), unproved=3.0), None))
        assert told["most for one person"] == "4, delta 2e-6, in all proved releases together"


def test_beside_a_release_without_persons_no_total_of_a_person_is_stated(path: str) -> None:
    with closing(Ledger(path, key=KEY, record_columns=["text"])) as ledger:
        release(ledger, "first", local(2.0), rows("a"))
        release(ledger, "second", local(2.0, persons=True), rows("b", user="ann"))
        assert (ledger.sum().person_epsilon, ledger.sum().nameless) == (float("inf"), 1)


# --- Limits


def test_a_limit_may_be_reached_and_not_passed(path: str) -> None:
    with closing(Ledger(path, key=KEY, again=True)) as ledger:
        ledger.set_limit(0.3)
        release(ledger, "first", local(0.1), rows("a", "b"))
        release(ledger, "second", local(0.1), rows("a"))
        with pytest.raises(
            ReleaseRefused, match=r"limit is epsilon 0\.3, and this release would bring 1 record to as much as"
        ):
            release(ledger, "third", local(0.1), rows("a", "c"))  # three times the float .1 is more than the float .3
        release(ledger, "fourth", local(0.05), rows("a", "c"))
    with closing(Ledger(path + "2", key=KEY, again=True, limit=16.0)) as ledger:
        release(ledger, "first", local(8.0), rows("a"))
        release(ledger, "second", local(8.0), rows("a"))
        with pytest.raises(ReleaseRefused):
            release(ledger, "third", local(1e-9), rows("a"))


@pytest.mark.parametrize(
    ("kept", "asked", "holds"), [(4.0, 16.0, 4.0), (16.0, 4.0, 4.0), (None, 4.0, 4.0), (4.0, None, 4.0)]
)
def test_an_option_of_a_run_lowers_a_limit_and_never_raises_it(
    path: str, kept: float | None, asked: float | None, holds: float
) -> None:
    with closing(Ledger(path, key=KEY)) as ledger:
        if kept:
            ledger.set_limit(kept)
    with closing(Ledger(path, key=KEY, again=True, limit=asked)) as ledger:
        assert ledger.limit == holds
        release(ledger, "first", local(holds), rows("a"))
        with pytest.raises(ReleaseRefused, match="limit is epsilon 4"):
            release(ledger, "second", local(holds), rows("a"))


@pytest.mark.parametrize("limit", [0.0, -1.0, float("nan"), float("inf")])
def test_a_limit_is_a_positive_number(path: str, limit: float) -> None:
    with pytest.raises(ConfigurationError, match="ledger_limit must be a positive number"):
        Ledger(path, key=KEY, limit=limit)


def test_a_limit_counts_central_releases_everywhere(path: str) -> None:
    with closing(Ledger(path, key=KEY, again=True, limit=8.0)) as ledger:
        release(ledger, "local", local(6.0), rows("a"))
        with pytest.raises(ReleaseRefused, match=r"would bring every record to as much as 9"):
            release(ledger, "central", central(1.5))
        release(ledger, "central", central(1.0))
        with pytest.raises(ReleaseRefused):
            release(ledger, "new", local(6.5), rows("never seen"))
        release(ledger, "new", local(6.0), rows("never seen"))


def test_a_limit_holds_for_persons_with_all_their_records(path: str) -> None:
    with closing(Ledger(path, key=KEY, again=True, limit=8.0)) as ledger:
        release(ledger, "first", local(2.0, persons=True), rows("a", "b", "c", user="ann"))
        with pytest.raises(ReleaseRefused, match="would bring 1 person to as much as 10"):
            release(ledger, "second", local(2.0, persons=True), rows("d", "e", user="ann"))
        release(ledger, "second", local(2.0, persons=True), [*rows("d", user="ann"), *rows("d", "e", "f", user="bob")])


@pytest.mark.parametrize("first", [True, False])
def test_with_a_limit_all_releases_name_persons_or_none_does(path: str, first: bool) -> None:
    with closing(Ledger(path, key=KEY, again=True, limit=8.0, record_columns=["text"])) as ledger:
        release(ledger, "first", local(1.0, persons=first), rows("a", user="ann"))
        with pytest.raises(ReleaseRefused, match="no total of a person is known"):
            release(ledger, "second", local(1.0, persons=not first), rows("b", user="ann"))


def test_a_run_that_was_killed_counts_as_spent(path: str) -> None:
    with closing(Ledger(path, key=KEY, again=True, limit=8.0)) as ledger:
        ledger.begin("killed", local(8.0), "out")
        ledger.collect(ledger.identity(text_column="text", person_column=None).subjects({"text": "a"}, 1))
        ledger.claim()
    with closing(Ledger(path, key=KEY, again=True, limit=8.0)) as ledger:
        with pytest.raises(ReleaseRefused):
            release(ledger, "another", local(1.0), rows("a"))
        release(ledger, "killed", local(8.0), rows("a"))  # its resumption


def test_records_of_a_stream_that_pass_their_persons_limit_are_refused_before_a_draw(
    path: str,
) -> None:
    with closing(Ledger(path, key=KEY, limit=4.0)) as ledger:
        found = ledger.identity(text_column="text", person_column="user")
        ledger.begin("stream", local(2.0, persons=True), "out")
        for number, passes in enumerate([True, True, False]):
            ledger.collect(found.subjects({"text": "a", "user": "ann"}, number))
            if passes:
                ledger.claim()
            else:
                with pytest.raises(ReleaseRefused, match="1 person"):
                    ledger.claim()


# --- The ledger by default


@pytest.fixture
def told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return []


def by_default(
    told: list[str], run: str, texts: Iterable[str], *, key: bytes | None = KEY, limit: float | None = None
) -> None:
    with open_ledger(LedgerOptions(ledger_limit=limit), key, tell=told.append) as ledger:
        if ledger:
            release(ledger, run, local(8.0), rows(*texts))


def test_the_ledger_by_default_claims_again_in_silence_and_counts(told: list[str]) -> None:
    for run in ("first", "second", "third"):
        by_default(told, run, ["a", "b"])
    with closing(Ledger(str(default_location(KEY)), key=KEY)) as ledger:
        assert (ledger.sum().releases, ledger.sum().epsilon) == (3, 24.0)
    assert not told


def test_another_key_has_another_ledger_by_default(told: list[str]) -> None:
    for key in (KEY, b"x" * 32):
        by_default(told, "first", ["a"], key=key)
    assert not told
    assert default_location(KEY) != default_location(b"x" * 32)


def test_the_ledger_by_default_refuses_what_passes_a_limit(told: list[str]) -> None:
    by_default(told, "first", ["a"])
    with pytest.raises(ReleaseRefused, match="limit is epsilon 15"):
        by_default(told, "second", ["a"], limit=15.0)
    with pytest.raises(ReleaseRefused, match="cannot be checked"):
        by_default(told, "third", ["a"], key=None, limit=15.0)
    with (
        pytest.raises(ConfigurationError, match="ledger must be given"),
        open_ledger(LedgerOptions(ledger="none", ledger_limit=15.0), KEY),
    ):
        pass


def damage(place: Path) -> None:
    place.write_bytes(b"no data base at all")


def replace_by_folder(place: Path) -> None:
    place.unlink()
    place.mkdir()


def open_to_others(place: Path) -> None:
    place.chmod(0o644)


def empty(place: Path) -> None:
    place.write_bytes(b"")


@pytest.mark.parametrize("break_it", [damage, replace_by_folder, open_to_others, empty])
def test_a_ledger_by_default_that_cannot_be_used_ends_no_release(told: list[str], break_it: object) -> None:
    by_default(told, "first", ["a"])
    break_it(default_location(KEY))  # type: ignore[operator]
    by_default(told, "second", ["a"])
    [line] = told
    assert line.startswith("no ledger is kept of this release (")


@pytest.mark.parametrize("break_it", [damage, replace_by_folder, open_to_others, empty])
def test_a_ledger_by_default_with_a_limit_that_cannot_be_read_refuses(told: list[str], break_it: object) -> None:
    by_default(told, "first", ["a"])
    ledger_command.run(ledger_command.LedgerConfig(ledger=str(default_location(KEY)), limit=9.0))
    break_it(default_location(KEY))  # type: ignore[operator]
    with pytest.raises(ReleaseRefused, match="limit cannot be checked"):
        by_default(told, "second", ["a"])
    assert not told


@pytest.mark.parametrize("limit", [None, 99.0])
def test_a_ledger_by_default_that_is_gone_takes_its_limit_with_it_in_no_silence(
    told: list[str], limit: float | None
) -> None:
    by_default(told, "first", ["a"])
    set_limit = ledger_command.LedgerConfig(ledger=str(default_location(KEY)), limit=9.0)
    ledger_command.run(set_limit)
    default_location(KEY).unlink()
    for run in ("second", "third"):
        with pytest.raises(ReleaseRefused, match="lost its limit"):
            by_default(told, run, ["a"], limit=limit)
    ledger_command.run(set_limit)
    by_default(told, "fourth", ["a"], limit=limit)
    assert not told


def test_a_limit_of_another_key_is_told_and_one_that_no_key_can_check_refuses(told: list[str]) -> None:
    by_default(told, "first", ["a"])
    ledger_command.run(ledger_command.LedgerConfig(ledger=str(default_location(KEY)), limit=9.0))
    by_default(told, "second", ["a"], key=b"x" * 32)
    assert len(told) == 1
    assert "another key has a limit" in told[0]
    with pytest.raises(ReleaseRefused, match="no key can be kept"):
        by_default(told, "third", ["a"], key=None)


def test_a_ledger_by_default_that_another_run_holds_ends_no_release(
    told: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("adept.release.ledger.default.DEFAULT_WAIT_SECONDS", 0.0)
    by_default(told, "first", ["a"])
    with closing(sqlite3.connect(default_location(KEY))) as other:
        other.execute("BEGIN EXCLUSIVE")
        by_default(told, "second", ["a"])
    assert len(told) == 1


def test_a_default_ledger_that_is_lost_midway_ends_only_releases_with_a_limit(
    told: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(self: Ledger) -> None:
        raise OSError(28, "disk is full", self.path)

    monkeypatch.setattr(Ledger, "_write", full)
    by_default(told, "first", ["a"])
    assert len(told) == 1
    with pytest.raises(ReleaseRefused, match="cannot be checked"):
        by_default(told, "second", ["a"], limit=15.0)


def test_a_file_of_many_records_has_no_ledger_by_default_unless_there_is_a_limit(
    told: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("adept.release.ledger.default.MAX_DEFAULT_RECORDS", 3)
    by_default(told, "few", "abc")
    assert not told
    by_default(told, "many", "abcd")
    assert "more than 3 records" in told[0]
    by_default(told, "limited", "abcd", limit=99.0)
    with closing(Ledger(str(default_location(KEY)), key=KEY)) as ledger:
        assert [entry.rows for entry in ledger.entries()] == [3, 4]


def test_a_ledger_by_default_identifies_records_by_text_with_and_without_persons(told: list[str]) -> None:
    with open_ledger(LedgerOptions(), KEY, tell=told.append) as ledger:
        assert isinstance(ledger, DefaultLedger)
        release(ledger, "first", local(1.0, persons=True), rows("yes", user="ann"))
        release(ledger, "second", local(1.0), rows("yes"))
        assert ledger.sum().epsilon == 2.0
    assert not told


def test_no_byte_of_a_ledger_depends_on_the_records_of_a_central_release(tmp_path: Path) -> None:
    """A central release is given no record; its times are the day's."""
    day = datetime.datetime.now(datetime.UTC).date().isoformat()
    with closing(Ledger(str(tmp_path / "a"), key=KEY)) as ledger:
        release(ledger, "run", central(1.0))
        [entry] = ledger.entries()
    assert (entry.started, entry.finished, entry.rows) == (day, day, 0)


def test_a_base_directory_that_is_not_absolute_counts_as_not_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another directory for each one that a command starts in would hold another key, ledger and limit."""
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("state", "./state", ""):
        monkeypatch.setenv("XDG_STATE_HOME", name)
        monkeypatch.setenv("XDG_CONFIG_HOME", name)
        assert default_location(KEY).parent == tmp_path / ".local/state/adept"
        assert key_location() == tmp_path / ".config/adept/key"
    monkeypatch.setenv("HOME", "home")
    for locate in (key_location, partial(default_location, KEY)):
        with pytest.raises(RuntimeError, match="HOME must be an absolute path, got home"):
            locate()
