"""The sentences of a report follow from its numbers."""

from dataclasses import replace

from made_rows import BASE, BUDGETS, made, make_mixed, make_rows

from adept.comparison.config import CompareConfig
from adept.comparison.results import ResultRow
from adept.report import page
from adept.report.table import table


def headline(rows: list[ResultRow]) -> str:
    return page.state_point(table(rows))


def advice(rows: list[ResultRow]) -> str:
    return page.advise(table(rows))


def without_original() -> list[ResultRow]:
    return [row for row in make_rows() if row.mechanism != "original"]


def test_budgets_that_write_the_same_sentences_are_marked() -> None:
    rows = [BASE, *(made("description", 0.8, float(epsilon), enough=16) for epsilon in (8, 16, 24, 32))]
    warnings = page.warn_of_flat_parts(table(rows))
    assert [line.partition(", where")[0].partition(" writes ")[2] for line in warnings] == [
        "the same sentences at epsilon 24 as at 16",
        "the same sentences at epsilon 32 as at 16",
    ]
    assert page.warn_of_flat_parts(table(make_rows())) == []
    [cells] = [cells for title, cells in page.fair_grid(table(rows), "tfidf").sections.items() if "l2" in title]
    assert [cell[1] for cell in cells] == ["8", "16", "24 (as 16)", "32 (as 16)"]


def test_the_headline_names_the_gap_and_the_budget_really_spent() -> None:
    line = headline(make_rows())
    assert "claimed epsilon of 8 " in line
    assert "0.810" in line
    assert "0.610" in line
    assert "epsilon 32." in line
    assert "random" in headline(without_original())


def test_the_headline_compares_with_the_random_of_the_best_mechanisms_own_model() -> None:
    line = headline(make_mixed())
    assert "(learned_codebook) 0.750" in line
    assert "nothing of the records reaches 0.200" in line


def test_descriptions_can_be_the_best_though_no_random_line_is_theirs() -> None:
    topics = {"clip": "sphere", "content": "topics", "decoder": "codec"}
    line = headline([*make_mixed(), *(made("description", 0.78, epsilon, **topics) for epsilon in BUDGETS)])
    assert "(description) 0.780" in line
    assert "nothing of the records reaches 0.600" in line


def test_the_advice_is_the_best_whose_claim_holds() -> None:
    found = advice(make_rows())
    assert found.startswith("What to use: sqrt_n")
    assert "0.610 at epsilon 8 (0.010 above random) and 0.700 at epsilon 64 (0.100 above random)" in found
    assert advice([row for row in make_rows() if row.mechanism != "sqrt_n"]).startswith("No mechanism")


def test_the_advice_is_to_use_nothing_where_the_seeds_do_not_agree() -> None:
    shifts = (-0.05, 0.1, 0.2)  # 0.083 above random in the mean, give or take 0.31
    rows = [replace(row, accuracy=0.6 + shifts[row.seed]) if row.mechanism == "sqrt_n" else row for row in make_rows()]
    assert "nothing of this" in advice(rows)


def test_a_rewriter_that_loses_much_of_the_text_by_itself_is_warned_of() -> None:
    assert page.warn_of_losses(table(make_rows())) == []
    lossy = [replace(row, accuracy=0.5) if row.mechanism == "identity" else row for row in make_mixed()]
    [warning] = page.warn_of_losses(table(lossy))
    assert "0.500 (l2 model), 0.500 (sphere model, topics), that of the text 0.900" in warning


def test_a_model_that_was_trained_on_the_records_is_warned_about() -> None:
    config = CompareConfig(output_dir="x")
    assert page.warn_of_seen_records(config) == []
    [warning] = page.warn_of_seen_records(replace(config, protocol="paper"))
    assert warning.startswith("No guarantee of this page holds")
    assert "codec" not in warning
    described = replace(config, protocol="paper", mechanisms=["l1", "description"])
    assert "and its codec is not public." in page.warn_of_seen_records(described)[0]
    both = replace(described, mechanisms=["learned_codebook", "description"])
    assert "its codec and codebook are not public." in page.warn_of_seen_records(both)[0]


def test_the_page_names_one_best_mechanism() -> None:
    """A second one that is better at the one budget where the original gains most does not take its place."""
    rows = make_rows()
    others = [replace(row, mechanism="l1", accuracy={8.0: 0.65, 64.0: 0.5}[row.claimed_epsilon or 8.0]) for row in rows
              if row.mechanism == "sqrt_n"]  # fmt: skip
    both = [*rows, *others]
    assert "(sqrt_n) 0.610" in headline(both)
    assert advice(both).startswith("What to use: sqrt_n")


def test_training_that_was_too_short_to_judge_is_said() -> None:
    config = CompareConfig(output_dir="x")
    rows = [replace(row, test_records=1000) for row in make_rows()]
    assert page.warn_of_short_training(config, table(rows)) == []
    below = [replace(row, accuracy=0.5) if row.mechanism == "random" else row for row in rows]
    [warning] = page.warn_of_short_training(config, table(below))
    assert warning.startswith(
        "Training was too short to judge: random reaches 0.500 (l2 model), less than the majority label"
    )
    assert page.warn_of_short_training(replace(config, model_dir="utterances"), table(below)) == []
    weak = [replace(row, accuracy=0.62) if row.mechanism == "identity" else row for row in rows]
    [warning] = page.warn_of_short_training(config, table(weak))
    assert "at epsilon 8 reaches 0.810, more than its model without noise (identity) with 0.620" in warning
    few = [replace(row, test_records=10) for row in below]
    assert page.warn_of_short_training(config, table(few)) == [], "ten records do not tell .5 from .55"


def test_budgets_that_buy_nothing_above_the_names_of_labels_are_listed() -> None:
    """The corrected mechanism has .61 at 8 and .7 at 64; names alone reach .65, compared directly .4."""
    assert page.name_idle_budgets(table(make_rows())) == ""
    named = [
        *make_rows(),
        made("names", 0.65, clip=None, content=None, decoder=None),
        made("names_directly", 0.4, clip=None, content=None, decoder=None),
    ]
    said = page.name_idle_budgets(table(named))
    assert "what is free without any record: sqrt_n at 8 (names of labels alone (given the label set): 0.650)." in said
    assert said.endswith(" A larger public encoder may get more from names. ")
    assert "64" not in said
    assert headline(named).startswith(said)
    shown = [cells[0] for cells in page.budget_grid(table(named), "accuracy").sections[""]]
    assert "names of labels alone (given the label set)" in shown
    assert "names" not in shown
    low = [replace(row, accuracy=0.1) if row.mechanism == "names" else row for row in named]
    assert page.name_idle_budgets(table(low)) == ""
    taught = [*low, made("examples", 0.7, clip=None, content=None, decoder=None)]
    assert page.name_idle_budgets(table(taught)).endswith(": sqrt_n at 8, 64 (labelled public examples alone: 0.700). ")
    assert "0.700 at epsilon 64 (0.000 above labelled public examples alone)" in advice(taught)
    strong = [replace(row, accuracy=0.99) if row.mechanism == "names" else row for row in named if row.seed == 0]
    both = page.name_idle_budgets(table(strong))
    assert " and sqrt_n at 8, 64 (names of labels" in both
    assert both.count("0.990") == 1, "what is free is repeated for each mechanism"


def test_single_releases_of_a_small_file_are_given_as_a_range() -> None:
    assert page.warn_of_small_files(table(make_rows())) == []
    rows = [replace(row, train_records=100, accuracy=row.accuracy + 0.02 * row.seed) for row in make_rows()]
    [warning] = page.warn_of_small_files(table(rows))
    assert "with 100 records, another release may have about 0.08 more or less." in warning
    assert warning.endswith("Here, single releases by sqrt_n have 0.610 to 0.650 at 8, 0.700 to 0.740 at 64.")
    [once] = page.warn_of_small_files(table([row for row in rows if row.seed == 0]))
    assert once.endswith("more or less.")
