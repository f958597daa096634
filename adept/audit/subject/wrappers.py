"""Wrappers of mechanisms, which declare a claim, make several reports or call a rewriter."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from adept.errors import ConfigurationError
from adept.ranges import check_choice

MECHANISM, CALLER = RANDOMNESS = ("mechanism", "caller")


class Wrapper:
    """A mechanism that contains another mechanism and passes on that mechanism's attributes."""

    mechanism: Any
    HIDDEN: ClassVar[tuple[str, ...]] = ()  # attributes of the wrapped mechanism that do not hold for the wrapper

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "mechanism" or name in self.HIDDEN:  # or an unfinished copy
            raise AttributeError(name)
        return getattr(self.mechanism, name)


class Claim(Wrapper):
    """A wrapper with which a user declares the claim and other attributes of a mechanism.

    A declaration overrides the mechanism's attribute of the same name.

    Args:
        mechanism: an object with a method ``privatize``, or a function, that maps a batch of
            records to one release for each record.
        epsilon: the claimed epsilon for one record, in nats.
        delta: the claimed delta.
        alphabet: the values that a record can have: a sequence of values, or K for the integers 0
            to K - 1. With an alphabet, the audit treats records as values.
        distribution: function of a value that returns the probability of each outcome, as a
            dictionary. With this function, the audit compares the probabilities of any two values
            exactly.
        supports: function of an outcome and a value that returns a number, which is high if the
            outcome suggests the value.
        memoised: True if the mechanism has a memory, such as permanent responses or a budget that
            runs out. The audit then draws every release from a fresh copy of the mechanism. For a
            mechanism without a memory, it reports a violation if a record's releases never vary.
        randomness: who is responsible for seeding the random numbers: "mechanism" or "caller". With
            "caller", the audit reports noise that a seed, a fork or a copy repeats as a note, and
            not as a violation.
    """

    def __init__(
        self,
        mechanism: Any,
        *,
        epsilon: float | None = None,
        delta: float | None = None,
        alphabet: int | Sequence[Any] | None = None,
        distribution: Callable[[Any], Mapping[Any, Any]] | None = None,
        supports: Callable[[Any, Any], float] | None = None,
        memoised: bool | None = None,
        randomness: str | None = None,
    ) -> None:
        check_choice(RANDOMNESS, randomness=randomness or MECHANISM)
        self.mechanism = mechanism
        self.name = str(getattr(mechanism, "name", getattr(mechanism, "__name__", type(mechanism).__name__)))
        declared: dict[str, Any] = {
            "epsilon": epsilon,
            "delta": delta,
            "alphabet": alphabet,
            "distribution": distribution,
        }
        declared |= {"supports": supports, "memoised": memoised, "randomness": randomness}
        vars(self).update({name: value for name, value in declared.items() if value is not None})

    def privatize(self, records: Any) -> Any:
        """Release a batch of records with the wrapped mechanism."""
        return getattr(self.mechanism, "privatize", self.mechanism)(records)


class JointReports(Wrapper):
    """A mechanism whose release of a record consists of several reports by another mechanism.

    Claim: by composition, m reports of an (epsilon, delta)-LDP mechanism are together (m * epsilon,
    m * delta)-LDP (local differential privacy). A mechanism with a memory claims its epsilon and
    delta for all reports together, so these are not multiplied by m.

    Args:
        mechanism: an object with ``epsilon`` and ``privatize``, on latents or on values.
        reports: the number m of reports of each record.
        epsilon: the claimed epsilon of all reports together. The default is m times the mechanism's
            epsilon, or the mechanism's epsilon itself if the mechanism has a memory.
    """

    HIDDEN = ("noise", "guarantee", "supports", "distribution", "odds")  # these describe a single report

    def __init__(self, mechanism: Any, *, reports: int, epsilon: float | None = None) -> None:
        if isinstance(reports, bool) or not isinstance(reports, int) or reports < 1:
            raise ConfigurationError(f"reports must be an integer of at least 1, got {reports!r}")
        self.mechanism, self.reports = mechanism, reports
        times = 1 if getattr(mechanism, "memoised", False) else reports
        self.epsilon = times * mechanism.epsilon if epsilon is None else epsilon
        self.delta = times * (getattr(mechanism, "delta", 0.0) or 0.0)
        self.name = f"{reports} reports of {getattr(mechanism, 'name', type(mechanism).__name__)}"

    def privatize(self, records: Any) -> Any:
        """Release a batch once for each report; return, for each record, a row with all reports."""
        answers = [self.mechanism.privatize(records) for _ in range(self.reports)]
        if isinstance(answers[0], Tensor | np.ndarray):
            rows = [answer.reshape(len(answer), -1) for answer in answers]
            return torch.cat(rows, dim=1) if isinstance(answers[0], Tensor) else np.concatenate(rows, axis=1)
        return list(zip(*answers, strict=True))


class Rewriting:
    """A wrapper with which the audit treats a rewriter as a mechanism whose records are texts.

    Its claimed epsilon and delta are those of the mechanism inside the rewriter.
    """

    def __init__(self, rewriter: Any) -> None:
        self.rewriter, mechanism = rewriter, rewriter.mechanism
        self.name = str(getattr(mechanism, "name", type(mechanism).__name__))
        self.epsilon, self.delta = float(mechanism.epsilon), float(getattr(mechanism, "delta", 0.0))

    def privatize(self, texts: list[str]) -> list[str]:
        """Rewrite all texts in one call."""
        return list(self.rewriter.rewrite(texts))
