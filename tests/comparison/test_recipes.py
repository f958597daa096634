"""A configuration is a list of recipes, and parts of it can be made apart."""

from dataclasses import replace

from adept.comparison.config import CompareConfig, plan_comparison

CONFIG = CompareConfig(mechanisms=["l1", "sqrt_n", "learned_codebook"], epsilons=[2.0, 8.0], output_dir="x")
CELLS = plan_comparison(CONFIG).recipes


def test_every_model_has_its_references_before_its_mechanisms() -> None:
    assert [
        (cell.mechanism, cell.budget, cell.model and f"{cell.model.clip}-{cell.model.content}")
        for cell in plan_comparison(CONFIG).recipes
    ] == [
        ("none", None, None),
        ("names", None, None),
        ("names_directly", None, None),
        ("identity", None, "l2-none"),
        ("random", None, "l2-none"),
        ("sqrt_n", 2.0, "l2-none"),
        ("sqrt_n", 8.0, "l2-none"),
        ("identity", None, "l1-none"),
        ("random", None, "l1-none"),
        ("l1", 2.0, "l1-none"),
        ("l1", 8.0, "l1-none"),
        ("identity", None, "sphere-topics"),
        ("random", None, "sphere-topics"),
        ("learned_codebook", 2.0, "sphere-topics"),
        ("learned_codebook", 8.0, "sphere-topics"),
    ]


def test_baselines_train_on_public_labels_only_where_there_is_a_public_half() -> None:
    config = replace(CONFIG, baselines=True, classifiers=["tfidf", "lstm"])
    names = [
        cell.mechanism for cell in plan_comparison(config).recipes if cell.classifier == "lstm" and not cell.model
    ][1:]
    assert names == ["names", "names_directly", "public_only"]
    found = plan_comparison(replace(config, protocol="paper")).recipes
    assert {cell.mechanism for cell in found if not cell.model} == {"none", "names", "names_directly"}


def test_each_release_is_attacked_once_and_each_claim_is_audited_at_the_least_budget() -> None:
    config = replace(CONFIG, attacks=True, alternatives=True, mechanisms=["learned_codebook", "l1"])
    plan = plan_comparison(config)
    assert {*plan.attacked, *plan.audited} <= set(plan.recipes)
    assert len(plan.models) == len(set(plan.models)) == 3
    assert [(cell.mechanism, cell.budget) for cell in plan.attacked] == [
        (name, epsilon) for name in ("learned_codebook", "l1") for epsilon in (2.0, 8.0)
    ]
    audited = ["learned_codebook", "l1", "token_response", "token_exponential", "prompt_sampling"]
    assert [(cell.mechanism, cell.budget) for cell in plan.audited] == [(name, 2.0) for name in audited]
