"""Checks of how releases relate to each other: in one batch, under one seed, across forks; and of latents that are not finite.

Claim behind `batch`, `seed` and `fork`: if all releases of one latent are independent, then pairs of releases have one law
wherever the two come from, and so has every function of a pair: whether the two are equal, how they point, how their
lengths differ. Pairs from two sources, no release in two of them, are compared by exact two-sample tests
(`stats.two_sample`), with Bonferroni's factor over functions, thresholds and distances in the batch. That is valid for
continuous and for discrete outputs, and powerful where noise is shared, in whole or in part. Releases that are always equal give
no evidence: that a constant is released tells nothing, and what a deterministic release tells is found by the event.
"""

import math
import multiprocessing
import random
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from adept.audit.result import Finding, MechanismFailure
from adept.audit.stats.two_sample import Difference, differences, most_unlike
from adept.audit.target.sandbox import Caller
from adept.audit.target.vector import Subject

Floats = NDArray[np.float64]
Pairs = tuple[Floats, Floats]

ROWS = 128  # pairs that are compared after a seed and a fork
CALL_ROWS = 3 * ROWS
BATCH_ROWS = 2**13  # of each of two batches, where there is time
BATCH_SECONDS = 1.5
LAGS = (1, 2, 3, 4, 5, 8, 10, 16, 32, 64, 100, 128, 256)
# A fork beside a thread that is just ending inherits its locks (OpenDP's too), and nobody opens them: let it end first.
SETTLE_SECONDS = 0.05
FORK_SECONDS = 10.0  # after so long without an answer, it is tried once more


class _ForkTimeout(MechanismFailure):
    """A forked worker did not answer in time."""


def batch(subject: Subject, latent: Tensor, *, share: float) -> Finding:
    """Do two records of one batch get noise of their own: pairs within a call against pairs between calls.

    Pairs within are rows (i, i + lag) of the first half of one call, each row in one pair, for several lags up to a quarter of the
    call; pairs between are row i of the second half of either call. Half of the call is a lag too, with rows of the last quarter
    between.
    """
    _not_memoised(subject)
    rows = max(CALL_ROWS, subject.affordable(BATCH_ROWS, seconds=BATCH_SECONDS) // 4 * 4)
    first, second = (subject.release(_repeat(latent, rows)) for _ in range(2))
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
    return most_unlike(found, share=share, what=f"{rows} rows in each of two batches")


def seed(subject: Subject, latent: Tensor, *, share: float) -> Finding:
    """Is the noise beyond the reach of seeds: two calls after the same seeds, against pairs within a call."""
    _not_memoised(subject)
    with global_seeds_restored():
        first, second = (_seeded_release(subject, latent) for _ in range(2))
    found = _compared(_between(first, second), _within(first), "after the same seed")
    return most_unlike(found, share=share, what=f"{ROWS} pairs after the same seed, {ROWS} within one call")


def fork(subject: Subject, latent: Tensor, *, share: float) -> Finding:
    """Do two forked workers, as data loaders and servers start them, get noise of their own."""
    _not_memoised(subject)
    if "fork" not in multiprocessing.get_all_start_methods():
        raise MechanismFailure("this platform has no fork")
    latents = _repeat(latent, CALL_ROWS)
    try:
        first, second = _forked_releases(subject, latents)
    except _ForkTimeout:
        first, second = _forked_releases(subject, latents)
    found = _compared(_between(first, second), _within(first), "in two forked workers")
    return most_unlike(found, share=share, what=f"{ROWS} pairs of two forked workers, {ROWS} within one")


def finiteness(subject: Subject) -> Finding:
    """Is a latent with NaN or Inf released as an ordinary one.

    Claim: the guarantee speaks of any two records. An output that is NaN or infinite only for such a latent tells it apart
    from every other with certainty, whatever the budget. One such output is proof, no statistics.
    """
    rows = _not_finite(subject.dim)
    bad = int((~np.isfinite(subject.release(rows))).any(axis=1).sum())
    return Finding(failed=bad > 0, evidence=f"{bad} of {len(rows)} releases are not finite", statistic=float(bad))


def _not_finite(dim: int) -> Tensor:
    """Return latents (6, dim) with NaN or Inf in one or all coordinates, and two whose norms overflow."""
    rows = torch.full((6, dim), 0.1, dtype=torch.float64)
    rows[0, 0], rows[1], rows[2, -1], rows[3, 0] = torch.nan, torch.nan, torch.inf, -torch.inf
    rows[4], rows[5] = 1e300, -1.7e308
    return rows


def _not_memoised(subject: Subject) -> None:
    if subject.memoised:
        raise MechanismFailure("memoised releases of one record are equal by declaration")


def _repeat(latent: Tensor, rows: int) -> Tensor:
    return latent.expand(rows, -1).clone()


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
    for name, function in (("equal", _equality), ("alike", _likeness), ("differing in length", _unevenness)):
        ours, theirs = (function(a - centre, b - centre) for a, b in (suspect, reference))
        found += differences(ours, theirs, what=f"{where}, {name}")
    return found


def _equality(first: Floats, second: Floats) -> Floats:
    shares: Floats = np.isclose(first, second, rtol=0, atol=1e-12).mean(axis=1)
    return shares


def _likeness(first: Floats, second: Floats) -> Floats:
    sizes = np.linalg.norm(first, axis=1) * np.linalg.norm(second, axis=1)
    result: Floats = np.round((first * second).sum(axis=1) / np.maximum(sizes, 1e-300), 9)
    return result


def _unevenness(first: Floats, second: Floats) -> Floats:
    ratio = (np.linalg.norm(first, axis=1) + 1e-9) / (np.linalg.norm(second, axis=1) + 1e-9)
    result: Floats = np.round(np.abs(np.log(ratio)), 9)
    return result


def set_global_seeds() -> None:
    """Seed what mechanisms draw from without a thought: random, NumPy and torch."""
    random.seed(0)
    np.random.seed(0)
    torch.manual_seed(0)


def _seeded_release(subject: Subject, latent: Tensor) -> Floats:
    set_global_seeds()
    return subject.release(_repeat(latent, CALL_ROWS))


@contextmanager
def global_seeds_restored() -> Iterator[None]:
    """Leave the caller's seeds as they were."""
    python, numpy, pytorch = random.getstate(), np.random.get_state(), torch.get_rng_state()
    try:
        yield
    finally:
        random.setstate(python)
        np.random.set_state(numpy)
        torch.set_rng_state(pytorch)


def _forked_releases(subject: Subject, latents: Tensor) -> list[Floats]:
    """Return the releases of two children of this process, both forked before either has released."""
    time.sleep(SETTLE_SECONDS)
    context = multiprocessing.get_context("fork")
    workers = []
    for _ in range(2):
        receiver, sender = context.Pipe(duplex=False)
        process = context.Process(target=_release_in_child, args=(sender, subject, latents), daemon=True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12 warns of any fork beside threads
            process.start()
        sender.close()
        workers.append((process, receiver))
    try:
        return [_received(receiver, min(subject.time_limit, FORK_SECONDS)) for _, receiver in workers]
    finally:
        for process, receiver in workers:
            process.kill()
            process.join()
            receiver.close()


def _release_in_child(sender: Connection, subject: Subject, latents: Tensor) -> None:
    torch.set_num_threads(1)  # the parent's pool of threads did not survive the fork
    subject.call = Caller(math.inf)  # no further thread: the parent watches the clock
    try:
        sender.send(subject.release(latents))
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
