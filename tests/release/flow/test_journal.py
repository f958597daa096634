"""Damaged journals, and those that were put back from a copy: noticed, or by a ledger; never a second release in silence."""

import json
import os
import random
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from forked import standard_output

from adept.errors import AdeptError, DataError, Interrupted
from adept.mechanisms import SqrtNLaplace
from adept.models.config import DecodingConfig
from adept.release.flow import journal as journals
from adept.release.flow.journal import SIDE_FILES, Entry, Journal
from adept.release.flow.local import release_file
from adept.release.ledger.claims import Ledger
from adept.release.records import ReleaseOptions
from adept.release.statement.statement import PrivacyStatement
from adept.rewriting.rewriter import Rewriter

KEY = b"k" * 32
RECORDS, SEEN = 8, 6


@pytest.fixture(scope="module")
def sampler(tiny_run: Path) -> Rewriter:
    """Texts that hardly ever repeat, so that two releases of a record can be told apart."""
    decoding = DecodingConfig(strategy="sample", temperature=3.0)
    return Rewriter.from_pretrained(tiny_run, mechanism=SqrtNLaplace(epsilon=8.0), decoding=decoding, batch_size=2)


def streamed(rewriter: Rewriter, home: Path, *, ledger: bool, stop: int | None = None) -> PrivacyStatement:
    """Release to standard output, which is a file, until some records are written."""
    (home / "in.jsonl").write_text("".join(json.dumps({"text": f"a fare to {i}"}) + "\n" for i in range(RECORDS)))

    def interrupt(written: int) -> None:
        if written == stop:
            raise KeyboardInterrupt

    options = ReleaseOptions(format="jsonl", statement=str(home / "s.json"))
    with standard_output(home / "shown"), closing(Ledger(str(home / "ledger.db"), key=KEY)) as opened:
        return release_file(
            rewriter, str(home / "in.jsonl"), "-", options=options, resume=True, key=KEY,
            ledger=opened if ledger else None, progress=interrupt,
        )  # fmt: skip


def interrupted(rewriter: Rewriter, home: Path, *, ledger: bool) -> dict[str, bytes]:
    """Leave a stream after some records, and return what every file held."""
    with pytest.raises(KeyboardInterrupt):
        streamed(rewriter, home, ledger=ledger, stop=SEEN)
    return {path.name: path.read_bytes() for path in home.iterdir()}


def put_back(home: Path, files: dict[str, bytes]) -> None:
    for path in home.iterdir():
        path.unlink()
    for name, content in files.items():
        (home / name).write_bytes(content)
        (home / name).chmod(0o600)


def flipped(content: bytes, rng: random.Random) -> bytes:
    place = rng.randrange(8 * len(content))
    return content[: place // 8] + bytes([content[place // 8] ^ 1 << place % 8]) + content[place // 8 + 1 :]


def check_flips(rewriter: Rewriter, home: Path, *, count: int) -> None:
    """A flip of a bit is noticed without a ledger, or changes nothing that was drawn."""
    files, rng, noticed = interrupted(rewriter, home, ledger=False), random.Random(0), 0
    for _ in range(count):
        put_back(home, {**files, "s.json.journal": flipped(files["s.json.journal"], rng)})
        try:
            streamed(rewriter, home, ledger=False)
        except DataError as error:
            assert "damaged or not a journal" in str(error) or "readonly" in str(error)  # noqa: PT017
            assert files["shown"].startswith((home / "shown").read_bytes())
            noticed += 1
        else:
            assert (home / "shown").read_bytes().startswith(files["shown"])
    assert noticed > count / 10  # the rest fell into space that holds nothing


def check_cuts(rewriter: Rewriter, home: Path, *, count: int) -> None:
    """Every end that is cut off is noticed without a ledger; a ledger notices that all of it is gone."""
    files, rng = interrupted(rewriter, home, ledger=True), random.Random(1)
    whole = files["s.json.journal"]
    for place in [0, *(rng.randrange(1, len(whole)) for _ in range(count))]:
        put_back(home, {**files, "s.json.journal": whole[:place]})
        with pytest.raises(AdeptError) if not place else pytest.raises(DataError, match="damaged or not a journal"):
            streamed(rewriter, home, ledger=place == 0)
        assert (home / "shown").read_bytes() == b""


def logged(rewriter: Rewriter, home: Path, patch: pytest.MonkeyPatch) -> dict[str, bytes]:
    """Leave a stream in the moment before its last entries are on the disk, and return what every file held."""
    sync, held = Journal.sync, {}

    def look(self: Journal) -> None:
        held.update({path.name: path.read_bytes() for path in home.iterdir()})
        if self.records == SEEN:
            raise KeyboardInterrupt
        sync(self)

    with patch.context() as patched:
        patched.setattr(Journal, "sync", look)
        with pytest.raises(KeyboardInterrupt):
            streamed(rewriter, home, ledger=False)
    return held


def check_logs(rewriter: Rewriter, home: Path, patch: pytest.MonkeyPatch, *, count: int) -> None:
    """Whatever becomes of the log, nothing that was seen is drawn again: it holds only what was not yet visible."""
    files, rng = logged(rewriter, home, patch), random.Random(2)
    log = files["s.json.journal-wal"]
    assert files["shown"].count(b"\n") == SEEN - 2
    for number in range(count):
        changed = flipped(log, rng) if number % 2 else log[: rng.randrange(len(log))]
        put_back(home, {**files, "s.json.journal-wal": changed})
        streamed(rewriter, home, ledger=False)
        assert (home / "shown").read_bytes().startswith(files["shown"])


def test_a_bit_that_changes_in_a_journal_is_noticed(sampler: Rewriter, tmp_path: Path) -> None:
    check_flips(sampler, tmp_path, count=60)


def test_a_journal_that_lost_its_end_is_noticed(sampler: Rewriter, tmp_path: Path) -> None:
    check_cuts(sampler, tmp_path, count=40)


def test_a_damaged_log_of_a_journal_loses_nothing_that_was_seen(
    sampler: Rewriter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    check_logs(sampler, tmp_path, monkeypatch, count=40)


MANY = [pytest.param(250, marks=pytest.mark.slow), pytest.param(1000, marks=pytest.mark.hours)]


@pytest.mark.parametrize("count", MANY)
@pytest.mark.parametrize("check", [check_flips, check_cuts], ids=lambda check: check.__name__)
def test_many_damaged_journals_are_noticed(
    sampler: Rewriter, tmp_path: Path, check: Callable[..., None], count: int
) -> None:
    check(sampler, tmp_path, count=count)


@pytest.mark.parametrize("count", MANY)
def test_many_damaged_logs_lose_nothing_that_was_seen(
    sampler: Rewriter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    check_logs(sampler, tmp_path, monkeypatch, count=count)


def test_a_journal_that_is_put_back_from_an_older_copy_is_noticed_by_the_ledger(
    sampler: Rewriter, tmp_path: Path
) -> None:
    """Rows that were read after the copy was made would be drawn anew."""
    with pytest.raises(KeyboardInterrupt):
        streamed(sampler, tmp_path, ledger=True, stop=2)
    older = (tmp_path / "s.json.journal").read_bytes()
    files = interrupted(sampler, tmp_path, ledger=True)
    put_back(tmp_path, {**files, "s.json.journal": older})
    with pytest.raises(
        DataError, match=r"holds 2 records, but .*ledger\.db knows that 6 of its release may have been read"
    ):
        streamed(sampler, tmp_path, ledger=True)
    put_back(tmp_path, files)
    assert streamed(sampler, tmp_path, ledger=True).records == RECORDS
    assert (tmp_path / "shown").read_bytes().startswith(files["shown"])


def test_a_journal_of_a_published_file_that_is_put_back_draws_nothing_more(sampler: Rewriter, tmp_path: Path) -> None:
    """The file was moved away, and an old journal with a part of its draws is there again."""
    given, out = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    given.write_text("".join(json.dumps({"text": f"a fare to {i}"}) + "\n" for i in range(RECORDS)))
    journal, copies = tmp_path / "out.jsonl.journal", []
    with closing(Ledger(str(tmp_path / "ledger.db"), key=KEY)) as ledger:
        options = {"options": ReleaseOptions(), "key": KEY, "ledger": ledger, "resume": True}
        release_file(
            sampler,
            str(given),
            str(out),
            progress=lambda done: copies.append(journal.read_bytes()),
            **options,  # type: ignore[arg-type]
        )
        out.rename(tmp_path / "handed over.jsonl")
        (tmp_path / "out.jsonl.privacy.json").unlink()
        journal.write_bytes(copies[1])
        with pytest.raises(DataError, match="restore the newest journal"):
            release_file(sampler, str(given), str(out), **options)  # type: ignore[arg-type]
    assert not out.exists()


def entry(number: int) -> Entry:
    return {"records": 1, "input": "", "texts": [f"text {number} " + "x" * 512]}


def test_an_entry_that_is_missing_or_changed_is_refused_wherever_it_stands(tmp_path: Path) -> None:
    path = tmp_path / "x.journal"
    with Journal(path) as journal:
        journal.begin({})
        for number in range(4):
            journal.append(entry(number), durable=False)
    whole = path.read_bytes()
    for statement in (
        "DELETE FROM journal WHERE number = 4",
        "DELETE FROM journal WHERE number = 2",
        "DELETE FROM journal WHERE number = 0",
        "UPDATE journal SET number = 7 WHERE number = 4",
        "UPDATE journal SET content = (SELECT content FROM journal WHERE number = 1) WHERE number = 4",
        "UPDATE journal SET content = CAST(content AS TEXT) WHERE number = 3",
        "INSERT INTO journal SELECT 5, content, digest FROM journal WHERE number = 4",
        "DROP TABLE journal",
    ):
        path.write_bytes(whole)
        with closing(sqlite3.connect(path)) as database:
            database.execute("PRAGMA journal_mode = DELETE")
            database.execute(statement)
            database.commit()
        with pytest.raises(DataError, match="damaged or not a journal"):
            Journal(path)


def test_a_bit_that_changes_anywhere_never_changes_an_entry(tmp_path: Path) -> None:
    """Also in the schema, whose spelling SQLite quotes in its message, in no encoding."""
    path, rng = tmp_path / "x.journal", random.Random(5)
    with Journal(path) as journal:
        journal.begin({"a": 1})
        for number in range(3):
            journal.append(entry(number), durable=True)
    whole, noticed = path.read_bytes(), 0
    for _ in range(1000):
        path.write_bytes(flipped(whole, rng))
        try:
            with Journal(path) as journal:
                assert [found["texts"] for found in journal.entries()] == [entry(n)["texts"] for n in range(3)]
        except DataError:
            noticed += 1
    assert noticed > 100


def test_a_journal_that_a_power_cut_kept_from_beginning_is_begun(tmp_path: Path) -> None:
    """SQLite takes back what was half written; what is left is an empty file."""
    path = tmp_path / "x.journal"
    path.touch(0o600)
    with Journal(path) as journal:
        assert not journal.begun
        assert list(journal.entries()) == []
        journal.begin({"a": 1})
        journal.append(entry(1), durable=True)
    with Journal(path) as journal:
        assert journal.records == 1


@pytest.mark.parametrize("suffix", SIDE_FILES)
def test_a_file_of_somebody_elses_beside_a_journal_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str
) -> None:
    """SQLite would write drawn texts into it, or take what stands in it for its own."""
    path = tmp_path / "x.journal"
    Path(f"{path}{suffix}").touch()
    real = Path.lstat

    def planted(self: Path) -> os.stat_result:
        fields = real(self)
        return os.stat_result((*fields[:4], fields.st_uid + 1, *fields[5:10])) if self.suffix != ".journal" else fields

    monkeypatch.setattr(Path, "lstat", planted)
    with pytest.raises(DataError, match=f"x.journal{suffix} belongs to somebody else"):
        Journal(path)


def test_a_journal_of_another_version_is_not_misread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.journal"
    with monkeypatch.context() as patch, Journal(path) as journal:
        patch.setattr("adept.release.flow.journal.JOURNAL_VERSION", 1)
        journal.begin({})
    with pytest.raises(DataError, match="of another version, and is kept: continue with the adept that began it"):
        Journal(path)


def test_a_release_that_was_begun_with_a_ledger_is_not_continued_without_it(sampler: Rewriter, tmp_path: Path) -> None:
    """Rows of a stream that are drawn then would be in no ledger, and could be released again unnoticed."""
    interrupted(sampler, tmp_path, ledger=True)
    with pytest.raises(DataError, match="was begun with a ledger, which must count the rest too: add ledger=FILE"):
        streamed(sampler, tmp_path, ledger=False)
    streamed(sampler, tmp_path, ledger=True)
    with closing(Ledger(str(tmp_path / "ledger.db"), key=KEY)) as ledger:
        assert ledger.entries()[0].finished


def test_an_interrupt_that_compiled_code_made_an_error_of_says_how_to_go_on(sampler: Rewriter, tmp_path: Path) -> None:
    """Compiled libraries can do so: the interrupt is the cause of a SystemError."""
    given = tmp_path / "in.txt"
    given.write_text("a fare to boston\n" * 5)

    def interrupt(written: int) -> None:
        try:
            raise KeyboardInterrupt
        except KeyboardInterrupt as error:
            raise SystemError("returned a result with an exception set") from error

    with pytest.raises(Interrupted, match=r"2 records are drawn, .* with resume=true goes on"):
        release_file(
            sampler, str(given), str(tmp_path / "o.txt"), options=ReleaseOptions(), key=KEY, progress=interrupt
        )


def test_a_place_where_no_file_can_be_made_is_no_endless_wait(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The folder /proc is one: it says of every new name that there is no such file."""

    def refused(path: Path) -> int:
        raise FileNotFoundError(path)

    monkeypatch.setattr(journals, "_open", refused)
    with pytest.raises(DataError, match="the file system does not accept it"):
        Journal(tmp_path / "x.journal")
