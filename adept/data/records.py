"""Records, and the errors that their readers and writers share."""

from collections.abc import Callable, Sequence
from typing import Any

Record = dict[str, Any]
Write = Callable[[Sequence[Record]], None]


class DamagedFile(Exception):
    """Raised if a file breaks the rules of its format; the message repeats none of its content."""


class UnfitFile(Exception):
    """Raised if a file must be read in another way; the message is: what is wrong, a colon, what to do."""


class DamagedRecord(Exception):
    """Raised if a record does not fit its file; the message repeats none of its content."""


def check_columns(names: Sequence[str]) -> None:
    """Raise DamagedFile if two columns have the same name."""
    first: dict[str, int] = {}
    for number, name in enumerate(names, start=1):
        if name in first:
            raise DamagedFile(f"columns {first[name]} and {number} have the same name")
        first[name] = number
