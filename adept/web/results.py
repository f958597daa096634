"""Results that earlier commands left in their ``output_dir``: comparisons, audits, attacks and studies, shown as they are."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from adept.errors import DataError

REPORT, RESULT = "report.html", "result.json"
MAX_RUNS = 50
CHECKS = ("name", "verdict", "evidence")
IN_SENTENCE = {"violated", "judged", "outcome", "refutes_claim", "beyond_bound"}
ATTACKS = ("attack", "knows", "success", "words")


@dataclass(frozen=True)
class EarlierResult:
    """One output directory.

    Attributes:
        kind: "comparison", "audit", "attack", "study" or "result".
        page: the report's file, for a comparison.
        picture: a figure's file.
        wrong: True if a claim was found to be false.
        rows: (what, value).
        table: an audit's checks, those that failed first, or the result of each attack, below ``headings``.
    """

    name: str
    kind: str
    page: Path | None = None
    picture: Path | None = None
    sentence: str = ""
    wrong: bool = False
    rows: list[tuple[str, str]] = field(default_factory=list)
    headings: tuple[str, ...] = ()
    table: list[tuple[str, ...]] = field(default_factory=list)


def runs(directory: Path) -> list[EarlierResult]:
    """Return the runs below a directory that can be shown, the newest first."""
    if not directory.is_dir():
        return []
    found = [path for name in (REPORT, RESULT) for path in directory.glob(f"*/{name}") if path.is_file()]
    found.sort(key=lambda path: path.stat().st_mtime, reverse=True)
    return [run for path in found[:MAX_RUNS] if (run := _run(path)) is not None]


def report(directory: Path, name: str) -> bytes:
    """Return the page of one comparison.

    Raises:
        DataError: there is none of this name.
    """
    return _read(run.page for run in runs(directory) if run.name == name)


def picture(directory: Path, name: str) -> bytes:
    """Return the figure of one run.

    Raises:
        DataError: there is none of this name.
    """
    return _read(run.picture for run in runs(directory) if run.name == name)


def _read(paths: Any) -> bytes:
    for path in paths:
        if path is not None:
            return bytes(path.read_bytes())
    raise DataError("there is no such result: reload the page")


def _run(path: Path) -> EarlierResult | None:
    name = path.parent.name
    if path.name == REPORT:
        return EarlierResult(name, "comparison", page=path)
    try:
        result = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    if not isinstance(result, dict):
        return None
    figure = next(iter(sorted(path.parent.glob("*.svg"))), None)
    rows = [
        (key, _short(value))
        for key, value in result.items()
        if isinstance(value, str | int | float) and key not in IN_SENTENCE
    ]
    run = EarlierResult(name, "study" if figure else "result", picture=figure, rows=rows)
    if "certified_epsilon" in result:
        return _audit(run, result)
    return _attack(run, result) if "attack" in result else run


def _audit(run: EarlierResult, result: Mapping[str, Any]) -> EarlierResult:
    checks = _dicts(result.get("checks"))
    checks.sort(key=lambda check: check.get("verdict") != "failed")  # the failed ones first
    claim = f"that {result.get('mechanism')} spends epsilon {_short(result.get('claimed_epsilon'))}"
    evidence = [f" The evidence: {check.get('evidence', '')}." for check in checks if check.get("verdict") == "failed"]
    wrong = result.get("violated") is True
    if wrong:
        sentence = f"Violation found: the claim {claim} is false.{''.join(evidence[:1])}"
    elif result.get("judged") is False:
        sentence = f"Not judged: nothing could be looked at to test the claim {claim}."
    else:
        sentence = f"No violation found, which is no proof of the claim {claim}."
    return replace(run, kind="audit", sentence=sentence, wrong=wrong, headings=CHECKS, table=_table(checks, CHECKS))


def _attack(run: EarlierResult, result: Mapping[str, Any]) -> EarlierResult:
    wrong = result.get("refutes_claim") is True or result.get("beyond_bound") is True
    sentence = "Violation found: the claim is false." if wrong else "No violation found, which is no proof."
    table = _table(_dicts(result.get("rows")), ATTACKS)
    return replace(run, kind="attack", sentence=sentence, wrong=wrong, headings=ATTACKS, table=table)


def _table(rows: list[dict[str, Any]], headings: tuple[str, ...]) -> list[tuple[str, ...]]:
    return [tuple(_short(row.get(heading, "")) for heading in headings) for row in rows]


def _dicts(value: Any) -> list[dict[str, Any]]:
    return [row for row in value if isinstance(row, dict)] if isinstance(value, list) else []


def _short(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
