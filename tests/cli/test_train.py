"""`train.py` and `adept train` say first what they train, and refuse an option that another one overrides."""

import json
import re
import resource
import shutil
import sys
from pathlib import Path
from typing import NoReturn

import pytest
from tiny import Run

from adept.cli import train
from adept.cli.overrides import configure
from adept.models import training
from adept.models.config import TOPICS

ROOT = Path(__file__).parents[2]
SMALL = ["model.hidden_dim=32", "model.embedding_dim=16", "trainer.max_epochs=1"]


def script(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    """Run `python train.py ARGUMENTS` in this process."""
    import runpy

    from hydra.core.global_hydra import GlobalHydra

    GlobalHydra.instance().clear()
    monkeypatch.setattr(sys, "argv", ["train.py", *arguments])
    monkeypatch.setattr("adept.__main__.keep_streams", lambda: None)
    monkeypatch.setattr("adept.__main__.end_process", lambda: None)
    monkeypatch.setattr("adept.__main__.begin_imports", lambda: None)
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(str(ROOT / "train.py"), run_name="__main__")
    return ended.value.code or 0, *capfd.readouterr()  # type: ignore[return-value]


@pytest.fixture(scope="module")
def small_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    config = configure("train", ["mechanism=l1", *SMALL, "data.sizes=[200,40,40]", "output_dir=x"])
    config.output_dir = str(tmp_path_factory.mktemp("small") / "run")
    train.run(config, overrides=["mechanism=l1", *SMALL, "data.sizes=[200,40,40]"])
    return Path(config.output_dir)


def test_the_script_trains_adepts_lstm_for_l1_on_the_bundled_text_and_says_so_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    status, out, err = script(monkeypatch, capfd, *SMALL, "data.sizes=[300,60,60]")
    assert status == 0, err
    assert out.splitlines()[0] == (
        "training an LSTM that encodes a text as 32 numbers, and an LSTM decoder, for mechanism=l1 on 300 records of "
        "air_travel (experiment=atis_l1)"
    )
    assert json.loads((tmp_path / "runs/train/result.json").read_text())["clip"] == "l1"


def test_a_run_that_is_resumed_with_a_mistake_stays_as_it_was(
    adept_here: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*_: object, **__: object) -> NoReturn:
        raise KeyboardInterrupt

    run = tmp_path / "run"
    with monkeypatch.context() as patch:
        patch.setattr(training, "fit", stop)  # before the first epoch
        begun = adept_here("train", "mechanism=l1", *SMALL, "data.sizes=[200,40,40]", f"output_dir={run}")
    assert begun.returncode == 130, begun.stderr
    (run / "checkpoints" / "mine.txt").write_text("mine")
    before = {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}
    mistaken = adept_here("train", f"resume_from={run}", "trainer.val_check_interval=1000")
    assert (mistaken.returncode, "val_check_interval" in mistaken.stderr) == (2, True), mistaken.stderr
    assert {path: path.read_bytes() for path in run.rglob("*") if path.is_file()} == before
    done = adept_here("train", f"resume_from={run}")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("options", "ending"),
    [
        ("mechanism=original", "air_travel"),
        ("experiment=atis_l1 data=air_travel", "air_travel (experiment=atis_l1)"),
        ("experiment=null mechanism=l1", "air_travel"),
        ("experiment=atis_l1 data=air_travel mechanism=original", "(experiment=atis_l1 with mechanism=original)"),
        ("trainer.limit_train_batches=1", "(experiment=atis_l1) (trainer.limit_train_batches=1)"),
    ],
)
def test_the_first_line_names_an_experiment_only_as_far_as_it_is_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], options: str, ending: str
) -> None:
    sizes = [*SMALL, "data.sizes=[100,60,60]", f"output_dir={tmp_path}/run"]
    status, out, err = script(monkeypatch, capfd, *sizes, *options.split())
    assert status == 0, err
    assert out.splitlines()[0].endswith(ending)
    read = 64 if "limit" in options else 100
    assert re.search(rf"\nepochs +1 in \d+ s, {read} records read *\n", out), out


def test_a_resumed_run_says_where_it_goes_on_unless_it_kept_no_checkpoint(adept_here: Run, tmp_path: Path) -> None:
    line = ["train", "mechanism=l1", *SMALL, "data.sizes=[100,60,60]"]
    assert adept_here(*line, f"output_dir={tmp_path}/whole").returncode == 0
    done = adept_here("train", f"resume_from={tmp_path}/whole", "trainer.max_epochs=2")
    assert (done.returncode, "adept: going on after epoch 1 of 2" in done.stderr) == (0, True), done.stderr
    tried = adept_here(*line, "trainer.fast_dev_run=true", f"output_dir={tmp_path}/tried")
    assert (tried.returncode, "fast_dev_run keeps no checkpoint" in tried.stderr) == (0, True), tried.stderr
    again = adept_here("train", f"resume_from={tmp_path}/tried")
    assert (again.returncode, "as after trainer.fast_dev_run=true: begin a new run" in again.stderr) == (2, True)


def test_a_full_disk_names_the_directory_and_how_to_resume(adept_here: Run, tmp_path: Path) -> None:
    line = ["train", "mechanism=l1", *SMALL, "data.sizes=[100,60,60]", f"output_dir={tmp_path}/run"]
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, before[1]))
    try:
        full = adept_here(*line)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    message = (
        rf"write {tmp_path}/run\S*: File too large: mend that; then adept train resume_from={tmp_path}/run begins again"
    )
    assert full.returncode == 2
    assert re.search(message, full.stderr), full.stderr
    assert adept_here("train", f"resume_from={tmp_path}/run").returncode == 0


def test_the_scripts_help_shows_its_own_settings(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    _, out, _ = script(monkeypatch, capfd, "--help")
    assert "\n  mechanism=l1 " in out
    assert "\n  output_dir=runs/train " in out


def test_the_scripts_settings_give_way_to_those_that_are_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    status, out, _ = script(monkeypatch, capfd, "mechanism=sqrt_n", "experiment=atis_original", "--cfg", "job")
    assert status == 0
    assert "hub: tuetschek/atis" in out  # the experiment's own data
    (tmp_path / "first.yaml").write_text("defaults:\n  - train\n  - override mechanism: sqrt_n\n  - _self_\n", "utf-8")
    for flags in (["--config-dir=.", "--config-name", "first"], ["-cd", ".", "-cn", "first"], ["-cd=.", "-cn=first"]):
        status, out, _ = script(monkeypatch, capfd, *flags, "output_dir=x", "-c", "job")
        assert (status, out.splitlines()[0]) == (0, "# mechanism=sqrt_n")
    status, _, err = script(monkeypatch, capfd, "-m", "seed=0,x")
    assert (status, "seed must be a whole number, got x" in err) == (2, True)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            "mechanism=l1 model.decoder=nearest",
            "model.decoder has no effect here, because a model for the clip l1 lists no public",
        ),
        (
            "mechanism=sqrt_n data.public=false model.decoder=nearest",
            "model.decoder=nearest must have public training text",
        ),
        ("mechanism=description training_data.public=false", "mechanism=description must have public training text"),
        (
            "mechanism=l1 training.codec.sentences=true",
            "training.codec.sentences has no effect here, because a model for",
        ),
        (
            "model.directions=1",
            "model.directions has no effect here, because mechanism=learned_codebook reads topics: give",
        ),
        ("model.latent_dim=16", "model.latent_dim has no effect here, because mechanism=learned_codebook reads topics"),
        ("model.latent_dim=16 model.encoder=lstm", "give training.content.topics=N"),
        ("model.encoder=lstm", "follows from training.content.kind=topics"),
        ("mechanism=l1 model.encoder=topics", "follows from training.content.kind=none"),
        ("mechanism=l1 training.content.topics=8", "an LSTM encoder has no topics: give model.latent_dim=N"),
        ("data=atis data.sizes=[3,3,3]", "data.sizes has no effect here, because it is for data=air_travel alone"),
        (
            "mechanism=l1 mechanism.epsilon=8",
            "mechanism.epsilon has no effect here, because training.epsilon and model.clip_norm count",
        ),
        (
            "mechanism=l1 mechanism.clip_norm=3",
            "mechanism.clip_norm has no effect here, because training.epsilon and",
        ),
        (
            "mechanism=l1 label_column=x",
            "label_column has no effect here, because data=air_travel has columns of its own",
        ),
        ("mechanism=l1 delimiter=tab", "delimiter has no effect here, because data=air_travel has columns of its own"),
        (
            "mechanism=sqrt_n data.public=false training.codec.sentences=true",
            "training.codec.sentences=true must have public training text",
        ),
        ("data.path=x", "data=air_travel comes with adept: give data=files"),
        ("experiment=demo", "demo: it belongs to adept compare, so write adept compare experiment=demo"),
    ],
)
def test_an_option_without_effect_is_refused(adept_here: Run, tmp_path: Path, options: str, message: str) -> None:
    done = adept_here("train", *options.split(), f"output_dir={tmp_path}/run")
    assert (done.returncode, message in done.stderr, done.stderr.count("\n")) == (2, True, 1), done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "options",
    [
        "training.content.kind=none model.latent_dim=16",
        "model.encoder=topics training.content.topics=16",
        "mechanism=l1 model.latent_dim=16 model.encoder=lstm data.sizes=[9,9,9]",
        "mechanism=gaussian mechanism.delta=1e-6 training.epsilon=8",
    ],
)
def test_an_option_that_has_an_effect_is_taken(options: str) -> None:
    assert configure("train", [*options.split(), "output_dir=x"])


def test_the_first_line_says_topics_where_topics_are_counted(adept_here: Run, tmp_path: Path) -> None:
    done = adept_here("train", *SMALL, "data.sizes=[200,40,40]", f"output_dir={tmp_path}/run")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(
        f"training {TOPICS} of a text, 25 numbers, and an LSTM decoder, for mechanism=learned_codebook"
    )


def test_each_variant_of_the_paper_has_an_experiment(adept_here: Run) -> None:
    for name in ("original", "l1", "sqrt_n"):
        done = adept_here("train", f"experiment=atis_{name}", "output_dir=x", "--cfg", "job")
        assert done.returncode == 0, done.stderr
        assert "name: atis" in done.stdout


def test_a_resumed_run_changes_only_where_training_ends_and_how_it_runs(adept_here: Run, tmp_path: Path) -> None:
    """Any other option would be saved as if the whole run had had it."""
    run = tmp_path / "run"
    begun = adept_here("train", "mechanism=l1", *SMALL, "data.sizes=[200,40,40]", f"output_dir={run}")
    assert begun.returncode == 0, begun.stderr
    saved = {path: path.read_bytes() for path in run.iterdir() if path.is_file()}
    changes = {
        "training.learning_rate=0.1": "training.learning_rate must be 0.002, as in the run that resume_from continues, got 0.1",
        "training.weight_decay=0.9": "training.weight_decay must be 0,",
        "training.batch_size=8": "training.batch_size must be 64,",
        "training.epsilon=8": "training.epsilon must be null,",
        "seed=5": "seed must be 0,",
        "model.dropout=0.3": "model.dropout must be 0.1,",
        "trainer.limit_train_batches=1": "trainer.limit_train_batches must be null,",
        "trainer=debug": "trainer.limit_train_batches must be null,",
        "mechanism=original": "mechanism must be l1,",
        "training_data.public=false": "training_data.public must be null,",
    }
    for option, message in changes.items():
        done = adept_here("train", f"resume_from={run}", "trainer.max_epochs=2", option)
        assert (done.returncode, message in done.stderr, done.stderr.count("\n")) == (2, True, 1), done.stderr
        assert {path: path.read_bytes() for path in saved} == saved
    free = ["training.patience=9", "trainer.devices=1", "trainer.accelerator=cpu", "logger=none"]
    done = adept_here("train", f"resume_from={run}", "trainer.max_epochs=2", *free)
    assert done.returncode == 0, done.stderr


def test_a_finished_run_that_trains_no_more_says_so(adept_here: Run, tmp_path: Path) -> None:
    """Options of the run before may end it at once; the note that it goes on would be wrong."""
    run = tmp_path / "run"
    line = ["train", "mechanism=l1", *SMALL[:2], "data.sizes=[200,40,40]", "trainer.max_steps=2", f"output_dir={run}"]
    assert adept_here(*line).returncode == 0
    again = adept_here("train", f"resume_from={run}")
    assert (again.returncode, "no epoch was trained after the 1 of the finished run: raise" in again.stderr) == (
        2,
        True,
    )
    done = adept_here("train", f"resume_from={run}", "trainer.max_steps=5")
    assert (done.returncode, "epochs           2 in" in done.stdout) == (0, True), done.stderr


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("metrics.csv", b"\xff\xfe", "metrics.csv is damaged: restore it, or remove it"),
        ("metrics.csv", b"a,b\n1,2\n", "metrics.csv is damaged"),
        ("metrics.csv", b"epoch,train_loss\n0,x\n", "metrics.csv is damaged"),
        ("overrides.json", b"null", "must be [200,40,40], as in the run that resume_from continues"),
        (
            "overrides.json",
            b'["callbacks.own._target_=os.mkdir", "callbacks.own.path=planted"]',
            "callbacks.own._target_ must be given again with resume_from, because no file of a run may name it: add callbacks",
        ),
        ("overrides.json", b'["logger.own._target_=mine.Recorder"]', "logger.own._target_ must be given again"),
    ],
)
def test_a_file_of_a_run_that_somebody_changed_is_one_line_and_runs_nothing(
    adept_here: Run,
    small_run: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    content: bytes,
    message: str,
) -> None:
    shutil.copytree(small_run, tmp_path / "run")
    (tmp_path / "run" / name).write_bytes(content)
    monkeypatch.chdir(tmp_path)
    done = adept_here("train", f"resume_from={tmp_path}/run", "trainer.max_epochs=2")
    assert (done.returncode, message in done.stderr, done.stderr.count("\n")) == (2, True, 1), done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


@pytest.mark.parametrize("further", [[], ["model.directions=1", "model.tied_embeddings=true"]])
def test_a_network_of_two_layers_is_trained_resumed_and_rewritten_with(
    adept_here: Run, tmp_path: Path, further: list[str]
) -> None:
    run, data = tmp_path / "run", tmp_path / "in.txt"
    data.write_text("flights to boston\nfares\n")
    sizes = [*SMALL, "model.num_layers=2", "model.latent_dim=8", "data.sizes=[200,40,40]", *further]
    done = adept_here("train", "mechanism=l1", *sizes, f"output_dir={run}")
    assert done.returncode == 0, done.stderr
    again = adept_here("train", f"resume_from={run}", "trainer.max_epochs=2")
    assert again.returncode == 0, again.stderr
    other = adept_here("train", f"resume_from={run}", "trainer.max_epochs=3", "model.num_layers=1")
    assert (other.returncode, "model.num_layers must be 2, as in the run" in other.stderr) == (2, True)
    written = adept_here("rewrite", f"model_dir={run}", f"input={data}", f"output={tmp_path}/out.txt", "epsilon=8")
    assert written.returncode == 0, written.stderr
    assert len((tmp_path / "out.txt").read_text().splitlines()) == 2


@pytest.mark.parametrize(
    "options", [["trainer.max_time=00:00:00:00"], ["callbacks=timer", "callbacks.timer.duration=00:00:00:00"]]
)
def test_a_training_without_a_step_leaves_no_model(adept_here: Run, tmp_path: Path, options: list[str]) -> None:
    ended = adept_here(
        "train", "mechanism=l1", *SMALL, "data.sizes=[200,40,40]", f"output_dir={tmp_path}/run", *options
    )
    assert ended.returncode == 2
    assert "adept: training ended before its first step: raise what ended it" in ended.stderr
    assert not (tmp_path / "run").exists()


def test_records_left_out_for_their_labels_are_told(adept_here: Run, tmp_path: Path) -> None:
    for split, labels in {"train": "ab", "validation": "abc", "test": "ab"}.items():
        rows = [{"text": f"show flight {number}", "intent": labels[number % len(labels)]} for number in range(30)]
        (tmp_path / f"{split}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    given = [
        "data=files",
        f"data.path={tmp_path}",
        "labels=joint",
        "mechanism=l1",
        *SMALL,
        f"output_dir={tmp_path}/run",
    ]
    ended = adept_here("train", *given)
    assert "note: 10 of 30 records of the validation split are left out, as train lacks their labels\n" in ended.stderr
    assert ended.returncode == 0
