"""Results that earlier commands left in their ``output_dir``, shown as they are."""

import json
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from adept.errors import DataError

REPORT, RESULT = "report.html", "result.json"
MAX_RUNS = 50
CHECKS = ("name", "verdict", "evidence")
ATTACKS = ("attack", "knows", "success", "words")
IN_SENTENCE = {"violated", "judged", "outcome", "refutes_claim", "beyond_bound"}

Json = dict[str, Any]


@dataclass(frozen=True)
class EarlierResult:
    """One output directory.

    Attributes:
        kind: "comparison", "audit", "attack", "study" or "result".
        wrong: True if a claim was found to be false.
        rows: names and values.
        table: checks of an audit, those that failed first, or rows of an attack, below ``headings``.
    """

    name: str
    kind: str
    page: Path | None = None
    picture: Path | None = None
    sentence: str = ""
    wrong: bool = False
    rows: list[tuple[str, str]] = field(default_factory=list)
    headings: tuple[str, ...] = ()
    table: list[list[str]] = field(default_factory=list)


def runs(directory: Path) -> list[EarlierResult]:
    """Return the results below a directory that can be shown, the newest first."""
    found = [path for name in (REPORT, RESULT) for path in directory.glob(f"*/{name}") if path.is_file()]
    found.sort(key=lambda path: path.stat().st_mtime, reverse=True)
    return [run for path in found[:MAX_RUNS] if (run := _run(path)) is not None]


def read(directory: Path, name: str, part: Literal["page", "picture"]) -> bytes:
    """Return the page of a comparison, or the figure of another result.

    Raises:
        DataError: there is none of this name.
    """
    for run in runs(directory):
        path: Path | None = getattr(run, part)
        if run.name == name and path is not None:
            return path.read_bytes()
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
    shown = [key for key, value in result.items() if isinstance(value, str | int | float) and key not in IN_SENTENCE]
    rows = [(key, _short(result[key])) for key in shown]
    run = EarlierResult(name, "study" if figure else "result", picture=figure, rows=rows)
    if "certified_epsilon" in result:
        return _audit(run, result)
    return _attack(run, result) if "attack" in result else run


def _audit(run: EarlierResult, result: Json) -> EarlierResult:
    checks = sorted(_dicts(result.get("checks")), key=lambda check: check.get("verdict") != "failed")
    claim = f"that {result.get('mechanism')} spends epsilon {_short(result.get('claimed_epsilon'))}"
    wrong = result.get("violated") is True
    if wrong:
        failed = [check for check in checks[:1] if check.get("verdict") == "failed"]
        evidence = "".join(f" The evidence: {check.get('evidence', '')}." for check in failed)
        sentence = f"Violation found: the claim {claim} is false.{evidence}"
    elif result.get("judged") is False:
        sentence = f"Not judged: nothing could be looked at to test the claim {claim}."
    else:
        sentence = f"No violation found, which is no proof of the claim {claim}."
    return replace(run, kind="audit", sentence=sentence, wrong=wrong, headings=CHECKS, table=_table(checks, CHECKS))


def _attack(run: EarlierResult, result: Json) -> EarlierResult:
    wrong = result.get("refutes_claim") is True or result.get("beyond_bound") is True
    sentence = "Violation found: the claim is false." if wrong else "No violation found, which is no proof."
    table = _table(_dicts(result.get("rows")), ATTACKS)
    return replace(run, kind="attack", sentence=sentence, wrong=wrong, headings=ATTACKS, table=table)


def _table(rows: list[Json], headings: tuple[str, ...]) -> list[list[str]]:
    return [[_short(row.get(heading, "")) for heading in headings] for row in rows]


def _dicts(value: Any) -> list[Json]:
    return [row for row in value if isinstance(row, dict)] if isinstance(value, list) else []


def _short(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
