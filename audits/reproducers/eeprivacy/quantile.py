"""eeprivacy 0.0.5: PrivateQuantile has 2 eps where a record is replaced (pip install eeprivacy==0.0.5)."""

from math import log

import numpy as np
from eeprivacy.operations import PrivateQuantile

quantile, n = PrivateQuantile(options=[10, 20]), 100_000
rest = [0] * 10 + [15] * 6 + [30] * 6


def high(value):
    values = np.array([*rest, value])
    return sum(quantile.execute(values=values, epsilon=1.0, quantile=0.5) == 20 for _ in range(n)) / n


p, q = high(0), high(30)
print(f"{p:.4f} and {q:.4f}: ln {abs(log(p / q)):.3f}, claim 1")
# Its noise of 1/eps is enough where a record is added or removed (scores move by at most 1 together).
