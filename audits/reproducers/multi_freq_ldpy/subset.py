"""multi-freq-ldpy 0.2.5: SS_Client puts the true value first (pip install multi-freq-ldpy==0.2.5)."""

from multi_freq_ldpy.pure_frequency_oracles.SS import SS_Client

k, epsilon, n = 8, 1.0, 10_000
first = {v: sum(int(SS_Client(v, k, epsilon)[0]) == v for _ in range(n)) / n for v in (0, 1)}
later = {v: sum(v in SS_Client(v, k, epsilon)[1:].tolist() for _ in range(n)) / n for v in (0, 1)}
print("true value in the first place:", first, "in a later place:", later)
assert later == {0: 0.0, 1: 0.0}
assert first[0] > 0.3
# A value in a later place is surely not the user's: epsilon of the returned array is infinite.
# Source: SS.py, sub_set[0] = int(input_data), returned without a shuffle. As a set, the report is sound.
