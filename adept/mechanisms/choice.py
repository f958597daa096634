"""A mechanism that is chosen by name and not built yet: budget and radius may come later."""

from dataclasses import MISSING, dataclass, field, fields
from typing import Any

from adept.errors import ConfigurationError
from adept.mechanisms.base import LocalRandomizer

Kind = type[LocalRandomizer]


@dataclass(frozen=True)
class MechanismChoice:
    """A mechanism's class, and the budget, the radius and the other options that were set with it."""

    kind: Kind
    epsilon: float | None = None
    clip_norm: float | None = None
    options: dict[str, Any] = field(default_factory=dict)

    def budget(self, epsilon: float | None = None) -> float | None:
        """Return the one budget that was given, here or with the mechanism.

        Raises:
            ConfigurationError: two different ones were given.
        """
        if epsilon is not None and self.epsilon not in (None, epsilon):
            raise ConfigurationError(f"epsilon must be given once, got {epsilon} and {self.epsilon}: drop one of them")
        return self.epsilon if epsilon is None else epsilon

    def build(self, *, epsilon: float | None = None, clip_norm: float) -> LocalRandomizer:
        """Build the mechanism; its own radius wins over ``clip_norm``.

        Raises:
            ConfigurationError: there is no budget, or two of them, or a value is out of range.
        """
        budget, own = self.budget(epsilon), {part.name: part for part in fields(self.kind)}
        if budget is None and own["epsilon"].default is MISSING:
            raise ConfigurationError("epsilon must be given, got none: add epsilon=8, for example")
        given: dict[str, Any] = {} if budget is None else {"epsilon": budget}
        if "clip_norm" in own:  # numbers have no radius
            given["clip_norm"] = clip_norm if self.clip_norm is None else self.clip_norm
        return self.kind(**given, **self.options)
