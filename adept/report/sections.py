"""The tables of a comparison's page, as headings and lines of text: every cell is said here, how it looks is the template's.

A table is headings and sections; a section is the lines of one model. What a new column means is said in
``templates/notes.html.jinja``.
"""

from dataclasses import dataclass

from adept.comparison.results import LATENTS
from adept.mechanisms.guarantee import words
from adept.report.table import MAJORITY, METRICS, OTHERS, QUALITY, READERS, REPEATS, Line, Table

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

    title: str
    headings: list[str]
    sections: list[Section]


@dataclass(frozen=True)
class Grids:
    """The tables of numbers.

    Attributes:
        by_budget: one for each metric: text of the model's decoder, the first classifier.
        fair: one for each classifier: everything at every budget, model by model.
        repeats: how often texts repeat others word for word; no sections where nobody counted.
    """

    by_budget: list[Grid]
    fair: list[Grid]
    repeats: Grid


def grids(table: Table) -> Grids:
    """Return the tables of a comparison."""
    by_budget = [_by_budget(table, metric) for metric in METRICS]
    return Grids(by_budget, [_fair(table, classifier) for classifier in table.classifiers], _repeats(table))


def _by_budget(table: Table, metric: str) -> Grid:
    """A line a mechanism, a column a claimed budget, then the levels."""
    cells = []
    for curve in table.curves:
        found = [curve.at.get(epsilon) for epsilon in table.budgets]
        cells.append([curve.title, *("" if line is None else str(getattr(line, metric)) for line in found)])
        if curve.false_claim:
            cells.append(["  its true epsilon", *("" if line is None else words(line.epsilon) for line in found)])
    for name, level in table.levels[metric].items():
        cells.append([name, *[str(level)] * len(table.budgets)])
    headings = ["claimed epsilon", *(f"{epsilon:g}" for epsilon in table.budgets)]
    return Grid(METRICS[metric], headings, [Section("", cells)])


def _fair(table: Table, classifier: str) -> Grid:
    """Everything at every budget, judged by one classifier of text (released latents by their own)."""
    chosen = [line for line in table.lines if line.classifier == classifier or line.decoder == LATENTS]
    quality = [name for name in QUALITY if any(line.measures[name] is not None for line in chosen)]
    even = any(line.break_even for line in chosen)
    found = _sections([(line, _fair_line(line, quality, even=even)) for line in chosen])
    headings = [*FAIR, *["break-even"] * even, *(QUALITY[name] for name in quality)]
    last = [MAJORITY, ABSENT, "0", table.majority.spread]
    found[0].lines.append([*last, *[ABSENT] * (len(headings) - len(last))])
    return Grid(classifier, headings, found)


def _fair_line(line: Line, quality: list[str], *, even: bool) -> list[str]:
    return [
        *_budget_cells(line),
        *(getattr(line, metric).spread for metric in METRICS),
        ABSENT if line.above_random is None else line.above_random.spread,
        *[line.break_even or ABSENT] * even,
        *(_quality_cell(line, name) for name in quality),
    ]


def _repeats(table: Table) -> Grid:
    counted = [
        (line, [*_budget_cells(line)[:2], *(f"{line.measures[name] or 0:.2%}" for name in REPEATS)])
        for line in table.lines
        if line.measures["verbatim_own"] is not None and line.classifier == table.classifiers[0]
    ]
    return Grid("", ["text by", "claimed eps", *REPEATS.values()], _sections(counted))


def _sections(lines: list[tuple[Line, list[str]]]) -> list[Section]:
    """A section for each model, what has none first; of a model decoder by decoder."""
    order = list(READERS)
    models: dict[tuple[str, str], list[tuple[Line, list[str]]]] = {}
    for line, cells in lines:
        models.setdefault((line.clip, line.content), []).append((line, cells))
    for (clip, _), own in models.items():
        if clip:
            own.sort(key=lambda found: order.index(found[0].decoder))
    return [Section(_section_title(*model), [cells for _, cells in own]) for model, own in models.items()]


def _section_title(clip: str, content: str) -> str:
    if not clip:
        return "Without a model"
    return f"Model with {clip} clip{f', latents are {content}' if content not in ('', 'none') else ''}"


def _budget_cells(line: Line) -> list[str]:
    claimed = ABSENT if line.claimed_epsilon is None else f"{line.claimed_epsilon:g}"
    return [line.title, claimed, words(line.epsilon) if line.epsilon else "0"]


def _quality_cell(line: Line, name: str) -> str:
    """A figure of a text's quality, with the same for another record's rewrite in brackets where there is such."""
    other = line.measures[OTHERS[name]] if name in OTHERS else None
    return _mean_cell(line.measures[name]) + ("" if other is None else f" ({_mean_cell(other)})")


def _mean_cell(value: float | None) -> str:
    if value is None:
        return ABSENT
    return f"{value:.0f}" if value >= 100 else f"{value:#.3g}"
