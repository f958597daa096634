"""One panel for a reader in a hurry: at most five lines, each with its name at its end.

Accuracy over the true epsilon: the text itself and what the decoder writes of random latents, and between them the two best
mechanisms whose claims hold, and the worst, which shows what there was to gain.
"""

from collections.abc import Sequence
from statistics import mean
from typing import Any

from adept.mechanisms import BY_NAME
from adept.plotting import COLOURS, INK, drawing, log_axis
from adept.report.table import Curve, Table

SIZE = (7.0, 4.2)
BEST, GAP = 2, 0.055  # curves; least distance of two names, of the axis's height
MARGIN = 0.12  # of the axis, above and below what is drawn

End = tuple[float, str, str]  # height, name, colour


def draw(table: Table) -> str:
    """Return the panel as an SVG file."""
    shown = chosen(table.curves)
    budgets = sorted({line.epsilon for curve in shown for line in curve.at.values()}) or table.budgets
    with drawing(1, 1, size=SIZE) as opened:
        axis = opened.axes[0][0]
        ends = [_draw_curve(axis, curve) for curve in shown] + [
            _draw_level(axis, name, height) for name, height in levels(table)
        ]
        log_axis(axis, budgets, "true epsilon of a record")
        axis.set_ylabel("accuracy of a classifier trained on rewrites")
        low, high = min(axis.get_ylim()[0], *(e[0] for e in ends)), max(axis.get_ylim()[1], *(e[0] for e in ends))
        axis.set_ylim(low - MARGIN * (high - low) / 2, high + MARGIN * (high - low) / 2)
        name_ends(axis, ends)
    return opened.svg


def chosen(curves: Sequence[Curve]) -> list[Curve]:
    """Return the best curves of mechanisms whose claims hold, and the worst."""
    sound = [curve for curve in curves if not curve.false_claim and curve.mechanism in BY_NAME]
    sound.sort(key=lambda curve: -mean(line.accuracy.mean for line in curve.at.values()))
    return sound if len(sound) <= BEST else [*sound[:BEST], sound[-1]]


def levels(table: Table) -> list[tuple[str, float]]:
    """Return the accuracy of the text itself, and that of text of random latents, the mean of all models."""
    found = {
        name: [line.accuracy.mean for line in table.texts if line.mechanism == name] for name in ("none", "random")
    }
    return [("the text itself", mean(found["none"])), *([("random", mean(found["random"]))] if found["random"] else [])]


def _draw_curve(axis: Any, curve: Curve) -> End:
    points = sorted((line.epsilon, line.accuracy.mean) for line in curve.at.values())
    colour = COLOURS[curve.mechanism]
    axis.plot(*zip(*points, strict=True), color=colour, lw=2, marker="o", ms=5)
    return points[-1][1], curve.mechanism, colour


def _draw_level(axis: Any, name: str, height: float) -> End:
    colour = INK if name != "random" else "#777"
    axis.axhline(height, color=colour, lw=1.2, ls="-" if name != "random" else ":", zorder=1)
    return height, name, colour


def name_ends(axis: Any, ends: Sequence[End]) -> None:
    """Write each line's name to the right of its end, from below upwards, none over another."""
    low, high = axis.get_ylim()
    place = -1.0
    for height, name, colour in sorted(ends):
        place = max(place + GAP, (height - low) / (high - low))
        axis.text(1.02, place, name, color=colour, transform=axis.transAxes, va="center", fontsize=11)
