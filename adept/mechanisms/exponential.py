"""The exponential mechanism (McSherry and Talwar 2007): one of K public things, by how well it fits.

A score u(x, y) in [0, 1] says how well y fits the record x. P(y | x) is proportional to exp(eps u(x, y) / 2).

Claim: eps-LDP for any two records. Proof: between two records exp(eps u / 2) changes by a factor of at most exp(eps / 2), and so
does the sum over all y by which it is divided; the set of y and the range of u are public. Sampling from a language model whose
logits were clipped to [b1, b2] is such a mechanism, with u = (logit - b1) / (b2 - b1), at temperature T = 2 (b2 - b1) / eps
(Utpala, Hooker and Chen 2023, Theorem 1).
"""

import torch
from torch import Tensor

from adept.mechanisms.noise import fresh_uniform

MAX_WEIGHTS = 2**22  # weights in memory at once


def exponential_choice(scores: Tensor, *, epsilon: float) -> Tensor:
    """Choose one of K for each record (B,), from the operating system's entropy, in floating point.

    Args:
        scores: (B, K); cut off to [0, 1], and NaN becomes 0, so that the claim holds whatever they are.
        epsilon: of each choice.
    """
    rows = max(1, MAX_WEIGHTS // max(1, scores.shape[1]))
    parts = [_choose(part, epsilon) for part in torch.split(scores, rows)]
    return torch.cat(parts) if parts else torch.empty(0, dtype=torch.int64)


def _choose(scores: Tensor, epsilon: float) -> Tensor:
    bounded = scores.detach().to("cpu", torch.float64).nan_to_num(0.0).clamp(0.0, 1.0)
    weights = torch.exp(epsilon / 2 * (bounded - 1.0))  # 1 at most: nothing overflows
    cumulated = weights.cumsum(dim=1)
    levels = fresh_uniform(len(scores), 1) * cumulated[:, -1:]
    return torch.searchsorted(cumulated, levels, right=True)[:, 0].clamp(max=scores.shape[1] - 1)
