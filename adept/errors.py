"""Errors that a user can correct, and the interruption of a run.

A command that ends with an ``AdeptError`` has exit status 2. A command that ends with an exception
from outside this module has exit status 70, which means a bug in adept.
"""


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
