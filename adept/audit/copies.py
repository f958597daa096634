"""The first release of a mechanism: from fresh copies of it as it was given, each of which is asked once.

Claim: a mechanism that was just started, or copied to another worker, owes its first record what it owes all others. So what the
first releases of many copies tell is a guessing game like any other (`adept.audit.events`): a first call without noise loses
it, and so does a generator that copies share, since the noise of one copy is then known from another's.
"""

import copy
import time
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import Any

from adept.audit.alike import alike
from adept.audit.arena import FEWEST_TRIALS, Arena
from adept.audit.pairs import Pair, PairSample, adversarial_pairs
from adept.audit.result import Finding, MechanismFailure
from adept.audit.subject import Subject

TRIALS = 800
SECONDS = 2.0
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
        reference: releases of a pair in batches; what first releases do not differ from needs no game (`adept.audit.alike`).
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
    pairs = [pair for pair in adversarial_pairs(subject.dim, clip_norm=subject.clip_norm) if pair.name in NAMES]
    if found := alike(copies, pairs, reference, trials=rows, alpha=alpha):
        return found
    return Arena(copies, pairs, rows, alpha).finding(claim=subject.epsilon)
