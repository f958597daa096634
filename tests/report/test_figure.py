"""The figure shows the curves that count, in colours of their own, and mixes nothing."""

import re
from dataclasses import replace

import pytest
from made_rows import make_mixed, make_rows
from matplotlib import pyplot as plt

from adept.comparison.results import REFERENCES
from adept.mechanisms import BY_NAME
from adept.report import figure as curves


def test_the_figure_draws_a_line_for_each_mechanism_and_level() -> None:
    svg = curves.draw(make_rows())
    for label in ("original (claim false)", "sqrt_n", "none", "random", "identity", "always the commonest label"):
        assert label in svg
    assert "true epsilon of the original" in svg


def test_every_mechanism_with_a_budget_has_a_colour_of_its_own() -> None:
    colours = {**curves.COLOURS, "lookup": curves.LOOKUP_COLOUR}
    assert set(colours) == set(BY_NAME) - set(REFERENCES) | {"lookup"}
    assert len(set(colours.values())) == len(colours)


def test_a_curve_is_text_of_one_decoder_judged_by_one_classifier() -> None:
    _, axis = plt.subplots()
    curves._draw_metric(axis, make_mixed(), "accuracy", "accuracy")
    heights = {container.get_label(): list(container.lines[0].get_ydata()) for container in axis.containers}
    plt.close("all")
    assert heights["learned_codebook (the rewriter saw public labels)"] == pytest.approx([0.75, 0.75])
    assert heights["look-up of public text"] == pytest.approx([0.45, 0.45])
    assert heights["learned_codebook, denoised (the rewriter saw public labels)"] == pytest.approx([0.8, 0.8])
    assert heights["original (claim false)"] == pytest.approx([0.81, 0.88])


def test_latents_are_thin_lines_where_they_are_few() -> None:
    def latents(rows: list) -> list:  # type: ignore[type-arg]
        return [line for source, line in curves.curve_lines(rows).items() if source.decoder == "latents"]

    rows = make_mixed()
    [line] = latents(rows)
    assert (line.dash, line.marker) == ("--", "")
    names = ("l1", "sqrt_n", "codebook")
    more = [replace(row, mechanism=name) for name in names for row in rows if row.decoder == "latents"]
    assert latents(rows + more) == []


def test_panels_are_elements_with_ids_of_their_own_and_fetch_nothing() -> None:
    panels = curves.panels(make_rows())
    ids = [set(re.findall(r' id="([^"]+)"', panel)) for panel in panels.values()]
    assert not ids[0] & ids[1]
    for panel, known in zip(panels.values(), ids, strict=True):
        assert panel.startswith("<svg")
        assert set(re.findall(r"(?:url\(#|href=\"#)([^)\"]+)", panel)) <= known
        assert "http" not in panel.replace("http://www.w3.org", "")
