"""The kind of violation that a pair of records shows in its screening releases."""

import math
from collections.abc import Collection
from typing import Any

import numpy as np
from torch import Tensor

from adept.audit.distinguisher.input_pairs import InputPair, PairSample
from adept.audit.result import Kind
from adept.audit.subject.vector import JITTER


def kind_of(sample: PairSample, *, unit: float) -> Kind:
    """Return the kind of violation that distinguishes the two records of a pair.

    If a record is not finite, the kind is floating point. If outputs never vary, it is randomness.
    If each record has outputs of one type and length, and these differ between both, it is
    metadata. In all other cases it is distribution.
    """
    if not is_finite(sample.pair):
        return Kind.FLOATING_POINT
    if all(_never_varies(side, unit) for side in sample.releases):
        return Kind.RANDOMNESS
    if all(side.dtype == object for side in sample.releases):
        shapes = [{_shape(outcome) for outcome in side} for side in sample.releases]
        if all(len(each) == 1 for each in shapes) and shapes[0] != shapes[1]:
            return Kind.METADATA
    return Kind.DISTRIBUTION


def is_finite(pair: InputPair) -> bool:
    """Return True if neither record holds NaN or infinity."""
    return all(map(_finite, (pair.first, pair.second)))


def _finite(record: Any) -> bool:
    if isinstance(record, Tensor):
        return bool(record.isfinite().all())
    if isinstance(record, tuple):
        return all(map(_finite, record))
    return not isinstance(record, float) or math.isfinite(record)


def _never_varies(releases: Any, unit: float) -> bool:
    if releases.dtype == object:
        return all(outcome == releases[0] for outcome in releases)
    return bool((np.abs(releases - releases[0]) <= 2 * JITTER * unit).all())


def _shape(outcome: Any) -> tuple[type, int]:
    if isinstance(outcome, str):
        return str, len(outcome.split())
    return type(outcome), len(outcome) if isinstance(outcome, Collection) else 1
