"""Local releases: only requested parts of records reach the output, and the statement says what is guaranteed."""

import hashlib
import json
import math
import os
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tiny import tiny_config

from adept.cli import train
from adept.data.reading import read_records
from adept.errors import ConfigurationError, DataError, ReleaseRefused
from adept.mechanisms import (
    Description,
    Identity,
    JointResponse,
    LearnedCodebook,
    OriginalLaplace,
    RandomizedResponse,
    SqrtNLaplace,
)
from adept.models.config import TrainingData
from adept.release.flow.local import release_file
from adept.release.ledger.claims import Ledger
from adept.release.records import ReleaseOptions
from adept.release.statement import statement as statements
from adept.rewriting.rewriter import Rewriter, check_release


@pytest.fixture
def rewriter(tiny_run: Path) -> Rewriter:
    return Rewriter.from_pretrained(tiny_run, mechanism=SqrtNLaplace(epsilon=8.0))


RESPONSE = RandomizedResponse(epsilon=1.0, labels=("intent_0", "intent_1"))
UNREADABLE = RandomizedResponse(epsilon=1.0, labels=("cafe\u0301", "bar"))  # no record is read with the first: NFC


def rows(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def test_only_text_and_label_reach_the_output_unasked(rewriter: Rewriter, labelled_file: Path, tmp_path: Path) -> None:
    output = tmp_path / "out.jsonl"
    release_file(rewriter, str(labelled_file), str(output), options=ReleaseOptions())
    assert [set(row) for row in rows(output)] == [{"text", "intent"}] * 5
    assert "SECRET" not in output.read_text()
    assert [row["intent"] for row in rows(output)] == [f"intent_{i % 2}" for i in range(5)]


def test_kept_columns_are_copied_and_named_as_not_private(
    rewriter: Rewriter, labelled_file: Path, tmp_path: Path
) -> None:
    output = tmp_path / "out.jsonl"
    statement = release_file(
        rewriter, str(labelled_file), str(output), options=ReleaseOptions(keep_columns=["slots"], labels="drop")
    )
    assert [set(row) for row in rows(output)] == [{"text", "slots"}] * 5
    assert "slots are copied as they are: they are not private" in statement.text
    assert statement.to_json()["kept_columns"] == ["slots"]


def test_dropped_labels_leave_no_trace_and_the_guarantee_is_for_any_two_records(
    rewriter: Rewriter, labelled_file: Path, tmp_path: Path
) -> None:
    output = tmp_path / "out.jsonl"
    statement = release_file(rewriter, str(labelled_file), str(output), options=ReleaseOptions(labels="drop"))
    assert "intent" not in output.read_text()
    assert statement.to_json()["neighbours"] == "any two records"
    assert statement.to_json()["label_epsilon"] is None


def test_copied_labels_are_said_not_to_be_private(rewriter: Rewriter, labelled_file: Path, tmp_path: Path) -> None:
    statement = release_file(rewriter, str(labelled_file), str(tmp_path / "out.jsonl"), options=ReleaseOptions())
    described = statement.to_json()
    assert "labels are copied and not private" in described["statement"]
    assert described["neighbours"] == "any two records with the same label"
    assert described["label_epsilon"] == "inf"


def test_the_statement_beside_the_output_has_every_field_of_the_design(
    rewriter: Rewriter, labelled_file: Path, tmp_path: Path
) -> None:
    release_file(rewriter, str(labelled_file), str(tmp_path / "out.jsonl"), options=ReleaseOptions())
    statement = json.loads((tmp_path / "out.jsonl.privacy.json").read_text())
    fields = (
        "mechanism claimed_epsilon epsilon text_epsilon label_epsilon delta holds exact sensitivity scale dim clip clip_norm "
        "unit neighbours records labels kept_columns composition training_data simulated versions statement top size "
        "codebook_sha256 label_set label_keep_probability model_sha256 output_sha256 date not_hidden private_model"
    )
    assert set(statement) >= {*fields.split(" ")}
    assert statement["output_sha256"] == hashlib.sha256((tmp_path / "out.jsonl").read_bytes()).hexdigest()
    assert statement["date"].endswith("+00:00")
    assert (statement["epsilon"], statement["claimed_epsilon"], statement["records"]) == (8.0, 8.0, 5)
    assert (statement["mechanism"], statement["dim"], statement["holds"], statement["exact"]) == (
        "sqrt_n",
        8,
        True,
        True,
    )


def test_the_originals_statement_gives_the_true_epsilon_beside_the_claimed_one(
    tiny_run: Path, labelled_file: Path, tmp_path: Path
) -> None:
    original = Rewriter.from_pretrained(tiny_run, mechanism=OriginalLaplace(epsilon=8.0), accept_broken_claim=True)
    release_file(original, str(labelled_file), str(tmp_path / "out.jsonl"), options=ReleaseOptions())
    statement = json.loads((tmp_path / "out.jsonl.privacy.json").read_text())
    assert statement["epsilon"] == pytest.approx(8 * 8**0.5)
    assert statement["holds"] is False
    assert "false" in statement["statement"]


def test_a_release_digests_its_weights_and_its_codebook_once(
    rewriter: Rewriter, labelled_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are read by the terms of a release that may be resumed, and by its statement."""
    calls: Counter[str] = Counter()

    def counted(name: str, digest: Callable[..., Any]) -> Callable[..., Any]:
        def digested(*given: Any, **options: Any) -> Any:
            calls[name] += 1
            return digest(*given, **options)

        return digested

    names = "model_sha256", "codebook_facts"
    for name in names:
        monkeypatch.setattr(statements, name, counted(name, getattr(statements, name)))
    place = str(labelled_file), str(tmp_path / "out.jsonl")
    with closing(Ledger(str(tmp_path / "ledger.db"), key=b"k" * 32)) as ledger:
        statement = release_file(rewriter, *place, options=ReleaseOptions(flush_every=1), key=b"k" * 32, ledger=ledger)
    assert calls == dict.fromkeys(names, 1)
    assert statement.model_sha256 == statements.model_sha256(rewriter.model)


def test_no_privacy_is_stated_as_inf(tiny_run: Path, labelled_file: Path, tmp_path: Path) -> None:
    identity = Rewriter.from_pretrained(tiny_run, mechanism=Identity(), accept_broken_claim=True)
    release_file(identity, str(labelled_file), str(tmp_path / "out.jsonl"), options=ReleaseOptions())
    assert json.loads((tmp_path / "out.jsonl.privacy.json").read_text())["epsilon"] == "inf"


@pytest.mark.parametrize("target", ["out.txt", "out.csv", "out.jsonl", "out.parquet", "out.jsonl.gz"])
def test_samples_are_numbered_rows_of_their_record(
    rewriter: Rewriter, labelled_file: Path, tmp_path: Path, target: str
) -> None:
    output = str(tmp_path / target)
    release_file(rewriter, str(labelled_file), output, options=ReleaseOptions(samples=2))
    written = list(read_records(output))
    assert len(written) == 10
    if not target.endswith(".txt"):
        assert [int(row["sample"]) for row in written] == [0, 1] * 5


def test_a_failure_half_way_leaves_nothing_behind(rewriter: Rewriter, tmp_path: Path) -> None:
    bad = tmp_path / "bad.jsonl"
    bad.write_text('{"text": "fine"}\n' * 300 + '{"utterance": "secret"}\n')
    with pytest.raises(DataError, match="record 301"):
        release_file(rewriter, str(bad), str(tmp_path / "out.jsonl"), options=ReleaseOptions())
    assert [path.name for path in tmp_path.iterdir()] == ["bad.jsonl"]


def test_an_existing_output_or_statement_is_refused_and_kept(
    rewriter: Rewriter, labelled_file: Path, tmp_path: Path
) -> None:
    for existing in ("out.jsonl", "out.jsonl.privacy.json"):
        (tmp_path / existing).write_text("mine")
        with pytest.raises(DataError, match="not overwritten"):
            release_file(rewriter, str(labelled_file), str(tmp_path / "out.jsonl"), options=ReleaseOptions())
        assert (tmp_path / existing).read_text() == "mine"
        (tmp_path / existing).unlink()


def test_missing_columns_are_named(rewriter: Rewriter, labelled_file: Path, tmp_path: Path) -> None:
    output = str(tmp_path / "out.jsonl")
    for options, column in (
        (ReleaseOptions(text_column="utterance"), "utterance"),
        (ReleaseOptions(label_column="topic"), "topic"),
        (ReleaseOptions(keep_columns=["time"]), "time"),
    ):
        with pytest.raises(DataError, match=f"no column named '{column}' in record 1"):
            release_file(rewriter, str(labelled_file), output, options=options)


def test_standard_output_needs_a_place_for_the_statement(rewriter: Rewriter, labelled_file: Path) -> None:
    with pytest.raises(DataError, match="statement="):
        release_file(rewriter, str(labelled_file), "-", options=ReleaseOptions(format="jsonl"))


def test_what_a_release_must_not_promise_is_refused_unless_that_was_accepted() -> None:
    sound, public = SqrtNLaplace(epsilon=1.0).guarantee(16), TrainingData("x", True, 1)
    check_release(sound, public)
    nothing = replace(sound, epsilon=math.inf, claimed_epsilon=math.inf)
    for guarantee, origin, flag in (
        (OriginalLaplace(epsilon=1.0).guarantee(16), public, "accept_broken_claim"),
        (nothing, public, "accept_broken_claim"),
        (replace(sound, exact=False), public, "accept_inexact"),
        (sound, TrainingData("x", False, 1), "accept_private_model"),
    ):
        with pytest.raises(ReleaseRefused, match=f"{flag}=true"):
            check_release(guarantee, origin)
        others = {"accept_broken_claim", "accept_inexact", "accept_private_model"} - {flag}
        with pytest.raises(ReleaseRefused, match=f"{flag}=true"):
            check_release(guarantee, origin, **dict.fromkeys(others, True))
        check_release(guarantee, origin, **{flag: True})


@pytest.mark.parametrize("options", [{"labels": "publish"}, {"samples": 0}])
def test_impossible_file_options_are_refused(options: dict[str, object]) -> None:
    with pytest.raises(ConfigurationError, match=next(iter(options))):
        ReleaseOptions(**options)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def joint_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny model that writes labels too."""
    directory = tmp_path_factory.mktemp("joint") / "run"
    train.run(tiny_config(directory, epochs=6, labels="joint"))
    return directory


def air_travel_file(path: Path, joint_run: Path, records: int = 60) -> list[str]:
    """Write labelled records and return their labels."""
    labels = ["flight", "airfare", "airline"] * (records // 3)
    path.write_text("".join(json.dumps({"text": "a fare", "intent": label}) + "\n" for label in labels))
    return labels


def test_joint_labels_come_from_the_latent_and_stay_in_the_public_set(joint_run: Path, tmp_path: Path) -> None:
    identity = Rewriter.from_pretrained(joint_run, mechanism=Identity(), accept_broken_claim=True)
    air_travel_file(tmp_path / "in.jsonl", joint_run)
    statement = release_file(
        identity, str(tmp_path / "in.jsonl"), str(tmp_path / "out.jsonl"), options=ReleaseOptions(labels="joint")
    )
    written = rows(tmp_path / "out.jsonl")
    assert {row["intent"] for row in written} <= set(identity.tokenizer.labels)
    assert all("LABEL" not in str(row["text"]) for row in written)
    assert "the guarantee covers both together" in statement.text
    assert (statement.to_json()["neighbours"], statement.to_json()["label_epsilon"]) == ("any two records", None)


def test_a_replayed_release_gives_the_same_label_whatever_the_record_was(
    joint_run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rewriter = Rewriter.from_pretrained(joint_run, mechanism=SqrtNLaplace(epsilon=8.0))
    frozen = rewriter.release(["a", "b"], ["flight", "meal"])
    monkeypatch.setattr(SqrtNLaplace, "privatize", lambda self, latents: frozen)
    assert rewriter.rewrite_pairs(["a", "b"], ["flight", "meal"]) == rewriter.rewrite_pairs(
        ["x y z", ""], ["meal", "city"]
    )


def test_the_label_reaches_the_latent_of_a_joint_model_and_no_other(joint_run: Path) -> None:
    rewriter = Rewriter.from_pretrained(joint_run, mechanism=Identity(), accept_broken_claim=True)
    one, other, hidden = (rewriter.encode(["a fare"], labels) for labels in (["flight"], ["meal"], None))
    assert not one.equal(other)
    assert not one.equal(hidden)


def test_joint_needs_a_model_that_writes_labels_and_labels_that_it_knows(
    rewriter: Rewriter, joint_run: Path, labelled_file: Path, tmp_path: Path
) -> None:
    with pytest.raises(ConfigurationError, match="writes no labels"):
        release_file(rewriter, str(labelled_file), str(tmp_path / "out.jsonl"), options=ReleaseOptions(labels="joint"))
    joint = Rewriter.from_pretrained(joint_run, mechanism=SqrtNLaplace(epsilon=8.0))
    with pytest.raises(ConfigurationError, match="label set") as caught:
        release_file(joint, str(labelled_file), str(tmp_path / "out.jsonl"), options=ReleaseOptions(labels="joint"))
    assert "intent_" not in str(caught.value)
    assert not (tmp_path / "out.jsonl").exists()


def test_a_description_says_no_label(joint_run: Path, tmp_path: Path) -> None:
    described = Rewriter.from_pretrained(joint_run, mechanism=Description(epsilon=8.0))
    air_travel_file(tmp_path / "in.jsonl", joint_run, records=3)
    with pytest.raises(ConfigurationError, match="labels must not be joint for mechanism=description"):
        release_file(
            described, str(tmp_path / "in.jsonl"), str(tmp_path / "o.jsonl"), options=ReleaseOptions(labels="joint")
        )


def test_a_label_of_another_type_is_refused_where_labels_may_be_missing(joint_run: Path, tmp_path: Path) -> None:
    given = tmp_path / "in.jsonl"
    air_travel_file(given, joint_run, records=3)
    given.write_text(given.read_text() + '{"text": "a fare"}\n{"text": "a fare", "intent": ["flight"]}\n')
    joint = Rewriter.from_pretrained(joint_run, mechanism=SqrtNLaplace(epsilon=8.0))
    with pytest.raises(DataError, match=r"column 'intent' must hold labels .*, got list in record 5"):
        release_file(joint, str(given), str(tmp_path / "out.jsonl"), options=ReleaseOptions(labels="joint"))


def test_joint_labels_are_written_for_text_that_has_none(joint_run: Path, tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text("flights to boston\n")
    joint = Rewriter.from_pretrained(joint_run, mechanism=SqrtNLaplace(epsilon=8.0))
    release_file(joint, str(tmp_path / "in.txt"), str(tmp_path / "out.jsonl"), options=ReleaseOptions(labels="joint"))
    assert rows(tmp_path / "out.jsonl")[0]["intent"] in joint.tokenizer.labels


def test_randomised_labels_spend_their_own_budget_and_follow_its_distribution(
    rewriter: Rewriter, tmp_path: Path
) -> None:
    # 3,000 labels kept with probability e^2 / (e^2 + 2) = .787: beyond .05 is 6.7 standard errors, below 1e-10.
    labels = air_travel_file(tmp_path / "in.jsonl", tmp_path, records=3000)
    response = RandomizedResponse(epsilon=2.0, labels=("flight", "airfare", "airline"))
    options = ReleaseOptions(labels="randomized_response", label_response=response)
    statement = release_file(
        rewriter, str(tmp_path / "in.jsonl"), str(tmp_path / "out.jsonl"), options=options
    ).to_json()
    kept = sum(row["intent"] == label for row, label in zip(rows(tmp_path / "out.jsonl"), labels, strict=True)) / 3000
    assert kept == pytest.approx(float(response.keep_probability), abs=0.05)
    assert (statement["text_epsilon"], statement["label_epsilon"], statement["epsilon"]) == (8.0, 2.0, 10.0)
    assert statement["neighbours"] == "any two records"


def test_samples_of_a_record_share_one_randomised_label(rewriter: Rewriter, tmp_path: Path) -> None:
    air_travel_file(tmp_path / "in.jsonl", tmp_path)
    response = RandomizedResponse(epsilon=0.5, labels=("flight", "airfare", "airline"))
    options = ReleaseOptions(labels="randomized_response", label_response=response, samples=4)
    release_file(rewriter, str(tmp_path / "in.jsonl"), str(tmp_path / "out.jsonl"), options=options)
    written = [row["intent"] for row in rows(tmp_path / "out.jsonl")]
    assert all(len(set(written[i : i + 4])) == 1 for i in range(0, len(written), 4))


def people_file(path: Path, counts: dict[object, int]) -> None:
    path.write_text(
        "".join(json.dumps({"text": "a", "who": who}) + "\n" for who, count in counts.items() for _ in range(count))
    )


def test_a_persons_total_is_stated_and_one_record_too_many_is_refused(rewriter: Rewriter, tmp_path: Path) -> None:
    options = ReleaseOptions(person_column="who", max_records_per_person=3)
    people_file(tmp_path / "in.jsonl", {"ann": 3, "bob": 1})
    statement = release_file(
        rewriter, str(tmp_path / "in.jsonl"), str(tmp_path / "out.jsonl"), options=options
    ).to_json()
    assert (statement["unit"], statement["person_epsilon"], statement["epsilon"]) == ("record", 24.0, 8.0)
    assert "at most 24" in statement["statement"]
    assert all(set(row) == {"text"} for row in rows(tmp_path / "out.jsonl"))
    people_file(tmp_path / "more.jsonl", {"ann": 3, "bob": 4})
    with pytest.raises(DataError, match="record 7 exceeds max_records_per_person=3") as caught:
        release_file(rewriter, str(tmp_path / "more.jsonl"), str(tmp_path / "out2.jsonl"), options=options)
    assert "bob" not in str(caught.value)
    assert not (tmp_path / "out2.jsonl").exists()


@pytest.mark.parametrize("nobody", [None, "", float("nan")])
def test_a_record_of_nobody_is_refused(rewriter: Rewriter, tmp_path: Path, nobody: object) -> None:
    people_file(tmp_path / "in.jsonl", {"ann": 1, nobody: 1})
    options = ReleaseOptions(person_column="who", max_records_per_person=3)
    with pytest.raises(DataError, match="must name a person, got nothing in record 2"):
        release_file(rewriter, str(tmp_path / "in.jsonl"), str(tmp_path / "out.jsonl"), options=options)


def test_the_card_repeats_the_statement(rewriter: Rewriter, labelled_file: Path, tmp_path: Path) -> None:
    statement = release_file(
        rewriter, str(labelled_file), str(tmp_path / "out.jsonl"), options=ReleaseOptions(card=True)
    )
    card = (tmp_path / "out.jsonl.card.md").read_text()
    assert statement.text in card
    assert rewriter.guarantee.text in card
    assert "| epsilon | 8.0 |" in card


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"labels": "randomized_response"}, "label_response"),
        (
            {"labels": "randomized_response", "label_response": UNREADABLE},
            "label_response must have labels as they are",
        ),
        ({"person_column": "who"}, "max_records_per_person"),
        ({"max_records_per_person": 2}, "person_column"),
        ({"person_column": "who", "max_records_per_person": 0}, "max_records_per_person"),
    ],
)
def test_half_given_options_are_refused(options: dict[str, object], field: str) -> None:
    with pytest.raises(ConfigurationError, match=field):
        ReleaseOptions(**options)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "options",
    [
        {"keep_columns": ["text"], "labels": "drop"},
        {"keep_columns": ["intent"], "labels": "randomized_response", "label_response": RESPONSE},
        {"keep_columns": ["intent"]},
        {"label_column": "text"},
        {"keep_columns": ["slots", "slots"]},
        {"keep_columns": ["sample"], "samples": 2},
    ],
)
def test_no_column_can_stand_in_the_place_of_another(
    rewriter: Rewriter, labelled_file: Path, tmp_path: Path, options: dict[str, object]
) -> None:
    with pytest.raises(ConfigurationError, match="must all be different"):
        release_file(rewriter, str(labelled_file), str(tmp_path / "out.jsonl"), options=ReleaseOptions(**options))  # type: ignore[arg-type]
    assert not (tmp_path / "out.jsonl").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"keep_columns": ["intent"], "labels": "drop"}, "must not hold the label column"),
        ({"keep_columns": ["slots"], "labels": "drop", "label_column": "slots"}, "must not hold the label column"),
        ({"keep_columns": ["Intent"], "labels": "drop"}, "must not hold the label column"),  # whatever record 1 has
        ({"keep_columns": ["slots"], "person_column": "slots"}, "must not hold the person column"),
        ({"label_column": "slots", "person_column": "slots"}, "person_column must be a column of its own"),
        ({"person_column": "text"}, "person_column must be a column of its own"),
    ],
)
def test_neither_dropped_labels_nor_persons_can_be_kept(
    rewriter: Rewriter, labelled_file: Path, tmp_path: Path, options: dict[str, object], message: str
) -> None:
    if "person_column" in options:
        options = {**options, "max_records_per_person": 5}
    with pytest.raises(ConfigurationError, match=message):
        release_file(rewriter, str(labelled_file), str(tmp_path / "out.jsonl"), options=ReleaseOptions(**options))  # type: ignore[arg-type]
    assert not (tmp_path / "out.jsonl").exists()


def persons_of(tmp_path: Path, rewriter: Rewriter, *people: object) -> None:
    """Release one record of each person named, where everybody may have one."""
    options = ReleaseOptions(person_column="who", max_records_per_person=1)
    given = tmp_path / "in.jsonl"
    given.write_text("".join(json.dumps({"text": "a", "who": who}) + "\n" for who in people))
    (tmp_path / "out.jsonl").unlink(missing_ok=True)
    (tmp_path / "out.jsonl.privacy.json").unlink(missing_ok=True)
    release_file(rewriter, str(given), str(tmp_path / "out.jsonl"), options=options)


@pytest.mark.parametrize("other", [" 1", "1 ", "\uff11", "1\u00a0", "\u2460"])
def test_a_person_is_the_same_however_the_name_is_written(rewriter: Rewriter, tmp_path: Path, other: str) -> None:
    with pytest.raises(DataError, match="record 2 exceeds"):
        persons_of(tmp_path, rewriter, "1", other)
    persons_of(tmp_path, rewriter, "1", "2")


@pytest.mark.parametrize("people", [("1", 1), (1, "1"), (1, 1.0), (1.0, "1.0"), ("1", " 1 ")])
def test_a_number_and_its_text_are_one_person(rewriter: Rewriter, tmp_path: Path, people: tuple[object, ...]) -> None:
    with pytest.raises(DataError, match="record 2 exceeds max_records_per_person=1"):
        persons_of(tmp_path, rewriter, *people)


@pytest.mark.parametrize("nobody", [True, False, 1.5, ["a"], {"a": 1}])
def test_what_is_no_name_of_a_person_is_refused(rewriter: Rewriter, tmp_path: Path, nobody: object) -> None:
    with pytest.raises(DataError, match=f"must name a person, got {type(nobody).__name__} in record 2"):
        persons_of(tmp_path, rewriter, "ann", nobody)


@pytest.mark.parametrize("nobody", [None, "", " ", "\u3000", float("nan")])
def test_an_empty_or_missing_person_is_refused(rewriter: Rewriter, tmp_path: Path, nobody: object) -> None:
    with pytest.raises(DataError, match="must name a person"):
        persons_of(tmp_path, rewriter, "ann", nobody)


def test_a_neighbours_missing_label_does_not_touch_anothers_latent(
    joint_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rewriter = Rewriter.from_pretrained(joint_run, mechanism=SqrtNLaplace(epsilon=8.0))
    latents = []
    monkeypatch.setattr(SqrtNLaplace, "privatize", lambda self, clipped: (latents.append(clipped), clipped)[1])
    victim = '{"text": "a fare", "intent": "flight"}\n'
    for name, neighbour in (("a", '{"text": "x", "intent": "meal"}\n'), ("b", '{"text": "x"}\n')):
        (tmp_path / f"{name}.jsonl").write_text(neighbour + victim)
        release_file(
            rewriter,
            str(tmp_path / f"{name}.jsonl"),
            str(tmp_path / f"{name}.out.jsonl"),
            options=ReleaseOptions(labels="joint"),
        )
    assert latents[0][1].equal(latents[1][1])
    assert not latents[0][0].equal(latents[1][0])


def test_a_label_that_comes_late_is_no_matter_when_labels_are_dropped(rewriter: Rewriter, tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_text('{"text": "a", "intent": "x"}\n{"text": "b"}\n')
    release_file(
        rewriter, str(tmp_path / "in.jsonl"), str(tmp_path / "out.jsonl"), options=ReleaseOptions(labels="drop")
    )
    assert [set(row) for row in rows(tmp_path / "out.jsonl")] == [{"text"}, {"text"}]


def test_any_string_that_json_can_hold_is_rewritten(rewriter: Rewriter, tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_text('{"text": "half a character \\ud83d"}\n{"text": "nul \\u0000"}\n')
    statement = release_file(
        rewriter, str(tmp_path / "in.jsonl"), str(tmp_path / "out.jsonl"), options=ReleaseOptions()
    )
    assert statement.records == 2


def test_text_files_hold_no_labels_and_the_statement_knows(
    rewriter: Rewriter, labelled_file: Path, tmp_path: Path
) -> None:
    statement = release_file(rewriter, str(labelled_file), str(tmp_path / "out.txt"), options=ReleaseOptions())
    assert statement.to_json()["labels"] is None
    assert statement.neighbours == "any two records"


def test_text_files_hold_no_kept_columns_either(rewriter: Rewriter, labelled_file: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="keep_columns must be empty"):
        release_file(
            rewriter, str(labelled_file), str(tmp_path / "out.txt"), options=ReleaseOptions(keep_columns=["slots"])
        )
    assert not list(tmp_path.glob("out*"))


def test_the_statement_is_a_file_of_its_own(rewriter: Rewriter, labelled_file: Path, tmp_path: Path) -> None:
    output = str(tmp_path / "out.jsonl")
    for path, rule in ((output, "must be different files"), ("-", "must be a file of its own")):
        with pytest.raises(DataError, match=rule):
            release_file(rewriter, str(labelled_file), output, options=ReleaseOptions(statement=path))


def test_the_statement_is_there_before_the_data(
    rewriter: Rewriter, labelled_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    appeared: list[str] = []
    link = os.link
    monkeypatch.setattr(
        os, "link", lambda source, target: (appeared.append(Path(target).name), link(source, target))[1]
    )
    release_file(rewriter, str(labelled_file), str(tmp_path / "out.jsonl"), options=ReleaseOptions(card=True))
    assert appeared == ["out.jsonl.privacy.json", "out.jsonl.card.md", "out.jsonl"]


def test_the_mechanisms_fields_are_recorded(rewriter: Rewriter, labelled_file: Path, tmp_path: Path) -> None:
    statement = release_file(rewriter, str(labelled_file), str(tmp_path / "out.jsonl"), options=ReleaseOptions())
    assert statement.to_json()["mechanism_options"] == {"epsilon": 8.0, "clip_norm": 1.0}


def test_a_kept_column_that_changes_its_type_is_named_without_its_value(rewriter: Rewriter, tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_text('{"text": "a", "n": 1}\n' * 300 + '{"text": "a", "n": "my secret"}\n')
    with pytest.raises(DataError, match="column 'n' holds text and whole numbers") as caught:
        release_file(
            rewriter,
            str(tmp_path / "in.jsonl"),
            str(tmp_path / "out.parquet"),
            options=ReleaseOptions(keep_columns=["n"]),
        )
    assert "secret" not in str(caught.value)


PAIRS = ("intent_0", "intent_1", "intent_2")


@pytest.fixture
def joint_rewriter(tiny_run: Path) -> Rewriter:
    mechanism = JointResponse(mechanism=LearnedCodebook(epsilon=4.0), labels=PAIRS)
    return Rewriter.from_pretrained(tiny_run, mechanism=mechanism)


JOINT_RESPONSE = ReleaseOptions(labels="joint_response")


def test_labels_that_are_one_symbol_with_the_text_are_private_as_the_statement_says(
    joint_rewriter: Rewriter, labelled_file: Path, tmp_path: Path
) -> None:
    options, out = replace(JOINT_RESPONSE, samples=3), tmp_path / "out.jsonl"
    statement = release_file(joint_rewriter, str(labelled_file), str(out), options=options)
    labels, response = [row["intent"] for row in rows(out)], joint_rewriter.joint
    assert len(labels) == 15
    assert set(labels) <= set(PAIRS)
    assert all(len(set(labels[i : i + 3])) == 1 for i in range(0, 15, 3))
    described = statement.to_json()
    alone = (response.text_epsilon, response.label_epsilon)
    assert (described["text_epsilon"], described["label_epsilon"], described["epsilon"]) == (*alone, 4.0)
    assert (described["labels"], described["neighbours"]) == ("joint_response", "any two records")
    assert (described["size"], described["top"]) == (response.text.count, response.selection.heavy_count)
    assert (described["label_set"], described["label_keep_probability"]) == (
        list(PAIRS),
        float(response.keep_probability),
    )
    assert "Label and text were drawn as one symbol" in statement.text
    assert "As a pair they are 4-LDP (pure)" in statement.text


def test_a_joint_label_follows_the_distribution_of_its_symbol_alone(joint_rewriter: Rewriter, tmp_path: Path) -> None:
    # 3,000 labels kept with the stated probability: beyond .06 is 6.5 standard errors, below 1e-10.
    given = [{"text": f"fare {i % 7}", "intent": PAIRS[i % 3]} for i in range(3000)]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in given))
    release_file(joint_rewriter, str(tmp_path / "in.jsonl"), str(tmp_path / "out.jsonl"), options=JOINT_RESPONSE)
    written = rows(tmp_path / "out.jsonl")
    kept = sum(row["intent"] == own["intent"] for row, own in zip(written, given, strict=True)) / 3000
    assert kept == pytest.approx(float(joint_rewriter.joint.keep_probability), abs=0.06)
    frozen = joint_rewriter.release(["a", "b"], ["intent_0", "intent_1"])
    labels = [label for _, label in joint_rewriter.write(frozen, samples=2)]
    assert labels == [label for _, label in joint_rewriter.write(frozen, samples=2)]


@pytest.mark.parametrize("mechanism", [LearnedCodebook(epsilon=4.0), Description(epsilon=12.0)])
def test_a_joint_release_needs_a_label_of_the_public_set_with_every_record(
    tiny_run: Path, mechanism: LearnedCodebook | Description, tmp_path: Path
) -> None:
    joint = Rewriter.from_pretrained(tiny_run, mechanism=JointResponse(mechanism=mechanism, labels=PAIRS))
    pairs = joint.rewrite_pairs(["flights to boston", ""], ["intent_0", "intent_1"])
    assert {label for _, label in pairs} <= set(PAIRS)
    with pytest.raises(ConfigurationError, match="labels must be given with every record for labels=joint_response"):
        joint.rewrite(["flights to boston"])
    given, out = tmp_path / "in.jsonl", str(tmp_path / "out.jsonl")
    given.write_text('{"text": "a", "intent": "xanthic"}\n')
    with pytest.raises(ConfigurationError, match="another one in record 1") as caught:
        release_file(joint, str(given), out, options=JOINT_RESPONSE)
    assert "xanthic" not in str(caught.value)
    given.write_text('{"text": "a"}\n')
    with pytest.raises(ConfigurationError, match="labels=joint_response needs labels in the input, got none"):
        release_file(joint, str(given), out, options=JOINT_RESPONSE)
    with pytest.raises(ConfigurationError, match=r"joint_response for a txt output, .* write jsonl or csv"):
        release_file(joint, str(given), f"{out}.txt", options=JOINT_RESPONSE)


def test_a_joint_release_and_its_rewriter_go_together(
    rewriter: Rewriter, joint_rewriter: Rewriter, labelled_file: Path, tmp_path: Path
) -> None:
    for mine, options in ((rewriter, JOINT_RESPONSE), (joint_rewriter, ReleaseOptions(labels="drop"))):
        with pytest.raises(
            ConfigurationError, match="labels must be joint_response with a rewriter that releases text"
        ):
            release_file(mine, str(labelled_file), str(tmp_path / "out.jsonl"), options=options)


def test_a_name_that_is_no_text_has_a_card_and_a_page_too(
    rewriter: Rewriter, labelled_file: Path, tmp_path: Path
) -> None:
    odd = os.fsdecode(b"odd\xff")
    options = ReleaseOptions(card=True, report=True, purpose=odd)
    release_file(rewriter, str(labelled_file), f"{tmp_path}/{odd}.jsonl", options=options)
    page = (tmp_path / f"{odd}.jsonl.report.html").read_text("utf-8")
    assert page.count(r"odd\udcff") >= 3
    assert "# odd?.jsonl" in (tmp_path / f"{odd}.jsonl.card.md").read_text("utf-8")
