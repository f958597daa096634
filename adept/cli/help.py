"""The text that ``--help`` prints, and the check that all given options exist."""

import inspect
import os
import re
import shutil
import textwrap
from collections.abc import Iterable, Iterator
from dataclasses import MISSING, dataclass, fields, is_dataclass, replace
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from types import NoneType
from typing import Any, get_args, get_origin, get_type_hints

import yaml

from adept.cli import config
from adept.cli.config import REQUIRED
from adept.errors import ConfigurationError, refuse, typed_as
from adept.removed import removal

FROM_ELSEWHERE = {"epsilon", "clip_norm"}  # of a mechanism: its budget is the command's, its radius the model's
BARE_WORDS = {"verify": "statement", "ledger": "ledger"}  # options that a first word stands for without their names
PRINTING = ("--cfg", "job")  # words that print all values as they are set
OWN_FLAGS = ("--config-dir", "--config-name")
SHORT_FLAGS = {"-c": PRINTING[0], "-cd": OWN_FLAGS[0], "-cn": OWN_FLAGS[1]}  # as of Hydra
OWN_MECHANISM = ("train", "rewrite")  # commands that take mechanism=MODULE:ATTRIBUTE; audit has foreign for it
SWEEPING = ("train", "evaluate", "compare", "audit")  # commands that take yaml files of the user, and -m
OPEN_GROUPS = ("trainer", "logger", "callbacks")  # whose options have Lightning's names
SEVERAL = ("logger", "callbacks")  # groups of which a run may have several
PARTS = (
    "Parts of Lightning, whose options have Lightning's names: trainer.precision=bf16-mixed, logger.wandb.offline=true"
)
HEADINGS = {"logger": PARTS, "callbacks": PARTS, "experiment": "A recipe, which sets several options"}
ELSEWHERE = {  # whole or last words of names of lightning-hydra-template, and of older versions of Lightning
    "ckpt_path": "resume_from", "resume_from_checkpoint": "resume_from", "gpus": "trainer.devices",
    "lr": "training.learning_rate", "optimized_metric": "objective", "hydra.sweep.dir": "sweep_dir",
    "hydra.run.dir": "output_dir", "paths.output_dir": "output_dir", "debug": "trainer=debug",
}  # fmt: skip
# A quoted text at the beginning of a value, a bracket, a comma, or any other character
TOKEN = re.compile(r"""(?<![^,\[(\s])(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")|.""", re.DOTALL)
INDENT = 30
NAME = "NAME"
PLACEHOLDERS = {str: "TEXT", int: "N", float: "X", bool: "true|false", NAME: NAME}
NOTE = """\
Write an option as NAME=VALUE. The values below are yours or the defaults; the default is null if a word in
capitals or true|false stands in its place. You must give every option that has a star.
The command adept {command} --cfg job prints all options with the values that they have."""


@dataclass(frozen=True)
class Option:
    """A field of a configuration, or of a dataclass inside the configuration."""

    name: str  # with the fields that lead to it: decoding.top_k
    heading: str  # above the fields that have something in common
    sentence: str
    default: Any
    kind: Any  # the annotation, such as float | None; NAME for the name of a file in ``conf/``


def options(command: str) -> list[Option]:
    """Return a command's options; if a value is the name of a file in ``conf/``, list the names."""
    found = list(options_of(configuration(command)))
    for group, default in groups(command).items():
        choice = f"{' | '.join(names(group, command))}."
        place = next((i for i, option in enumerate(found) if option.name.split(".")[0] == group), len(found))
        heading = found[place].heading if place < len(found) else HEADINGS[group]
        sentence = f"One of these names{', or several in [A,B]' if group in SEVERAL else ''}: {choice}"
        if place < len(found) and found[place].name == group:  # a mechanism
            sentence = f"{found.pop(place).sentence.rstrip('.')}: {choice}"
        found.insert(place, Option(group, heading, sentence, default, NAME))
    return found


def configuration(command: str) -> type[Any]:
    """Return the dataclass of a command's options; imports no PyTorch."""
    found: type[Any] = getattr(config, f"{command.capitalize()}Config")
    return found


def mechanism_options(name: str) -> list[Option]:
    """Return a mechanism's options, such as ``mechanism.delta``; imports PyTorch."""
    from adept.mechanisms import BY_NAME

    if name not in BY_NAME:
        return []
    found = options_of(BY_NAME[name], prefix="mechanism.", heading=f"mechanism={name}")
    return [option for option in found if option.name.split(".")[1] not in FROM_ELSEWHERE]


def options_of(schema: type[Any], *, prefix: str = "", heading: str = "") -> Iterator[Option]:
    """Yield the fields of a dataclass, of dataclasses in its fields, and of its base classes.

    The sections of the class's docstring describe the fields; their titles are headings.
    """
    described, hints, own = dict(_describe(schema)), get_type_hints(schema), inspect.get_annotations(schema)
    by_name = {field.name: field for field in fields(schema)}
    for name in filter(by_name.__contains__, own):
        title, sentence = described.get(name, ("", ""))
        heading, hint, found = title or heading, hints[name], by_name[name]
        if is_dataclass(hint):
            inside = f"{prefix}{name}"
            yield from options_of(hints[name], prefix=f"{inside}.", heading=f"{inside}: {_summary(hints[name])}")
        elif get_origin(hint) is not dict:  # which no option sets as a whole
            default = found.default if found.default_factory is MISSING else found.default_factory()
            yield Option(prefix + name, heading, sentence, REQUIRED if default is MISSING else default, hint)
    for base in filter(is_dataclass, schema.__bases__):
        inherited = options_of(base, prefix=prefix, heading=heading if prefix else _summary(base))
        yield from (option for option in inherited if option.name.removeprefix(prefix) not in own)


def _describe(schema: type[Any]) -> Iterator[tuple[str, tuple[str, str]]]:
    """Yield the names in a docstring's sections, each with its section's title and its sentence."""
    for title, section in re.findall(r"(?m)^(\S.*):\n((?: {4,}\S.*\n?)+)", inspect.cleandoc(schema.__doc__ or "")):
        for name, sentence in re.findall(r"(?m)^ {4}(\w+): (.+(?:\n {5,}.+)*)", section):
            yield name, ("" if title == "Attributes" else title, " ".join(sentence.split()))


def _summary(schema: type[Any]) -> str:
    return (schema.__doc__ or "").strip().split("\n")[0].rstrip(".").replace("``", "")


def groups(command: str) -> dict[str, str | None]:
    """Return the groups (folders of ``conf/``) that a command reads, with their default files."""
    known = _groups_of((config_directory() / f"{command}.yaml").read_text("utf-8"))
    own = _groups_of(OWN.first.read_text("utf-8")) if OWN.first else {}
    return known | {group: default for group, default in own.items() if group in known}


@cache  # a command asks several times
def _groups_of(text: str) -> dict[str, str | None]:
    entries = (entry for entry in yaml.safe_load(text)["defaults"] if isinstance(entry, dict))
    return {re.sub(r"^(override +)?/?", "", group): default for entry in entries for group, default in entry.items()}


def names(group: str, command: str) -> list[str]:
    """Return the names of those files in a folder of ``conf/``, or of ``--config-dir``, that the command can use."""
    files = (config_directory() / group).glob("*.yaml")
    known = [file for file in files if group != "experiment" or f"# adept {command} " in file.read_text("utf-8")]
    return sorted({file.stem for file in (*known, *((OWN.directory / group).glob("*.yaml") if OWN.directory else ()))})


@dataclass
class OwnFiles:
    """The user's own yaml files, of ``--config-dir`` and ``--config-name``."""

    directory: Path | None = None
    first: Path | None = None  # in place of the command's own file in ``conf/``


OWN = OwnFiles()


def take_own_files(command: str, arguments: list[str]) -> list[str]:
    """Remember the user's own yaml files, and return the arguments without the flags that name them.

    The other flags are returned as words in their long forms: ``-c=job`` as ``--cfg job``.

    Raises:
        ConfigurationError: the command takes no such files, there are none, or a flag is given twice.
    """
    OWN.directory = OWN.first = None
    flags, rest = dict[str, str](), list[str]()
    words = iter(arguments)
    for word in words:
        flag, equals, value = word.partition("=")
        flag = SHORT_FLAGS.get(flag, flag)
        if flag in OWN_FLAGS:
            refuse((flag in flags, f"{flag} must be given once, got it twice: leave one out"))
            flags[flag] = value if equals else next(words, "")
        elif flag == PRINTING[0]:
            rest += [flag, value] if equals else [flag]
        else:
            rest.append(word)
    if not flags:
        return rest
    named = flags.get(OWN_FLAGS[0])
    directory = Path(os.path.expanduser(named or "")).absolute()  # noqa: PTH111 - Path raises without a home
    is_plain = named and directory.is_dir() and not re.search(r"\\|\$\{", str(directory))
    refuse(
        (command not in SWEEPING, f"{command} takes no {next(iter(flags))}: give its options on the command line"),
        (not named, "--config-dir must be given, got nothing: add --config-dir DIR"),
        (not is_plain, f"--config-dir must be a directory whose name holds neither \\ nor ${{, got {named}"),
    )
    OWN.directory = directory
    if OWN_FLAGS[1] in flags:
        OWN.first = directory / f"{flags[OWN_FLAGS[1]].removesuffix('.yaml')}.yaml"
        try:
            groups(command)
        except (OSError, ValueError, LookupError, TypeError, AttributeError, yaml.YAMLError):
            OWN.first, path = None, OWN.first
            raise ConfigurationError(
                f"--config-name must name a yaml file with a list of defaults, got {path}"
            ) from None
    return rest


def config_directory() -> Path:
    """Return the directory ``conf/``: in the installed package, or beside it in a checkout."""
    package = Path(__file__).parents[1]
    found = [path for path in (package / "conf", package.parent / "conf") if path.is_dir()]
    refuse((not found, f"adept must be installed in a directory with its files, got {package}: install it"))
    return found[0]


def write_out(command: str, arguments: list[str]) -> list[str]:
    """Return arguments as NAME=VALUE: FILE becomes ``statement=FILE``, and ++epsilon=8 epsilon=8."""
    first = arguments[0] if command in BARE_WORDS and arguments else "-"
    name, equals, _ = first.partition("=")
    is_option = equals and (not Path(first).exists() or name in (option.name for option in options(command)))
    if not is_option and not first.startswith("-"):
        arguments = [f"{BARE_WORDS[command]}={first}", *arguments[1:]]
    plain = [re.sub(r"^\+{1,2}(?=\w)", "", argument) for argument in arguments]
    if command == "audit":  # Hydra would look for a file of that name in conf/mechanism
        return [re.sub(r"^mechanism(?==.*:)", "foreign", argument) for argument in plain]
    return plain


def is_foreign(command: str, name: str, value: str) -> bool:
    """Return True for ``mechanism=MODULE:ATTRIBUTE``, which only the user's own command line may give."""
    return name == "mechanism" and ":" in value and command in OWN_MECHANISM


def check_options(command: str, arguments: list[str]) -> None:
    """Raise ConfigurationError for an unknown option or value; the message names a similar one.

    *Claim*: each argument NAME=VALUE that passes sets one option that ``options`` lists or a field
    of the mechanism, and no two arguments set the same one. So no argument is dropped in silence.
    *Proof*: a NAME is either listed or begins with ``mechanism.``, and Hydra refuses a key that the
    mechanism's dataclass lacks as long as no sign precedes it; ``write_out`` removed all signs.
    Repeated names, deletions and whole dataclasses, which hold several options, are refused. QED.
    """
    known = [option.name for option in options(command)]
    arguments = [argument for argument in arguments if argument not in PRINTING or not set(PRINTING) <= set(arguments)]
    given = [argument.partition("=")[0] for argument in arguments]
    in_help = f"adept {command} --help lists all options, and --cfg job prints their values"
    for argument in arguments:
        name, equals, value = argument.partition("=")
        inside = next((option for option in known if option.startswith(f"{name}.") and name not in known), None)
        refuse(
            (argument.startswith("~"), f"no option can be deleted, got {argument}: leave it out, or give it a value"),
            (name in ("-cp", "--config-path"), f"{command} has no flag {name}: --config-dir DIR reads your own files"),
            (name == PRINTING[0], "--cfg must be followed by job, got something else: --cfg job prints all options"),
            (name in ("-r", "--run"), f"{command} has no flag {name}: leave it out, as a command runs once"),
            (argument.startswith("-"), f"{command} has no flag {argument}: {_as_option(argument, known) or in_help}"),
            (not equals, f"an option is written NAME=VALUE, got {argument}: adept {command} --help lists them"),
            (gone := removal(name), str(gone)),
            (given.count(name) > 1, f"{name} must be given once, got it {given.count(name)} times: leave others out"),
            (inside, f"{name} must be set by its options, got {argument}: write {inside}=..."),
        )
        refuse_interpolation(name, value, known)
        group, dot, rest = name.partition(".")
        is_inside = dot and rest and group in known and group in ("mechanism", *OPEN_GROUPS)  # checked when it is read
        if name not in known and not is_inside:
            near = [option for option in known if group != "figure" or option.startswith("figure.")]
            if command in SWEEPING:
                near.append("sweep_dir")  # of -m
            meant = _meant(name, near) or f": adept {command} --help lists its options"
            raise ConfigurationError(f"{command} has no option {name}{meant}")
        given_group = name in groups(command) and (value != "null" or groups(command)[name] is not None)
        if given_group and not is_foreign(command, name, value):
            choices = names(name, command)
            several = name in SEVERAL and value.startswith("[") and value.endswith("]")
            chosen = [item.strip() for item in value[1:-1].split(",") if value != "[]"] if several else [value]
            if (wrong := next((item for item in chosen if item not in choices), None)) is not None:
                meant = _elsewhere(name, wrong) or _own_mechanism(command, name, wrong) or _meant(wrong, choices)
                raise ConfigurationError(f"{name} must be one of {', '.join(choices)}, got {wrong or 'nothing'}{meant}")
    own = [name for name in given if name.startswith("mechanism.")]
    for one, others in {"epsilon": {"mechanism.epsilon"}, "foreign": {"mechanism", *own}}.items():
        if one in given and (both := others.intersection(given)):
            raise ConfigurationError(f"{one} must be given once, got {one} and {min(both)}: leave one out")


def split(text: str) -> list[str]:
    """Split a text at the commas that stand outside quotes and brackets."""
    items, depth = [""], 0
    for token in TOKEN.findall(text):
        depth += (token in "[({") - (token in "])}")
        if token == "," and depth <= 0:
            items.append("")
        else:
            items[-1] += token
    return items


def refuse_interpolation(name: str, value: str, known: Iterable[str]) -> None:
    """Raise ConfigurationError for ``${NAME}`` of an option, or of one of Hydra's resolvers, outside quotes."""
    named = re.findall(r"\$\{([\w.]+)(:?)", re.sub(r"'[^']*'|\"[^\"]*\"", "", value))
    refuse(
        (
            any(colon or option in known for option, colon in named),
            f"{name} must be written out, got {value}: there are no interpolations; quotes inside the value keep it as it is",
        )
    )


def _elsewhere(group: str, value: str) -> str:
    """Return the words that name the command of an experiment; none for another group or value."""
    path = config_directory() / group / f"{value}.yaml"
    if group != "experiment" or not re.fullmatch(r"\w+", value) or not path.is_file():
        return ""
    users = re.findall(r"^# adept (\w+) ", path.read_text("utf-8"), re.MULTILINE)
    return f": it belongs to adept {users[0]}, so write adept {users[0]} experiment={value}"


def _own_mechanism(command: str, group: str, value: str) -> str:
    """Return the words that write MODULE.ATTRIBUTE with a colon; none for another group or value."""
    module, _, attribute = value.rpartition(".")
    takes_own = group == "mechanism" and command in (*OWN_MECHANISM, "audit")
    is_path = f"{module}.{attribute}".replace(".", "_").isidentifier() and module and attribute
    return f": did you mean {module}:{attribute}?" if takes_own and is_path else ""


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the name in ``known`` that ends in almost the same word as ``name``, or that is meant by it, or None."""
    words = {other: other.rpartition(".")[2] for other in known}
    if (meant := ELSEWHERE.get(name, ELSEWHERE.get(name.rpartition(".")[2], ""))).partition("=")[0] in words:
        return meant
    name = name.lower()
    near = get_close_matches(name.rpartition(".")[2], words.values(), n=1, cutoff=0.75)
    return next(iter(get_close_matches(name, [other for other in words if words[other] in near], n=1, cutoff=0)), None)


def _as_option(flag: str, known: Iterable[str]) -> str:
    name, equals, value = flag.lstrip("-").partition("=")
    near = nearest(name.replace("-", "_"), known)
    return f"write {near}={value if equals else '...'}" if near else ""


def _meant(name: str, known: Iterable[str]) -> str:
    return f": did you mean {near}?" if (near := nearest(name, known)) else ""


def help_text(command: str, sentence: str, arguments: list[str]) -> str:
    """Return a command's help with the values of ``arguments``; ``mechanism=NAME`` adds this mechanism's options."""
    chosen = [argument.partition("=")[2] for argument in arguments if argument.startswith("mechanism=")]
    listed = [*options(command), *(option for name in chosen for option in mechanism_options(name))]
    if command in SWEEPING:
        listed += options_of(config.SweepOptions, heading=_summary(config.SweepOptions))
    plain = [argument for argument in arguments if re.fullmatch(r"[\w.]+=(?!null$)[\w./:~-]+", argument)]
    given = dict(argument.split("=") for argument in plain)
    listed = [replace(option, default=given.get(option.name, option.default)) for option in listed]
    width = max(72, min(120, shutil.get_terminal_size((100, 24)).columns))
    usage = re.findall(r"^# (adept .+)$", (config_directory() / f"{command}.yaml").read_text("utf-8"), re.MULTILINE)
    parts = [f"adept {command}: {sentence}", "\n".join(f"  {line}" for line in usage), NOTE.format(command=command)]
    first = [{option.heading for option in listed if option.default == REQUIRED}, {"Budget and mechanism", "Budget"}]
    ordered = sorted(listed, key=lambda option: ("." in option.name, *(option.heading not in some for some in first)))
    for heading in dict.fromkeys(option.heading for option in ordered):
        entries = [_entry(option, width) for option in listed if option.heading == heading]
        parts.append("\n".join([heading, *entries] if heading else entries))
    return "\n\n".join(parts) + "\n"


def _entry(option: Option, width: int) -> str:
    star = "*" if option.default == REQUIRED else " "
    kind = without_none(option.kind)
    in_list = get_args(kind) if get_origin(kind) is list else ()
    place = f"[{PLACEHOLDERS[in_list[0]]},...]" if in_list else PLACEHOLDERS.get(kind, "VALUE")
    name = f"{star} {option.name}={place if option.default in (None, REQUIRED) else typed_as(option.default)}"
    lines = textwrap.wrap(option.sentence, width - INDENT, break_long_words=False)
    if len(name) < INDENT:
        name, lines = f"{name:<{INDENT}}{lines[0] if lines else ''}", lines[1:]
    return "\n".join([name, *(" " * INDENT + line for line in lines)])


def without_none(kind: Any) -> Any:
    """Return the annotation T of an annotation T | None; any other one as it is."""
    return next((one for one in get_args(kind) if one is not NoneType), kind) if NoneType in get_args(kind) else kind
