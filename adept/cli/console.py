"""Printing of results and tables, writing of JSON, and progress bars."""

import json
import math
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, is_dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, Task, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

PIPE_COLUMNS = 160  # width of a table that is not on a terminal


def write_json(result: Any, path: Path) -> None:
    """Write a dict or dataclass as JSON; infinite and undefined numbers become strings."""
    path.write_text(json.dumps(_plain(result), indent=2) + "\n", "utf-8")


def show(title: str, rows: Iterable[Iterable[str]]) -> None:
    """Print a title and, below it, one line for each pair of a name and its value."""
    sys.stdout.write(f"{title}\n")
    sys.stdout.flush()  # what follows has a writer of its own
    _print(Table(show_header=False, box=None, pad_edge=False), rows)


def warn(line: str) -> None:
    """Print one line to standard error."""
    sys.stderr.write(f"adept: {line}\n")


def show_lines(lines: Iterable[str]) -> None:
    """Print lines to stdout."""
    sys.stdout.writelines(f"{line}\n" for line in lines)


def show_table(title: str, headings: list[str], rows: Iterable[Iterable[str]]) -> None:
    """Print a table to stdout."""
    _print(Table(*headings, title=title, title_justify="left", box=None, pad_edge=False), rows)


@contextmanager
def progress(title: str, estimate: Callable[[], int | None] = lambda: None) -> Iterator[Callable[..., None]]:
    """Show a progress bar, but only if stderr is a terminal.

    Yield a function that moves the progress bar. The arguments of the function are the number of
    finished steps and the total number of steps; leave out the total if ``estimate`` returns it.
    """
    if not sys.stderr.isatty():
        yield lambda done, total=None: None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), _Rate(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(title, total=estimate())
        yield lambda done, total=None: bar.update(task, completed=done, total=total)


class _Rate(ProgressColumn):
    def render(self, task: Task) -> Text:
        if not task.speed:
            return Text("")
        return Text(f"{task.speed:,.0f}/s" if task.speed >= 1 else f"{1 / task.speed:,.0f} s each")


def _print(table: Table, rows: Iterable[Iterable[str]]) -> None:
    for row in rows:
        table.add_row(*row)
    for column in table.columns:
        column.overflow = "fold"  # a long name is shown whole
    Console(highlight=False, width=None if sys.stdout.isatty() else PIPE_COLUMNS).print(table)


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
    return _plain(asdict(value)) if is_dataclass(value) else value  # type: ignore[arg-type]
