"""Alternatives stand in the comparison's table with their true budget, one text a record, and a verdict."""

import math
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from audit.asking import only_questions
from comparing import compare, compared
from made_rows import made, make_rows

from adept.comparison import comparison as evidence
from adept.comparison.comparison import Trial, build_alternative
from adept.comparison.config import ALTERNATIVES, TOKEN_WISE, CompareConfig, plan_comparison
from adept.comparison.results import ResultRow, Store
from adept.data.corpus import DataConfig, load
from adept.errors import ConfigurationError
from adept.report import page
from adept.report.figures import draw
from adept.report.table import table


@pytest.fixture(scope="module")
def asked(topic_run: Path, tmp_path_factory: pytest.TempPathFactory) -> CompareConfig:
    directory = tmp_path_factory.mktemp("alternatives") / "run"
    data = DataConfig(sizes=[180, 40, 40])
    options = {"mechanisms": ["learned_codebook"], "epsilons": [6.0, 20.0], "model_dir": str(topic_run)}
    return CompareConfig(data=data, seeds=[0], samples=2, alternatives=True, output_dir=str(directory), **options)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def rows(asked: CompareConfig) -> list[ResultRow]:
    return compared(asked)


def test_every_alternative_has_a_row_at_every_budget_and_redaction_has_one(
    asked: CompareConfig, rows: list[ResultRow]
) -> None:
    found = [(row.mechanism, row.claimed_epsilon) for row in rows if row.mechanism in ALTERNATIVES]
    word_wise = [(name, epsilon) for name in TOKEN_WISE for epsilon in (6.0, 20.0)]
    assert found == [*word_wise, ("redaction", None), ("prompt_sampling", 6.0), ("prompt_sampling", 20.0)]
    assert len(plan_comparison(asked).recipes) == len(rows)
    without = plan_comparison(replace(asked, alternatives=False)).recipes
    assert not [cell for cell in without if cell.mechanism in ALTERNATIVES]


def test_budgets_are_those_of_a_whole_record_and_a_record_has_one_text(rows: list[ResultRow]) -> None:
    for row in (row for row in rows if row.mechanism in ALTERNATIVES):
        assert row.epsilon == (math.inf if row.mechanism == "redaction" else row.claimed_epsilon)
        assert (row.delta, row.samples, row.train_records) == (0.0, 1, 90)
        assert row.words is not None
    codebook = next(row for row in rows if row.mechanism == "learned_codebook")
    assert codebook.samples == 2


def test_labels_with_a_budget_of_their_own_leave_the_rest_to_the_text(asked: CompareConfig, tmp_path: Path) -> None:
    labels = {"labels": "randomized_response", "label_epsilon": 2.0}
    config = replace(asked, epsilons=[6.0], output_dir=str(tmp_path), **labels)  # type: ignore[arg-type]
    trial = Trial(Store(config), load(config.data), 0)
    cells = [cell for cell in plan_comparison(config).recipes if cell.mechanism in TOKEN_WISE]
    assert [build_alternative(trial, cell).epsilon for cell in cells] == [4.0] * len(TOKEN_WISE)


def test_labels_that_are_one_symbol_with_the_text_are_refused(asked: CompareConfig) -> None:
    with pytest.raises(ConfigurationError, match="labels must be copy or randomized_response with alternatives=true"):
        replace(asked, labels="joint_response")


def test_the_page_holds_their_guarantees_and_verdicts(
    asked: CompareConfig, rows: list[ResultRow], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(evidence, "AUDIT_TRIALS", 100)
    passed = SimpleNamespace(violated=False, certified_epsilon=0.0, checks=[])
    monkeypatch.setattr(evidence, "_audit", lambda *_: (passed, ""))
    with only_questions("event"):
        found = compare(asked)
    assert found.rows == rows
    assert [verdict.mechanism for verdict in found.audits] == ["learned_codebook", *TOKEN_WISE, "prompt_sampling"]
    assert not any(verdict.violated for verdict in found.audits)
    text = page.write(found).path.read_text("utf-8")
    for said in (
        "token-wise response",
        "DP-Prompt on our decoder",
        "positions, padding included",
        "redaction (no guar",
    ):
        assert said in text
    assert "adept audit mechanism=token_response" not in text
    assert "adept audit mechanism=learned_codebook" in text


def test_the_figure_names_them() -> None:
    words = {"clip": None, "content": None, "decoder": "words"}
    mine = [made("token_response", 0.3, epsilon, **words) for epsilon in (8.0, 64.0)]
    assert "token-wise response" in draw(table([*make_rows(), *mine]))
