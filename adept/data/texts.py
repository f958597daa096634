"""Texts and labels: of a caller's arguments, and of the columns of records.

``text_list`` accepts the types of columns of common libraries, and refuses anything else. Files of different formats
may hold the same value as "1", as 1 or as 1.0, and ``plain_text`` returns the same text for each of these.

*Claim*: the text that ``plain_text`` returns for a value depends only on this value, and so does
the label that a release reads or writes for a record. Neither depends on other rows, on the type of
the column or on the format of the file. *Proof*: the value is the only argument of ``plain_text``,
which keeps no state and reads no other data. ``label_of`` returns ``plain_text`` of the value in
the label column, or raises an error; the number of the record appears only in the message. QED. So
if each record votes for its label, the vote of a record depends on this record only.

No error message shows an element of a list or column, or prints a record. The first line of a csv file may be a record,
and the keys of a JSON object may be data. So messages about missing columns of such files list only those entries that
look like column names. The schema of a Parquet file holds no records, so messages list all of its names. In a central
release, which computes one result from all records, messages list only names from the fixed list USUAL_NAMES.
"""

import logging
import numbers
import re
import unicodedata
import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, time
from decimal import Decimal
from difflib import get_close_matches
from functools import cache, lru_cache
from typing import Any

from adept.errors import ConfigurationError, DataError, printable

COLUMN_NAME = re.compile(r"[A-Za-z0-9_.-]{1,40}")
MAX_NAMES = 20  # names that one message lists
USUAL_NAMES = {
    "text_column": ("text", "utterance", "query", "sentence", "question", "message", "transcript", "content", "prompt"),
    "label_column": ("intent", "label", "category", "class", "topic", "target", "tag"),
    "person_column": ("person", "user", "user_id", "speaker", "customer", "customer_id", "author", "id"),
}  # fmt: skip
ALL_USUAL_NAMES = tuple(name for usual in USUAL_NAMES.values() for name in usual)
MAX_NUMBER = 10**100  # Python refuses to spell numbers of thousands of digits
# A whole number in a csv column that pandas wrote with gaps
WHOLE = re.compile(r"(-?(?:0|[1-9][0-9]{0,99}))\.0+")
BOOLEANS = ("True", "False", "TRUE", "FALSE")  # as Python, R and spreadsheets spell them
# A character of a script without spaces between words: Thai, Lao, Burmese, Khmer; Chinese, Japanese, full width
UNSPACED = (
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
    "\u3000-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff00-\uffef\U00020000-\U0003ffff]"
)
COLUMN_TYPES: dict[tuple[str, str], Callable[[Any], Iterable[Any]]] = {
    ("pandas", "Series"): lambda column: column.tolist(),
    ("pandas", "Index"): lambda column: column.tolist(),
    ("pandas", "ExtensionArray"): lambda column: column.tolist(),
    ("polars", "Series"): lambda column: column.to_list(),
    ("pyarrow", "Array"): lambda column: column.to_pylist(),
    ("pyarrow", "ChunkedArray"): lambda column: column.to_pylist(),
}
FRAME_TYPES = {  # with the attribute that lists the columns
    **dict.fromkeys((("pandas", "DataFrame"), ("polars", "DataFrame")), "columns"),
    **dict.fromkeys((("pyarrow", "Table"), ("pyarrow", "RecordBatch"), ("datasets", "Dataset")), "column_names"),
}
MAKE_TABLE = "make a table of it, such as pandas.DataFrame(...)"
OTHER_TYPES = {  # with what to do
    ("polars", "LazyFrame"): "collect() it first",
    ("datasets", "DatasetDict"): "choose one of its splits",
    ("datasets", "IterableDataset"): "read its rows into a Dataset first",
    ("builtins", "dict"): MAKE_TABLE,
}
UNSEEN_LETTERS = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]")
UNSEEN = re.compile(r"\A[\s\u200b-\u200f\u2060\ufeff]+|[\s\u200b-\u200f\u2060\ufeff]+\Z")
USUAL_LABEL_COLUMN = "intent"  # the label column of files, if no option names another one
# Of labels as programs spell a missing value or a list. "none" is how a label may be called.
ODD_LABEL = re.compile(r"nan|NaN|None|NULL|null|<NA>|NA|N/A|n/a|#N/A|NaT|\[.*\]|\{.*\}", re.DOTALL)
MANY_LABELS = 20  # so few records may well have labels of their own
INTEGER = re.compile(r"0|-?[1-9][0-9]{0,19}")  # how whole numbers are spelled that a column of 64 bits can hold


@cache
def say_once(line: str) -> None:
    """Log a line, once in a run."""
    logging.getLogger("adept").warning("adept: %s", line)


# --- Names of columns


def trimmed(name: str) -> str:
    """Return a name without spaces and invisible characters around it, such as a byte order mark."""
    return UNSEEN.sub("", name)


@lru_cache(maxsize=1024)
def folded(text: str) -> str:
    """Return a name or text without differences of case, of spaces, of unseen letters, and of forms of one letter."""
    return " ".join(UNSEEN_LETTERS.sub("", unicodedata.normalize("NFKC", text)).casefold().split())


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
                raise missing_column(names, column, option, place=location, header=header, central=self.central)


def missing_column(
    names: Sequence[str], column: str, option: str, *, place: str, header: bool | None = None, central: bool = False
) -> MissingColumn:
    """Return an error which says that a column is missing at a place, such as "record 3" or a file.

    ``header`` is True if the names come from the first line of a csv file, False if they come from
    the schema of a file, and None if they come from a record.
    """
    advice, near = _advice(names, column, option, central=central, header=bool(header))
    if header is None and not near and option == "text_column":
        advice += ", or write an object for each text if texts lie deeper in a record"
    listed = _clause(names, public=header is False, central=central)
    return MissingColumn(f"no column named {column!r} in {place}{listed}: {advice}", column, near)


def list_names(names: Iterable[object]) -> str:
    """Return a text with the names that look like column names, and the number of all others."""
    listed, others = _listed(list(names))
    return ", ".join([*listed, *([f"{others} more"] if others else [])])


def _listed(names: Sequence[object], *, public: bool = False) -> tuple[list[str], int]:
    listed = [repr(name) for name in names if isinstance(name, str) and (public or COLUMN_NAME.fullmatch(name))]
    return listed[:MAX_NAMES], len(names) - len(listed[:MAX_NAMES])


def _clause(names: Sequence[str], *, public: bool, central: bool) -> str:
    if central:
        known = [repr(name) for name in ALL_USUAL_NAMES if name in names]
        return f"; usual names among its columns are {', '.join(known)}" if known else ""
    listed, others = _listed(names, public=public)
    if not listed:
        return f"; none of its {others} columns looks like a name" if others else "; there are no columns"
    more = f" and {others} more" if others else ""
    return f"; the column{'s are' if len(names) > 1 else ' is'} {', '.join(listed)}{more}"


def _advice(names: Sequence[str], column: str, option: str, *, central: bool, header: bool) -> tuple[str, str | None]:
    """Return advice to set ``option`` to a column whose name is common or resembles ``column``, and its name."""
    if spelled := [name for name in names if folded(name) == folded(column) and not central]:
        return f"add {option}={spelled[0]}, whose case, spaces or accents are written in another way", spelled[0]
    others = {name for other, usual in USUAL_NAMES.items() if other != option for name in usual}
    candidates = [name for name in names if (name in ALL_USUAL_NAMES if central else COLUMN_NAME.fullmatch(name))]
    near = get_close_matches(column, [name for name in candidates if name not in others], n=1, cutoff=0.7)
    near = near or [name for name in USUAL_NAMES.get(option, ()) if name in candidates]
    no_header = header and (central or not near or any(not COLUMN_NAME.fullmatch(name) for name in names))
    hint = ", or add columns=[...] if the first line is a record; remove lines above the names" if no_header else ""
    if not near:
        return f"correct {option}={hint}", None
    kept = option == "keep_columns"
    return (f"correct {option}=, which may mean {near[0]}" if kept else f"add {option}={near[0]}") + hint, near[0]


# --- Lists, arrays and columns


def text_list(texts: object, name: str = "texts") -> list[str]:
    """Return texts as a list of plain strings.

    Args:
        texts: a sequence; a NumPy array of strings (N,) or (N, 1); a Series of pandas or polars; an
            Arrow array; a column of ``datasets``; or a data frame, table or data set of one column.
        name: the name of the argument in error messages.

    Raises:
        DataError: the type of ``texts`` is not supported, or an element is no string. (A number in the
            text column of a file is a text: ``cell_text``.)
    """
    values = _elements(texts, name)
    for position, value in enumerate(values, start=1):
        if not isinstance(value, str):
            advice = MAKE_TABLE if isinstance(value, dict) else "leave that record out, or make it a string"
            raise DataError(f"{name} must be strings, got {_kind(value)} at position {position}: {advice}")
    return [str.__str__(value) for value in values]  # subclasses such as np.str_ become plain strings


def separate_characters(text: str) -> str:
    """Return a text in which each character of a script without spaces is a word of its own."""
    return text if text.isascii() else re.sub(UNSPACED, r" \g<0> ", text)


def value_list(values: object, count: int | None, name: str) -> list[Any]:
    """Return one value for each record, such as the record's label; missing values become None.

    Args:
        values: as ``texts`` in ``text_list``, but with elements of any type.
        count: the number of records; None if there may be any number of values.
        name: the name of the argument in error messages.

    Raises:
        DataError: the type of ``values`` is not supported, or ``values`` does not have ``count`` elements.
    """
    found = _elements(values, name, "a list")
    if count is not None and len(found) != count:
        raise DataError(f"{name} must be as many as the texts, got {len(found)} for {count}: give one for each text")
    return [_plain(value) for value in found]


def instance_of(value: object, kinds: Iterable[tuple[str, str]]) -> tuple[str, str] | None:
    """Return the first pair (library, class) that names a class of ``value``, or None."""
    own = {(base.__module__.partition(".")[0], base.__name__) for base in type(value).__mro__}
    return next((kind for kind in kinds if kind in own), None)


def _elements(values: object, name: str, wanted: str = "a list of strings") -> list[Any]:
    if isinstance(values, str):
        raise DataError(f"{name} must be {wanted}, got one string: put it into a list")
    if isinstance(values, Sequence) and not isinstance(values, bytes | bytearray | memoryview | range):
        return list(values)
    if instance_of(values, [("numpy", "ndarray")]):
        flat: Any = values
        if flat.ndim != 1 and flat.shape[1:] != (1,):
            raise DataError(
                f"{name} must be one column, got an array of shape {flat.shape}: choose the column with the texts"
            )
        return list(flat.reshape(-1).tolist())
    if kind := instance_of(values, FRAME_TYPES):
        frame: Any = values
        names = list(getattr(frame, FRAME_TYPES[kind]))
        if len(names) != 1:
            raise DataError(
                f"{name} must be one column, got {len(names)} ({list_names(names)}): choose the one with the texts"
            )
        return _elements(frame[names[0]], name, wanted)
    if kind := instance_of(values, COLUMN_TYPES):
        return list(COLUMN_TYPES[kind](values))
    # The texts of a generator could not all be checked before the first text is released.
    kind = instance_of(values, OTHER_TYPES)
    advice = OTHER_TYPES[kind] if kind else "give a list, an array or a column"
    raise DataError(f"{name} must be {wanted}, got {_kind(values)}: {advice}")


def _plain(value: Any) -> Any:
    if isinstance(value, str):
        return str.__str__(value)
    value = python_value(value)
    return None if is_null(value) else value


def python_value(value: Any) -> Any:
    """Return a number of NumPy or PyTorch as a number of Python, and any other value as it is."""
    return value.item() if hasattr(value, "item") and getattr(value, "shape", None) == () else value


def is_null(value: object) -> bool:
    """Return True for None, NaN and the missing values of pandas."""
    if value is None or instance_of(value, [("pandas", "NAType"), ("pandas", "NaTType")]):
        return True
    return isinstance(value, float) and value != value  # NaN differs from itself


def _kind(value: object) -> str:
    return "a missing value" if is_null(value) else f"a value of type {type(value).__name__}"


def plain_text(value: Any) -> str | None:
    """Return the text of a value; None if the value has no text.

    Strings are normalised (NFC), and space around them is removed. A whole number becomes a text of its digits, even if
    it is given as 1.0, "1.0" or Decimal("1.00"). Booleans become "true" and "false", even if they are given as "True"
    or "FALSE". A UUID becomes its usual text. None, NaN, fractions such as 1.5, bytes, dates, containers and blank strings
    have no text.
    """
    if isinstance(value, str):
        text = unicodedata.normalize("NFC", value).strip()
        if text in BOOLEANS:
            return text.lower()
        whole = WHOLE.fullmatch(text)
        return (str(int(whole[1])) if whole else text) or None
    value = python_value(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, numbers.Real | Decimal) and _is_whole(value):
        return str(int(value))  # type: ignore[arg-type]
    return str(value) if isinstance(value, uuid.UUID) else None


def cell_text(value: Any) -> str | None:
    """Return the text of a value in a column of texts, as a csv file spells it; None if it has none.

    Strings stay as they are. Whole numbers and booleans become text as in ``plain_text``, and
    fractions and dates as Python spells them.
    """
    if isinstance(value, str):
        return str.__str__(value)  # subclasses such as np.str_ become plain strings
    if (text := plain_text(value)) is not None or is_null(value):
        return text
    value = python_value(value)
    if isinstance(value, date | time):
        return str(value)
    return str(value) if isinstance(value, float | Decimal) and str(value)[-1].isdigit() else None


def _is_whole(number: Any) -> bool:
    try:
        return bool(-MAX_NUMBER < number < MAX_NUMBER and number == int(number))
    except (ValueError, ArithmeticError):  # NaN cannot be made an integer, and Decimal refuses to compare some of it
        return False


# --- Texts and labels of records


def text_of(record: Mapping[str, Any], column: str, *, number: int) -> str:
    """Return the text in a record's ``column`` (``cell_text``); raise DataError if there is none."""
    if column not in record:
        raise missing_column(list(record), column, "text_column", place=f"record {number}")
    if (text := cell_text(value := record[column])) is None:
        kind = "a missing value" if is_null(value) else type(value).__name__
        advice = "leave such records out, or make them strings"
        if isinstance(value, list | dict):  # of record 1: as pandas writes JSON that has columns
            advice = "write an object for each record" if number == 1 else "give each text a record of its own"
        raise DataError(f"column {column!r} must hold strings, got {kind} in record {number}: {advice}")
    return text


def is_writable(text: str) -> bool:
    """Return False if a text holds NUL or a lone surrogate, so that not every file can hold the text."""
    return "\0" not in text and (text.isascii() or not any("\ud800" <= sign <= "\udfff" for sign in text))


def find_label_column(record: Mapping[str, Any], label_column: str | None) -> str | None:
    """Return ``label_column``; if it is None, return "intent" if the record has it, else None.

    If no column is called "intent", a column whose name differs only in case or spaces is returned.
    If ``record`` is the first of several, pass the others to ``refuse_late_label`` after None.
    """
    if label_column or USUAL_LABEL_COLUMN in record:
        return label_column or USUAL_LABEL_COLUMN
    near = [name for name in record if folded(name) == USUAL_LABEL_COLUMN]
    if len(near) > 1:
        raise DataError(f"columns {near[0]!r} and {near[1]!r} both look like labels: add label_column={near[0]}")
    return near[0] if near else None


def label_of(record: Mapping[str, Any], column: str, *, number: int) -> str:
    """Return the label of a record as text; raise DataError if the record has no label."""
    if column not in record and number == 1:
        raise missing_column(list(record), column, "label_column", place=f"record {number}")
    value = record.get(column)
    if (label := plain_text(value)) is not None:
        if not is_writable(label):
            raise DataError(f"the label of record {number} holds NUL or no UTF-8: correct it, or leave labels out")
        return label
    if is_missing(value):  # an empty label in the output would mark the record
        raise DataError(
            f"record {number} has no label in column {column!r}: give such records one, for example none, or leave "
            "labels out"
        )
    raise DataError(
        f"column {column!r} must hold labels (text, whole numbers or booleans), got {type(value).__name__} "
        f"in record {number}: turn it into text, or leave labels out"
    )


def refuse_late_label(record: Mapping[str, Any], *, number: int) -> None:
    """Raise DataError if a record has a label in the usual column, or one spelled alike, which record 1 lacks.

    *Claim*: if no option names the label column, either each record's label is read, or no record has one in a column
    "intent", however it is spelled, or an error is raised. *Proof*: if record 1 has the column, ``label_of`` is called
    for each record; otherwise, this function is called for each record. QED.
    """
    usual = (name for name in record if folded(name) == USUAL_LABEL_COLUMN)
    if column := next((name for name in usual if not is_missing(record[name])), None):
        raise DataError(
            f"record {number} has a label in column {column!r}, which record 1 lacks: give each record a label, for "
            "example none, or leave labels out"
        )


def is_missing(value: Any) -> bool:
    """Return True if a value is null, NaN, an empty string or a blank string."""
    return is_null(value) or (isinstance(value, str) and not value.strip())


def label_set_of(labels: Iterable[Any], *, file: str | None = None) -> tuple[str, ...]:
    """Return a public label set's labels as texts; raise ConfigurationError if two are equal.

    ``file`` names the file whose lines the labels are; its blank lines are no labels.
    """
    places: dict[str, int] = {}
    if isinstance(labels, str | bytes) or not isinstance(labels, Iterable):
        raise ConfigurationError("label_set must be a list of labels, got a single one: add the others")
    for number, label in enumerate(labels, start=1):
        if file and is_missing(label):
            continue
        if (text := plain_text(label)) is None:
            kind = "an empty one" if is_missing(label) else f"a value of type {type(label).__name__}"
            raise ConfigurationError(
                f"label_set must hold names, whole numbers or booleans, got {kind} in entry {number}: correct it or leave it out"
            )
        if not is_writable(text):
            raise ConfigurationError(f"label_set must hold names in UTF-8, got {text!r} in entry {number}: spell it so")
        if places.setdefault(text, number) != number:
            where = f"lines {places[text]} and {number} of {file}" if file else f"entries {places[text]} and {number}"
            raise ConfigurationError(
                f"label_set must hold labels that are all different, but {where} are both {text!r}: leave one out"
            )
    for note in note_labels(places):
        say_once(f"note: {note}")
    return tuple(places)


def note_labels(labels: Iterable[str]) -> list[str]:
    """Return notes that name labels which are spelled alike, or as a missing value or a list is; [] if none are."""
    named = {*labels}
    alike = Counter(map(folded, named))
    found = {
        "labels that differ in case, spaces or unseen letters alone count as different": {
            n for n in named if alike[folded(n)] > 1
        },
        "labels that look like a missing value or a list count like any other": set(filter(ODD_LABEL.fullmatch, named)),
    }
    return [f"{note}: {list_few(those)}" for note, those in found.items() if those]


def list_few(labels: Iterable[str], few: int = 5) -> str:
    listed = sorted(labels)
    shown = ", ".join(repr(printable(label, limit=40)) for label in listed[:few])
    return shown + (f" and {len(listed) - few} more" if len(listed) > few else "")
