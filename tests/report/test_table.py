"""All rows are one table: means over seeds of rows that belong together, and of no others."""

from dataclasses import replace

import numpy as np
import pytest
from made_rows import BASE, made, make_kept, make_mixed, make_rows

from adept.comparison.results import pack_hits
from adept.report import table as report
from adept.report.table import Line, table


def of(lines: list[Line], mechanism: str, epsilon: float | None) -> list[Line]:
    return [line for line in lines if (line.row.mechanism, line.row.claimed_epsilon) == (mechanism, epsilon)]


def test_a_line_is_a_mean_over_seeds_at_one_budget() -> None:
    lines = table(make_rows()).lines
    assert len(lines) == 3 + 2 * 2
    [original] = of(lines, "original", 8.0)
    assert (str(original.accuracy), original.accuracy.seeds, original.row.epsilon) == ("0.810", 3, 32.0)
    assert (original.title, original.model) == ("original (claim false)", "l2 model")


def test_each_model_has_references_of_its_own() -> None:
    levels = table(make_mixed()).levels["accuracy"]
    assert levels["random (l2 model)"].mean == pytest.approx(0.6)
    assert levels["random (sphere model, topics)"].mean == pytest.approx(0.2)
    assert "random" not in levels
    assert levels["always the majority label"].mean == pytest.approx(0.55)
    assert "always the majority label" not in table(make_mixed()).levels["macro_f1"]


def test_curves_are_in_the_librarys_order_with_ascending_budgets() -> None:
    curves = table(list(reversed(make_mixed()))).curves
    assert [curve.mechanism for curve in curves] == ["original", "sqrt_n", "learned_codebook"]
    assert all(list(curve.at) == [8.0, 64.0] for curve in curves)


def test_distance_above_random_is_taken_seed_by_seed() -> None:
    rows = [
        row
        for seed, floor in enumerate((0.1, 0.5, 0.3))
        for row in (made("random", floor, seed=seed), made("l1", floor + 0.2, 8.0, seed=seed))
    ]
    random, ours = (line.above_floor for line in table([*rows, replace(BASE, majority_accuracy=0.0)]).lines[:2])
    assert random is None
    assert ours is not None
    assert (ours.mean, ours.low, ours.seeds) == (pytest.approx(0.2), pytest.approx(0.2), 3)


def test_the_best_floor_is_names_or_examples_where_these_are_above_random() -> None:
    """By each seed: random has .6, names .5 and examples .7, and l1 has .8."""
    free = {"clip": None, "content": None, "decoder": None}
    rows = [BASE, made("random", 0.6), made("names", 0.5, **free), made("l1", 0.8, 8.0)]
    [ours] = of(table(rows).lines, "l1", 8.0)
    assert (ours.floor, ours.above_floor and ours.above_floor.mean) == ("random", pytest.approx(0.2))
    found = table([*rows, made("examples", 0.7, **free), made("examples", 0.9, classifier="lstm", **free)])
    [ours] = of(found.lines, "l1", 8.0)
    assert (ours.floor, ours.above_floor and ours.above_floor.mean) == ("examples", pytest.approx(0.1))
    assert [line.floor for line in found.lines if line.row.mechanism in report.FLOORS] == [None] * 4
    assert found.levels["accuracy"]["examples"].mean == 0.7


def test_random_text_is_a_floor_whatever_decoder_writes_the_rewrites() -> None:
    """Names of labels teach the classifier beside random text, too, so both rows gain by them."""
    rows = [replace(BASE, majority_accuracy=0.5), made("random", 0.6), made("description", 0.8, 16.0, decoder="codec")]
    [ours] = of(table(rows).lines, "description", 16.0)
    assert (ours.floor, ours.above_floor and ours.above_floor.mean) == ("random", pytest.approx(0.2))


def test_the_majority_is_a_floor_where_labels_are_copied() -> None:
    found = {}
    for labels in ("copy", "joint"):
        rows = [
            replace(BASE, majority_accuracy=0.7),
            made("random", 0.6, labels=labels),
            made("l1", 0.8, 8.0, labels=labels),
        ]
        [ours] = of(table(rows).lines, "l1", 8.0)
        found[labels] = (ours.floor, ours.above_floor and round(ours.above_floor.mean, 6))
    assert found == {"copy": ("always the majority label", 0.1), "joint": ("random", 0.2)}


def test_one_seed_has_an_interval_over_the_test_records() -> None:
    """Of 100 test records, random is right at 60, and l1 at these and 20 others, or at all others and 40 of these."""
    right = np.arange(100)
    free = made("random", 0.6, test_records=100, hits=pack_hits(right < 60))
    intervals = []
    for hits in (right < 80, right >= 20):
        rows = [BASE, free, made("l1", 0.8, 8.0, test_records=100, hits=pack_hits(hits))]
        [ours] = of(table(rows).lines, "l1", 8.0)
        assert ours.above_floor is not None
        assert ours.above_floor.mean == pytest.approx(0.2)
        assert "±" in ours.above_floor.spread
        intervals.append(ours.above_floor.high - ours.above_floor.low)
    assert 0.1 < intervals[0] < 0.2 < intervals[1] < 0.4


def test_a_claim_is_false_where_more_is_spent_and_no_rounding_makes_it_so() -> None:
    def false(claimed: float | None, epsilon: float) -> bool:
        row = replace(made("l1", 0.5), claimed_epsilon=claimed, epsilon=epsilon)
        return table([BASE, row]).lines[1].false_claim

    assert false(8.0, 8.1)
    assert not false(8.0, 8.0 * (1 + 1e-12))
    assert not false(None, float("inf"))


def test_what_is_kept_has_a_column_beside_that_of_another_record() -> None:
    rows = [replace(row, words=0.25 + 0.25 * row.seed) if row.mechanism == "sqrt_n" else row for row in make_kept()]
    lines = table(rows).lines
    ours = of(lines, "sqrt_n", 64.0)[0].measures
    assert [ours[name] for name in ("words", "words_other", "slots_other", "fluency")] == [0.5, 0.1, 0.05, 0.75]
    assert of(lines, "none", None)[0].measures["words"] is None
    assert set(report.OTHERS) <= set(report.QUALITY)
