"""Errors that a user can correct, checks that raise them, the interruption of a run, and values in messages.

A command that ends with an ``AdeptError`` has exit status 2. A command that ends with an exception
from outside this module has exit status 70, which means a bug in adept.
"""

import re
import sys
from collections.abc import Collection
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch import Tensor

MAX_NAME_LENGTH = 100  # characters of a stranger's name in a sentence
CLIP_NORMS = (1e-6, 1e6)
MAX_NUMBER = 1_000_000  # largest magnitude of a float in a file; trained models stay far below
BUDGETS = (1e-3, 600.0)  # where the formulas of gaussian, privunit, codebook and randomised response are verified


class AdeptError(Exception):
    """Base class of errors that a user can correct.

    Each message reads ``<what is wrong>: <what to do>``.
    """


class ConfigurationError(AdeptError, ValueError):
    """An error: a parameter or an option has a value that is not permitted."""


class DataError(AdeptError):
    """An error in data, such as a file that is missing, empty or not UTF-8, or lacks a column."""


class ModelError(AdeptError):
    """An error: a model directory is missing, incomplete, corrupt or unfit for the mechanism."""


class Interrupted(KeyboardInterrupt):
    """An interruption by Ctrl-C or SIGTERM; the message says which files remain and what to do."""


class ReleaseRefused(AdeptError):
    """An error: a release is refused, because its guarantee would not be what the user expects."""


def escape(text: str) -> str:
    """Return a text as one printable line; each other character becomes an escape such as ``\\x1b``.

    So a foreign string cannot add a line, move a terminal's cursor, or change the direction of text.
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


def printable(value: object, *, limit: int = 200) -> str:
    """Return a value as one printable line, of which at most ``limit`` characters are shown."""
    return escape(str(value)[:limit])


def flatten(values: dict[str, Any], before: str = "") -> dict[str, Any]:
    """Return values by the full names of their options, such as ``model.latent_dim``."""
    found: dict[str, Any] = {}
    for name, value in values.items():
        found |= flatten(value, f"{before}{name}.") if isinstance(value, dict) else {before + name: value}
    return found


def plain_name(name: object) -> str:
    """Return a name on one line, shortened, with only letters, digits and plain punctuation."""
    if not isinstance(name, str):
        return "unknown"
    return " ".join(re.sub(r"[^\w .,:/()+-]", "?", name.replace("\n", " ")).split())[:MAX_NAME_LENGTH] or "unknown"


def typed_as(value: Any) -> str:
    """Return a value as a user would type it on the command line."""
    match value:
        case None:
            return "null"
        case bool():
            return str(value).lower()
        case list() | tuple():
            return f"[{','.join(typed_as(item) for item in value)}]"
        case float():
            return short if float(short := f"{value:g}") == value else repr(value)
        case str() if not re.fullmatch(r"[\w./:~-]( *[\w./:~-])*", value) or value.lower() == "null":
            escaped = re.sub(r"(\\*)('|\Z)", lambda found: found[1] * 2 + ("\\'" if found[2] else ""), value)
            return f"'{escaped}'"
    return str(value)


# --- Permitted ranges of options and of a model's numbers


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
