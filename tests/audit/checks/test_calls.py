"""Calls of one row, of three or of some size that lose noise are found, and games are played there; elsewhere none is.

Three sound mechanisms are audited at confidence 1 - 1e-9: false alarms of this module 3e-9 at most.
"""

import secrets
from collections.abc import Callable

import pytest
import torch
from audit import sound
from audit.asking import finds
from audit.broken import randomness
from torch import Tensor

from adept.audit.checks.calls import AmongOthers, any_size
from adept.audit.distinguisher.guessing_game import Experiment
from adept.audit.subject.kinds import VectorTarget
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


def bare_alone(x: Tensor) -> Tensor:
    return sound.ball(x) if len(x) == 1 else sound.sound(x)


def seven_tenths_of_the_noise_alone(x: Tensor) -> Tensor:
    c = sound.ball(x)
    return c + sound.noise(c) * (0.7 if len(x) == 1 else 1.0)


def one_number_without_noise_alone(x: Tensor) -> Tensor:
    z = sound.sound(x)
    if len(x) == 1:
        z[:, 3] = sound.ball(x)[:, 3]
    return z


def bare_in_one_call_of_four(x: Tensor) -> Tensor:
    return sound.ball(x) if len(x) == 1 and secrets.randbelow(4) == 0 else sound.sound(x)


def noise_shared_by_three(x: Tensor) -> Tensor:
    c = sound.ball(x)
    return c + sound.noise(c[:1]) if len(x) == 3 else sound.sound(x)


@pytest.mark.parametrize(
    ("release", "check"),
    [
        (bare_alone, "batch of one"),
        (bare_alone, "fresh copy"),
        (seven_tenths_of_the_noise_alone, "batch of one"),
        (one_number_without_noise_alone, "batch of one"),
        (bare_in_one_call_of_four, "batch of one"),
        (noise_shared_by_three, "batch of three"),
        (randomness.noise_cached_by_shape, "batch of one"),
    ],
)
def test_a_call_of_one_row_or_three_that_lacks_noise_is_found(release: Callable[[Tensor], Tensor], check: str) -> None:
    dim = 1 if release is seven_tenths_of_the_noise_alone else 8  # where counts show that it lacks
    assert finds(check, sound.Foreign(release), dim=dim, trials=8_000)


@pytest.mark.parametrize("kind", [BareRemainder, BareMiddle])
def test_a_row_without_noise_in_batches_of_one_size_is_found(kind: type[L1Laplace]) -> None:
    assert finds("batch size", kind(epsilon=2.0), dim=4, trials=500, confidence=CONFIDENCE)


@pytest.mark.parametrize("mechanism", [L1Laplace(epsilon=2.0), PrivUnit(epsilon=4.0), Codebook(epsilon=4.0)])
def test_where_no_row_varies_little_no_game_is_played(mechanism: object) -> None:
    found = any_size(Experiment(VectorTarget(mechanism, dim=8), lambda _: [], 2_000), 1 - CONFIDENCE)
    assert found.verdict == "passed"
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
    rows = AmongOthers(mechanism, torch.zeros(3, 4), 2).privatize(latents if kind == "tensor" else latents.numpy())
    assert (rows == latents.numpy() + 1).all()
    assert mechanism.rest == {0.0}
