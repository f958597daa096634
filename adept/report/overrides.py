"""The commands that make a comparison: its configuration written back as overrides, whatever it was read from."""

import re
import shlex
from dataclasses import fields, is_dataclass
from typing import Any

from adept.comparison.audits import AUDIT_TRIALS, AuditVerdict
from adept.comparison.config import CompareConfig
from adept.data.corpus import DataConfig

DATA_GROUPS = ("air_travel", "atis", "snips", "files")  # conf/data
HUB = ("hub", "hub_text_column", "hub_label_column")
PLAIN = re.compile(r"[\w./@-]+")


def compare_command(config: CompareConfig) -> str:
    """Return the command that makes a comparison: every option that differs from its default."""
    plain = {f.name: getattr(config, f.name) for f in fields(config) if f.name != "data"}
    default = CompareConfig()
    options = [line for name, value in plain.items() for line in _overrides(name, value, getattr(default, name))]
    return shlex.join(["adept", "compare", *_data_overrides(config), *options])


def audit_command(audited: AuditVerdict, config: CompareConfig) -> str:
    """Return the command that audits a mechanism's claim in the same way."""
    options = {"mechanism": audited.mechanism, "epsilon": audited.epsilon, "dim": config.model.latent_dim}
    options |= {"mechanism.clip_norm": config.model.clip_norm, "trials": AUDIT_TRIALS}
    return shlex.join(["adept", "audit", *(f"{name}={_spelled(value)}" for name, value in options.items())])


def _data_overrides(config: CompareConfig) -> list[str]:
    """The data set by its group; the columns come from the comparison's own, and a path makes the hub unread."""
    data, default = config.data, DataConfig()
    group = data.name if data.name in DATA_GROUPS else "files"
    known = {"name": group, "public": None if group == "files" else True}  # a group's own values
    known |= {"text_column": config.text_column, "label_column": config.label_column} if group != "air_travel" else {}
    known |= {name: getattr(data, name) for name in HUB if data.path is not None}
    names = [f.name for f in fields(data)]
    changed = [name for name in names if getattr(data, name) != known.get(name, getattr(default, name))]
    return [f"data={group}", *(f"data.{name}={_spelled(getattr(data, name))}" for name in changed)]


def _overrides(name: str, value: Any, default: Any) -> list[str]:
    if is_dataclass(value):
        parts = [(f.name, getattr(value, f.name), getattr(default, f.name)) for f in fields(value)]
        return [line for part, new, old in parts for line in _overrides(f"{name}.{part}", new, old)]
    return [] if value == default else [f"{name}={_spelled(value)}"]


def _spelled(value: Any) -> str:
    """A value as Hydra reads it."""
    match value:
        case None | bool():
            return {None: "null", True: "true", False: "false"}[value]
        case list() | tuple():
            return f"[{','.join(map(_spelled, value))}]"
        case float():
            return f"{value:g}" if float(f"{value:g}") == value else repr(value)
        case str() if not PLAIN.fullmatch(value):
            return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
        case _:
            return str(value)
