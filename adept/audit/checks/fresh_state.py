"""Fresh state: the first release of copies of the mechanism as it was given, and releases after one for another dimension.

Claim: the guarantee of a mechanism that was just started, or copied to another worker, covers its first record as it covers all
others. So the first releases of many copies are a guessing game like any other (`distinguisher.experiment`): a first call without
noise loses it, and so does a generator that copies share, since the noise of one copy is then known from another's. Nor does a
release before change what the guarantee covers: a scale that was kept from another dimension is wrong here.
"""

import time
from itertools import pairwise

import torch

from adept.audit.distinguisher.experiment import Experiment
from adept.audit.distinguisher.pairs import adversarial_pairs
from adept.audit.distinguisher.pilot import FEWEST, same_as_batches
from adept.audit.result import Finding, MechanismFailure
from adept.audit.subject.arguments import FEWEST_TRIALS
from adept.audit.subject.vector import VectorTarget

TRIALS, LATER_TRIALS = 800, 10_000
SECONDS = 2.0
FEW_ROWS = 100  # of each input after something else was asked, unless they differ from others
PAIRS = ("diagonal", "zero and random")
SPENT = 1.3  # releases in all over those that certify, about


def first_release(experiment: Experiment[VectorTarget], alpha: float) -> Finding:
    """Guess an input from the first release of a copy of the mechanism as it was given."""
    target = experiment.target
    copies = target.asked_as(target.given, memoised=True)
    times = [time.perf_counter()]
    while len(times) < 5:  # the machine may be busy with something else
        copies.fresh()
        times.append(time.perf_counter())
    each = min(after - before for before, after in pairwise(times)) + target.seconds_per_call
    trials = min(TRIALS, experiment.trials, int(SECONDS / (2 * SPENT * each)))
    if trials < FEWEST_TRIALS:
        raise MechanismFailure(f"the mechanism is too slow for {FEWEST_TRIALS} copies in {SECONDS:g} s")
    return _game(experiment, copies, trials, FEWEST, alpha)


def after_another_dimension(experiment: Experiment[VectorTarget], alpha: float) -> Finding:
    """Guess an input from the releases of a copy whose first call was of another dimension.

    Claim: a mechanism that takes records of any dimension makes its claim of each, whatever it was asked before. So the releases of
    a mechanism with a past of public records are a game like any other, and its bound errs with probability at most ``alpha``.
    """
    if not experiment.target.any_dimension or experiment.target.dim == 1:
        raise MechanismFailure("the mechanism knows one dimension only")
    asked = experiment.target.fresh()
    experiment.target.asked_as(asked, memoised=False).at(1).release(torch.zeros(1, 1, dtype=torch.float64))
    later = experiment.target.asked_as(asked)
    return _game(experiment, later, min(experiment.trials, LATER_TRIALS), FEW_ROWS, alpha)


def _game(
    experiment: Experiment[VectorTarget], target: VectorTarget, trials: int, fewest: int, alpha: float
) -> Finding:
    pairs = adversarial_pairs(target.dim, clip_norm=target.clip_norm)
    game = experiment.with_pairs([pair for pair in pairs if pair.name in PAIRS], trials, target)
    return same_as_batches(experiment, game, alpha=alpha, fewest=fewest) or game.refute(alpha=alpha)
