"""nprr 0.1.4: multinomial_rr draws one random value for all rows of a call."""

import sys
import warnings
from unittest.mock import MagicMock

import numpy as np

MISSING = ("", ".betting_strategies", ".betting", ".boundaries", ".conjmix_bounded")  # for confidence sets alone
sys.modules.update({f"confseq{name}": MagicMock() for name in MISSING})
from nprr.mechanisms import multinomial_rr  # noqa: E402

warnings.simplefilter("ignore")
column = np.array([0, 1, 2] * 10)
for _ in range(5):
    z = multinomial_rr(column, 3, 0.5)
    print("values that are not the row's own:", sorted(set(z[z != column].tolist())))
    assert len(set(z[z != column])) <= 1
# So every other released value is true. Source: np.random.random_integers(low=0, high=K) has no size; K itself is drawn too.
