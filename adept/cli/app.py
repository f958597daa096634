"""Hydra at one place: the schemas that the modules own, and the way from a command line to a typed configuration.

Every command's configuration is a dataclass, registered here as a Hydra schema; YAML in ``conf/`` says only what differs.
"""

import os
import signal
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

# Hydra prints errors of its own making unless told to raise them; ours are one line each.
os.environ.setdefault("HYDRA_FULL_ERROR", "1")

import hydra
from hydra.core.config_store import ConfigStore
from hydra.errors import HydraException
from omegaconf import MISSING, DictConfig, OmegaConf
from omegaconf.errors import MissingMandatoryValue, OmegaConfBaseException

from adept.errors import AdeptError, ConfigurationError
from adept.mechanisms import BY_NAME
from adept.mechanisms.choice import MechanismChoice

USER_ERROR, INTERNAL_ERROR, INTERRUPTED = 2, 70, 130

Config = TypeVar("Config")


def register_mechanisms() -> None:
    """Make each mechanism's dataclass a schema; budget and radius are left open, since they come from elsewhere unless set."""
    for name, kind in BY_NAME.items():
        node = OmegaConf.structured(kind)
        OmegaConf.set_readonly(node, None)
        node.epsilon = node.clip_norm = MISSING
        ConfigStore.instance().store(group="schema/mechanism", name=name, node=node)


def config_directory() -> Path:
    """Return ``conf/``: inside the package as installed from a wheel, or in the checkout's root."""
    package = Path(__file__).parents[1]
    return next(path for path in (package / "conf", package.parent / "conf") if path.is_dir())


def execute(
    command: str,
    schema: type[Config],
    run: Callable[[Config], Any],
    *,
    status: Callable[[Any], int] = lambda result: 0,
) -> int:
    """Compose a command's configuration from ``sys.argv``, run it, and return the exit status.

    Args:
        command: the name of the command and of its YAML file.
        schema: its configuration dataclass.
        run: the command itself; what it raises becomes one line on stderr.
        status: the exit status for a result.
    """
    register_mechanisms()
    ConfigStore.instance().store(name=f"schema_{command}", node=schema)
    statuses = []

    def task(config: DictConfig) -> None:
        statuses.append(_guarded(lambda: status(run(typed(config, schema)))))

    def compose_and_run() -> int:
        hydra.main(version_base="1.3", config_path=str(config_directory()), config_name=command)(task)()
        return max(statuses, default=0)

    sys.argv[0] = f"adept {command}"
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # clean up as for an interrupt from the keyboard
    return _guarded(compose_and_run)


def _guarded(action: Callable[[], int]) -> int:
    """Return an action's exit status; what it raises becomes one line on stderr and the status for its kind."""
    try:
        return action()
    except AdeptError as error:
        return _report(str(error), USER_ERROR)
    except MissingMandatoryValue as error:
        return _report(f"{error.full_key} must be given, got nothing: add {error.full_key}=...", USER_ERROR)
    except (HydraException, OmegaConfBaseException) as error:
        message = str(error.__cause__ or error).split("\nConfig search path")[0]
        return _report(f"{message}: see --help for the overrides", USER_ERROR)
    except KeyboardInterrupt:
        return _report("interrupted", INTERRUPTED)
    except Exception as error:  # noqa: BLE001 - whatever is left is our bug; its message may quote a record, so it is not shown
        advice = "please report it, with what ADEPT_TRACEBACK=1 shows"
        return _report(f"internal error ({type(error).__name__}): {advice}", INTERNAL_ERROR)


def typed(config: DictConfig, schema: type[Config]) -> Config:
    """Return the composed configuration as an instance of its dataclass, the mechanism as a :class:`MechanismChoice`."""
    OmegaConf.set_struct(config, False)
    mechanism = config.pop("mechanism", None)
    result = OmegaConf.to_object(config)
    if not isinstance(result, schema):
        raise ConfigurationError(f"configuration must be a {schema.__name__}, got {type(result).__name__}")
    if mechanism is not None:
        given = {str(key): mechanism[key] for key in mechanism if not OmegaConf.is_missing(mechanism, key)}
        kind: Any = OmegaConf.get_type(mechanism)
        budget, radius = given.pop("epsilon", None), given.pop("clip_norm", None)
        result.mechanism = MechanismChoice(kind, budget, radius, given)  # type: ignore[attr-defined]
    return result


def _report(message: str, status: int) -> int:
    if os.environ.get("ADEPT_TRACEBACK"):
        traceback.print_exc()
    sys.stderr.write(f"adept: {' '.join(message.split())}\n")
    return status
