"""The arguments of an audit: whatever a caller passes, an error is one line that says what is asked for."""

import math
from numbers import Integral, Real
from typing import Any

from adept.audit.subject.vector import SOURCES
from adept.errors import ConfigurationError

FEWEST_TRIALS = 100


def check_mechanism(mechanism: Any) -> None:
    """Raise ConfigurationError unless this is a mechanism: it claims an ``epsilon``, and can ``privatize``."""
    for name, least in (("epsilon", 0.0), ("delta", 0.0), ("clip_norm", 5e-324)):
        value = getattr(mechanism, name, None if name == "epsilon" else least)
        if isinstance(value, bool) or not isinstance(value, Real) or not float(value) >= least:
            raise ConfigurationError(f"{name} of the mechanism must be a number of at least {least:g}, got {value!r}")
    if not callable(getattr(mechanism, "privatize", None)):
        raise ConfigurationError(
            "privatize must be a method of the mechanism: a batch of records -> a release for each"
        )


def check_arguments(
    *,
    trials: object,
    confidence: object,
    dim: object = 1,
    source: object = SOURCES[0],
    time_limit: object = 1.0,
    seed: object = None,
) -> None:
    """Raise ConfigurationError unless every argument is of its kind and in its range."""
    check_whole("dim", dim, least=1)
    check_whole("trials", trials, least=FEWEST_TRIALS)
    if not (_number(confidence) and 0 < confidence < 1):  # type: ignore[operator]
        raise ConfigurationError(f"confidence must be a number between 0 and 1, got {confidence!r}")
    if source not in SOURCES:
        raise ConfigurationError(f"source must be one of {', '.join(SOURCES)}, got {source}")
    if not (_number(time_limit) and time_limit > 0):  # type: ignore[operator]
        raise ConfigurationError(f"time_limit must be a positive number of seconds, got {time_limit!r}")
    if seed is not None:
        check_whole("seed", seed, least=0)


def check_whole(name: str, value: object, *, least: int) -> None:
    """Raise ConfigurationError unless ``value`` is an integer of at least ``least``."""
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise ConfigurationError(f"{name} must be an integer, got {value!r}")
    if int(value) < least:
        raise ConfigurationError(f"{name} must be at least {least}, got {value}")


def _number(value: object) -> bool:
    return not isinstance(value, bool) and isinstance(value, Real) and math.isfinite(value)
