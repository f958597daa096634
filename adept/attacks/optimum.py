r"""The best attack's success, exactly, where releases are from a finite alphabet: codebooks and descriptions.

Claim: of all attacks that see one release v of a record x ~ pi, none names x's class c(x) with a probability above

    sum over v of max over classes c of sum over x in c of pi_x Q(v|x),

and the attack that names the maximising class reaches it. Proof: given v, a guess c is right with probability sum_{x in c} pi_x
Q(v|x) / P(v). QED. For exact match every record is a class of its own; a success set or an attribute is a class.

Of the symbols only those count apart that are heavy under some candidate: under all others every class c has its prior mass
times the light weight, so the likeliest class wins. So K = 2^100 descriptions cost no more than there are candidates.
"""

import math

import torch
from torch import Tensor

from adept.attacks.likelihood import Known


def best_success(candidates: Known, prior: Tensor, classes: Tensor) -> float | None:
    """Return the exact success of the best attack; None where the alphabet is not finite, or is one of several blocks.

    Args:
        candidates: of the mechanism.
        prior: of each candidate (j,), summing to one.
        classes: of each candidate (j,): whole numbers from 0.
    """
    found = _distribution(candidates)
    if found is None:
        return None
    symbols, odds, size = found
    prior = prior.double()
    masses = torch.zeros(int(classes.max()) + 1, dtype=torch.float64).index_add(0, classes, prior)
    used, places = torch.unique(symbols, return_inverse=True)
    best = masses.max().repeat(len(used))
    pairs, which = torch.unique(places * len(masses) + classes[:, None], return_inverse=True)  # a symbol and a class
    heavy = torch.zeros(len(pairs), dtype=torch.float64)
    heavy.index_add_(0, which.flatten(), prior[:, None].expand(symbols.shape).flatten())
    best.scatter_reduce_(0, pairs // len(masses), (odds - 1) * heavy + masses[pairs % len(masses)], "amax")
    light = 1 / (symbols.shape[1] * (odds - 1) + size)  # the chance of a symbol that is not heavy
    return float(light * (best.sum() + (size - len(used)) * masses.max()))


def _distribution(candidates: Known) -> tuple[Tensor, float, float] | None:
    """What is heavy under each candidate, as whole numbers (j, t), the odds A, and the number of symbols k."""
    mechanism, views = candidates.mechanism, candidates.views
    symbols = mechanism.symbols(candidates.dim)
    if len(symbols) != 1:
        return None
    [heavy] = views
    if not candidates.dim:  # of descriptions only those that are some candidate's
        heavy = torch.unique(heavy.reshape(-1, 2), dim=0, return_inverse=True)[1].reshape(len(heavy), -1)
    return heavy, math.exp(mechanism.epsilon), float(symbols[0].size)
