"""A mechanism under audit: its claim, wrappers that declare it, and calls with time limits.

A mechanism under audit is foreign code, which may fail or hang. So it runs in a separate thread or
process with a time limit. If a call or a copy fails, `MechanismFailure` is raised.
"""

import copy
import gc
import math
import multiprocessing
import time
import warnings
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from multiprocessing.connection import Connection
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
import torch
from torch import Tensor

from adept.audit.result import MechanismFailure
from adept.audit.stats import Floats
from adept.errors import check_choice, check_integer


class Wrapper:
    """A mechanism that contains another mechanism and passes on that mechanism's attributes."""

    mechanism: Any
    HIDDEN: ClassVar[tuple[str, ...]] = ()  # attributes of the wrapped mechanism that do not hold for the wrapper

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "mechanism" or name in self.HIDDEN:  # or an unfinished copy
            raise AttributeError(name)
        return getattr(self.mechanism, name)


class Claim(Wrapper):
    """A wrapper with which a user declares the claim and other attributes of a mechanism.

    A declaration overrides the mechanism's attribute of the same name.

    Args:
        mechanism: an object with a method ``privatize``, or a function, that maps a batch of
            records to one release for each record.
        epsilon: the claimed epsilon for one record, in nats.
        delta: the claimed delta.
        alphabet: the values that a record can have: a sequence of values, or K for the integers 0
            to K - 1. With an alphabet, the audit treats records as values.
        distribution: function of a value that returns the probability of each outcome, as a dictionary. With this
            function, the audit compares the probabilities of any two values exactly.
        supports: function of an outcome and a value that returns a number, which is high if the
            outcome suggests the value.
        memoised: True if the mechanism has a memory, such as permanent responses or a budget that
            runs out. The audit then draws every release from a fresh copy of the mechanism. For a
            mechanism without a memory, it reports a violation if a record's releases never vary.
        randomness: who is responsible for seeding the random numbers: "mechanism" or "caller". With "caller", the
            audit reports noise that a seed, a fork or a copy repeats as a note, and not as a violation.
    """

    def __init__(
        self,
        mechanism: Any,
        *,
        epsilon: float | None = None,
        delta: float | None = None,
        alphabet: int | Sequence[Any] | None = None,
        distribution: Callable[[Any], Mapping[Any, Any]] | None = None,
        supports: Callable[[Any, Any], float] | None = None,
        memoised: bool | None = None,
        randomness: str | None = None,
    ) -> None:
        check_choice(("mechanism", "caller"), randomness=randomness or "mechanism")
        self.mechanism = mechanism
        self.name = str(getattr(mechanism, "name", getattr(mechanism, "__name__", type(mechanism).__name__)))
        declared: dict[str, Any] = {"epsilon": epsilon, "delta": delta, "alphabet": alphabet, "supports": supports}
        declared |= {"distribution": distribution, "memoised": memoised, "randomness": randomness}
        vars(self).update({name: value for name, value in declared.items() if value is not None})

    def privatize(self, records: Any) -> Any:
        return getattr(self.mechanism, "privatize", self.mechanism)(records)


class JointReports(Wrapper):
    """A mechanism whose release of a record consists of several reports by another mechanism.

    Claim: by composition, m reports of an (epsilon, delta)-LDP mechanism are together (m * epsilon,
    m * delta)-LDP (local differential privacy). A mechanism with a memory claims its epsilon and
    delta for all reports together, so these are not multiplied by m.

    Args:
        mechanism: an object with ``epsilon`` and ``privatize``, on latents or on values.
        reports: the number m of reports of each record.
        epsilon: the claimed epsilon of all reports together. The default is m times the mechanism's
            epsilon, or the mechanism's epsilon itself if the mechanism has a memory.
    """

    HIDDEN = ("noise", "guarantee", "supports", "distribution", "odds")  # these describe a single report

    def __init__(self, mechanism: Any, *, reports: int, epsilon: float | None = None) -> None:
        check_integer(1, 1 << 40, reports=reports)
        self.mechanism, self.reports = mechanism, reports
        times = 1 if getattr(mechanism, "memoised", False) else reports
        self.epsilon = times * mechanism.epsilon if epsilon is None else epsilon
        self.delta = times * (getattr(mechanism, "delta", 0.0) or 0.0)
        self.name = f"{reports} reports of {getattr(mechanism, 'name', type(mechanism).__name__)}"

    def privatize(self, records: Any) -> Any:
        """Release a batch once for each report; return, for each record, a row with all reports."""
        answers = [self.mechanism.privatize(records) for _ in range(self.reports)]
        if isinstance(answers[0], Tensor | np.ndarray):
            rows = [answer.reshape(len(answer), -1) for answer in answers]
            return torch.cat(rows, dim=1) if isinstance(answers[0], Tensor) else np.concatenate(rows, axis=1)
        return list(zip(*answers, strict=True))


class Rewriting:
    """A wrapper with which the audit treats a rewriter as a mechanism whose records are texts.

    Its claimed epsilon and delta are those of the mechanism inside the rewriter.
    """

    def __init__(self, rewriter: Any) -> None:
        self.rewriter, mechanism = rewriter, rewriter.mechanism
        self.name = str(getattr(mechanism, "name", type(mechanism).__name__))
        self.epsilon, self.delta = float(mechanism.epsilon), float(getattr(mechanism, "delta", 0.0))

    def privatize(self, texts: list[str]) -> list[str]:
        return list(self.rewriter.rewrite(texts))


CHECK_SECONDS = 3.0  # approximate time that a slow mechanism may take in one check
Value = TypeVar("Value")
_Call = tuple[Callable[[], Any], "SimpleQueue[Any]"]


def try_copy(mechanism: Any) -> Any:
    """Return a deep copy of a mechanism, or None if the mechanism cannot be copied."""
    try:
        return copy.deepcopy(mechanism)
    except Exception:  # noqa: BLE001 - foreign code: whatever it raises, there is no copy
        return None


class Caller:
    """An object that calls foreign code in a thread, with a time limit in seconds for each call,
    and refuses all further calls after one that exceeded the limit.
    """

    def __init__(self, time_limit: float) -> None:
        self.time_limit, self.hung = time_limit, False
        self._calls: SimpleQueue[_Call | None] = SimpleQueue()
        self._thread: Thread | None = None

    def __call__(self, what: str, function: Callable[[], Value]) -> Value:
        """Run ``function``; raise MechanismFailure if the call fails or takes too long."""
        if self.hung:
            raise MechanismFailure(f"not asked again: an earlier call took longer than {self.time_limit:g} s")
        try:
            outcome = _tried(function) if math.isinf(self.time_limit) else self._in_thread(function)
        except Empty:
            self.hung = True
            raise MechanismFailure(f"{what} took longer than {self.time_limit:g} s") from None
        if isinstance(outcome, MechanismFailure):
            raise outcome
        if isinstance(outcome, BaseException):
            raise MechanismFailure(f"{what} raised {type(outcome).__name__}: {outcome}") from outcome
        return outcome

    def _in_thread(self, function: Callable[[], Value]) -> Value | BaseException:
        if self._thread is None:
            self._thread = Thread(target=_serve, args=(self._calls,), daemon=True)
            self._thread.start()
            weakref.finalize(self, self._calls.put, None)  # the thread ends with its caller
        # Each call has its own queue, so no call gets the answer of another
        answer: SimpleQueue[Value | BaseException] = SimpleQueue()
        self._calls.put((function, answer))
        return answer.get(timeout=self.time_limit)


def _serve(calls: "SimpleQueue[_Call | None]") -> None:
    while call := calls.get():
        function, answer = call
        answer.put(_tried(function))
        del call, function, answer  # otherwise their contents would stay in memory until the next call


def _tried(function: Callable[[], Value]) -> Value | BaseException:
    try:
        return function()
    except BaseException as error:  # noqa: BLE001 - foreign code: whatever it raises becomes a check's reason
        return error


@dataclass
class Target:
    """A mechanism under audit, its claim, and the thread in which the mechanism is called."""

    mechanism: Any  # with ``epsilon`` and ``privatize``
    # Largest number of seconds of a call; infinity: calls need no separate thread
    time_limit: float = field(default=math.inf, kw_only=True)
    # A copy made before the first call, which is copied but never called; None: no copy can be made
    given: Any = field(default=None, kw_only=True)
    memoised: bool = field(default=False, kw_only=True)  # True: it has a memory, so each release needs a fresh copy
    call: Caller = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self.call = Caller(self.time_limit)

    @property
    def name(self) -> str:
        return str(getattr(self.mechanism, "name", type(self.mechanism).__name__))

    @property
    def epsilon(self) -> float:
        return float(self.mechanism.epsilon)

    @property
    def delta(self) -> float:
        return float(getattr(self.mechanism, "delta", 0.0) or 0.0)

    @property
    def clip_norm(self) -> float:
        return 1.0

    @cached_property
    def largest(self) -> float:
        """Limit for released numbers: larger ones become the limit, and NaN twice the limit (post-processing).

        Declared noise hardly ever reaches the limit, or else its distribution would not be the declared one.
        """
        return math.inf

    @property
    def reports(self) -> int:
        return self.mechanism.reports if isinstance(self.mechanism, JointReports) else 1

    def fresh(self) -> Any:
        """Return a copy of the mechanism in the state that it had before the audit's first call."""
        copied = try_copy(self.given)
        if copied is None:
            raise MechanismFailure("the mechanism cannot be copied")
        return copied

    def ask(self, records: Any, mechanism: Any = None) -> Any:
        """Return what the given mechanism, or else this target's own, releases for the records."""
        return self.call("privatize", lambda: (self.mechanism if mechanism is None else mechanism).privatize(records))

    @property
    def next(self) -> Any:
        """The mechanism to ask next: a fresh copy if the mechanism has a memory."""
        return self.fresh() if self.memoised else self.mechanism

    @property
    def scratch(self) -> Any:
        """A copy of the mechanism for trial calls; if no copy can be made, the mechanism itself."""
        return self.mechanism if self.given is None else self.fresh()

    def without_memory(self) -> Self:
        """Return this target if its mechanism has no memory; otherwise raise MechanismFailure."""
        if self.memoised:
            raise MechanismFailure("the mechanism says that its releases depend on earlier ones")
        return self

    def affordable(self, rows: int, *, share: float = 1.0, alone: bool = False) -> int:
        """Return the number of releases, at most ``rows``, that take ``share`` times `CHECK_SECONDS`
        seconds, each in a separate call if ``alone``.
        """
        return max(0, min(rows, int(share * CHECK_SECONDS / self.seconds_each(alone=alone))))

    def seconds_each(self, *, alone: bool) -> float:
        """Return the seconds per release: in a separate call if ``alone``, otherwise in a batch."""
        raise NotImplementedError

    def draw(self, record: Any, rows: int, *, alone: bool = False) -> Iterator[Any]:
        """Yield ``rows`` releases in several arrays; if ``alone``, call once for each release."""
        raise NotImplementedError

    def sample(self, record: Any, rows: int, *, alone: bool = False) -> Any:
        """Return the arrays that `draw` yields, joined into one array."""
        chunks = list(self.draw(record, rows, alone=alone))
        if len({chunk.shape[1:] for chunk in chunks}) > 1:
            raise MechanismFailure("privatize returned rows of different lengths")
        return np.concatenate(chunks)

    def centres(self, first: Any, second: Any) -> tuple[Floats, Floats]:
        """Return the two inputs after clipping as flat arrays; for values, return empty arrays."""
        return np.zeros(0), np.zeros(0)

    def count_numbers(self, record: Any) -> int:
        """Return the approximate number of coordinates in the release of one record."""
        return self.reports * (record.numel() if isinstance(record, Tensor) else 1)


def cost(call: Callable[[], object]) -> float:
    """Return the seconds that one call takes, after a first call that is not measured: the mean
    processor time of the measured calls or their shortest time on the clock, whichever is larger.
    """
    call()
    collects, waited = gc.isenabled(), list[float]()
    gc.disable()
    try:
        worked, begun = time.thread_time(), time.perf_counter()
        while len(waited) < 4 or (len(waited) < 64 and time.perf_counter() < begun + 0.1):
            started = time.perf_counter()
            call()
            waited.append(time.perf_counter() - started)
        return max(min(waited), (time.thread_time() - worked) / len(waited))
    finally:
        if collects:
            gc.enable()


class _ForkTimeout(MechanismFailure):
    """The error raised if a forked worker does not answer in time."""


def release_in_forks(target: Target, release: Callable[[], Floats]) -> list[Floats]:
    """Return the releases of two forked workers; if one gives no answer in time, fork once more."""
    if "fork" not in multiprocessing.get_all_start_methods():
        raise MechanismFailure("this platform has no fork")
    try:
        return _forked_releases(target, release)
    except _ForkTimeout:
        return _forked_releases(target, release)


def _forked_releases(target: Any, release: Callable[[], Floats]) -> list[Floats]:
    time.sleep(0.05)  # a fork could inherit the locks of a thread that is just ending
    context = multiprocessing.get_context("fork")
    workers = []
    for _ in range(2):
        receiver, sender = context.Pipe(duplex=False)
        process = context.Process(target=_release_in_child, args=(sender, target, release), daemon=True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12 warns of any fork beside threads
            process.start()
        sender.close()
        workers.append((process, receiver))
    try:
        return [_received(receiver, min(target.time_limit, 10.0)) for _, receiver in workers]
    finally:
        for process, receiver in workers:
            process.kill()
            process.join()
            receiver.close()


def _release_in_child(sender: Connection, target: Any, release: Callable[[], Floats]) -> None:
    torch.set_num_threads(1)  # the parent's pool of threads did not survive the fork
    target.call = Caller(math.inf)  # no further thread: the parent watches the clock
    try:
        sender.send(release())
    except MechanismFailure as failure:
        sender.send(str(failure))


def _received(receiver: Connection, seconds: float) -> Floats:
    if not receiver.poll(seconds):
        raise _ForkTimeout(f"a forked worker took longer than {seconds:g} s")
    try:
        answer = receiver.recv()
    except EOFError:
        raise MechanismFailure("a forked worker died without an answer") from None
    if isinstance(answer, str):
        raise MechanismFailure(f"in a forked worker, {answer}")
    return np.asarray(answer)
