"""The check of a model's description, config.json, which may be damaged or hostile."""

from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeVar

import torch

from adept.errors import ConfigurationError, ModelError, printable
from adept.models.config import MAX_VOCABULARY, ModelConfig, TrainingData
from adept.models.tokenizer import FIRST_LABEL, MAX_LABELS
from adept.models.untrusted_files import corrupt
from adept.ranges import check_integer

MAX_CODEBOOKS, MAX_CODEWORDS = 20, 1 << 16
MAX_HELD_OUT = 200  # texts that the model keeps for estimates
M = TypeVar("M")


def build_model(kind: Callable[..., M], description: dict[str, Any], path: Path, *, expected: int) -> M:
    """Build a model of format ``expected`` on the "meta" device, to check its sizes before allocating memory."""
    try:
        if description["format_version"] != expected:
            raise ModelError(
                f"{path} has format {printable(description['format_version'])}, "
                f"this version of adept reads format {expected} of this encoder: train again"
            )
        if not isinstance(description["codec"], bool):
            raise corrupt(path, "codec must be true or false")
        texts = description.get("held_out", [])
        if not (_are_texts(texts) and len(texts) <= MAX_HELD_OUT):
            raise corrupt(path, f"held_out must be at most {MAX_HELD_OUT} texts")
        examples = description.get("label_examples", {})
        if not (isinstance(examples, dict) and all(map(_are_texts, examples.values()))):
            raise corrupt(path, "label_examples must hold lists of texts by label")
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
        raise corrupt(path, f"no {error.args[0]}" if isinstance(error, KeyError) else type(error).__name__) from None


def _are_texts(given: Any) -> bool:
    return isinstance(given, list) and all(isinstance(text, str) for text in given)
