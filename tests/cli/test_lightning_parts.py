"""Lightning's parts come by name: loggers, callbacks, options of its Trainer; no logger learns of the data."""

import csv
import inspect
import sys
import threading
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from queue import Queue
from typing import Any

import pytest
import pytorch_lightning as pl
import yaml
from pytorch_lightning.callbacks import Callback, EarlyStopping
from pytorch_lightning.loggers.logger import Logger
from tiny import TINY_MODEL, Run

from adept import foreign
from adept.cli import lightning_parts as parts
from adept.cli.help import config_directory
from adept.cli.overrides import read_scalar
from adept.cli.train import draw_curve
from adept.foreign import blame, import_foreign
from adept.models.config import TrainerConfig

TINY = ["data.sizes=[200,40,40]", "mechanism=l1", *(f"model.{name}={value}" for name, value in TINY_MODEL.items())]
SEEN: list[Any] = []


class Recorder(Logger):
    """A logger that remembers everything that it gets."""

    def __init__(self, label: str = "") -> None:
        super().__init__()
        self.label = label

    @property
    def name(self) -> str:
        return "recorder"

    @property
    def version(self) -> int:
        return 0

    def log_metrics(self, metrics: dict[str, float], step: int | None = None) -> None:
        SEEN.append(metrics)

    def log_hyperparams(self, params: Any, *_: Any, **__: Any) -> None:
        SEEN.append(dict(params))


@pytest.fixture(autouse=True)
def _findable(monkeypatch: pytest.MonkeyPatch) -> None:
    """The class above is one of a module that a user wrote."""
    monkeypatch.setitem(sys.modules, "mine", sys.modules[__name__])
    SEEN.clear()


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_every_epoch_has_one_row_and_the_run_a_picture(adept_here: Run, tmp_path: Path) -> None:
    run = tmp_path / "run"
    done = adept_here("train", *TINY, "trainer.max_epochs=2", f"output_dir={run}")
    assert done.returncode == 0, done.stderr
    first = rows(run / "metrics.csv")
    assert [(row["epoch"], row["step"]) for row in first] == [("0", "4"), ("1", "8")]
    assert [float(row["learning_rate"]) for row in first] == [0.002, 0.001]
    assert all(float(row["train_loss"]) > 0 and float(row["validation_loss"]) > 0 for row in first)
    assert ElementTree.parse(run / "curve.svg").getroot().tag.endswith("svg")
    again = adept_here("train", f"resume_from={run}", "trainer.max_epochs=3")
    assert again.returncode == 0, again.stderr
    assert rows(run / "metrics.csv")[:2] == first
    assert [row["epoch"] for row in rows(run / "metrics.csv")] == ["0", "1", "2"]


def test_a_profile_stands_in_the_directory_of_the_run(adept_here: Run, tmp_path: Path) -> None:
    done = adept_here("train", *TINY, "trainer=debug", "trainer.profiler=simple", f"output_dir={tmp_path}/run")
    assert done.returncode == 0, done.stderr
    assert "run_training_batch" in (tmp_path / "run" / "fit-profile.txt").read_text()


def test_an_option_has_an_effect_or_is_refused() -> None:
    """Each option of Lightning's Trainer is passed on, set by adept, or refused as one without effect."""
    known = set(inspect.signature(pl.Trainer).parameters)
    assert {*parts.ELSEWHERE, *parts.UNUSED} <= known
    assert known - {*parts.ELSEWHERE, *parts.UNUSED} == {
        "accelerator", "strategy", "devices", "precision", "fast_dev_run", "max_epochs", "min_epochs", "max_steps", "min_steps",
        "max_time", "limit_train_batches", "limit_val_batches", "val_check_interval", "check_val_every_n_epoch",
        "num_sanity_val_steps", "log_every_n_steps", "enable_model_summary", "accumulate_grad_batches",
        "gradient_clip_algorithm", "deterministic", "benchmark", "inference_mode", "profiler", "detect_anomaly",
        "reload_dataloaders_every_n_epochs",
    }  # fmt: skip


@pytest.mark.parametrize(("options", "place"), [({}, "/a"), ({"save_dir": "b"}, "b")])
def test_runs_beside_each_other_share_a_database_of_mlflow(options: dict[str, Any], place: str) -> None:
    made = parts.logger_options("mlflow", options, Path("/a/run"))
    assert made["tracking_uri"] == f"sqlite:///{place}/mlflow.db"
    assert made["artifact_location"] == f"file:{Path(place).absolute()}/mlruns"


@pytest.mark.parametrize("options", [{}, {"settings": {"console": "auto"}}, {parts.TARGET: parts.LOGGERS["wandb"]}])
def test_wandb_keeps_neither_the_command_line_nor_printed_lines(options: dict[str, Any], tmp_path: Path) -> None:
    """In them stand paths and columns of the data."""
    settings = parts.logger_options("mine" if options.keys() == {parts.TARGET} else "wandb", options, tmp_path)[
        "settings"
    ]
    assert settings["x_disable_meta"]
    assert settings["console"] == "off"


def test_without_a_logger_no_table_is_left(adept_here: Run, tmp_path: Path) -> None:
    done = adept_here("train", *TINY, "trainer.max_epochs=1", "logger=none", f"output_dir={tmp_path}/run")
    assert done.returncode == 0, done.stderr
    assert not {"metrics.csv", "curve.svg"} & {path.name for path in (tmp_path / "run").iterdir()}


def test_a_logger_gets_numbers_and_options_and_nothing_of_the_data(adept_here: Run, tmp_path: Path) -> None:
    data = tmp_path / "private-place"
    data.mkdir()
    (data / "train.csv").write_text(
        "zebra,kind\n" + "".join(f"purple umbrella {i % 9},LABEL{i % 2}\n" for i in range(90))
    )
    done = adept_here(
        "train", "data=files", f"data.path={data}", "data.public=true", "text_column=zebra", "label_column=kind", "labels=joint",
        *TINY[1:], "trainer.max_epochs=1", f"output_dir={tmp_path}/run", "logger.own._target_=mine.Recorder", "logger.own.label=x",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert any("validation_loss" in seen for seen in SEEN)
    (options,) = [seen for seen in SEEN if "mechanism" in seen]
    assert options["model.latent_dim"] == 8
    assert all(isinstance(value, int | float | str | None) for value in options.values())
    told = repr(SEEN)
    assert [
        word for word in ("private-place", "zebra", "umbrella", "LABEL", "kind'", str(tmp_path)) if word in told
    ] == [
        word
        for word in ("kind'",)
        if "'tokenizer.kind'" in told  # an option, and no column
    ]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("trainer.limit_train_batch=3", "train has no option trainer.limit_train_batch: did you mean trainer.limit_train_batches?"),
        ("trainer.max_epoch=3", "did you mean trainer.max_epochs?"),
        ("trainer.gradient_clip_val=1", "trainer.gradient_clip_val must be left out, because adept sets it: set training.gradient"),
        ("trainer.precision=3-bit", "trainer.precision must be one of 32, 32-true, 16, 16-mixed, bf16, bf16-mixed, got 3-bit"),
        ("trainer.precision=64-true", "trainer.precision must be one of 32, 32-true, 16, "),
        ("trainer.max_steps=0", "trainer.max_steps must be above 0, got 0: give more, or leave it out"),
        ("trainer.limit_train_batches=0.0", "trainer.limit_train_batches must be above 0, got 0.0: give"),
        ("trainer.max_steps=2.5", "trainer.max_steps must be a whole number, got 2.5: correct it"),
        ("trainer.max_steps=null", "trainer.max_steps must be a whole number, got null: correct it"),
        ("trainer.max_steps=-2", "trainer.max_steps must be above 0, got -2: give more, or leave it out"),
        ("trainer.max_time=1", "trainer.max_time must be a text or a mapping or null, got 1"),
        ("trainer.deterministic=maybe", "trainer.deterministic must be true or false or warn or null, got maybe"),
        ("trainer.limit_train_batches=true", "trainer.limit_train_batches must be a whole number or a number or null"),
        ("trainer.accumulate_grad_batches=0", "trainer.accumulate_grad_batches must be above 0, got 0"),
        ("trainer.accumulate_grad_batches=yes", "trainer.accumulate_grad_batches must be a whole number, got true"),
        ("trainer.check_val_every_n_epoch=-1", "trainer.check_val_every_n_epoch must be above 0, got -1"),
        ("trainer.val_check_interval=0", "trainer.val_check_interval must be above 0, got 0"),
        ("trainer.min_epochs=1.5", "trainer.min_epochs must be a whole number or null, got 1.5"),
        ("trainer.max_steps=3 trainer.min_steps=9", "trainer.min_steps must be at most trainer.max_steps=3, got 9: set both"),
        ("trainer=cpu trainer.precision=16-mixed", "trainer.precision must be bf16-mixed on a CPU, got 16-mixed"),
        ("callbacks.own._target_=os.system callbacks.own.command=false", "callbacks.own._target_ must be a class that inherits"),
        ("callbacks.own._target_=mine.rows callbacks.own.path=x", "callbacks.own._target_ must be a class that inherits"),
        ("trainer.num_nodes=2", "trainer.num_nodes must be left out, because adept sets it: leave it out"),
        ("trainer.strategy=ddp trainer.devices=2", "trainer.strategy must be ddp_fork or auto, got ddp: leave it out, and"),
        ("trainer.strategy=ddp_spawn", "leave it out, and add trainer=ddp"),
        ("trainer=ddp trainer.strategy=fsdp", "leave it out, and add trainer=ddp"),
        ("trainer.limit_test_batches=3", "trainer.limit_test_batches has no effect here: leave it out"),
        ("trainer.sync_batchnorm=true", "trainer.sync_batchnorm has no effect here"),
        ("trainer.barebones=true", "because adept sets it: set logger=none"),
        ("trainer.profiler=xla", "trainer.profiler must be one of simple, advanced, got xla"),
        ("trainer.max_epochs=2 trainer.min_epochs=3", "trainer.min_epochs must be at most trainer.max_epochs=2, got 3: set both"),
        ("logger.csv.save_dir=x", "logger.csv.save_dir has no effect, because metrics.csv stands in output_dir: leave it out, or"),
        ("logger=none logger.none.x=1", "logger.none.x has no effect"),
        ("trainer.overfit_batches=1", "because adept sets it: set trainer.limit_train_batches"),
        ("trainer=gpu trainer.precision=bf16-mixd", "trainer.precision must be one of 32, 32-true, 16, "),
        ("trainer.ckpt_path=x", "train has no option trainer.ckpt_path: did you mean resume_from?"),
        ("lr=1", "train has no option lr: did you mean training.learning_rate?"),
        ("training.lr=1", "train has no option training.lr: did you mean training.learning_rate?"),
        ("hydra.sweep.dir=x", "train has no option hydra.sweep.dir: did you mean sweep_dir?"),
        ("trainer.limit_train_batches=1,2", "must be one value, got 2 (1,2): quote a comma; to run once for each value, add -m"),
        ("seed=range(3)", "to run once for each value, add -m"),
        ("--info", "train has no flag --info: adept train --help lists all options"),
        ("callbacks.own._target_=mine.Recorder", "must be a class that inherits from pytorch_lightning.callbacks.Callback"),
        ("trainer=tpu", "trainer must be one of cpu, ddp, debug, gpu, got tpu"),
        ("logger=comet", "logger must be one of csv, mlflow, none, tensorboard, wandb, got comet"),
        ("logger=[csv,comet]", "logger must be one of csv, mlflow, none, tensorboard, wandb, got comet"),
        ("logger=wandb", 'wandb is not installed: pip install "adept-dp[wandb]"'),
        ("logger=mlflow", 'mlflow is not installed: pip install "adept-dp[mlflow]"'),
        ("logger=tensorboard", 'tensorboard is not installed: pip install "adept-dp[tensorboard]"'),
        ("logger=mlflow logger.mlflow.run_nam=x", "train has no option logger.mlflow.run_nam: did you mean logger.mlflow.run_"),
        ("logger.mine.x=3", "logger.mine must have a class, got none: add logger.mine._target_=MODULE.CLASS"),
        ("callbacks.own._target_=nowhere.Thing", "callbacks.own._target_ must be MODULE.CLASS that can be imported"),
        ("callbacks=timer callbacks.timer.duration=x", "callbacks.timer cannot be made"),
        ("trainer.x.y=3", "an option of trainer is written trainer.NAME"),
        ("lightning=3", "train has no option lightning"),
    ],
)  # fmt: skip
def test_a_part_that_does_not_fit_is_one_line(adept_here: Run, tmp_path: Path, options: str, message: str) -> None:
    done = adept_here("train", *TINY, *options.split(), f"output_dir={tmp_path}/run")
    assert done.returncode == 2, done.stderr
    assert any(part in done.stderr for part in message.split("|")), done.stderr
    assert done.stderr.count("\n") == 1
    assert "wandb" in options or not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("options", "refused"),
    [
        ("logger=wandb", True),
        ("logger=wandb logger.wandb.offline=true", False),
        ("logger=mlflow", False),
        ("logger=mlflow logger.mlflow.tracking_uri=https://example.org", True),
        ("logger=mlflow logger.mlflow.tracking_uri=databricks", True),
        ("logger=mlflow logger.mlflow.tracking_uri=sqlite:////tmp/nowhere/x.db", False),
        ("logger=wandb logger.wandb.mode=offline", False),
        ("logger=wandb logger.wandb.offline=true logger.wandb.mode=online", True),
        ("logger=tensorboard", False),
        ("logger=tensorboard logger.tensorboard.save_dir=s3://bucket", True),
        ("logger.own._target_=mine.Recorder", True),
        ("logger.own._target_=pytorch_lightning.loggers.CSVLogger", False),
        ("logger.wandb._target_=mine.Recorder logger.wandb.offline=true", True),
    ],
)
def test_private_training_text_is_kept_from_loggers_that_send(
    adept_here: Run, tmp_path: Path, options: str, refused: bool
) -> None:
    done = adept_here("train", *TINY, *options.split(), "data.public=false", f"output_dir={tmp_path}/run")
    assert ("because the training text is private" in done.stderr) is refused, done.stderr


def test_a_part_of_your_own_stands_in_a_class_of_yours(adept_here: Run, tmp_path: Path) -> None:
    timer = ["callbacks.end._target_=pytorch_lightning.callbacks.Timer", "callbacks.end.duration=00:00:10:00"]
    done = adept_here(
        "train", *TINY, "trainer=debug", "trainer.limit_train_batches=2", *timer, f"output_dir={tmp_path}/run"
    )
    assert done.returncode == 0, done.stderr
    assert [row["step"] for row in rows(tmp_path / "run" / "metrics.csv")] == ["2"]


@pytest.mark.parametrize(("choice", "noted"), [("trainer=ddp", True), ("trainer=cpu", False)])
def test_one_process_of_ddp_is_noted(adept_here: Run, tmp_path: Path, choice: str, noted: bool) -> None:
    done = adept_here(
        "train", *TINY, choice, "trainer.devices=1", "trainer.fast_dev_run=true", f"output_dir={tmp_path}/run"
    )
    assert ("trainer=ddp trains in one process here: add trainer.devices=2" in done.stderr) is noted, done.stderr


class Late(Callback):
    """A callback that logs a number when Lightning has ended an epoch."""

    def on_train_epoch_end(self, trainer: Any, pl_module: Any) -> None:
        pl_module.log("late", 100.0 + trainer.current_epoch)


def test_a_row_holds_the_numbers_of_its_own_epoch(adept_here: Run, tmp_path: Path) -> None:
    """Those that a callback logs last, and no validation loss of an epoch before."""
    own = ["callbacks.late._target_=mine.Late", "trainer.check_val_every_n_epoch=2", "trainer.max_epochs=3"]
    done = adept_here("train", *TINY, *own, f"output_dir={tmp_path}/run")
    assert done.returncode == 0, done.stderr
    table = rows(tmp_path / "run" / "metrics.csv")
    assert [row["late"] for row in table] == ["100.0", "101.0", "102.0"]
    assert [bool(row["validation_loss"]) for row in table] == [False, True, False]


def test_a_run_without_a_validation_says_so(adept_here: Run, tmp_path: Path) -> None:
    done = adept_here(
        "train", *TINY, "trainer.max_epochs=1", "trainer.limit_val_batches=0", f"output_dir={tmp_path}/run"
    )
    assert done.returncode == 0, done.stderr
    assert "not measured: no epoch ended with a validation" in done.stdout
    assert "nan" not in (tmp_path / "run" / "model" / "README.md").read_text().lower().split()


@pytest.mark.parametrize(
    "option", ["precision=bf16-mixed", "min_epochs=1", "fast_dev_run=true", "max_steps=3", "accumulate_grad_batches=2"]
)
def test_options_of_lightnings_trainer_are_taken(adept_here: Run, tmp_path: Path, option: str) -> None:
    done = adept_here("train", *TINY, "trainer.max_epochs=1", f"trainer.{option}", f"output_dir={tmp_path}/run")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "run" / "model" / "config.json").is_file()


class Stopping(EarlyStopping):
    """A callback whose state Lightning cannot tell from that of adept's own."""

    @property
    def state_key(self) -> str:
        return EarlyStopping("validation_loss").state_key


@pytest.mark.parametrize(
    "options",
    [
        "callbacks=lr_monitor",
        "callbacks=lr_monitor logger=csv",
        "callbacks.own._target_=pytorch_lightning.callbacks.LearningRateMonitor",
        "callbacks.own._target_=mine.Stopping callbacks.own.monitor=validation_loss",
        "logger=[none,csv]",
        "trainer.val_check_interval=100",
    ],
)
def test_a_run_that_lightning_refuses_leaves_its_directory_to_the_corrected_command(
    adept_here: Run, tmp_path: Path, options: str
) -> None:
    run = tmp_path / "run"
    done = adept_here("train", *TINY, "trainer.max_epochs=1", f"output_dir={run}", *options.split())
    assert done.returncode == 2, done.stderr
    assert "logger" in done.stderr
    assert not run.exists()


class Threaded(Recorder):
    """A logger that writes in a thread, as those of TensorBoard and W&B do; a fork would leave the thread behind."""

    def __init__(self) -> None:
        self.queue: Queue[Any] | None = None

    def log_metrics(self, metrics: dict[str, float], step: int | None = None) -> None:
        if self.queue is None:
            self.queue = Queue(1)
            threading.Thread(
                target=lambda waiting: [waiting.get() for _ in range(99)], args=[self.queue], daemon=True
            ).start()
        self.queue.put(metrics, timeout=3)

    def log_hyperparams(self, params: Any, *_: Any, **__: Any) -> None:
        self.log_metrics(params)


class Failing(Callback):
    """A callback with a defect, in the hook that is named."""

    def __init__(self, hook: str, error: str) -> None:
        self.hook, self.error = hook, {"value": ValueError("purple umbrella"), "exit": SystemExit(0)}[error]

    def on_train_epoch_start(self, trainer: Any, pl_module: Any) -> None:
        self.fail("epoch")

    def on_fit_end(self, trainer: Any, pl_module: Any) -> None:
        self.fail("end")

    def fail(self, hook: str) -> None:
        if hook == self.hook:
            raise self.error


class Narrow(Recorder):
    """A logger whose method lacks an argument, so the error comes from Lightning's call of it."""

    def log_metrics(self, numbers: dict[str, float]) -> None:  # type: ignore[override]
        pass


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("callbacks.own._target_=mine.Failing callbacks.own.hook=epoch callbacks.own.error=value",
         "adept: mine.Failing failed (ValueError: purple umbrella; test_lightning_parts.py, line "),
        ("callbacks.own._target_=mine.Failing callbacks.own.hook=epoch callbacks.own.error=exit",
         "adept: mine.Failing failed (SystemExit: 0; test_lightning_parts.py, line "),
        ("callbacks.own._target_=mine.Failing callbacks.own.hook=end callbacks.own.error=value",
         "goes on after the last whole epoch"),
        ("logger.own._target_=mine.Narrow", "adept: mine.Narrow failed (TypeError: "),
        ("data.public=false callbacks.own._target_=mine.Failing callbacks.own.hook=epoch callbacks.own.error=value",
         "adept: mine.Failing failed (ValueError; test_lightning_parts.py, line "),
    ],
)  # fmt: skip
def test_an_error_of_ones_own_class_names_the_class_and_never_quotes_private_text(
    adept_here: Run, tmp_path: Path, options: str, message: str
) -> None:
    done = adept_here("train", *TINY, "trainer.max_epochs=1", *options.split(), f"output_dir={tmp_path}/run")
    assert done.returncode == 2, done.stderr
    assert message in done.stderr
    assert "umbrella" not in done.stderr or "public=false" not in options
    assert done.stderr.count("\n") == 1 + ("note: this text counts as private" in done.stderr)
    assert (tmp_path / "run").exists() is ("hook=end" in options)


def test_an_error_in_another_process_names_the_class_and_any_other_error_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(foreign, "_imported", {})
    import_foreign("callbacks.own._target_", "mine.Failing")
    assert blame(RuntimeError(f'in a process:\n  File "{__file__}", line 3')) == (
        "mine.Failing failed (in another process; test_lightning_parts.py)"
    )
    assert blame(RuntimeError("of adept itself")) is None


@pytest.mark.parametrize(
    ("devices", "several"),
    [(2, True), ("2", True), ([0, 1], True), ("0,1", True), (1, False), ("1", False), ([3], False), ("3,", False)],
)  # fmt: skip
def test_several_devices_get_the_strategy_of_trainer_ddp(devices: Any, several: bool) -> None:
    of_ddp = yaml.safe_load((config_directory() / "trainer" / "ddp.yaml").read_text("utf-8"))["strategy"]
    assert parts.check_trainer({"devices": devices}).get("strategy") == (of_ddp if several else None)


@pytest.mark.parametrize("devices", ["auto", -1, "-1"])
def test_all_devices_are_several_where_there_are_several(devices: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for count in (1, 2):
        monkeypatch.setattr("torch.cuda.device_count", lambda count=count: count)
        assert ("strategy" in parts.check_trainer({"devices": devices})) is (count == 2)


@pytest.mark.slow
@pytest.mark.parametrize("choice", [["trainer=ddp"], ["logger.own._target_=mine.Threaded"]])
def test_of_several_processes_one_writes(adept: Run, tmp_path: Path, choice: list[str]) -> None:
    done = adept(
        "train", *TINY, *choice, "trainer.devices=2", "trainer.accelerator=cpu", "trainer.max_epochs=2",
        f"output_dir={tmp_path}/run",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert [row["step"] for row in rows(tmp_path / "run" / "metrics.csv")] == ["2", "4"]  # each has half of the batches
    assert "epochs           2 in" in done.stdout


@pytest.mark.parametrize(
    ("text", "value"), [("3", 3), ("null", None), ("", None), ("'a,b'", "a,b"), ('"3"', "3"), ("a b", "a b"), ("[1,2]", [1, 2]),
     ("1e-3", 1e-3), ("5E-1", 0.5), ("[1e2,.5e-3]", [100.0, 5e-4]), ("'1e-3'", "1e-3"), ("run 1e-3", "run 1e-3"),
     ("1e-3x", "1e-3x"), ("e3", "e3")]
)  # fmt: skip
def test_a_value_of_lightnings_is_read_as_yaml(text: str, value: Any) -> None:
    assert read_scalar("trainer.x", text) == value


def test_the_groups_name_files_that_are_there() -> None:
    from adept.cli.help import names

    assert set(names("logger", "train")) == {*parts.LOGGERS, parts.CSV, parts.NONE}
    assert set(names("callbacks", "train")) == set(parts.CALLBACKS)
    assert not set(parts.ELSEWHERE) & set(TrainerConfig.__dataclass_fields__)


def test_a_picture_of_one_epoch_or_of_none_is_no_error(tmp_path: Path) -> None:
    table = tmp_path / "metrics.csv"
    table.write_text("epoch,step,train_loss,validation_loss\n0,4,2.5,nan\n")
    draw_curve(table, tmp_path / "one.svg")
    assert "polyline" in (tmp_path / "one.svg").read_text()
    table.write_text("epoch,step\n0,4\n")
    draw_curve(table, tmp_path / "none.svg")
    assert not (tmp_path / "none.svg").exists()
