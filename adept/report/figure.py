"""The two figures of a report, as SVG files: everything that was measured, and one panel for a reader in a hurry.

The main figure has a panel for each thing that is measured, over the claimed or the true epsilon. A new panel is an entry of
``PANELS``: its title, the columns that it needs (it is drawn where a comparison has them), and a function that draws it on
an axis.

The headline has at most five lines, each with its name at its end: accuracy over the true epsilon of the text itself, of
what the decoder writes of random latents, and between them of the two best mechanisms whose claims hold, and the worst,
which shows what there was to gain.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import mean
from typing import Any

from matplotlib.lines import Line2D

from adept.comparison.config import REFERENCES
from adept.comparison.plan import LOOKUP
from adept.mechanisms import BY_NAME
from adept.mechanisms.guarantee import words
from adept.plotting import COLOURS, INK, drawing, legend, log_axis
from adept.report.table import KEPT_MEASURES, MAJORITY, METRICS, ComparisonTable, Curve, Line
from adept.studies.limits import capacity

LOOKUP_COLOUR = "#a08c00"
BAR_SHIFT = 1.02  # factor between neighbouring curves, so that their bars do not hide each other
PANEL_SIZE = (5.5, 5.2)
KEPT_DASHES = {"slots": "-", "words": "--", "exact": ":"}
GREY = "#888"
HEADLINE_SIZE, HEADLINE_GREY = (7.0, 4.2), "#777"
BEST_CURVES = 2  # of mechanisms in the headline, beside the worst
NAME_GAP = 0.055  # least distance of two names, of the axis's height
NAME_MARGIN = 0.12  # of the axis, above and below what is drawn
MAX_TICKS = 10  # of an axis of powers of two


NamedEnd = tuple[float, str, str]  # height, name, colour


@dataclass(frozen=True)
class Look:
    """The look of a curve or a level."""

    label: str
    colour: str
    dash: Any = "-"  # as matplotlib writes it
    width: float = 1.5
    marker: str = ""


def draw(table: ComparisonTable) -> str:
    """Return the main figure as an SVG file, with its legend."""
    accuracy, macro_f1 = METRICS
    kept = all(_is_measured(table, name) for name in ("words", "exact"))
    (width, height), count = PANEL_SIZE, 3 if kept else 2
    with drawing(1, count, size=(width * count, height)) as opened:
        first, *middle, last = opened.axes[0]
        draw_metric(first, table, accuracy)
        for axis in middle:
            draw_kept(axis, table)
        draw_metric(last, table, macro_f1)
        longest = max(len(label) for label in first.get_legend_handles_labels()[1])
        columns = int(72 * width * count / (6 * longest + 24))
        legend(opened.figure, *opened.axes[0], columns=min(3, max(1, columns)))
    return opened.svg


def _is_measured(table: ComparisonTable, name: str) -> bool:
    return any(line.measures[name] is not None for line in table.lines)


def draw_metric(axis: Any, table: ComparisonTable, metric: str) -> None:
    """Draw how well a classifier does, over the claimed epsilon, with the levels to read it against."""
    for place, curve in enumerate(table.curves):
        _draw_curve(axis, curve, metric, factor=BAR_SHIFT ** (place - (len(table.curves) - 1) / 2))
    _draw_levels(axis, table, metric)
    thick = any(curve.false_claim for curve in table.curves)
    log_axis(axis, table.budgets, f"claimed epsilon{' (false for the thick dashes)' if thick else ''}")
    axis.set_ylabel(METRICS[metric])
    _draw_true_axis(axis, table)


def draw_kept(axis: Any, table: ComparisonTable) -> None:
    """Draw how much of a record stands in its rewrite over the *true* epsilon, and above it how many bits that may tell at most.

    A curve looks as in the other panels but for its dashes, which say what is kept; slots are drawn where the data have them, and
    curves of no finite epsilon nowhere. Grey lines are what ``random`` keeps, which sees no record.
    """
    dashes = {name: dash for name, dash in KEPT_DASHES.items() if _is_measured(table, name)}
    finite = [[line for line in curve.at.values() if math.isfinite(line.epsilon)] for curve in table.curves]
    for curve, lines in zip(table.curves, finite, strict=True):
        look = _text_look(curve)
        for name, dash in dashes.items() if lines else ():
            style = {"color": look.colour, "ls": dash, "lw": 1.4, "marker": look.marker, "ms": 4}
            axis.plot([line.epsilon for line in lines], [_share(line, name) for line in lines], **style)
    for line in table.texts:
        for name, dash in dashes.items() if line.mechanism == "random" else ():
            axis.axhline(_share(line, name), color=GREY, ls=dash, lw=0.8, zorder=1)
    log_axis(axis, _powers([line.epsilon for lines in finite for line in lines]), "true epsilon")
    axis.set_ylabel("share kept in the rewrite")
    axis.set_ylim(0, 1.02)
    _draw_bits_axis(axis)
    keys = [Line2D([], [], color=INK, ls=dash, lw=1.4, label=KEPT_MEASURES[name]) for name, dash in dashes.items()]
    keys.append(Line2D([], [], color=GREY, lw=0.8, label="random"))
    axis.legend(handles=keys, loc="upper left", frameon=False, handlelength=3)


def _share(line: Line, name: str) -> float:
    found = line.measures[name]
    return math.nan if found is None else found


def _powers(epsilons: Iterable[float]) -> list[float]:
    """Powers of two that enclose the budgets, few enough to be read."""
    exponents = [math.log2(epsilon) for epsilon in epsilons]
    low, high = math.floor(min(exponents)), math.ceil(max(exponents))
    return [2.0**power for power in range(low, high + 1, 1 + (high - low) // MAX_TICKS)]


def _draw_bits_axis(axis: Any) -> None:
    """Draw, above, the bits that a release with this epsilon tells at most (``adept.studies.limits.capacity``)."""
    ticks = list(axis.get_xticks())
    above = axis.secondary_xaxis("top")
    above.set_xticks(ticks, [f"{capacity(epsilon=tick):.3g}" for tick in ticks])
    above.set_xticks([], minor=True)
    above.set_xlabel("capacity of eps-LDP, bits a record")


def _text_look(curve: Curve) -> Look:
    if curve.mechanism == LOOKUP:
        return Look("look-up of public text", LOOKUP_COLOUR, "-.", marker="s")
    dash, width = ("--", 2.2) if curve.false_claim else ("-", 1.6)
    return Look(curve.title, COLOURS[curve.mechanism], dash, width, "o")


def _draw_curve(axis: Any, curve: Curve, metric: str, *, factor: float) -> None:
    look, found = _text_look(curve), [getattr(line, metric) for line in curve.at.values()]
    style: dict[str, Any] = {"color": look.colour, "ls": look.dash, "lw": look.width, "label": look.label}
    style |= {"marker": look.marker, "ms": 4, "capsize": 2, "elinewidth": 0.8}
    errors = [[point.mean - point.low for point in found], [point.high - point.mean for point in found]]
    drawn = axis.errorbar([epsilon * factor for epsilon in curve.at], [point.mean for point in found], errors, **style)
    for part in (*drawn.lines[1], *drawn.lines[2]):  # few seeds make long bars, which must not hide the curves
        part.set_alpha(0.45)


def _draw_levels(axis: Any, table: ComparisonTable, metric: str) -> None:
    """One look a kind: the references of several models share it, and a band between them."""
    found = table.levels[metric]
    several = sum(name.startswith("random") for name in found) > 1
    for name, look in _level_looks(several=several).items():
        heights = [level.mean for level_name, level in found.items() if level_name.split(" (")[0] == name]
        for height, label in zip(heights, [look.label, *[None] * len(heights)], strict=False):
            axis.axhline(height, color=look.colour, ls=look.dash, lw=look.width, label=label, zorder=1)
        if name in REFERENCES and len(heights) > 1:
            axis.axhspan(min(heights), max(heights), color=look.colour, alpha=0.1, lw=0, zorder=0)


def _level_looks(*, several: bool) -> dict[str, Look]:
    each = " (of each model)" if several else ""
    return {
        "none": Look("none", INK, width=1.2),
        "redaction": Look("redaction (no guarantee)", INK, (0, (6, 2, 1, 2)), 1.0),
        "public_only": Look("public_only", INK, ":", 1.2),
        "identity": Look(f"identity{each}", GREY, width=1.2),
        "random": Look(f"random{each}", GREY, ":", 1.6),
        MAJORITY: Look(MAJORITY, "#bbb", "-.", 1.2),
    }


def _draw_true_axis(axis: Any, table: ComparisonTable) -> None:
    """Draw, above, the budget that the original really spends."""
    broken = next((curve for curve in table.curves if curve.mechanism == "original"), None)
    if broken is None:
        return
    above = axis.secondary_xaxis("top")
    above.set_xticks(list(broken.at), [words(line.epsilon) for line in broken.at.values()])
    above.set_xticks([], minor=True)
    above.set_xlabel("true epsilon of the original", color=COLOURS["original"])


def draw_headline(table: ComparisonTable) -> str:
    """Return the headline's panel as an SVG file."""
    shown = choose_curves(table.curves)
    budgets = sorted({line.epsilon for curve in shown for line in curve.at.values()}) or table.budgets
    with drawing(1, 1, size=HEADLINE_SIZE) as opened:
        axis = opened.axes[0][0]
        ends = [_draw_named_curve(axis, curve) for curve in shown] + [
            _draw_named_level(axis, name, height) for name, height in _headline_levels(table)
        ]
        log_axis(axis, budgets, "true epsilon of a record")
        axis.set_ylabel("accuracy of a classifier trained on rewrites")
        low, high = min(axis.get_ylim()[0], *(e[0] for e in ends)), max(axis.get_ylim()[1], *(e[0] for e in ends))
        axis.set_ylim(low - NAME_MARGIN * (high - low) / 2, high + NAME_MARGIN * (high - low) / 2)
        name_ends(axis, ends)
    return opened.svg


def choose_curves(curves: Sequence[Curve]) -> list[Curve]:
    """Return the best curves of mechanisms whose claims hold, and the worst."""
    sound = [curve for curve in curves if not curve.false_claim and curve.mechanism in BY_NAME]
    sound.sort(key=lambda curve: -mean(line.accuracy.mean for line in curve.at.values()))
    return sound if len(sound) <= BEST_CURVES else [*sound[:BEST_CURVES], sound[-1]]


def _headline_levels(table: ComparisonTable) -> list[tuple[str, float]]:
    """Return the accuracy of the text itself, and that of text of random latents, the mean of all models."""
    found = {
        name: [line.accuracy.mean for line in table.texts if line.mechanism == name] for name in ("none", "random")
    }
    return [("the text itself", mean(found["none"])), *([("random", mean(found["random"]))] if found["random"] else [])]


def _draw_named_curve(axis: Any, curve: Curve) -> NamedEnd:
    points = sorted((line.epsilon, line.accuracy.mean) for line in curve.at.values())
    colour = COLOURS[curve.mechanism]
    axis.plot(*zip(*points, strict=True), color=colour, lw=2, marker="o", ms=5)
    return points[-1][1], curve.mechanism, colour


def _draw_named_level(axis: Any, name: str, height: float) -> NamedEnd:
    colour = INK if name != "random" else HEADLINE_GREY
    axis.axhline(height, color=colour, lw=1.2, ls="-" if name != "random" else ":", zorder=1)
    return height, name, colour


def name_ends(axis: Any, ends: Sequence[NamedEnd]) -> None:
    """Write each line's name to the right of its end, from below upwards, none over another."""
    low, high = axis.get_ylim()
    place = -1.0
    for height, name, colour in sorted(ends):
        place = max(place + NAME_GAP, (height - low) / (high - low))
        axis.text(1.02, place, name, color=colour, transform=axis.transAxes, va="center", fontsize=11)
