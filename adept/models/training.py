"""Train a tokenizer, topics and a network, and list public sentences, from scratch or from a checkpoint."""

import hashlib
import json
import logging
import math
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, cast

import pytorch_lightning as lightning
import torch
from lightning_fabric.plugins.environments.lightning import LightningEnvironment
from lightning_fabric.utilities.exceptions import MisconfigurationException
from lightning_fabric.utilities.rank_zero import rank_zero_only
from pytorch_lightning.callbacks import Callback, Checkpoint, EarlyStopping, ModelCheckpoint, RichProgressBar
from torch import Tensor

from adept.data.corpus import Corpus
from adept.data.writing import make_directory, read_table, write_table
from adept.errors import ConfigurationError, is_moderate, refuse
from adept.models import config as names
from adept.models.codebooks import draw_codewords, fit_topics, learn_codes
from adept.models.config import FitResult, Parts, TrainerConfig, TrainingConfig, TrainSpec, check_device
from adept.models.lightning import AdeptModule, UtteranceDataModule
from adept.models.lstm_autoencoder import noise_between
from adept.models.resumption import STOPPING, resume_run
from adept.models.saved_model import Autoencoder
from adept.models.tokenizer import PAD, Tokenizer
from adept.models.topics import supported_topics
from adept.torch_defaults import usual_torch


@usual_torch()
def train_model(
    train: Corpus, validation: Corpus, spec: TrainSpec, *, output_dir: Path, resume: Path | None = None
) -> tuple[Autoencoder, Tokenizer, FitResult]:
    """Train a tokenizer and a model, from scratch or from the checkpoint ``resume``; save both."""
    first = train.take(range(min(len(train), spec.training.most or len(train))))
    spec, content = replace(spec, model=replace(spec.model, encoder="lstm")), spec.training.content
    if content.kind == names.TOPICS:
        topics = supported_topics(len(train), most=content.topics)
        spec = replace(spec, model=replace(spec.model, encoder=names.TOPICS, latent_dim=topics))
    if resume:
        spec = resume_run(spec, origin_of(spec, first), resume)
    lightning.seed_everything(spec.seed, verbose=False)
    tokenizer = _tokenizer(train, spec, checkpoints=output_dir / names.CHECKPOINTS, resume=resume)
    model = Autoencoder(
        spec.model, vocabulary_size=len(tokenizer), clip=spec.clip, training_data=spec.training_data,
        labels=len(tokenizer.labels),
    )  # fmt: skip
    if model.config.encoder == names.TOPICS:
        fit_topics(model, tokenizer, first, spec)
    fitted = fit(model, tokenizer, first, validation, spec, output_dir=output_dir, resume=resume)
    if spec.clip != "l1":  # this model serves mechanisms on the sphere, too; l1 uses neither codewords nor descriptions
        spec.parts.announce("listing codewords and public sentences")
        learn_codes(model, tokenizer, train, validation, spec)
    elif spec.training_data.public:
        seen = set(train.texts)
        model.held_out = [text for text in dict.fromkeys(validation.texts[: names.MAX_HELD_OUT]) if text not in seen]
    model.save_pretrained(output_dir / names.MODEL)
    tokenizer.save_pretrained(output_dir / names.MODEL)
    return model, tokenizer, fitted


def _tokenizer(train: Corpus, spec: TrainSpec, *, checkpoints: Path, resume: Path | None) -> Tokenizer:
    if resume:
        return Tokenizer.from_pretrained(resume.parent)
    labels = sorted(set(train.labels or [])) if spec.joint_labels else []
    tokenizer = Tokenizer.train(train.texts, spec.tokenizer, labels=labels)
    none = len(tokenizer) == names.FIRST_LABEL + len(labels)
    refuse((none, f"tokenizer.min_frequency must leave a word, got {spec.tokenizer.min_frequency}: lower it"))
    if spec.training.content.english:
        tokenizer = tokenizer.with_synonyms()
    make_directory(checkpoints)
    tokenizer.save_pretrained(checkpoints)
    return tokenizer


@usual_torch()
def fit(
    model: Autoencoder,
    tokenizer: Tokenizer,
    train: Corpus,
    validation: Corpus,
    spec: TrainSpec,
    *,
    output_dir: Path,
    resume: Path | None = None,
) -> FitResult:
    """Train a model in place, keep the weights with the least validation loss, and write logs."""
    if resume:
        spec = resume_run(spec, origin_of(spec, train), resume, model)
    config, length = spec.training, model.config.max_length
    rows, unseen = (tokenizer.encode_corpus(corpus, max_length=length) for corpus in (train, validation))
    data = UtteranceDataModule(rows, unseen, batch_size=config.batch_size, seed=spec.seed)
    save = partial(ModelCheckpoint, output_dir / names.CHECKPOINTS, enable_version_counter=False)
    best = save(filename="best", monitor="validation_loss")
    callbacks = [
        best,
        EarlyStopping("validation_loss", patience=config.patience, strict=False),  # max_steps may end a run before
        save(filename="last", save_on_train_epoch_end=True),  # ``save_last`` would keep improvements alone
        origin := Origin(origin_of(spec, train), config, max_steps=spec.parts.trainer.get("max_steps", -1)),
        *([EpochTable(output_dir / names.METRICS)] if spec.parts.has_table else []),
    ]
    trainer = make_trainer(spec.trainer, output_dir, callbacks, gradient_clip=config.gradient_clip, parts=spec.parts)
    task = AdeptModule(
        vocabulary_size=model.vocabulary_size, clip=model.clip, encoder=model.config.encoder != names.TOPICS,
        **model.config.network_sizes, learning_rate=config.learning_rate, weight_decay=config.weight_decay,
        network=model, randomise=randomiser(model, spec),
    )  # fmt: skip
    with quiet_lightning(), refuse_misuse(ValueError):
        trainer.fit(task, datamodule=data, ckpt_path=resume, weights_only=True)
    reached, read, score = trainer.current_epoch, origin.read, trainer.callback_metrics.get("validation_loss")
    paths = [output_dir / names.CHECKPOINTS / name for name in (names.LAST, names.BEST)]  # of all processes
    if saved := [torch.load(path, weights_only=True) for path in paths if path.is_file()]:  # not after fast_dev_run
        task.load_state_dict(saved[-1]["state_dict"])
        score, reached = saved[-1]["callbacks"][best.state_key]["best_model_score"], saved[0]["epoch"] + 1
        read = saved[0].get("read", read)
    model.eval()
    return _measured(task, reached, score, read)


def _measured(task: AdeptModule, epochs: int, score: Any, read: dict[str, Any]) -> FitResult:
    loss, rate = math.nan if score is None else float(score), task.hparams["learning_rate"]
    refuse(
        (not read["records"], "training ended before its first step: raise what ended it, such as trainer.max_time"),
        (
            not (score is None or math.isfinite(loss)) or not all(map(is_moderate, task.state_dict().values())),
            f"training diverged (loss {loss:.3g}): lower training.learning_rate={rate:g}",
        ),
    )
    tokens, records = (read[name] / (read["seconds"] or math.inf) for name in ("tokens", "records"))
    return FitResult(epochs, loss, tokens_per_second=tokens, records_per_second=records, seconds=read["seconds"])


def origin_of(spec: TrainSpec, train: Corpus) -> dict[str, Any]:
    content = json.dumps([train.texts, train.labels]).encode()
    return {
        "clip": spec.clip, "sizes": spec.model.described, "labels": spec.joint_labels,
        "text": hashlib.sha256(content).hexdigest(), "public": spec.training_data.public,
    }  # fmt: skip


class EpochTable(Checkpoint):
    """A callback that writes a table with one row for each epoch; a resumed run continues its table.

    It is a ``Checkpoint`` because Lightning calls these last, when other callbacks have logged their numbers.
    """

    def __init__(self, path: Path) -> None:
        self.path, self.validated = path, False

    def on_train_batch_start(self, trainer: Any, *_: Any) -> None:
        self.rate = trainer.optimizers[0].param_groups[0]["lr"]  # which falls before an epoch ends

    def on_validation_end(self, trainer: Any, pl_module: Any) -> None:
        self.validated = True

    def on_train_epoch_end(self, trainer: Any, pl_module: Any) -> None:
        if not trainer.is_global_zero:
            return
        rows = [row for row in read_table(self.path) if int(row["epoch"]) < trainer.current_epoch]
        own = {"epoch": trainer.current_epoch, "step": trainer.global_step, "learning_rate": self.rate}
        measured = {name: float(value) for name, value in sorted(trainer.callback_metrics.items())}
        if not self.validated:  # Lightning keeps the loss of an earlier epoch
            measured.pop("validation_loss", None)
        self.validated = False
        write_table([*rows, own | measured], self.path)


class Origin(Callback):
    """A callback that stores in each checkpoint, for ``resume_run``, the origin of the weights and what they have read."""

    def __init__(self, origin: dict[str, Any], config: TrainingConfig, *, max_steps: int) -> None:
        self.origin, self.config, self.max_steps = origin, config, max_steps
        self.read = {"records": 0, "tokens": 0, "seconds": 0.0}  # by all processes, since the first epoch

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        self.begin = time.monotonic() - self.read["seconds"]
        if self.max_steps > 0:  # a resumed Trainer that is told before would end its last epoch once more
            trainer.fit_loop.epoch_loop.max_steps = self.max_steps

    def on_train_epoch_start(self, trainer: Any, pl_module: Any) -> None:
        """Set the learning rate, which falls to zero by the end of the last epoch, also of a run that resumes."""
        schedule, epoch = trainer.lr_scheduler_configs[0].scheduler, trainer.current_epoch
        schedule.last_epoch = epoch
        trainer.optimizers[0].param_groups[0]["lr"] = schedule.base_lrs[0] * schedule.lr_lambdas[0](epoch)

    def on_train_batch_end(self, trainer: Any, pl_module: Any, outputs: Any, batch: Tensor, batch_idx: int) -> None:
        self.read["records"] += len(batch) * trainer.world_size
        self.read["tokens"] += int((batch != PAD).sum()) * trainer.world_size
        self.read["seconds"] = time.monotonic() - self.begin
        trainer.should_stop |= trainer.global_step == trainer.max_steps  # then Lightning validates an epoch that is cut

    def on_save_checkpoint(self, trainer: Any, pl_module: Any, checkpoint: dict[str, Any]) -> None:
        self.read["seconds"] = time.monotonic() - self.begin
        checkpoint |= {"origin": self.origin, "read": self.read}

    def on_load_checkpoint(self, trainer: Any, pl_module: Any, checkpoint: dict[str, Any]) -> None:
        self.read = checkpoint.get("read", self.read)
        checkpoint["callbacks"][STOPPING]["patience"] = self.config.patience


def randomiser(model: Autoencoder, spec: TrainSpec) -> Callable[[Tensor], Tensor] | None:
    """Return the function that randomises latents in training; None if training adds no noise."""
    if spec.mechanism is not None and spec.training.epsilon is not None:
        return noise_between(spec.mechanism, *spec.training.budgets)
    return partial(draw_codewords, books=model.codebooks, clip_norm=model.clip_norm) if model.codebooks else None


@contextmanager
def refuse_misuse(*others: type[Exception]) -> Iterator[None]:
    """Raise ConfigurationError if Lightning itself says that the options of its parts do not fit together."""
    refused: tuple[Any, ...] = (MisconfigurationException, *others)
    try:
        yield
    except refused as error:
        *_, (frame, _) = traceback.walk_tb(error.__traceback__)
        if not frame.f_globals["__name__"].startswith(("pytorch_lightning", "lightning_fabric")):
            raise
        raise ConfigurationError(f"Lightning refuses these options of trainer, logger or callbacks: {error}") from None


def make_trainer(
    config: TrainerConfig,
    directory: Path,
    callbacks: list[Callback],
    *,
    gradient_clip: float,
    checkpoints: bool = True,
    parts: Parts | None = None,
) -> lightning.Trainer:
    """Return a trainer that writes into ``directory`` alone, of one process if ``parts`` ask for no more.

    Batch systems and launchers (SLURM, torchrun, LSF, MPI) set variables for each process, from
    which Lightning would take a rank, a number of processes and a signal to requeue the job.
    """
    cast(Any, rank_zero_only).rank = 0  # Lightning read it from such variables when it was imported
    show = sys.stderr.isatty() if config.progress_bar is None else config.progress_bar
    bar = [RichProgressBar(console_kwargs={"stderr": True})] if show else []
    check_device(config.accelerator)
    parts = parts or Parts()
    options: dict[str, Any] = {  # the classifier of published tables is trained in the orders that reloading gives
        "accelerator": config.accelerator, "devices": 1, "enable_model_summary": False, "num_sanity_val_steps": 0,
        "reload_dataloaders_every_n_epochs": 1, "log_every_n_steps": 10_000,
    }  # fmt: skip
    with quiet_lightning(), refuse_misuse(ValueError, TypeError, RuntimeError):
        return lightning.Trainer(
            **options | parts.trainer | {"max_steps": -1},  # ``Origin`` sets them
            plugins=LightningEnvironment(),
            default_root_dir=directory,
            max_epochs=config.max_epochs,
            gradient_clip_val=gradient_clip,
            callbacks=[*callbacks, *bar, *parts.callbacks],
            enable_progress_bar=show,
            enable_checkpointing=checkpoints,
            logger=list(parts.loggers) or False,
        )


class quiet_lightning(warnings.catch_warnings):  # noqa: N801 - used like a function
    """Hide Lightning's advice about hardware, workers and existing folders."""

    def __enter__(self) -> None:
        super().__enter__()
        warnings.filterwarnings("ignore", module=r"pytorch_lightning|lightning_fabric")
        for name in ("pytorch_lightning", "lightning_fabric"):
            logging.getLogger(name).setLevel(logging.ERROR)
