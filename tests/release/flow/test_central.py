"""A central release: nothing but the released counts tells of a record, and they are drawn once however often a run is killed."""

import gzip
import json
import os
import pickle
import random
import re
import shutil
import signal
from collections.abc import Callable, Iterator
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from lost_power import Recorder, State, restore, states
from tiny import Run

from adept.data.reading import ReadingOptions, read_records
from adept.errors import ConfigurationError, DataError, Interrupted, ReleaseRefused
from adept.mechanisms import Votes
from adept.mechanisms.central_counts import Counts
from adept.release.flow.central import prepare_synthesis, synthesize_file
from adept.release.flow.journal import Journal
from adept.release.flow.steps import preview
from adept.release.ledger.claims import Ledger
from adept.release.ledger.identity import secret_key
from adept.release.options import CentralOptions
from adept.release.records import Inputs
from adept.release.statement import verify as verify_statement
from adept.release.statement.statement import CentralStatement
from adept.release.statement.verify import Refused, statement_sha256
from adept.rewriting.loading import load_model
from adept.synthesis import votes
from adept.synthesis.synthesizer import Synthesizer, choose_rows
from adept.synthesis.votes import EXCESS, NO_TEXT, Tally

KEY = b"k" * 32
LABELS = ["fare", "flight", "weather"]
OPTIONS = CentralOptions()
FILE = [{"text": f"a fare to boston {i % 9}", "intent": LABELS[i % 3], "user": f"u{i % 7}"} for i in range(40)]


@pytest.fixture(scope="module")
def synthesizer(topic_run: Path) -> Synthesizer:
    return Synthesizer(*load_model(topic_run), votes=Votes(epsilon=2.0), label_set=LABELS, cells=16)


@pytest.fixture
def given(tmp_path: Path) -> Path:
    return written(tmp_path / "in.jsonl", FILE)


def written(path: Path, records: list[dict[str, Any]], *, further: str = "") -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records) + further)
    return path


def released(synthesizer: Synthesizer, given: Path, out: Path, **options: Any) -> CentralStatement:
    return synthesize_file(synthesizer, str(given), str(out), **{"options": OPTIONS} | options)


def said(out: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(Path(f"{out}.privacy.json").read_text())
    return found


def rows(out: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in out.read_text().splitlines()]


def test_synthetic_records_and_their_statement(synthesizer: Synthesizer, given: Path, tmp_path: Path) -> None:
    out, told = tmp_path / "out.jsonl", list[Tally]()
    statement = released(synthesizer, given, out, tell=told.append)
    assert {row["text"] for row in rows(out)} <= set(synthesizer.cells.texts)
    assert {row["intent"] for row in rows(out)} <= set(LABELS)
    assert said(out) == json.loads(json.dumps(statement.to_json()))
    assert said(out)["records"] == len(rows(out))
    assert (said(out)["trust"], said(out)["unit"], said(out)["neighbours"]) == ("central", "record", "add_or_remove")
    assert told[0].counts.sum() == len(FILE)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.jsonl", "out.jsonl", "out.jsonl.privacy.json"]


@pytest.mark.parametrize("neighbours", ["add_or_remove", "replace"])
@pytest.mark.parametrize("most", [None, 4])
def test_the_certificate_holds_and_a_changed_one_does_not(
    topic_run: Path, given: Path, tmp_path: Path, neighbours: str, most: int | None
) -> None:
    votes = Votes(epsilon=0.7, neighbours=neighbours, votes_per_person=most or 1)
    made = Synthesizer(*load_model(topic_run), votes=votes, label_set=LABELS, cells=16)
    persons = CentralOptions(person_column="user" if most else None, max_records_per_person=most)
    released(made, given, out := tmp_path / "out.jsonl", options=persons)
    statement, part = said(out), {"sensitivity": str(votes.sensitivity), "scale": str(votes.sensitivity)}
    assert "imply epsilon 0.7" in verify_statement.check(f"{out}.privacy.json")[0]
    changes: list[dict[str, Any]] = [
        {"epsilon": 0.35},
        {"text_epsilon": 0.35},
        {"trust": "local"},
        {"neighbours": "replace" if neighbours == "add_or_remove" else "add_or_remove"},
        {"max_records_per_person": 2},
        {"scale": votes.scale / 2},
        {"certificate": {"parts": [statement["certificate"]["parts"][0] | part]}},
        {"certificate": {"parts": [statement["certificate"]["parts"][0] | {"of": "text"}]}},
    ]
    for change in changes:
        changed = statement | change
        changed["certificate"]["statement_sha256"] = statement_sha256(changed)
        (tmp_path / "changed.privacy.json").write_text(json.dumps(changed))
        with pytest.raises(Refused):
            verify_statement.check(str(tmp_path / "changed.privacy.json"), str(out))


# --- Nothing but the released counts tells of a record

ODD = [
    '{"text": "a fare", "intent": "unheard of", "user": "u1"}',
    '{"text": "a fare", "user": "u1"}',
    '{"text": 3, "intent": "fare", "user": "u1"}',
    '{"intent": "fare", "user": "u1"}',
    '{"text": "a fare", "intent": "fare"}',
    '{"text": "a fare", "intent": ["fare"], "user": {"a": 1}}',
    '{"text": "' + "a" * 5000 + '", "intent": "fare", "user": 1.5}',
    '{"text": "\\ud800 \\u0000", "intent": "fare", "user": "u1"}',
    "no json",
    "[1]",
    "[" * 100_000,
    '{"text": "a", "text": "b", "intent": "fare"}',
    '{"text": ' + "9" * 5000 + "}",
]


def seen(adept_here: Run, place: Path, *, topic_run: Path) -> list[object]:
    """All that a command shows to anybody but the curator: exit status, standard output, and every file, byte by byte."""
    options = ["label_set=[fare,flight,weather]", "person_column=user", "max_records_per_person=2", "epsilon=2"]
    done = adept_here(
        "synthesize", f"model_dir={topic_run}", "input=in.jsonl", "output=out.jsonl", "ledger=ledger.db", *options
    )
    files = {path.name: path.read_bytes() for path in place.iterdir() if path.name.startswith("out.")}
    return [done.returncode, done.stdout, *sorted(files.items())]


def test_all_that_is_shown_is_a_function_of_the_released_counts(
    adept_here: Run, topic_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the same released counts, files that differ in a record, whatever is in it, lead to the same bytes."""

    def same(self: Votes, counts: Counts) -> Counts:
        return (np.arange(counts.size, dtype=np.int64) % 5 * 7).reshape(counts.shape)

    monkeypatch.setattr(Votes, "privatize", same)
    monkeypatch.setattr(Votes, "privatize_number", lambda self, number: 41)
    variants = [FILE, FILE[1:], FILE * 3, FILE[:1], []]
    found = []
    for number, (records, further) in enumerate([*((v, "") for v in variants), *((FILE, odd + "\n") for odd in ODD)]):
        (place := tmp_path / str(number)).mkdir()
        written(place / "in.jsonl", records, further=further)
        monkeypatch.chdir(place)
        found.append(seen(adept_here, place, topic_run=topic_run))
    assert found[0][0] == 0
    assert len(found[0]) == 4
    assert [number for number, one in enumerate(found) if one != found[0]] == []


def test_a_statement_that_counts_records_would_be_seen(
    adept_here: Run, topic_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The planted defect of the test above."""
    monkeypatch.setattr(Votes, "privatize", lambda self, counts: counts)
    found = []
    for number, records in enumerate((FILE, FILE[1:])):
        (place := tmp_path / str(number)).mkdir()
        written(place / "in.jsonl", records)
        monkeypatch.chdir(place)
        found.append(seen(adept_here, place, topic_run=topic_run))
    assert found[0] != found[1]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("in.csv", b'text,intent\n"a ""b,fare\na fare,fare,fare\n\xff,fare\n'),
        ("in.txt", b"\xff\n\xe3\x80\n"),
        ("in.txt", b""),
    ],
)
def test_what_a_record_holds_refuses_no_file(topic_run: Path, tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)
    made = Synthesizer(*load_model(topic_run), votes=Votes(epsilon=2.0), cells=16)
    assert (
        released(made, tmp_path / name, tmp_path / "out.txt", options=CentralOptions(labels="drop")).records is not None
    )


@pytest.mark.parametrize("ending", ["jsonl", "csv", "parquet"])
def test_an_empty_file_is_released_like_any_other(
    synthesizer: Synthesizer, tmp_path: Path, ending: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "in.jsonl").touch()
    monkeypatch.setattr(Votes, "privatize", lambda self, counts: counts)
    statement = released(synthesizer, tmp_path / "in.jsonl", out := tmp_path / f"out.{ending}")
    assert (statement.records, statement.stands_out) == (0, False)
    assert "almost nothing can be said" in statement.text
    if ending == "parquet":
        from pyarrow import parquet

        assert parquet.read_table(out).column_names == ["text", "intent"]


@pytest.mark.parametrize("ending", ["csv", "jsonl", "json", "csv.gz"])
def test_a_part_of_no_bytes_is_a_part_without_rows(
    synthesizer: Synthesizer, tmp_path: Path, ending: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A program that writes a header with its first row writes none without rows: one row must not decide the exit status."""
    row = {"csv": "text,intent\na fare,fare\n", "jsonl": json.dumps(FILE[0]) + "\n", "json": json.dumps(FILE[:1])}
    content = row[ending.removesuffix(".gz")].encode()
    (tmp_path / f"1.{ending}").write_bytes(gzip.compress(content) if ending.endswith("gz") else content)
    (tmp_path / f"2.{ending}").touch()
    told: list[Tally] = []
    monkeypatch.setattr(Votes, "privatize", lambda self, counts: counts)
    released(synthesizer, tmp_path / f"*.{ending}", tmp_path / "out.jsonl", tell=told.append)
    assert told[0].lines == ["1 rows read, 1 counted"]


@pytest.mark.parametrize("count", [0, 1])
def test_a_schema_without_a_column_is_refused_whether_there_are_rows_or_not(tmp_path: Path, count: int) -> None:
    """The schema of a pipe cannot be checked beforehand."""
    import pyarrow
    from pyarrow import parquet

    parquet.write_table(
        pyarrow.table({"other": pyarrow.array(["x"] * count, pyarrow.string())}), tmp_path / "a.parquet"
    )
    with pytest.raises(DataError, match="no column named 'text'"):
        list(read_records(str(tmp_path / "a.parquet"), tolerant=True, required=OPTIONS.required))


def test_a_record_that_cannot_be_read_has_no_vote(
    synthesizer: Synthesizer, given: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, told = type(synthesizer.cells).vote, list[Tally]()

    def fails(self: Any, texts: list[str]) -> Any:
        if any(text.endswith("3") for text in texts):
            raise RuntimeError("a bug that one record meets")
        return real(self, texts)

    monkeypatch.setattr(type(synthesizer.cells), "vote", fails)
    released(synthesizer, given, tmp_path / "out.jsonl", tell=told.append)
    failing = sum(record["text"].endswith("3") for record in FILE)
    assert told[0].counts.sum() == len(FILE) - failing
    assert told[0].uncounted[NO_TEXT] == failing


def test_a_number_in_the_text_column_and_a_boolean_label_count_as_in_a_csv(
    synthesizer: Synthesizer, tmp_path: Path
) -> None:
    label, counts = LABELS[0], []
    values: list[Any] = [12345, 1.0, True, "1"]
    (tmp_path / "in.csv").write_text(f"text,intent\n12345,{label}\n1,{label}\ntrue, {label} \n1,{label}\n")
    for given in (written(tmp_path / "in.jsonl", [{"text": v, "intent": label} for v in values]), tmp_path / "in.csv"):
        told = list[Tally]()
        released(synthesizer, given, tmp_path / f"{given.name}.out.jsonl", tell=told.append)
        counts.append(told[0].counts.tolist())
    assert sum(counts[0]) == len(values)
    assert counts[0] == counts[1]


def test_rows_beyond_a_persons_are_left_out(topic_run: Path, given: Path, tmp_path: Path) -> None:
    votes = Votes(epsilon=2.0, votes_per_person=2)
    made, told = Synthesizer(*load_model(topic_run), votes=votes, label_set=LABELS, cells=16), list[Tally]()
    persons = CentralOptions(person_column="user", max_records_per_person=2, rows=5)
    released(made, given, tmp_path / "out.jsonl", options=persons, tell=told.append)
    assert (told[0].counts.sum(), told[0].uncounted[EXCESS]) == (14, len(FILE) - 14)
    assert len(rows(tmp_path / "out.jsonl")) == 5
    assert said(tmp_path / "out.jsonl")["person_epsilon"] == 2.0
    assert "user" not in (tmp_path / "out.jsonl").read_text()


# --- On a cluster


def test_a_cluster_counts_what_one_process_does(
    synthesizer: Synthesizer, given: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Workers get the counter as bytes, and give votes back: integers, which are added in one place."""

    def drawn(draw: Any, parts: Iterator[Any], *, workers: int | None) -> Iterator[Any]:
        assert workers == 2
        there = pickle.loads(pickle.dumps(draw))
        return ((part, json.loads(json.dumps(there(part[0])))) for part in parts)

    monkeypatch.setattr("adept.release.flow.cluster.draw_on_cluster", drawn)
    monkeypatch.setattr("adept.release.flow.central.BATCH_ROWS", 7)
    told = list[Tally]()
    for engine in ("local", "ray"):
        options = CentralOptions(engine=engine, workers=2)
        released(synthesizer, given, tmp_path / f"{engine}.jsonl", options=options, tell=told.append)
    assert told[0].counts.tolist() == told[1].counts.tolist()
    assert told[0].lines == told[1].lines


# --- Drawn once


def forked(action: Callable[[], object]) -> int:
    """Run an action in a child process; returns its exit status."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            action()
            status = 0
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def killed_at(patch: pytest.MonkeyPatch, owner: Any, name: str, *, before: bool) -> None:
    """End the process when something is called, before or after it is done."""
    real = getattr(owner, name)

    def dies(*arguments: Any, **named: Any) -> Any:
        if not before:
            real(*arguments, **named)
        os.kill(os.getpid(), signal.SIGKILL)

    patch.setattr(owner, name, dies)


KILLS = [
    (Journal, "append", True, 2),  # drawn, seen by nobody, and lost
    (Journal, "append", False, 1),
    (Synthesizer, "write", True, 1),
    (Synthesizer, "stands_out", True, 1),
    (Journal, "finish", True, 1),  # everything has its name
    (Journal, "remove", True, 1),
]


@pytest.mark.parametrize(("owner", "name", "before", "draws"), KILLS)
def test_a_run_that_is_killed_never_draws_twice(
    synthesizer: Synthesizer,
    given: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    owner: Any,
    name: str,
    before: bool,
    draws: int,
) -> None:
    """The journal's content is published; the input is not even looked at again."""
    log, real, out = tmp_path / "draws", Votes.privatize, tmp_path / "out.jsonl"

    def logged(self: Votes, counts: Counts) -> Counts:
        with log.open("a") as stream:
            stream.write("drawn\n")
        return real(self, counts)

    monkeypatch.setattr(Votes, "privatize", logged)

    def killed() -> None:
        with pytest.MonkeyPatch.context() as patch:
            killed_at(patch, owner, name, before=before)
            released(synthesizer, given, out)

    assert forked(killed) == -signal.SIGKILL
    with Journal(Path(f"{out}.journal")) as journal:
        drawn = list(journal.entries())
    seen = out.read_bytes() if out.exists() else None
    if drawn:
        with pytest.raises(DataError, match=r"exists and is not overwritten|drew the noisy counts"):
            released(synthesizer, given, out)
        given.rename(tmp_path / "elsewhere")
    statement = released(synthesizer, given, out, resume=True)
    assert log.read_text().count("drawn") == draws
    if drawn:
        assert statement.records == choose_rows(max(0, sum(drawn[0]["counts"])), labelled=True)
    assert seen in (None, out.read_bytes())
    assert not list(tmp_path.glob("out.jsonl.*journal")) + list(tmp_path.glob("*.partial"))
    again = released(synthesizer, given, out, resume=True)
    assert json.loads(json.dumps(again.to_json())) == said(out)
    assert log.read_text().count("drawn") == draws


# --- Two rounds


@pytest.fixture(scope="module")
def two_rounds(topic_run: Path) -> Synthesizer:
    return Synthesizer(*load_model(topic_run), votes=Votes(epsilon=4.0, votes_per_person=2), label_set=LABELS)


PERSONS = CentralOptions(person_column="user", max_records_per_person=2)


def count_draws(patch: pytest.MonkeyPatch, log: Path) -> Callable[[], list[str]]:
    """Note each draw in a file, which child processes share; return a function that reads it."""

    def note(name: str, real: Any) -> None:
        def noted(self: Votes, exact: Any) -> Any:
            with log.open("a") as stream:
                stream.write(f"{name}\n")
            return real(self, exact)

        patch.setattr(Votes, name, noted)

    note("privatize_number", Votes.privatize_number)
    note("privatize", Votes.privatize)
    log.touch()
    return lambda: log.read_text().split()


@pytest.mark.parametrize("neighbours", ["add_or_remove", "replace"])
def test_two_rounds_have_one_certificate(topic_run: Path, given: Path, tmp_path: Path, neighbours: str) -> None:
    votes = Votes(epsilon=0.7, neighbours=neighbours, votes_per_person=2)
    made = Synthesizer(*load_model(topic_run), votes=votes, label_set=LABELS)
    released(made, given, out := tmp_path / "out.jsonl", options=PERSONS)
    statement = said(out)
    number, counts = statement["certificate"]["parts"]
    assert "imply epsilon 0.7" in verify_statement.check(f"{out}.privacy.json")[0]
    assert statement["epsilon"] == statement["person_epsilon"] == 0.7
    assert statement["mechanism_options"]["rounds"] == 2
    assert statement["scale"] == made.votes.scale > votes.scale
    assert "two rounds" in statement["statement"]
    half = {"epsilon": str(Fraction(number["epsilon"]) / 2)}
    forged = [
        [number],
        [counts],
        [counts, number],
        [number, number, counts],
        [number | half, counts],
        [number, counts | half],
        [number | {"scale": "1"}, counts],
        [number, counts | {"scale": str(Fraction(counts["scale"]) / 2)}],
        [number | {"sensitivity": "1"}, counts],
        [number | {"kind": "symbols"}, counts],
    ]
    for parts in forged:
        changed = statement | {"certificate": {"parts": parts}}
        changed["certificate"]["statement_sha256"] = statement_sha256(changed)
        (tmp_path / "changed.privacy.json").write_text(json.dumps(changed))
        with pytest.raises(Refused):
            verify_statement.check(str(tmp_path / "changed.privacy.json"), str(out))


@pytest.mark.parametrize(
    ("owner", "name", "before", "numbers", "counts"),
    [
        (Votes, "privatize_number", False, 2, 1),  # drawn, seen by nobody, and lost
        (Synthesizer, "choose_codewords", True, 1, 1),
        (Synthesizer, "release", False, 1, 2),
        (Synthesizer, "write", True, 1, 1),
    ],
)
def test_no_round_that_was_stored_is_drawn_again(
    two_rounds: Synthesizer,
    given: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    owner: Any,
    name: str,
    before: bool,
    numbers: int,
    counts: int,
) -> None:
    drawn, out = count_draws(monkeypatch, tmp_path / "draws"), tmp_path / "out.jsonl"

    def killed() -> None:
        with pytest.MonkeyPatch.context() as patch:
            killed_at(patch, owner, name, before=before)
            released(two_rounds, given, out, options=PERSONS)

    assert forked(killed) == -signal.SIGKILL
    with Journal(Path(f"{out}.journal")) as journal:
        stored = {key: value for entry in journal.entries() for key, value in entry.items()}
    written(given, FILE[5:])  # another file: each round is private by itself
    statement = released(two_rounds, given, out, options=PERSONS, resume=True)
    assert (drawn().count("privatize_number"), drawn().count("privatize")) == (numbers, counts)
    if "number" in stored:
        chosen = two_rounds.choose_codewords(stored["number"])
        assert statement.size == chosen.cells.size * len(LABELS)
    if "counts" in stored:
        assert statement.records == choose_rows(max(0, sum(stored["counts"])), labelled=True)
        assert statement.codebook_sha256 == stored["codebook_sha256"]
    assert json.loads(json.dumps(statement.to_json())) == said(out)
    assert released(two_rounds, given, out, options=PERSONS, resume=True).size == statement.size
    assert not list(tmp_path.glob("out.jsonl.*journal"))


@pytest.mark.parametrize(
    "error", [DataError("of a user"), RuntimeError("of ours"), OSError("no space"), KeyboardInterrupt()]
)
def test_no_error_gives_up_the_first_round(
    two_rounds: Synthesizer, given: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    drawn, out = count_draws(monkeypatch, tmp_path / "draws"), tmp_path / "out.jsonl"

    def fails(self: Synthesizer, number: int) -> Synthesizer:
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(Synthesizer, "choose_codewords", fails)
        with pytest.raises((type(error), DataError, Interrupted)):
            released(two_rounds, given, out, options=PERSONS)
    with pytest.raises(DataError, match="drew the noisy counts"):
        released(two_rounds, given, out, options=PERSONS)
    released(two_rounds, given, out, options=PERSONS, resume=True)
    assert drawn() == ["privatize_number", "privatize"]


def test_counts_of_other_codewords_are_not_continued(
    two_rounds: Synthesizer, given: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out.jsonl"
    with monkeypatch.context() as patch:
        patch.setattr(Synthesizer, "write", raises)
        with pytest.raises(RuntimeError):
            released(two_rounds, given, out, options=PERSONS)
    centres = votes._centres
    monkeypatch.setattr(votes, "_centres", lambda *given: -centres(*given))
    again = Synthesizer(two_rounds.model, two_rounds.tokenizer, votes=two_rounds.votes, label_set=LABELS)
    with pytest.raises(DataError, match="the codewords are not those of the counts drawn before"):
        released(again, given, out, options=PERSONS, resume=True)


def raises(*_: Any, **named: Any) -> Any:
    raise RuntimeError


@pytest.mark.parametrize("number", [-(10**9), 0, 10**9])
@pytest.mark.parametrize("count", [-9, 0])
def test_no_draw_ends_a_run(
    two_rounds: Synthesizer, given: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, count: int
) -> None:
    monkeypatch.setattr(Votes, "privatize_number", lambda self, exact: number)
    monkeypatch.setattr(Votes, "privatize", lambda self, counts: np.full_like(counts, count))
    statement = released(two_rounds, given, tmp_path / "out.jsonl", options=PERSONS)
    assert (statement.records, statement.stands_out) == (0, False)


@pytest.mark.parametrize("repeatable", [True, False])
def test_standard_input_is_counted_twice_like_a_file(
    two_rounds: Synthesizer, given: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, repeatable: bool
) -> None:
    """A file is read once for each round; a pipe is read once, and its records stay in memory."""
    read, real = list[int](), Inputs.records
    exact: dict[str, list[int]] = {"privatize_number": [], "privatize": []}
    monkeypatch.setattr(Inputs, "repeatable", repeatable)
    monkeypatch.setattr(Inputs, "records", lambda self, **options: read.append(1) or real(self, **options))
    monkeypatch.setattr(
        Votes, "privatize_number", lambda self, number: exact["privatize_number"].append(number) or number
    )
    monkeypatch.setattr(Votes, "privatize", lambda self, counts: exact["privatize"].append(int(counts.sum())) or counts)
    told = list[Tally]()
    released(two_rounds, given, tmp_path / "out.jsonl", options=PERSONS, tell=told.append)
    assert exact == {"privatize_number": [14], "privatize": [14]}
    assert [notes.lines for notes in told] == [["40 rows read, 14 counted: 26 exceed their person's bound"]]
    assert len(read) == 1 + repeatable


# --- Drawn once, in one round


def test_a_power_cut_at_any_moment_leaves_one_draw(
    synthesizer: Synthesizer, given: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """States that a disk may be left in are continued; what could be read before is what is there in the end."""
    (place := tmp_path / "run").mkdir()
    out = place / "out.jsonl"
    recorder = Recorder(place, ledger="", seen=lambda: out.read_bytes() if out.exists() else b"")
    with monkeypatch.context() as patch:
        recorder.begin()
        recorder.watch(patch)
        released(synthesizer, given, out)
    whole, found = out.read_bytes(), list(distinct(recorder))
    assert len(found) > 10
    for state, seen in found:
        shutil.rmtree(place)
        restore(state, place)
        if journals := [name for name in state[0] if name.endswith(".journal")]:
            with Journal(place / journals[0]) as journal:
                drawn = journal.begun
        released(synthesizer, given, out, resume=True)
        if seen or (journals and drawn):
            assert out.read_bytes() == whole


def distinct(recorder: Recorder) -> Iterator[tuple[State, bytes]]:
    """Some states of every moment, each once, with what had been seen by then."""
    done, rng = set(), random.Random(0)
    for moment in recorder.moments:
        for names, contents in states(moment, rng, most=2):
            key = repr(sorted((name, contents.get(number)) for name, number in names.items()))
            if key not in done:
                done.add(key)
                yield (names, contents), moment.seen


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("max_records_per_person", CentralOptions(rows=7, person_column="user", max_records_per_person=1)),
        ("text_column", CentralOptions(rows=7, text_column="other")),
        ("label_column", CentralOptions(rows=7, label_column="other")),
    ],
)
def test_a_complete_release_is_not_resumed_with_other_facts(
    synthesizer: Synthesizer, given: Path, tmp_path: Path, name: str, options: CentralOptions
) -> None:
    """A no-op run prints the numbers of its statement, or nothing."""
    released(synthesizer, given, out := tmp_path / "out.jsonl", options=CentralOptions(rows=7))
    with pytest.raises(DataError, match=f"with other options, .* .{name} was "):
        released(synthesizer, given, out, options=options, resume=True)


def test_another_release_is_not_continued(synthesizer: Synthesizer, given: Path, tmp_path: Path) -> None:
    released(synthesizer, given, out := tmp_path / "out.jsonl", options=CentralOptions(rows=7))
    with pytest.raises(DataError, match="records was 7, and is 8"):
        released(synthesizer, given, out, options=CentralOptions(rows=8), resume=True)
    assert released(synthesizer, given, out, options=CentralOptions(rows=7), resume=True).records == 7


# --- Ledger


def test_a_ledger_refuses_by_what_it_lists_and_never_by_a_row(
    synthesizer: Synthesizer, given: Path, tmp_path: Path
) -> None:
    place, told = str(tmp_path / "ledger.db"), list[Tally]()
    others = written(tmp_path / "others.jsonl", [{"text": "nobody else's", "intent": "fare"}])
    with closing(Ledger(place, key=KEY)) as ledger:
        released(synthesizer, given, tmp_path / "a.jsonl", ledger=ledger, tell=told.append)
        messages = []
        for source in (given, others):
            with pytest.raises(ReleaseRefused, match="lists 1 other release") as refused:
                released(synthesizer, source, tmp_path / "b.jsonl", ledger=ledger)
            messages.append(str(refused.value))
        assert messages[0] == messages[1]
    with closing(Ledger(place, key=KEY, again=True)) as ledger:
        released(synthesizer, given, tmp_path / "b.jsonl", ledger=ledger, tell=told.append)
        assert [len(known.lines) for known in told] == [
            1,
            1,
        ]  # nothing is said of rows that the ledger knows: it knows none
        assert ledger.sum().epsilon == 8.0  # replacing a record, by two releases of 2 for adding or removing one
        assert [entry.counted for entry in ledger.entries()] == [2, 2]


def test_ledgers_that_differ_in_one_row_of_a_central_release_answer_alike(
    adept_here: Run, topic_run: Path, synthesizer: Synthesizer, tmp_path: Path
) -> None:
    """Byte for byte: local runs of the row and of another, limits, another central run, and the list."""
    asked = written(tmp_path / "asked.jsonl", [{"text": "i have hiv"}])
    answers = []
    for row in ("i have hiv", "i have flu"):
        home = tmp_path / row[-3:]
        home.mkdir()
        given = written(home / "given.jsonl", [{"text": row, "intent": "fare"}, {"text": "a fare", "intent": "fare"}])
        place = str(tmp_path / "ledger.db")
        with closing(Ledger(place, key=secret_key())) as ledger:
            released(synthesizer, given, tmp_path / "central.jsonl", ledger=ledger)
        local = ["rewrite", f"model_dir={topic_run}", f"input={asked}", "epsilon=3", f"ledger={place}"]
        central = [
            "synthesize",
            f"model_dir={topic_run}",
            f"input={asked}",
            "epsilon=1",
            "labels=drop",
            f"ledger={place}",
        ]
        heard = [
            adept_here(*local, f"output={tmp_path}/local.jsonl"),
            adept_here(*central, f"output={tmp_path}/c.jsonl"),
            adept_here(*local, f"output={tmp_path}/local.jsonl", "again=true", "ledger_limit=6"),
            adept_here(*local, f"output={tmp_path}/local.jsonl", "again=true", "ledger_limit=7"),
            adept_here(*central, f"output={tmp_path}/c.jsonl", "again=true", "ledger_limit=8"),
            adept_here("ledger", place),
        ]
        answers.append([(done.returncode, done.stdout, done.stderr) for done in heard])
        for path in tmp_path.iterdir():
            if path.is_file() and path != asked:
                path.unlink()
    assert [status for status, *_ in answers[0]] == [2, 2, 2, 0, 2, 0]
    assert [_timeless(answer) for answer in answers[0]] == [_timeless(answer) for answer in answers[1]]


def _timeless(answer: tuple[int, str, str]) -> tuple[int, str, str]:
    """Leave out what is random or a time: what a rewrite is expected to keep is drawn anew by each run."""
    status, out, err = answer
    kept = [line for line in err.splitlines() if not re.search("at epsilon|a rewrite keeps|a rewrite is", line)]
    return status, re.sub(r"\d{4}-\d\d-\d\dT[\d:+]*", "", out), "\n".join(kept)


def test_local_and_central_budgets_of_a_row_add_up(
    topic_run: Path, synthesizer: Synthesizer, given: Path, tmp_path: Path
) -> None:
    from adept.mechanisms import LearnedCodebook
    from adept.release.flow.local import release_file
    from adept.release.records import ReleaseOptions
    from adept.rewriting.rewriter import Rewriter

    local = Rewriter.from_pretrained(topic_run, mechanism=LearnedCodebook(epsilon=3.0))
    replaced = Synthesizer(
        *load_model(topic_run), votes=Votes(epsilon=0.5, neighbours="replace"), label_set=LABELS, cells=16
    )
    with closing(Ledger(str(tmp_path / "ledger.db"), key=KEY, again=True)) as ledger:
        options = ReleaseOptions(labels="drop")
        release_file(local, str(given), str(tmp_path / "local.jsonl"), options=options, key=KEY, ledger=ledger)
        released(synthesizer, given, tmp_path / "a.jsonl", ledger=ledger)
        assert ledger.sum().epsilon == 3.0 + 2 * 2.0
        released(replaced, given, tmp_path / "b.jsonl", ledger=ledger)
        assert ledger.sum().epsilon == 3.0 + 2 * 2.0 + 0.5


# --- What is refused


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"labels": "copy"}, "labels must be one of vote, drop"),
        ({"max_records_per_person": 0, "person_column": "user"}, "max_records_per_person must be at least 1, got 0"),
        ({"max_records_per_person": 2}, "must be given together"),
        ({"person_column": "user"}, "must be given together"),
        ({"person_column": "", "max_records_per_person": 2}, "must be given together"),
        ({"person_column": "text", "max_records_per_person": 2}, "must be different columns"),
        ({"engine": "spark"}, "engine must be one of local, ray"),
    ],
)
def test_options_that_contradict_each_other_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        CentralOptions(**options)


@pytest.mark.parametrize(
    ("options", "target", "message"),
    [
        ({"labels": "drop"}, "out.jsonl", "label_set must name the public labels"),
        ({}, "out.txt", "labels must be drop for a txt output"),
        ({"person_column": "user", "max_records_per_person": 3}, "out.jsonl", "must be the synthesizer's 1, got 3"),
        ({"rows": -1}, "out.jsonl", "rows must be"),
    ],
)
def test_what_cannot_be_released_is_refused_before_anything_is_drawn(
    synthesizer: Synthesizer, given: Path, tmp_path: Path, options: dict[str, Any], target: str, message: str
) -> None:
    with pytest.raises(ConfigurationError, match=message):
        released(synthesizer, given, tmp_path / target, options=CentralOptions(**options))
    assert [path.name for path in tmp_path.iterdir()] == ["in.jsonl"]


def test_a_dry_run_draws_nothing_and_says_how_many_would_count(
    synthesizer: Synthesizer, given: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(Votes, "privatize")
    told = list[Tally]()
    out = str(tmp_path / "out.jsonl")
    statement = preview(*prepare_synthesis(synthesizer, str(given), out, options=OPTIONS), told.append)
    assert statement.records is None
    assert told[0].lines == ["40 rows read, 40 counted"]
    assert [path.name for path in tmp_path.iterdir()] == ["in.jsonl"]


def test_one_parquet_value_that_python_cannot_hold_changes_no_exit_status(tmp_path: Path) -> None:
    import pyarrow
    from pyarrow import parquet

    from adept.release.options import CentralOptions
    from adept.release.records import Inputs

    bad = pyarrow.array([b"fine"] * 3 + [b"\xff"]).view(pyarrow.string())
    dates = pyarrow.array([0, 0, 0, 2**31 - 1], pyarrow.int32()).cast(pyarrow.date32())
    table = {"text": bad, "intent": bad.dictionary_encode().cast(pyarrow.dictionary(pyarrow.int8(), pyarrow.string()))}
    parquet.write_table(pyarrow.table({**table, "when": dates}), tmp_path / "a.parquet")
    inputs = Inputs.of(str(tmp_path / "a.parquet"), ReadingOptions())
    fine, missing = {"text": "fine", "intent": "fine"}, {"text": None, "intent": None}
    assert list(inputs.records(tolerant=True, columns=CentralOptions().used_columns)) == [fine] * 3 + [missing]
