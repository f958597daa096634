"""Exact tests that compare two samples of any size and any distribution, or two counts."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import bdtr, bdtrc, gammaln

from adept.audit.result import Check
from adept.audit.stats.confidence_bounds import Floats, GameCounts


@dataclass(frozen=True)
class Difference:
    """A comparison of two counts, one from each of two samples, with the comparison's p-value."""

    p_value: float
    what: str
    ours: int  # the count in the first sample, among ``ours_of`` cases
    ours_of: int
    theirs: int
    theirs_of: int

    def __str__(self) -> str:
        return f"{self.what}: {self.ours} of {self.ours_of} against {self.theirs} of {self.theirs_of}"


def fisher(ours: int, ours_of: int, theirs: int, theirs_of: int) -> float:
    """Return the two-sided p-value of Fisher's exact test, which compares two counts.

    The p-value is twice the smaller tail of the hypergeometric distribution of ``ours`` among
    ``ours_of`` cases, given the sum of both counts.
    """
    both, least = ours + theirs, max(0, ours + theirs - theirs_of)
    count = np.arange(least, min(both, ours_of) + 1, dtype=np.float64)
    logs = _choose(ours_of, count) + _choose(theirs_of, both - count) - _choose(ours_of + theirs_of, np.float64(both))
    chances = np.exp(logs)
    lower, upper = chances[: ours - least + 1].sum(), chances[ours - least :].sum()
    return float(min(1.0, 2 * min(lower, upper)))


def _choose(of: int, count: Floats | np.float64) -> Floats | np.float64:
    return np.asarray(gammaln(of + 1) - gammaln(count + 1) - gammaln(of - count + 1))


def differences(first: Floats, second: Floats, *, what: str) -> list[Difference]:
    """Compare two samples by how many of their numbers lie above each of several thresholds.

    The thresholds are quantiles of the two samples together. Claim: Fisher's test of these counts
    is exact if all numbers are independent and have the same distribution. Proof: given the pooled
    numbers, every way to divide them into the two samples is equally likely, and the thresholds are
    always the same. So the number of values above the threshold in one sample is hypergeometric.
    """
    pooled = np.concatenate([first, second])
    found = []
    for threshold in np.unique(np.quantile(pooled, (0.02, 0.1, 0.3, 0.5, 0.7, 0.9, 0.98))):
        counts = int((first > threshold).sum()), len(first), int((second > threshold).sum()), len(second)
        found.append(Difference(fisher(*counts), f"{what} above {threshold:.4g}", *counts))
    return found


def binomial_p_value(count: int, of: int, p: float) -> float:
    """Return the two-sided p-value of ``count`` under Binomial(of, p): twice the smaller tail."""
    if p <= 0 or p >= 1:
        return 1.0 if count == of * p else 0.0
    lower, upper = float(bdtr(count, of, p)), float(bdtrc(count - 1, of, p)) if count else 1.0
    return min(1.0, 2 * min(lower, upper))


def certified(
    counts: GameCounts, evidence: str, *, epsilon: float, delta: float, alpha: float, tests: int = 1
) -> Check:
    """Return a check that fails if the counts certify an epsilon above the claimed ``epsilon``.

    The check is one of ``tests`` tests, each of which gets an equal part of ``alpha``.
    """
    bound = counts.certified_epsilon(delta=delta, alpha=alpha / tests)
    return Check.of(
        failed=bound > epsilon * (1 + 1e-9),
        evidence=evidence,
        statistic=counts.right / counts.rounds,
        p_value=min(1.0, tests * counts.p_value(epsilon=epsilon, delta=delta)),
        threshold=alpha,
        certified_epsilon=bound,
    )


def combined(p_values: Sequence[float], evidence: str, *, alpha: float, statistic: float | None = None) -> Check:
    """Return one check for several tests: the smallest p-value is multiplied by their number."""
    p = min(1.0, min(p_values) * len(p_values))
    return Check.of(failed=p < alpha, evidence=evidence, statistic=statistic, p_value=p, threshold=alpha)


def least_probable(found: Sequence[Difference], what: str, *, alpha: float) -> Check:
    """Return one check for several comparisons, which names the least probable comparison."""
    least = min(found, key=lambda difference: difference.p_value)
    evidence, share = f"{what}; least probable: {least}", least.ours / max(1, least.ours_of)
    return combined([each.p_value for each in found], evidence, alpha=alpha, statistic=share)
