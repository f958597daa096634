"""multi-freq-ldpy 0.2.5: RS+FD[GRR] gives tuples that differ in every attribute ln(d (e^eps - 1) + 1)."""

from math import exp, log

from multi_freq_ldpy.mdim_freq_est.RSpFD_solution import RSpFD_GRR_Client

d, k, epsilon, n = 4, 8, 1.0, 200_000
a, b = [0] * d, [1] * d


def event(y):
    return sum(v == 0 for v in y) - sum(v == 1 for v in y) >= 2


p = sum(event(RSpFD_GRR_Client(a, [k] * d, d, epsilon)) for _ in range(n)) / n
q = sum(event(RSpFD_GRR_Client(b, [k] * d, d, epsilon)) for _ in range(n)) / n
print(f"{p:.4f} against {q:.4f}: ln {log(p / q):.3f}; claim {epsilon}, amplified {log(d * (exp(epsilon) - 1) + 1):.3f}")
assert log(p / q) > 1.1
# Tuples that differ in one attribute keep epsilon (all attributes of one size). Source: RSpFD_solution.py, amp_eps.
