"""One label has one spelling in everything that a release writes, counts and remembers."""

import gzip
import json
import os
import unicodedata
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from threading import Thread
from typing import Any

import pyarrow
import pytest
from pyarrow import parquet

from adept.data.formats import Record
from adept.data.reading import read_records
from adept.data.texts import label_set_of
from adept.errors import ConfigurationError, DataError, ReleaseRefused
from adept.mechanisms import JointResponse, LearnedCodebook, RandomizedResponse, SqrtNLaplace, Votes
from adept.release.flow.central import prepare_synthesis
from adept.release.flow.local import open_release, prepare_file, release_file
from adept.release.flow.steps import preview
from adept.release.ledger.claims import Ledger
from adept.release.options import CentralOptions, ReleaseRequest
from adept.release.records import CheckedRecords, Inputs, ReleaseOptions, find_label
from adept.rewriting.loading import load_model
from adept.rewriting.rewriter import Rewriter
from adept.synthesis.synthesizer import Synthesizer
from adept.synthesis.votes import OUTSIDE, Tally

ONE = [1, 1.0, "1", " 1 ", "1.0"]
KEY = b"k" * 32
LABELS = ("1", "réservation", "true")
MIXED = [*ONE, "réservation", unicodedata.normalize("NFD", "réservation"), "réservation ", True, "true"]


@pytest.fixture
def rewriter(tiny_run: Path) -> Rewriter:
    return Rewriter.from_pretrained(tiny_run, mechanism=SqrtNLaplace(epsilon=8.0))


@pytest.fixture
def coded(topic_run: Path) -> Rewriter:
    return Rewriter.from_pretrained(topic_run, mechanism=LearnedCodebook(epsilon=8.0))


def opened(model_dir: Path, **options: Any) -> tuple[Rewriter, ReleaseOptions]:
    return open_release(ReleaseRequest(model_dir=str(model_dir), **options))


def labelled(path: Path, labels: list[Any]) -> str:
    path.write_text("".join(json.dumps({"text": f"a fare {i}", "intent": v}) + "\n" for i, v in enumerate(labels)))
    return str(path)


def written(path: Path) -> Iterator[Record]:
    return read_records(str(path))


def test_copied_labels_are_written_as_their_text(rewriter: Rewriter, tmp_path: Path) -> None:
    release_file(rewriter, labelled(tmp_path / "in.jsonl", MIXED), f"{tmp_path}/out.jsonl", options=ReleaseOptions())
    assert [row["intent"] for row in written(tmp_path / "out.jsonl")] == ["1"] * 5 + ["réservation"] * 3 + ["true"] * 2


def test_spellings_of_a_label_are_one_group_of_shuffled_records(coded: Rewriter, tmp_path: Path) -> None:
    """Groups by spelling would be of one record each; by text the smallest holds two."""
    statement = preview(
        *prepare_file(
            coded, labelled(tmp_path / "in.jsonl", MIXED), f"{tmp_path}/out.jsonl", options=ReleaseOptions(shuffle=True)
        )
    )
    assert statement.shuffled is not None
    assert statement.shuffled.smallest == 2


def test_another_spelling_of_a_label_is_the_same_row_for_the_ledger(rewriter: Rewriter, tmp_path: Path) -> None:
    for number, label in enumerate(ONE):
        given, out = labelled(tmp_path / f"{number}.jsonl", [label]), f"{tmp_path}/out{number}.jsonl"
        with closing(Ledger(f"{tmp_path}/ledger.db", key=KEY)) as ledger:
            if number == 0:
                release_file(rewriter, given, out, options=ReleaseOptions(), key=KEY, ledger=ledger)
            else:
                with pytest.raises(ReleaseRefused):
                    release_file(rewriter, given, out, options=ReleaseOptions(), key=KEY, ledger=ledger)


@pytest.mark.parametrize("shuffle", [False, True])
def test_randomised_labels_are_released_whatever_spells_them(
    coded: Rewriter, topic_run: Path, tmp_path: Path, shuffle: bool
) -> None:
    budget = {"epsilon": 8.0, "label_epsilon": 600.0, "label_set": [1, "réservation", True]}
    _, options = opened(topic_run, labels="randomized_response", shuffle=shuffle, **budget)
    assert options.label_response is not None
    assert options.label_response.labels == LABELS
    release_file(coded, labelled(tmp_path / "in.jsonl", MIXED), f"{tmp_path}/out.jsonl", options=options)
    found = sorted(row["intent"] for row in written(tmp_path / "out.jsonl"))
    assert found == ["1"] * 5 + ["réservation"] * 3 + ["true"] * 2


def test_labels_of_one_symbol_with_the_text_are_released_whatever_spells_them(topic_run: Path, tmp_path: Path) -> None:
    made, _ = opened(topic_run, labels="joint_response", epsilon=600.0, label_set=[1.0, "réservation ", True])
    given, options = labelled(tmp_path / "in.jsonl", MIXED), ReleaseOptions(labels="joint_response")
    release_file(made, given, f"{tmp_path}/out.jsonl", options=options)
    found = [row["intent"] for row in written(tmp_path / "out.jsonl")]
    assert found == ["1"] * 5 + ["réservation"] * 3 + ["true"] * 2


@pytest.mark.parametrize(("label", "said"), [(None, "has no label"), ("", "has no label"), (0.5, "got float")])
def test_a_label_without_text_is_refused_before_anything_is_written(
    rewriter: Rewriter, tmp_path: Path, label: Any, said: str
) -> None:
    given = labelled(tmp_path / "in.jsonl", ["a", label])
    with pytest.raises(DataError, match=said) as caught:
        release_file(rewriter, given, f"{tmp_path}/out.jsonl", options=ReleaseOptions())
    assert "record 2" in str(caught.value)
    assert [path.name for path in tmp_path.iterdir()] == ["in.jsonl"]
    release_file(rewriter, given, f"{tmp_path}/out.jsonl", options=ReleaseOptions(labels="drop"))


def test_a_response_over_labels_that_are_no_texts_is_refused(topic_run: Path, tmp_path: Path) -> None:
    response = RandomizedResponse(epsilon=1.0, labels=("a", "b "))
    with pytest.raises(ConfigurationError, match="pass them through label_set_of"):
        ReleaseOptions(labels="randomized_response", label_response=response)
    joint = JointResponse.of(LearnedCodebook(epsilon=8.0), ("a", "b "))
    made = Rewriter(*load_model(topic_run), mechanism=joint)
    given = labelled(tmp_path / "in.jsonl", ["a", "b"])
    with pytest.raises(ConfigurationError, match="pass them through label_set_of"):
        preview(*prepare_file(made, given, f"{tmp_path}/out.jsonl", options=ReleaseOptions(labels="joint_response")))


def test_a_rewriter_refuses_two_labels_that_become_one(topic_run: Path) -> None:
    with pytest.raises(ConfigurationError, match="entries 1 and 3 are both '1'"):
        opened(topic_run, labels="joint_response", epsilon=8.0, label_set=["1", "2", " 1 "])


def test_labels_vote_whatever_spells_them_and_others_have_no_vote(topic_run: Path, tmp_path: Path) -> None:
    made = Synthesizer(*load_model(topic_run), votes=Votes(epsilon=2.0), label_set=[1, "réservation", True], cells=4)  # type: ignore[list-item]
    told: list[Tally] = []
    given = labelled(tmp_path / "in.jsonl", [*MIXED, None, 0.5, ["1"], "", "2"])
    preview(*prepare_synthesis(made, given, f"{tmp_path}/out.jsonl", options=CentralOptions()), told.append)
    assert told[0].counts.reshape(4, 3).sum(axis=0).tolist() == [5, 3, 2]
    assert told[0].uncounted[OUTSIDE] == 5


@pytest.mark.parametrize("values", [[1, 2, 1], [1.0, 2.0, 1.0]])
@pytest.mark.parametrize("output", ["out.parquet", "out.jsonl"])
def test_labels_are_integers_where_the_schema_says_that_the_whole_column_is(
    rewriter: Rewriter, tmp_path: Path, values: list[Any], output: str
) -> None:
    import pyarrow
    from pyarrow import parquet

    table = pyarrow.table({"text": ["a fare", "a flight", "a meal"], "intent": values})
    parquet.write_table(table, tmp_path / "in.parquet")
    release_file(rewriter, f"{tmp_path}/in.parquet", f"{tmp_path}/{output}", options=ReleaseOptions())
    found = [row["intent"] for row in written(tmp_path / output)]
    assert found == ([1, 2, 1] if isinstance(values[0], int) else ["1", "2", "1"])


def test_drawn_labels_are_integers_where_schema_and_label_set_say_so(rewriter: Rewriter, tmp_path: Path) -> None:
    import pyarrow
    from pyarrow import parquet

    parquet.write_table(pyarrow.table({"text": ["a", "b"], "intent": [1, 2]}), tmp_path / "in.parquet")
    for labels, kind in ((["1", "2"], int), (["1", "2", "other"], str)):
        response = RandomizedResponse(epsilon=1, labels=label_set_of(labels))
        options = ReleaseOptions(labels="randomized_response", label_response=response)
        out = tmp_path / f"{kind.__name__}.parquet"
        release_file(rewriter, f"{tmp_path}/in.parquet", str(out), options=options)
        assert {type(row["intent"]) for row in written(out)} == {kind}


@pytest.mark.parametrize("output", ["out.parquet", "out.jsonl"])
@pytest.mark.parametrize(
    ("kind", "public", "written_as"),
    [
        ("int8", ["1", "2", "300"], str),
        ("uint64", ["1", "2", "-3"], str),
        ("int64", ["1", "2", "007"], str),
        ("int8", ["1", "2"], int),
    ],
)
def test_a_public_label_that_the_column_cannot_hold_makes_all_labels_text(
    rewriter: Rewriter, tmp_path: Path, kind: str, public: list[str], written_as: type, output: str
) -> None:
    """Decided before anything is drawn, and alike in every format, so that no label that is drawn ends the release."""
    import pyarrow
    from pyarrow import parquet

    table = pyarrow.table({"text": ["a"] * 40, "intent": pyarrow.array([1, 2] * 20, kind)})
    parquet.write_table(table, tmp_path / "in.parquet")
    response = RandomizedResponse(epsilon=0.1, labels=label_set_of(public))
    options = ReleaseOptions(labels="randomized_response", label_response=response)
    release_file(rewriter, f"{tmp_path}/in.parquet", f"{tmp_path}/{output}", options=options)
    found = [row["intent"] for row in written(tmp_path / output)]
    assert {type(label) for label in found} == {written_as}
    assert {str(label) for label in found} <= set(public)


@pytest.mark.parametrize("output", ["out.parquet", "out.jsonl"])
def test_labels_from_a_pipe_are_integers_as_those_of_a_file(
    rewriter: Rewriter, tmp_path: Path, output: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    import pyarrow
    from pyarrow import parquet

    parquet.write_table(pyarrow.table({"text": ["a", "b"], "intent": [1, 2]}), tmp_path / "in.parquet")
    monkeypatch.setattr(Inputs, "repeatable", False)
    release_file(rewriter, f"{tmp_path}/in.parquet", f"{tmp_path}/{output}", options=ReleaseOptions())
    assert [row["intent"] for row in written(tmp_path / output)] == [1, 2]


def test_randomised_labels_are_never_left_out_because_the_first_record_has_none(
    rewriter: Rewriter, tmp_path: Path
) -> None:
    """One record, whose label is private, must not decide if labels are written."""
    (tmp_path / "in.jsonl").write_text('{"text": "a fare"}\n{"text": "a fare", "intent": "1"}\n')
    options = ReleaseOptions(
        labels="randomized_response", label_response=RandomizedResponse(epsilon=1.0, labels=LABELS)
    )
    with pytest.raises(ConfigurationError, match="needs labels in the input"):
        release_file(rewriter, f"{tmp_path}/in.jsonl", f"{tmp_path}/out.jsonl", options=options)


UNLABELLED, LABELLED = {"text": "a fare"}, {"text": "a meal", "intent": "meal"}


def write_parts(directory: Path, ending: str, parts: list[list[Record]]) -> str:
    """Write records into files of a directory, and return the only file's name, or the directory's pattern."""
    directory.mkdir()
    for number, part in enumerate(parts):
        place, columns = directory / f"{number}.{ending}", list(part[0])
        lines = "".join(json.dumps(record) + "\n" for record in part)
        if ending == "parquet":
            parquet.write_table(pyarrow.table({name: [record.get(name) for record in part] for name in columns}), place)
        elif ending == "csv":
            place.write_text("".join(",".join(map(str, row)) + "\n" for row in [columns, *(r.values() for r in part)]))
        elif ending == "json":
            place.write_text(json.dumps(part))
        else:
            place.write_bytes(gzip.compress(lines.encode()) if ending.endswith("gz") else lines.encode())
    return str(next(directory.iterdir()) if len(parts) == 1 else directory / "*")


@pytest.mark.parametrize(
    ("ending", "parts"),
    [
        ("jsonl", [[UNLABELLED, LABELLED]]),
        ("jsonl", [[UNLABELLED] * 300 + [LABELLED]]),
        ("jsonl", [[{"text": "a fare", "tags": {"intent": "x"}}, LABELLED]]),
        ("json", [[UNLABELLED, LABELLED]]),
        ("jsonl.gz", [[UNLABELLED, LABELLED]]),
        ("jsonl", [[UNLABELLED], [LABELLED]]),
        ("csv", [[UNLABELLED], [LABELLED]]),
        ("parquet", [[UNLABELLED], [LABELLED]]),
        ("jsonl", [[UNLABELLED, {"text": "a meal", "Intent ": "meal"}]]),
        ("json", [[UNLABELLED, {"text": "a meal", "intent": None, "INTENT": "meal"}]]),
        ("csv", [[UNLABELLED], [{"text": "a meal", "Intent": "meal"}]]),
        ("parquet", [[UNLABELLED], [{"text": "a meal", "Intent": "meal"}]]),
    ],
)
def test_labels_that_record_1_lacks_are_refused_before_a_draw_and_never_lost(
    rewriter: Rewriter, tmp_path: Path, ending: str, parts: list[list[Record]]
) -> None:
    source, records = write_parts(tmp_path / "in", ending, parts), sum(map(len, parts))
    place = rewriter, source, str(tmp_path / "out.jsonl")
    number = rf"1 of .+/1\.{ending}" if len(parts) > 1 else records
    late = rf"record {number} has a label in column '(?i:intent) ?', which record 1 lacks: give each record a label"
    for attempt in (release_file, lambda *_, options: preview(*prepare_file(*place, options=options))):
        with pytest.raises(DataError, match=late):
            attempt(*place, options=ReleaseOptions())
    with pytest.raises(DataError, match=r"no column named 'intent' in (record 1|.*0\.(csv|parquet))"):
        release_file(*place, options=ReleaseOptions(label_column="intent"))
    assert [path.name for path in tmp_path.iterdir()] == ["in"]
    release_file(*place, options=ReleaseOptions(labels="drop"))
    release_file(rewriter, source, str(tmp_path / "out.txt"), options=ReleaseOptions())


@pytest.mark.parametrize("first", [{"text": "a fare", "intent": None}, {"text": "a fare", "intent": " "}])
@pytest.mark.parametrize("ending", ["jsonl", "csv", "parquet"])
def test_an_empty_label_in_record_1_is_refused_and_decides_no_type(
    rewriter: Rewriter, tmp_path: Path, ending: str, first: Record
) -> None:
    first = {**first, "intent": ""} if ending == "csv" else first
    source = write_parts(tmp_path / "in", ending, [[first], [LABELLED]])
    with pytest.raises(
        DataError, match=r"record 1 of .+/0\.\w+ has no label in column 'intent': give such records one"
    ):
        release_file(rewriter, source, f"{tmp_path}/out.{ending}", options=ReleaseOptions())


@pytest.mark.parametrize("ending", ["jsonl", "json", "csv", "parquet"])
def test_a_label_that_a_later_record_lacks_is_refused_with_its_number(
    rewriter: Rewriter, tmp_path: Path, ending: str
) -> None:
    source = write_parts(tmp_path / "in", ending, [[LABELLED], [UNLABELLED]])
    with pytest.raises(
        DataError, match=r"record 1 of .+/1\.\w+ has no label in column 'intent': give such records one, for example"
    ):
        release_file(rewriter, source, f"{tmp_path}/out.{ending}", options=ReleaseOptions())


def test_records_without_any_label_are_released_as_before(rewriter: Rewriter, tmp_path: Path) -> None:
    source = write_parts(tmp_path / "in", "jsonl", [[UNLABELLED, {"text": "a meal", "intent": None}]])
    assert release_file(rewriter, source, f"{tmp_path}/out.jsonl", options=ReleaseOptions()).labels is None
    assert [list(row) for row in written(tmp_path / "out.jsonl")] == [["text"]] * 2


def test_a_pipe_whose_record_1_lacks_the_label_ends_with_an_error(rewriter: Rewriter, tmp_path: Path) -> None:
    source = tmp_path / "in.jsonl"
    os.mkfifo(source)
    lines = "".join(json.dumps(record) + "\n" for record in [UNLABELLED, LABELLED])
    writer = Thread(target=source.write_text, args=(lines,))
    writer.start()
    with pytest.raises(DataError, match="record 2 has a label"):
        release_file(rewriter, str(source), f"{tmp_path}/out.jsonl", options=ReleaseOptions())
    writer.join()
    assert [path.name for path in tmp_path.iterdir()] == ["in.jsonl"]


def test_one_record_without_a_column_changes_no_vote_of_another(topic_run: Path, tmp_path: Path) -> None:
    synthesizer = Synthesizer.from_pretrained(topic_run, cells=2, label_set=["meal", "fare"])
    for number, first in enumerate([UNLABELLED, {"intent": "meal"}, {}, {"text": 3, "intent": {"a": 1}}]):
        source, notes = (
            write_parts(tmp_path / str(number), "jsonl", [[first or {"x": 1}, *[LABELLED] * 5]]),
            list[Tally](),
        )
        preview(*prepare_synthesis(synthesizer, source, f"{tmp_path}/o.jsonl", options=CentralOptions()), notes.append)
        assert int(notes[0].counts.sum()) == 5


@pytest.mark.parametrize(("first", "second"), [("other", "Intent"), ("Intent", "intent")])
def test_a_model_that_writes_labels_loses_none_that_is_spelled_otherwise(first: str, second: str) -> None:
    records: list[Record] = [{"text": "a fare", first: "x"}, {"text": "a meal", second: "meal"}]
    options = ReleaseOptions(labels="joint")
    column = find_label(records[0], options)
    with pytest.raises(
        DataError, match=rf"record [12]( of .+)? has a label in column '{second}', which record 1 lacks"
    ):
        list(CheckedRecords(records, column, options))
    assert [record[column or ""] for record in CheckedRecords([records[0], UNLABELLED], column, options)][1] is None
