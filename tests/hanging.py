"""Stop code that hangs, with a sentence. No test is decided by a clock: every bound is far above a slow machine's time."""

import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

PATIENCE_SECONDS = 1200.0
"""Time that a test waits for another process, at least ten times as long as any of them takes."""


class Hung(BaseException):
    """Raised if code does not end; no ``except Exception`` or ``OSError`` of the code under test hides it."""


@contextmanager
def limited(cpu_seconds: float) -> Iterator[None]:
    """Raise Hung in code that computes for so long; time that the machine spends on other work does not count."""

    def stop(*_: object) -> None:
        raise Hung(f"computed for {cpu_seconds:.0f} s without coming to an end")

    kept = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, cpu_seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, kept)


def wait_until(condition: Callable[[], bool], what: str) -> None:
    """Wait until a condition is true, and fail with a sentence if it never is."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        assert time.monotonic() < deadline, f"waited {PATIENCE_SECONDS:.0f} s for {what}"
        time.sleep(0.02)
