"""The surveys as tables and a figure: what was released, what can be told from it, and what a budget costs in people."""

from collections.abc import Sequence
from typing import Any

from adept.plotting import INK, PALETTE, Table, drawing, legend, log_axis
from adept.studies.randomized_response import ResponseRow

TITLES = {
    "bit": "one bit, tight theta",
    "bit_lecture": "one bit, first theta",
    "four_answers": "one of 4 answers",
    "sixteen_answers": "one of 16 answers",
    "number_laplace": "number, Laplace",
    "number_answers": "number, 16 answers",
}
COLOURS = dict(zip(TITLES, PALETTE, strict=False))
SHOWN_EPSILON = 1.0  # the budget of the panel over n, or the nearest to it


def tables(rows: Sequence[ResponseRow]) -> list[Table]:
    """A table for the largest survey over the budget, and one for a budget over the number of people."""
    most, epsilon = max(row.records for row in rows), _shown(rows)
    over_budget = [row for row in rows if row.records == most]
    over_people = [row for row in rows if row.epsilon == epsilon]
    return [
        (
            f"{most:,} people (99.9 % interval); theta, or the scale of the noise",
            ["survey", "eps", "spent", "theta, b", "lecture", "truth", "released", "estimate", "+-"],
            [
                [
                    TITLES[row.survey],
                    f"{row.epsilon:g}",
                    f"{row.spent:.3g}",
                    *(f"{value:.4g}" for value in (row.parameter, row.published)),
                    *_estimates(row),
                ]
                for row in over_budget
            ],
        ),
        (
            f"Epsilon {epsilon:g} (99.9 % interval)",
            ["survey", "people", "truth", "released", "estimate", "+-"],
            [[TITLES[row.survey], f"{row.records:,}", *_estimates(row)] for row in over_people],
        ),
    ]


def _estimates(row: ResponseRow) -> list[str]:
    return [f"{value:.3f}" for value in (row.truth, row.released, row.estimate, (row.upper - row.lower) / 2)]


def _shown(rows: Sequence[ResponseRow]) -> float:
    return min({row.epsilon for row in rows}, key=lambda epsilon: (abs(epsilon - SHOWN_EPSILON), epsilon))


def draw(rows: Sequence[ResponseRow]) -> str:
    """Draw theta over the budget, one bit over the number of people, and the width of intervals over the budget."""
    most, epsilon = max(row.records for row in rows), _shown(rows)
    largest = [row for row in rows if row.records == most]
    shares = [row for row in largest if row.target == "share"]
    with drawing(2, 2, size=(11, 8)) as opened:
        (thetas, people), (widths, means) = opened.axes
        _draw_thetas(thetas, shares)
        _draw_people(people, [row for row in rows if row.epsilon == epsilon and row.survey.startswith("bit")])
        people.set_title(f"share of yes among n people, eps = {epsilon:g}", fontsize=10)
        _draw_widths(widths, shares, f"half the interval of a share, {most:,} people")
        _draw_widths(
            means, [row for row in largest if row.target == "mean"], f"half the interval of a mean, {most:,} people"
        )
        legend(opened.figure, thetas, people, means, columns=4)
    return opened.svg


def _draw_thetas(axis: Any, rows: list[ResponseRow]) -> None:
    for name, curve in _by_survey(rows):
        epsilons = [row.epsilon for row in curve]
        axis.plot(epsilons, [row.published for row in curve], color=COLOURS[name], label=TITLES[name])
        axis.plot(epsilons, [row.parameter for row in curve], "o", color=COLOURS[name], ms=4)
    axis.set_title("probability theta of the true answer: the lecture's (lines), ours (dots)", fontsize=10)
    axis.set_ylim(0, 1.03)
    log_axis(axis, sorted({row.epsilon for row in rows}), "epsilon")


def _draw_people(axis: Any, rows: list[ResponseRow]) -> None:
    for place, (name, curve) in enumerate(_by_survey(rows)):
        apart = 1.08 ** (2 * place - 1)  # beside one another, so that neither hides the other's interval
        at = [row.records * apart for row in curve]
        ends = [[row.estimate - row.lower for row in curve], [row.upper - row.estimate for row in curve]]
        axis.errorbar(at, [row.estimate for row in curve], ends, fmt="o", ms=4, capsize=3, color=COLOURS[name])
        axis.plot(at, [row.released for row in curve], "x", color=COLOURS[name], ms=6)
    if rows:
        axis.axhline(rows[0].truth, color=INK, ls="--", lw=1, label="the truth")
    axis.plot([], [], "o", color=INK, ms=4, label="debiased, 99.9 % interval")
    axis.plot([], [], "x", color=INK, ms=6, label="as released")
    axis.set_ylim(-0.4, 1.1)
    axis.set_xscale("log")
    axis.set_xlabel("number of people n")


def _draw_widths(axis: Any, rows: list[ResponseRow], title: str) -> None:
    for name, curve in _by_survey(rows):
        halves = [(row.upper - row.lower) / 2 for row in curve]
        style = {"marker": "o", "ms": 4, "color": COLOURS[name]}
        axis.plot([row.epsilon for row in curve], halves, label=TITLES[name], **style)
    axis.set_title(title, fontsize=10)
    axis.set_yscale("log")
    log_axis(axis, sorted({row.epsilon for row in rows}), "epsilon")


def _by_survey(rows: list[ResponseRow]) -> list[tuple[str, list[ResponseRow]]]:
    names = dict.fromkeys(row.survey for row in rows)
    return [(name, [row for row in rows if row.survey == name]) for name in names]
