"""Training of the autoencoder with Lightning: reconstruction of the input from its clipped latent, with noise on request."""

import logging
import math
import pickle
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytorch_lightning as lightning
import torch
from pytorch_lightning.callbacks import Callback, EarlyStopping, ModelCheckpoint, RichProgressBar
from pytorch_lightning.loggers import CSVLogger
from torch import Tensor, nn

from adept.data.corpus import Corpus
from adept.errors import ConfigurationError, DataError
from adept.mechanisms import LearnedCodebook, Mechanism
from adept.mechanisms.learned_codebook import learn_codebooks
from adept.models.autoencoder import Autoencoder, ModelConfig, TrainingData
from adept.models.batching import Batches, pad
from adept.models.tokenizer import PAD, UNKNOWN, Tokenizer, TokenizerConfig
from adept.models.topics import ContentConfig, fit_content

CHECKPOINTS, MODEL = "checkpoints", "model"
LAST, BEST = "last.ckpt", "best.ckpt"
HIDDEN_LABELS = 0.3


@dataclass
class TrainingConfig:
    """How the weights are fitted."""

    learning_rate: float = 2e-3
    batch_size: int = 64
    weight_decay: float = 0.0
    gradient_clip: float = 1.0
    patience: int = 5  # epochs without a better validation loss before training stops
    epsilon: Any = (
        None  # null: no noise; x: the mechanism's noise at x; [low, high]: at a budget drawn log-uniformly per batch
    )
    content: ContentConfig = field(default_factory=ContentConfig)

    def __post_init__(self) -> None:
        for name in ("learning_rate", "batch_size", "gradient_clip", "patience"):
            if not getattr(self, name) > 0:
                raise ConfigurationError(f"training.{name} must be positive, got {getattr(self, name)}")
        if self.epsilon is not None and not 0 < self.budgets[0] <= self.budgets[1] < math.inf:
            raise ConfigurationError(f"training.epsilon must be null, positive or [low, high], got {self.epsilon}")

    @property
    def budgets(self) -> tuple[float, float]:
        """The lowest and the highest epsilon of noise-aware training."""
        try:
            low, high = self.epsilon if isinstance(self.epsilon, list | tuple) else (self.epsilon, self.epsilon)
            return float(low), float(high)
        except (TypeError, ValueError):
            raise ConfigurationError(
                f"training.epsilon must be null, positive or [low, high], got {self.epsilon}"
            ) from None


@dataclass
class TrainerConfig:
    """How long, and on what."""

    max_epochs: int = 40
    accelerator: str = "auto"  # auto | cpu | gpu
    progress_bar: bool | None = None  # null: only on a terminal

    def __post_init__(self) -> None:
        if self.max_epochs < 1:
            raise ConfigurationError(f"trainer.max_epochs must be at least 1, got {self.max_epochs}")


@dataclass(frozen=True)
class FitResult:
    """What a training run did: speed counts real tokens (padding left out) of training batches, validation time included."""

    epochs: int
    validation_loss: float
    tokens_per_second: float
    records_per_second: float
    seconds: float


class TextData(lightning.LightningDataModule):
    """Encoded training and validation texts and, for content-first training, their content vectors."""

    def __init__(
        self,
        train: list[list[int]],
        validation: list[list[int]],
        *,
        batch_size: int,
        seed: int,
        targets: tuple[Tensor, Tensor] | None = None,
    ) -> None:
        super().__init__()
        first, second = targets or (None, None)
        self.train = Batches(train, batch_size=batch_size, seed=seed, shuffle=True, targets=first)
        self.validation = Batches(validation, batch_size=4 * batch_size, seed=seed, shuffle=False, targets=second)

    def train_dataloader(self) -> Batches:
        self.train.epoch = self.trainer.current_epoch if self.trainer else 0
        return self.train

    def val_dataloader(self) -> Batches:
        return self.validation


class AutoencoderTask(lightning.LightningModule):
    """Reconstruct tokens from their latent; ``mechanism(epsilon)`` builds the one whose noise the decoder is to live with.

    Where batches bring content vectors the latent is also to point along them, and the decoder learns from blurred latents.
    """

    def __init__(
        self, model: Autoencoder, config: TrainingConfig, mechanism: Callable[[float], Mechanism] | None = None
    ) -> None:
        super().__init__()
        self.model = model
        self.config = config
        self.mechanism = mechanism if config.epsilon is not None else None

    def training_step(self, batch: Tensor | tuple[Tensor, Tensor]) -> Tensor:
        return self._loss(batch, "train_loss")

    def validation_step(self, batch: Tensor | tuple[Tensor, Tensor]) -> None:
        self._loss(batch, "validation_loss")

    def _loss(self, batch: Tensor | tuple[Tensor, Tensor], name: str) -> Tensor:
        """Cross-entropy in nats per token, END included, and the weighted distance from any content vectors."""
        tokens, targets = batch if isinstance(batch, tuple | list) else (batch, None)
        latents = self.model.encode(self._hide_labels(tokens))
        logits = self.model(self._noisy(latents, content=targets is not None), tokens)
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), tokens.flatten(), ignore_index=PAD)
        if targets is not None:
            loss = loss + self.config.content.weight * (1 - nn.functional.cosine_similarity(latents, targets)).mean()
        self.log(name, loss, on_epoch=True, on_step=False, batch_size=int((tokens != PAD).sum()), prog_bar=True)
        return loss

    def _noisy(self, latents: Tensor, *, content: bool) -> Tensor:
        """Latents as the decoder is to meet them: under the mechanism's noise, or about as far from a record as a codeword is."""
        if self.mechanism is not None:
            low, high = map(math.log, self.config.budgets)
            epsilon = math.exp(low + (high - low) * torch.rand(()).item())
            return self.mechanism(epsilon).simulate(latents, None)
        if not content:
            return latents
        length = latents.norm(dim=1, keepdim=True)
        spread = self.config.content.spread * torch.rand_like(length) * length
        blurred = latents + spread * torch.randn_like(latents) / latents.shape[1] ** 0.5
        rescaled: Tensor = blurred * (length / blurred.norm(dim=1, keepdim=True).clamp(min=1e-9))
        return rescaled

    def _hide_labels(self, tokens: Tensor) -> Tensor:
        """Hide some labels from the encoder in training, so that it serves unlabelled text as well."""
        if not (self.training and self.model.labels):
            return tokens
        hidden = torch.rand(len(tokens), device=tokens.device) < HIDDEN_LABELS
        return torch.cat([tokens[:, :1].masked_fill(hidden[:, None], UNKNOWN), tokens[:, 1:]], dim=1)

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.AdamW(self.parameters(), lr=self.config.learning_rate, weight_decay=self.config.weight_decay)

    def on_train_epoch_start(self) -> None:
        """Let the learning rate fall linearly to zero over the epochs asked for, also when a run is resumed with more."""
        left = 1 - self.current_epoch / max(1, self.trainer.max_epochs or 1)
        for group in self.trainer.optimizers[0].param_groups:
            group["lr"] = self.config.learning_rate * left


def for_mechanism(config: TrainingConfig, kind: type[Mechanism]) -> TrainingConfig:
    """Say what ``content.kind=auto`` stands for: words where the codebook is learned, and none elsewhere."""
    if config.content.kind != "auto":
        return config
    chosen = "words" if issubclass(kind, LearnedCodebook) else "none"
    return replace(config, content=replace(config.content, kind=chosen))


def train_model(
    train: Corpus,
    validation: Corpus,
    *,
    model_config: ModelConfig,
    tokenizer_config: TokenizerConfig,
    training_config: TrainingConfig,
    trainer_config: TrainerConfig,
    clip: str,
    training_data: TrainingData,
    output_dir: Path,
    seed: int = 0,
    resume: Path | None = None,
    mechanism: Callable[[float], Mechanism] | None = None,
    joint_labels: bool = False,
) -> tuple[Autoencoder, FitResult]:
    """Train tokenizer and model from scratch, or go on from a checkpoint, and save both in ``output_dir/model``.

    With ``joint_labels`` the record is the pair of label and text, and ``train``'s labels become the public label set.
    """
    checkpoints = output_dir / CHECKPOINTS
    if resume:
        tokenizer = Tokenizer.from_pretrained(resume.parent)
    else:
        labels = sorted(set(train.labels or [])) if joint_labels else []
        tokenizer = Tokenizer.train(train.texts, tokenizer_config, labels=labels)
        checkpoints.mkdir(parents=True, exist_ok=True)
        tokenizer.save_pretrained(checkpoints)
    lightning.seed_everything(seed, verbose=False)
    model = Autoencoder(
        model_config,
        vocabulary_size=len(tokenizer),
        clip=clip,
        training_data=training_data,
        labels=len(tokenizer.labels),
    )
    fitted = fit(
        model,
        tokenizer,
        train=train,
        validation=validation,
        config=training_config,
        trainer_config=trainer_config,
        output_dir=output_dir,
        seed=seed,
        resume=resume,
        mechanism=mechanism,
    )
    if clip != "l1":
        model.codebooks = learn_codebooks(_latents(model, tokenizer, train), seed=seed)
    model.save_pretrained(output_dir / MODEL)
    tokenizer.save_pretrained(output_dir / MODEL)
    return model, fitted


@torch.inference_mode()
def _latents(model: Autoencoder, tokenizer: Tokenizer, corpus: Corpus) -> Tensor:
    """Return the latents (N, n) of a corpus, on the CPU."""
    device = next(model.parameters()).device
    rows = encode_corpus(tokenizer, corpus, max_length=model.config.max_length)
    length = model.config.max_length + 2
    return torch.cat(
        [model.encode(pad(rows[i : i + 256], length=length).to(device)).cpu() for i in range(0, len(rows), 256)]
    )


def fit(
    model: Autoencoder,
    tokenizer: Tokenizer,
    *,
    train: Corpus,
    validation: Corpus,
    config: TrainingConfig,
    trainer_config: TrainerConfig,
    output_dir: Path,
    seed: int = 0,
    resume: Path | None = None,
    mechanism: Callable[[float], Mechanism] | None = None,
) -> FitResult:
    """Fit ``model`` in place; it ends with the weights of the best validation loss.

    Args:
        output_dir: gets ``checkpoints/`` and ``metrics.csv``.
        resume: a checkpoint to continue from: weights, optimiser and epoch.
        mechanism: builds the mechanism of noise-aware training from a budget.
    """
    lightning.seed_everything(seed, verbose=False)
    data = TextData(
        *(encode_corpus(tokenizer, corpus, max_length=model.config.max_length) for corpus in (train, validation)),
        batch_size=config.batch_size,
        seed=seed,
        targets=_targets(train, validation, config.content, dim=model.config.latent_dim, seed=seed),
    )
    checkpoint = ModelCheckpoint(
        output_dir / CHECKPOINTS, "best", monitor="validation_loss", save_last=True, enable_version_counter=False
    )
    stopping = EarlyStopping("validation_loss", patience=config.patience)
    trainer = make_trainer(trainer_config, output_dir, [checkpoint, stopping], gradient_clip=config.gradient_clip)
    task = AutoencoderTask(model, config, mechanism)
    begin, first = time.monotonic(), _epoch_of(resume)
    with quiet_lightning():
        trainer.fit(task, data, ckpt_path=resume, weights_only=True)
    seconds, epochs = time.monotonic() - begin, trainer.current_epoch - first
    best = torch.load(output_dir / CHECKPOINTS / BEST, weights_only=True)
    task.load_state_dict(best["state_dict"])
    model.eval()
    return FitResult(
        epochs=trainer.current_epoch,
        validation_loss=float(checkpoint.best_model_score) if checkpoint.best_model_score is not None else math.nan,
        tokens_per_second=epochs * sum(map(len, data.train.rows)) / seconds,
        records_per_second=epochs * len(data.train.rows) / seconds,
        seconds=seconds,
    )


def _targets(
    train: Corpus, validation: Corpus, config: ContentConfig, *, dim: int, seed: int
) -> tuple[Tensor, Tensor] | None:
    """Content vectors (N, n) of the training and the validation text, fitted on the former."""
    if config.kind in ("auto", "none"):
        return None
    encode = fit_content(train, kind=config.kind, dim=dim, seed=seed, grammar_texts=config.grammar_texts)
    first, second = (torch.from_numpy(encode(corpus.texts)).to(torch.float32) for corpus in (train, validation))
    return first, second


def encode_corpus(tokenizer: Tokenizer, corpus: Corpus, *, max_length: int) -> list[list[int]]:
    """Return the ids of a corpus, with its labels where the tokenizer has a label set."""
    return tokenizer.encode(corpus.texts, max_length=max_length, labels=corpus.labels if tokenizer.labels else None)


def _epoch_of(checkpoint: Path | None) -> int:
    """The number of finished epochs in a checkpoint."""
    if checkpoint is None:
        return 0
    try:
        return int(torch.load(checkpoint, weights_only=True)["epoch"]) + 1
    except (OSError, RuntimeError, KeyError, pickle.UnpicklingError) as error:
        reason = type(error).__name__
        raise DataError(f"cannot resume from {checkpoint} ({reason}): give a run with checkpoints/last.ckpt") from None


def make_trainer(
    config: TrainerConfig, directory: Path, callbacks: list[Callback], *, gradient_clip: float, checkpoints: bool = True
) -> lightning.Trainer:
    """A Lightning trainer that logs to ``metrics.csv`` and shows a progress bar on terminals only."""
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
            reload_dataloaders_every_n_epochs=1,  # so that each epoch has its own order
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
