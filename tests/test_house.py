"""The house stays walkable: short modules and functions, few parameters, a short import contract."""

import ast
import io
import re
import tokenize
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
MODULES = sorted((ROOT / "adept").rglob("*.py"))
TESTS = sorted((ROOT / "tests").rglob("test_*.py"))
LINES, FUNCTION_LINES, PARAMETERS, CONTRACT_LINES, FLOORS = 600, 45, 9, 20, 8
TEST_NAME_LETTERS = 80


def functions(path: Path) -> list[ast.FunctionDef]:
    """The functions and methods of a module."""
    return [node for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, ast.FunctionDef)]


def code_lines(function: ast.FunctionDef) -> int:
    """Return the number of lines of a function below its docstring."""
    return (function.end_lineno or 0) - (
        function.body[0].end_lineno or 0 if ast.get_docstring(function) else function.lineno - 1
    )


def tokens(text: str) -> Iterator[tokenize.TokenInfo]:
    """Return the tokens of a module."""
    return tokenize.generate_tokens(io.StringIO(text).readline)


def parameters(function: ast.FunctionDef) -> int:
    """Return the number of parameters that a caller may give."""
    given = function.args
    names = [argument.arg for argument in (*given.posonlyargs, *given.args, *given.kwonlyargs)]
    return len([name for name in names if name not in ("self", "cls")])


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_module_and_no_function_is_long(path: Path) -> None:
    assert len(path.read_text("utf-8").splitlines()) <= LINES
    long = [f.name for f in functions(path) if code_lines(f) > FUNCTION_LINES]
    many = [f.name for f in functions(path) if parameters(f) > PARAMETERS and not f.name.startswith("_")]
    assert (long, many) == ([], [])


def test_the_package_does_not_grow() -> None:
    """Raise a figure only for an idea that a user would miss, and say which."""
    texts = [path.read_text("utf-8") for path in MODULES]
    lines = sum(len(text.splitlines()) for text in texts)
    logical = sum(token.type == tokenize.NEWLINE for text in texts for token in tokens(text))
    trees = [ast.parse(text) for text in texts]
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef)
    docstrings = [
        node.body[0]
        for tree in trees
        for node in ast.walk(tree)
        if isinstance(node, documented) and ast.get_docstring(node)
    ]
    told = sum((node.end_lineno or 0) - node.lineno + 1 for node in docstrings)
    assert (lines <= 34_710, logical <= 21_175, len(MODULES) <= 156) == (True, True, True), (lines, logical)
    assert told >= 0.15 * lines


def test_no_part_of_scipy_is_loaded_until_a_function_needs_it() -> None:
    """``import scipy`` loads its parts on first use; a rewrite of texts needs none, and starts without them."""
    floors = ("mechanisms", "models", "rewriting", "synthesis", "release")
    early = re.compile(r"^(?:from scipy\b|import scipy\.)", re.MULTILINE)
    assert [
        path.name
        for path in MODULES
        if path.parts[len(ROOT.parts) + 1] in floors and early.search(path.read_text("utf-8"))
    ] == []


def test_names_of_tests_are_sentences_of_at_most_80_letters() -> None:
    names = [function.name for path in TESTS for function in functions(path) if function.name.startswith("test_")]
    assert len(names) > 1000
    assert [name for name in names if len(name) > TEST_NAME_LETTERS] == []


def test_what_would_be_too_much_is_seen(tmp_path: Path) -> None:
    path = tmp_path / "long.py"
    path.write_text(f"def f({', '.join(f'a{i}' for i in range(10))}):\n" + "    pass\n" * 50)
    (function,) = functions(path)
    assert parameters(function) == 10
    assert code_lines(function) == 51


def test_the_import_contract_is_short_and_has_at_most_eight_floors() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]["contracts"]
    layered = [contract for contract in contracts if contract["type"] == "layers"]
    (floors,) = [
        contract["layers"] for contract in layered if "containers" not in contract
    ]  # the others are a floor's rooms
    assert len(floors) <= FLOORS
    assert len(floors) + 3 <= CONTRACT_LINES
