"""Claims about machine code: kept for the next process, never that of other sources, and made anew where nothing can be kept."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from numba.core import config

from adept.models.language_model import compiled as machine

SCRIPT = """
from adept.models.language_model.intervals import WHOLE
from adept.models.language_model.point_reading import narrow_to, Point
import numpy as np
point = Point(np.zeros(8, dtype=np.uint8), np.array([0, WHOLE.width, WHOLE.depth]), 0, 1)
narrow_to(point, 0, 1 << 20)
print(point.state.tolist(), sum(narrow_to.stats.cache_hits.values()), sum(narrow_to.stats.cache_misses.values()))
"""


def run(cache: Path) -> list[str]:
    """What is computed, how much machine code was found, and how much was made."""
    given = {**os.environ, "XDG_CACHE_HOME": str(cache)}
    done = subprocess.run([sys.executable, "-c", SCRIPT], env=given, capture_output=True, text=True, check=True)
    return done.stdout.rsplit(maxsplit=2)


def test_the_second_process_finds_what_the_first_one_made(tmp_path: Path) -> None:
    first, second = run(tmp_path), run(tmp_path)
    assert first[0] == second[0] == f"[0, {1 << 32}, 10]"
    assert (first[1:], second[1:]) == (["0", "1"], ["1", "0"])


def test_where_nothing_can_be_written_it_is_made_every_time(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert run(tmp_path / "file")[0] == f"[0, {1 << 32}, 10]"


def test_other_sources_have_another_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A function keeps the machine code of those that it calls, and does not notice when these change."""
    room = tmp_path / "models" / "codec"
    room.mkdir(parents=True)
    monkeypatch.setattr(machine, "__file__", str(tmp_path / "models" / "language_model" / "compiled.py"))
    found = set()
    for source in ("a = 1", "a = 2"):
        (room / "search.py").write_text(source, "utf-8")
        found.add(machine._directory.__wrapped__())
    assert len(found) == 2


def test_other_users_of_the_compiler_keep_their_directory() -> None:
    before = config.CACHE_DIR
    machine.compiled(lambda number: number)
    assert before == config.CACHE_DIR
