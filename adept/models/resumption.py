"""The check of the checkpoint from which a training run resumes."""

import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from pytorch_lightning.callbacks import EarlyStopping
from torch import Tensor

from adept.errors import DataError, is_moderate, printable, refuse
from adept.models.config import BEST, TrainSpec
from adept.models.saved_model import Autoencoder

STOPPING = EarlyStopping("validation_loss").state_key  # in checkpoints


class UnusableCheckpointError(DataError):
    """A checkpoint is lost or damaged, or holds weights of a training that diverged."""


def resume_run(spec: TrainSpec, ours: dict[str, Any], checkpoint: Path, model: Autoencoder | None = None) -> TrainSpec:
    """Return the specification of a resumed run, and announce after which epoch it goes on.

    ``ours`` is the origin that the run would state (``training.origin_of``). A resumed model counts as
    public only if the text of every run that trained it was public.

    Raises DataError if the checkpoint is damaged, or belongs to a run with another text, clip,
    label set or model size. Raises ConfigurationError if the checkpoint's run already has more
    epochs than ``spec`` asks for. If it has as many, or ended for lack of patience, no epoch is left.
    """
    content = _read_checkpoint(checkpoint)
    if any(state.get("best_model_score") is not None for state in content["callbacks"].values()):
        _read_checkpoint(checkpoint.parent / BEST)
    origin = content["origin"]
    if other := [name for name in ours if name != "public" and origin.get(name) != ours[name]]:
        raise DataError(
            f"resume_from must be a run with the same text, clip, labels and sizes, got a difference in {printable(other[0])}: "
            "give what that run was given, or train a new model"
        )
    if model is not None and _shapes(content["state_dict"]) != _shapes(model.state_dict(prefix="model.")):
        raise DataError(f"cannot resume from {checkpoint} (its weights do not fit): train a new model")
    done = content["epoch"] + 1
    refuse(
        (
            spec.trainer.max_epochs < done,
            f"trainer.max_epochs must be at least the {done} epochs that are done, got {spec.trainer.max_epochs}",
        )
    )
    stopped = content["callbacks"][STOPPING]["wait_count"] >= spec.training.patience
    trainer = replace(spec.trainer, max_epochs=done) if stopped else spec.trainer
    public = spec.training_data.public and origin.get("public") is True
    if model is None:  # the first of two calls
        spec.parts.announce(f"going on after epoch {done} of {trainer.max_epochs}", always=True)
    return replace(spec, trainer=trainer, training_data=replace(spec.training_data, public=public))


def _shapes(weights: dict[str, Any]) -> dict[str, tuple[int, ...]]:
    return {name: tuple(tensor.shape) for name, tensor in weights.items()}


def _read_checkpoint(path: Path) -> dict[str, Any]:
    try:
        with zipfile.ZipFile(path) as archive:
            if archive.testzip() is not None:
                raise ValueError
        content: dict[str, Any] = torch.load(path, map_location="cpu", weights_only=True)
        weights, states = content["state_dict"].values(), content["callbacks"].values()
        parts = [
            (content["epoch"], int),
            (content["origin"], dict),
            (content["callbacks"][STOPPING]["wait_count"], int),
        ]
        parts += [(one, Tensor) for one in weights] + [(state, dict) for state in states]
        if not all(isinstance(part, kind) for part, kind in parts):
            raise TypeError
    except Exception as error:  # noqa: BLE001 - a damaged archive or pickle can raise anything
        reason, advice = type(error).__name__, f"give a run with checkpoints/{path.name}"
        raise UnusableCheckpointError(f"cannot resume from {path} ({reason}): {advice}") from None
    if not all(map(is_moderate, weights)):
        raise UnusableCheckpointError(
            f"cannot resume from {path}, whose training diverged: begin a new run with a lower training.learning_rate"
        )
    return content
