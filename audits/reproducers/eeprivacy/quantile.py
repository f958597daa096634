"""eeprivacy 0.0.5: PrivateQuantile has 2 max(q, 1 - q) eps where one record is added (pip install eeprivacy==0.0.5)."""

from math import log

import numpy as np
from eeprivacy.operations import PrivateQuantile

quantile, n = PrivateQuantile(options=[10, 20]), 60_000
values = [0] * 14 + [15] * 5 + [30]


def low(values):
    values = np.array(values)
    return sum(quantile.execute(values=values, epsilon=1.0, quantile=0.9) == 10 for _ in range(n)) / n


p, q = low(values), low([*values, 30])
print(f"{p:.4f} and {q:.4f}: ln {log(p / q):.3f}, claim 1")
assert log(p / q) > 1.2
# One record more raises the score of 20 by .9 and lowers that of 10 by .9; noise of scale 1/eps is enough for a
# difference of 1, as for the median (q = .5). Source: execute adds noise of sensitivity 1 to -|count - N q|.
