"""The studies' figures, as SVG text: one function a study, each drawing the rows that the study returns."""

import io
import math
from collections.abc import Sequence
from typing import Any

import matplotlib

from adept.studies.limits import DELTA, LimitRow
from adept.studies.mechanisms import MechanismRow
from adept.studies.sanity_check import SanityRow
from adept.studies.sensitivity import SensitivityRow

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.lines import Line2D

COLOURS = {
    "original": "#c0392b",
    "l1": "#1f77b4",
    "sqrt_n": "#2a9d5c",
    "l2_norm": "#8e5ea2",
    "gaussian": "#e08e0b",
    "privunit": "#17818f",
    "codebook": "#5c4033",
    "learned_codebook": "#d6438a",
    "dptext": "#7f7f7f",
}
NAMES = {"original": "original (claim false)", "dptext": "dptext (not private)"}
BROKEN: dict[str, dict[str, Any]] = {
    "original": {"ls": "--", "lw": 2.5},
    "dptext": {"ls": ":", "lw": 1.2, "zorder": 3},  # hardly differs from the original's curve, so it lies on top
}
PALETTE = ("#1f77b4", "#e08e0b", "#2a9d5c", "#c0392b", "#8e5ea2", "#5c4033", "#17818f", "#7f7f7f")
SANITY_TITLES = {
    "laplace": "correct Laplace",
    "adept": "ADePT",
    "dptext_redraw": "DPText, NaN redrawn",
    "dptext_zero": "DPText, NaN as 0",
    "copy": "plain copy",
    "random": "random",
}
STYLE: dict[Any, Any] = {"font.size": 10, "svg.fonttype": "none", "svg.hashsalt": "adept"}
STYLE |= {"axes.spines.right": False, "axes.spines.top": False}
FLOOR, CEILING = 1e-2, 2e3  # losses beyond them are drawn at the edge
LOSS_TICKS = {FLOOR: "< 0.01", 0.1: "0.1", 1: "1", 10: "10", 100: "100", CEILING: "infinite"}


def draw_sensitivity(rows: Sequence[SensitivityRow]) -> str:
    """Draw the share of pairs beyond the assumed sensitivity over the dimension, with the published points."""
    with plt.rc_context(STYLE):
        figure, axis = plt.subplots(figsize=(8, 4.8), layout="constrained")
        curves: dict[str, list[SensitivityRow]] = {}
        for row in rows:
            reading = f", 0.1 C as {row.reading}" if row.reading else ""
            name = "every distribution, l1 clip" if row.clip == "l1" else f"{row.latents}{reading}, l2 clip"
            curves.setdefault(name, []).append(row)
        for colour, (name, curve) in zip(_colours(len(curves)), curves.items(), strict=True):
            _draw_shares(axis, name, curve, colour)
        published = sorted({(row.dim, row.published) for row in rows if row.published is not None})
        if published:
            axis.plot(*zip(*published, strict=True), "x", color="#222", ms=8, mew=1.6, label="published", zorder=4)
        _log_axis(axis, sorted({row.dim for row in rows}), "dimension n of the latent")
        axis.set(ylabel="share of pairs with an l1 distance above 2C", ylim=(-0.03, 1.05))
        _legend(figure, axis, columns=2)
        return _svg(figure)


def _draw_shares(axis: Any, name: str, curve: list[SensitivityRow], colour: str) -> None:
    """One curve; of several rows at a dimension (the l1 clip of every distribution) the largest is drawn."""
    tops = {row.dim: row for row in sorted(curve, key=lambda row: row.share)}
    points = [tops[dim] for dim in sorted(tops)]
    ends = [[max(0.0, p.share - p.lower) for p in points], [max(0.0, p.upper - p.share) for p in points]]
    style: dict[str, Any] = {"ls": "--" if "standard" in name else "-", "marker": "o", "ms": 4, "capsize": 3}
    axis.errorbar([p.dim for p in points], [p.share for p in points], ends, label=name, color=colour, **style)


def draw_sanity_check(rows: Sequence[SanityRow]) -> str:
    """Draw the losses over the claimed budget: the vote's above, the likelihood ratio's below, a column a mechanism."""
    names = list(dict.fromkeys(row.mechanism for row in rows))
    with plt.rc_context({**STYLE, "font.size": 9}):
        figure, axes = plt.subplots(
            2, len(names), figsize=(1.2 + 2.3 * len(names), 6.2), layout="constrained", squeeze=False, sharey="row"
        )
        for column, name in enumerate(names):
            chosen = [row for row in rows if row.mechanism == name]
            _draw_votes(axes[0][column], chosen)
            _draw_ratios(axes[1][column], chosen)
            axes[0][column].set_title(SANITY_TITLES.get(name, name), fontsize=10)
            axes[1][column].set_xlabel("claimed epsilon")
        axes[0][0].set_ylabel("loss of the majority vote")
        axes[1][0].set_ylabel("likelihood ratio: true and certified")
        figure.legend(handles=_sanity_legend(rows), loc="outside lower center", ncols=6, frameon=False)
        return _svg(figure)


def _sanity_legend(rows: Sequence[SanityRow]) -> list[Line2D]:
    """The colours mean dimensions, the markers what was computed, run, certified or published."""
    dims = [Line2D([], [], color=colour, label=f"n = {dim}") for colour, dim in _by_dim(rows)]
    meanings = (
        ({"ls": "-"}, "exact"),
        ({"ls": "", "marker": "o", "ms": 4}, "run"),
        ({"ls": "", "marker": "^", "ms": 4}, "certified at 99.9 %"),
        ({"ls": "", "marker": "x", "ms": 6}, "published"),
        ({"ls": "--", "lw": 1}, "the claim: at most epsilon"),
    )
    return dims + [Line2D([], [], color="#222", label=label, **style) for style, label in meanings]


def _draw_votes(axis: Any, rows: list[SanityRow]) -> None:
    for colour, dim in _by_dim(rows):
        chosen = [row for row in rows if row.dim == dim]
        epsilons = [row.epsilon for row in chosen]
        axis.plot(epsilons, [_inside(row.exact) for row in chosen], color=colour)
        runs = [(row.epsilon, _inside(row.run)) for row in chosen if not math.isnan(row.run)]
        axis.plot(*_columns(runs), "o", color=colour, ms=3.5)
        published = [(row.epsilon, _inside(row.published)) for row in chosen if row.published is not None]
        axis.plot(*_columns(published), "x", color="#222", ms=6, zorder=4)
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
    axis.plot(epsilons, epsilons, color="#222", ls="--", lw=1)
    axis.set(xscale="log", yscale="log", ylim=(FLOOR / 1.3, CEILING * 1.3))
    axis.set_yticks(list(LOSS_TICKS), LOSS_TICKS.values())
    axis.set_yticks([], minor=True)
    axis.set_xticks(epsilons, [f"{e:g}" if e in (0.1, 1.0, 10.0) or len(epsilons) < 4 else "" for e in epsilons])
    axis.set_xticks([], minor=True)


def draw_mechanisms(rows: Sequence[MechanismRow]) -> str:
    """Draw cosine, relative squared error and information over the claimed budget, for up to three dimensions."""
    dims = sorted({row.dim for row in rows})
    dims = dims if len(dims) < 4 else [dims[0], dims[len(dims) // 2], dims[-1]]
    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(
            3, len(dims), figsize=(1.5 + 3.6 * len(dims), 9.6), layout="constrained", squeeze=False, sharey="row"
        )
        for column, dim in enumerate(dims):
            chosen = [row for row in rows if row.dim == dim]
            _draw_keeping(axes[:, column], chosen)
            axes[0][column].set_title(f"n = {dim}")
        axes[0][0].set_ylabel("mean cosine with the latent")
        axes[1][0].set_ylabel("squared error / squared length")
        axes[2][0].set_ylabel("information per record, bits")
        _legend(figure, axes[2][0], axes[0][0], columns=5)
        return _svg(figure)


def _draw_keeping(axes: Any, rows: list[MechanismRow]) -> None:
    epsilons = sorted({row.claimed_epsilon for row in rows})
    for name in dict.fromkeys(row.mechanism for row in rows):
        curve = [row for row in rows if row.mechanism == name]
        style = {"color": COLOURS[name], "marker": "o", "ms": 3, **BROKEN.get(name, {})}
        budgets = [row.claimed_epsilon for row in curve]
        axes[0].plot(budgets, [row.cosine for row in curve], label=NAMES.get(name, name), **style)
        axes[1].plot(budgets, [row.squared_error / row.squared_length for row in curve], **style)
        known = [(row.claimed_epsilon, row.information_bits) for row in curve if row.information_bits is not None]
        axes[2].plot(*_columns(known), **style)
    bounds = {row.claimed_epsilon: row.capacity_bits for row in rows if row.epsilon == row.claimed_epsilon}
    most = sorted((epsilon, bits) for epsilon, bits in bounds.items() if bits is not None)
    axes[2].plot(*_columns(most), color="#222", ls=":", lw=2, zorder=4, label="most that any mechanism can tell")
    axes[1].set_yscale("log")
    axes[2].set_yscale("log")
    for axis in axes:
        _log_axis(axis, epsilons, "")
    axes[2].set_xlabel("claimed epsilon (true for the solid lines)")


def draw_limits(rows: Sequence[LimitRow]) -> str:
    """Draw the bounds over the true budget: capacity, best guess of a label, and naming or telling apart records."""
    panels = (
        ("most information per record, bits", ("capacity",)),
        ("best guess of a label from one release", ("label",)),
        ("naming the record among candidates", ("reconstruction", "advantage")),
    )
    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(1, len(panels), figsize=(13, 4.4), layout="constrained")
        for axis, (title, limits) in zip(axes, panels, strict=True):
            _draw_limit(axis, [row for row in rows if row.limit in limits])
            axis.set_title(title, fontsize=10)
        return _svg(figure)


def _draw_limit(axis: Any, rows: list[LimitRow]) -> None:
    settings = list(dict.fromkeys((row.limit, row.setting) for row in rows if row.setting != f"delta {DELTA:g}"))
    for colour, (limit, setting) in zip(_colours(len(settings)), settings, strict=True):
        curve = [row for row in rows if (row.limit, row.setting) == (limit, setting)]
        points = sorted((row.epsilon, row.value) for row in curve)
        name, style = ("advantage, 1 of 2", "--") if limit == "advantage" else (setting, "-")
        axis.plot(*_columns(points), color=colour, label=name, ls=style, marker="o", ms=3)
        if limit == "label":
            axis.axhline(curve[0].without_release, color=colour, ls=":", lw=1, label=f"{setting}, without a release")
    _log_axis(axis, sorted({row.epsilon for row in rows}), "true epsilon")
    if rows[0].unit == "bits":
        axis.set_yscale("log")
    else:
        axis.set_ylim(0, 1.03)
        axis.legend(frameon=False, fontsize=9, loc="center right" if rows[0].limit == "label" else "lower right")


def _by_dim(rows: Sequence[SanityRow]) -> list[tuple[str, int]]:
    dims = sorted({row.dim for row in rows})
    return list(zip(_colours(len(dims)), dims, strict=True))


def _colours(count: int) -> list[str]:
    return [PALETTE[index % len(PALETTE)] for index in range(count)]


def _columns(points: list[tuple[float, Any]]) -> tuple[list[float], list[Any]]:
    return [x for x, _ in points], [y for _, y in points]


def _inside(loss: float) -> float:
    return min(max(loss, FLOOR), CEILING)


def _log_axis(axis: Any, ticks: Sequence[float], label: str) -> None:
    axis.set_xscale("log", base=2)
    axis.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axis.set_xticks([], minor=True)
    axis.set_xlabel(label)


def _legend(figure: Any, *axes: Any, columns: int) -> None:
    handles: dict[str, Any] = {}
    for axis in reversed(axes):
        handles.update({label: handle for handle, label in zip(*axis.get_legend_handles_labels(), strict=True)})
    figure.legend(handles.values(), handles, loc="outside lower center", ncols=columns, frameon=False)


def _svg(figure: Any) -> str:
    stream = io.StringIO()
    figure.savefig(stream, format="svg", metadata={"Date": None})
    plt.close(figure)
    return stream.getvalue()
