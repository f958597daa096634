"""Tables of results: rows that are dataclasses, written as csv in one way, whichever command makes them."""

import csv
from collections.abc import Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any


def write_csv(rows: Sequence[Any], path: Path) -> None:
    """Write rows of one dataclass, whole or not at all: its fields in order are the columns.

    What does not apply (None) is empty; infinite and undefined numbers are "inf" and "nan". A file of that name is replaced.

    Args:
        rows: at least one instance of the same dataclass.
    """
    partial = path.with_name(f"{path.name}.partial")
    with partial.open("w", encoding="utf-8", newline="") as stream:
        table = csv.DictWriter(stream, fieldnames=[f.name for f in fields(rows[0])], lineterminator="\n")
        table.writeheader()
        table.writerows(asdict(row) for row in rows)
    partial.replace(path)
