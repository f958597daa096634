"""The wheel is complete: installed elsewhere, away from the checkout, it runs every command."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from adept.__main__ import COMMANDS

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory into which the wheel was installed, without its dependencies."""
    target = tmp_path_factory.mktemp("wheel")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-input"]
    subprocess.run(
        [*pip, "install", "--quiet", "--no-deps", "--no-build-isolation", "--target", str(target / "site"), str(ROOT)],
        check=True,
        capture_output=True,
    )
    return target


def run_installed(installed: Path, *arguments: str) -> str:
    environment = {**os.environ, "PYTHONPATH": str(installed / "site"), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, *arguments], cwd=installed, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_wheel_brings_its_configuration_and_its_types(installed: Path) -> None:
    where = run_installed(installed, "-c", "import adept.cli.app as c; print(c.__file__, c.config_directory())").split()
    assert all(path.startswith(str(installed / "site")) for path in where)
    assert (installed / "site" / "adept" / "py.typed").exists()
    assert not (installed / "site" / "train.py").exists()
    templates = installed / "site" / "adept" / "report" / "templates"
    assert {path.name for path in templates.iterdir()} >= {"page.html.jinja", "style.css"}


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_every_commands_help_works_from_the_wheel(installed: Path, command: str) -> None:
    assert f"adept {command}" in run_installed(installed, "-m", "adept", command, "--help")


def test_a_tiny_train_rewrite_evaluate_works_from_the_wheel(installed: Path) -> None:
    adept = ("-m", "adept")
    (installed / "in.jsonl").write_text(
        '{"text": "flights to boston", "intent": "a"}\n{"text": "fares", "intent": "b"}\n' * 4
    )
    sizes = ["data.sizes=[100,20,20]", "model.hidden_dim=16", "model.latent_dim=4", "trainer.max_epochs=1"]
    run_installed(installed, *adept, "train", "output_dir=run", *sizes)
    run_installed(installed, *adept, "rewrite", "model_dir=run", "input=in.jsonl", "output=out.jsonl", "epsilon=8")
    assert "accuracy" in run_installed(installed, *adept, "evaluate", "train=out.jsonl", "test=in.jsonl")


@pytest.mark.parametrize("shim", ["train", "rewrite"])
def test_the_shims_in_the_checkout_run_their_command(shim: str) -> None:
    done = subprocess.run(
        [sys.executable, f"{shim}.py", "--help"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert f"adept {shim}" in done.stdout
