"""Permitted ranges of options and of a model's numbers, and checks of them."""

import sys
from collections.abc import Collection
from typing import TYPE_CHECKING

from adept.errors import ConfigurationError, printable

if TYPE_CHECKING:
    from torch import Tensor

CLIP_NORMS = (1e-6, 1e6)
MAX_NUMBER = 1_000_000  # largest magnitude of a float in a file; trained models stay far below
BUDGETS = (1e-3, 600.0)  # where the formulas of gaussian, privunit, codebook and randomised response are verified


def check_positive(**values: float) -> None:
    """Raise ConfigurationError unless every value is a positive, finite number."""
    for field, value in values.items():
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if not (number and 0 < value <= sys.float_info.max):
            advice = "" if number else ": give an int or a float"
            raise ConfigurationError(f"{field} must be positive and finite, got {printable(repr(value))}{advice}")


def check_between(low: float, high: float, **values: float) -> None:
    """Raise ConfigurationError unless every value is a number in [low, high]."""
    check_positive(**values)
    for field, value in values.items():
        refuse((not low <= value <= high, f"{field} must be between {low:g} and {high:g}, got {value!r}"))


def check_integer(low: int, high: int, **values: int) -> None:
    """Raise ConfigurationError unless every value is an integer in [low, high]."""
    for field, value in values.items():
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise ConfigurationError(
                f"{field} must be an integer between {low} and {high}, got {printable(repr(value))}"
            )


def check_choice(choices: Collection[str], **values: object) -> None:
    """Raise ConfigurationError unless every value is one of the choices."""
    for field, value in values.items():
        refuse((value not in tuple(choices), f"{field} must be one of {', '.join(choices)}, got {printable(value)}"))


def is_moderate(tensor: "Tensor") -> bool:
    """Return True if no number is NaN or beyond MAX_NUMBER."""
    return not tensor.numel() or all(abs(float(edge)) <= MAX_NUMBER for edge in tensor.aminmax())  # NaN is an edge


def refuse(*rules: tuple[object, str]) -> None:
    """Raise ConfigurationError with the message of the first rule whose condition holds."""
    for holds, message in rules:
        if holds:
            raise ConfigurationError(message)
