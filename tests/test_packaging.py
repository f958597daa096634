"""The wheel is complete: installed elsewhere, away from the checkout, it runs every command."""

import ast
import json
import os
import re
import runpy
import subprocess
import sys
import sysconfig
import tomllib
from pathlib import Path

import forked
import pytest

from adept.__main__ import COMMANDS
from adept.cli.process import EXTRAS

ROOT = Path(__file__).parent.parent
EXTRA = ("matplotlib", "sacrebleu")  # what `pip install adept-dp` alone does not bring


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


COMMANDS_OF_A_LINE = """
import io, json, sys
from contextlib import redirect_stderr, redirect_stdout
from hydra.core.global_hydra import GlobalHydra
from adept.__main__ import dispatch
from adept.cli.process import guard
from adept.cli import overrides
SLOW = {"sklearn", "pytorch_lightning", "pyarrow"}
print(json.dumps([overrides.__file__, str(overrides.config_directory())]))
for arguments in json.loads(sys.argv[1]):
    GlobalHydra.instance().clear()
    with redirect_stdout(io.StringIO()) as out, redirect_stderr(io.StringIO()) as err:
        status = guard(lambda: dispatch(arguments))
    print(json.dumps([status, out.getvalue(), err.getvalue(), sorted({*sys.modules} & SLOW)]))
"""


def run_installed(installed: Path, *arguments: str, extra: bool = True) -> str:
    """Run Python where the package is installed; without the extra its own search for packages is off (-S)."""
    path = [installed / "site", *([] if extra else [installed / "basic"])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, path)), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, *([] if extra else ["-S"]), *arguments],
        cwd=installed, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def run_commands(installed: Path, *commands: list[str], extra: bool = True) -> list[tuple[int, str, str, list[str]]]:
    """Run the wheel's commands in one process; returns each one's status, output, errors, and what was slow to import."""
    shown = run_installed(installed, "-c", COMMANDS_OF_A_LINE, json.dumps(commands), extra=extra)
    where, *results = map(json.loads, shown.splitlines())
    assert all(path.startswith(str(installed / "site")) for path in where)
    return [tuple(result) for result in results]


@pytest.mark.slow
def test_the_wheel_brings_its_configuration_and_its_types(installed: Path) -> None:
    assert (installed / "site" / "adept" / "py.typed").exists()
    assert not (installed / "site" / "train.py").exists()
    assert not (installed / "site" / "adept" / "audits").exists()  # of other people's packages
    model = installed / "site" / "adept" / "pretrained" / "utterances"
    kept = {path.name for path in (ROOT / "adept" / "pretrained" / "utterances").iterdir()}
    assert {path.name for path in model.iterdir()} == kept >= {"config.json", "model.safetensors", "README.md"}
    templates = installed / "site" / "adept" / "report" / "templates"
    assert {path.name for path in templates.iterdir()} >= {"page.html.jinja", "style.css"}


@pytest.mark.slow
def test_every_commands_help_works_from_the_wheel_and_imports_nothing_to_train_with(installed: Path) -> None:
    for command, (status, out, err, slow) in zip(
        COMMANDS, run_commands(installed, *([command, "--help"] for command in COMMANDS)), strict=True
    ):
        assert (status, err, slow) == (0, "", [])
        assert f"adept {command}" in out


@pytest.mark.slow
def test_a_release_of_a_file_of_lines_imports_no_arrow(installed: Path) -> None:
    (installed / "few.jsonl").write_text('{"text": "flights to boston", "intent": "a"}\n' * 4)
    [(status, _, _, slow)] = run_commands(
        installed, ["rewrite", "input=few.jsonl", "output=few_out.jsonl", "epsilon=8", "ledger=none"]
    )
    assert (status, slow) == (0, [])


@pytest.mark.slow
def test_without_the_extra_the_wheel_works_and_says_what_the_rest_needs(
    without_extra: Path,
) -> None:
    (without_extra / "in.jsonl").write_text(
        '{"text": "flights to boston", "intent": "a"}\n{"text": "fares", "intent": "b"}\n' * 4
    )
    sizes = ["data.sizes=[100,20,20]", "model.hidden_dim=16", "trainer.max_epochs=1"]
    *done, (_, evaluated, *_), compared, studied = run_commands(
        without_extra,
        ["train", "output_dir=run", *sizes],
        ["rewrite", "model_dir=run", "input=in.jsonl", "output=out.jsonl", "epsilon=8"],
        ["rewrite", "model_dir=run", "input=out.jsonl", "output=out.parquet", "epsilon=8"],
        ["evaluate", "train=out.parquet", "test=in.jsonl"],
        ["compare", "output_dir=new"],
        ["study", "output_dir=new"],
        extra=False,
    )
    assert [status for status, *_ in done] == [0] * 3, done
    assert "accuracy" in evaluated
    for status, _, said, _ in (compared, studied):
        assert status == 2
        assert 'is not installed, or not as a whole: pip install "adept-dp[compare]"' in said
        assert said.count("\n") == 1


def test_the_extra_is_what_the_tests_take_away() -> None:
    listed = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]["compare"]
    assert {requirement.split(">")[0] for requirement in listed} == set(EXTRA) == set(EXTRAS)


DISTRIBUTIONS = {"hydra": "hydra-core", "sklearn": "scikit-learn", "yaml": "pyyaml"}  # by the name that is imported
WITH_ANOTHER = {
    "anyio": "starlette",
    "fsspec": "datasets",
    "lightning_fabric": "pytorch_lightning",
    "pandas": "datasets",
}  # which always brings it


def imported() -> set[str]:
    """Distributions that the package imports, its own and Python's modules aside."""
    trees = [ast.parse(path.read_text("utf-8")) for path in (ROOT / "adept").rglob("*.py")]
    nodes = [node for tree in trees for node in ast.walk(tree)]
    names = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    names |= {node.module or "" for node in nodes if isinstance(node, ast.ImportFrom) and not node.level}
    first = {name.partition(".")[0] for name in names} - {"adept", *sys.stdlib_module_names}
    return {WITH_ANOTHER.get(name, DISTRIBUTIONS.get(name, name)).replace("_", "-") for name in first}


def test_what_is_imported_is_required_and_what_is_required_is_imported() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = [project["optional-dependencies"][name] for name in ("compare", "web", "cluster")]
    required = {re.split(r"[>=]", requirement)[0].replace("_", "-") for requirement in project["dependencies"]}
    optional = {re.split(r"[>=]", requirement)[0] for extra in extras for requirement in extra}
    assert imported() == required | optional
    assert not required & optional
    assert "datasets" in required  # to train on ATIS from the Hub is the main job


def test_a_release_imports_neither_scikit_learn_nor_what_the_extra_brings(tiny_l1_run: Path, tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_text('{"text": "flights to boston", "intent": "a"}\n')
    overrides = ["rewrite", f"model_dir={tiny_l1_run}", "input=in.jsonl", "output=out.csv", "epsilon=8"]
    program = f"import sys; from adept.__main__ import dispatch; assert dispatch({overrides}) == 0; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert not {"sklearn", "pytorch_lightning", "huggingface_hub.hub_mixin", *EXTRA} & set(done.stdout.split())


@pytest.mark.parametrize("shim", ["train", "rewrite"])
def test_the_shims_in_the_checkout_run_their_command(shim: str) -> None:
    done = forked.run("--help", program=lambda: runpy.run_path(str(ROOT / f"{shim}.py"), run_name="__main__"))
    assert done.returncode == 0, done.stderr
    assert f"adept {shim}" in done.stdout
