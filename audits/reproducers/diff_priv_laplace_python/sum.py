"""diff-priv-laplace-python 1.0.5: the sum's sensitivity is that of an added record (diff-priv-laplace-python==1.0.5)."""

from math import log

from diffpriv_laplace import DiffPrivLaplaceMechanism

n = 50_000
low, high = (
    sum(DiffPrivLaplaceMechanism.anonymize_sum_with_budget(3.0 + value, -1, 1, 1.0) > 4 for _ in range(n)) / n
    for value in (-1.0, 1.0)
)
print(f"above 4: {low:.4f} with -1, {high:.4f} with 1; ln {log(high / low):.2f}, claim 1")
assert log(high / low) > 1.5
# Source: global_sensitivity/sum.py has max(|lower|, |upper|); a record that is replaced moves the sum by upper - lower.
