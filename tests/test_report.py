"""The report says what the rows say, tells claimed from true, and needs no network."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from adept import report
from adept.comparison import CompareConfig, Row
from adept.verdicts import AuditVerdict

BASE = Row(
    data="atis",
    protocol="paper",
    mechanism="none",
    claimed_epsilon=None,
    epsilon=float("inf"),
    delta=0.0,
    dim=16,
    seed=0,
    classifier="tfidf",
    labels="copy",
    samples=1,
    accuracy=0.9,
    macro_f1=0.5,
    records_per_second=None,
    clip=None,
    majority_accuracy=0.7,
    train_records=10,
    test_records=10,
)


def make_rows() -> list[Row]:
    rows = []
    for seed in (0, 1, 2):
        nudge = 0.01 * seed
        rows += [
            replace(BASE, seed=seed),
            replace(BASE, seed=seed, mechanism="identity", clip="l2", accuracy=0.88),
            replace(BASE, seed=seed, mechanism="random", clip="l2", accuracy=0.6, epsilon=0.0),
        ]
        for epsilon, original, corrected in ((8.0, 0.8, 0.61), (64.0, 0.87, 0.7)):
            rows.append(
                replace(
                    BASE,
                    seed=seed,
                    mechanism="original",
                    clip="l2",
                    claimed_epsilon=epsilon,
                    epsilon=4 * epsilon,
                    accuracy=original + nudge,
                )
            )
            rows.append(
                replace(
                    BASE,
                    seed=seed,
                    mechanism="sqrt_n",
                    clip="l2",
                    claimed_epsilon=epsilon,
                    epsilon=epsilon,
                    accuracy=corrected,
                )
            )
    return rows


def test_the_table_gives_means_and_the_originals_true_epsilon() -> None:
    headings, lines = report.table(make_rows(), "accuracy")
    assert headings == ["claimed epsilon", "8", "64"]
    assert lines[0] == ["original (claim false)", "0.810", "0.880"]
    assert lines[1] == ["  its true epsilon", "32", "256"]
    assert ["sqrt_n", "0.610", "0.700"] in lines
    assert ["random", "0.600", "0.600"] in lines


def test_intervals_are_students_over_seeds() -> None:
    figure = report.figure_of([0.80, 0.81, 0.82])
    assert figure.mean == pytest.approx(0.81)
    assert figure.high - figure.mean == pytest.approx(4.3027 * 0.01 / 3**0.5, rel=1e-4)
    assert report.figure_of([0.8]).low == 0.8


def test_the_headline_names_the_gap_and_the_budget_really_spent() -> None:
    line = report.headline(make_rows())
    assert "claimed epsilon of 8 " in line
    assert "0.810" in line
    assert "0.610" in line
    assert "epsilon 32." in line
    assert "random" in report.headline([row for row in make_rows() if row.mechanism != "original"])


def test_the_page_is_one_file_without_network_and_escapes_what_it_quotes(tmp_path: Path) -> None:
    rows = [replace(row, data="<script>") for row in make_rows()]
    config = CompareConfig(output_dir=str(tmp_path), epsilons=[8.0, 64.0])
    config.data.name = "<script>"
    audits = [AuditVerdict("original", 8.0, True, 9.5, "l1 distance <b>"), AuditVerdict("sqrt_n", 8.0, False, 2.5, "")]
    page = report.write(rows, audits, config, tmp_path).read_text("utf-8")
    assert "<script" not in page
    assert not re.search(r'(src|href)="(https?:)?//', page.replace("http://www.w3.org", ""))
    assert page.count("<svg") == 1
    assert "claim of epsilon 8 is false" in page
    assert "convicted: l1 distance &lt;b&gt;; certified epsilon at least 9.5" in page
    assert "not refuted, which is no proof; certified epsilon at least 2.5" in page
    assert "true epsilon of the original" in page
    assert "adept compare" in page


def test_the_figure_draws_a_line_for_each_mechanism_and_level() -> None:
    svg = report.draw(make_rows())
    for label in ("original (claim false)", "sqrt_n", "none", "random", "identity", "always the commonest label"):
        assert label in svg


def test_every_mechanism_with_a_budget_has_a_colour_of_its_own() -> None:
    from adept.comparison import ENDS
    from adept.mechanisms import BY_NAME

    assert set(report.COLOURS) == set(BY_NAME) - set(ENDS)
    assert len(set(report.COLOURS.values())) == len(report.COLOURS)
