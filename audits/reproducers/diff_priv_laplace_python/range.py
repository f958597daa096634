"""diff-priv-laplace-python 1.0.5: min, max and median have sensitivity 1 whatever the data."""

from diffpriv_laplace import DiffPrivStatistics as S


def oldest(age):
    return [S.max([20.0, 30.0, age], 1.0) for _ in range(1_000)]


def middle(age):
    return [S.median([20.0, age, 90.0], 1.0) for _ in range(1_000)]


print("above 65:", sum(x > 65 for x in oldest(40.0)), "times for 40,", sum(x > 65 for x in oldest(90.0)), "for 90")
assert not any(x > 65 for x in oldest(40.0))
assert all(x > 65 for x in oldest(90.0))
assert not any(x > 55 for x in middle(20.0))
assert all(x > 55 for x in middle(90.0))


def spread(value):
    return max(abs(S.mean([0.0] * 3 + [1.0] * 6 + [value], 1.0) - 1) for _ in range(1_000))


print("largest distance of a mean from 1:", spread(1.0), "for a value of 1,", spread(100.0), "for 100")
# Source: global_sensitivity/max.py, super().__init__(1.0); statistics.py: mean takes its bounds from the data (np.min, np.max).
