"""A row that loses its noise in batches of some size is found, and a game is played there; elsewhere none is.

Three sound mechanisms are audited at confidence 1 - 1e-9: false alarms of this module 3e-9 at most.
"""

import pytest
import torch
from audit.asking import failed_of
from torch import Tensor

from adept.audit.checks.calls import PlacedInBatch, any_size
from adept.audit.distinguisher.experiment import Experiment
from adept.audit.subject.vector import VectorTarget
from adept.mechanisms import Codebook, L1Laplace, PrivUnit

CONFIDENCE = 1 - 1e-9


class BareRemainder(L1Laplace):
    """Works in chunks of 64, and forgets the noise of a last row that stands alone in its chunk."""

    def privatize(self, latents: Tensor) -> Tensor:
        released = super().privatize(latents)
        if len(latents) > 1 and len(latents) % 64 == 1:
            released[-1] = self.project(latents[-1:])[0]
        return released


class BareMiddle(L1Laplace):
    """Reads a buffer of 40 rows once from its middle, before it was filled with noise."""

    def privatize(self, latents: Tensor) -> Tensor:
        released = super().privatize(latents)
        if len(latents) == 40:
            released[20] = self.project(latents[20:21])[0] + 1e-3 * (released[20] - self.project(latents[20:21])[0])
        return released


@pytest.mark.parametrize("kind", [BareRemainder, BareMiddle])
def test_a_row_without_noise_in_batches_of_one_size_is_found(kind: type[L1Laplace]) -> None:
    assert failed_of({"batch size"}, kind(epsilon=2.0), dim=4, trials=500, confidence=CONFIDENCE) == {"batch size"}


@pytest.mark.parametrize("mechanism", [L1Laplace(epsilon=2.0), PrivUnit(epsilon=4.0), Codebook(epsilon=4.0)])
def test_where_no_row_varies_little_no_game_is_played(mechanism: object) -> None:
    found = any_size(Experiment(VectorTarget(mechanism, dim=8), lambda _: [], 2_000), 1 - CONFIDENCE)
    assert not found.failed
    assert found.certified_epsilon is None
    assert "varies far less than most" in found.evidence


@pytest.mark.parametrize("kind", ["tensor", "array"])
def test_the_rest_of_the_batch_is_the_same_for_every_record(kind: str) -> None:
    """Also where a mechanism writes into what it is given: else a row would depend on the records before it."""

    class WritesIntoItsInput:
        epsilon, rest = 1.0, set[float]()

        def privatize(self, latents: Tensor) -> Tensor:
            self.rest.add(float(abs(latents[:2]).sum()))
            latents += 1.0
            return latents

    mechanism = WritesIntoItsInput()
    latents = torch.eye(4, dtype=torch.float64)
    rows = PlacedInBatch(mechanism, 3, 2).privatize(latents if kind == "tensor" else latents.numpy())
    assert (rows == latents.numpy() + 1).all()
    assert mechanism.rest == {0.0}
