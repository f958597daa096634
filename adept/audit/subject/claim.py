"""What a caller says of a mechanism that does not say it itself."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any


class Claim:
    """A mechanism of anyone's, with what its caller declares, which stands before the mechanism's own attributes.

    Args:
        mechanism: an object with ``privatize``, or the function itself: a batch of records -> one release for each.
        epsilon: the claim, per record, in nats.
        delta: of the claim.
        alphabet: the values that a record can have, as a sequence, or their number K for 0..K-1: an audit of values.
        distribution: value -> {outcome: probability}: makes the audit of a finite alphabet exact. Fractions are kept exact.
        supports: (outcome, value) -> number, high where the outcome speaks for the value: a statistic of the caller's own, such as
            "the released hash is the value's" for local hashing.
        memoised: the mechanism has a memory, such as permanent responses or a budget that runs out, so every release is drawn from
            a fresh copy of it. What many reports of one record reveal together, `JointReports` asks.
    """

    def __init__(
        self,
        mechanism: Any,
        *,
        epsilon: float | None = None,
        delta: float | None = None,
        alphabet: int | Sequence[Any] | None = None,
        distribution: Callable[[Any], Mapping[Any, Any]] | None = None,
        supports: Callable[[Any, Any], float] | None = None,
        memoised: bool | None = None,
    ) -> None:
        self.mechanism = mechanism
        self.name = str(getattr(mechanism, "name", getattr(mechanism, "__name__", type(mechanism).__name__)))
        declared = {
            "epsilon": epsilon,
            "delta": delta,
            "alphabet": alphabet,
            "distribution": distribution,
            "supports": supports,
            "memoised": memoised,
        }
        vars(self).update({name: value for name, value in declared.items() if value is not None})

    def privatize(self, records: Any) -> Any:
        """Release a batch, through the mechanism."""
        return getattr(self.mechanism, "privatize", self.mechanism)(records)

    def __getattr__(self, name: str) -> Any:
        """Return the mechanism's own attribute, where the caller declared none."""
        if name.startswith("__") or name == "mechanism":  # of a copy that is just being made
            raise AttributeError(name)
        return getattr(self.mechanism, name)
