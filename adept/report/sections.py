"""The tables of a comparison's page, as headings and lines of text: every cell is said here, how it looks is the template's.

A table is headings and sections; a section is the lines of one model. What a new column means is said in
``templates/notes.html.jinja``.
"""

import math
from dataclasses import dataclass
from typing import Any

import pandas as pd

from adept.comparison.results import LATENTS
from adept.mechanisms.guarantee import words
from adept.report.table import (
    LIGHT_SUPERVISION,
    MAJORITY,
    METRICS,
    OTHERS,
    QUALITY,
    READERS,
    REPEATS,
    at,
    budgets,
    classifiers,
    curves,
    levels,
    majority,
    of,
    texts,
)

ABSENT = "–"
FAIR = ("text by", "claimed eps", "true eps", "accuracy", "macro-F1", "above random")


@dataclass(frozen=True)
class Section:
    """Lines of a table that have one model, or the lack of one, in common."""

    title: str
    lines: list[list[str]]


@dataclass(frozen=True)
class Grid:
    """A table of the page."""

    headings: list[str]
    sections: list[Section]


def by_budget(lines: pd.DataFrame, metric: str) -> Grid:
    """A line a mechanism, a column a claimed budget, then the levels: text of the model's decoder, the first classifier."""
    chosen = texts(lines)
    epsilons = budgets(chosen)
    cells = []
    for curve in curves(chosen):
        found = [at(curve, epsilon) for epsilon in epsilons]
        cells.append([of(curve, "title"), *("" if line is None else str(getattr(line, metric)) for line in found)])
        if curve.false_claim.any():
            cells.append(["  its true epsilon", *("" if line is None else words(line.epsilon) for line in found)])
    for name, level in levels(lines, metric).items():
        cells.append([name, *[str(level)] * len(epsilons)])
    return Grid(["claimed epsilon", *(f"{epsilon:g}" for epsilon in epsilons)], [Section("", cells)])


def fair(lines: pd.DataFrame, classifier: str) -> Grid:
    """Everything at every budget, judged by one classifier of text (released latents by their own), model by model."""
    chosen = lines[(lines.classifier == classifier) | (lines.decoder == LATENTS)]
    quality = [name for name in QUALITY if chosen[name].notna().any()]
    even = bool(chosen.break_even.any())
    found = _sections(chosen, lambda line: _fair_line(line, quality, even=even))
    headings = [*FAIR, *["break-even"] * even, *(QUALITY[name] for name in quality)]
    last = [MAJORITY, ABSENT, "0", majority(chosen).spread]
    found[0].lines.append([*last, *[ABSENT] * (len(headings) - len(last))])
    return Grid(headings, found)


def _fair_line(line: Any, quality: list[str], *, even: bool) -> list[str]:
    return [
        *_budget_cells(line),
        *(getattr(line, metric).spread for metric in METRICS),
        ABSENT if line.above_random is None else line.above_random.spread,
        *[line.break_even or ABSENT] * even,
        *(_quality_cell(line, name) for name in quality),
    ]


def repeats(lines: pd.DataFrame) -> Grid:
    """How often each mechanism's texts repeat others word for word; no sections where nobody counted."""
    counted = lines[lines.verbatim_own.notna() & (lines.classifier == classifiers(lines)[0])]

    def line_of(line: Any) -> list[str]:
        title, claimed, _ = _budget_cells(line)
        return [title, claimed, *(f"{getattr(line, name):.2%}" for name in REPEATS)]

    return Grid(["text by", "claimed eps", *REPEATS.values()], _sections(counted, line_of))


def _sections(lines: pd.DataFrame, line_of: Any) -> list[Section]:
    """A section for each model, what has none first; in it decoder by decoder."""
    order = ["", *READERS]
    ranked = lines.assign(rank=[order.index(decoder) for decoder in lines.decoder])
    return [
        Section(_section_title(*model), [line_of(line) for line in _ranked(group).itertuples()])
        for model, group in ranked.groupby(["clip", "content"], sort=False)
    ]


def _ranked(group: pd.DataFrame) -> pd.DataFrame:
    return group.sort_values("rank", kind="stable") if of(group, "clip") else group


def _section_title(clip: str, content: str) -> str:
    if not clip:
        return "Without a model"
    light = " (light supervision: the rewriter saw public labels)" if content in LIGHT_SUPERVISION else ""
    return f"Model with {clip} clip{f', topics: {content}' if content else ''}{light}"


def _budget_cells(line: Any) -> list[str]:
    claimed = ABSENT if math.isnan(line.claimed_epsilon) else f"{line.claimed_epsilon:g}"
    return [line.title, claimed, words(line.epsilon) if line.epsilon else "0"]


def _quality_cell(line: Any, name: str) -> str:
    """A figure of a text's quality, with the same for another record's rewrite in brackets where there is such."""
    other = getattr(line, OTHERS[name]) if name in OTHERS else math.nan
    return _mean_cell(getattr(line, name)) + ("" if math.isnan(other) else f" ({_mean_cell(other)})")


def _mean_cell(value: float) -> str:
    if math.isnan(value):
        return ABSENT
    return f"{value:.0f}" if value >= 100 else f"{value:#.3g}"
