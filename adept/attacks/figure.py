"""Rates of attacks with their intervals, beside what is possible: without a release, at best, as claimed, and in truth."""

from collections.abc import Sequence
from typing import Any

from adept.attacks.result import AttackRow
from adept.mechanisms.guarantee import Guarantee, words
from adept.plotting import INK, PALETTE, drawing, legend

BLUE, ORANGE, GREEN, RED = PALETTE[:4]

SMALL = 0.05  # shares below it are told apart on a logarithmic axis alone


def draw(rows: Sequence[AttackRow], promise: Guarantee) -> str:
    """Return the rows as a figure, in SVG text."""
    with drawing(1, 1, size=(7.5, 1.6 + 0.5 * len(rows))) as opened:
        axis = opened.axes[0, 0]
        for place, row in enumerate(rows):
            axis.barh(place, row.rate.value, height=0.5, color=BLUE, alpha=0.35)
            axis.plot(
                [row.rate.low, row.rate.high], [place, place], color=BLUE, linewidth=2.5, label="attack, interval"
            )
            _mark(axis, place, row.without_release, color=INK, style=":", label="without the release")
            _mark(axis, place, row.bound, color=GREEN, style="-", label=f"bound, epsilon {words(promise.epsilon)}")
            if row.claimed_bound != row.bound:
                claimed = f"bound as claimed, epsilon {words(promise.claimed_epsilon)}"
                _mark(axis, place, row.claimed_bound, color=RED, style="--", label=claimed)
            if row.optimum is not None:
                _mark(axis, place, row.optimum, color=ORANGE, style="-", label="best possible attack")
        axis.set_yticks(range(len(rows)), [f"{row.knows}: {row.success}" for row in rows])
        axis.invert_yaxis()
        shares = [share for row in rows for share in (row.without_release, row.claimed_bound)]
        lowest = min((share for share in shares if share > 0), default=1.0)
        if lowest < SMALL:
            axis.set_xscale("log")
        axis.set_xlim(lowest / 2 if lowest < SMALL else 0, 1.05)
        axis.set_xlabel("share of right guesses")
        legend(opened.figure, axis, columns=3)
    return opened.svg


def _mark(axis: Any, place: int, value: float, *, color: str, style: str, label: str) -> None:
    axis.vlines(value, place - 0.35, place + 0.35, color=color, linestyle=style, linewidth=1.8, label=label)
