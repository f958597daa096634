"""Dataclasses read from their source: fields, defaults and the sentence below each, without importing their modules.

The modules of configurations import PyTorch, which takes seconds, and ``--help`` has less than one. Only what configurations are
written with is understood: constants, ``field(default_factory=...)``, base classes and names imported from our other modules.
"""

import ast
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]  # what the package stands in
HEADING = re.compile(r"    # --- (.+)")  # a line above the first of some fields
ATTRIBUTE = re.compile(r"^ *(\w+): (.+?)(?=\n *\w+: |\n\n|\Z)", re.MULTILINE | re.DOTALL)  # in a class's docstring
REQUIRED = "???"  # the default of what must be given, as OmegaConf writes it

Definition = ast.ClassDef | ast.expr


@dataclass(frozen=True)
class Field:
    """A field of a dataclass, or of one that it holds.

    Attributes:
        name: with the fields that lead to it: ``decoding.top_k``.
        heading: what the fields around it have in common.
        sentence: what it is for; empty where nothing is said.
        default: its value unless it is given; ``"???"`` where it must be.
        kind: the annotation, such as ``float | None``.
    """

    name: str
    heading: str
    sentence: str
    default: Any
    kind: str


@dataclass(frozen=True)
class _Module:
    lines: list[str]
    defined: dict[str, Definition]  # classes, and the expressions of constants
    imported: dict[str, str]  # names, and the modules of ours that they come from


def fields_of(module: str, name: str, *, prefix: str = "", heading: str = "") -> Iterator[Field]:
    """Yield the fields of a dataclass, its own before those of its bases, each with the fields of the dataclasses it holds."""
    home, node = find(module, name)
    if not isinstance(node, ast.ClassDef):
        return
    described = dict(ATTRIBUTE.findall((ast.get_docstring(node) or "").partition("Attributes:")[2]))
    for place, line in enumerate(node.body):
        match line:
            case ast.AnnAssign(target=ast.Name(id=field), annotation=kind) if "ClassVar" not in ast.unparse(kind):
                heading = _heading(home, node.body[place - 1].end_lineno or 0, line.lineno) or heading
                if inner := _held(home, line.value):
                    inside, about = f"{prefix}{field}", summary(home, inner)
                    yield from fields_of(home, inner, prefix=f"{inside}.", heading=f"{inside}: {about}")
                    continue
                sentence = " ".join((_string(node.body[place + 1 :]) or described.get(field, "")).split())
                yield Field(prefix + field, heading, sentence, _value(home, line.value), ast.unparse(kind))
    for base in node.bases:
        if isinstance(base, ast.Name):
            yield from fields_of(home, base.id, prefix=prefix, heading=heading if prefix else summary(home, base.id))


def summary(module: str, name: str) -> str:
    """Return the first sentence of a class's docstring."""
    _, node = find(module, name)
    text = ast.get_docstring(node) or "" if isinstance(node, ast.ClassDef) else ""
    return text.split("\n")[0].rstrip(".").replace("``", "")


def find(module: str, name: str) -> tuple[str, Definition | None]:
    """Return the module that defines a name, and the definition, followed through imports; None where it is not ours."""
    here = _module(module)
    if name in here.imported:
        return find(here.imported[name], name)
    return module, here.defined.get(name)


def classes(module: str) -> list[ast.ClassDef]:
    """Return the classes that a module defines."""
    return [node for node in _module(module).defined.values() if isinstance(node, ast.ClassDef)]


@cache
def _module(name: str) -> _Module:
    place = ROOT.joinpath(*name.split("."))
    text = (place / "__init__.py" if place.is_dir() else place.with_suffix(".py")).read_text("utf-8")
    defined: dict[str, Definition] = {}
    imported: dict[str, str] = {}
    for node in ast.parse(text).body:
        match node:
            case ast.ClassDef(name=known):
                defined[known] = node
            case ast.Assign(targets=[ast.Name(id=known)], value=value):
                defined[known] = value
            case ast.Assign(targets=[ast.Tuple(elts=names)], value=ast.Tuple(elts=values)):
                defined |= {ast.unparse(known): value for known, value in zip(names, values, strict=True)}
            case ast.ImportFrom(module=str(origin), names=names) if origin.startswith("adept."):
                imported |= {alias.asname or alias.name: origin for alias in names}
    return _Module(text.splitlines(), defined, imported)


def _heading(module: str, after: int, before: int) -> str:
    """The heading between two lines of a class, if there is one."""
    found = [HEADING.fullmatch(line) for line in _module(module).lines[after : before - 1]]
    return next((match[1] for match in found if match), "")


def _held(module: str, default: ast.expr | None) -> str:
    """The class whose fields stand in this one: ``field(default_factory=Class)``."""
    factory = _factory(default)
    return factory.id if isinstance(factory, ast.Name) and isinstance(find(module, factory.id)[1], ast.ClassDef) else ""


def _factory(default: ast.expr | None) -> ast.expr | None:
    match default:
        case ast.Call(func=ast.Name(id="field"), keywords=given):
            return next((word.value for word in given if word.arg == "default_factory"), None)
    return None


def _string(below: list[ast.stmt]) -> str:
    """The string that stands first below a field, if one does."""
    match below:
        case [ast.Expr(value=ast.Constant(value=str(text))), *_]:
            return text
    return ""


def _value(module: str, default: ast.expr | None) -> Any:
    """The value of a default, in which constants of ours may stand."""
    match default, _factory(default):
        case None, _:
            return REQUIRED
        case ast.Call(func=ast.Name(id="field"), keywords=given), None:
            return _value(module, next((word.value for word in given if word.arg == "default"), None))
        case _, ast.Lambda(body=body):
            return _value(module, body)
        case _, ast.Name(id="list"):
            return []
        case ast.expr() as expression, _:
            return _evaluated(module, expression)


def _evaluated(module: str, expression: ast.expr) -> Any:
    names: dict[str, Any] = {"list": list, "math": math, "MISSING": REQUIRED}
    for part in ast.walk(expression):
        if isinstance(part, ast.Name) and part.id not in names:
            home, found = find(module, part.id)
            names[part.id] = _value(home, found) if isinstance(found, ast.expr) else REQUIRED
    return eval(compile(ast.Expression(expression), module, "eval"), {"__builtins__": {}}, names)
