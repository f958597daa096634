"""diffpriv-pure 0.1.0: mean and sum where one record is added, not replaced (pip install diffpriv-pure==0.1.0)."""

from math import log

from diffpriv_pure import private_mean, private_sum

n = 50_000
more, few = (sum(private_mean(v, (0, 1), 0.2) < -10 for _ in range(n)) / n for v in ([0.0], [0.0, 1.0]))
print(f"mean of [0] and of [0, 1] is below -10: {more:.4f}, {few:.4f}; ln {log(more / few):.2f}, claim 0.2")
assert log(more / few) > 1
few, more = (sum(private_sum([10.5] * k, (10, 11), 1.0) > 37 for _ in range(1000)) for k in (3, 4))
print(f"sum of 3 and of 4 records, above 37: {few} and {more} of 1000, claim 1")
assert few < 50
assert more > 950
# The noise of the mean has scale (hi - lo) / (n epsilon), n the number of records; that of the sum (hi - lo) / epsilon.
