"""The panel for a reader in a hurry has few lines, each with its name at its end, and no mechanism whose claim is false."""

import itertools
import re
from dataclasses import replace

import pytest
from made_rows import BASE, BUDGETS, made, make_mixed, make_rows

from adept.report import headline
from adept.report.table import table


def test_at_most_five_lines_are_named_and_no_name_lies_over_another() -> None:
    more = [
        made(name, 0.62 + place / 100, epsilon) for place, name in enumerate(("l1", "codebook")) for epsilon in BUDGETS
    ]
    lines = table([*make_mixed(), *more])
    assert [curve.mechanism for curve in headline.chosen(lines.curves)] == ["learned_codebook", "sqrt_n", "l1"]
    svg = headline.draw(lines)
    for name in ("the text itself", "learned_codebook", "sqrt_n", "l1", "random"):
        assert svg.count(f">{name}</text>") == 1
    assert "original" not in svg
    assert "look-up" not in svg
    places = sorted(float(y) for y in re.findall(r'<text style="font-size: 11px[^>]* y="([\d.]+)"', svg))
    assert len(places) == 5
    assert all(after - before > 10 for before, after in itertools.pairwise(places))


def test_descriptions_are_among_the_best_though_no_random_line_is_theirs() -> None:
    written = [
        made("description", 0.85, epsilon, decoder="codec", clip="sphere", content="topics") for epsilon in BUDGETS
    ]
    lines = table([*make_mixed(), *written])
    assert [curve.mechanism for curve in headline.chosen(lines.curves)] == ["description", "learned_codebook", "sqrt_n"]


def test_levels_are_of_the_text_and_of_random_latents() -> None:
    assert headline.levels(table(make_rows())) == [
        ("the text itself", pytest.approx(0.9)),
        ("random", pytest.approx(0.6)),
    ]


def test_a_comparison_without_sound_mechanisms_has_levels_alone() -> None:
    rows = [row for row in make_rows() if row.mechanism != "sqrt_n"]
    assert headline.chosen(table(rows).curves) == []
    assert "the text itself" in headline.draw(table([replace(BASE), *rows]))
