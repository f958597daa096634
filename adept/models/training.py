"""A training run, from a corpus to a model directory."""

import hashlib
import json
import logging
import math
import random
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any, cast

import pytorch_lightning as lightning
import torch
from pytorch_lightning.callbacks import Callback, EarlyStopping, ModelCheckpoint, RichProgressBar
from pytorch_lightning.loggers import CSVLogger
from torch import Tensor
from torch.utils.data import DataLoader, Dataset, Sampler

from adept.data.corpus import Corpus
from adept.models.adept import lightning_module, noise_between
from adept.models.autoencoder import MAX_HELD_OUT, Autoencoder, pad
from adept.models.codebooks import draw_codewords, fit_topics, learn_codes
from adept.models.config import BEST, CHECKPOINTS, MODEL, TOPICS, FitResult, ModelConfig, TrainerConfig, TrainSpec
from adept.models.lexicon import Lexicon
from adept.models.tokenizer import Tokenizer
from adept.models.topics import supported_topics

POOL_BATCHES = 50  # batches whose records are sorted by length together


def train_model(
    train: Corpus, validation: Corpus, spec: TrainSpec, *, output_dir: Path, resume: Path | None = None
) -> tuple[Autoencoder, Tokenizer, FitResult]:
    """Train tokenizer and model from scratch, or go on from a checkpoint, and save both in ``output_dir/model``.

    A model that goes on is as public as all that it was ever trained on: not more than its checkpoint says, nor than ``spec``.

    Raises:
        DataError: the checkpoint is damaged, or of another run: other text, clip, labels or sizes.
        ConfigurationError: no epoch is left to train.
    """
    spec, _ = _resume(replace(spec, model=_sizes(spec, texts=len(train))), train, resume)
    lightning.seed_everything(spec.seed, verbose=False)
    tokenizer = _tokenizer(train, spec, checkpoints=output_dir / CHECKPOINTS, resume=resume)
    model = Autoencoder(
        spec.model,
        vocabulary_size=len(tokenizer),
        clip=spec.clip,
        training_data=spec.training_data,
        labels=len(tokenizer.labels),
    )
    first = train.take(range(min(len(train), spec.training.most or len(train))))
    if model.config.encoder == TOPICS:
        fit_topics(model, tokenizer, first, spec)
    fitted = fit(model, tokenizer, first, validation, spec, output_dir=output_dir, resume=resume)
    if spec.clip != "l1":  # the l1 mechanism uses neither codewords nor descriptions
        learn_codes(model, tokenizer, train, validation, spec)
    elif spec.training_data.public:
        seen = set(train.texts)
        model.held_out = [text for text in dict.fromkeys(validation.texts[:MAX_HELD_OUT]) if text not in seen]
    model.save_pretrained(output_dir / MODEL)
    tokenizer.save_pretrained(output_dir / MODEL)
    if model.codec and spec.training.codec.learn == "now":
        from adept.models.codec.files import load_codec
        from adept.models.codec.training import complete

        complete(load_codec(output_dir / MODEL))
    return model, tokenizer, fitted


def _resume(
    spec: TrainSpec, train: Corpus, checkpoint: Path | None, model: Autoencoder | None = None
) -> tuple[TrainSpec, int]:
    """Return the specification of a run, and the epochs that its checkpoint has done."""
    if checkpoint is None:
        return spec, 0
    from adept.models.resuming import resume_run

    return resume_run(spec, train, checkpoint, model)


def _sizes(spec: TrainSpec, *, texts: int) -> ModelConfig:
    """Return the model's sizes: where content is topics the text decides how many there are, whatever was asked for."""
    content = spec.training.content
    if content.kind != TOPICS:
        return replace(spec.model, encoder="lstm")
    return replace(spec.model, encoder=TOPICS, latent_dim=supported_topics(texts, most=content.topics))


def _tokenizer(train: Corpus, spec: TrainSpec, *, checkpoints: Path, resume: Path | None) -> Tokenizer:
    """Train the tokenizer and keep it beside the checkpoints, or find it there."""
    if resume:
        return Tokenizer.from_pretrained(resume.parent)
    labels = sorted(set(train.labels or [])) if spec.joint_labels else []
    tokenizer = Tokenizer.train(train.texts, spec.tokenizer, labels=labels)
    if spec.training.content.lexicon:
        tokenizer = tokenizer.with_synonyms(Lexicon.load())
    checkpoints.mkdir(parents=True, exist_ok=True)
    tokenizer.save_pretrained(checkpoints)
    return tokenizer


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
    """Fit ``model`` in place; it ends with the weights of the best validation loss.

    Args:
        model: of the sizes that it has, whatever ``spec.model`` says.
        output_dir: gets ``checkpoints/`` and ``metrics.csv``.
        resume: a checkpoint to continue from: weights, optimiser and epoch.
    """
    spec, done = _resume(spec, train, resume, model)
    config, sizes = spec.training, model.config
    rows, unseen = (tokenizer.encode_corpus(corpus, max_length=sizes.max_length) for corpus in (train, validation))
    loader = token_loader(rows, batch_size=config.batch_size, seed=spec.seed)
    judge = token_loader(unseen, batch_size=4 * config.batch_size)
    kept = (("best", "validation_loss"), ("last", None))  # ``save_last`` would keep improvements alone
    checkpoint, last = (
        ModelCheckpoint(output_dir / CHECKPOINTS, name, monitor=monitor, enable_version_counter=False)
        for name, monitor in kept
    )
    callbacks = [
        checkpoint,
        EarlyStopping("validation_loss", patience=config.patience),
        last,
        Origin(origin_of(spec, train), learning_rate=config.learning_rate),
    ]
    trainer = make_trainer(spec.trainer, output_dir, callbacks, gradient_clip=config.gradient_clip)
    task = lightning_module(
        model,
        learning_rate=config.learning_rate,
        weight_decay=config.weight_decay,
        randomise=randomiser(model, spec),
    )
    begin = time.monotonic()
    with quiet_lightning():
        trainer.fit(task, loader, judge, ckpt_path=resume, weights_only=True)
    seconds, epochs = time.monotonic() - begin, trainer.current_epoch - done
    best = torch.load(output_dir / CHECKPOINTS / BEST, weights_only=True)
    task.load_state_dict(best["state_dict"])
    model.eval()
    return FitResult(
        epochs=trainer.current_epoch,
        validation_loss=float(checkpoint.best_model_score) if checkpoint.best_model_score is not None else math.nan,
        tokens_per_second=epochs * sum(map(len, rows)) / seconds,
        records_per_second=epochs * len(rows) / seconds,
        seconds=seconds,
    )


class Origin(Callback):
    """Stores the origin of the weights in a checkpoint (``adept.models.resuming``)."""

    def __init__(self, origin: dict[str, Any], *, learning_rate: float) -> None:
        self.origin, self.learning_rate = origin, learning_rate

    def on_save_checkpoint(self, trainer: Any, pl_module: Any, checkpoint: dict[str, Any]) -> None:
        checkpoint["origin"] = self.origin

    def on_load_checkpoint(self, trainer: Any, pl_module: Any, checkpoint: dict[str, Any]) -> None:
        """Set the learning rate of a resumed run by today's number of epochs; the checkpoint holds the earlier run's rate."""
        done = checkpoint["epoch"] + 1
        checkpoint["lr_schedulers"][0]["last_epoch"] = done
        for group in checkpoint["optimizer_states"][0]["param_groups"]:
            group["lr"] = self.learning_rate * max(0.0, 1 - done / (trainer.max_epochs or 1))


def randomiser(model: Autoencoder, spec: TrainSpec) -> Callable[[Tensor], Tensor] | None:
    """Return the noise with which the decoder trains: a mechanism's, codewords of fitted codebooks, or None."""
    if spec.mechanism is not None and spec.training.epsilon is not None:
        return noise_between(spec.mechanism, *spec.training.budgets)
    return partial(draw_codewords, books=model.codebooks, clip_norm=model.clip_norm) if model.codebooks else None


def origin_of(spec: TrainSpec, train: Corpus) -> dict[str, Any]:
    """Return the origin that a checkpoint records: primitives alone, and of the text no more than a digest."""
    content = json.dumps([train.texts, train.labels]).encode()
    return {
        "clip": spec.clip,
        "sizes": asdict(spec.model),
        "labels": spec.joint_labels,
        "text": hashlib.sha256(content).hexdigest(),
        "public": spec.training_data.public,
    }


def make_trainer(
    config: TrainerConfig, directory: Path, callbacks: list[Callback], *, gradient_clip: float, checkpoints: bool = True
) -> lightning.Trainer:
    """Return a Lightning trainer that logs to ``metrics.csv`` and shows a progress bar on terminals only."""
    show = sys.stderr.isatty() if config.progress_bar is None else config.progress_bar
    if show:
        callbacks = [*callbacks, RichProgressBar(console_kwargs={"stderr": True})]
    with quiet_lightning():
        return lightning.Trainer(
            accelerator=config.accelerator,
            devices=1,
            max_epochs=config.max_epochs,
            gradient_clip_val=gradient_clip,
            callbacks=callbacks,
            enable_progress_bar=show,
            enable_model_summary=False,
            enable_checkpointing=checkpoints,
            num_sanity_val_steps=0,
            reload_dataloaders_every_n_epochs=1,  # the classifier of published tables is trained in the orders that this gives
            log_every_n_steps=10_000,
            logger=CSVLogger(directory, name="", version=""),
        )


class quiet_lightning(warnings.catch_warnings):  # noqa: N801 - used like a function
    """Keep Lightning's advice (hardware found, workers, existing folders) from the user's terminal."""

    def __enter__(self) -> None:
        super().__enter__()
        warnings.filterwarnings("ignore", module=r"pytorch_lightning|lightning_fabric")
        for name in ("pytorch_lightning", "lightning.pytorch", "lightning.fabric"):
            logging.getLogger(name).setLevel(logging.ERROR)


def length_batches(lengths: Sequence[int], *, batch_size: int, seed: int | str) -> list[list[int]]:
    """Return batches of indices of similar length, in random order: less padding, so faster training.

    Records are shuffled, sorted by length inside pools of 50 batches, cut into batches, and the batches shuffled.
    """
    rng = random.Random(seed)
    order = list(range(len(lengths)))
    rng.shuffle(order)
    pool = POOL_BATCHES * batch_size
    pools = [sorted(order[i : i + pool], key=lengths.__getitem__) for i in range(0, len(order), pool)]
    batches = [chunk[i : i + batch_size] for chunk in pools for i in range(0, len(chunk), batch_size)]
    rng.shuffle(batches)
    return batches


class LengthBatchSampler(Sampler[list[int]]):
    """Batches of indices of similar length, in an order that the seed and the epoch decide; without a seed, always the same."""

    def __init__(self, lengths: Sequence[int], *, batch_size: int, seed: int | None = None) -> None:
        self.lengths, self.batch_size, self.seed = lengths, batch_size, seed
        self.epoch = 0
        self.sampler = self  # where Lightning looks for set_epoch

    def set_epoch(self, epoch: int) -> None:
        """Choose the epoch whose order the next iteration has."""
        self.epoch = epoch

    def __len__(self) -> int:
        return math.ceil(len(self.lengths) / self.batch_size)

    def __iter__(self) -> Iterator[list[int]]:
        seed = "fixed" if self.seed is None else f"seed {self.seed}, epoch {self.epoch}"
        return iter(length_batches(self.lengths, batch_size=self.batch_size, seed=seed))


def token_loader(rows: list[list[int]], *, batch_size: int, seed: int | None = None) -> DataLoader[list[int]]:
    """Return a loader of token batches (B, T), bucketed by length and reshuffled each epoch where a seed is given."""
    sampler = LengthBatchSampler([len(row) for row in rows], batch_size=batch_size, seed=seed)
    return DataLoader(cast("Dataset[list[int]]", rows), batch_sampler=sampler, collate_fn=pad)
