"""The blocks of `docs/training.md` that are no single commands: a mechanism, a search and a checkpoint of one's own."""

import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from tiny import Run

from adept.models.tokenizer import Tokenizer
from adept.rewriting.unproved import import_kind

PAGE = (Path(__file__).parents[1] / "docs" / "training.md").read_text("utf-8")
SMALL = ["data.sizes=[200,40,40]", "model.hidden_dim=16", "model.embedding_dim=8", "trainer.max_epochs=1"]
TEXTS = ["show me flights to boston", "which airlines fly to denver"]


def blocks(section: str) -> list[str]:
    """Return the blocks of a section or, with its first words in bold, of a part of one."""
    after = PAGE.partition(section)[2]
    return re.findall(r"^```\w+\n(.*?)^```$", re.split(r"^(?:## |\*\*)", after, flags=re.MULTILINE)[0], re.M | re.S)


@pytest.mark.slow
def test_a_mechanism_of_ones_own_is_trained_audited_compared_and_released(
    adept_here: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    code, commands = blocks("## Your own mechanism\n")
    Path("mine.py").write_text(code)
    Path("in.jsonl").write_text("".join(f'{{"text": "{text}"}}\n' for text in TEXTS))
    monkeypatch.delitem(sys.modules, "mine", raising=False)
    import_kind.cache_clear()
    for line in commands.replace("\\\n", "").splitlines():
        _, command, *options = shlex.split(line)
        small = {"train": SMALL, "compare": [*SMALL, "classifiers=[tfidf]"], "audit": ["trials=500"]}.get(command, [])
        done = adept_here(command, *options, *small)
        assert done.returncode == (command == "audit"), (line, done.stderr)  # which refutes the claim, as the page says
    sys.modules.pop("mine", None)
    import_kind.cache_clear()


def test_yaml_files_of_ones_own_are_found_as_the_page_says(
    adept_here: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    content, command = blocks("## Your own yaml files\n")
    (tmp_path / "my" / "experiment").mkdir(parents=True)
    (tmp_path / "my" / "experiment" / "small.yaml").write_text(content)
    done = adept_here(*shlex.split(command)[1:], *SMALL)
    assert done.returncode == 0, done.stderr


def test_a_search_runs_the_command_once_for_each_trial(
    adept_here: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A module of our own stands for Optuna, which is no dependency: it asks for two trials."""
    monkeypatch.chdir(tmp_path)
    found: list[float] = []

    def optimize(objective: Callable[[Any], float], n_trials: int) -> None:
        assert n_trials == 20
        for number in range(2):
            trial = SimpleNamespace(
                number=number,
                suggest_int=lambda name, low, high: low,
                suggest_float=lambda name, low, high, log: high,
            )
            found.append(objective(trial))

    optuna = ModuleType("optuna")
    optuna.create_study = lambda: SimpleNamespace(optimize=optimize)  # type: ignore[attr-defined]
    optuna.Trial = SimpleNamespace  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "optuna", optuna)

    def run(words: list[str], *, check: bool) -> None:
        assert check
        done = adept_here(*words[1:], *SMALL)
        assert done.returncode == 0, done.stderr

    monkeypatch.setattr(subprocess, "run", run)
    (code,) = blocks("**Optuna.**")
    exec(compile(code, "docs/training.md", "exec"), {})
    assert len(found) == 2
    assert all(0 < loss < 20 for loss in found)


def test_a_checkpoint_is_loaded_and_writes_texts(tiny_l1_run: Path) -> None:
    (code,) = blocks("**Load a checkpoint**")
    names: dict[str, Any] = {"Tokenizer": Tokenizer, "texts": TEXTS}
    loaded = code.replace("runs/mine", str(tiny_l1_run))
    exec(compile(f"from adept.lightning import AdeptModule\n{loaded}", "docs/training.md", "exec"), names)
    assert [isinstance(text, str) for text in names["written"]] == [True, True]
