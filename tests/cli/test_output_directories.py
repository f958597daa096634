"""Directories of results: one run at a time writes into them, and what was computed is not lost with them."""

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from audit.asking import make_cheap
from tiny import Run

from adept.data import writing
from adept.errors import DataError

ROWS = "".join(
    json.dumps({"text": f"{word} {n}", "intent": word}) + "\n" for n in range(9) for word in ("play", "stop")
)


@pytest.fixture
def lines(tmp_path: Path, tiny_run: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, list[str]]:
    """Small runs of each command that leaves a directory."""
    make_cheap(monkeypatch)
    (tmp_path / "rows.jsonl").write_text(ROWS)
    (tmp_path / "test.jsonl").write_text(ROWS.replace("play ", "play now ").replace("stop ", "stop now "))
    return {
        "audit": ["mechanism=l1", "epsilon=1", "dim=3", "trials=200"],
        "attack": [f"model_dir={tiny_run}", "mechanism=original", "epsilon=4", "records=9", "data.sizes=[40,9,20]"],
        "evaluate": [f"train={tmp_path}/rows.jsonl", f"test={tmp_path}/test.jsonl"],
        "study": ["study=limits"],
        "plan": ["label_set=[a,b]", "expected_rows=100"],
        "compare": ["data.sizes=[40,9,20]"],
        "train": ["data.sizes=[40,9,20]"],
    }


@contextmanager
def used(directory: Path) -> Iterator[None]:
    """Another process works in a directory: here by a handle of which adept does not know."""
    directory.mkdir()
    handle = os.open(directory, os.O_RDONLY)
    fcntl.flock(handle, fcntl.LOCK_EX)
    yield
    os.close(handle)


@pytest.mark.parametrize("command", ["audit", "attack", "evaluate", "study", "plan", "compare", "train"])
def test_a_directory_in_which_another_run_works_is_refused(
    adept_here: Run, lines: dict[str, list[str]], tmp_path: Path, command: str
) -> None:
    with used(tmp_path / "out"):
        done = adept_here(command, *lines[command], f"output_dir={tmp_path}/out")
    assert done.returncode == 2
    assert done.stderr.startswith("adept: output_dir must be a directory that no other run uses, got "), done.stderr
    assert list((tmp_path / "out").iterdir()) == []


def test_a_run_or_a_sweep_that_goes_on_is_not_continued_beside_it(adept_here: Run, tmp_path: Path) -> None:
    with used(tmp_path / "out"):
        resumed = adept_here("train", f"resume_from={tmp_path}/out")
        swept = adept_here("train", "-m", "seed=0,1", f"sweep_dir={tmp_path}/out")
    for done, option in ((resumed, "resume_from"), (swept, "sweep_dir")):
        assert (done.returncode, f"{option} must be a directory that no other" in done.stderr) == (2, True), done.stderr


def test_a_process_may_use_its_directory_again_and_leaves_the_last_one(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    writing.hold_directory(tmp_path / "a")
    writing.hold_directory(tmp_path / "a", "resume_from")
    writing.hold_directory(tmp_path / "b")
    handle = os.open(tmp_path / "a", os.O_RDONLY)
    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    os.close(handle)


@pytest.mark.parametrize(
    ("command", "shown"),
    [
        ("audit", "No violation found, which is no proof of the claim of l1"),
        ("attack", "No violation found, which is no proof. Of "),
        ("evaluate", "accuracy 1.000"),
        ("study", "Mathematical bounds"),
    ],
)
def test_results_are_shown_also_if_no_file_can_be_written(
    adept_here: Run,
    lines: dict[str, list[str]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    command: str,
    shown: str,
) -> None:
    def full(path: Path, *_: object, **__: object) -> None:
        raise DataError(f"cannot write {path}: No space left on device")

    monkeypatch.setattr(writing, "write_whole", full)
    done = adept_here(command, *lines[command], f"output_dir={tmp_path}/full")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert f"adept: cannot write {tmp_path}/full/" in done.stderr
    assert done.stdout.startswith(shown), done.stdout
