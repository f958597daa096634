"""The two figures of a report: one of all results, and a simpler one of few mechanisms."""

import math
from collections.abc import Iterable, Sequence
from statistics import mean
from typing import Any

from matplotlib import rcParams
from matplotlib.lines import Line2D
from scipy.optimize import isotonic_regression

from adept.comparison.config import NO_RECORDS, is_foreign
from adept.mechanisms import BY_NAME
from adept.mechanisms.guarantee import words
from adept.plotting import COLOURS, INK, NAMES, Figure, colour_of, drawing, group_rows, legend, log_axis
from adept.report.table import MAJORITY, METRICS, ComparisonTable, Curve, Line

NamedEnd = tuple[float, str, str]  # height, name, colour
Style = dict[str, Any]  # of a line, as matplotlib takes it

KEPT_DASHES = {"slots": "-", "words": "--", "exact": ":"}
GREY = "#888"
LEVEL_STYLES: dict[str, Style] = {
    "none": {"color": INK, "lw": 1.2},
    "redaction": {"color": INK, "ls": (0, (6, 2, 1, 2)), "lw": 1.0},
    "public_only": {"color": INK, "ls": ":", "lw": 1.2},
    "identity": {"color": GREY, "lw": 1.2},
    "random": {"color": GREY, "ls": ":", "lw": 1.6},
    "names": {"color": "#b0653a", "ls": ":", "lw": 1.4},
    "names_directly": {"color": "#b0653a", "ls": (0, (1, 4)), "lw": 1.4},
    "examples": {"color": "#5f7d4e", "ls": ":", "lw": 1.4},
    MAJORITY: {"color": "#bbb", "ls": "-.", "lw": 1.2},
}
HEADLINE_LEVELS = {
    "none": ("the text itself", INK, "-"),
    "random": ("random", "#777", ":"),
    "names": ("names alone", "#b0653a", ":"),
    "examples": ("examples alone", "#5f7d4e", ":"),
}


def draw(table: ComparisonTable) -> Figure:
    accuracy, macro_f1 = METRICS
    (width, height), count = (5.5, 5.2), 3 if _is_measured(table, "words") else 2
    with drawing(1, count, size=(width * count, height)) as opened:
        first, *middle, last = opened.axes[0]
        draw_metric(first, table, accuracy)
        for axis in middle:
            draw_kept(axis, table)
        draw_metric(last, table, macro_f1)
        legend(opened.figure, *opened.axes[0], columns=3)
    return opened.svg


def _is_measured(table: ComparisonTable, name: str) -> bool:
    return any(line.measures[name] is not None for line in table.lines)


def draw_metric(axis: Any, table: ComparisonTable, metric: str) -> None:
    """Draw accuracy or macro-F1 against the claimed epsilon, and a line for each reference."""
    for place, curve in enumerate(table.curves):
        # a factor between neighbouring curves, so that their bars do not hide each other
        _draw_curve(
            axis, curve, metric, bars=_count_seeds(table) > 1, factor=1.02 ** (place - (len(table.curves) - 1) / 2)
        )
    _draw_levels(axis, table, metric)
    thick = " (false for the thick dashes)" if any(curve.false_claim for curve in table.curves) else ""
    log_axis(axis, table.budgets, f"claimed epsilon{thick}\n{_describe_bars(table)}")
    axis.set_ylabel(METRICS[metric])
    _draw_true_axis(axis, table)


def draw_kept(axis: Any, table: ComparisonTable) -> None:
    """Draw how much of a record its rewrite keeps, against the *true* epsilon."""
    dashes = {name: dash for name, dash in KEPT_DASHES.items() if _is_measured(table, name)}
    finite = [[line for line in curve.at.values() if math.isfinite(line.row.epsilon)] for curve in table.curves]
    random = [line for line in table.texts if line.row.mechanism == "random"]
    for name, dash in dashes.items():
        for curve, lines in zip(table.curves, finite, strict=True):
            style = {**_style_curve(curve), "ls": dash, "lw": 1.4, "label": None}
            if lines:
                axis.plot([line.row.epsilon for line in lines], [_share(line, name) for line in lines], **style)
        for line in random:
            axis.axhline(_share(line, name), color=GREY, ls=dash, lw=0.8, zorder=1)
    log_axis(axis, _powers([line.row.epsilon for lines in finite for line in lines]), "true epsilon")
    axis.set_ylabel("share kept in the rewrite")
    axis.set_ylim(0, 1.02)
    keys = [Line2D([], [], color=INK, ls=dash, lw=1.4, label=name) for name, dash in dashes.items()]
    keys.append(Line2D([], [], color=GREY, lw=0.8, label="random"))
    axis.legend(handles=keys, loc="upper left", frameon=False, handlelength=3)


def _share(line: Line, name: str) -> float:
    found = line.measures[name]
    return math.nan if found is None else found


def _powers(epsilons: Iterable[float]) -> list[float]:
    exponents = [math.log2(epsilon) for epsilon in epsilons]
    low, high = math.floor(min(exponents)), math.ceil(max(exponents))
    return [2.0**power for power in range(low, high + 1, 1 + (high - low) // 10)]  # about ten ticks at most


def _style_curve(curve: Curve) -> Style:
    dash, width = ("--", 2.2) if curve.false_claim else ("-", 1.6)
    return {"color": colour_of(curve.mechanism), "ls": dash, "lw": width, "marker": "o", "ms": 4, "label": curve.title}


def _draw_curve(axis: Any, curve: Curve, metric: str, *, bars: bool, factor: float = 1.0, **own: Any) -> None:
    found = [getattr(line, metric) for line in curve.at.values()]
    places, means = [epsilon * factor for epsilon in curve.at], [point.mean for point in found]
    if not bars:  # without bars, neither in the picture nor in its legend
        axis.plot(places, means, **_style_curve(curve) | own)
        return
    style = {**_style_curve(curve), "capsize": 2, "elinewidth": 0.8, **own}
    errors = [[point.mean - point.low for point in found], [point.high - point.mean for point in found]]
    drawn = axis.errorbar(places, means, errors, **style)
    for part in (*drawn.lines[1], *drawn.lines[2]):  # few seeds make long bars, which must not hide the curves
        part.set_alpha(0.45)


def _draw_levels(axis: Any, table: ComparisonTable, metric: str) -> None:
    levels_of = group_rows(table.levels[metric].items(), lambda level: level[0].split(" (")[0])
    for name, style in LEVEL_STYLES.items():
        heights = [level.mean for _, level in levels_of.get(name, [])]
        several = " (of each model)" if len(heights) > 1 else ""
        for height, label in zip(heights, [f"{NAMES.get(name, name)}{several}", *[None] * len(heights)], strict=False):
            axis.axhline(height, label=label, zorder=1, **style)
        if several:
            axis.axhspan(min(heights), max(heights), color=style["color"], alpha=0.1, lw=0, zorder=0)


def _draw_true_axis(axis: Any, table: ComparisonTable) -> None:
    for broken in (curve for curve in table.curves if curve.mechanism == "original"):
        above = axis.secondary_xaxis("top")
        above.set_xticks(list(broken.at), [words(line.row.epsilon) for line in broken.at.values()])
        above.set_xticks([], minor=True)
        above.set_xlabel("true epsilon of the original", color=COLOURS["original"])
        above.tick_params(colors=COLOURS["original"])


def _count_seeds(table: ComparisonTable) -> int:
    return max(line.accuracy.seeds for line in table.texts)


def _describe_bars(table: ComparisonTable) -> str:
    return f"{seeds} seeds, 95 % intervals" if (seeds := _count_seeds(table)) > 1 else "one seed"


def list_points(table: ComparisonTable, *, headline: bool = False) -> list[dict[str, Any]]:
    """Return the numbers that a figure shows: a row for each point of a curve, and for each level."""
    shown = choose_curves(table.curves) if headline else table.curves
    lines = [line for curve in shown for line in curve.at.values()]
    lines += [line for line in table.texts if line.row.claimed_epsilon is None]
    measured = METRICS if not headline else ("accuracy",)
    return [
        {
            "name": line.title,
            **{name: getattr(line.row, name) for name in ("mechanism", "clip", "claimed_epsilon", "epsilon")},
            **{
                f"{name}_{end}": getattr(getattr(line, name), end)
                for name in measured
                for end in ("mean", "low", "high")
            },
            **({} if headline else {name: line.measures[name] for name in KEPT_DASHES}),
            "seeds": line.accuracy.seeds,
        }
        for line in lines
    ]


def draw_headline(table: ComparisonTable) -> Figure:
    shown, levels = choose_curves(table.curves), choose_levels(table.texts)
    with drawing(1, 1, size=(7.0, 4.2)) as opened:
        axis = opened.axes[0][0]
        log_axis(axis, table.budgets, f"claimed epsilon of a record\n{_describe_bars(table)}")
        ends: list[NamedEnd] = []
        for curve in shown:
            _draw_curve(axis, curve, "accuracy", bars=_count_seeds(table) > 1, lw=2, ms=5)
            ends.append((list(curve.at.values())[-1].accuracy.mean, curve.title, colour_of(curve.mechanism)))
        for level, height in levels.items():
            name, colour, dash = HEADLINE_LEVELS[level]
            axis.axhline(height, color=colour, lw=1.2, ls=dash, zorder=1)
            ends.append((height, name, colour))
        axis.set_ylabel("accuracy of a classifier\ntrained on rewrites")
        low, high = axis.get_ylim()
        axis.set_ylim(1.06 * low - 0.06 * high, 1.06 * high - 0.06 * low)
        _draw_true_axis(axis, table)
        name_ends(axis, ends)
    return opened.svg


def choose_curves(curves: Sequence[Curve]) -> list[Curve]:
    """Return the curves of ADePT's variants, of the user's own mechanisms, and of the best others whose claims hold."""
    variants = [curve for curve in curves if curve.mechanism in ("original", "l1", "sqrt_n")]
    others = [curve for curve in curves if curve.holds and curve.mechanism in (*BY_NAME, "by_label")]
    others = [curve for curve in others if curve not in variants]
    others.sort(key=lambda curve: -mean(line.accuracy.mean for line in curve.at.values()))
    return [*variants, *(curve for curve in curves if is_foreign(curve.mechanism)), *others[: 4 - len(variants)]]


def choose_levels(texts: Sequence[Line]) -> dict[str, float]:
    """Return, by name, the accuracy of each reference, such as the original text."""
    groups = group_rows(texts, lambda line: line.row.mechanism)
    heights = {name: max(line.accuracy.mean for line in groups[name]) for name in HEADLINE_LEVELS if name in groups}
    least = heights.get("random", -math.inf)
    return {name: height for name, height in heights.items() if name not in NO_RECORDS or height > least}


def name_ends(axis: Any, ends: Sequence[NamedEnd]) -> None:
    """Write each line's name to the right of the line's end, and move overlapping names apart."""
    (low, high), size = axis.get_ylim(), rcParams["font.size"] + 1
    heights = [(height - low) / (high - low) for height, _, _ in sorted(ends)]
    gap = max(0.06, 1.3 * size / (72 * 0.6 * axis.figure.get_figheight()))  # an axis has about .6 of the inches
    steps = [place * gap for place in range(len(ends))]
    free = isotonic_regression([height - step for height, step in zip(heights, steps, strict=True)]).x
    for (_, name, colour), height, place in zip(sorted(ends), heights, free + steps, strict=True):
        axis.plot([1.005, 1.03], [height, place], color=colour, lw=0.7, transform=axis.transAxes, clip_on=False)
        axis.text(1.04, place, name, color=colour, transform=axis.transAxes, va="center", fontsize=size)
