"""The study of the sensitivity as a table and a figure: the share of pairs beyond 2C over the dimension."""

from collections.abc import Sequence
from typing import Any

from adept.plotting import INK, Table, colours, drawing, legend, log_axis, number
from adept.studies.sensitivity import SensitivityRow

AGREES = {None: "", True: "yes", False: "NO"}


def tables(rows: Sequence[SensitivityRow]) -> list[Table]:
    """One table: a line a distribution, clip and dimension."""
    lines = [
        [
            f"{row.latents} ({row.reading.removeprefix('standard ')})" if row.reading else row.latents,
            row.clip,
            str(row.dim),
            *(number(value, digits=4) for value in (row.share, row.lower, row.upper, row.published)),
            AGREES[row.agrees],
            f"{row.largest:.3f}",
        ]
        for row in rows
    ]
    headings = ["latents", "clip", "n", "share", "from", "to", "published", "agree", "largest"]
    return [("Pairs further apart than 2C in l1 (99.9 % interval); largest distance / 2C", headings, lines)]


def draw(rows: Sequence[SensitivityRow]) -> str:
    """Draw the share of pairs beyond the assumed sensitivity over the dimension, with the published points."""
    with drawing(1, 1, size=(8, 4.8)) as opened:
        axis = opened.axes[0][0]
        curves: dict[str, list[SensitivityRow]] = {}
        for row in rows:
            reading = f", 0.1 C as {row.reading}" if row.reading else ""
            name = "every distribution, l1 clip" if row.clip == "l1" else f"{row.latents}{reading}, l2 clip"
            curves.setdefault(name, []).append(row)
        for colour, (name, curve) in zip(colours(len(curves)), curves.items(), strict=True):
            _draw_shares(axis, name, curve, colour)
        published = sorted({(row.dim, row.published) for row in rows if row.published is not None})
        if published:
            axis.plot(*zip(*published, strict=True), "x", color=INK, ms=8, mew=1.6, label="published", zorder=4)
        log_axis(axis, sorted({row.dim for row in rows}), "dimension n of the latent")
        axis.set(ylabel="share of pairs with an l1 distance above 2C", ylim=(-0.03, 1.05))
        legend(opened.figure, axis, columns=2)
    return opened.svg


def _draw_shares(axis: Any, name: str, curve: list[SensitivityRow], colour: str) -> None:
    """One curve; of several rows at a dimension (the l1 clip of every distribution) the largest is drawn."""
    tops = {row.dim: row for row in sorted(curve, key=lambda row: row.share)}
    points = [tops[dim] for dim in sorted(tops)]
    ends = [[max(0.0, p.share - p.lower) for p in points], [max(0.0, p.upper - p.share) for p in points]]
    style: dict[str, Any] = {"ls": "--" if "standard" in name else "-", "marker": "o", "ms": 4, "capsize": 3}
    axis.errorbar([p.dim for p in points], [p.share for p in points], ends, label=name, color=colour, **style)
