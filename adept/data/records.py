"""Records, and what their readers and writers have in common."""

from collections.abc import Callable, Sequence
from typing import Any

Record = dict[str, Any]
Write = Callable[[Sequence[Record]], None]


class DamagedFile(Exception):
    """A file that is not what its format asks for; the message says why without repeating it."""


class UnfitFile(Exception):
    """A file that is to be read in another way: what is wrong, a colon, and what to do."""


class DamagedRecord(Exception):
    """A record that does not fit its file, likewise."""


def check_columns(names: Sequence[str]) -> None:
    """Raise DamagedFile if two columns have the same name."""
    first: dict[str, int] = {}
    for number, name in enumerate(names, start=1):
        if name in first:
            raise DamagedFile(f"columns {first[name]} and {number} have the same name")
        first[name] = number
