"""The check of the proofs (proofs/check.py, which is in no package), and the mark of tests that need Coq."""

import importlib.util
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent


def _load_check() -> ModuleType:
    spec = importlib.util.spec_from_file_location("proofs_check", ROOT / "proofs" / "check.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


check = _load_check()


def needs_coq(test: Callable[..., Any]) -> Callable[..., Any]:
    """Mark a test that Coq is needed for: `make proofs` runs it, and it is skipped in plain words where Coq is missing."""
    reason = "PROOFS NOT CHECKED: there is no Coq here (apt-get install coq)"
    marked: Callable[..., Any] = pytest.mark.proofs(pytest.mark.skipif(not check.is_installed(), reason=reason)(test))
    return marked
