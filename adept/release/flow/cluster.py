"""Random draws on a Ray cluster: many machines draw, one process writes journal and output.

To draw means to make the random choices for a batch of records.

*Claim*: all visible rows of a record are written from a single release of this record, no matter how often workers
die and Ray repeats their work. *Proof*. A worker hands over its draws only as the result of a call. The process that
made the call receives this result, and stores it in its journal. Ray returns exactly one result for each call, even
if several workers attempted the call. The draws of an attempt whose result is lost never leave the memory of the
cluster. So exactly one draw of a record enters the journal, before any row of the record is visible. Once the draw is
in the journal, the proof of ``adept.release.flow.journal`` applies. QED.

In this program, the moment at which a worker dies does not depend on the values that it drew. So
lost draws cost no budget, as ``adept.release.flow.journal`` explains.

You must trust the cluster as much as your own machine, because the memory and the disks of the
cluster hold records. A cluster that this module starts accepts only connections from this machine
(127.0.0.1), and requires a secret token, which is drawn for this cluster.
"""

import io
import os
import re
import secrets
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from typing import Any, TypeVar

from adept.data.formats import Record
from adept.data.texts import say_once
from adept.errors import ConfigurationError, DataError, refuse
from adept.release.flow.journal import Entry
from adept.release.options import PersonOptions
from adept.release.statement.statement import drawing_versions

CAUSE = re.compile(r"[\w.]+(Error|Exception): ")  # in what Ray says of a worker, below its traceback
SILENT_SECONDS = 30.0  # after which the user is told for what a run may wait
MAX_WAITING = 3  # batches that a worker is given before its first one is back
QUIET = {
    "RAY_USAGE_STATS_ENABLED": "0",  # private data: nothing is reported to anyone
    "RAY_BACKEND_LOG_LEVEL": "fatal",  # what becomes of workers is ours to tell
}
ALONE = {
    # One machine: sockets at 127.0.0.1, where Ray has them at every address
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
    "RAY_AUTH_MODE": "token",  # Ray's default from 2.59 on
}

Part = TypeVar("Part", bound=tuple[Any, ...])
Draw = Callable[[Sequence[Record]], Entry]


def draw_parts(draw: Draw, parts: Iterator[Part], options: PersonOptions) -> Iterator[tuple[Part, Entry]]:
    """Call ``draw`` with the batch of records in each part; yield pairs (part, result) in order.

    A part is a tuple whose first item is the batch.
    """
    if options.engine == "ray":
        return draw_on_cluster(draw, parts, workers=options.workers)
    return ((part, draw(part[0])) for part in parts)


def draw_on_cluster(draw: Draw, parts: Iterator[Part], *, workers: int | None) -> Iterator[tuple[Part, Entry]]:
    """Let workers call ``draw`` with the batch in each part; yield pairs (part, result) in order.

    A part is a tuple whose first item is the batch. ``workers`` is the number of processes, each
    with one CPU; None means one for each CPU. The processes run on the cluster that the variable
    RAY_ADDRESS names or, without this variable, on this machine.
    """
    with _environment():  # before the import of Ray, which reads the environment then
        try:
            import ray
            from ray.exceptions import RayError, RayTaskError
        except ImportError:
            raise ConfigurationError(
                "engine=ray needs Ray, which is not installed: pip install 'adept-dp[cluster]'"
            ) from None
        own = _OwnOutput(sys.stderr)
        try:
            # Ray prints what becomes of its workers, and standard output may be the release.
            with redirect_stdout(own), redirect_stderr(own):
                shared = _connect(ray, draw, workers=workers)  # workers that start again read it again
                actors = _start_workers(ray, shared, workers=workers)
                waiting: deque[tuple[Part, Any]] = deque()
                for number, part in enumerate(parts):
                    waiting.append((part, actors[number % len(actors)].draw.remote(part[0])))
                    if len(waiting) > MAX_WAITING * len(actors):
                        part, result = waiting.popleft()
                        yield part, _take(ray, result)
                yield from ((part, _take(ray, result)) for part, result in waiting)
        except RayTaskError as error:
            raise error.cause from None
        except (RayError, ConnectionError) as error:
            raise DataError(
                f"cannot draw on the cluster ({_reason(error)}): mend that, and continue with resume=true"
            ) from None
        finally:
            with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):  # repeats what was said meanwhile
                ray.shutdown()


def _reason(error: Exception) -> str:
    lines = str(error).splitlines() or [type(error).__name__]
    return next((line for line in reversed(lines) if CAUSE.match(line)), lines[0])


def _take(ray: Any, result: Any) -> Any:
    if not ray.wait([result], timeout=SILENT_SECONDS)[0]:
        say_once("the cluster gives no answer yet: if it has no free CPU, as ray status shows, the run waits for one")
    return ray.get(result)


class _OwnOutput:
    """A stream that ignores everything that Ray's threads write."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        of_ray = threading.current_thread().name.startswith("ray_")
        return len(text) if of_ray else int(self._stream.write(text))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextmanager
def _environment() -> Iterator[None]:
    given = QUIET if os.environ.get("RAY_ADDRESS") else {**QUIET, **ALONE, "RAY_AUTH_TOKEN": secrets.token_hex(32)}
    ours = {name: value for name, value in given.items() if name not in os.environ}
    os.environ.update(ours)
    try:
        yield
    finally:
        for name in ours:
            os.environ.pop(name, None)


@contextmanager
def _own_signals() -> Iterator[None]:
    """Restore adept's signal handlers after the ``with`` block, because Ray replaces them."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    except SystemExit:
        raise KeyboardInterrupt from None  # a signal came while the handlers were Ray's
    finally:
        with suppress(ValueError):  # of threads that get no signals
            for number, handler in before.items():
                signal.signal(number, handler)


@contextmanager
def _silent() -> Iterator[None]:
    """Discard output that Ray's C++ code writes to the file descriptor of standard error."""
    kept, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)


def _connect(ray: Any, draw: Draw, *, workers: int | None) -> Any:
    address = os.environ.get("RAY_ADDRESS")
    here = {} if address else {"num_cpus": workers or os.cpu_count(), "include_dashboard": False}
    options = {"log_to_driver": False, "configure_logging": False, "logging_level": "ERROR", **here}
    try:
        with _own_signals(), _silent():
            ray.init(address=address or "local", **options)
    except Exception as error:  # noqa: BLE001 - Ray raises bare Exception where a node does not start in time
        raise DataError(f"cannot reach or start the cluster ({_reason(error)}): mend that, and run again") from None
    return ray.put(draw)


def _start_workers(ray: Any, shared: Any, *, workers: int | None) -> list[Any]:
    cpus = max(1, int(ray.cluster_resources().get("CPU", 1)))  # none, while an autoscaler sleeps
    worker = ray.remote(num_cpus=1, max_restarts=-1, max_task_retries=-1)(_Worker)
    return [worker.remote(shared, drawing_versions()) for _ in range(min(workers or cpus, cpus))]


class _Worker:
    """A process of the cluster, which draws only with the versions of programs that the statement names."""

    def __init__(self, draw: Draw, stated: dict[str, str]) -> None:
        self._draw = draw
        own = drawing_versions()
        self._others = ", ".join(f"{name} {own[name]}" for name in own if own[name] != stated[name])

    def draw(self, batch: Sequence[Record]) -> Entry:
        refuse((self._others, f"a machine of the cluster has {self._others}, unlike this one: install the same"))
        return self._draw(batch)
