"""What is released otherwise alone than in batches is seen by a few calls; what is not is judged by its batches alone.

The threshold is set to 1e-9 here, so a sound mechanism differs from itself once in two million tests; 3 of them.
"""

import secrets
from collections.abc import Callable

import pytest
from audit import sound
from audit.asking import asked
from audit.broken import randomness
from torch import Tensor

from adept.audit import NotJudged
from adept.audit.distinguisher import pilot
from adept.audit.distinguisher.pilot import rounds_needed

CHECKS = {"fresh copy", "batch of one", "batch of three"}


@pytest.fixture(autouse=True)
def _surely(monkeypatch: pytest.MonkeyPatch, few_calls: None) -> None:
    monkeypatch.setattr(pilot, "SUSPICIOUS", 1e-9)


def same_in(check: str, release: Callable[[Tensor], Tensor], *, dim: int = 8) -> bool:
    with pytest.raises(NotJudged) as unjudged:  # by this check alone
        asked({check}, sound.Foreign(release), dim=dim, trials=8_000, confidence=1 - 1e-9)
    [found] = unjudged.value.result.checks
    return "as in batches" in found.evidence


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


@pytest.mark.parametrize("check", sorted(CHECKS))
def test_a_mechanism_that_releases_row_by_row_is_judged_by_its_batches(check: str) -> None:
    assert same_in(check, sound.sound)


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
def test_what_is_released_otherwise_in_such_calls_is_seen(release: Callable[[Tensor], Tensor], check: str) -> None:
    assert not same_in(check, release, dim=32 if release is seven_tenths_of_the_noise_alone else 8)


def test_so_many_right_guesses_refute_a_claim_and_one_less_does_not() -> None:
    """Of a rule that is never wrong; 14 at epsilon 1 and alpha 1 in 80: (1 + e^-1)^-14 = .0125."""
    assert rounds_needed(1.0, alpha=(1 + 2.718281828**-1) ** -14) == pytest.approx(14)
    assert rounds_needed(100.0, alpha=0.5) == float("inf")
