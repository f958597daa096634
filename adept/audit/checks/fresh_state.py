"""The first release of a mechanism: from fresh copies of it as it was given, each of which is asked once; and a copy's past.

Claim: a mechanism that was just started, or copied to another worker, owes its first record what it owes all others. So what the
first releases of many copies tell is a guessing game like any other (`distinguisher.choice`): a first call without noise loses
it, and so does a generator that copies share, since the noise of one copy is then known from another's. Nor is a record owed less
by a mechanism that was asked for something else before: a scale that was kept from there is wrong here.
"""

import copy
import time
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import Any

import torch

from adept.audit.distinguisher.experiment import FEWEST_TRIALS, Arena
from adept.audit.distinguisher.pairs import Pair, PairSample, adversarial_pairs
from adept.audit.distinguisher.pilot import alike
from adept.audit.result import Finding, MechanismFailure
from adept.audit.target.vector import Subject

TRIALS, LATER = 800, 10_000
SECONDS = 2.0
FEW_ROWS = 100  # of each input after something else was asked, unless they differ from others
NAMES = ("diagonal", "zero and random")
SPENT = 1.3  # releases in all over those that certify, about


def untouched(mechanism: Any) -> Any:
    """Return a copy of a mechanism that nobody has asked yet, or None if it cannot be copied."""
    try:
        return copy.deepcopy(mechanism)
    except Exception:  # noqa: BLE001 - foreign code: whatever it raises, there is no copy
        return None


def first(
    subject: Subject, original: Any, reference: Callable[[Pair], PairSample], *, trials: int, alpha: float
) -> Finding:
    """Guess an input from the first release of a copy.

    Args:
        subject: the mechanism under audit, which has been asked before.
        original: an untouched copy, from which the copies are made.
        reference: releases of a pair in batches; what first releases do not differ from needs no game (`distinguisher.pilot`).
        trials: of the audit; far fewer are made here.
        alpha: chance of error of the certified bound.
    """
    if original is None:
        raise MechanismFailure("the mechanism cannot be copied")
    times = [time.perf_counter()]
    while len(times) < 5:  # the machine may be busy with something else
        if untouched(original) is None:
            raise MechanismFailure("the mechanism cannot be copied twice")
        times.append(time.perf_counter())
    each = min(after - before for before, after in pairwise(times)) + subject.seconds_per_call
    rows = min(TRIALS, trials, int(SECONDS / (2 * SPENT * each)))
    if rows < FEWEST_TRIALS:
        raise MechanismFailure(f"the mechanism is too slow for {FEWEST_TRIALS} copies in {SECONDS:g} s")
    copies = replace(subject, mechanism=original, memoised=True, _dialect=subject.dialect)
    pairs = _pairs(subject)
    if found := alike(copies, pairs, reference, trials=rows, alpha=alpha):
        return found
    return Arena(copies, pairs, rows, alpha).finding(claim=subject.epsilon)


def afterwards(
    subject: Subject, original: Any, reference: Callable[[Pair], PairSample], *, trials: int, alpha: float
) -> Finding:
    """Guess an input from the releases of a copy whose first call was of another dimension; the arguments are those of `first`.

    Claim: a mechanism that takes records of any dimension owes each its claim, whatever it was asked before. So the releases of
    a mechanism with a past of public records are a game like any other, and its bound errs with probability at most ``alpha``.
    """
    asked = untouched(original)
    if asked is None:
        raise MechanismFailure("the mechanism cannot be copied")
    past = replace(subject, mechanism=asked, dim=1, _declared=None, _dialect=None, _seconds={})
    past.release(torch.zeros(1, 1, dtype=torch.float64))
    later, pairs, trials = (
        replace(past, dim=subject.dim, _dialect=None, _seconds={}),
        _pairs(subject),
        min(trials, LATER),
    )
    if found := alike(later, pairs, reference, trials=trials, alpha=alpha, fewest=FEW_ROWS):
        return found
    return Arena(later, pairs, trials, alpha).finding(claim=subject.epsilon)


def _pairs(subject: Subject) -> list[Pair]:
    return [pair for pair in adversarial_pairs(subject.dim, clip_norm=subject.clip_norm) if pair.name in NAMES]
