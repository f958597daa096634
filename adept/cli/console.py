"""Print tables, results and progress bars of a command.

Names of files, columns and labels, texts of a model and results of foreign code may hold anything: they are printed as
text, with escapes for what is not printable, and never read as rich markup. rich is imported only where it is used.
"""

import contextlib
import json
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from adept.errors import escape

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text


def write_json(result: Any, path: Path) -> None:
    """Write a dict or dataclass as JSON; infinite and undefined numbers become strings."""
    from adept.data.writing import write_whole  # files are slow to import

    def plain(value: Any) -> Any:
        return asdict(value) if is_dataclass(value) else str(Path(value))  # type: ignore[arg-type]

    finite = json.loads(json.dumps(result, default=plain), parse_constant=lambda number: str(float(number)))
    write_whole(path, json.dumps(finite, indent=2) + "\n", replace=True)


def show_lines(lines: Iterable[str], *, to_stderr: bool = False) -> None:
    """Print lines to stdout or stderr, as all commands do; escape what is not printable."""
    (sys.stderr if to_stderr else sys.stdout).writelines(f"{escape(line)}\n" for line in lines)


def warn(line: str) -> None:
    show_lines([f"adept: {line}"], to_stderr=True)


def show(title: str, rows: Iterable[Iterable[str]]) -> None:
    """Print a title and, below it, one line for each pair of a name and its value."""
    from rich.table import Table

    show_lines([title])
    _print(Table(show_header=False, box=None, pad_edge=False), rows, width=1000)  # a pair with a path is one line


def show_table(title: str, headings: list[str], rows: Iterable[Iterable[str]]) -> None:
    from rich.table import Table

    table = Table(title=_text(title), title_justify="left", box=None, pad_edge=False)
    for heading in headings:
        table.add_column(_text(heading))
    _print(table, rows, width=160)


def _print(table: "Table", rows: Iterable[Iterable[str]], *, width: int) -> None:
    """Print a table without spaces at the ends of lines, which have at most ``width`` characters in a file or pipe."""
    from rich.console import Console

    for row in rows:
        table.add_row(*map(_text, row))
    for column in table.columns:
        column.overflow = "fold"  # a long name is shown whole
    console = Console(highlight=False, width=None if sys.stdout.isatty() else width)
    with console.capture() as printed:
        console.print(table)
    sys.stdout.writelines(f"{line.rstrip()}\n" for line in printed.get().splitlines())


def _text(content: str) -> "Text":
    from rich.text import Text

    return Text(escape(content))


@contextlib.contextmanager
def progress(title: str, estimate: Callable[[], int | None] = lambda: None) -> Iterator[Callable[..., None]]:
    """Show a progress bar, but only if stderr is a terminal.

    Yield a function that moves the progress bar. The arguments of the function are the number of
    finished steps and the total number of steps; leave out the total if ``estimate`` returns it.
    """
    if not sys.stderr.isatty():
        yield lambda done, total=None: None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        ProgressColumn,
        Task,
        TextColumn,
        TimeRemainingColumn,
    )

    class Rate(ProgressColumn):
        def render(self, task: Task) -> "Text":
            speed = task.speed or 0.0
            return _text(f"{speed:,.0f}/s" if speed >= 1 else f"{1 / speed:,.0f} s each" if speed else "")

    named = TextColumn("{task.description}", markup=False)
    columns = (named, BarColumn(), MofNCompleteColumn(), Rate(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(escape(title), total=estimate())
        yield lambda done, total=None: bar.update(task, completed=done, total=total)
