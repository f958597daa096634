"""The options of a command, read from the source of its configuration, and the nearest one to a misspelt name.

The dataclass of a configuration is the one place where an option is written down: the field, its default, and the string below
it, which says in a sentence what it is for. Choices stand in the sentence as ``copy | drop``.
"""

import ast
import re
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import yaml

from adept.cli.source import ROOT, Field, classes, fields_of
from adept.errors import ConfigurationError

BARE = {"verify": "statement", "ledger": "ledger"}  # the option that a command's first word stands for without its name
FROM_ELSEWHERE = {"epsilon", "clip_norm", "name"}  # of a mechanism: its budget is the command's, its radius the model's


def options(command: str) -> list[Field]:
    """Return a command's options in the order of its configuration, with the names to choose from in groups of ``conf/``."""
    found = list(fields_of(f"adept.cli.{command}", f"{command.capitalize()}Config"))
    for group, default in groups(command).items():
        choice = f"{' | '.join(names(group, command))}."
        place = next((i for i, field in enumerate(found) if field.name.split(".")[0] == group), None)
        if place is None:
            found.append(Field(group, "A recipe, which sets several options", f"Which one: {choice}", default, "group"))
        elif found[place].name == group:  # a mechanism
            sentence = f"{found[place].sentence.rstrip('.')}: {choice}"
            found[place] = replace(found[place], sentence=sentence, default=default, kind="group")
        else:  # a file that sets the options inside
            found.insert(place, Field(group, found[place].heading, f"Which one: {choice}", default, "group"))
    return found


def mechanism_options(name: str) -> list[Field]:
    """Return the options of one mechanism, such as ``mechanism.delta``."""
    declared = f"name: ClassVar[str] = {name!r}"
    for path in sorted((ROOT / "adept" / "mechanisms").glob("*.py")):
        module = f"adept.mechanisms.{path.stem}"
        for node in classes(module):
            if declared in map(ast.unparse, node.body):
                fields = fields_of(module, node.name, prefix="mechanism.", heading=f"mechanism={name}")
                return [field for field in fields if field.name.split(".")[1] not in FROM_ELSEWHERE]
    return []


def groups(command: str) -> dict[str, str | None]:
    """Return the groups of ``conf/`` from which a command chooses a file each, with the default."""
    listed = yaml.safe_load((config_directory() / f"{command}.yaml").read_text("utf-8"))["defaults"]
    return {group: default for entry in listed if isinstance(entry, dict) for group, default in entry.items()}


def names(group: str, command: str) -> list[str]:
    """Return the names in a group of ``conf/``; of recipes those for this command."""
    files = sorted((config_directory() / group).glob("*.yaml"))
    return [file.stem for file in files if group != "experiment" or f"# adept {command} " in file.read_text("utf-8")]


def named(command: str, arguments: list[str]) -> list[str]:
    """Return the arguments with the name of the option that a command's first word may stand for."""
    if command in BARE and arguments and "=" not in arguments[0] and not arguments[0].startswith("-"):
        return [f"{BARE[command]}={arguments[0]}", *arguments[1:]]
    return arguments


def check_options(command: str, arguments: list[str]) -> None:
    """Refuse to set an option that the command does not have, or to choose a file that a group does not have.

    Raises:
        ConfigurationError: with the nearest name, or with where names are listed.
    """
    known = [field.name for field in options(command)]
    whole = [
        name[: dot.start()] for name in known for dot in re.finditer(r"\.", name)
    ]  # groups, which Hydra can set whole
    for before, argument in zip(["", *arguments], arguments, strict=False):
        name, equals, value = argument.partition("=")
        if not equals and not argument.startswith(("-", "~")) and not before.startswith("-"):
            raise ConfigurationError(
                f"an option is written NAME=VALUE, got {argument}: adept {command} --help lists them"
            )
        if not equals or not re.fullmatch(r"[A-Za-z_][\w.]*", name) or name.startswith(("hydra.", "mechanism.")):
            continue  # Hydra's own
        if name not in (*known, *whole):
            meant = _meant(name, known) or f": adept {command} --help lists its options"
            raise ConfigurationError(f"{command} has no option {name}{meant}")
        if name in groups(command) and re.fullmatch(r"[\w.-]*", value) and value != "null":
            _check_choice(name, value, names(name, command))


def _check_choice(group: str, value: str, known: list[str]) -> None:
    if value not in known:
        raise ConfigurationError(
            f"{group} must be one of {', '.join(known)}, got {value or 'nothing'}{_meant(value, known)}"
        )


def _meant(name: str, known: list[str]) -> str:
    elsewhere = [other for other in known if other.rpartition(".")[2] == name.rpartition(".")[2]]
    return f": did you mean {near[0]}?" if (near := elsewhere or get_close_matches(name, known, n=1)) else ""


def config_directory() -> Path:
    """Return ``conf/``: inside the package as installed from a wheel, or in the checkout's root."""
    return next(path for path in (ROOT / "adept" / "conf", ROOT / "conf") if path.is_dir())


def typed_as(value: Any) -> str:
    """Write a value as it would be typed on the command line."""
    match value:
        case None:
            return "null"
        case bool():
            return str(value).lower()
        case list() | tuple():
            return f"[{','.join(typed_as(item) for item in value)}]"
        case float():
            return f"{value:g}"
    return str(value)
