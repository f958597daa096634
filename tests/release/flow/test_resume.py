"""A release that is killed is continued: no record is lost, none has two visible releases, none is out of order.

The kills are real: a forked process, SIGKILL. A default run makes a few, and one at every step that touches the disk.
"""

import json
import os
import random
import resource
import signal
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from adept.errors import ConfigurationError, DataError, Interrupted
from adept.mechanisms import Description, JointResponse, LearnedCodebook, RandomizedResponse, SqrtNLaplace
from adept.models.config import DecodingConfig
from adept.models.sentences.sentence_list import SentenceList
from adept.release.flow import journal as journals
from adept.release.flow.journal import SIDE_FILES, Journal
from adept.release.flow.local import plan_local, release_file
from adept.release.flow.publication import STDOUT, Publication
from adept.release.ledger.claims import Ledger
from adept.release.ledger.identity import secret_key
from adept.release.records import Inputs, ReleaseOptions
from adept.release.statement import statement as statements
from adept.release.statement.statement import PrivacyStatement
from adept.rewriting.rewriter import Rewriter

KEY = b"k" * 32
LABELS = ("fare", "flight")
RESPONSE = RandomizedResponse(epsilon=1.0, labels=LABELS)
OPTIONS = {
    "plain": ReleaseOptions(keep_columns=["id"], labels="copy"),
    "persons": ReleaseOptions(keep_columns=["id"], person_column="who", max_records_per_person=3),
    "randomised": ReleaseOptions(keep_columns=["id"], labels="randomized_response", label_response=RESPONSE, samples=2),
}


@pytest.fixture(scope="module")
def sampler(tiny_run: Path) -> Rewriter:
    """Texts that hardly ever repeat, so that two releases of a record can be told apart."""
    mechanism, decoding = SqrtNLaplace(epsilon=8.0), DecodingConfig(strategy="sample", temperature=3.0)
    return Rewriter.from_pretrained(tiny_run, mechanism=mechanism, decoding=decoding, batch_size=4)


def records_file(path: Path, records: int) -> Path:
    lines = [{"text": f"a fare to {i}", "intent": LABELS[i % 2], "id": i, "who": i // 3} for i in range(records)]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def forked(action: Callable[[], object], *, stdout: Path | None = None, kill_after: float | None = None) -> bool:
    """Run an action in a child process, which may be killed; returns whether it ended well."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            if stdout:
                os.dup2(os.open(stdout, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), STDOUT)
            action()
            status = 0
        finally:
            os._exit(status)
    if kill_after is not None:
        time.sleep(kill_after)
        os.kill(child, signal.SIGKILL)
    _, ended = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(ended) == 0


def drawn(path: Path) -> list[object]:
    """Return the entries of a journal."""
    if not path.exists() or not path.stat().st_size:
        return []
    with Journal(path) as journal:
        return list(journal.entries())


def rows(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def killed_often(
    rewriter: Rewriter, options: ReleaseOptions, directory: Path, *, records: int, kills: int, streaming: bool
) -> None:
    """Kill a release again and again, and compare all that was ever visible with what it came to."""
    given, target = records_file(directory / "in.jsonl", records), str(directory / "out.jsonl")
    place = "-" if streaming else target
    statement = str(directory / "statement.json")
    journal = Path((statement if streaming else target) + ".journal")
    if streaming:
        options = ReleaseOptions(**{**vars(options), "format": "jsonl"})
    seen: list[object] = []
    visible: list[bytes] = []
    stdout = directory / "stdout"
    if streaming:
        stdout.touch()  # a process may be killed before it opens anything

    def release() -> PrivacyStatement:
        return release_file(
            rewriter, str(given), place, options=replace(options, statement=statement), resume=True, key=KEY
        )

    def attempt(kill_after: float | None) -> bool:
        return forked(release, stdout=stdout if streaming else None, kill_after=kill_after)

    done, killed, longest = False, 0, 0.2
    while not done:
        done = attempt(random.uniform(0, longest) if killed < kills else None)
        killed += not done
        longest *= 1.02
        if streaming:
            visible.append(stdout.read_bytes())
        done = done or (Path(statement).exists() and not journal.exists())  # killed after it was complete
        if not done:
            now = drawn(journal)
            assert now[: len(seen)] == seen
            seen = now
            assert not Path(target).exists() or Path(statement).exists()  # the statement comes first
        elif killed < kills:
            Path(statement).unlink()  # it was faster than its killer: once more
            if streaming:
                stdout.write_bytes(b"")  # of another release, which the next process may be killed before it opens
            else:
                Path(target).unlink()
            seen, visible, done = [], [], False
    complete = visible[-1] if streaming else Path(target).read_bytes()
    assert all(complete.startswith(part[: part.rfind(b"\n") + 1]) for part in visible)
    written = [json.loads(line) for line in complete.splitlines()]
    assert [row["id"] for row in written] == [i for i in range(records) for _ in range(options.samples)]
    texts = [text for entry in seen for text in entry.get("texts", [])]  # type: ignore[attr-defined]
    assert [row["text"] for row in written[: len(texts)]] == texts
    assert json.loads(Path(statement).read_text())["records"] == records
    assert sorted(path.name for path in directory.iterdir()) == sorted(
        ["in.jsonl", "statement.json", "stdout" if streaming else "out.jsonl"]
    )


@pytest.mark.parametrize(
    ("records", "kills"),
    [
        (60, 3),
        pytest.param(2000, 30, marks=pytest.mark.slow),
        pytest.param(4000, 100, marks=pytest.mark.hours),
    ],
)
@pytest.mark.parametrize("streaming", [False, True])
@pytest.mark.parametrize("kind", OPTIONS)
def test_a_release_that_is_killed_again_and_again_is_continued(
    sampler: Rewriter, tmp_path: Path, kind: str, streaming: bool, records: int, kills: int
) -> None:
    killed_often(sampler, OPTIONS[kind], tmp_path, records=records, kills=kills, streaming=streaming)


def dying(count: list[int], step: Callable[..., object]) -> Callable[..., object]:
    def run(*arguments: object, **options: object) -> object:
        count[0] -= 1
        if count[0] < 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return step(*arguments, **options)

    return run


STEPS = [(os, "fsync"), (os, "link"), (Path, "unlink"), (Journal, "_write")]


def test_a_kill_before_any_step_loses_nothing_and_leaves_nothing_that_looks_finished(
    sampler: Rewriter, tmp_path: Path
) -> None:
    """The n-th step that synchronises, links, unlinks or writes the journal is where the process dies, for every n."""

    step, ended = 0, False
    while not ended:
        directory = tmp_path / str(step)
        directory.mkdir()
        given, target = records_file(directory / "in.jsonl", 10), directory / "out.jsonl"

        def release(given: Path = given, target: Path = target) -> PrivacyStatement:
            options = ReleaseOptions(keep_columns=["id"], card=True)
            return release_file(sampler, str(given), str(target), options=options, resume=True, key=KEY)

        def die(step: int = step, release: Callable[[], PrivacyStatement] = release) -> None:
            count = [step]
            for owner, name in STEPS:
                setattr(owner, name, dying(count, getattr(owner, name)))
            release()

        ended = forked(die)
        held = drawn(Path(f"{target}.journal"))
        before = target.read_bytes() if target.exists() else None
        if before is not None:
            assert Path(f"{target}.privacy.json").exists()
        if not ended and Path(f"{target}.journal").exists():
            release()
        written = rows(target)
        assert [row["id"] for row in written] == list(range(10))
        texts = [text for entry in held for text in entry.get("texts", [])]  # type: ignore[attr-defined]
        assert [row["text"] for row in written[: len(texts)]] == texts
        assert before in (None, target.read_bytes())
        left = {"in.jsonl", "out.jsonl", "out.jsonl.privacy.json", "out.jsonl.card.md"}
        assert {path.name for path in directory.iterdir()} == left
        step += 1
    assert step > 15


@pytest.mark.slow
def test_a_stream_that_dies_at_any_step_comes_again_row_by_row_and_goes_on(sampler: Rewriter, tmp_path: Path) -> None:
    """A resumption first writes what was on standard output when the process died, for every step."""
    step, ended = 0, False
    options = ReleaseOptions(keep_columns=["id"], format="jsonl", flush_every=2)
    while not ended:
        directory = tmp_path / str(step)
        directory.mkdir()
        given, statement = records_file(directory / "in.jsonl", 6), directory / "s.json"

        def release(given: Path = given, statement: Path = statement) -> PrivacyStatement:
            asked = replace(options, statement=str(statement))
            return release_file(sampler, str(given), "-", options=asked, resume=True, key=KEY)

        def die(step: int = step, release: Callable[[], PrivacyStatement] = release) -> None:
            count = [step]
            for owner, name in [*STEPS, (os, "write")]:
                setattr(owner, name, dying(count, getattr(owner, name)))
            release()

        ended = forked(die, stdout=directory / "first")
        seen = (directory / "first").read_bytes()
        if not (statement.exists() and not Path(f"{statement}.journal").exists()):
            assert forked(release, stdout=directory / "second")
            complete = (directory / "second").read_bytes()
            assert complete.startswith(seen)
            assert [json.loads(line)["id"] for line in complete.splitlines()] == list(range(6))
        else:
            assert [json.loads(line)["id"] for line in seen.splitlines()] == list(range(6))
        assert {path.name for path in directory.iterdir()} - {"first", "second"} == {"in.jsonl", "s.json"}
        step += 1
    assert step > 15


def interrupted(rewriter: Rewriter, directory: Path, *, records: int = 12, after: int = 2) -> Path:
    """Leave a release of some records after a few batches, as a kill would; returns the output's name."""
    given, target = records_file(directory / "in.jsonl", records), directory / "out.jsonl"

    def release() -> None:
        count = [after]
        append = Journal.append

        def last(self: Journal, entry: journals.Entry, *, durable: bool) -> None:
            append(self, entry, durable=durable)
            count[0] -= 1
            if not count[0]:
                os.kill(os.getpid(), signal.SIGKILL)

        Journal.append = last  # type: ignore[method-assign]
        release_file(rewriter, str(given), str(target), options=OPTIONS["plain"], resume=True, key=KEY)

    assert not forked(release)
    return target


def test_leftovers_are_named_all_at_once_with_what_a_second_run_would_be(sampler: Rewriter, tmp_path: Path) -> None:
    target = interrupted(sampler, tmp_path)
    with pytest.raises(DataError) as caught:
        release_file(sampler, str(tmp_path / "in.jsonl"), str(target), options=OPTIONS["plain"], key=KEY)
    message = str(caught.value)
    assert "released 8 records" in message
    assert "resume=true" in message
    assert "second release" in message
    assert all(str(path) in message for path in tmp_path.glob("out*"))
    Path(f"{target}.journal").unlink()
    with pytest.raises(DataError, match="a run that was killed left"):
        release_file(sampler, str(tmp_path / "in.jsonl"), str(target), options=OPTIONS["plain"], key=KEY)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("options", "keep_columns"),
        ("samples", "samples was 1, and is 2"),
        ("model", "model was"),
        ("budget", "mechanism_options was"),
        ("decoding", "decoding was"),
        ("input", "input is not that of"),
        ("longer", "input_bytes was"),
        ("key", "the key of its digests"),
    ],
)
def test_another_input_option_model_or_key_is_refused_and_the_journal_is_kept(
    sampler: Rewriter, tiny_l1_run: Path, tmp_path: Path, change: str, message: str
) -> None:
    target = interrupted(sampler, tmp_path)
    given, options, key, rewriter = tmp_path / "in.jsonl", OPTIONS["plain"], KEY, sampler
    content = given.read_text()
    match change:
        case "options":
            options = ReleaseOptions()
        case "samples":
            options = ReleaseOptions(keep_columns=["id"], samples=2)
        case "model":
            before = sampler.model.to_words.bias.data.clone()
            sampler.model.to_words.bias.data += 1.0
        case "budget":
            rewriter = Rewriter(sampler.model, sampler.tokenizer, mechanism=SqrtNLaplace(epsilon=9.0))
        case "decoding":
            rewriter = Rewriter(sampler.model, sampler.tokenizer, mechanism=sampler.mechanism)
        case "input":
            given.write_text(content.replace("fare to 3", "fare to 4"))
        case "longer":
            given.write_text(content + '{"text": "one more", "intent": "fare", "id": 12}\n')
        case "key":
            key = b"x" * 32
    try:
        with pytest.raises(DataError, match=message) as caught:
            release_file(rewriter, str(given), str(target), options=options, resume=True, key=key)
    finally:
        if change == "model":
            sampler.model.to_words.bias.data = before
    assert "a fare" not in str(caught.value)
    given.write_text(content)
    release_file(sampler, str(given), str(target), options=OPTIONS["plain"], resume=True, key=KEY)
    assert [row["id"] for row in rows(target)] == list(range(12))


def test_another_budget_of_labels_is_another_release_if_both_keep_most_labels(
    sampler: Rewriter, tmp_path: Path
) -> None:
    """Otherwise labels of epsilon 100 would stand under a statement of 40: as floats their keep probabilities are both 1."""
    given = records_file(tmp_path / "in.jsonl", 1)
    target = str(tmp_path / "out.jsonl")

    def terms(epsilon: float) -> dict[str, object]:
        response = RandomizedResponse(epsilon=epsilon, labels=LABELS)
        options = ReleaseOptions(labels="randomized_response", label_response=response)
        publication = Publication.of(target, None, card=False)
        return plan_local(sampler, Inputs.of(str(given), options), publication, options).terms()

    assert terms(100.0) != terms(40.0)


def test_a_label_that_is_one_symbol_with_its_text_is_resumed_with_it(
    tiny_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Draws from before the interrupt stand in the output, label and all; only the other records are drawn."""
    mechanism = JointResponse(mechanism=LearnedCodebook(epsilon=2.0), labels=LABELS)
    joint = Rewriter.from_pretrained(tiny_run, mechanism=mechanism, batch_size=4)
    given, target = records_file(tmp_path / "in.jsonl", 10), tmp_path / "out.jsonl"
    options = ReleaseOptions(keep_columns=["id"], labels="joint_response")

    def interrupt(written: int) -> None:
        if written >= 8:
            raise KeyboardInterrupt

    with pytest.raises(Interrupted):
        release_file(joint, str(given), str(target), options=options, key=KEY, progress=interrupt)
    held = drawn(Path(f"{target}.journal"))
    counts: list[int] = []
    release = Rewriter.release
    monkeypatch.setattr(
        Rewriter, "release", lambda own, texts, *rest: (counts.append(len(texts)), release(own, texts, *rest))[1]
    )
    release_file(joint, str(given), str(target), options=options, resume=True, key=KEY)
    assert sum(counts) == 2
    assert len(rows(target)) == 10
    pairs = [pair for entry in held for pair in zip(entry["texts"], entry["labels"], strict=True)]  # type: ignore[index]
    assert [(row["text"], row["intent"]) for row in rows(target)][:8] == pairs


def test_a_smaller_batch_may_continue_what_a_larger_one_began(sampler: Rewriter, tmp_path: Path) -> None:
    target = interrupted(sampler, tmp_path)
    held = drawn(Path(f"{target}.journal"))
    other = Rewriter(
        sampler.model, sampler.tokenizer, mechanism=sampler.mechanism, decoding=sampler.decoding, batch_size=3
    )
    release_file(other, str(tmp_path / "in.jsonl"), str(target), options=OPTIONS["plain"], resume=True, key=KEY)
    texts = [text for entry in held for text in entry["texts"]]  # type: ignore[index]
    assert [row["text"] for row in rows(target)][:8] == texts


def test_resuming_draws_nothing_for_what_is_in_the_journal(
    sampler: Rewriter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = interrupted(sampler, tmp_path)
    released: list[str] = []
    privatize = Rewriter.release
    monkeypatch.setattr(
        Rewriter, "release", lambda self, texts, *rest: (released.extend(texts), privatize(self, texts, *rest))[1]
    )
    release_file(sampler, str(tmp_path / "in.jsonl"), str(target), options=OPTIONS["plain"], resume=True, key=KEY)
    assert released == [f"a fare to {i}" for i in range(8, 12)]


def test_a_release_of_descriptions_is_continued_and_its_codec_is_known(tiny_run: Path, tmp_path: Path) -> None:
    rewriter = Rewriter.from_pretrained(tiny_run, mechanism=Description(epsilon=8.0), batch_size=4)
    target = interrupted(rewriter, tmp_path)
    held = [text for entry in drawn(Path(f"{target}.journal")) for text in entry["texts"]]  # type: ignore[index]
    sentences = rewriter.model.sentences
    assert sentences is not None
    arguments = {"options": OPTIONS["plain"], "resume": True, "key": KEY}
    rewriter.model.sentences = SentenceList(sentences.weigh, sentences.utterances[1:])
    with pytest.raises(DataError, match="codebook was"):
        release_file(rewriter, str(tmp_path / "in.jsonl"), str(target), **arguments)  # type: ignore[arg-type]
    rewriter.model.sentences = sentences
    statement = release_file(rewriter, str(tmp_path / "in.jsonl"), str(target), **arguments)  # type: ignore[arg-type]
    assert [row["text"] for row in rows(target)][:8] == held
    assert len(str(statement.to_json()["codebook_sha256"])) == 64


def test_resume_without_anything_to_resume_begins(sampler: Rewriter, tmp_path: Path) -> None:
    given, target = records_file(tmp_path / "in.jsonl", 3), tmp_path / "out.jsonl"
    statement = release_file(sampler, str(given), str(target), options=OPTIONS["plain"], resume=True, key=KEY)
    assert statement.records == 3


@pytest.mark.parametrize("lost", [False, True])
def test_a_complete_release_that_the_ledger_does_not_list_is_said_to_lack_there(
    sampler: Rewriter, tmp_path: Path, caplog: pytest.LogCaptureFixture, *, lost: bool
) -> None:
    """As after a backup of the ledger was restored: its sums would lack what was spent."""
    given, ledger = records_file(tmp_path / "in.jsonl", 3), tmp_path / "ledger.db"
    arguments = {"options": OPTIONS["plain"], "resume": True, "key": KEY}
    for _ in range(2):
        with closing(Ledger(str(ledger), key=KEY)) as opened:
            release_file(sampler, str(given), f"{tmp_path}/out.jsonl", **arguments, ledger=opened)  # type: ignore[arg-type]
        if lost:
            ledger.unlink()
    assert ("does not list it, so its sums lack this budget" in caplog.text) == lost


def test_an_interrupt_leaves_what_can_be_resumed_and_nothing_where_nothing_was_drawn(
    sampler: Rewriter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given, target = records_file(tmp_path / "in.jsonl", 12), tmp_path / "out.jsonl"

    def interrupt(*arguments: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Rewriter, "release", interrupt)
    with pytest.raises(KeyboardInterrupt):
        release_file(sampler, str(given), str(target), options=OPTIONS["plain"], key=KEY)
    assert {path.name for path in tmp_path.iterdir()} == {"in.jsonl"}
    monkeypatch.undo()
    with pytest.raises(KeyboardInterrupt):
        release_file(sampler, str(given), str(target), options=OPTIONS["plain"], key=KEY, progress=interrupt)
    assert {path.name for path in tmp_path.iterdir()} == {"in.jsonl", "out.jsonl.journal"}
    release_file(sampler, str(given), str(target), options=OPTIONS["plain"], resume=True, key=KEY)
    assert len(rows(target)) == 12


def test_a_full_disk_keeps_what_was_drawn(sampler: Rewriter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given, target = records_file(tmp_path / "in.jsonl", 12), tmp_path / "out.jsonl"
    append = Journal.append
    left = [2]

    def full(self: Journal, entry: journals.Entry, *, durable: bool) -> None:
        left[0] -= 1
        if left[0] < 0:
            raise OSError(28, "No space left on device", str(self.path))
        append(self, entry, durable=durable)

    with monkeypatch.context() as patch:
        patch.setattr(Journal, "append", full)
        with pytest.raises(DataError, match="No space left on device: mend that, and continue with resume=true"):
            release_file(sampler, str(given), str(target), options=OPTIONS["plain"], key=KEY)
    held = [text for entry in drawn(Path(f"{target}.journal")) for text in entry["texts"]]  # type: ignore[index]
    release_file(sampler, str(given), str(target), options=OPTIONS["plain"], resume=True, key=KEY)
    assert [row["text"] for row in rows(target)][:8] == held


@pytest.mark.parametrize("most", [10, 5000, 9000, 20_000, 40_000])
def test_no_room_is_one_line_and_what_was_drawn_is_continued(sampler: Rewriter, tmp_path: Path, most: int) -> None:
    """A limit on the size of files stands for a disk that is full: as the journal begins, or later in any of the files."""
    given, target = records_file(tmp_path / "in.jsonl", 40), tmp_path / "out.jsonl"

    def release() -> PrivacyStatement:
        return release_file(sampler, str(given), str(target), options=OPTIONS["plain"], resume=True, key=KEY)

    def without_room() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
        with pytest.raises(DataError, match=r"cannot write .*: (File too large|disk I/O error): mend that"):
            release()

    assert forked(without_room)
    held = [text for entry in drawn(Path(f"{target}.journal")) for text in entry["texts"]]  # type: ignore[index]
    left = {path.name for path in tmp_path.iterdir() if not path.name.endswith(SIDE_FILES)}
    assert left == {"in.jsonl"} | ({"out.jsonl.journal"} if held else set())
    assert release().records == 40
    assert [row["text"] for row in rows(target)][: len(held)] == held


def test_a_name_that_is_taken_at_the_end_is_left_alone_and_no_draw_is_lost(sampler: Rewriter, tmp_path: Path) -> None:
    given, target = records_file(tmp_path / "in.jsonl", 12), tmp_path / "out.jsonl"
    with pytest.raises(DataError, match="appeared during the run"):
        release_file(
            sampler, str(given), str(target), options=OPTIONS["plain"], key=KEY,
            progress=lambda done: target.write_text("mine") and None,
        )  # fmt: skip
    assert target.read_text() == "mine"
    assert {path.name for path in tmp_path.iterdir()} == {"in.jsonl", "out.jsonl", "out.jsonl.journal"}
    target.unlink()
    assert release_file(sampler, str(given), str(target), options=OPTIONS["plain"], resume=True, key=KEY).records == 12


def test_a_mistake_in_the_input_ends_as_if_nothing_had_been_drawn(sampler: Rewriter, tmp_path: Path) -> None:
    given, target = records_file(tmp_path / "in.jsonl", 12), tmp_path / "out.jsonl"
    given.write_text(given.read_text() + '{"utterance": "secret"}\n')
    with pytest.raises(DataError, match="record 13"):
        release_file(sampler, str(given), str(target), options=OPTIONS["plain"], key=KEY)
    assert [path.name for path in tmp_path.iterdir()] == ["in.jsonl"]


def test_somebody_elses_file_is_not_taken_for_a_journal(tmp_path: Path) -> None:
    path = tmp_path / "x.journal"
    path.write_text("my diary")
    with pytest.raises(DataError, match="not a journal"):
        Journal(path)
    assert path.read_text() == "my diary"


def test_a_journal_has_one_writer_and_nobody_else_reads_it(tmp_path: Path) -> None:
    path = tmp_path / "x.journal"
    with Journal(path) as journal:
        journal.begin({})
        assert path.stat().st_mode & 0o777 == 0o600
        with pytest.raises(DataError, match="another run is writing"):
            Journal(path)
    Journal(path).__exit__(None, None, None)


def test_the_key_is_made_once_for_its_owner_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    key = secret_key()
    assert len(key) == 32
    assert secret_key() == key
    path = tmp_path / "config" / "adept" / "key"
    assert path.stat().st_mode & 0o777 == 0o600
    path.chmod(0o644)
    with pytest.raises(DataError, match="chmod 600"):
        secret_key()
    (tmp_path / "short").write_bytes(b"x")
    (tmp_path / "short").chmod(0o600)
    with pytest.raises(DataError, match="is not a key"):
        secret_key(str(tmp_path / "short"))
    with pytest.raises(
        DataError, match=r"cannot make the key .*/short/below: File exists: mend that, or give key=FILE"
    ):
        secret_key(str(tmp_path / "short" / "below"))


def test_resuming_needs_a_key(sampler: Rewriter, tmp_path: Path) -> None:
    given = records_file(tmp_path / "in.jsonl", 3)
    with pytest.raises(ConfigurationError, match="key must be given for resume=true"):
        release_file(sampler, str(given), str(tmp_path / "out.jsonl"), options=OPTIONS["plain"], resume=True)


def test_where_nothing_can_be_locked_nothing_is_begun(
    sampler: Rewriter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(handle: int, operation: int) -> None:
        raise OSError(95, "Operation not supported")

    given = records_file(tmp_path / "in.jsonl", 1)
    monkeypatch.setattr(journals.fcntl, "flock", refuse)
    with pytest.raises(DataError, match="cannot be locked"):
        release_file(sampler, str(given), str(tmp_path / "out.jsonl"), options=OPTIONS["plain"], key=KEY)
    assert [path.name for path in tmp_path.iterdir()] == ["in.jsonl"]


@pytest.mark.parametrize("package", ["adept-dp", "torch", "opendp", "tokenizers"])
def test_another_version_of_what_draws_or_writes_does_not_continue(
    sampler: Rewriter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, package: str
) -> None:
    target = interrupted(sampler, tmp_path)
    others = {**statements.drawing_versions(), package: "0.0.1"}
    monkeypatch.setattr(statements, "drawing_versions", lambda: others)
    with pytest.raises(DataError, match=r"but versions was .*0\.0\.1"):
        release_file(sampler, str(tmp_path / "in.jsonl"), str(target), options=OPTIONS["plain"], resume=True, key=KEY)


def test_ctrl_c_names_the_journal_and_the_way_on(sampler: Rewriter, tmp_path: Path) -> None:
    given = records_file(tmp_path / "in.jsonl", 12)

    def interrupt(records: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(Interrupted, match=r"4 records are drawn, and .*out\.jsonl\.journal .*resume=true goes on"):
        release_file(
            sampler, str(given), str(tmp_path / "out.jsonl"), options=OPTIONS["plain"], key=KEY, progress=interrupt
        )
