"""Looks up each name that notebooks, pages, scripts and audits import from adept: tests run few of these files."""

import ast
import importlib.util
import re
from pathlib import Path

import pytest
from notebooks import NOTEBOOKS, SHELL, code_cells, read

ROOT = Path(__file__).parent.parent
BLOCK = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
SCRIPTS = sorted(path for name in ("benchmarks", "audits", "examples") for path in (ROOT / name).rglob("*.py"))


def code(path: Path) -> str:
    """Return the Python code in a page, a notebook or a script."""
    if path.suffix == ".md":
        return "\n".join(BLOCK.findall(path.read_text("utf-8")))
    if path.suffix == ".ipynb":
        return "\n".join(cell["source"] for cell in code_cells(read(path)) if not cell["source"].startswith(SHELL))
    return path.read_text("utf-8")


def missing_names(source: str) -> list[str]:
    """Return what the code imports from adept, or reads from a module of adept, and is not there."""
    nodes = list(ast.walk(ast.parse(source)))
    imported = [node for node in nodes if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("adept")]
    names = {alias.asname or alias.name: (node.module or "", alias.name) for node in imported for alias in node.names}
    read_from = [
        (".".join(names[node.value.id]), node.attr)
        for node in nodes
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in names
    ]
    return [f"{module}.{name}" for module, name in [*names.values(), *read_from] if not is_there(module, name)]


def is_there(module: str, name: str) -> bool:
    """Say whether a module or a class has a name, which may be a module in it; True for what is neither."""
    try:
        home = importlib.import_module(module)
    except ModuleNotFoundError:
        parent, _, last = module.rpartition(".")
        home = getattr(importlib.import_module(parent), last, None)
        if not isinstance(home, type):
            return home is not None
    if hasattr(home, name) or name in getattr(home, "__annotations__", ()):
        return True
    return importlib.util.find_spec(f"{module}.{name}") is not None if hasattr(home, "__path__") else False


@pytest.mark.parametrize("path", [*NOTEBOOKS, *PAGES, *SCRIPTS], ids=lambda path: str(path.relative_to(ROOT)))
def test_what_is_imported_from_adept_is_there(path: Path) -> None:
    assert missing_names(code(path)) == []


@pytest.mark.parametrize(
    ("source", "missing"),
    [
        ("from adept.data.corpus import AIR_TRAVEL, read_corpus", ["adept.data.corpus.AIR_TRAVEL"]),
        ("from adept import mechanisms\nmechanisms.Laplace(1)", ["adept.mechanisms.Laplace"]),
        ("from adept.gone import name", ["adept.gone.name"]),
        ("from adept import Rewriter as R\nR.from_scratch()", ["adept.Rewriter.from_scratch"]),
        ("from adept.mechanisms import laplace\nfrom adept import audit\naudit.run", []),
    ],
)
def test_names_that_are_gone_are_seen(source: str, missing: list[str]) -> None:
    assert missing_names(source) == missing
