"""The study of the mechanisms as tables and a figure: how much of a latent is kept, and how much is told."""

from collections.abc import Sequence
from typing import Any

from adept.plotting import COLOURS, INK, NAMES, Table, columns, drawing, legend, log_axis
from adept.studies.mechanisms import MechanismRow

BROKEN: dict[str, dict[str, Any]] = {
    "original": {"ls": "--", "lw": 2.5},
    "dptext": {"ls": ":", "lw": 1.2, "zorder": 3},  # hardly differs from the original's curve, so it lies on top
}


def tables(rows: Sequence[MechanismRow]) -> list[Table]:
    """A table a dimension."""
    dims = sorted({row.dim for row in rows})
    return [_cosines([row for row in rows if row.dim == dim], dim) for dim in dims]


def _cosines(rows: list[MechanismRow], dim: int) -> Table:
    """A line a mechanism, a column a claimed budget."""
    epsilons = sorted({row.claimed_epsilon for row in rows})
    lines = []
    for name in dict.fromkeys(row.mechanism for row in rows):
        found = {row.claimed_epsilon: row.cosine for row in rows if row.mechanism == name}
        lines.append([NAMES.get(name, name), *(f"{found[epsilon]:.3f}" for epsilon in epsilons)])
    headings = ["claimed epsilon", *(f"{epsilon:g}" for epsilon in epsilons)]
    return f"Mean cosine with the latent, n = {dim}", headings, lines


def draw(rows: Sequence[MechanismRow]) -> str:
    """Draw cosine, relative squared error and information over the claimed budget, for up to three dimensions."""
    dims = sorted({row.dim for row in rows})
    dims = dims if len(dims) < 4 else [dims[0], dims[len(dims) // 2], dims[-1]]
    with drawing(3, len(dims), size=(1.5 + 3.6 * len(dims), 9.6), share_rows=True) as opened:
        axes = opened.axes
        for column, dim in enumerate(dims):
            chosen = [row for row in rows if row.dim == dim]
            _draw_keeping(axes[:, column], chosen)
            axes[0][column].set_title(f"n = {dim}")
        axes[0][0].set_ylabel("mean cosine with the latent")
        axes[1][0].set_ylabel("squared error / squared length")
        axes[2][0].set_ylabel("information per record, bits")
        legend(opened.figure, axes[2][0], axes[0][0], columns=5)
    return opened.svg


def _draw_keeping(axes: Any, rows: list[MechanismRow]) -> None:
    epsilons = sorted({row.claimed_epsilon for row in rows})
    for name in dict.fromkeys(row.mechanism for row in rows):
        curve = [row for row in rows if row.mechanism == name]
        style = {"color": COLOURS[name], "marker": "o", "ms": 3, **BROKEN.get(name, {})}
        budgets = [row.claimed_epsilon for row in curve]
        axes[0].plot(budgets, [row.cosine for row in curve], label=NAMES.get(name, name), **style)
        axes[1].plot(budgets, [row.squared_error / row.squared_length for row in curve], **style)
        known = [(row.claimed_epsilon, row.information_bits) for row in curve if row.information_bits is not None]
        axes[2].plot(*columns(known), **style)
    bounds = {row.claimed_epsilon: row.capacity_bits for row in rows if row.epsilon == row.claimed_epsilon}
    most = sorted((epsilon, bits) for epsilon, bits in bounds.items() if bits is not None)
    axes[2].plot(*columns(most), color=INK, ls=":", lw=2, zorder=4, label="most that any mechanism can tell")
    axes[1].set_yscale("log")
    axes[2].set_yscale("log")
    for axis in axes:
        log_axis(axis, epsilons, "")
    axes[2].set_xlabel("claimed epsilon (true for the solid lines)")
