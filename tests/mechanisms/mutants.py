"""Machine-made mutants of samplers, weights and clips, and which fast test finds each.

A mutant is one function with one small change: another comparison, a constant or a sum off by one, a quotient as a float, swapped
bounds or weights, a rounding the other way, a clip left out. All changes that ``variants`` knows are made at every place of the
functions in `mechanisms.mutated`. A mutant is *found* if a test that calls its function fails, raises, or does not come to an end.

``python tests/mechanisms/mutants.py [FUNCTION ...]`` prints the list as Markdown.
"""

import ast
import copy
import cProfile
import importlib
import inspect
import itertools
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT / "tests"))  # as pytest has it
from hanging import Hung, limited  # noqa: E402
from mechanisms.mutated import EQUIVALENT, MUTATED  # noqa: E402

TIMES, LEAST_SECONDS = 10, 5.0
"""A mutant hangs where a test computes TIMES as long as with the function itself, measured in this run, and LEAST_SECONDS."""
Test = Callable[..., None]


@dataclass(frozen=True)
class Target:
    """One function, "module:qualname"."""

    path: str

    @property
    def module(self) -> Any:
        """Module of the function."""
        return importlib.import_module(f"adept.{self.path.partition(':')[0]}")

    @property
    def names(self) -> list[str]:
        """Name of the function's class, if it has one, and its own."""
        return self.path.partition(":")[2].split(".")

    @property
    def reasons(self) -> dict[str, str]:
        """By the change: why a mutant of the function does the same as the function."""
        return EQUIVALENT.get(self.path, {})

    @property
    def function(self) -> Any:
        """The function itself: of a property its getter, of a cache what is cached."""
        found = self.module
        for part in self.names:
            found = inspect.getattr_static(found, part)
        found = found.fget if isinstance(found, property) else found
        return getattr(found, "__wrapped__", found)


@dataclass(frozen=True)
class Mutant:
    """A function with one change.

    Attributes:
        target: the function.
        before: the changed expression.
        after: what it was changed into.
        again: how many earlier mutants read the same.
        tree: the changed function.
    """

    target: Target
    before: str
    after: str
    again: int
    tree: ast.FunctionDef

    @property
    def change(self) -> str:
        """The expression before and after the change."""
        return f"{self.before} -> {self.after}{f' ({self.again + 1})' if self.again else ''}"

    @property
    def name(self) -> str:
        """The function and the change."""
        return f"{self.target.path}: {self.change}"

    @property
    def same(self) -> str | None:
        """The reason why the mutant does the same as the function; None for any other mutant."""
        return self.target.reasons.get(self.change)


COMPARISONS = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq}
OPERATIONS = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.FloorDiv: ast.Div, ast.Mod: ast.FloorDiv, ast.Mult: ast.Add, ast.Div: ast.Mult,
    ast.LShift: ast.RShift, ast.RShift: ast.LShift, ast.BitAnd: ast.BitOr, ast.Pow: ast.Mult,
}  # fmt: skip
CALLS = {
    "ceil": "floor",
    "floor": "ceil",
    "min": "max",
    "max": "min",
    "trunc": "round",
    "isqrt": "sqrt",
    "Fraction": "float",
}
LEFT_OUT = {"clamp", "clip_latents", "abs", "sorted"}  # x.clamp(..) and f(x, ..) become x


def variants(node: ast.AST) -> Iterator[ast.AST]:
    """Return a node's changes."""
    match node:
        case ast.Compare(ops=[op]) if type(op) in COMPARISONS:
            yield ast.Compare(node.left, [COMPARISONS[type(op)]()], node.comparators)
        case ast.BinOp(op=op) if type(op) in OPERATIONS:
            yield ast.BinOp(node.left, OPERATIONS[type(op)](), node.right)
        case ast.UnaryOp(op=ast.USub() | ast.Not() | ast.Invert()):
            yield node.operand
        case ast.Constant(value=value) if type(value) is int:
            yield ast.Constant(value + 1)
        case ast.Tuple(elts=[first, second], ctx=ast.Store()):
            yield ast.Tuple([second, first], ast.Store())
        case ast.IfExp():
            yield ast.IfExp(node.test, node.orelse, node.body)
        case ast.Call():
            yield from _calls(node)


def _calls(node: ast.Call) -> Iterator[ast.AST]:
    """Another function, no function, or its arguments swapped."""
    method = node.func.attr if isinstance(node.func, ast.Attribute) else None
    name = method or (node.func.id if isinstance(node.func, ast.Name) else "")
    if name in CALLS:
        other = copy.deepcopy(node.func)
        setattr(other, "attr" if method else "id", CALLS[name])
        yield ast.Call(other, node.args, node.keywords)
    if name in LEFT_OUT:
        yield node.func.value if isinstance(node.func, ast.Attribute) else node.args[0]
    if name == "where" and len(node.args) == 3:
        yield ast.Call(node.func, [node.args[0], node.args[2], node.args[1]], node.keywords)
    if {"near", "far"} <= {word.arg for word in node.keywords}:
        swapped = {"near": "far", "far": "near"}
        yield ast.Call(
            node.func, node.args, [ast.keyword(swapped.get(w.arg or "", w.arg), w.value) for w in node.keywords]
        )


def mutants_of(target: Target) -> list[Mutant]:
    """Return all mutants of a function that differ, in the order of its text."""
    tree = _definition(target)
    found: dict[str, Mutant] = {}
    for place, node in enumerate(_places(tree)):
        for number in range(len(list(variants(node)))):
            changed = copy.deepcopy(tree)
            twin = _places(changed)[place]
            variant = list(variants(twin))[number]
            outer, shown = _context(changed, twin)
            before = ast.unparse(shown)
            _replace(outer, twin, variant)
            after = ast.unparse(variant if shown is twin else shown)
            text = ast.unparse(ast.fix_missing_locations(changed))
            again = sum((mutant.before, mutant.after) == (before, after) for mutant in found.values())
            found.setdefault(text, Mutant(target, before, after, again, changed))
    return list(found.values())


def _places(tree: ast.FunctionDef) -> list[ast.AST]:
    """Everything in a function's statements."""
    return [node for statement in _body(tree) for node in ast.walk(statement)]


def _context(tree: ast.FunctionDef, node: ast.AST) -> tuple[ast.AST, ast.AST]:
    """Return the code around a node, as much as a reader needs: a number alone says nothing."""
    parents = {child: parent for parent in ast.walk(tree) for child in ast.iter_child_nodes(parent)}
    shown = node
    while isinstance(shown, ast.Constant | ast.UnaryOp | ast.keyword | ast.Tuple | ast.Slice):
        if not isinstance(parents[shown], ast.expr | ast.keyword | ast.Slice | ast.Assign | ast.AugAssign):
            break
        shown = parents[shown]
    return parents[node], shown


def _body(tree: ast.FunctionDef) -> list[ast.stmt]:
    """A function's statements below its docstring, without what it only says."""
    return [
        s for s in tree.body if not isinstance(s, ast.Raise | ast.Expr) or isinstance(getattr(s, "value", 0), ast.Yield)
    ]


def _replace(parent: ast.AST, old: ast.AST, new: ast.AST) -> None:
    for field, value in ast.iter_fields(parent):
        if value is old:
            setattr(parent, field, new)
        elif isinstance(value, list):
            setattr(parent, field, [new if item is old else item for item in value])


def _definition(target: Target) -> ast.FunctionDef:
    """The function's text, read again."""
    scope: Any = ast.parse(Path(target.module.__file__).read_text("utf-8"))
    for part in target.names:
        scope = next(s for s in scope.body if isinstance(s, ast.FunctionDef | ast.ClassDef) and s.name == part)
    bare = copy.deepcopy(scope)
    bare.decorator_list = []
    found: ast.FunctionDef = bare
    return found


@contextmanager
def planted(mutant: Mutant) -> Iterator[None]:
    """Let the function be the mutant, and forget what was computed before and with it."""
    function = mutant.target.function
    module = compile(ast.Module([mutant.tree], []), f"<{mutant.name}>", "exec")
    code = next(part for part in module.co_consts if inspect.iscode(part) and part.co_name == mutant.tree.name)
    kept = function.__code__
    _forget()
    try:
        function.__code__ = code
        yield
    finally:
        function.__code__ = kept
        _forget()


def _forget() -> None:
    for name, module in list(sys.modules.items()):
        if name.startswith("adept.mechanisms"):
            for value in vars(module).values():
                getattr(value, "cache_clear", int)()


def finder(mutant: Mutant) -> str | None:
    """Return the name of the first test that finds a mutant; None where it is like the function itself."""
    calling = tests_of(mutant.target)
    with planted(mutant):
        return next((test.__name__ for seconds, test in calling if not passes(test, seconds)), None)


@cache
def tests_of(target: Target) -> list[tuple[float, Test]]:
    """Return the tests that are marked for a function and call it, the quickest first, with their seconds."""
    marked = [measured(test) for test in marked_tests(target.path.partition(":")[0])]
    found = [(seconds, test) for seconds, test, called in marked if target.function.__code__ in called]
    return sorted(found, key=lambda pair: pair[0])


@cache
def marked_tests(module: str) -> list[Test]:
    """Return the tests with the mark ``mutants`` for a module."""
    paths = [path for path in (ROOT / "tests").rglob("test_*.py") if f'"{module}"' in path.read_text("utf-8")]
    files = [".".join(path.relative_to(ROOT / "tests").with_suffix("").parts) for path in sorted(paths)]
    tests = [value for file in files for value in vars(importlib.import_module(file)).values()]
    return [test for test in tests if any(mark.name == "mutants" and module in mark.args for mark in marks(test))]


def marks(test: Any) -> list[Any]:
    """Return pytest's marks of a test; none for any other value."""
    found = getattr(test, "pytestmark", [])
    return found if isinstance(found, list) else []


@cache
def measured(test: Test) -> tuple[float, Test, set[Any]]:
    """Run a test once; return how many seconds it computes, the test, and the code that it calls."""
    _forget()
    begin, profile = time.process_time(), cProfile.Profile(builtins=False)
    profile.runcall(run, test)
    return time.process_time() - begin, test, {entry.code for entry in profile.getstats()}


def passes(test: Test, seconds: float) -> bool:
    """Return True if a test passes with each of its parameters, and computes not much longer than ``seconds``."""
    try:
        with limited(max(LEAST_SECONDS, TIMES * seconds)):
            run(test)
    except (Exception, pytest.fail.Exception, Hung):  # noqa: BLE001 - whatever a mutant does is found
        return False
    return True


def run(test: Test) -> None:
    """Run a test with each of its parameters."""
    for given in cases(test):
        with fixtures(test, given) as arguments:
            test(**arguments)


def cases(function: Test) -> Iterator[dict[str, Any]]:
    """Yield the arguments that the marks of a test give to it."""
    axes = []
    for mark in marks(function):
        if mark.name == "parametrize":
            names = mark.args[0].split(",") if isinstance(mark.args[0], str) else list(mark.args[0])
            rows = [values if len(names) > 1 else (values,) for values in mark.args[1]]
            axes.append([dict(zip(names, row, strict=True)) for row in rows])
    for chosen in itertools.product(*axes):
        yield {name: value for part in chosen for name, value in part.items()}


@contextmanager
def fixtures(function: Test, given: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """A test's arguments: what its marks give, and what a fixture makes."""
    with pytest.MonkeyPatch.context() as patch, TemporaryDirectory() as folder:
        made: dict[str, Any] = {"monkeypatch": patch, "tmp_path": Path(folder)}
        for name in [name for name in inspect.signature(function).parameters if name not in given | made]:
            modules = (sys.modules[function.__module__], importlib.import_module("mechanisms.conftest"))
            fixture = next(getattr(module, name) for module in modules if hasattr(module, name))._get_wrapped_function()
            made[name] = fixture(**{wanted: made[wanted] for wanted in inspect.signature(fixture).parameters})
        yield {name: value for name, value in (made | given).items() if name in inspect.signature(function).parameters}


def lines(target: Target) -> list[str]:
    """Return a table of a target's mutants: each change, and the test that finds it or the reason why it changes nothing."""
    rows = [f"### `{target.path}`", "", "| change | outcome |", "|---|---|"]
    for mutant in mutants_of(target):
        found = finder(mutant)
        if (found is None) != (mutant.same is not None):
            sys.exit(
                f"{mutant.name}: found by {found or 'no test'}, which EQUIVALENT in mechanisms/mutated.py contradicts"
            )
        change = f"`{mutant.before}` to `{mutant.after}`".replace("|", "\\|")
        rows.append(f"| {change} | {found or f'*the same*: {mutant.same}'} |")
    return rows


def targets() -> list[Target]:
    """Return all functions that are changed."""
    return [Target(f"{module}:{name}") for module, names in MUTATED.items() for name in names.split()]


def main(paths: list[str]) -> None:
    """Run every mutant of all functions, or of those named, and print the list."""
    for target in targets():
        if not paths or target.path in paths:
            print("\n".join([*lines(target), ""]), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
