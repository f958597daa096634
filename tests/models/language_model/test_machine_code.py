"""Claims about machine code: kept for the next process, never that of other sources, and made anew where nothing can be kept."""

import io
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hanging import wait_until
from numba.core import config
from numba.core.errors import TypingError

from adept.models.language_model import machine_code as machine

SCRIPT = """
from adept.models.language_model.interval_coder import WIDTH, narrow
import numpy as np
interval = np.array([1 << WIDTH, 0])
narrow(interval, 0, 1 << 20)
print(interval.tolist(), sum(narrow.stats.cache_hits.values()), sum(narrow.stats.cache_misses.values()))
"""


def run(cache: Path) -> list[str]:
    """Return the result, and the numbers of machine codes that were found and made."""
    given = {**os.environ, "XDG_CACHE_HOME": str(cache)}
    done = subprocess.run([sys.executable, "-c", SCRIPT], env=given, capture_output=True, text=True, check=True)
    return done.stdout.rsplit(maxsplit=2)


def test_the_second_process_finds_what_the_first_one_made(tmp_path: Path) -> None:
    first, second = run(tmp_path), run(tmp_path)
    assert first[0] == second[0] == f"[{1 << 32}, 10]"
    assert (first[1:], second[1:]) == (["0", "1"], ["1", "0"])


def test_where_nothing_can_be_written_it_is_made_every_time(tmp_path: Path) -> None:
    """And not beside the sources, where numba would look for it next."""
    (tmp_path / "file").touch()
    for _ in range(2):
        assert run(tmp_path / "file") == [f"[{1 << 32}, 10]", "0", "1"]


def test_without_a_home_directory_it_is_made_every_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)
    assert machine._directory.__wrapped__() is None
    monkeypatch.setattr(machine, "_directory", lambda: None)
    doubled = machine.compiled(lambda number: 2 * number)
    assert doubled(3) == 6
    assert doubled.stats.cache_path is None


def test_other_sources_have_another_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A function keeps the machine code of those that it calls, and does not notice when these change."""
    room = tmp_path / "models" / "codec"
    room.mkdir(parents=True)
    monkeypatch.setattr(machine, "__file__", str(tmp_path / "models" / "language_model" / "machine_code.py"))
    found = set()
    for source in ("a = 1", "a = 2"):
        (room / "search.py").write_text(source, "utf-8")
        found.add(machine._directory.__wrapped__())
    assert len(found) == 2


def test_other_users_of_the_compiler_keep_their_directory() -> None:
    before = config.CACHE_DIR
    machine.compiled(lambda number: number)
    assert before == config.CACHE_DIR


def test_what_does_not_count_holds_no_array_afterwards_and_makes_none() -> None:
    numbers = np.arange(3)
    before = sys.getrefcount(numbers)
    assert machine.without_reference_counts(lambda numbers: numbers[1:].sum())(numbers) == 3
    assert sys.getrefcount(numbers) == before
    for made in (lambda numbers: numbers[1:], lambda numbers: np.zeros(len(numbers)).sum()):
        with pytest.raises(TypingError):
            machine.without_reference_counts(made)(numbers)


class Terminal(io.StringIO):
    """A standard error that is a terminal."""

    def isatty(self) -> bool:
        return True


def test_what_takes_long_shows_a_bar_on_a_terminal_and_nothing_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "NOTICE_SECONDS", 0.0)
    monkeypatch.setattr(machine, "STEP_SECONDS", 0.001)
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    with machine.telling("making machine code", compiles=True):
        wait_until(lambda: "making machine code" in terminal.getvalue(), "a bar")
    monkeypatch.setattr(sys, "stderr", pipe := io.StringIO())
    with machine.telling("making machine code", compiles=True):
        pass
    assert pipe.getvalue() == ""


def test_what_is_quick_shows_no_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "NOTICE_SECONDS", 1_000.0)
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    with machine.telling("making machine code"):
        pass
    assert terminal.getvalue() == ""


def test_the_bar_counts_the_functions_that_are_machine_code() -> None:
    from adept.models.codec import beam_search
    from adept.models.language_model import interval_coder

    known = machine._FUNCTIONS
    assert len(known) > 40
    assert any(function is interval_coder.narrow for function in known)
    assert beam_search
