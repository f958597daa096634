"""Errors that a user can mend, grouped by their cause.

All errors here but ``Interrupted`` are children of ``AdeptError``: the message says how to mend
them, and the command ends with exit status 2. Any other exception that ends a command is a bug of
adept (exit status 70).
"""


class AdeptError(Exception):
    """Base class of errors that a user can mend; messages read ``<what is wrong>: <what to do>``."""


class ConfigurationError(AdeptError, ValueError):
    """A parameter or an option has a value that it must not have."""


class DataError(AdeptError):
    """A file cannot be read or written: it is missing, empty, not UTF-8, or lacks a column."""


class ModelError(AdeptError):
    """A model directory is missing, incomplete or corrupt, or does not fit the mechanism."""


class Interrupted(KeyboardInterrupt):
    """An interruption by Ctrl-C or SIGTERM; the message says which files remain and how to go on."""


class ReleaseRefused(AdeptError):
    """A release is refused, since it would not give the guarantee that its user expects."""


def printable(value: object, *, limit: int = 200) -> str:
    """Return a value as one line without control characters, cut to ``limit`` characters."""
    return "".join(c if c.isprintable() else "?" for c in str(value)[:limit])
