"""A configuration is a list of recipes, and a row leads back to its own."""

from dataclasses import replace

from made_rows import BASE, made

from adept.comparison.cells import PUBLIC_RECORDS, Cell, baselines, cells
from adept.comparison.config import CompareConfig
from adept.comparison.families import Family

CONFIG = CompareConfig(mechanisms=["l1", "sqrt_n", "learned_codebook"], epsilons=[2.0, 8.0], output_dir="x")


def test_every_model_has_its_references_before_its_mechanisms() -> None:
    assert [(cell.mechanism, cell.budget, cell.family and cell.family.key) for cell in cells(CONFIG)] == [
        ("none", None, None),
        ("identity", None, "l2"),
        ("random", None, "l2"),
        ("sqrt_n", 2.0, "l2"),
        ("sqrt_n", 8.0, "l2"),
        ("identity", None, "l1"),
        ("random", None, "l1"),
        ("l1", 2.0, "l1"),
        ("l1", 8.0, "l1"),
        ("identity", None, "sphere-topics"),
        ("random", None, "sphere-topics"),
        ("learned_codebook", 2.0, "sphere-topics"),
        ("learned_codebook", 8.0, "sphere-topics"),
    ]


def test_baselines_train_on_public_labels_only_where_there_is_a_public_half() -> None:
    config = replace(CONFIG, baselines=True, classifiers=["tfidf", "lstm"])
    names = [cell.mechanism for cell in baselines(config) if cell.classifier == "lstm"]
    assert names == ["public_only", *(f"public_{records}" for records in PUBLIC_RECORDS), "lookup", "lookup"]
    assert {cell.mechanism for cell in baselines(replace(config, protocol="paper"))} == {"lookup"}


def test_latents_have_a_classifier_of_their_own() -> None:
    found = cells(replace(CONFIG, baselines=True, classifiers=["tfidf", "lstm"]))
    assert {cell.classifier for cell in found if cell.decoder == "latents"} == {"logistic"}
    assert {cell.classifier for cell in found if cell.decoder == "nearest"} == {"tfidf", "lstm"}
    assert len(set(found)) == len(found)


def test_a_row_leads_back_to_its_cell() -> None:
    assert Cell.of(BASE) == Cell("none", None, None, "tfidf")
    row = made("learned_codebook", 0.5, 0.1, clip="sphere", content="words", decoder="nearest")
    assert Cell.of(row) == Cell("learned_codebook", 0.1, "nearest", "tfidf", Family("sphere", "words"))
