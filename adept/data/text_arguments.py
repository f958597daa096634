"""Convert lists, arrays, columns, and data frames of one column to lists of texts.

``text_list`` accepts the types of columns of common libraries, and refuses anything else. No error
message shows an element of a list or column. Files of different formats may hold the same value as
"1", as 1 or as 1.0, and ``plain_text`` returns the same text for each of these.

*Claim*: the text that ``plain_text`` returns for a value depends only on this value. The text does
not depend on other rows, on the type of the column or on the format of the file. *Proof*: the value
is the only argument of ``plain_text``, which keeps no state and reads no other data. QED. So if
each record votes for its label, the vote of a record depends on this record only.
"""

import numbers
import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from datetime import date, time
from decimal import Decimal
from typing import Any

from adept.data.column_names import list_names
from adept.errors import DataError

MAX_NUMBER = 10**100  # Python refuses to spell numbers of thousands of digits
# A whole number in a csv column that pandas wrote with gaps
WHOLE = re.compile(r"(-?(?:0|[1-9][0-9]{0,99}))\.0+")
BOOLEANS = ("True", "False", "TRUE", "FALSE")  # as Python, R and spreadsheets spell them
# A character of a script without spaces between words: Thai, Lao, Burmese, Khmer; Chinese, Japanese, full width
UNSPACED = (
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
    "\u3000-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff00-\uffef\U00020000-\U0003ffff]"
)
LIST_ADVICE = "give a list, an array or a column"
ARRAY_TYPES, SCALAR_TYPES = [("numpy", "ndarray")], [("numpy", "generic")]
COLUMN_TYPES: dict[tuple[str, str], Callable[[Any], Iterable[Any]]] = {
    ("pandas", "Series"): lambda column: column.tolist(),
    ("pandas", "Index"): lambda column: column.tolist(),
    ("pandas", "ExtensionArray"): lambda column: column.tolist(),
    ("polars", "Series"): lambda column: column.to_list(),
    ("pyarrow", "Array"): lambda column: column.to_pylist(),
    ("pyarrow", "ChunkedArray"): lambda column: column.to_pylist(),
    ("datasets", "Column"): list,
}
FRAME_TYPES: dict[tuple[str, str], Callable[[Any], tuple[list[Any], Callable[[], Any]]]] = {
    ("pandas", "DataFrame"): lambda frame: (list(frame.columns), lambda: frame.iloc[:, 0]),
    ("polars", "DataFrame"): lambda frame: (list(frame.columns), lambda: frame.to_series(0)),
    ("pyarrow", "Table"): lambda frame: (list(frame.column_names), lambda: frame.column(0)),
    ("pyarrow", "RecordBatch"): lambda frame: (list(frame.schema.names), lambda: frame.column(0)),
    ("datasets", "Dataset"): lambda frame: (list(frame.column_names), lambda: frame[frame.column_names[0]]),
}


def text_list(texts: object, name: str = "texts", *, first: int = 1) -> list[str]:
    """Return texts as a list of plain strings.

    Args:
        texts: a sequence; a NumPy array of strings (N,) or (N, 1); a Series of pandas or polars; an
            Arrow array; a column of ``datasets``; or a data frame, table or data set of one column.
        name: the name of the argument in error messages.
        first: the position of the first text in error messages.

    Raises:
        DataError: the type of ``texts`` is not supported, or an element is no string. (A number in the
            text column of a file is a text: ``cell_text``.)
    """
    values = _elements(texts, name)
    for position, value in enumerate(values, start=first):
        if not isinstance(value, str):
            raise DataError(
                f"{name} must be strings, got {_kind(value)} at position {position}: leave that record out, or make it "
                "a string"
            )
    return [str.__str__(value) for value in values]  # subclasses such as np.str_ become plain strings


def separate_characters(text: str) -> str:
    """Return a text in which each character of a script without spaces is a word of its own."""
    return text if text.isascii() else re.sub(UNSPACED, r" \g<0> ", text)


def value_list(values: object, count: int, name: str) -> list[Any]:
    """Return one value for each record, such as the record's label; missing values become None.

    Args:
        values: as ``texts`` in ``text_list``, but with elements of any type.
        count: the number of records.
        name: the name of the argument in error messages.

    Raises:
        DataError: the type of ``values`` is not supported, or ``values`` does not have ``count``
            elements.
    """
    found = _elements(values, name, "a list")
    if len(found) != count:
        raise DataError(f"{name} must be as many as the texts, got {len(found)} for {count}: give one for each text")
    return [_plain(value) for value in found]


def instance_of(value: object, kinds: Iterable[tuple[str, str]]) -> tuple[str, str] | None:
    """Return the first pair (library, class) that names a class of ``value``, or None."""
    own = {(base.__module__.partition(".")[0], base.__name__) for base in type(value).__mro__}
    return next((kind for kind in kinds if kind in own), None)


def _elements(values: object, name: str, wanted: str = "a list of strings") -> list[Any]:
    if isinstance(values, list | tuple):
        return list(values)
    if instance_of(values, ARRAY_TYPES):
        return _of_array(values, name)
    if kind := instance_of(values, FRAME_TYPES):
        names, column = FRAME_TYPES[kind](values)
        if len(names) != 1:
            raise DataError(
                f"{name} must be one column, got {len(names)} ({list_names(names)}): choose the one with the texts"
            )
        return _elements(column(), name, wanted)
    if kind := instance_of(values, COLUMN_TYPES):
        return list(COLUMN_TYPES[kind](values))
    if isinstance(values, str):
        raise DataError(f"{name} must be {wanted}, got one string: put it into a list")
    if isinstance(values, Sequence) and not isinstance(values, bytes | bytearray | memoryview | range):
        return list(values)
    # The texts of a generator could not all be checked before the first text is released.
    raise DataError(f"{name} must be {wanted}, got {_kind(values)}: {LIST_ADVICE}")


def _of_array(values: Any, name: str) -> list[Any]:
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim != 1:
        raise DataError(
            f"{name} must be one column, got an array of shape {values.shape}: choose the column with the texts"
        )
    return list(values.tolist())


def _plain(value: Any) -> Any:
    if isinstance(value, str):
        return str.__str__(value)
    if instance_of(value, SCALAR_TYPES):
        value = value.item()
    return None if is_null(value) else value


def is_null(value: object) -> bool:
    """Return True for None, NaN and the missing values of pandas."""
    if value is None or instance_of(value, [("pandas", "NAType"), ("pandas", "NaTType")]):
        return True
    return isinstance(value, float) and value != value  # NaN differs from itself


def _kind(value: object) -> str:
    return "a missing value" if is_null(value) else f"a value of type {type(value).__name__}"


def plain_text(value: Any) -> str | None:
    """Return the text of a value; None if the value has no text.

    Strings are normalised (NFC), and space around them is removed. A whole number becomes a text of
    its digits, even if it is given as 1.0, "1.0" or Decimal("1.00"). Booleans become "true" and
    "false", even if they are given as "True" or "FALSE". None, NaN, fractions such as 1.5, bytes,
    dates, containers and blank strings have no text.
    """
    if isinstance(value, str):
        text = unicodedata.normalize("NFC", value).strip()
        if text in BOOLEANS:
            return text.lower()
        whole = WHOLE.fullmatch(text)
        return (str(int(whole[1])) if whole else text) or None
    if hasattr(value, "item") and getattr(value, "shape", None) == ():
        value = value.item()  # a number of NumPy or PyTorch
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, numbers.Real | Decimal) and _is_whole(value):
        return str(int(value))  # type: ignore[arg-type]
    return None


def cell_text(value: Any) -> str | None:
    """Return the text of a value in a column of texts, as a csv file spells it; None if it has none.

    Strings stay as they are. Whole numbers and booleans become text as in ``plain_text``, and
    fractions and dates as Python spells them.
    """
    if isinstance(value, str):
        return str.__str__(value)  # subclasses such as np.str_ become plain strings
    if (text := plain_text(value)) is not None or is_null(value):
        return text
    if instance_of(value, SCALAR_TYPES):
        value = value.item()
    if isinstance(value, date | time):
        return str(value)
    return str(value) if isinstance(value, float | Decimal) and str(value)[-1].isdigit() else None


def _is_whole(number: Any) -> bool:
    try:
        return bool(-MAX_NUMBER < number < MAX_NUMBER and number == int(number))
    except (ValueError, ArithmeticError):  # NaN cannot be made an integer, and Decimal refuses to compare some of it
        return False
