"""Independence: are the releases of one record independent, in one batch, after one seed, in two forked processes.

Claim: if all releases of one record are independent, then pairs of releases have one distribution wherever the two come from, and
so has every function of a pair: whether the two are equal, how they point, how their lengths differ. Pairs from two sources, no
release in two of them, are compared by exact two-sample tests (`stats.exact_tests`), with Bonferroni's factor over functions,
thresholds and distances in the batch. That is valid for continuous and for discrete outputs, and powerful where noise is shared, in
whole or in part. Releases that are always equal are no evidence here: a constant says nothing of its record, and what a
deterministic release says of it, the event finds.
"""

import math
import multiprocessing
import random
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from typing import TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from adept.audit.distinguisher.experiment import Experiment
from adept.audit.result import Finding, MechanismFailure
from adept.audit.stats.exact_tests import Difference, differences, fisher, least_probable
from adept.audit.subject.interface import Floats
from adept.audit.subject.sandbox import Caller
from adept.audit.subject.value import ValueTarget
from adept.audit.subject.vector import VectorTarget

Pairs = tuple[Floats, Floats]
AnyTarget = TypeVar("AnyTarget", VectorTarget, ValueTarget)
Released = TypeVar("Released")

ROWS = 128  # pairs that are compared after a seed and a fork
CALL_ROWS = 3 * ROWS
BATCH_ROWS = 2**13  # of each of two batches, where there is time
SECONDS = 1.5  # for either batch
LAGS = (1, 2, 3, 4, 5, 8, 10, 16, 32, 64, 100, 128, 256)
VALUE_ROWS, VALUE_CALLS, SEEDED_VALUES = 4096, 16, 512
# A fork beside a thread that is just ending inherits its locks (OpenDP's too), and nobody opens them: let it end first.
SETTLE_SECONDS = 0.05
FORK_SECONDS = 10.0  # after so long without an answer, it is tried once more


class _ForkTimeout(MechanismFailure):
    """A forked worker did not answer in time."""


def in_batch(experiment: Experiment[VectorTarget], alpha: float) -> Finding:
    """Are two releases in one batch independent: pairs within a call against pairs between calls.

    Pairs within are rows (i, i + lag) of the first half of one call, each row in one pair, for several lags up to a quarter of the
    call; pairs between are row i of the second half of either call. Half of the call is a lag too, with rows of the last quarter
    between.
    """
    target = without_memory(experiment)
    rows = max(CALL_ROWS, target.affordable(BATCH_ROWS, seconds=SECONDS) // 4 * 4)
    first, second = (target.release(_repeat(experiment, rows)) for _ in range(2))
    half = rows // 2
    between = first[half:], second[half:]
    found = []
    for lag in sorted({*(lag for lag in LAGS if lag < half // 2), half // 2}):
        start = np.arange(half - lag)
        start = start[start // lag % 2 == 0]
        within = first[start], first[start + lag]
        found += _compared(within, between, f"rows {lag} apart")
    apart = slice(half // 2), slice(half, half + half // 2), slice(half + half // 2, None)
    halves = (first[apart[0]], first[apart[1]]), (first[apart[2]], second[apart[2]])
    found += _compared(*halves, f"rows {half} apart")
    return least_probable(found, f"{rows} rows in each of two batches", alpha=alpha)


def after_one_seed(experiment: Experiment[VectorTarget], alpha: float) -> Finding:
    """Are releases independent of the global seeds: two calls after the same seeds, against pairs within a call."""
    target = without_memory(experiment)
    latents = _repeat(experiment, CALL_ROWS)
    target.release(latents)  # what a first call alone draws would shift the seeded numbers
    first, second = seeded(lambda: target.release(latents))
    found = _compared(_between(first, second), _within(first), "after the same seed")
    return least_probable(found, f"{ROWS} pairs after the same seed, {ROWS} within one call", alpha=alpha)


def in_forks(experiment: Experiment[VectorTarget], alpha: float) -> Finding:
    """Are the releases of two forked processes independent, as data loaders and servers start them."""
    target = without_memory(experiment)
    if "fork" not in multiprocessing.get_all_start_methods():
        raise MechanismFailure("this platform has no fork")
    latents = _repeat(experiment, CALL_ROWS)
    try:
        first, second = _forked_releases(target, latents)
    except _ForkTimeout:
        first, second = _forked_releases(target, latents)
    found = _compared(_between(first, second), _within(first), "in two forked workers")
    return least_probable(found, f"{ROWS} pairs of two forked workers, {ROWS} within one", alpha=alpha)


def values_in_batch(experiment: Experiment[ValueTarget], alpha: float) -> Finding:
    """Are two outcomes in one batch independent: equal ones among pairs within a call, against pairs between calls.

    The first half of each call is paired within it, for several lags, the second half with the next call's.
    """
    target, value = without_memory(experiment), experiment.target.values[0]
    calls = [target.codes([value] * (_value_rows(target) // VALUE_CALLS)) for _ in range(VALUE_CALLS)]
    half, found = len(calls[0]) // 2, []
    between = np.concatenate([a[half:] == b[half:] for a, b in zip(calls[::2], calls[1::2], strict=True)])
    for lag in sorted({*(lag for lag in LAGS if lag < half // 2), half // 2}):
        start = np.arange(half - lag)
        start = start[start // lag % 2 == 0]
        within = np.concatenate([call[start] == call[start + lag] for call in calls])
        found.append(_equal(within, between, f"equal, {lag} apart"))
    return least_probable(found, "pairs within batches and between batches", alpha=alpha)


def values_after_one_seed(experiment: Experiment[ValueTarget], alpha: float) -> Finding:
    """Are outcomes independent of the global seeds: equal pairs of two calls after the same seeds, against pairs within a call."""
    target, value = without_memory(experiment), experiment.target.values[0]
    rows = min(_value_rows(target), SEEDED_VALUES)
    first, second = seeded(lambda: target.codes([value] * rows))
    half = rows // 2
    found = [_equal(first[half:] == second[half:], first[:half:2] == first[1:half:2], "equal")]
    return least_probable(found, "pairs after the same seed and in a call", alpha=alpha)


def without_memory(experiment: Experiment[AnyTarget]) -> AnyTarget:
    """Return the target.

    Raises:
        MechanismFailure: it has a memory, so that its releases depend on each other by declaration.
    """
    if experiment.target.memoised:
        raise MechanismFailure("the mechanism says that its releases depend on earlier ones")
    return experiment.target


def _repeat(experiment: Experiment[VectorTarget], rows: int) -> Tensor:
    record: Tensor = experiment.pairs[0].first
    return record.expand(rows, -1).clone()


def _within(call: Floats) -> Pairs:
    """Pair rows within one call, others than `_between` pairs, so that the two are independent."""
    return call[: 2 * ROWS : 2], call[1 : 2 * ROWS : 2]


def _between(first: Floats, second: Floats) -> Pairs:
    return first[2 * ROWS :], second[2 * ROWS :]


def _compared(suspect: Pairs, reference: Pairs, where: str) -> list[Difference]:
    """Compare functions of pairs from two sources: the share of equal numbers, the angle, the difference of lengths.

    They are centred at the mean of all releases, which does not depend on how releases are paired off between the sources.
    """
    centre = np.concatenate([*suspect, *reference]).mean(axis=0)
    found: list[Difference] = []
    for name, function in (("equal numbers", _equality), ("angle", _angle), ("difference in length", _unevenness)):
        ours, theirs = (function(a - centre, b - centre) for a, b in (suspect, reference))
        found += differences(ours, theirs, what=f"{where}, {name}")
    return found


def _equality(first: Floats, second: Floats) -> Floats:
    shares: Floats = np.isclose(first, second, rtol=0, atol=1e-12).mean(axis=1)
    return shares


def _angle(first: Floats, second: Floats) -> Floats:
    sizes = np.linalg.norm(first, axis=1) * np.linalg.norm(second, axis=1)
    result: Floats = np.round((first * second).sum(axis=1) / np.maximum(sizes, 1e-300), 9)
    return result


def _unevenness(first: Floats, second: Floats) -> Floats:
    ratio = (np.linalg.norm(first, axis=1) + 1e-9) / (np.linalg.norm(second, axis=1) + 1e-9)
    result: Floats = np.round(np.abs(np.log(ratio)), 9)
    return result


def seeded(release: Callable[[], Released]) -> tuple[Released, Released]:
    """Release twice, each time after the same seeds of random, NumPy and torch; the caller's seeds are restored."""
    with _global_seed():
        first = release()
    with _global_seed():
        return first, release()


@contextmanager
def _global_seed() -> Iterator[None]:
    python, numpy, pytorch = random.getstate(), np.random.get_state(), torch.get_rng_state()
    try:
        random.seed(0)
        np.random.seed(0)
        torch.manual_seed(0)
        yield
    finally:
        random.setstate(python)
        np.random.set_state(numpy)
        torch.set_rng_state(pytorch)


def _forked_releases(target: VectorTarget, latents: Tensor) -> list[Floats]:
    """Return the releases of two children of this process, both forked before either has released."""
    time.sleep(SETTLE_SECONDS)
    context = multiprocessing.get_context("fork")
    workers = []
    for _ in range(2):
        receiver, sender = context.Pipe(duplex=False)
        process = context.Process(target=_release_in_child, args=(sender, target, latents), daemon=True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12 warns of any fork beside threads
            process.start()
        sender.close()
        workers.append((process, receiver))
    try:
        return [_received(receiver, min(target.time_limit, FORK_SECONDS)) for _, receiver in workers]
    finally:
        for process, receiver in workers:
            process.kill()
            process.join()
            receiver.close()


def _release_in_child(sender: Connection, target: VectorTarget, latents: Tensor) -> None:
    torch.set_num_threads(1)  # the parent's pool of threads did not survive the fork
    target.call = Caller(math.inf)  # no further thread: the parent watches the clock
    try:
        sender.send(target.release(latents))
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
    result: Floats = answer
    return result


def _value_rows(target: ValueTarget) -> int:
    return max(256, target.affordable(VALUE_ROWS, seconds=SECONDS) // 4 * 4)


def _equal(suspect: NDArray[np.bool_], reference: NDArray[np.bool_], what: str) -> Difference:
    counts = int(suspect.sum()), len(suspect), int(reference.sum()), len(reference)
    return Difference(fisher(*counts), what, *counts)
