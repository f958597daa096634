"""The files of a model directory, read as if a stranger had made them.

Nothing in them is code, and nothing they say is believed before it was compared with something that bounds it: a file is regular
(once links are followed) and small enough before it is opened, tensors have the names, shapes and type that the configuration asks
for before any is allocated, and their values are finite. What is wrong is a ModelError of one line, whatever the bytes are.
"""

import json
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from adept.errors import ModelError, printable

MEBIBYTE = 1 << 20
TEXT_LIMIT = 16 * MEBIBYTE
TENSOR_LIMIT = 256 * MEBIBYTE
HEADER_LIMIT = 1 * MEBIBYTE
KINDS = {"float32": "F32", "float16": "F16"}  # precisions of weights in a file, in the words of safetensors


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


def read_json(path: Path) -> tuple[str, dict[str, Any]]:
    """Return the text of a JSON file and the object that it holds."""
    check_file(path, limit=TEXT_LIMIT)
    try:
        text = path.read_text("utf-8")
        content = json.loads(text)
    except OSError as error:
        raise ModelError(f"cannot read {path} ({error.strerror}): give a complete model directory") from None
    except (ValueError, RecursionError):
        raise corrupt(path, "not JSON") from None
    if not isinstance(content, dict):
        raise corrupt(path, "not an object")
    return text, content


def read_tensors(path: Path, shapes: dict[str, tuple[int, ...]], *, precision: str = "float32") -> dict[str, Tensor]:
    """Return the tensors of a safetensors file as float32, once it is certain that they have exactly these names and shapes.

    Args:
        path: the file.
        shapes: the names and shapes.
        precision: their declared type in the file, one of ``KINDS``.
    """
    with _open(path) as file:
        held = {name: file.get_slice(name) for name in file.keys()}  # noqa: SIM118 - not a mapping
        wrong = sorted(shapes.keys() ^ held.keys()) or [n for n, s in shapes.items() if tuple(held[n].get_shape()) != s]
        if wrong:
            first = printable(wrong[0])
            raise ModelError(f"weights in {path} do not fit config.json (first: {first}): restore both files")
        if other := [name for name in shapes if held[name].get_dtype() != KINDS[precision]]:
            raise corrupt(path, f"{other[0]} is not {precision}")
        tensors = {name: file.get_tensor(name).to(torch.float32) for name in shapes}
    if infinite := [name for name, tensor in tensors.items() if not _is_finite(tensor)]:
        raise corrupt(path, f"{infinite[0]} is not finite")
    return tensors


def _is_finite(tensor: Tensor) -> bool:
    """Return True if every value is a finite number: the least and the largest are then, and neither is if any value is not."""
    return not tensor.numel() or all(bool(edge.isfinite()) for edge in torch.aminmax(tensor))


def read_tables(path: Path, columns: dict[str, int], shapes: dict[str, tuple[int | None, ...]]) -> dict[str, Tensor]:
    """Return the int32 tables and int16 arrays of a safetensors file, once it is certain that they have these names and sizes.

    Args:
        path: the file.
        columns: the tables' names and numbers of columns; they may have any number of rows.
        shapes: the arrays' names and shapes, in which None stands for any size.
    """
    with _open(path) as file:
        held = {name: file.get_slice(name) for name in file.keys()}  # noqa: SIM118 - not a mapping
        if (columns.keys() | shapes.keys()) ^ held.keys():
            raise corrupt(path, "other tables than a codec has")
        for name, table in held.items():
            kind, size = table.get_dtype(), tuple(table.get_shape())
            wanted, shape = ("I16", shapes[name]) if name in shapes else ("I32", (None, columns[name]))
            if (
                kind != wanted
                or len(size) != len(shape)
                or any(b not in (None, a) for a, b in zip(size, shape, strict=True))
            ):
                raise corrupt(path, f"the table {name} is of another kind")
        return {name: file.get_tensor(name) for name in held}


@contextmanager
def _open(path: Path) -> Iterator[Any]:
    """Open a safetensors file of an acceptable size; its header is bounded before it is read."""
    check_file(path, limit=TENSOR_LIMIT)
    try:
        with path.open("rb") as stream:
            if int.from_bytes(stream.read(8), "little") > HEADER_LIMIT:
                raise corrupt(path, "its header is too long")
        with safe_open(path, framework="pt") as file:
            yield file
    except OSError as error:
        raise ModelError(f"cannot read {path} ({error.strerror}): give a complete model directory") from None
    except SafetensorError:
        raise corrupt(path, "not safetensors") from None


def corrupt(path: Path, reason: str) -> ModelError:
    """Return the error for a file that is not what it should be."""
    return ModelError(f"{path} is corrupt ({printable(reason)}): train the model again or restore it")
