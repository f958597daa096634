"""Many reports of one record as one release: what they reveal together."""

from typing import Any

import numpy as np
import torch
from torch import Tensor

from adept.errors import ConfigurationError


class JointReports:
    """A mechanism whose release is several reports of each record.

    Claim: by composition, m reports of an (epsilon, delta)-LDP mechanism are (m epsilon, m delta)-LDP together. A mechanism with a
    memory, such as one with permanent responses, claims that all reports together are as private as it says: its own epsilon.

    Args:
        mechanism: with ``epsilon`` and ``privatize``, of latents or of values.
        reports: m, how many reports of a record are released together.
        epsilon: the claim for all of them; null: m times the mechanism's, or the mechanism's own if it is ``memoised``.
    """

    def __init__(self, mechanism: Any, *, reports: int, epsilon: float | None = None) -> None:
        if isinstance(reports, bool) or not isinstance(reports, int) or reports < 1:
            raise ConfigurationError(f"reports must be an integer of at least 1, got {reports!r}")
        self.mechanism, self.reports = mechanism, reports
        times = 1 if getattr(mechanism, "memoised", False) else reports
        self.epsilon = times * mechanism.epsilon if epsilon is None else epsilon
        self.delta = times * (getattr(mechanism, "delta", 0.0) or 0.0)
        self.name = f"{reports} reports of {getattr(mechanism, 'name', type(mechanism).__name__)}"

    def privatize(self, records: Any) -> Any:
        """Release a batch as often as there are reports, and return the reports of each record in a row."""
        answers = [self.mechanism.privatize(records) for _ in range(self.reports)]
        if isinstance(answers[0], Tensor):
            return torch.cat([answer.reshape(len(answer), -1) for answer in answers], dim=1)
        if isinstance(answers[0], np.ndarray):
            return np.concatenate([answer.reshape(len(answer), -1) for answer in answers], axis=1)
        return list(zip(*answers, strict=True))

    def __getattr__(self, name: str) -> Any:
        """Return what the mechanism says of its records and of itself; what it says of one release holds for none of these."""
        if name.startswith("__") or name in ("mechanism", "noise", "guarantee", "supports", "distribution"):
            raise AttributeError(name)
        return getattr(self.mechanism, name)
