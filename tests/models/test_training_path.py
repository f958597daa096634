"""The path of a training run stays short: whoever asks what `train.py mechanism=l1` does reads few files."""

import subprocess
import sys

import pytest

pytestmark = pytest.mark.slow
MAX_FILES, MAX_LINES = 10, 1930
TRACE = """
import inspect, sys, threading
from pathlib import Path

import adept
from adept.__main__ import main

root, ran = Path(adept.__file__).parent, set()

def note(frame, event, argument):
    code = frame.f_code
    if code.co_flags & inspect.CO_NEWLOCALS and not code.co_name.startswith("<"):  # neither modules nor bodies of classes
        ran.add(code.co_filename)

threading.settrace(note)
sys.settrace(note)
status = main()
sys.settrace(None)
for path in sorted(map(Path, ran)):
    if path.is_relative_to(root):
        print("ran", path.relative_to(root).as_posix(), len(path.read_text("utf-8").splitlines()))
raise SystemExit(status)
"""


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> dict[str, int]:
    """The files in which a function runs, and their lines, without command line, data, errors and pages."""
    asked = [
        "mechanism=l1", "data.sizes=[300,50,50]", "trainer.max_epochs=1", f"output_dir={tmp_path_factory.mktemp('run') / 'run'}",
    ]  # fmt: skip
    done = subprocess.run([sys.executable, "-c", TRACE, "train", *asked], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    ran = [line.split()[1:] for line in done.stdout.splitlines() if line.startswith("ran ")]
    others = ("__main__.py", "cli/", "data/", "errors.py", "pages.py")  # pages: the picture of the losses
    return {name: int(lines) for name, lines in ran if not name.startswith(others)}


def test_few_files_run_in_training_for_l1(path: dict[str, int]) -> None:
    assert len(path) <= MAX_FILES, path


def test_their_lines_are_read_in_an_hour(path: dict[str, int]) -> None:
    assert sum(path.values()) <= MAX_LINES, path


def test_the_core_runs_and_the_codec_does_not(path: dict[str, int]) -> None:
    """Otherwise nothing would be measured."""
    assert {"models/lstm_autoencoder.py", "models/training.py"} <= path.keys()
    assert not [name for name in path if name.startswith("models/sentences")]
