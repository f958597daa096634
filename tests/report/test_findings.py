"""The sentences of a report follow from its numbers."""

from dataclasses import replace

from made_rows import BASE, make_mixed, make_rows

from adept.comparison.config import CompareConfig
from adept.comparison.results import ResultRow
from adept.report import findings
from adept.report.table import table


def headline(rows: list[ResultRow]) -> str:
    return findings.headline(table(rows))


def explain_broken_claims(rows: list[ResultRow]) -> list[str]:
    return findings.explain_broken_claims(table(rows))


def advice(rows: list[ResultRow]) -> str:
    return findings.advice(table(rows))


def without_original() -> list[ResultRow]:
    return [row for row in make_rows() if row.mechanism != "original"]


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


def test_false_claims_are_explained_and_true_ones_are_not() -> None:
    [sentence] = explain_broken_claims(make_rows())
    assert sentence.startswith("Why the original is broken")
    assert "spends 32 where it claims 8" in sentence
    assert explain_broken_claims(without_original()) == []
    endless = [
        replace(row, mechanism="dptext", epsilon=float("inf")) for row in make_rows() if row.mechanism == "sqrt_n"
    ]
    assert explain_broken_claims([BASE, *endless]) == [
        "dptext (not private): no epsilon holds for it, whatever it claims."
    ]


def test_the_advice_is_the_best_whose_claim_holds() -> None:
    found = advice(make_rows())
    assert found.startswith("What to use: sqrt_n")
    assert "0.610 at epsilon 8 (0.010 above random) and 0.700 at epsilon 64 (0.100 above random)" in found
    assert advice([row for row in make_rows() if row.mechanism != "sqrt_n"]).startswith("No mechanism")


def test_the_advice_is_to_use_nothing_where_the_seeds_do_not_agree() -> None:
    shifts = (-0.05, 0.1, 0.2)  # 0.083 above random in the mean, give or take 0.31
    rows = [replace(row, accuracy=0.6 + shifts[row.seed]) if row.mechanism == "sqrt_n" else row for row in make_rows()]
    assert "nothing of this" in advice(rows)


def test_the_advice_says_whether_private_records_are_worth_it() -> None:
    public = replace(BASE, mechanism="public_only", accuracy=0.65, epsilon=0.0)
    assert "surpass from epsilon 64 on" in advice([*make_rows(), public])
    assert "more than any rewrite" in advice([*make_rows(), replace(public, accuracy=0.8)])
    assert "public half" not in advice(make_rows())


def test_a_rewriter_that_loses_much_of_the_text_by_itself_is_warned_of() -> None:
    assert findings.warn_of_losses(table(make_rows())) == []
    lossy = [replace(row, accuracy=0.5) if row.mechanism == "identity" else row for row in make_mixed()]
    [warning] = findings.warn_of_losses(table(lossy))
    assert "0.500 (l2 model), 0.500 (sphere model, topics), that of the text 0.900" in warning


def test_a_model_that_was_trained_on_the_records_is_warned_about() -> None:
    config = CompareConfig(output_dir="x")
    assert findings.warn_of_seen_records(config) == []
    [warning] = findings.warn_of_seen_records(replace(config, protocol="paper"))
    assert warning.startswith("No guarantee of this page holds")
