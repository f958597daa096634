"""``label_codewords=auto``: a row whose texts the names of copied labels help to choose."""

from dataclasses import replace
from pathlib import Path

import broad
import pytest
from comparing import compared

from adept.comparison import comparison as trial
from adept.comparison.config import CompareConfig, plan_comparison
from adept.data.corpus import DataConfig
from adept.errors import ConfigurationError
from adept.report.figures import choose_curves
from adept.report.table import table


def config(run: Path, directory: Path, **changes: object) -> CompareConfig:
    options: dict[str, object] = {
        "data": DataConfig(sizes=[400, 40, 60]),
        "mechanisms": ["learned_codebook"],
        "epsilons": [4.0],
        "seeds": [0],
        "samples": 1,
        "model_dir": str(run),
        "label_codewords": "auto",
        "output_dir": str(directory),
        **changes,
    }
    return CompareConfig(**options)  # type: ignore[arg-type]


def test_one_row_is_added_at_each_epsilon_and_neither_attacked_nor_audited(tmp_path: Path) -> None:
    given = config(tmp_path, tmp_path / "c", epsilons=[2.0, 4.0], attacks=True)
    plan = plan_comparison(given)
    assert [cell.budget for cell in plan.recipes if cell.mechanism == "by_label"] == [2.0, 4.0]
    assert "by_label" not in {cell.mechanism for cell in (*plan.attacked, *plan.audited)}
    without = plan_comparison(replace(given, label_codewords="off"))
    assert [cell for cell in plan.recipes if cell.mechanism != "by_label"] == without.recipes


def test_its_row_stands_beside_those_of_the_mechanisms(
    topic_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with broad.model_of(topic_run) as parts:
        monkeypatch.setattr(trial, "load_model", lambda *_: parts)
        rows = {row.mechanism: row for row in compared(config(topic_run, tmp_path / "c"))}
    own = rows["by_label"]
    assert (own.epsilon, own.claimed_epsilon, own.labels, own.decoder) == (4.0, 4.0, "copy", "codec")
    assert own.train_records == rows["learned_codebook"].train_records
    shown = choose_curves(table(list(rows.values())).curves)
    assert {curve.title for curve in shown} == {"learned_codebook", "codewords by label"}


@pytest.mark.parametrize(
    "changes",
    [
        {"labels": "joint_response"},
        {"labels": "randomized_response", "label_epsilon": 1.0},
        {"trust": "central"},
        {"model_dir": None},
    ],
)
def test_labels_that_are_not_copied_have_no_such_row(tmp_path: Path, changes: dict[str, object]) -> None:
    with pytest.raises(ConfigurationError, match="label_codewords must be off unless labels=copy"):
        config(tmp_path, tmp_path / "c", **changes)
    with pytest.raises(ConfigurationError, match="label_codewords must be one of"):
        config(tmp_path, tmp_path / "c", label_codewords="on")


def test_a_model_of_one_domain_is_refused(topic_run: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="model_dir must be a model of broad text"):
        compared(config(topic_run, tmp_path / "c"))
