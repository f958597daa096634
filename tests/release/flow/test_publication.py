"""Visible files of a release, by time and reader; published files stay, whatever goes wrong later."""

import errno
import hashlib
import json
import os
import random
import re
import shutil
import stat
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from forked import standard_output
from lost_power import Recorder, State, restore, states
from made_statements import spending

from adept.data.reading import read_records
from adept.errors import DataError
from adept.mechanisms import SqrtNLaplace
from adept.release.flow import journal as journals
from adept.release.flow.journal import Journal
from adept.release.flow.local import release_file
from adept.release.flow.publication import Publication, open_output
from adept.release.ledger.claims import Ledger
from adept.release.ledger.default import open_ledger
from adept.release.ledger.identity import secret_key
from adept.release.options import LedgerOptions
from adept.release.records import ReleaseOptions
from adept.release.statement.statement import PrivacyStatement
from adept.rewriting.rewriter import Rewriter

KEY = b"k" * 32


@pytest.fixture(scope="module")
def rewriter(tiny_run: Path) -> Rewriter:
    return Rewriter.from_pretrained(tiny_run, mechanism=SqrtNLaplace(epsilon=8.0), batch_size=4)


@pytest.fixture
def given(tmp_path: Path) -> Path:
    return appended(tmp_path / "in.jsonl", range(20))


def appended(path: Path, numbers: range) -> Path:
    with path.open("a") as stream:
        stream.writelines(json.dumps({"text": f"a fare to {i}", "id": i, "who": i // 2}) + "\n" for i in numbers)
    return path


def released(rewriter: Rewriter, given: Path, out: Path, **options: object) -> PrivacyStatement:
    keep = ReleaseOptions(keep_columns=["id"], statement=options.pop("statement", None))  # type: ignore[arg-type]
    return release_file(rewriter, str(given), str(out), options=keep, key=KEY, **options)  # type: ignore[arg-type]


def test_a_ledger_that_fails_after_everything_was_published_takes_nothing_back(
    rewriter: Rewriter, given: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out.jsonl"

    def locked(self: Ledger, run: str, output_sha256: str | None = None) -> None:
        raise DataError("cannot use the ledger (database is locked)")

    with closing(Ledger(str(tmp_path / "ledger.db"), key=KEY)) as ledger:
        with monkeypatch.context() as patch:
            patch.setattr(Ledger, "finish", locked)
            assert released(rewriter, given, out, ledger=ledger).records == 20
        assert (tmp_path / "out.jsonl.journal").exists()  # which tells a resumption to note it
        seen = out.read_bytes()
        assert released(rewriter, given, out, ledger=ledger, resume=True).records == 20
        assert [entry.finished is not None for entry in ledger.entries()] == [True]
    assert out.read_bytes() == seen
    assert not list(tmp_path.glob("*.partial")) + list(tmp_path.glob("*.journal"))


def test_an_interrupt_while_a_finished_release_is_tidied_up_takes_nothing_back(
    rewriter: Rewriter, given: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out.jsonl"

    def interrupted(self: Publication) -> None:
        Path(self.statement + ".partial").unlink()
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Publication, "clear", interrupted)
        assert released(rewriter, given, out).records == 20
    seen = out.read_bytes()
    assert released(rewriter, given, out, resume=True).records == 20
    assert out.read_bytes() == seen


def test_what_was_finished_and_is_gone_is_written_again_from_the_same_draws(
    rewriter: Rewriter, given: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out.jsonl"
    with monkeypatch.context() as patch:
        patch.setattr(Journal, "remove", lambda self: None)
        released(rewriter, given, out)
    seen = out.read_bytes()
    out.write_text("somebody else's")
    (statement := tmp_path / "out.jsonl.privacy.json").unlink()
    with pytest.raises(DataError, match="move it away"):  # nothing tells whose it is
        released(rewriter, given, out, resume=True)
    assert out.read_text() == "somebody else's"
    out.unlink()
    released(rewriter, given, out, resume=True)
    assert out.read_bytes() == seen
    assert statement.exists()


def test_rows_that_come_while_a_file_is_released_are_in_the_ledger_too(
    rewriter: Rewriter, given: Path, tmp_path: Path
) -> None:
    def grow(written: int) -> None:
        if written == 4:
            appended(given, range(20, 30))

    with closing(Ledger(str(tmp_path / "ledger.db"), key=KEY)) as ledger:
        statement = released(rewriter, given, tmp_path / "out.jsonl", ledger=ledger, progress=grow)
        assert statement.records == ledger.sum().rows == 30
        assert ledger.sum().equal == 1  # claimed twice, released once


def test_until_they_are_published_files_are_their_owners_alone(rewriter: Rewriter, given: Path, tmp_path: Path) -> None:
    out, modes = tmp_path / "out.jsonl", set[int]()

    def look(written: int) -> None:
        modes.update(stat.S_IMODE(path.stat().st_mode) for path in tmp_path.glob("out.jsonl.*"))

    before = os.umask(0o022)
    try:
        released(rewriter, given, out, progress=look)
    finally:
        os.umask(before)
    assert modes == {0o600}
    assert {stat.S_IMODE(path.stat().st_mode) for path in tmp_path.glob("out.jsonl*")} == {0o644}


def test_a_link_that_somebody_planted_is_not_followed(rewriter: Rewriter, given: Path, tmp_path: Path) -> None:
    victim, out = tmp_path / "victim.txt", tmp_path / "out.jsonl"
    victim.write_text("mine")
    (tmp_path / "out.jsonl.journal").touch()
    (tmp_path / "out.jsonl.partial").symlink_to(victim)
    released(rewriter, given, out)
    assert victim.read_text() == "mine"
    assert not out.is_symlink()


def test_a_journal_that_somebody_planted_is_refused(
    rewriter: Rewriter, given: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "out.jsonl.journal").touch()
    real = os.fstat

    def planted(handle: int) -> os.stat_result:
        fields = real(handle)
        return os.stat_result((*fields[:4], fields.st_uid + 1, *fields[5:10]))

    monkeypatch.setattr(journals.os, "fstat", planted)
    with pytest.raises(DataError, match="belongs to somebody else"):
        released(rewriter, given, tmp_path / "out.jsonl")


def test_names_that_cannot_be_given_are_refused_before_anything_is_drawn(
    rewriter: Rewriter, given: Path, tmp_path: Path
) -> None:
    drawn: list[int] = []
    with pytest.raises(DataError, match="too long"):
        released(rewriter, given, tmp_path / ("x" * 240 + ".jsonl"), progress=drawn.append)
    (tmp_path / "sub").mkdir()
    with pytest.raises(DataError, match="must be different files"):
        released(rewriter, given, tmp_path / "a.jsonl", statement=str(tmp_path / "sub" / ".." / "a.jsonl"))
    assert not drawn
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.jsonl", "sub"]


def test_a_name_need_not_be_text_to_be_in_the_ledger(rewriter: Rewriter, given: Path, tmp_path: Path) -> None:
    out = tmp_path / os.fsdecode(b"out\xff.jsonl")
    with closing(Ledger(str(tmp_path / "ledger.db"), key=KEY)) as ledger:
        released(rewriter, given, out, ledger=ledger)
        [entry] = ledger.entries()
    assert entry.output.endswith(r"out\xff.jsonl")


def test_what_stands_in_the_way_of_a_begun_release_is_to_be_moved_not_avoided(
    rewriter: Rewriter, given: Path, tmp_path: Path
) -> None:
    """Under another name it would be a second release."""
    out = tmp_path / "out.jsonl"

    def stop(written: int) -> None:
        if written == 8:
            raise KeyboardInterrupt

    with pytest.raises(BaseException, match="resume=true"):
        released(rewriter, given, out, progress=stop)
    out.write_text("somebody else's")
    with pytest.raises(DataError, match="move it away, and continue with resume=true") as caught:
        released(rewriter, given, out, resume=True)
    assert "another name" not in str(caught.value)
    out.unlink()
    assert released(rewriter, given, out, resume=True).records == 20


def test_from_publication_on_the_answer_is_done(
    rewriter: Rewriter, given: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the journal gone another name would be a second release; a resumption says what stands there, if it is what is asked."""
    out = tmp_path / "out.jsonl"
    released(rewriter, given, out)
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    out.with_name("out.jsonl.partial").touch()  # as a kill at the very end may leave it
    with monkeypatch.context() as patch:
        patch.setattr(Rewriter, "release", lambda *arguments: pytest.fail("a second release"))
        assert released(rewriter, given, out, resume=True).records == 20
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before
    appended(given, range(20, 21))
    with pytest.raises(DataError, match=r"a complete release with other options, .*\(records was 20, and is 21\)"):
        released(rewriter, given, out, resume=True)
    out.write_text("somebody else's")
    with pytest.raises(
        DataError, match=r"out\.jsonl exists and is not overwritten, nor is .*out\.jsonl\.privacy\.json: "
    ):
        released(rewriter, given, out, resume=True)


def test_a_stream_that_is_complete_is_not_begun_again(rewriter: Rewriter, given: Path, tmp_path: Path) -> None:
    place = {"options": ReleaseOptions(format="jsonl", statement=str(tmp_path / "s.json")), "key": KEY}
    with standard_output(tmp_path / "shown"):
        release_file(rewriter, str(given), "-", **place)  # type: ignore[arg-type]
    with pytest.raises(DataError, match="this release is complete, and its rows are not kept"):
        release_file(rewriter, str(given), "-", resume=True, **place)  # type: ignore[arg-type]


def recorded(
    rewriter: Rewriter, home: Path, patch: pytest.MonkeyPatch, *, streaming: bool, drops: bool, most: int
) -> Iterator[tuple[bytes, State]]:
    """Release a file with a ledger, and yield what was visible at every moment with every state of the disk after a power cut."""
    home.mkdir()
    appended(home / "in.jsonl", range(6))
    with closing(Ledger(str(home / "ledger.db"), key=KEY)) as ledger:
        if drops:
            spend(ledger)
    shown = home.parent / "shown"
    visible = shown if streaming else home / "out.jsonl"
    recorder = Recorder(home, "ledger.db", lambda: visible.read_bytes() if visible.exists() else b"")
    recorder.begin()
    with patch.context() as watched:
        recorder.watch(watched)
        resumed(rewriter, home, shown, streaming=streaming, drops=drops)
    rng, before = random.Random(0), None
    for moment in recorder.moments:
        for state in states(moment, rng, most=most):
            if (moment.seen, state) != before:
                yield (before := (moment.seen, state))


def spend(ledger: Ledger) -> None:
    """Spend the whole budget of person 1, and half of the budget of person 2, before the release."""
    ledger.set_limit(16.0)
    ledger.identity(text_column="text", person_column="who")
    ledger.begin("earlier", spending(epsilon=8.0, persons=True), "earlier")
    ledger.collect_records([{"text": str(i), "who": who} for i, who in enumerate([1, 1, 2])])
    ledger.claim()


def resumed(rewriter: Rewriter, home: Path, shown: Path, *, streaming: bool, drops: bool = False) -> PrivacyStatement:
    kind, place = "jsonl" if streaming else None, str(home / "s.json")
    persons: dict[str, Any] = {"person_column": "who", "max_records_per_person": 2, "over_limit": "drop"}
    options = ReleaseOptions(
        keep_columns=["id"], format=kind, flush_every=2, statement=place, **persons if drops else {}
    )
    target = "-" if streaming else str(home / "out.jsonl")
    with closing(Ledger(str(home / "ledger.db"), key=KEY)) as ledger, standard_output(shown):
        ledger._database.execute("PRAGMA synchronous = OFF")  # this test trusts SQLite
        return release_file(
            rewriter,
            str(home / "in.jsonl"),
            target,
            options=options,
            key=KEY,
            ledger=ledger,
            resume=True,
        )


def check_power_cuts(
    rewriter: Rewriter, home: Path, patch: pytest.MonkeyPatch, *, streaming: bool, drops: bool, most: int
) -> int:
    """Resume after a cut at any moment, in up to ``most`` states of the disk for each; returns how many there were."""
    count, shown, options = 0, home.parent / "shown", {"streaming": streaming, "drops": drops}
    kept = [0, 1, 4] if drops else list(range(6))
    for seen, state in recorded(rewriter, home, patch, **options, most=most):
        patch.setattr(os, "fsync", lambda handle: None)  # once the states are known, nothing need be on the disk
        shutil.rmtree(home)
        restore(state, home)
        if streaming and "s.json" in state[0] and "s.json.journal" not in state[0]:
            with pytest.raises(DataError, match="this release is complete"):
                resumed(rewriter, home, shown, **options)
        else:
            assert resumed(rewriter, home, shown, **options).records == len(kept)
            complete = (shown if streaming else home / "out.jsonl").read_bytes()
            assert complete.startswith(seen)
            assert [json.loads(line)["id"] for line in complete.splitlines()] == kept
            names = {"in.jsonl", "ledger.db", "s.json"} | (set() if streaming else {"out.jsonl"})
            assert {path.name for path in home.iterdir()} == names
        with closing(Ledger(str(home / "ledger.db"))) as ledger:
            summed = ledger.sum()
            assert (summed.releases, summed.rows, summed.epsilon) == (2 if drops else 1, 6, 8.0)
            assert not drops or summed.person_epsilon == 16.0
        count += 1
    return count


@pytest.mark.parametrize("later", [False, True])
def test_an_input_that_becomes_shorter_while_it_is_read_is_noticed(
    rewriter: Rewriter, tmp_path: Path, later: bool
) -> None:
    """Its last line would be half a record, and with a ledger more rows would be claimed than were released."""
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text(f"{'show me all flights ' * 15}\n" * 100)

    def shrink(written: int) -> None:
        if written == 8:
            os.truncate(tmp_path / ("b.txt" if later else "a.txt"), 20_010)

    with closing(Ledger(str(tmp_path / "ledger.db"), key=KEY)) as ledger:
        with pytest.raises(DataError, match=r"cannot read .*\.txt: it became shorter while it was read"):
            release_file(
                rewriter, str(tmp_path / "[ab].txt"), str(tmp_path / "out.txt"), options=ReleaseOptions(), key=KEY,
                ledger=ledger, progress=shrink,
            )  # fmt: skip
        assert (ledger.sum().releases, ledger.sum().rows) == (0, 0)
    assert {path.name for path in tmp_path.iterdir()} == {"a.txt", "b.txt", "ledger.db"}


@pytest.mark.parametrize("statement", ["out.jsonl.partial", "out.jsonl.journal", "in.jsonl", "ledger.db", "out.jsonl"])
def test_a_statement_in_another_files_place_is_refused_before_a_draw(
    rewriter: Rewriter, given: Path, tmp_path: Path, statement: str
) -> None:
    with closing(Ledger(str(tmp_path / "ledger.db"), key=KEY)) as ledger:
        before = {path: path.read_bytes() for path in tmp_path.iterdir()}
        with pytest.raises(DataError, match="must be different files"):
            released(
                rewriter,
                given,
                tmp_path / "out.jsonl",
                ledger=ledger,
                statement=str(tmp_path / statement),
                resume=True,
            )
        assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


@pytest.mark.parametrize("drops", [False, True])
@pytest.mark.parametrize("streaming", [False, True])
def test_after_a_power_cut_at_any_moment_a_release_goes_on_or_is_complete(
    rewriter: Rewriter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, streaming: bool, drops: bool
) -> None:
    assert check_power_cuts(rewriter, tmp_path / "home", monkeypatch, streaming=streaming, drops=drops, most=4) > 40


@pytest.mark.slow
@pytest.mark.parametrize("drops", [False, True])
@pytest.mark.parametrize("streaming", [False, True])
def test_after_a_power_cut_in_any_state_a_release_goes_on_or_is_complete(
    rewriter: Rewriter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, streaming: bool, drops: bool
) -> None:
    assert check_power_cuts(rewriter, tmp_path / "home", monkeypatch, streaming=streaming, drops=drops, most=10**6) > 40


def test_all_new_directories_of_a_release_are_on_the_disk_before_a_draw(
    rewriter: Rewriter, given: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lost, mkdir, fsync = set[Path](), os.mkdir, os.fsync

    def make(path: str, *options: int) -> None:
        mkdir(path, *options)
        lost.add(Path(path))

    def synchronise(handle: int) -> None:
        fsync(handle)
        lost.difference_update({path for path in lost if path.parent == Path(f"/proc/self/fd/{handle}").readlink()})

    def look(written: int) -> None:
        seen.extend(lost)

    monkeypatch.setattr(os, "mkdir", make)
    monkeypatch.setattr(os, "fsync", synchronise)
    for variable in ("XDG_CONFIG_HOME", "XDG_STATE_HOME"):
        monkeypatch.setenv(variable, str(tmp_path / variable / "new"))
    seen, home = list[object](), tmp_path / "new" / "home"
    with open_ledger(LedgerOptions(), secret_key(), tell=seen.append) as ledger:
        statement = str(home / "statements" / "s.json")
        released(rewriter, given, home / "rows" / "out.jsonl", statement=statement, ledger=ledger, progress=look)
    assert len(list(tmp_path.glob("**/"))) == 1 + 3 + 3 + 4  # of the key, of the ledger, and of the files
    assert not seen


@pytest.mark.parametrize(
    ("step", "name", "message"),
    [
        ("link", "key", "cannot make the key {home}/key: Input/output error: mend that, or give key=FILE"),
        (
            "link",
            "ledger.db",
            "cannot make the ledger {home}/ledger.db: Input/output error: mend that, or give another",
        ),
        ("open", "out.jsonl.journal", "cannot make {home}/out.jsonl.journal: Input/output error"),
        (
            "open",
            "out.jsonl.partial",
            "cannot write {home}/out.jsonl.partial: Input/output error: mend that, and continue",
        ),
        (
            "link",
            "out.jsonl",
            "cannot give {home}/out.jsonl.partial the name {home}/out.jsonl: Input/output error: mend",
        ),
    ],
)
def test_a_message_names_the_step_that_failed_and_the_same_command_goes_on(
    rewriter: Rewriter, given: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str, name: str, message: str
) -> None:
    real = getattr(os, step)

    def fail(path: Any, *others: Any, **options: Any) -> Any:
        target = others[0] if step == "link" else None
        if str(target or path) == str(tmp_path / name):
            raise OSError(errno.EIO, os.strerror(errno.EIO), str(path), None, target and str(target))
        return real(path, *others, **options)

    def release() -> PrivacyStatement:
        secret_key(str(tmp_path / "key"))
        with closing(Ledger(str(tmp_path / "ledger.db"), key=KEY)) as ledger:
            return released(rewriter, given, tmp_path / "out.jsonl", ledger=ledger, resume=True)

    with monkeypatch.context() as patch:
        patch.setattr(os, step, fail)
        with pytest.raises(DataError, match=f"^{re.escape(message.format(home=tmp_path))}"):
            release()
    assert not (tmp_path / name).exists()
    assert release().records == 20


def test_rows_of_standard_output_can_be_read_as_soon_as_they_are_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "stdout"
    with path.open("wb") as stream:
        monkeypatch.setattr("adept.release.flow.publication.STDOUT", stream.fileno())
        place = Publication.of("-", str(tmp_path / "s.json"), card=False)
        with open_output(place, format="jsonl", columns=["text"]) as (write, sha256):
            write([{"text": "a fare"}])
            assert path.read_text() == '{"text": "a fare"}\n'
    assert sha256() == hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.mark.parametrize("name", ["/dev/null", "."])
def test_an_output_that_is_no_file_is_not_advised_to_be_removed(name: str) -> None:
    with pytest.raises(DataError, match="is a directory, a device or a pipe: choose a new name"):
        Publication.of(name, "s.privacy.json", card=False).check_names()


@pytest.mark.parametrize("name", ["out.jsonl", "out.jsonl.gz", "out.parquet"])
@pytest.mark.parametrize("change", ["replaced", "emptied", "appended"])
def test_what_another_program_writes_into_an_output_is_never_stated_as_ours(
    rewriter: Rewriter, given: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: str, name: str
) -> None:
    """Two runs write one file where their journal was removed or the disk knows no locks."""
    out, partial, sync = tmp_path / name, tmp_path / f"{name}.partial", Journal.sync

    def interfere(self: Journal) -> None:
        sync(self)
        if self.records == 20:
            before = partial.read_bytes()
            if change == "replaced":
                partial.unlink()
            partial.write_bytes(before + b"more" if change == "appended" else b"")

    with monkeypatch.context() as patch:
        patch.setattr(Journal, "sync", interfere)
        with pytest.raises(DataError, match=r"another program changed it while it was written: .*resume=true"):
            released(rewriter, given, out)
    assert not out.exists()
    statement = released(rewriter, given, out, resume=True)
    assert statement.output_sha256 == hashlib.sha256(out.read_bytes()).hexdigest()
    assert len(list(read_records(str(out)))) == 20


def test_a_ledger_that_an_older_copy_replaces_during_the_run_lists_it_in_the_end(
    rewriter: Rewriter, given: Path, tmp_path: Path
) -> None:
    place, out = tmp_path / "ledger.db", tmp_path / "out.jsonl"
    with closing(Ledger(str(place), key=KEY)):
        before = place.read_bytes()
    with closing(Ledger(str(place), key=KEY)) as ledger, pytest.raises(DataError, match="replaced by an older copy"):
        released(rewriter, given, out, ledger=ledger, progress=lambda written: place.write_bytes(before))
    assert not out.exists()
    with closing(Ledger(str(place), key=KEY)) as ledger:
        released(rewriter, given, out, ledger=ledger, resume=True)
        assert (ledger.sum().releases, ledger.sum().rows) == (1, 20)
