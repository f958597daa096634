"""``adept evaluate`` reads a file's labels for what its statement says that they are."""

import json
from pathlib import Path

import pytest

from adept.cli.evaluate import EvaluateConfig, run


@pytest.mark.parametrize(
    ("statement", "said", "accuracy"),
    [
        (None, None, 1.0),
        ("copy", None, 1.0),
        ("randomized_response", None, 0.5),
        ("joint_response", None, 0.5),
        ("joint_response", False, 1.0),
        (None, True, 0.5),
    ],
)
def test_randomised_labels_are_known_from_the_statement_beside_the_file(
    tmp_path: Path, statement: str | None, said: bool | None, accuracy: float
) -> None:
    """Of a thousand records one in ten is y and says b, which x says more often: noise, unless labels are noise themselves."""
    train, test = tmp_path / "out.jsonl", tmp_path / "test.jsonl"
    rows = [*[("a", "x")] * 697, *[("b", "x")] * 203, *[("a", "y")] * 22, *[("b", "y")] * 78]
    train.write_text("".join(json.dumps({"text": text, "intent": label}) + "\n" for text, label in rows))
    test.write_text(
        "".join(json.dumps({"text": text, "intent": label}) + "\n" for text, label in [("a", "x"), ("b", "y")])
    )
    if statement:
        (tmp_path / "out.jsonl.privacy.json").write_text(json.dumps({"labels": statement}))
    result = run(EvaluateConfig(train=str(train), test=str(test), noisy_labels=said))
    assert result.accuracy == accuracy
