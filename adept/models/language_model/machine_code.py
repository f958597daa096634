"""Machine code for loops over single words: thousands of short steps for each record."""

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

from adept.data.writing import cache_directory

NOTICE_SECONDS = 2.0  # after which a person is told what takes so long
COMPILED_PACKAGES = "language_model", "codec"  # whose sources machine code is made of

Function = TypeVar("Function", bound=Callable[..., object])


def compiled(function: Function, *, counts: bool = True) -> Function:
    """Compile a function of numbers and arrays, and cache the code in the user's home if possible.

    Without reference ``counts`` it is several times as fast, and must not create arrays.
    """
    options: dict[str, Any] = {"error_model": "numpy", "_nrt": counts}
    settings, directory = vars(config), _directory()
    before = settings["CACHE_DIR"]
    settings["CACHE_DIR"] = directory or before
    try:
        return cast(Function, numba.njit(cache=directory is not None, **options)(function))
    finally:
        settings["CACHE_DIR"] = before


def without_reference_counts(function: Function) -> Function:
    return compiled(function, counts=False)


@cache
def _directory() -> str | None:
    """Return the directory for machine code of these sources; None if there is none."""
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
def telling(line: str) -> Iterator[None]:
    """Tell a person on a terminal what is being done, if it takes long."""
    told = threading.Timer(NOTICE_SECONDS, print, [line], {"file": sys.stderr})
    told.daemon = True
    if sys.stderr.isatty():
        told.start()
    try:
        yield
    finally:
        told.cancel()
