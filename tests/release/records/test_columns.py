"""With excess=drop a person's first records are released, and what was left out is told to the curator alone."""

import json
import re
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny import Run

from adept.errors import ConfigurationError, DataError, Interrupted
from adept.mechanisms import JointResponse, LearnedCodebook, RandomizedResponse, SqrtNLaplace
from adept.release import records
from adept.release.flow.local import prepare_file, release_file
from adept.release.flow.steps import preview
from adept.release.ledger.claims import Ledger
from adept.release.records import CheckedRecords, ReleaseOptions
from adept.rewriting.rewriter import Rewriter

KEY = b"k" * 32
PEOPLE = ["ann", "bob", "ann", "ann", 7, "7", "bob", 7.0, "eve", "ann"]
KEPT = {2: [0, 1, 2, 4, 5, 6, 8], 1: [0, 1, 4, 8]}  # the places of everybody's first m records
DROP = {"person_column": "who", "excess": "drop"}
RESPONSE = RandomizedResponse(epsilon=2.0, labels=("x", "y"))
JOINT = JointResponse.of(LearnedCodebook(epsilon=2.0), ("x", "y"))


@pytest.fixture
def rewriter(tiny_run: Path) -> Rewriter:
    return Rewriter.from_pretrained(tiny_run, mechanism=SqrtNLaplace(epsilon=8.0), batch_size=2)


@pytest.fixture
def coded(topic_run: Path) -> Rewriter:
    return Rewriter.from_pretrained(topic_run, mechanism=LearnedCodebook(epsilon=8.0))


def people_file(path: Path, people: list[Any] = PEOPLE) -> str:
    rows = [{"text": f"a fare {i}", "who": who, "id": i} for i, who in enumerate(people)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


def options(most: int = 2, **more: Any) -> ReleaseOptions:
    return ReleaseOptions(max_records_per_person=most, **DROP, **more)


def ids(path: Path) -> list[int]:
    return [json.loads(line)["id"] for line in path.read_text().splitlines()]


@given(st.lists(st.sampled_from(["a", "b", 1, "1", 1.0, "c"]), max_size=12), st.integers(1, 3), st.data())
@settings(max_examples=60)
def test_whether_a_record_is_kept_depends_on_its_own_persons_records_alone(
    people: list[Any], most: int, data: st.DataObject
) -> None:
    """Other people's records, and what the person's records say, change nothing of which of them are kept."""

    def kept(rows: list[tuple[int, Any]], text: str) -> list[int]:
        read = [{"text": f"{text}{place}", "who": who, "place": place} for place, who in rows]
        passed = CheckedRecords(read, None, options(most))
        return [record["place"] for record in passed]

    rows = list(enumerate(people))
    person = data.draw(st.sampled_from(["a", 1, "c"]))
    own = [row for row in rows if str(row[1]).removesuffix(".0") == str(person)]
    assert [place for place in kept(rows, "x") if (place, people[place]) in own] == [place for place, _ in own[:most]]
    assert kept(own, "y") == [place for place, _ in own[:most]]


@pytest.mark.parametrize("samples", [1, 3])
def test_the_first_records_of_each_person_are_written_in_their_order(
    rewriter: Rewriter, tmp_path: Path, samples: int
) -> None:
    asked = options(samples=samples, keep_columns=["id"])
    given, notes = people_file(tmp_path / "in.jsonl"), list[CheckedRecords]()
    statement = release_file(rewriter, given, f"{tmp_path}/out.jsonl", options=asked, tell=notes.append)
    assert ids(tmp_path / "out.jsonl") == [place for place in KEPT[2] for _ in range(samples)]
    assert (statement.records, statement.person_epsilon) == (7, 16.0)
    assert notes[0].lines == ["3 records of 2 persons were left out, as they are beyond max_records_per_person"]


def test_texts_without_a_letter_are_counted_for_the_curator(rewriter: Rewriter, tmp_path: Path) -> None:
    """As of lines that end with CR CR LF, each of which is read as a text and an empty text; or of a column of ids."""
    (tmp_path / "in.txt").write_bytes("a fare\r\r\n42\r\n票\r\n".encode())
    notes = list[CheckedRecords]()
    release_file(rewriter, f"{tmp_path}/in.txt", f"{tmp_path}/o.txt", options=ReleaseOptions(), tell=notes.append)
    assert notes[0].lines == [
        "2 records have a text without a letter, such as a number or an empty line, and count like any other"
    ]


@pytest.mark.parametrize(("labels", "told"), [(30, 30), (16, 16), (15, 0), (10, 0)])
def test_records_with_a_label_of_their_own_are_counted(labels: int, told: int) -> None:
    """As of a column of ids or of the texts themselves, which would be copied; half of the records may have one."""
    rare = [{"text": "a fare", "intent": f"id {place}"} for place in range(labels)]
    passed = CheckedRecords(
        [*rare, *[{"text": "a fare", "intent": "fare"}] * (30 - labels)], "intent", ReleaseOptions()
    )
    assert len([*passed]) == 30
    line = "records have a label of their own, copied as it is, which names them (label_column= names labels)"
    assert passed.lines == [f"{told} {line}"] * (told > 0)
    few = CheckedRecords(rare[:10], "intent", ReleaseOptions())
    assert (len([*few]), few.lines) == (10, [])


@pytest.mark.parametrize(
    ("more", "given"),
    [
        ({}, {"intent": None}),
        ({"labels": "joint", "label_column": "intent"}, {"intent": ""}),
        ({"labels": "joint_response", "label_response": JOINT}, {"intent": None}),
        ({"labels": "randomized_response", "label_response": RESPONSE}, {}),
    ],
)
def test_only_a_model_that_writes_labels_takes_a_record_without_one(
    more: dict[str, Any], given: dict[str, Any]
) -> None:
    """An empty label would mark the record; nor may it be missing in a column that the user named."""
    rows = [{"text": "a", "intent": "x"}, {"text": "b"} | given]
    with pytest.raises(DataError, match="record 2 has no label in column 'intent'"):
        list(CheckedRecords(rows, "intent", ReleaseOptions(**more)))
    unnamed = CheckedRecords(rows, "intent", ReleaseOptions(labels="joint"))
    assert [row["intent"] for row in unnamed] == ["x", None]


def test_labels_as_programs_write_missing_values_or_lists_are_counted(rewriter: Rewriter, tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("text,intent\na,nan\nb,none\nc,\"['x', 'y']\"\nd,x\n")
    notes = list[CheckedRecords]()
    release_file(rewriter, f"{tmp_path}/in.csv", f"{tmp_path}/o.csv", options=ReleaseOptions(), tell=notes.append)
    assert notes[0].lines == [
        "2 records have a label as programs write a missing value or a list, which is copied as it is"
    ]


def test_the_statement_compares_records_of_the_same_person(rewriter: Rewriter, tmp_path: Path) -> None:
    given_file = people_file(tmp_path / "in.jsonl")
    described = preview(*prepare_file(rewriter, given_file, f"{tmp_path}/out.jsonl", options=options())).to_json()
    assert described["neighbours"] == "any two records of the same person"
    assert described["excess"] == "drop"
    assert "which records were left out because they exceed their person's bound" in described["not_hidden"]
    assert "how many records, up to 2, a person has" in described["not_hidden"]
    assert "the epsilon of a record compares records of the same person" in described["statement"]
    refusing = ReleaseOptions(person_column="who", max_records_per_person=5)
    described = preview(*prepare_file(rewriter, given_file, f"{tmp_path}/out.jsonl", options=refusing)).to_json()
    assert (described["neighbours"], described["excess"]) == ("any two records", "refuse")
    assert not any("left out" in fact for fact in described["not_hidden"])


def test_nothing_that_is_written_tells_how_many_records_were_left_out(rewriter: Rewriter, tmp_path: Path) -> None:
    """Files that differ by what is left out have the same statement but for the digest and the date."""
    described = []
    for name, people in (("one", PEOPLE), ("other", [*PEOPLE, *["ann"] * 5])):
        out = f"{tmp_path}/{name}.jsonl"
        made = release_file(rewriter, people_file(tmp_path / f"in-{name}.jsonl", people), out, options=options())
        described.append({**made.to_json(), "output_sha256": None, "date": None, "certificate": None})
    assert described[0] == described[1]


def test_records_that_are_left_out_are_not_claimed(rewriter: Rewriter, tmp_path: Path) -> None:
    first = people_file(tmp_path / "in.jsonl", ["ann", "ann"])
    with closing(Ledger(f"{tmp_path}/ledger.db", key=KEY)) as ledger:
        release_file(rewriter, first, f"{tmp_path}/out.jsonl", options=options(1), key=KEY, ledger=ledger)
        assert [entry.rows for entry in ledger.entries()] == [1]
        second = tmp_path / "second.jsonl"
        second.write_text((tmp_path / "in.jsonl").read_text().splitlines()[1] + "\n")
        release_file(rewriter, str(second), f"{tmp_path}/second.out.jsonl", options=options(1), key=KEY, ledger=ledger)


def test_a_resumed_run_keeps_and_draws_the_same_records(rewriter: Rewriter, tmp_path: Path) -> None:
    given_file, out = people_file(tmp_path / "in.jsonl", PEOPLE * 3), tmp_path / "out.jsonl"
    asked = options(keep_columns=["id"])

    def interrupt(count: int) -> None:
        if count >= 4:
            raise KeyboardInterrupt

    with pytest.raises(Interrupted):
        release_file(rewriter, given_file, str(out), options=asked, key=KEY, progress=interrupt)
    release_file(rewriter, given_file, str(out), options=asked, key=KEY, resume=True)
    assert ids(out) == [*KEPT[2], 18]


def test_a_resumed_run_refuses_another_answer_to_excess_and_other_kept_records(
    rewriter: Rewriter, tmp_path: Path
) -> None:
    given_file, out = people_file(tmp_path / "in.jsonl"), f"{tmp_path}/out.jsonl"

    def interrupt(count: int) -> None:
        if count >= 4:
            raise KeyboardInterrupt

    with pytest.raises(Interrupted):
        release_file(rewriter, given_file, out, options=options(), key=KEY, progress=interrupt)
    refusing = ReleaseOptions(person_column="who", max_records_per_person=2)
    with pytest.raises(DataError, match="excess was 'drop'"):
        release_file(rewriter, given_file, out, options=refusing, key=KEY, resume=True)
    size = Path(given_file).stat().st_size
    people_file(
        tmp_path / "in.jsonl", ["ann", "ann", "bob", *PEOPLE[3:]]
    )  # of the same size, and keeps another record first
    assert Path(given_file).stat().st_size == size
    with pytest.raises(DataError, match="input is not that of the interrupted release"):
        release_file(rewriter, given_file, out, options=options(), key=KEY, resume=True)


def test_shuffled_records_are_each_persons_first(coded: Rewriter, tmp_path: Path) -> None:
    asked = options(1, shuffle=True, labels="drop")
    statement = release_file(coded, people_file(tmp_path / "in.jsonl"), f"{tmp_path}/out.jsonl", options=asked)
    assert statement.records == 4
    assert statement.shuffled is not None
    assert statement.shuffled.smallest == 4
    assert "any two records of the same person" in statement.text


def test_records_that_are_left_out_are_not_read_and_refuse_nobody(rewriter: Rewriter, tmp_path: Path) -> None:
    rows = [{"text": "a", "who": "ann"}, {"who": "ann"}, {"text": "b", "who": None}]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(DataError, match="must name a person, got nothing in record 3"):
        preview(*prepare_file(rewriter, f"{tmp_path}/in.jsonl", f"{tmp_path}/out.jsonl", options=options(1)))


def test_excess_needs_a_person_column() -> None:
    with pytest.raises(ConfigurationError, match="person_column must be given for excess=drop"):
        ReleaseOptions(excess="drop")
    with pytest.raises(ConfigurationError, match="excess must be one of refuse, drop"):
        ReleaseOptions(person_column="who", max_records_per_person=1, excess="keep")


@pytest.mark.parametrize("dry_run", ["true", "false"])
def test_only_the_curator_is_told_about_records_that_were_left_out(
    adept_here: Run, tiny_l1_run: Path, tmp_path: Path, dry_run: str
) -> None:
    command = ["rewrite", f"model_dir={tiny_l1_run}", f"input={people_file(tmp_path / 'in.jsonl')}", "epsilon=8"]
    persons = ["person_column=who", "max_records_per_person=2"]
    refused = adept_here(*command, f"output={tmp_path}/out.jsonl", *persons)
    assert (refused.returncode, "add excess=drop" in refused.stderr) == (2, True)
    done = adept_here(*command, f"output={tmp_path}/out.jsonl", *persons, "excess=drop", f"dry_run={dry_run}")
    assert done.returncode == 0, done.stderr
    assert "not part of the release: 3 records of 2 persons were left out" in done.stderr
    assert "3 records" not in done.stdout
    statement = tmp_path / "out.jsonl.privacy.json"
    assert statement.exists() is (dry_run == "false")


def test_one_place_asks_if_a_response_releases_text_and_label_together() -> None:
    asked = [
        path.name
        for path in Path(records.__file__).parent.rglob("*.py")
        for call in re.findall(r"isinstance\([^()]*\)", path.read_text("utf-8"))
        if "JointResponse" in call or "RandomizedResponse" in call
    ]
    assert asked == ["records.py"]
