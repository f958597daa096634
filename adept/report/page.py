"""A comparison as one HTML page. This module says what is on it; ``templates/`` has how it looks."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import yaml
from jinja2 import Environment, PackageLoader, StrictUndefined

from adept.comparison.config import CompareConfig
from adept.comparison.evidence import ATTACK_CONFIDENCE, AUDIT_TRIALS
from adept.comparison.plan import ALTERNATIVES
from adept.comparison.results import AuditVerdict, Example, ResultRow, Results, exceeds
from adept.mechanisms.guarantee import words
from adept.report import attacks, figure, findings
from adept.report.table import (
    MAJORITY,
    METRICS,
    OTHERS,
    QUALITY,
    REPEATS,
    ComparisonTable,
    Line,
    name_model,
    table,
    title,
)

FIGURE, HEADLINE = "comparison.svg", "headline.svg"
MAX_WORDS = 25  # of a text that is shown
ABSENT = "–"
FAIR_HEADINGS = ("text by", "claimed eps", "true eps", "accuracy", "macro-F1", "above random")


@dataclass(frozen=True)
class GridSection:
    """Lines of a table that have one model, or the lack of one, in common."""

    title: str
    lines: list[list[str]]


@dataclass(frozen=True)
class Grid:
    """A table of the page: headings and lines of text."""

    title: str
    headings: list[str]
    sections: list[GridSection]


@dataclass(frozen=True)
class Report:
    """A page, and what is said on a terminal."""

    path: Path
    tables: list[Grid]  # a line a mechanism, a column a budget
    findings: list[str]
    warnings: list[str]


def write(results: Results) -> Report:
    """Write ``report.html`` and its figures (``figures/*.svg``) into a comparison's directory."""
    directory, lines = Path(results.config.output_dir), table(results.rows)
    drawn = {FIGURE: figure.draw(lines), HEADLINE: figure.draw_headline(lines)}
    (directory / "figures").mkdir(exist_ok=True)
    for name, svg in drawn.items():
        (directory / "figures" / name).write_text(svg, "utf-8")
    said = context(results, lines)
    environment = Environment(
        loader=PackageLoader("adept.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    path = directory / "report.html"
    page = environment.get_template("page.html.jinja")
    # As they were saved, without the prologue, which has no place in HTML.
    embedded = {name.removesuffix(".svg"): svg[svg.index("<svg") :] for name, svg in drawn.items()}
    path.write_text(page.render(figures=embedded, **said), "utf-8")
    return Report(path, [budget_grid(lines, metric) for metric in METRICS], said["findings"], said["warnings"])


def context(results: Results, lines: ComparisonTable) -> dict[str, Any]:
    """Return what the page says, by the names that its template knows."""
    config, attacked = results.config, attacks.section(results.attacks)
    first = next(line for line in lines.texts if line.mechanism == "none")
    return {
        "config": config,
        "version": version("adept-dp"),
        "train_records": first.records,
        "test_records": first.test_records,
        "findings": findings.findings(lines, attacked.findings),
        "warnings": [*attacked.defects, *findings.warn_of_seen_records(config), *findings.warn_of_losses(lines)],
        "claims": [describe_claim(audited, lines) for audited in results.audits],
        "fair": [fair_grid(lines, classifier) for classifier in lines.classifiers],
        "repeats": repeats_grid(lines),
        "present": {line.mechanism for line in lines.lines},
        "quality": any(line.measures[name] is not None for line in lines.lines for name in QUALITY),
        "settings": settings(config),
        "audit_trials": AUDIT_TRIALS,
        "shown_words": MAX_WORDS,
        **_examples(results.examples),
        "attacks": attacked,
        "attack_confidence": ATTACK_CONFIDENCE,
    }


def describe_claim(audited: AuditVerdict, lines: ComparisonTable) -> dict[str, Any]:
    """Return a mechanism's claim: every budget once, and what is really spent where that is more."""
    own = [line for line in lines.texts if line.mechanism == audited.mechanism and line.claimed_epsilon is not None]
    spent = dict(sorted((line.claimed_epsilon or 0.0, line.epsilon) for line in own))
    return {
        "audited": audited,
        "title": own[0].title,
        "claimed": ", ".join(f"{epsilon:g}" for epsilon in spent),
        "true": ", ".join(map(words, spent.values())) if any(line.false_claim for line in own) else "",
        "verdict": verdict(audited),
        "command": audited.mechanism not in ALTERNATIVES,  # the command line can audit it again
    }


def verdict(audited: AuditVerdict) -> str:
    """Return an audit's verdict in words."""
    certified = f"certified epsilon at least {audited.certified_epsilon:.3g}"
    if audited.violated:
        return f"violation found: {audited.evidence}; {certified}"
    return f"no violation found, which is no proof; {certified}"


def _examples(examples: Sequence[Example]) -> dict[str, Any]:
    """A line a record: the original, then a column a mechanism, ``random`` last."""
    if not examples:
        return {"examples": [], "example_headings": []}
    columns = list(dict.fromkeys(_column(row) for row, _ in examples[0].rewrites))
    columns.sort(key=lambda name: name == "random")
    original = ["original record"] if examples[0].original is not None else []
    return {"examples": [_cells(example, columns) for example in examples], "example_headings": original + columns}


def _cells(example: Example, columns: list[str]) -> list[list[tuple[str, str]]]:
    """For each column its texts, each with what was spent on it."""
    own = [] if example.original is None else [[("", example.original)]]
    return own + [[(_spent(row), text) for row, text in example.rewrites if _column(row) == name] for name in columns]


def _column(row: ResultRow) -> str:
    return "random" if row.mechanism == "random" else title(row.mechanism)


def _spent(row: ResultRow) -> str:
    """A budget as it truly is, or the model of a reference."""
    if row.claimed_epsilon is None:
        return name_model(row.clip or "", row.content or "")
    if exceeds(row.epsilon, row.claimed_epsilon):
        return f"claimed eps {row.claimed_epsilon:g}, true {words(row.epsilon)}"
    return f"eps {row.claimed_epsilon:g}"


def settings(config: CompareConfig) -> str:
    """Return a configuration as a recipe (``conf/experiment``) that makes it again."""
    values = {name: value for name, value in asdict(config).items() if name != "output_dir"}
    return "# @package _global_\n" + yaml.safe_dump(values, sort_keys=False, default_flow_style=None, width=100)


def budget_grid(table: ComparisonTable, metric: str) -> Grid:
    """Return text of the model's decoder: a line a mechanism, a column a claimed budget, then the levels."""
    cells = []
    for curve in table.curves:
        found = [curve.at.get(epsilon) for epsilon in table.budgets]
        cells.append([curve.title, *("" if line is None else str(getattr(line, metric)) for line in found)])
        if curve.false_claim:
            cells.append(["  its true epsilon", *("" if line is None else words(line.epsilon) for line in found)])
    for name, level in table.levels[metric].items():
        cells.append([name, *[str(level)] * len(table.budgets)])
    headings = ["claimed epsilon", *(f"{epsilon:g}" for epsilon in table.budgets)]
    return Grid(METRICS[metric], headings, [GridSection("", cells)])


def fair_grid(table: ComparisonTable, classifier: str) -> Grid:
    """Return everything at every budget, judged by one classifier."""
    chosen = [line for line in table.lines if line.classifier == classifier]
    quality = [name for name in QUALITY if any(line.measures[name] is not None for line in chosen)]
    found = _sections([(line, _fair_line(line, quality)) for line in chosen])
    headings = [*FAIR_HEADINGS, *(QUALITY[name] for name in quality)]
    last = [MAJORITY, ABSENT, "0", table.levels["accuracy"][MAJORITY].spread]
    found[0].lines.append([*last, *[ABSENT] * (len(headings) - len(last))])
    return Grid(classifier, headings, found)


def _fair_line(line: Line, quality: list[str]) -> list[str]:
    return [
        *_budget_cells(line),
        *(getattr(line, metric).spread for metric in METRICS),
        ABSENT if line.above_random is None else line.above_random.spread,
        *(_quality_cell(line, name) for name in quality),
    ]


def repeats_grid(table: ComparisonTable) -> Grid:
    """Return how often texts repeat others word for word; no sections where nobody counted."""
    shares = [
        (line, [*_budget_cells(line)[:2], *(f"{line.measures[name] or 0:.2%}" for name in REPEATS)])
        for line in table.lines
        if line.measures["verbatim_own"] is not None and line.classifier == table.classifiers[0]
    ]
    return Grid("", ["text by", "claimed eps", *REPEATS.values()], _sections(shares))


def _sections(lines: list[tuple[Line, list[str]]]) -> list[GridSection]:
    """A section for each model, what has none first."""
    models: dict[str, list[list[str]]] = {}
    for line, cells in lines:
        models.setdefault(line.model or "without a model", []).append(cells)
    return [GridSection(model, own) for model, own in models.items()]


def _budget_cells(line: Line) -> list[str]:
    claimed = ABSENT if line.claimed_epsilon is None else f"{line.claimed_epsilon:g}"
    return [line.title, claimed, words(line.epsilon) if line.epsilon else "0"]


def _quality_cell(line: Line, name: str) -> str:
    other = line.measures[OTHERS[name]] if name in OTHERS else None
    return _mean_cell(line.measures[name]) + ("" if other is None else f" ({_mean_cell(other)})")


def _mean_cell(value: float | None) -> str:
    if value is None:
        return ABSENT
    return f"{value:.0f}" if value >= 100 else f"{value:#.3g}"
