"""What a caller says of a mechanism that does not say it itself."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any


@dataclass(frozen=True)
class Claim:
    """A mechanism of anyone's, with what its caller declares: each field stands before the mechanism's own attribute.

    Attributes:
        mechanism: an object with ``privatize``, or the function itself: a batch of records -> one release for each.
        epsilon: the claim, per record, in nats.
        delta: of the claim.
        alphabet: the values that a record can have, as a sequence, or their number K for 0..K-1: an audit of values.
        law: value -> {outcome: probability}: makes the audit of a finite alphabet exact. Fractions are kept exact.
        supports: (outcome, value) -> number, high where the outcome speaks for the value: a statistic of the caller's own, such as
            "the released hash is the value's" for local hashing.
        memoised: the mechanism answers a record that it has seen with its earlier release, so releases are drawn from fresh copies.
    """

    mechanism: Any
    epsilon: float | None = None
    delta: float | None = None
    alphabet: int | Sequence[Any] | None = None
    law: Callable[[Any], Mapping[Any, Any]] | None = None
    supports: Callable[[Any, Any], float] | None = None
    memoised: bool | None = None

    @property
    def name(self) -> str:
        """The mechanism's name, else that of its class or function."""
        return str(getattr(self.mechanism, "name", getattr(self.mechanism, "__name__", type(self.mechanism).__name__)))

    def privatize(self, records: Any) -> Any:
        """Release a batch, through the mechanism."""
        return getattr(self.mechanism, "privatize", self.mechanism)(records)

    def __getattribute__(self, name: str) -> Any:
        # A field that was left open is the mechanism's own attribute, and absent if it has none.
        value = object.__getattribute__(self, name)
        if value is None and name in {f.name for f in fields(type(self))}:
            return getattr(object.__getattribute__(self, "mechanism"), name)
        return value

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "mechanism":
            raise AttributeError(name)
        return getattr(object.__getattribute__(self, "mechanism"), name)
