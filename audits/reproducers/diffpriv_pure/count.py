"""diffpriv-pure 0.1.0: private_count never goes below the true count (pip install diffpriv-pure==0.1.0)."""

from diffpriv_pure import private_count

of_42 = [private_count(42, epsilon=1.0) for _ in range(10_000)]
of_43 = [private_count(43, epsilon=1.0) for _ in range(10_000)]
print("smallest of 42:", min(of_42), " smallest of 43:", min(of_43))
print("P(42):", of_42.count(42) / 10_000, "and", of_43.count(42) / 10_000)
assert min(of_42) >= 42
assert min(of_43) >= 43
assert of_42.count(42) > 6_000
# A published 42 all but proves that no 43rd was counted: the noise is -1 once in 2^53. Source: geometric_noise, last line.
