"""What a training run is asked for, and how it is resumed: only with the same text, clip, labels and sizes.

Where a model comes from only ever grows. Its checkpoint says what it was trained on, a run that goes on from it must be given the
same text, and the model is declared public only if every one of its runs was.
"""

import hashlib
import json
import zipfile
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import torch

from adept.data.corpus import Corpus
from adept.errors import ConfigurationError, DataError, printable
from adept.mechanisms import Mechanism
from adept.models.config import ModelConfig, TokenizerConfig, TrainerConfig, TrainingConfig, TrainingData
from adept.models.network.autoencoder import Autoencoder

CHECKPOINTS, MODEL = "checkpoints", "model"
LAST, BEST = "last.ckpt", "best.ckpt"


@dataclass(frozen=True)
class TrainSpec:
    """What a training run is asked for: everything but its text and its place.

    Args:
        clip: the set that latents are clipped into: "l1", "l2" or "sphere".
        training_data: where the text comes from; kept with the model.
        mechanism: builds the mechanism of noise-aware training from a budget.
        joint_labels: the record is the pair of label and text, and the training labels become the public label set.
    """

    clip: str
    training_data: TrainingData = field(default_factory=TrainingData)
    model: ModelConfig = field(default_factory=ModelConfig)
    tokenizer: TokenizerConfig = field(default_factory=TokenizerConfig)
    training: TrainingConfig = field(default_factory=TrainingConfig)
    trainer: TrainerConfig = field(default_factory=TrainerConfig)
    mechanism: Callable[[float], Mechanism] | None = None
    joint_labels: bool = False
    seed: int = 0


@dataclass(frozen=True)
class FitResult:
    """Figures of a training run: speed counts real tokens (padding left out) of training batches, validation time included."""

    epochs: int
    validation_loss: float
    tokens_per_second: float
    records_per_second: float
    seconds: float


def origin_of(spec: TrainSpec, train: Corpus) -> dict[str, Any]:
    """Return what a checkpoint records of its run: primitives alone, and of the text no more than a digest."""
    content = json.dumps([train.texts, train.labels]).encode()
    return {
        "clip": spec.clip,
        "sizes": asdict(spec.model),
        "labels": spec.joint_labels,
        "text": hashlib.sha256(content).hexdigest(),
        "public": spec.training_data.public,
    }


def continued(
    spec: TrainSpec, train: Corpus, checkpoint: Path | None, model: Autoencoder | None = None
) -> tuple[TrainSpec, int]:
    """Return the specification of a run that goes on from a checkpoint, and the epochs that are done.

    Raises:
        DataError: the checkpoint is damaged, or of another run.
        ConfigurationError: no epoch is left.
    """
    if checkpoint is None:
        return spec, 0
    content = _read(checkpoint)
    _read(checkpoint.parent / BEST)
    origin, ours = content["origin"], origin_of(spec, train)
    if other := [name for name in ours if name != "public" and origin.get(name) != ours[name]]:
        raise DataError(
            f"resume_from must be a run with the same text, clip, labels and sizes, got another {printable(other[0])}: "
            "give what that run was given, or train a new model"
        )
    if model is not None and _shapes(content["state_dict"]) != {
        f"model.{k}": v for k, v in _shapes(model.state_dict()).items()
    }:
        raise DataError(f"cannot resume from {checkpoint} (its weights do not fit): train a new model")
    done = content["epoch"] + 1
    if spec.trainer.max_epochs <= done:
        raise ConfigurationError(
            f"trainer.max_epochs must be more than the {done} epochs that are done, got {spec.trainer.max_epochs}"
        )
    public = spec.training_data.public and origin.get("public") is True
    return replace(spec, training_data=replace(spec.training_data, public=public)), done


def _shapes(weights: dict[str, Any]) -> dict[str, tuple[int, ...]]:
    return {name: tuple(tensor.shape) for name, tensor in weights.items()}


def _read(path: Path) -> dict[str, Any]:
    """Return the content of a checkpoint whose checksums and parts are right."""
    try:
        with zipfile.ZipFile(path) as archive:
            if archive.testzip() is not None:
                raise ValueError
        content: dict[str, Any] = torch.load(path, map_location="cpu", weights_only=True)
        parts = (content["epoch"], int), (content["origin"], dict), (content["state_dict"], dict)
        if not all(isinstance(part, kind) for part, kind in parts):
            raise TypeError
    except Exception as error:  # noqa: BLE001 - a damaged archive or pickle can raise anything
        reason = type(error).__name__
        raise DataError(f"cannot resume from {path} ({reason}): give a run with checkpoints/{path.name}") from None
    return content
