"""Rewrite utterances under local differential privacy, with guarantees that are true."""

import importlib
import sys
from typing import TYPE_CHECKING, Any

from adept.removed import RemovedImports, removal

if TYPE_CHECKING:
    from adept import audit, lightning, mechanisms
    from adept.models.saved_model import Autoencoder
    from adept.release.rewrite_frame import rewrite_frame
    from adept.rewriting.rewriter import Rewriter
    from adept.synthesis.synthesizer import Synthesizer

__all__ = ["Autoencoder", "Rewriter", "Synthesizer", "audit", "lightning", "mechanisms", "rewrite_frame"]

_HOMES = {
    "Autoencoder": "adept.models.saved_model",
    "Rewriter": "adept.rewriting.rewriter",
    "Synthesizer": "adept.synthesis.synthesizer",
    "rewrite_frame": "adept.release.rewrite_frame",
}


def __getattr__(name: str) -> Any:
    # Imported when first used, so that ``adept --help`` does not wait for PyTorch.
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    if name in __all__:
        return importlib.import_module(f"adept.{name}")
    if line := removal(f"adept.{name}"):
        raise ImportError(line)  # ``from adept import NAME`` would hide the words of an AttributeError
    raise AttributeError(f"module 'adept' has no attribute {name!r}")


sys.meta_path.append(RemovedImports())
