"""Resuming of training runs: only with the same text, clip, labels and sizes.

A checkpoint holds a digest of its training text, and a model is declared public only if every one of its runs was.
"""

import hashlib
import json
import zipfile
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import torch

from adept.data.corpus import Corpus
from adept.errors import ConfigurationError, DataError, printable
from adept.models.autoencoder import Autoencoder
from adept.models.config import BEST, TrainSpec


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


def resume_run(
    spec: TrainSpec, train: Corpus, checkpoint: Path | None, model: Autoencoder | None = None
) -> tuple[TrainSpec, int]:
    """Return the specification of a run that goes on from a checkpoint, if there is one, and the epochs that are done.

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
    if model is not None and _shapes(content["state_dict"]) != _shapes(model.state_dict(prefix="model.")):
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
