"""The verdict beside a curve is an audit's, and it is asked for once."""

from pathlib import Path

import pytest

from adept import verdicts
from adept.comparison import CompareConfig


def test_the_original_is_convicted_and_its_verdict_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = CompareConfig(mechanisms=["original"], epsilons=[8.0, 64.0], output_dir=str(tmp_path))
    [original] = verdicts.verdicts(config)
    assert original.violated
    assert original.epsilon == 8.0
    assert "l1 distance" in original.evidence
    assert verdicts.describe(original).startswith("convicted: ")
    monkeypatch.setattr(verdicts.audit, "run", lambda *_, **__: pytest.fail("audited again"))
    assert verdicts.verdicts(config) == [original]
