"""Results for people and for machines: the same dataclass as a table on the terminal and as JSON in a file."""

import json
import math
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table


def write_json(result: Any, path: Path) -> None:
    """Write a result's dataclass as JSON; infinite and undefined numbers become strings, which JSON can hold."""
    write_dict(asdict(result), path)


def write_dict(result: dict[str, Any], path: Path) -> None:
    """Write a result's fields as JSON, likewise."""
    path.write_text(json.dumps(_plain(result), indent=2) + "\n", "utf-8")


def show(title: str, rows: list[tuple[str, str]], *, stderr: bool = False) -> None:
    """Print names and values to the terminal."""
    _print(Table("", title, box=None, pad_edge=False), [list(row) for row in rows], stderr=stderr)


def show_table(title: str, headings: list[str], rows: list[list[str]]) -> None:
    """Print a table to the terminal."""
    _print(Table(*headings, title=title, title_justify="left", box=None, pad_edge=False), rows)


def _print(table: Table, rows: list[list[str]], *, stderr: bool = False) -> None:
    for row in rows:
        table.add_row(*row)
    width = None if (sys.stderr if stderr else sys.stdout).isatty() else 160
    Console(stderr=stderr, highlight=False, width=width).print(table)


def _plain(value: Any) -> Any:
    match value:
        case dict():
            return {str(key): _plain(item) for key, item in value.items()}
        case list() | tuple():
            return [_plain(item) for item in value]
        case float() if not math.isfinite(value):
            return str(value)
        case Path():
            return str(value)
        case _:
            return value
