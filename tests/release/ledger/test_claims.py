"""Rows that were released before are known, counted and refused; nothing in the ledger tells what they say."""

import json
import multiprocessing
import os
import random
import re
import sqlite3
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from forked import standard_output
from made_statements import spending

from adept.data.reading import ReadingOptions
from adept.errors import DataError, ReleaseRefused
from adept.mechanisms import SqrtNLaplace
from adept.models.untrusted_files import file_sha256
from adept.release.flow.local import release_file
from adept.release.ledger.claims import Ledger
from adept.release.ledger.identity import ROW_KIND, TEXT_ROLE, Identity, row_digest
from adept.release.records import Inputs, ReleaseOptions
from adept.release.statement.statement import PrivacyStatement
from adept.rewriting.rewriter import Rewriter

KEY = b"k" * 32


def record_digest(key: bytes, text: str) -> bytes:
    [(digest, kind)] = Identity.of(key, [TEXT_ROLE], text_column="text", person_column=None).subjects({"text": text}, 1)
    assert kind == ROW_KIND
    return digest


def claim(
    ledger: Ledger, run: str, digests: Iterable[bytes], *, epsilon: float = 1.0, delta: float = 0.0, **spent: Any
) -> None:
    """Claim rows for a release that is made up."""
    ledger.begin(run, spending(epsilon=epsilon, delta=delta, **spent), "out")
    ledger.collect((digest, ROW_KIND) for digest in digests)
    ledger.claim()


@pytest.fixture(scope="module")
def rewriter(tiny_run: Path) -> Rewriter:
    return Rewriter.from_pretrained(tiny_run, mechanism=SqrtNLaplace(epsilon=8.0), batch_size=4)


def released(
    rewriter: Rewriter, directory: Path, numbers: range, name: str, *, again: bool = False, key: bytes = KEY
) -> None:
    given = directory / f"{name}.jsonl"
    given.write_text("".join(json.dumps({"text": f"SECRET {i}", "n": i}) + "\n" for i in numbers))
    with closing(Ledger(str(directory / "ledger.db"), key=key, again=again)) as ledger:
        release_file(
            rewriter, str(given), str(directory / f"{name}.out.jsonl"), options=ReleaseOptions(), key=key, ledger=ledger
        )


def test_rows_that_were_released_are_refused_with_how_many_and_the_total(rewriter: Rewriter, tmp_path: Path) -> None:
    released(rewriter, tmp_path, range(10), "first")
    with pytest.raises(
        ReleaseRefused, match="the ledger holds 4 of the records already, with epsilon 8 in all"
    ) as caught:
        released(rewriter, tmp_path, range(6, 20), "second")
    assert "would make it 16" in str(caught.value)
    assert "again=true" in str(caught.value)
    assert not list(tmp_path.glob("second.out*"))
    released(rewriter, tmp_path, range(10, 20), "third")  # what was refused claimed nothing
    released(rewriter, tmp_path, range(6, 20), "fourth", again=True)
    with pytest.raises(ReleaseRefused, match="with epsilon 16 in all; this release would make it 24"):
        released(rewriter, tmp_path, range(5, 7), "fifth")  # of which record 5 was released once
    with closing(Ledger(str(tmp_path / "ledger.db"))) as ledger:
        summed, entries = ledger.sum(), ledger.entries()
    assert (summed.releases, summed.rows, summed.epsilon, summed.delta) == (3, 20, 16.0, 0.0)
    assert [(entry.rows, entry.mechanism, entry.finished is not None) for entry in entries] == [
        (10, "sqrt_n", True), (10, "sqrt_n", True), (14, "sqrt_n", True),
    ]  # fmt: skip


def test_a_row_that_stands_twice_in_one_file_is_no_second_release(rewriter: Rewriter, tmp_path: Path) -> None:
    given = tmp_path / "in.jsonl"
    given.write_text('{"text": "the same"}\n' * 9)
    with closing(Ledger(str(tmp_path / "ledger.db"), key=KEY)) as ledger:
        release_file(
            rewriter, str(given), str(tmp_path / "out.jsonl"), options=ReleaseOptions(), key=KEY, ledger=ledger
        )
        summed = ledger.sum()
        assert (summed.rows, summed.epsilon, summed.equal) == (1, 8.0, 9)


def test_a_resumption_counts_equal_rows_from_the_beginning(rewriter: Rewriter, tmp_path: Path) -> None:
    given = tmp_path / "in.jsonl"
    given.write_text('{"text": "the same"}\n' * 9)

    def interrupt(done: int) -> None:
        raise KeyboardInterrupt

    with closing(Ledger(str(tmp_path / "ledger.db"), key=KEY)) as ledger:
        arguments = {"options": ReleaseOptions(), "key": KEY, "ledger": ledger}
        with pytest.raises(KeyboardInterrupt):
            release_file(rewriter, str(given), str(tmp_path / "out.jsonl"), progress=interrupt, **arguments)  # type: ignore[arg-type]
        release_file(rewriter, str(given), str(tmp_path / "out.jsonl"), resume=True, **arguments)  # type: ignore[arg-type]
        assert ledger.sum().equal == 9


def test_sums_are_exact_and_rounded_up(rewriter: Rewriter, tmp_path: Path) -> None:
    """Ten times .1 is more than 1, because the float .1 is more than a tenth; a sum of floats says .9999999999999999."""
    path = str(tmp_path / "ledger.db")
    with closing(Ledger(path, key=KEY, again=True)) as ledger:
        for run in range(10):
            digests = [record_digest(KEY, str(n)) for n in range(run + 1)]
            claim(ledger, f"run {run}", digests, epsilon=0.1, delta=1e-9)
        assert ledger._database.execute("SELECT SUM(epsilon) FROM releases").fetchone()[0] <= 1.0
        summed = ledger.sum()
        assert Fraction(summed.epsilon) >= 10 * Fraction(0.1) > 1
        assert (summed.rows, summed.equal) == (10, 1)


def test_the_ledger_is_its_owners_alone_and_holds_no_row_and_no_guessable_digest(
    rewriter: Rewriter, tmp_path: Path
) -> None:
    released(rewriter, tmp_path, range(3), "first")
    path = tmp_path / "ledger.db"
    assert path.stat().st_mode & 0o777 == 0o600
    content = path.read_bytes()
    assert b"SECRET" not in content
    assert record_digest(KEY, "SECRET 1") in content
    assert record_digest(b"x" * 32, "SECRET 1") not in content
    path.chmod(0o644)
    with pytest.raises(DataError, match="chmod 600"):
        Ledger(str(path), key=KEY)


def test_another_key_and_no_ledger_are_refused(rewriter: Rewriter, tmp_path: Path) -> None:
    released(rewriter, tmp_path, range(3), "first")
    with pytest.raises(DataError, match="another key"):
        released(rewriter, tmp_path, range(3), "second", key=b"x" * 32)
    (tmp_path / "notes.txt").write_text("my notes, which are no data base at all")
    (tmp_path / "notes.txt").chmod(0o600)
    with pytest.raises(DataError, match="is damaged or cannot be used"):
        Ledger(str(tmp_path / "notes.txt"), key=KEY)
    with pytest.raises(DataError, match=r"cannot make the ledger .*: No such file or directory: mend that"):
        Ledger(str(tmp_path / "nowhere" / "ledger.db"), key=KEY)


def test_a_mistake_gives_back_what_was_claimed(rewriter: Rewriter, tmp_path: Path) -> None:
    given = tmp_path / "in.jsonl"
    given.write_text('{"text": "a"}\n' * 9 + "{}\n")
    with closing(Ledger(str(tmp_path / "ledger.db"), key=KEY)) as ledger:
        with pytest.raises(DataError, match="record 10"):
            release_file(
                rewriter, str(given), str(tmp_path / "out.jsonl"), options=ReleaseOptions(), key=KEY, ledger=ledger
            )
        assert (ledger.sum().releases, ledger.sum().rows) == (0, 0)


def test_what_an_interrupted_run_claimed_is_its_resumptions_and_nobody_elses(
    rewriter: Rewriter, tmp_path: Path
) -> None:
    given = tmp_path / "in.jsonl"
    given.write_text("".join(json.dumps({"text": f"fare {i}"}) + "\n" for i in range(12)))

    def interrupt(done: int) -> None:
        raise KeyboardInterrupt

    with closing(Ledger(str(tmp_path / "ledger.db"), key=KEY)) as ledger:
        arguments = {"options": ReleaseOptions(), "key": KEY, "ledger": ledger}
        with pytest.raises(KeyboardInterrupt):
            release_file(rewriter, str(given), str(tmp_path / "a.jsonl"), progress=interrupt, **arguments)  # type: ignore[arg-type]
        assert [entry.finished for entry in ledger.entries()] == [None]
        with pytest.raises(ReleaseRefused, match="12 of the records"):
            release_file(rewriter, str(given), str(tmp_path / "b.jsonl"), **arguments)  # type: ignore[arg-type]
        release_file(rewriter, str(given), str(tmp_path / "a.jsonl"), resume=True, **arguments)  # type: ignore[arg-type]
        assert (ledger.sum().releases, ledger.sum().rows, ledger.sum().epsilon) == (1, 12, 8.0)


def released_beside(
    rewriter: Rewriter, directory: Path, name: str, ledger: Ledger, *, rows: int, **options: Any
) -> PrivacyStatement:
    given = directory / f"{name}.in.jsonl"
    given.write_text("".join(json.dumps({"text": f"fare {i}"}) + "\n" for i in range(rows)))
    return release_file(
        rewriter,
        str(given),
        str(directory / f"{name}.jsonl"),
        options=ReleaseOptions(),
        key=KEY,
        ledger=ledger,
        **options,
    )


def test_a_full_disk_under_the_ledger_strands_no_claims(rewriter: Rewriter, tmp_path: Path) -> None:
    """However little fits, the same command goes on when there is room."""
    filled = 0
    for pages in range(4):
        with closing(Ledger(str(tmp_path / f"{pages}.db"), key=KEY)) as ledger:
            (now,) = ledger._database.execute("PRAGMA page_count").fetchone()
            ledger._database.execute(f"PRAGMA max_page_count = {now + pages}")
            try:
                released_beside(rewriter, tmp_path, str(pages), ledger, rows=400)
            except DataError as error:
                filled += 1
                assert "disk is full: mend that, and continue with resume=true" in str(error)  # noqa: PT017
                ledger._database.execute("PRAGMA max_page_count = 1000")
                released_beside(rewriter, tmp_path, str(pages), ledger, rows=400, resume=pages % 2 == 0)
            summed = ledger.sum()
            assert (summed.releases, summed.rows, summed.epsilon) == (1, 400, 8.0)
    assert filled >= 2


def test_claims_that_a_full_disk_keeps_are_given_back_by_the_next_run(
    rewriter: Rewriter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing was released, and a repaired file, which has other rows, is."""

    def mistake(written: int) -> None:
        monkeypatch.setattr(Ledger, "forget", full)
        raise DataError("a mistake")

    def full(self: Ledger, run: str) -> None:
        raise OSError(28, "disk is full", self.path)

    with closing(Ledger(str(tmp_path / "ledger.db"), key=KEY)) as ledger:
        with pytest.raises(DataError, match="a mistake"):
            released_beside(rewriter, tmp_path, "a", ledger, rows=20, progress=mistake)
        assert ledger.sum().rows == 20
        monkeypatch.undo()
        assert released_beside(rewriter, tmp_path, "a", ledger, rows=10).records == 10
        assert (ledger.sum().releases, ledger.sum().rows, ledger.sum().epsilon) == (1, 10, 8.0)


@pytest.mark.parametrize("label", [None, "", "  "])
def test_a_record_without_a_label_is_a_mistake_that_claims_nothing(
    rewriter: Rewriter, tmp_path: Path, label: object
) -> None:
    given, rows = tmp_path / "in.jsonl", [{"text": f"fare {i}", "intent": "fare"} for i in range(12)]
    options: Any = {"options": ReleaseOptions(format="jsonl", statement=str(tmp_path / "s.json")), "key": KEY}
    with closing(Ledger(str(tmp_path / "ledger.db"), key=KEY)) as ledger, standard_output(tmp_path / "shown"):
        for target in (str(tmp_path / "out.jsonl"), "-"):
            given.write_text("".join(json.dumps(row) + "\n" for row in [*rows[:10], {**rows[10], "intent": label}]))
            with pytest.raises(DataError, match="record 11 has no label in column 'intent'"):
                release_file(rewriter, str(given), target, ledger=ledger, **options)
            assert (ledger.sum().releases, ledger.sum().rows) == (0, 0)
        assert (tmp_path / "shown").read_bytes() == b""  # with a ledger a file is read through before anything is drawn
        assert {path.name for path in tmp_path.iterdir()} == {"in.jsonl", "ledger.db", "shown"}
        given.write_text("".join(json.dumps(row) + "\n" for row in rows))
        assert release_file(rewriter, str(given), str(tmp_path / "out.jsonl"), ledger=ledger, **options).records == 12


def test_rows_that_were_claimed_meanwhile_are_refused_by_a_resumption(rewriter: Rewriter, tmp_path: Path) -> None:
    """The interrupted run had no ledger, and another release of its rows does."""

    def interrupt(written: int) -> None:
        raise KeyboardInterrupt

    with closing(Ledger(str(tmp_path / "ledger.db"), key=KEY)) as ledger:
        with pytest.raises(KeyboardInterrupt):
            released_beside(rewriter, tmp_path, "a", None, rows=8, progress=interrupt)  # type: ignore[arg-type]
        released_beside(rewriter, tmp_path, "b", ledger, rows=4)
        with pytest.raises(ReleaseRefused, match="4 of the records"):
            released_beside(rewriter, tmp_path, "a", ledger, rows=8, resume=True)
    assert (tmp_path / "a.jsonl.journal").exists()
    assert not (tmp_path / "a.jsonl").exists()


def known_rows(path: Path, rows: int) -> list[bytes]:
    """A ledger with some releases of some rows each."""
    digests = [record_digest(KEY, str(n)) for n in range(rows)]
    with closing(Ledger(str(path), key=KEY)) as ledger:
        for run in range(4):
            claim(ledger, f"run {run}", digests[run::4], epsilon=2.0)
        ledger.set_limit(2.5)
    return digests


def unnoticed(path: Path, digests: list[bytes]) -> int:
    """Count rows that a ledger lets be released again, past its limit too, or lists with another budget, without a word."""
    new = 0
    try:
        for again in (False, True):
            with closing(Ledger(str(path), key=KEY, again=again)) as ledger:
                for start in range(0, len(digests), 10):
                    with suppress(ReleaseRefused):
                        claim(ledger, "new", digests[start : start + 10])
                        new += 1
                new += ledger.sum().epsilon != 2.0
    except (DataError, OSError):
        pass
    return new


def check_damage(directory: Path, *, flips: int, cuts: int) -> None:
    """Neither a bit that changes nor an end that is cut off makes a row unknown in silence."""
    path, rng = directory / "ledger.db", random.Random(0)
    digests = known_rows(path, 200)
    whole = path.read_bytes()
    for number in range(flips + cuts):
        damaged = bytearray(whole)
        if number < flips:
            damaged[rng.randrange(len(whole))] ^= 1 << rng.randrange(8)
        else:
            del damaged[rng.randrange(len(whole)) :]
        path.write_bytes(damaged)
        assert not unnoticed(path, digests), number


def test_damage_to_a_ledger_makes_no_row_unknown_in_silence(tmp_path: Path) -> None:
    check_damage(tmp_path, flips=150, cuts=30)


@pytest.mark.parametrize(
    ("flips", "cuts"),
    [pytest.param(2_000, 200, marks=pytest.mark.slow), pytest.param(10_000, 1_000, marks=pytest.mark.hours)],
)
def test_thousands_of_damaged_ledgers_make_no_row_unknown_in_silence(tmp_path: Path, flips: int, cuts: int) -> None:
    check_damage(tmp_path, flips=flips, cuts=cuts)


def test_statistics_of_sqlite_are_no_damage_and_another_definition_is(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    known_rows(path, 8)
    with closing(sqlite3.connect(path)) as database:
        database.execute("ANALYZE")
    with closing(Ledger(str(path), key=KEY)) as ledger:
        assert ledger.sum().rows == 8
    path.write_bytes(
        path.read_bytes().replace(b"claims_again ON claims (digest, kind", b"claims_again ON claims (digest, time")
    )
    with pytest.raises(DataError, match=r"damaged|malformed"):
        Ledger(str(path), key=KEY)


def test_an_approval_is_listed_with_its_time_and_only_of_a_complete_release(tmp_path: Path) -> None:
    place, out = str(tmp_path / "ledger.db"), tmp_path / "out"
    out.write_bytes(b"a fare\n")
    with closing(Ledger(place, key=KEY)) as ledger:
        claim(ledger, "one", [record_digest(KEY, "a")])
        with pytest.raises(DataError, match="lists no complete release with the content of"):
            ledger.approve(str(out), "J. Doe")
        ledger.finish("one", file_sha256(str(out)))
        ledger.finish("one", file_sha256(str(out)))  # as a resumed run does
        assert [entry.approved for entry in ledger.entries()] == [""]
        ledger.approve(str(out), "J. Doe")
        claim(ledger, "two", [record_digest(KEY, "b")])
        (tmp_path / "other").write_bytes(b"a train\n")
        ledger.finish("two", file_sha256(str(tmp_path / "other")))
    with closing(Ledger(place, key=KEY)) as ledger:
        first, second = (entry.approved for entry in ledger.entries())
        assert re.fullmatch(r"J\. Doe, \d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00", first)
        assert second == ""
        ledger.approve(str(tmp_path / "other"), "M. Roe")
        assert ledger.entries()[1].approved.startswith("M. Roe, ")


@pytest.mark.parametrize("table", ["approvals", "outputs", "bounds"])
def test_a_ledger_that_lost_a_table_or_an_index_is_damaged(table: str, tmp_path: Path) -> None:
    for what in (f"INDEX {table}_again", f"TABLE {table}"):
        place = str(tmp_path / f"{what}.db")
        Ledger(place, key=KEY).close()
        with closing(sqlite3.connect(place)) as database:
            database.execute(f"DROP {what}")
            database.commit()
        with pytest.raises(DataError, match="damaged"):
            Ledger(place, key=KEY)


def test_a_ledger_of_no_bytes_lost_them_all(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    path.touch(0o600)
    with pytest.raises(DataError, match="is empty, which a ledger never is"):
        Ledger(str(path), key=KEY)


def test_what_was_spent_is_not_known_while_another_program_has_the_ledger(tmp_path: Path) -> None:
    with (
        closing(Ledger(str(tmp_path / "ledger.db"), key=KEY)) as ledger,
        closing(sqlite3.connect(ledger.path)) as other,
    ):
        ledger._database.execute("PRAGMA busy_timeout = 0")
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(OSError, match="locked"):
            ledger.sum()


def test_claims_on_what_may_have_been_read_are_never_given_back(tmp_path: Path) -> None:
    with closing(Ledger(str(tmp_path / "ledger.db"), key=KEY)) as ledger:
        for run, shown in (("seen", 1), ("unseen", 0)):
            claim(ledger, run, [run.encode()])
            ledger.show(run, shown)
            ledger.forget(run)
        assert (ledger.sum().releases, ledger.sum().rows) == (1, 1)
        ledger.claim()  # what was given back is claimed as if for the first time
        assert (ledger.sum().releases, ledger.sum().rows) == (2, 2)
        with pytest.raises(ReleaseRefused, match="the ledger holds 1 of the records"):
            claim(ledger, "another", [b"seen"])


def _claim(path: str, run: str, rows: int) -> int:
    """Claim rows, fifty at a time; returns how often that was refused."""
    with closing(Ledger(path, key=KEY)) as ledger:
        refused = 0
        for start in range(0, rows, 50):
            try:
                claim(ledger, run, [record_digest(KEY, str(n)) for n in range(start, start + 50)])
            except ReleaseRefused:
                refused += 1
        return refused


def test_two_writers_at_once_never_both_believe_to_be_the_first(tmp_path: Path) -> None:
    """Every row is claimed by one of them alone, or seen to be taken."""
    path = str(tmp_path / "ledger.db")
    Ledger(path, key=KEY).close()
    context = multiprocessing.get_context("fork")
    with context.Pool(4) as pool:
        refused = pool.starmap(_claim, [(path, f"run {i}", 500) for i in range(4)])
    with closing(Ledger(path)) as ledger:
        claims = ledger._database.execute("SELECT digest, COUNT(*) FROM claims GROUP BY digest").fetchall()
    assert len(claims) == 500
    assert {count for _, count in claims} == {1}
    assert sum(refused) == 3 * 10


def test_the_digest_of_a_row_is_of_all_its_columns_in_any_order() -> None:
    row = {"text": "a", "n": 1}
    assert row_digest(KEY, row) == row_digest(KEY, {"n": 1, "text": "a"})
    others = [{"text": "a"}, {"text": "a", "n": "1"}, {"text": "b", "n": 1}, {"text": "a", "m": 1}]
    assert row_digest(KEY, row) not in {row_digest(KEY, other) for other in others}


def test_a_pattern_reads_files_in_order_and_an_existing_name_wins(tmp_path: Path) -> None:
    for name in ("b.txt", "a.txt", "[ab].txt"):
        (tmp_path / name).write_text(f"{name}\n")
    assert [record["text"] for record in Inputs.of(str(tmp_path / "?.txt"), ReadingOptions()).records()] == [
        "a.txt",
        "b.txt",
    ]
    assert [record["text"] for record in Inputs.of(str(tmp_path / "[ab].txt"), ReadingOptions()).records()] == [
        "[ab].txt"
    ]
    with pytest.raises(DataError, match="no file has such a name"):
        Inputs.of(str(tmp_path / "*.csv"), ReadingOptions())
    assert Inputs.of(str(tmp_path / "?.txt"), ReadingOptions()).estimate() == 2
    assert Inputs.of("-", ReadingOptions(format="txt")).estimate() is None
    (tmp_path / "z.csv").write_text("text\na\n")
    (tmp_path / "y.csv").symlink_to(tmp_path / "z.csv")
    with pytest.raises(DataError, match=r"y\.csv and .*z\.csv are one file"):
        Inputs.of(str(tmp_path / "*.csv"), ReadingOptions())


def test_a_pipe_with_a_name_is_read_once(rewriter: Rewriter, tmp_path: Path) -> None:
    """A ledger claims a file's rows before anything is drawn; what comes through a pipe is claimed as it comes."""
    pipe = tmp_path / "in.jsonl"
    os.mkfifo(pipe)
    child = os.fork()
    if child == 0:
        pipe.write_text("".join(json.dumps({"text": f"fare {i}"}) + "\n" for i in range(9)))
        os._exit(0)
    with closing(Ledger(str(tmp_path / "ledger.db"), key=KEY)) as ledger:
        released = release_file(
            rewriter, str(pipe), str(tmp_path / "out.jsonl"), options=ReleaseOptions(), key=KEY, ledger=ledger
        )
        assert (released.records, ledger.sum().rows) == (9, 9)
    os.waitpid(child, 0)


def test_what_a_run_without_a_ledger_drew_is_claimed_by_its_resumption(rewriter: Rewriter, tmp_path: Path) -> None:
    pipe = tmp_path / "in.jsonl"
    os.mkfifo(pipe)

    def release(**options: Any) -> None:
        with ThreadPoolExecutor() as writer:
            writer.submit(pipe.write_text, "".join(json.dumps({"text": f"a fare to {i}"}) + "\n" for i in range(12)))
            release_file(rewriter, str(pipe), str(tmp_path / "out.jsonl"), options=ReleaseOptions(), key=KEY, **options)

    def interrupt(records: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        release(progress=interrupt)
    with closing(Ledger(str(tmp_path / "ledger.db"), key=KEY)) as ledger:
        release(ledger=ledger, resume=True)
        assert ledger.sum().rows == 12


def written_bytes() -> int:
    """The bytes that this process has written so far, also into files without a name."""
    return int(dict(line.split(": ") for line in Path("/proc/self/io").read_text().splitlines())["wchar"])


@pytest.mark.skipif(not Path("/proc/self/io").exists(), reason="only Linux counts what a process writes")
def test_digests_that_exceed_the_memory_are_written_a_few_times_not_once_for_each(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("adept.release.ledger.file.CACHE_KILOBYTES", 64)
    digests = [(random.Random(i).randbytes(16), ROW_KIND) for i in range(20_000)]
    with closing(Ledger(str(tmp_path / "ledger.db"), key=KEY)) as ledger:
        ledger.begin("run", spending(epsilon=1.0, delta=0.0), "out")
        before = written_bytes()
        for start in range(0, len(digests), 1000):
            ledger.collect(digests[start : start + 1000])
        ledger.claim()
    assert written_bytes() - before < 20_000_000  # 1,000 bytes for each; one page of each of two trees is 8,192
