"""Compile slow Python loops to machine code."""

import hashlib
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, TypeVar, cast

import numba
from numba.core import config
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from adept.data.writing import cache_directory

NOTICE_SECONDS = 2.0  # time after which a bar shows what takes so long
STEP_SECONDS = 0.2  # time between two updates of the bar
COMPILED_PACKAGES = "language_model", "codec"  # packages with sources of machine code

Function = TypeVar("Function", bound=Callable[..., object])
_FUNCTIONS: list[Any] = []  # all functions that become machine code


def compiled(function: Function, *, counts: bool = True) -> Function:
    """Compile a function of numbers and arrays; keep its machine code in the user's cache.

    If ``counts`` is False, the machine code does not count the references to arrays. Without this
    counting, the code is several times as fast, but the function must not create arrays.
    """
    options: dict[str, Any] = {"error_model": "numpy", "_nrt": counts}
    settings, directory = vars(config), _directory()
    before = settings["CACHE_DIR"]
    settings["CACHE_DIR"] = directory or before
    try:
        made = numba.njit(cache=directory is not None, **options)(function)
        _FUNCTIONS.append(made)
        return cast(Function, made)
    finally:
        settings["CACHE_DIR"] = before


def without_reference_counts(function: Function) -> Function:
    return compiled(function, counts=False)


@cache
def _directory() -> str | None:
    """Return the directory for this adept version's machine code; None if it is not writable."""
    if (user := cache_directory()) is None:
        return None
    digest = hashlib.sha256()
    for package in COMPILED_PACKAGES:
        for path in sorted((Path(__file__).parent.parent / package).glob("*.py")):
            digest.update(path.read_bytes())
    directory = user / "machine-code" / digest.hexdigest()[:32]
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=directory):
            return str(directory)
    except OSError:
        return None


@contextmanager
def telling(line: str, *, compiles: bool = False) -> Iterator[None]:
    """Show a progress bar with the text ``line`` while the block runs, if stderr is a terminal."""
    ended = threading.Event()
    shown = threading.Thread(target=_show_bar, args=(line, ended, compiles), daemon=True)
    if sys.stderr.isatty():
        shown.start()
    try:
        yield
    finally:
        ended.set()
        if shown.is_alive():
            shown.join()


def _show_bar(line: str, ended: threading.Event, compiles: bool) -> None:
    if ended.wait(NOTICE_SECONDS):
        return
    columns = TextColumn("{task.description}", markup=False), BarColumn(), TimeElapsedColumn()
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task(line, total=len(_FUNCTIONS) if compiles else None)
        while not ended.wait(STEP_SECONDS):
            bar.update(task, completed=sum(bool(made.signatures) for made in _FUNCTIONS))
