"""The conversion of a command's arguments NAME=VALUE into its configuration, with Hydra."""

import re
import sys
from collections.abc import Iterator
from dataclasses import is_dataclass
from pathlib import Path
from types import UnionType
from typing import Any, get_args, get_type_hints

import hydra
from hydra.core.config_store import ConfigStore
from hydra.core.override_parser.types import Quote, QuotedString
from hydra.errors import HydraException
from omegaconf import MISSING, DictConfig, OmegaConf
from omegaconf.errors import MissingMandatoryValue, OmegaConfBaseException

from adept.cli.exit_status_and_signals import interrupt_on_signals, show_lines
from adept.cli.help import PRINTING, config_directory, configuration
from adept.data.labels import FROM_FILE
from adept.errors import ConfigurationError
from adept.mechanisms import BY_NAME
from adept.mechanisms.base import MechanismChoice
from adept.removed import removal

KINDS_IN_WORDS = {"Float": "a number", "Integer": "a whole number", "valid bool": "true or false"}
SAMPLE_VALUES = {"Float": "0.5", "Integer": "8", "valid bool": "true"}  # for messages
DECIMAL_COMMA = re.compile(r"[+-]?\d+,\d+")
QUOTED_STRING = re.compile(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\"""", re.DOTALL)  # what Hydra takes for one string


def register_mechanisms() -> None:
    """Register each mechanism's dataclass with Hydra; ``epsilon`` and ``clip_norm`` stay unset."""
    for name, kind in BY_NAME.items():
        node = OmegaConf.structured(kind)
        OmegaConf.set_readonly(node, None)
        for left_open in {"epsilon", "clip_norm"} & node.keys():
            node[left_open] = MISSING
        ConfigStore.instance().store(group="dataclass/mechanism", name=name, node=node)


def compose(command: str, arguments: list[str]) -> Any:
    """Return a command's configuration, or print it for ``--cfg job`` and return None."""
    interrupt_on_signals()
    schema = configuration(command)
    register_mechanisms()
    ConfigStore.instance().store(name=f"schema_{command}", node=schema)
    overrides = literal_overrides([argument for argument in arguments if argument not in PRINTING], schema)
    sys.argv = [f"adept {command}", *overrides]
    try:
        with hydra.initialize_config_dir(str(config_directory()), version_base="1.3"):
            config = hydra.compose(command, overrides)
        if PRINTING[0] not in arguments:
            return instantiate(config)
        show_lines(OmegaConf.to_yaml(config).removesuffix("\n").split("\n"))
        return None
    except MissingMandatoryValue as error:
        reason = f"{error.full_key} must be given, got nothing: add {error.full_key}=..."
    except (HydraException, OmegaConfBaseException) as error:
        reason = _plain(" ".join(str(error.__cause__ or error).split()))
    raise ConfigurationError(reason)


def _plain(message: str) -> str:
    """Reword Hydra's most frequent error messages in the style of adept's messages."""
    if several := re.search(r"Ambiguous value for argument '(\S+?)=(.*?)' ", message):
        name, value = several.groups()
        if DECIMAL_COMMA.fullmatch(value):
            return f"{name} must have a decimal point, got {value}: write {value.replace(',', '.')}; a list is written [A,B]"
        return f"{name} must be one value, got {value}: a list is written [A,B]"
    if misspelt := re.search(r"Key '.+?' not in '.+?' full_key: (\S+)", message):
        if line := removal(misspelt[1]):
            return line
        return f"this command has no option {misspelt[1]}: --help lists the options"
    if other := re.search(r"Value '(.*?)'.* not .*?(Float|Integer|valid bool)\b.*? full_key: (\S+)", message):
        value, kind, name = other.groups()
        advice = f"{value.replace(',', '.')}, with a decimal point" if DECIMAL_COMMA.fullmatch(value) else ""
        advice = advice or f"{name}={SAMPLE_VALUES[kind]}, for example"
        return f"{name} must be {KINDS_IN_WORDS[kind]}, got {value or 'nothing'}: write {advice}"
    if single := re.search(r"is not a ListConfig, list or tuple\. full_key: (\S+)", message):
        return f"{single[1]} must be a list: write {single[1]}=[...], with commas between"
    return f"{message.split(' Config search path')[0].split(' See https')[0]}: --help lists the options"


def literal_overrides(arguments: list[str], schema: type[Any]) -> list[str]:
    """Return the arguments, with the values of text options quoted for Hydra.

    If an option takes a list, ``@FILE`` becomes a list whose only item is the text "@FILE"; the
    command reads the file later. In other text options, a leading ``~/`` becomes the home
    directory.
    """
    kinds = dict(_text_fields(schema))
    return [_literal(argument, kinds) for argument in arguments]


def _literal(argument: str, kinds: dict[str, bool]) -> str:
    name, equals, value = argument.partition("=")
    is_list = kinds.get(name.lstrip("+"))
    if is_list is None or not equals or QUOTED_STRING.fullmatch(value) or value.lower() == "null":
        return argument
    if not is_list:
        at_home = str(Path("~").expanduser()) + value[1:] if value.startswith("~/") else value
        return f"{name}={_quoted(at_home)}"
    if value.startswith(FROM_FILE):
        return f"{name}=[{_quoted(value)}]"
    items = value.removeprefix("[").removesuffix("]")
    if len(items) != len(value) - 2 or not items.strip() or "'" in items or '"' in items:
        return argument
    return f"{name}=[{','.join(_quoted(item.strip()) for item in items.split(','))}]"


def _quoted(value: str) -> str:
    return QuotedString(text=value, quote=Quote.single).with_quotes()


def _text_fields(schema: type[Any], prefix: str = "") -> Iterator[tuple[str, bool]]:
    """Yield (name, is_list) for each option whose value is a text or a list of texts."""
    for name, hint in get_type_hints(schema).items():
        kinds = [kind for kind in get_args(hint) if kind is not type(None)] if isinstance(hint, UnionType) else [hint]
        if is_dataclass(hint):
            yield from _text_fields(hint, f"{prefix}{name}.")  # type: ignore[arg-type]
        elif kinds in ([str], [list[str]]):
            yield prefix + name, kinds != [str]


def instantiate(config: DictConfig) -> Any:
    """Turn Hydra's configuration into the command's dataclass, with a ``MechanismChoice`` in it."""
    OmegaConf.set_struct(config, False)
    mechanism = config.pop("mechanism", None)
    result: Any = OmegaConf.to_object(config)
    if mechanism is not None:
        given = {str(key): mechanism[key] for key in mechanism if not OmegaConf.is_missing(mechanism, key)}
        kind: Any = OmegaConf.get_type(mechanism)
        budget, radius = given.pop("epsilon", None), given.pop("clip_norm", None)
        result.mechanism = MechanismChoice(kind, budget, radius, given)
    return result
