"""Loading of a model directory; every number is checked before anything of its size is allocated."""

from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from adept.errors import ConfigurationError, ModelError, printable
from adept.models.autoencoder import CODEBOOKS, CONFIG, FORMAT_VERSION, MAX_HELD_OUT, WEIGHTS, name_in_file
from adept.models.codec.files import load_codec
from adept.models.config import MAX_VOCABULARY, ModelConfig, TrainingData
from adept.models.tokenizer import FIRST_LABEL, MAX_LABELS
from adept.models.untrusted_files import Shape, corrupt, read_json, read_tensors
from adept.ranges import check_integer

if TYPE_CHECKING:
    from adept.models.autoencoder import Autoencoder

DECLARED = ("model", "vocabulary_size", "clip", "labels", "training_data", "codebooks", "codec")
MAX_CODEBOOKS, MAX_CODEWORDS = 20, 1 << 16


def load_autoencoder(kind: "type[Autoencoder]", directory: Path) -> "Autoencoder":
    """Load a model, in evaluation mode.

    Raises:
        ModelError: a file is missing or damaged, or weights are missing, unexpected or of the wrong shape.
    """
    _, description = read_json(directory / CONFIG)
    model = _build(kind, description, directory / CONFIG)

    def read(name: str, shapes: dict[str, Shape]) -> dict[str, Tensor]:
        expected = {name: (model.config.precision, shape) for name, shape in shapes.items()}
        return read_tensors(directory / name, expected, description=CONFIG)

    held = read(WEIGHTS, {name: tuple(tensor.shape) for name, tensor in model.weights.items()})
    model.load_state_dict({name: held[name_in_file(name)] for name in model.state_dict()}, assign=True)
    if sizes := _check_codebooks(description["codebooks"], directory / CONFIG):
        named = read(CODEBOOKS, {f"{size}": (size, model.config.latent_dim) for size in sizes})
        model.codebooks = {int(size): codewords for size, codewords in named.items()}
    model.held_out = _check_held_out(description.get("held_out", []), directory / CONFIG)
    if description["codec"]:
        model.codec = load_codec(directory)
    return model.eval()


def _build(kind: "type[Autoencoder]", description: dict[str, Any], path: Path) -> "Autoencoder":
    """Build the model of a ``config.json`` without allocating it: its weights are on the "meta" device."""
    try:
        if description["format_version"] != FORMAT_VERSION:
            raise ModelError(
                f"{path} has format {printable(description['format_version'])}, "
                f"this version reads {FORMAT_VERSION}: train again"
            )
        if missing := [field for field in DECLARED if field not in description]:
            raise corrupt(path, f"no {missing[0]}")
        if not isinstance(description["codec"], bool):
            raise corrupt(path, "codec must be true or false")
        if unknown := set(description["model"]) - {field.name for field in fields(ModelConfig)}:
            raise corrupt(path, f"unknown sizes {sorted(unknown)}")
        check_integer(FIRST_LABEL, MAX_VOCABULARY + MAX_LABELS, vocabulary_size=description["vocabulary_size"])
        check_integer(0, min(MAX_LABELS, description["vocabulary_size"] - FIRST_LABEL), labels=description["labels"])
        with torch.device("meta"):
            return kind(
                ModelConfig(**description["model"]),
                vocabulary_size=description["vocabulary_size"],
                clip=description["clip"],
                training_data=TrainingData(**description["training_data"]),
                labels=description["labels"],
            )
    except ConfigurationError as error:
        raise corrupt(path, str(error)) from None
    except (ValueError, KeyError, TypeError) as error:
        raise corrupt(path, type(error).__name__) from None


def _check_held_out(texts: Any, path: Path) -> list[str]:
    """Return the held-out texts of a file, after checking that they are few strings."""
    if not (isinstance(texts, list) and len(texts) <= MAX_HELD_OUT and all(isinstance(text, str) for text in texts)):
        raise corrupt(path, f"held_out must be at most {MAX_HELD_OUT} texts")
    return texts


def _check_codebooks(sizes: Any, path: Path) -> list[int]:
    """Return the declared sizes of the codebooks: a lost file must not become another mechanism."""
    try:
        check_integer(0, MAX_CODEBOOKS, codebooks=len(sizes))
        for size in sizes:
            check_integer(2, MAX_CODEWORDS, codebooks=size)
    except (ConfigurationError, TypeError) as error:
        raise corrupt(path, str(error)) from None
    return list(sizes)
