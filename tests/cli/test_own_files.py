"""The user's own yaml files: --config-dir and --config-name; a saved configuration trains the same model again."""

import re
from pathlib import Path

import pytest
import yaml
from tiny import TINY_MODEL, Run

from adept.data.texts import say_once

TINY = [
    "data.sizes=[200,40,40]",
    "trainer.max_epochs=1",
    *(f"model.{name}={value}" for name, value in TINY_MODEL.items()),
]
RECIPE = "# @package _global_\ndefaults:\n  - override /mechanism: l1\nmodel:\n  {}: 24\ntrainer:\n  limit_train_batches: 2\n"


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """A directory with an experiment of the user's own, whose name has a space and a comma."""
    directory = tmp_path / "my files, all"
    (directory / "experiment").mkdir(parents=True)
    (directory / "experiment" / "mine.yaml").write_text(RECIPE.format("hidden_dim"), "utf-8")
    return directory


def weights(run: Path) -> bytes:
    return (run / "model" / "model.safetensors").read_bytes()


@pytest.mark.parametrize(
    "options", ["mechanism=l1", "mechanism=gaussian mechanism.delta=1e-6 trainer.precision=32-true seed=3"]
)
def test_a_saved_configuration_trains_the_same_model_again(adept_here: Run, tmp_path: Path, options: str) -> None:
    first = adept_here("train", *TINY, *options.split(), f"output_dir={tmp_path}/a")
    assert first.returncode == 0, first.stderr
    again = adept_here("train", "--config-dir", tmp_path / "a", "--config-name", "config", f"output_dir={tmp_path}/b")
    assert again.returncode == 0, again.stderr
    assert weights(tmp_path / "a") == weights(tmp_path / "b")
    assert (tmp_path / "a/config.yaml").read_text() == (tmp_path / "b/config.yaml").read_text()
    other = adept_here(
        "train", f"--config-dir={tmp_path}/a", "--config-name=config", "seed=9", f"output_dir={tmp_path}/c"
    )
    assert other.returncode == 0, other.stderr
    assert weights(tmp_path / "a") != weights(tmp_path / "c")


@pytest.mark.parametrize(
    "flags", ["-cd {} -cn first -c job", "--config-dir={} -cn=first --cfg=job", "-c=job -cd={} -cn first"]
)
def test_short_flags_are_those_of_hydra(adept_here: Run, tmp_path: Path, flags: str) -> None:
    (tmp_path / "first.yaml").write_text("defaults:\n  - train\n  - _self_\nseed: 7\n", "utf-8")
    shown = adept_here("train", *flags.format(tmp_path).split(), "mechanism=l1")
    assert (shown.returncode, shown.stderr) == (0, "")
    long = ["--config-dir", tmp_path, "--config-name", "first", "--cfg", "job"]
    assert shown.stdout == adept_here("train", *long, "mechanism=l1").stdout
    assert yaml.safe_load(shown.stdout)["seed"] == 7
    alone = adept_here("verify", "-c", "job", "statement=a")
    assert (alone.returncode, yaml.safe_load(alone.stdout)["statement"]) == (0, "a"), alone.stderr


def test_a_saved_configuration_of_another_version_names_the_key(adept_here: Run, tmp_path: Path) -> None:
    assert adept_here("train", *TINY, "mechanism=l1", f"output_dir={tmp_path}/a").returncode == 0
    saved = tmp_path / "a" / "config.yaml"
    text = saved.read_text("utf-8")
    line = ["train", f"--config-dir={tmp_path}/a", "--config-name=config", f"output_dir={tmp_path}/b"]
    saved.write_text(text.replace("word_dropout", "token_dropout"), "utf-8")
    renamed = adept_here(*line)
    assert (renamed.returncode, "model.token_dropout" in renamed.stderr, renamed.stderr.count("\n")) == (2, True, 1)
    content = yaml.safe_load(text)
    del content["training"]["patience"]
    saved.write_text(text.splitlines()[0] + "\n" + yaml.safe_dump(content, sort_keys=False), "utf-8")
    added = adept_here(*line)
    assert added.returncode == 0, added.stderr
    assert "config.yaml does not set training.patience: this version uses the default" in added.stderr


def test_an_experiment_of_ones_own_sets_options_and_is_swept(adept_here: Run, own: Path, tmp_path: Path) -> None:
    shown = adept_here("train", f"--config-dir={own}", "experiment=mine", "--cfg", "job")
    assert shown.returncode == 0, shown.stderr
    values = yaml.safe_load(shown.stdout)
    assert (values["model"]["hidden_dim"], values["lightning"]) == (24, {"limit_train_batches": 2})
    swept = adept_here(
        "train", "-m", f"--config-dir={own}", "experiment=mine", "seed=0,1", *TINY[:2], f"sweep_dir={tmp_path}/s"
    )
    assert swept.returncode == 0, swept.stderr
    assert (tmp_path / "s/1/model/config.json").is_file()
    later = adept_here("train", "experiment=mine", f"output_dir={tmp_path}/x")
    assert (later.returncode, "experiment must be one of" in later.stderr) == (2, True)


def test_what_an_experiment_sets_without_effect_is_named_once(
    adept_here: Run, own: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    mine = "# @package _global_\nmechanism:\n  epsilon: 8\nmodel:\n  latent_dim: 16\n"
    (own / "experiment/idle.yaml").write_text(mine, "utf-8")
    say_once.cache_clear()  # another test of this process may have said the same
    line = ["train", "-m", f"--config-dir={own}", "experiment=idle", "mechanism=l1,learned_codebook", *TINY[:2]]
    swept = adept_here(*line, f"sweep_dir={tmp_path}/s")
    assert swept.returncode == 0, swept.stderr
    said = [line.partition(", because")[0] for line in caplog.messages]
    assert said == [f"adept: note: {name} has no effect here" for name in ("mechanism.epsilon", "model.latent_dim")]
    caplog.clear()
    adept_here("train", "data=atis", f"data.path={tmp_path}/none", f"output_dir={tmp_path}/x")
    assert not caplog.messages  # data=atis has an address beside the path


@pytest.mark.parametrize("name", ["it's", "$HOME", "a b=1,[2]", "~"])
def test_a_directory_of_files_has_any_name(
    adept_here: Run, own: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "~"))
    own.rename(tmp_path / name)
    given = name if name == "~" else str(tmp_path / name)
    shown = adept_here("train", f"--config-dir={given}", "experiment=mine", "--cfg", "job")
    assert shown.returncode == 0, shown.stderr
    assert yaml.safe_load(shown.stdout)["model"]["hidden_dim"] == 24


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (RECIPE.format("hiden_dim"), "there is no option model.hiden_dim: did you mean model.hidden_dim?"),
        (
            RECIPE.format("hidden_dim").replace("24", "wide"),
            "In 'experiment/mine': model.hidden_dim has a value of another type",
        ),
        ("model:\n  hidden_dim: 24\n", "In 'experiment/mine': begin an experiment with the line # @package _global_"),
        ("defaults:\n  - override /mechanism: l1\n", "begin an experiment with the line # @package _global_"),
        ("# @package _global_\nmechanism: l1\n", "does not fit"),
        ("# @package _global_\nmechanism: nowhere:Thing\n", "does not fit"),
        ("# @package _global_\ndefaults:\n  - override /data: nothing\n", "does not fit"),
        ("# @package _global_\n[", "does not fit"),
        ("# @package _global_\nlogger:\n  csv2: 3\n", "logger.csv2 must hold options, got 3"),
        (
            "# @package _global_\nhydra:\n  run: {dir: x}\n",
            "in mine.yaml, hydra has no effect: leave it out, and give output_dir",
        ),
        (
            "# @package _global_\nlabel_column: ${text_column}\n",
            "label_column must be written out, got ${text_column}: there are",
        ),
        ("# @package _global_\noutput_dir: runs/${seed}\n", "output_dir must be written out, got runs/${seed}"),
        (
            "# @package _global_\ntrainer:\n  max_steps: ${oc.env:N}\n",
            "trainer.max_steps must be written out, got ${oc.env:N}",
        ),
        (
            "# @package _global_\nlogger:\n  a:\n    save_dir: ${paths.out}/x\n",
            "logger.a.save_dir must be written out, got ${paths.out}/x",
        ),
    ],
)
def test_a_mistake_in_a_file_is_one_line(
    adept_here: Run, own: Path, tmp_path: Path, content: str, message: str
) -> None:
    (own / "experiment" / "mine.yaml").write_text(content, "utf-8")
    place = [] if "output_dir" in content else [f"output_dir={tmp_path}/run"]
    done = adept_here("train", f"--config-dir={own}", "experiment=mine", *place)
    assert (done.returncode, message in done.stderr, done.stderr.count("\n")) == (2, True, 1), done.stderr
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("train --config-dir", "--config-dir must be given, got nothing: add --config-dir DIR"),
        (
            "train --config-dir=nowhere",
            "--config-dir must be a directory whose name holds neither \\ nor ${, got nowhere",
        ),
        (
            "train --config-name=config",
            "--config-dir must be given, got nothing: add --config-dir DIR",
        ),
        ("train --config-dir=. --config-name=nothing", "--config-name must name a yaml file with a list of defaults"),
        ("rewrite --config-dir=. input=a output=b epsilon=1", "rewrite takes no --config-dir"),
        ("synthesize --config-name=x input=a output=b", "synthesize takes no --config-name"),
        ("rewrite -cd . input=a output=b epsilon=1", "rewrite takes no --config-dir"),
        ("train -cd . --config-dir=x", "--config-dir must be given once, got it twice: leave one out"),
    ],
)
def test_files_that_are_not_there_or_not_allowed_are_one_line(
    adept_here: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    done = adept_here(*line.split())
    assert (done.returncode, message in done.stderr, done.stderr.count("\n")) == (2, True, 1), done.stderr


OWN_TEXTS = {  # of a first file
    "defaults: train\n": "defaults must be a list",
    "defaults:\n  - 3\n": "does not fit",
    "defaults:\n  - evaluate\n  - _self_\n": "must begin with train|begin its defaults with train",
    "defaults:\n  - train\n  - /data: nothing\n": "Could not find 'data/nothing'",
    "defaults:\n  - train\n  - override mechanism: magic\n": "Could not find 'mechanism/magic'",
    "defaults:\n  - train\n  - _self_\nmodle:\n  latent_dim: 3\n": "In 'first': there is no option modle\n",
    "defaults:\n  - train\n  - _self_\nmechanism: l1\n": "begin its defaults with train, and name mechanism",
    "defaults:\n  - train\n  - _self_\nlightning:\n  max_steps: 3\n": "lightning must be left out .* below trainer\n",
    "defaults:\n  - train\n  - _self_\nseed: [1]\n": "In 'first': seed has a value of another type\n",
    "defaults:\n  - train\n  - _self_\nseed: ${oc.env:NOTHING}\n": "seed must be a whole number, got ",
}


@pytest.mark.parametrize("content", OWN_TEXTS)
def test_a_first_file_that_does_not_fit_is_one_line(adept_here: Run, tmp_path: Path, content: str) -> None:
    (tmp_path / "first.yaml").write_text(content, "utf-8")
    done = adept_here("train", f"--config-dir={tmp_path}", "--config-name=first", f"output_dir={tmp_path}/run")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    assert re.search(OWN_TEXTS[content], done.stderr), done.stderr
    assert not re.search("Error|Config[A-Z]|internal", done.stderr), done.stderr


@pytest.mark.parametrize("override", ["override /mechanism", "override mechanism"])
def test_a_first_file_may_override_what_the_commands_own_file_chooses(
    adept_here: Run, tmp_path: Path, override: str
) -> None:
    (tmp_path / "mechanism").mkdir()
    (tmp_path / "mechanism" / "mine.yaml").write_text("defaults:\n  - l1\nclip_norm: 3\n", "utf-8")
    (tmp_path / "first.yaml").write_text(f"defaults:\n  - train\n  - {override}: mine\nseed: 3\n", "utf-8")
    line = ["train", f"--config-dir={tmp_path}", "--config-name=first", "--cfg", "job"]
    shown = adept_here(*line)
    assert (shown.returncode, shown.stderr) == (0, "")
    values = yaml.safe_load(shown.stdout)
    assert (values["seed"], values["mechanism"]["clip_norm"]) == (3, 3)
    assert "# mechanism=gaussian" in adept_here(*line, "mechanism=gaussian").stdout
    for content in ("", "clip_norm: 2\n", "- 3\n", "l1\n"):
        (tmp_path / "mechanism" / "mine.yaml").write_text(content, "utf-8")
        done = adept_here(*line)
        assert (done.returncode, "mechanism must stand in the defaults" in done.stderr) == (2, True), done.stderr


@pytest.mark.parametrize("mechanism", ["l1", "nowhere:Thing"])
def test_a_mechanism_is_chosen_among_the_defaults_alone(adept_here: Run, tmp_path: Path, mechanism: str) -> None:
    (tmp_path / "first.yaml").write_text(f"defaults:\n  - schema_train\n  - _self_\nmechanism: {mechanism}\n", "utf-8")
    done = adept_here("train", f"--config-dir={tmp_path}", "--config-name=first", f"output_dir={tmp_path}/run")
    assert (done.returncode, "mechanism must stand in the defaults" in done.stderr) == (2, True), done.stderr
