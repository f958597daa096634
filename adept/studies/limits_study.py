"""The limits as a table and a figure: what no mechanism can exceed, over the true budget (``adept.studies.limits``)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from adept.plotting import Table, colours, columns, drawing, log_axis
from adept.studies.limits import advantage, best_guess, capacity, reconstruction

EPSILONS = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0)
CANDIDATES = (2, 10, 100, 1000)
DELTA = 1e-6
# How often each intent occurs in the public test splits, most frequent first: the guesser's prior.
LABEL_COUNTS = {
    "SNIPS test": (124, 107, 107, 104, 92, 86, 80),
    "ATIS test": (632, 48, 38, 36, 33, 21, 18, 12, 10, 9, 8, 7, 6, 6, 3, 2, 1, 1, 1, 1),
}
TITLES = {
    "capacity": "bits per record",
    "label": "label, {}",
    "reconstruction": "record, {}",
    "advantage": "advantage, {}",
}


@dataclass(frozen=True, kw_only=True)
class LimitRow:
    """One bound at one true budget."""

    limit: str  # capacity | label | reconstruction | advantage
    setting: str  # what the bound is about: the prior, the number of candidates, delta
    epsilon: float  # the true budget of all that is seen of one record
    value: float
    unit: str  # bits, or a probability
    without_release: float  # what is reached without looking at the release at all


def run(*, epsilons: Sequence[float] = EPSILONS) -> list[LimitRow]:
    """Return every bound at every budget.

    Raises:
        ConfigurationError: a budget is negative or not a number.
    """
    return [row for epsilon in epsilons for row in _rows(epsilon)]


def _rows(epsilon: float) -> list[LimitRow]:
    rows = [_row("capacity", "one record", epsilon, capacity(epsilon=epsilon), 0.0, unit="bits")]
    for name, counts in LABEL_COUNTS.items():
        rows.append(_row("label", name, epsilon, best_guess(counts, epsilon=epsilon), max(counts) / sum(counts)))
    for candidates in CANDIDATES:
        value = reconstruction(candidates, epsilon=epsilon)
        rows.append(_row("reconstruction", f"1 of {candidates}", epsilon, value, 1 / candidates))
    for delta in (0.0, DELTA):
        rows.append(_row("advantage", f"delta {delta:g}", epsilon, advantage(epsilon=epsilon, delta=delta), 0.0))
    return rows


def _row(
    limit: str, setting: str, epsilon: float, value: float, without: float, *, unit: str = "probability"
) -> LimitRow:
    return LimitRow(limit=limit, setting=setting, epsilon=epsilon, value=value, unit=unit, without_release=without)


def tables(rows: Sequence[LimitRow]) -> list[Table]:
    """Return one table: a line a bound, a column a true budget."""
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
