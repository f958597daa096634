"""Printing of results and tables, writing of JSON, and progress bars.

Names of files, columns and labels, texts of a model and results of foreign code may hold anything:
they are printed as text, with escapes for what is not printable, and never read as rich markup.
"""

import json
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

from adept.cli.process import show_lines
from adept.errors import escape

TABLE_WIDTH, PAIR_WIDTH = 160, 1000  # characters of a line in a file or pipe; a pair with a path is one line


def write_json(result: Any, path: Path) -> None:
    """Write a dict or dataclass as JSON; infinite and undefined numbers become strings."""
    finite = json.loads(json.dumps(result, default=_plain), parse_constant=lambda number: str(float(number)))
    path.write_text(json.dumps(finite, indent=2) + "\n", "utf-8")


def show(title: str, rows: Iterable[Iterable[str]]) -> None:
    """Print a title and, below it, one line for each pair of a name and its value."""
    show_lines([title])
    sys.stdout.flush()  # what follows has a writer of its own
    _print(Table(show_header=False, box=None, pad_edge=False), rows, width=PAIR_WIDTH)


def warn(line: str) -> None:
    """Print one line to standard error."""
    show_lines([f"adept: {line}"], to_stderr=True)


def show_table(title: str, headings: list[str], rows: Iterable[Iterable[str]]) -> None:
    """Print a table to stdout."""
    table = Table(title=_text(title), title_justify="left", box=None, pad_edge=False)
    for heading in headings:
        table.add_column(_text(heading))
    _print(table, rows)


@contextmanager
def progress(title: str, estimate: Callable[[], int | None] = lambda: None) -> Iterator[Callable[..., None]]:
    """Show a progress bar, but only if stderr is a terminal.

    Yield a function that moves the progress bar. The arguments of the function are the number of
    finished steps and the total number of steps; leave out the total if ``estimate`` returns it.
    """
    if not sys.stderr.isatty():
        yield lambda done, total=None: None
        return
    named = TextColumn("{task.description}", markup=False)
    columns = (named, BarColumn(), MofNCompleteColumn(), _Rate(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(escape(title), total=estimate())
        yield lambda done, total=None: bar.update(task, completed=done, total=total)


class _Rate(ProgressColumn):
    def render(self, task: Task) -> Text:
        if not task.speed:
            return Text("")
        return Text(f"{task.speed:,.0f}/s" if task.speed >= 1 else f"{1 / task.speed:,.0f} s each")


def _print(table: Table, rows: Iterable[Iterable[str]], *, width: int = TABLE_WIDTH) -> None:
    for row in rows:
        table.add_row(*map(_text, row))
    for column in table.columns:
        column.overflow = "fold"  # a long name is shown whole
    Console(highlight=False, width=None if sys.stdout.isatty() else width).print(table)


def _text(content: str) -> Text:
    return Text(escape(content))


def _plain(value: Any) -> Any:
    return asdict(value) if is_dataclass(value) else str(Path(value))  # type: ignore[arg-type]
