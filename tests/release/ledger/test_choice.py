"""With over_limit=drop, records of persons without budget are left out; no text decides which, and the statement says so."""

import json
import os
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from forked import standard_output
from hypothesis import given, settings
from hypothesis import strategies as st
from made_statements import spending
from tiny import Run

from adept.errors import ConfigurationError, DataError, Interrupted, ReleaseRefused
from adept.mechanisms import SqrtNLaplace
from adept.release.flow.journal import Journal
from adept.release.flow.local import release_file
from adept.release.ledger.claims import LEFT_OUT, Ledger, LeftOut, count_allowed
from adept.release.options import ReleaseRequest
from adept.release.records import CheckedRecords, ReleaseOptions
from adept.release.rewrite_frame import rewrite_frame
from adept.release.statement.statement import PrivacyStatement
from adept.rewriting.rewriter import Rewriter

KEY = b"k" * 32
JULY = [("where is my parcel", "ann"), ("cancel my order", "ann"), ("i want a refund", "bob")]
AUGUST = [
    ("hello", "ann"),
    ("a new card", "bob"),
    ("two lamps", "bob"),
    ("no light", "cyd"),
    ("my bill", "cyd"),
    ("bye", "ann"),
]
KEPT = [1, 3, 4]  # of August, at a limit of 16: one record of bob, who spent 8, and both of cyd
DROP: dict[str, Any] = {"person_column": "who", "max_records_per_person": 2, "over_limit": "drop"}


@pytest.fixture(scope="module")
def rewriter(tiny_run: Path) -> Rewriter:
    return Rewriter.from_pretrained(tiny_run, mechanism=SqrtNLaplace(epsilon=8.0), batch_size=2)


def write(path: Path, rows: list[tuple[str, str]]) -> str:
    path.write_text(
        "".join(json.dumps({"text": text, "who": who, "id": i}) + "\n" for i, (text, who) in enumerate(rows))
    )
    return str(path)


def released(
    rewriter: Rewriter,
    directory: Path,
    rows: list[tuple[str, str]],
    name: str,
    *,
    limit: float | None = 16.0,
    again: bool = False,
    columns: list[str] | None = None,
    options: dict[str, Any] = DROP,
    **more: Any,
) -> PrivacyStatement:
    source = write(directory / f"{name}.in.jsonl", rows)
    ledger = Ledger(str(directory / "ledger.db"), key=KEY, limit=limit, again=again, record_columns=columns)
    with closing(ledger):
        asked = ReleaseOptions(keep_columns=["id"], **options)
        target = str(directory / f"{name}.jsonl")
        return release_file(rewriter, source, target, options=asked, key=KEY, ledger=ledger, **more)


def ids(path: Path) -> list[int]:
    return [json.loads(line)["id"] for line in path.read_text().splitlines()]


def spent(directory: Path) -> tuple[int, int, float | None]:
    with closing(Ledger(str(directory / "ledger.db"), key=KEY)) as ledger:
        return ledger.sum().rows, ledger.sum().persons, ledger.sum().person_epsilon


def test_the_first_records_for_which_a_person_has_budget_are_released_and_claimed(
    rewriter: Rewriter, tmp_path: Path
) -> None:
    notes = list[CheckedRecords]()
    assert released(rewriter, tmp_path, JULY, "july").records == 3
    with pytest.raises(ReleaseRefused, match="bring 2 persons to as much as 32: add over_limit=drop"):
        released(rewriter, tmp_path, AUGUST, "refused", options=DROP | {"over_limit": "refuse"})
    statement = released(
        rewriter, tmp_path, AUGUST, "august", options=DROP | {"max_records_per_person": 3}, tell=notes.append
    )
    assert ids(tmp_path / "august.jsonl") == KEPT
    assert statement.records == 3
    assert spent(tmp_path) == (6, 3, 16.0)
    assert notes[0].lines == ["3 records of 2 persons are left out: earlier releases have used these persons' budget"]
    assert not list(tmp_path.glob("*.journal"))
    assert LeftOut().lines == []


def test_a_ledger_whose_trees_differ_is_damaged_and_leaves_nobody_out(
    rewriter: Rewriter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Ledger, "_allowed", lambda self, tree: {b"": len(tree)})
    with pytest.raises(DataError, match="is damaged"):
        released(rewriter, tmp_path, JULY, "july")


def test_excess_is_dropped_first_and_does_not_change_who_is_left_out(rewriter: Rewriter, tmp_path: Path) -> None:
    released(rewriter, tmp_path, JULY, "july")
    rows = [*AUGUST, ("a third", "cyd"), ("a first", "dan")]
    released(rewriter, tmp_path, rows, "august", options=DROP | {"excess": "drop"})
    assert ids(tmp_path / "august.jsonl") == [*KEPT, 7]


def test_the_statement_compares_the_same_person_and_says_what_absence_tells(rewriter: Rewriter, tmp_path: Path) -> None:
    released(rewriter, tmp_path, JULY, "july")
    said = released(rewriter, tmp_path, AUGUST, "august").to_json()
    pairs = "any two records of the same person with the same id"
    assert (said["neighbours"], said["over_limit"], said["excess"]) == (pairs, "drop", "refuse")
    assert any("the absence of a person tells that their budget was used" in fact for fact in said["not_hidden"])
    assert "records of persons without budget were left out. So the epsilon of a record compares" in said["statement"]


texts = st.sampled_from(["where is my parcel", "a", "b", "c"])
people = st.sampled_from(["ann", "bob", "cyd"])


@given(
    earlier=st.lists(st.tuples(texts, people), max_size=6),
    rows=st.lists(st.tuples(texts, people), min_size=1, max_size=8),
    columns=st.sampled_from([None, ["text"], ["who"], ["id"], ["text", "id"]]),
    limit=st.sampled_from([2.0, 3.0, 5.0]),
    again=st.booleans(),
    data=st.data(),
)
@settings(max_examples=30, deadline=None)
def test_no_text_decides_what_is_left_out_whatever_the_ledger_lists(
    earlier: list[tuple[str, str]],
    rows: list[tuple[str, str]],
    columns: list[str] | None,
    limit: float,
    again: bool,
    data: st.DataObject,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """Two files, or two ledgers, that differ in texts of the same persons: the same is left out, or one run is refused."""
    place, of_file = data.draw(st.integers(0, 10**6)), data.draw(st.booleans())
    other, past = list(rows), list(earlier)
    changed = other if of_file or not past else past
    changed[place % len(changed)] = (data.draw(texts), changed[place % len(changed)][1])
    answers = []
    for before, now in ((earlier, rows), (past, other)):
        path = str(tmp_path_factory.mktemp("choice") / "ledger.db")
        common: dict[str, Any] = {"key": KEY, "again": again, "record_columns": columns}
        with closing(Ledger(path, **common)) as ledger:
            claim(ledger, "earlier", before)
        with closing(Ledger(path, **common, limit=limit)) as ledger:
            try:
                ledger.identity(text_column="text", person_column="who")
                ledger.begin("now", spending(epsilon=1.0, persons=True), "out")
                ledger.wait({"text": text, "who": who, "id": i} for i, (text, who) in enumerate(now))
                answers.append(ledger.claim().numbers)
            except ReleaseRefused:
                return
    assert answers[0] == answers[1] == expected(earlier, rows, limit)


def claim(ledger: Ledger, run: str, rows: list[tuple[str, str]]) -> None:
    ledger.identity(text_column="text", person_column="who")
    ledger.begin(run, spending(epsilon=1.0, persons=True), run)
    ledger.collect_records({"text": text, "who": who, "id": -i} for i, (text, who) in enumerate(rows, start=1))
    ledger.claim()


def expected(earlier: list[tuple[str, str]], rows: list[tuple[str, str]], limit: float) -> set[int]:
    """Return the places of the records for which their person has no budget left, each of which costs 1."""
    counts, found = Counter(who for _, who in earlier), set()
    for number, (_, who) in enumerate(rows, start=1):
        counts[who] += 1
        if counts[who] > limit:
            found.add(number)
    return found


def test_a_record_that_was_released_before_ends_the_run_and_is_not_left_out(rewriter: Rewriter, tmp_path: Path) -> None:
    """Its person has budget left; without it, the number of rows would tell that the text was released before."""
    released(rewriter, tmp_path, JULY, "july")
    before = (tmp_path / "ledger.db").read_bytes()
    with pytest.raises(ReleaseRefused, match="the ledger holds 1 of the records already"):
        released(rewriter, tmp_path, [JULY[2], *AUGUST], "august", options=DROP | {"max_records_per_person": 3})
    assert not list(tmp_path.glob("august.jsonl*"))
    assert (tmp_path / "ledger.db").read_bytes() == before


def test_a_record_above_its_own_limit_ends_the_run(rewriter: Rewriter, tmp_path: Path) -> None:
    """Identified by the text alone, a record may have spent its budget with other persons."""
    for name, who in (("july", "ann"), ("august", "bob")):
        released(rewriter, tmp_path, [("hello", who)], name, columns=["text"], again=True)
    with pytest.raises(ReleaseRefused, match="bring 1 record to as much as 24: leave out what was released before"):
        released(rewriter, tmp_path, [("hello", "cyd"), ("bye", "dan")], "may", columns=["text"], again=True)


def test_there_must_be_a_ledger_with_a_limit_and_somebody_with_budget(rewriter: Rewriter, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="must have a limit for over_limit=drop"):
        released(rewriter, tmp_path, JULY, "unlimited", limit=None)
    source, target = write(tmp_path / "in.jsonl", JULY), str(tmp_path / "none.jsonl")
    with pytest.raises(ConfigurationError, match="must have a limit for over_limit=drop"):
        release_file(rewriter, source, target, options=ReleaseOptions(**DROP), key=KEY)
    with pytest.raises(ReleaseRefused, match="no person of the input has budget left"):
        released(rewriter, tmp_path, JULY, "nobody", limit=7.0)
    with pytest.raises(ConfigurationError, match="person_column must be given for over_limit=drop"):
        ReleaseOptions(over_limit="drop")
    with pytest.raises(ConfigurationError, match="ledger must be a ledger with a limit for over_limit=drop, got none"):
        ReleaseRequest(**DROP, ledger="none")
    assert spent(tmp_path) == (0, 0, None)
    assert not list(tmp_path.glob("*.jsonl.*"))


def interrupt(count: int) -> None:
    raise KeyboardInterrupt


def lend(directory: Path, who: str) -> None:
    """Raise the limit or spend a person's budget, so that another choice would be made now."""
    with closing(Ledger(str(directory / "ledger.db"), key=KEY)) as ledger:
        claim(ledger, "meanwhile", [("between", who)])


@pytest.mark.parametrize("limit", [16.0, 64.0])
def test_a_resumed_run_takes_the_choice_of_its_journal(rewriter: Rewriter, tmp_path: Path, limit: float) -> None:
    """With a higher limit, another choice would keep all records; the rows of the first run would be another release's."""
    released(rewriter, tmp_path, JULY, "july")
    with pytest.raises(Interrupted):
        released(rewriter, tmp_path, AUGUST, "august", progress=interrupt)
    with Journal(tmp_path / "august.jsonl.journal") as journal:
        found = [entry for entry in journal.entries() if LEFT_OUT in entry]
        assert [entry[LEFT_OUT] for entry in found] == [[1, 3, 6]]
    lend(tmp_path, "dan")
    assert released(rewriter, tmp_path, AUGUST, "august", limit=limit, resume=True).records == 3
    assert ids(tmp_path / "august.jsonl") == KEPT
    assert released(rewriter, tmp_path, AUGUST, "august", limit=limit, resume=True).records == 3  # it is complete


def test_a_begun_release_above_a_lower_limit_is_told_what_helps(rewriter: Rewriter, tmp_path: Path) -> None:
    released(rewriter, tmp_path, JULY, "july")
    with pytest.raises(Interrupted):
        released(rewriter, tmp_path, AUGUST, "august", progress=interrupt)
    with pytest.raises(ReleaseRefused, match=r"raise ledger_limit, or the limit of .*ledger\.db; a begun") as caught:
        released(rewriter, tmp_path, AUGUST, "august", limit=9.0, resume=True)
    assert "over_limit" not in str(caught.value)  # it is given, and epsilon could not change
    assert released(rewriter, tmp_path, AUGUST, "august", resume=True).records == 3


def test_a_resumed_run_refuses_other_records_behind_those_that_are_drawn(rewriter: Rewriter, tmp_path: Path) -> None:
    released(rewriter, tmp_path, JULY, "july")
    with pytest.raises(Interrupted):
        released(rewriter, tmp_path, AUGUST, "august", progress=interrupt)
    with pytest.raises(DataError, match="input is not that of the interrupted release"):
        released(rewriter, tmp_path, [*AUGUST[:5], ("Bye", "ann")], "august", resume=True)
    with pytest.raises(DataError, match="over_limit was 'drop'"):
        released(rewriter, tmp_path, AUGUST, "august", options=DROP | {"over_limit": "refuse"}, resume=True)


def test_an_input_that_changes_between_its_two_readings_is_refused(
    tiny_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rewriter = Rewriter.from_pretrained(tiny_run, mechanism=SqrtNLaplace(epsilon=8.0))
    claim_first = Ledger.claim

    def change(ledger: Ledger) -> Any:
        left_out = claim_first(ledger)
        write(tmp_path / "august.in.jsonl", [*rows[:-1], ("more", "ann")])  # as long as before
        return left_out

    released(rewriter, tmp_path, JULY, "july")
    rows = [*AUGUST, *(("more", "eve") for _ in range(2000))]  # more than is read ahead
    monkeypatch.setattr(Ledger, "claim", change)
    with pytest.raises(DataError, match="input changed while it was read"):
        released(rewriter, tmp_path, rows, "august", options=DROP | {"max_records_per_person": 2000}, limit=10**5)
    assert spent(tmp_path)[0] == 3


def test_a_stream_is_held_in_memory_for_the_choice(rewriter: Rewriter, tmp_path: Path) -> None:
    released(rewriter, tmp_path, JULY, "july")
    read, write_end = os.pipe()
    os.write(write_end, Path(write(tmp_path / "in.jsonl", AUGUST)).read_bytes())
    os.close(write_end)
    options = ReleaseOptions(keep_columns=["id"], format="jsonl", statement=str(tmp_path / "s.json"), **DROP)
    with (
        closing(Ledger(str(tmp_path / "ledger.db"), key=KEY, limit=16.0)) as ledger,
        standard_output(tmp_path / "shown"),
    ):
        release_file(rewriter, f"/dev/fd/{read}", "-", options=options, key=KEY, ledger=ledger)
    assert ids(tmp_path / "shown") == KEPT


def test_a_frame_leaves_the_same_records_out(
    tiny_l1_run: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    pandas = pytest.importorskip("pandas")
    options: dict[str, Any] = {
        "epsilon": 8.0, "mechanism": "l1", "model_dir": str(tiny_l1_run), "ledger": str(tmp_path / "ledger.db"),
        "ledger_limit": 16.0, "text": "text", "person": "who", "max_records_per_person": 2, "over_limit": "drop",
        "keep_columns": ["id"],
    }  # fmt: skip
    for rows, kept in ((JULY, [0, 1, 2]), (AUGUST, KEPT)):
        frame = pandas.DataFrame(rows, columns=["text", "who"]).assign(id=range(len(rows)))
        private = rewrite_frame(frame, statement=tmp_path / f"{len(rows)}.json", **options)
        assert (list(private["id"]), list(private.columns)) == (kept, ["text", "id"])
    assert "not part of the release: 3 records of 2 persons are left out" in caplog.text
    assert json.loads((tmp_path / "6.json").read_text())["records"] == 3


def test_how_many_records_a_person_may_add() -> None:
    assert count_allowed(40, epsilon=8, limit=40.0) == 0
    assert count_allowed(32, epsilon=8, limit=40.0) == 1
    assert count_allowed(0, epsilon=8, limit=39.9) == 4
    assert count_allowed(48, epsilon=8, limit=40.0) == 0
    assert count_allowed(0, epsilon=float("inf"), limit=40.0) == 0
    assert count_allowed(float("inf"), epsilon=8, limit=40.0) == 0
    assert count_allowed(0, epsilon=0, limit=40.0) == float("inf")


@pytest.mark.parametrize("default", [True, False])
def test_the_command_tells_the_number_left_out_to_the_curator_alone(
    adept_here: Run, tiny_l1_run: Path, tmp_path: Path, default: bool
) -> None:
    command = ["rewrite", f"model_dir={tiny_l1_run}", "epsilon=8", "ledger_limit=16"]
    command += [] if default else [f"ledger={tmp_path}/ledger.db"]
    command += [f"{name}={value}" for name, value in DROP.items()]
    for month, rows in (("july", JULY), ("august", AUGUST)):
        source = write(tmp_path / f"{month}.in.jsonl", rows)
        done = adept_here(*command, f"input={source}", f"output={tmp_path}/{month}.jsonl", "card=true", "report=true")
        assert done.returncode == 0, done.stderr
    told = "3 records of 2 persons are left out"
    assert f"not part of the release: {told}" in done.stderr
    written = list(tmp_path.glob("august.jsonl*"))
    assert len(written) == 4
    assert not any(told in content for content in (done.stdout, *(path.read_text() for path in written)))
    assert adept_here("verify", f"{tmp_path}/august.jsonl.privacy.json").returncode == 0
    refused = adept_here(*command[:3], *command[-3:], "ledger=none", f"input={source}", f"output={tmp_path}/none.jsonl")
    assert refused.returncode == 2
