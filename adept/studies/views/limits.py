"""The limits as a table and a figure: what no mechanism can exceed, over the true budget."""

from collections.abc import Sequence
from typing import Any

from adept.plotting import Table, colours, columns, drawing, log_axis
from adept.studies.limits import DELTA, LimitRow

TITLES = {
    "capacity": "bits per record",
    "label": "label, {}",
    "reconstruction": "record, {}",
    "advantage": "advantage, {}",
}


def tables(rows: Sequence[LimitRow]) -> list[Table]:
    """One table: a line a bound, a column a true budget."""
    epsilons = list(dict.fromkeys(row.epsilon for row in rows))
    lines = []
    for limit, setting in dict.fromkeys((row.limit, row.setting) for row in rows):
        chosen = [row for row in rows if (row.limit, row.setting) == (limit, setting)]
        values = (f"{row.value:.3f}" if row.unit == "probability" else f"{row.value:.3g}" for row in chosen)
        lines.append([TITLES[limit].format(setting), *values])
    return [("What no mechanism can exceed", ["true epsilon", *(f"{epsilon:g}" for epsilon in epsilons)], lines)]


def draw(rows: Sequence[LimitRow]) -> str:
    """Draw the bounds over the true budget: capacity, best guess of a label, and naming or telling apart records."""
    panels = (
        ("most information per record, bits", ("capacity",)),
        ("best guess of a label from one release", ("label",)),
        ("naming the record among candidates", ("reconstruction", "advantage")),
    )
    with drawing(1, len(panels), size=(13, 4.4)) as opened:
        for axis, (title, limits) in zip(opened.axes[0], panels, strict=True):
            _draw_limit(axis, [row for row in rows if row.limit in limits])
            axis.set_title(title, fontsize=10)
    return opened.svg


def _draw_limit(axis: Any, rows: list[LimitRow]) -> None:
    settings = list(dict.fromkeys((row.limit, row.setting) for row in rows if row.setting != f"delta {DELTA:g}"))
    for colour, (limit, setting) in zip(colours(len(settings)), settings, strict=True):
        curve = [row for row in rows if (row.limit, row.setting) == (limit, setting)]
        points = sorted((row.epsilon, row.value) for row in curve)
        name, style = ("advantage, 1 of 2", "--") if limit == "advantage" else (setting, "-")
        axis.plot(*columns(points), color=colour, label=name, ls=style, marker="o", ms=3)
        if limit == "label":
            axis.axhline(curve[0].without_release, color=colour, ls=":", lw=1, label=f"{setting}, without a release")
    log_axis(axis, sorted({row.epsilon for row in rows}), "true epsilon")
    if rows[0].unit == "bits":
        axis.set_yscale("log")
    else:
        axis.set_ylim(0, 1.03)
        axis.legend(frameon=False, fontsize=9, loc="center right" if rows[0].limit == "label" else "lower right")
