"""The command line in a fork of the tests' own process: streams, signals and a status of its own, without seconds of imports."""

import io
import os
import signal
import subprocess
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, NoReturn

from hydra.core.global_hydra import GlobalHydra

from adept.__main__ import main
from adept.cli.process import SIGNALS

PIPE = subprocess.PIPE
CLOSED = -100  # a stream that the shell has closed (``>&-``)


class Forked:
    """``adept ARGUMENTS`` in a process of its own; attributes and methods are those of ``subprocess.Popen``, in bytes.

    Args:
        arguments: of the command line.
        stdin, stdout, stderr: ``PIPE``, ``CLOSED``, a file descriptor, or None for nothing.
        program: what is called with ``sys.argv`` set, and returns its status or exits with it.
    """

    def __init__(
        self,
        *arguments: object,
        stdin: int | None = None,
        stdout: int | None = None,
        stderr: int | None = None,
        program: Callable[[], object] = main,
    ) -> None:
        self.stdin, child_in = _ends(stdin, writes=True)
        self.stdout, child_out = _ends(stdout, writes=False)
        self.stderr, child_err = _ends(stderr, writes=False)
        self.returncode: int | None = None
        self.pid = os.fork()
        if self.pid == 0:
            for stream in (self.stdin, self.stdout, self.stderr):
                if stream:
                    os.close(stream.fileno())
            _become([str(argument) for argument in arguments], (child_in, child_out, child_err), program)
        for given, end in ((stdin, child_in), (stdout, child_out), (stderr, child_err)):
            if given in (None, PIPE):
                os.close(end)

    def send_signal(self, number: int) -> None:
        """Send a signal, if the process is still there."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """End it at once."""
        self.send_signal(signal.SIGKILL)

    def poll(self) -> int | None:
        """The status; None while it runs."""
        return self._ended(os.WNOHANG)

    def communicate(self, given: bytes = b"") -> tuple[bytes, bytes]:
        """Write everything, read everything, and wait."""
        with ThreadPoolExecutor(2) as readers:
            found = [readers.submit(stream.read) if stream else None for stream in (self.stdout, self.stderr)]
            if self.stdin:
                with suppress(BrokenPipeError):
                    self.stdin.write(given)
                with suppress(BrokenPipeError):
                    self.stdin.close()
        self._ended(0)
        for stream in (self.stdout, self.stderr):
            if stream:
                stream.close()
        out, err = (part.result() if part else b"" for part in found)
        return out, err

    def _ended(self, options: int) -> int | None:
        if self.returncode is None:
            pid, status = os.waitpid(self.pid, options)
            self.returncode = os.waitstatus_to_exitcode(status) if pid else None
        return self.returncode


def run(*arguments: object, input: str = "", **options: Any) -> "subprocess.CompletedProcess[str]":
    """Run a command to its end, as ``subprocess.run`` does with text."""
    process = Forked(*arguments, **{"stdin": PIPE, "stdout": PIPE, "stderr": PIPE, **options})
    out, err = process.communicate(input.encode())
    return subprocess.CompletedProcess(arguments, process.returncode or 0, out.decode(), err.decode())


@contextmanager
def standard_output(path: Path) -> Iterator[None]:
    """Standard output of this process, by its number, in a file."""
    before, opened = os.dup(1), os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(opened, 1)
    try:
        yield
    finally:
        os.dup2(before, 1)
        os.close(opened)
        os.close(before)


def _ends(given: int | None, *, writes: bool) -> tuple[IO[bytes] | None, int]:
    """Our end of a stream, if we have one, and the child's."""
    if given is None:
        return None, os.open(os.devnull, os.O_RDWR)
    if given != PIPE:
        return None, given
    reading, writing = os.pipe()
    return (os.fdopen(writing, "wb"), reading) if writes else (os.fdopen(reading, "rb"), writing)


def _become(arguments: list[str], ends: tuple[int, int, int], program: Callable[[], object]) -> NoReturn:
    """Run a program in the child."""
    status: object = 99
    try:
        for number, end in enumerate(ends):
            if end == CLOSED:
                os.close(number)
            else:
                os.dup2(end, number)
        for end in set(ends):
            if end > 2:
                os.close(end)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        for number in SIGNALS[1:]:
            signal.signal(number, signal.SIG_DFL)
        warnings.resetwarnings()
        GlobalHydra.instance().clear()
        sys.stdin, sys.stdout, sys.stderr = (_stream(number, ends[number]) for number in range(3))  # type: ignore[assignment]
        sys.argv = ["adept", *arguments]
        try:
            status = program()
        except SystemExit as end:
            status = end.code
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
    except BaseException:  # noqa: BLE001 - nothing may go on in the tests' own code
        traceback.print_exc()
    finally:
        os._exit(status if isinstance(status, int) else 99)


def _stream(number: int, end: int) -> io.TextIOWrapper | None:
    mode = "r" if number == 0 else "w"
    return None if end == CLOSED else open(number, mode, encoding="utf-8", closefd=False)
