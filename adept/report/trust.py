"""What trust buys, in one panel: accuracy over epsilon, each kind of trust a curve, all for replacing one record.

Thick curves keep labels private; thin ones copy them. A band is the range of the seeds. A curve leaves the panel where its budgets
do: shuffling makes small budgets smaller.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import mean
from typing import Any

from matplotlib.lines import Line2D

from adept.comparison.config import CENTRAL, LOCAL
from adept.comparison.trust import COPIED, PRIVATE, REFERENCE, SHUFFLED, TrustComparison, TrustRow
from adept.mechanisms.guarantee import words
from adept.plotting import COLOURS, INK, drawing, log_axis
from adept.report import page
from adept.report.headline import End, name_ends
from adept.report.sections import Grid, Section

FIGURE = "trust.svg"
SIZE = (7.6, 4.6)
ORDER = (CENTRAL, SHUFFLED, LOCAL)
SHUFFLED_COLOUR, GREY = "#7d5ba6", "#777"
ORIGINAL = "original"
NAMES = {CENTRAL: "central", SHUFFLED: "shuffled", LOCAL: "local"}
LEVELS = {"none": "the text itself", "random": "random"}
WIDTHS = {PRIVATE: 2.2, COPIED: 0.9}  # of curves, by what becomes of labels
MARGIN = 2**0.15  # of the axis, beyond the least and the largest budget
NAMED, ASIDE = 0.1, 2**-0.12  # the least height at which a curve rises, and how far from it its name stands


@dataclass(frozen=True)
class Point:
    """The rows of one release over all seeds."""

    epsilon: float
    claimed: float
    accuracy: float
    least: float
    most: float


@dataclass(frozen=True)
class Curve:
    """The points of one kind of trust, one mechanism and one treatment of labels, by epsilon, ascending."""

    trust: str
    mechanism: str
    labels: str
    points: list[Point]

    @property
    def colour(self) -> str:
        return SHUFFLED_COLOUR if self.trust == SHUFFLED else COLOURS[self.mechanism]


def write(comparison: TrustComparison) -> page.Report:
    """Write ``figures/trust.svg``, and the page of each comparison that it is made of into that one's directory."""
    rows, results = comparison.collect()
    for found in results:
        page.write(found)
    path = comparison.directory / "figures" / FIGURE
    path.parent.mkdir(exist_ok=True)
    path.write_text(draw(rows, comparison.config.epsilons), "utf-8")
    return page.Report(path, [grid(rows)], [], [])


def curves(rows: Sequence[TrustRow]) -> list[Curve]:
    """Return all curves: central, shuffled, local, those whose labels are private first."""
    keys = dict.fromkeys((row.trust, row.mechanism, row.labels) for row in rows if row.trust != REFERENCE)
    found = [
        Curve(*key, _points([row for row in rows if (row.trust, row.mechanism, row.labels) == key])) for key in keys
    ]
    return sorted(found, key=lambda curve: (curve.labels != PRIVATE, ORDER.index(curve.trust)))


def _points(rows: list[TrustRow]) -> list[Point]:
    groups: dict[float, list[TrustRow]] = {}
    for row in rows:
        groups.setdefault(row.claimed_epsilon or 0.0, []).append(row)
    return sorted((_point(claimed, own) for claimed, own in groups.items()), key=lambda point: point.epsilon)


def _point(claimed: float, rows: list[TrustRow]) -> Point:
    found = [row.accuracy for row in rows]
    return Point(max(row.epsilon or 0.0 for row in rows), claimed, mean(found), min(found), max(found))


def levels(rows: Sequence[TrustRow]) -> Iterator[tuple[str, float]]:
    """Yield the accuracy of the text itself, and the highest that any decoder has of random latents."""
    for name, title in LEVELS.items():
        groups: dict[tuple[str, str], list[float]] = {}
        for row in rows:
            if row.mechanism == name:
                groups.setdefault((row.trust, row.labels), []).append(row.accuracy)
        yield title, max(map(mean, groups.values()))


def draw(rows: Sequence[TrustRow], epsilons: Sequence[float]) -> str:
    """Return the panel as an SVG file, over the range of the budgets that were asked for."""
    found = curves(rows)
    with drawing(1, 1, size=SIZE) as opened:
        axis = opened.axes[0][0]
        for curve in found:
            _draw_curve(axis, curve)
        ends = []
        for curve in found:
            if curve.labels == PRIVATE:
                ends += _named(axis, curve, _name(curve, found), epsilons)
        for name, height in levels(rows):
            axis.axhline(height, color=INK if name != "random" else GREY, lw=1.1, ls=":", zorder=1)
            ends.append((height, name, INK if name != "random" else GREY))
        log_axis(axis, _ticks(epsilons), _label(rows))
        axis.set_xlim(min(epsilons) / MARGIN, max(epsilons) * MARGIN)
        axis.set_ylim(0, 1)
        axis.set_ylabel("accuracy of a classifier trained on the release")
        name_ends(axis, ends)
        keys = [Line2D([], [], color=INK, lw=width, label=f"labels {name}") for name, width in WIDTHS.items()]
        opened.figure.legend(handles=keys, loc="outside lower center", ncols=len(keys), frameon=False)
    return opened.svg


def _draw_curve(axis: Any, curve: Curve) -> None:
    x = [point.epsilon for point in curve.points]
    thick = curve.labels == PRIVATE
    style: dict[str, Any] = {"color": curve.colour, "lw": WIDTHS[curve.labels], "zorder": 3 if thick else 2}
    style["ls"] = "--" if curve.mechanism == ORIGINAL else "-"
    axis.plot(x, [point.accuracy for point in curve.points], marker="o" if thick else "", ms=3.8, **style)
    if thick:
        low, high = [point.least for point in curve.points], [point.most for point in curve.points]
        axis.fill_between(x, low, high, color=curve.colour, alpha=0.15, lw=0)


def _named(axis: Any, curve: Curve, name: str, epsilons: Sequence[float]) -> list[End]:
    """Write a curve's name to the left of where it rises; one that does not rise in the panel is to be named at its end."""
    inside = [point for point in curve.points if min(epsilons) <= point.epsilon <= max(epsilons) * MARGIN]
    height = max(point.accuracy for point in inside) / 2
    for before, after in pairwise(inside):
        if before.accuracy < height <= after.accuracy and height > NAMED:
            share = (height - before.accuracy) / (after.accuracy - before.accuracy)
            x = before.epsilon * (after.epsilon / before.epsilon) ** share
            axis.text(x * ASIDE, height, name, color=curve.colour, ha="right", va="center", fontsize=11)
            return []
    return [(inside[-1].accuracy, name, curve.colour)]


def _name(curve: Curve, found: Sequence[Curve]) -> str:
    if curve.mechanism == ORIGINAL:
        return "original ADePT"
    several = (
        sum(other.trust == curve.trust and other.labels == PRIVATE and other.mechanism != ORIGINAL for other in found)
        > 1
    )
    return NAMES[curve.trust] + (f", {curve.mechanism}" if several else "")


def _ticks(epsilons: Sequence[float]) -> list[float]:
    """Powers of two within the budgets."""
    return [
        2.0**power for power in range(math.ceil(math.log2(min(epsilons))), math.floor(math.log2(max(epsilons))) + 1)
    ]


def _label(rows: Sequence[TrustRow]) -> str:
    deltas = {row.delta for row in rows if row.trust == SHUFFLED and row.labels == PRIVATE and row.delta}
    delta = f"; shuffled: delta {words(max(deltas))}" if deltas else ""
    return f"true epsilon for replacing one record, n public{delta}"


def grid(rows: Sequence[TrustRow]) -> Grid:
    """Return all curves as a table: a column an epsilon; what is shuffled stands below the local epsilon, with the central one."""
    found = curves(rows)
    asked = [words(point.epsilon) for point in next(curve for curve in found if curve.trust == CENTRAL).points]
    lines = [[_name(curve, found), curve.labels, *(_cell(curve, point) for point in curve.points)] for curve in found]
    lines += [[name, "", *[f"{height:.3f}"] * len(asked)] for name, height in levels(rows)]
    return Grid("accuracy", ["true epsilon", "labels", *asked], [Section("", lines)])


def _cell(curve: Curve, point: Point) -> str:
    return f"{point.accuracy:.3f}" + (f" at {point.epsilon:.3g}" if curve.trust == SHUFFLED else "")
