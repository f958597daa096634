"""The sentences of a report follow from its numbers."""

from dataclasses import replace

from made_rows import BASE, make_mixed, make_rows

from adept.report import findings


def without_original() -> list:  # type: ignore[type-arg]
    return [row for row in make_rows() if row.mechanism != "original"]


def test_the_headline_names_the_gap_and_the_budget_really_spent() -> None:
    line = findings.headline(make_rows())
    assert "claimed epsilon of 8 " in line
    assert "0.810" in line
    assert "0.610" in line
    assert "epsilon 32." in line
    assert "random" in findings.headline(without_original())


def test_the_headline_compares_with_the_random_of_the_best_mechanisms_own_model() -> None:
    line = findings.headline(make_mixed())
    assert "(learned_codebook (the rewriter saw public labels)) 0.750" in line
    assert "nothing of the records reaches 0.200" in line


def test_false_claims_are_explained_and_true_ones_are_not() -> None:
    [sentence] = findings.broken_claims(make_rows())
    assert sentence.startswith("Why the original is broken")
    assert "spends 32 where it claims 8" in sentence
    assert findings.broken_claims(without_original()) == []
    endless = [
        replace(row, mechanism="dptext", epsilon=float("inf")) for row in make_rows() if row.mechanism == "sqrt_n"
    ]
    assert findings.broken_claims([BASE, *endless]) == [
        "dptext (not private): no epsilon holds for it, whatever it claims."
    ]


def test_the_advice_is_the_best_whose_claim_holds() -> None:
    advice = findings.advice(make_rows())
    assert advice.startswith("What to use: sqrt_n")
    assert "0.610 at epsilon 8 (0.010 above random) and 0.700 at epsilon 64 (0.100 above random)" in advice
    assert findings.advice([row for row in make_rows() if row.mechanism != "sqrt_n"]).startswith("No mechanism")


def test_the_advice_tells_what_denoising_adds() -> None:
    assert "Denoised it is 0.800 at epsilon 8 (0.700 above random)" in findings.advice(make_mixed())
    assert "Denoised" not in findings.advice(make_rows())


def test_the_advice_is_to_use_nothing_where_the_seeds_do_not_agree() -> None:
    shifts = (-0.05, 0.1, 0.2)  # 0.083 above random in the mean, give or take 0.31
    rows = [replace(row, accuracy=0.6 + shifts[row.seed]) if row.mechanism == "sqrt_n" else row for row in make_rows()]
    assert "nothing of this" in findings.advice(rows)


def test_the_advice_says_whether_private_records_are_worth_it() -> None:
    public = replace(BASE, mechanism="public_only", accuracy=0.65, epsilon=0.0)
    assert "surpass from epsilon 64 on" in findings.advice([*make_rows(), public])
    assert "more than any rewrite" in findings.advice([*make_rows(), replace(public, accuracy=0.8)])
    assert "public half" not in findings.advice(make_rows())
