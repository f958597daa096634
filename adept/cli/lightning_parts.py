"""Loggers, callbacks and options of Lightning's ``Trainer`` that ``adept train`` takes by name.

A part of your own is a class, ``logger.NAME._target_=MODULE.CLASS``, in a yaml file or on the command
line. Lightning's own names of options are checked against the signatures of the classes.

*Claim*: a logger gets numbers and values of options, and no text, label, word or path of the data.
*Reason*: ``LOGGED`` lists the groups whose values it gets, and none of them names data; Lightning
adds losses and learning rates; ``WANDB_SETTINGS`` keep the command line from W&B. A callback or a
logger of your own is your code, and may do anything.
"""

import inspect
import math
import os
import pkgutil
import re
import sys
from collections.abc import Collection
from dataclasses import asdict, fields, replace
from pathlib import Path
from types import NoneType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import torch

from adept.cli.config import TrainConfig
from adept.cli.console import warn
from adept.cli.help import SEVERAL, nearest
from adept.errors import ConfigurationError, check_choice, flatten, printable, refuse, typed_as
from adept.foreign import import_foreign
from adept.models.config import Parts, TrainerConfig, check_device

LOGGERS = {
    "tensorboard": "pytorch_lightning.loggers.TensorBoardLogger",
    "wandb": "pytorch_lightning.loggers.WandbLogger",
    "mlflow": "pytorch_lightning.loggers.MLFlowLogger",
}
CALLBACKS = {
    "lr_monitor": "pytorch_lightning.callbacks.LearningRateMonitor",
    "model_summary": "pytorch_lightning.callbacks.RichModelSummary",
    "timer": "pytorch_lightning.callbacks.Timer",
}
CSV, NONE = "csv", "none"  # metrics.csv and curve.svg, or not even these
PROFILERS = {name: f"pytorch_lightning.profilers.{name.title()}Profiler" for name in ("simple", "advanced")}
TARGET = "_target_"
KIND_WORDS: dict[Any, str] = {
    int: "a whole number", float: "a number", bool: "true or false", str: "a text", NoneType: "null", list: "a list",
    dict: "a mapping",
}  # fmt: skip
BASES = {"logger": "pytorch_lightning.loggers.Logger", "callbacks": "pytorch_lightning.callbacks.Callback"}
LOGGED = ("seed", "labels", "model", "tokenizer", "training", "trainer")  # options that loggers get
# Options of the Trainer that adept sets, and the option of adept in their place
ELSEWHERE = {
    "logger": "logger", "callbacks": "callbacks", "gradient_clip_val": "training.gradient_clip",
    "enable_progress_bar": "trainer.progress_bar", "default_root_dir": "output_dir", "enable_checkpointing": None,
    "plugins": None, "num_nodes": None, "overfit_batches": "trainer.limit_train_batches", "barebones": "logger=none",
}  # fmt: skip
# Options of the Trainer without effect: adept train neither tests nor predicts, and has a sampler of its own
UNUSED = {
    "limit_test_batches", "limit_predict_batches", "use_distributed_sampler", "sync_batchnorm", "model_registry",
    "enable_autolog_hparams",
}  # fmt: skip
POSITIVE = {
    "max_steps", "min_steps", "min_epochs", "limit_train_batches", "accumulate_grad_batches", "val_check_interval",
    "check_val_every_n_epoch",
}  # fmt: skip
# W&B would keep the command line and all printed lines, which hold paths and names of the data
WANDB_SETTINGS = {"x_disable_meta": True, "x_save_requirements": False, "disable_code": True, "console": "off"}
QUIET = {"MLFLOW_DISABLE_TELEMETRY": "true", "MLFLOW_LOGGING_LEVEL": "WARNING", "WANDB_ERROR_REPORTING": "false"}
# Those that start processes by a fork: others run this program's file again, which knows no command then
FORKING = ("ddp_fork", "ddp_notebook")


def build(config: TrainConfig, directory: Path) -> Parts:
    """Build the parts that a configuration names; the loggers write into ``directory``.

    Raises:
        ConfigurationError: a name, an option or a class does not exist, a package is missing, or a
            logger would send numbers about private training text over the network.
    """
    check_device(config.trainer.accelerator)
    parts = {f"{group}.{name}": part for group in SEVERAL for name, part in getattr(config, group).items()}
    for name, part in parts.items():
        refuse((not isinstance(part, dict), f"{name} must hold options, got {printable(part)}: write {name}: {{}}"))
    for option in (f"logger.{name}.{option}" for name in (CSV, NONE) for option in config.logger.get(name, ())):
        raise ConfigurationError(
            f"{option} has no effect, because metrics.csv stands in output_dir: leave it out, or add a logger with "
            f"logger.mine.{TARGET}=pytorch_lightning.loggers.CSVLogger"
        )
    chosen = {name: options for name, options in config.logger.items() if name not in (CSV, NONE)}
    named = {name: logger_options(name, options, directory) for name, options in chosen.items()}
    if not is_public(config):
        _refuse_sending(named)
    refuse(({NONE} < {*config.logger}, "logger must be none or names of loggers, got both: leave none out"))
    loggers = tuple(_make("logger", name, options, LOGGERS) for name, options in named.items())
    callbacks = [_make("callbacks", name, options, CALLBACKS) for name, options in config.callbacks.items()]
    trainer = check_trainer(config.lightning, max_epochs=config.trainer.max_epochs)
    on_cpu, precision = (
        config.trainer.accelerator == "cpu" or not torch.accelerator.is_available(),
        trainer.get("precision"),
    )
    refuse(
        (on_cpu and f"{precision}".startswith("16"), f"trainer.precision must be bf16-mixed on a CPU, got {precision}")
    )
    if str(trainer.get("strategy")).startswith(FORKING) and _count_devices(trainer.get("devices")) < 2:
        warn("note: trainer=ddp trains in one process here: add trainer.devices=2")
    if profiler := trainer.get("profiler"):
        trainer["profiler"] = pkgutil.resolve_name(PROFILERS[profiler])(directory, "profile")
    return Parts(
        loggers=loggers, callbacks=(*callbacks, *([_telling(config)] if loggers else [])),
        trainer=trainer, has_table=NONE not in config.logger, announce=_announce,
    )  # fmt: skip


def logger_options(name: str, options: dict[str, Any], directory: Path) -> dict[str, Any]:
    """Return a logger's options, with those that adept adds: places beside the model, and nothing of the command line."""
    target = options.get(TARGET, LOGGERS.get(name))
    place = options.get("save_dir", directory.absolute().parent)  # of MLflow, whose runs share a database
    own: dict[str, dict[str, Any]] = {
        "tensorboard": {"save_dir": str(directory), "name": "tensorboard", "version": ""},
        "wandb": {"save_dir": str(directory), "project": "adept"},
        "mlflow": {
            "tracking_uri": f"sqlite:///{place}/mlflow.db", "artifact_location": f"file:{Path(place).absolute()}/mlruns",
            "experiment_name": "adept", "run_name": directory.name,
        },
    }  # fmt: skip
    forced = {"settings": (options.get("settings") or {}) | WANDB_SETTINGS} if target == LOGGERS["wandb"] else {}
    return own.get(name, {}) | options | forced


def _telling(config: TrainConfig) -> Any:
    """Return a callback that gives the loggers the options' values; a thread that begins before a fork is lost in it."""
    values = asdict(replace(config, mechanism=None))
    logged = {"mechanism": config.mechanism.kind.name} | flatten({name: values[name] for name in LOGGED})

    def tell(trainer: Any, _: Any) -> None:
        for logger in trainer.loggers:
            logger.log_hyperparams(logged)

    return pkgutil.resolve_name("pytorch_lightning.callbacks:LambdaCallback")(on_fit_start=tell)


def _announce(step: str, *, always: bool = False) -> None:
    if always or sys.stderr.isatty():
        warn(f"{step} ...")


def is_public(config: TrainConfig) -> bool:
    """Return True if the training text is declared public."""
    return config.data.public if config.training_data.public is None else config.training_data.public


def check_trainer(options: dict[str, Any], *, max_epochs: float = math.inf) -> dict[str, Any]:
    """Return options of Lightning's ``Trainer``; raise ConfigurationError for a name that it lacks."""
    hints = get_type_hints(pkgutil.resolve_name("pytorch_lightning:Trainer").__init__) if options else {}
    for name, value in options.items():
        instead = f"set {ELSEWHERE[name]}" if ELSEWHERE.get(name) else "leave it out"
        refuse(
            (name in ELSEWHERE, f"trainer.{name} must be left out, because adept sets it: {instead}"),
            (name in UNUSED, f"trainer.{name} has no effect here: leave it out"),
        )
        if name not in hints:
            names = {*hints, *(field.name for field in fields(TrainerConfig))}
            _refuse_unknown("trainer", name, names - ELSEWHERE.keys() - UNUSED - {"return"})
        kinds, number = _kinds(hints[name]), value if isinstance(value, int | float) else math.inf
        words = " or ".join(KIND_WORDS.get(kind, kind) for kind in kinds if kind in KIND_WORDS or isinstance(kind, str))
        odd = name != "precision" and type(value) not in kinds and value not in kinds
        low = name in POSITIVE and number <= 0 and (name, value) != ("max_steps", -1)
        refuse(
            (odd, f"trainer.{name} must be {words}, got {printable(typed_as(value))}: correct it"),
            (low, f"trainer.{name} must be above 0, got {value}: give more, or leave it out"),
        )
    for unit, most in {"epochs": max_epochs, "steps": options.get("max_steps", -1)}.items():
        if (least := options.get(f"min_{unit}") or 0) > most > 0:
            raise ConfigurationError(
                f"trainer.min_{unit} must be at most trainer.max_{unit}={most}, got {least}: set both"
            )
    if options.get("profiler") is not None:
        check_choice(PROFILERS, **{"trainer.profiler": str(options["profiler"])})
    if options.get("precision") is not None:  # checked here, as Lightning looks at the device first
        keep_float32 = ("32", "32-true", "16", "16-mixed", "bf16", "bf16-mixed")  # the weights, in each of these
        check_choice(keep_float32, **{"trainer.precision": str(options["precision"])})
    return options | _strategy(options)


def _kinds(hint: Any) -> list[Any]:
    """Return the types, and the values of a Literal, of which an annotation is a union."""
    is_union = get_origin(hint) in (Union, Literal)
    return [kind for one in get_args(hint) for kind in _kinds(one)] if is_union else [get_origin(hint) or hint]


def _strategy(options: dict[str, Any]) -> dict[str, Any]:
    """Return the strategy of ``trainer=ddp`` for several devices; raise ConfigurationError for one that cannot start."""
    strategy = options.get("strategy") or "auto"
    refuse(
        (
            strategy != "auto" and not str(strategy).startswith(FORKING),
            f"trainer.strategy must be {FORKING[0]} or auto, got {printable(strategy)}: leave it out, and add trainer=ddp",
        )
    )
    return {"strategy": FORKING[0]} if strategy == "auto" and _count_devices(options.get("devices")) > 1 else {}


def _count_devices(devices: Any) -> int:
    """Return the number for which Lightning's option ``devices`` asks: a number, places, or all that there are."""
    text = ",".join(map(str, [*devices, ""])) if isinstance(devices, list) else str(devices).strip()
    several = torch.cuda.device_count() if text in ("auto", "-1") else len([*filter(str.strip, text.split(","))])
    return int(text) if text.isdecimal() else several


def _refuse_sending(loggers: dict[str, dict[str, Any]]) -> None:
    for name, options in loggers.items():
        target, addresses = options.get(TARGET, LOGGERS.get(name)), str([*options.values()])
        mode = options.get("mode", "offline" if options.get("offline") is True else "online")
        local = {
            LOGGERS["wandb"]: mode in ("offline", "disabled") and options.get("settings") == WANDB_SETTINGS,
            LOGGERS["mlflow"]: re.match(r"file:(?!//[^/])|sqlite:///|\.{0,2}/", str(options.get("tracking_uri"))),
        }.get(str(target), target in (LOGGERS["tensorboard"], "pytorch_lightning.loggers.CSVLogger"))
        refuse(
            (
                not local or re.search(r"\b(?!file:|sqlite:///)\w+://", addresses),
                f"logger={name} must write locally, because the training text is private: use another logger, "
                "logger.wandb.offline=true or, for mlflow, no tracking_uri; if anyone may read the text, add "
                "training_data.public=true",
            )
        )


def _make(group: str, name: str, options: dict[str, Any], known: dict[str, str]) -> Any:
    place, target = f"{group}.{name}", options.get(TARGET, known.get(name))
    if not isinstance(target, str):
        raise ConfigurationError(f"{place} must have a class, got none: add {place}.{TARGET}=MODULE.CLASS")
    os.environ.update({variable: value for variable, value in QUIET.items() if variable not in os.environ})
    kind = import_foreign(f"{place}.{TARGET}", target, form="MODULE.CLASS")
    if not (isinstance(kind, type) and issubclass(kind, pkgutil.resolve_name(BASES[group]))):  # nothing else is called
        raise ConfigurationError(f"{place}.{TARGET} must be a class that inherits from {BASES[group]}, got {target}")
    given = {option: value for option, value in options.items() if option != TARGET}
    accepted = inspect.signature(kind).parameters
    if not any(parameter.kind is parameter.VAR_KEYWORD for parameter in accepted.values()):
        for option in given.keys() - accepted.keys():
            _refuse_unknown(place, option, accepted)
    try:
        return kind(**given)
    except ModuleNotFoundError as error:
        missing = f'{name} is not installed: pip install "adept-dp[{name}]"'
        raise ConfigurationError(missing if name in known else f"{target} needs a package: {error}") from None
    except Exception as error:  # noqa: BLE001 - a class from elsewhere
        reason = printable(f"{type(error).__name__}: {error}")
        raise ConfigurationError(f"{place} cannot be made ({reason}): correct its options") from None


def _refuse_unknown(place: str, name: str, known: Collection[str]) -> None:
    near = nearest(f"{place}.{name}", [*(f"{place}.{one}" for one in known), "resume_from", "training.learning_rate"])
    advice = f"did you mean {near}?" if near else f"its options are {', '.join(sorted(set(known)))}"
    raise ConfigurationError(f"train has no option {place}.{name}: {advice}")
