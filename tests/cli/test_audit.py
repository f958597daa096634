"""The audit command ends with status 1 where a violation is found, else with 0, and reports the same in JSON."""

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from audit.asking import make_cheap, only_questions
from tiny import Run


@pytest.fixture(autouse=True)
def _few_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make audits small: these tests read the command's words, not what an audit sees."""
    make_cheap(monkeypatch)


def test_the_original_is_refuted_with_status_1(adept_here: Run, tmp_path: Path) -> None:
    with only_questions(*(asked := {"sensitivity", "event", "scale", "seed", "fork"})):
        done = adept_here(
            "audit", "mechanism=original", "epsilon=1", "dim=16", "trials=400", f"output_dir={tmp_path}/run"
        )
    assert done.returncode == 1, done.stderr
    result = json.loads((tmp_path / "run" / "result.json").read_text())
    assert result["violated"] is True
    assert 0 < result["certified_epsilon"] <= 4
    assert {check["name"] for check in result["checks"]} == asked
    assert done.stdout.startswith(
        "Violation found (distribution): the claim of original, epsilon 1, is refuted by the check "
    )
    assert len(done.stdout.splitlines()) == 2


def test_a_sound_mechanism_ends_with_status_0(adept_here: Run) -> None:
    # The confidence makes a false alarm a one in 1e9 event.
    done = adept_here("audit", "mechanism=l1", "epsilon=1", "dim=3", "trials=200", "confidence=0.999999999")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(
        "No violation found, which is no proof of the claim of l1, epsilon 1; strongest evidence, "
    )


@pytest.mark.slow
def test_a_whole_rewriter_is_audited_by_guessing_and_by_replay(adept_here: Run, tiny_run: Path, tmp_path: Path) -> None:
    done = adept_here(
        "audit", "target=rewriter", f"model_dir={tiny_run}", "mechanism=sqrt_n", "epsilon=1", "trials=400",
        "confidence=0.999999999", f"output_dir={tmp_path}/run",
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    checks = {c["name"]: c["verdict"] for c in json.loads((tmp_path / "run" / "result.json").read_text())["checks"]}
    assert checks["guessing game"] == checks["replay"] == "passed"


def test_no_privacy_end_to_end_is_found(adept_here: Run, tiny_run: Path) -> None:
    with only_questions("event"):  # of the mechanism alone; all those of a rewriter are asked
        done = adept_here(
            "audit", "target=rewriter", f"model_dir={tiny_run}", "mechanism=identity", "epsilon=1", "trials=400"
        )
    assert done.returncode == 1, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (["target=everything"], "target must be"),
        (["target=rewriter", "epsilon=1"], "model_dir must be given"),
        (["epsilon=1", "trials=3"], "trials must be at least"),
        (["epsilon=1", "confidence=1"], "confidence must be"),
        ([], "epsilon must be given"),
    ],
)
def test_bad_input_is_one_line_with_status_2(adept_here: Run, overrides: list[str], message: str) -> None:
    done = adept_here("audit", *overrides)
    assert done.returncode == 2
    assert message in done.stderr
    assert done.stderr.count("\n") == 1


MINE = """
import numpy as np
class Mine:
    def __init__(self, *, epsilon):
        self.epsilon = epsilon
    def privatize(self, latents):
        x = np.clip(np.nan_to_num(np.asarray(latents)), -1, 1)
        return x + np.random.default_rng().laplace(0, {scale}, x.shape)
class Coin(Mine):
    def privatize(self, values):
        keep = np.random.default_rng().random(len(values)) < 0.5
        return [v if k else 0 for v, k in zip(values, keep)]
class Wants(Mine):
    def __init__(self, *, epsilon, more):
        pass
def shout(texts):
    return [text.upper() for text in texts]
"""


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Write a module in a directory of its own and go there."""

    def write(scale: str) -> None:
        monkeypatch.chdir(tmp_path)
        monkeypatch.delitem(sys.modules, "mine", raising=False)
        (tmp_path / "mine.py").write_text(MINE.format(scale=scale))

    return write


def test_anyones_mechanism_is_audited_by_its_module_and_attribute(adept_here: Run, mine: Callable[[str], None]) -> None:
    mine("2 * x.shape[1] / self.epsilon")
    sure = "trials=500", "confidence=0.999999999"
    with only_questions("event", "batch neighbours", "fresh copy"):
        done = adept_here("audit", "mechanism=mine:Mine", "epsilon=1", "dim=2", *sure, "verbose=true")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "batch neighbours" in done.stdout
    assert "Not looked at: rare total failures" in done.stdout
    done = adept_here("audit", "mechanism=mine:Mine", "epsilon=1", "dim=2", *sure, "reports=3")
    assert done.stdout.startswith("No violation found, which is no proof of the claim of 3 reports of Mine, epsilon 3;")
    done = adept_here("audit", "mechanism=mine:Coin", "epsilon=1", "alphabet=3", "trials=2000")
    assert done.returncode == 1, done.stdout + done.stderr
    done = adept_here("audit", "mechanism=mine:shout", "epsilon=1", "target=rewriter", "trials=500")
    assert done.returncode == 1, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("nowhere:Mine", "mechanism must be MODULE:ATTRIBUTE"),
        ("mine:Nothing", "mechanism must be MODULE:ATTRIBUTE"),
        ("mine:Wants", "must take epsilon"),
        ("mine:shout", "could not be judged"),
    ],
)
def test_what_cannot_be_judged_is_one_line_with_status_2(
    adept_here: Run, mine: Callable[[str], None], name: str, message: str
) -> None:
    mine("1")
    done = adept_here("audit", f"mechanism={name}", "epsilon=1", "dim=2", "trials=200")
    assert done.returncode == 2, done.stdout + done.stderr
    assert message in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("code", ["raise RuntimeError('boom')", "def (", "raise SystemExit", "1 / 0"])
@pytest.mark.parametrize("inside", [False, True])
def test_foreign_code_that_fails_while_it_is_loaded_is_one_line_with_status_2(
    adept_here: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str, inside: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "broken", raising=False)
    lines = ["class Mine:", "    def __init__(self, epsilon):", f"        {code}"] if inside else [code]
    (tmp_path / "broken.py").write_text("\n".join(lines) + "\n")
    done = adept_here("audit", "mechanism=broken:Mine", "epsilon=1")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    assert "broken:Mine" in done.stderr
