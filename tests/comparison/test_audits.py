"""The verdict beside a curve is an audit's, and it is asked for once."""

from pathlib import Path
from types import SimpleNamespace

import pytest
from audit.asking import only_questions

from adept.comparison import comparison as verdicts
from adept.comparison.comparison import Trial
from adept.comparison.config import CompareConfig, plan_comparison
from adept.comparison.results import AuditVerdict, Store
from adept.data.corpus import Corpus
from adept.report.page import verdict

NOTHING = dict.fromkeys(("train", "validation", "test"), Corpus(["a", "b"], ["x", "y"]))


def asked(config: CompareConfig) -> list[AuditVerdict]:
    """The verdicts on a comparison's mechanisms."""
    trial = Trial(Store(config), NOTHING, config.seeds[0])
    return [trial.obtain(AuditVerdict, cell, verdicts.judge) for cell in plan_comparison(config).audited]


def test_a_violation_is_found_in_the_original_and_its_verdict_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(verdicts, "AUDIT_TRIALS", 200)
    config = CompareConfig(mechanisms=["original"], epsilons=[8.0, 64.0], output_dir=str(tmp_path))
    with only_questions("sensitivity", "event"):
        [original] = asked(config)
    assert original.violated
    assert original.epsilon == 8.0
    assert "l1 distance" in original.evidence
    assert verdict(original).startswith("violation found; certified epsilon at least ")
    monkeypatch.setattr(verdicts.audit, "run", lambda *_, **__: pytest.fail("audited again"))
    assert asked(config) == [original]


def test_what_is_audited_is_the_symbol_where_labels_are_part_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    audited: list[tuple[str, float, int]] = []
    run = verdicts.audit.run
    monkeypatch.setattr(
        verdicts.audit,
        "run",
        lambda m, **k: (audited.append((m.name, m.epsilon, len(m.labels))), run(m, trials=200))[1],
    )
    config = CompareConfig(
        mechanisms=["description"], epsilons=[2.0, 8.0], labels="joint_response", output_dir=str(tmp_path)
    )
    [found] = asked(config)
    assert audited == [("joint_response", 2.0, len(verdicts.STAND_INS))]
    assert not found.violated


def test_the_audited_claim_is_the_texts_if_labels_have_a_budget_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    claims: list[float] = []
    result = SimpleNamespace(violated=False, certified_epsilon=0.0, checks=[])
    monkeypatch.setattr(verdicts.audit, "run", lambda m, **_: (claims.append(m.epsilon), result)[1])
    labels = {"labels": "randomized_response", "label_epsilon": 2.0}
    config = CompareConfig(mechanisms=["l1"], epsilons=[8.0], output_dir=str(tmp_path), **labels)  # type: ignore[arg-type]
    [found] = asked(config)
    assert claims == [found.epsilon] == [6.0]
