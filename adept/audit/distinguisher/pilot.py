"""Are records released otherwise as they are in batches: alone, from fresh copies, in company.

A game whose every release is a call of its own costs a hundred times what one in batches costs, and of a mechanism that
releases row by row it sees nothing that the event does not see, of the same records and of far more releases. So a few calls
look first whether there is anything to find: every statistic by which the event tries a pair (`distinguisher.vector_statistics`,
learned from releases in batches), and every one that is learned to tell these calls from batches. Unless one of them differs, if by
little more than chance, the game is not played.

How many calls: the game convicts by a rule that is right so many times, (1 + e^-eps)^-m = alpha, and hardly ever wrong. What
happens often enough for that happens `SHOWN` times here. A sound mechanism is acquitted either way, so nothing has to be exact:
`TOLD` only says how often time is spent in vain.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from adept.audit.distinguisher.pairs import Pair, PairSample, Sampler, Source
from adept.audit.result import Finding, MechanismFailure
from adept.audit.stats.two_sample import Difference, differences

Floats = NDArray[np.float64]

SHOWN = 8  # times that the rarest event shows here which the game could convict by
FEWEST = 16  # releases of an input
COMPANY_ROWS = 40  # releases of each record of a company
TOLD = 5e-4  # the smallest p-value of some hundred tests, much alike; below it the game is played
QUANTILES = (0.003, 0.01, 0.03, 0.08, 0.2, 0.5, 0.8, 0.92, 0.97, 0.99, 0.997)


@dataclass
class Batches:
    """Releases of records in batches of themselves.

    Attributes:
        drawn: returns those that the event drew already.
    """

    source: Source
    drawn: Callable[[], list[PairSample]]

    def __call__(self, pair: Pair) -> PairSample:
        """Return releases of a pair's records; of a company's row by row, each row in a batch of its own."""
        if pair.first.ndim == 1:
            return self._sampler(replace(pair, alone=False))
        first, second = (
            np.concatenate([self.source.sample(record, COMPANY_ROWS) for record in batch], axis=1)
            for batch in (pair.first, pair.second)
        )
        return PairSample(pair=pair, centres=self.source.centres(pair), releases=(first, second))

    @cached_property
    def _sampler(self) -> Sampler:
        samples = self.drawn()
        sampler = Sampler(self.source, len(samples[0].releases[0]))
        for sample in samples:
            sampler.remember(sample)
        return sampler


def rounds_needed(epsilon: float, *, alpha: float) -> float:
    """Return how often a rule that is never wrong must be right to refute a claim of ``epsilon``."""
    return -math.log(alpha) / math.log1p(math.exp(-epsilon)) if epsilon < 50 else math.inf


def alike(
    source: Source,
    pairs: Sequence[Pair],
    reference: Callable[[Pair], PairSample],
    *,
    trials: int,
    alpha: float,
    fewest: int = FEWEST,
) -> Finding | None:
    """Return that nothing tells the releases of ``pairs`` from their releases in batches; None if something does.

    Args:
        source: releases the pairs in the way that is in question.
        reference: the same records' releases in batches.
        trials: releases of each input that the game would count.
        alpha: chance of error of the game.
        fewest: releases of each input that are drawn.
    """
    rarest = rounds_needed(source.epsilon, alpha=alpha) / (2 * trials)
    rows = max(fewest, math.ceil(SHOWN / rarest / len(pairs)))
    if rows > trials // 4:
        return None
    sampler = Sampler(source, rows)
    try:
        samples = [(sampler(pair), reference(pair)) for pair in pairs]
        least = min(_differences(source, samples), key=lambda found: found.p_value)
    except (MechanismFailure, ValueError):  # refused, or rows of different lengths: the game says why
        return None
    if least.p_value < TOLD:
        return None
    evidence = f"{rows} releases of each record of {len(pairs)} pairs are as in batches; most unlike: {least}"
    return Finding(failed=False, evidence=evidence, statistic=least.ours / max(1, least.ours_of))


def _differences(source: Source, samples: list[tuple[PairSample, PairSample]]) -> list[Difference]:
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
        for name, statistic in source.statistics(learn) if sides else ():
            values = np.split(statistic(np.concatenate(sides)), cuts[:-1])
            for ours, theirs in zip(values[::2], values[1::2], strict=True):
                for kept, placed in zip(ranks[name], _ranks(ours, theirs), strict=True):
                    kept.append(placed)
    found = [
        difference
        for name, sides in ranks.items()
        for difference in differences(*map(np.concatenate, sides), what=name, quantiles=QUANTILES)
    ]
    return found + _told_apart(source, samples[0][1], *map(np.concatenate, rest))


def _told_apart(source: Source, any_pair: PairSample, ours: Floats, theirs: Floats) -> list[Difference]:
    """Compare by what tells the releases of all records, centred, from those in batches: learned on half, tried on the rest."""
    zero = np.zeros(ours.shape[1])
    ours, theirs = (side[np.random.default_rng().permutation(len(side))] for side in (ours, theirs))
    a, b = len(ours) // 2, len(theirs) // 2
    sample = replace(any_pair, centres=(zero, zero), releases=(ours[:a], theirs[:b]))
    found = []
    for name, statistic in source.statistics(sample):
        values = statistic(np.concatenate([ours[a:], theirs[b:]]))
        found += differences(*np.split(values, [len(ours) - a]), what=f"{name}, centred", quantiles=QUANTILES)
    return found


def _ranks(ours: Floats, theirs: Floats) -> tuple[Floats, Floats]:
    ranks = rankdata(np.concatenate([ours, theirs])) / (len(ours) + len(theirs))
    return ranks[: len(ours)], ranks[len(ours) :]
