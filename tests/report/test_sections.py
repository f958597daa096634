"""The page's tables are lines of words and figures, a section a model, a column only where something was measured."""

from dataclasses import replace

from made_rows import BASE, made, make_mixed, make_rows

from adept.report.sections import ABSENT, Section, grids
from adept.report.table import table


def line(sections: list[Section], *start: str) -> list[str]:
    """The one line that starts with these cells."""
    [found] = [line for section in sections for line in section.lines if line[: len(start)] == list(start)]
    return found


def test_the_table_gives_means_and_the_originals_true_epsilon() -> None:
    grid = grids(table(make_rows())).by_budget[0]
    lines = grid.sections[0].lines
    assert grid.headings == ["claimed epsilon", "8", "64"]
    assert lines[0] == ["original (claim false)", "0.810", "0.880"]
    assert lines[1] == ["  its true epsilon", "32", "256"]
    assert ["sqrt_n", "0.610", "0.700"] in lines
    assert ["random", "0.600", "0.600"] in lines
    assert ["always the majority label", "0.550", "0.550"] in lines


def test_other_decoders_and_classifiers_do_not_enter_the_table() -> None:
    lines = grids(table(make_mixed())).by_budget[0].sections[0].lines
    assert ["learned_codebook", "0.750", "0.750"] in lines
    assert ["lookup", "0.450", "0.450"] in lines
    assert ["public_only", "0.850", "0.850"] in lines
    assert ["none", "0.900", "0.900"] in lines
    assert ["always the majority label", "0.550", "0.550"] in lines
    assert [text[0] for text in lines if "learned_codebook" in text[0]] == [lines[3][0]]


def test_distance_above_random_is_of_the_same_model_decoder_and_classifier() -> None:
    found = grids(table(make_mixed())).fair[0].sections
    name = "learned_codebook"
    latents = "learned_codebook, latents"
    nearest = "learned_codebook, nearest"
    assert line(found, name, "8")[2:6] == ["8", "0.750", "0.500", "0.550"]
    assert line(found, latents, "8")[5] == "0.690"
    assert line(found, nearest, "8")[5] == ABSENT  # nobody looked up random latents
    assert line(found, "lookup", "8")[5] == ABSENT
    assert line(found, "sqrt_n", "64")[5] == "0.100 ± 0.000"
    halved = grids(table(make_mixed())).fair[1].sections
    assert line(halved, name, "8")[3:6] == ["0.375", "0.500", "0.275"]
    assert line(halved, latents, "8")[3] == "0.990"  # has a classifier of its own


def test_the_fair_table_has_a_section_a_model() -> None:
    grid = grids(table(make_mixed())).fair[0]
    found = grid.sections
    assert [section.title for section in found] == [
        "Without a model",
        "Model with l2 clip",
        "Model with sphere clip, latents are topics",
    ]
    assert all(len(line) == len(grid.headings) for section in found for line in section.lines)
    assert line(found, "original (claim false)", "8")[1:3] == ["8", "32"]
    assert [cells[0] for cells in found[0].lines] == [
        "none", "public_only", "lookup", "lookup", "always the majority label",
    ]  # fmt: skip


def test_quality_of_the_text_has_columns_where_it_was_measured() -> None:
    rows = [BASE, made("random", 0.5, overlap=0.125, bleu=1.5, distinct=0.5, perplexity=123.4)]
    grid = grids(table(rows)).fair[0]
    assert grid.headings[-4:] == ["overlap", "BLEU", "distinct", "perplexity"]
    assert line(grid.sections, "random")[-4:] == ["0.125", "1.50", "0.500", "123"]
    assert line(grid.sections, "none")[-4:] == [ABSENT] * 4
    assert "overlap" not in grids(table(make_rows())).fair[0].headings


def test_what_is_kept_stands_before_the_same_for_another_record() -> None:
    kept = {"slots": 0.5, "slots_other": 0.125, "words": 0.25, "words_other": 0.0625, "fluency": 0.75}
    grid = grids(table([BASE, made("random", 0.5, **kept)])).fair[0]
    assert grid.headings[-3:] == ["slots", "words", "fluency"]
    assert line(grid.sections, "random")[-3:] == ["0.500 (0.125)", "0.250 (0.0625)", "0.750"]
    assert line(grid.sections, "none")[-3:] == [ABSENT] * 3


def test_word_for_word_repetitions_are_shares_of_rewrites() -> None:
    counts = {"verbatim_own": 0.02, "verbatim_chance": 0.005, "verbatim_public": 0.5}
    rows = [replace(row, **counts) if row.mechanism == "sqrt_n" else row for row in make_rows()]
    found = grids(table(rows)).repeats.sections
    assert line(found, "sqrt_n", "8")[2:] == ["2.00%", "0.50%", "50.00%"]
    assert len(found) == 1
    assert grids(table(make_rows())).repeats.sections == []


def test_break_even_has_a_column_where_parts_of_the_public_text_were_tried() -> None:
    tried = [replace(BASE, mechanism="public_50", accuracy=0.5, epsilon=0.0, train_records=50)]
    grid = grids(table([*make_rows(), *tried])).fair[0]
    assert grid.headings[6] == "break-even"
    assert line(grid.sections, "sqrt_n", "8")[6] == "> 50"
    assert line(grid.sections, "random")[6] == ABSENT
    assert "break-even" not in grids(table(make_rows())).fair[0].headings
