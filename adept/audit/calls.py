"""Checks of how releases relate to each other: in one batch, under one seed, across forks; and of latents that are not finite.

Claim behind `batch`, `seed` and `fork`: if all releases of one latent are independent, then "two of them are equal" has one
and the same probability wherever the two come from, so the counts of equal pairs from two sources are compared by
Fisher's exact test. It is valid for continuous and for discrete outputs, and powerful because shared noise makes every
pair equal. Releases that are always equal give no evidence: that a constant is released tells nothing, and what a
deterministic release tells is found by the event.
"""

import math
import multiprocessing
import random
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from multiprocessing.connection import Connection

import numpy as np
import torch
from scipy.stats import fisher_exact
from torch import Tensor

from adept.audit.result import Finding, MechanismFailure
from adept.audit.subject import Subject

ROWS = 128  # pairs that are compared
CALL_ROWS = 3 * ROWS
# A fork beside a thread that is just ending inherits its locks (OpenDP's too), and nobody opens them: let it end first.
SETTLE_SECONDS = 0.2
FORK_SECONDS = 10.0  # after so long without an answer, it is tried once more


class _ForkTimeout(MechanismFailure):
    """A forked worker did not answer in time."""


def batch(subject: Subject, latent: Tensor, *, share: float) -> Finding:
    """Do two records of one batch get noise of their own: equal pairs within a call against equal pairs between calls."""
    first, second = (subject.release(_repeat(latent, CALL_ROWS)) for _ in range(2))
    return _more_equal(_within(first), _between(first, second), share, "within one batch", "between batches")


def seed(subject: Subject, latent: Tensor, *, share: float) -> Finding:
    """Is the noise beyond the reach of seeds: two calls after the same seeds, against pairs within a call."""
    with _global_seeds_restored():
        first, second = (_seeded_release(subject, latent) for _ in range(2))
    return _more_equal(_between(first, second), _within(first), share, "after the same seed", "within one call")


def fork(subject: Subject, latent: Tensor, *, share: float) -> Finding:
    """Do two forked workers, as data loaders and servers start them, get noise of their own."""
    if "fork" not in multiprocessing.get_all_start_methods():
        raise MechanismFailure("this platform has no fork")
    latents = _repeat(latent, CALL_ROWS)
    try:
        first, second = _forked_releases(subject, latents)
    except _ForkTimeout:
        first, second = _forked_releases(subject, latents)
    return _more_equal(_between(first, second), _within(first), share, "in two forked workers", "within one worker")


def finiteness(subject: Subject) -> Finding:
    """Is a latent with NaN or Inf released as an ordinary one.

    Claim: the guarantee speaks of any two records. An output that is NaN or infinite only for such a latent tells it apart
    from every other with certainty, whatever the budget. One such output is proof, no statistics.
    """
    rows = _not_finite(subject.dim)
    bad = int((~subject.release(rows).isfinite()).any(dim=1).sum())
    return Finding(failed=bad > 0, evidence=f"{bad} of {len(rows)} releases are not finite", statistic=float(bad))


def _not_finite(dim: int) -> Tensor:
    """Return latents (6, dim) with NaN or Inf in one or all coordinates, and two whose norms overflow."""
    rows = torch.full((6, dim), 0.1, dtype=torch.float64)
    rows[0, 0], rows[1], rows[2, -1], rows[3, 0] = torch.nan, torch.nan, torch.inf, -torch.inf
    rows[4], rows[5] = 1e300, -1.7e308
    return rows


def _repeat(latent: Tensor, rows: int) -> Tensor:
    return latent.expand(rows, -1).clone()


def _equal(first: Tensor, second: Tensor) -> Tensor:
    return (first == second).all(dim=1)


def _within(call: Tensor) -> Tensor:
    """Compare pairs within one call, on other rows than `_between` so that the two counts are independent."""
    return _equal(call[: 2 * ROWS : 2], call[1 : 2 * ROWS : 2])


def _between(first: Tensor, second: Tensor) -> Tensor:
    return _equal(first[2 * ROWS :], second[2 * ROWS :])


def _more_equal(suspect: Tensor, reference: Tensor, share: float, here: str, there: str) -> Finding:
    ours, theirs = int(suspect.sum()), int(reference.sum())
    table = [[ours, len(suspect) - ours], [theirs, len(reference) - theirs]]
    p = float(fisher_exact(np.array(table), alternative="greater").pvalue)
    evidence = f"{ours} of {len(suspect)} pairs equal {here}, {theirs} of {len(reference)} {there}"
    return Finding(failed=p < share, evidence=evidence, statistic=ours / len(suspect), p_value=p, threshold=share)


def _seeded_release(subject: Subject, latent: Tensor) -> Tensor:
    random.seed(0)
    np.random.seed(0)
    torch.manual_seed(0)
    return subject.release(_repeat(latent, CALL_ROWS))


@contextmanager
def _global_seeds_restored() -> Iterator[None]:
    python, numpy, pytorch = random.getstate(), np.random.get_state(), torch.get_rng_state()
    try:
        yield
    finally:
        random.setstate(python)
        np.random.set_state(numpy)
        torch.set_rng_state(pytorch)


def _forked_releases(subject: Subject, latents: Tensor) -> list[Tensor]:
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
    here = replace(subject, time_limit=math.inf)  # no further thread: the parent watches the clock
    try:
        sender.send(here.release(latents).numpy())
    except MechanismFailure as failure:
        sender.send(str(failure))


def _received(receiver: Connection, seconds: float) -> Tensor:
    if not receiver.poll(seconds):
        raise _ForkTimeout(f"a forked worker took longer than {seconds:g} s")
    try:
        answer = receiver.recv()
    except EOFError:
        raise MechanismFailure("a forked worker died without an answer") from None
    if isinstance(answer, str):
        raise MechanismFailure(f"in a forked worker, {answer}")
    return torch.from_numpy(answer)
