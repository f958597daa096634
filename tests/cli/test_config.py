"""Every YAML file composes, every choice builds, and the schema alone holds the defaults."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from hydra.core.global_hydra import GlobalHydra

from adept.__main__ import COMMANDS
from adept.cli.help import config_directory, configuration
from adept.cli.overrides import configure
from adept.errors import ConfigurationError
from adept.mechanisms import BY_NAME, L1Laplace, LearnedCodebook
from adept.mechanisms.base import MechanismChoice
from adept.models.config import ModelConfig

CONF = config_directory()
FILES = sorted(CONF.rglob("*.yaml"))
GROUP_FILES = [path for path in FILES if path.parent != CONF]
USERS = {
    "data": "train",
    "mechanism": "rewrite",
    "logger": "train",
    "callbacks": "train",
    "trainer": "train",
}  # a command that has the group


def compose_command(command: str, *overrides: str) -> object:
    """Compose and convert a command's configuration as the command line does."""
    required = [
        f"{key}=x"
        for key in ("model_dir", "ledger", "input", "output", "train", "test", "output_dir", "statement")
        if key in configuration(command).__dataclass_fields__
    ]
    if command == "train":
        required = ["output_dir=x"]
    if command == "adapt":
        required.append("examples=x")
    if command == "plan":
        required = ["label_set=[a,b]", "expected_rows=9"]
    given = {override.partition("=")[0]: override for override in [*required, *overrides]}
    GlobalHydra.instance().clear()
    return configure(command, [*given.values()])


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_every_command_has_a_configuration_that_composes(command: str) -> None:
    assert compose_command(command) is not None


@pytest.mark.parametrize("path", GROUP_FILES, ids=lambda path: str(path.relative_to(CONF)))
def test_every_option_and_experiment_composes_and_builds(path: Path) -> None:
    group = str(path.parent.relative_to(CONF))
    if group == "experiment":
        command = re.findall(r"^# adept (\w+)", path.read_text("utf-8"), re.MULTILINE)[0]
        assert compose_command(command, f"experiment={path.stem}")
        return
    config = compose_command(USERS[group], f"{group}={path.stem}")
    if group == "mechanism":
        mechanism = config.mechanism.build(epsilon=4.0, clip_norm=2.0)  # type: ignore[attr-defined]
        assert type(mechanism) is BY_NAME[path.stem]
        assert mechanism.epsilon == 4.0
        assert getattr(mechanism, "clip_norm", 2.0) == 2.0
    elif group == "trainer":
        assert config.lightning or config.trainer.accelerator == path.stem  # type: ignore[attr-defined]
    elif group in ("logger", "callbacks"):
        assert getattr(config, group) == {path.stem: {}}
    else:
        assert config.data.name == path.stem  # type: ignore[attr-defined]


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(CONF)))
def test_every_file_begins_with_how_it_is_used_and_builds_no_objects(path: Path) -> None:
    text = path.read_text("utf-8")
    assert "# adept " in "".join(line for line in text.splitlines() if line.startswith("#"))
    assert text.startswith("# ")
    assert "_target_" not in text
    yaml.safe_load(text)


def test_mechanisms_on_the_command_line_are_those_of_the_library() -> None:
    assert {path.stem for path in (CONF / "mechanism").glob("*.yaml")} == set(BY_NAME)


def test_defaults_come_from_the_dataclasses() -> None:
    config = compose_command("train")
    assert config.model == ModelConfig()  # type: ignore[attr-defined]
    assert config.mechanism.kind is LearnedCodebook  # type: ignore[attr-defined]


def test_columns_have_one_place_beside_the_data() -> None:
    config = compose_command("train", "data=files", "data.path=d", "text_column=utterance", "label_column=topic")
    assert (config.text_column, config.label_column, config.data.public) == ("utterance", "topic", False)  # type: ignore[attr-defined]
    assert not hasattr(config.data, "text_column")  # type: ignore[attr-defined]


def test_a_run_is_continued_where_it_is_and_a_new_one_needs_a_directory() -> None:
    assert compose_command("train", "output_dir=null", "resume_from=d").output_dir is None  # type: ignore[attr-defined]
    with pytest.raises(ConfigurationError, match="output_dir must be given"):
        compose_command("train", "output_dir=null")


def test_a_mechanism_without_a_budget_is_refused_when_it_is_built() -> None:
    with pytest.raises(ConfigurationError, match="epsilon must be given"):
        MechanismChoice(L1Laplace).build(clip_norm=1.0)
    assert MechanismChoice(L1Laplace, clip_norm=3.0).build(epsilon=1.0, clip_norm=1.0).clip_norm == 3.0


def test_help_lists_the_commands_without_importing_torch() -> None:
    code = (
        "import sys, adept.__main__ as m; sys.argv = ['adept', '--help']; status = m.main(); "
        "heavy = {'torch', 'hydra', 'numpy'} & set(sys.modules); sys.exit(status or (f'imported {heavy}' if heavy else 0))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert all(command in done.stdout for command in COMMANDS)


def test_the_package_offers_its_names_lazily() -> None:
    import adept

    assert all(getattr(adept, name) is not None for name in adept.__all__)
    with pytest.raises(AttributeError, match="nothing"):
        _ = adept.nothing
