"""The arguments of an audit: whatever a caller passes, an error is one line that says what is asked for."""

import math
from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any

import torch
from torch import Tensor

from adept.audit.distinguisher.experiment import FEWEST_TRIALS
from adept.audit.distinguisher.pairs import Pair
from adept.audit.target.vector import SOURCES
from adept.errors import ConfigurationError


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
    *, dim: object, trials: object, confidence: object, source: object, time_limit: object, seed: object
) -> None:
    """Raise ConfigurationError unless every argument is of its kind and in its range."""
    check_whole("dim", dim, least=1)
    check_whole("trials", trials, least=FEWEST_TRIALS)
    if not (_number(confidence) and 0 < confidence < 1):  # type: ignore[operator]
        raise ConfigurationError(f"confidence must be a number between 0 and 1, got {confidence!r}")
    if source not in SOURCES:
        raise ConfigurationError(f"source must be one of {', '.join(SOURCES)}, got {source!r}")
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


def given_pairs(pairs: Sequence[tuple[Any, Any]] | None, *, dim: int) -> list[Pair]:
    """Return the caller's pairs, numbered from 1.

    Raises:
        ConfigurationError: they are not pairs of latents (n,), or hold NaN or Inf (the auditor tries those by itself).
    """
    if pairs is not None and not isinstance(pairs, Sequence):
        raise ConfigurationError(f"pairs must be a list of pairs of latents, got a {type(pairs).__name__}")
    return [_given(number, pair, dim) for number, pair in enumerate(pairs or (), start=1)]


def _given(number: int, pair: Any, dim: int) -> Pair:
    try:
        first, second = (torch.as_tensor(latent).detach().to("cpu", torch.float64) for latent in pair)
    except (TypeError, ValueError, RuntimeError):
        raise ConfigurationError(
            f"pairs must each hold two latents of numbers, got something else in pair {number}"
        ) from None
    for latent in (first, second):
        if latent.shape != (dim,):
            raise ConfigurationError(
                f"pairs must hold latents of shape ({dim},), got {tuple(latent.shape)} in pair {number}"
            )
        _check_finite(latent, number)
    return Pair(name=f"given {number}", first=first, second=second, hard=True)


def _check_finite(latent: Tensor, number: int) -> None:
    if not latent.isfinite().all():
        raise ConfigurationError(f"pairs must be finite, got NaN or Inf in pair {number}")
