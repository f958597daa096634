"""The files of a model directory, which are read without being trusted.

A directory is opened once: its small files are read at once, and its tensors when their shapes are known. A file
is opened only if it is a regular file and not too large. A tensor is read only if its name,
shape and type fit the model's configuration, and if no number in it is beyond MAX_NUMBER (``adept.errors``).

*Claim*: the latents and logits of a model with such tensors are finite. *Proof*: a network of this package multiplies
at most two numbers of a file (an embedding and a weight, or a rarity and a direction), adds up at most 2^14 such
products, and squashes or clips each sum before the next product. So no sum exceeds ``2^14 * MAX_NUMBER^2 < 2 * 10^16``.
The only divisor is at least 1e-9, and 32-bit floats reach 10^38. QED.
"""

import hashlib
import json
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from adept.errors import MAX_NUMBER, ConfigurationError, ModelError, check_integer, is_moderate, printable
from adept.models import config

PACKAGED_MODEL = "utterances"  # the name of the model that comes with the package
CONFIG, WEIGHTS, CODEBOOKS = "config.json", "model.safetensors", "codebooks.safetensors"
TOKENIZER, SYNONYMS = "tokenizer.json", "synonyms.json"
DESCRIPTION, TABLES = "codec.json", "codec.safetensors"  # of the public sentences
# The files on which a release depends; a statement holds their digests.
MODEL_FILES = CONFIG, WEIGHTS, CODEBOOKS, TOKENIZER, SYNONYMS, DESCRIPTION, TABLES
MEBIBYTE = 1 << 20
KINDS = {"float32": "F32", "float16": "F16", "int32": "I32", "int16": "I16"}  # names of types in safetensors files
M = TypeVar("M")
Shape = tuple[int | None, ...]  # None stands for any size


def packaged_directory() -> Path:
    return Path(__file__).parents[1] / "pretrained" / PACKAGED_MODEL


def model_directory(name: str | Path | None) -> Path:
    """Return a model's directory, also for that of its run; None, and PACKAGED_MODEL if there is no such file, are ours.

    Raises:
        ModelError: no directory can have this name.
    """
    if name is None or (str(name) == PACKAGED_MODEL and not Path(PACKAGED_MODEL).exists()):
        return packaged_directory()
    try:
        is_run = not (Path(name) / CONFIG).exists() and (Path(name) / config.MODEL / CONFIG).exists()
    except (OSError, ValueError, TypeError):
        raise ModelError(f"{printable(name)} is not a model directory: train one or correct the path") from None
    return Path(name) / config.MODEL if is_run else Path(name)


class ModelFiles:
    """A model directory that is open: the objects of its JSON files, and its tensors.

    Args:
        directory: the directory of a model or of its run (``model_directory``).
        names: the JSON files to read. Synonyms may be missing; so may sentences, if config.json is read and says so.

    Raises:
        ModelError: there is no such directory, or a file is missing or damaged.
    """

    def __init__(self, directory: str | Path | None, *names: str) -> None:
        self.directory, self.objects = model_directory(directory), dict[str, dict[str, Any]]()
        for name in names:
            if self._holds(name):
                self.objects[name] = read_json(self.directory / name)

    def _holds(self, name: str) -> bool:
        if name == SYNONYMS:
            return (self.directory / name).exists()
        return name != DESCRIPTION or self.objects.get(CONFIG, {"codec": True}).get("codec") is True

    def tensors(self, name: str, expected: Mapping[str, tuple[str, Shape]], *, described: str) -> dict[str, Tensor]:
        """Return the tensors of a safetensors file, of the types there; their memory is the file's.

        ``expected`` maps the name of each tensor to its type and shape, as the file ``described`` announces; None in
        a shape stands for any size. Raises ModelError for any other tensor, and for floats that are NaN or beyond
        MAX_NUMBER.
        """
        path = self.directory / name
        with _open(path) as file:
            held = {name: file.get_slice(name) for name in file.keys()}  # noqa: SIM118 - not a mapping
            wrong = sorted(expected.keys() ^ held.keys())
            if wrong := wrong or [name for name in expected if not _has_kind(held[name], *expected[name])]:
                first = printable(wrong[0])
                raise ModelError(f"weights in {path} do not fit {described} (first: {first}): restore both files")
            tensors = {name: file.get_tensor(name) for name in expected}
        if large := [
            name for name, tensor in tensors.items() if tensor.is_floating_point() and not is_moderate(tensor)
        ]:
            raise corrupt(path, f"{large[0]} holds a number beyond {MAX_NUMBER:,}")
        return tensors

    def corrupt(self, name: str, reason: str) -> ModelError:
        """Return an error about the content of a file."""
        return corrupt(self.directory / name, reason)

    def digests(self) -> dict[str, str]:
        """Return the SHA-256 digests of those of MODEL_FILES that exist."""
        return {name: file_sha256(path) for name in MODEL_FILES if (path := self.directory / name).is_file()}


def file_sha256(path: str | Path) -> str:
    """Return the digest of a file's content."""
    with Path(path).open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def is_packaged(files: Mapping[str, str] | None) -> bool:
    """Return True if these digests are those of all MODEL_FILES of the packaged model: another file, another model."""
    return files == _packaged_digests()


@cache
def _packaged_digests() -> dict[str, str]:
    return ModelFiles(packaged_directory()).digests()


def check_file(path: Path, *, limit: int) -> None:
    """Raise ModelError unless a path leads to a regular file of at most ``limit`` bytes."""
    try:
        status = path.stat()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "impossible name"
        raise ModelError(
            f"{printable(path.parent)} is not a model directory (no readable {path.name}, {reason}): train one or correct the path"
        ) from None
    if not stat.S_ISREG(status.st_mode):
        raise ModelError(f"{path} must be a regular file: give a complete model directory")
    if status.st_size > limit:
        raise ModelError(
            f"{path} must be at most {limit // MEBIBYTE} MiB, got {status.st_size // MEBIBYTE}: restore it"
        )


def read_json(path: Path) -> dict[str, Any]:
    """Return the object in a JSON file."""
    check_file(path, limit=16 * MEBIBYTE)
    try:
        content = json.loads(path.read_text("utf-8-sig"))
    except OSError as error:
        raise ModelError(f"cannot read {path} ({error.strerror}): make it readable, or restore it") from None
    except (ValueError, RecursionError):
        raise corrupt(path, "not JSON") from None
    if not isinstance(content, dict):
        raise corrupt(path, "not an object")
    return content


def _has_kind(tensor: Any, kind: str, shape: Shape) -> bool:
    held = tensor.get_shape()
    sized = len(held) == len(shape) and all(size in (None, own) for own, size in zip(held, shape, strict=True))
    return sized and tensor.get_dtype() == KINDS[kind]


@contextmanager
def _open(path: Path) -> Iterator[Any]:
    check_file(path, limit=256 * MEBIBYTE)
    try:
        with path.open("rb") as stream:
            if int.from_bytes(stream.read(8), "little") > MEBIBYTE:
                raise corrupt(path, "its header is too long")
        with safe_open(path, framework="pt") as file:
            yield file
    except OSError as error:
        raise ModelError(f"cannot read {path} ({error.strerror}): make it readable, or restore it") from None
    except SafetensorError:
        raise corrupt(path, "not safetensors") from None


def corrupt(path: Path, reason: str) -> ModelError:
    return ModelError(f"{path} is corrupt ({printable(reason)}): restore it")


def build_model(kind: Callable[..., M], files: ModelFiles) -> M:
    """Build the model that config.json describes on the "meta" device, to check its sizes before allocating memory."""
    description, path = files.objects[CONFIG], files.directory / CONFIG
    sizes, first_label = description.get("model"), config.FIRST_LABEL
    of_topics = isinstance(sizes, dict) and sizes.get("encoder") == config.TOPICS
    expected = config.TOPICS_FORMAT if of_topics else config.LSTM_FORMAT
    try:
        if description["format_version"] != expected:
            raise ModelError(
                f"{path} has format {printable(description['format_version'])}, "
                f"this version of adept reads format {expected} of this encoder: train again"
            )
        if not isinstance(description["codec"], bool):
            raise corrupt(path, "codec must be true or false")
        texts = description.get("held_out", [])
        if not (_are_texts(texts) and len(texts) <= config.MAX_HELD_OUT):
            raise corrupt(path, f"held_out must be at most {config.MAX_HELD_OUT} texts")
        examples = description.get("label_examples", {})
        if not (isinstance(examples, dict) and all(map(_are_texts, examples.values()))):
            raise corrupt(path, "label_examples must hold lists of texts by label")
        check_integer(0, 20, codebooks=len(description["codebooks"]))
        for size in description["codebooks"]:
            check_integer(2, 1 << 16, codebooks=size)
        if unknown := set(description["model"]) - {field.name for field in fields(config.ModelConfig)}:
            raise corrupt(path, f"unknown sizes {sorted(unknown)}")
        words, labels = description["vocabulary_size"], description["labels"]
        check_integer(first_label, config.MAX_VOCABULARY + config.MAX_LABELS, vocabulary_size=words)
        check_integer(0, min(config.MAX_LABELS, words - first_label), labels=labels)
        with torch.device("meta"):
            return kind(
                config.ModelConfig(**description["model"]), vocabulary_size=words, clip=description["clip"], labels=labels,
                training_data=config.TrainingData(**description["training_data"]),
            )  # fmt: skip
    except ConfigurationError as error:
        raise corrupt(path, str(error)) from None
    except (ValueError, KeyError, TypeError) as error:
        raise corrupt(path, f"no {error.args[0]}" if isinstance(error, KeyError) else type(error).__name__) from None


def _are_texts(given: Any) -> bool:
    return isinstance(given, list) and all(isinstance(text, str) for text in given)
