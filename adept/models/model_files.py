"""Loading of a model directory; every number is checked before anything of its size is allocated."""

from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from adept.errors import ConfigurationError, ModelError, printable
from adept.models.autoencoder import CODEBOOKS, CONFIG, FORMAT_VERSION, MAX_HELD_OUT, WEIGHTS, name_in_file
from adept.models.codec.codec_files import load_codec
from adept.models.config import MAX_VOCABULARY, ModelConfig, TrainingData
from adept.models.tokenizer import FIRST_LABEL, MAX_LABELS
from adept.models.untrusted_files import Shape, corrupt, read_json, read_tensors
from adept.ranges import check_integer

if TYPE_CHECKING:
    from adept.models.autoencoder import Autoencoder

DECLARED = ("model", "vocabulary_size", "clip", "labels", "training_data", "codebooks", "codec")
MAX_CODEBOOKS, MAX_CODEWORDS = 20, 1 << 16


def load_autoencoder(kind: "type[Autoencoder]", directory: Path) -> "Autoencoder":
    """Load a model, in evaluation mode; raise ModelError if a file is missing, damaged or does not fit the others."""
    _, description = read_json(directory / CONFIG)
    model = _build(kind, description, directory / CONFIG)

    def read(name: str, shapes: dict[str, Shape]) -> dict[str, Tensor]:
        expected = {name: (model.config.precision, shape) for name, shape in shapes.items()}
        return read_tensors(directory / name, expected, description=CONFIG)

    held = read(WEIGHTS, {name: tuple(tensor.shape) for name, tensor in model.weights.items()})
    model.load_state_dict({name: held[name_in_file(name)] for name in model.state_dict()}, assign=True)
    if sizes := description["codebooks"]:  # a lost file must not become another mechanism
        named = read(CODEBOOKS, {f"{size}": (size, model.config.latent_dim) for size in sizes})
        model.codebooks = {int(size): codewords for size, codewords in named.items()}
    model.held_out = description.get("held_out", [])
    if description["codec"]:
        model.codec = load_codec(directory)
    return model.eval()


def _build(kind: "type[Autoencoder]", description: dict[str, Any], path: Path) -> "Autoencoder":
    """Check a ``config.json`` and build its model on the "meta" device, without allocating it."""
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
        texts = description.get("held_out", [])
        if not (isinstance(texts, list) and len(texts) <= MAX_HELD_OUT and all(isinstance(t, str) for t in texts)):
            raise corrupt(path, f"held_out must be at most {MAX_HELD_OUT} texts")
        check_integer(0, MAX_CODEBOOKS, codebooks=len(description["codebooks"]))
        for size in description["codebooks"]:
            check_integer(2, MAX_CODEWORDS, codebooks=size)
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
