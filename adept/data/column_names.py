"""Messages about missing columns, which help the user but never print a record.

The first line of a csv file may be a record, and the keys of a JSON object may be data. So messages
about such files list only those entries that look like column names. The schema of a Parquet file
holds no records, so messages list all of its names. In a central release, which computes one result
from all records, messages list only names from the fixed list USUAL_NAMES.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from adept.errors import DataError

COLUMN_NAME = re.compile(r"[A-Za-z0-9_.-]{1,40}")
MAX_NAMES = 20  # names that one message lists
USUAL_NAMES = {
    "text_column": ("text", "utterance", "query", "sentence", "question", "message", "transcript", "content", "prompt"),
    "label_column": ("intent", "label", "category", "class", "topic", "target", "tag"),
    "person_column": ("person", "user", "user_id", "speaker", "customer", "customer_id", "author", "id"),
}  # fmt: skip
ALL_USUAL_NAMES = tuple(name for usual in USUAL_NAMES.values() for name in usual)


def folded(name: str) -> str:
    """Return a name without differences of case and without spaces around it."""
    return name.strip().casefold()


class MissingColumn(DataError):
    """An error: a file lacks a column; ``near`` is the column that may be meant, if any."""

    def __init__(self, message: str, column: str, near: str | None) -> None:
        super().__init__(message)
        self.column, self.near = column, near


@dataclass(frozen=True)
class RequiredColumns:
    """The columns that the header or schema of a file must name."""

    columns: tuple[tuple[str, str], ...]  # pairs of an option and the column that it names
    central: bool = False  # messages may list only names from the fixed list

    def check(self, location: str, names: Sequence[str], *, header: bool) -> None:
        """Raise DataError if a required column is not among the column ``names`` of a file.

        ``header`` is True if the names come from the first line of a csv file.
        """
        for option, column in self.columns:
            if column not in names:
                advice, near = _advice(names, column, option, central=self.central, header=header)
                listed = _usual_clause(names) if self.central else _clause(names, public=not header)
                raise MissingColumn(f"no column named {column!r} in {location}{listed}: {advice}", column, near)


def missing_column(names: Sequence[str], column: str, option: str, *, number: int) -> MissingColumn:
    """Return an error which says that the record ``number`` lacks the column ``column``."""
    advice, near = _advice(names, column, option)
    return MissingColumn(f"no column named {column!r} in record {number}{_clause(names)}: {advice}", column, near)


def list_names(names: Iterable[object]) -> str:
    """Return a text with the names that look like column names, and the number of all others."""
    listed, others = _listed(list(names))
    return ", ".join([*listed, *([f"{others} more"] if others else [])])


def _listed(names: Sequence[object], *, public: bool = False) -> tuple[list[str], int]:
    listed = [repr(name) for name in names if isinstance(name, str) and (public or COLUMN_NAME.fullmatch(name))]
    return listed[:MAX_NAMES], len(names) - len(listed[:MAX_NAMES])


def _clause(names: Sequence[str], *, public: bool = False) -> str:
    listed, others = _listed(names, public=public)
    if not listed:
        return f"; none of its {others} columns looks like a name" if others else "; there are no columns"
    more = f" and {others} more" if others else ""
    return f"; the column{'s are' if len(names) > 1 else ' is'} {', '.join(listed)}{more}"


def _usual_clause(names: Sequence[str]) -> str:
    known = [repr(name) for name in ALL_USUAL_NAMES if name in names]
    return f"; usual names among its columns are {', '.join(known)}" if known else ""


def _advice(
    names: Sequence[str], column: str, option: str, *, central: bool = False, header: bool = False
) -> tuple[str, str | None]:
    """Return advice to set ``option`` to a column whose name is common or resembles ``column``, and its name."""
    others = {name for other, usual in USUAL_NAMES.items() if other != option for name in usual}
    candidates = [name for name in names if (name in ALL_USUAL_NAMES if central else COLUMN_NAME.fullmatch(name))]
    near = get_close_matches(column, [name for name in candidates if name not in others], n=1, cutoff=0.7)
    near = near or [name for name in USUAL_NAMES.get(option, ()) if name in candidates]
    no_header = header and (central or not near or any(not COLUMN_NAME.fullmatch(name) for name in names))
    hint = ", or add columns=[...] if the first line is a record" if no_header else ""
    if not near:
        return f"correct {option}={hint}", None
    kept = option == "keep_columns"
    return (f"correct {option}=, which may mean {near[0]}" if kept else f"add {option}={near[0]}") + hint, near[0]
