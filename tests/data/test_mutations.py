"""Whatever a file holds, it is read or refused in one line, within limits of time and memory."""

import subprocess
import sys
from pathlib import Path

import mutations
import pytest


@pytest.mark.parametrize("name", mutations.NAMES)
def test_damaged_files_are_read_or_refused_in_one_line(tmp_path: Path, name: str) -> None:
    outcomes = []
    for number in range(100):
        (tmp_path / name).write_bytes(mutations.mutation(name, number))
        outcomes.append(mutations.attempt(tmp_path / name, tmp_path / "out"))
    assert any(outcomes)
    assert not all(outcomes)


@pytest.mark.slow
@pytest.mark.parametrize("name", mutations.NAMES)
def test_ten_thousand_damaged_files_stay_within_ten_seconds_and_two_gibibytes(name: str) -> None:
    program = [sys.executable, str(Path(mutations.__file__)), name, "0", "10000"]
    done = subprocess.run(program, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
