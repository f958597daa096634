"""Fields of a statement about its mechanism, its model and the versions of programs."""

import hashlib
import importlib.metadata
import json
import platform
import re
from collections.abc import Mapping
from dataclasses import fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save

from adept.mechanisms import Codebook, JointResponse, LocalRandomizer, RandomizedResponse
from adept.mechanisms.guarantee import json_number
from adept.models.saved_model import WEIGHTS, Autoencoder
from adept.models.sentences.sentence_files import sentences_sha256
from adept.models.sentences.sentence_list import SentenceList
from adept.models.tokenizer import Tokenizer
from adept.rewriting.loading import is_packaged

MAX_NAME_LENGTH = 100


def mechanism_options(mechanism: LocalRandomizer) -> dict[str, Any]:
    """Return those options of a mechanism that are numbers, strings, True or None, as JSON values.

    Infinity becomes "inf".
    """
    values = {field.name: getattr(mechanism, field.name) for field in fields(mechanism)}
    plain = {
        name: value
        for name, value in values.items()
        if value is None or (isinstance(value, int | float | str) and value is not False)
    }
    return {name: json_number(value) if isinstance(value, float) else value for name, value in plain.items()}


def codebook_facts(
    mechanism: LocalRandomizer,
    dim: int,
    sentences: SentenceList | None = None,
    *,
    about: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return the fields ``size``, ``top``, ``codebook_sha256``; all are None without codewords.

    Codewords are the ``size`` public texts or vectors among which the mechanism chooses. For each
    record, ``top`` codewords near the record have a larger probability than the others. If a
    release makes several draws for each record, ``size`` and ``top`` are lists with one number for
    each draw. The digest covers the codewords as little-endian float32 rows. If codewords are
    public sentences, the digest covers their list and ``about``, the sentences that explain labels.
    """
    if not (draws := mechanism.selections(dim)):
        return {"size": None, "top": None, "codebook_sha256": None}
    sizes, tops = [draw.size for draw in draws], [draw.heavy_count for draw in draws]
    several = len(draws) > 1
    sha256 = sentences and sentences_sha256(sentences)
    if isinstance(mechanism, Codebook):
        sha256 = _codewords_sha256(mechanism, dim)
    if about:
        sha256 = hashlib.sha256(json.dumps([sha256, about], sort_keys=True).encode("ascii")).hexdigest()
    return {"size": sizes if several else sizes[0], "top": tops if several else tops[0], "codebook_sha256": sha256}


def _codewords_sha256(mechanism: Codebook, dim: int) -> str:
    digest = hashlib.sha256()
    for block in mechanism.layout(dim):
        digest.update(block.codewords.contiguous().numpy().astype("<f4").tobytes())
    return digest.hexdigest()


def label_facts(response: RandomizedResponse | JointResponse | None) -> dict[str, Any]:
    if response is None:
        return {"label_set": None, "label_keep_probability": None}
    return {"label_set": list(response.labels), "label_keep_probability": float(response.keep_probability)}


def file_sha256(path: str) -> str:
    with Path(path).open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def model_sha256(model: Autoencoder) -> str:
    """Return the digest of the model's weights that ``sha256sum model.safetensors`` gives."""
    precision = getattr(torch, model.config.precision)
    weights = {name: tensor.cpu().to(precision).contiguous() for name, tensor in model.state_dict().items()}
    return hashlib.sha256(save(weights)).hexdigest()


def model_fingerprint(model: Autoencoder, tokenizer: Tokenizer, sha256: str) -> str:
    """Return one digest of a model's weights, sizes, clipping, labels, vocabulary and synonyms."""
    read = sorted(tokenizer.vocabulary.items()), sorted(tokenizer.synonyms.items())
    described = repr((sha256, model.config, model.clip, model.labels, *read))
    return hashlib.sha256(described.encode("utf-8", "surrogatepass")).hexdigest()


def model_facts(model: Autoencoder, sha256: str) -> dict[str, Any]:
    data = model.training_data
    return {
        "training_data": {
            "name": plain_name(data.name),
            "public": data.public is True,
            "records": data.records,
            "examples": data.examples,
            "packaged": is_packaged(model.files | {WEIGHTS: sha256}),
        },
        "model_sha256": sha256,
        "model_files": model.files or None,
        "versions": versions(),
    }


def plain_name(name: object) -> str:
    """Return a name on one line, shortened, with only letters, digits and plain punctuation."""
    if not isinstance(name, str):
        return "unknown"
    return " ".join(re.sub(r"[^\w .,:/()+-]", "?", name.replace("\n", " ")).split())[:MAX_NAME_LENGTH] or "unknown"


def drawing_versions() -> dict[str, str]:
    """Return the versions of the packages on which the random draws of a release depend."""
    return {name: importlib.metadata.version(name) for name in ("adept-dp", "torch", "opendp", "tokenizers")}


def now() -> str:
    """Return the time of day (UTC) to the second; its first ten characters are the date."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def versions() -> dict[str, str]:
    return {**drawing_versions(), "python": platform.python_version()}
