"""Results of earlier commands, read from their ``output_dir`` and shown unchanged."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from adept.errors import DataError

REPORT_FILE = "report.html"
MAX_RUNS = 50
# By a field that only this kind has
RESULT_KINDS = {"certified_epsilon": "audit", "attack": "attack", "study": "study"}
RESULT_TABLES = {
    "audit": ("checks", ("name", "kind", "verdict", "evidence")),
    "attack": ("rows", ("attack", "knows", "success", "words")),
}
IN_SENTENCE = {"sentence", "violated", "judged", "outcome", "refutes_claim", "beyond_bound"}


@dataclass(frozen=True)
class EarlierResult:
    """The result of one earlier command, read from its output directory."""

    name: str
    kind: str
    page: Path | None = None
    picture: Path | None = None
    sentence: str = ""
    wrong: bool = False  # a claim was found to be false
    rows: tuple[tuple[str, str], ...] = ()  # names and values
    headings: tuple[str, ...] = ()
    table: tuple[list[str], ...] = ()  # checks of an audit, those that failed first, or rows of an attack


def runs(directory: Path) -> list[EarlierResult]:
    """Return the newest results in a directory, at most ``MAX_RUNS``, with the newest one first."""
    found = [path for name in (REPORT_FILE, "result.json") for path in directory.glob(f"*/{name}") if path.is_file()]
    found.sort(key=lambda path: path.stat().st_mtime, reverse=True)
    return [run for path in found[:MAX_RUNS] if (run := _run(path)) is not None]


def read(directory: Path, name: str, part: Literal["page", "picture"]) -> bytes:
    """Return the page or the figure of a result; raise DataError if no result has this name."""
    for run in runs(directory):
        path: Path | None = getattr(run, part)
        if run.name == name and path is not None:
            return path.read_bytes()
    raise DataError("there is no such result: reload the page")


def _run(path: Path) -> EarlierResult | None:
    name = path.parent.name
    if path.name == REPORT_FILE:
        return EarlierResult(name, "comparison", page=path)
    try:
        result = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    if not isinstance(result, dict):
        return None
    kind = next((kind for field, kind in RESULT_KINDS.items() if field in result), "result")
    listed, headings = RESULT_TABLES.get(kind, ("", ()))
    kinds = result.get("kinds") if kind == "audit" else None
    outcomes = tuple((name, str(outcome)) for name, outcome in kinds.items()) if isinstance(kinds, dict) else ()
    shown = [key for key, value in result.items() if isinstance(value, str | int | float) and key not in IN_SENTENCE]
    return EarlierResult(
        name,
        kind,
        picture=next(iter(sorted(path.parent.glob("*.svg"))), None),
        sentence=str(result.get("sentence", "")),
        wrong=any(result.get(field) is True for field in ("violated", "refutes_claim", "beyond_bound")),
        rows=(*outcomes, *((key, _short(result[key])) for key in shown)),
        headings=headings,
        table=tuple(sorted(_table(result.get(listed), headings), key=lambda row: "failed" not in row)),
    )


def _table(rows: Any, headings: tuple[str, ...]) -> list[list[str]]:
    found = [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []
    return [[_short(row.get(heading, "")) for heading in headings] for row in found]


def _short(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
