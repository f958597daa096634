"""Values of a record as text: one rule for labels, for persons, and for the columns that identify a record in a ledger.

Formats spell one value differently. A csv holds "1", jsonl and Parquet hold the number 1, and pandas turns it into 1.0 if other
rows are empty; its csv then holds "1.0". macOS decomposes "é", and spreadsheets leave spaces behind. ``plain_text`` maps all
these spellings to one text.

*Claim*: the text of a value depends on that value alone: not on other rows, not on its column's type, not on the file's format.
*Proof*: ``plain_text`` is a function of its one argument; it keeps no state and reads nothing else. QED. So no spelling links a
record to others, and a vote that is cast by a label's text is a function of its own record.
"""

import numbers
import re
import unicodedata
from decimal import Decimal
from typing import Any

LARGEST_NUMBER = 10**100  # Python refuses to spell numbers of thousands of digits
WHOLE = re.compile(r"(-?(?:0|[1-9][0-9]{0,99}))\.0+")  # a whole number in a csv column that pandas wrote with gaps


def plain_text(value: Any) -> str | None:
    """Return the text of a value; None for one that has none.

    Strings are normalised (NFC) and stripped of surrounding space. Whole numbers become their digits, also 1.0, "1.0" and
    Decimal("1.00").
    Booleans become "true" and "false". None, NaN, other fractions, bytes, dates, containers and blank strings have no text.
    """
    if isinstance(value, str):
        text = unicodedata.normalize("NFC", value).strip()
        whole = WHOLE.fullmatch(text)
        return (str(int(whole[1])) if whole else text) or None
    if hasattr(value, "item") and getattr(value, "shape", None) == ():
        value = value.item()  # a number of NumPy or PyTorch
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, numbers.Real | Decimal) and _is_whole(value):
        return str(int(value))  # type: ignore[arg-type]
    return None


def _is_whole(number: Any) -> bool:
    """Return True for a finite whole number that can be spelled."""
    try:
        return bool(-LARGEST_NUMBER < number < LARGEST_NUMBER and number == int(number))
    except (ValueError, ArithmeticError):  # NaN cannot be made an integer, and Decimal refuses to compare some of it
        return False
