"""The figure shows the curves that count, in colours of their own, and mixes nothing."""

import re
from dataclasses import replace
from typing import Any

import pytest
from made_rows import make_mixed, make_rows
from matplotlib import pyplot as plt

from adept.comparison.results import REFERENCES, Row
from adept.mechanisms import BY_NAME
from adept.report import figure as curves
from adept.report.table import of, table
from adept.studies.figures import COLOURS, legend


def test_the_figure_draws_a_line_for_each_mechanism_and_level() -> None:
    svg = curves.draw(table(make_rows()))
    for label in ("original (claim false)", "sqrt_n", "none", "random", "identity", "always the majority label"):
        assert label in svg
    assert "true epsilon of the original" in svg


def test_every_mechanism_with_a_budget_has_a_colour_of_its_own() -> None:
    colours = {**COLOURS, "lookup": curves.LOOKUP_COLOUR}
    assert set(colours) == set(BY_NAME) - set(REFERENCES) | {"lookup"}
    assert len(set(colours.values())) == len(colours)


def test_a_curve_is_text_of_one_decoder_judged_by_one_classifier() -> None:
    _, axis = plt.subplots()
    curves.draw_metric(axis, table(make_mixed()), curves.PANELS[0])
    heights = {container.get_label(): list(container.lines[0].get_ydata()) for container in axis.containers}
    plt.close("all")
    assert heights["learned_codebook (the rewriter saw public labels)"] == pytest.approx([0.75, 0.75])
    assert heights["look-up of public text"] == pytest.approx([0.45, 0.45])
    assert heights["learned_codebook, denoised (the rewriter saw public labels)"] == pytest.approx([0.8, 0.8])
    assert heights["original (claim false)"] == pytest.approx([0.81, 0.88])


def test_latents_are_thin_lines_where_they_are_few() -> None:
    def latents(rows: list[Row]) -> list[curves.Look]:
        return [look for curve, look in curves.drawn_curves(table(rows)) if of(curve, "decoder") == "latents"]

    rows = make_mixed()
    [look] = latents(rows)
    assert (look.dash, look.marker) == ("--", "")
    names = ("l1", "sqrt_n", "codebook")
    more = [replace(row, mechanism=name) for name in names for row in rows if row.decoder == "latents"]
    assert latents(rows + more) == []


def test_a_panel_is_drawn_where_the_comparison_has_its_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[str] = []
    panel = curves.Panel("words kept", ("overlap",), lambda axis, lines, panel: drawn.append(panel.title))
    monkeypatch.setattr(curves, "PANELS", (*curves.PANELS, panel))
    curves.draw(table(make_rows()))
    assert drawn == []
    measured = [replace(row, overlap=0.5) if row.decoder else row for row in make_rows()]
    curves.draw(table(measured))
    assert drawn == ["words kept"]


def test_the_file_is_the_same_for_the_same_rows_and_fetches_nothing() -> None:
    svg = curves.draw(table(make_rows()))
    assert svg == curves.draw(table(make_rows()))
    known = set(re.findall(r' id="([^"]+)"', svg))
    assert set(re.findall(r"(?:url\(#|href=\"#)([^)\"]+)", svg)) <= known
    assert "http" not in svg[svg.index("<svg") :].replace("http://www.w3.org", "")


@pytest.mark.parametrize("rows", [make_rows(), make_mixed()], ids=["short", "long"])
def test_the_legend_is_as_wide_as_the_figure_at_most(rows: list[Row], monkeypatch: pytest.MonkeyPatch) -> None:
    widths: list[float] = []

    def measured(figure: Any, *axes: Any, columns: int) -> None:
        legend(figure, *axes, columns=columns)
        figure.draw_without_rendering()
        widths.append(figure.legends[0].get_window_extent().width / figure.bbox.width)

    monkeypatch.setattr(curves, "legend", measured)
    curves.draw(table(rows))
    assert 0.2 < widths[0] <= 1
