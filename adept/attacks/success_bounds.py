r"""Bounds on how often an attacker can be right about a record, or about its presence in the input.

Every bound except ``best_success`` follows from P[M(x) in S] <= e^eps P[M(x') in S] + delta alone.
So these bounds hold for every attack that is computed from one release.
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from adept.attacks.likelihood import Candidates
from adept.audit.stats.confidence_bounds import clopper_pearson
from adept.errors import ConfigurationError
from adept.mechanisms.guarantee import check_bound


@dataclass(frozen=True)
class Rate:
    """The success rate of an attack in independent rounds, with a Clopper-Pearson interval."""

    value: float
    low: float
    high: float
    trials: int
    confidence: float  # the interval holds the true rate with at least this probability

    @classmethod
    def of(cls, successes: int, trials: int, *, confidence: float) -> "Rate":
        """Return the rate of ``successes`` right guesses in ``trials`` independent rounds."""
        if not 0 < confidence < 1:
            raise ConfigurationError(f"confidence must be between 0 and 1, got {confidence}")
        if not 0 <= successes <= trials or trials < 1:
            raise ConfigurationError(
                f"successes must be from 0 to the trials, at least one, got {successes} of {trials}"
            )
        low, high = clopper_pearson(successes, trials, alpha=(1 - confidence) / 2)
        return cls(successes / trials, float(low), float(high), trials, confidence)


def membership_power(false_positives: float, *, epsilon: float, delta: float = 0.0) -> float:
    """Return the largest true positive rate of a membership test at a given false positive rate.

    Claim: TPR <= min(1, e^eps FPR + delta, 1 - e^-eps (1 - delta - FPR)), where TPR and FPR are the
    true and the false positive rate.

    Proof: let x be an input with the record, and x' an input without it. By the definition of
    (epsilon, delta)-LDP, TPR <= e^eps FPR + delta, because the test says yes with probability TPR
    under x and FPR under x'. For the event that the test says no, 1 - FPR <= e^eps (1 - TPR) +
    delta (Kairouz, Oh and Viswanath 2015, Theorem 2.1).
    """
    check_bound(epsilon, false_positives=false_positives, delta=delta)
    # e^eps would overflow if it were computed alone
    high = math.exp(min(0.0, epsilon + math.log(false_positives))) if false_positives else 0.0
    return min(1.0, high + delta, -math.expm1(-epsilon) + math.exp(-epsilon) * (delta + false_positives))


def membership_auc(*, epsilon: float, delta: float = 0.0) -> float:
    """Return the largest area under the ROC curve that a membership test can have.

    Claim: AUC <= 1 - (1 - delta)^2 / (1 + e^eps). Proof: integrate the bound of `membership_power`
    over the false positive rate. The bound consists of a line through (0, delta) with slope e^eps,
    and a line through (1 - delta, 1) with slope e^-eps. The two lines meet on the falling diagonal
    of the unit square. The area above both lines consists of two triangles, each with base 1 -
    delta and height (1 - delta) / (1 + e^eps).
    """
    check_bound(epsilon, delta=delta)
    return 1 - (1 - delta) ** 2 / (1 + math.exp(min(epsilon, 700.0)))


def best_success(candidates: Candidates, prior: Tensor, classes: Tensor) -> float | None:
    r"""Return the success rate of the best attack, or None if a release is not one symbol.

    Claim: let v be one release of a record x, which is drawn with the prior probabilities pi_x, and
    let Q(v|x) be the probability of v given x. Of all attacks that see v, none names the class c(x)
    of the record with a probability above

        sum over v of max over classes c of sum over x in c of pi_x Q(v|x),

    and the attack that names the maximising class reaches this probability. Proof: given v, a guess
    c is right with probability sum_{x in c} pi_x Q(v|x) / P(v). QED.

    The program computes one term of the sum for each symbol v that is *heavy* (likelier than most
    symbols) under a candidate. All other symbols have the same term, because for each of them, the
    best attack names the class with the largest prior probability.

    Args:
        candidates: the candidates, in the form that the mechanism reads.
        prior: the prior probability of each candidate (j,); the sum is one.
        classes: the class of each candidate (j,), whole numbers from 0 on.
    """
    found = _distribution(candidates)
    if found is None:
        return None
    symbols, odds, size = found
    prior = prior.double()
    masses = torch.zeros(int(classes.max()) + 1, dtype=torch.float64).index_add(0, classes, prior)
    used, places = torch.unique(symbols, return_inverse=True)
    best = masses.max().repeat(len(used))
    # Each number stands for a pair of a symbol and a class
    pairs, which = torch.unique(places * len(masses) + classes[:, None], return_inverse=True)
    heavy = torch.zeros(len(pairs), dtype=torch.float64)
    heavy.index_add_(0, which.flatten(), prior[:, None].expand(symbols.shape).flatten())
    best.scatter_reduce_(0, pairs // len(masses), (odds - 1) * heavy + masses[pairs % len(masses)], "amax")
    light = 1 / (symbols.shape[1] * (odds - 1) + size)  # probability of a symbol that is not heavy
    return float(light * (best.sum() + (size - len(used)) * masses.max()))


def _distribution(candidates: Candidates) -> tuple[Tensor, float, float] | None:
    """Return each candidate's heavy symbols (j, t), the odds A, and the number k of symbols."""
    mechanism, views = candidates.mechanism, candidates.views
    draws = mechanism.selections(candidates.dim)
    if len(draws) != 1:
        return None
    [heavy] = views
    # Number only the indices that are heavy for some candidate
    return torch.unique(heavy, return_inverse=True)[1], math.exp(mechanism.epsilon), float(draws[0].size)
