"""Noise that was added in float32 is found without a declaration, and nothing is found in sound releases of float32 numbers.

Seven sound mechanisms are audited at confidence 1 - 1e-9: share of the suite's false alarms 7e-9.
"""

from typing import Any

import numpy as np
import pytest
import torch
from audit import sound
from audit.asking import failed_of
from torch import Tensor

from adept.audit.checks.floating_point import _reached
from adept.mechanisms import Codebook, L1Laplace, PrivUnit

CHECK = {"float32 sums"}


def added_in_float32(x: Tensor) -> Tensor:
    c = sound.ball(x).float()
    return c + (sound.width(c) * sound.laplace(*c.shape)).float()


def added_in_float32_and_returned_as_float64(x: Tensor) -> Tensor:
    return added_in_float32(x).double()


def torchs_laplace(x: Tensor) -> Tensor:
    c = sound.ball(x).float()
    return c + torch.distributions.Laplace(0.0, sound.width(c)).sample(c.shape)


@pytest.mark.parametrize("dim", [2, 64])
@pytest.mark.parametrize("release", [added_in_float32, added_in_float32_and_returned_as_float64, torchs_laplace])
def test_noise_added_in_float32_is_found_though_nothing_is_declared(release: Any, dim: int) -> None:
    assert failed_of(CHECK, sound.Foreign(release), dim=dim, trials=2_000) == CHECK


@pytest.mark.parametrize(
    "mechanism",
    [
        sound.Foreign(sound.in_float32),
        sound.Foreign(sound.projected_and_rounded),
        sound.Foreign(sound.sign_of_a_projection),
        sound.Foreign(sound.constant),
        L1Laplace(epsilon=4.0),
        PrivUnit(epsilon=4.0),
        Codebook(epsilon=4.0),
    ],
    ids=lambda mechanism: mechanism.name,
)
def test_no_violation_is_found_in_sound_releases_that_are_float32_numbers(mechanism: Any) -> None:
    assert failed_of(CHECK, mechanism, dim=16, trials=2_000, confidence=1 - 1e-9) == set()


def test_every_float32_sum_with_a_record_can_be_reached_from_it() -> None:
    generator = torch.Generator().manual_seed(1)
    record = torch.randn(64, generator=generator)
    noise = torch.randn(500, 64, generator=generator) * torch.logspace(-6, 6, 500)[:, None]
    sums = (record + noise).numpy()
    assert _reached(sums, record.double()).mean() > 0.999
    assert _reached(sums, record.double().flip(0)).mean() < 0.95
    assert sums.dtype == np.float32
