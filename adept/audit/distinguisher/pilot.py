"""A pilot for games whose every release is a call of its own: do such releases differ from releases in batches at all.

Such a game costs a hundred times what one in batches costs, and of a mechanism that releases row by row it shows nothing that the
event does not show, of the same records and of far more releases. So a few calls look first whether there is anything to find:
every statistic by which the event tries a pair (`distinguisher.vector_statistics`, learned from releases in batches), and every one
that is learned to separate these calls from batches. Unless one of them differs, if by little more than chance, the game is not
played.

How many calls: the game refutes a claim by a rule that is right so many times, (1 + e^-eps)^-m = alpha, and hardly ever wrong. What
happens often enough for that happens `SHOWN` times here. No violation is found in a sound mechanism either way, so nothing has to
be exact: `SUSPICIOUS` only says how often time is spent in vain.
"""

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from scipy.stats import rankdata

from adept.audit.distinguisher.choice import statistics_of
from adept.audit.distinguisher.experiment import Experiment
from adept.audit.distinguisher.pairs import Pair, PairSample, Sampler
from adept.audit.result import Finding, MechanismFailure
from adept.audit.stats.exact_tests import Difference, differences
from adept.audit.subject.interface import Floats, Target
from adept.audit.subject.vector import VectorTarget

SHOWN = 8  # times that the rarest event shows here which the game could refute a claim by
FEWEST = 16  # releases of an input
BATCH_ROWS = 40  # releases of each record of a batch of different records
SUSPICIOUS = (
    5e-4  # the smallest p-value of some hundred tests, most of them nearly the same; below it the game is played
)
QUANTILES = (0.003, 0.01, 0.03, 0.08, 0.2, 0.5, 0.8, 0.92, 0.97, 0.99, 0.997)


def rounds_needed(epsilon: float, *, alpha: float) -> float:
    """Return how often a rule that is never wrong must be right to refute a claim of ``epsilon``."""
    return -math.log(alpha) / math.log1p(math.exp(-epsilon)) if epsilon < 50 else math.inf


def same_as_batches(
    experiment: Experiment[VectorTarget], calls: Experiment[VectorTarget], *, alpha: float, fewest: int = FEWEST
) -> Finding | None:
    """Return that nothing separates releases in calls of their own from releases in batches; None if something does.

    Args:
        experiment: the audit's, whose releases are in batches.
        calls: the game in question; ``calls.trials`` is how many releases of each input it would count.
        alpha: chance of error of the game.
        fewest: releases of each input that are drawn.
    """
    target, pairs = calls.target, calls.pairs
    rarest = rounds_needed(target.epsilon, alpha=alpha) / max(1, 2 * calls.trials)
    rows = max(fewest, math.ceil(SHOWN / rarest / len(pairs)))
    if rows > calls.trials // 4:
        return None
    sampler = Sampler(target, rows)
    try:
        samples = [(sampler(pair), _in_batches(experiment, pair)) for pair in pairs]
        least = min(_differences(target, samples), key=lambda found: found.p_value)
    except (MechanismFailure, ValueError):  # refused, or rows of different lengths: the game says why
        return None
    if least.p_value < SUSPICIOUS:
        return None
    evidence = f"{rows} releases of each record of {len(pairs)} pairs are as in batches; least probable: {least}"
    return Finding(failed=False, evidence=evidence, statistic=least.ours / max(1, least.ours_of))


def _in_batches(experiment: Experiment[VectorTarget], pair: Pair) -> PairSample:
    """Return releases of a pair's records in batches of themselves; of a pair of batches row by row."""
    if pair.first.ndim == 1:
        return experiment.batches(replace(pair, alone=False))
    target = experiment.target
    first, second = (
        np.concatenate([target.sample(record, BATCH_ROWS) for record in batch], axis=1)
        for batch in (pair.first, pair.second)
    )
    return PairSample(pair=pair, centres=target.centres(pair.first, pair.second), releases=(first, second))


def _differences(target: Target, samples: Sequence[tuple[PairSample, PairSample]]) -> list[Difference]:
    """Compare values of each statistic, of all records together: as ranks among those of their own record."""
    ranks: dict[str, tuple[list[Floats], list[Floats]]] = defaultdict(lambda: ([], []))
    rest: tuple[list[Floats], list[Floats]] = [], []
    seen: list[Floats] = []  # pairs share inputs, and each is compared once
    for few, many in samples:
        half = len(many.releases[0]) // 2
        learn = replace(many, releases=(many.releases[0][:half], many.releases[1][:half]))
        new = [i for i in (0, 1) if not any(few.releases[i] is releases for releases in seen)]
        seen += few.releases
        sides = [releases for i in new for releases in (few.releases[i], many.releases[i][half:])]
        for place, releases in enumerate(sides):
            rest[place % 2].append(releases - np.median(learn.releases[new[place // 2]], axis=0))
        cuts = np.cumsum([len(releases) for releases in sides])
        for name, statistic in statistics_of(target, learn) if sides else ():
            values = np.split(statistic(np.concatenate(sides)), cuts[:-1])
            for ours, theirs in zip(values[::2], values[1::2], strict=True):
                for kept, placed in zip(ranks[name], _ranks(ours, theirs), strict=True):
                    kept.append(placed)
    found = [
        difference
        for name, sides in ranks.items()
        for difference in differences(*map(np.concatenate, sides), what=name, quantiles=QUANTILES)
    ]
    return found + _learned_differences(target, samples[0][1], *map(np.concatenate, rest))


def _learned_differences(target: Target, any_pair: PairSample, ours: Floats, theirs: Floats) -> list[Difference]:
    """Compare by what separates the releases of all records, centred, from those in batches: learned on half, tried on the rest."""
    zero = np.zeros(ours.shape[1])
    ours, theirs = (side[np.random.default_rng().permutation(len(side))] for side in (ours, theirs))
    a, b = len(ours) // 2, len(theirs) // 2
    sample = replace(any_pair, centres=(zero, zero), releases=(ours[:a], theirs[:b]))
    found = []
    for name, statistic in statistics_of(target, sample):
        values = statistic(np.concatenate([ours[a:], theirs[b:]]))
        found += differences(*np.split(values, [len(ours) - a]), what=f"{name}, centred", quantiles=QUANTILES)
    return found


def _ranks(ours: Floats, theirs: Floats) -> tuple[Floats, Floats]:
    ranks = rankdata(np.concatenate([ours, theirs])) / (len(ours) + len(theirs))
    return ranks[: len(ours)], ranks[len(ours) :]
