"""``adept adapt`` leaves a model directory that rewrites, and says where its examples come from."""

import json
from pathlib import Path

import pytest
from tiny import Run


@pytest.fixture
def examples(tmp_path: Path) -> Path:
    path = tmp_path / "tickets.csv"
    rows = [
        f"my {thing} is {state}" for thing in ("router", "bill", "card") for state in ("broken", "late", "lost", "new")
    ]
    path.write_text("text\n" + "".join(f"{row}\n" for row in rows))
    return path


def test_an_adapted_model_rewrites_and_tells_its_origin(
    topic_run: Path, examples: Path, tmp_path: Path, adept_here: Run
) -> None:
    adapt = ["adapt", f"model_dir={topic_run}", f"examples={examples}", "public=true"]
    done = adept_here(*adapt, f"output_dir={tmp_path / 'adapted'}")
    assert (done.returncode, "word for word" in done.stdout) == (0, True), done.stderr
    (tmp_path / "in.txt").write_text("my router is so broken\n")
    rewrite = ["rewrite", f"model_dir={tmp_path / 'adapted'}", f"input={tmp_path / 'in.txt'}", "epsilon=40"]
    done = adept_here(*rewrite, "mechanism=learned_codebook", f"output={tmp_path / 'out.txt'}")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out.txt").read_text().startswith("my ")
    stated = json.loads((tmp_path / "out.txt.privacy.json").read_text())
    assert stated["training_data"]["name"] == "air_travel, adapted to 12 examples of tickets.csv"
    assert "12 of its texts are examples, declared public by whoever adapted the model" in stated["statement"]
    assert "12 examples of tickets.csv" in (tmp_path / "adapted" / "model" / "README.md").read_text()


@pytest.mark.parametrize(
    ("override", "said"),
    [
        ("trainer.max_epochs=-1", "at least 0"),
        ("public=false", "public must be true to adapt a model, got false: the examples will stand in the model"),
        ("examples=nowhere.txt", "nowhere.txt"),
        ("text_column=body", "column 'body' is missing"),
    ],
)
def test_what_the_user_can_mend_is_one_line(
    topic_run: Path, examples: Path, tmp_path: Path, adept_here: Run, override: str, said: str
) -> None:
    given = [
        "adapt",
        f"model_dir={topic_run}",
        f"examples={examples}",
        "public=true",
        f"output_dir={tmp_path / 'new'}",
        override,
    ]
    done = adept_here(*given)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert said in done.stderr
