"""Rows that were released before are known, counted and refused; nothing in the ledger tells what they say."""

import json
import multiprocessing
import os
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from adept.errors import DataError, ReleaseRefused
from adept.mechanisms import SqrtNLaplace
from adept.release.columns import ReleaseOptions
from adept.release.file import release_file
from adept.release.inputs import Inputs
from adept.release.ledger import Ledger
from adept.release.secret import row_digest
from adept.rewriting.rewriter import Rewriter

KEY = b"k" * 32


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
        ReleaseRefused, match="4 different rows are in the ledger already, with epsilon 8 in all"
    ) as caught:
        released(rewriter, tmp_path, range(6, 20), "second")
    assert "would make it 16" in str(caught.value)
    assert "again=true" in str(caught.value)
    assert not list(tmp_path.glob("second.out*"))
    released(rewriter, tmp_path, range(10, 20), "third")  # what was refused claimed nothing
    released(rewriter, tmp_path, range(6, 20), "fourth", again=True)
    with pytest.raises(ReleaseRefused, match="with epsilon 16 in all; this release would make it 24"):
        released(rewriter, tmp_path, range(6, 7), "fifth")
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
            ledger._database.execute(
                "INSERT INTO releases VALUES (?, '', NULL, 'l1', 0.1, 1e-9, '', '', 0)", (f"run {run}",)
            )
            ledger.claim(f"run {run}", [row_digest(KEY, {"n": n}) for n in range(run + 1)])
        assert ledger._database.execute("SELECT SUM(epsilon) FROM releases").fetchone()[0] <= 1.0
        summed = ledger.sum()
        assert Fraction(summed.epsilon) >= 10 * Fraction(0.1) > 1
        assert (summed.rows, summed.equal) == (10, 1)


FIRST_VERSION = """
CREATE TABLE adept (version INTEGER, key_check BLOB);
CREATE TABLE releases (
    run TEXT PRIMARY KEY, started TEXT, finished TEXT, mechanism TEXT, epsilon REAL, delta REAL, model_sha256 TEXT, output TEXT
);
CREATE TABLE released_rows (digest BLOB, run TEXT, PRIMARY KEY (digest, run)) WITHOUT ROWID;
INSERT INTO released_rows VALUES (x'78', 'old');
INSERT INTO releases VALUES ('old', '', NULL, 'l1', 2.0, 0.0, '', '');
"""


@pytest.mark.parametrize("known", [True, False])
def test_a_ledger_of_an_earlier_version_is_read(tmp_path: Path, known: bool) -> None:
    path = tmp_path / "ledger.db"
    with closing(sqlite3.connect(path)) as database:
        database.executescript(FIRST_VERSION)
        if known:
            database.execute("INSERT INTO adept VALUES (1, ?)", (row_digest(KEY, {"adept": "ledger"}),))
            database.commit()
    path.chmod(0o600)
    for _ in range(2):
        with closing(Ledger(str(path), key=KEY)) as ledger:
            assert ledger.claim("new", [b"x"]) == 1
            assert (ledger.sum().equal, ledger.sum().epsilon, ledger.shown("old")) == (1, 2.0, 0)
    with pytest.raises(DataError, match="another key"):
        Ledger(str(path), key=b"x" * 32)


def test_the_ledger_is_its_owners_alone_and_holds_no_row_and_no_digest_that_a_guess_would_give(
    rewriter: Rewriter, tmp_path: Path
) -> None:
    released(rewriter, tmp_path, range(3), "first")
    path = tmp_path / "ledger.db"
    assert path.stat().st_mode & 0o777 == 0o600
    content = path.read_bytes()
    row = {"text": "SECRET 1", "n": 1}
    assert b"SECRET" not in content
    assert row_digest(KEY, row) in content
    assert row_digest(b"x" * 32, row) not in content
    path.chmod(0o644)
    with pytest.raises(DataError, match="chmod 600"):
        Ledger(str(path), key=KEY)


def test_another_key_and_no_ledger_are_refused(rewriter: Rewriter, tmp_path: Path) -> None:
    released(rewriter, tmp_path, range(3), "first")
    with pytest.raises(DataError, match="another key"):
        released(rewriter, tmp_path, range(3), "second", key=b"x" * 32)
    (tmp_path / "notes.txt").write_text("my notes, which are no data base at all")
    (tmp_path / "notes.txt").chmod(0o600)
    with pytest.raises(DataError, match="cannot use the ledger"):
        Ledger(str(tmp_path / "notes.txt"), key=KEY)
    with pytest.raises(DataError, match="cannot open the ledger"):
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
        with pytest.raises(ReleaseRefused, match="12 different rows"):
            release_file(rewriter, str(given), str(tmp_path / "b.jsonl"), **arguments)  # type: ignore[arg-type]
        release_file(rewriter, str(given), str(tmp_path / "a.jsonl"), resume=True, **arguments)  # type: ignore[arg-type]
        assert (ledger.sum().releases, ledger.sum().rows, ledger.sum().epsilon) == (1, 12, 8.0)


def _claim(path: str, run: str, rows: int) -> int:
    with closing(Ledger(path, key=KEY)) as ledger:
        overlap = 0
        for start in range(0, rows, 50):
            overlap += ledger.claim(run, [row_digest(KEY, {"n": n}) for n in range(start, start + 50)])
        return overlap


def test_two_writers_at_once_never_both_believe_to_be_the_first(tmp_path: Path) -> None:
    """Every row is claimed by one of them alone, or seen to be taken."""
    path = str(tmp_path / "ledger.db")
    Ledger(path, key=KEY).close()
    context = multiprocessing.get_context("fork")
    with context.Pool(4) as pool:
        overlaps = pool.starmap(_claim, [(path, f"run {i}", 500) for i in range(4)])
    with closing(Ledger(path)) as ledger:
        claims = ledger._database.execute("SELECT digest, COUNT(*) FROM released_rows GROUP BY digest").fetchall()
    assert len(claims) == 500
    assert {count for _, count in claims} == {1}
    assert sum(overlaps) == 3 * 500


def test_the_digest_of_a_row_is_of_all_its_columns_in_any_order() -> None:
    row = {"text": "a", "n": 1}
    assert row_digest(KEY, row) == row_digest(KEY, {"n": 1, "text": "a"})
    others = [{"text": "a"}, {"text": "a", "n": "1"}, {"text": "b", "n": 1}, {"text": "a", "m": 1}]
    assert row_digest(KEY, row) not in {row_digest(KEY, other) for other in others}


def test_a_pattern_reads_files_in_order_and_an_existing_name_wins(tmp_path: Path) -> None:
    for name in ("b.txt", "a.txt", "[ab].txt"):
        (tmp_path / name).write_text(f"{name}\n")
    assert [record["text"] for record in Inputs.of(str(tmp_path / "?.txt"), None).records()] == ["a.txt", "b.txt"]
    assert [record["text"] for record in Inputs.of(str(tmp_path / "[ab].txt"), None).records()] == ["[ab].txt"]
    with pytest.raises(DataError, match="no file has such a name"):
        Inputs.of(str(tmp_path / "*.csv"), None)
    assert Inputs.of(str(tmp_path / "?.txt"), None).estimate() == 2
    assert Inputs.of("-", "txt").estimate() is None
    (tmp_path / "z.csv").write_text("text\na\n")
    (tmp_path / "y.csv").symlink_to(tmp_path / "z.csv")
    with pytest.raises(DataError, match=r"y\.csv and .*z\.csv are one file"):
        Inputs.of(str(tmp_path / "*.csv"), None)


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
