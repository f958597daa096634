"""What a report says in numbers: means over seeds of rows that belong together, and of no others."""

from dataclasses import replace

import pytest
from made_rows import BASE, made, make_mixed, make_rows

from adept.report import table as report
from adept.report.table import Section, Source


def line(sections: list[Section], *start: str) -> list[str]:
    """The one line that starts with these cells."""
    [found] = [line for section in sections for line in section.lines if line[: len(start)] == list(start)]
    return found


def test_the_table_gives_means_and_the_originals_true_epsilon() -> None:
    headings, lines = report.table(make_rows(), "accuracy")
    assert headings == ["claimed epsilon", "8", "64"]
    assert lines[0] == ["original (claim false)", "0.810", "0.880"]
    assert lines[1] == ["  its true epsilon", "32", "256"]
    assert ["sqrt_n", "0.610", "0.700"] in lines
    assert ["random", "0.600", "0.600"] in lines
    assert ["always the commonest label", "0.550", "0.550"] in lines


def test_intervals_are_students_over_seeds() -> None:
    figure = report.figure_of([0.80, 0.81, 0.82])
    assert figure.mean == pytest.approx(0.81)
    assert figure.high - figure.mean == pytest.approx(4.3027 * 0.01 / 3**0.5, rel=1e-4)
    assert figure.spread == "0.810 ± 0.025"
    assert report.figure_of([0.8]).low == 0.8
    assert report.figure_of([0.8]).spread == "0.800"


def test_other_decoders_and_classifiers_do_not_enter_the_table() -> None:
    _, lines = report.table(make_mixed(), "accuracy")
    assert ["learned_codebook (the rewriter saw public labels)", "0.750", "0.750"] in lines
    assert ["lookup", "0.450", "0.450"] in lines
    assert ["public_only", "0.850", "0.850"] in lines
    assert ["none", "0.900", "0.900"] in lines
    assert ["always the commonest label", "0.550", "0.550"] in lines
    assert [text[0] for text in lines if "learned_codebook" in text[0]] == [lines[3][0]]


def test_each_model_has_ends_of_its_own() -> None:
    levels = report.levels(make_mixed(), "accuracy")
    assert levels["random (l2 model)"].mean == pytest.approx(0.6)
    assert levels["random (sphere model, labels: light supervision)"].mean == pytest.approx(0.2)
    assert "random" not in levels


def test_distance_above_random_is_of_the_same_model_decoder_and_classifier() -> None:
    _, sections = report.fair_table(make_mixed(), "tfidf")
    name = "learned_codebook (the rewriter saw public labels)"
    latents = "learned_codebook, latents (the rewriter saw public labels)"
    nearest = "learned_codebook, nearest (the rewriter saw public labels)"
    assert line(sections, name, "8")[2:6] == ["8", "0.750", "0.500", "0.550"]
    assert line(sections, latents, "8")[5] == "0.690"
    denoised = "learned_codebook, denoised (the rewriter saw public labels)"
    assert line(sections, denoised, "8")[5] == "0.700"
    assert line(sections, nearest, "8")[5] == report.ABSENT  # nobody looked up random latents
    assert line(sections, "lookup", "8")[5] == report.ABSENT
    assert line(sections, "sqrt_n", "64")[5] == "0.100 ± 0.000"
    _, halved = report.fair_table(make_mixed(), "lstm")
    assert line(halved, name, "8")[3:6] == ["0.375", "0.500", "0.275"]
    assert line(halved, latents, "8")[3] == "0.990"  # has a classifier of its own


def test_distance_above_random_is_taken_seed_by_seed() -> None:
    rows = [
        row
        for seed, floor in enumerate((0.1, 0.5, 0.3))
        for row in (made("random", floor, seed=seed), made("l1", floor + 0.2, 8.0, seed=seed))
    ]
    gain = report.above_random(rows, Source.of(rows[1]), 8.0)
    assert gain is not None
    assert (gain.mean, gain.low) == (pytest.approx(0.2), pytest.approx(0.2))


def test_the_fair_table_has_a_section_a_model_and_says_where_labels_helped() -> None:
    headings, sections = report.fair_table(make_mixed(), "tfidf")
    assert [section.title for section in sections] == [
        "Without a model",
        "Model with l2 clip, content: none",
        "Model with sphere clip, content: labels (light supervision: the rewriter saw public labels)",
    ]
    assert all(len(line) == len(headings) for section in sections for line in section.lines)
    assert line(sections, "original (claim false)", "8")[1:3] == ["8", "32"]
    assert [cells[0] for cells in sections[0].lines] == [
        "none", "public_only", "lookup", "lookup", "always the commonest label",
    ]  # fmt: skip


def test_quality_of_the_text_has_columns_where_it_was_measured() -> None:
    rows = [BASE, made("random", 0.5, overlap=0.125, bleu=1.5, distinct=0.5, perplexity=123.4)]
    headings, sections = report.fair_table(rows, "tfidf")
    assert headings[-4:] == ["overlap", "BLEU", "distinct", "perplexity"]
    assert line(sections, "random")[-4:] == ["0.125", "1.50", "0.500", "123"]
    assert line(sections, "none")[-4:] == [report.ABSENT] * 4
    assert "overlap" not in report.fair_table(make_rows(), "tfidf")[0]


def test_word_for_word_repetitions_are_shares_of_rewrites() -> None:
    counts = {"verbatim_own": 0.02, "verbatim_chance": 0.005, "verbatim_public": 0.5}
    rows = [replace(row, **counts) if row.mechanism == "sqrt_n" else row for row in make_rows()]
    _, sections = report.repeats(rows)
    assert line(sections, "sqrt_n", "8")[2:] == ["2.00%", "0.50%", "50.00%"]
    assert len(sections) == 1
    assert report.repeats(make_rows())[1] == []


def test_a_claim_is_false_where_more_is_spent_and_no_rounding_makes_it_so() -> None:
    assert report.false_claim([replace(BASE, claimed_epsilon=8.0, epsilon=8.1)])
    assert not report.false_claim([replace(BASE, claimed_epsilon=8.0, epsilon=8.0 * (1 + 1e-12))])
    assert not report.false_claim([BASE])
