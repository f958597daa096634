"""``adept synthesize`` as its user meets it: what it prints and where, what it refuses, and what it says of tiny budgets."""

import json
from pathlib import Path

import pytest
from tiny import Run

LABELS = "label_set=[fare,flight]"


@pytest.fixture
def given(tmp_path: Path) -> Path:
    path = tmp_path / "in.jsonl"
    rows = [{"text": f"a fare {i % 5}", "intent": "fare" if i % 4 else "elsewhere", "user": f"u{i}"} for i in range(40)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_a_line_a_fact_says_what_was_written_and_the_curator_learns_the_rest(
    adept_here: Run, topic_run: Path, given: Path, tmp_path: Path
) -> None:
    command = ["synthesize", f"model_dir={topic_run}", f"input={given}", LABELS, "epsilon=20", "rows=12"]
    done = adept_here(*command, f"output={tmp_path}/out.csv", "person_column=user", "max_records_per_person=3")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        f"12 synthetic records: {tmp_path}/out.csv",
        "guaranteed: epsilon 20 for adding or removing a person, of whom at most 3 records counted; labels private; "
        "central: whoever holds the file must be trusted",
        "the odds of any output change at most 490 million-fold",
        f"the whole statement: {tmp_path}/out.csv.privacy.json",
    ]
    assert "not part of the release: 40 rows read, 30 counted: 10 have a label outside label_set" in done.stderr
    assert adept_here("verify", f"{tmp_path}/out.csv.privacy.json").returncode == 0


def test_a_dry_run_releases_nothing(adept_here: Run, topic_run: Path, given: Path, tmp_path: Path) -> None:
    command = ["synthesize", f"model_dir={topic_run}", f"input={given}", "epsilon=1", "labels=drop", "dry_run=true"]
    done = adept_here(*command, f"output={tmp_path}/out.jsonl")
    assert done.returncode == 0, done.stderr
    assert "nothing was released" in done.stdout
    assert "The released counts are 1-DP" in done.stdout
    assert [path.name for path in tmp_path.iterdir()] == ["in.jsonl"]


def test_a_tiny_budget_is_told_from_the_noisy_counts(
    adept_here: Run, topic_run: Path, given: Path, tmp_path: Path
) -> None:
    """No count of 30 stands out of noise of scale 1000 but in one run of twenty, which says nothing here."""
    command = ["synthesize", f"model_dir={topic_run}", f"input={given}", LABELS, "rows=3"]
    said = []
    for number in range(8):
        done = adept_here(*command, "epsilon=.001", f"output={tmp_path}/out{number}.jsonl")
        assert done.returncode == 0, done.stderr
        said.append("at this budget next to nothing can be said" in done.stdout)
    assert any(said)  # all eight standing out has a probability of 4e-11


def test_records_go_from_standard_input_to_standard_output(
    adept: Run, topic_run: Path, given: Path, tmp_path: Path
) -> None:
    command = [
        "synthesize",
        f"model_dir={topic_run}",
        "input=-",
        "output=-",
        "format=jsonl",
        "epsilon=1",
        LABELS,
        "rows=5",
    ]
    done = adept(*command, f"statement={tmp_path}/s.json", input=given.read_text())
    assert done.returncode == 0, done.stderr
    assert [set(json.loads(line)) for line in done.stdout.splitlines()] == [{"text", "intent"}] * 5
    assert "5 synthetic records" in done.stderr
    assert json.loads((tmp_path / "s.json").read_text())["records"] == 5


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["epsilon=1"], "label_set must name the public labels"),
        (
            ["epsilon=1", LABELS, "labels=drop"],
            "label_set must name the public labels, or be left out with labels=drop",
        ),
        (["epsilon=1", "label_set=[fare]"], "label_set must hold at least two labels"),
        ([LABELS], "epsilon must be given"),
        (["epsilon=0", LABELS], "epsilon must be"),
        (["epsilon=1", LABELS, "cells=1000000000"], "cells must be an integer between 1 and"),
        (["epsilon=1", LABELS, "neighbours=any"], "neighbours must be one of add_or_remove, replace"),
        (["epsilon=1", LABELS, "person_column=user", "max_records_per_person=0"], "must be at least 1, got 0"),
        (["epsilon=1", LABELS, "max_records_per_person=2"], "must be given together"),
        (["epsilon=1", LABELS, "person_column=user"], "must be given together"),
    ],
)
def test_bad_input_is_refused_in_one_line(
    adept_here: Run, topic_run: Path, given: Path, tmp_path: Path, options: list[str], message: str
) -> None:
    done = adept_here(
        "synthesize", f"model_dir={topic_run}", f"input={given}", f"output={tmp_path}/out.jsonl", *options
    )
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert message in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["in.jsonl"]
