"""End a command: with one line for an error, an exit status, and answers to signals.

This module imports neither PyTorch nor rich.
"""

import contextlib
import errno
import gc
import io
import os
import re
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import FrameType
from typing import Any, NoReturn

from adept.cli.console import show_lines
from adept.data.formats import WaitingFile
from adept.errors import AdeptError, Interrupted
from adept.foreign import blame

EXTRAS = dict.fromkeys(("matplotlib", "sacrebleu"), "compare")  # see pyproject.toml
DONE, USER_ERROR, INTERNAL_ERROR, INTERRUPTED = 0, 2, 70, 130  # an audit that found a violation ends with 1
# Batch systems announce the end of a job by one of these, of which each would end the process by itself
STOPS = ("SIGINT", "SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2", "SIGXCPU")
SIGNALS = tuple(getattr(signal, name) for name in STOPS if hasattr(signal, name))

TIDYING_SECONDS = 3.0  # after a signal, in which others do not interrupt what tidies up and says how to go on

_arrived: list[float] = []  # times of signals: a library may turn the interrupt into an error or an exit of its own
_lost: list[OSError] = []  # errors in writing stdout
_late: list[float] | None = None  # of those that came in a command's last step or after it; None before


def guard(action: Callable[[], int]) -> int:
    """Run a command and return its exit status; report an error in one line on stderr.

    Only adept's own error messages are shown, because other messages may quote a private record. Signals
    that come after the command has ended, such as a second Ctrl-C, change nothing any more.
    """
    global _late
    _arrived.clear()
    _late = None
    try:
        status, _late = action(), []
        return status
    except BaseException as error:  # noqa: BLE001 - status 1 is an audit's alone, and an uncaught error would be 1
        _late = []
        message, status = describe(error)
    if message:
        show_lines([f"adept: {message}"], to_stderr=True)
    return status


def describe(error: BaseException) -> tuple[str, int]:
    """Return an error as one line and as an exit status; print its traceback if the user asked for it."""
    message, status = _verdict(error)
    if os.environ.get("ADEPT_TRACEBACK"):
        show_lines("".join(traceback.format_exception(error)).splitlines(), to_stderr=True)
    return " ".join(message.split()), status


def _verdict(error: BaseException) -> tuple[str, int]:
    if _arrived or isinstance(error, KeyboardInterrupt):
        return f"interrupted: {error}" if isinstance(error, Interrupted) else "interrupted", INTERRUPTED
    if isinstance(error, AdeptError):
        return str(error), USER_ERROR
    if foreign := blame(error):
        return f"{foreign}: correct it; ADEPT_TRACEBACK=1 shows more", USER_ERROR
    if isinstance(error, SystemExit) and error.code in (None, DONE):
        return "", DONE
    of_torch = isinstance(error, RuntimeError) and re.search("allocate memory|out of memory", str(error))
    if of_torch or isinstance(error, MemoryError):  # PyTorch has no MemoryError of its own on the CPU
        return "not enough memory: free some, or lower batch_size", USER_ERROR
    name = str(getattr(error, "name", None) or "a package that adept needs").partition(".")[0]
    if (isinstance(error, ImportError) or "shared object" in str(error)) and name != "adept":
        advice = f'pip install "adept-dp[{EXTRAS[name]}]"' if name in EXTRAS else "install adept again"
        return f"{name} is not installed, or not as a whole: {advice}", USER_ERROR
    if reason := system_reason(error):
        return f"cannot read or write{reason}", USER_ERROR
    kind = type(error).__name__
    return f"internal error ({kind}): please report it, with what ADEPT_TRACEBACK=1 shows", INTERNAL_ERROR


def system_reason(error: BaseException, place: object = "") -> str | None:
    """Return the file (or else ``place``) and the reason of an error of the system, such as a full disk."""
    if isinstance(error, OSError) and error.strerror:
        return f"{f' {error.filename or place}'.rstrip()}: {error.strerror}"
    of_rust = re.search(r"\(os error (\d+)\)", str(error))  # of safetensors and tokenizers
    return of_rust and f"{f' {place}'.rstrip()}: {os.strerror(int(of_rust[1]))}"


def is_interrupted() -> bool:
    """Return True if a signal has come, even if a library caught the KeyboardInterrupt."""
    return bool(_arrived)


@contextlib.contextmanager
def last_step() -> Iterator[None]:
    """Ignore signals from a command's last step on; if the step fails, treat them as interrupts."""
    global _late
    _late = []
    try:
        yield
    except BaseException:
        _arrived.extend(_late)
        _late = None
        raise


@dataclass(frozen=True)
class Interruptible:
    """A function that calls ``begin`` and reports progress, or raises KeyboardInterrupt after a signal."""

    advance: Callable[[int], object]
    begin: Callable[[], None] = lambda: None
    last_step = staticmethod(last_step)

    def __call__(self, count: int) -> None:
        if is_interrupted():
            raise KeyboardInterrupt  # the first one may have come where no exception can be raised
        self.begin()
        self.advance(count)


def begin_imports() -> None:
    """Make the imports quick: collect no garbage. A signal during the imports ends the process."""
    gc.disable()
    _handle(_leave)


def resume_collection() -> None:
    """Switch garbage collection on for all objects that are created from now on."""
    if not gc.isenabled():
        gc.freeze()
        gc.enable()


def end_process() -> None:
    """Make the exit quick: ignore all later signals, and skip the last garbage collection."""
    _handle(signal.SIG_IGN)
    gc.disable()
    gc.freeze()


def interrupt_on_signals() -> None:
    """Let later signals raise KeyboardInterrupt, so that clean-up code is run."""
    _handle(_interrupt)


def _handle(handler: Callable[[int, FrameType | None], None] | signal.Handlers) -> None:
    for number in SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:  # as nohup and a shell's background jobs ask
            signal.signal(number, handler)


def _leave(number: int, frame: FrameType | None) -> NoReturn:
    with contextlib.suppress(OSError):
        os.write(2, b"adept: interrupted\n")
    os._exit(INTERRUPTED)


def _interrupt(number: int, frame: FrameType | None) -> None:
    (_arrived if _late is None else _late).append(time.monotonic())
    if _late is None and not 0 < _arrived[-1] - _arrived[0] < TIDYING_SECONDS:
        raise KeyboardInterrupt


class _Lossy(WaitingFile):
    def write(self, data: Any) -> int:
        try:
            return super().write(data)
        except OSError as error:
            if self.fileno() == 1 and error.errno not in (errno.EPIPE, errno.EBADF):  # else nobody wants to read more
                _lost.append(error)
            return len(memoryview(data).cast("B"))


def say_what_was_lost(status: int, *, printed_alone: bool) -> int:
    """Say on stderr if stdout did not take all lines; return USER_ERROR for DONE if nothing else holds the result."""
    sys.stdout.flush()
    if _lost:
        show_lines([f"adept: standard output did not take the result{system_reason(_lost[0])}"], to_stderr=True)
    return USER_ERROR if _lost and printed_alone and status == DONE else status


def keep_streams() -> None:
    """Ignore errors in writing stdout or stderr, which would interrupt a command; ``say_what_was_lost`` tells them."""
    for number, mode in enumerate((os.O_RDONLY, os.O_RDONLY, os.O_WRONLY)):
        try:
            os.fstat(number)
        except OSError:  # closed: taken, so that no file of ours gets its number; nothing can be released into it
            os.open(os.devnull, mode)
    sys.stdout, sys.stderr = _lossy(1, sys.stdout), _lossy(2, sys.stderr)


def _lossy(number: int, given: Any) -> io.TextIOWrapper:
    raw, encoding = _Lossy(number, "w", closefd=False), given.encoding if given is not None else "utf-8"
    by_line = number == 2 or raw.isatty()
    return io.TextIOWrapper(io.BufferedWriter(raw), encoding, errors="backslashreplace", line_buffering=by_line)
