"""What ``adept COMMAND --help`` prints: how the command is called, and its options by groups, each with a sentence."""

import re
import shutil
import textwrap

from adept.cli.options import config_directory, mechanism_options, options, typed_as
from adept.cli.source import REQUIRED, Field

INDENT = 30
PLACES = {"str": "TEXT", "int": "N", "float": "X", "bool": "true|false", "group": "NAME"}
NOTE = """\
An option is written NAME=VALUE. The values here are the defaults; a word in capitals stands for one that has none, which is null.
An option with a star must be given. adept {command} --cfg job prints all values as they are set."""
LIST = re.compile(r"list\[(\w+)\]")


def help_text(command: str, sentence: str, arguments: list[str]) -> str:
    """Return the help of a command; with ``mechanism=NAME`` among the arguments also that mechanism's own options."""
    chosen = [argument.partition("=")[2] for argument in arguments if argument.startswith("mechanism=")]
    fields = [*options(command), *(field for name in chosen for field in mechanism_options(name))]
    width = max(72, min(120, shutil.get_terminal_size((100, 24)).columns))
    parts = [
        f"adept {command}: {sentence}",
        "\n".join(f"  {line}" for line in usage(command)),
        NOTE.format(command=command),
    ]
    first = [{field.heading for field in fields if field.default == REQUIRED}, {"Budget and mechanism", "Budget"}]
    ordered = sorted(fields, key=lambda field: ("." in field.name, *(field.heading not in some for some in first)))
    for heading in dict.fromkeys(field.heading for field in ordered):
        entries = [_entry(field, width) for field in fields if field.heading == heading]
        parts.append("\n".join([heading, *entries] if heading else entries))
    return "\n\n".join(parts) + "\n"


def usage(command: str) -> list[str]:
    """Return the command lines that the command's file in ``conf/`` begins with."""
    return re.findall(r"^# (adept .+)$", (config_directory() / f"{command}.yaml").read_text("utf-8"), re.MULTILINE)


def _entry(field: Field, width: int) -> str:
    """One option: its name and default, and beside them, or below where they are long, its sentence."""
    star = "*" if field.default == REQUIRED else " "
    name = f"{star} {field.name}={_place(field.kind) if field.default in (None, REQUIRED) else typed_as(field.default)}"
    lines = textwrap.wrap(field.sentence, width - INDENT, break_long_words=False)
    if len(name) < INDENT:
        name, lines = f"{name:<{INDENT}}{lines[0] if lines else ''}", lines[1:]
    return "\n".join([name, *(" " * INDENT + line for line in lines)])


def _place(kind: str) -> str:
    """What stands for a value that has no default."""
    kind = kind.removesuffix(" | None")
    if listed := LIST.fullmatch(kind):
        return f"[{PLACES[listed[1]]},...]"
    return PLACES.get(kind, "VALUE")
