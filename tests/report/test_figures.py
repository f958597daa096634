"""The figure shows the curves that count, in colours of their own, and mixes nothing."""

import itertools
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from made_rows import BASE, BUDGETS, made, make_kept, make_mixed, make_rows
from matplotlib import pyplot as plt

from adept.comparison.config import ALTERNATIVES, REFERENCES
from adept.comparison.results import ResultRow
from adept.mechanisms import BY_NAME
from adept.plotting import COLOURS, LOW_PANEL_HEIGHT, PAGE_HEIGHT, Figure, as_wide_as, drawing, legend
from adept.report import figures as curves
from adept.report.table import table


def test_the_figure_draws_a_line_for_each_mechanism_and_level() -> None:
    svg = curves.draw(table(make_rows()))
    for label in ("original (claim false)", "sqrt_n", "none", "random", "identity", "always the majority label"):
        assert label in svg
    assert "true epsilon of the original" in svg


def test_every_mechanism_with_a_budget_has_a_colour_of_its_own() -> None:
    assert set(COLOURS) == set(BY_NAME) - set(REFERENCES) | {"by_label", "synthesizer", *ALTERNATIVES} - {"redaction"}
    assert len(set(COLOURS.values())) == len(COLOURS)


def test_a_curve_is_judged_by_one_classifier() -> None:
    _, axis = plt.subplots()
    curves.draw_metric(axis, table(make_mixed()), "accuracy")
    heights = {container.get_label(): list(container.lines[0].get_ydata()) for container in axis.containers}
    plt.close("all")
    assert heights["learned_codebook"] == pytest.approx([0.75, 0.75])
    assert heights["original (claim false)"] == pytest.approx([0.81, 0.88])


def kept_axis(rows: list[ResultRow]) -> Any:
    """The axis on which the panel of what is kept is drawn."""
    _, axis = plt.subplots()
    curves.draw_kept(axis, table(rows))
    plt.close("all")
    return axis


def test_what_is_kept_stands_over_the_true_epsilon() -> None:
    axis = kept_axis(make_kept())
    drawn = {(line.get_color(), line.get_linestyle(), line.get_marker()): line for line in axis.get_lines()}
    original = drawn[COLOURS["original"], "-", "o"]
    assert list(original.get_xdata()) == [32.0, 256.0]
    assert list(original.get_ydata()) == pytest.approx([0.81 * 32 / 64 / 2, 0.88 / 2])
    ours = drawn[COLOURS["sqrt_n"], "--", "o"]
    assert (list(ours.get_xdata()), list(ours.get_ydata())) == ([8.0, 64.0], pytest.approx([0.61 / 8, 0.7]))
    assert list(drawn[COLOURS["sqrt_n"], ":", "o"].get_ydata()) == pytest.approx([0.61 / 32, 0.7 / 4])
    assert (COLOURS["learned_codebook"], "-", "o") in drawn
    assert list(axis.get_xticks()) == [8.0, 16.0, 32.0, 64.0, 128.0, 256.0]


def test_only_what_was_measured_is_drawn_as_kept_and_random_is_a_level() -> None:
    axis = kept_axis(make_kept(slots=False))
    assert {line.get_linestyle() for line in axis.get_lines()} == {"--", ":"}
    assert [text.get_text() for text in axis.get_legend().get_texts()] == ["words", "exact", "random"]
    levels = {
        (line.get_linestyle(), line.get_ydata()[0]) for line in axis.get_lines() if line.get_color() == curves.GREY
    }
    assert levels == {("--", 0.0), (":", 0.0)}
    endless = [replace(row, epsilon=float("inf")) if row.mechanism == "original" else row for row in make_kept()]
    assert COLOURS["original"] not in {line.get_color() for line in kept_axis(endless).get_lines()}


def test_the_second_panel_is_there_where_it_was_measured() -> None:
    assert "share kept in the rewrite" in curves.draw(table(make_kept()))
    assert "share kept in the rewrite" not in curves.draw(table(make_mixed()))


def test_the_file_is_the_same_for_the_same_rows_and_fetches_nothing() -> None:
    svg = curves.draw(table(make_rows()))
    assert svg == curves.draw(table(make_rows()))
    known = set(re.findall(r' id="([^"]+)"', svg))
    assert set(re.findall(r"(?:url\(#|href=\"#)([^)\"]+)", svg)) <= known
    assert "http" not in svg[svg.index("<svg") :].replace("http://www.w3.org", "")


@pytest.mark.parametrize("rows", [make_rows(), make_mixed(), make_kept()], ids=["short", "long", "kept"])
def test_the_legend_is_as_wide_as_the_figure_at_most(rows: list[ResultRow], monkeypatch: pytest.MonkeyPatch) -> None:
    widths: list[float] = []

    def measured(figure: Any, *axes: Any, columns: int) -> None:
        legend(figure, *axes, columns=columns)
        figure.draw_without_rendering()
        widths.append(figure.legends[0].get_window_extent().width / figure.bbox.width)

    monkeypatch.setattr(curves, "legend", measured)
    curves.draw(table(rows))
    assert 0.2 < widths[0] <= 1


@pytest.mark.parametrize("draw", [curves.draw, curves.draw_headline])
def test_a_figure_for_one_column_has_its_width_and_the_size_of_its_letters(draw: Callable[..., Figure]) -> None:
    """In a column of 3.4 inches the panels stand below each other, with letters of 8 points that nothing shrinks."""
    wide = draw(table(make_kept()))
    with as_wide_as(3.4):
        narrow = draw(table(make_kept()))
    sizes = [
        tuple(float(size) for size in re.findall(r'(?:width|height)="([\d.]+)pt"', svg)[:2]) for svg in (wide, narrow)
    ]
    assert sizes[1][0] == pytest.approx(3.4 * 72)
    assert sizes[1][1] > 2.4 * 72
    assert set(re.findall(r"font-size: (\d+)px", narrow)) <= {"8", "9"}
    assert sizes[0][0] > 2 * sizes[1][0]
    assert sizes[0] == tuple(
        float(size) for size in re.findall(r'(?:width|height)="([\d.]+)pt"', draw(table(make_kept())))[:2]
    )


@pytest.mark.parametrize("count", [1, 2, 4, 9])
def test_panels_below_each_other_fit_on_a_page_or_are_low(count: int) -> None:
    with as_wide_as(3.4), drawing(1, count, size=(3.2 * count, 4.4)) as opened:
        assert opened.figure.get_figheight() <= max(PAGE_HEIGHT, count * LOW_PANEL_HEIGHT)
        assert opened.figure.get_figheight() >= count * LOW_PANEL_HEIGHT


def test_one_seed_has_no_error_bars_and_no_sign_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    one = headline_axis([row for row in make_rows() if row.seed == 0], monkeypatch)
    assert not one.containers
    assert {line.get_color() for line in one.get_lines()} >= {COLOURS["original"], COLOURS["sqrt_n"]}
    assert len(headline_axis(make_rows(), monkeypatch).containers) == 2


def test_the_pdf_is_the_same_for_the_same_rows(tmp_path: Path) -> None:
    figure = curves.draw(table(make_rows()))
    figure.save(tmp_path / "out")
    assert (tmp_path / "out.svg").read_text("utf-8") == figure
    assert (tmp_path / "out.pdf").read_bytes().startswith(b"%PDF")
    assert figure.pdf == curves.draw(table(make_rows())).pdf


def test_the_numbers_beside_a_figure_are_those_of_its_points() -> None:
    points = curves.list_points(table(make_mixed()))
    ours = [point for point in points if point["mechanism"] == "sqrt_n"]
    assert [point["claimed_epsilon"] for point in ours] == list(BUDGETS)
    assert all(point["accuracy_low"] <= point["accuracy_mean"] <= point["accuracy_high"] for point in points)
    assert {"none", "random", "identity"} <= {point["mechanism"] for point in points}
    few = {point["mechanism"] for point in curves.list_points(table(make_mixed()), headline=True)}
    assert few <= {point["mechanism"] for point in points}


def headline_axis(rows: list[ResultRow], monkeypatch: pytest.MonkeyPatch) -> Any:
    """The axis of the headline, after it was drawn."""
    axes: list[Any] = []

    def noted(axis: Any, ends: Any) -> None:
        axes.append(axis)
        name_ends(axis, ends)

    name_ends = curves.name_ends
    with monkeypatch.context() as patched:
        patched.setattr(curves, "name_ends", noted)
        curves.draw_headline(table(rows))
    return axes[0]


def test_the_headline_shows_the_variants_and_what_the_original_truly_spends(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    axis = headline_axis(make_mixed(), monkeypatch)
    drawn = {line.get_color(): line for line in axis.get_lines() if line.get_marker() == "o"}
    original, corrected = drawn[COLOURS["original"]], drawn[COLOURS["sqrt_n"]]
    assert list(original.get_xdata()) == list(corrected.get_xdata()) == list(BUDGETS)
    assert (original.get_linestyle(), corrected.get_linestyle()) == ("--", "-")
    (above,) = axis.child_axes
    assert [label.get_text() for label in above.get_xticklabels()] == ["32", "256"]
    assert axis.get_xlabel() == "claimed epsilon of a record\n3 seeds, 95 % intervals"
    assert len(axis.containers) == len(drawn), "each curve has error bars"


def test_the_headline_names_variants_and_the_best_others_without_an_overlap() -> None:
    more = [
        made(name, 0.62 + place / 100, epsilon)
        for place, name in enumerate(("l1", "codebook", "privunit"))
        for epsilon in BUDGETS
    ]
    lines = table([*make_mixed(), *more])
    shown = ["original", "l1", "sqrt_n", "learned_codebook"]
    assert [curve.mechanism for curve in curves.choose_curves(lines.curves)] == shown
    svg = curves.draw_headline(lines)
    for name in ("the text itself", "original (claim false)", *shown[1:], "random"):
        assert svg.count(f">{name}</text>") == 1
    for name in ("codebook<", "privunit"):
        assert f">{name}" not in svg
    places = sorted(float(y) for y in re.findall(r'<text style="font-size: 11px[^>]* y="([\d.]+)"', svg))
    assert len(places) == 6
    assert all(after - before > 10 for before, after in itertools.pairwise(places))


def test_without_variants_the_best_four_are_shown_descriptions_among_them() -> None:
    names = ("description", "learned_codebook", "gaussian", "l2_norm", "privunit")
    rows = [row for row in make_mixed() if row.mechanism in ("none", "random", "identity")]
    written = [
        made(name, 0.85 - place / 100, epsilon, decoder="codec", clip="sphere", content="topics")
        for place, name in enumerate(names)
        for epsilon in BUDGETS
    ]
    assert [curve.mechanism for curve in curves.choose_curves(table([*rows, *written]).curves)] == list(names[:4])


def test_the_level_of_random_is_the_best_models_and_higher_names_are_shown() -> None:
    named = replace(BASE, mechanism="names", accuracy=0.5)
    assert curves.choose_levels(table([*make_mixed(), named]).texts) == {
        "none": pytest.approx(0.9),
        "random": pytest.approx(0.6),
    }
    named = replace(BASE, mechanism="names", accuracy=0.65)
    assert curves.choose_levels(table([*make_mixed(), named]).texts)["names"] == pytest.approx(0.65)


def test_without_sound_mechanisms_the_original_is_shown_and_without_any_only_levels() -> None:
    rows = [row for row in make_rows() if row.mechanism != "sqrt_n"]
    assert [curve.mechanism for curve in curves.choose_curves(table(rows).curves)] == ["original"]
    rows = [row for row in rows if row.mechanism != "original"]
    assert "the text itself" in curves.draw_headline(table([replace(BASE), *rows]))
