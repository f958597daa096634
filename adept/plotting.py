"""Style of the tables and figures in reports: colours, axes and legends.

The same rows of results always give the same SVG file.
"""

import io
import math
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any, TypeVar

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

T = TypeVar("T")
K = TypeVar("K")
Table = tuple[str, list[str], list[list[str]]]  # title, headings, lines

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
    "description": "#3f2fb5",
    "clamped_gaussian": "#e8c15a",
    "token_response": "#9aa53b",
    "token_exponential": "#5f9ea0",
    "prompt_sampling": "#b07aa1",
    "by_label": "#7a5195",
    "synthesizer": "#11698e",
}
NAMES = {
    "original": "original (claim false)",
    "dptext": "dptext (not private)",
    "token_response": "token-wise response",
    "token_exponential": "token-wise exponential",
    "by_label": "codewords by label",
    "synthesizer": "synthesizer (central)",
    "prompt_sampling": "DP-Prompt on our decoder",
    "names": "names of labels alone (given the label set)",
    "names_directly": "the label with the nearest name (given the label set)",
    "examples": "labelled public examples alone",
    "redaction": "redaction (no guarantee)",
}
PALETTE = ("#1f77b4", "#e08e0b", "#2a9d5c", "#c0392b", "#8e5ea2", "#5c4033", "#17818f", "#7f7f7f")
INK = "#222"
STYLE: dict[Any, Any] = {"font.size": 10, "svg.fonttype": "none", "svg.hashsalt": "adept"}
STYLE |= {"pdf.fonttype": 42, "axes.spines.right": False, "axes.spines.top": False}
METADATA = ("Date", "Creator", "Format", "Type")  # none of it is written: the same rows make the same file
PAGE_HEIGHT, LOW_PANEL_HEIGHT = 8.0, 1.6  # inches that axes below each other share, and that each has at least

_width: ContextVar[float | None] = ContextVar("width", default=None)


class Figure(str):
    """The SVG text of a figure, with the same figure as PDF."""

    pdf = b""

    def save(self, path: Path) -> None:
        path.with_suffix(".svg").write_text(self, "utf-8")
        path.with_suffix(".pdf").write_bytes(self.pdf)


class Drawing:
    """A figure and its axes. Once ``drawing`` has finished the figure, ``svg`` is its SVG text."""

    def __init__(self, figure: Any, axes: Any) -> None:
        self.figure, self.axes, self.svg = figure, axes, Figure()


@contextmanager
def as_wide_as(width: float | None) -> Iterator[None]:
    """Context manager: give all figures this width in inches; with None, each has a width of its own."""
    token = _width.set(width)
    try:
        yield
    finally:
        _width.reset(token)


@contextmanager
def drawing(rows: int, columns: int, *, size: tuple[float, float], share_rows: bool = False) -> Iterator[Drawing]:
    """Context manager: yield a figure with a grid of axes, which stand below each other in a narrow figure.

    When the ``with`` block ends without an error, the figure's attribute ``svg`` gets the SVG text.
    """
    shape, style, width = (rows, columns), STYLE, _width.get()
    if width is not None:
        shape = (rows * columns, 1) if width < columns * 3.0 else shape
        ratio = (size[1] / rows) / (size[0] / columns)
        size = width, shape[0] * min(max(2.4, ratio * width / shape[1]), max(LOW_PANEL_HEIGHT, PAGE_HEIGHT / shape[0]))
        style = STYLE | ({"font.size": 8} if width < 5.0 else {})
    with plt.rc_context(style):
        shared = share_rows and shape == (rows, columns)
        figure, axes = plt.subplots(
            *shape, figsize=size, layout="constrained", squeeze=False, sharey="row" if shared else "none"
        )
        opened = Drawing(figure, axes.reshape(rows, columns))
        try:
            yield opened
            text, pdf = io.StringIO(), io.BytesIO()
            figure.savefig(text, format="svg", metadata=dict.fromkeys(METADATA))
            figure.savefig(pdf, format="pdf", metadata=dict.fromkeys(("CreationDate", "Creator", "Producer")))
            opened.svg = Figure(text.getvalue())
            opened.svg.pdf = pdf.getvalue()
        finally:
            plt.close(figure)


def colour_of(mechanism: str) -> str:
    """Return the colour of a mechanism; that of one that is not part of adept follows from its name."""
    return COLOURS.get(mechanism, PALETTE[zlib.crc32(mechanism.encode()) % len(PALETTE)])


def colours(count: int) -> list[str]:
    """Return ``count`` colours of PALETTE; if PALETTE has fewer colours, they repeat."""
    return [PALETTE[index % len(PALETTE)] for index in range(count)]


def group_rows(rows: Iterable[T], key: Callable[[T], K]) -> dict[K, list[T]]:
    """Group rows by their keys, in the order in which the keys first occur."""
    groups: dict[K, list[T]] = {}
    for row in rows:
        groups.setdefault(key(row), []).append(row)
    return groups


def columns(points: Sequence[tuple[float, Any]]) -> tuple[list[float], list[Any]]:
    """Return the x values and the y values of points, as the two lists that ``plot`` takes."""
    return [x for x, _ in points], [y for _, y in points]


def log_axis(axis: Any, ticks: Sequence[float], label: str) -> None:
    """Give the x axis a logarithmic scale with exactly the given ticks."""
    axis.set_xscale("log", base=2)
    axis.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axis.set_xticks([], minor=True)
    axis.set_xlabel(label)


def legend(figure: Any, *axes: Any, columns: int) -> None:
    """Draw one legend below the figure, in at most so many columns, for all that has a label on the axes."""
    pairs = (pair for axis in reversed(axes) for pair in zip(*axis.get_legend_handles_labels(), strict=True))
    handles = {label: handle for handle, label in pairs}
    longest = 0.6 * plt.rcParams["font.size"] * max(map(len, handles), default=0) + 24  # points of an entry, about
    columns = min(columns, max(1, int(72 * figure.get_figwidth() / longest)))
    figure.legend(handles.values(), handles, loc="outside lower center", ncols=columns, frameon=False)


def number(value: float | None, *, digits: int = 3) -> str:
    """Return a number as text; None becomes "", infinity becomes "inf", and NaN becomes "nan"."""
    return "" if value is None else f"{value:.{digits}f}" if math.isfinite(value) else str(value)
