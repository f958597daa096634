"""pure-ldp 1.2.0: RAPPORClient never turns a 1 into a 0 (pip install pure-ldp==1.2.0 scikit-learn statsmodels)."""

from math import exp

from pure_ldp.frequency_oracles.rappor.rappor_client import RAPPORClient

epsilon, m = 2.0, 16
f = 2 / (exp(epsilon / 2) + 1)  # so that 2 ln((1 - f/2) / (f/2)) is epsilon: one hash function
client = RAPPORClient(f, m, [[lambda s: int(s) % m]], num_of_cohorts=1, index_mapper=lambda v: v)
of_3 = [client.privatise(3)[0] for _ in range(10_000)]
of_5 = [client.privatise(5)[0] for _ in range(10_000)]
print("bit 3 is 0:", sum(b[3] == 0 for b in of_3), "times for value 3,", sum(b[3] == 0 for b in of_5), "for value 5")
assert not any(b[3] == 0 for b in of_3)
assert sum(b[3] == 0 for b in of_5) > 5_000
# A 0 proves that the bit was 0: epsilon is infinite. Source: rappor_client.py, _perturb sets data[i] = 1 and never 0.
