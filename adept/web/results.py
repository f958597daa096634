"""What earlier commands left in their ``output_dir``: pages of comparisons, audits and attacks, shown as they are."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from adept.errors import DataError

KINDS = {"report.html": "comparison", "result.json": "result"}
MOST = 50  # runs that are listed


@dataclass(frozen=True)
class Run:
    """One output directory.

    Attributes:
        name: below the directory of runs.
        kind: "comparison", "audit" or "attack".
        page: the report's file, for a comparison.
        rows: (what, value) of the others.
    """

    name: str
    kind: str
    page: Path | None
    rows: list[tuple[str, str]]


def runs(directory: Path) -> list[Run]:
    """Return the runs below a directory that can be shown, the newest first."""
    if not directory.is_dir():
        return []
    found = [path for name in KINDS for path in directory.glob(f"*/{name}") if path.is_file()]
    found.sort(key=lambda path: path.stat().st_mtime, reverse=True)
    return [run for path in found[:MOST] if (run := _run(path)) is not None]


def report(directory: Path, name: str) -> bytes:
    """Return the page of one comparison.

    Raises:
        DataError: there is none of this name.
    """
    for run in runs(directory):
        if run.name == name and run.page is not None:
            return run.page.read_bytes()
    raise DataError("there is no such report: reload the page")


def _run(path: Path) -> Run | None:
    name = path.parent.name
    if path.name == "report.html":
        return Run(name, "comparison", path, [])
    try:
        result = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return None
    if not isinstance(result, dict):
        return None
    kind = "audit" if "certified_epsilon" in result else "attack" if "attack" in result else "evaluation"
    return Run(name, kind, None, [(key, _short(value)) for key, value in result.items() if _is_plain(value)])


def _is_plain(value: Any) -> bool:
    return isinstance(value, str | int | float | bool)


def _short(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
