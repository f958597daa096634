"""The verdict beside a curve is an audit's, and it is asked for once."""

from pathlib import Path
from types import SimpleNamespace

import pytest
from audit.asking import only

from adept.comparison import audits as verdicts
from adept.comparison.run import CompareConfig


def test_the_original_is_convicted_and_its_verdict_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verdicts, "AUDIT_TRIALS", 200)
    config = CompareConfig(mechanisms=["original"], epsilons=[8.0, 64.0], output_dir=str(tmp_path))
    with only("sensitivity", "event"):
        [original] = verdicts.verdicts(config)
    assert original.violated
    assert original.epsilon == 8.0
    assert "l1 distance" in original.evidence
    assert verdicts.describe(original).startswith("convicted: ")
    monkeypatch.setattr(verdicts.audit, "run", lambda *_, **__: pytest.fail("audited again"))
    assert verdicts.verdicts(config) == [original]


def test_what_is_audited_is_the_symbol_where_labels_are_part_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[str, float, int]] = []
    run = verdicts.audit.run
    monkeypatch.setattr(
        verdicts.audit, "run", lambda m, **k: (asked.append((m.name, m.epsilon, len(m.labels))), run(m, trials=200))[1]
    )
    config = CompareConfig(
        mechanisms=["description"], epsilons=[2.0, 8.0], labels="joint_response", output_dir=str(tmp_path)
    )
    [verdict] = verdicts.verdicts(config)
    assert asked == [("joint_response", 2.0, len(verdicts.STAND_INS))]
    assert not verdict.violated


def test_the_audited_claim_is_that_of_the_text_where_labels_have_a_budget_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    claims: list[float] = []
    found = SimpleNamespace(violated=False, certified_epsilon=0.0, checks=[])
    monkeypatch.setattr(verdicts.audit, "run", lambda m, **_: (claims.append(m.epsilon), found)[1])
    labels = {"labels": "randomized_response", "label_epsilon": 2.0}
    config = CompareConfig(mechanisms=["l1"], epsilons=[8.0], output_dir=str(tmp_path), **labels)  # type: ignore[arg-type]
    [verdict] = verdicts.verdicts(config)
    assert claims == [verdict.epsilon] == [6.0]
