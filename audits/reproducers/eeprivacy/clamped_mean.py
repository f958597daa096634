"""eeprivacy 0.0.5: PrivateClampedMean does not clamp its values (pip install eeprivacy==0.0.5)."""

from eeprivacy.operations import PrivateClampedMean

mean = PrivateClampedMean(lower_bound=0, upper_bound=1)


def ones(value):
    return sum(mean.execute(values=[0.2] * 9 + [value], epsilon=1.0) == 1 for _ in range(5_000))


print("mean is 1:", ones(1.0), "times with a value of 1,", ones(1000.0), "with a value of 1000, of 5000")
assert ones(1.0) < 100
assert ones(1000.0) == 5_000
# Source: operations.py, S = np.sum(values); PrivateClampedSum has np.clip(values, a, b). Holds for values within the bounds.
