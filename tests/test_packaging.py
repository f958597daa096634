"""The wheel is complete: installed elsewhere, away from the checkout, it runs every command."""

import os
import subprocess
import sys
import sysconfig
import tomllib
from pathlib import Path

import pytest

from adept.__main__ import COMMANDS
from adept.cli.process import EXTRAS

ROOT = Path(__file__).parent.parent
EXTRA = ("datasets", "jinja2", "matplotlib", "pandas", "sacrebleu")  # what `pip install adept-dp` alone does not bring


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


@pytest.fixture(scope="module")
def without_extra(installed: Path) -> Path:
    """The same; beside it lies a copy of this environment in links, without the extra and what describes it."""
    (installed / "basic").mkdir()
    for entry in Path(sysconfig.get_path("purelib")).iterdir():
        if entry.name.lower().split("-")[0] not in EXTRA:
            (installed / "basic" / entry.name).symlink_to(entry)
    return installed


def run_installed(installed: Path, *arguments: str, extra: bool = True, status: int = 0) -> str:
    """Run the installed package; without the extra Python's own search for packages is off (-S)."""
    path = [installed / "site", *([] if extra else [installed / "basic"])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, path)), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, *([] if extra else ["-S"]), *arguments],
        cwd=installed, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == status, done.stderr
    return done.stdout if status == 0 else done.stderr


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


def test_a_tiny_train_rewrite_evaluate_works_from_the_wheel_without_the_extra(without_extra: Path) -> None:
    (without_extra / "in.jsonl").write_text(
        '{"text": "flights to boston", "intent": "a"}\n{"text": "fares", "intent": "b"}\n' * 4
    )
    sizes = ["data.sizes=[100,20,20]", "model.hidden_dim=16", "model.latent_dim=4", "trainer.max_epochs=1"]

    def adept(*arguments: str) -> str:
        return run_installed(without_extra, "-m", "adept", *arguments, extra=False)

    adept("train", "output_dir=run", *sizes)
    adept("rewrite", "model_dir=run", "input=in.jsonl", "output=out.jsonl", "epsilon=8")
    adept("rewrite", "model_dir=run", "input=out.jsonl", "output=out.parquet", "epsilon=8")
    assert "accuracy" in adept("evaluate", "train=out.parquet", "test=in.jsonl")


@pytest.mark.parametrize("command", ["compare", "study"])
def test_what_needs_the_extra_says_how_to_install_it(without_extra: Path, command: str) -> None:
    said = run_installed(without_extra, "-m", "adept", command, "output_dir=new", extra=False, status=2)
    assert 'is not installed: pip install "adept-dp[compare]"' in said
    assert said.count("\n") == 1


def test_the_extra_is_what_the_tests_take_away() -> None:
    listed = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]["compare"]
    assert {requirement.split(">")[0] for requirement in listed} == set(EXTRA) == set(EXTRAS)


def test_a_release_imports_neither_scikit_learn_nor_what_the_extra_brings(tiny_l1_run: Path, tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_text('{"text": "flights to boston", "intent": "a"}\n')
    overrides = ["rewrite", f"model_dir={tiny_l1_run}", "input=in.jsonl", "output=out.csv", "epsilon=8"]
    program = f"import sys; from adept.__main__ import dispatch; assert dispatch({overrides}) == 0; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert not {"sklearn", "pytorch_lightning", *EXTRA} & set(done.stdout.split())


@pytest.mark.parametrize("shim", ["train", "rewrite"])
def test_the_shims_in_the_checkout_run_their_command(shim: str) -> None:
    done = subprocess.run(
        [sys.executable, f"{shim}.py", "--help"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert f"adept {shim}" in done.stdout
