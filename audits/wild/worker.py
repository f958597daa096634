"""The worker: a process that runs a mechanism inside the environment of its package.

The *caller* starts the worker as ``python worker.py AUDIT_FILE CLASS FACTOR SOCKET``.
Caller and worker exchange messages through pipes. The messages are written by `marshal` and hold
only plain types, so a package cannot send code to the caller. A forked caller connects to the
socket, and the worker forks itself to serve the forked caller.
"""

import copy
import importlib.util
import marshal
import os
import random
import select
import signal
import socket
import struct
import sys
import traceback
from array import array
from pathlib import Path
from typing import Any, BinaryIO

HEADER = struct.Struct("<Q")  # length of a message in bytes
PLAIN: tuple[Any, ...] = (bool, int, float, str, bytes, type(None))


def send(stream: BinaryIO, message: Any) -> None:
    """Write one message to a stream."""
    body = marshal.dumps(message)
    stream.write(HEADER.pack(len(body)) + body)
    stream.flush()


def receive(stream: BinaryIO) -> Any:
    """Read one message from a stream; raise EOFError if the stream has ended."""
    header = stream.read(HEADER.size)
    if len(header) < HEADER.size:
        raise EOFError
    return marshal.loads(stream.read(HEADER.unpack(header)[0]))


def plain(release: Any) -> Any:
    """Convert a release to plain types; other objects become lists of their items.

    The name of a type is no part of a release: whoever sends the release sends its items.
    """
    if type(release) in PLAIN:
        return release
    for kind in PLAIN[1:-1]:
        if isinstance(release, kind):
            return kind(release)
    if isinstance(release, tuple):
        return tuple(map(plain, release))
    if isinstance(release, list):
        return [plain(item) for item in release]
    if isinstance(release, (set, frozenset)):
        return frozenset(map(plain, release))
    if hasattr(release, "tolist"):
        return plain(release.tolist())
    return plain(list(release))


class Objects:
    """The audited mechanism and its copies; messages refer to each of them by a number."""

    def __init__(self, make: Any) -> None:
        self.mechanisms: dict[int, Any] = {0: make()}

    def answer(self, question: str, number: int, *arguments: Any) -> Any:
        """Answer one message of the caller about the object with the given number."""
        match question:
            case "copy":
                self.mechanisms[arguments[0]] = copy.deepcopy(self.mechanisms[number])
            case "drop":
                self.mechanisms.pop(number, None)
            case "seed":
                seed(arguments[0])
            case "vectors":
                return vectors(self.mechanisms[number], *arguments)
            case "values":
                return plain(list(self.mechanisms[number].privatize(arguments[0])))
        return None


def vectors(mechanism: Any, numbers: bytes, width: int) -> tuple[bytes, int]:
    """Release vectors; return the releases as bytes of float64, and the length of one release.

    ``numbers`` holds the vectors one after the other, as bytes of float64, with ``width``
    coordinates each.
    """
    flat = array("d", numbers)
    rows = [flat[begin : begin + width].tolist() for begin in range(0, len(flat), width)]
    released = [list(map(float, row)) for row in mechanism.privatize(rows)]
    return array("d", [number for row in released for number in row]).tobytes(), len(released[0])


def seed(number: int) -> None:
    """Seed the global generators of Python, NumPy and PyTorch, as a user of the package could."""
    random.seed(number)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(number)
    if "torch" in sys.modules:
        sys.modules["torch"].manual_seed(number)


def serve(objects: Objects, requests: BinaryIO, replies: BinaryIO) -> bool:
    """Answer the next message; return False if the stream of messages has ended."""
    try:
        message = receive(requests)
    except EOFError:
        return False
    try:
        answer = ("answer", objects.answer(*message))
    except Exception as error:  # noqa: BLE001  a package's own, of any type
        traceback.print_exc()
        answer = ("error", f"{type(error).__name__}: {error}")
    send(replies, answer)
    return True


def main(path: str, name: str, factor: str, address: str) -> None:
    """Make the mechanism, and answer messages until the caller closes the connection."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    requests, replies = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a package prints must not mix with the answers
    spec = importlib.util.spec_from_file_location("audited", path)
    if spec is None or spec.loader is None:
        raise SystemExit(f"no Python file: {path}")
    module = importlib.util.module_from_spec(spec)
    sys.modules["audited"] = module
    spec.loader.exec_module(module)
    try:
        objects = Objects(lambda: getattr(module, name)(float(factor)))
    except Exception as error:  # noqa: BLE001
        traceback.print_exc()
        send(replies, ("error", f"{type(error).__name__}: {error}"))
        return
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(address)
        server.listen()
        send(replies, ("answer", None))
        _wait(objects, server, requests, replies)
    Path(address).unlink(missing_ok=True)
    os._exit(0)  # do not wait for threads and pools of the package


def _wait(objects: Objects, server: socket.socket, requests: BinaryIO, replies: BinaryIO) -> None:
    while True:
        ready, _, _ = select.select([requests.fileno(), server.fileno()], [], [])
        if server.fileno() in ready:
            connection, _ = server.accept()
            if os.fork() == 0:
                server.close()
                incoming, outgoing = connection.makefile("rb"), connection.makefile("wb")
                while serve(objects, incoming, outgoing):
                    pass
                os._exit(0)
            connection.close()
        elif not serve(objects, requests, replies):
            return


if __name__ == "__main__":
    main(*sys.argv[1:])
