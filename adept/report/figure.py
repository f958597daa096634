"""The main figure: accuracy and macro-F1 over the claimed epsilon, as one SVG file, or panel by panel with a legend in HTML."""

import io
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import matplotlib

from adept.comparison.results import REFERENCES, Row
from adept.mechanisms.guarantee import words
from adept.report.table import (
    COMMONEST,
    LOOKUP,
    METRICS,
    Figure,
    Source,
    budgets,
    denoised_rows,
    ends,
    false_claim,
    figure_at,
    latent_rows,
    levels,
    rows_of,
    sources,
    text_rows,
)
from adept.studies.figures import COLOURS

matplotlib.use("Agg")
import matplotlib.pyplot as plt

LOOKUP_COLOUR = "#a08c00"
LATENTS_DRAWN = 3  # more of them would hide the curves that count
APART = 1.02  # neighbouring curves are drawn this factor apart, so that their bars do not hide each other
STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "adept",
    "axes.spines.right": False,
    "axes.spines.top": False,
}
METADATA = {"Date": None, "Creator": None, "Format": None, "Type": None}


@dataclass(frozen=True)
class Line:
    """How a curve or a level looks, in the figure and in its legend."""

    label: str
    colour: str
    dash: str = "-"  # as matplotlib writes it
    width: float = 1.5
    marker: str = ""


def curve_lines(rows: list[Row]) -> dict[Source, Line]:
    """The curves: text of each mechanism, denoised text, the look-up, and thinly the released latents where they are few."""
    texts = sources(text_rows(rows))
    lines = {source: _curve_line(source, text_rows(rows)) for source in texts}
    lines |= {
        source: Line(source.name, COLOURS[source.mechanism], ":", marker="D") for source in sources(denoised_rows(rows))
    }
    latents = sources(latent_rows(rows))
    if len(latents) <= LATENTS_DRAWN:
        lines |= {source: Line(source.name, COLOURS[source.mechanism], "--", 0.8) for source in latents}
    return lines


def _curve_line(source: Source, texts: list[Row]) -> Line:
    if source.mechanism == LOOKUP:
        return Line("look-up of public text", LOOKUP_COLOUR, "-.", marker="s")
    broken = false_claim([row for row in texts if Source.of(row) == source])
    return Line(source.name, COLOURS[source.mechanism], "--" if broken else "-", 2.2 if broken else 1.6, "o")


def level_lines(rows: list[Row]) -> dict[str, Line]:
    """The levels, one line a kind: the ends of several models share a look, and a band between them."""
    several = " (of each model)" if len(ends(text_rows(rows), "random")) > 1 else ""
    looks = {
        "none": Line("none", "#222", width=1.2),
        "public_only": Line("public_only", "#222", ":", 1.2),
        "identity": Line(f"identity{several}", "#888", width=1.2),
        "random": Line(f"random{several}", "#888", ":", 1.6),
        COMMONEST: Line(COMMONEST, "#bbb", "-.", 1.2),
    }
    present = {_kind(name) for metric in METRICS for name in levels(rows, metric)}
    return {name: line for name, line in looks.items() if name in present}


def _kind(level: str) -> str:
    return level if level == COMMONEST else level.split(" ")[0]


def draw(rows: list[Row]) -> str:
    """Return the whole figure as an SVG file, with its legend."""
    with plt.rc_context({**STYLE, "font.size": 10}):
        figure, axes = plt.subplots(1, 2, figsize=(11, 5.2), layout="constrained")
        for axis, (metric, title) in zip(axes, METRICS.items(), strict=True):
            _draw_metric(axis, rows, metric, title)
        handles, labels = axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False)
        return _svg(figure)


def panels(rows: list[Row]) -> dict[str, str]:
    """Return a panel for each metric as an SVG element without a legend, narrow enough for a phone."""
    result = {}
    with plt.rc_context({**STYLE, "font.size": 12}):
        for metric, title in METRICS.items():
            figure, axis = plt.subplots(figsize=(5.4, 4.6), layout="constrained")
            _draw_metric(axis, rows, metric, title)
            result[metric] = _element(_svg(figure), metric, f"{title} over the claimed epsilon")
    return result


def _svg(figure: Any) -> str:
    stream = io.StringIO()
    figure.savefig(stream, format="svg", metadata=METADATA)
    plt.close(figure)
    return stream.getvalue()


def _element(svg: str, name: str, title: str) -> str:
    """An SVG file's element alone, with ids that no other figure of a page has, and a name for who cannot see it."""
    element = re.sub(r'( id="|url\(#|href="#)', rf"\g<1>{name}-", svg[svg.index("<svg") :])
    element = re.sub(r"<metadata>.*?</metadata>", "", element, flags=re.DOTALL)
    return element.replace("<svg", f'<svg role="img" aria-label="{title}"', 1)


def _draw_metric(axis: Any, rows: list[Row], metric: str, title: str) -> None:
    lines, drawn = curve_lines(rows), text_rows(rows) + denoised_rows(rows) + latent_rows(rows)
    for place, (source, line) in enumerate(lines.items()):
        _draw_curve(axis, drawn, metric, source, line, factor=APART ** (place - (len(lines) - 1) / 2))
    _draw_levels(axis, rows, metric)
    epsilons = budgets(drawn)
    axis.set_xscale("log", base=2)
    axis.set_xticks(epsilons, [f"{epsilon:g}" for epsilon in epsilons])
    axis.set_xticks([], minor=True)
    thick = any(line.width > 2 for line in lines.values())
    axis.set(xlabel=f"claimed epsilon{' (false for the thick dashes)' if thick else ''}", ylabel=title)
    _draw_true_axis(axis, drawn)


def _draw_curve(axis: Any, rows: list[Row], metric: str, source: Source, line: Line, *, factor: float) -> None:
    points = {epsilon: figure_at(rows, metric, source, epsilon) for epsilon in budgets(rows)}
    found: list[tuple[float, Figure]] = [(epsilon * factor, point) for epsilon, point in points.items() if point]
    style: dict[str, Any] = {"color": line.colour, "ls": line.dash, "lw": line.width, "label": line.label}
    if not line.marker:
        axis.plot([x for x, _ in found], [point.mean for _, point in found], **style)
        return
    errors = [[p.mean - p.low for _, p in found], [p.high - p.mean for _, p in found]]
    style |= {"marker": line.marker, "ms": 4, "capsize": 2, "elinewidth": 0.8}
    drawn = axis.errorbar([x for x, _ in found], [point.mean for _, point in found], errors, **style)
    for part in (*drawn.lines[1], *drawn.lines[2]):  # few seeds make long bars, which must not hide the curves
        part.set_alpha(0.45)


def _draw_levels(axis: Any, rows: list[Row], metric: str) -> None:
    found = levels(rows, metric)
    for name, line in level_lines(rows).items():
        heights = [level.mean for level_name, level in found.items() if _kind(level_name) == name]
        for height, label in zip(heights, [line.label, *[None] * len(heights)], strict=False):
            axis.axhline(height, color=line.colour, ls=line.dash, lw=line.width, label=label, zorder=1)
        if name in REFERENCES and len(heights) > 1:
            axis.axhspan(min(heights), max(heights), color=line.colour, alpha=0.1, lw=0, zorder=0)


def _draw_true_axis(axis: Any, rows: list[Row]) -> None:
    """What the original really spends, above."""
    broken: Sequence[Source] = [source for source in sources(rows) if source.mechanism == "original"]
    if not broken:
        return
    true = {epsilon: rows_of(rows, broken[0], epsilon) for epsilon in budgets(rows)}
    ticks = {epsilon: words(found[0].epsilon) for epsilon, found in true.items() if found}
    above = axis.secondary_xaxis("top")
    above.set_xticks(list(ticks), ticks.values())
    above.set_xticks([], minor=True)
    above.set_xlabel("true epsilon of the original", color=COLOURS["original"])
    above.tick_params(colors=COLOURS["original"])
