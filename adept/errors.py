"""Errors that a user can correct, and the interruption of a run.

A command that ends with an ``AdeptError`` has exit status 2. A command that ends with an exception
from outside this module has exit status 70, which means a bug in adept.
"""

# Options of earlier versions that are gone, and what to do instead
REMOVED = {
    "training.codec.learn": "leave it out, because training lists all public sentences at once",
    "training.codec.likely": "leave it out, because only public sentences are listed",
    "training.codec.texts": "leave it out, and give fewer training texts if the list is too long",
}


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


def printable(value: object, *, limit: int = 200) -> str:
    """Return a value as one line without control characters, cut to ``limit`` characters."""
    return "".join(c if c.isprintable() else "?" for c in str(value)[:limit])
