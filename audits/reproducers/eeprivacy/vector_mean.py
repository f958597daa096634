"""eeprivacy 0.0.5: PrivateVectorClampedMeanLaplace adds one number of noise to all places (pip install eeprivacy==0.0.5)."""

from eeprivacy.operations import PrivateVectorClampedMeanLaplace

mean = PrivateVectorClampedMeanLaplace(lower_bound=0, upper_bound=1, k=2, N=2)
first = [mean.execute(vectors=[[0.5, 0.5], [0.0, 0.0]], epsilon=1.0, delta=0) for _ in range(1_000)]
second = [mean.execute(vectors=[[0.5, 0.5], [1.0, 0.0]], epsilon=1.0, delta=0) for _ in range(1_000)]
gaps = [{round(r[0] - r[1], 9) for r in released} for released in (first, second)]
print("first place minus second:", gaps)
assert gaps == [{0.0}, {0.5}]
# Differences of places are released exactly. Source: operations.py calls LaplaceMechanism.execute, not execute_batch.
