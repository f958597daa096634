"""nprr 0.1.4: the two end bins get half the probability of the others (pip install --no-deps nprr==0.1.4 'numpy<2' scipy)."""

import sys
from math import log
from unittest.mock import MagicMock

import numpy as np

MISSING = ("", ".betting_strategies", ".betting", ".boundaries", ".conjmix_bounded")  # for confidence sets alone
sys.modules.update({f"confseq{name}": MagicMock() for name in MISSING})
from nprr.mechanisms import nprr, r_from_G_eps  # noqa: E402

G, epsilon, n = 10, 1.0, 400_000
r = r_from_G_eps(G, epsilon)
p, q = ((nprr(np.full(n, x), r, G) == 0).mean() for x in (0.0, 1.0))
print(f"P(0 | 0) = {p:.4f}, P(0 | 1) = {q:.4f}: ln {log(p / q):.3f}, claim {epsilon}")
print("uniform part:", np.bincount(np.round(np.random.beta(1, 1, n) * G).astype(int)) / n)
assert log(p / q) > 1.3
# Source: discrete_uniform = np.round(np.random.beta(1, 1, len(x)) * G) / G; np.random.integers(G + 1) / G would be uniform.
