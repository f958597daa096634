"""The sanity check as tables and a figure: the vote's loss, and the loss of any event, over the claimed budget."""

import math
from collections.abc import Sequence
from typing import Any

from matplotlib.lines import Line2D

from adept.plotting import INK, Table, colours, columns, drawing, number
from adept.studies.sanity_check import SanityRow

TITLES = {
    "laplace": "correct Laplace",
    "adept": "ADePT",
    "dptext_redraw": "DPText, NaN redrawn",
    "dptext_zero": "DPText, NaN as 0",
    "copy": "plain copy",
    "random": "random",
}
FLOOR, CEILING = 1e-2, 2e3  # losses beyond them are drawn at the edge
LOSS_TICKS = {FLOOR: "< 0.01", 0.1: "0.1", 1: "1", 10: "10", 100: "100", CEILING: "infinite"}


def tables(rows: Sequence[SanityRow]) -> list[Table]:
    """A table for the published budget, or for each budget where that one was not run."""
    known = [row for row in rows if row.published is not None] or rows
    return [
        _table([row for row in known if row.epsilon == epsilon], epsilon)
        for epsilon in dict.fromkeys(row.epsilon for row in known)
    ]


def _table(rows: list[SanityRow], epsilon: float) -> Table:
    """A line a mechanism and dimension: the vote's loss, then the likelihood ratio's, true and certified."""
    lines = [
        [
            row.mechanism,
            str(row.dim),
            *(number(value) for value in (row.exact, row.run, row.run_lower, row.run_upper, row.published)),
            f"{row.likelihood_ratio:.4g}",
            number(row.likelihood_ratio_lower),
            "false" if row.violated else "",
        ]
        for row in rows
    ]
    headings = ["mechanism", "n", "exact", "run", "from", "to", "paper", "true", "certified", "claim"]
    return f"Epsilon {epsilon:g}: loss of the vote (99.9 % interval); of any event", headings, lines


def draw(rows: Sequence[SanityRow]) -> str:
    """Draw the losses over the claimed budget: the vote's above, the likelihood ratio's below, a column a mechanism."""
    names = list(dict.fromkeys(row.mechanism for row in rows))
    with drawing(2, len(names), size=(1.2 + 2.3 * len(names), 6.2), share_rows=True) as opened:
        axes = opened.axes
        for column, name in enumerate(names):
            chosen = [row for row in rows if row.mechanism == name]
            _draw_votes(axes[0][column], chosen)
            _draw_ratios(axes[1][column], chosen)
            axes[0][column].set_title(TITLES.get(name, name), fontsize=10)
            axes[1][column].set_xlabel("claimed epsilon")
        axes[0][0].set_ylabel("loss of the majority vote")
        axes[1][0].set_ylabel("likelihood ratio: true and certified")
        opened.figure.legend(handles=_legend(rows), loc="outside lower center", ncols=6, frameon=False)
    return opened.svg


def _legend(rows: Sequence[SanityRow]) -> list[Line2D]:
    """The colours mean dimensions, the markers what was computed, run, certified or published."""
    dims = [Line2D([], [], color=colour, label=f"n = {dim}") for colour, dim in _by_dim(rows)]
    meanings = (
        ({"ls": "-"}, "exact"),
        ({"ls": "", "marker": "o", "ms": 4}, "run"),
        ({"ls": "", "marker": "^", "ms": 4}, "certified at 99.9 %"),
        ({"ls": "", "marker": "x", "ms": 6}, "published"),
        ({"ls": "--", "lw": 1}, "the claim: at most epsilon"),
    )
    return dims + [Line2D([], [], color=INK, label=label, **style) for style, label in meanings]


def _draw_votes(axis: Any, rows: list[SanityRow]) -> None:
    for colour, dim in _by_dim(rows):
        chosen = [row for row in rows if row.dim == dim]
        epsilons = [row.epsilon for row in chosen]
        axis.plot(epsilons, [_inside(row.exact) for row in chosen], color=colour)
        runs = [(row.epsilon, _inside(row.run)) for row in chosen if not math.isnan(row.run)]
        axis.plot(*columns(runs), "o", color=colour, ms=3.5)
        published = [(row.epsilon, _inside(row.published)) for row in chosen if row.published is not None]
        axis.plot(*columns(published), "x", color=INK, ms=6, zorder=4)
    _losses(axis, rows)


def _draw_ratios(axis: Any, rows: list[SanityRow]) -> None:
    for colour, dim in _by_dim(rows):
        chosen = [row for row in rows if row.dim == dim]
        epsilons = [row.epsilon for row in chosen]
        axis.plot(epsilons, [_inside(row.likelihood_ratio) for row in chosen], color=colour, lw=1)
        certified = [_inside(row.likelihood_ratio_lower) for row in chosen]
        axis.plot(epsilons, certified, "^", color=colour, ms=4)
    _losses(axis, rows)


def _losses(axis: Any, rows: list[SanityRow]) -> None:
    """Scale the axes, and draw the claim: a private mechanism's loss is at most epsilon."""
    epsilons = sorted({row.epsilon for row in rows})
    axis.plot(epsilons, epsilons, color=INK, ls="--", lw=1)
    axis.set(xscale="log", yscale="log", ylim=(FLOOR / 1.3, CEILING * 1.3))
    axis.set_yticks(list(LOSS_TICKS), LOSS_TICKS.values())
    axis.set_yticks([], minor=True)
    axis.set_xticks(epsilons, [f"{e:g}" if e in (0.1, 1.0, 10.0) or len(epsilons) < 4 else "" for e in epsilons])
    axis.set_xticks([], minor=True)


def _by_dim(rows: Sequence[SanityRow]) -> list[tuple[str, int]]:
    dims = sorted({row.dim for row in rows})
    return list(zip(colours(len(dims)), dims, strict=True))


def _inside(loss: float) -> float:
    return min(max(loss, FLOOR), CEILING)
