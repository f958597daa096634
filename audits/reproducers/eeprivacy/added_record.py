"""eeprivacy 0.0.5: clamped mean and sum where one record is added, not replaced (pip install eeprivacy==0.0.5)."""

from math import log

from eeprivacy.operations import PrivateClampedMean, PrivateClampedSum

n = 100_000
mean = PrivateClampedMean(lower_bound=0, upper_bound=1)
few, more = (sum(0.4 < mean.execute(values=v, epsilon=0.2) < 0.6 for _ in range(n)) / n for v in ([0.0], [0.0, 1.0]))
print(f"mean of [0] and of [0, 1] is near .5: {few:.4f}, {more:.4f}; ln {log(more / few):.2f}, claim 0.2")
assert log(more / few) > 0.5
total = PrivateClampedSum(lower_bound=10, upper_bound=11)
few, more = (sum(total.execute(values=[10.5] * k, epsilon=1.0) > 37 for _ in range(1000)) for k in (3, 4))
print(f"sum of 3 and of 4 records, above 37: {few} and {more} of 1000, claim 1")
assert few < 50
assert more > 950
# The noise of the mean has scale (b - a) / (C epsilon), C the number of records; that of the sum (b - a) / epsilon.
