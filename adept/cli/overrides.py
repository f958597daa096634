"""The conversion of a command's arguments NAME=VALUE into its configuration.

*Claim*: a name of a file, a column or a label reaches its option exactly as it was typed, apart from four short
forms: quotes around a value or an item are removed, ``~/`` and ``~user/`` at the beginning of a file's name are home
directories, the spaces around an item are no part of it, and ``null`` is no value where that is allowed. *Proof*:
Hydra composes the files in ``conf/``, and gets nothing of a user but names of such files, which ``check_options`` has
found there. ``read_value`` alone reads all other values, and changes a text in these four cases only. QED.
"""

import os
import re
import sys
import warnings
from dataclasses import fields, is_dataclass
from functools import cache, reduce
from pathlib import Path
from types import NoneType
from typing import Any, get_args, get_origin, get_type_hints

import hydra
import yaml
from hydra.core.config_store import ConfigStore
from hydra.errors import HydraException
from omegaconf import MISSING, OmegaConf, open_dict
from omegaconf.errors import OmegaConfBaseException

from adept.cli.console import show_lines, warn
from adept.cli.help import (
    FROM_ELSEWHERE,
    OPEN_GROUPS,
    OWN,
    PRINTING,
    config_directory,
    configuration,
    groups,
    is_foreign,
    nearest,
    options_of,
    split,
    without_none,
)
from adept.cli.process import interrupt_on_signals
from adept.data.corpus import FROM_FILE
from adept.data.formats import ADDRESS
from adept.data.texts import say_once
from adept.errors import ConfigurationError, check_integer, flatten, printable, refuse, typed_as
from adept.mechanisms import BY_NAME
from adept.mechanisms.base import MechanismChoice
from adept.models.config import TrainerConfig

# Options that name files or directories: a leading ~/ or ~user/ is a home directory, as in a shell
FILES = {
    "input", "output", "statement", "expect", "schema", "key", "ledger", "approve", "label_descriptions", "examples", "train",
    "test", "reference", "resume_from", "data.path", "data.broad", "model_dir", "output_dir", "runs", "environments",
}  # fmt: skip
SAVED = "# adept train --config-dir RUN --config-name config"  # the beginning of a saved configuration
NUMBERS = {float: ("a number", "0.5"), int: ("a whole number", "8"), bool: ("true or false", "true")}  # for messages
SAMPLES = {"figure.width": "3.4"}  # of options without a usual number, where those above are out of range
BOOLEANS = dict.fromkeys(("true", "yes", "y", "on", "1"), True) | dict.fromkeys(("false", "no", "n", "off", "0"), False)
DECIMAL_COMMA = re.compile(r"[+-]?\d+,\d+")
QUOTED = r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\""""
QUOTED_STRING = re.compile(QUOTED, re.DOTALL)
ITEM = re.compile(rf"\s*(?:({QUOTED})\s*|([^,]*)),", re.DOTALL)  # of a list, and the comma that ends it


def compose(command: str, arguments: list[str]) -> Any:
    """Return a command's configuration, or print it for ``--cfg job`` and return None."""
    interrupt_on_signals()
    overrides = [argument for argument in arguments if argument not in PRINTING]
    sys.argv = [f"adept {command}", *overrides]
    if PRINTING[0] not in arguments:
        return configure(command, overrides)
    values, kind = read_values(command, overrides)
    printed = yaml.safe_dump(values, sort_keys=False, allow_unicode=True)
    show_lines([*([f"# mechanism={kind.name}"] if kind else []), *printed.removesuffix("\n").split("\n")])
    return None


def configure(command: str, arguments: list[str]) -> Any:
    """Return a command's configuration; raise ConfigurationError for a value that does not fit."""
    values, kind = read_values(command, arguments)
    given = {argument.partition("=")[0] for argument in arguments} - groups(command).keys()
    missing = (name for name, value in values.items() if value == MISSING and name not in given)
    refuse(*((True, f"{name} must be given, got nothing: add {name}=...") for name in missing))
    held = flatten(values)
    seeds = {name: one for name, one in held.items() if re.search(r"\bseeds?$", name) and one is not None}
    for name, one in ((name, one) for name, of in seeds.items() for one in (of if isinstance(of, list) else [of])):
        check_integer(0, 2**32 - 1, **{name: one})
    if kind is not None:
        own = values["mechanism"]
        own = {name: value for name, value in own.items() if name not in FROM_ELSEWHERE or value != MISSING}
        values["mechanism"] = MechanismChoice(kind, own.pop("epsilon", None), own.pop("clip_norm", None), own)
    config = _build(configuration(command), values)
    if hasattr(config, "overridden"):
        usual = {option.name: option.default for option in options_of(configuration(command))}
        for name, said in config.overridden().items():
            refuse((name in given, said))
            if held.get(name) not in (usual.get(name), MISSING) and name != "data.hub":  # which data=atis sets
                say_once(f"note: {said}")
    return config


def read_values(command: str, arguments: list[str]) -> tuple[dict[str, Any], Any]:
    """Return all values of a command's configuration, and the class of its mechanism or None.

    A value that must be given, and is not, is MISSING.
    """
    given = dict(argument.split("=", 1) for argument in arguments)
    register(command)
    # [] is Hydra's word for no file of the group
    chosen = [re.sub("=null$", "=[]", f"{name}={given.pop(name)}") for name in groups(command) if name in given]
    foreign = next((choice.partition("=")[2] for choice in chosen if is_foreign(command, *choice.split("=", 1))), None)
    chosen = [choice for choice in chosen if foreign is None or choice != f"mechanism={foreign}"]
    composed = _compose_own(chosen, command) if OWN.directory else _compose_ours(command, *chosen)
    values: Any = OmegaConf.to_container(composed)
    _refuse_texts(values, configuration(command))
    kind = OmegaConf.get_type(composed, "mechanism") if isinstance(values.get("mechanism"), dict) else None
    if foreign:
        from adept.rewriting.unproved import import_kind  # slow to import, and rarely needed

        kind, values["mechanism"] = import_kind(foreign), {}
    own = {one.name: one.kind for one in (options_of(kind, prefix="mechanism.") if kind else ()) if one.kind is not Any}
    hints = {option.name: option.kind for option in options_of(configuration(command))} | own
    for name, text in given.items():
        group, *inside = name.split(".")
        if name not in hints and group in OPEN_GROUPS:
            _set_part(values, group, inside, text)
            continue
        refuse(
            (
                name not in hints and kind,
                f"{kind and kind.name} has no option {name}: its options are {', '.join(own)}",
            ),
            (name not in hints, f"mechanism must be given with {name}, got none: add mechanism=NAME"),
        )
        *path, last = name.split(".")
        place = reduce(dict.__getitem__, path, values)
        place[last] = read_value(name, hints[name], text, usual=place[last])
    _move_trainer_options(values)
    return values, kind


def _compose(directory: Path, name: str, chosen: list[str], **options: bool) -> Any:
    with (
        warnings.catch_warnings(action="ignore", category=UserWarning),
        hydra.initialize_config_dir(str(directory), version_base="1.3"),
    ):
        return hydra.compose(name, chosen, **options)


# Each run of a sweep asks again, and nothing changes what is returned
_compose_ours = cache(lambda command, *chosen: _compose(config_directory(), command, [*chosen]))


def _compose_own(chosen: list[str], command: str) -> Any:
    """Compose with the user's own yaml files, whose mistakes are the user's to mend."""
    ours, own = config_directory(), OWN.directory
    first, second, name = (own, ours, OWN.first.stem) if OWN.first else (ours, own, command)
    try:
        more = ["hydra.searchpath=['file://{}']".format(str(second).replace("'", r"\'"))]
        composed = _compose(first or ours, name, [*chosen, *more], return_hydra_config=True)
        with open_dict(composed):
            choices = composed.pop("hydra").runtime.choices
        for path in filter(None, (OWN.first, *(own / group / f"{file}.yaml" for group, file in choices.items()))):
            if path.is_file() and "hydra" in (yaml.safe_load(path.read_text("utf-8")) or ""):
                raise ValueError(f"in {path.name}, hydra has no effect: leave it out, and give output_dir or sweep_dir")
    except (HydraException, OmegaConfBaseException, yaml.YAMLError, ValueError, TypeError, LookupError) as error:
        raise ConfigurationError(f"a yaml file in {own} does not fit: {printable(_reason(error, command))}") from None
    code = "must not name MODULE:ATTRIBUTE in a yaml file"  # code that the user did not name must not run
    refuse(
        (
            OmegaConf.get_type(composed) is not configuration(command),
            f"a yaml file in {own} does not fit: the defaults of {name}.yaml must begin with {command}",
        ),
        (
            composed.get("mechanism") is not None and OmegaConf.get_type(composed, "mechanism") not in BY_NAME.values(),
            f"mechanism must stand in the defaults of a yaml file in {own}: - override /mechanism: l1, or - l1 in "
            "mechanism/NAME.yaml",
        ),
        *(
            (":" in str(composed.get(name)), f"{name} {code} in {own}: give it on the command line")
            for name in ("foreign", "mechanisms")
        ),
    )
    if OWN.first:
        _note_new_options(command, OWN.first)
    return composed


def _reason(error: Exception, command: str) -> str:
    """Return in our words why Hydra or OmegaConf cannot compose the user's own files."""
    text = " ".join(str(error).split())
    place = re.match(r"(In '[^']*': )?", text)[0]  # type: ignore[index]  # it also matches the empty text
    if "not a subclass of" in text or "schema_" in text:
        return f"{place}begin its defaults with {command}, and name mechanism, data and other groups there"
    if re.search(r"full_key: experiment\b|@experiment\.", text):  # Hydra put the file below the group's name
        return f"{place}begin an experiment with the line # @package _global_"
    if not (key := re.search(r"full_key: ([\w.]+)(?!\S)", text)):
        return re.sub(r" Config search path.*|\w+ raised while composing config: ", "", text)
    if " not in " not in text:
        return f"{place}{key[1]} has a value of another type"
    parent = key[1].rpartition(".")[0]
    names = [one.name for one in options_of(configuration(command)) if one.name.rpartition(".")[0] == parent]
    near = nearest(key[1], names)
    return f"{place}there is no option {key[1]}" + (f": did you mean {near}?" if near else "")


def _note_new_options(command: str, path: Path) -> None:
    """Name the options that a saved configuration lacks, because a later version of adept added them."""
    text, held = path.read_text("utf-8"), flatten(yaml.safe_load(path.read_text("utf-8")))
    names = [option.name for option in options_of(configuration(command))]
    saved = {"output_dir", "resume_from", "mechanism", *held}
    if text.startswith(SAVED) and (missing := [name for name in names if name not in saved]):
        warn(f"note: {path.name} does not set {', '.join(missing)}: this version uses the default")


def _refuse_texts(values: dict[str, Any], schema: type[Any]) -> None:
    """Raise ConfigurationError for what a yaml file takes from elsewhere, as with ${oc.env:SEED}, or writes as text."""
    known = {option.name: option for option in options_of(schema)}
    for name, value in flatten(values).items():
        kind = without_none(known[name].kind) if name in known else Any
        if kind in NUMBERS and isinstance(value, str) and value != MISSING:
            _read_one(name, kind, value, known[name].default)
        if "${" in str(value) and name not in FILES - {"output_dir"}:  # no such file would be found
            raise ConfigurationError(f"{name} must be written out, got {printable(value)}: there are no interpolations")


def _set_part(values: dict[str, Any], group: str, inside: list[str], text: str) -> None:
    """Set an option of a part of Lightning, such as ``logger.wandb.offline``."""
    refuse(
        (
            len(inside) != (1 if group == "trainer" else 2) or not all(inside),
            f"an option of {group} is written {group}.NAME.OPTION, got {'.'.join([group, *inside])}",
        )
    )
    place = values[group]
    for name in inside[:-1]:
        if not isinstance(place.setdefault(name, {}), dict):
            place[name] = {}
        place = place[name]
    place[inside[-1]] = read_scalar(".".join([group, *inside]), text)


class _Loader(yaml.SafeLoader):
    """A loader that reads 1e-3 as a number, as in the yaml files, where OmegaConf does; yaml alone asks for 1.0e-3."""


_Loader.add_implicit_resolver("tag:yaml.org,2002:float", re.compile(r"[+-]?(\d+\.?\d*|\.\d+)[eE][+-]?\d+$"), None)


def read_scalar(name: str, text: str) -> Any:
    """Return the number, truth value, null, list or text for which a text stands, as in yaml; a text may be quoted."""
    if len(items := split(text)) > 1:
        raise ConfigurationError(f"{name} must be one value, got {len(items)} ({printable(text)}): quote a comma")
    try:
        value = _Loader(text).get_single_data()
    except (yaml.YAMLError, ValueError):
        return text
    return value if isinstance(value, bool | int | float | list | NoneType) or text[0] in "\"'" else text


def _move_trainer_options(values: dict[str, Any]) -> None:
    """Move options of Lightning's own Trainer to ``lightning``, and check their names."""
    if "lightning" not in values:
        return
    refuse((values["lightning"], "lightning must be left out of a yaml file: write its options below trainer"))
    known = {field.name for field in fields(TrainerConfig)}
    values["lightning"] = {name: value for name, value in values["trainer"].items() if name not in known}
    values["trainer"] = {name: value for name, value in values["trainer"].items() if name in known}
    if values["lightning"]:
        from adept.cli.lightning_parts import check_trainer  # imports Lightning

        check_trainer(values["lightning"])


@cache
def register(command: str) -> None:
    """Register with Hydra, once, the dataclasses of a command and of all mechanisms.

    The fields ``epsilon`` and ``clip_norm`` of a mechanism stay unset.
    """
    schema = OmegaConf.structured(configuration(command))
    if "lightning" in schema:  # then trainer takes all options that Lightning's Trainer has
        OmegaConf.set_struct(schema.trainer, False)
    ConfigStore.instance().store(name=f"schema_{command}", node=schema)
    for name, kind in BY_NAME.items():
        node = OmegaConf.structured(kind)
        OmegaConf.set_readonly(node, None)
        node.update(dict.fromkeys(FROM_ELSEWHERE & node.keys(), MISSING))
        ConfigStore.instance().store(group="dataclass/mechanism", name=name, node=node)


def _build(schema: Any, values: dict[str, Any]) -> Any:
    hints = get_type_hints(schema)
    inner = {name: _build(hints[name], value) for name, value in values.items() if is_dataclass(hints[name])}
    return schema(**values | inner)


def read_value(name: str, hint: Any, text: str, *, usual: Any = None) -> Any:
    """Return the value that a text stands for, of the kind with which the option is annotated.

    A message proposes the option's ``usual`` value or, if that is no number, one of ``SAMPLES``. Where a
    list of texts is expected, ``@FILE`` becomes a list whose only item is "@FILE"; the command reads the file later.
    """
    kind, trimmed = without_none(hint), text.strip()
    if text.lower() == "null" and (kind is not hint or (hint is Any and name not in FILES)):
        return None
    in_brackets = len(trimmed) > 1 and trimmed.startswith("[") and trimmed.endswith("]")
    if kind is Any:  # one value or a list
        kind = str if name in FILES else float
        kind = list[kind] if in_brackets else kind  # type: ignore[valid-type]
    # As of a shell's variable that is not set
    refuse((kind is str and not trimmed, f"{name} must be given, got nothing: add {name}=..., or leave it out"))
    if get_origin(kind) is not list:
        return _read_one(name, kind, text, usual)
    [kind] = get_args(kind)
    if kind is str and text.startswith(FROM_FILE):
        return [text]
    if not in_brackets:
        if kind is float and DECIMAL_COMMA.fullmatch(text):
            _read_one(name, kind, text, usual)
        raise ConfigurationError(f"{name} must be a list: write {name}=[...], with commas between")
    body = trimmed[1:-1]
    items = [quoted or plain.strip() for quoted, plain in ITEM.findall(f"{body},")] if body.strip() else []
    return [_read_one(name, kind, item, usual) for item in items]


def _read_one(name: str, kind: Any, text: str, usual: Any) -> Any:
    value = text
    if QUOTED_STRING.fullmatch(text):  # a backslash in it counts only before a quote, and before those
        value = re.sub(rf"(\\+)({text[0]}|\Z)", lambda found: found[1][: len(found[1]) // 2] + found[2], text[1:-1])
    elif name in FILES:
        value = os.path.expanduser(text)  # noqa: PTH111 - Path raises without a home
        refuse(
            (
                ADDRESS.match(value),  # a path of that name would be a directory "s3:" here
                f"{name} must be a path on this machine, got the address {printable(value)}: copy the file",
            )
        )
    try:
        return BOOLEANS[value.lower()] if kind is bool else kind(value)
    except (KeyError, ValueError):
        raise ConfigurationError(_advice(name, kind, printable(value), usual)) from None


def _advice(name: str, kind: Any, value: str, usual: Any) -> str:
    if kind is float and DECIMAL_COMMA.fullmatch(value):
        return (
            f"{name} must have a decimal point, got {value}: write {value.replace(',', '.')}; a list is written [A,B]"
        )
    if "," in value:
        return f"{name} must be one value, got {len(value.split(','))} ({value}): give one of them"
    expected, sample = NUMBERS[kind]
    sample = typed_as(usual) if kind is not bool and isinstance(usual, int | float) else SAMPLES.get(name, sample)
    return f"{name} must be {expected}, got {value or 'nothing'}: write {name}={sample}, for example"
