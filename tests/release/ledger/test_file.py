"""An entry of the ledger says what the statement of its release says."""

import json
import os
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import broad
import pandas
import pytest
from forked import standard_output
from made_statements import central_statement

from adept import rewrite_frame
from adept.cli import ledger as ledger_command
from adept.cli.config import LedgerConfig
from adept.errors import DataError
from adept.mechanisms import JointResponse, LearnedCodebook
from adept.mechanisms.central_counts import Votes
from adept.release.flow import local as local_release
from adept.release.flow.local import open_release, release_file
from adept.release.flow.steps import Run
from adept.release.ledger.claims import Ledger
from adept.release.ledger.default import open_ledger
from adept.release.ledger.file import LedgerEntry, Spending
from adept.release.ledger.identity import secret_key
from adept.release.options import ReleaseRequest

TEXTS = ["cheapest fare to boston", "is there a taxi downtown", "what meals do they serve", "zzqxv"]
LABELS = [broad.NAMES[n % 3] for n in range(4)]
BY_LABEL = "any two records with the same label"


@pytest.fixture(scope="module")
def loaded(topic_run: Path) -> Iterator[tuple[Any, Any]]:
    with broad.model_of(topic_run) as parts, pytest.MonkeyPatch.context() as patch:
        patch.setattr(local_release, "load_model", lambda _: parts)
        yield parts


@pytest.fixture
def request_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Options of a release that is entered into a ledger of the test's own."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return {"ledger": str(tmp_path / "ledger.db"), "epsilon": 4.0}


def entry_of(options: dict[str, Any]) -> LedgerEntry:
    with closing(Ledger(options["ledger"])) as ledger:
        [entry] = ledger.entries()
        return entry


@pytest.mark.parametrize(
    ("options", "neighbours", "epsilon"),
    [
        ({}, BY_LABEL, 4.0),
        ({"label_codewords": "off"}, BY_LABEL, 4.0),
        ({"labels": "drop"}, "any two records", 4.0),
        ({"labels": "drop", "keep_columns": ["n"]}, "any two records with the same n", 4.0),
        ({"labels": "joint_response", "label_set": broad.NAMES}, "any two records", 4.0),
        ({"labels": "randomized_response", "label_set": broad.NAMES, "label_epsilon": 2.0}, "any two records", 6.0),
    ],
)
def test_an_entry_has_the_budget_of_its_statement(
    loaded: Any, request_in: dict[str, Any], tmp_path: Path, options: dict[str, Any], neighbours: str, epsilon: float
) -> None:
    rows = [{"text": text, "intent": label, "n": n} for n, (text, label) in enumerate(zip(TEXTS, LABELS, strict=True))]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    request = ReleaseRequest(**request_in | options)
    rewriter, asked = open_release(request)
    place = str(tmp_path / "in.jsonl"), str(tmp_path / "out.jsonl")
    with open_ledger(request, secret_key()) as ledger:
        stated = release_file(rewriter, *place, options=asked, key=secret_key(), ledger=ledger)
    entry = entry_of(request_in)
    assert (entry.neighbours, entry.epsilon, entry.unit, entry.rows) == (neighbours, epsilon, "record", 4)
    assert (stated.neighbours, stated.epsilon) == (neighbours, epsilon)


def test_an_entry_of_a_frame_has_the_budget_of_its_statement(
    loaded: Any, request_in: dict[str, Any], tmp_path: Path
) -> None:
    frame = pandas.DataFrame({"t": TEXTS, "l": LABELS, "who": ["a", "a", "b", "c"]})
    persons = {"person": "who", "max_records_per_person": 2}
    rewrite_frame(frame, text="t", label="l", statement=tmp_path / "s.json", **request_in, **persons)
    entry = entry_of(request_in)
    assert (entry.neighbours, entry.epsilon, entry.unit, entry.persons) == (BY_LABEL, 4.0, "record", 1)


def test_a_guarantee_says_for_which_neighbours_it_holds() -> None:
    joint = JointResponse.of(LearnedCodebook(epsilon=4.0, size=8), ["a", "b"])
    assert joint.guarantee().neighbours == "any two records"
    for neighbours, twice in (("add_or_remove", 2), ("replace", 1)):
        for persons in (True, False):
            votes = Votes(epsilon=1.0, neighbours=neighbours)
            found = votes.guarantee(persons=persons)
            assert (found.neighbours, found.unit) == (neighbours, "person" if persons else "record")
            spent = Spending.of(central_statement(votes, persons=persons))
            assert (spent.neighbours, spent.unit, spent.delta) == (found.neighbours, found.unit, 0.0)
            assert (spent.per_row, spent.per_person) == (twice * (1 + persons), twice)


# --- Approvals


@pytest.fixture
def released(
    loaded: Any, request_in: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Path]:
    """Return a function that releases texts from a directory, into a file with the same relative name."""
    (tmp_path / "in.txt").write_text("".join(f"{text} please\n" for text in TEXTS * 8))

    def release(name: str, output: str = "out.txt", **options: Any) -> Path:
        (tmp_path / name).mkdir()
        monkeypatch.chdir(tmp_path / name)
        request = ReleaseRequest(**request_in | {"again": True} | options)
        rewriter, asked = open_release(request)
        with open_ledger(request, secret_key()) as ledger:
            release_file(rewriter, str(tmp_path / "in.txt"), output, options=asked, key=secret_key(), ledger=ledger)
        return tmp_path / name / output

    return release


def approved(options: dict[str, Any], output: Path | str) -> list[bool]:
    """Approve a file as the command does; return for each release whether it is approved."""
    config = LedgerConfig(ledger=options["ledger"], approve=str(output), approved_by="J. Doe")
    return [bool(entry.approved) for entry in ledger_command.run(config)[0]]


def test_the_content_and_not_the_name_says_which_release_is_approved(
    released: Callable[..., Path], request_in: dict[str, Any]
) -> None:
    """Both releases were written to ``out.txt``, from different directories."""
    first, second = released("a"), released("b")
    assert first.read_bytes() != second.read_bytes()
    assert approved(request_in, first) == [True, False]
    second.rename(second.with_name("renamed"))
    assert approved(request_in, second.with_name("renamed")) == [True, True]


def test_a_changed_or_missing_file_is_never_approved(
    released: Callable[..., Path], request_in: dict[str, Any], tmp_path: Path
) -> None:
    out = released("a")
    whole = out.read_bytes()
    for content in (whole[:-1], whole + b"\n", whole.replace(b"\n", b"\r\n"), b""):
        out.write_bytes(content)
        with pytest.raises(DataError, match="lists no complete release with the content of"):
            approved(request_in, out)
    for missing in (tmp_path / "none.txt", tmp_path, "out.txt.privacy.json.none", "-", "/dev/null"):
        with pytest.raises(DataError, match="approve must be a released file"):
            approved(request_in, missing)
    with pytest.raises(DataError, match="lists no complete release"):
        approved(request_in, f"{out}.privacy.json")
    out.write_bytes(whole)
    assert approved(request_in, out) == [True]


def test_no_file_approves_a_release_to_standard_output_or_into_memory(
    loaded: Any, released: Callable[..., Path], request_in: dict[str, Any], tmp_path: Path
) -> None:
    with standard_output(tmp_path / "shown.txt"):
        released("a", "-", statement="s.json", format="txt", labels="drop")
    frame = pandas.DataFrame({"t": [f"{text} thanks" for text in TEXTS]})
    rewrite_frame(frame, text="t", statement=tmp_path / "s.json", **request_in, again=True)
    for place in (tmp_path / "shown.txt", tmp_path / "s.json"):
        with pytest.raises(DataError, match="does not know the content of 2 of its releases"):
            approved(request_in, place)


def test_a_run_that_was_killed_before_it_told_the_ledger_is_resumed_and_approved(
    released: Callable[..., Path], request_in: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(Run, "tidy", lambda *_: None)
        out = released("a")
    with pytest.raises(DataError, match="lists no complete release"):
        approved(request_in, out)
    request = ReleaseRequest(**request_in | {"again": True})
    rewriter, asked = open_release(request)
    with open_ledger(request, secret_key()) as ledger:
        given = str(out.parents[1] / "in.txt")
        release_file(rewriter, given, out.name, options=asked, key=secret_key(), ledger=ledger, resume=True)
    assert approved(request_in, out) == [True]


@pytest.mark.parametrize("name", ["/dev/null", "directory", "pipe"])
def test_what_is_no_file_is_never_advised_to_be_changed(tmp_path: Path, name: str) -> None:
    """chmod 600 of /dev/null stops other programs, and of a directory whoever works in it."""
    (tmp_path / "directory").mkdir()
    os.mkfifo(tmp_path / "pipe", 0o666)
    (tmp_path / "pipe").chmod(0o666)
    for open_it in (Ledger, secret_key):
        with pytest.raises(DataError, match="is a directory, a device or a pipe: name a file"):
            open_it(str(tmp_path / name))


@pytest.mark.parametrize("name", [":memory:", "file:x.db?mode=memory"])
def test_a_name_that_sqlite_reads_otherwise_is_a_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with closing(Ledger(name)) as ledger:
        ledger.set_limit(8.0)
    with closing(Ledger(name)) as ledger:
        assert ledger.limit == 8.0
    assert [path.name for path in tmp_path.iterdir()] == [name]
