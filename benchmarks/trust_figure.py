"""Draw the accuracies of `adept compare trust=all` under each kind of trust, over the true epsilon.

    python benchmarks/trust_figure.py runs/trust/trust.csv docs/images/trust.svg

Thick curves are for private labels, thin ones for copied labels; the band spans the seeds.
"""

import csv
import math
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from matplotlib.lines import Line2D

from adept.comparison.config import CENTRAL
from adept.comparison.trust import COPIED, PRIVATE, SHUFFLED, TrustRow
from adept.mechanisms.guarantee import words
from adept.plotting import COLOURS, INK, drawing, log_axis
from adept.report.figures import NamedEnd, name_ends
from adept.report.trust import ORIGINAL, TrustCurve, levels, name_curve, trace_curves

SIZE = (7.6, 4.6)
SHUFFLED_COLOUR = "#7d5ba6"
WIDTHS = {PRIVATE: 2.2, COPIED: 0.9}  # of curves, by what becomes of labels
MARGIN = 2**0.15  # of the axis, beyond the least and the largest budget
NUMBERS = {"epsilon": float, "delta": float, "claimed_epsilon": float, "records": int, "seed": int}
NUMBERS |= {"accuracy": float, "macro_f1": float}


def read(path: Path) -> list[TrustRow]:
    """Return the rows of a ``trust.csv``."""
    with path.open(encoding="utf-8", newline="") as stream:
        return [TrustRow(**{name: _value(name, text) for name, text in row.items()}) for row in csv.DictReader(stream)]


def _value(name: str, text: str) -> Any:
    return NUMBERS.get(name, str)(text) if text else None


def draw(rows: Sequence[TrustRow]) -> str:
    """Return the content of an SVG file with all curves; its x axis covers the central epsilons."""
    found = trace_curves(rows)
    epsilons = [epsilon for curve in found if curve.trust == CENTRAL for epsilon, *_ in curve.points]
    with drawing(1, 1, size=SIZE) as opened:
        axis = opened.axes[0][0]
        for curve in found:
            _draw_curve(axis, curve)
        ends: list[NamedEnd] = []
        for curve in found:
            if curve.labels == PRIVATE:  # named at its last point within the panel
                inside = [accuracy for epsilon, _, accuracy, _ in curve.points if epsilon <= max(epsilons) * MARGIN]
                ends.append((inside[-1], name_curve(curve, found), _colour(curve)))
        for name, height, colour in levels(rows):
            axis.axhline(height, color=colour, lw=1.1, ls=":", zorder=1)
            ends.append((height, name, colour))
        powers = range(math.ceil(math.log2(min(epsilons))), math.floor(math.log2(max(epsilons))) + 1)
        delta = max((row.delta or 0 for row in rows if row.trust == SHUFFLED and row.labels == PRIVATE), default=0)
        shuffled = f"; shuffled: delta {words(delta)}" if delta else ""
        label = f"true epsilon for replacing one record, n public{shuffled}"
        log_axis(axis, [2.0**power for power in powers], label)
        axis.set_xlim(min(epsilons) / MARGIN, max(epsilons) * MARGIN)
        axis.set_ylim(0, 1)
        axis.set_ylabel("accuracy of a classifier trained on the release")
        name_ends(axis, ends)
        keys = [Line2D([], [], color=INK, lw=width, label=f"labels {name}") for name, width in WIDTHS.items()]
        opened.figure.legend(handles=keys, loc="outside lower center", ncols=len(keys), frameon=False)
    return opened.svg


def _colour(curve: TrustCurve) -> str:
    return SHUFFLED_COLOUR if curve.trust == SHUFFLED else COLOURS[curve.mechanism]


def _draw_curve(axis: Any, curve: TrustCurve) -> None:
    x, low, middle, high = zip(*curve.points, strict=True)
    thick = curve.labels == PRIVATE
    style: dict[str, Any] = {"color": _colour(curve), "lw": WIDTHS[curve.labels], "zorder": 3 if thick else 2}
    style["ls"] = "--" if curve.mechanism == ORIGINAL else "-"
    axis.plot(x, middle, marker="o" if thick else "", ms=3.8, **style)
    if thick:
        axis.fill_between(x, low, high, color=_colour(curve), alpha=0.15, lw=0)


if __name__ == "__main__":
    Path(sys.argv[2]).write_text(draw(read(Path(sys.argv[1]))), "utf-8")
