"""A training run, from a corpus to a model directory."""

import math
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytorch_lightning as lightning
import torch
from pytorch_lightning.callbacks import Callback, EarlyStopping, ModelCheckpoint
from torch import Tensor

from adept.data.corpus import Corpus
from adept.mechanisms.learned_codebook import learn_codebooks
from adept.models.adept import lightning_module, noise_between
from adept.models.codec.training import learn_codec
from adept.models.config import TOPICS, ModelConfig
from adept.models.network.autoencoder import MOST_HELD_OUT, Autoencoder
from adept.models.network.batching import token_loader
from adept.models.network.public_texts import text_codebooks
from adept.models.tokenizer.lexicon import Lexicon
from adept.models.tokenizer.tokenizer import Tokenizer
from adept.models.topics.encoder import MEANT, supported_topics
from adept.models.training.resuming import BEST, CHECKPOINTS, MODEL, FitResult, TrainSpec, continued, origin_of
from adept.models.training.trainer import make_trainer, quiet_lightning

MAX_NEIGHBOURS = 8  # codewords around a latent from which training may write its text


def train_model(
    train: Corpus, validation: Corpus, spec: TrainSpec, *, output_dir: Path, resume: Path | None = None
) -> tuple[Autoencoder, FitResult]:
    """Train tokenizer and model from scratch, or go on from a checkpoint, and save both in ``output_dir/model``.

    A model that goes on is as public as all that it was ever trained on: not more than its checkpoint says, nor than ``spec``.

    Raises:
        DataError: the checkpoint is damaged, or of another run: other text, clip, labels or sizes.
        ConfigurationError: no epoch is left to train.
    """
    spec, _ = continued(replace(spec, model=_sizes(spec, texts=len(train))), train, resume)
    lightning.seed_everything(spec.seed, verbose=False)
    tokenizer = _tokenizer(train, spec, checkpoints=output_dir / CHECKPOINTS, resume=resume)
    model = Autoencoder(
        spec.model,
        vocabulary_size=len(tokenizer),
        clip=spec.clip,
        training_data=spec.training_data,
        labels=len(tokenizer.labels),
    )
    everything, train = train, train.take(range(min(len(train), spec.training.most or len(train))))
    if model.config.encoder == TOPICS:
        rows = encode_corpus(tokenizer, train, max_length=model.config.max_length)
        meaning = MEANT if spec.training.content.lexicon else 0.0
        model.topics.fit(rows, seed=spec.seed, words=tokenizer.words, meaning=meaning)
        model.codebooks = _codebooks(model, tokenizer, train, seed=spec.seed)
    fitted = fit(model, tokenizer, train, validation, spec, output_dir=output_dir, resume=resume)
    if spec.clip != "l1":  # the l1 mechanism uses neither codewords nor descriptions
        model.codebooks = model.codebooks or _codebooks(model, tokenizer, train, seed=spec.seed)
        public, sizes = spec.training_data.public, spec.training.codec
        model.codec = learn_codec(everything, validation, public=public, seed=spec.seed, config=sizes)
        if model.config.decoder == "nearest":
            model.codebooks |= text_codebooks(model, tokenizer)
    elif spec.training_data.public:
        seen = set(everything.texts)
        model.held_out = [text for text in dict.fromkeys(validation.texts[:MOST_HELD_OUT]) if text not in seen]
    model.save_pretrained(output_dir / MODEL)
    tokenizer.save_pretrained(output_dir / MODEL)
    return model, fitted


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
    spec, done = continued(spec, train, resume, model)
    config, sizes = spec.training, model.config
    rows, unseen = (encode_corpus(tokenizer, corpus, max_length=sizes.max_length) for corpus in (train, validation))
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
    """Stores in a checkpoint what its weights were trained on (``adept.models.training.resuming``)."""

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


def draw_codewords(latents: Tensor, *, books: dict[int, Tensor], clip_norm: float) -> Tensor:
    """Draw a codeword for each latent, out of a codebook drawn at random: mostly the nearest, sometimes one beside it.

    With n codebooks, one draw in n + 1 keeps the latent, for decoding without a codebook. So the decoder learns to write from a
    codeword the public texts around it, and at release it sees only inputs of a kind that it saw in training.
    """
    drawn = torch.randint(len(books) + 1, (len(latents),), device=latents.device)
    place = torch.empty(len(latents), 1, device=latents.device).geometric_(0.5).long() - 1
    chosen = latents
    for number, book in enumerate(books.values()):
        words = book.to(latents)
        near = (latents @ words.T).topk(min(MAX_NEIGHBOURS, len(words)), dim=1).indices
        own = near.gather(1, place.clamp(max=near.shape[1] - 1))
        chosen = torch.where((drawn == number)[:, None], words[own[:, 0]] * clip_norm, chosen)
    return chosen


def _codebooks(model: Autoencoder, tokenizer: Tokenizer, corpus: Corpus, *, seed: int) -> dict[int, Tensor]:
    """Learn codebooks from the latents of a corpus."""
    rows = encode_corpus(tokenizer, corpus, max_length=model.config.max_length)
    return learn_codebooks(model.encode_records(rows).cpu(), seed=seed)


def encode_corpus(tokenizer: Tokenizer, corpus: Corpus, *, max_length: int) -> list[list[int]]:
    """Return the ids of a corpus, with its labels where the tokenizer has a label set."""
    return tokenizer.encode(corpus.texts, max_length=max_length, labels=corpus.labels if tokenizer.labels else None)
