"""Figures of merit of predictions and of rewritten text, and how sure of them one can be."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Labels = NDArray[np.int64]


@dataclass(frozen=True)
class Interval:
    """A figure and the ends of its confidence interval."""

    value: float
    low: float
    high: float


def accuracy(truth: Labels, predicted: Labels) -> float:
    """Return the share of records whose predicted label is the true one."""
    return float((truth == predicted).mean())


def macro_f1(truth: Labels, predicted: Labels) -> float:
    """Return F1 averaged over the labels that occur in ``truth``; a label never predicted counts as 0."""
    size = int(max(truth.max(), predicted.max())) + 1
    hits = np.bincount(truth[truth == predicted], minlength=size)
    occurrences, predictions = np.bincount(truth, minlength=size), np.bincount(predicted, minlength=size)
    present = occurrences > 0
    return float((2 * hits[present] / (occurrences[present] + predictions[present])).mean())


def codes(*columns: Sequence[str]) -> tuple[Labels, ...]:
    """Return label columns as integers under one common numbering."""
    numbering = {label: code for code, label in enumerate(sorted(set().union(*columns)))}
    return tuple(np.array([numbering[label] for label in column], dtype=np.int64) for column in columns)


def bootstrap(
    metric: Callable[[Labels, Labels], float],
    truth: Labels,
    predicted: Labels,
    *,
    resamples: int = 1000,
    confidence: float = 0.95,
    seed: int = 0,
) -> Interval:
    """Return a metric with its percentile bootstrap interval over the test records (Efron 1979)."""
    rng = np.random.default_rng(seed)
    draws = (rng.integers(len(truth), size=len(truth)) for _ in range(resamples))
    values = [metric(truth[draw], predicted[draw]) for draw in draws]
    low, high = np.quantile(values, [(1 - confidence) / 2, (1 + confidence) / 2])
    return Interval(metric(truth, predicted), float(low), float(high))
