"""Errors that a user can correct, the interruption of a run, and values as messages show them.

A command that ends with an ``AdeptError`` has exit status 2. A command that ends with an exception
from outside this module has exit status 70, which means a bug in adept.
"""

import re
from typing import Any

MAX_NAME_LENGTH = 100  # characters of a stranger's name in a sentence


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
