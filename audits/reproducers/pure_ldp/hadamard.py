"""pure-ldp 1.2.0: HadamardMechClient returns a list where it kept the truth and a zip object where it did not."""

from pure_ldp.frequency_oracles.hadamard_mechanism import HadamardMechClient

client = HadamardMechClient(2.0, 8, 2, index_mapper=lambda v: v)


def truth(v, j):
    return (-1) ** bin(v & j).count("1")


kept = [client.privatise(5) for _ in range(2_000)]
lists = [r for r in kept if isinstance(r, list)]
print(
    len(lists),
    "lists,",
    len(kept) - len(lists),
    "zip objects; every list holds the truth:",
    all(h == truth(5, j) for r in lists for j, h in r),
)
assert 0 < len(lists) < len(kept)
assert all(h == truth(5, j) for r in lists for j, h in r)
# Whoever sees the object knows whether it is true; sent as a list, the report is sound. Source: hadamard_mechanism_client.py.
