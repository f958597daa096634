"""Mechanisms from other people's packages, each in a Python environment of its own.

A *worker* is a process that runs the mechanism inside the environment of its package. The audit is
the *caller*: it sends records to the worker and receives the released outputs.
"""

import itertools
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from socket import AF_UNIX, socket
from typing import Any

import numpy as np
import torch
from wild import worker

from adept.data.writing import user_directory
from adept.errors import AdeptError

INSTALL_TIMEOUT_SECONDS = 1200
# Modules are compiled only when they are imported: this takes a quarter of the time.
PIP_INSTALL = ("install", "--quiet", "--disable-pip-version-check", "--no-compile")
Installs = Sequence[Sequence[str]]  # the arguments of each call of pip


class NotInstalled(AdeptError):
    """The error raised if pip cannot install a package, for example because it reaches no index."""


def build_environment(name: str, installs: Installs, directory: str | Path | None = None) -> Path:
    """Return the directory of a package's environment; build the environment if there is none.

    ``installs`` holds the arguments of each call of ``pip install``, with exact versions.
    ``directory`` is the parent of all environments, by default a directory in the user's cache.
    Raise NotInstalled if pip cannot install the packages.
    """
    parent = Path(directory) if directory else _usual_parent()
    wanted = "\n".join(" ".join(call) for call in installs)
    home = parent / f"{name}-{zlib.crc32(wanted.encode()):08x}"
    if (home / "installed").exists():
        return home
    shutil.rmtree(home, ignore_errors=True)
    home.parent.mkdir(parents=True, exist_ok=True)
    _call(name, [sys.executable, "-m", "venv", str(home)])
    for call in installs:
        _call(name, [str(python_of(home)), "-m", "pip", *PIP_INSTALL, *call])
    (home / "installed").write_text(wanted, "utf-8")
    return home


def _usual_parent() -> Path:
    try:
        return user_directory("XDG_CACHE_HOME", ".cache") / "wild"
    except RuntimeError:  # the user has no home
        return Path(tempfile.gettempdir()) / "wild"


def _call(name: str, command: list[str]) -> None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=INSTALL_TIMEOUT_SECONDS)
        reason = "" if done.returncode == 0 else (done.stderr.strip().splitlines() or ["no reason was given"])[-1]
    except subprocess.TimeoutExpired:
        reason = f"it took longer than {INSTALL_TIMEOUT_SECONDS} s"
    if reason:
        raise NotInstalled(f"{name} could not be installed ({reason}): check that pip reaches a package index")


def python_of(environment: Path) -> Path:
    """Return the path of the Python interpreter of an environment."""
    return environment / "bin" / "python"


def surroundings(environment: Path) -> dict[str, str]:
    """Return a worker's environment variables, which set a separate home and forbid downloads."""
    home = environment / "home"
    home.mkdir(exist_ok=True)
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}
    return {**kept, "HOME": str(home), "XDG_CACHE_HOME": str(home), "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}


class Connection:
    """The pipes to a worker; in a forked caller, a socket to a forked copy of the worker."""

    def __init__(self, process: "subprocess.Popen[bytes]", address: Path) -> None:
        self.address, self.owner, self.lock = address, os.getpid(), threading.Lock()
        self.replies: Any = process.stdout
        self.requests: Any = process.stdin
        self.numbers = itertools.count(1)  # of copies

    def ask(self, *message: Any) -> Any:
        """Send a message to the worker, and return the answer."""
        if os.getpid() != self.owner:
            connection = socket(AF_UNIX)
            connection.connect(str(self.address))
            self.owner, self.lock = os.getpid(), threading.Lock()
            self.replies, self.requests = connection.makefile("rb"), connection.makefile("wb")
        with self.lock:
            worker.send(self.requests, message)
            return self.read()

    def read(self) -> Any:
        """Return the next answer of the worker."""
        try:
            outcome, answer = worker.receive(self.replies)
        except EOFError:
            raise RuntimeError("the worker ended") from None
        if outcome == "error":
            raise RuntimeError(answer)
        return answer


class Isolated:
    """A mechanism that runs, like all of its deep copies, in the environment of its package.

    If the caller seeds NumPy with 0 right before a release, the worker seeds its own generators
    with 0. So an audit can find out if two releases with the same seed have the same noise.
    """

    def __init__(self, connection: Connection, name: str, number: int = 0, **attributes: Any) -> None:
        self.connection, self.name, self.number, self.attributes = connection, name, number, attributes
        vars(self).update(attributes)

    def __deepcopy__(self, memo: Any) -> "Isolated":
        number = next(self.connection.numbers)
        self.connection.ask("copy", self.number, number)
        return Isolated(self.connection, self.name, number, **self.attributes)

    def __del__(self) -> None:
        if self.number and not sys.is_finalizing():
            try:
                self.connection.ask("drop", self.number)
            except (RuntimeError, OSError, ValueError):
                return  # the worker is gone, and its copies with it

    def privatize(self, records: Any) -> Any:
        """Release a batch of vectors (B, n) or a list of values."""
        if _was_seeded():
            self.connection.ask("seed", self.number, 0)
            np.random.random()  # use up the seed, as a package that draws numbers would do
        if isinstance(records, torch.Tensor):
            records = records.detach().cpu().numpy()
        if not isinstance(records, np.ndarray):
            return self.connection.ask("values", self.number, list(records))
        rows = np.ascontiguousarray(records, dtype=np.float64)
        released, width = self.connection.ask("vectors", self.number, rows.tobytes(), rows.shape[1])
        return np.frombuffer(released).reshape(-1, width).copy()


def _was_seeded() -> bool:
    """Return True if NumPy's global generator was seeded with 0 and has not been used since."""
    _, key, place, *_ = np.random.get_state(legacy=True)
    return bool(place == len(key) and key[0] == 0 and key[1] == 1)


@contextmanager
def isolated(environment: Path, file: Path, kind: str, *, factor: float = 1.0, **attributes: Any) -> Iterator[Isolated]:
    """Context manager: start a worker, yield its mechanism, and stop the worker at the end.

    ``kind`` is the name of the mechanism's class in the audit file. The class multiplies its budget
    by ``factor``, so a factor of 2 halves the noise. ``attributes`` become attributes of the
    yielded mechanism, such as ``dim``.
    """
    with tempfile.TemporaryDirectory() as directory:
        address = Path(directory) / "socket"
        command = [
            str(python_of(environment)),
            "-P",
            worker.__file__,
            str(file),
            kind,
            str(factor),
            str(address),
        ]
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=surroundings(environment),
            start_new_session=True,
        )
        try:
            connection = Connection(process, address)
            connection.read()  # the worker answers once it has made the mechanism
            yield Isolated(connection, f"{file.stem} {kind}", **attributes)
        finally:
            # Also kill processes that the package started, because they hold the pipes open
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
