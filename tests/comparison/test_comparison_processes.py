"""Processes end with the one that asked, and it sees when one of them is killed."""

import multiprocessing
import signal
import subprocess
import sys
import time
from functools import partial

import pytest
from hanging import PATIENCE_SECONDS

from adept.comparison.comparison import in_processes
from adept.errors import DataError


@pytest.mark.slow
def test_a_process_that_is_killed_is_one_line_and_leaves_no_others() -> None:
    """One kills itself, as the system does where memory is short; the other would sleep for an hour."""
    before = multiprocessing.active_children()
    with pytest.raises(DataError, match="a process was killed, perhaps for lack of memory"):
        list(in_processes([partial(time.sleep, 3600), partial(signal.raise_signal, signal.SIGKILL)], processes=2))
    assert multiprocessing.active_children() == before


@pytest.mark.slow
def test_processes_end_with_one_that_is_killed() -> None:
    """A stream ends when the last process that holds it has ended."""
    program = "import time; from functools import partial; from adept.comparison.comparison import in_processes; " + (
        "list(in_processes([partial(print, 'at work', flush=True), partial(time.sleep, 3600)], processes=2))"
    )
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as asking:
        assert asking.stdout is not None
        assert asking.stdout.readline() == "at work\n"
        asking.kill()
        assert asking.communicate(timeout=PATIENCE_SECONDS)[0] == ""
