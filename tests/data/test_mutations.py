"""Whatever a file holds, it is read, used or refused in one line, within a limit of memory."""

import subprocess
import sys
from pathlib import Path

import mutations
import pytest
from records_used import Uses
from tiny import tiny_config

from adept.cli import train


@pytest.fixture(scope="session")
def labelling_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny model that writes labels too."""
    directory = tmp_path_factory.mktemp("labelling") / "run"
    train.run(tiny_config(directory, labels="joint"))
    return directory


@pytest.mark.parametrize("name", mutations.NAMES)
def test_damaged_files_are_read_or_refused_in_one_line(tmp_path: Path, name: str) -> None:
    outcomes = []
    for _, content in mutations.mutations(name, 0, 100):
        (tmp_path / name).write_bytes(content)
        outcomes.append(mutations.attempt(tmp_path / name, tmp_path / "out"))
    assert any(outcomes)
    assert not all(outcomes)


@pytest.mark.parametrize("name", mutations.NAMES)
def test_damaged_files_with_values_of_any_kind_are_used_or_refused_in_one_line(
    labelling_model: Path, tmp_path: Path, name: str
) -> None:
    uses, refused = Uses(labelling_model), []
    for number, content in mutations.mutations(name, 0, 30):
        (tmp_path / name).write_bytes(content)
        refused.append(uses.attempt(tmp_path / name, tmp_path, number))
    assert 0 < sum(refused) < 3 * len(refused)


@pytest.mark.parametrize(
    "count", [pytest.param(300, marks=pytest.mark.slow), pytest.param(10_000, marks=pytest.mark.hours)]
)
@pytest.mark.parametrize("name", mutations.NAMES)
def test_hundreds_of_damaged_files_come_to_an_end_and_stay_within_two_gibibytes(
    labelling_model: Path, name: str, count: int
) -> None:
    program = [sys.executable, str(Path(mutations.__file__)), name, "0", str(count), str(labelling_model)]
    done = subprocess.run(program, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
